//! A player slot: its player plays one game after another, and is replaced when it has broken a
//! rule.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{Direction, Game};
use afterstate::random::{Rng, game_rng};
use afterstate::tally::Outcome;

use super::game::RefereedGame;
use super::player::{GameEnd, StartedPlayer, Starter};
use super::protocol::{self, Breach};
use crate::agent::PolicyFn;
use crate::seal::{Secret, tag};

/// A player that has broken the rules in this many games does not play the others.
pub(super) const MOST_BROKEN: u64 = 100;
/// Nor does one that was started this often without a greeting.
pub(super) const MOST_FAILED_STARTS: u64 = 3;

/// The seed of the random choices of agents.
const POLICY_SEED: u64 = 0x4C4F_5453;

/// What all slots of a match share.
pub(super) struct MatchState<'a> {
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
pub(crate) struct FinishedGame {
    pub(crate) outcome: Outcome,
    /// The rule that the player has broken.
    pub(crate) breach: Option<Breach>,
    /// The time of all its moves.
    pub(crate) thought: Duration,
}

impl MatchState<'_> {
    fn has_given_up(&self) -> bool {
        self.broken.load(Ordering::Relaxed) >= MOST_BROKEN
            || self.failed_starts.load(Ordering::Relaxed) >= MOST_FAILED_STARTS
    }

    /// Starts a player and greets it.
    fn start(&self) -> Result<StartedPlayer, GameEnd> {
        if self.has_given_up() {
            return Err(Breach::Forfeit.into());
        }
        let started = self.start_and_greet();
        if let Err(GameEnd::Breach(_)) = started {
            self.failed_starts.fetch_add(1, Ordering::Relaxed);
        }
        started
    }

    fn start_and_greet(&self) -> Result<StartedPlayer, GameEnd> {
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
        refereed: &RefereedGame<G>,
        rng: &mut Rng,
    ) -> Result<(Direction, Duration), GameEnd> {
        if (self.cancelled)() {
            return Err(GameEnd::Cancelled);
        }
        let begun = Instant::now();
        let choices = refereed.choices(policy);
        let pick = rng.below(choices.len() as u32) as usize;
        let unknown = || Breach::Exit("does not know this board".to_owned());
        let direction = *choices.get(pick).ok_or_else(unknown)?;
        let took = begun.elapsed();
        match took <= self.time {
            true => Ok((direction, took)),
            false => Err(Breach::Timeout(self.time.as_millis()).into()),
        }
    }
}

/// One of the copies of a player that play side by side.
pub(super) struct PlayerSlot<'a> {
    state: &'a MatchState<'a>,
    player: Option<StartedPlayer>,
    /// That of an agent, which takes the place of a player.
    policy: Option<PolicyFn<'a>>,
}

impl<'a> PlayerSlot<'a> {
    pub(super) fn new(state: &'a MatchState<'a>) -> Self {
        Self {
            state,
            player: None,
            policy: state.starter.policy(),
        }
    }

    /// Plays a game; `None` if it was cancelled.
    pub(super) fn play<G: Game>(
        &mut self,
        game: G,
        number: u64,
    ) -> Option<(FinishedGame, EpisodeRecord)> {
        let spawns = self.state.secret.spawns(number);
        let mut refereed = RefereedGame::new(game, spawns, tag(&self.state.name, number));
        // Random choices of an agent have a generator of their own: the numbers of spawns are secret.
        let mut rng = game_rng(POLICY_SEED, number);
        let breach = loop {
            let Some(question) = refereed.question() else {
                break None;
            };
            let replied = match &mut self.policy {
                None => self.ask(&question),
                Some(policy) => self.state.decide(policy, &refereed, &mut rng),
            };
            let moved = replied.and_then(|(direction, took)| Ok(refereed.slide(direction, took)?));
            match moved {
                Ok(()) => {}
                Err(GameEnd::Breach(breach)) => break Some(breach),
                Err(GameEnd::Cancelled) => return None,
            }
        };
        let outcome = refereed.outcome();
        self.end_game(outcome.score, breach.as_ref());
        let played = FinishedGame {
            outcome,
            breach,
            thought: refereed.thought(),
        };
        Some((played, refereed.into_record()))
    }

    /// The slide of the player, and its time.
    fn ask(&mut self, question: &str) -> Result<(Direction, Duration), GameEnd> {
        let state = self.state;
        let player = match &mut self.player {
            Some(player) => player,
            none => none.insert(state.start()?),
        };
        let (reply, took) = player.ask(question, state.time, state.cancelled)?;
        Ok((protocol::read_slide(&reply)?, took))
    }

    /// Tells the player that the game is over, or replaces a player that has broken a rule.
    fn end_game(&mut self, score: u64, breach: Option<&Breach>) {
        match breach {
            None => {
                let over = protocol::over(score);
                // If the player has ended, the next game reports it.
                self.player.as_mut().map(|player| player.tell(&over));
            }
            Some(breach) => {
                self.player = None;
                if *breach != Breach::Forfeit {
                    self.state.broken.fetch_add(1, Ordering::Relaxed);
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
