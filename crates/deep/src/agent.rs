//! Deep Q-learning from a replay buffer, with every technique of the "2048 experiment report" as a
//! setting, and with values of afterstates.
//!
//! Q(s, a) moves towards r + discount max Q'(s', a'), where Q' is that of the target network, a
//! lagged copy of the online network. Q may exclude r, which the rules know; V of an afterstate
//! always does: r' + V' takes the place of Q'. Where the slide of the largest value is illegal, the
//! buffer stores the one that was made and its reward, unless its configuration says otherwise.

use afterstate::game::{Direction, Game, Position, Shape, Slides, State};
use afterstate::random::{Rng, game_rng};
use afterstate::replay::{
    ActingNetwork, BatchStats, Choice, Illegal, InitialWeights, ReplayAgent, TargetUpdate,
    Transition,
};
use afterstate::value::{ActionValues, Decision};

use crate::adam::Adam;
use crate::dropout::{Dropout, DropoutRate};
use crate::network::TrainingBatch;
use crate::parameters::{Architecture, ArchitectureError, Parameters};
use crate::value::{ACTIONS, DeepValueFunction, OutputKind, OutputSpec};

/// The settings of a [`DqnAgent`].
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The initial weights.
    pub initial: InitialWeights,
    /// The meaning of the outputs.
    pub output: OutputSpec,
    /// The discount per move.
    pub discount: f32,
    /// Whether the maximum over the slides of s' only includes legal ones. With afterstates it
    /// always does.
    pub mask: bool,
    /// The learning rate of Adam.
    pub learning_rate: f32,
    /// Its weight decay: see [`Adam::weight_decay`].
    pub weight_decay: f32,
    /// How the target network follows, and which network acts.
    pub target_update: TargetUpdate,
    /// Double Q-learning: the online network chooses the best slide of s', the target network
    /// evaluates it.
    pub double: bool,
    /// The places of dropout, with their rates.
    pub dropout: Vec<DropoutRate>,
    /// Whether to apply a random symmetry to each board and slide of a batch.
    pub augment: bool,
}

/// As in the "2048 experiment report", but for PyTorch's initial weights, and maxima over legal
/// slides alone.
impl Default for Settings {
    fn default() -> Self {
        Self {
            initial: InitialWeights::Torch,
            output: OutputSpec {
                kind: OutputKind::Actions(Illegal::Value),
                known_rewards: false,
                scale: 256.0,
            },
            discount: 0.99,
            mask: true,
            learning_rate: 1e-4,
            weight_decay: 0.0,
            target_update: TargetUpdate::copy(),
            double: false,
            dropout: Vec::new(),
            augment: false,
        }
    }
}

/// Everything that training changes.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainState {
    /// The parameters of the online network.
    pub online: Parameters,
    /// The parameters of the target network.
    pub target: Parameters,
    /// The optimiser.
    pub adam: Adam,
    /// Iterations so far.
    pub iterations: u64,
}

impl TrainState {
    /// The parameters of the acting network, and those of the other one.
    pub fn in_order(&self, acting_network: ActingNetwork) -> [&Parameters; 2] {
        match acting_network {
            ActingNetwork::Online => [&self.online, &self.target],
            ActingNetwork::Target => [&self.target, &self.online],
        }
    }
}

/// An agent that learns by deep Q-learning.
pub struct DqnAgent {
    settings: Settings,
    seed: u64,
    train_state: TrainState,
    online: DeepValueFunction,
    target: DeepValueFunction,
    /// The symmetries used for augmentation; the identity is the first.
    symmetries: Vec<Symmetry>,
}

impl DqnAgent {
    /// Creates an agent with new networks, computed on `threads` threads.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        settings: Settings,
        seed: u64,
        threads: usize,
    ) -> Result<Self, ArchitectureError> {
        let mut rng = game_rng(seed ^ STREAMS, u64::MAX);
        let parameters = Parameters::random(architecture, settings.initial, &mut rng)?;
        let online = DeepValueFunction::new(architecture, &parameters, settings.output, threads)?;
        Ok(Self {
            target: online.clone(),
            online,
            train_state: TrainState {
                adam: Adam::new(&parameters, settings.learning_rate, settings.weight_decay),
                target: parameters.clone(),
                online: parameters,
                iterations: 0,
            },
            symmetries: symmetries(architecture.board, settings.augment),
            settings,
            seed,
        })
    }

    /// The discount per move.
    pub fn discount(&self) -> f32 {
        self.settings.discount
    }

    /// The acting network.
    pub fn acting(&self) -> &DeepValueFunction {
        match self.acting_network() {
            ActingNetwork::Online => &self.online,
            ActingNetwork::Target => &self.target,
        }
    }

    /// Which of the two networks acts.
    pub fn acting_network(&self) -> ActingNetwork {
        self.settings.target_update.acting_network()
    }

    /// Everything that training changes.
    pub fn train_state(&self) -> &TrainState {
        &self.train_state
    }

    /// Restores a saved state.
    pub fn restore(&mut self, train_state: TrainState) {
        self.train_state = train_state;
        self.online.network.load(&self.train_state.online);
        self.target.network.load(&self.train_state.target);
    }

    /// The targets of the outputs for each of these transitions.
    fn targets<G: Game>(&self, game: &G, batch: &[&Transition<G::Board>]) -> Vec<f32> {
        let OutputSpec {
            kind,
            known_rewards,
            scale,
        } = self.settings.output;
        let nexts: Vec<State<G::Board>> = batch.iter().map(|t| t.next).collect();
        let rest = match kind {
            OutputKind::Actions(_) => self.rest_by_actions(game, &nexts),
            OutputKind::Afterstates => self.rest_by_afterstates(game, &nexts),
        };
        let target = |(t, rest): (&&Transition<G::Board>, f32)| {
            let rest = if t.done { 0.0 } else { rest };
            let own = match kind {
                OutputKind::Actions(_) if !known_rewards => 0,
                _ => {
                    let slide = game.slides(t.state).get(t.direction);
                    slide.map_or(0, |slide| slide.reward())
                }
            };
            // Without the slide's own reward, the reward of the spawn remains.
            let earned = t.reward as f32 - own as f32 + t.later_rewards;
            earned / scale + self.settings.discount.powi(t.steps as i32) * rest
        };
        batch.iter().zip(rest).map(target).collect()
    }

    /// The maximal Q of each state.
    fn rest_by_actions<G: Game>(&self, game: &G, states: &[State<G::Board>]) -> Vec<f32> {
        let slides: Vec<Slides<G::Board>> = states.iter().map(|&s| game.slides(s)).collect();
        let with_slides = || states.iter().copied().zip(&slides);
        let later = self.target.actions(game, with_slides());
        let judged = match self.settings.double {
            true => self.online.actions(game, with_slides()),
            false => later.clone(),
        };
        let outputs = self.online.network.architecture().outputs;
        let rows = later.chunks(outputs).zip(judged.chunks(outputs));
        let rest = |slides: &Slides<G::Board>, later: &[f32], judged: &[f32]| {
            let counts = |n: &usize| !self.settings.mask || slides.get(ACTIONS[*n]).is_some();
            let larger = |a: usize, b: usize| if judged[b] > judged[a] { b } else { a };
            let best = (0..outputs).filter(counts).reduce(larger);
            // Where only a slide without an output is legal, the other outputs estimate the state.
            // That slide earns nothing: if it merged tiles, the opposite slide would be legal, too.
            let best = best.or_else(|| (0..outputs).reduce(larger));
            best.map_or(0.0, |n| later[n])
        };
        let rows = slides.iter().zip(rows);
        rows.map(|(slides, (later, judged))| rest(slides, later, judged))
            .collect()
    }

    /// The same with V of afterstates.
    fn rest_by_afterstates<G: Game>(&self, game: &G, states: &[State<G::Board>]) -> Vec<f32> {
        let slides: Vec<Slides<G::Board>> = states.iter().map(|&s| game.slides(s)).collect();
        let later = self.target.by_afterstates(game, slides.iter());
        let judged = match self.settings.double {
            true => self.online.by_afterstates(game, slides.iter()),
            false => later.clone(),
        };
        let rest = |(later, judged): (&ActionValues, &ActionValues)| {
            let best = judged.best().and_then(|direction| later.get(direction));
            best.map_or(0.0, |value| value.total / self.settings.output.scale)
        };
        later.iter().zip(&judged).map(rest).collect()
    }

    /// The inputs of a batch.
    fn inputs<'t, G: Game>(
        &self,
        game: &G,
        batch: &'t [Transition<G::Board>],
        rng: &mut Rng,
    ) -> BatchInputs<'t, G::Board> {
        let outputs = self.online.network.architecture().outputs;
        let mut inputs = BatchInputs {
            boards: Vec::new(),
            chosen: Vec::new(),
            batch: Vec::new(),
        };
        for t in batch {
            let symmetry = &self.symmetries[rng.below(self.symmetries.len() as u32) as usize];
            match self.settings.output.kind {
                // A forced slide without an output has nothing to learn.
                OutputKind::Actions(_) => {
                    let output = symmetry.slide(t.direction);
                    if output < outputs {
                        inputs.add(symmetry, t.state.0, output, t);
                    }
                }
                OutputKind::Afterstates => {
                    if let Some(slide) = game.slides(t.state).get(t.direction) {
                        inputs.add(symmetry, slide.after().0, 0, t);
                    }
                }
            }
        }
        inputs
    }

    /// The dropout masks of a batch of `count` boards.
    fn dropout(&self, count: usize, rng: &mut Rng) -> Vec<Dropout> {
        let architecture = self.online.network.architecture();
        let enabled = self.settings.dropout.iter().filter(|of| of.rate > 0.0);
        let mask = |&DropoutRate { layer, rate }: &DropoutRate| {
            let factor = |_| match rng.unit() < f64::from(rate) {
                true => 0.0,
                false => 1.0 / (1.0 - rate),
            };
            let factors = (0..count * architecture.inputs_of_linear(layer)).map(factor);
            Dropout {
                layer,
                factors: factors.collect(),
            }
        };
        enabled.map(mask).collect()
    }
}

/// A batch as network input: boards, the chosen output of each, and the transitions that give the
/// targets.
struct BatchInputs<'t, B> {
    boards: Vec<u8>,
    chosen: Vec<usize>,
    batch: Vec<&'t Transition<B>>,
}

impl<'t, B: Position> BatchInputs<'t, B> {
    fn add(&mut self, symmetry: &Symmetry, board: B, output: usize, t: &'t Transition<B>) {
        let cells = symmetry.cells.iter();
        self.boards.extend(cells.map(|&cell| board.cell(cell)));
        self.chosen.push(output);
        self.batch.push(t);
    }
}

/// A symmetry of the board.
struct Symmetry {
    /// The source of each cell.
    cells: Vec<usize>,
    /// For each of [`ACTIONS`], the number of the transformed slide.
    slides: [usize; 4],
}

impl Symmetry {
    /// The output of the transformed slide.
    fn slide(&self, direction: Direction) -> usize {
        let number = ACTIONS.iter().position(|&action| action == direction);
        number.map_or(usize::MAX, |number| self.slides[number])
    }
}

/// All symmetries of a board of these rows and columns, or the identity alone.
fn symmetries((rows, cols): (usize, usize), all: bool) -> Vec<Symmetry> {
    let itself = || vec![(0..rows * cols).collect()];
    let shape = Shape::new(rows, cols).filter(|_| all);
    // Left and up of the second cell of the second row, right and down of the first cell.
    let pairs = [(cols + 1, cols), (cols + 1, 1), (0, 1), (0, cols)];
    let symmetry = |cells: Vec<usize>| {
        let seen = |cell: usize| cells.iter().position(|&c| c == cell).unwrap_or(cell);
        let slides = pairs.map(|(from, to)| {
            let (from, to) = (seen(from), seen(to));
            match to as isize - from as isize {
                -1 => 0,
                1 => 2,
                step if step < 0 => 1,
                _ => 3,
            }
        });
        Symmetry { cells, slides }
    };
    let cells = shape.map_or_else(itself, Shape::symmetries);
    cells.into_iter().map(symmetry).collect()
}

/// Separates the random streams of a network from those of games.
const STREAMS: u64 = 0x4445_4550_0000_0000;

impl<G: Game> ReplayAgent<G> for DqnAgent {
    fn choose(
        &mut self,
        game: &G,
        decisions: &[Decision<G>],
        _: &mut Rng,
        chosen: &mut Vec<Choice<G::Board>>,
    ) {
        if let TargetUpdate::Copy {
            target_update_iterations: every,
        } = self.settings.target_update
            && self.train_state.iterations.is_multiple_of(every.max(1))
        {
            let TrainState { online, target, .. } = &mut self.train_state;
            target.approach(online, 1.0);
            self.target.network.load(target);
        }
        self.train_state.iterations += 1;
        *chosen = self.acting().choices(game, decisions);
    }

    fn learn(&mut self, game: &G, batch: &[Transition<G::Board>]) -> BatchStats {
        let mut rng = game_rng(self.seed ^ STREAMS, self.train_state.adam.steps);
        let BatchInputs {
            boards,
            chosen,
            batch,
        } = self.inputs(game, batch, &mut rng);
        if batch.is_empty() {
            return BatchStats::default();
        }
        let learned = self.online.network.gradients(&TrainingBatch {
            boards: &boards,
            chosen: &chosen,
            targets: &self.targets(game, &batch),
            dropout: &self.dropout(batch.len(), &mut rng),
        });
        let TrainState {
            online,
            target,
            adam,
            ..
        } = &mut self.train_state;
        adam.step(online, &learned.gradients);
        self.online.network.load(online);
        if let TargetUpdate::Soft { tau, .. } = self.settings.target_update {
            target.approach(online, tau as f32);
            self.target.network.load(target);
        }
        BatchStats {
            loss: learned.loss,
            value: learned.value,
        }
    }

    fn set_learning_rate(&mut self, learning_rate: f32) {
        self.train_state.adam.learning_rate = learning_rate;
    }
}

#[cfg(test)]
mod tests;
