//! What depends on the processor and the operating system: huge pages, prefetches, SIMD on four
//! boards.
//!
//! All unsafe code is in this module; each block states its invariant. Nothing here changes a
//! result: with [`Cpu::PLAIN`] everything works on any processor, and tests check that every other
//! choice gives the same bits.
#![allow(unsafe_code)]

mod allocator;
mod atomic_f32;
mod f32x2;
mod indices;
mod lanes;
mod memory;
mod prefetch;

use std::fmt;
use std::sync::LazyLock;

use thiserror::Error;

pub use allocator::keep_freed_memory;
pub use atomic_f32::AtomicF32;
pub use f32x2::AtomicF32x2;
pub(crate) use f32x2::F32x2;
pub(crate) use indices::{Gather, Gathers, Member, Shift};
pub use indices::{Indices, WeightRef, WeightView};
pub(crate) use memory::{WeightMemory, Zeroed};
pub(crate) use prefetch::prefetch;

/// The instruction set to use. A value of this type proves that the processor supports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// `AFTERSTATE_CPU` asks for an instruction set that this processor does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "AFTERSTATE_CPU is `{found}`; expected {} on this processor",
    .expected.iter().map(Cpu::to_string).collect::<Vec<_>>().join(" or ")
)]
pub struct CpuError {
    /// The content of the variable.
    pub found: String,
    /// The instruction sets of this processor.
    pub expected: Vec<Cpu>,
}

impl Cpu {
    /// Instructions that every processor has.
    pub const PLAIN: Self = Self(Instructions::Plain);

    /// The fastest instruction set of this processor, unless the environment sets
    /// `AFTERSTATE_CPU=plain`.
    pub fn best() -> Self {
        static BEST: LazyLock<Cpu> =
            LazyLock::new(|| Cpu::asked().ok().flatten().unwrap_or_else(Cpu::detect));
        *BEST
    }

    /// The instruction set that `AFTERSTATE_CPU` asks for, if it is set.
    ///
    /// # Errors
    /// When this processor does not support it.
    pub fn asked() -> Result<Option<Self>, CpuError> {
        let Some(name) = std::env::var_os("AFTERSTATE_CPU") else {
            return Ok(None);
        };
        let expected = Self::all();
        let found = expected.iter().find(|cpu| name == cpu.to_string().as_str());
        found.copied().map(Some).ok_or_else(|| CpuError {
            found: name.to_string_lossy().into_owned(),
            expected: expected.clone(),
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        if std::arch::is_x86_feature_detected!("avx2") {
            Self(Instructions::Avx2)
        } else {
            Self::PLAIN
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        Self::PLAIN
    }

    /// Every instruction set of this processor, for tests that compare their results.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::PLAIN, Self::detect()];
        all.dedup();
        all
    }
}

/// `plain` or `avx2`.
impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Instructions::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
        })
    }
}
