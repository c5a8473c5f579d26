//! Measures the speed of this machine: moves per second of the main networks, with one thread and
//! with all.
//!
//! A network may slow down as it learns: its games get longer and touch more weights. So every
//! result states the number of training games before the measurement:
//!
//! `train with all threads -> slices, one thread and all in turn -> median slice, slowest, fastest`
//!
//! Machines are noisy, and may be slow for seconds: alternating slices distribute this over both
//! kinds. Training continues while it is measured; play, which does not change the network, comes
//! first where a network is measured both ways. The recipes are the built-in ones, and the games
//! are played by the same [`TrainableAgent`] as everywhere.

mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use afterstate::machine::Cpu;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, System};

use crate::LabError;
use crate::recipe::{Recipe, Rule};

use crate::agent::{Agent, RoundSpec, TrainableAgent, ntuple_agent};
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::memory::MemoryBudget;
use crate::search::SearchSpec;
use crate::share::threads;
use crate::spec::{NTupleSpec, TdSpec};
use crate::statistics::median;
use rows::{BenchNetwork, Row, chosen};

/// The smallest number of slices of each kind; fewer have no meaningful median.
const MIN_SLICES: u32 = 3;
/// The largest number, so that long measurements have longer slices.
const MAX_SLICES: u32 = 25;
/// The length of a slice if there is enough time: long compared to a game, which takes
/// milliseconds.
const SLICE: Duration = Duration::from_secs(1);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Playing and learning.
    Train,
    /// Playing with fixed values, one move ahead.
    Play,
    /// Playing with fixed values and a search.
    Search,
}

/// The options of a benchmark.
pub struct BenchOptions<'a> {
    /// The total time for all rows. Half of it warms up, half is measured.
    pub time: Duration,
    /// Training games for the warm-up, instead of the first half of the time.
    pub games: Option<u64>,
    /// Rows by name, or by their first word; empty means the main ones.
    pub networks: &'a [String],
    /// Searches to measure, instead of networks: all over the values of the first one.
    pub searches: &'a [SearchSpec],
    /// The number of "all threads"; 0 means one for each core.
    pub threads: usize,
    /// Events and cancellation: a cancelled benchmark reports the finished rows.
    pub control: &'a Control,
}

/// The results of a benchmark; these fields are the JSON of `bench --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The version of this program.
    pub version: String,
    /// The processor's name.
    pub cpu: String,
    /// The number of threads that can run at once.
    pub cores: usize,
    /// The code path that looks up and sums weights.
    pub path: String,
    /// The requested time.
    pub seconds: f64,
    /// Two for each name, or one if all threads are one.
    pub rows: Vec<BenchRow>,
}

/// One network in one mode with one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Its name in the table.
    pub network: String,
    /// Its tuples.
    pub tuples: String,
    /// What was measured.
    pub mode: Mode,
    /// The search, with its table, if one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<BenchSearch>,
    /// The update rule of its training.
    pub rule: Rule,
    /// The lambda of its training.
    pub lambda: f64,
    /// Training games before the first slice.
    pub games_before: u64,
    /// The number of threads.
    pub threads: usize,
    /// The median of the slices, all threads together.
    pub moves_per_second: f64,
    /// Every slice, in chronological order.
    pub slices: Vec<u64>,
    /// The memory of the weights.
    pub memory_mib: f64,
}

/// A search that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSearch {
    /// Its limit and its cut-offs.
    pub search: String,
    /// The size of its table of searched positions.
    pub hash_mib: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// When a name is unknown, or there is too little memory: both before anything is played.
pub fn bench(options: &BenchOptions<'_>) -> Result<BenchReport, LabError> {
    let job = Job {
        task: Task::Bench,
        subject: options.networks.join(", "),
        total: None,
        unit: Unit::Parts,
    };
    options.control.run(
        job,
        || bench_silently(options),
        |done| {
            let rows = done.as_ref().ok()?.rows.len() as u64;
            Some((Status::of(!options.control.is_cancelled()), rows))
        },
    )
}

/// The same without the events of its start and its end.
fn bench_silently(options: &BenchOptions<'_>) -> Result<BenchReport, LabError> {
    let chosen = chosen(options)?;
    // Untouched memory costs nothing, so each network can be created once as a check.
    for (subject, _) in &chosen {
        Trained::new(subject, options.control.memory())?;
    }
    let halves: u32 = chosen.iter().map(|(_, rows)| 2 * rows.len() as u32).sum();
    let mut bench = Bench {
        options,
        threads: threads(options.threads),
        half: options.time / halves,
        halves,
        done: 0,
        rows: Vec::new(),
    };
    for (subject, rows) in &chosen {
        bench.measure(subject, rows)?;
        if options.control.is_cancelled() {
            break;
        }
    }
    Ok(BenchReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cpu: cpu(),
        cores: threads(0),
        path: Cpu::best().to_string(),
        seconds: options.time.as_secs_f64(),
        rows: bench.rows,
    })
}

/// The processor's name, if the system provides it.
fn cpu() -> String {
    let named = || {
        let mut system = System::new().ok()?;
        system.refresh_cpu_list(CpuRefreshKind::nothing());
        let brand = system.cpus().first()?.brand().trim();
        (!brand.is_empty()).then(|| brand.to_owned())
    };
    named().unwrap_or_else(|| "unknown processor".to_owned())
}

/// A network being measured.
struct Trained {
    recipe: Recipe,
    agent: Arc<dyn TrainableAgent>,
    games: u64,
}

impl Trained {
    fn new(subject: &BenchNetwork, budget: &MemoryBudget) -> Result<Self, LabError> {
        let overrides = subject
            .tuples
            .map(|tuples| format!("network.tuples={tuples}"));
        let recipe = Recipe::load(subject.recipe, overrides.as_slice())?;
        let (spec, rule) = (NTupleSpec::of(&recipe)?, recipe.learner.rule());
        let agent = ntuple_agent(&spec, rule, 0.0, budget)?;
        Ok(Self {
            recipe,
            agent: agent.into(),
            games: 0,
        })
    }

    /// The agent that plays the games of a row without learning.
    fn player(&self, row: &Row) -> Result<Arc<dyn Agent>, LabError> {
        let agent = Arc::clone(&self.agent);
        match &row.search {
            Some(search) => agent.with_search(search),
            None => Ok(agent),
        }
    }

    /// Plays and learns from games until `stop`, at most `most` of them.
    fn learn(
        &mut self,
        most: u64,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        seen: &(dyn Fn(&Outcome) + Sync),
    ) -> Result<(), LabError> {
        let first = self.games;
        let numbers = first..first.saturating_add(most);
        let round = RoundSpec {
            stop,
            on_game: seen,
            ..RoundSpec::new(numbers, self.recipe.seed, threads)
        };
        let result = self.agent.learn(&round, &TdSpec::of(&self.recipe));
        self.games += result.outcomes.len() as u64;
        if result.finite {
            return Ok(());
        }
        Err(LabError::Diverged {
            games: self.games,
            learning_rate: self.recipe.learner.learning_rate().at(self.games),
            kept: false,
        })
    }
}

/// A running benchmark.
struct Bench<'a> {
    options: &'a BenchOptions<'a>,
    threads: usize,
    /// Each row has two of these: one for the warm-up, one for the measurement.
    half: Duration,
    halves: u32,
    done: u32,
    rows: Vec<BenchRow>,
}

impl Bench<'_> {
    /// Measures all rows of a network, and frees its memory.
    fn measure(&mut self, subject: &BenchNetwork, rows: &[Row]) -> Result<(), LabError> {
        let mut network = Trained::new(subject, self.options.control.memory())?;
        self.warm_up(&mut network, rows)?;
        for row in rows {
            let (before, threads) = (network.games, self.kinds());
            let slices = self.slices(&mut network, row)?;
            if self.options.control.is_cancelled() {
                break;
            }
            for (threads, slices) in threads.into_iter().zip(slices) {
                let mut sorted = slices.clone();
                sorted.sort_unstable();
                self.rows.push(BenchRow {
                    network: row.name.clone(),
                    tuples: network.recipe.network.tuples().to_owned(),
                    mode: row.mode,
                    search: row.search.as_ref().map(|search| BenchSearch {
                        search: search.to_string(),
                        hash_mib: search.table_bytes as f64 / 1_048_576.0,
                    }),
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

    /// The numbers of threads to measure.
    fn kinds(&self) -> Vec<usize> {
        let mut kinds = vec![1, self.threads];
        kinds.dedup();
        kinds
    }

    /// Trains a network with all threads: for the requested games, or for the warm-up time of all
    /// its rows.
    fn warm_up(&mut self, network: &mut Trained, rows: &[Row]) -> Result<(), LabError> {
        let time = self.half * rows.len() as u32;
        let games = self.options.games;
        let (begun, played) = (Instant::now(), AtomicU64::new(0));
        let share = || match games {
            Some(games) => played.load(Ordering::Relaxed) as f64 / games.max(1) as f64,
            None => begun.elapsed().as_secs_f64() / time.as_secs_f64(),
        };
        let due = || games.is_none() && played.load(Ordering::Relaxed) > 0 && share() >= 1.0;
        let tell = |_: &Outcome| {
            played.fetch_add(1, Ordering::Relaxed);
            self.report(&rows[0].name, false, rows.len() as f64 * share());
        };
        network.learn(
            games.unwrap_or(u64::MAX),
            self.threads,
            &|| self.options.control.is_cancelled() || due(),
            &tell,
        )?;
        if self.threads > 1 {
            network.agent.refresh(1);
        }
        self.done += rows.len() as u32;
        Ok(())
    }

    /// The speeds of all slices, for each number of threads.
    fn slices(&mut self, network: &mut Trained, row: &Row) -> Result<Vec<Vec<u64>>, LabError> {
        let player = network.player(row)?;
        let kinds = self.kinds();
        let time = self.half / kinds.len() as u32;
        let count = (time.as_secs_f64() / SLICE.as_secs_f64()) as u32;
        let count = count.clamp(MIN_SLICES, MAX_SLICES);
        let mut speeds = vec![Vec::new(); kinds.len()];
        for turn in 0..count {
            self.report(&row.name, true, f64::from(turn) / f64::from(count));
            for (&threads, speeds) in kinds.iter().zip(&mut speeds) {
                speeds.push(self.slice(network, (row.mode, &*player), threads, time / count)?);
            }
        }
        self.done += 1;
        Ok(speeds)
    }

    /// Plays for a while; returns the moves per second of all threads together.
    ///
    /// A slice ends with whole games, so threads end at different times. Each is charged only for
    /// its own time: the wait for the last thread is not part of longer training, and would make
    /// short slices with many threads look slow. The time of [`TrainableAgent::refresh`] between
    /// training rounds on states is not counted either.
    fn slice(
        &self,
        network: &mut Trained,
        (mode, player): (Mode, &dyn Agent),
        threads: usize,
        time: Duration,
    ) -> Result<u64, LabError> {
        let shares = Mutex::new(HashMap::<ThreadId, ThreadWork>::new());
        let players = AtomicUsize::new(0);
        let begun = Instant::now();
        let note = |outcome: &Outcome| {
            let ended = begun.elapsed();
            let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
            let share = shares.entry(thread::current().id()).or_default();
            share.moves += outcome.moves;
            share.seconds = ended.as_secs_f64();
            players.store(shares.len(), Ordering::Relaxed);
        };
        // A slice has at least one game; with a search, one of each thread, because a search leaves out
        // the game in which it is stopped.
        let least = if mode == Mode::Search { threads } else { 1 };
        let over = || players.load(Ordering::Relaxed) >= least && begun.elapsed() >= time;
        let stop = || self.options.control.is_cancelled() || over();
        if mode == Mode::Train {
            network.learn(u64::MAX, threads, &stop, &note)?;
        } else {
            // The same games in every slice.
            let round = RoundSpec {
                stop: &stop,
                on_game: &note,
                ..RoundSpec::new(0..u64::MAX, network.recipe.seed, threads)
            };
            player.play(&round, None);
        }
        let shares = shares.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(shares.values().map(ThreadWork::speed).sum::<f64>().round() as u64)
    }

    fn report(&self, network: &str, measured: bool, halves: f64) {
        let doing = if measured { "measuring" } else { "warming up" };
        let share = (f64::from(self.done) + halves) / f64::from(self.halves);
        self.options.control.emit(Event::Progress(Progress {
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

/// The work of one thread in a slice.
#[derive(Default)]
struct ThreadWork {
    moves: u64,
    seconds: f64,
}

impl ThreadWork {
    fn speed(&self) -> f64 {
        self.moves as f64 / self.seconds.max(1e-9)
    }
}
