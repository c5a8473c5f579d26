//! What the times of records tell about them.
//!
//! Times that cannot be true are faults: a game that ends in the future, a game that starts before
//! 2014, the year of Threes! and 2048, more moves than any program makes between the first start and the last end. Times that are
//! only odd are notes: every game starts in the same millisecond, or takes equally long. The time
//! of a single move may be 0: most moves take less than a millisecond.

use crate::numbers::grouped;
use afterstate::judge::Replayed;

/// How far clocks of two machines may differ, in milliseconds: a day.
const TOLERANCE: u64 = 24 * 60 * 60 * 1000;
/// The beginning of 2014, in milliseconds since 1970.
const FIRST_YEAR: u64 = 1_388_534_400_000;
/// No program records more moves in a millisecond: 100 million a second.
const MOST_MOVES: u64 = 100_000;
/// The number of games from which on equal times are suspicious.
const SEVERAL: u64 = 10;

/// The times of all valid games.
#[derive(Debug)]
pub(super) struct Times {
    now: u64,
    games: u64,
    moves: u64,
    /// The first start and the last end.
    span: Option<(u64, u64)>,
    /// Games that end in the future, and the line and end of the first.
    future: (u64, Option<(u64, u64)>),
    /// Games that start before 2014, and the line and start of the first.
    early: (u64, Option<(u64, u64)>),
    starts: Same,
    lengths: Same,
}

/// Whether all of some numbers are equal.
#[derive(Debug, Default)]
struct Same {
    first: Option<u64>,
    differ: bool,
}

impl Same {
    fn see(&mut self, number: u64) {
        self.differ |= *self.first.get_or_insert(number) != number;
    }

    fn all(&self) -> Option<u64> {
        self.first.filter(|_| !self.differ)
    }
}

impl Times {
    /// `now` is the time in milliseconds since 1970.
    pub(super) fn new(now: u64) -> Self {
        Self {
            now,
            games: 0,
            moves: 0,
            span: None,
            future: (0, None),
            early: (0, None),
            starts: Same::default(),
            lengths: Same::default(),
        }
    }

    pub(super) fn see(&mut self, line: u64, replayed: &Replayed) {
        let (opened, closed) = replayed.times();
        self.games += 1;
        self.moves += replayed.outcome().moves;
        let (first, last) = self.span.unwrap_or((opened, closed));
        self.span = Some((first.min(opened), last.max(closed)));
        if closed > self.now.saturating_add(TOLERANCE) {
            self.future.0 += 1;
            self.future.1.get_or_insert((line, closed));
        }
        if opened < FIRST_YEAR {
            self.early.0 += 1;
            self.early.1.get_or_insert((line, opened));
        }
        self.starts.see(opened);
        self.lengths.see(closed - opened);
    }

    /// What cannot be true.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let count = |games: u64| match games {
            1 => "1 game".to_owned(),
            games => format!("{} games", grouped(games as f64)),
        };
        if let (games, Some((line, closed))) = self.future {
            faults.push(format!(
                "{} in the future, first line {line} at {closed} ms since 1970 (now: {})",
                match games {
                    1 => "1 game ends".to_owned(),
                    games => format!("{} end", count(games)),
                },
                self.now
            ));
        }
        if let (games, Some((line, opened))) = self.early {
            faults.push(format!(
                "{} before 2014, the year of the games, first line {line} at {opened} ms since 1970",
                match games {
                    1 => "1 game starts".to_owned(),
                    games => format!("{} start", count(games)),
                }
            ));
        }
        if let Some((first, last)) = self.span {
            let span = (last - first).saturating_add(1);
            if self.moves > MOST_MOVES.saturating_mul(span) {
                faults.push(format!(
                    "{} moves between the first start and the last end, which are {} ms apart",
                    grouped(self.moves as f64),
                    last - first
                ));
            }
        }
        faults
    }

    /// What is odd.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.games < SEVERAL || self.early.0 > 0 {
            return Vec::new();
        }
        let games = grouped(self.games as f64);
        let start = self.starts.all().map(|_| {
            format!("all {games} games start in the same millisecond; their times tell nothing")
        });
        let length = self.lengths.all().filter(|&length| length >= SEVERAL);
        let length = length.map(|length| format!("all {games} games take exactly {length} ms"));
        start.into_iter().chain(length).collect()
    }
}
