//! The table of a tournament: ranks, intervals, paired differences, and their CSV.
//!
//! Game n of all players has the same stream of spawns, so the scores of two players in game n are
//! a pair. The interval of a difference of means is Student's over the differences of the pairs.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use crate::referee::{MatchGames, RefereeReport};
use crate::report::Scores;
use crate::statistics::{Interval, mean_interval, share_interval};

/// The result of a player.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its place by mean score, from 1; players with the same mean share it.
    pub rank: u64,
    /// Its name.
    pub name: String,
    /// Its command.
    pub player: Vec<String>,
    /// The scores of all its games, also of those that it broke off.
    #[serde(flatten)]
    pub scores: Scores,
    /// How often it reached the target tile; `None` if there is no target.
    pub reached: Option<TargetReach>,
    /// The games that it played until no slide was legal.
    pub finished: u64,
    /// The games that it broke off, by kind.
    pub broken: BTreeMap<String, u64>,
    /// What happened in the first of them.
    pub first_breach: Option<String>,
    /// The mean time of a move in milliseconds, measured by the referee; `None` without a move.
    pub move_ms: Option<f64>,
    /// Its mean minus that of the first player.
    pub behind_first: Option<ScoreDifference>,
    /// Its mean minus that of the player above it.
    pub behind_previous: Option<ScoreDifference>,
    /// Whether the interval of that difference excludes 0; `None` for the first player.
    pub told_apart: Option<bool>,
    /// The players with the same score, moves and largest tile in every game.
    pub same_games_as: Vec<String>,
    /// The records, beside which is the seal.
    pub records: Option<PathBuf>,
    /// Their SHA-256.
    #[serde(default)]
    pub records_sha256: Option<String>,
}

/// How often a tile was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetReach {
    /// Its value.
    pub tile: u64,
    /// The share of games that reached it or a larger tile.
    pub reach: f64,
    /// Its 95% interval.
    pub reach_ci95: Interval,
}

/// A difference of means over pairs of games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreDifference {
    /// The difference.
    pub mean: f64,
    /// Its 95% interval; `None` for a single game.
    pub mean_ci95: Option<Interval>,
}

impl ScoreDifference {
    fn of(games: &[Outcome], others: &[Outcome]) -> Self {
        let pairs = games.iter().zip(others);
        let differences: Vec<f64> = pairs
            .map(|(a, b)| a.score as f64 - b.score as f64)
            .collect();
        let (mean, mean_ci95) = mean_interval(&differences);
        Self { mean, mean_ci95 }
    }

    /// Whether the interval excludes 0.
    fn is_significant(&self) -> bool {
        self.mean_ci95
            .is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// A player that has played all its games.
pub(super) struct Finished {
    /// Its place in the order of play.
    pub(super) number: usize,
    pub(super) standing: Standing,
    pub(super) outcomes: Vec<Outcome>,
}

impl Finished {
    /// The result of one player, before it is compared with others.
    pub(super) fn new(
        number: usize,
        name: &str,
        target: Option<u64>,
        games: &MatchGames,
        report: RefereeReport,
    ) -> Self {
        let outcomes: Vec<Outcome> = games.played.iter().map(|played| played.outcome).collect();
        let count = outcomes.len() as u64;
        let reached = target.map(|tile| {
            let hits = outcomes.iter().filter(|game| game.largest >= tile).count() as u64;
            TargetReach {
                tile,
                reach: hits as f64 / count.max(1) as f64,
                reach_ci95: share_interval(hits, count),
            }
        });
        let moves: u64 = outcomes.iter().map(|game| game.moves).sum();
        let seconds: f64 = games.played.iter().map(|g| g.thought.as_secs_f64()).sum();
        let first_breach = report.breaches.first();
        let standing = Standing {
            rank: 0,
            name: name.to_owned(),
            player: report.player,
            reached,
            finished: count - report.broken.values().sum::<u64>(),
            first_breach: first_breach
                .map(|breach| format!("game {}: {}: {}", breach.game, breach.kind, breach.reason)),
            broken: report.broken,
            move_ms: (moves > 0).then(|| 1000.0 * seconds / moves as f64),
            scores: report.scores,
            behind_first: None,
            behind_previous: None,
            told_apart: None,
            same_games_as: Vec::new(),
            records: None,
            records_sha256: None,
        };
        Self {
            number,
            standing,
            outcomes,
        }
    }
}

/// Orders players by their mean and compares each with the first one and with the one above it.
pub(super) fn rank(players: &mut [Finished]) {
    // Equal means stay in the order of play, which is that of names.
    players.sort_by(|a, b| {
        let means = b.standing.scores.mean.total_cmp(&a.standing.scores.mean);
        means.then(a.number.cmp(&b.number))
    });
    for at in 0..players.len() {
        let (above, rest) = players.split_at_mut(at);
        let Some((player, below)) = rest.split_first_mut() else {
            continue;
        };
        let same = above.iter().chain(&*below);
        let same = same.filter(|other| other.outcomes == player.outcomes);
        player.standing.same_games_as = same.map(|other| other.standing.name.clone()).collect();
        player.standing.rank = at as u64 + 1;
        let (Some(first), Some(previous)) = (above.first(), above.last()) else {
            continue;
        };
        if previous.standing.scores.mean == player.standing.scores.mean {
            player.standing.rank = previous.standing.rank;
        }
        let difference = |other: &Finished| ScoreDifference::of(&player.outcomes, &other.outcomes);
        let (behind_first, behind) = (difference(first), difference(previous));
        player.standing.told_apart = Some(behind.is_significant());
        player.standing.behind_first = Some(behind_first);
        player.standing.behind_previous = Some(behind);
    }
}

const COLUMNS: [&str; 25] = [
    "rank",
    "player",
    "games",
    "mean",
    "mean_low",
    "mean_high",
    "median",
    "max",
    "target",
    "reach",
    "reach_low",
    "reach_high",
    "finished",
    "broken",
    "moves",
    "move_ms",
    "behind_first",
    "behind_first_low",
    "behind_first_high",
    "behind_previous",
    "behind_previous_low",
    "behind_previous_high",
    "told_apart",
    "same_games_as",
    "remark",
];

/// The table as CSV; unknown values are empty. Players without a result come last, with a remark.
pub(super) fn csv(
    standings: &[&Standing],
    without: &[(String, String)],
    target: Option<u64>,
) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let target = target.map_or_else(String::new, |tile| tile.to_string());
    for row in standings {
        writer.write_record(cells(row, &target))?;
    }
    for (name, remark) in without {
        let mut cells = vec![String::new(); COLUMNS.len()];
        cells[1] = text(name);
        cells[2] = "0".to_owned();
        cells[COLUMNS.len() - 1] = text(remark);
        writer.write_record(cells)?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

fn cells(row: &Standing, target: &str) -> Vec<String> {
    let number = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    let ends = |interval: Option<Interval>| [0, 1].map(|end| number(interval.map(|i| i[end])));
    let difference = |difference: &Option<ScoreDifference>| {
        let mean = number(difference.as_ref().map(|d| d.mean));
        let ends = ends(difference.as_ref().and_then(|d| d.mean_ci95));
        [vec![mean], ends.into()].concat()
    };
    let (scores, reached) = (&row.scores, row.reached.as_ref());
    let broken: u64 = row.broken.values().sum();
    [
        vec![row.rank.to_string(), text(&row.name)],
        vec![scores.games.to_string(), scores.mean.to_string()],
        ends(scores.mean_ci95).into(),
        vec![scores.median.to_string(), scores.max.to_string()],
        vec![target.to_owned(), number(reached.map(|r| r.reach))],
        ends(reached.map(|r| r.reach_ci95)).into(),
        vec![row.finished.to_string(), broken.to_string()],
        vec![scores.moves.to_string(), number(row.move_ms)],
        difference(&row.behind_first),
        difference(&row.behind_previous),
        vec![
            row.told_apart
                .map_or_else(String::new, |told| told.to_string()),
            text(&row.same_games_as.join(", ")),
            text(row.first_breach.as_deref().unwrap_or_default()),
        ],
    ]
    .concat()
}

/// A text that players choose, for a spreadsheet: control characters are escaped, and what would be a
/// formula begins with an apostrophe.
fn text(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let escaped = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    is_formula
        .then(|| "'".to_owned())
        .into_iter()
        .chain(escaped)
        .collect()
}

/// The scores of all games as CSV: a line for each game, a column for each player.
pub(super) fn scores_csv(players: &[Finished]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = players.iter().map(|player| text(&player.standing.name));
    writer.write_record(std::iter::once("game".to_owned()).chain(names))?;
    let games = players.iter().map(|player| player.outcomes.len()).max();
    for game in 0..games.unwrap_or(0) {
        let score = |player: &Finished| {
            let outcome = player.outcomes.get(game);
            outcome.map_or_else(String::new, |outcome| outcome.score.to_string())
        };
        writer.write_record(std::iter::once(game.to_string()).chain(players.iter().map(score)))?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas() {
        assert_eq!(text("player-1.py"), "player-1.py");
        assert_eq!(text("=1+1.py"), "'=1+1.py");
        assert_eq!(text("a\tb\u{1b}[2J"), "a\\tb\\u{1b}[2J");
    }
}
