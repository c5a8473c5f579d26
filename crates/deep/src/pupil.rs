//! Deep learning from memory: R4's deep Q-learning with every trick a switch, and values of afterstates.
//!
//! Q(s, a) moves towards r + discount max Q'(s', a'), where Q' is that of a copy of the network that follows it slowly. The network may leave out r, which
//! the rules know, and V of an afterstate always does: r' + V' in place of Q'. What is stored and learned is the slide that was made, never the one that was wanted and
//! illegal.

use afterstate::game::{Direction, Game, Position, Shape};
use afterstate::random::{Rng, game_rng};
use afterstate::replay::{Learned, Pupil, Transition};

use crate::adam::{Adam, Decay};
use crate::network::{Dropout, Lesson, Network, Place};
use crate::parameters::{Architecture, ArchitectureError, Initial, Parameters};
use crate::player::{ACTIONS, Meaning, Of, Player, Worth};

/// How the copy follows the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// It is made anew after so many iterations.
    Copy(u64),
    /// By a share of the way after each update.
    Soft(f32),
}

/// All switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What the network begins with.
    pub initial: Initial,
    /// What the outputs are.
    pub meaning: Meaning,
    /// What is earned a move later counts so much.
    pub discount: f32,
    /// Whether the best slide of s' is sought among the legal ones alone. Afterstates are always of legal ones.
    pub mask: bool,
    /// The learning rate of Adam.
    pub rate: f32,
    /// Its decay of weights.
    pub decay: Decay,
    /// How the copy follows.
    pub target: Target,
    /// Whether the network says which slide of s' is best, and the copy what it is worth.
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
            meaning: Meaning {
                of: Of::Actions(crate::Fallback::Value),
                known_rewards: false,
                scale: 256.0,
            },
            discount: 0.99,
            mask: true,
            rate: 1e-4,
            decay: Decay::None,
            target: Target::Copy(10),
            double: false,
            dropout: (0.0, Place::Hidden),
            turn: false,
        }
    }
}

/// All that changes when learning.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The numbers of the network.
    pub parameters: Parameters,
    /// Those of the copy.
    pub follower: Parameters,
    /// What moves the network.
    pub adam: Adam,
    /// Iterations so far.
    pub iterations: u64,
}

/// A network that learns.
pub struct DeepPupil {
    settings: Settings,
    seed: u64,
    growth: Growth,
    player: Player,
    copy: Network,
    /// The images that it learns by; the board as it is comes first.
    images: Vec<Image>,
}

impl DeepPupil {
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
        Ok(Self {
            player: Player::new(architecture, &parameters, settings.meaning, threads)?,
            copy: Network::new(architecture, &parameters)?.with_threads(threads),
            growth: Growth {
                adam: Adam::new(&parameters, settings.rate, settings.decay),
                follower: parameters.clone(),
                parameters,
                iterations: 0,
            },
            images: images(architecture.board, settings.turn),
            settings,
            seed,
        })
    }

    /// Its network, ready to play.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// All that has changed since it was new.
    pub fn growth(&self) -> &Growth {
        &self.growth
    }

    /// Goes on from there.
    pub fn go_on(&mut self, growth: Growth) {
        self.growth = growth;
        self.player.network.load(&self.growth.parameters);
        self.copy.load(&self.growth.follower);
    }

    /// What the outputs should be for each of these transitions.
    fn targets<G: Game>(&self, game: &G, batch: &[&Transition<G::State>]) -> Vec<f32> {
        let Meaning {
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
            // Without the slide's own reward there is still what the new tile brought.
            let earned = (t.reward - own) as f32 + t.later;
            earned / scale + self.settings.discount.powi(t.steps as i32) * rest
        };
        batch.iter().zip(rest).map(target).collect()
    }

    /// What the best slide of each state is worth, by Q.
    fn rest_by_actions<G: Game>(&self, game: &G, states: &[G::State]) -> Vec<f32> {
        let later = self.player.actions(game, states, &self.copy);
        let judged = match self.settings.double {
            true => self.player.actions(game, states, &self.player.network),
            false => later.clone(),
        };
        let outputs = self.player.network.architecture().outputs;
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
        let later = self.player.ahead(game, states, &self.copy);
        let judged = match self.settings.double {
            true => self.player.ahead(game, states, &self.player.network),
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
        let outputs = self.player.network.architecture().outputs;
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
        let width = place.width(self.player.network.architecture());
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

impl<G: Game> Pupil<G> for DeepPupil {
    fn choose(&mut self, game: &G, states: &[G::State], _: &mut Rng, chosen: &mut Vec<Direction>) {
        if let Target::Copy(every) = self.settings.target
            && self.growth.iterations.is_multiple_of(every.max(1))
        {
            self.growth.follower.approach(&self.growth.parameters, 1.0);
            self.copy.load(&self.growth.follower);
        }
        self.growth.iterations += 1;
        chosen.clear();
        let slides = self.player.choose(game, states).into_iter();
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
        let learned = self.player.network.gradients(&Lesson {
            boards: &boards,
            chosen: &chosen,
            targets: &self.targets(game, &batch),
            dropout: self.dropped(batch.len(), &mut rng).as_ref(),
        });
        let Growth {
            parameters,
            follower,
            adam,
            ..
        } = &mut self.growth;
        adam.step(parameters, &learned.gradients);
        self.player.network.load(parameters);
        if let Target::Soft(tau) = self.settings.target {
            follower.approach(parameters, tau);
            self.copy.load(follower);
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
