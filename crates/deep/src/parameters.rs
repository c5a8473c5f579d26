//! The parameters of a network, and its architecture.

use std::f64::consts::TAU;

use afterstate::format::native::NamedArray;
use afterstate::random::Rng;
use afterstate::replay::InitialWeights;
use thiserror::Error;

/// The architecture of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Rows and columns of the board.
    pub board: (usize, usize),
    /// The number of distinguished tiles, including the empty cell; larger tiles count as the last
    /// one.
    pub tiles: usize,
    /// The kernels of the convolutions, rows and columns of each; no padding, a ReLU after each.
    pub convolutions: Vec<(usize, usize)>,
    /// The filters of each convolution.
    pub filters: usize,
    /// The widths of the linear layers between the convolutions and the outputs.
    pub hidden: Vec<usize>,
    /// Whether a ReLU follows each hidden layer, as it does every convolution.
    pub hidden_relu: bool,
    /// The number of outputs: one for each slide.
    pub outputs: usize,
}

/// Why an architecture cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArchitectureError {
    /// A kernel larger than the feature map.
    #[error("convolution {number} has a kernel of {}x{}, and {}x{} are left of the board", kernel.0, kernel.1, left.0, left.1)]
    Kernel {
        /// Its number, from 1.
        number: usize,
        /// Its kernel.
        kernel: (usize, usize),
        /// The size of the feature map.
        left: (usize, usize),
    },
    /// A layer of size 0.
    #[error("{0} must not be 0")]
    Nothing(&'static str),
}

impl Architecture {
    /// The number of cells of the board.
    pub fn cells(&self) -> usize {
        self.board.0 * self.board.1
    }

    /// The size of the feature map after each convolution.
    ///
    /// # Errors
    /// When a kernel does not fit, or a layer is empty.
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

    /// The number of outputs of the last convolution.
    pub fn flat(&self) -> usize {
        let maps = self.maps().ok();
        let last = maps.and_then(|maps| maps.last().copied());
        let channels = last.map_or(self.tiles, |_| self.filters);
        let (rows, cols) = last.unwrap_or(self.board);
        rows * cols * channels
    }

    /// The number of inputs of a linear layer, counted from 0, which follows the convolutions.
    pub fn inputs_of_linear(&self, layer: usize) -> usize {
        let before = layer.checked_sub(1).and_then(|n| self.hidden.get(n));
        before.copied().unwrap_or_else(|| self.flat())
    }

    /// The number of parameters.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn count(&self) -> Result<usize, ArchitectureError> {
        let layers = self.layers()?.into_iter();
        Ok(layers
            .map(|(_, inputs, outputs)| (inputs + 1) * outputs)
            .sum())
    }

    /// The number of activations for a board: the input, and the unfolded input and the output of
    /// each layer.
    pub fn numbers_of_a_board(&self) -> usize {
        let maps = self.maps().unwrap_or_default();
        let mut numbers = self.cells() * self.tiles;
        let mut channels = self.tiles;
        for ((rows, cols), kernel) in maps.into_iter().zip(&self.convolutions) {
            numbers += rows * cols * (kernel.0 * kernel.1 * channels + self.filters);
            channels = self.filters;
        }
        numbers + self.flat() + self.hidden.iter().sum::<usize>() + self.outputs
    }

    /// Name, inputs and outputs of every layer: each has a matrix and a row of biases.
    pub(crate) fn layers(&self) -> Result<Vec<(String, usize, usize)>, ArchitectureError> {
        self.maps()?;
        let mut layers = Vec::new();
        let mut channels = self.tiles;
        for (n, kernel) in self.convolutions.iter().enumerate() {
            let inputs = kernel.0 * kernel.1 * channels;
            layers.push((format!("conv{}", n + 1), inputs, self.filters));
            channels = self.filters;
        }
        let mut width = self.flat();
        for (n, &next) in self.hidden.iter().chain([&self.outputs]).enumerate() {
            layers.push((format!("linear{}", n + 1), width, next));
            width = next;
        }
        Ok(layers)
    }
}

/// Conversion to PyTorch's order of parameters.
impl Architecture {
    /// The kernel of a convolution and its input channels; for a linear layer after convolutions,
    /// the feature map and its channels. We order these inputs by row, column and channel.
    fn window(&self, one: &Parameter) -> Option<((usize, usize), usize)> {
        let layer = one.name.strip_suffix(".weight")?;
        if let Some(number) = layer.strip_prefix("conv") {
            let n = number.parse::<usize>().ok()?.checked_sub(1)?;
            let channels = if n == 0 { self.tiles } else { self.filters };
            return Some((*self.convolutions.get(n)?, channels));
        }
        let maps = self.maps().ok()?;
        let channels = maps.last().map_or(self.tiles, |_| self.filters);
        let left = maps.last().copied().unwrap_or(self.board);
        (layer == "linear1").then_some((left, channels))
    }

    /// Names and shapes of all arrays of a file.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn arrays(&self) -> Result<Vec<(String, Vec<usize>)>, ArchitectureError> {
        let layers = self.layers()?.into_iter();
        let arrays = layers.flat_map(|(name, inputs, outputs)| {
            let both = [("weight", [inputs, outputs]), ("bias", [1, outputs])];
            both.map(|(kind, shape)| {
                let one = Parameter {
                    name: format!("{name}.{kind}"),
                    shape,
                    values: Vec::new(),
                };
                (one.name.clone(), self.torch_shape(&one))
            })
        });
        Ok(arrays.collect())
    }

    fn torch_shape(&self, one: &Parameter) -> Vec<usize> {
        let [inputs, outputs] = one.shape;
        match self.window(one) {
            _ if one.name.ends_with(".bias") => vec![outputs],
            Some(((rows, cols), channels)) if one.name.starts_with("conv") => {
                vec![outputs, channels, rows, cols]
            }
            _ => vec![outputs, inputs],
        }
    }

    /// For each of our numbers, its index in PyTorch's array.
    fn places(&self, one: &Parameter) -> impl Iterator<Item = usize> + use<> {
        let [inputs, outputs] = one.shape;
        let window = self.window(one);
        (0..inputs * outputs).map(move |n| {
            let (input, output) = (n / outputs, n % outputs);
            let input = match window {
                Some(((rows, cols), channels)) => {
                    let (cell, channel) = (input / channels, input % channels);
                    channel * rows * cols + cell
                }
                None => input,
            };
            output * inputs + input
        })
    }
}

/// A matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `conv1.weight`, `conv1.bias`, `linear1.weight`, ...
    pub name: String,
    /// Rows (inputs; 1 for a bias) and columns (outputs).
    pub shape: [usize; 2],
    /// The numbers.
    pub values: Vec<f32>,
}

/// All parameters of a network: the weight and the bias of each layer in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(pub Vec<Parameter>);

/// Draws an initial number of a layer with this many inputs.
fn initial_number(initial: InitialWeights, is_bias: bool, inputs: usize, rng: &mut Rng) -> f32 {
    let inputs = inputs as f64;
    let mut within = |bound: f64| (2.0 * rng.unit() - 1.0) * bound;
    let number = match initial {
        InitialWeights::Torch => within((1.0 / inputs).sqrt()),
        InitialWeights::He => within(if is_bias { 0.0 } else { (6.0 / inputs).sqrt() }),
        InitialWeights::Lecun if is_bias => 0.0,
        InitialWeights::Lecun => normal(rng) * (1.0 / inputs).sqrt(),
    };
    number as f32
}

/// A number of the standard normal distribution, by Box and Muller (1958).
fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.unit(), rng.unit());
    (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
}

impl Parameters {
    /// Draws initial parameters.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn random(
        architecture: &Architecture,
        initial: InitialWeights,
        rng: &mut Rng,
    ) -> Result<Self, ArchitectureError> {
        let mut all = Self::zeros(architecture)?;
        let mut inputs = 1;
        for one in &mut all.0 {
            // A bias follows its weights.
            inputs = inputs.max(one.shape[0]);
            let is_bias = one.name.ends_with(".bias");
            let number = || initial_number(initial, is_bias, inputs, rng);
            one.values.fill_with(number);
            if is_bias {
                inputs = 1;
            }
        }
        Ok(all)
    }

    /// Converts to PyTorch's order: convolutions by output, input, row and column, and linear
    /// layers by output and input, where inputs from convolutions are by channel, row and column.
    pub fn to_torch(&self, architecture: &Architecture) -> Vec<NamedArray> {
        let array = |one: &Parameter| {
            let places = architecture.places(one);
            let mut values = vec![0.0; one.values.len()];
            for (&value, place) in one.values.iter().zip(places) {
                values[place] = value;
            }
            NamedArray {
                name: one.name.clone(),
                shape: architecture.torch_shape(one),
                values,
            }
        };
        self.0.iter().map(array).collect()
    }

    /// The inverse of [`Parameters::to_torch`], array by array: `read` gets the name and the count
    /// of each, and returns its values.
    ///
    /// # Errors
    /// When the architecture cannot be built, or `read` fails.
    pub fn from_torch<E: From<ArchitectureError>>(
        architecture: &Architecture,
        mut read: impl FnMut(&str, usize) -> Result<Vec<f32>, E>,
    ) -> Result<Self, E> {
        let mut all = Self::zeros(architecture)?;
        for one in &mut all.0 {
            let values = read(&one.name, one.values.len())?;
            let places = architecture.places(one);
            for (own, place) in one.values.iter_mut().zip(places) {
                *own = values[place];
            }
        }
        Ok(all)
    }

    /// All parameters 0.
    ///
    /// # Errors
    /// When the architecture cannot be built.
    pub fn zeros(architecture: &Architecture) -> Result<Self, ArchitectureError> {
        let one = |name: String, shape: [usize; 2]| Parameter {
            name,
            shape,
            values: vec![0.0; shape[0] * shape[1]],
        };
        let layers = architecture.layers()?.into_iter();
        let both = layers.flat_map(|(name, inputs, outputs)| {
            [
                one(format!("{name}.weight"), [inputs, outputs]),
                one(format!("{name}.bias"), [1, outputs]),
            ]
        });
        Ok(Self(both.collect()))
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.0.iter().map(|one| one.values.len()).sum()
    }

    /// Moves by a share of the difference towards others; 1 makes them equal.
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

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::random::game_rng;

    fn architecture() -> Architecture {
        Architecture {
            board: (3, 4),
            tiles: 5,
            convolutions: vec![(2, 1), (1, 3)],
            filters: 7,
            hidden: vec![6, 3],
            hidden_relu: true,
            outputs: 4,
        }
    }

    #[test]
    fn names_shapes_and_places_are_those_of_pytorch() {
        let architecture = architecture();
        let mut rng = game_rng(1, 1);
        let parameters =
            Parameters::random(&architecture, InitialWeights::Torch, &mut rng).unwrap();
        let arrays = parameters.to_torch(&architecture);
        let shape = |name: &str| {
            let found = arrays.iter().find(|array| array.name == name);
            found.unwrap().shape.clone()
        };
        assert_eq!(shape("conv1.weight"), [7, 5, 2, 1]);
        assert_eq!(shape("conv1.bias"), [7]);
        assert_eq!(shape("conv2.weight"), [7, 7, 1, 3]);
        // The feature map has two rows and two columns.
        assert_eq!(shape("linear1.weight"), [6, 7 * 2 * 2]);
        assert_eq!(shape("linear3.weight"), [4, 3]);
        assert_eq!(shape("linear3.bias"), [4]);
        // The weight of output 3, channel 2, second row of the kernel.
        let (ours, theirs) = (&parameters.0[0], &arrays[0]);
        assert_eq!(
            theirs.values[3 * 10 + 2 * 2 + 1],
            ours.values[(5 + 2) * 7 + 3]
        );
        // The weight of output 5 for channel 4 at row 1, column 0 of the feature map.
        let (ours, theirs) = (&parameters.0[4], &arrays[4]);
        assert_eq!(theirs.name, "linear1.weight");
        assert_eq!(
            theirs.values[5 * 28 + 4 * 4 + 2],
            ours.values[(2 * 7 + 4) * 6 + 5]
        );
        let read = |name: &str, count: usize| -> Result<Vec<f32>, ArchitectureError> {
            let array = arrays.iter().find(|array| array.name == name).unwrap();
            assert_eq!(array.values.len(), count);
            assert_eq!(array.shape.iter().product::<usize>(), count);
            Ok(array.values.clone())
        };
        assert_eq!(
            Parameters::from_torch(&architecture, read).unwrap(),
            parameters
        );
        assert_eq!(architecture.count().unwrap(), parameters.count());
        let shapes = arrays
            .iter()
            .map(|array| (array.name.clone(), array.shape.clone()));
        assert!(shapes.eq(architecture.arrays().unwrap()));
    }

    #[test]
    fn initial_parameters_are_within_their_bounds() {
        for (initial, weights, biases) in [
            (InitialWeights::Torch, 1.0, 1.0),
            (InitialWeights::He, 6.0, 0.0),
        ] {
            let mut rng = game_rng(1, 1);
            let parameters = Parameters::random(&architecture(), initial, &mut rng).unwrap();
            let layers = parameters.0.chunks(2).zip([10.0, 21.0, 28.0, 6.0, 3.0]);
            for (layer, inputs) in layers {
                for (one, square) in layer.iter().zip([weights, biases]) {
                    let bound = f64::sqrt(square / inputs);
                    let largest = one.values.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
                    let share = f64::from(largest) / bound.max(1e-9);
                    assert!(share <= 1.0, "{}", one.name);
                    assert!(share > 0.4 || bound == 0.0, "{}", one.name);
                }
            }
        }
    }

    /// The weights of MegEngine: normal, with the variance 1 / inputs, and no biases.
    #[test]
    fn lecun_weights_are_normally_distributed() {
        let architecture = Architecture {
            hidden: vec![400],
            ..architecture()
        };
        let mut rng = game_rng(1, 1);
        let parameters = Parameters::random(&architecture, InitialWeights::Lecun, &mut rng);
        let parameters = parameters.unwrap();
        let (weights, biases) = (&parameters.0[4], &parameters.0[5]);
        assert_eq!(
            (&*weights.name, weights.shape),
            ("linear1.weight", [28, 400])
        );
        assert!(biases.values.iter().all(|&bias| bias == 0.0));
        let count = weights.values.len() as f64;
        let scaled = weights
            .values
            .iter()
            .map(|&w| f64::from(w) * f64::sqrt(28.0));
        let share = |limit: f64| scaled.clone().filter(|x| x.abs() < limit).count() as f64 / count;
        let mean = scaled.clone().sum::<f64>() / count;
        let variance = scaled.clone().map(|x| x * x).sum::<f64>() / count;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
        for (limit, expected) in [(0.5, 0.3829), (1.0, 0.6827), (2.0, 0.9545)] {
            let found = share(limit);
            assert!((found - expected).abs() < 0.02, "{limit}: {found}");
        }
    }

    #[test]
    fn impossible_architectures_are_refused() {
        let build = |change: fn(&mut Architecture)| {
            let mut architecture = architecture();
            change(&mut architecture);
            architecture.count().unwrap_err().to_string()
        };
        let too_large = "convolution 2 has a kernel of 3x1, and 2x4 are left of the board";
        assert_eq!(build(|a| a.convolutions[1] = (3, 1)), too_large);
        assert!(build(|a| a.convolutions[0] = (0, 1)).contains("0x1"));
        assert!(build(|a| a.filters = 0).contains("filters must not be 0"));
        assert!(build(|a| a.hidden[1] = 0).contains("hidden layer must not be 0"));
    }
}
