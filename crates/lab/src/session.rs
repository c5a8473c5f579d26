//! A network with its game, at work: learning, playing, and answering questions.
//!
//! Everything here is generic over [`Game`] and [`Viewpoint`] and compiled for each pair, so that no string and no dynamic call is
//! left inside value, update or slides. A [`Session`] is the face that all of them show to the rest of the laboratory.

pub(crate) mod deep;
mod school;

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use afterstate::format::native::{Keep, Metadata, NativeError};
use afterstate::game::{Direction, Game, ChanceState};
use afterstate::learn::{Backward, TdParams, Forward};
use afterstate::ntuple::{
    Coherent, Expecting, Indices, Network, Number, Plain, Tables, TupleSet, Weight,
};
use afterstate::play::{
    self, Afterstates, Greedy, Learner, Policy, States, Viewpoint, play, play_in_turn,
};
use afterstate::random::game_rng;
use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use sysinfo::System;

pub(crate) use school::of_memory;

use crate::LabError;
use crate::disk::Part;
use crate::error::game_on;
use crate::recipe::{LearnerRecipe, Rule, Target, Ties, Update, ValueOf};
use crate::recorder::{Recorder, Sink};
use crate::registry::Player;
use crate::share::{share, share_out};
use crate::tables::{self, Saved};

/// Games to learn from.
pub struct Lesson<'a> {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// The seed of the run.
    pub seed: u64,
    /// How many threads play.
    pub threads: usize,
    /// Asked before each game.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// FixedMove of each game.
    pub seen: &'a (dyn Fn(&Outcome) + Sync),
    /// From memory, it ends when so many updates were made, if not before.
    pub updates: u64,
    /// FixedMove of the updates made in it now and then, if it learns from memory.
    pub learned: &'a (dyn Fn(u64) + Sync),
}

/// Keeps the games of an evaluation apart from those of a training with the same seed.
const EVALUATION: u64 = 0x4556_414C_5541_5445;
/// And their luck apart from the order in which records name the first tiles.
const ORDER: u64 = 0x4F52_4445_5200_0000;

/// What a lesson came to.
pub struct Lived {
    /// The games, by number, without a gap.
    pub outcomes: Vec<Outcome>,
    /// Whether every update was a number.
    pub finite: bool,
    /// What was learned from memory, if it was.
    pub study: Option<TrainingStats>,
}

/// What one slide of a state is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The direction.
    pub direction: Direction,
    /// What the slide earns.
    pub reward: u32,
    /// What the network gives for the rest of the game.
    pub value: f32,
}

/// From tile indices, by rows, and what chance knows, to the moves that may be chosen.
pub type Chooser<'a> = Box<dyn FnMut(&[u8], ChanceState) -> Option<Vec<Direction>> + 'a>;

/// A network with its game that learns, its types forgotten.
pub trait Session: Playing {
    /// Plays and learns.
    fn learn(&self, lesson: &Lesson<'_>, learner: &LearnerRecipe) -> Lived;
}

/// A network with its game, its types forgotten.
pub trait Playing: Send + Sync {
    /// Plays without learning.
    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome>;

    /// Plays without learning, and hands over a record of each game.
    fn record(&self, lesson: &Lesson<'_>, sink: Sink<'_>) -> Vec<Outcome>;

    /// The worth of every legal slide, and the one it would choose; `None` if the tiles (indices, by
    /// rows) make no board of this game.
    fn worths(&self, tiles: &[u8], chance_state: ChanceState) -> Option<(Vec<Worth>, Option<Direction>)>;

    /// Someone who says which moves it may choose in a state, each with the same chance; `None` if the tiles
    /// make no board of this game. One for each thread.
    fn chooser(&self) -> Chooser<'_>;

    /// The face values of all tiles, from the smallest.
    fn faces(&self) -> Vec<u64>;

    /// The memory of all weights, in bytes.
    fn bytes(&self) -> u64;

    /// Mends what threads may have lost; to be called between lessons.
    fn refresh(&self);

    /// Whether a checkpoint is worth drafting while a lesson goes on: see [`crate::run`].
    fn drafts(&self) -> bool {
        true
    }

    /// Writes the tables on so many threads; the file has still to appear.
    ///
    /// # Errors
    /// When writing fails or a weight is not finite.
    fn write(
        &self,
        metadata: &Metadata,
        keep: Keep,
        part: &Part,
        threads: usize,
    ) -> Result<(), NativeError>;

    /// Fills new tables.
    ///
    /// # Errors
    /// When the file does not hold these tables.
    fn read(&self, saved: &Saved, keep: Keep) -> Result<(), NativeError>;
}

/// A game whose states are never valued: there is no code for that.
pub(crate) fn of_afterstates<G: Game>(
    game: G,
    player: &Player,
    rule: Rule,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    match (player.value, rule) {
        (ValueOf::State, _) => Err(no_states(&game, player)),
        (ValueOf::Action, _) => Err(LabError::NoActions),
        (ValueOf::Afterstate, Rule::Td) => afterstates::<G, Plain>(game, player, initial),
        (ValueOf::Afterstate, Rule::Tc) => afterstates::<G, Coherent>(game, player, initial),
    }
}

fn no_states<G: Game>(game: &G, player: &Player) -> LabError {
    LabError::NoStates(game_on(&player.game, game.shape()))
}

/// A game whose states may be valued where its rules allow it.
pub(crate) fn of_game<G: Game>(
    game: G,
    player: &Player,
    rule: Rule,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    match (player.value, rule) {
        (ValueOf::State, Rule::Td) => states::<G, Plain>(game, player, initial),
        (ValueOf::State, Rule::Tc) => states::<G, Coherent>(game, player, initial),
        (ValueOf::Afterstate | ValueOf::Action, _) => of_afterstates(game, player, rule, initial),
    }
}

fn afterstates<G: Game, W: Weight>(
    game: G,
    player: &Player,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    let network = allocate::<W, _>(player, |tuples| Tables::new(tuples, initial))?;
    Ok(Box::new(Rig::<G, Afterstates<W>> {
        game,
        network,
        ties: player.ties,
    }))
}

fn states<G: Game, W: Weight<Cell = Number>>(
    game: G,
    player: &Player,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    Ok(Box::new(states_rig::<G, W>(game, player, initial)?))
}

fn states_rig<G: Game, W: Weight<Cell = Number>>(
    game: G,
    player: &Player,
    initial: f32,
) -> Result<Rig<G, States<W>>, LabError> {
    let (rules, shape) = (game.rules(), game.shape());
    let fair = rules.uniform_spawns().filter(|_| rules.tile_bits(shape) == 4);
    let tiles = fair.ok_or_else(|| no_states(&game, player))?;
    let make = |tuples: &TupleSet| Expecting::<W>::new(tuples, initial, tiles);
    let network = allocate::<<Expecting<W> as Network>::Weight, _>(player, make)?;
    Ok(Rig {
        game,
        network,
        ties: player.ties,
    })
}

fn allocate<W: Weight, N>(
    player: &Player,
    make: impl FnOnce(&TupleSet) -> io::Result<N>,
) -> Result<N, LabError> {
    let needed = Tables::<W>::bytes(&player.tuples);
    let available = available_memory();
    if needed > available {
        return Err(LabError::Memory { needed, available });
    }
    make(&player.tuples).map_err(|source| LabError::Refused { needed, source })
}

/// The bytes that can be had without swapping, within a container's limit where there is one.
pub(crate) fn available_memory() -> u64 {
    let Ok(mut system) = System::new() else {
        return u64::MAX;
    };
    system.refresh_memory();
    let limit = system
        .cgroup_limits()
        .map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(limit)
}

/// Plays the games of an evaluation, each thread with a policy of its own, and hands over a record of each if someone takes
/// it.
pub(crate) fn play_games<G: Game, P: Policy<G>>(
    game: &G,
    lesson: &Lesson<'_>,
    policy: impl Fn() -> P + Sync,
    sink: Option<Sink<'_>>,
) -> Vec<Outcome> {
    let chance_state = |number| game_rng(lesson.seed ^ EVALUATION, number);
    let Some(sink) = sink else {
        return share_out(
            lesson.threads,
            lesson.numbers.clone(),
            lesson.stop,
            |next| {
                let mut played = Vec::new();
                play_in_turn(
                    game,
                    &mut [policy(), policy()],
                    || next().map(|number| (number, chance_state(number))),
                    |number, outcome| {
                        (lesson.seen)(&outcome);
                        played.push((number, outcome));
                    },
                );
                played
            },
        );
    };
    share(lesson.threads, lesson.numbers.clone(), lesson.stop, || {
        // Compiled once for each game, and not for each network: writing takes longer than choosing.
        let mut policy: Box<dyn Policy<G> + '_> = Box::new(policy());
        move |number| {
            let order = game_rng(lesson.seed ^ ORDER, number);
            let mut recorder = Recorder::new(*game, sink, order);
            let outcome = play(game, &mut policy, &mut recorder, &mut chance_state(number));
            (lesson.seen)(&outcome);
            outcome
        }
    })
}

/// The face values of all tiles, from the smallest.
fn faces<G: Game>(game: &G) -> Vec<u64> {
    let tiles = 1..=game.largest_tile();
    tiles.map(|tile| game.tile_value(tile)).collect()
}

struct Rig<G: Game, V: Viewpoint<G>> {
    game: G,
    network: V::Network,
    ties: Ties,
}

impl<G: Game, V: Viewpoint<G>> Rig<G, V> {
    fn ties(&self) -> play::Ties {
        match self.ties {
            Ties::Order => play::Ties::Order,
            Ties::Random => play::Ties::Random,
        }
    }

    fn policy(&self) -> Greedy<'_, G, V> {
        Greedy::new(&self.network, self.ties())
    }

    fn learn_with<'s, L: Learner<G> + 's>(
        &'s self,
        lesson: &Lesson<'_>,
        recipe: &LearnerRecipe,
        learner: impl Fn(&'s V::Network) -> L + Sync,
    ) -> Lived {
        let broken = AtomicBool::new(false);
        let stop = || broken.load(Ordering::Relaxed) || (lesson.stop)();
        let outcomes = share(lesson.threads, lesson.numbers.clone(), stop, || {
            let mut policy = self.policy();
            let mut learner = learner(&self.network);
            let broken = &broken;
            move |number| {
                learner.set_rate(recipe.rate.at(number));
                let outcome = play(
                    &self.game,
                    &mut policy,
                    &mut learner,
                    &mut game_rng(lesson.seed, number),
                );
                if !learner.td_errors().is_finite() {
                    broken.store(true, Ordering::Relaxed);
                }
                (lesson.seen)(&outcome);
                outcome
            }
        });
        Lived {
            outcomes,
            finite: !broken.into_inner(),
            study: None,
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Session for Rig<G, V> {
    fn learn(&self, lesson: &Lesson<'_>, recipe: &LearnerRecipe) -> Lived {
        let credit = TdParams {
            lambda: recipe.lambda as f32,
            reward_twice: recipe.target == Target::RewardTwice,
            ..TdParams::default()
        };
        match recipe.update {
            Update::Forward => {
                self.learn_with(lesson, recipe, |network| Forward::<G, V>::new(network, 0.0))
            }
            // Whoever has a memory learns by it: see `school`.
            Update::Backward | Update::Replay => self.learn_with(lesson, recipe, |network| {
                Backward::<G, V>::new(network, credit)
            }),
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Playing for Rig<G, V> {
    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome> {
        play_games(&self.game, lesson, || self.policy(), None)
    }

    fn record(&self, lesson: &Lesson<'_>, sink: Sink<'_>) -> Vec<Outcome> {
        play_games(&self.game, lesson, || self.policy(), Some(sink))
    }

    fn worths(&self, tiles: &[u8], chance_state: ChanceState) -> Option<(Vec<Worth>, Option<Direction>)> {
        let state = self.game.state(tiles, chance_state)?;
        let worth = |(direction, after, reward)| {
            let mut at = Indices::default();
            self.network.find([after; 4], &mut at);
            let value = V::worth(&self.network, &self.game, after, self.network.cells(&at), 0);
            Worth {
                direction,
                reward,
                value,
            }
        };
        let chosen = self.policy().choose(&self.game, state, &mut game_rng(0, 0));
        let slides = self.game.slides(state);
        Some((
            slides.legal().map(worth).collect(),
            chosen.map(|step| step.direction),
        ))
    }

    fn chooser(&self) -> Chooser<'_> {
        let mut policy = self.policy();
        Box::new(move |tiles, chance_state| {
            let state = self.game.state(tiles, chance_state)?;
            Some(policy.choices(&self.game, state).collect())
        })
    }

    fn faces(&self) -> Vec<u64> {
        faces(&self.game)
    }

    fn bytes(&self) -> u64 {
        let tuples = self.network.tables().tuples();
        Tables::<<V::Network as Network>::Weight>::bytes(tuples)
    }

    fn refresh(&self) {
        self.network.refresh();
    }

    fn write(
        &self,
        metadata: &Metadata,
        keep: Keep,
        part: &Part,
        threads: usize,
    ) -> Result<(), NativeError> {
        tables::write(self.network.tables(), metadata, keep, part, threads)
    }

    fn read(&self, saved: &Saved, keep: Keep) -> Result<(), NativeError> {
        saved.read(self.network.tables(), keep)?;
        if keep == Keep::Weights {
            self.network.refresh();
        }
        Ok(())
    }
}
