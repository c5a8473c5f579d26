//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere. Both are drawn from the events of the lab.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use afterstate_lab::control::{Control, Event, Progress, ReplayProgress, Task, Unit};
use afterstate_lab::numbers::{decimals, grouped, percent, significant, speed};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::interrupt;
use crate::output::{Verbosity, print, verbosity};

/// How often the bar is drawn again.
const REFRESH: Duration = Duration::from_millis(200);
/// How often a plain line is printed, and how soon the first one.
const PLAIN_LINE: Duration = Duration::from_secs(10);
const FIRST_LINE: Duration = Duration::from_secs(1);
/// Steps of a bar that shows a share.
const STEPS: f64 = 1000.0;

/// Shows the progress of long work. Clones show the same bar.
#[derive(Clone)]
pub struct Display(Arc<Mutex<State>>);

struct State {
    bar: Option<Bar>,
    line: Instant,
    /// The last printed row of a benchmark.
    row: Option<String>,
    /// The active runs of a sweep, with the share of each.
    runs: BTreeMap<usize, (String, f64)>,
    /// The points that a value of 1 of the network stands for.
    value_unit: f64,
}

struct Bar {
    bar: ProgressBar,
    stage: Option<String>,
    /// When it began, and how much was done then.
    begun: Instant,
    from: u64,
}

/// Where progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Bar,
    Lines,
    Hidden,
}

fn style() -> Style {
    match verbosity() {
        Verbosity::Quiet | Verbosity::NoProgress => Style::Hidden,
        Verbosity::Normal if io::stderr().is_terminal() => Style::Bar,
        Verbosity::Normal => Style::Lines,
    }
}

impl Display {
    /// Nothing is shown yet.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            bar: None,
            line: Instant::now() + FIRST_LINE,
            row: None,
            runs: BTreeMap::new(),
            value_unit: 1.0,
        })))
    }

    /// Sets the points that a value of 1 of the network stands for.
    pub fn set_value_unit(&self, points: f64) {
        self.state().value_unit = points;
    }

    /// The points that a value of 1 of the network stands for.
    pub fn value_unit(&self) -> f64 {
        self.state().value_unit
    }

    /// A control whose progress is shown, and which Ctrl-C cancels.
    pub fn control(&self) -> Control {
        self.control_with(|_| ())
    }

    /// The same with a listener for all events.
    pub fn control_with(&self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Control {
        let display = self.clone();
        Control::new()
            .with_cancel(interrupt::token())
            .on_event(move |event| {
                display.show(event);
                listener(event);
            })
    }

    fn show(&self, event: &Event) {
        match event {
            Event::Progress(progress) => self.state().progress(progress),
            Event::Run {
                run,
                label,
                share,
                done,
            } => {
                let runs = &mut self.state().runs;
                match done {
                    true => runs.remove(run),
                    false => runs.insert(*run, (label.clone(), *share)),
                };
            }
            _ => {}
        }
    }

    /// Prints to standard output without tearing the bar. A failed write is ignored.
    pub fn print(&self, text: String) {
        let state = self.state();
        match &state.bar {
            Some(bar) => bar.bar.suspend(|| {
                let _ = print(text);
            }),
            None => {
                let _ = print(text);
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn progress(&mut self, progress: &Progress) {
        let style = style();
        if style == Style::Hidden {
            return;
        }
        let message = self.message(progress);
        let bar = self.bar.get_or_insert_with(|| Bar::new(progress, style));
        if progress.stage.is_some()
            && bar.stage != progress.stage
            && progress.unit == Unit::Positions
        {
            // Each stage of a solution has its own estimate.
            (bar.begun, bar.from) = (Instant::now(), 0);
            bar.stage.clone_from(&progress.stage);
        }
        let (position, length) = position(progress);
        bar.bar.set_length(length);
        bar.bar.set_position(position);
        bar.bar.set_message(message.clone());
        if style == Style::Lines && progress.task == Task::Bench {
            // Each row is one line of the log, regardless of the time since the last one.
            if self.row != progress.stage {
                self.row.clone_from(&progress.stage);
                let _ = writeln!(io::stderr(), "{message}");
            }
            return;
        }
        let now = Instant::now();
        if style == Style::Lines && now >= self.line {
            // Each ply takes many times as long as the one before, so none is left out.
            let is_rare = progress.unit == Unit::Plies;
            self.line = if is_rare { now } else { now + PLAIN_LINE };
            let left = left(estimate(bar.begun, bar.from, position, length), false);
            // A failed write is ignored.
            let _ = writeln!(io::stderr(), "{}{left}", plain(progress, &message));
        }
    }

    fn message(&self, progress: &Progress) -> String {
        if progress.unit == Unit::Runs {
            return self.runs_message(progress);
        }
        match (&progress.stage, progress.unit) {
            (Some(stage), Unit::Positions) => {
                format!("{stage}: {} positions", grouped(progress.done as f64))
            }
            (Some(stage), _) => stage.clone(),
            (None, _) if Some(progress.done) == progress.total => "saving".to_owned(),
            (None, _) => {
                let mean = |mean: f64| format!("mean {}", grouped(mean));
                match &progress.replay {
                    Some(replay) => {
                        let mut text = replay_text(replay, progress.unit, self.value_unit);
                        // The first games of a buffer may take a while.
                        if let Some(known) = progress.mean {
                            text += &format!(", {}", mean(known));
                        }
                        text
                    }
                    None => {
                        let speed = speed(progress.moves_per_second.unwrap_or(0.0));
                        format!("{}, {speed}", mean(progress.mean.unwrap_or(0.0)))
                    }
                }
            }
        }
    }

    fn runs_message(&self, progress: &Progress) -> String {
        let all = progress.total.unwrap_or(0);
        let mut text = format!("{}/{all} runs", progress.done);
        for (n, (label, share)) in self.runs.values().enumerate() {
            let before = if n == 0 { ", now " } else { "; " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{before}{label} {:.0}%", 100.0 * share);
        }
        text
    }
}

impl Bar {
    fn new(progress: &Progress, style: Style) -> Self {
        let target = match style {
            Style::Bar => ProgressDrawTarget::stderr(),
            Style::Lines | Style::Hidden => ProgressDrawTarget::hidden(),
        };
        let (position, length) = position(progress);
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let counts = match counted(progress) {
            Some(unit) => format!("{{human_pos}}/{{human_len}} {unit}, "),
            None => String::new(),
        };
        // Work before a resumption counts neither as work nor as time.
        let begun = Instant::now();
        let template = format!("{{elapsed_precise}} [{{wide_bar}}] {counts}{{msg}}{{left}}");
        // The template is valid, so the fallback is never taken.
        let style = ProgressStyle::with_template(&template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key(
                "left",
                move |state: &ProgressState, text: &mut dyn fmt::Write| {
                    let all = state.len().unwrap_or(0);
                    let eta = estimate(begun, position, state.pos(), all);
                    // Writing to a string cannot fail.
                    let _ = text.write_str(&left(eta, true));
                },
            );
        bar.set_style(style.progress_chars("=> "));
        bar.set_position(position);
        bar.enable_steady_tick(REFRESH);
        Self {
            bar,
            stage: progress.stage.clone(),
            begun,
            from: position,
        }
    }
}

/// Learning from a replay buffer: what the numbers of the bar do not count, the speed, and the
/// means of the last iterations. Values are in points, `value_unit` for each 1 of the network.
fn replay_text(replay: &ReplayProgress, unit: Unit, value_unit: f64) -> String {
    let count = |number: u64, name: &str| format!("{} {name}", grouped(number as f64));
    let mut parts = Vec::new();
    if unit != Unit::Iterations {
        parts.push(count(replay.iterations, "iterations"));
    }
    if unit != Unit::Updates {
        parts.push(count(replay.updates, "updates"));
    }
    let speed = significant(replay.iterations_per_second);
    parts.push(format!("{speed} iterations/s"));
    if let (Some(loss), Some(value)) = (replay.loss, replay.value) {
        let value = decimals(value * value_unit, 1);
        parts.push(format!("loss {loss:.4}, value {value}"));
    }
    parts.push(format!("reward {:.2}", replay.reward));
    if let Some(average) = replay.running_average {
        parts.push(format!("average {}", decimals(average, 1)));
    }
    parts.join(", ")
}

/// What the numbers of the bar count, where it shows numbers and not a share.
fn counted(progress: &Progress) -> Option<&'static str> {
    match progress.unit {
        Unit::Games => Some("games"),
        Unit::Iterations => Some("iterations"),
        Unit::Updates => Some("updates"),
        _ => None,
    }
}

/// Where the bar stands, and its length.
fn position(progress: &Progress) -> (u64, u64) {
    match (counted(progress), progress.total) {
        (Some(_), Some(total)) => (progress.done, total),
        _ => ((progress.share * STEPS) as u64, STEPS as u64),
    }
}

/// A line for a log.
fn plain(progress: &Progress, message: &str) -> String {
    match (counted(progress), progress.total) {
        (Some(unit), Some(total)) => {
            let (done, total) = (grouped(progress.done as f64), grouped(total as f64));
            format!("{done}/{total} {unit}, {message}")
        }
        _ if matches!(progress.unit, Unit::Runs | Unit::Plies) => message.to_owned(),
        _ => format!("{message}, {}", percent(progress.share)),
    }
}

/// The remaining time, as a suffix; empty while it is unknown.
fn left(eta: Duration, short: bool) -> String {
    let eta = Duration::from_secs(eta.as_secs());
    match HumanDuration(eta) {
        _ if eta.is_zero() => String::new(),
        eta if short => format!(", {eta:#} left"),
        eta => format!(", {eta} left"),
    }
}

/// The remaining time at the rate since `since`, when `from` was done; zero while it is unknown.
fn estimate(since: Instant, from: u64, at: u64, all: u64) -> Duration {
    match at.saturating_sub(from) {
        0 => Duration::ZERO,
        made => {
            let rest = all.saturating_sub(at) as f64 / made as f64;
            since.elapsed().mul_f64(rest.min(1e9))
        }
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

    #[test]
    fn learning_from_a_buffer_is_told_by_iterations_and_updates() {
        let replay = ReplayProgress {
            iterations: 1200,
            updates: 6000,
            iterations_per_second: 31.25,
            loss: Some(0.01234),
            value: Some(4.5),
            reward: 6.789,
            running_average: Some(1322.04),
        };
        assert_eq!(
            replay_text(&replay, Unit::Iterations, 256.0),
            "6,000 updates, 31.25 iterations/s, loss 0.0123, value 1,152.0, reward 6.79, \
             average 1,322.0"
        );
        let filling = ReplayProgress {
            loss: None,
            value: None,
            running_average: None,
            ..replay
        };
        assert_eq!(
            replay_text(&filling, Unit::Games, 256.0),
            "1,200 iterations, 6,000 updates, 31.25 iterations/s, reward 6.79"
        );
    }

    /// Work before a resumption counts neither as work nor as time.
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
