//! A deep network as a value function, and the slides it chooses.

use afterstate::game::{Direction, Game, Position, Slide, Slides, State};
use afterstate::replay::{Choice, Illegal};
use afterstate::value::{ActionValue, ActionValues, Decision, Pending, ValueFunction};

use crate::network::Network;
use crate::parameters::{Architecture, ArchitectureError, Parameters};

/// The slides in the order of the outputs: a network with three outputs never prefers the last
/// slide.
pub(crate) const ACTIONS: [Direction; 4] = [
    Direction::Left,
    Direction::Up,
    Direction::Right,
    Direction::Down,
];

/// The meaning of a network's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Q of a state: one output for each slide; and which slide is made if the best one is illegal.
    Actions(Illegal),
    /// V of an afterstate, one output: Q of the slide that leads there, without its reward.
    Afterstates,
}

/// How to interpret a network's outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputSpec {
    /// Their meaning.
    pub kind: OutputKind,
    /// Whether Q excludes the reward of the slide, which the rules add. The value of an afterstate
    /// always excludes it.
    pub known_rewards: bool,
    /// The points of an output of 1.
    pub scale: f32,
}

/// A network and the meaning of its outputs.
#[derive(Clone)]
pub struct DeepValueFunction {
    pub(crate) output: OutputSpec,
    pub(crate) network: Network,
    discount: f32,
}

impl DeepValueFunction {
    /// Creates a value function with these parameters and no discount, computed on `threads`
    /// threads.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        parameters: &Parameters,
        output: OutputSpec,
        threads: usize,
    ) -> Result<Self, ArchitectureError> {
        let network = Network::new(architecture, parameters)?.with_threads(threads);
        Ok(Self {
            output,
            network,
            discount: 1.0,
        })
    }

    /// Sets the discount of the values, which a search needs.
    pub fn with_discount(mut self, discount: f32) -> Self {
        self.discount = discount;
        self
    }

    /// Sets the number of threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.network = self.network.with_threads(threads);
        self
    }

    /// Computes exactly `size` boards at a time, so that no value depends on the other boards of a
    /// batch: see [`Network::in_groups`].
    pub fn in_groups(mut self, size: usize) -> Self {
        self.network = self.network.in_groups(size);
        self
    }

    /// The architecture of its network.
    pub fn architecture(&self) -> &Architecture {
        self.network.architecture()
    }

    /// Q of every slide that has an output, for each state, in units of the scale. States of
    /// finished games may be included: a batch is computed whole, because its size can change the
    /// last digits.
    pub(crate) fn actions<'s, G: Game>(
        &self,
        game: &G,
        states: impl Iterator<Item = (State<G::Board>, &'s Slides<G::Board>)> + Clone,
    ) -> Vec<f32> {
        let tiles = boards(game, states.clone().map(|(State(board), _)| board));
        let mut values = self.network.outputs(&tiles);
        if self.output.known_rewards {
            let rows = values.chunks_mut(self.network.architecture().outputs);
            for ((_, slides), row) in states.zip(rows) {
                for (value, &action) in row.iter_mut().zip(&ACTIONS) {
                    let slide = slides.get(action);
                    let reward = slide.map_or(0, |slide| slide.reward());
                    *value += reward as f32 / self.output.scale;
                }
            }
        }
        values
    }

    /// Action values by Q of states.
    fn by_actions<G: Game>(&self, game: &G, decisions: &[Decision<G>]) -> Vec<ActionValues> {
        let values = self.actions(game, with_slides(decisions));
        let rows = values.chunks(self.network.architecture().outputs);
        let rows = decisions.iter().zip(rows);
        rows.map(|(decision, outputs)| self.of_outputs(decision.slides(), outputs))
            .collect()
    }

    /// The values of legal slides, from the outputs for a state.
    fn of_outputs<B: Copy>(&self, slides: &Slides<B>, outputs: &[f32]) -> ActionValues {
        action_values(slides, |slide| {
            // A slide without an output is made only if there is no other.
            let value = output_of(slide.direction(), outputs);
            value.map_or(f32::NEG_INFINITY, |value| value * self.output.scale)
        })
    }

    /// Action values by V of afterstates.
    pub(crate) fn by_afterstates<'s, G: Game>(
        &self,
        game: &G,
        states: impl Iterator<Item = &'s Slides<G::Board>> + Clone,
    ) -> Vec<ActionValues> {
        let legal = states.clone().flat_map(|slides| slides.legal());
        let afters = boards(game, legal.map(|slide| slide.after().0));
        let mut values = self.network.outputs(&afters).into_iter();
        let of = |slides: &Slides<G::Board>| {
            action_values(slides, |slide| {
                let value = values.next().unwrap_or(f32::NAN);
                slide.reward() as f32 + self.output.scale * value
            })
        };
        states.map(of).collect()
    }

    /// The values of many decisions.
    pub fn values<G: Game>(&self, game: &G, decisions: &[Decision<G>]) -> Vec<ActionValues> {
        match self.output.kind {
            OutputKind::Actions(_) => self.by_actions(game, decisions),
            OutputKind::Afterstates => {
                self.by_afterstates(game, decisions.iter().map(Decision::slides))
            }
        }
    }

    /// The chosen slide for each decision.
    pub fn choose<G: Game>(&self, game: &G, decisions: &[Decision<G>]) -> Vec<Slide<G::Board>> {
        let choices = self.choices(game, decisions).into_iter();
        choices.map(|choice| choice.slide).collect()
    }

    /// The chosen slide for each decision, and the slide of the largest value, legal or not.
    pub fn choices<G: Game>(&self, game: &G, decisions: &[Decision<G>]) -> Vec<Choice<G::Board>> {
        let OutputKind::Actions(illegal) = self.output.kind else {
            let values = self.values(game, decisions);
            let slides = decisions.iter().zip(&values);
            return slides
                .map(|(decision, values)| decision.slide_or_first(values.best()).into())
                .collect();
        };
        let values = self.actions(game, with_slides(decisions));
        let rows = values.chunks(self.network.architecture().outputs);
        let choice = |(decision, outputs): (&Decision<G>, &[f32])| {
            let slides = decision.slides();
            let direction = match illegal {
                Illegal::Value => self.of_outputs(slides, outputs).best(),
                Illegal::Number | Illegal::Output => next_legal(outputs, illegal, |direction| {
                    slides.get(direction).is_some()
                }),
            };
            let slide = decision.slide_or_first(direction);
            let best = largest(outputs);
            // The first choice differs from the slide that is made only where it is illegal and
            // strictly better. Outputs that are equal after scaling, or not numbers, decide nothing.
            let is_legal = slides.get(ACTIONS[best]).is_some();
            let ties = output_of(slide.direction(), outputs) == Some(outputs[best]);
            Choice {
                slide,
                first: match is_legal || ties {
                    true => slide.direction(),
                    false => ACTIONS[best],
                },
            }
        };
        decisions.iter().zip(rows).map(choice).collect()
    }
}

impl<G: Game> ValueFunction<G> for DeepValueFunction {
    /// A network has nothing to prefetch: the lookup holds the values themselves.
    type Lookup = ActionValues;

    fn locate(&self, game: &G, decision: &Decision<G>, values: &mut ActionValues) {
        *values = self.values(game, std::slice::from_ref(decision))[0];
    }

    fn evaluate(
        &self,
        _: &G,
        pending: &Pending<'_, G, ActionValues>,
        visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        pending.lookup().visit_legal(pending.decision(), visit);
    }

    fn fits(&self, game: &G) -> bool {
        let shape = game.shape();
        self.architecture().board == (shape.rows(), shape.cols())
    }

    fn discount(&self) -> f32 {
        self.discount
    }

    fn batch(&self, game: &G, decisions: &[Decision<G>], values: &mut Vec<ActionValues>) {
        *values = self.values(game, decisions);
    }
}

fn with_slides<G: Game>(
    decisions: &[Decision<G>],
) -> impl Iterator<Item = (State<G::Board>, &Slides<G::Board>)> + Clone {
    let each = decisions.iter();
    each.map(|decision| (decision.state(), decision.slides()))
}

/// The values of all legal slides, from their totals.
fn action_values<B: Copy>(
    slides: &Slides<B>,
    mut total: impl FnMut(Slide<B>) -> f32,
) -> ActionValues {
    let mut values = ActionValues::default();
    for slide in slides.legal() {
        let total = total(slide);
        let value = total - slide.reward() as f32;
        values.set(slide.direction(), ActionValue { value, total });
    }
    values
}

/// The output of a slide, if it has one.
fn output_of(direction: Direction, outputs: &[f32]) -> Option<f32> {
    let number = ACTIONS.iter().position(|&action| action == direction)?;
    outputs.get(number).copied()
}

/// The number of the largest output.
fn largest(outputs: &[f32]) -> usize {
    let larger = |a: usize, b: usize| if outputs[b] > outputs[a] { b } else { a };
    (0..outputs.len()).reduce(larger).unwrap_or(0)
}

/// The slide of the largest value, or the next legal one after it, cyclically: among all slides, or
/// among those with an output, before the others.
fn next_legal(
    outputs: &[f32],
    illegal: Illegal,
    legal: impl Fn(Direction) -> bool,
) -> Option<Direction> {
    let best = largest(outputs);
    let cycle = match illegal {
        Illegal::Output => outputs.len(),
        Illegal::Value | Illegal::Number => ACTIONS.len(),
    };
    let order = (best..cycle).chain(0..best).chain(cycle..ACTIONS.len());
    order.map(|n| ACTIONS[n]).find(|&slide| legal(slide))
}

/// The tiles of all cells, board by board.
pub(crate) fn boards<G: Game>(game: &G, boards: impl Iterator<Item = G::Board>) -> Vec<u8> {
    let cells = game.shape().cells();
    boards
        .flat_map(|board| (0..cells).map(move |cell| board.cell(cell)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Down, Left, Right, Up};

    #[test]
    fn an_illegal_best_slide_falls_back_to_the_next_by_number() {
        // Left, up, right, down.
        let values = [0.1, 0.4, 0.2, 0.3];
        let pick = |values: &[f32], illegal, legal: &[Direction]| {
            next_legal(values, illegal, |direction| legal.contains(&direction))
        };
        for illegal in [Illegal::Number, Illegal::Output] {
            assert_eq!(pick(&values, illegal, &[Left, Up]), Some(Up));
            assert_eq!(pick(&values, illegal, &[Left, Right, Down]), Some(Right));
            assert_eq!(pick(&values, illegal, &[Left]), Some(Left));
            assert_eq!(pick(&values[..3], illegal, &[Down]), Some(Down));
            assert_eq!(pick(&values[..3], illegal, &[]), None);
        }
        // With three outputs, down follows right in the cycle of all four directions, and comes
        // last in the cycle of the outputs.
        let three = &values[..3];
        assert_eq!(pick(three, Illegal::Number, &[Left, Down]), Some(Down));
        assert_eq!(pick(three, Illegal::Output, &[Left, Down]), Some(Left));
    }
}
