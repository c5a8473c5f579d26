//! A round of training, and the block that it may fill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use afterstate::replay::TrainingStats;
use afterstate::tally::{Outcome, Start, Tally};

use super::Trainer;
use crate::LabError;
use crate::agent::{RoundResult, RoundSpec};
use crate::block::{Block, IterationLog};
use crate::control::{Event, Meter};
use crate::run::RunProgress;
use crate::share::threads;
use crate::spec::TdSpec;

impl Trainer {
    /// Plays until the block is full, a checkpoint is due, or the training is cancelled.
    pub(super) fn round(&mut self, due: Instant, meter: &Meter<'_>) -> Result<(), LabError> {
        let first = self.progress.games;
        let begun = Instant::now();
        let every = self.recipe.learner.buffer();
        let every = every.map_or(0, |buffer| buffer.log_iterations);
        let stats = self.progress.replay.clone().unwrap_or_default();
        let live = Mutex::new((self.iteration_log(), Vec::new(), stats));
        let result = self.learn(due, meter, &|stats, ended| {
            let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
            let (log, rows, sums) = &mut *live;
            sums.add_iteration(stats);
            rows.extend(log.add(stats, ended, every));
            meter.iteration(stats, log);
        });
        let (log, rows, mut stats) = live.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.progress.block.seconds += begun.elapsed().as_secs_f64();
        self.progress.games += result.outcomes.len() as u64;
        if !result.finite {
            return Err(self.diverged());
        }
        result
            .outcomes
            .iter()
            .for_each(|outcome| self.progress.block.add(outcome));
        self.progress.block.merge(&result.restarts);
        if result.stats.is_some() {
            stats.add_games(&result.outcomes);
            stats.log = Some(log);
            self.progress.replay = Some(stats);
        }
        if let Some(run) = &mut self.run {
            run.append_scores(first + 1, &result.outcomes)?;
            run.append_iterations(&rows)?;
        }
        self.close_block()
    }

    /// The statistics of iterations before a round.
    fn iteration_log(&self) -> IterationLog {
        let replay = self.progress.replay.as_ref();
        let before = |replay| IterationLog::after(self.progress.games, replay);
        replay.map_or_else(IterationLog::default, |replay| {
            replay.log.unwrap_or_else(|| before(replay))
        })
    }

    fn learn(
        &self,
        due: Instant,
        meter: &Meter<'_>,
        on_iteration: &(dyn Fn(&TrainingStats, &[Outcome]) + Sync),
    ) -> RoundResult {
        let first = self.progress.games;
        let left = self.recipe.block_games;
        let left = left.saturating_sub(self.progress.block.games).max(1);
        let (max_iterations, max_updates) = self.left();
        let unchanged = self.recipe.learner.unchanged_until(first);
        let played = AtomicBool::new(false);
        let run = self.run.as_ref();
        let time_to_save = || run.is_some_and(|run| Instant::now() >= due && !run.is_saving());
        let cancelled = || self.control.is_cancelled();
        let round = RoundSpec {
            // All games of a round have the same learner.
            numbers: first
                ..first
                    .saturating_add(left)
                    .min(self.recipe.episodes)
                    .min(unchanged),
            seed: self.recipe.seed,
            threads: threads(self.recipe.threads),
            // A round has at least one game, however soon the next checkpoint is due.
            stop: &|| cancelled() || (played.load(Ordering::Relaxed) && time_to_save()),
            on_game: &|outcome| {
                played.store(true, Ordering::Relaxed);
                match outcome.start {
                    Start::Initial => meter.game(outcome),
                    Start::Given => meter.restart(outcome),
                }
            },
            max_iterations,
            max_updates,
            on_iteration,
        };
        let result = self.agent.learn(&round, &TdSpec::of(&self.recipe));
        if round.threads > 1 {
            self.agent.refresh(round.threads);
        }
        result
    }

    /// Reports the block if it is full, or if it is the last one.
    fn close_block(&mut self) -> Result<(), LabError> {
        let finished = self.is_finished();
        let RunProgress {
            games,
            block,
            replay,
            ..
        } = &mut self.progress;
        if block.games >= self.recipe.block_games || (finished && block.games > 0) {
            let rate = self
                .recipe
                .learner
                .learning_rate()
                .at(games.saturating_sub(1));
            let row = Block::new(*games, block, rate, replay.as_ref());
            if let Some(run) = &mut self.run {
                run.append_block(&row, &self.tile_values)?;
            }
            if let Some(events) = &mut self.tensorboard {
                let written = events.block(&row, &self.tile_values);
                written.map_err(LabError::file("write", events.path()))?;
            }
            self.control.emit(Event::Block(row));
            *block = Tally::default();
            if let Some(replay) = replay {
                replay.block = TrainingStats::default();
            }
        }
        Ok(())
    }
}
