//! The network itself: Q of every slide of many boards, and which way the parameters have to move.
//!
//! A convolution of such small kernels is a few shifted copies of its input side by side, and one product of matrices: on two cores that
//! is faster than the library's own convolution. Numbers are by board, row, column, channel.

use burn_tensor::activation::relu;
use burn_tensor::{Device, Tensor, TensorData};

use crate::parameters::{Architecture, ArchitectureError, Parameters};

/// A network, its parameters at hand for computing.
pub struct Network {
    architecture: Architecture,
    device: Device,
    tensors: Vec<Tensor<2>>,
}

/// What to learn: boards, and for each the output that was chosen and what it should have been.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Tile indices, board by board.
    pub boards: &'a [u8],
    /// The number of an output for each.
    pub chosen: &'a [usize],
    /// What it should be.
    pub targets: &'a [f32],
    /// For each board, what the last layer but one is multiplied by, number by number: 0 or 1 / (1 - rate) with dropout, nothing
    /// without.
    pub dropout: Option<&'a [f32]>,
}

/// For each parameter, how much the loss grows with each of its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients(pub Vec<Vec<f32>>);

impl Network {
    /// With these parameters.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        parameters: &Parameters,
    ) -> Result<Self, ArchitectureError> {
        architecture.maps()?;
        let mut network = Self {
            architecture: architecture.clone(),
            device: Device::flex(),
            tensors: Vec::new(),
        };
        network.load(parameters);
        Ok(network)
    }

    /// Takes other parameters of the same shapes.
    pub fn load(&mut self, parameters: &Parameters) {
        let tensor = |one: &crate::Parameter| matrix(one.values.clone(), one.shape, &self.device);
        self.tensors = parameters.0.iter().map(tensor).collect();
    }

    /// The outputs for each of these boards, board by board.
    pub fn outputs(&self, boards: &[u8]) -> Vec<f32> {
        let input = self.input(boards);
        numbers(self.forward(input, &self.tensors, None))
    }

    /// The mean squared error of a lesson, the mean of the chosen outputs, and the gradients of the error.
    pub fn gradients(&self, lesson: &Lesson<'_>) -> (f64, f64, Gradients) {
        let count = lesson.targets.len();
        let outputs = self.architecture.outputs;
        let tracked = |tensor: &Tensor<2>| tensor.clone().autodiff().require_grad();
        let tensors: Vec<Tensor<2>> = self.tensors.iter().map(tracked).collect();
        let mut picks = vec![0.0; count * outputs];
        for (row, &chosen) in lesson.chosen.iter().enumerate() {
            picks[row * outputs + chosen] = 1.0;
        }
        let constant = |values: Vec<f32>, shape| matrix(values, shape, &self.device).autodiff();
        let picks = constant(picks, [count, outputs]);
        let targets = constant(lesson.targets.to_vec(), [count, 1]);
        let dropout = lesson
            .dropout
            .map(|factors| constant(factors.to_vec(), [count, factors.len() / count.max(1)]));
        let input = self.input(lesson.boards).autodiff();
        let picked = (self.forward(input, &tensors, dropout) * picks).sum_dim(1);
        let error = picked.clone() - targets;
        let loss = (error.clone() * error).mean();
        let mut found = loss.backward();
        let gradient = |tensor: &Tensor<2>| {
            let found = tensor.grad_remove(&mut found);
            found.map_or_else(Vec::new, numbers)
        };
        let gradients = Gradients(tensors.iter().map(gradient).collect());
        let mean = |tensor: Tensor<1>| f64::from(scalar(tensor));
        (mean(loss.inner()), mean(picked.inner().mean()), gradients)
    }

    /// A one for the tile of each cell.
    fn input(&self, boards: &[u8]) -> Tensor<4> {
        let Architecture { tiles, board, .. } = self.architecture;
        let count = boards.len() / self.architecture.cells();
        let mut ones = vec![0.0_f32; boards.len() * tiles];
        for (cell, &tile) in boards.iter().enumerate() {
            ones[cell * tiles + usize::from(tile).min(tiles - 1)] = 1.0;
        }
        let shape = [count, board.0, board.1, tiles];
        Tensor::from_data(TensorData::new(ones, shape), &self.device)
    }

    fn forward(
        &self,
        input: Tensor<4>,
        tensors: &[Tensor<2>],
        dropout: Option<Tensor<2>>,
    ) -> Tensor<2> {
        let mut layers = tensors.chunks_exact(2);
        let mut linear = |x: Tensor<2>| match layers.next() {
            Some([weight, bias]) => x.matmul(weight.clone()) + bias.clone(),
            _ => x,
        };
        let mut maps = input;
        for &(rows, cols) in &self.architecture.convolutions {
            let [count, height, width, channels] = maps.dims();
            let (height, width) = (height + 1 - rows, width + 1 - cols);
            let mut shifted = Vec::new();
            for row in 0..rows {
                for col in 0..cols {
                    let part = maps.clone().narrow(1, row, height);
                    shifted.push(part.narrow(2, col, width));
                }
            }
            let inputs = rows * cols * channels;
            let side_by_side = Tensor::cat(shifted, 3).reshape([count * height * width, inputs]);
            let filtered = relu(linear(side_by_side));
            maps = filtered.reshape([count, height, width, self.architecture.filters]);
        }
        let [count, height, width, channels] = maps.dims();
        let mut x = maps.reshape([count, height * width * channels]);
        for _ in &self.architecture.hidden {
            x = relu(linear(x));
        }
        if let Some(factors) = dropout {
            x = x * factors;
        }
        linear(x)
    }
}

fn matrix(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn numbers(tensor: Tensor<2>) -> Vec<f32> {
    // All our tensors are of f32, and an empty answer would be noticed at once.
    tensor.into_data().try_into_vec().unwrap_or_default()
}

fn scalar(tensor: Tensor<1>) -> f32 {
    let value: Vec<f32> = tensor.into_data().try_into_vec().unwrap_or_default();
    value.first().copied().unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::random::game_rng;

    fn tiny() -> (Architecture, Parameters) {
        let architecture = Architecture {
            board: (2, 3),
            tiles: 4,
            convolutions: vec![(2, 1), (1, 2)],
            filters: 3,
            hidden: vec![5],
            outputs: 4,
        };
        let parameters = Parameters::random(&architecture, &mut game_rng(1, 1)).unwrap();
        (architecture, parameters)
    }

    const BOARDS: [u8; 18] = [0, 1, 2, 3, 1, 0, 2, 2, 0, 1, 3, 3, 1, 0, 0, 2, 3, 9];

    /// Every gradient beside the difference that a small change makes.
    #[test]
    fn gradients_are_those_of_the_loss() {
        let (architecture, parameters) = tiny();
        let factors: Vec<f32> = (0..15)
            .map(|n| if n % 4 == 0 { 0.0 } else { 1.25 })
            .collect();
        for dropout in [None, Some(&factors[..])] {
            let lesson = Lesson {
                boards: &BOARDS,
                chosen: &[1, 3, 0],
                targets: &[2.0, -1.0, 0.5],
                dropout,
            };
            let mut network = Network::new(&architecture, &parameters).unwrap();
            let (loss, _, gradients) = network.gradients(&lesson);
            assert!(loss > 0.1);
            let (mut checked, mut moving) = (0, 0);
            for (n, one) in parameters.0.iter().enumerate() {
                for place in (0..one.values.len()).step_by(3) {
                    let mut loss_at = |change: f32| {
                        let mut changed = parameters.clone();
                        changed.0[n].values[place] += change;
                        network.load(&changed);
                        network.gradients(&lesson).0
                    };
                    let step = 1e-2;
                    let slope = (loss_at(step) - loss_at(-step)) / (2.0 * f64::from(step));
                    let found = f64::from(gradients.0[n][place]);
                    let near = (slope - found).abs() < 2e-3 + 0.02 * slope.abs();
                    assert!(
                        near,
                        "{} {place}: {found}, by differences {slope}",
                        one.name
                    );
                    checked += 1;
                    moving += usize::from(found.abs() > 1e-3);
                }
            }
            assert!(checked > 30 && moving > 15, "{moving} of {checked}");
        }
    }

    /// The same by loops, as the words say it.
    #[test]
    fn outputs_are_those_of_the_definition() {
        let (architecture, parameters) = tiny();
        let network = Network::new(&architecture, &parameters).unwrap();
        let outputs = network.outputs(&BOARDS);
        for (board, outputs) in BOARDS.chunks(6).zip(outputs.chunks(4)) {
            let layer = |n: usize, input: &[f32]| -> Vec<f32> {
                let (weight, bias) = (&parameters.0[2 * n], &parameters.0[2 * n + 1]);
                let width = weight.shape[1];
                let of = |column: usize| {
                    let products = input
                        .iter()
                        .enumerate()
                        .map(|(row, x)| x * weight.values[row * width + column]);
                    bias.values[column] + products.sum::<f32>()
                };
                (0..width).map(of).collect()
            };
            let relu = |x: Vec<f32>| -> Vec<f32> { x.into_iter().map(|x| x.max(0.0)).collect() };
            let one_hot = |cell: usize| -> Vec<f32> {
                let tile = usize::from(board[cell]).min(3);
                (0..4).map(|n| f32::from(u8::from(n == tile))).collect()
            };
            // Two rows become one: each column with the one below it.
            let first: Vec<Vec<f32>> = (0..3)
                .map(|col| relu(layer(0, &[one_hot(col), one_hot(3 + col)].concat())))
                .collect();
            // Three columns become two.
            let second: Vec<Vec<f32>> = (0..2)
                .map(|col| relu(layer(1, &first[col..col + 2].concat())))
                .collect();
            let hidden = relu(layer(2, &second.concat()));
            for (found, expected) in outputs.iter().zip(layer(3, &hidden)) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
