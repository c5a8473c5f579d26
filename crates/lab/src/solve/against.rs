//! The exact gap of a player to optimal play, without sampling games: the probability of every
//! state that the player reaches, from the initial states upwards, and the regret of each of its
//! moves.
//!
//! `P(start) -> P(state) -> the player's move -> spawns -> P(states of larger sums)`
//!
//! score = sum over states of P r,   regret of a move = V(s) - (r + A(s')),   optimum - score = sum
//! of P regret
//!
//! States are not merged by symmetry: a player need not treat symmetric boards alike. A player
//! whose network has symmetries does, up to rounding and ties, which it may break by direction;
//! [`SymmetryMode::One`] measures the player that first transforms every board to its canonical
//! form, which is eight times as fast on a square. If ties are broken at random, each of the tied
//! moves gets its share of the probability.

use std::collections::BTreeMap;
use std::time::Instant;

use afterstate::game::{After, Game, State};
use afterstate::solve::{Code, Packed, Solver, StateCode};
use serde::{Deserialize, Serialize};

use super::estimate::ReachableStates;
use super::table::ValueTable;
use super::work::{Waiting, Work, WorkError, run_of};
use super::{Solution, SolveError, SolveFailure};
use crate::LabError;
use crate::agent::PolicyFn;
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::error::game_on;
use crate::evaluate::Contender;
use crate::games::{PackedVisitor, with_packed_game};
use crate::memory::Reservation;
use crate::report::ModelInfo;
use crate::run::{GapRow, SymmetryMode};
use crate::share::threads;

/// The options of a measurement.
pub struct GapOptions<'a> {
    /// The player.
    pub contender: &'a Contender,
    /// The solution of its game.
    pub solution: &'a Solution,
    /// The symmetric boards that are measured.
    pub symmetries: SymmetryMode,
    /// The number of threads; 0 means one for each core. It does not change the results.
    pub threads: usize,
    /// The limit of additional memory in bytes; by default, all that is left of the budget.
    pub memory: Option<u64>,
    /// Events, cancellation and memory.
    pub control: &'a Control,
}

/// A player compared with optimal play; the JSON of `eval --against --json`. Nothing here is
/// sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapReport {
    /// The file of the player; `None` for an agent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Whether the solved game ends at the target; the results are then those of this shorter game.
    pub ends_at_target: bool,
    /// The expected score of optimal play.
    pub optimum: f64,
    /// The expected score of the player.
    pub expected_score: f64,
    /// The difference of the two.
    pub gap: f64,
    /// The gap as a share of the optimum.
    pub relative_gap: f64,
    /// Expected number of moves per game.
    pub moves: f64,
    /// The mean regret of a move.
    pub mean_regret: f64,
    /// The share of its moves that are optimal.
    pub optimal_moves: f64,
    /// The target tile, if the solution has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// The probability that the player, which plays for the score, reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_probability: Option<f64>,
    /// The probability that optimal play for the target reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_win_probability: Option<f64>,
    /// `all` if every symmetric board was measured; `one` if only the canonical one.
    pub symmetries: SymmetryMode,
    /// The number of states that the player can reach.
    pub states: u64,
    /// The time it took.
    pub seconds: f64,
}

impl GapReport {
    /// The measurement to store, for a player trained for `games` games.
    pub fn measurement(&self, games: u64) -> GapRow {
        GapRow {
            games,
            expected_score: self.expected_score,
            optimum: self.optimum,
            gap: self.gap,
            relative_gap: self.relative_gap,
            optimal_moves: self.optimal_moves,
            mean_regret: self.mean_regret,
            moves: self.moves,
            symmetries: Some(self.symmetries),
        }
    }
}

/// Measures a player against the solution of its game; `None` if it was cancelled.
///
/// # Errors
/// When the two have different games or boards, when only canonical boards are to be measured and
/// the player has no symmetries, when the solution is discounted, when there may be too little
/// memory, or when the solution lacks a state that the player reaches.
pub fn measure(options: &GapOptions<'_>) -> Result<Option<GapReport>, LabError> {
    let job = Job {
        task: Task::Measure,
        subject: options.contender.label.clone(),
        total: None,
        unit: Unit::Positions,
    };
    options.control.run(
        job,
        || gap(options),
        |done| {
            let report = done.as_ref().ok()?.as_ref();
            let states = report.map_or(0, |report| report.states);
            Some((Status::of(report.is_some()), states))
        },
    )
}

fn gap(options: &GapOptions<'_>) -> Result<Option<GapReport>, LabError> {
    let GapOptions {
        contender,
        solution,
        ..
    } = options;
    let info = solution.info();
    let (found, expected) = (contender.game_on(), game_on(&info.game, info.shape));
    if found != expected {
        return Err(SolveError::OtherGame { found, expected }.into());
    }
    if options.symmetries == SymmetryMode::One && !contender.is_symmetric {
        return Err(SolveError::Asymmetric.into());
    }
    if info.discount != 1.0 {
        return Err(SolveError::Discounted(info.discount).into());
    }
    let begun = Instant::now();
    let totals = match with_packed_game(&info.game, info.shape, GapVisitor(options))? {
        Ok(totals) => totals,
        Err(SolveFailure::Stopped) => return Ok(None),
        Err(SolveFailure::Failed(error)) => return Err(error.into()),
    };
    if totals.moves == 0.0 {
        return Err(SolveError::NoMoves.into());
    }
    let gap = info.expected_score - totals.score;
    Ok(Some(GapReport {
        model: contender.model.clone(),
        game: info.game.clone(),
        board: info.shape.to_string(),
        ends_at_target: info.ends_at_target(),
        optimum: info.expected_score,
        expected_score: totals.score,
        gap,
        relative_gap: gap / info.expected_score,
        moves: totals.moves,
        mean_regret: totals.regret / totals.moves,
        optimal_moves: totals.optimal / totals.moves,
        target: info.target.map(|target| target.value),
        win_probability: info.target.map(|_| totals.won),
        best_win_probability: info.target.map(|target| target.probability),
        symmetries: options.symmetries,
        states: totals.states,
        seconds: begun.elapsed().as_secs_f64(),
    }))
}

impl GapOptions<'_> {
    /// Reserves the most memory that a measurement may need.
    fn reserve<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
    ) -> Result<Reservation, SolveError> {
        let reachable = ReachableStates {
            symmetries: match self.symmetries {
                SymmetryMode::All => solver.code().symmetries() as u64,
                SymmetryMode::One => 1,
            },
            at_once: AT_ONCE as u64,
            spawns: solver.game().shape().cells() as u64,
        };
        let needed = reachable.bytes(self.solution.layers());
        let too_many = |available| SolveError::TooManyStates {
            needed,
            available,
            fast: self.symmetries == SymmetryMode::One,
        };
        if let Some(limit) = self.memory.filter(|&limit| needed > limit) {
            return Err(too_many(limit));
        }
        let reserved = self.control.memory().reserve(needed);
        reserved.map_err(|over| too_many(over.available))
    }
}

impl SymmetryMode {
    /// The number of a state, or of its canonical state.
    #[inline(always)]
    fn number<B: Packed>(self, code: &Code, state: State<B>) -> StateCode {
        match self {
            Self::All => code.exact_state(state),
            Self::One => code.of_state(state),
        }
    }
}

/// Sums over states, weighted by probability.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    states: u64,
    moves: f64,
    score: f64,
    regret: f64,
    optimal: f64,
    won: f64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.states += other.states;
        self.moves += other.moves;
        self.score += other.score;
        self.regret += other.regret;
        self.optimal += other.optimal;
        self.won += other.won;
    }
}

/// Regrets below this share of the value are rounding errors of exact values.
const ROUNDING: f64 = 1e-9;

/// States with their probabilities, sorted by number.
type Chances = Vec<(StateCode, f64)>;

struct GapVisitor<'a>(&'a GapOptions<'a>);

impl PackedVisitor for GapVisitor<'_> {
    type Output = Result<Totals, SolveFailure>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let GapOptions {
            solution, control, ..
        } = *self.0;
        let work = Work {
            threads: threads(self.0.threads),
            stop: &|| control.is_cancelled(),
        };
        let ending = solution.info().ending();
        let solver = Solver::with_code(game, solution.code().clone(), ending);
        let layers = solution.layers();
        let symmetries = self.0.symmetries;
        let _reserved = self.0.reserve(&solver)?;
        let (mut waiting, score) = starts(&solver, symmetries);
        let mut totals = Totals {
            score,
            ..Totals::default()
        };
        for (number, (sum, places)) in layers.iter().enumerate() {
            let Some(states) = waiting.0.remove(&sum) else {
                continue;
            };
            let known = Known::new(solution, number)?;
            for some in states.chunks(AT_ONCE) {
                let walked = work.in_parts(some, |part| {
                    let mut walker = MeasureWorker {
                        solver: &solver,
                        symmetries,
                        known: &known,
                        target: solution.info().target.map(|target| target.tile),
                        choose: self.0.contender.agent.policy_fn(),
                        totals: Totals::default(),
                        above: BTreeMap::new(),
                    };
                    part.iter().try_for_each(|&state| walker.step(state))?;
                    Ok::<_, SolveError>(walker.finish())
                })?;
                let walked = walked.into_iter().collect::<Result<Vec<_>, _>>()?;
                walked.iter().for_each(|(part, _)| totals.add(part));
                waiting.add(&work, walked.into_iter().flat_map(|(_, above)| above))?;
            }
            let done = places.end as f64 / layers.codes().len() as f64;
            let progress = Progress::stage(Task::Measure, "walking", done, totals.states);
            control.emit(Event::Progress(progress));
        }
        // States remain in a layer that the solution does not have.
        if !waiting.0.is_empty() {
            return Err(SolveError::Incomplete.into());
        }
        Ok(totals)
    }
}

/// States processed before their successors, which are many times as many, are merged.
const AT_ONCE: usize = 1 << 20;

/// The initial states with their probabilities, and the expected initial score.
fn starts<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    symmetries: SymmetryMode,
) -> (Waiting<(StateCode, f64)>, f64) {
    let mut starts: BTreeMap<u64, Chances> = BTreeMap::new();
    let mut score = 0.0;
    solver.game().for_each_start(|state, chance| {
        score += chance * solver.game().initial_score(state) as f64;
        let code = symmetries.number(solver.code(), state);
        let layer = starts.entry(solver.code().sum(code)).or_default();
        layer.push((code, chance));
    });
    (Waiting::new(starts), score)
}

/// Exact values of a layer and of those that a spawn leads to, in hash tables.
struct Known<'a> {
    solution: &'a Solution,
    near: Vec<(u64, ValueTable<StateCode>)>,
}

impl<'a> Known<'a> {
    /// The layers that one spawn can lead to, and the layer itself.
    const NEAR: usize = 3;

    fn new(solution: &'a Solution, layer: usize) -> Result<Self, WorkError> {
        let layers = solution.layers();
        let near = layer..layers.count().min(layer + Self::NEAR);
        let table = |number| {
            let (sum, places) = layers.layer(number);
            let codes = &layers.codes()[places.clone()];
            Ok((sum, ValueTable::new(codes, &solution.scores()[places])?))
        };
        Ok(Self {
            solution,
            near: near.map(table).collect::<Result<_, _>>()?,
        })
    }

    fn value(&self, code: StateCode) -> Option<f64> {
        let sum = self.solution.code().sum(code);
        let table = self.near.iter().find(|(near, _)| *near == sum);
        match table {
            Some((_, table)) => table.get(code),
            None => self.solution.value(code),
        }
    }
}

/// One thread that processes some states.
struct MeasureWorker<'a, G> {
    solver: &'a Solver<G>,
    symmetries: SymmetryMode,
    known: &'a Known<'a>,
    target: Option<u8>,
    choose: PolicyFn<'a>,
    totals: Totals,
    above: BTreeMap<u64, Chances>,
}

impl<G: Game<Board: Packed>> MeasureWorker<'_, G> {
    /// Adds the player's moves in a state.
    fn step(&mut self, (code, chance): (StateCode, f64)) -> Result<(), SolveError> {
        let (solver, game) = (self.solver, self.solver.game());
        let state: State<G::Board> = solver.code().state(code);
        self.totals.states += 1;
        let slides = game.slides(state);
        if !slides.any() || solver.ending().is_over(game, state) {
            let won = self.target.is_some_and(|tile| game.max_tile(state) >= tile);
            self.totals.won += if won { chance } else { 0.0 };
            return Ok(());
        }
        let tiles = solver.code().tiles(code);
        let tiles = &tiles[..game.shape().cells()];
        let choices = (self.choose)(tiles, game.chance_state(state)).unwrap_or_default();
        if choices.is_empty() {
            return Err(SolveError::NoMove);
        }
        let best = self.known.value(solver.code().of_state(state));
        let best = best.ok_or(SolveError::Incomplete)?;
        let share = chance / choices.len() as f64;
        for direction in choices {
            let slide = slides.get(direction).ok_or(SolveError::NoMove)?;
            let rest = self
                .spread(slide.after(), share)
                .ok_or(SolveError::Incomplete)?;
            let reward = f64::from(slide.reward());
            let regret = best - (reward + rest);
            self.totals.moves += share;
            self.totals.score += share * reward;
            self.totals.regret += share * regret;
            if regret <= ROUNDING * best.max(1.0) {
                self.totals.optimal += share;
            }
        }
        Ok(())
    }

    /// The totals of its states, and their successors, sorted.
    fn finish(self) -> (Totals, Vec<(u64, Chances)>) {
        let above = self.above.into_iter();
        let above = above.map(|(sum, states)| (sum, run_of(states)));
        (self.totals, above.collect())
    }

    /// Passes the probability of an afterstate on to its successors, and returns its exact value,
    /// if it is known.
    fn spread(&mut self, after: After<G::Board>, chance: f64) -> Option<f64> {
        let (code, known) = (self.solver.code(), self.known);
        let mut mean = Some(0.0);
        let totals = &mut self.totals;
        self.solver
            .game()
            .for_each_spawn(after, |state, spawn_reward, p| {
                let number = self.symmetries.number(code, state);
                let layer = self.above.entry(code.sum(number)).or_default();
                layer.push((number, chance * p));
                let (value, spawn_reward) =
                    (known.value(code.of_state(state)), f64::from(spawn_reward));
                totals.score += chance * p * spawn_reward;
                mean = mean
                    .zip(value)
                    .map(|(mean, value)| mean + p * (spawn_reward + value));
            });
        mean
    }
}

#[cfg(test)]
mod tests;
