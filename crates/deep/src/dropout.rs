//! Dropout: where activations are left out in training, and which.

use crate::parameters::Architecture;

/// A dropout mask of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    /// Where it applies.
    pub place: DropoutPlace,
    /// For each board, the factors of the activations: 0, or 1 / (1 - rate).
    pub factors: Vec<f32>,
}

/// Where dropout applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropoutPlace {
    /// After the convolutions.
    Convolutions,
    /// Before the outputs: after the last hidden layer, or after the convolutions if there is none.
    Hidden,
}

impl DropoutPlace {
    /// The number of activations for a board.
    pub fn width(self, architecture: &Architecture) -> usize {
        match (self, architecture.hidden.last()) {
            (Self::Hidden, Some(&width)) => width,
            _ => architecture.flat(),
        }
    }
}
