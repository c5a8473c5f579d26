//! A school written down, so that it can go on another day as if nothing had happened.
//!
//! A position is its tiles by rows, a digit of base 36 each, and behind a `.` what chance remembers, where it does.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Memory, School, Seat, Transition};
use crate::game::{Direction, Game, Luck, Position};
use crate::tally::Outcome;

/// Everything that a [`School`] needs to go on, as text and numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// Iterations so far.
    pub iterations: u64,
    /// The games: the state of each, what it came to so far, and its last moves that are not in memory yet.
    pub games: Vec<(String, Outcome, Vec<Noted>)>,
    /// The place in memory that will be overwritten next.
    pub oldest: usize,
    /// Memory.
    pub memory: Vec<Noted>,
}

/// A transition: state, direction (0 to 3 as in records), reward, later rewards, moves, next state, whether the game is over.
pub type Noted = (String, u8, u32, f32, u32, String, bool);

/// Notes that no school has written.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotesError {
    /// Another number of games.
    #[error("there are {found} games, expected {expected}")]
    Games {
        /// In the notes.
        found: usize,
        /// By the curriculum of the school.
        expected: usize,
    },
    /// More than fits.
    #[error("there are {found} moves in memory, which has room for {room}")]
    Memory {
        /// In the notes.
        found: usize,
        /// By the curriculum of the school.
        room: usize,
    },
    /// Something that is no position of the game, or of a game that is over, or with moves that cannot have been made there.
    #[error("`{0}` is no position in which such a move can be made")]
    Position(String),
    /// A count that nobody has come to.
    #[error("{0} is too large for a count")]
    Count(u64),
    /// A number of moves that no transition spans, or a sum that is none.
    #[error("a move of {steps} steps and {later} later; expected 1 to {most} steps")]
    Steps {
        /// The steps found.
        steps: u32,
        /// The later rewards found.
        later: f32,
        /// By the curriculum of the school.
        most: u32,
    },
    /// A number that is no direction.
    #[error("{0} is no direction; expected 0 to 3")]
    Direction(u8),
}

fn in_range(count: u64) -> Result<(), NotesError> {
    let fits = i64::try_from(count).is_ok();
    fits.then_some(()).ok_or(NotesError::Count(count))
}

fn nowhere(text: &str) -> NotesError {
    NotesError::Position(text.chars().take(80).collect())
}

fn write<G: Game>(game: &G, state: G::State) -> String {
    let digit = |i: usize| char::from_digit(state.cell(i).into(), 36).unwrap_or('?');
    let mut text: String = (0..game.shape().cells()).map(digit).collect();
    let luck = game.luck(state);
    if luck != Luck::NONE {
        text += &format!(".{}", luck.packed());
    }
    text
}

fn read<G: Game>(game: &G, text: &str) -> Option<G::State> {
    let (tiles, luck) = text.split_once('.').unwrap_or((text, "0"));
    let digit = |c: char| c.to_digit(36).map(|digit| digit as u8);
    let tiles: Vec<u8> = tiles.chars().map(digit).collect::<Option<_>>()?;
    let luck: u16 = luck.parse().ok().filter(|luck| *luck >> Luck::BITS == 0)?;
    game.state(&tiles, Luck::unpacked(luck))
}

impl<G: Game> School<G> {
    /// Writes everything down.
    pub fn notes(&self) -> Notes {
        let write = |state| write(&self.game, state);
        let one = |t: &Transition<G::State>| {
            let (state, next) = (write(t.state), write(t.next));
            let direction = t.direction as u8;
            (state, direction, t.reward, t.later, t.steps, next, t.over)
        };
        let game = |seat: &Seat<G::State>| {
            let young = seat.young.iter().map(one).collect();
            (write(seat.state), seat.outcome, young)
        };
        Notes {
            iterations: self.iterations,
            games: self.seats.iter().map(game).collect(),
            oldest: self.memory.oldest(),
            memory: self.memory.kept().iter().map(one).collect(),
        }
    }

    /// A state as it was written.
    fn state(&self, text: &str) -> Result<G::State, NotesError> {
        read(&self.game, text).ok_or_else(|| nowhere(text))
    }

    /// A state in which something can be done.
    fn to_move(&self, text: &str) -> Result<G::State, NotesError> {
        let state = self.state(text)?;
        let first = self.game.slides(state).legal().next();
        first.map(|_| state).ok_or_else(|| nowhere(text))
    }

    /// A move as it was written, if it can have been made.
    fn transition(&self, noted: &Noted) -> Result<Transition<G::State>, NotesError> {
        let (state, direction, reward, later, steps, next, over) = noted;
        let (later, steps, most) = (*later, *steps, self.curriculum.steps);
        if !(1..=most).contains(&steps) || !later.is_finite() {
            return Err(NotesError::Steps { steps, later, most });
        }
        let found = Direction::ALL.get(usize::from(*direction));
        let (from, next) = (self.to_move(state)?, self.state(next)?);
        let slide = *found.ok_or(NotesError::Direction(*direction))?;
        // A new tile may bring something, too.
        let earned = self.game.slides(from).get(slide);
        let legal = earned.is_some_and(|(_, earned)| earned <= *reward);
        let ends = self.game.slides(next).legal().next().is_none();
        if !legal || ends != *over {
            return Err(nowhere(state));
        }
        Ok(Transition {
            state: from,
            direction: slide,
            reward: *reward,
            later,
            steps,
            next,
            over: *over,
        })
    }

    /// Goes on where notes were taken.
    ///
    /// # Errors
    /// When no school of this curriculum has written them.
    pub fn go_on(&mut self, notes: &Notes) -> Result<(), NotesError> {
        in_range(notes.iterations)?;
        let (found, expected) = (notes.games.len(), self.curriculum.games);
        if found != expected {
            return Err(NotesError::Games { found, expected });
        }
        let (found, room) = (notes.memory.len(), self.curriculum.memory);
        if found > room {
            return Err(NotesError::Memory { found, room });
        }
        let one = |noted: &Noted| self.transition(noted);
        let seat = |(text, outcome, young): &(String, Outcome, Vec<Noted>)| {
            if !outcome.in_range() {
                return Err(NotesError::Count(outcome.score.max(outcome.moves)));
            }
            let fits = young.len() < self.curriculum.steps as usize;
            if !fits || young.iter().any(|noted| noted.6) {
                return Err(nowhere(text));
            }
            Ok(Seat {
                state: self.to_move(text)?,
                outcome: *outcome,
                young: young.iter().map(one).collect::<Result<_, _>>()?,
            })
        };
        let seats = notes.games.iter().map(seat).collect::<Result<_, _>>()?;
        let kept = notes.memory.iter().map(one).collect::<Result<_, _>>()?;
        self.memory = Memory::new(room, self.curriculum.overwrite).with(kept, notes.oldest);
        self.seats = seats;
        self.iterations = notes.iterations;
        Ok(())
    }
}
