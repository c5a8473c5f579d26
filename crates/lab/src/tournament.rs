//! Tournaments: all players of a folder play the same games, one player after another.
//!
//! `secret -> commitment -> each player against the referee -> table, records and seals`
//!
//! One secret serves all: the spawns of game n come from the same stream for every player, so the
//! scores of game n are pairs. Games diverge with the first different move, because the cells and
//! tiles that a number selects depend on the board.
//!
//! A player that knows the spawns of a game in advance can choose better moves. So nothing that
//! tells them is in a file with a name until the last game is over: records wait in a file without
//! a name, and the secret in memory. The price is that a killed tournament loses its records; the
//! table of the players that had finished is kept, because scores do not tell spawns.

mod entrants;
mod table;

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::control::{Control, Job, Meter, Status, Task, Unit};
use crate::disk::{nameless, replace, replace_with, try_lock_folder};
use crate::error::SolveError;
use crate::games;
use crate::records::write_lines;
use crate::referee::{
    MatchGames, MatchOptions, PlayerSource, Referee, RefereeOptions, close_memory,
};
use crate::seal::Secret;
pub use entrants::{Entrant, Entrants, Skipped, find};
use table::Finished;
pub use table::{ScoreDifference, Standing, TargetReach};

/// The table of a tournament, in its folder of results.
pub const RESULTS_CSV: &str = "results.csv";
/// The report, with the commitment and the secret.
pub const RESULTS_JSON: &str = "results.json";
/// The scores of every game.
pub const SCORES_CSV: &str = "scores.csv";
/// The folder of records and seals.
pub const RECORDS: &str = "records";

/// The options of a tournament.
#[derive(Clone, Debug)]
pub struct TournamentOptions {
    /// The folder of the players, in which no results are written.
    pub folder: PathBuf,
    /// The players, each with a name of its own, and what else the folder has.
    pub entrants: Entrants,
    /// What they play.
    pub play: MatchOptions,
    /// The value of the tile whose rate is in the table; `None` means the goal of the game.
    pub target: Option<u64>,
    /// The folder of results, which is created.
    pub out: PathBuf,
}

/// The result of a tournament; the JSON of `tournament --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TournamentReport {
    /// Whether all players have played, or were found unable to.
    pub complete: bool,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The number of games of each player.
    pub games: u64,
    /// The limit of a move, in milliseconds.
    pub time_ms: u64,
    /// The tile whose rate is in the table.
    pub target: Option<u64>,
    /// The commitment that was published before the first game.
    pub commitment: String,
    /// The secret.
    pub secret: String,
    /// The players that have played, best first.
    pub players: Vec<Standing>,
    /// The players that could not play, with the reason.
    pub failed: Vec<Skipped>,
    /// The players that have not played all games, because the tournament was stopped.
    pub not_played: Vec<String>,
    /// The entries of the folder that are not players, with the reason.
    pub skipped: Vec<Skipped>,
    /// The folder of results.
    pub folder: PathBuf,
}

/// A tournament that can begin.
pub struct Tournament {
    options: TournamentOptions,
    target: Option<u64>,
    secret: Secret,
    commitment: String,
    /// The records of all players, one after another.
    spool: File,
    /// The lock of the folder of results.
    _lock: File,
}

/// A player that has played all its games, with what its seal needs.
struct Sealable {
    referee: Referee,
    games: MatchGames,
    name: String,
    /// Its records in the spool.
    records: Range<u64>,
}

impl Tournament {
    /// Draws a secret and creates the folder of results.
    ///
    /// # Errors
    /// When the game or the target is unknown, or the folder has other files, is that of a tournament
    /// which has not ended, or cannot be written.
    pub fn new(options: TournamentOptions) -> Result<Self, LabError> {
        close_memory();
        Self::with_secret(options, Secret::new()?)
    }

    fn with_secret(options: TournamentOptions, secret: Secret) -> Result<Self, LabError> {
        let target = target_of(&options)?;
        let lock = claim(&options.out, &options.folder)?;
        let spool = nameless(&options.out).map_err(LabError::file("write", &options.out))?;
        Ok(Self {
            target,
            commitment: options.play.terms().commitment(&secret),
            secret,
            spool,
            options,
            _lock: lock,
        })
    }

    /// The commitment, to be published before the tournament.
    pub fn commitment(&self) -> &str {
        &self.commitment
    }

    /// Plays all games and writes the results. A tournament that is cancelled has the players that
    /// have played all their games.
    ///
    /// # Errors
    /// When a file cannot be written. What a player does wrong is not an error.
    pub fn play(self, control: &Control) -> Result<TournamentReport, LabError> {
        let players = self.options.entrants.players.len() as u64;
        let total = players * self.options.play.games;
        let job = Job {
            task: Task::Tournament,
            subject: self.options.folder.display().to_string(),
            total: Some(total),
            unit: Unit::Games,
        };
        control.run(
            job,
            || self.play_and_write(control),
            |done| {
                let report = done.as_ref().ok()?;
                let played = report.players.iter().map(|player| player.scores.games);
                Some((Status::of(report.complete), played.sum()))
            },
        )
    }

    fn play_and_write(mut self, control: &Control) -> Result<TournamentReport, LabError> {
        let entrants = std::mem::take(&mut self.options.entrants);
        let total = entrants.players.len() as u64 * self.options.play.games;
        let meter = Meter::new(control, Task::Tournament, Unit::Games, 0, total);
        let mut report = self.empty_report(entrants.skipped);
        let (mut finished, mut sealable) = (Vec::new(), Vec::new());
        for (number, entrant) in entrants.players.into_iter().enumerate() {
            let Entrant { name, player } = entrant;
            let started = player.and_then(|source| self.start(source));
            let mut referee = match started {
                Ok(referee) => referee,
                Err(reason) => {
                    report.failed.push(Skipped { name, reason });
                    continue;
                }
            };
            let (games, records) = self.games(&mut referee, &meter, control)?;
            if (games.played.len() as u64) < self.options.play.games {
                report.not_played.push(name);
                continue;
            }
            let of_games = referee.report(&games);
            finished.push(Finished::new(number, &name, self.target, &games, of_games));
            table::rank(&mut finished);
            self.write_table(&finished, &report)?;
            sealable.push(Sealable {
                referee,
                games,
                name,
                records,
            });
        }
        report.complete = report.not_played.is_empty();
        self.write_results(report, finished, sealable)
    }

    fn empty_report(&self, skipped: Vec<Skipped>) -> TournamentReport {
        let options = &self.options.play;
        TournamentReport {
            complete: false,
            game: options.game.clone(),
            board: options.shape.to_string(),
            games: options.games,
            time_ms: options.time.as_millis() as u64,
            target: self.target,
            commitment: self.commitment.clone(),
            secret: self.secret.hex(),
            players: Vec::new(),
            failed: Vec::new(),
            not_played: Vec::new(),
            skipped,
            folder: self.options.out.clone(),
        }
    }

    /// Starts a player, or says why that is impossible.
    fn start(&self, source: PlayerSource) -> Result<Referee, String> {
        let options = RefereeOptions {
            source,
            play: self.options.play.clone(),
            records: None,
        };
        let referee = Referee::with_secret(options, self.secret.clone());
        referee.map_err(|error| match error {
            LabError::Player { source, .. } => format!("it cannot be started: {source}"),
            error => error.to_string(),
        })
    }

    /// Plays the games of a player. Its records go to the end of the spool.
    fn games(
        &mut self,
        referee: &mut Referee,
        meter: &Meter<'_>,
        control: &Control,
    ) -> Result<(MatchGames, Range<u64>), LabError> {
        let wrong = || LabError::file("write", &self.options.out);
        let hints = games::rules(&self.options.play.game)?.shows_hint(self.options.play.shape);
        let begin = self.spool.seek(SeekFrom::End(0)).map_err(wrong())?;
        let games = write_lines(&self.spool, hints, |sink, failed| {
            referee.games(meter, sink, &|| control.is_cancelled() || failed())
        });
        let games = games.map_err(wrong())??;
        let end = self.spool.stream_position().map_err(wrong())?;
        Ok((games, begin..end))
    }

    /// Writes the table of the players so far.
    fn write_table(
        &self,
        finished: &[Finished],
        report: &TournamentReport,
    ) -> Result<(), LabError> {
        let standings: Vec<&Standing> = finished.iter().map(|player| &player.standing).collect();
        let failed = report.failed.iter();
        let failed = failed.map(|failed| (failed.name.clone(), failed.reason.clone()));
        let stopped = report.not_played.iter();
        let stopped = stopped.map(|name| (name.clone(), NOT_PLAYED.to_owned()));
        let without: Vec<(String, String)> = failed.chain(stopped).collect();
        self.write(RESULTS_CSV, table::csv(&standings, &without, self.target))?;
        self.write(SCORES_CSV, table::scores_csv(finished))
    }

    fn write(&self, name: &str, content: io::Result<Vec<u8>>) -> Result<(), LabError> {
        let path = self.options.out.join(name);
        content
            .and_then(|content| replace(&path, &content))
            .map_err(LabError::file("write", &path))
    }

    /// Writes everything. No game is played from here on, so the secret may be told.
    fn write_results(
        &self,
        mut report: TournamentReport,
        mut finished: Vec<Finished>,
        sealable: Vec<Sealable>,
    ) -> Result<TournamentReport, LabError> {
        let folder = self.options.out.join(RECORDS);
        fs::create_dir(&folder).map_err(LabError::file("create", &folder))?;
        for one in &sealable {
            let path = folder.join(file_name(&one.name));
            let digest = self.write_records(&path, one)?;
            let mut named = finished.iter_mut();
            if let Some(player) = named.find(|player| player.standing.name == one.name) {
                player.standing.records = Some(path);
                player.standing.records_sha256 = Some(digest);
            }
        }
        self.write_table(&finished, &report)?;
        report.players = finished.into_iter().map(|player| player.standing).collect();
        let json = serde_json::to_string_pretty(&report).map_err(io::Error::from);
        self.write(RESULTS_JSON, json.map(|json| (json + "\n").into_bytes()))?;
        Ok(report)
    }

    /// Writes the records of a player with their seal; their digest.
    fn write_records(&self, path: &Path, one: &Sealable) -> Result<String, LabError> {
        let Range { start, end } = one.records;
        let written = replace_with(path, |mut file| {
            let mut spool = &self.spool;
            spool.seek(SeekFrom::Start(start))?;
            io::copy(&mut spool.take(end - start), &mut file)
        });
        written.map_err(LabError::file("write", path))?;
        one.referee.seal(path, &one.games)
    }
}

/// The remark about a player that was stopped.
const NOT_PLAYED: &str = "not played: the tournament was stopped";

/// The name of the records of a player; names are unique, and may contain slashes.
fn file_name(name: &str) -> String {
    name.replace(['/', '\0'], "_") + ".txt"
}

/// The value of the target tile, if there is one.
fn target_of(options: &TournamentOptions) -> Result<Option<u64>, LabError> {
    let rules = games::rules(&options.play.game)?;
    let Some(found) = options.target else {
        let goal = rules.goal_tile();
        return Ok(goal.map(|tile| rules.tile_value(tile)));
    };
    let tiles = 1..=rules.largest_tile(options.play.shape);
    let known: Vec<u64> = tiles.map(|tile| rules.tile_value(tile)).collect();
    match known.contains(&found) {
        true => Ok(Some(found)),
        false => Err(SolveError::Target { found, known }.into()),
    }
}

/// Creates and locks the folder of results, which must be empty, and outside of the folder of the
/// players.
fn claim(out: &Path, players: &Path) -> Result<File, LabError> {
    fs::create_dir_all(out).map_err(LabError::file("create", out))?;
    let whole = |path: &Path| fs::canonicalize(path).map_err(LabError::file("read", path));
    if whole(out)?.starts_with(whole(players)?) {
        // Only a folder that was just created is empty.
        let _ = fs::remove_dir(out);
        return Err(LabError::ResultsAmongPlayers(out.to_owned()));
    }
    let lock = try_lock_folder(out).map_err(LabError::file("read", out))?;
    let lock = lock.ok_or_else(|| LabError::Locked(out.to_owned()))?;
    let mut entries = fs::read_dir(out).map_err(LabError::file("read", out))?;
    match entries.next() {
        None => Ok(lock),
        Some(entry) => Err(LabError::NotEmpty {
            folder: out.to_owned(),
            found: entry.map_or_else(
                |error| error.to_string(),
                |entry| entry.file_name().to_string_lossy().into_owned(),
            ),
        }),
    }
}

#[cfg(test)]
mod tests;
