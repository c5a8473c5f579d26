//! Queries of a solution: the value of each move of a board.

use afterstate::game::{Direction, Game, Slides, State};
use afterstate::solve::{AfterCode, Code, Criterion, Goal, Packed, Solver, SpawnMode};

use super::{Solution, SolveError};
use crate::LabError;
use crate::analyze::{Analysis, Exact, Move, best, set_losses, set_win_losses};
use crate::board::{GameBoard, parse};
use crate::games::{PackedVisitor, with_packed_game};

impl Solution {
    /// Analyses a board written as `2,0,0/0,4,0/...`: tile values in row-major order. If the solved
    /// game ends at its target, a board with the target has no moves.
    ///
    /// # Errors
    /// When the text is not a board of the game, or the board is not reachable.
    pub fn analyze(&self, board: &str) -> Result<Analysis<f64>, LabError> {
        let info = self.info();
        let question = Question {
            solution: self,
            board,
        };
        with_packed_game(&info.game, info.shape, question)?
    }

    /// The expected future score of an afterstate; `None` if it is not reachable.
    pub fn after_value<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        after: AfterCode,
    ) -> Option<f64> {
        self.mean(self.scores(), self.info().goal(), solver, after)
    }

    /// The probability of reaching the target from an afterstate; `None` if there is no target, or
    /// the afterstate is not reachable.
    pub fn after_win<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        after: AfterCode,
    ) -> Option<f64> {
        let goal = Goal::Reach(self.info().target?.tile);
        let win = self.mean(self.wins()?, goal, solver, after)?;
        Some(goal.bounded(win))
    }

    fn mean<G: Game<Board: Packed>>(
        &self,
        values: &[f64],
        goal: Goal,
        solver: &Solver<G>,
        after: AfterCode,
    ) -> Option<f64> {
        // A missing state makes the mean NaN.
        let value = |state| self.place(state).map_or(f64::NAN, |place| values[place]);
        let spawn_mode = SpawnMode::Mean;
        let mean = solver.after_value(Criterion { goal, spawn_mode }, after, value);
        mean.is_finite().then_some(mean)
    }
}

struct Question<'a> {
    solution: &'a Solution,
    board: &'a str,
}

impl PackedVisitor for Question<'_> {
    type Output = Result<Analysis<f64>, LabError>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let solution = self.solution;
        let (state, position) = self.state(&game)?;
        let ending = solution.info().ending();
        // Reuses the code of the solution instead of building new tables for every query.
        let solver = Solver::with_code(game, solution.code().clone(), ending);
        let slides = (!ending.is_over(&game, state)).then(|| game.slides(state));
        let moves = Direction::ALL.map(|direction| self.weigh(&solver, slides.as_ref(), direction));
        let mut moves: Vec<Move<f64>> = moves.into_iter().collect::<Result<_, _>>()?;
        set_losses(&mut moves);
        set_win_losses(&mut moves);
        let info = solution.info();
        let win = |m: &Move<f64>| m.win_probability.flatten().filter(|&p| p > 0.0);
        Ok(Analysis {
            model: None,
            game: info.game.clone(),
            board: info.shape.to_string(),
            position,
            rollouts: None,
            search: "exact".to_owned(),
            plies: None,
            interrupted: false,
            exact: Some(Exact {
                discount: info.discount,
                target: info.target.map(|target| target.value),
                best_for_target: best(&moves, win),
            }),
            best: best(&moves, |m| m.total),
            moves,
        })
    }
}

impl Question<'_> {
    /// The state of the board and its text, if the solution has it.
    fn state<G: Game<Board: Packed>>(
        &self,
        game: &G,
    ) -> Result<(State<G::Board>, String), LabError> {
        let shape = game.shape();
        let largest = game.largest_tile().min(Code::LARGEST);
        let tile_values: Vec<u64> = (1..=largest).map(|tile| game.tile_value(tile)).collect();
        let (tiles, chance_state) = parse(self.board, shape, game.rules(), &tile_values)?;
        let state = game.state(&tiles, chance_state);
        let code = |state| self.solution.code().of_state(state);
        let known = state.filter(|&state| self.solution.place(code(state)).is_some());
        let unknown = || SolveError::Unknown {
            board: self.board.trim().to_owned(),
            has_chance_state: game.rules().has_chance_state(),
        };
        let state = known.ok_or_else(unknown)?;
        let board = GameBoard::new(&self.solution.info().game, shape, tiles, chance_state)?;
        Ok((state, board.text()))
    }

    fn weigh<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        slides: Option<&Slides<G::Board>>,
        direction: Direction,
    ) -> Result<Move<f64>, SolveError> {
        let solution = self.solution;
        let has_target = solution.info().target.is_some();
        let Some(slide) = slides.and_then(|slides| slides.get(direction)) else {
            let illegal = Move::illegal(direction);
            return Ok(Move {
                win_probability: has_target.then_some(None),
                ..illegal
            });
        };
        let after = solver.code().of_afterstate(slide.after());
        let value = solution.after_value(solver, after);
        let value = value.ok_or(SolveError::Incomplete)?;
        Ok(Move {
            legal: true,
            reward: Some(slide.reward()),
            value: Some(value),
            total: Some(solution.info().goal().total(slide.reward(), value)),
            win_probability: has_target.then(|| solution.after_win(solver, after)),
            ..Move::illegal(direction)
        })
    }
}
