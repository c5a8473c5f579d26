//! The statistics that are usual in this field: mean, maximum, speed, and for each largest tile how
//! many games reached it and how many ended there.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a game started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// With the initial tiles of its rules.
    #[default]
    Initial,
    /// In a given state, as in restarts and carousel shaping: its score is not that of a whole
    /// game.
    Given,
}

impl Start {
    fn is_initial(&self) -> bool {
        *self == Self::Initial
    }
}

/// The result of one finished game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The sum of all rewards.
    pub score: u64,
    /// The number of moves made.
    pub moves: u64,
    /// The largest tile on the last board, by its value (2048, not 11).
    pub largest: u64,
    /// Where it started.
    #[serde(default, skip_serializing_if = "Start::is_initial")]
    pub start: Start,
}

impl Outcome {
    /// Whether a game can have this outcome; an outcome read from a file may hold any numbers.
    pub fn in_range(&self) -> bool {
        self.score.max(self.moves).max(self.largest) <= u64::from(u32::MAX)
    }
}

/// The sum of any number of outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Games counted: those that started with the initial tiles.
    pub games: u64,
    /// The sum of their scores.
    pub score: u64,
    /// The highest score.
    pub max: u64,
    /// The moves of all games, including [`Tally::given_moves`].
    pub moves: u64,
    /// Their wall-clock time in seconds.
    pub seconds: f64,
    /// How many games ended with this largest tile, by its value.
    pub ended: BTreeMap<u64, u64>,
    /// Games that started in a given state. Only their moves are counted, because their scores are
    /// not those of whole games.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_starts: u64,
    /// The moves of these games.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_moves: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Counts one game.
    pub fn add(&mut self, outcome: &Outcome) {
        self.moves += outcome.moves;
        if outcome.start == Start::Given {
            self.given_starts += 1;
            self.given_moves += outcome.moves;
            return;
        }
        self.games += 1;
        self.score += outcome.score;
        self.max = self.max.max(outcome.score);
        *self.ended.entry(outcome.largest).or_default() += 1;
    }

    /// Counts the games of another tally as well.
    pub fn merge(&mut self, other: &Self) {
        self.games += other.games;
        self.score += other.score;
        self.max = self.max.max(other.max);
        self.moves += other.moves;
        self.seconds += other.seconds;
        self.given_starts += other.given_starts;
        self.given_moves += other.given_moves;
        for (&tile, &count) in &other.ended {
            *self.ended.entry(tile).or_default() += count;
        }
    }

    /// The mean score; 0 without games.
    pub fn mean(&self) -> f64 {
        ratio(self.score as f64, self.games as f64)
    }

    /// The mean number of moves of the games that started with the initial tiles; 0 without games.
    pub fn moves_per_game(&self) -> f64 {
        let moves = self.moves.saturating_sub(self.given_moves);
        ratio(moves as f64, self.games as f64)
    }

    /// Moves a second; 0 if no time is recorded.
    pub fn speed(&self) -> f64 {
        ratio(self.moves as f64, self.seconds)
    }

    /// The share of games whose largest tile was `tile` or more.
    pub fn reach(&self, tile: u64) -> f64 {
        ratio(self.reached(tile) as f64, self.games as f64)
    }

    /// The number of games whose largest tile was `tile` or more.
    pub fn reached(&self, tile: u64) -> u64 {
        self.ended.range(tile..).map(|(_, n)| n).sum()
    }

    /// The share of games whose largest tile was exactly `tile`.
    pub fn end(&self, tile: u64) -> f64 {
        ratio(
            self.ended.get(&tile).copied().unwrap_or(0) as f64,
            self.games as f64,
        )
    }

    /// The block printed during training; its first line has the number of games so far and the
    /// moves per second.
    pub fn block(&self, games_so_far: u64, speed: f64) -> impl fmt::Display + '_ {
        BlockText {
            tally: self,
            games_so_far,
            speed,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

struct BlockText<'a> {
    tally: &'a Tally,
    games_so_far: u64,
    speed: f64,
}

impl fmt::Display for BlockText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.tally;
        writeln!(
            f,
            "{}\tmean = {}\tmax = {}\tops = {:.0}",
            self.games_so_far,
            trimmed(t.mean(), 1),
            t.max,
            self.speed
        )?;
        for &tile in t.ended.keys() {
            let reach = trimmed(100.0 * t.reach(tile), 2);
            let end = trimmed(100.0 * t.end(tile), 2);
            writeln!(f, "\t{tile}\t{reach}%\t({end}%)")?;
        }
        Ok(())
    }
}

/// A number with at most `digits` decimals and no trailing zeros: 100, 99.4, 0.25.
pub fn trimmed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(ends: &[(u64, u64)]) -> Tally {
        let mut tally = Tally::default();
        for &(largest, score) in ends {
            tally.add(&Outcome {
                score,
                moves: 100,
                largest,
                start: Start::Initial,
            });
        }
        tally
    }

    #[test]
    fn a_block_has_the_usual_text() {
        let mut t = tally(&[(256, 3000), (512, 6000), (512, 7000), (1024, 12000)]);
        t.seconds = 0.001;
        assert_eq!(
            t.block(4000, t.speed()).to_string(),
            "4000\tmean = 7000\tmax = 12000\tops = 400000\n\
             \t256\t100%\t(25%)\n\t512\t75%\t(50%)\n\t1024\t25%\t(25%)\n"
        );
    }

    #[test]
    fn games_from_given_states_are_counted_apart() {
        let mut t = tally(&[(256, 3000)]);
        t.add(&Outcome {
            score: 90_000,
            moves: 50,
            largest: 4096,
            start: Start::Given,
        });
        assert_eq!((t.games, t.given_starts, t.moves), (1, 1, 150));
        assert_eq!((t.mean(), t.max, t.reach(4096)), (3000.0, 3000, 0.0));
        assert_eq!((t.given_moves, t.moves_per_game()), (50, 100.0));
        let mut two = tally(&[(256, 3000)]);
        two.merge(&t);
        assert_eq!((two.given_moves, two.moves_per_game()), (50, 100.0));
    }

    #[test]
    fn reach_counts_larger_tiles_too() {
        let t = tally(&[(256, 1), (1024, 1)]);
        assert_eq!(t.reach(512), 0.5);
        assert_eq!(t.end(512), 0.0);
        assert_eq!(t.reach(2048), 0.0);
    }

    #[test]
    fn no_games_no_division() {
        let t = Tally::default();
        assert_eq!((t.mean(), t.speed(), t.reach(2)), (0.0, 0.0, 0.0));
    }
}
