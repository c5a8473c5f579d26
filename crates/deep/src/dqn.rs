//! Deep Q-learning as R4 has it, every trick a switch.
//!
//! Q(s, a) moves towards r + discount max Q'(s', a'), where Q' is a copy of the network that follows it slowly. What is stored and learned is
//! the slide that was made, never the one that was wanted and illegal.

use afterstate::game::{Direction, Game, Position};
use afterstate::random::{Rng, game_rng};
use afterstate::replay::{Learned, Pupil, Transition};

use crate::adam::{Adam, Decay};
use crate::network::{Lesson, Network};
use crate::parameters::{Architecture, ArchitectureError, Parameters};

/// The slides by the numbers of outputs: a network of three never prefers the last.
const ACTIONS: [Direction; 4] = [
    Direction::Left,
    Direction::Up,
    Direction::Right,
    Direction::Down,
];

/// What is done when the best slide is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// The best legal one.
    #[default]
    Value,
    /// The next legal one by its number, and round.
    Number,
}

/// How Q' follows Q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A copy, anew after so many iterations.
    Copy(u64),
    /// By a share of the way after each update.
    Soft(f32),
}

/// All switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What is done when the best slide is illegal.
    pub fallback: Fallback,
    /// Whether the best slide of s' is sought among the legal ones alone.
    pub mask: bool,
    /// What a reward one move later counts.
    pub discount: f32,
    /// Rewards are divided by this.
    pub reward_scale: f32,
    /// The learning rate of Adam.
    pub rate: f32,
    /// Its decay of weights.
    pub decay: Decay,
    /// How Q' follows Q.
    pub target: Target,
    /// Whether Q says which slide of s' is best, and Q' what it is worth.
    pub double: bool,
    /// The share of the last hidden layer that is left out when learning.
    pub dropout: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fallback: Fallback::Value,
            mask: true,
            discount: 0.99,
            reward_scale: 128.0,
            rate: 1e-4,
            decay: Decay::None,
            target: Target::Copy(10),
            double: false,
            dropout: 0.0,
        }
    }
}

/// A convolutional network that learns Q.
pub struct Dqn {
    settings: Settings,
    architecture: Architecture,
    parameters: Parameters,
    adam: Adam,
    follower: Parameters,
    network: Network,
    target: Network,
    iterations: u64,
    seed: u64,
}

impl Dqn {
    /// A pupil with a new network.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        settings: Settings,
        seed: u64,
    ) -> Result<Self, ArchitectureError> {
        let mut rng = game_rng(seed ^ STREAMS, u64::MAX);
        let parameters = Parameters::random(architecture, &mut rng)?;
        Ok(Self {
            adam: Adam::new(&parameters, settings.rate, settings.decay),
            network: Network::new(architecture, &parameters)?,
            target: Network::new(architecture, &parameters)?,
            follower: parameters.clone(),
            parameters,
            settings,
            architecture: architecture.clone(),
            iterations: 0,
            seed,
        })
    }

    /// The numbers of the network.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Q of every output in these states, state by state.
    fn values<P: Position>(&self, network: &Network, states: impl Iterator<Item = P>) -> Vec<f32> {
        network.outputs(&self.boards(states))
    }

    fn boards<P: Position>(&self, states: impl Iterator<Item = P>) -> Vec<u8> {
        let cells = self.architecture.cells();
        states
            .flat_map(|state| (0..cells).map(move |cell| state.cell(cell)))
            .collect()
    }

    /// The slide that a state's values lead to, among the legal ones.
    pub fn pick(&self, values: &[f32], legal: impl Fn(Direction) -> bool) -> Option<Direction> {
        let outputs = values.len();
        let order: Vec<usize> = match self.settings.fallback {
            Fallback::Value => {
                let mut order: Vec<usize> = (0..outputs).collect();
                order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
                order
            }
            Fallback::Number => {
                let best = best(values.iter().copied().enumerate()).unwrap_or(0);
                (best..outputs).chain(0..best).collect()
            }
        };
        // What has no output comes last.
        let order = order.into_iter().chain(outputs..ACTIONS.len());
        order
            .map(|n| ACTIONS[n])
            .find(|&direction| legal(direction))
    }

    /// What the values of the chosen slides should be.
    fn targets<G: Game>(&self, game: &G, batch: &[&Transition<G::State>]) -> Vec<f32> {
        let Settings {
            discount,
            reward_scale,
            mask,
            double,
            ..
        } = self.settings;
        let outputs = self.architecture.outputs;
        let nexts = || batch.iter().map(|t| t.next);
        let later = self.values(&self.target, nexts());
        let judged = if double {
            self.values(&self.network, nexts())
        } else {
            later.clone()
        };
        let rows = later.chunks(outputs).zip(judged.chunks(outputs));
        batch
            .iter()
            .zip(rows)
            .map(|(t, (later, judged))| {
                let reward = t.reward as f32 / reward_scale;
                if t.over {
                    return reward;
                }
                let slides = game.slides(t.next);
                let counts = |n: usize| !mask || slides.get(ACTIONS[n]).is_some();
                let judged = judged.iter().copied().enumerate();
                let best = best(judged.filter(|(n, _)| counts(*n)));
                reward + discount * best.map_or(0.0, |n| later[n])
            })
            .collect()
    }

    /// Factors of the last hidden layer, if any are to be left out.
    fn dropped(&self, count: usize) -> Option<Vec<f32>> {
        let rate = self.settings.dropout;
        let width = *self.architecture.hidden.last()?;
        let mut rng = game_rng(self.seed ^ STREAMS, self.adam.steps);
        let factor = |_| {
            if rng.unit() < f64::from(rate) {
                0.0
            } else {
                1.0 / (1.0 - rate)
            }
        };
        (rate > 0.0).then(|| (0..count * width).map(factor).collect())
    }
}

/// Keeps the streams of a network apart from those of games.
const STREAMS: u64 = 0x4445_4550_0000_0000;

fn best(values: impl Iterator<Item = (usize, f32)>) -> Option<usize> {
    let larger = |a: (usize, f32), b: (usize, f32)| if b.1 > a.1 { b } else { a };
    values.reduce(larger).map(|(n, _)| n)
}

impl<G: Game> Pupil<G> for Dqn {
    fn choose(&mut self, game: &G, states: &[G::State], _: &mut Rng, chosen: &mut Vec<Direction>) {
        if let Target::Copy(every) = self.settings.target
            && self.iterations.is_multiple_of(every.max(1))
        {
            self.follower.approach(&self.parameters, 1.0);
            self.target.load(&self.follower);
        }
        self.iterations += 1;
        let values = self.values(&self.network, states.iter().copied());
        chosen.clear();
        let rows = values.chunks(self.architecture.outputs);
        chosen.extend(states.iter().zip(rows).map(|(&state, values)| {
            let slides = game.slides(state);
            let legal = |direction| slides.get(direction).is_some();
            self.pick(values, legal).unwrap_or(Direction::Up)
        }));
    }

    fn learn(&mut self, game: &G, batch: &[Transition<G::State>]) -> Learned {
        let number = |t: &Transition<G::State>| ACTIONS.iter().position(|&a| a == t.direction);
        let outputs = self.architecture.outputs;
        // A slide without an output, which was forced, teaches nothing.
        let batch: Vec<(usize, &Transition<G::State>)> = batch
            .iter()
            .filter_map(|t| Some((number(t).filter(|&n| n < outputs)?, t)))
            .collect();
        let (chosen, batch): (Vec<usize>, Vec<&Transition<G::State>>) = batch.into_iter().unzip();
        if batch.is_empty() {
            return Learned::default();
        }
        let dropped = self.dropped(batch.len());
        let (loss, value, gradients) = self.network.gradients(&Lesson {
            boards: &self.boards(batch.iter().map(|t| t.state)),
            chosen: &chosen,
            targets: &self.targets(game, &batch),
            dropout: dropped.as_deref(),
        });
        self.adam.step(&mut self.parameters, &gradients);
        self.network.load(&self.parameters);
        if let Target::Soft(tau) = self.settings.target {
            self.follower.approach(&self.parameters, tau);
            self.target.load(&self.follower);
        }
        Learned { loss, value }
    }
}

#[cfg(test)]
mod tests;
