//! The numbers of a network, and how it is built.

use afterstate::random::Rng;
use thiserror::Error;

/// What a network consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Rows and columns of the board.
    pub board: (usize, usize),
    /// How many tiles are told apart, the empty cell among them; larger ones look like the last.
    pub tiles: usize,
    /// The kernels of the convolutions, rows and columns of each; no padding, ReLU behind each.
    pub convolutions: Vec<(usize, usize)>,
    /// The filters of each convolution.
    pub filters: usize,
    /// The widths of the linear layers between the convolutions and the outputs, ReLU behind each.
    pub hidden: Vec<usize>,
    /// The outputs: a slide each.
    pub outputs: usize,
}

/// An architecture that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchitectureError {
    /// A kernel larger than what is left of the board.
    #[error("convolution {number} has a kernel of {}x{}, and {}x{} are left of the board", kernel.0, kernel.1, left.0, left.1)]
    Kernel {
        /// Its number, from 1.
        number: usize,
        /// Its kernel.
        kernel: (usize, usize),
        /// What it would look at.
        left: (usize, usize),
    },
    /// A layer of nothing.
    #[error("{0} must not be 0")]
    Nothing(&'static str),
}

impl Architecture {
    /// R4's: four convolutions of 256 filters with kernels of two cells, and a linear layer of 16.
    pub fn r4(outputs: usize) -> Self {
        Self {
            board: (4, 4),
            tiles: 16,
            convolutions: vec![(2, 1), (1, 2), (2, 1), (1, 2)],
            filters: 256,
            hidden: vec![16],
            outputs,
        }
    }

    /// Cells of the board.
    pub fn cells(&self) -> usize {
        self.board.0 * self.board.1
    }

    /// What is left of the board after each convolution.
    ///
    /// # Errors
    /// When a kernel does not fit, or there is nothing to build.
    pub fn maps(&self) -> Result<Vec<(usize, usize)>, ArchitectureError> {
        let counts = [
            ("the number of tiles", self.tiles),
            ("the number of filters", self.filters),
            ("the number of outputs", self.outputs),
            (
                "the width of a hidden layer",
                self.hidden.iter().copied().min().unwrap_or(1),
            ),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(ArchitectureError::Nothing(name));
        }
        let mut left = self.board;
        let mut maps = Vec::new();
        for (n, &kernel) in self.convolutions.iter().enumerate() {
            let fits = 1..=left.0;
            if !fits.contains(&kernel.0) || !(1..=left.1).contains(&kernel.1) {
                let number = n + 1;
                return Err(ArchitectureError::Kernel {
                    number,
                    kernel,
                    left,
                });
            }
            left = (left.0 + 1 - kernel.0, left.1 + 1 - kernel.1);
            maps.push(left);
        }
        Ok(maps)
    }

    /// Name, inputs and outputs of every layer: a matrix each, and a row of biases.
    pub(crate) fn layers(&self) -> Result<Vec<(String, usize, usize)>, ArchitectureError> {
        let maps = self.maps()?;
        let mut layers = Vec::new();
        let mut channels = self.tiles;
        for (n, kernel) in self.convolutions.iter().enumerate() {
            let inputs = kernel.0 * kernel.1 * channels;
            layers.push((format!("conv{}", n + 1), inputs, self.filters));
            channels = self.filters;
        }
        let (rows, cols) = maps.last().copied().unwrap_or(self.board);
        let mut width = rows * cols * channels;
        for (n, &next) in self.hidden.iter().chain([&self.outputs]).enumerate() {
            layers.push((format!("linear{}", n + 1), width, next));
            width = next;
        }
        Ok(layers)
    }
}

/// A matrix by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `conv1.weight`, `conv1.bias`, `linear1.weight`, ...
    pub name: String,
    /// Rows (inputs; 1 of a bias) and columns (outputs).
    pub shape: [usize; 2],
    /// The numbers.
    pub values: Vec<f32>,
}

/// All numbers of a network: the weight and the bias of each layer in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(pub Vec<Parameter>);

impl Parameters {
    /// New ones: uniform within 1 / sqrt(inputs), as PyTorch has it for both kinds of layers.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn random(architecture: &Architecture, rng: &mut Rng) -> Result<Self, ArchitectureError> {
        let mut all = Vec::new();
        for (name, inputs, outputs) in architecture.layers()? {
            let bound = 1.0 / (inputs as f64).sqrt();
            let mut number = |_| ((2.0 * rng.unit() - 1.0) * bound) as f32;
            all.push(Parameter {
                name: format!("{name}.weight"),
                shape: [inputs, outputs],
                values: (0..inputs * outputs).map(&mut number).collect(),
            });
            all.push(Parameter {
                name: format!("{name}.bias"),
                shape: [1, outputs],
                values: (0..outputs).map(&mut number).collect(),
            });
        }
        Ok(Self(all))
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|one| one.values.len()).sum()
    }

    /// Whether all of them are finite.
    pub fn are_finite(&self) -> bool {
        let mut all = self.0.iter().flat_map(|one| &one.values);
        all.all(|value| value.is_finite())
    }

    /// Moves towards others by a share of the way; 1 makes them equal.
    pub fn approach(&mut self, others: &Self, share: f32) {
        for (own, other) in self.0.iter_mut().zip(&others.0) {
            for (own, other) in own.values.iter_mut().zip(&other.values) {
                *own = if share == 1.0 {
                    *other
                } else {
                    *own + share * (*other - *own)
                };
            }
        }
    }
}
