//! Floats in files: little-endian, of two, four or eight bytes.

use half::f16;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use crate::Value;

/// The float type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Float {
    /// Two bytes.
    F16,
    /// Four bytes, as in a network.
    F32,
    /// Eight bytes.
    F64,
}

impl Float {
    /// The type with this number of bytes.
    pub fn of_width(width: u64) -> Option<Self> {
        match width {
            2 => Some(Self::F16),
            4 => Some(Self::F32),
            8 => Some(Self::F64),
            _ => None,
        }
    }

    /// Bytes of a float.
    pub const fn width(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Its name in safetensors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "F16",
            Self::F32 => "F32",
            Self::F64 => "F64",
        }
    }

    pub(super) fn of_dtype(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F16 => Some(Self::F16),
            Dtype::F32 => Some(Self::F32),
            Dtype::F64 => Some(Self::F64),
            _ => None,
        }
    }

    /// Decodes floats, each rounded to the nearest f32. An incomplete float at the end is ignored.
    pub fn decode(self, bytes: &[u8], values: &mut [Value]) {
        match self {
            Self::F16 => each(bytes, values, |b| f16::from_le_bytes(b).to_f32()),
            Self::F32 => each(bytes, values, Value::from_le_bytes),
            Self::F64 => each(bytes, values, |b| f64::from_le_bytes(b) as Value),
        }
    }

    /// The first float that is not finite: its index and its value.
    pub fn first_not_finite(self, bytes: &[u8]) -> Option<(usize, f64)> {
        match self {
            // All exponent bits set. Without an early exit the loop is vectorised.
            Self::F32 => {
                let numbers = bytes.as_chunks::<4>().0;
                let bits = |b: &[u8; 4]| u32::from_le_bytes(*b) & 0x7f80_0000 == 0x7f80_0000;
                let any = numbers.iter().fold(false, |any, b| any | bits(b));
                any.then(|| first(bytes, |b| f64::from(f32::from_le_bytes(b))))?
            }
            Self::F16 => first(bytes, |b| f16::from_le_bytes(b).to_f64()),
            Self::F64 => first(bytes, f64::from_le_bytes),
        }
    }

    /// Converts floats of this type to another.
    ///
    /// # Errors
    /// At the first float that the other type cannot represent exactly: its index and its value.
    pub fn recode(self, bytes: &[u8], other: Self, out: &mut Vec<u8>) -> Result<(), (usize, f64)> {
        out.clear();
        if self == other {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        for (place, number) in bytes.chunks_exact(self.width()).enumerate() {
            let exact = self.number(number);
            let kept = match other {
                Self::F16 => {
                    let near = f16::from_f64(exact);
                    out.extend(near.to_le_bytes());
                    near.to_f64()
                }
                Self::F32 => {
                    let near = exact as f32;
                    out.extend(near.to_le_bytes());
                    f64::from(near)
                }
                Self::F64 => {
                    out.extend(exact.to_le_bytes());
                    exact
                }
            };
            if kept.to_bits() != exact.to_bits() {
                return Err((place, exact));
            }
        }
        Ok(())
    }

    /// One float; f64 represents all three types exactly.
    fn number(self, bytes: &[u8]) -> f64 {
        let mut all = [0; 8];
        all[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        let [a, b, c, d, ..] = all;
        match self {
            Self::F16 => f16::from_le_bytes([a, b]).to_f64(),
            Self::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
            Self::F64 => f64::from_le_bytes(all),
        }
    }
}

fn each<const N: usize>(bytes: &[u8], values: &mut [Value], read: impl Fn([u8; N]) -> Value) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = read(*bytes);
    }
}

fn first<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f64) -> Option<(usize, f64)> {
    let numbers = bytes.as_chunks().0.iter().map(|bytes| read(*bytes));
    numbers.enumerate().find(|(_, number)| !number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(float: Float, numbers: &[f64]) -> Vec<u8> {
        let mut out = Vec::new();
        let all: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Float::F64.recode(&all, float, &mut out).unwrap();
        out
    }

    #[test]
    fn floats_are_decoded_as_they_were_encoded() {
        let numbers = [0.0, -0.0, 1.5, -2048.0, 0.000_030_517_578_125];
        for float in [Float::F16, Float::F32, Float::F64] {
            let bytes = bytes(float, &numbers);
            assert_eq!(bytes.len(), numbers.len() * float.width());
            let mut values = [9.0; 5];
            float.decode(&bytes, &mut values);
            assert_eq!(values.map(f64::from), numbers);
            assert_eq!(float.first_not_finite(&bytes), None);
            assert_eq!(Float::of_width(float.width() as u64), Some(float));
        }
        assert_eq!(Float::of_width(3), None);
    }

    #[test]
    fn inexact_conversions_are_refused() {
        let mut out = Vec::new();
        let doubles: Vec<u8> = [1.0, 0.1]
            .iter()
            .flat_map(|n: &f64| n.to_le_bytes())
            .collect();
        let lost = Float::F64.recode(&doubles, Float::F32, &mut out);
        assert_eq!(lost, Err((1, 0.1)));
        let large = 1e300_f64.to_le_bytes();
        assert!(Float::F64.recode(&large, Float::F32, &mut out).is_err());
    }

    #[test]
    fn floats_that_are_not_finite_are_found() {
        for float in [Float::F16, Float::F32, Float::F64] {
            let numbers = bytes(float, &[1.0, f64::INFINITY, f64::NEG_INFINITY]);
            assert_eq!(float.first_not_finite(&numbers), Some((1, f64::INFINITY)));
        }
        let nan = [0.0, f32::NAN].map(f32::to_le_bytes).concat();
        assert!(matches!(Float::F32.first_not_finite(&nan), Some((1, nan)) if nan.is_nan()));
    }

    proptest! {
        #[test]
        fn widening_and_narrowing_again_changes_nothing(halves: Vec<u16>) {
            let halves: Vec<u8> = halves
                .into_iter()
                .filter(|&bits| f16::from_bits(bits).is_finite())
                .flat_map(u16::to_le_bytes)
                .collect();
            let (mut wide, mut back) = (Vec::new(), Vec::new());
            for other in [Float::F32, Float::F64] {
                Float::F16.recode(&halves, other, &mut wide).unwrap();
                other.recode(&wide, Float::F16, &mut back).unwrap();
                prop_assert_eq!(&back, &halves);
            }
        }
    }
}
