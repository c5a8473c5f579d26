//! A network as a player: what each slide is worth, and which one it makes.

use afterstate::game::{Direction, Game, Position};

use crate::network::Network;
use crate::parameters::{Architecture, ArchitectureError, Parameters};

/// The slides by the numbers of outputs: a network of three never prefers the last.
pub(crate) const ACTIONS: [Direction; 4] = [
    Direction::Left,
    Direction::Up,
    Direction::Right,
    Direction::Down,
];

/// What the outputs of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Q of a state: an output for each slide. A slide that is best and illegal gives way as this says.
    Actions(Fallback),
    /// V of an afterstate, one output: Q of the slide that leads there without its reward.
    Afterstates,
}

/// What is done when the best slide is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// The best legal one.
    #[default]
    Value,
    /// The next legal one by its number, and round.
    Number,
}

/// How a network's outputs are to be understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputSpec {
    /// What they are.
    pub of: Of,
    /// Whether the reward of a slide is left out of its Q and added by the rules, which know it. Of an afterstate it never is a part.
    pub known_rewards: bool,
    /// Points that a 1 stands for.
    pub scale: f32,
}

/// A network and what its outputs mean.
#[derive(Clone)]
pub struct Player {
    pub(crate) meaning: OutputSpec,
    pub(crate) network: Network,
}

/// A legal slide, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The slide.
    pub direction: Direction,
    /// What it earns.
    pub reward: u32,
    /// What it earns and what comes behind it, in points; nothing if the network has no output for it.
    pub total: f32,
}

impl Player {
    /// With these parameters, on so many threads.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        parameters: &Parameters,
        meaning: OutputSpec,
        threads: usize,
    ) -> Result<Self, ArchitectureError> {
        let network = Network::new(architecture, parameters)?.with_threads(threads);
        Ok(Self { meaning, network })
    }

    /// On so many threads from now on.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.network = self.network.with_threads(threads);
        self
    }

    /// Computes for exactly so many boards at a time, so that no board's worth depends on others: see [`Network::in_groups`].
    pub fn in_groups(mut self, of: usize) -> Self {
        self.network = self.network.in_groups(of);
        self
    }

    /// How its network is built.
    pub fn architecture(&self) -> &Architecture {
        self.network.architecture()
    }

    /// The worth of every legal slide of each state, by the order of directions.
    pub fn worths<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<Vec<Worth>> {
        let OutputSpec { scale, .. } = self.meaning;
        match self.meaning.of {
            Of::Actions(_) => {
                let values = self.actions(game, states);
                let rows = values.chunks(self.network.architecture().outputs);
                let worths = |(&state, values): (&G::State, &[f32])| {
                    let worth = |(direction, _, reward)| {
                        let number = ACTIONS.iter().position(|&a| a == direction);
                        let value = number.and_then(|n| values.get(n));
                        Worth {
                            direction,
                            reward,
                            total: value.map_or(f32::NEG_INFINITY, |value| value * scale),
                        }
                    };
                    game.slides(state).legal().map(worth).collect()
                };
                states.iter().zip(rows).map(worths).collect()
            }
            Of::Afterstates => self.ahead(game, states),
        }
    }

    /// Q of every slide that has an output, of each state by this network, in units of the scale.
    pub(crate) fn actions<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<f32> {
        let mut values = self.network.outputs(&boards(game, states.iter().copied()));
        if self.meaning.known_rewards {
            let rows = values.chunks_mut(self.network.architecture().outputs);
            for (&state, row) in states.iter().zip(rows) {
                let slides = game.slides(state);
                for (value, &action) in row.iter_mut().zip(&ACTIONS) {
                    let reward = slides.get(action).map_or(0, |(_, reward)| reward);
                    *value += reward as f32 / self.meaning.scale;
                }
            }
        }
        values
    }

    /// The worths by values of afterstates.
    pub(crate) fn ahead<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<Vec<Worth>> {
        let OutputSpec { scale, .. } = self.meaning;
        let slides: Vec<_> = states.iter().map(|&state| game.slides(state)).collect();
        let legal = slides.iter().flat_map(|slides| slides.legal());
        let values = self
            .network
            .outputs(&boards(game, legal.map(|(_, after, _)| after)));
        let mut values = values.into_iter();
        let mut worth = |(direction, _, reward): (Direction, G::After, u32)| {
            let value = values.next().unwrap_or(f32::NAN);
            Worth {
                direction,
                reward,
                total: reward as f32 + scale * value,
            }
        };
        let of =
            |slides: &afterstate::game::Slides<G::After>| slides.legal().map(&mut worth).collect();
        slides.iter().map(of).collect()
    }

    /// The slide that it makes in each state; none where a game is over.
    pub fn choose<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<Option<Direction>> {
        if let Of::Actions(Fallback::Number) = self.meaning.of {
            let values = self.actions(game, states);
            let rows = values.chunks(self.network.architecture().outputs);
            let next = |(&state, values): (&G::State, &[f32])| {
                let slides = game.slides(state);
                next_legal(values, |direction| slides.get(direction).is_some())
            };
            return states.iter().zip(rows).map(next).collect();
        }
        let worths = self.worths(game, states);
        worths.iter().map(|worths| best(worths)).collect()
    }
}

/// The slide of the largest worth, the first of several; a NaN beats nothing, and nothing beats it.
pub(crate) fn best(worths: &[Worth]) -> Option<Direction> {
    let larger = |a: Worth, b: Worth| if b.total > a.total { b } else { a };
    let best = worths.iter().copied().reduce(larger);
    best.map(|worth| worth.direction)
}

/// The slide of the largest value, or the next legal one by its number; what has no output comes last.
pub(crate) fn next_legal(values: &[f32], legal: impl Fn(Direction) -> bool) -> Option<Direction> {
    let outputs = values.len();
    let larger = |a: usize, b: usize| if values[b] > values[a] { b } else { a };
    let best = (0..outputs).reduce(larger).unwrap_or(0);
    let order = (best..outputs).chain(0..best);
    let order = order.chain(outputs..ACTIONS.len());
    order.map(|n| ACTIONS[n]).find(|&slide| legal(slide))
}

/// The tiles of all cells, position by position.
pub(crate) fn boards<G: Game, P: Position>(
    game: &G,
    positions: impl Iterator<Item = P>,
) -> Vec<u8> {
    let cells = game.shape().cells();
    positions
        .flat_map(|position| (0..cells).map(move |cell| position.cell(cell)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Down, Left, Right, Up};

    #[test]
    fn an_illegal_best_slide_gives_way_to_the_next_by_number() {
        // Left, up, right, down.
        let values = [0.1, 0.4, 0.2, 0.3];
        let pick = |values: &[f32], legal: &[Direction]| {
            next_legal(values, |direction| legal.contains(&direction))
        };
        assert_eq!(pick(&values, &[Left, Up]), Some(Up));
        assert_eq!(pick(&values, &[Left, Right, Down]), Some(Right));
        assert_eq!(pick(&values, &[Left]), Some(Left));
        // Of three outputs, down is only for when there is nothing else.
        assert_eq!(pick(&values[..3], &[Left, Down]), Some(Left));
        assert_eq!(pick(&values[..3], &[Down]), Some(Down));
        assert_eq!(pick(&values[..3], &[]), None);
    }

    #[test]
    fn the_best_legal_slide_is_the_first_of_the_largest() {
        let worth = |direction, total| Worth {
            direction,
            reward: 0,
            total,
        };
        let worths = [worth(Up, 1.0), worth(Right, 3.0), worth(Left, 3.0)];
        assert_eq!(best(&worths), Some(Right));
        assert_eq!(best(&worths[..0]), None);
        assert_eq!(best(&[worth(Down, f32::NEG_INFINITY)]), Some(Down));
        assert_eq!(best(&[worth(Up, f32::NAN), worth(Right, 1.0)]), Some(Up));
    }
}
