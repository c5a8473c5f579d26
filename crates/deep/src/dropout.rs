//! Dropout: before which linear layers activations are left out in training, and which.

/// A place of dropout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutRate {
    /// The linear layer before which it applies. Layer 0 follows the convolutions; the last one
    /// gives the outputs.
    pub layer: usize,
    /// The share of its inputs that are left out.
    pub rate: f32,
}

/// A dropout mask of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    /// The linear layer before which it applies, as in [`DropoutRate`].
    pub layer: usize,
    /// For each board, the factors of the layer's inputs: 0, or 1 / (1 - rate).
    pub factors: Vec<f32>,
}
