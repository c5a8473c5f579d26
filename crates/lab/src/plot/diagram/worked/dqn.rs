//! The loop of deep Q-learning, and one target.

use afterstate::game::{Board, Direction, Fast2048, Game, State};

use super::LEGAL;
use crate::recipe::{LearnerRecipe, Recipe, TargetUpdate};

/// The loop of deep Q-learning with the settings of the recipe `dqn-report`, and one target.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Dqn {
    pub num_envs: usize,
    pub buffer_size: usize,
    pub batch_size: usize,
    pub updates_per_step: usize,
    pub copy_iterations: u64,
    /// The share of random moves.
    pub epsilon: f64,
    pub discount: f64,
    pub reward_scale: f64,
    /// The board before the slide, its points, and the slide.
    pub state: Board,
    pub direction: Direction,
    pub points: u32,
    /// Q(s, a) of the online network.
    pub value: f64,
    /// Outputs of the online and of the target network for the next state: up, right, down, left.
    pub online: [f64; 4],
    pub target: [f64; 4],
}

impl Dqn {
    /// Iterations after which the buffer is full.
    pub fn iterations_to_fill(&self) -> usize {
        self.buffer_size.div_ceil(self.num_envs)
    }

    /// How often a transition is drawn on average, once the buffer is full.
    pub fn draws(&self) -> f64 {
        (self.updates_per_step * self.batch_size) as f64 / self.num_envs as f64
    }

    /// The reward in the units of the network.
    pub fn reward(&self) -> f64 {
        f64::from(self.points) / self.reward_scale
    }

    /// The slide with the largest output.
    pub fn argmax(outputs: [f64; 4]) -> usize {
        (1..4).fold(
            0,
            |best, a| if outputs[a] > outputs[best] { a } else { best },
        )
    }

    /// The target of DQN: the target network chooses and values the next slide.
    pub fn plain_target(&self) -> f64 {
        self.reward() + self.discount * self.target[Self::argmax(self.target)]
    }

    /// The target of double DQN: the online network chooses, the target network values.
    pub fn double_target(&self) -> f64 {
        self.reward() + self.discount * self.target[Self::argmax(self.online)]
    }
}

/// The settings of the recipe, and a slide that earns 128 points.
pub(in crate::plot) fn dqn() -> Dqn {
    let recipe = Recipe::load("dqn-report", &[]).expect("a built-in recipe");
    let LearnerRecipe::Dqn(learner) = &recipe.learner else {
        unreachable!("dqn-report is a recipe of deep Q-learning");
    };
    let TargetUpdate::Copy {
        target_update_iterations,
    } = learner.target_update
    else {
        unreachable!("dqn-report copies its target network");
    };
    let state = Board::from_tiles(&[1, 6, 6, 3, 2, 5, 4, 1, 0, 2, 1, 0, 0, 0, 1, 0]);
    let direction = Direction::Left;
    let slide = Fast2048::new().slides(State(state)).get(direction);
    Dqn {
        num_envs: learner.buffer.num_envs,
        buffer_size: learner.buffer.buffer_size,
        batch_size: learner.buffer.batch_size,
        updates_per_step: learner.buffer.updates_per_step,
        copy_iterations: target_update_iterations,
        epsilon: learner.buffer.epsilon,
        discount: learner.discount,
        reward_scale: learner.reward_scale,
        state,
        direction,
        points: slide.expect(LEGAL).reward(),
        value: 4.0,
        online: [3.5, 3.75, 2.75, 4.25],
        target: [3.5, 4.125, 2.5, 4.0],
    }
}
