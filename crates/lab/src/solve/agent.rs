//! An exact solution as a value function: it plays, is evaluated and compared as any other agent.

use std::path::Path;
use std::sync::Arc;

use afterstate::game::{ChanceState, Game, Slide, State};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::game_rng;
use afterstate::solve::{Packed, Solver};
use afterstate::tally::Outcome;
use afterstate::value::{ActionValue, Decision, Pending, ValueFunction};

use super::{Solution, SolveError};
use crate::LabError;
use crate::agent::{
    Agent, BoardState, FirstMove, PolicyFn, RoundSpec, StartFn, StateAnalysis, ValueAgent,
    analyze_states, initial, play_games, search_agent, with_first_move,
};
use crate::evaluate::Contender;
use crate::games::{PackedVisitor, with_packed_game};
use crate::recorder::Sink;
use crate::report::ModelInfo;
use crate::search::SearchSpec;

/// The value function of a solution, for one game.
struct ExactValues<G> {
    solution: Arc<Solution>,
    solver: Solver<G>,
    /// The tile whose chance, in percent, is the value; `None` for the score.
    target: Option<u8>,
}

impl<G: Game<Board: Packed>> ExactValues<G> {
    /// Value and total of a slide. A solution has a value for every position that play can reach.
    fn value(&self, game: &G, state: State<G::Board>, slide: Slide<G::Board>) -> (f64, f64) {
        let after = self.solver.code().of_afterstate(slide.after());
        let Some(tile) = self.target else {
            let value = self.solution.after_value(&self.solver, after);
            let value = value.unwrap_or(f64::NAN);
            return (value, f64::from(slide.reward()) + value);
        };
        let mut cells = (0..game.shape().cells()).map(|cell| slide.after().cell(cell));
        let is_reached = game.max_tile(state) >= tile || cells.any(|cell| cell >= tile);
        let chance = match is_reached {
            true => Some(1.0),
            false => self.solution.after_win(&self.solver, after),
        };
        let percent = 100.0 * chance.unwrap_or(f64::NAN);
        (percent, percent)
    }
}

impl<G: Game<Board: Packed>> ValueFunction<G> for ExactValues<G> {
    type Lookup = ();

    fn locate(&self, _: &G, _: &Decision<G>, (): &mut ()) {}

    fn evaluate(
        &self,
        game: &G,
        pending: &Pending<'_, G, ()>,
        mut visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        for slide in pending.decision().slides().legal() {
            let values = self.value(game, pending.decision().state(), slide);
            let (value, total) = (values.0 as f32, values.1 as f32);
            visit(slide, ActionValue { value, total });
        }
    }

    fn fits(&self, game: &G) -> bool {
        game.shape() == self.solution.info().shape
    }

    fn discount(&self) -> f32 {
        match self.target {
            Some(_) => 1.0,
            None => self.solution.info().discount as f32,
        }
    }
}

struct ExactAgent<G> {
    game: G,
    values: ExactValues<G>,
}

impl<G: Game<Board: Packed>> ExactAgent<G> {
    fn policy(&self) -> Greedy<'_, G, ExactValues<G>> {
        Greedy::new(&self.game, &self.values, Ties::Order)
    }

    fn play_games(
        &self,
        round: &RoundSpec<'_>,
        start: &StartFn<'_, G>,
        sink: Option<Sink<'_>>,
    ) -> Vec<Outcome> {
        play_games(&self.game, round, || self.policy(), start, sink)
    }
}

impl<G: Game<Board: Packed>> Agent for ExactAgent<G> {
    fn search(&self) -> &str {
        "exact"
    }

    fn target(&self) -> Option<u8> {
        self.values.target
    }

    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.play_games(round, &initial(&self.game), sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        let start = with_first_move(&self.game, first)?;
        Some(self.play_games(round, &start, None))
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let mut policy = self.policy();
        analyze_states(&self.game, &self.values, boards, |decision| {
            let mut rng = game_rng(0, 0);
            policy.choose(&self.game, decision, &mut rng).direction()
        })
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        let mut policy = self.policy();
        Box::new(move |tiles: &[u8], chance_state: ChanceState| {
            let state = self.game.state(tiles, chance_state)?;
            let decision = Decision::new(&self.game, state);
            let choices = decision.map(|decision| policy.choices(&self.game, &decision));
            Some(choices.unwrap_or_default())
        })
    }

    fn bytes(&self) -> u64 {
        self.values.solution.layers().codes().len() as u64 * 16
    }

    fn with_search(self: Arc<Self>, spec: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        // A search adds rewards, which are no part of a chance.
        match self.values.target {
            Some(_) => Err(LabError::NoSearch("the chance of a target".to_owned())),
            None => search_agent(self, spec),
        }
    }
}

impl<G: Game<Board: Packed>> ValueAgent for ExactAgent<G> {
    type Game = G;
    type Values = ExactValues<G>;

    fn game(&self) -> &G {
        &self.game
    }

    fn with_values<R>(&self, with: impl FnOnce(&ExactValues<G>) -> R) -> R {
        with(&self.values)
    }
}

struct NewAgent {
    solution: Arc<Solution>,
    target: Option<u8>,
}

impl PackedVisitor for NewAgent {
    type Output = Arc<dyn Agent>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let Self { solution, target } = self;
        let (code, ending) = (solution.code().clone(), solution.info().ending());
        let solver = Solver::with_code(game, code, ending);
        let values = ExactValues {
            solution,
            solver,
            target,
        };
        Arc::new(ExactAgent { game, values })
    }
}

impl Solution {
    /// The description of the solution of this file.
    pub fn model_info(&self, path: &Path) -> ModelInfo {
        let info = self.info();
        ModelInfo {
            path: path.display().to_string(),
            sha256: None,
            game: info.game.clone(),
            board: info.shape.to_string(),
            recipe: None,
            changed: Vec::new(),
            trained: None,
        }
    }
}

impl Contender {
    /// Optimal play by the exact solution of this file, for the score.
    ///
    /// # Errors
    /// When the solution is of a game that ends with its target.
    pub fn exact(solution: Arc<Solution>, path: &Path) -> Result<Self, LabError> {
        let info = solution.info();
        if let Some(target) = info.target.filter(|_| info.ends_at_target()) {
            return Err(SolveError::EndsAtTarget(target.value).into());
        }
        Self::of_solution(solution, path, None)
    }

    /// Optimal play by the exact solution of this file, for the chance of its target: see
    /// [`Agent::target`].
    ///
    /// # Errors
    /// When the solution has no target.
    pub fn exact_for_target(solution: Arc<Solution>, path: &Path) -> Result<Self, LabError> {
        let target = solution.info().target;
        let target = target.ok_or(SolveError::NoTarget)?.tile;
        Self::of_solution(solution, path, Some(target))
    }

    fn of_solution(
        solution: Arc<Solution>,
        path: &Path,
        target: Option<u8>,
    ) -> Result<Self, LabError> {
        let info = solution.info();
        let (game, shape) = (info.game.clone(), info.shape);
        let model = solution.model_info(path);
        let label = model.path.clone();
        let agent = with_packed_game(&game, shape, NewAgent { solution, target })?;
        Ok(Self {
            label,
            game,
            shape,
            agent,
            is_symmetric: true,
            model: Some(model),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::quiet;
    use crate::evaluate::{EvalOptions, evaluate};
    use crate::games::shape;
    use crate::solve::{SolveOptions, solve};

    /// Optimal play of 2x2 scores 66.964 on average, and its values are those of the solution.
    #[test]
    fn a_solution_plays_at_its_own_value() {
        let solved = solve(&SolveOptions {
            game: "2048",
            shape: shape(2, 2).unwrap(),
            target: None,
            discount: 1.0,
            bounds: false,
            threads: 1,
            memory: None,
            control: quiet(),
        });
        let solution = Arc::new(solved.unwrap().unwrap().solution);
        let contender = Contender::exact(Arc::clone(&solution), Path::new("2x2.solution")).unwrap();
        let found = evaluate(
            &contender,
            &EvalOptions {
                games: 40_000,
                part: crate::part::Part::WHOLE,
                seed: 1,
                threads: 1,
                control: quiet(),
            },
        );
        let [low, high] = found.scores.mean_ci95.unwrap();
        let optimum = solution.info().expected_score;
        // The interval is widened to five standard errors.
        let margin = 1.6 * (high - low);
        assert!(
            (found.scores.mean - optimum).abs() < margin,
            "{} {optimum}",
            found.scores.mean
        );
        assert_eq!(found.search, "exact");
        let analysis = solution.analyze("2,0/0,4").unwrap();
        let board = BoardState {
            tiles: vec![1, 0, 0, 2],
            chance_state: ChanceState::NONE,
        };
        let found = contender.agent.analyze(&[board])[0].unwrap();
        for (direction, value) in found.values.legal() {
            let exact = analysis.moves[direction as usize].total.unwrap();
            assert!((f64::from(value.total) - exact).abs() < 1e-4);
        }
        assert_eq!(found.chosen, analysis.best);
    }
}
