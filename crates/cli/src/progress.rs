//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use afterstate::tally::Outcome;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::{grouped, percent, print, speed};

/// Scores in the mean that the bar shows.
const RECENT_GAMES: usize = 1000;
/// How often the mean and the speed on the bar change.
const REFRESH: Duration = Duration::from_millis(200);
/// How often a plain line is printed, and how soon the first one.
const PLAIN_LINE: Duration = Duration::from_secs(10);
const FIRST_LINE: Duration = Duration::from_secs(1);

/// The time that is left, to stand behind something else; nothing as long as it is not known.
fn left(eta: Duration, short: bool) -> String {
    let eta = Duration::from_secs(eta.as_secs());
    match HumanDuration(eta) {
        _ if eta.is_zero() => String::new(),
        eta if short => format!(", {eta:#} left"),
        eta => format!(", {eta} left"),
    }
}

/// How long the rest will take if it goes on as since then, from so many on; nothing as long as it is not known.
fn estimate(since: Instant, from: u64, at: u64, all: u64) -> Duration {
    match at.saturating_sub(from) {
        0 => Duration::ZERO,
        made => {
            let rest = all.saturating_sub(at) as f64 / made as f64;
            since.elapsed().mul_f64(rest.min(1e9))
        }
    }
}

/// A bar of this length, and whether there is no terminal to show it on. It tells the time that is left.
fn bar(length: u64, template: &str) -> (ProgressBar, bool) {
    bar_with(length, template, ProgressState::eta)
}

/// The same with another way to tell the time.
fn bar_with(
    length: u64,
    template: &str,
    eta: impl Fn(&ProgressState) -> Duration + Clone + Send + Sync + 'static,
) -> (ProgressBar, bool) {
    let plain = !io::stderr().is_terminal();
    let target = if plain {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    // Our templates are constants and valid, so the fallback is never taken.
    let style = ProgressStyle::with_template(template);
    bar.set_style(
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key(
                "left",
                move |state: &ProgressState, text: &mut dyn fmt::Write| {
                    // Writing to a string cannot fail.
                    let _ = text.write_str(&left(eta(state), true));
                },
            )
            .progress_chars("=> "),
    );
    bar.set_message("starting");
    bar.enable_steady_tick(REFRESH);
    (bar, plain)
}

/// Shows games as they are played.
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    counts: Counts,
    begun: Instant,
    /// Where the bar began.
    from: u64,
    recent: Mutex<Recent>,
}

struct Recent {
    scores: VecDeque<u64>,
    sum: u64,
    moves: u64,
    since: Instant,
    speed: f64,
    line: Instant,
}

/// What fills the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Games.
    Games,
    /// Updates, of a training that ends with them.
    Updates,
}

impl Counts {
    /// As it stands behind a number.
    pub fn name(self) -> &'static str {
        match self {
            Self::Games => "games",
            Self::Updates => "updates",
        }
    }
}

impl Progress {
    /// A bar for `games` games of which `done` are played already.
    pub fn new(games: u64, done: u64) -> Self {
        Self::of(Counts::Games, games, done)
    }

    /// A bar for so many of something, of which `done` are there already.
    pub fn of(counts: Counts, all: u64, done: u64) -> Self {
        let name = counts.name();
        let now = Instant::now();
        // The library would take what was done before for the work of the first moment.
        let (bar, plain) = bar_with(
            all,
            &format!(
                "{{elapsed_precise}} [{{wide_bar}}] {{human_pos}}/{{human_len}} {name}, {{msg}}{{left}}"
            ),
            move |state| estimate(now, done, state.pos(), all),
        );
        bar.set_position(done);
        let recent = Recent {
            scores: VecDeque::new(),
            sum: 0,
            moves: 0,
            since: now,
            speed: 0.0,
            line: now + FIRST_LINE,
        };
        Self {
            bar,
            plain,
            counts,
            begun: now,
            from: done,
            recent: Mutex::new(recent),
        }
    }

    /// Counts a game.
    pub fn game(&self, outcome: &Outcome) {
        let mut recent = self.recent();
        recent.add(outcome);
        if self.counts == Counts::Games {
            self.bar.inc(1);
        }
        if Some(self.bar.position()) == self.bar.length() {
            self.bar.set_message("saving");
            return;
        }
        let now = Instant::now();
        if now - recent.since >= REFRESH {
            recent.speed = recent.moves as f64 / (now - recent.since).as_secs_f64();
            (recent.moves, recent.since) = (0, now);
            self.bar.set_message(recent.message());
        }
        if self.plain && now >= recent.line {
            recent.line = now + PLAIN_LINE;
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let left = left(estimate(self.begun, self.from, done, all), false);
            let message = recent.message();
            // Standard error that cannot be written stops no training.
            let _ = writeln!(
                io::stderr(),
                "{}/{} {}, {message}{left}",
                grouped(done as f64),
                grouped(all as f64),
                self.counts.name()
            );
        }
    }

    /// So many updates were made.
    pub fn updates(&self, updates: u64) {
        if self.counts == Counts::Updates {
            self.bar.set_position(updates);
        }
    }

    /// Prints to standard output without tearing the bar. A reader that went away stops no training.
    pub fn print(&self, text: String) {
        self.bar.suspend(|| {
            let _ = print(text);
        });
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn add(&mut self, outcome: &Outcome) {
        if self.scores.len() == RECENT_GAMES {
            self.sum -= self.scores.pop_front().unwrap_or(0);
        }
        self.scores.push_back(outcome.score);
        self.sum += outcome.score;
        self.moves += outcome.moves;
    }

    fn message(&self) -> String {
        let mean = self.sum as f64 / self.scores.len().max(1) as f64;
        format!("mean {}, {}", grouped(mean), speed(self.speed))
    }
}

/// Shows how much of some work is done, and what is being done.
pub struct Stages {
    bar: ProgressBar,
    plain: bool,
    last: Mutex<String>,
}

/// Steps of the bar.
const STEPS: f64 = 1000.0;

impl Stages {
    /// Nothing is done yet.
    pub fn new() -> Self {
        let (bar, plain) = bar(
            STEPS as u64,
            "{elapsed_precise} [{wide_bar}] {percent}%, {msg}",
        );
        let last = Mutex::default();
        Self { bar, plain, last }
    }

    /// A share of the work is done, from 0 to 1. Without a terminal, a line for each new `doing`.
    pub fn show(&self, done: f64, doing: &str) {
        self.bar.set_position((done * STEPS) as u64);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != doing {
            self.bar.set_message(doing.to_owned());
            doing.clone_into(&mut last);
            if self.plain {
                // Standard error that cannot be written stops no work.
                let _ = writeln!(io::stderr(), "{doing}");
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows long work in several parts, each with the time that is left.
pub struct Parts {
    bar: ProgressBar,
    plain: bool,
    at: Mutex<Part>,
}

/// The part that is being done.
struct Part {
    doing: &'static str,
    line: Instant,
}

impl Parts {
    /// Nothing is done yet.
    pub fn new() -> Self {
        let (bar, plain) = bar(STEPS as u64, "{elapsed_precise} [{wide_bar}] {msg}{left}");
        let at = Mutex::new(Part {
            doing: "",
            line: Instant::now() + FIRST_LINE,
        });
        Self { bar, plain, at }
    }

    /// A share of a part is done, from 0 to 1, and so many positions. Without a terminal, a line now and then.
    pub fn show(&self, doing: &'static str, done: f64, positions: u64) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if at.doing != doing {
            at.doing = doing;
            self.bar.set_position(0);
            self.bar.reset_eta();
        }
        self.bar.set_position((done * STEPS) as u64);
        let message = format!("{doing}: {} positions", grouped(positions as f64));
        self.bar.set_message(message.clone());
        let now = Instant::now();
        if self.plain && now >= at.line {
            at.line = now + PLAIN_LINE;
            let left = left(self.bar.eta(), false);
            let share = percent(done);
            // Standard error that cannot be written stops no work.
            let _ = writeln!(io::stderr(), "{message}, {share}{left}");
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows several runs at once: how many are done, and which are at work.
pub struct Runs {
    bar: ProgressBar,
    plain: bool,
    at: Mutex<AtWork>,
}

/// How far they are.
struct AtWork {
    runs: Vec<OneRun>,
    since: Instant,
    line: Instant,
}

struct OneRun {
    label: String,
    /// What is done of it, from 0 to 1.
    share: f64,
    at_work: bool,
    done: bool,
}

impl Runs {
    /// All runs, each with its name and whether it is done already.
    pub fn new(runs: impl Iterator<Item = (String, bool)>) -> Self {
        let runs: Vec<OneRun> = runs
            .map(|(label, done)| OneRun {
                label,
                share: f64::from(u8::from(done)),
                at_work: false,
                done,
            })
            .collect();
        let (bar, plain) = bar(
            STEPS as u64 * runs.len() as u64,
            "{elapsed_precise} [{bar:20}] {msg}{left}",
        );
        let now = Instant::now();
        let at = AtWork {
            runs,
            since: now,
            line: now + FIRST_LINE,
        };
        bar.set_position(at.position());
        bar.reset_eta();
        bar.set_message(at.message());
        let at = Mutex::new(at);
        Self { bar, plain, at }
    }

    /// Work on one of them begins.
    pub fn begun(&self, run: usize) {
        self.change(run, true, |run| run.at_work = true);
    }

    /// So much of it is done.
    pub fn trained(&self, run: usize, share: f64) {
        self.change(run, false, |run| run.share = share);
    }

    /// It is done.
    pub fn ended(&self, run: usize) {
        self.change(run, true, |run| {
            (run.share, run.at_work, run.done) = (1.0, false, true);
        });
    }

    /// Shows a change at once, or at the next time.
    fn change(&self, run: usize, at_once: bool, change: impl FnOnce(&mut OneRun)) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = at.runs.get_mut(run) {
            change(run);
        }
        let now = Instant::now();
        if at_once || now - at.since >= REFRESH {
            at.since = now;
            self.bar.set_position(at.position());
            self.bar.set_message(at.message());
        }
        if self.plain && now >= at.line {
            at.line = now + PLAIN_LINE;
            let left = left(self.bar.eta(), false);
            // Standard error that cannot be written stops no work.
            let _ = writeln!(io::stderr(), "{}{left}", at.message());
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl AtWork {
    fn position(&self) -> u64 {
        let shares = self.runs.iter().map(|run| run.share);
        (shares.sum::<f64>() * STEPS) as u64
    }

    fn message(&self) -> String {
        let done = self.runs.iter().filter(|run| run.done).count();
        let at_work = self.runs.iter().filter(|run| run.at_work);
        let at_work = at_work.map(|run| format!("{} {:.0}%", run.label, 100.0 * run.share));
        let at_work: Vec<String> = at_work.collect();
        let now = if at_work.is_empty() { "" } else { ", now " };
        let all = self.runs.len();
        format!("{done}/{all} runs{now}{}", at_work.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_once_it_is_known() {
        for unknown in [Duration::ZERO, Duration::from_millis(900)] {
            assert_eq!(left(unknown, true) + &left(unknown, false), "");
        }
        assert_eq!(left(Duration::from_millis(5400), true), ", 5s left");
        assert_eq!(left(Duration::from_secs(5), false), ", 5 seconds left");
    }

    /// What was done before counts neither as work nor as time.
    #[test]
    fn the_rest_is_estimated_from_where_the_bar_began() {
        let Some(since) = Instant::now().checked_sub(Duration::from_secs(10)) else {
            return;
        };
        let seconds = |from, at| estimate(since, from, at, 5000).as_secs_f64();
        assert_eq!(seconds(1000, 1000), 0.0);
        // 100 in ten seconds, and 3,900 are left.
        assert!((seconds(1000, 1100) - 390.0).abs() < 1.0);
        assert_eq!(seconds(1000, 5000), 0.0);
    }
}
