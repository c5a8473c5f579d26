//! The judge: replays episode records and checks that they follow the rules.
//!
//! `line -> EpisodeRecord -> every action against the game -> Outcome`, and over all episodes
//! `spawns -> p-values`.
//!
//! A valid record could have been played; `spawns.rs` tests whether its spawns are those of
//! chance, and `identity.rs` finds games that occur twice.

mod allowed;
mod environment;
mod fault;
mod frequency;
mod identity;
mod martingale;
mod neighbours;
mod replay;
mod spawns;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use allowed::{AllowedSpawn, allowed_spawn};
pub use environment::{Check, CheckResult, EnvironmentJudge, ImpossibleBoard, ObservedAction};
pub use fault::{Fault, PlacedTile, Reason};
pub use frequency::{Frequency, Test};
pub use identity::Identity;
pub use martingale::{Martingale, MartingaleResult, Tail};
pub use replay::{RecordEnd, Replayed};
pub use spawns::{SpawnTest, SpawnTestKind, Statistic};

use crate::format::episode::{Action, EpisodeRecord};
use crate::game::{After, Game, Slide, Spawn, State};
use crate::tally::{Outcome, Tally};
use identity::Images;
use neighbours::Neighbours;
use replay::Replay;
use spawns::SpawnTests;

/// Returns the spawn after an afterstate: the cell, and the tile.
pub type SpawnSource<'d, G> = dyn FnMut(After<<G as Game>::Board>) -> (usize, Spawn) + 'd;

/// A half of a turn in an episode that is replayed.
#[derive(Clone, Copy, Debug)]
pub enum ReplayEvent<G: Game> {
    /// A slide of the player.
    Slide {
        /// The state before it.
        state: State<G::Board>,
        /// The slide.
        slide: Slide<G::Board>,
    },
    /// A spawn after a slide. Initial tiles are not observed.
    Spawn {
        /// The afterstate before it.
        after: After<G::Board>,
        /// Its cell, in row-major order.
        cell: usize,
        /// The state that it leads to.
        state: State<G::Board>,
    },
}

/// Sees each half of a turn.
pub type ReplayObserver<'o, G> = dyn FnMut(ReplayEvent<G>) + 'o;

/// Values of states, by which the luck of a spawn is measured.
pub trait StateValues<G: Game>: Send + Sync {
    /// Appends the value of each state to `values`, its spawn reward included; appends nothing if
    /// one of them has no value.
    fn values(&self, game: &G, states: &[(State<G::Board>, u32)], values: &mut Vec<f64>);
}

/// What the replay of any episode of a game needs.
#[derive(Clone)]
struct Context<G: Game> {
    game: G,
    images: Images,
    neighbours: Neighbours,
    /// Without them, luck is measured by the built-in value function.
    values: Option<Arc<dyn StateValues<G>>>,
}

impl<G: Game> Context<G> {
    fn spawns(&self) -> SpawnTests {
        let tiles = usize::from(self.game.largest_tile()) + 1;
        SpawnTests::new(self.game.shape(), tiles)
    }
}

/// The statistics of all episodes so far.
#[derive(Clone)]
pub struct Judge<G: Game> {
    context: Context<G>,
    tally: Tally,
    unfinished: u64,
    millis: u64,
    player: SideTotals,
    environment: SideTotals,
    spawns: SpawnTests,
}

impl<G: Game> fmt::Debug for Judge<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge")
            .field("tally", &self.tally)
            .field("unfinished", &self.unfinished)
            .finish_non_exhaustive()
    }
}

/// What one side did in all valid episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideTotals {
    /// Its actions: slides, or new tiles.
    pub moves: u64,
    /// The time that they took, in milliseconds, as recorded.
    pub millis: u64,
}

impl SideTotals {
    fn add(&mut self, millis: u64) {
        self.moves += 1;
        self.millis = self.millis.saturating_add(millis);
    }

    fn merge(&mut self, other: &Self) {
        self.moves += other.moves;
        self.millis = self.millis.saturating_add(other.millis);
    }

    /// Actions per second; `None` if no time was recorded.
    pub fn speed(&self) -> Option<f64> {
        (self.millis > 0).then(|| 1000.0 * self.moves as f64 / self.millis as f64)
    }
}

impl<G: Game> Judge<G> {
    /// Creates a judge of this game.
    pub fn new(game: G) -> Self {
        let context = Context {
            images: Images::new(game.shape()),
            neighbours: Neighbours::new(&game),
            values: None,
            game,
        };
        Self {
            spawns: context.spawns(),
            context,
            tally: Tally::default(),
            unfinished: 0,
            millis: 0,
            player: SideTotals::default(),
            environment: SideTotals::default(),
        }
    }

    /// Measures luck by these values instead of the built-in ones.
    #[must_use]
    pub fn with_values(mut self, values: Arc<dyn StateValues<G>>) -> Self {
        self.context.values = Some(values);
        self
    }

    /// The statistics of all valid episodes. The seconds are those from start to end.
    pub fn tally(&self) -> Tally {
        Tally {
            seconds: self.millis as f64 / 1000.0,
            ..self.tally.clone()
        }
    }

    /// How many of them end before the game is over.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The slides, and the new tiles.
    pub fn side_totals(&self) -> (SideTotals, SideTotals) {
        (self.player, self.environment)
    }

    /// Tests whether all spawns so far are those of chance.
    pub fn tests(&self) -> Vec<SpawnTest> {
        self.spawns.tests()
    }

    /// Replays an episode and counts it.
    ///
    /// # Errors
    /// When it violates the rules; it is not counted then.
    pub fn watch(&mut self, episode: &EpisodeRecord) -> Result<Outcome, Fault> {
        self.replay(episode, None)
            .map(|replayed| self.count(&replayed))
    }

    /// The same for a game whose spawns are known: `source` is called for each of them in turn.
    ///
    /// # Errors
    /// When it violates the rules, or a spawn is not the one that was drawn.
    pub fn watch_drawn(
        &mut self,
        episode: &EpisodeRecord,
        source: &mut SpawnSource<'_, G>,
    ) -> Result<Outcome, Fault> {
        self.replay(episode, Some(source))
            .map(|replayed| self.count(&replayed))
    }

    /// Replays an episode without counting it. If the spawns are known, `source` is called for each of
    /// them in turn.
    ///
    /// # Errors
    /// When it violates the rules, or a spawn is not the one that was drawn.
    pub fn replay(
        &self,
        episode: &EpisodeRecord,
        source: Option<&mut SpawnSource<'_, G>>,
    ) -> Result<Replayed, Fault> {
        self.replay_with(episode, source, None)
    }

    /// Replays an episode without counting it, and passes each half of a turn to `observer`.
    ///
    /// # Errors
    /// When it violates the rules; what was observed until then did not.
    pub fn observe(
        &self,
        episode: &EpisodeRecord,
        observer: &mut ReplayObserver<'_, G>,
    ) -> Result<Replayed, Fault> {
        self.replay_with(episode, None, Some(observer))
    }

    fn replay_with(
        &self,
        episode: &EpisodeRecord,
        source: Option<&mut SpawnSource<'_, G>>,
        observer: Option<&mut ReplayObserver<'_, G>>,
    ) -> Result<Replayed, Fault> {
        let (opened, closed) = (episode.opened.at, episode.closed.at);
        let of_times = |reason| Fault {
            action: None,
            column: episode.closed_at,
            reason,
        };
        let whole = closed
            .checked_sub(opened)
            .ok_or_else(|| of_times(Reason::Backwards { opened, closed }))?;
        let actions = episode
            .moves
            .iter()
            .fold(0, |sum: u64, one| sum.saturating_add(one.millis));
        // Each end of an interval is truncated to whole milliseconds.
        if actions.saturating_sub(1) > whole {
            return Err(of_times(Reason::TooLong { actions, whole }));
        }
        let replay = Replay::new(&self.context, episode.digest, source, observer);
        let replayed = replay.run(&episode.moves);
        let mut replayed = replayed.map_err(|(number, reason)| {
            let one = episode.moves.get(number);
            Fault {
                action: one.map(|_| number + 1),
                column: one.map_or(episode.closed_at, |one| one.column),
                reason,
            }
        })?;
        replayed.times = (opened, closed);
        for one in &episode.moves {
            match one.action {
                Action::Slide(_) => {
                    replayed.player.add(one.millis);
                    replayed.longest = replayed.longest.max(one.millis);
                }
                Action::Place { .. } => replayed.environment.add(one.millis),
            }
        }
        Ok(replayed)
    }

    /// Counts an episode that was replayed.
    pub fn count(&mut self, replayed: &Replayed) -> Outcome {
        self.spawns.merge(&replayed.spawns);
        self.tally.add(&replayed.outcome);
        self.unfinished += u64::from(replayed.end != RecordEnd::Over);
        let (opened, closed) = replayed.times;
        self.millis = self.millis.saturating_add(closed.saturating_sub(opened));
        self.player.merge(&replayed.player);
        self.environment.merge(&replayed.environment);
        replayed.outcome
    }
}

#[cfg(test)]
mod tests;
