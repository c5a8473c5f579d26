//! Environments of reinforcement learning, type-erased: see [`afterstate::environment`].
//!
//! Game n of a seed is game n of an evaluation with this seed, so a model that plays in an
//! environment makes the scores of [`crate::evaluate`].

use afterstate::environment::{Environment, Environments};
use afterstate::game::{Game, Shape};
use afterstate::random::Rng;

pub use afterstate::environment::{Autoreset, StepError, StepResult};

use crate::LabError;
use crate::agent::{BoardState, board_state};
use crate::games::{GameVisitor, with_game};
use crate::recorder::evaluation_rng;

/// The random stream of a game of an evaluation with a seed.
pub fn stream(seed: u64, game: u64) -> Rng {
    evaluation_rng(seed, game)
}

/// What is observed of some environments, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The tile indices of each board, in row-major order.
    pub tiles: Vec<u8>,
    /// The hint about the next tile of each board: see
    /// [`ChanceState::hint`](afterstate::game::ChanceState::hint).
    pub hints: Vec<u8>,
    /// For each of the four slides of each board, 1 if it is legal.
    pub masks: Vec<i8>,
    /// The tile indices after each of the four slides of each board; those of the board if the
    /// slide is illegal. Empty if they were not asked for.
    pub afterstates: Vec<u8>,
    /// The rewards of these slides.
    pub afterstate_rewards: Vec<i64>,
    /// The score of each game so far.
    pub scores: Vec<i64>,
    /// The moves of each game so far.
    pub moves: Vec<i64>,
    /// The number of each game.
    pub games: Vec<i64>,
}

impl Observation {
    fn of<'e, G: Game>(
        game: &G,
        environments: impl ExactSizeIterator<Item = &'e Environment<G>>,
        afterstates: bool,
    ) -> Self {
        let (count, cells) = (environments.len(), game.shape().cells());
        let slides = if afterstates { 4 * count } else { 0 };
        let mut seen = Self {
            tiles: vec![0; count * cells],
            hints: vec![0; count],
            masks: vec![0; 4 * count],
            afterstates: vec![0; slides * cells],
            afterstate_rewards: vec![0; slides],
            scores: vec![0; count],
            moves: vec![0; count],
            games: vec![0; count],
        };
        for (n, environment) in environments.enumerate() {
            let episode = environment.episode();
            environment.write_tiles(&mut seen.tiles[n * cells..][..cells]);
            seen.hints[n] = game.chance_state(episode.state()).hint;
            seen.masks[4 * n..][..4].copy_from_slice(&environment.mask());
            if afterstates {
                let tiles = &mut seen.afterstates[4 * n * cells..][..4 * cells];
                let rewards = environment.write_afterstates(tiles).map(i64::from);
                seen.afterstate_rewards[4 * n..][..4].copy_from_slice(&rewards);
            }
            let outcome = episode.outcome();
            seen.scores[n] = outcome.score as i64;
            seen.moves[n] = outcome.moves as i64;
            seen.games[n] = environment.number() as i64;
        }
        seen
    }
}

/// The results of a step of all environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// Of each environment.
    pub results: Vec<StepResult>,
    /// What is observed after the step.
    pub observation: Observation,
    /// The environments whose games ended in the step.
    pub ended: Vec<usize>,
    /// What is observed of them before any next game starts.
    pub last: Observation,
}

/// Environments of any game.
pub trait EnvironmentBatch: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Starts one of them with the first of the games `number`, `number + stride`, ... of a seed.
    ///
    /// # Panics
    /// When there is no such environment.
    fn restart(&mut self, environment: usize, seed: u64, number: u64, stride: u64);

    /// Starts the next game in one of them.
    ///
    /// # Panics
    /// When there is no such environment.
    fn start_next(&mut self, environment: usize);

    /// Continues one of them in another state, with a score of 0; false if no game can reach it.
    ///
    /// # Panics
    /// When there is no such environment.
    fn set_state(&mut self, environment: usize, state: &BoardState) -> bool;

    /// The state of one of them.
    ///
    /// # Panics
    /// When there is no such environment.
    fn state(&self, environment: usize) -> BoardState;

    /// What is observed of all, with or without afterstates.
    fn observe(&self, afterstates: bool) -> Observation;

    /// Makes an action in each.
    ///
    /// # Errors
    /// When an action is none, or a game is over and there is no autoreset; then nothing changes.
    fn step(&mut self, actions: &[i64], afterstates: bool) -> Result<Stepped, StepError>;
}

/// Environments of a game on a board, which play the games of a seed.
///
/// # Errors
/// When there is no such game.
pub fn environments(
    game: &str,
    shape: Shape,
    count: usize,
    autoreset: Autoreset,
    seed: u64,
) -> Result<Box<dyn EnvironmentBatch>, LabError> {
    struct New(usize, Autoreset, u64);

    impl GameVisitor for New {
        type Output = Box<dyn EnvironmentBatch>;

        fn visit<G: Game>(self, game: G) -> Self::Output {
            let Self(count, autoreset, seed) = self;
            Box::new(Environments::new(
                game,
                count,
                autoreset,
                seed,
                evaluation_rng,
            ))
        }
    }

    with_game(game, shape, New(count, autoreset, seed))
}

impl<G: Game> EnvironmentBatch for Environments<G> {
    fn count(&self) -> usize {
        self.all().len()
    }

    fn restart(&mut self, environment: usize, seed: u64, number: u64, stride: u64) {
        Environments::restart(self, environment, seed, number, stride);
    }

    fn start_next(&mut self, environment: usize) {
        Environments::start_next(self, environment);
    }

    fn set_state(&mut self, environment: usize, state: &BoardState) -> bool {
        let state = self.game().state(&state.tiles, state.chance_state);
        state.is_some_and(|state| {
            Environments::set_state(self, environment, state);
            true
        })
    }

    fn state(&self, environment: usize) -> BoardState {
        board_state(self.game(), self.all()[environment].episode().state())
    }

    fn observe(&self, afterstates: bool) -> Observation {
        Observation::of(self.game(), self.all().iter(), afterstates)
    }

    fn step(&mut self, actions: &[i64], afterstates: bool) -> Result<Stepped, StepError> {
        let (mut ended, mut last) = (Vec::new(), Vec::new());
        let results = Environments::step(self, actions, |n, environment| {
            ended.push(n);
            last.push(environment.clone());
        })?;
        Ok(Stepped {
            results,
            observation: self.observe(afterstates),
            ended,
            last: Observation::of(self.game(), last.iter(), afterstates),
        })
    }
}

/// Tile indices as vectors of zeros with a one at the index, one after another.
///
/// # Panics
/// When a tile is not below `kinds`.
pub fn one_hot(tiles: &[u8], kinds: usize) -> Vec<u8> {
    let mut hot = vec![0; tiles.len() * kinds];
    for (tile, out) in tiles.iter().zip(hot.chunks_exact_mut(kinds)) {
        out[usize::from(*tile)] = 1;
    }
    hot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::board::GameBoard;
    use crate::control::quiet;
    use crate::evaluate::{EvalOptions, evaluate_part};
    use crate::part::Part;
    use crate::recipe::Recipe;
    use crate::trainer::Trainer;

    /// A model that plays in environments makes the games of an evaluation.
    #[test]
    fn games_are_those_of_an_evaluation() {
        for (game, board, tuples) in [("2048", "3x3", "lines"), ("threes-hint", "4x4", "8x4")] {
            let overrides = [
                format!("game={game}"),
                format!("board={board}"),
                format!("tuples={tuples}"),
                "episodes=200".to_owned(),
                "threads=1".to_owned(),
            ];
            let recipe = Recipe::load("quick", &overrides).unwrap();
            let mut trainer = Trainer::in_memory(recipe, quiet()).unwrap();
            trainer.train().unwrap();
            let contender = trainer.contender();
            let options = EvalOptions {
                games: 20,
                part: Part::WHOLE,
                seed: 5,
                threads: 1,
                control: quiet(),
            };
            let part = evaluate_part(&contender, &options).part;
            let expected: Vec<(u64, u64)> = part.played[0]
                .outcomes
                .iter()
                .map(|outcome| (outcome.score, outcome.moves))
                .collect();
            assert_eq!(played(&contender.agent, game, contender.shape), expected);
        }
    }

    /// The scores and moves of the first 20 games of seed 5.
    fn played(agent: &std::sync::Arc<dyn Agent>, game: &str, shape: Shape) -> Vec<(u64, u64)> {
        let count = 3;
        let mut environments = environments(game, shape, count, Autoreset::NextStep, 5).unwrap();
        let mut found = vec![None; 20];
        while found.iter().any(Option::is_none) {
            let states: Vec<BoardState> = (0..count).map(|n| environments.state(n)).collect();
            let chosen = agent.analyze(&states).into_iter();
            let actions: Vec<i64> = chosen
                .map(|it| it.unwrap().chosen.map_or(0, |direction| direction as i64))
                .collect();
            let last = environments.step(&actions, true).unwrap().last;
            for (n, &number) in last.games.iter().enumerate() {
                if let Some(place) = found.get_mut(number as usize) {
                    *place = Some((last.scores[n] as u64, last.moves[n] as u64));
                }
            }
        }
        found.into_iter().flatten().collect()
    }

    #[test]
    fn states_are_set_and_observed() {
        let mut one = environments("threes-hint", Shape::FOUR, 2, Autoreset::Disabled, 1).unwrap();
        let text = "1,0,0,0/0,3,0,0/0,0,0,0/0,0,0,0+2";
        let board = GameBoard::parse(text, "threes-hint", Shape::FOUR).unwrap();
        let state = BoardState {
            tiles: board.tiles().to_vec(),
            chance_state: board.chance_state(),
        };
        let known = one.set_state(1, &state);
        assert!(known, "{state:?}");
        assert_eq!(one.state(1), state);
        let seen = one.observe(false);
        assert_eq!(
            (seen.hints[1], &seen.tiles[16..], seen.moves[1]),
            (2, &*state.tiles, 0)
        );
        assert!(seen.afterstates.is_empty());
        let impossible = BoardState {
            tiles: vec![99; 16],
            ..state
        };
        assert!(!one.set_state(0, &impossible));
    }

    #[test]
    fn one_hot_has_a_one_at_each_index() {
        assert_eq!(one_hot(&[2, 0], 3), [0, 0, 1, 1, 0, 0]);
    }
}
