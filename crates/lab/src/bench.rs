//! How fast this machine is: moves a second of the main networks, with one thread and with all.
//!
//! A network may slow down as it learns: its games get longer and touch more weights. So every
//! figure says after how many games of training it was measured:
//!
//! `train with all threads -> slices, one thread and all in turn -> median slice, slowest, fastest`
//!
//! Machines are noisy, and may be slow for seconds: slices in turn let that fall on both kinds.
//! Training goes on while it is measured; play, which leaves the network as it is, comes first where
//! a network is measured both ways. The recipes are the built-in ones, and the games are played by the
//! same [`TrainableAgent`] as everywhere.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use afterstate::machine::Cpu;
use afterstate::tally::Outcome;
use serde::Serialize;
use sysinfo::{CpuRefreshKind, System};

use crate::LabError;
use crate::recipe::{Recipe, Rule};

use crate::agent::{RoundSpec, TrainableAgent, ntuple_agent};
use crate::control::{Control, Event, Progress, Task, Unit};
use crate::memory::MemoryBudget;
use crate::share::threads;
use crate::spec::{NTupleSpec, TdSpec};
use crate::statistics::median;

/// The fewest slices of each kind: fewer have no middle worth the name.
const MIN_SLICES: u32 = 3;
/// The most, so that long measurements have longer slices.
const MAX_SLICES: u32 = 25;
/// What a slice lasts where the time allows: long beside a game, which takes milliseconds.
const SLICE: Duration = Duration::from_secs(1);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Playing and learning.
    Train,
    /// Playing by the values as they are, one move ahead.
    Play,
}

/// A network that can be measured, and the rows it gives.
struct Subject {
    /// The built-in recipe that trains it.
    recipe: &'static str,
    /// Its tuples, where they are not the recipe's own.
    tuples: Option<&'static str>,
    /// Whether it is measured unless others are asked for.
    main: bool,
    rows: &'static [(&'static str, Mode)],
}

static SUBJECTS: [Subject; 7] = [
    Subject {
        recipe: "td-4x6",
        tuples: None,
        main: true,
        rows: &[("4x6 play", Mode::Play), ("4x6 td", Mode::Train)],
    },
    Subject {
        recipe: "quick",
        tuples: None,
        main: true,
        rows: &[("4x6 tc", Mode::Train)],
    },
    td("8x6", &[("8x6 td", Mode::Train)], true),
    Subject {
        recipe: "state-6",
        tuples: None,
        main: true,
        rows: &[("state-6", Mode::Train)],
    },
    td("5x6", &[("5x6 td", Mode::Train)], false),
    td("6x6", &[("6x6 td", Mode::Train)], false),
    td("8x4", &[("8x4 td", Mode::Train)], false),
];

/// Plain TD(0) with other tuples.
const fn td(tuples: &'static str, rows: &'static [(&'static str, Mode)], main: bool) -> Subject {
    Subject {
        recipe: "td-4x6",
        tuples: Some(tuples),
        main,
        rows,
    }
}

/// What to measure, and for how long.
pub struct Plan<'a> {
    /// The time for all rows together. Half of it warms up, half is measured.
    pub time: Duration,
    /// Games to warm up with, in place of that first half.
    pub games: Option<u64>,
    /// Rows by name, or by their first word; none means the main ones.
    pub networks: &'a [String],
    /// What "all threads" are; 0 means one for each core.
    pub threads: usize,
    /// Events and cancellation: a measurement that is cancelled reports the rows that are finished.
    pub control: &'a Control,
}

/// A machine's figures; these fields are the JSON of `bench --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Of this program.
    pub version: &'static str,
    /// The processor's name.
    pub cpu: String,
    /// How many threads it runs at once for us.
    pub cores: usize,
    /// Which code finds and sums weights.
    pub path: String,
    /// The time that was asked for.
    pub seconds: f64,
    /// Two for each name, or one if all threads are one.
    pub rows: Vec<Row>,
}

/// One network in one mode with one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name in the table.
    pub network: &'static str,
    /// Its tuples.
    pub tuples: String,
    /// What was measured.
    pub mode: Mode,
    /// By which rule it was trained.
    pub rule: Rule,
    /// And with which lambda.
    pub lambda: f64,
    /// Games it had been trained for before the first slice.
    pub games_before: u64,
    /// Threads that played.
    pub threads: usize,
    /// The median of the slices, all threads together.
    pub moves_per_second: f64,
    /// Every slice, in the order of time.
    pub slices: Vec<u64>,
    /// The memory of the weights.
    pub memory_mib: f64,
}

/// Measures.
///
/// # Errors
/// When a name is unknown, or memory is short: both before anything is played.
pub fn bench(plan: &Plan<'_>) -> Result<Report, LabError> {
    let chosen = chosen(plan.networks)?;
    // Memory that nobody touches costs nothing, so each network can be tried beforehand.
    for (subject, _) in &chosen {
        Trained::new(subject)?;
    }
    let halves: u32 = chosen.iter().map(|(_, rows)| 2 * rows.len() as u32).sum();
    let mut bench = Bench {
        plan,
        threads: threads(plan.threads),
        half: plan.time / halves,
        halves,
        done: 0,
        rows: Vec::new(),
    };
    for (subject, rows) in &chosen {
        bench.measure(subject, rows)?;
        if plan.control.is_cancelled() {
            break;
        }
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        cpu: cpu(),
        cores: threads(0),
        path: Cpu::best().to_string(),
        seconds: plan.time.as_secs_f64(),
        rows: bench.rows,
    })
}

/// The processor's name, if the system tells.
fn cpu() -> String {
    let named = || {
        let mut system = System::new().ok()?;
        system.refresh_cpu_list(CpuRefreshKind::nothing());
        let brand = system.cpus().first()?.brand().trim();
        (!brand.is_empty()).then(|| brand.to_owned())
    };
    named().unwrap_or_else(|| "unknown processor".to_owned())
}

type Rows = Vec<(&'static str, Mode)>;

/// The networks to measure, each with those of its rows that are asked for.
fn chosen(names: &[String]) -> Result<Vec<(&'static Subject, Rows)>, LabError> {
    let all = || SUBJECTS.iter().flat_map(|subject| subject.rows);
    let fits = |name: &str, asked: &str| name == asked || name.split(' ').next() == Some(asked);
    for asked in names {
        if !all().any(|(name, _)| fits(name, asked)) {
            return Err(LabError::UnknownNetwork {
                found: asked.clone(),
                known: all().map(|&(name, _)| name).collect(),
            });
        }
    }
    let wanted = |subject: &'static Subject| {
        let rows = subject.rows.iter().copied().filter(|(name, _)| {
            let asked = names.iter().any(|asked| fits(name, asked));
            asked || (names.is_empty() && subject.main)
        });
        (subject, rows.collect::<Rows>())
    };
    let chosen = SUBJECTS.iter().map(wanted);
    Ok(chosen.filter(|(_, rows)| !rows.is_empty()).collect())
}

/// A network under measurement.
struct Trained {
    recipe: Recipe,
    agent: Box<dyn TrainableAgent>,
    games: u64,
}

impl Trained {
    fn new(subject: &Subject) -> Result<Self, LabError> {
        let overrides = subject
            .tuples
            .map(|tuples| format!("network.tuples={tuples}"));
        let recipe = Recipe::load(subject.recipe, overrides.as_slice())?;
        let (spec, rule) = (NTupleSpec::of(&recipe)?, recipe.learner.rule());
        let agent = ntuple_agent(&spec, rule, 0.0, &MemoryBudget::process())?;
        Ok(Self {
            recipe,
            agent,
            games: 0,
        })
    }

    /// Plays games until `stop`, at most `most` of them.
    fn games(
        &mut self,
        mode: Mode,
        most: u64,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        seen: &(dyn Fn(&Outcome) + Sync),
    ) -> Result<(), LabError> {
        let first = self.games;
        let numbers = first..first.saturating_add(most);
        let mut round = RoundSpec {
            stop,
            on_game: seen,
            ..RoundSpec::new(numbers, self.recipe.seed, threads)
        };
        if mode == Mode::Play {
            // The same games in every slice.
            round.numbers = 0..most;
            self.agent.play(&round, None);
            return Ok(());
        }
        let lived = self.agent.learn(&round, &TdSpec::of(&self.recipe));
        self.games += lived.outcomes.len() as u64;
        if lived.finite {
            return Ok(());
        }
        Err(LabError::Diverged {
            games: self.games,
            learning_rate: self.recipe.learner.learning_rate().at(self.games),
            kept: false,
        })
    }
}

/// A measurement under way.
struct Bench<'a> {
    plan: &'a Plan<'a>,
    threads: usize,
    /// Each row has two of these: one to warm up, one to be measured.
    half: Duration,
    halves: u32,
    done: u32,
    rows: Vec<Row>,
}

impl Bench<'_> {
    /// Measures all rows of a network, whose memory is free again afterwards.
    fn measure(&mut self, subject: &Subject, rows: &Rows) -> Result<(), LabError> {
        let mut network = Trained::new(subject)?;
        self.warm_up(&mut network, rows)?;
        for &(name, mode) in rows {
            let (before, threads) = (network.games, self.kinds());
            let slices = self.slices(&mut network, name, mode)?;
            if self.plan.control.is_cancelled() {
                break;
            }
            for (threads, slices) in threads.into_iter().zip(slices) {
                let mut sorted = slices.clone();
                sorted.sort_unstable();
                self.rows.push(Row {
                    network: name,
                    tuples: network.recipe.network.tuples().to_owned(),
                    mode,
                    rule: network.recipe.learner.rule(),
                    lambda: network.recipe.learner.lambda(),
                    games_before: before,
                    threads,
                    moves_per_second: median(&sorted),
                    slices,
                    memory_mib: network.agent.bytes() as f64 / 1_048_576.0,
                });
            }
        }
        Ok(())
    }

    /// The numbers of threads that are measured.
    fn kinds(&self) -> Vec<usize> {
        let mut kinds = vec![1, self.threads];
        kinds.dedup();
        kinds
    }

    /// Trains a network with all threads: for the games that were asked for, or for the warm-up time
    /// of all its rows.
    fn warm_up(&mut self, network: &mut Trained, rows: &Rows) -> Result<(), LabError> {
        let time = self.half * rows.len() as u32;
        let games = self.plan.games;
        let (begun, played) = (Instant::now(), AtomicU64::new(0));
        let share = || match games {
            Some(games) => played.load(Ordering::Relaxed) as f64 / games.max(1) as f64,
            None => begun.elapsed().as_secs_f64() / time.as_secs_f64(),
        };
        let due = || games.is_none() && played.load(Ordering::Relaxed) > 0 && share() >= 1.0;
        let tell = |_: &Outcome| {
            played.fetch_add(1, Ordering::Relaxed);
            self.tell(rows[0].0, false, rows.len() as f64 * share());
        };
        network.games(
            Mode::Train,
            games.unwrap_or(u64::MAX),
            self.threads,
            &|| self.plan.control.is_cancelled() || due(),
            &tell,
        )?;
        if self.threads > 1 {
            network.agent.refresh(1);
        }
        self.done += rows.len() as u32;
        Ok(())
    }

    /// The speeds of all slices, for each number of threads.
    fn slices(
        &mut self,
        network: &mut Trained,
        name: &'static str,
        mode: Mode,
    ) -> Result<Vec<Vec<u64>>, LabError> {
        let kinds = self.kinds();
        let time = self.half / kinds.len() as u32;
        let count = (time.as_secs_f64() / SLICE.as_secs_f64()) as u32;
        let count = count.clamp(MIN_SLICES, MAX_SLICES);
        let mut speeds = vec![Vec::new(); kinds.len()];
        for turn in 0..count {
            self.tell(name, true, f64::from(turn) / f64::from(count));
            for (&threads, speeds) in kinds.iter().zip(&mut speeds) {
                speeds.push(self.slice(network, mode, threads, time / count)?);
            }
        }
        self.done += 1;
        Ok(speeds)
    }

    /// Plays for a while; the moves a second of all threads together.
    ///
    /// A slice ends with whole games, so threads end at different times. Each is charged for its own
    /// time alone: the wait for the last one is no part of a longer training, and would make short
    /// slices with many threads look slow. What [`TrainableAgent::refresh`] takes
    /// between the rounds of a training on states is not counted either.
    fn slice(
        &self,
        network: &mut Trained,
        mode: Mode,
        threads: usize,
        time: Duration,
    ) -> Result<u64, LabError> {
        let shares = Mutex::new(HashMap::<ThreadId, Share>::new());
        let played = AtomicBool::new(false);
        let begun = Instant::now();
        let note = |outcome: &Outcome| {
            let ended = begun.elapsed();
            played.store(true, Ordering::Relaxed);
            let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
            let share = shares.entry(thread::current().id()).or_default();
            share.moves += outcome.moves;
            share.seconds = ended.as_secs_f64();
        };
        // A slice has at least one game, however short it is.
        let over = || played.load(Ordering::Relaxed) && begun.elapsed() >= time;
        let stop = || self.plan.control.is_cancelled() || over();
        network.games(mode, u64::MAX, threads, &stop, &note)?;
        let shares = shares.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(shares.values().map(Share::speed).sum::<f64>().round() as u64)
    }

    fn tell(&self, network: &'static str, measured: bool, halves: f64) {
        let doing = if measured { "measuring" } else { "warming up" };
        let share = (f64::from(self.done) + halves) / f64::from(self.halves);
        self.plan.control.emit(Event::Progress(Progress {
            unit: Unit::Parts,
            total: Some(self.halves.into()),
            ..Progress::stage(
                Task::Bench,
                format!("{network}: {doing}"),
                share.min(1.0),
                self.done.into(),
            )
        }));
    }
}

/// What one thread did in a slice.
#[derive(Default)]
struct Share {
    moves: u64,
    seconds: f64,
}

impl Share {
    fn speed(&self) -> f64 {
        self.moves as f64 / self.seconds.max(1e-9)
    }
}
