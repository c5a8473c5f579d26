//! Tensors of any type in addition to those of a network: the arrays of a replay buffer.

use crate::Value;

/// A tensor as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTensor {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl RawTensor {
    /// Unsigned bytes of any shape.
    pub fn u8(name: impl Into<String>, shape: &[usize], values: &[u8]) -> Self {
        Self {
            name: name.into(),
            dtype: "U8",
            shape: shape.to_vec(),
            bytes: values.to_vec(),
        }
    }

    /// Unsigned 16-bit integers.
    pub fn u16(name: impl Into<String>, values: &[u16]) -> Self {
        Self::flat(name, "U16", values, |value| value.to_le_bytes())
    }

    /// Unsigned 32-bit integers.
    pub fn u32(name: impl Into<String>, values: &[u32]) -> Self {
        Self::flat(name, "U32", values, |value| value.to_le_bytes())
    }

    /// Floats.
    pub fn f32(name: impl Into<String>, values: &[Value]) -> Self {
        Self::flat(name, "F32", values, |value| value.to_le_bytes())
    }

    fn flat<T: Copy, const WIDTH: usize>(
        name: impl Into<String>,
        dtype: &'static str,
        values: &[T],
        encode: impl Fn(T) -> [u8; WIDTH],
    ) -> Self {
        Self {
            name: name.into(),
            dtype,
            shape: vec![values.len()],
            bytes: values.iter().flat_map(|&value| encode(value)).collect(),
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
