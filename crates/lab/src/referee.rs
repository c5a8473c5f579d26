//! The referee: plays the environment's side against any program, whose games cannot be forged by
//! that program.
//!
//! `secret -> commitment -> games, each with its own stream of spawns -> records -> seal`
//!
//! [`Referee::new`] draws the secret and starts the first player, so that a wrong command is an
//! error before anything else. Its commitment is to be published before [`Referee::play`]. Several
//! copies may play side by side; the spawns of a game depend on its number only, and records are
//! written in the order of numbers.
//!
//! [`protocol`] is what both sides say, `channel.rs` bounds what a player can do, `player.rs`
//! starts and ends players, `slot.rs` and `game.rs` play; [`crate::seal`] has the secret.

mod channel;
mod game;
mod player;
pub mod protocol;
mod slot;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime};

use afterstate::game::{Game, Shape};
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::{Control, Job, Meter, Status, Task, Unit};
use crate::disk::{NameLock, sha256};
use crate::evaluate::scores;
use crate::games::{self, GameVisitor, with_game};
use crate::recorder::{InOrder, Sink};
use crate::records;
use crate::report::Scores;
use crate::seal::{MatchTerms, Seal, Secret, program};
use crate::share::{share_out, threads};
pub use player::{AgentPlayer, PlayerSource, adopt_orphans};
use player::{StartedPlayer, Starter};
pub(crate) use slot::FinishedGame;
use slot::{MatchState, PlayerSlot};

/// What a match and a tournament have in common.
#[derive(Clone, Debug)]
pub struct MatchOptions {
    /// The game, by one of the names of [`games::games`].
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// The number of games of each player, up to [`MAX_GAMES`](crate::seal::MAX_GAMES).
    pub games: u64,
    /// The limit of a move.
    pub time: Duration,
    /// The limit of the greeting: programs read their weights before it.
    pub start_time: Duration,
    /// Copies of a player side by side; 0 means one for each core.
    pub jobs: usize,
    /// The most memory of each copy, in bytes. Only Linux has such a limit.
    pub memory: Option<u64>,
}

/// The options of a match.
#[derive(Clone, Debug)]
pub struct RefereeOptions {
    /// The players.
    pub source: PlayerSource,
    /// What is played.
    pub play: MatchOptions,
    /// The file of records; the seal is written beside it.
    pub records: Option<PathBuf>,
}

/// The usual limit of the greeting.
pub const START_TIME: Duration = Duration::from_secs(30);

/// The result of a match; the JSON of `referee --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefereeReport {
    /// Whether all games were played, by the rules.
    pub passed: bool,
    /// The command of the player.
    pub player: Vec<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The number of games that was committed to.
    pub games_committed: u64,
    /// The limit of a move, in milliseconds.
    pub time_ms: u64,
    /// The scores of all games played, also of those that were broken off.
    #[serde(flatten)]
    pub scores: Scores,
    /// The number of games that the player has broken off, by kind.
    pub broken: BTreeMap<String, u64>,
    /// The first of them.
    pub breaches: Vec<BreachReport>,
    /// The commitment that was published before the first game.
    pub commitment: String,
    /// The secret.
    pub secret: String,
    /// The file of records.
    pub records: Option<PathBuf>,
    /// Its SHA-256: who notes it can tell later whether records are those of this match.
    #[serde(default)]
    pub records_sha256: Option<String>,
    /// The seal.
    pub seal: Option<PathBuf>,
}

/// A game that the player has broken off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreachReport {
    /// The number of the game, from 0.
    pub game: u64,
    /// The kind of the breach.
    pub kind: String,
    /// The moves until then.
    pub moves: u64,
    /// The score until then.
    pub score: u64,
    /// What happened.
    pub reason: String,
}

/// The number of breaches that are reported in full.
const MAX_REPORTED: usize = 100;

/// Denies the players, which run as children with the same rights, the memory and the open files of
/// this process: the secret is in the one, unpublished records in the other. Only Linux can do that,
/// and not against root ([`can_players_read_memory`]).
pub(crate) fn close_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It cannot fail with this value; where it is not permitted, nothing else could be done.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Whether a player could read the secret in the memory of the referee: for root nothing is closed.
pub fn can_players_read_memory() -> bool {
    !cfg!(target_os = "linux") || rustix::process::geteuid().is_root()
}

/// A match that can begin.
pub struct Referee {
    options: RefereeOptions,
    secret: Secret,
    commitment: String,
    starter: Starter,
    first: Option<StartedPlayer>,
    /// Until the seal is written, no other match writes these records.
    _lock: Option<NameLock>,
}

impl Referee {
    /// Draws a secret and starts the first player.
    ///
    /// # Errors
    /// When the game is unknown, the player cannot be started, a file cannot be written, or there are
    /// the records of a match.
    pub fn new(options: RefereeOptions) -> Result<Self, LabError> {
        close_memory();
        Self::with_secret(options, Secret::new()?)
    }

    /// The same with a secret that several matches share.
    pub(crate) fn with_secret(options: RefereeOptions, secret: Secret) -> Result<Self, LabError> {
        games::rules(&options.play.game)?;
        let lock = options.records.as_deref().map(claim).transpose()?;
        let starter = Starter::new(&options.source, options.play.memory)?;
        let first = starter.start_program().map_err(|source| LabError::Player {
            program: options.source.command().swap_remove(0),
            source,
        })?;
        Ok(Self {
            commitment: options.play.terms().commitment(&secret),
            options,
            secret,
            starter,
            first,
            _lock: lock,
        })
    }

    /// The commitment, to be published before the match.
    pub fn commitment(&self) -> &str {
        &self.commitment
    }

    /// Plays all games, writes the records and the seal, and reports the scores. A cancelled match
    /// has only its first games.
    ///
    /// # Errors
    /// When a file cannot be written. What a player does wrong is not an error.
    pub fn play(self, control: &Control) -> Result<RefereeReport, LabError> {
        let games = self.options.play.games;
        let job = Job {
            task: Task::Referee,
            subject: self.options.source.name(),
            total: Some(games),
            unit: Unit::Games,
        };
        control.run(
            job,
            || self.play_and_seal(control),
            |done| {
                let played = done.as_ref().ok()?.scores.games;
                Some((Status::of(played >= games), played))
            },
        )
    }

    fn play_and_seal(mut self, control: &Control) -> Result<RefereeReport, LabError> {
        let meter = Meter::new(
            control,
            Task::Referee,
            Unit::Games,
            0,
            self.options.play.games,
        );
        let cancelled = || control.is_cancelled();
        let played = match self.options.records.clone() {
            None => self.games(&meter, &|_| (), &cancelled)?,
            Some(path) => {
                let game = (self.options.play.game.clone(), self.options.play.shape);
                records::write(&path, (&game.0, game.1), |sink, failed| {
                    self.games(&meter, sink, &|| cancelled() || failed())
                })??
            }
        };
        let mut report = self.report(&played);
        if let Some(path) = &self.options.records {
            report.records_sha256 = Some(self.seal(path, &played)?);
        }
        Ok(report)
    }

    /// Plays the games, without writing a file, and returns the first ones without a gap.
    pub(crate) fn games(
        &mut self,
        meter: &Meter<'_>,
        sink: Sink<'_>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<MatchGames, LabError> {
        let first = self.first.take();
        let (source, options) = (&self.options.source, &self.options.play);
        let (started, begun) = (SystemTime::now(), Instant::now());
        let state = MatchState {
            starter: &self.starter,
            first: Mutex::new(first),
            secret: &self.secret,
            greeting: protocol::greeting(&options.game, options.shape),
            name: source.name(),
            time: options.time,
            start_time: options.start_time,
            broken: AtomicU64::new(0),
            failed_starts: AtomicU64::new(0),
            cancelled,
        };
        let playing = Playing {
            state: &state,
            games: options.games,
            jobs: threads(options.jobs),
            in_order: &InOrder::new(sink),
            meter,
        };
        Ok(MatchGames {
            played: with_game(&options.game, options.shape, playing)?,
            seconds: begun.elapsed().as_secs_f64(),
            started,
            finished: SystemTime::now(),
        })
    }

    /// Writes the seal of games beside their records; the digest of the records.
    pub(crate) fn seal(&self, records: &Path, games: &MatchGames) -> Result<String, LabError> {
        let mut broken = BTreeMap::<String, Vec<u64>>::new();
        for (number, breach) in breaches(&games.played) {
            let games = broken.entry(breach.kind().to_owned()).or_default();
            games.push(number);
        }
        let time = |time| humantime::format_rfc3339_seconds(time).to_string();
        let seal = Seal {
            records_sha256: sha256(records).map_err(LabError::file("read", records))?,
            player: self.options.source.command(),
            started: time(games.started),
            finished: time(games.finished),
            broken,
            ..Seal::new(&self.options.play.terms(), &self.secret)
        };
        seal.write(&Seal::path_beside(records))?;
        Ok(seal.records_sha256)
    }

    /// The report of games.
    pub(crate) fn report(&self, games: &MatchGames) -> RefereeReport {
        let (options, played) = (&self.options.play, &games.played);
        let mut broken = BTreeMap::<String, u64>::new();
        let mut reported = Vec::new();
        for (number, breach) in breaches(played) {
            *broken.entry(breach.kind().to_owned()).or_default() += 1;
            if reported.len() < MAX_REPORTED {
                let Outcome { moves, score, .. } = played[number as usize].outcome;
                reported.push(BreachReport {
                    game: number,
                    kind: breach.kind().to_owned(),
                    moves,
                    score,
                    reason: breach.to_string(),
                });
            }
        }
        let outcomes: Vec<Outcome> = played.iter().map(|played| played.outcome).collect();
        RefereeReport {
            passed: broken.is_empty() && played.len() as u64 == options.games,
            player: self.options.source.command(),
            game: options.game.clone(),
            board: options.shape.to_string(),
            games_committed: options.games,
            time_ms: options.time.as_millis() as u64,
            scores: scores(&outcomes, games.seconds),
            broken,
            breaches: reported,
            commitment: self.commitment.clone(),
            secret: self.secret.hex(),
            seal: self.options.records.as_deref().map(Seal::path_beside),
            records: self.options.records.clone(),
            records_sha256: None,
        }
    }
}

/// Checks that a match may write records of this name, and locks it.
fn claim(path: &Path) -> Result<NameLock, LabError> {
    let check = || records::check_place(path).and_then(|()| Seal::check_place(path));
    check()?;
    let lock = NameLock::take(path).map_err(LabError::file("write", path))?;
    let lock = lock.ok_or_else(|| LabError::RecordsInUse(path.to_owned()))?;
    // A match may have ended since.
    check().map(|()| lock)
}

/// The games of a match, in the order of their numbers.
pub(crate) struct MatchGames {
    pub(crate) played: Vec<FinishedGame>,
    /// The time of all of them.
    pub(crate) seconds: f64,
    started: SystemTime,
    finished: SystemTime,
}

impl MatchOptions {
    /// What the commitment binds.
    pub(crate) fn terms(&self) -> MatchTerms {
        MatchTerms {
            program: program(),
            game: self.game.clone(),
            shape: self.shape,
            games: self.games,
            time_ms: self.time.as_millis() as u64,
        }
    }
}

/// The games that the player has broken off.
fn breaches(played: &[FinishedGame]) -> impl Iterator<Item = (u64, &protocol::Breach)> {
    let numbered = (0..).zip(played);
    numbered.filter_map(|(number, played)| Some((number, played.breach.as_ref()?)))
}

/// All games of a match.
struct Playing<'a> {
    state: &'a MatchState<'a>,
    games: u64,
    jobs: usize,
    in_order: &'a InOrder<'a>,
    meter: &'a Meter<'a>,
}

impl GameVisitor for Playing<'_> {
    type Output = Vec<FinishedGame>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let played = share_out(self.jobs, 0..self.games, self.state.cancelled, |next| {
            let mut slot = PlayerSlot::new(self.state);
            let mut all = Vec::new();
            while let Some(number) = next() {
                let played = slot.play(game, number).map(|(played, record)| {
                    self.in_order.record(number, record);
                    self.meter.game(&played.outcome);
                    played
                });
                all.push((number, played));
            }
            slot.leave();
            all
        });
        // A cancelled game and those after it do not count.
        played.into_iter().map_while(|played| played).collect()
    }
}

#[cfg(test)]
mod tests;
