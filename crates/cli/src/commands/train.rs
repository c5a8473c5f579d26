//! `afterstate train`: a new run, or an old one to go on with.

use std::path::Path;

use afterstate::tally::{Outcome, Tally};
use afterstate_lab::block::ReplayStats;
use afterstate_lab::migrate::Format;
use afterstate_lab::recipe::{NetworkRecipe, Recipe, ValueOf};
use afterstate_lab::run::free_folder;
use afterstate_lab::trainer::{Ending, Observer, Trainer};

use super::{RUNS, shown};
use crate::args::TrainArgs;
use crate::interrupt;
use crate::output::{grouped, note, print, tell};
use crate::progress::{Counts, Progress};

pub fn run(args: &TrainArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let mut trainer = match &args.resume {
        Some(folder) => {
            // Large tables take some seconds to read.
            note(&format!("reading {}", shown(folder)));
            let trainer = Trainer::resume(folder, &overrides(args))?;
            if let Some(format) = trainer.migrated_from() {
                tell(&format!(
                    "{} was written in format {format}; its recipe is now in format {}, and so will be what is saved",
                    shown(folder),
                    Format::NOW
                ));
            }
            trainer
        }
        None => start(args)?,
    };
    let folder = shown(trainer.folder());
    // A reader of our output that has gone away stops no training.
    let _ = introduce(&trainer, &folder);
    if trainer.is_done() {
        let (counts, ..) = length(&trainer);
        let longer = match counts {
            Counts::Games => "--episodes N",
            Counts::Updates => "--set max_updates=N",
        };
        return print(format!(
            "nothing is left to do; train longer with `{longer}`\n"
        ));
    }
    let (counts, all, done) = length(&trainer);
    let progress = Progress::of(counts, all, done);
    let recipe = trainer.recipe();
    let unit = recipe.value_unit();
    let value = match recipe.learner.value() {
        ValueOf::Action => "Q",
        ValueOf::Afterstate | ValueOf::State => "V",
    };
    let ending = trainer.train(&Watcher {
        progress: &progress,
        value,
        unit,
    });
    progress.finish();
    let so_far = so_far(&trainer);
    match ending? {
        Ending::Finished => {
            let plots = match trainer.games() {
                0 => String::new(),
                _ => format!(", the plots are in {folder}/plots"),
            };
            print(format!(
                "done: {so_far}. The model is {folder}/model.safetensors{plots}.\n\
                 How good is it?  afterstate eval {folder}\n"
            ))
        }
        Ending::Stopped => print(format!(
            "stopped and saved after {so_far}. Go on with:  afterstate train --resume {folder}\n"
        )),
    }
}

/// What has been done: games, and updates where these are counted.
fn so_far(trainer: &Trainer) -> String {
    let count = |number: u64, name: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{} {name}{plural}", grouped(number as f64))
    };
    let games = count(trainer.games(), "game");
    match length(trainer) {
        (Counts::Games, ..) => games,
        (Counts::Updates, _, updates) => format!("{} and {games}", count(updates, "update")),
    }
}

fn start(args: &TrainArgs) -> anyhow::Result<Trainer> {
    let recipe = Recipe::load(&args.recipe, &overrides(args))?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| free_folder(Path::new(RUNS), &recipe.name));
    Ok(Trainer::new(recipe, &folder)?)
}

/// The short options are overrides of recipe keys like any other.
fn overrides(args: &TrainArgs) -> Vec<String> {
    let options = [
        ("game", args.game.clone()),
        ("board", args.board.clone()),
        ("episodes", args.episodes.map(|n| n.to_string())),
        ("threads", args.threads.map(|n| n.to_string())),
        ("seed", args.seed.map(|n| n.to_string())),
    ];
    let given = options
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    args.set.iter().cloned().chain(given).collect()
}

/// What ends a training, how many of them there will be, and how many there are already.
fn length(trainer: &Trainer) -> (Counts, u64, u64) {
    let recipe = trainer.recipe();
    match recipe.learner.max_updates() {
        Some(updates) => (Counts::Updates, updates, trainer.updates()),
        None => (Counts::Games, recipe.episodes, trainer.games()),
    }
}

fn introduce(trainer: &Trainer, folder: &str) -> anyhow::Result<()> {
    let recipe = trainer.recipe();
    let (counts, all, done) = length(trainer);
    let all = format!("{} {}", grouped(all as f64), counts.name());
    let from = if done > 0 {
        format!("going on after {} of {all}", grouped(done as f64))
    } else {
        all
    };
    let Recipe {
        game,
        board,
        network,
        ..
    } = recipe;
    let title = recipe.title();
    let made_of = match network {
        NetworkRecipe::NTuple(network) => format!("tuples {}", network.tuples),
        NetworkRecipe::Deep(network) => {
            let kernels = network.convolutions.join(", ");
            format!("convolutions {kernels} of {} filters", network.filters)
        }
    };
    print(format!(
        "{title}: {game} on {board}, {made_of}, {from}, into {folder}\n"
    ))
}

struct Watcher<'a> {
    progress: &'a Progress,
    /// The letter of what is learned, and how many points its 1 stands for.
    value: &'static str,
    unit: f64,
}

impl Watcher<'_> {
    /// As R4's authors saw it, with the value in points and the usual mean beside their average.
    fn study(&self, replay: &ReplayStats, tally: &Tally) -> String {
        let (all, block) = (&replay.total, &replay.block);
        let a_second = |count: u64| count as f64 / tally.seconds.max(1e-9);
        format!(
            "\tupdates = {}\t{:.0}/s, {:.0} iterations/s\n\tloss = {:.4}\t{} = {:.1}\treward = {:.2}\n\taverage = {:.1} in R4's \
             scoring, half of the usual\tmean = {:.1}\n",
            all.updates,
            a_second(block.updates),
            a_second(block.iterations),
            block.mean_loss(),
            self.value,
            block.mean_value() * self.unit,
            block.mean_reward(),
            replay.running_average.unwrap_or(0.0),
            tally.mean(),
        )
    }
}

impl Observer for Watcher<'_> {
    fn game(&self, outcome: &Outcome) {
        self.progress.game(outcome);
    }

    fn learned(&self, updates: u64) {
        self.progress.updates(updates);
    }

    fn block(&self, games: u64, tally: &Tally, replay: Option<&ReplayStats>) {
        let studied = replay.map_or_else(String::new, |replay| self.study(replay, tally));
        self.progress
            .print(format!("{}{studied}\n", tally.block(games)));
    }

    fn stop(&self) -> bool {
        interrupt::asked()
    }
}
