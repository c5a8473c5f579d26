//! Deep learning from memory: R4's deep Q-learning with every trick a switch, and values of afterstates.
//!
//! Q(s, a) moves towards r + discount max Q'(s', a'), where Q' is that of a follower, the target network, which is a copy that comes after it slowly. The network may leave out r, which
//! the rules know, and V of an afterstate always does: r' + V' in place of Q'. What is stored and learned is the slide that was made, never the one that was wanted and
//! illegal.

use afterstate::game::{Direction, Game, Position, Shape};
use afterstate::random::{Rng, game_rng};
use afterstate::replay::{Learned, ReplayAgent, Transition};

use crate::adam::{Adam, Decay};
use crate::network::{Dropout, Lesson, Place};
use crate::parameters::{Architecture, ArchitectureError, Initial, Parameters};
use crate::player::{ACTIONS, OutputSpec, Of, Player, Worth};

/// How the follower follows the network that learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// It is made anew after so many iterations.
    Copy(u64),
    /// By a share of the way after each update.
    Soft(f32),
}

/// Which of the two plays, and becomes the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plays {
    /// The network that learns: another one after each update, and not always a better one.
    #[default]
    Learner,
    /// The follower, which is a mean of the last ones if it follows softly.
    Follower,
}

/// All switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What the network begins with.
    pub initial: Initial,
    /// What the outputs are.
    pub meaning: OutputSpec,
    /// What is earned a move later counts so much.
    pub discount: f32,
    /// Whether the best slide of s' is sought among the legal ones alone. Afterstates are always of legal ones.
    pub mask: bool,
    /// The learning rate of Adam.
    pub rate: f32,
    /// Its decay of weights.
    pub decay: Decay,
    /// How the follower follows.
    pub target: Target,
    /// Which of them plays.
    pub plays: Plays,
    /// Whether the network says which slide of s' is best, and the follower what it is worth.
    pub double: bool,
    /// The share that is left out when learning, and where.
    pub dropout: (f32, Place),
    /// Whether boards and slides are turned and mirrored at random when learning.
    pub turn: bool,
}

/// As R4 has it.
impl Default for Settings {
    fn default() -> Self {
        Self {
            initial: Initial::Torch,
            meaning: OutputSpec {
                of: Of::Actions(crate::Fallback::Value),
                known_rewards: false,
                scale: 256.0,
            },
            discount: 0.99,
            mask: true,
            rate: 1e-4,
            decay: Decay::None,
            target: Target::Copy(10),
            plays: Plays::Learner,
            double: false,
            dropout: (0.0, Place::Hidden),
            turn: false,
        }
    }
}

/// All that changes when learning.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainState {
    /// The numbers of the network that learns.
    pub learner: Parameters,
    /// Those of the follower.
    pub follower: Parameters,
    /// What moves the network.
    pub adam: Adam,
    /// Iterations so far.
    pub iterations: u64,
}

impl TrainState {
    /// The numbers of the network that plays, and those of the other one.
    pub fn in_order(&self, plays: Plays) -> [&Parameters; 2] {
        match plays {
            Plays::Learner => [&self.learner, &self.follower],
            Plays::Follower => [&self.follower, &self.learner],
        }
    }
}

/// A network that learns.
pub struct DqnAgent {
    settings: Settings,
    seed: u64,
    growth: TrainState,
    learner: Player,
    follower: Player,
    /// The images that it learns by; the board as it is comes first.
    images: Vec<Image>,
}

impl DqnAgent {
    /// A pupil with a new network that is worked on by so many threads.
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
        let learner = Player::new(architecture, &parameters, settings.meaning, threads)?;
        Ok(Self {
            follower: learner.clone(),
            learner,
            growth: TrainState {
                adam: Adam::new(&parameters, settings.rate, settings.decay),
                follower: parameters.clone(),
                learner: parameters,
                iterations: 0,
            },
            images: images(architecture.board, settings.turn),
            settings,
            seed,
        })
    }

    /// The network that plays.
    pub fn player(&self) -> &Player {
        match self.settings.plays {
            Plays::Learner => &self.learner,
            Plays::Follower => &self.follower,
        }
    }

    /// Which of the two that is.
    pub fn plays(&self) -> Plays {
        self.settings.plays
    }

    /// All that has changed since it was new.
    pub fn growth(&self) -> &TrainState {
        &self.growth
    }

    /// Goes on from there.
    pub fn go_on(&mut self, growth: TrainState) {
        self.growth = growth;
        self.learner.network.load(&self.growth.learner);
        self.follower.network.load(&self.growth.follower);
    }

    /// What the outputs should be for each of these transitions.
    fn targets<G: Game>(&self, game: &G, batch: &[&Transition<G::State>]) -> Vec<f32> {
        let OutputSpec {
            of,
            known_rewards,
            scale,
        } = self.settings.meaning;
        let nexts: Vec<G::State> = batch.iter().map(|t| t.next).collect();
        let rest = match of {
            Of::Actions(_) => self.rest_by_actions(game, &nexts),
            Of::Afterstates => self.rest_by_afterstates(game, &nexts),
        };
        let target = |(t, rest): (&&Transition<G::State>, f32)| {
            let rest = if t.over { 0.0 } else { rest };
            let own = match of {
                Of::Actions(_) if !known_rewards => 0,
                _ => {
                    let slide = game.slides(t.state).get(t.direction);
                    slide.map_or(0, |(_, reward)| reward)
                }
            };
            // Without the slide's own reward there is still what the new tile spawn_reward.
            let earned = (t.reward - own) as f32 + t.later;
            earned / scale + self.settings.discount.powi(t.steps as i32) * rest
        };
        batch.iter().zip(rest).map(target).collect()
    }

    /// What the best slide of each state is worth, by Q.
    fn rest_by_actions<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<f32> {
        let later = self.follower.actions(game, states);
        let judged = match self.settings.double {
            true => self.learner.actions(game, states),
            false => later.clone(),
        };
        let outputs = self.learner.network.architecture().outputs;
        let rows = later.chunks(outputs).zip(judged.chunks(outputs));
        let rest = |(&state, (later, judged)): (&G::State, (&[f32], &[f32]))| {
            let slides = game.slides(state);
            let counts = |n: &usize| !self.settings.mask || slides.get(ACTIONS[*n]).is_some();
            let larger = |a: usize, b: usize| if judged[b] > judged[a] { b } else { a };
            let best = (0..outputs).filter(counts).reduce(larger);
            // Where only a slide without an output is legal, the others say what the state is like. It earns nothing: what merges one way merges back, too.
            let best = best.or_else(|| (0..outputs).reduce(larger));
            best.map_or(0.0, |n| later[n])
        };
        states.iter().zip(rows).map(rest).collect()
    }

    /// The same by V of afterstates.
    fn rest_by_afterstates<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<f32> {
        let later = self.follower.ahead(game, states);
        let judged = match self.settings.double {
            true => self.learner.ahead(game, states),
            false => later.clone(),
        };
        let rest = |(later, judged): (&Vec<Worth>, &Vec<Worth>)| {
            let best = crate::player::best(judged);
            let best = later.iter().find(|worth| Some(worth.direction) == best);
            best.map_or(0.0, |worth| worth.total / self.settings.meaning.scale)
        };
        later.iter().zip(&judged).map(rest).collect()
    }

    /// What a batch asks.
    fn questions<'t, G: Game>(
        &self,
        game: &G,
        batch: &'t [Transition<G::State>],
        rng: &mut Rng,
    ) -> Questions<'t, G::State> {
        let outputs = self.learner.network.architecture().outputs;
        let mut asked = Questions {
            boards: Vec::new(),
            chosen: Vec::new(),
            batch: Vec::new(),
        };
        for t in batch {
            let image = &self.images[rng.below(self.images.len() as u32) as usize];
            match self.settings.meaning.of {
                // A slide without an output, which was forced, teaches nothing.
                Of::Actions(_) => {
                    let output = image.slide(t.direction);
                    if output < outputs {
                        asked.add(image, t.state, output, t);
                    }
                }
                Of::Afterstates => {
                    if let Some((after, _)) = game.slides(t.state).get(t.direction) {
                        asked.add(image, after, 0, t);
                    }
                }
            }
        }
        asked
    }

    /// What is left out for so many boards, if anything is.
    fn dropped(&self, count: usize, rng: &mut Rng) -> Option<Dropout> {
        let (rate, place) = self.settings.dropout;
        let factor = |_| match rng.unit() < f64::from(rate) {
            true => 0.0,
            false => 1.0 / (1.0 - rate),
        };
        let width = place.width(self.learner.network.architecture());
        (rate > 0.0).then(|| Dropout {
            place,
            factors: (0..count * width).map(factor).collect(),
        })
    }
}

/// What a batch asks: boards, which output of each, and what the answers follow from.
struct Questions<'t, S> {
    boards: Vec<u8>,
    chosen: Vec<usize>,
    batch: Vec<&'t Transition<S>>,
}

impl<'t, S> Questions<'t, S> {
    fn add(&mut self, image: &Image, position: impl Position, output: usize, t: &'t Transition<S>) {
        let cells = image.cells.iter();
        self.boards.extend(cells.map(|&cell| position.cell(cell)));
        self.chosen.push(output);
        self.batch.push(t);
    }
}

/// A board turned or mirrored.
struct Image {
    /// The cell that is seen in each cell.
    cells: Vec<usize>,
    /// For each of [`ACTIONS`], the number of the slide that it becomes.
    slides: [usize; 4],
}

impl Image {
    /// The output of what a slide becomes.
    fn slide(&self, direction: Direction) -> usize {
        let number = ACTIONS.iter().position(|&action| action == direction);
        number.map_or(usize::MAX, |number| self.slides[number])
    }
}

/// All images of a board of so many rows and columns, or itself alone.
fn images((rows, cols): (usize, usize), all: bool) -> Vec<Image> {
    let itself = || vec![(0..rows * cols).collect()];
    let shape = Shape::new(rows, cols).filter(|_| all);
    // Left and up of the second cell of the second row, right and down of the first cell.
    let pairs = [(cols + 1, cols), (cols + 1, 1), (0, 1), (0, cols)];
    let image = |cells: Vec<usize>| {
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
        Image { cells, slides }
    };
    let cells = shape.map_or_else(itself, Shape::symmetries);
    cells.into_iter().map(image).collect()
}

/// Keeps the streams of a network apart from those of games.
const STREAMS: u64 = 0x4445_4550_0000_0000;

impl<G: Game> ReplayAgent<G> for DqnAgent {
    fn choose(&mut self, game: &G, states: &[G::State], _: &mut Rng, chosen: &mut Vec<Direction>) {
        if let Target::Copy(every) = self.settings.target
            && self.growth.iterations.is_multiple_of(every.max(1))
        {
            self.growth.follower.approach(&self.growth.learner, 1.0);
            self.follower.network.load(&self.growth.follower);
        }
        self.growth.iterations += 1;
        chosen.clear();
        let slides = self.player().choose(game, states).into_iter();
        chosen.extend(slides.map(|slide| slide.unwrap_or(Direction::Up)));
    }

    fn learn(&mut self, game: &G, batch: &[Transition<G::State>]) -> Learned {
        let mut rng = game_rng(self.seed ^ STREAMS, self.growth.adam.steps);
        let Questions {
            boards,
            chosen,
            batch,
        } = self.questions(game, batch, &mut rng);
        if batch.is_empty() {
            return Learned::default();
        }
        let learned = self.learner.network.gradients(&Lesson {
            boards: &boards,
            chosen: &chosen,
            targets: &self.targets(game, &batch),
            dropout: self.dropped(batch.len(), &mut rng).as_ref(),
        });
        let TrainState {
            learner,
            follower,
            adam,
            ..
        } = &mut self.growth;
        adam.step(learner, &learned.gradients);
        self.learner.network.load(learner);
        if let Target::Soft(tau) = self.settings.target {
            follower.approach(learner, tau);
            self.follower.network.load(follower);
        }
        Learned {
            loss: learned.loss,
            value: learned.value,
        }
    }

    fn set_rate(&mut self, rate: f32) {
        self.growth.adam.rate = rate;
    }
}

#[cfg(test)]
mod tests;
