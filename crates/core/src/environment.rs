//! Environments: games side by side that a caller plays, one action in each at a time.
//!
//! This is the interface that reinforcement learning expects. Environment i of N plays the games i,
//! i + N, i + 2N, ... of a seed, each with the random stream of its number, so the games do not
//! depend on N. An illegal action changes nothing, spawns nothing and earns nothing; a policy that
//! repeats one stays where it is.

use thiserror::Error;

use crate::episode::Episode;
use crate::game::{Direction, Game, Position, State};
use crate::random::Rng;

/// When an environment whose game is over starts the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// In the following step, which ignores its action.
    #[default]
    NextStep,
    /// In the same step: what is observed belongs to the next game.
    SameStep,
    /// Never: the caller resets it.
    Disabled,
}

/// Why a step was refused. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// A wrong number of actions.
    #[error("found {found} actions; expected one for each of {expected} environments")]
    Actions {
        /// The actions.
        found: usize,
        /// The environments.
        expected: usize,
    },
    /// A number that is no direction.
    #[error(
        "the action of environment {environment} is {found}; expected 0 (up), 1 (right), 2 (down) \
         or 3 (left)"
    )]
    Action {
        /// The environment.
        environment: usize,
        /// The number.
        found: i64,
    },
    /// The game is over, and there is no autoreset.
    #[error("the game of environment {0} is over, and autoreset is disabled: reset it first")]
    Over(usize),
}

/// The result of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The rewards of the slide and of the spawn after it.
    pub reward: u32,
    /// Whether the game is over after it.
    pub terminated: bool,
    /// Whether the action was illegal, so that nothing happened.
    pub illegal: bool,
    /// Whether the step began a new game.
    pub is_new: bool,
}

/// The random stream of a game: maps a seed and the number of a game to it.
pub type StreamFn = fn(u64, u64) -> Rng;

/// An environment: the game in progress, and the numbers of those that follow.
#[derive(Clone, Debug)]
pub struct Environment<G: Game> {
    episode: Episode<G>,
    rng: Rng,
    seed: u64,
    /// The number of the game in progress.
    number: u64,
    /// The number of the next game minus this one's.
    stride: u64,
}

impl<G: Game> Environment<G> {
    fn new(game: &G, stream: StreamFn, seed: u64, number: u64, stride: u64) -> Self {
        let mut rng = stream(seed, number);
        Self {
            episode: Episode::start(game, &mut rng),
            rng,
            seed,
            number,
            stride,
        }
    }

    fn start_next(&mut self, game: &G, stream: StreamFn) {
        let number = self.number.wrapping_add(self.stride);
        *self = Self::new(game, stream, self.seed, number, self.stride);
    }

    /// The game in progress.
    pub fn episode(&self) -> &Episode<G> {
        &self.episode
    }

    /// The number of the game in progress.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the game is over.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.episode.decision().is_none()
    }

    /// Writes the tile indices of the board, in row-major order.
    ///
    /// # Panics
    /// When `out` has another length.
    #[inline(always)]
    pub fn write_tiles(&self, out: &mut [u8]) {
        let State(board) = self.episode.state();
        assert_eq!(out.len(), board.shape().cells(), "a tile for each cell");
        board.write_tiles(out);
    }

    /// Which of the four slides are legal, as ones.
    #[inline(always)]
    pub fn mask(&self) -> [i8; 4] {
        let slides = self.episode.decision().map(|it| it.slides());
        let legal = |direction| slides.is_some_and(|it| it.get(direction).is_some());
        Direction::ALL.map(|direction| i8::from(legal(direction)))
    }

    /// Writes the tile indices of the afterstates of all four slides, and returns their rewards. An
    /// illegal slide changes nothing and has no reward.
    ///
    /// # Panics
    /// When `out` has another length.
    #[inline(always)]
    pub fn write_afterstates(&self, out: &mut [u8]) -> [u32; 4] {
        let State(board) = self.episode.state();
        let cells = board.shape().cells();
        assert_eq!(out.len(), 4 * cells, "a tile for each cell of each slide");
        let slides = self.episode.decision().map(|it| it.slides());
        let mut rewards = [0; 4];
        for (direction, out) in Direction::ALL.into_iter().zip(out.chunks_exact_mut(cells)) {
            let slide = slides.and_then(|slides| slides.get(direction));
            rewards[direction as usize] = slide.map_or(0, |slide| slide.reward());
            slide
                .map_or(board, |slide| slide.after().0)
                .write_tiles(out);
        }
        rewards
    }

    /// Makes a slide and a spawn, if the slide is legal.
    #[inline(always)]
    fn act(&mut self, game: &G, direction: Direction) -> StepResult {
        let decision = self.episode.decision();
        let slide = decision.and_then(|decision| decision.slides().get(direction));
        let Some(slide) = slide else {
            return StepResult {
                illegal: true,
                terminated: self.is_over(),
                ..StepResult::default()
            };
        };
        let reward = self.episode.advance(game, slide, &mut self.rng);
        StepResult {
            reward,
            terminated: self.is_over(),
            ..StepResult::default()
        }
    }
}

/// Environments of one game.
#[derive(Clone, Debug)]
pub struct Environments<G: Game> {
    game: G,
    stream: StreamFn,
    autoreset: Autoreset,
    all: Vec<Environment<G>>,
}

impl<G: Game> Environments<G> {
    /// Creates environments that play the games of a seed.
    pub fn new(game: G, count: usize, autoreset: Autoreset, seed: u64, stream: StreamFn) -> Self {
        let stride = count as u64;
        let new = |number| Environment::new(&game, stream, seed, number, stride);
        Self {
            all: (0..stride).map(new).collect(),
            game,
            stream,
            autoreset,
        }
    }

    /// The game.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// All of them.
    pub fn all(&self) -> &[Environment<G>] {
        &self.all
    }

    /// Starts one of them with the first of the games `number`, `number + stride`, ... of a seed.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn restart(&mut self, environment: usize, seed: u64, number: u64, stride: u64) {
        self.all[environment] = Environment::new(&self.game, self.stream, seed, number, stride);
    }

    /// Starts the next game in one of them.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn start_next(&mut self, environment: usize) {
        self.all[environment].start_next(&self.game, self.stream);
    }

    /// Continues the game in progress of one of them in another state, with a score of 0.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn set_state(&mut self, environment: usize, state: State<G::Board>) {
        self.all[environment].episode = Episode::start_from(&self.game, state);
    }

    /// Makes an action in each of them. `ended` is called with each environment whose game has just
    /// ended, before the next one starts.
    ///
    /// # Errors
    /// When an action is none, or a game is over and there is no autoreset; then nothing changes.
    pub fn step(
        &mut self,
        actions: &[i64],
        mut ended: impl FnMut(usize, &Environment<G>),
    ) -> Result<Vec<StepResult>, StepError> {
        self.check(actions)?;
        let (game, stream, autoreset) = (&self.game, self.stream, self.autoreset);
        let pairs = self.all.iter_mut().zip(actions).enumerate();
        let step = |(n, (environment, &action)): (usize, (&mut Environment<G>, &i64))| {
            if autoreset == Autoreset::NextStep && environment.is_over() {
                environment.start_next(game, stream);
                return StepResult {
                    is_new: true,
                    ..StepResult::default()
                };
            }
            let mut result = environment.act(game, Direction::ALL[action as usize]);
            if result.terminated {
                ended(n, environment);
                if autoreset == Autoreset::SameStep {
                    environment.start_next(game, stream);
                    result.is_new = true;
                }
            }
            result
        };
        Ok(pairs.map(step).collect())
    }

    /// Refuses actions that cannot be made.
    fn check(&self, actions: &[i64]) -> Result<(), StepError> {
        let (found, expected) = (actions.len(), self.all.len());
        if found != expected {
            return Err(StepError::Actions { found, expected });
        }
        for (environment, &found) in actions.iter().enumerate() {
            if !(0..4).contains(&found) {
                return Err(StepError::Action { environment, found });
            }
        }
        let over = || self.all.iter().position(Environment::is_over);
        match self.autoreset {
            Autoreset::Disabled => over().map_or(Ok(()), |at| Err(StepError::Over(at))),
            Autoreset::NextStep | Autoreset::SameStep => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::{NoLearner, play};
    use crate::game::{Fast2048, FastThrees, Grid, PowersOfTwo, Shape, Slide, Threes};
    use crate::policy::Policy;
    use crate::random::game_rng;
    use crate::tally::Outcome;
    use crate::value::Decision;

    /// Always the first legal slide.
    struct First;

    impl<G: Game> Policy<G> for First {
        fn choose(&mut self, _: &G, decision: &Decision<G>, _: &mut Rng) -> Slide<G::Board> {
            let mut legal = decision.slides().legal();
            legal.next().expect("a decision has a legal slide")
        }
    }

    fn first_legal<G: Game>(environments: &Environments<G>) -> Vec<i64> {
        let first = |mask: [i8; 4]| mask.iter().position(|&legal| legal == 1).unwrap_or(0) as i64;
        environments
            .all()
            .iter()
            .map(|one| first(one.mask()))
            .collect()
    }

    /// The outcomes of the first games by number.
    fn outcomes<G: Game>(game: G, count: usize, autoreset: Autoreset, games: u64) -> Vec<Outcome> {
        let mut environments = Environments::new(game, count, autoreset, 7, game_rng);
        let mut found = vec![None; games as usize];
        while found.iter().any(Option::is_none) {
            let actions = first_legal(&environments);
            let mut earned = Vec::new();
            let step = environments.step(&actions, |n, ended| {
                earned.push(n);
                if let Some(place) = found.get_mut(ended.number() as usize) {
                    *place = ended.episode().finished(&game);
                }
            });
            let terminated = step.unwrap().into_iter().enumerate();
            let terminated = terminated.filter(|(_, result)| result.terminated);
            assert_eq!(terminated.map(|(n, _)| n).collect::<Vec<_>>(), earned);
        }
        found.into_iter().flatten().collect()
    }

    fn plays_as_one_after_another<G: Game>(game: G) {
        let played = |number| play(&game, &mut First, &mut NoLearner, &mut game_rng(7, number));
        let expected: Vec<Outcome> = (0..12).map(played).collect();
        for count in [1, 5] {
            for autoreset in [Autoreset::NextStep, Autoreset::SameStep] {
                let found = outcomes(game, count, autoreset, 12);
                assert_eq!(found, expected, "{count} {autoreset:?}");
            }
        }
    }

    #[test]
    fn games_are_those_of_their_numbers() {
        plays_as_one_after_another(Fast2048::new());
        plays_as_one_after_another(FastThrees::new(Threes::Hint));
        let shape = Shape::new(3, 5).unwrap();
        plays_as_one_after_another(Grid::new(shape, &PowersOfTwo));
    }

    #[test]
    fn an_illegal_action_changes_nothing() {
        let game = Fast2048::new();
        let mut environments = Environments::new(game, 1, Autoreset::NextStep, 1, game_rng);
        let state = game
            .state(
                &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                crate::game::ChanceState::NONE,
            )
            .unwrap();
        environments.set_state(0, state);
        let before = environments.all()[0].clone();
        let left = Direction::Left as i64;
        for _ in 0..3 {
            let result = environments.step(&[left], |_, _| panic!("nothing ends"));
            let expected = StepResult {
                illegal: true,
                ..StepResult::default()
            };
            assert_eq!(result, Ok(vec![expected]));
            assert_eq!(environments.all()[0].episode.state(), state);
        }
        // The stream of spawns has not moved either.
        let after = |mut one: Environment<Fast2048>| {
            one.act(&game, Direction::Right);
            one.episode.state()
        };
        assert_eq!(after(environments.all()[0].clone()), after(before));
    }

    #[test]
    fn afterstates_are_those_of_the_slides() {
        let game = FastThrees::new(Threes::Original);
        let environments = Environments::new(game, 3, Autoreset::Disabled, 3, game_rng);
        for environment in environments.all() {
            let state = environment.episode().state();
            let slides = game.slides(state);
            let mut found = [0; 4 * 16];
            let rewards = environment.write_afterstates(&mut found);
            for direction in Direction::ALL {
                let at = direction as usize;
                let slide = slides.get(direction);
                let expected: Vec<u8> = match slide {
                    Some(slide) => (0..16).map(|i| slide.after().cell(i)).collect(),
                    None => (0..16).map(|i| state.cell(i)).collect(),
                };
                assert_eq!(found[16 * at..16 * (at + 1)], expected);
                assert_eq!(rewards[at], slide.map_or(0, |slide| slide.reward()));
                assert_eq!(environment.mask()[at], i8::from(slide.is_some()));
            }
        }
    }

    #[test]
    fn impossible_steps_are_refused_whole() {
        let game = Fast2048::new();
        let new = |autoreset| Environments::new(game, 2, autoreset, 1, game_rng);
        let mut environments = new(Autoreset::Disabled);
        let states = |of: &Environments<Fast2048>| [0, 1].map(|n| of.all()[n].episode.state());
        let before = states(&environments);
        let step = |of: &mut Environments<Fast2048>, actions: &[i64]| of.step(actions, |_, _| ());
        let wrong = StepError::Action {
            environment: 1,
            found: 4,
        };
        assert_eq!(step(&mut environments, &[0, 4]), Err(wrong));
        let few = StepError::Actions {
            found: 1,
            expected: 2,
        };
        assert_eq!(step(&mut environments, &[0]), Err(few));
        let stuck: Vec<u8> = (0..16).map(|i| 1 + (i + i / 4) % 2).collect();
        let stuck = game.state(&stuck, crate::game::ChanceState::NONE).unwrap();
        environments.set_state(1, stuck);
        assert_eq!(step(&mut environments, &[0, 0]), Err(StepError::Over(1)));
        assert_eq!(states(&environments)[0], before[0]);
        environments.start_next(1);
        assert_eq!(environments.all()[1].number(), 3);
        assert!(step(&mut environments, &[0, 0]).is_ok());
    }
}
