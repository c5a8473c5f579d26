//! How far a player is from perfect play, without a game being played: the chance of every state that it
//! comes to, from the starts upwards, and what each of its moves gives away there.
//!
//! `P(start) -> P(state) -> the player's move -> new tiles -> P(states of larger sums)`
//!
//! score = sum over states of P r,   regret of a move = V(s) - (r + A(s')),   optimum - score = sum of P regret
//!
//! States are kept as they are, not up to symmetry: a player need not treat the images of a board alike. One whose
//! network has symmetries does, but for rounding and for equal moves, which it may settle by their
//! directions; [`Images::One`] measures the player that turns every board to one of its images first, eight times
//! as fast on a square. Where equal moves are settled at random, each of them has its share of the chance.

use std::collections::BTreeMap;
use std::time::Instant;

use afterstate::game::{After, Game, State};
use afterstate::solve::{Code, Packed, Solver};
use serde::{Deserialize, Serialize};

use super::estimate::Crowd;
use super::table::Table;
use super::work::{Waiting, Work, run_of};
use super::{Halt, Solution, SolveError};
use crate::LabError;
use crate::agent::Chooser;
use crate::control::{Control, Event, Progress, Task};
use crate::error::game_on;
use crate::games::{PackedVisitor, with_packed_game};
use crate::memory::available_memory;
use crate::model::Model;
use crate::run::{Images, Measurement};
use crate::share::threads;

/// Who is measured, and how.
pub struct Measure<'a> {
    /// The player.
    pub model: &'a Model,
    /// The game it should play, solved.
    pub solution: &'a Solution,
    /// The boards that the player is asked about.
    pub images: Images,
    /// Threads that work at once; 0 means one for each core. The figures do not depend on it.
    pub threads: usize,
    /// The most memory to take beside what is loaded, in bytes; what is free if there is no limit.
    pub memory: Option<u64>,
    /// Events and cancellation.
    pub control: &'a Control,
}

/// A player beside the best one; the JSON of `eval --against --json`. Nothing here is sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Whether the solved game ends with its target; the figures are then those of this shorter game.
    pub ends_at_target: bool,
    /// What the best play earns on average.
    pub optimum: f64,
    /// What the player earns on average.
    pub expected_score: f64,
    /// The difference of the two.
    pub gap: f64,
    /// The gap as a share of the optimum.
    pub relative_gap: f64,
    /// Moves a game.
    pub moves: f64,
    /// What a move gives away, on average over all moves it makes.
    pub mean_regret: f64,
    /// The share of its moves that give nothing away.
    pub optimal_moves: f64,
    /// The tile to reach, if the solution has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// How likely the player comes to it, which plays for the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_probability: Option<f64>,
    /// How likely the best play for it comes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_win_probability: Option<f64>,
    /// `all` if the player was asked about every board as it is; `one` if about one image of each.
    pub images: Images,
    /// States that the player may come to, as they were asked about.
    pub states: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Comparison {
    /// What is kept of it, if the player was trained for so many games.
    pub fn measurement(&self, games: u64) -> Measurement {
        Measurement {
            games,
            expected_score: self.expected_score,
            optimum: self.optimum,
            gap: self.gap,
            relative_gap: self.relative_gap,
            optimal_moves: self.optimal_moves,
            mean_regret: self.mean_regret,
            moves: self.moves,
            symmetries: Some(self.images),
        }
    }
}

/// Measures a player against the solution of its game; `None` if it was stopped.
///
/// # Errors
/// When the two are of different games or boards, when one image should stand for all and the player does not
/// treat them alike, when later rewards count less in the solution, when there may be too little memory, or when the
/// solution does not know where the player goes.
pub fn measure(measure: &Measure<'_>) -> Result<Option<Comparison>, LabError> {
    let Measure {
        model, solution, ..
    } = measure;
    let about = solution.about();
    let (found, expected) = (model.spec.game_on(), game_on(&about.game, about.shape));
    if found != expected {
        return Err(SolveError::OtherGame { found, expected }.into());
    }
    if measure.images == Images::One && !model.spec.is_symmetric() {
        return Err(SolveError::NotAlike.into());
    }
    if about.discount != 1.0 {
        return Err(SolveError::Discounted(about.discount).into());
    }
    let begun = Instant::now();
    let totals = match with_packed_game(&about.game, about.shape, Walk(measure))? {
        Ok(totals) => totals,
        Err(Halt::Stopped) => return Ok(None),
        Err(Halt::Failed(error)) => return Err(error.into()),
    };
    if totals.moves == 0.0 {
        return Err(SolveError::NoMoves.into());
    }
    let gap = about.expected_score - totals.score;
    Ok(Some(Comparison {
        game: about.game.clone(),
        board: about.shape.to_string(),
        ends_at_target: about.ends_at_target(),
        optimum: about.expected_score,
        expected_score: totals.score,
        gap,
        relative_gap: gap / about.expected_score,
        moves: totals.moves,
        mean_regret: totals.regret / totals.moves,
        optimal_moves: totals.optimal / totals.moves,
        target: about.target.map(|target| target.face),
        win_probability: about.target.map(|_| totals.won),
        best_win_probability: about.target.map(|target| target.probability),
        images: measure.images,
        states: totals.states,
        seconds: begun.elapsed().as_secs_f64(),
    }))
}

impl Measure<'_> {
    /// Refuses a walk for which there may be too little memory.
    fn fits<G: Game<Board: Packed>>(&self, solver: &Solver<G>) -> Result<(), SolveError> {
        let crowd = Crowd {
            images: match self.images {
                Images::All => solver.code().symmetries() as u64,
                Images::One => 1,
            },
            at_once: AT_ONCE as u64,
            spawns: solver.game().shape().cells() as u64,
        };
        let needed = crowd.bytes(self.solution.layers());
        let available = self.memory.unwrap_or_else(available_memory);
        let fast = self.images == Images::One;
        if needed > available {
            return Err(SolveError::Crowd {
                needed,
                available,
                fast,
            });
        }
        Ok(())
    }
}

impl Images {
    /// The number of a state, or of the image that stands for it.
    #[inline(always)]
    fn number<B: Packed>(self, code: &Code, state: B) -> u64 {
        match self {
            Self::All => code.exact(state),
            Self::One => code.of(state),
        }
    }
}

/// What some states come to, each by its chance.
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

/// A regret of this share of a value is none: the sums of exact values are rounded, too.
const ROUNDING: f64 = 1e-9;

/// States with their chances, in the order of their numbers.
type Chances = Vec<(u64, f64)>;

struct Walk<'a>(&'a Measure<'a>);

impl PackedVisitor for Walk<'_> {
    type Output = Result<Totals, Halt>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let Measure {
            solution, control, ..
        } = *self.0;
        let work = Work {
            threads: threads(self.0.threads),
            stop: &|| control.is_cancelled(),
        };
        let ending = solution.about().ending();
        let solver = Solver::with_code(game, solution.code().clone(), ending);
        let layers = solution.layers();
        let images = self.0.images;
        self.0.fits(&solver)?;
        let (mut waiting, score) = starts(&solver, images);
        let mut totals = Totals {
            score,
            ..Totals::default()
        };
        for (number, (sum, places)) in layers.iter().enumerate() {
            let Some(states) = waiting.0.remove(&sum) else {
                continue;
            };
            let known = Known::new(solution, number);
            for some in states.chunks(AT_ONCE) {
                let walked = work.in_parts(some, |part| {
                    let mut walker = Walker {
                        solver: &solver,
                        images,
                        known: &known,
                        target: solution.about().target.map(|target| target.tile),
                        choose: self.0.model.agent.chooser(),
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
        // Whoever comes to a layer that is not there is lost.
        if !waiting.0.is_empty() {
            return Err(SolveError::Incomplete.into());
        }
        Ok(totals)
    }
}

/// States that are walked from before what comes of them is merged: it is many times as much.
const AT_ONCE: usize = 1 << 20;

/// Where games start, with their chances, and the score that they start with on average.
fn starts<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    images: Images,
) -> (Waiting<(u64, f64)>, f64) {
    let mut starts: BTreeMap<u64, Chances> = BTreeMap::new();
    let mut score = 0.0;
    solver.game().for_each_start(|state, chance| {
        score += chance * solver.game().initial_score(state) as f64;
        let code = images.number(solver.code(), state.0);
        let layer = starts.entry(solver.code().sum(code)).or_default();
        layer.push((code, chance));
    });
    (Waiting::new(starts), score)
}

/// Exact values near a layer: its own and those that new tiles lead to are at hand.
struct Known<'a> {
    solution: &'a Solution,
    near: Vec<(u64, Table)>,
}

impl<'a> Known<'a> {
    /// Layers that one new tile can lead to, and the one it comes from.
    const NEAR: usize = 3;

    fn new(solution: &'a Solution, layer: usize) -> Self {
        let layers = solution.layers();
        let near = layer..layers.count().min(layer + Self::NEAR);
        let table = |number| {
            let (sum, places) = layers.layer(number);
            let codes = &layers.codes()[places.clone()];
            (sum, Table::new(codes, &solution.scores()[places]))
        };
        Self {
            solution,
            near: near.map(table).collect(),
        }
    }

    fn value(&self, code: u64) -> Option<f64> {
        let sum = self.solution.code().sum(code);
        let table = self.near.iter().find(|(near, _)| *near == sum);
        match table {
            Some((_, table)) => table.get(code),
            None => self.solution.value(code),
        }
    }
}

/// One thread on its way through some states.
struct Walker<'a, G> {
    solver: &'a Solver<G>,
    images: Images,
    known: &'a Known<'a>,
    target: Option<u8>,
    choose: Chooser<'a>,
    totals: Totals,
    above: BTreeMap<u64, Chances>,
}

impl<G: Game<Board: Packed>> Walker<'_, G> {
    /// Goes on from a state.
    fn step(&mut self, (code, chance): (u64, f64)) -> Result<(), SolveError> {
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
            return Err(SolveError::Speechless);
        }
        let best = self.known.value(solver.code().of(state.0));
        let best = best.ok_or(SolveError::Incomplete)?;
        let share = chance / choices.len() as f64;
        for direction in choices {
            let slide = slides.get(direction).ok_or(SolveError::Speechless)?;
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

    /// What its states came to, and the states above them, in runs.
    fn finish(self) -> (Totals, Vec<(u64, Chances)>) {
        let above = self.above.into_iter();
        let above = above.map(|(sum, states)| (sum, run_of(states)));
        (self.totals, above.collect())
    }

    /// Hands the chance of an afterstate on to the states that new tiles make of it, and returns its exact
    /// value, if it is known.
    fn spread(&mut self, after: After<G::Board>, chance: f64) -> Option<f64> {
        let (code, known) = (self.solver.code(), self.known);
        let mut mean = Some(0.0);
        let totals = &mut self.totals;
        self.solver
            .game()
            .for_each_spawn(after, |state, spawn_reward, p| {
                let number = self.images.number(code, state.0);
                let layer = self.above.entry(code.sum(number)).or_default();
                layer.push((number, chance * p));
                let (value, spawn_reward) =
                    (known.value(code.of(state.0)), f64::from(spawn_reward));
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
