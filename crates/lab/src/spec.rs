//! Specifications of agents: enough to create the network, and everything that a model file must
//! store.
//!
//! A recipe defines how an agent is trained; a spec defines the result. Specs of deep agents exist
//! whether deep learning is built in or not.

mod deep;
mod size;
mod stages;

use afterstate::game::Shape;
use afterstate::learn::schedule::Schedule;
use afterstate::learn::{Order, PublishedParams, Subtracted, TerminalTarget};
use afterstate::ntuple::TupleSet;
use afterstate::policy::Ties;
use afterstate::replay::{NTupleReplayParams, ReplayConfig};

pub use deep::DeepSpec;
pub(crate) use deep::{CONVOLUTIONS, DISCOUNT, discount};
pub use size::{BuiltinRecipe, NetworkSize};
pub(crate) use stages::{stages_from, stages_of, thresholds};

use crate::LabError;
use crate::error::game_on;
use crate::games::{self, rules};
use crate::metadata::word;
use crate::recipe::{
    ActionRecipe, BackwardRecipe, DqnRecipe, EndOfGame, LearnerRecipe, NetworkRecipe, Phases,
    Recipe, Subtract, Target, TdRecipe, Update, ValueOf, parse_board,
};

/// An agent with either kind of network.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSpec {
    /// An n-tuple network.
    NTuple(NTupleSpec),
    /// A deep network.
    Deep(DeepSpec),
}

impl AgentSpec {
    /// The agent that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown, or the network does not fit the board.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        let learns_all = recipe.learner.td().is_none_or(|td| td.spawn_rewards);
        let rules = rules(&recipe.game)?;
        if !learns_all && (1..4).all(|tile| rules.spawn_reward(tile) == 0) {
            return Err(LabError::NoSpawnRewards(recipe.game.clone()));
        }
        match recipe.network {
            NetworkRecipe::NTuple(_) => NTupleSpec::of(recipe).map(Self::NTuple),
            NetworkRecipe::Deep(_) => DeepSpec::of(recipe).map(Self::Deep),
        }
    }

    /// The game, by one of the names of [`games::games`].
    pub fn game(&self) -> &str {
        match self {
            Self::NTuple(spec) => &spec.game,
            Self::Deep(spec) => &spec.game,
        }
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        match self {
            Self::NTuple(spec) => spec.shape(),
            Self::Deep(spec) => spec.shape,
        }
    }

    /// The game and the board, as in `2048 on 4x4`.
    pub fn game_on(&self) -> String {
        game_on(self.game(), self.shape())
    }

    /// The first property in which the networks of two agents differ, with the values of both.
    pub(crate) fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let pairs = match (self, other) {
            (Self::NTuple(a), Self::NTuple(b)) => vec![
                ("value", word(&a.value), word(&b.value)),
                ("tuples", a.tuples.to_string(), b.tuples.to_string()),
                (
                    "symmetry",
                    a.tuples.symmetry().to_string(),
                    b.tuples.symmetry().to_string(),
                ),
                (
                    "hint",
                    a.tuples.by_hint().to_string(),
                    b.tuples.by_hint().to_string(),
                ),
                ("redundant", a.tuples.redundant(), b.tuples.redundant()),
                ("stages", stages::in_words(a), stages::in_words(b)),
            ],
            (Self::Deep(a), Self::Deep(b)) => {
                let both = a.metadata().into_iter().zip(b.metadata());
                // The weights of a network do not depend on the discount.
                let both = both.filter(|((key, _), _)| *key != DISCOUNT);
                both.map(|((key, a), (_, b))| (key, a, b)).collect()
            }
            (Self::NTuple(_), Self::Deep(_)) => {
                vec![("kind", "n-tuple".to_owned(), "deep".to_owned())]
            }
            (Self::Deep(_), Self::NTuple(_)) => {
                vec![("kind", "deep".to_owned(), "n-tuple".to_owned())]
            }
        };
        let game = ("game", self.game_on(), other.game_on());
        let mut all = std::iter::once(game).chain(pairs);
        all.find(|(_, found, expected)| found != expected)
    }

    /// How many tables of each tuple this network has, if it is `other` or its first stages.
    pub(crate) fn banks_of(&self, other: &Self) -> Option<usize> {
        let (Self::NTuple(first), Self::NTuple(whole)) = (self, other) else {
            return None;
        };
        let stages = whole.tuples.stages();
        let alike = Self::NTuple(NTupleSpec {
            tuples: first.tuples.clone().with_stages(stages.clone()),
            ..first.clone()
        });
        let begins = first.tuples.stages().begins(stages) && alike.difference(other).is_none();
        begins.then(|| first.tuples.banks())
    }

    /// Whether symmetric boards have the same value.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::NTuple(spec) => spec.tuples.symmetry(),
            Self::Deep(_) => false,
        }
    }
}

/// An agent with an n-tuple network.
#[derive(Clone, Debug, PartialEq)]
pub struct NTupleSpec {
    /// The game, by one of the names of [`games::games`].
    pub game: String,
    /// The tuples on their board.
    pub tuples: TupleSet,
    /// Which positions have values.
    pub value: ValueOf,
    /// How to break ties between equally good moves.
    pub ties: Ties,
    /// The discount gamma.
    pub discount: f64,
}

impl NTupleSpec {
    /// The tiles that an index of our tables tells apart.
    pub(crate) const BASE: u64 = 16;

    /// The agent that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown, or the tuples do not fit the board.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        let (rows, cols) = parse_board(&recipe.board)?;
        let shape = games::shape(rows, cols)?;
        let network = recipe.network.expect_n_tuple()?;
        let tuples = TupleSet::parse(&network.tuples, shape, network.symmetry)?;
        let tuples = tuples.with_redundant(&network.redundant)?;
        let tuples = tuples_of(&recipe.game, tuples, network.hint)?;
        let stages = stages_of(&recipe.game, shape, &network.stages, network.promotion)?;
        Ok(Self {
            tuples: tuples.with_stages(stages),
            game: recipe.game.clone(),
            value: recipe.learner.value(),
            ties: recipe.learner.ties(),
            discount: recipe.learner.discount(),
        })
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.tuples.shape()
    }
}

/// Adapts tuples to a game: with enough bits for its tiles, and with tables by hint if requested.
///
/// # Errors
/// When there is no such game, or it has no hints.
pub(crate) fn tuples_of(game: &str, tuples: TupleSet, hint: bool) -> Result<TupleSet, LabError> {
    let (rules, shape) = (rules(game)?, tuples.shape());
    if hint && !rules.shows_hint(shape) {
        return Err(LabError::NoHint(game_on(game, shape)));
    }
    let tuples = tuples.with_tile_bits(rules.tile_bits(shape));
    Ok(tuples.with_hints(hint))
}

/// How an n-tuple network learns from its games.
#[derive(Clone, Debug, PartialEq)]
pub struct TdSpec {
    /// The update rule over the games of the run.
    pub rule: Phases,
    /// When a value is updated.
    pub update: UpdateSpec,
    /// The learning rate.
    pub learning_rate: Schedule,
    /// Whether rewards of spawns are learned from.
    pub spawn_rewards: bool,
    /// A game of at least this many moves is played again from its middle; 0 for none.
    pub restart_length: usize,
    /// The first game that is played again.
    pub restart_from: u64,
    /// The states from which games of each later stage begin; 0 for none.
    pub carousel: usize,
}

/// When a value is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateSpec {
    /// As soon as the next move is chosen.
    Forward,
    /// After the game, last move first.
    Backward {
        /// The lambda of TD(lambda).
        lambda: f32,
        /// Whether each reward counts twice, as published in two reports of the DLP lab, 2021.
        reward_twice: bool,
    },
    /// From several rewards.
    NStep {
        /// During or after the game.
        order: Order,
        /// Their number.
        n: usize,
    },
    /// During the game, from the errors of the next few moves.
    Delayed {
        /// The lambda of TD(lambda).
        lambda: f32,
    },
    /// The same as published, with other ends or errors.
    Published(PublishedParams),
}

impl TdSpec {
    /// The learner of a recipe.
    pub fn of(recipe: &Recipe) -> Self {
        let learner = &recipe.learner;
        Self {
            rule: learner.phases(),
            update: learner.td().map_or(UpdateSpec::Forward, update_of),
            learning_rate: learner.learning_rate().clone(),
            spawn_rewards: learner.td().is_none_or(|td| td.spawn_rewards),
            restart_length: learner.td().map_or(0, |td| td.restart_length),
            restart_from: learner.td().map_or(0, |td| td.restart_from),
            carousel: learner.td().map_or(0, |td| td.carousel),
        }
    }

    /// The `restart_length` of a game by its number.
    pub fn restart_length_at(&self, game: u64) -> usize {
        match game >= self.restart_from {
            true => self.restart_length,
            false => 0,
        }
    }
}

fn update_of(learner: &TdRecipe) -> UpdateSpec {
    let n_step = |order, n: u32| UpdateSpec::NStep {
        order,
        n: n as usize,
    };
    match &learner.update {
        Update::Forward(forward) if forward.n_step > 1 => n_step(Order::Forward, forward.n_step),
        Update::Forward(_) => UpdateSpec::Forward,
        Update::Delayed(delayed) => UpdateSpec::Delayed {
            lambda: delayed.lambda as f32,
        },
        Update::Backward(backward) if backward.n_step > 1 => {
            n_step(Order::Backward, backward.n_step)
        }
        Update::Backward(backward) => backward_of(backward),
    }
}

fn backward_of(backward: &BackwardRecipe) -> UpdateSpec {
    let reward_twice = backward.target == Target::RewardTwice;
    let end = match backward.end {
        EndOfGame::Zero => TerminalTarget::Zero,
        EndOfGame::Negated => TerminalTarget::Negated,
    };
    let subtracted = match backward.subtract {
        Subtract::Value => Subtracted::Value,
        Subtract::StoredValue => Subtracted::StoredValue,
        Subtract::StoredTotal => Subtracted::StoredTotal,
        Subtract::StoredPrevious => Subtracted::StoredPrevious,
    };
    match (end, subtracted) {
        (TerminalTarget::Zero, Subtracted::Value) => UpdateSpec::Backward {
            lambda: backward.lambda as f32,
            reward_twice,
        },
        _ => UpdateSpec::Published(PublishedParams {
            end,
            subtracted,
            reward_twice,
        }),
    }
}

/// How an n-tuple network learns from the replay buffer of a recipe.
pub(crate) fn replay_params(recipe: &Recipe) -> NTupleReplayParams {
    match &recipe.learner {
        LearnerRecipe::Replay(replay) => NTupleReplayParams {
            td_error: replay.td_error,
            mask_terminal: replay.mask_terminal,
            spawn_value: replay.spawn_value,
        },
        _ => NTupleReplayParams::default(),
    }
}

/// The environments and the replay buffer of a recipe.
///
/// # Errors
/// When its learner has none.
pub(crate) fn replay_config(recipe: &Recipe) -> Result<ReplayConfig, LabError> {
    let buffer = recipe.learner.expect_buffer()?;
    let dqn = recipe.learner.dqn();
    let action = dqn.map_or_else(ActionRecipe::default, DqnRecipe::action);
    Ok(ReplayConfig {
        num_envs: buffer.num_envs,
        buffer_size: buffer.buffer_size,
        overwrite: buffer.overwrite,
        learning_starts: buffer.learning_starts,
        stored_action: action.stored_action,
        stored_reward: action.stored_reward,
        n_step: buffer.n_step,
        discount: recipe.learner.discount() as f32,
        updates_per_step: buffer.updates_per_step,
        batch_size: buffer.batch_size,
        epsilon: buffer.epsilon,
        epsilon_iterations: buffer.epsilon_iterations,
    })
}
