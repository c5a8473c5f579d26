//! The seat of a player: it plays one game after another there, and is replaced when it has broken
//! a rule.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{Direction, Game};
use afterstate::random::{Rng, game_rng};
use afterstate::tally::Outcome;

use super::player::{Halt, StartedPlayer, Starter};
use super::protocol::{self, Breach};
use super::table::Table;
use crate::agent::PolicyFn;
use crate::seal::{Secret, tag};

/// A player that has broken the rules in this many games does not play the others.
pub(super) const MOST_BROKEN: u64 = 100;
/// Nor does one that was started this often without a greeting.
pub(super) const MOST_FAILED_STARTS: u64 = 3;

/// The seed of the lots that agents draw.
const LOTS: u64 = 0x4C4F_5453;

/// What all seats of a match share.
pub(super) struct Hall<'a> {
    pub(super) starter: &'a Starter,
    /// A program that was started before the match.
    pub(super) first: Mutex<Option<StartedPlayer>>,
    pub(super) secret: &'a Secret,
    pub(super) greeting: String,
    /// The name of the player in records.
    pub(super) name: String,
    /// The limit of a move.
    pub(super) time: Duration,
    /// The limit of the greeting.
    pub(super) start_time: Duration,
    pub(super) broken: AtomicU64,
    pub(super) failed_starts: AtomicU64,
    pub(super) cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// A game that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    /// The rule that the player has broken.
    pub(crate) breach: Option<Breach>,
    /// The time of all its moves.
    pub(crate) thought: Duration,
}

impl Hall<'_> {
    fn has_given_up(&self) -> bool {
        self.broken.load(Ordering::Relaxed) >= MOST_BROKEN
            || self.failed_starts.load(Ordering::Relaxed) >= MOST_FAILED_STARTS
    }

    /// Starts a player and greets it.
    fn start(&self) -> Result<StartedPlayer, Halt> {
        if self.has_given_up() {
            return Err(Breach::Forfeit.into());
        }
        let started = self.start_and_greet();
        if let Err(Halt::Breach(_)) = started {
            self.failed_starts.fetch_add(1, Ordering::Relaxed);
        }
        started
    }

    fn start_and_greet(&self) -> Result<StartedPlayer, Halt> {
        let first = self.first.lock();
        let first = first.unwrap_or_else(PoisonError::into_inner).take();
        let mut player = match first {
            Some(player) => player,
            None => self.starter.start(self.cancelled)?,
        };
        let (reply, _) = player.ask(&self.greeting, self.start_time, self.cancelled)?;
        protocol::read_ready(&reply)?;
        Ok(player)
    }

    /// The slide of an agent, and its time.
    fn decide<G: Game>(
        &self,
        policy: &mut PolicyFn<'_>,
        table: &Table<G>,
        rng: &mut Rng,
    ) -> Result<(Direction, Duration), Halt> {
        if (self.cancelled)() {
            return Err(Halt::Cancelled);
        }
        let begun = Instant::now();
        let choices = table.choices(policy);
        let pick = rng.below(choices.len() as u32) as usize;
        let unknown = || Breach::Exit("does not know this board".to_owned());
        let direction = *choices.get(pick).ok_or_else(unknown)?;
        Ok((direction, begun.elapsed()))
    }
}

/// A place at which one player plays.
pub(super) struct Seat<'a> {
    hall: &'a Hall<'a>,
    player: Option<StartedPlayer>,
    /// That of an agent, which takes the place of a player.
    policy: Option<PolicyFn<'a>>,
}

impl<'a> Seat<'a> {
    pub(super) fn new(hall: &'a Hall<'a>) -> Self {
        Self {
            hall,
            player: None,
            policy: hall.starter.policy(),
        }
    }

    /// Plays a game; `None` if it was cancelled.
    pub(super) fn play<G: Game>(
        &mut self,
        game: G,
        number: u64,
    ) -> Option<(Played, EpisodeRecord)> {
        let spawns = self.hall.secret.spawns(number);
        let mut table = Table::new(game, spawns, tag(&self.hall.name, number));
        // An agent that draws lots has numbers of its own: those of spawns are secret.
        let mut rng = game_rng(LOTS, number);
        let breach = loop {
            let Some(question) = table.question() else {
                break None;
            };
            let replied = match &mut self.policy {
                None => self.ask(&question),
                Some(policy) => self.hall.decide(policy, &table, &mut rng),
            };
            let moved = replied.and_then(|(direction, took)| Ok(table.slide(direction, took)?));
            match moved {
                Ok(()) => {}
                Err(Halt::Breach(breach)) => break Some(breach),
                Err(Halt::Cancelled) => return None,
            }
        };
        let outcome = table.outcome();
        self.end_game(outcome.score, breach.as_ref());
        let played = Played {
            outcome,
            breach,
            thought: table.thought(),
        };
        Some((played, table.into_record()))
    }

    /// The slide of the player, and its time.
    fn ask(&mut self, question: &str) -> Result<(Direction, Duration), Halt> {
        let hall = self.hall;
        let player = match &mut self.player {
            Some(player) => player,
            none => none.insert(hall.start()?),
        };
        let (reply, took) = player.ask(question, hall.time, hall.cancelled)?;
        Ok((protocol::read_slide(&reply)?, took))
    }

    /// Tells the player that the game is over, or replaces a player that has broken a rule.
    fn end_game(&mut self, score: u64, breach: Option<&Breach>) {
        match breach {
            None => {
                let over = protocol::over(score);
                // Whether it is gone, the next game shows.
                self.player.as_mut().map(|player| player.tell(&over));
            }
            Some(breach) => {
                self.player = None;
                if *breach != Breach::Forfeit {
                    self.hall.broken.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Ends the player politely.
    pub(super) fn leave(self) {
        if let Some(player) = self.player {
            player.dismiss();
        }
    }
}
