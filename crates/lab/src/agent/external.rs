//! Agents of value functions outside of this library, such as a function in another language.
//!
//! A call from one language to another takes longer than a slide. So several games are played side by
//! side on one thread, and each call evaluates the boards of all of them; a search evaluates all of
//! its leaves in one call.
//!
//! A call may fail. The games that are running then end quickly, with their first legal slides, and
//! no other begins: the caller discards their results and reports the failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use afterstate::Value;
use afterstate::game::{After, Direction, Game, Position, Shape, Slide};
use afterstate::tally::Outcome;
use afterstate::value::{
    ActionValue, ActionValues, AfterstateValues, Decision, Pending, ValueFunction,
};

use super::batch::evaluate_by;
use super::batched::{self, BatchedValues};
use super::{
    Agent, BoardBatch, BoardResults, BoardState, FirstMove, PolicyFn, RoundSpec, StateAnalysis,
    ValueAgent, analyze_states, search_agent,
};
use crate::LabError;
use crate::games::{GameVisitor, rules, with_game};
use crate::recorder::Sink;
use crate::search::SearchSpec;

/// What a value function outside of this library evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalKind {
    /// Afterstates: one value for each board, that of the rest of the game.
    Afterstates,
    /// States: four values for each board, reward plus value of the slides up, right, down and left.
    /// Those of illegal slides are ignored.
    Actions,
}

impl ExternalKind {
    /// The values of each board.
    pub fn outputs(self) -> usize {
        match self {
            Self::Afterstates => 1,
            Self::Actions => Direction::ALL.len(),
        }
    }
}

/// A value function outside of this library.
pub trait ExternalValues: Send + Sync {
    /// The values of boards: [`ExternalKind::outputs`] for each, in order. `tiles` are tile indices
    /// in row-major order, one board after another; `hints` are those of [`Position::hint`], none
    /// in games that show no hint. `None` if it failed: it is then not called again for this work.
    fn values(&self, tiles: Vec<u8>, hints: Vec<u8>) -> Option<Vec<Value>>;
}

/// An agent that plays by a value function outside of this library.
#[derive(Clone)]
pub struct ExternalSpec {
    /// What it evaluates.
    pub kind: ExternalKind,
    /// How many games are played side by side.
    pub num_envs: usize,
    /// The value function.
    pub values: Arc<dyn ExternalValues>,
}

impl ExternalSpec {
    /// The agent for a game and a board.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn agent(self, game: &str, shape: Shape) -> Result<Arc<dyn Agent>, LabError> {
        let shows_hint = rules(game)?.shows_hint(shape);
        with_game(
            game,
            shape,
            New {
                spec: self,
                shows_hint,
            },
        )
    }
}

struct New {
    spec: ExternalSpec,
    shows_hint: bool,
}

impl GameVisitor for New {
    type Output = Arc<dyn Agent>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        Arc::new(ExternalAgent {
            values: Values {
                shape: game.shape(),
                spec: self.spec,
                shows_hint: self.shows_hint,
                failed: AtomicBool::new(false),
            },
            game,
        })
    }
}

/// The value function, for one piece of work.
struct Values {
    shape: Shape,
    spec: ExternalSpec,
    shows_hint: bool,
    /// Whether a call has failed.
    failed: AtomicBool,
}

impl Clone for Values {
    /// For other work, in which nothing has failed so far.
    fn clone(&self) -> Self {
        Self {
            shape: self.shape,
            spec: self.spec.clone(),
            shows_hint: self.shows_hint,
            failed: AtomicBool::new(false),
        }
    }
}

impl Values {
    /// The values of boards; NaN after a failure.
    fn of<B: Position>(&self, boards: &[B]) -> Vec<Value> {
        let expected = boards.len() * self.spec.kind.outputs();
        if expected == 0 {
            return Vec::new();
        }
        let mut tiles = vec![0; boards.len() * self.shape.cells()];
        for (board, out) in boards.iter().zip(tiles.chunks_mut(self.shape.cells())) {
            board.write_tiles(out);
        }
        let hints = match self.shows_hint {
            true => boards.iter().map(|board| board.hint()).collect(),
            false => Vec::new(),
        };
        let found = match self.failed.load(Ordering::Relaxed) {
            false => self.spec.values.values(tiles, hints),
            true => None,
        };
        let found = found.filter(|values| values.len() == expected);
        found.unwrap_or_else(|| {
            self.failed.store(true, Ordering::Relaxed);
            vec![Value::NAN; expected]
        })
    }

    fn by_afterstates<G: Game>(&self, decisions: &[Decision<G>]) -> Vec<ActionValues> {
        let legal = decisions.iter().flat_map(|it| it.slides().legal());
        let afters: Vec<G::Board> = legal.map(|slide| slide.after().0).collect();
        let mut values = self.of(&afters).into_iter();
        let of = |decision: &Decision<G>| {
            let mut found = ActionValues::default();
            for slide in decision.slides().legal() {
                let value = values.next().unwrap_or(Value::NAN);
                let total = slide.reward() as Value + value;
                found.set(slide.direction(), ActionValue { value, total });
            }
            found
        };
        decisions.iter().map(of).collect()
    }

    fn by_states<G: Game>(&self, decisions: &[Decision<G>]) -> Vec<ActionValues> {
        let states: Vec<G::Board> = decisions.iter().map(|it| it.state().0).collect();
        let values = self.of(&states);
        let rows = values.chunks_exact(Direction::ALL.len());
        let of = |(decision, row): (&Decision<G>, &[Value])| {
            let mut found = ActionValues::default();
            for slide in decision.slides().legal() {
                let total = row[slide.direction() as usize];
                let value = total - slide.reward() as Value;
                found.set(slide.direction(), ActionValue { value, total });
            }
            found
        };
        decisions.iter().zip(rows).map(of).collect()
    }
}

impl<G: Game> ValueFunction<G> for Values {
    /// There is nothing to prefetch: the lookup holds the values themselves.
    type Lookup = ActionValues;

    fn locate(&self, game: &G, decision: &Decision<G>, values: &mut ActionValues) {
        let mut found = Vec::new();
        self.batch(game, std::slice::from_ref(decision), &mut found);
        *values = found.pop().unwrap_or_default();
    }

    fn evaluate(
        &self,
        _: &G,
        pending: &Pending<'_, G, ActionValues>,
        visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        pending.lookup().visit_legal(pending.decision(), visit);
    }

    fn fits(&self, game: &G) -> bool {
        self.shape == game.shape()
    }

    fn discount(&self) -> Value {
        1.0
    }

    fn by_afterstate(&self) -> Option<&dyn AfterstateValues<G, Lookup = ActionValues>> {
        (self.spec.kind == ExternalKind::Afterstates).then_some(self)
    }

    /// Calls it with as many boards at once as in a game.
    fn batch(&self, _: &G, decisions: &[Decision<G>], values: &mut Vec<ActionValues>) {
        values.clear();
        for some in decisions.chunks(self.spec.num_envs) {
            values.extend(match self.spec.kind {
                ExternalKind::Afterstates => self.by_afterstates(some),
                ExternalKind::Actions => self.by_states(some),
            });
        }
    }
}

impl<G: Game> AfterstateValues<G> for Values {
    type Lookup = ActionValues;

    fn afterstate_values(
        &self,
        _: &G,
        afters: &[After<G::Board>],
        _: &mut [ActionValues; 2],
        values: &mut Vec<Value>,
    ) {
        let boards: Vec<G::Board> = afters.iter().map(|after| after.0).collect();
        values.clear();
        for some in boards.chunks(Direction::ALL.len() * self.spec.num_envs) {
            values.extend(self.of(some));
        }
    }
}

struct ExternalAgent<G> {
    game: G,
    values: Values,
}

impl<G: Game> BatchedValues<G> for Values {
    /// The best slide of each decision; the first legal one after a failure.
    fn choose(&self, game: &G, decisions: &[Decision<G>]) -> Vec<Slide<G::Board>> {
        let mut found = Vec::new();
        self.batch(game, decisions, &mut found);
        let each = decisions.iter().zip(found);
        each.map(|(decision, values)| decision.slide_or_first(values.best()))
            .collect()
    }

    fn games_together(&self) -> usize {
        self.spec.num_envs
    }

    /// A call from one thread at a time.
    fn threads(&self, _: usize) -> usize {
        1
    }

    fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl<G: Game> Agent for ExternalAgent<G> {
    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        batched::play(&self.game, &self.values.clone(), round, sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        batched::play_from(&self.game, &self.values.clone(), first, round)
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let values = self.values.clone();
        // The values of a decision are those of its analysis: it is not evaluated again.
        let first = |decision: &Decision<G>| decision.slide_or_first(None).direction();
        let mut found = analyze_states(&self.game, &values, boards, first);
        for analysis in found.iter_mut().flatten() {
            analysis.chosen = analysis.values.best();
        }
        found
    }

    fn evaluate_boards(
        &self,
        boards: &BoardBatch<'_>,
        places: &mut BoardResults<'_>,
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), usize> {
        evaluate_by(&self.game, &self.values.clone(), boards, places)
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        batched::policy_fn(&self.game, self.values.clone())
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn with_search(self: Arc<Self>, spec: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        search_agent(self, spec)
    }
}

impl<G: Game> ValueAgent for ExternalAgent<G> {
    type Game = G;
    type Values = Values;

    fn game(&self) -> &G {
        &self.game
    }

    fn with_values<R>(&self, with: impl FnOnce(&Values) -> R) -> R {
        with(&self.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    use afterstate::game::ChanceState;

    use super::*;
    use crate::agent::{Baseline, board_values};
    use crate::recipe::Recipe;
    use crate::trainer::Trainer;

    const ROUND: std::ops::Range<u64> = 0..12;

    /// Passes boards on to an agent of this library.
    struct Through {
        agent: Arc<dyn Agent>,
        game: &'static str,
        sizes: Mutex<Vec<usize>>,
    }

    impl ExternalValues for Through {
        fn values(&self, tiles: Vec<u8>, hints: Vec<u8>) -> Option<Vec<Value>> {
            let boards = BoardBatch::new(self.game, Shape::FOUR, &tiles, &hints).unwrap();
            self.sizes.lock().unwrap().push(boards.len());
            let found = board_values(&*self.agent, self.game, &boards, 1, &|| false).unwrap();
            let or_none = |value: Value| if value.is_nan() { -1e9 } else { value };
            Some(found.totals.into_iter().flatten().map(or_none).collect())
        }
    }

    fn trained(game: &str) -> Arc<dyn Agent> {
        let set = [
            format!("game={game}"),
            "tuples=8x4".to_owned(),
            "episodes=50".to_owned(),
            "threads=1".to_owned(),
        ];
        let recipe = Recipe::load("quick", &set).unwrap();
        let mut trainer = Trainer::in_memory(recipe, crate::control::quiet()).unwrap();
        trainer.train().unwrap();
        trainer.agent()
    }

    #[test]
    fn games_are_those_of_the_same_values_inside() {
        for game in ["2048", "threes-hint"] {
            let agent = trained(game);
            let through = Arc::new(Through {
                agent: Arc::clone(&agent),
                game,
                sizes: Mutex::default(),
            });
            let spec = ExternalSpec {
                kind: ExternalKind::Actions,
                num_envs: 5,
                values: Arc::clone(&through) as Arc<dyn ExternalValues>,
            };
            let external = spec.agent(game, Shape::FOUR).unwrap();
            let round = RoundSpec::new(ROUND, 3, 2);
            assert_eq!(external.play(&round, None), agent.play(&round, None));
            let sizes = through.sizes.lock().unwrap();
            assert_eq!(sizes.iter().max(), Some(&5));
            assert!(sizes.len() > 100);
        }
    }

    /// The number of empty cells.
    struct Empty(AtomicUsize);

    impl ExternalValues for Empty {
        fn values(&self, tiles: Vec<u8>, _: Vec<u8>) -> Option<Vec<Value>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let boards = tiles.chunks(16);
            let count = |board: &[u8]| board.iter().filter(|&&tile| tile == 0).count();
            Some(boards.map(|board| 100.0 * count(board) as Value).collect())
        }
    }

    fn empty() -> (Arc<Empty>, Arc<dyn Agent>) {
        let values = Arc::new(Empty(AtomicUsize::new(0)));
        let spec = ExternalSpec {
            kind: ExternalKind::Afterstates,
            num_envs: 8,
            values: Arc::clone(&values) as Arc<dyn ExternalValues>,
        };
        (values, spec.agent("2048", Shape::FOUR).unwrap())
    }

    #[test]
    fn afterstates_are_evaluated_and_searched() {
        let (values, agent) = empty();
        let board = BoardState {
            tiles: vec![1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            chance_state: ChanceState::NONE,
        };
        let found = agent.analyze(std::slice::from_ref(&board))[0].unwrap();
        assert_eq!(found.total(Direction::Left), Some(12.0 + 1400.0));
        assert_eq!(found.chosen, Some(Direction::Right));
        let mean = |agent: &dyn Agent| {
            let played = agent.play(&RoundSpec::new(ROUND, 1, 1), None);
            played.iter().map(|it| it.score).sum::<u64>() / 12
        };
        let random = Baseline::Random.agent("2048", Shape::FOUR).unwrap();
        assert!(mean(&*agent) > mean(&*random));
        let search = agent.with_search(&SearchSpec::new("2ply".parse().unwrap()));
        let before = values.0.load(Ordering::Relaxed);
        assert!(search.unwrap().analyze(&[board])[0].is_some());
        // All leaves are evaluated in a few calls.
        assert!(values.0.load(Ordering::Relaxed) - before < 40);
    }

    /// Fails at its third call.
    struct Fails(AtomicUsize);

    impl ExternalValues for Fails {
        fn values(&self, tiles: Vec<u8>, _: Vec<u8>) -> Option<Vec<Value>> {
            let call = self.0.fetch_add(1, Ordering::Relaxed);
            (call < 2).then(|| vec![0.0; tiles.len() / 16])
        }
    }

    #[test]
    fn a_failure_ends_the_work() {
        let values = Arc::new(Fails(AtomicUsize::new(0)));
        let spec = ExternalSpec {
            kind: ExternalKind::Afterstates,
            num_envs: 4,
            values: Arc::clone(&values) as Arc<dyn ExternalValues>,
        };
        let agent = spec.agent("2048", Shape::FOUR).unwrap();
        let played = agent.play(&RoundSpec::new(0..1000, 1, 1), None);
        assert_eq!((played.len(), values.0.load(Ordering::Relaxed)), (4, 3));
        let search = agent.with_search(&SearchSpec::new("3ply".parse().unwrap()));
        let done = AtomicUsize::new(0);
        let round = RoundSpec {
            stop: &|| done.fetch_add(1, Ordering::Relaxed) > 3,
            ..RoundSpec::new(0..2, 1, 1)
        };
        search.unwrap().play(&round, None);
        assert_eq!(values.0.load(Ordering::Relaxed), 4, "a call for each work");
    }
}
