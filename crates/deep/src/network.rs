//! The network: Q of every slide for many boards, and gradients.
//!
//! A convolution with such small kernels is a few shifted copies of its input side by side, and one
//! matrix product: on two cores that is faster than the library's own convolution. Tensors are in
//! the order board, row, column, channel.

use std::io;
use std::ops::Range;
use std::thread::{Builder, ScopedJoinHandle};

use afterstate::machine::keep_freed_memory;
use burn_tensor::activation::relu;
use burn_tensor::{Device, Tensor, TensorData};

use crate::dropout::Dropout;
use crate::parameters::{Architecture, ArchitectureError, Parameters};

/// A network, with its parameters as tensors.
#[derive(Clone)]
pub struct Network {
    architecture: Architecture,
    device: Device,
    tensors: Vec<Tensor<2>>,
    threads: usize,
    /// Outputs are computed for exactly this many boards at a time, if set.
    together: Option<usize>,
}

/// A training batch: boards, and for each the chosen output and its target.
#[derive(Clone, Copy, Debug)]
pub struct TrainingBatch<'a> {
    /// Tile indices, board by board.
    pub boards: &'a [u8],
    /// The number of the chosen output for each board.
    pub chosen: &'a [usize],
    /// The target of that output.
    pub targets: &'a [f32],
    /// The dropout masks.
    pub dropout: &'a [Dropout],
}

impl<'a> TrainingBatch<'a> {
    /// Splits the batch into parts of at most `share` boards, with their numbers; the dropout mask
    /// is not split.
    fn parts(&self, share: usize) -> impl Iterator<Item = (Range<usize>, TrainingBatch<'a>)> {
        let count = self.targets.len().max(1);
        let cells = self.boards.len() / count;
        let batch = *self;
        (0..self.targets.len()).step_by(share).map(move |from| {
            let to = (from + share).min(batch.targets.len());
            let part = TrainingBatch {
                boards: &batch.boards[from * cells..to * cells],
                chosen: &batch.chosen[from..to],
                targets: &batch.targets[from..to],
                ..batch
            };
            (from..to, part)
        })
    }
}

/// The loss and the gradients of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchGradients {
    /// The mean squared error.
    pub loss: f64,
    /// The mean of the chosen outputs.
    pub value: f64,
    /// The gradients of the error.
    pub gradients: Gradients,
}

impl BatchGradients {
    fn plus(mut self, other: Self) -> Self {
        self.loss += other.loss;
        self.value += other.value;
        for (own, other) in self.gradients.0.iter_mut().zip(&other.gradients.0) {
            for (own, other) in own.iter_mut().zip(other) {
                *own += other;
            }
        }
        self
    }
}

/// Works on all parts at once, the last of them on this thread; so are those for which the system
/// refuses a thread.
fn on_threads<P: Clone + Send, T: Send>(
    parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> T + Sync,
) -> Vec<T> {
    let mut parts: Vec<P> = parts.collect();
    let Some(last) = parts.pop() else {
        return Vec::new();
    };
    std::thread::scope(|scope| {
        let work = &work;
        let start = |part: P| {
            let own = part.clone();
            (Builder::new().spawn_scoped(scope, move || work(own)), part)
        };
        let others: Vec<_> = parts.into_iter().map(start).collect();
        let last = work(last);
        let join = |(started, part): (io::Result<ScopedJoinHandle<'_, T>>, P)| match started {
            Ok(thread) => match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Err(_) => work(part),
        };
        let done = others.into_iter().map(join);
        done.chain([last]).collect()
    })
}

/// For each parameter, the derivative of the loss by each of its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients(pub Vec<Vec<f32>>);

impl Network {
    /// Creates a network with these parameters.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn new(
        architecture: &Architecture,
        parameters: &Parameters,
    ) -> Result<Self, ArchitectureError> {
        architecture.maps()?;
        keep_freed_memory();
        let mut network = Self {
            architecture: architecture.clone(),
            device: device(),
            tensors: Vec::new(),
            threads: 1,
            together: None,
        };
        network.load(parameters);
        Ok(network)
    }

    /// Divides every computation among `threads` threads, at least one. Sums differ in their last
    /// digits with the number of threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Computes outputs for exactly `of` boards at a time, padded if necessary: matrix products of
    /// other sizes may differ in their last digits, and a board's outputs must not depend on the
    /// other boards of a batch.
    pub fn in_groups(mut self, of: usize) -> Self {
        self.together = Some(of.max(1));
        self
    }

    /// Its architecture.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Replaces the parameters by others of the same shapes.
    pub fn load(&mut self, parameters: &Parameters) {
        let tensor = |one: &crate::Parameter| matrix(one.values.clone(), one.shape, &self.device);
        self.tensors = parameters.0.iter().map(tensor).collect();
    }

    /// The outputs for each of these boards, board by board.
    pub fn outputs(&self, boards: &[u8]) -> Vec<f32> {
        let cells = self.architecture.cells();
        let compute = |boards: &[u8]| numbers(self.forward(self.input(boards), &self.tensors, &[]));
        if let Some(count) = self.together {
            let group = |part: &[u8]| {
                let mut whole = part.to_vec();
                whole.resize(count * cells, 0);
                let mut outputs = compute(&whole);
                outputs.truncate(part.len() / cells * self.architecture.outputs);
                outputs
            };
            return boards.chunks(count * cells).flat_map(group).collect();
        }
        let share = self.share(boards.len() / cells);
        on_threads(boards.chunks(share * cells), compute).concat()
    }

    /// The mean squared error of a batch, the mean of the chosen outputs, and the gradients of the
    /// error.
    pub fn gradients(&self, batch: &TrainingBatch<'_>) -> BatchGradients {
        let count = batch.targets.len();
        let parts = batch.parts(self.share(count));
        let learned = on_threads(parts, |(boards, part)| {
            self.part_of_gradients(&part, boards, count)
        });
        learned
            .into_iter()
            .reduce(BatchGradients::plus)
            .unwrap_or_default()
    }

    /// The number of boards for each thread.
    fn share(&self, boards: usize) -> usize {
        boards.div_ceil(self.threads).max(1)
    }

    /// The contribution of one part: these boards of a batch of `of`.
    fn part_of_gradients(
        &self,
        batch: &TrainingBatch<'_>,
        boards: Range<usize>,
        all: usize,
    ) -> BatchGradients {
        let count = batch.targets.len();
        let share = count as f64 / all as f64;
        let outputs = self.architecture.outputs;
        let tracked = |tensor: &Tensor<2>| tensor.clone().autodiff().require_grad();
        let tensors: Vec<Tensor<2>> = self.tensors.iter().map(tracked).collect();
        let mut picks = vec![0.0; count * outputs];
        for (row, &chosen) in batch.chosen.iter().enumerate() {
            picks[row * outputs + chosen] = 1.0;
        }
        let constant = |values: Vec<f32>, shape| matrix(values, shape, &self.device).autodiff();
        let picks = constant(picks, [count, outputs]);
        let targets = constant(batch.targets.to_vec(), [count, 1]);
        let mask = |dropout: &Dropout| {
            let width = self.architecture.inputs_of_linear(dropout.layer);
            let factors = dropout.factors[boards.start * width..boards.end * width].to_vec();
            (dropout.layer, constant(factors, [count, width]))
        };
        let masks: Vec<_> = batch.dropout.iter().map(mask).collect();
        let input = self.input(batch.boards).autodiff();
        let picked = (self.forward(input, &tensors, &masks) * picks).sum_dim(1);
        let error = picked.clone() - targets;
        let loss = (error.clone() * error).mean();
        let loss = loss.mul_scalar(share);
        let mut found = loss.backward();
        let gradient = |tensor: &Tensor<2>| {
            let found = tensor.grad_remove(&mut found);
            numbers(found.expect("every parameter has its part in the outputs"))
        };
        BatchGradients {
            gradients: Gradients(tensors.iter().map(gradient).collect()),
            loss: f64::from(scalar(loss.inner())),
            value: share * f64::from(scalar(picked.inner().mean())),
        }
    }

    /// One-hot encoding of the tile in each cell.
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
        dropout: &[(usize, Tensor<2>)],
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
        let leave_out = |x: Tensor<2>, here: usize| {
            let masks = dropout.iter().filter(|(layer, _)| *layer == here);
            masks.fold(x, |x, (_, factors)| x * factors.clone())
        };
        let hidden = self.architecture.hidden.len();
        for layer in 0..hidden {
            x = linear(leave_out(x, layer));
            if self.architecture.hidden_relu {
                x = relu(x);
            }
        }
        linear(leave_out(x, hidden))
    }
}

/// The device that computes: the GPU with the feature `gpu`, else the CPU.
fn device() -> Device {
    #[cfg(feature = "gpu")]
    return Device::wgpu(burn_tensor::DeviceKind::DefaultDevice);
    #[cfg(not(feature = "gpu"))]
    Device::flex()
}

fn matrix(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn numbers(tensor: Tensor<2>) -> Vec<f32> {
    let numbers = tensor.into_data().try_into_vec();
    numbers.expect("all our tensors are of f32")
}

fn scalar(tensor: Tensor<1>) -> f32 {
    let numbers = tensor.into_data().try_into_vec::<f32>();
    numbers.expect("all our tensors are of f32")[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::random::game_rng;
    use afterstate::replay::InitialWeights;

    fn tiny() -> (Architecture, Parameters) {
        let architecture = Architecture {
            board: (2, 3),
            tiles: 4,
            convolutions: vec![(2, 1), (1, 2)],
            filters: 3,
            hidden: vec![7, 5],
            hidden_relu: true,
            outputs: 4,
        };
        let parameters =
            Parameters::random(&architecture, InitialWeights::Torch, &mut game_rng(1, 1)).unwrap();
        (architecture, parameters)
    }

    const BOARDS: [u8; 18] = [0, 1, 2, 3, 1, 0, 2, 2, 0, 1, 3, 3, 1, 0, 0, 2, 3, 9];

    /// Every gradient against the finite difference of the loss.
    #[test]
    fn gradients_are_those_of_the_loss() {
        let (architecture, parameters) = tiny();
        let dropout = |layer: usize| {
            let factor = |n| if n % 4 == 0 { 0.0 } else { 1.25 };
            let width = architecture.inputs_of_linear(layer);
            let factors = (0..3 * width).map(factor).collect();
            Dropout { layer, factors }
        };
        // After the convolutions, between the hidden layers, and before the outputs.
        let layers = [0, 1, 2].map(dropout);
        for masks in [
            &layers[..0],
            &layers[..1],
            &layers[1..2],
            &layers[2..],
            &layers,
        ] {
            let batch = TrainingBatch {
                boards: &BOARDS,
                chosen: &[1, 3, 0],
                targets: &[2.0, -1.0, 0.5],
                dropout: masks,
            };
            let mut network = Network::new(&architecture, &parameters).unwrap();
            let BatchGradients {
                loss,
                value,
                gradients,
            } = network.gradients(&batch);
            assert!(loss > 0.1);
            // Several threads give the same result, up to the last digits.
            for threads in [2, 3, 4] {
                let shared = network.clone().with_threads(threads);
                let other = shared.gradients(&batch);
                assert!((other.loss - loss).abs() < 1e-5 && (other.value - value).abs() < 1e-5);
                let pairs = gradients
                    .0
                    .concat()
                    .into_iter()
                    .zip(other.gradients.0.concat());
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
                assert_eq!(shared.outputs(&BOARDS), network.outputs(&BOARDS));
            }
            let (mut checked, mut moving) = (0, 0);
            for (n, one) in parameters.0.iter().enumerate() {
                for place in (0..one.values.len()).step_by(3) {
                    let mut loss_at = |change: f32| {
                        let mut changed = parameters.clone();
                        changed.0[n].values[place] += change;
                        network.load(&changed);
                        network.gradients(&batch).loss
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
                    moving += usize::from(found.abs() > 2e-2);
                }
            }
            assert!(checked > 30 && moving > 15, "{moving} of {checked}");
        }
    }

    /// In groups, a board's outputs do not depend on the other boards, to the last bit: evaluations
    /// rely on it.
    #[test]
    fn outputs_do_not_depend_on_the_other_boards() {
        let architecture = Architecture {
            board: (4, 4),
            tiles: 16,
            convolutions: vec![(2, 1), (1, 2)],
            filters: 64,
            hidden: vec![16],
            hidden_relu: true,
            outputs: 4,
        };
        let parameters =
            Parameters::random(&architecture, InitialWeights::Torch, &mut game_rng(1, 1)).unwrap();
        let network = Network::new(&architecture, &parameters).unwrap();
        let network = network.in_groups(64);
        let mut rng = game_rng(2, 2);
        let boards: Vec<u8> = (0..130 * 16).map(|_| rng.below(12) as u8).collect();
        let all = network.outputs(&boards);
        for count in [1, 2, 3, 7, 31, 32, 63, 64, 65, 129] {
            let some = network.outputs(&boards[..16 * count]);
            assert_eq!(some, all[..4 * count], "{count}");
        }
        // Nor do they depend on its position in the batch.
        let last = network.outputs(&boards[129 * 16..]);
        assert_eq!(last, all[129 * 4..]);
    }

    /// The same with plain loops, by the definition.
    #[test]
    fn outputs_agree_with_the_definition() {
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
            let hidden = relu(layer(3, &relu(layer(2, &second.concat()))));
            for (found, expected) in outputs.iter().zip(layer(4, &hidden)) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
