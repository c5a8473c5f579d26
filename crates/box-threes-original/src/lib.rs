//! The network for the phone game Threes! (variant `threes-original`) on the 4x4 board that Afterstate
//! plays with when no model is named.
//!
//! It is a packed model (docs/formats/packed.md), and MODEL_CARD.md says how it was made. The crate
//! has nothing else, so that a change of code does not copy the file again.

/// The packed model.
pub const NETWORK: &[u8] = include_bytes!("../network.packed");
