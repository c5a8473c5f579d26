//! The way of records through the judge: batches of lines are replayed on several threads, and
//! counted in the order of lines, so that the result does not depend on the number of threads.

use std::cell::Cell;
use std::sync::Arc;

use afterstate::format::episode::{EpisodeError, EpisodeRecord};
use afterstate::game::Game;
use afterstate::judge::{Fault, Judge, RecordEnd, Replayed};

use super::batch::{Batch, Numbered};
use super::duplicates::Duplicates;
use super::faults::{FaultKind, FaultReport, Faults};
use super::guess::JudgedGame;
use super::lines::{LONGEST, Lines};
use super::luck::ByAgent;
use super::sealed::SealCheck;
use super::times::Times;
use super::verdict::{JudgeTotals, report};
use super::{JudgeOptions, JudgeReport};
use crate::LabError;
use crate::control::{Event, Progress, Task, Unit};
use crate::games::GameVisitor;
use crate::share::{share, threads};

/// Judges records of a game.
pub(super) struct Judging<'a> {
    pub(super) options: &'a JudgeOptions<'a>,
    pub(super) choice: &'a JudgedGame,
    /// In bytes; 0 if it is not known.
    pub(super) length: u64,
    /// The lines that are read already.
    pub(super) first: Batch,
    /// The others.
    pub(super) lines: Lines,
    /// The bytes that were read.
    pub(super) read: &'a Cell<u64>,
}

/// What a line is.
enum Checked {
    TooLong,
    Unreadable(EpisodeError),
    Faulty(Fault),
    Valid(Box<Replayed>),
}

impl GameVisitor for Judging<'_> {
    type Output = Result<JudgeReport, LabError>;

    fn visit<G: Game>(mut self, game: G) -> Self::Output {
        let options = self.options;
        let stop = || options.control.is_cancelled();
        let mut judge = Judge::new(game);
        if let Some(model) = options.model {
            judge = judge.with_values(Arc::new(ByAgent(Arc::clone(&model.agent))));
        }
        let mut faults = Faults::default();
        let mut state = Progressing {
            sealed: SealCheck::begin(options, self.choice, &mut faults),
            judge,
            faults,
            duplicates: Duplicates::default(),
            times: Times::new(options.now),
        };
        let mut batch = std::mem::take(&mut self.first);
        while !batch.lines.is_empty() {
            state.judge_batch(game, &batch, threads(options.threads));
            self.tell_progress();
            if stop() {
                break;
            }
            batch = Batch::read(&mut self.lines, &stop)?;
        }
        let interrupted = stop();
        self.read.set(self.lines.bytes);
        if let Some(sealed) = state.sealed.as_ref().filter(|_| !interrupted) {
            sealed.end(&self.lines.digest(), &mut state.faults);
        }
        if state.judge.tally().games + state.faults.count() == 0 && !interrupted {
            return Err(LabError::NoRecords(options.path.to_owned()));
        }
        let totals = JudgeTotals::of(&state.judge, &state.duplicates, &state.times);
        Ok(report(
            options,
            self.choice,
            &totals,
            state.faults,
            interrupted,
        ))
    }
}

impl Judging<'_> {
    fn tell_progress(&self) {
        if self.length > 0 {
            let bytes = self.lines.bytes;
            self.options.control.emit(Event::Progress(Progress {
                share: bytes as f64 / self.length as f64,
                total: Some(self.length),
                unit: Unit::Bytes,
                ..Progress::stage(Task::Judge, "judging", 0.0, bytes)
            }));
        }
    }
}

/// What is known of the lines so far.
struct Progressing<'a, G: Game> {
    judge: Judge<G>,
    faults: Faults,
    sealed: Option<SealCheck<'a>>,
    duplicates: Duplicates,
    times: Times,
}

impl<G: Game> Progressing<'_, G> {
    fn judge_batch(&mut self, game: G, batch: &Batch, threads: usize) {
        let faults = &mut self.faults;
        let numbers: Vec<Option<u64>> = match &mut self.sealed {
            None => vec![None; batch.lines.len()],
            Some(sealed) => {
                let lines = batch.lines.iter();
                lines.map(|line| sealed.number(line, faults)).collect()
            }
        };
        let (this, lines, numbers) = (&*self, &batch.lines, &numbers);
        let count = lines.len();
        let checked = share(
            threads.min(count),
            0..count as u64,
            || false,
            || {
                let mut episode = EpisodeRecord::default();
                move |n| {
                    let n = n as usize;
                    this.check(game, &lines[n], numbers[n], &mut episode)
                }
            },
        );
        for (place, checked) in checked.into_iter().enumerate() {
            self.count(batch.lines[place].number, numbers[place], checked);
        }
    }

    fn check(
        &self,
        game: G,
        line: &Numbered,
        number: Option<u64>,
        episode: &mut EpisodeRecord,
    ) -> Checked {
        let Some(text) = &line.text else {
            return Checked::TooLong;
        };
        let hints = game.rules().shows_hint(game.shape());
        if let Err(error) = episode.read(text, hints) {
            return Checked::Unreadable(error);
        }
        let sealed = self.sealed.as_ref().zip(number);
        let replayed = match sealed.and_then(|(sealed, number)| sealed.spawns(number)) {
            Some(mut spawns) => {
                let mut draw = |after| spawns.draw(&game, after);
                self.judge.replay(episode, Some(&mut draw))
            }
            None => self.judge.replay(episode, None),
        };
        match replayed {
            Err(fault) => Checked::Faulty(fault),
            Ok(replayed) => Checked::Valid(Box::new(replayed)),
        }
    }

    fn count(&mut self, line: u64, number: Option<u64>, checked: Checked) {
        let rules = |action, column, reason| FaultReport {
            kind: FaultKind::Rules,
            line: Some(line),
            action,
            column,
            reason,
        };
        let replayed = match checked {
            Checked::TooLong => {
                let most = LONGEST >> 20;
                let reason = format!("longer than {most} MiB");
                return self.faults.add(rules(None, None, reason));
            }
            Checked::Unreadable(error) => {
                let reason = error.to_string();
                return self.faults.add(rules(None, Some(error.column), reason));
            }
            Checked::Faulty(fault) => {
                let (action, column) = (fault.action, Some(fault.column));
                return self
                    .faults
                    .add(rules(action, column, fault.reason.to_string()));
            }
            Checked::Valid(replayed) => replayed,
        };
        let sealed = self.sealed.as_ref().zip(number);
        let fault = match sealed {
            Some((sealed, number)) => {
                let reason = sealed.fault_of_end(number, replayed.end());
                reason.map(|reason| (FaultKind::Seal, reason))
            }
            None => unfinished(replayed.end()).map(|reason| (FaultKind::Unfinished, reason)),
        };
        if let Some((kind, reason)) = fault {
            self.faults.of_line(kind, line, reason);
        }
        let slow = sealed
            .and_then(|(sealed, number)| sealed.fault_of_time(number, replayed.longest_slide()));
        if let Some(reason) = slow {
            self.faults.of_line(FaultKind::Seal, line, reason);
        }
        self.judge.count(&replayed);
        self.duplicates.see(line, &replayed);
        self.times.see(line, &replayed);
    }
}

/// Why a game is not over, if it is not.
fn unfinished(end: &RecordEnd) -> Option<String> {
    match end {
        RecordEnd::Over => None,
        RecordEnd::Slide => Some("the game is not over: a new tile is due".to_owned()),
        RecordEnd::Slides(legal) => {
            let names: Vec<&str> = legal.iter().map(|direction| direction.name()).collect();
            let (is, slides) = match names.len() {
                1 => ("is", "slide"),
                _ => ("are", "slides"),
            };
            let names = names.join(", ");
            Some(format!(
                "the game is not over: the {slides} {names} {is} legal"
            ))
        }
    }
}
