//! From words to types: the one place where names of games, values and rules become code.
//!
//! Everything past here is generic over [`Game`] and [`Viewpoint`] and compiled for each pair, so
//! that no string and no dynamic call is left inside value, update or slides. A [`Session`] is the
//! face that all of them show to the rest of the laboratory.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use afterstate::format::native::{Keep, Metadata, NativeError};
use afterstate::game::{CLASSIC_SPAWNS, Classic, Direction, Game, Grid, Shape, Small};
use afterstate::learn::{Backward, Credit, Forward};
use afterstate::ntuple::{
    Coherent, Expecting, Indices, Network, Number, Plain, Tables, TupleSet, Weight,
};
use afterstate::play::{
    self, Afterstates, Greedy, Learner, Policy, States, Viewpoint, Watch, play,
};
use afterstate::random::game_rng;
use afterstate::solve::Packed;
use afterstate::tally::Outcome;
use sysinfo::System;

use crate::LabError;
use crate::disk::Part;
use crate::recipe::{LearnerRecipe, Recipe, Rule, Target, Ties, Update, ValueOf, parse_board};
use crate::share::share;
use crate::tables::{self, Saved};

/// Every game there is, by name.
pub const GAMES: [&str; 1] = ["2048"];

/// What a player is: enough to make its network, and all that a model file must remember.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    /// The game, by its name in [`GAMES`].
    pub game: String,
    /// The tuples on their board.
    pub tuples: TupleSet,
    /// What the values are of.
    pub value: ValueOf,
    /// How equal moves are settled.
    pub ties: Ties,
}

impl Player {
    /// The player that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown, or the tuples do not fit the board.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        let (rows, cols) = parse_board(&recipe.board)?;
        let shape = shape(rows, cols)?;
        known_game(&recipe.game)?;
        Ok(Self {
            game: recipe.game.clone(),
            tuples: TupleSet::parse(&recipe.network.tuples, shape, recipe.network.symmetry)?,
            value: recipe.learner.value,
            ties: recipe.learner.ties,
        })
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.tuples.shape()
    }
}

/// A board size as a shape.
///
/// # Errors
/// When it is not within 2x2 to 5x5.
pub fn shape(rows: usize, cols: usize) -> Result<Shape, LabError> {
    Shape::new(rows, cols).ok_or_else(|| {
        LabError::Board(format!("a board of {rows}x{cols} is not within 2x2 to 5x5"))
    })
}

/// Refuses a name that is not in [`GAMES`].
pub(crate) fn known_game(name: &str) -> Result<(), LabError> {
    let unknown = || LabError::UnknownGame {
        found: name.to_owned(),
        known: GAMES.to_vec(),
    };
    GAMES.contains(&name).then_some(()).ok_or_else(unknown)
}

/// Something to do with a game that can be solved, whichever it is.
pub(crate) trait OnGame {
    /// What comes of it.
    type Output;

    /// Does it.
    fn on<G: Game<State: Packed, After: Packed>>(self, game: G) -> Self::Output;
}

/// Does something with the game of this name.
pub(crate) fn on_game<T: OnGame>(name: &str, shape: Shape, task: T) -> Result<T::Output, LabError> {
    known_game(name)?;
    Ok(match Small::new(shape) {
        Some(game) => task.on(game),
        None => task.on(Grid::new(shape)),
    })
}

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
    /// Told of each game.
    pub seen: &'a (dyn Fn(&Outcome) + Sync),
}

/// Keeps the games of an evaluation apart from those of a training with the same seed.
const EVALUATION: u64 = 0x4556_414C_5541_5445;

/// What a lesson came to.
pub struct Lived {
    /// The games, by number, without a gap.
    pub outcomes: Vec<Outcome>,
    /// Whether every update was a number.
    pub finite: bool,
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

/// From tile indices, by rows, to the moves that may be chosen.
pub type Chooser<'a> = Box<dyn FnMut(&[u8]) -> Option<Vec<Direction>> + 'a>;

/// A network with its game, its types forgotten.
pub trait Session: Send + Sync {
    /// Plays and learns.
    fn learn(&self, lesson: &Lesson<'_>, learner: &LearnerRecipe) -> Lived;

    /// Plays without learning.
    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome>;

    /// The worth of every legal slide, and the one it would choose; `None` if the tiles (indices, by
    /// rows) make no board of this game.
    fn judge(&self, tiles: &[u8]) -> Option<(Vec<Worth>, Option<Direction>)>;

    /// Someone who says which moves it may choose in a state, each with the same chance; `None` if the tiles
    /// make no board of this game. One for each thread.
    fn chooser(&self) -> Chooser<'_>;

    /// The face values of all tiles, from the smallest.
    fn faces(&self) -> Vec<u64>;

    /// The memory of all weights, in bytes.
    fn bytes(&self) -> u64;

    /// Mends what threads may have lost; to be called between lessons.
    fn refresh(&self);

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

/// Makes a player's network: one that can learn by `rule`, every position worth `initial`.
///
/// # Errors
/// When there is not enough memory, before any is taken.
pub fn session(player: &Player, rule: Rule, initial: f32) -> Result<Box<dyn Session>, LabError> {
    known_game(&player.game)?;
    match player.shape() {
        Shape::FOUR => of_game(Classic::new(), player, rule, initial),
        shape => match Small::new(shape) {
            Some(game) => of_game(game, player, rule, initial),
            None => of_game(Grid::new(shape), player, rule, initial),
        },
    }
}

fn of_game<G: Game>(
    game: G,
    player: &Player,
    rule: Rule,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    match (player.value, rule) {
        (ValueOf::Afterstate, Rule::Td) => afterstates::<G, Plain>(game, player, initial),
        (ValueOf::Afterstate, Rule::Tc) => afterstates::<G, Coherent>(game, player, initial),
        (ValueOf::State, Rule::Td) => states::<G, Plain>(game, player, initial),
        (ValueOf::State, Rule::Tc) => states::<G, Coherent>(game, player, initial),
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
    let make = |tuples: &TupleSet| Expecting::<W>::new(tuples, initial, &CLASSIC_SPAWNS);
    let network = allocate::<<Expecting<W> as Network>::Weight, _>(player, make)?;
    Ok(Box::new(Rig::<G, States<W>> {
        game,
        network,
        ties: player.ties,
    }))
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

struct Rig<G: Game, V: Viewpoint<G>> {
    game: G,
    network: V::Network,
    ties: Ties,
}

impl<G: Game, V: Viewpoint<G>> Rig<G, V> {
    fn policy(&self) -> Greedy<'_, G, V> {
        let ties = match self.ties {
            Ties::Order => play::Ties::Order,
            Ties::Random => play::Ties::Random,
        };
        Greedy::new(&self.network, ties)
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
                if !learner.surprise().is_finite() {
                    broken.store(true, Ordering::Relaxed);
                }
                (lesson.seen)(&outcome);
                outcome
            }
        });
        Lived {
            outcomes,
            finite: !broken.into_inner(),
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Session for Rig<G, V> {
    fn learn(&self, lesson: &Lesson<'_>, recipe: &LearnerRecipe) -> Lived {
        let credit = Credit {
            lambda: recipe.lambda as f32,
            reward_twice: recipe.target == Target::RewardTwice,
            ..Credit::default()
        };
        match recipe.update {
            Update::Forward => {
                self.learn_with(lesson, recipe, |network| Forward::<G, V>::new(network, 0.0))
            }
            Update::Backward => self.learn_with(lesson, recipe, |network| {
                Backward::<G, V>::new(network, credit)
            }),
        }
    }

    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome> {
        share(lesson.threads, lesson.numbers.clone(), lesson.stop, || {
            let mut policy = self.policy();
            move |number| {
                let outcome = play(
                    &self.game,
                    &mut policy,
                    &mut Watch,
                    &mut game_rng(lesson.seed ^ EVALUATION, number),
                );
                (lesson.seen)(&outcome);
                outcome
            }
        })
    }

    fn judge(&self, tiles: &[u8]) -> Option<(Vec<Worth>, Option<Direction>)> {
        let state = self.game.state(tiles)?;
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
        Box::new(move |tiles| {
            let state = self.game.state(tiles)?;
            Some(policy.choices(&self.game, state).collect())
        })
    }

    fn faces(&self) -> Vec<u64> {
        (1..=self.game.largest_tile())
            .map(|tile| self.game.face(tile))
            .collect()
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
