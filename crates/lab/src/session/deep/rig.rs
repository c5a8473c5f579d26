//! A deep network with its game.
//!
//! A model has the network that plays as PyTorch would name and shape it. A checkpoint has that, and by the same names behind `follower.` (the target
//! network) or `learner.` the one that does not play, and behind `first.` and `second.` the two means of Adam; its metadata `deep` has what is left.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use afterstate::format::native::{self, Array, Keep, Metadata, NativeError};
use afterstate::game::{Direction, Game, ChanceState};
use afterstate::play::{Learner, NoLearner, play_together};
use afterstate::random::game_rng;
use afterstate::replay::{ReplayConfig, ReplayAgent};
use afterstate::tally::Outcome;
use afterstate_deep::{
    Architecture, ArchitectureError, Decay, DqnAgent, Fallback, TrainState, Initial, OutputSpec, Of,
    Parameter, Parameters, Place, Player, Plays, Settings, Target,
};
use serde::{Deserialize, Serialize};

use super::super::school::{Head, config, schooled};
use super::super::{
    Chooser, EVALUATION, Lesson, ORDER, Playing, Session, Worth, available_memory, faces,
};
use crate::LabError;
use crate::deep::DeepPlayer;
use crate::disk::Part;
use crate::recipe::{
    self, DropoutPlace, Follow, Illegal, InitialWeights, Optimiser, Recipe, Relu, Rewards, ValueOf,
};
use crate::recorder::{Recorder, Sink};
use crate::registry::{OnBoard, on_board, rules};
use crate::share::{share_out, threads};
use crate::tables::Saved;

/// The metadata key under which a checkpoint keeps [`Kept`].
const DEEP: &str = "deep";
/// Copies of a network that learning needs: itself and the target network, both as numbers and as tensors, two means, gradients; and a checkpoint
/// twice, while it is written.
const COPIES: u64 = 16;
/// Numbers of all layers, and their gradients, for each board of a batch.
const PASSES: u64 = 4;
/// Games that one thread plays side by side in an evaluation.
const TOGETHER: usize = 64;

/// A new deep network that learns as a recipe says.
pub(crate) fn training(player: &DeepPlayer, recipe: &Recipe) -> Result<Box<dyn Session>, LabError> {
    let (learner, deep) = (&recipe.learner, &recipe.deep);
    let settings = Settings {
        initial: match deep.initial_weights {
            InitialWeights::Torch => Initial::Torch,
            InitialWeights::He => Initial::He,
        },
        mask: deep.mask,
        rate: learner.rate.at(0),
        decay: match deep.optimiser {
            Optimiser::Adam => Decay::None,
            Optimiser::Adamw => Decay::Weights(deep.weight_decay as f32),
        },
        target: match deep.follow {
            Follow::Copy => Target::Copy(deep.follow_iterations),
            Follow::Soft => Target::Soft(deep.tau as f32),
        },
        plays: match deep.plays {
            recipe::Plays::Learner => Plays::Learner,
            recipe::Plays::Follower => Plays::Follower,
        },
        double: deep.double,
        dropout: (
            deep.dropout as f32,
            match deep.dropout_place {
                DropoutPlace::Convolutions => Place::Convolutions,
                DropoutPlace::Hidden => Place::Hidden,
            },
        ),
        turn: deep.turn,
        discount: deep.discount as f32,
        meaning: meaning(player),
    };
    let architecture = architecture(player)?;
    check_memory(&architecture, recipe.replay.batch)?;
    let threads = threads(recipe.threads);
    let pupil = DqnAgent::new(&architecture, settings, recipe.seed, threads);
    let pupil = pupil.map_err(unbuildable)?;
    let config = ReplayConfig {
        discount: deep.discount as f32,
        ..config(&recipe.replay)
    };
    let task = Train {
        pupil,
        config,
        seed: recipe.seed,
    };
    on_board(&player.game, player.shape, task)
}

/// Refuses a network that does not fit into free memory with a batch of so many boards.
fn check_memory(architecture: &Architecture, batch: usize) -> Result<(), LabError> {
    let numbers = COPIES * architecture.count().map_err(unbuildable)? as u64;
    let boards = PASSES * (batch * architecture.numbers_of_a_board()) as u64;
    let needed = 4 * (numbers + boards);
    let available = available_memory();
    let fits = needed <= available;
    fits.then_some(())
        .ok_or(LabError::DeepMemory { needed, available })
}

/// A deep network to be filled from a file, which has all of its numbers.
pub(crate) fn playing(
    player: &DeepPlayer,
    saved: &Saved,
    path: &Path,
) -> Result<Box<dyn Playing>, LabError> {
    let architecture = architecture(player)?;
    for (name, shape) in architecture.arrays().map_err(unbuildable)? {
        let checked = saved.check_shape(&name, &shape);
        checked.map_err(LabError::model("read", path))?;
    }
    check_memory(&architecture, TOGETHER)?;
    let settings = Settings {
        meaning: meaning(player),
        ..Settings::default()
    };
    let pupil = DqnAgent::new(&architecture, settings, 0, 1).map_err(unbuildable)?;
    on_board(&player.game, player.shape, Play { pupil })
}

struct Train {
    pupil: DqnAgent,
    config: ReplayConfig,
    seed: u64,
}

impl OnBoard for Train {
    type Output = Box<dyn Session>;

    fn on<G: Game>(self, game: G) -> Self::Output {
        let rig = DeepRig::new(game, self.pupil);
        schooled(game, rig, self.config, self.seed)
    }
}

struct Play {
    pupil: DqnAgent,
}

impl OnBoard for Play {
    type Output = Box<dyn Playing>;

    fn on<G: Game>(self, game: G) -> Self::Output {
        Box::new(DeepRig::new(game, self.pupil))
    }
}

fn meaning(player: &DeepPlayer) -> OutputSpec {
    OutputSpec {
        of: match player.value {
            ValueOf::Action => Of::Actions(match player.illegal {
                Illegal::Value => Fallback::Value,
                Illegal::Number => Fallback::Number,
            }),
            ValueOf::Afterstate | ValueOf::State => Of::Afterstates,
        },
        known_rewards: player.rewards == Rewards::Known,
        scale: player.scale as f32,
    }
}

fn architecture(player: &DeepPlayer) -> Result<Architecture, LabError> {
    Ok(Architecture {
        board: (player.shape.rows(), player.shape.cols()),
        tiles: 1 << rules(&player.game)?.tile_bits(player.shape),
        convolutions: player.convolutions.clone(),
        filters: player.filters,
        hidden: player.hidden.clone(),
        hidden_relu: player.relu == Relu::All,
        outputs: player.outputs,
    })
}

fn unbuildable(error: ArchitectureError) -> LabError {
    LabError::Layers(error.to_string())
}

struct DeepRig<G> {
    game: G,
    pupil: Mutex<DqnAgent>,
}

/// What a checkpoint keeps beside its arrays.
#[derive(Serialize, Deserialize)]
struct Kept {
    steps: u64,
    iterations: u64,
}

impl<G: Game> DeepRig<G> {
    fn new(game: G, pupil: DqnAgent) -> Self {
        Self {
            game,
            pupil: Mutex::new(pupil),
        }
    }

    fn pupil(&self) -> MutexGuard<'_, DqnAgent> {
        self.pupil.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its network as it is now, for one thread; the same for a board alone as for one among others.
    fn player(&self) -> Player {
        let player = self.pupil().player().clone();
        player.with_threads(1).in_groups(TOGETHER)
    }

    /// Plays the games of an evaluation, each with someone who watches it.
    fn play_with<L: Learner<G>>(
        &self,
        lesson: &Lesson<'_>,
        watch: impl Fn(u64) -> L + Sync,
    ) -> Vec<Outcome> {
        let player = self.player();
        share_out(
            lesson.threads,
            lesson.numbers.clone(),
            lesson.stop,
            |next| {
                let mut played = Vec::new();
                play_together(
                    &self.game,
                    TOGETHER,
                    |states| player.choose(&self.game, states),
                    || {
                        let number = next()?;
                        let chance_state = game_rng(lesson.seed ^ EVALUATION, number);
                        Some((number, chance_state, watch(number)))
                    },
                    |number, outcome| {
                        (lesson.seen)(&outcome);
                        played.push((number, outcome));
                    },
                );
                played
            },
        )
    }
}

impl<G: Game> Head<G> for DeepRig<G> {
    fn study(&self, study: &mut dyn FnMut(&mut dyn ReplayAgent<G>)) {
        study(&mut *self.pupil());
    }
}

impl<G: Game> Playing for DeepRig<G> {
    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome> {
        self.play_with(lesson, |_| NoLearner)
    }

    fn record(&self, lesson: &Lesson<'_>, sink: Sink<'_>) -> Vec<Outcome> {
        self.play_with(lesson, |number| {
            let order = game_rng(lesson.seed ^ ORDER, number);
            Recorder::new(self.game, sink, order)
        })
    }

    fn worths(&self, tiles: &[u8], chance_state: ChanceState) -> Option<(Vec<Worth>, Option<Direction>)> {
        let state = self.game.state(tiles, chance_state)?;
        let player = self.player();
        let worth = |worth: afterstate_deep::Worth| Worth {
            direction: worth.direction,
            reward: worth.reward,
            value: worth.total - worth.reward as f32,
        };
        let worths = player.worths(&self.game, &[state]).concat();
        let chosen = player.choose(&self.game, &[state]);
        Some((worths.into_iter().map(worth).collect(), chosen[0]))
    }

    fn chooser(&self) -> Chooser<'_> {
        let player = self.player();
        Box::new(move |tiles, chance_state| {
            let state = self.game.state(tiles, chance_state)?;
            let chosen = player.choose(&self.game, &[state]);
            Some(chosen.into_iter().flatten().collect())
        })
    }

    fn faces(&self) -> Vec<u64> {
        faces(&self.game)
    }

    fn bytes(&self) -> u64 {
        4 * self.pupil().growth().learner.count() as u64
    }

    fn refresh(&self) {}

    /// A network of some megabytes is written in no time.
    fn drafts(&self) -> bool {
        false
    }

    fn write(
        &self,
        metadata: &Metadata,
        keep: Keep,
        part: &Part,
        _: usize,
    ) -> Result<(), NativeError> {
        let pupil = self.pupil();
        let architecture = pupil.player().architecture();
        let growth = pupil.growth();
        let [playing, other] = growth.in_order(pupil.plays());
        let mut arrays = playing.to_torch(architecture);
        let mut metadata = metadata.clone();
        if keep == Keep::Everything {
            let TrainState { adam, .. } = growth;
            let parts = [
                (prefix_of_the_other(pupil.plays()), other.clone()),
                (FIRST, like(&growth.learner, &adam.first)),
                (SECOND, like(&growth.learner, &adam.second)),
            ];
            for (prefix, numbers) in parts {
                arrays.extend(
                    numbers
                        .to_torch(architecture)
                        .into_iter()
                        .map(|array| Array {
                            name: format!("{prefix}{}", array.name),
                            ..array
                        }),
                );
            }
            let kept = Kept {
                steps: adam.steps,
                iterations: growth.iterations,
            };
            let text = serde_json::to_string(&kept).map_err(io::Error::other)?;
            metadata.insert(DEEP.to_owned(), text);
        }
        let file = native::file_of(&arrays, &metadata)?;
        Ok(part.begin(&file, file.len() as u64)?)
    }

    fn read(&self, saved: &Saved, keep: Keep) -> Result<(), NativeError> {
        let mut pupil = self.pupil();
        let architecture = pupil.player().architecture().clone();
        let read = |prefix: &str| {
            Parameters::from_torch(&architecture, |name, count| {
                let numbers = saved.numbers(&format!("{prefix}{name}"), count);
                numbers.map_err(Unread::File)
            })
        };
        let read = |prefix| read(prefix).map_err(NativeError::from);
        let mut growth = pupil.growth().clone();
        let playing = read("")?;
        let mut other = playing.clone();
        if keep == Keep::Everything {
            let text = saved.metadata().get(DEEP).map_or("", String::as_str);
            let damaged = |found: String| NativeError::Metadata { key: DEEP, found };
            let kept: Kept =
                serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
            let most = i64::MAX as u64;
            if kept.steps > most || kept.iterations > most {
                return Err(damaged(format!("a number above {most}")));
            }
            other = read(prefix_of_the_other(pupil.plays()))?;
            growth.adam.first = values(read(FIRST)?);
            growth.adam.second = values(read(SECOND)?);
            growth.adam.steps = kept.steps;
            growth.iterations = kept.iterations;
        }
        (growth.learner, growth.follower) = match pupil.plays() {
            Plays::Learner => (playing, other),
            Plays::Follower => (other, playing),
        };
        pupil.go_on(growth);
        Ok(())
    }
}

/// What stands before the names of the network that does not play.
fn prefix_of_the_other(plays: Plays) -> &'static str {
    match plays {
        Plays::Learner => "follower.",
        Plays::Follower => "learner.",
    }
}

const FIRST: &str = "first.";
const SECOND: &str = "second.";

/// Numbers that have the shapes of these.
fn like(parameters: &Parameters, numbers: &[Vec<f32>]) -> Parameters {
    let shaped = parameters
        .0
        .iter()
        .zip(numbers)
        .map(|(one, values)| Parameter {
            values: values.clone(),
            ..one.clone()
        });
    Parameters(shaped.collect())
}

fn values(parameters: Parameters) -> Vec<Vec<f32>> {
    parameters.0.into_iter().map(|one| one.values).collect()
}

/// Why a network could not be read.
enum Unread {
    File(NativeError),
    Architecture(ArchitectureError),
}

impl From<ArchitectureError> for Unread {
    fn from(error: ArchitectureError) -> Self {
        Self::Architecture(error)
    }
}

impl From<Unread> for NativeError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::File(error) => error,
            Unread::Architecture(error) => Self::Metadata {
                key: crate::deep::CONVOLUTIONS,
                found: error.to_string(),
            },
        }
    }
}
