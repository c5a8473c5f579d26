//! Learning from memory: many games side by side, a move in each, then some batches drawn from what was seen.
//!
//! `states -> a Pupil chooses -> Transitions -> Memory -> batches -> the Pupil learns`
//!
//! Every iteration has a random stream of its own, given by the seed and the iteration's number, so that what a [`School`] needs
//! to go on is its games, its memory and that number: see [`Notes`].

mod memory;
mod notes;
mod tables;

pub use memory::{Memory, Overwrite};
pub use notes::{Noted, Notes, NotesError};
pub use tables::TablePupil;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Value;
use crate::game::{Direction, Game, Slides};
use crate::random::{Rng, game_rng};
use crate::tally::Outcome;

/// One move and what came of it, as memory keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<S> {
    /// The state before it.
    pub state: S,
    /// The slide.
    pub direction: Direction,
    /// What the slide earned, and the new tile brought.
    pub reward: u32,
    /// What the moves behind it earned, as far as they belong to it: discounted by how much later each was.
    pub later: f32,
    /// The moves, this one among them.
    pub steps: u32,
    /// The state after them.
    pub next: S,
    /// Whether the game is over there.
    pub over: bool,
}

/// Who learns from transitions.
pub trait Pupil<G: Game> {
    /// Writes a legal slide for each of these states, all of which have one.
    fn choose(&mut self, game: &G, states: &[G::State], rng: &mut Rng, chosen: &mut Vec<Direction>);

    /// Learns from some transitions.
    fn learn(&mut self, game: &G, batch: &[Transition<G::State>]) -> Learned;

    /// Changes the learning rate from now on.
    fn set_rate(&mut self, _: Value) {}
}

/// What a batch came to, as means over its transitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Learned {
    /// The square of how far the pupil was off.
    pub loss: f64,
    /// What it thought of the states.
    pub value: f64,
}

/// How a school is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curriculum {
    /// Games side by side.
    pub games: usize,
    /// Transitions in memory.
    pub memory: usize,
    /// Which of them go when it is full.
    pub overwrite: Overwrite,
    /// Moves that a transition spans, at least 1; fewer at the end of a game.
    pub steps: u32,
    /// What a reward one move later counts in a transition.
    pub discount: f32,
    /// Batches an iteration.
    pub batches: usize,
    /// Transitions in a batch.
    pub batch: usize,
    /// The share of moves made at random at first.
    pub epsilon: f64,
    /// It falls along a line and is 0 after so many iterations; with 0 it never falls.
    pub epsilon_iterations: u64,
}

/// As R4 has it.
impl Default for Curriculum {
    fn default() -> Self {
        Self {
            games: 32,
            memory: 5000,
            overwrite: Overwrite::Oldest,
            steps: 1,
            discount: 1.0,
            batches: 5,
            batch: 32,
            epsilon: 0.0,
            epsilon_iterations: 0,
        }
    }
}

impl Curriculum {
    /// The share of random moves in an iteration.
    pub fn epsilon_at(&self, iteration: u64) -> f64 {
        if self.epsilon_iterations == 0 {
            return self.epsilon;
        }
        let left = 1.0 - iteration as f64 / self.epsilon_iterations as f64;
        self.epsilon * left.max(0.0)
    }
}

/// What was learned in some iterations, as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Iterations: a move in every game.
    pub iterations: u64,
    /// Batches learned.
    pub updates: u64,
    /// The sum of their losses.
    pub loss: f64,
    /// The sum of their values.
    pub value: f64,
    /// Moves made.
    pub moves: u64,
    /// What these earned.
    pub reward: u64,
}

impl Study {
    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        self.iterations += other.iterations;
        self.updates += other.updates;
        self.loss += other.loss;
        self.value += other.value;
        self.moves += other.moves;
        self.reward += other.reward;
    }

    /// Whether all of it are numbers.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.value.is_finite()
    }

    /// The mean loss of a batch; 0 without any.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.updates.max(1) as f64
    }

    /// The mean value of a state in a batch; 0 without any.
    pub fn mean_value(&self) -> f64 {
        self.value / self.updates.max(1) as f64
    }

    /// The mean reward of a move; 0 without any.
    pub fn mean_reward(&self) -> f64 {
        self.reward as f64 / self.moves.max(1) as f64
    }
}

/// A game that is being played.
#[derive(Clone, Debug, PartialEq)]
struct Seat<S> {
    state: S,
    outcome: Outcome,
    /// Its last moves, oldest first, that do not span enough yet to be remembered.
    young: VecDeque<Transition<S>>,
}

impl<S: Copy> Seat<S> {
    /// A move was made: those that it completes are handed over.
    fn grow(
        &mut self,
        made: Transition<S>,
        curriculum: &Curriculum,
        mut complete: impl FnMut(Transition<S>),
    ) {
        for young in &mut self.young {
            young.later += curriculum.discount.powi(young.steps as i32) * made.reward as f32;
            young.steps += 1;
            young.next = made.next;
            young.over = made.over;
        }
        self.young.push_back(made);
        let spans = |young: &Transition<S>| made.over || young.steps >= curriculum.steps;
        while self.young.front().is_some_and(spans) {
            self.young.pop_front().into_iter().for_each(&mut complete);
        }
    }
}

/// Games side by side and a memory of their moves.
pub struct School<G: Game> {
    game: G,
    curriculum: Curriculum,
    seed: u64,
    iterations: u64,
    seats: Vec<Seat<G::State>>,
    memory: Memory<Transition<G::State>>,
    /// Room for what is used in every iteration.
    states: Vec<G::State>,
    chosen: Vec<Direction>,
    batch: Vec<Transition<G::State>>,
}

/// Keeps the streams of iterations apart from those of games with the same seed.
const STREAMS: u64 = 0x5245_504C_4159_0000;

impl<G: Game> School<G> {
    /// A school before its first day.
    pub fn new(game: G, curriculum: Curriculum, seed: u64) -> Self {
        let mut rng = game_rng(seed ^ STREAMS, u64::MAX);
        Self {
            seats: (0..curriculum.games)
                .map(|_| seat(&game, &mut rng))
                .collect(),
            memory: Memory::new(curriculum.memory, curriculum.overwrite),
            game,
            curriculum,
            seed,
            iterations: 0,
            states: Vec::new(),
            chosen: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// A move in every game, and some batches. Tells of games that end.
    pub fn iterate(
        &mut self,
        pupil: &mut (impl Pupil<G> + ?Sized),
        finished: impl FnMut(Outcome),
    ) -> Study {
        let mut rng = game_rng(self.seed ^ STREAMS, self.iterations);
        let mut study = Study {
            iterations: 1,
            moves: self.seats.len() as u64,
            ..Study::default()
        };
        study.reward = self.play(pupil, finished, &mut rng);
        if self.memory.len() >= self.curriculum.batch {
            for _ in 0..self.curriculum.batches {
                self.memory
                    .draw(self.curriculum.batch, &mut rng, &mut self.batch);
                let learned = pupil.learn(&self.game, &self.batch);
                study.updates += 1;
                study.loss += learned.loss;
                study.value += learned.value;
            }
        }
        self.iterations += 1;
        study
    }

    /// Returns what all moves earned.
    fn play(
        &mut self,
        pupil: &mut (impl Pupil<G> + ?Sized),
        mut finished: impl FnMut(Outcome),
        rng: &mut Rng,
    ) -> u64 {
        let game = self.game;
        let epsilon = self.curriculum.epsilon_at(self.iterations);
        self.states.clear();
        self.states.extend(self.seats.iter().map(|seat| seat.state));
        pupil.choose(&game, &self.states, rng, &mut self.chosen);
        let mut earned = 0;
        for (seat, &chosen) in self.seats.iter_mut().zip(&self.chosen) {
            let slides = game.slides(seat.state);
            let explores = epsilon > 0.0 && rng.unit() < epsilon;
            let direction = if explores { any(&slides, rng) } else { chosen };
            let slide = slides.get(direction);
            let (after, reward) = slide.expect("a pupil chooses legal slides");
            let (cell, arrival) = game.draw(after, rng);
            let next = game.place(after, cell, arrival);
            let reward = reward + game.brings(arrival.tile);
            let over = game.slides(next).legal().next().is_none();
            let transition = Transition {
                state: seat.state,
                direction,
                reward,
                later: 0.0,
                steps: 1,
                next,
                over,
            };
            let memory = &mut self.memory;
            seat.grow(transition, &self.curriculum, |whole| {
                memory.push(whole, rng);
            });
            earned += u64::from(reward);
            seat.state = next;
            seat.outcome.moves += 1;
            seat.outcome.score += u64::from(reward);
            if over {
                seat.outcome.largest = game.face(game.largest(next));
                finished(seat.outcome);
                *seat = self::seat(&game, rng);
            }
        }
        earned
    }
}

/// A new game.
fn seat<G: Game>(game: &G, rng: &mut Rng) -> Seat<G::State> {
    let state = game.start(rng);
    let outcome = Outcome {
        score: game.score_of_start(state),
        ..Outcome::default()
    };
    Seat {
        state,
        outcome,
        young: VecDeque::new(),
    }
}

/// Any legal slide; there is one.
fn any<A: Copy>(slides: &Slides<A>, rng: &mut Rng) -> Direction {
    let count = slides.legal().count() as u32;
    let mut legal = slides.legal().map(|(direction, ..)| direction);
    let pick = rng.below(count.max(1)) as usize;
    legal.nth(pick).unwrap_or(Direction::Up)
}

#[cfg(test)]
mod tests;
