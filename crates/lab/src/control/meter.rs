//! Progress of games and iterations, from which events are made.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use super::{Control, Event, Progress, Task, Unit};
use crate::block::IterationLog;

/// The progress of learning from a replay buffer. Means are running averages, in which each
/// iteration has 0.99 of the weight of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayProgress {
    /// Iterations of the run.
    pub iterations: u64,
    /// Updates of the run.
    pub updates: u64,
    /// The current speed.
    pub iterations_per_second: f64,
    /// The mean loss of a batch, in the network's own units; `None` before the first update.
    pub loss: Option<f64>,
    /// The mean value of a position in a batch, in the network's own units.
    pub value: Option<f64>,
    /// The mean reward of a move, in points.
    pub reward: f64,
    /// The running average: see [`ScoreStats::running_average`](crate::block::ScoreStats).
    pub running_average: Option<f64>,
}

/// The number of games in the mean of a progress event.
const RECENT_GAMES: usize = 1000;

/// How much of a running mean an iteration keeps: as in the running average of scores.
const KEPT: f64 = 0.99;

/// Counts games and iterations as they are played, and emits progress events.
pub(crate) struct Meter<'c> {
    control: &'c Control,
    task: Task,
    unit: Unit,
    total: u64,
    recent: Mutex<Recent>,
}

struct Recent {
    done: u64,
    scores: Vec<u64>,
    next: usize,
    sum: u64,
    moves: u64,
    since: Instant,
    replay: Option<RecentIterations>,
}

/// Learning from a replay buffer.
#[derive(Clone, Copy, Debug, Default)]
struct RecentIterations {
    progress: ReplayProgress,
    /// Iterations since the last event.
    made: u64,
}

impl<'c> Meter<'c> {
    /// For work of which `done` of `total` units are already finished.
    pub(crate) fn new(control: &'c Control, task: Task, unit: Unit, done: u64, total: u64) -> Self {
        Self {
            control,
            task,
            unit,
            total,
            recent: Mutex::new(Recent {
                done,
                scores: Vec::new(),
                next: 0,
                sum: 0,
                moves: 0,
                since: Instant::now(),
                replay: None,
            }),
        }
    }

    /// Counts a game.
    pub(crate) fn game(&self, outcome: &Outcome) {
        if self.control.listeners.is_empty() {
            return;
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.add(outcome);
        if self.unit == Unit::Games {
            recent.done += 1;
        }
        self.report(&mut recent);
    }

    /// Counts the moves of a game that was played again from the middle of another.
    pub(crate) fn restart(&self, outcome: &Outcome) {
        if self.control.listeners.is_empty() {
            return;
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.moves += outcome.moves;
        self.report(&mut recent);
    }

    /// Counts an iteration, after which a run with a replay buffer has these statistics.
    pub(crate) fn iteration(&self, stats: &TrainingStats, log: &IterationLog) {
        if self.control.listeners.is_empty() {
            return;
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.replay.get_or_insert_default().add(stats, log);
        match self.unit {
            Unit::Iterations => recent.done = log.iterations,
            Unit::Updates => recent.done = log.updates,
            _ => {}
        }
        self.report(&mut recent);
    }

    /// Emits progress for the last game immediately, otherwise at intervals.
    fn report(&self, recent: &mut Recent) {
        let elapsed = recent.since.elapsed();
        if elapsed < self.control.interval && recent.done != self.total {
            return;
        }
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let speed = recent.moves as f64 / seconds;
        let replay = recent.replay.as_mut().map(|replay| ReplayProgress {
            iterations_per_second: std::mem::take(&mut replay.made) as f64 / seconds,
            ..replay.progress
        });
        let mean = recent.sum as f64 / recent.scores.len().max(1) as f64;
        (recent.moves, recent.since) = (0, Instant::now());
        self.control.emit(Event::Progress(Progress {
            task: self.task,
            stage: None,
            share: recent.done as f64 / self.total.max(1) as f64,
            done: recent.done,
            total: Some(self.total),
            unit: self.unit,
            mean: (!recent.scores.is_empty()).then_some(mean),
            moves_per_second: Some(speed),
            replay,
        }));
    }
}

impl Recent {
    fn add(&mut self, outcome: &Outcome) {
        if self.scores.len() < RECENT_GAMES {
            self.scores.push(outcome.score);
        } else {
            self.sum -= self.scores[self.next];
            self.scores[self.next] = outcome.score;
            self.next = (self.next + 1) % RECENT_GAMES;
        }
        self.sum += outcome.score;
        self.moves += outcome.moves;
    }
}

impl RecentIterations {
    fn add(&mut self, stats: &TrainingStats, log: &IterationLog) {
        self.made += 1;
        let learned = stats.updates > 0;
        let mean = |before: Option<f64>, now: f64| match before {
            Some(before) => KEPT * before + (1.0 - KEPT) * now,
            None => now,
        };
        let before = self.progress;
        let reward = (before.iterations > 0).then_some(before.reward);
        self.progress = ReplayProgress {
            iterations: log.iterations,
            updates: log.updates,
            iterations_per_second: 0.0,
            loss: match learned {
                true => Some(mean(before.loss, stats.mean_loss())),
                false => before.loss,
            },
            value: match learned {
                true => Some(mean(before.value, stats.mean_value())),
                false => before.value,
            },
            reward: mean(reward, stats.mean_reward()),
            running_average: log.scores.running_average,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn outcome(score: u64) -> Outcome {
        Outcome {
            score,
            moves: 10,
            ..Outcome::default()
        }
    }

    #[test]
    fn progress_ends_with_the_last_game_and_the_mean_of_the_last_thousand() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let events = Arc::clone(&told);
        let control = Control::new().on_event(move |event| {
            events.lock().unwrap().push(event.clone());
        });
        let meter = Meter::new(&control, Task::Evaluate, Unit::Games, 0, 1500);
        (0..500).for_each(|_| meter.game(&outcome(1_000_000)));
        (0..1000).for_each(|n| meter.game(&outcome(n)));
        let told = told.lock().unwrap();
        let Some(Event::Progress(last)) = told.last() else {
            panic!("{told:?}");
        };
        assert_eq!((last.done, last.total, last.share), (1500, Some(1500), 1.0));
        assert_eq!(last.mean, Some(499.5));
    }

    /// Progress of iterations has their speed, and means that follow the last ones.
    #[test]
    fn progress_of_iterations_has_their_statistics() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let events = Arc::clone(&told);
        let control = Control::new()
            .with_interval(std::time::Duration::ZERO)
            .on_event(move |event| {
                if let Event::Progress(progress) = event {
                    events.lock().unwrap().push(progress.clone());
                }
            });
        let meter = Meter::new(&control, Task::Train, Unit::Iterations, 0, 9);
        let mut log = IterationLog::default();
        for (updates, loss) in [(0, 0.0), (2, 2.0), (2, 4.0)] {
            let stats = TrainingStats {
                iterations: 1,
                updates,
                loss,
                value: 6.0,
                moves: 4,
                reward: 8,
            };
            log.add(&stats, &[outcome(100)], 0);
            meter.iteration(&stats, &log);
        }
        let told = told.lock().unwrap();
        let replay = |n: usize| told[n].replay.unwrap();
        assert_eq!((told[2].done, told[2].unit), (3, Unit::Iterations));
        assert_eq!((replay(0).loss, replay(0).value), (None, None));
        assert_eq!((replay(1).loss, replay(1).value), (Some(1.0), Some(3.0)));
        // 0.99 of 1 and 0.01 of 2.
        assert!((replay(2).loss.unwrap() - 1.01).abs() < 1e-12);
        assert_eq!((replay(2).iterations, replay(2).updates), (3, 4));
        assert_eq!(
            (replay(2).reward, replay(2).running_average),
            (2.0, Some(50.0))
        );
        assert!(
            told.iter()
                .all(|it| it.replay.unwrap().iterations_per_second > 0.0)
        );
    }
}
