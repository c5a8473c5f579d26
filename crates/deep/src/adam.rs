//! Adam and AdamW on plain slices: one pass over each parameter, where tensor operations would take
//! ten.

use crate::network::Gradients;
use crate::parameters::Parameters;

/// The optimiser: keeps the running mean of each gradient and of its square.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub learning_rate: f32,
    /// Each step subtracts this share of a weight times the learning rate: AdamW. With 0 it is
    /// Adam.
    pub weight_decay: f32,
    /// Steps so far.
    pub steps: u64,
    /// The running mean of the gradients, by parameter.
    pub first: Vec<Vec<f32>>,
    /// The running mean of their squares.
    pub second: Vec<Vec<f32>>,
}

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    /// An optimiser before its first step.
    pub fn new(parameters: &Parameters, learning_rate: f32, weight_decay: f32) -> Self {
        let zeros = || parameters.0.iter().map(|one| vec![0.0; one.values.len()]);
        Self {
            learning_rate,
            weight_decay,
            steps: 0,
            first: zeros().collect(),
            second: zeros().collect(),
        }
    }

    /// Moves the parameters against their gradients.
    pub fn step(&mut self, parameters: &mut Parameters, gradients: &Gradients) {
        self.steps += 1;
        let steps = self.steps.min(i32::MAX as u64) as i32;
        let (bias_1, bias_2) = (1.0 - BETA_1.powi(steps), 1.0 - BETA_2.powi(steps));
        let rate = self.learning_rate / bias_1;
        let shrink = 1.0 - self.learning_rate * self.weight_decay;
        let means = self.first.iter_mut().zip(&mut self.second);
        for ((one, gradient), (first, second)) in
            parameters.0.iter_mut().zip(&gradients.0).zip(means)
        {
            let numbers = one.values.iter_mut().zip(gradient);
            for ((value, &g), (m, v)) in numbers.zip(first.iter_mut().zip(second)) {
                *m += (1.0 - BETA_1) * (g - *m);
                *v += (1.0 - BETA_2) * (g * g - *v);
                *value = *value * shrink - rate * *m / ((*v / bias_2).sqrt() + EPSILON);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameter;

    fn one(value: f32) -> Parameters {
        Parameters(vec![Parameter {
            name: "x".into(),
            shape: [1, 1],
            values: vec![value],
        }])
    }

    /// Two steps computed by hand: the first has the size of the learning rate, whatever the
    /// gradient.
    #[test]
    fn steps_agree_with_the_paper() {
        let mut x = one(1.0);
        let mut adam = Adam::new(&x, 0.1, 0.0);
        adam.step(&mut x, &Gradients(vec![vec![4.0]]));
        assert!((x.0[0].values[0] - 0.9).abs() < 1e-6);
        adam.step(&mut x, &Gradients(vec![vec![-2.0]]));
        // m = 0.16, v = 0.019984; unbiased 0.16 / 0.19 and 0.019984 / 0.001999.
        let expected = 0.9 - 0.1 * (0.16 / 0.19) / (0.019_984_f64 / 0.001_999).sqrt();
        assert!((f64::from(x.0[0].values[0]) - expected).abs() < 1e-5);
    }

    #[test]
    fn decay_shrinks_weights() {
        let mut x = one(10.0);
        let mut adam = Adam::new(&x, 0.1, 0.5);
        adam.step(&mut x, &Gradients(vec![vec![0.0]]));
        assert!((x.0[0].values[0] - 9.5).abs() < 1e-6);
    }
}
