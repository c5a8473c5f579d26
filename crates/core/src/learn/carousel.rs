//! Carousel shaping: training visits all stages of the game in turn (Jaskowski 2018).
//!
//! kept(k) = the last states in which a game entered stage k;
//! repeat: play a whole game; for k = 1, 2, ... while kept(k) has any: play a game from one of
//! them, drawn at random, and learn from it.
//!
//! Few games get to the last stages, and fewer at the beginning of training, so that their tables
//! would see few positions. With the carousel every stage begins as many games as the first, once
//! it has been reached at all. A batch is a whole game and those that follow it: one number, one
//! random stream, one unit of statistics.
//!
//! We keep states, as the paper does: an afterstate would be followed by several spawns, but it
//! does not always tell where the next tile may appear (Threes!).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::GameChain;
use crate::Value;
use crate::episode::{Episode, LearningPolicy, TdErrorStats, play_to_end};
use crate::game::{ChanceState, Game, Position, Slide, State};
use crate::ntuple::Stages;
use crate::random::Rng;
use crate::tally::Outcome;
use crate::value::Decision;

/// The states in which games entered each later stage, shared by all threads.
#[derive(Debug)]
pub struct StartStates<B>(Mutex<Vec<VecDeque<State<B>>>>);

impl<B> Default for StartStates<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Start states as numbers, for a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartStateArrays {
    /// How many there are for each later stage.
    pub counts: Vec<u32>,
    /// The tile indices of all, one state after the other.
    pub tiles: Vec<u8>,
    /// Their chance states, packed.
    pub chance_states: Vec<u16>,
}

/// Why numbers are not those of start states.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StartStateError {
    /// Arrays whose lengths do not belong together.
    #[error("{states} states of a carousel have {tiles} tiles and {chance_states} chance states")]
    Lengths {
        /// The sum of the counts.
        states: usize,
        /// The tiles.
        tiles: usize,
        /// The chance states.
        chance_states: usize,
    },
    /// A state that no game reaches.
    #[error("state {0} of a carousel is not one of the game")]
    State(usize),
}

impl<B: Position> StartStates<B> {
    fn lock(&self) -> MutexGuard<'_, Vec<VecDeque<State<B>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a state in which a game entered a stage, in place of the oldest of `most`.
    fn add(&self, stage: usize, state: State<B>, most: usize) {
        let mut all = self.lock();
        if all.len() < stage {
            all.resize_with(stage, VecDeque::new);
        }
        let kept = &mut all[stage - 1];
        if kept.len() == most {
            kept.pop_front();
        }
        kept.push_back(state);
    }

    /// One of the states of a stage, drawn at random.
    fn draw(&self, stage: usize, rng: &mut Rng) -> Option<State<B>> {
        let all = self.lock();
        let kept = all.get(stage - 1).filter(|kept| !kept.is_empty())?;
        kept.get(rng.below(kept.len() as u32) as usize).copied()
    }

    /// All of them as numbers.
    pub fn arrays<G: Game<Board = B>>(&self, game: &G) -> StartStateArrays {
        let all = self.lock();
        let cells = game.shape().cells();
        let states = || all.iter().flatten();
        StartStateArrays {
            counts: all.iter().map(|kept| kept.len() as u32).collect(),
            tiles: states()
                .flat_map(|state| (0..cells).map(|cell| state.cell(cell)))
                .collect(),
            chance_states: states()
                .map(|state| game.chance_state(*state).packed())
                .collect(),
        }
    }

    /// Replaces all of them by those of [`StartStates::arrays`].
    ///
    /// # Errors
    /// When they are not states of the game.
    pub fn restore<G: Game<Board = B>>(
        &self,
        game: &G,
        arrays: &StartStateArrays,
    ) -> Result<(), StartStateError> {
        let cells = game.shape().cells();
        let counts = arrays.counts.iter().map(|&count| count as usize);
        let states = counts.clone().fold(0, usize::saturating_add);
        let (tiles, chance_states) = (arrays.tiles.len(), arrays.chance_states.len());
        if chance_states != states || tiles != states.saturating_mul(cells) {
            return Err(StartStateError::Lengths {
                states,
                tiles,
                chance_states,
            });
        }
        let one = |(number, (tiles, &packed)): (usize, (&[u8], &u16))| {
            let known = packed >> ChanceState::BITS == 0;
            let chance_state = ChanceState::unpacked(packed);
            let state = game.state(tiles, chance_state).filter(|_| known);
            state.ok_or(StartStateError::State(number))
        };
        let pairs = arrays.tiles.chunks(cells).zip(&arrays.chance_states);
        let states = pairs.enumerate().map(one);
        let mut states = states.collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut of_stage = |count| states.by_ref().take(count).collect();
        *self.lock() = counts.map(&mut of_stage).collect();
        Ok(())
    }
}

/// Plays games with a player, and after each one from every later stage.
pub struct Carousel<'k, G: Game, P> {
    player: P,
    stages: Stages,
    /// The largest tile that the stages distinguish.
    largest: u8,
    kept: &'k StartStates<G::Board>,
    /// The most states that are kept for a stage.
    most: usize,
    /// The last stage that this game has entered.
    stage: usize,
}

impl<'k, G: Game, P: LearningPolicy<G>> Carousel<'k, G, P> {
    /// Keeps up to `most` states of each stage. `tile_bits` is that of the tables.
    pub fn new(
        player: P,
        (stages, tile_bits): (&Stages, usize),
        kept: &'k StartStates<G::Board>,
        most: usize,
    ) -> Self {
        Self {
            player,
            stages: stages.clone(),
            largest: (1 << tile_bits) - 1,
            kept,
            most,
            stage: 0,
        }
    }

    fn play_from(&mut self, game: &G, episode: Episode<G>, rng: &mut Rng) -> Outcome {
        let State(board) = episode.state();
        self.stage = self.stages.of(board, self.largest);
        play_to_end(game, episode, self, rng)
    }
}

impl<G: Game, P: LearningPolicy<G>> GameChain<G> for Carousel<'_, G, P> {
    fn play(&mut self, game: &G, rng: &mut Rng, mut finished: impl FnMut(Outcome)) {
        finished(self.play_from(game, Episode::start(game, rng), rng));
        for stage in 1..self.stages.count() {
            let Some(state) = self.kept.draw(stage, rng) else {
                break;
            };
            finished(self.play_from(game, Episode::start_from(game, state), rng));
        }
    }

    fn player(&mut self) -> &mut dyn LearningPolicy<G> {
        &mut self.player
    }
}

impl<G: Game, P: LearningPolicy<G>> LearningPolicy<G> for Carousel<'_, G, P> {
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        let state = decision.state();
        let stage = self.stages.of(state.0, self.largest);
        if stage > self.stage {
            self.stage = stage;
            self.kept.add(stage, state, self.most);
        }
        self.player.act(game, decision, spawn_reward, rng)
    }

    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        self.player.finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.player.set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        self.player.td_errors()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::{Learner, Step};
    use crate::game::{FastThrees, Grid, PowersOfTwo, Shape, Threes};
    use crate::policy::Random;
    use crate::random::game_rng;
    use crate::tally::Start;

    /// The first state of each game.
    struct Starts<G: Game>(Vec<State<G::Board>>, bool);

    impl<G: Game> Learner<G> for Starts<G> {
        fn step(&mut self, step: &Step<G>) {
            if !std::mem::replace(&mut self.1, true) {
                self.0.push(step.state);
            }
        }

        fn finish(&mut self, _: State<G::Board>, _: u32) {
            self.1 = false;
        }
    }

    /// Stages at tiles 5 and 6.
    fn stages() -> Stages {
        Stages::new(vec![1 << 5, 1 << 6], true)
    }

    fn play<G: Game>(
        game: &G,
        kept: &StartStates<G::Board>,
        numbers: std::ops::Range<u64>,
    ) -> Vec<Vec<Outcome>> {
        let stages = stages();
        let mut carousel = Carousel::new(
            (Random, Starts::<G>(Vec::new(), false)),
            (&stages, 4),
            kept,
            7,
        );
        let batch = |number| {
            let mut outcomes = Vec::new();
            let before = kept.arrays(game);
            carousel.player.1.0.clear();
            carousel.play(game, &mut game_rng(1, number), |outcome| {
                outcomes.push(outcome)
            });
            let starts = &carousel.player.1.0;
            assert!(starts.len() <= outcomes.len());
            // The second game begins in a state that was kept for stage 1 until the first ended.
            if let [_, second, ..] = starts[..] {
                let after = kept.arrays(game);
                let cells = game.shape().cells();
                let tiles: Vec<u8> = (0..cells).map(|cell| second.cell(cell)).collect();
                let is_kept =
                    |arrays: &StartStateArrays| arrays.tiles.chunks(cells).any(|one| one == tiles);
                assert!(is_kept(&before) || is_kept(&after));
                assert_eq!(stages.of(second.0, 15), 1);
            }
            outcomes
        };
        numbers.map(batch).collect()
    }

    fn every_stage_begins_games<G: Game>(game: &G) {
        let kept = StartStates::default();
        let batches = play(game, &kept, 0..200);
        let arrays = kept.arrays(game);
        // The oldest states give way.
        assert_eq!(arrays.counts, [7, 7]);
        let starts = |batch: &Vec<Outcome>| {
            batch
                .iter()
                .map(|outcome| outcome.start)
                .collect::<Vec<_>>()
        };
        let lengths: Vec<usize> = batches.iter().map(Vec::len).collect();
        assert!(lengths.is_sorted(), "{lengths:?}");
        assert_eq!(
            starts(&batches[199]),
            [Start::Initial, Start::Given, Start::Given]
        );
        assert!(
            batches
                .iter()
                .all(|batch| starts(batch)[0] == Start::Initial)
        );

        // A restored carousel goes on with the same games.
        let restored = StartStates::default();
        restored.restore(game, &arrays).unwrap();
        assert_eq!(restored.arrays(game), arrays);
        assert_eq!(play(game, &kept, 200..230), play(game, &restored, 200..230));
    }

    #[test]
    fn every_stage_that_was_reached_begins_as_many_games() {
        every_stage_begins_games(&Grid::new(Shape::new(3, 3).unwrap(), &PowersOfTwo));
        every_stage_begins_games(&FastThrees::new(Threes::Original));
    }

    #[test]
    fn numbers_that_are_no_states_are_refused() {
        let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
        let kept = StartStates::default();
        let good = StartStateArrays {
            counts: vec![1],
            tiles: vec![5, 1, 0, 0],
            chance_states: vec![0],
        };
        kept.restore(&game, &good).unwrap();
        for (bad, expected) in [
            (
                StartStateArrays {
                    counts: vec![2],
                    ..good.clone()
                },
                StartStateError::Lengths {
                    states: 2,
                    tiles: 4,
                    chance_states: 1,
                },
            ),
            (
                StartStateArrays {
                    counts: vec![u32::MAX; 3],
                    ..good.clone()
                },
                StartStateError::Lengths {
                    states: 3 * u32::MAX as usize,
                    tiles: 4,
                    chance_states: 1,
                },
            ),
            (
                StartStateArrays {
                    tiles: vec![200, 1, 0, 0],
                    ..good.clone()
                },
                StartStateError::State(0),
            ),
            (
                StartStateArrays {
                    chance_states: vec![0xFFFF],
                    ..good.clone()
                },
                StartStateError::State(0),
            ),
        ] {
            assert_eq!(kept.restore(&game, &bad), Err(expected));
            assert_eq!(kept.arrays(&game), good);
        }
    }
}
