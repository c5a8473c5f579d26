//! Indices that are bounds-checked when they are computed and not again when they are used.
//!
//! A move reads more than a hundred weights by indices computed from the bits of a board. Instead
//! of comparing each of them with the length of the tables, [`Indices`] knows a bound above all of
//! them, and a [`WeightMemory`] compares its length with that bound, once for the weights of four
//! positions.

use super::{AtomicF32, Cpu, WeightMemory, Zeroed, lanes};
use crate::Value;

/// The indices of the weights of four positions in all tables, computed once for several uses.
///
/// Four, because positions come in fours (the four afterstates of a state, or four steps of a game)
/// and SIMD computes four at the price of one. A lane, 0 to 3, selects a position.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    /// For each lookup, the index of each position: all of them below `bound`.
    at: Vec<[usize; 4]>,
    /// `None` while they are being written, so that nothing reads them after a panic during the
    /// write.
    bound: Option<usize>,
    /// Buffer for the change that an update makes at each index.
    pub(crate) change: Vec<Value>,
}

impl Indices {
    /// Writes `count` lookups by the given rule.
    ///
    /// # Panics
    /// When an index is not below `bound`.
    pub(crate) fn fill(&mut self, count: usize, bound: usize, rule: impl Fn(usize) -> [usize; 4]) {
        self.bound = None;
        self.at.clear();
        self.at.extend((0..count).map(rule));
        assert!(self.at.as_flattened().iter().all(|&i| i < bound));
        self.bound = Some(bound);
    }

    /// Writes the lookups of four packed boards.
    #[inline(always)]
    pub(crate) fn fill_packed(&mut self, cpu: Cpu, gathers: &Gathers, boards: [u64; 4]) {
        // Old entries may exceed the new bound, but all of them are overwritten: every tuple has
        // one lookup for each symmetry, and there are 1 or 8 symmetries.
        self.bound = None;
        self.at.resize(gathers.lookups, [0; 4]);
        lanes::find_four(cpu, gathers, boards, &mut self.at);
        self.bound = Some(gathers.bound);
    }

    /// Adds an offset to the indices of each position, none larger than `most`.
    ///
    /// # Panics
    /// When an offset is larger.
    #[inline(always)]
    pub(crate) fn shift(&mut self, by: [usize; 4], most: usize) {
        assert!(by.iter().all(|&by| by <= most));
        let bound = self.bound.take().and_then(|bound| bound.checked_add(most));
        for at in &mut self.at {
            for (at, by) in at.iter_mut().zip(by) {
                *at += by;
            }
        }
        self.bound = bound;
    }

    /// Replaces each index of a lane by a lower one, or by itself.
    ///
    /// # Panics
    /// When the rule returns a higher one.
    #[inline(always)]
    pub(crate) fn lower(&mut self, lane: usize, rule: impl Fn(usize) -> usize) {
        let bound = self.bound.take();
        for at in &mut self.at {
            let lower = rule(at[lane]);
            assert!(lower <= at[lane]);
            at[lane] = lower;
        }
        self.bound = bound;
    }

    /// The indices of a lane, by lookup.
    #[inline(always)]
    pub(crate) fn of_lane(&self, lane: usize) -> impl Iterator<Item = usize> + '_ {
        self.at.iter().map(move |at| at[lane])
    }

    /// All indices, by lookup.
    #[cfg(test)]
    pub(crate) fn all(&self) -> &[[usize; 4]] {
        &self.at
    }
}

/// How to extract the indices of all tuples from a packed board: a list of [`Gather`]s with a bound
/// above all of their indices.
#[derive(Clone, Debug)]
pub(crate) struct Gathers {
    each: Vec<Gather>,
    symmetries: usize,
    lookups: usize,
    bound: usize,
}

/// The lookups of one tuple, or of two whose tables are interleaved, in a 4x4 board of four bits a
/// cell. Cells with the same distance to their digits move together, so that `012345` takes two
/// shifts and masks instead of six; what two tuples share is computed once.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// Whether the cells are taken from the board rotated by 180 degrees:
    /// [`HALF_TURN`](crate::game::HALF_TURN).
    pub(crate) turned: bool,
    /// The cells that all members share; with one member, all cells but the lowest digit.
    pub(crate) shared: Vec<Shift>,
    /// One tuple, or two.
    pub(crate) members: Vec<Member>,
}

/// One tuple of a [`Gather`].
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its number in the set.
    pub(super) tuple: usize,
    /// The start of its table, repeated for each lane.
    pub(super) start: [u64; 4],
    /// The cell that its partner does not have; for a tuple without a partner, its lowest digit.
    pub(super) own: Shift,
}

/// Bits of a board that move by one distance into an index. Each number is repeated for each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift {
    /// The distance of the shift to the right: less than 64.
    pub(super) by: [u64; 4],
    /// The bits of the index that they fill.
    pub(super) mask: [u64; 4],
}

impl Member {
    /// A tuple by its number.
    pub(crate) fn new(tuple: usize, start: usize, own: Shift) -> Self {
        let start = [start as u64; 4];
        Self { tuple, start, own }
    }
}

impl Shift {
    /// Bits that a shift to the right moves to those of `mask`.
    ///
    /// # Panics
    /// When the shift is 64 or more.
    pub(crate) fn new(by: u32, mask: u64) -> Self {
        assert!(by < u64::BITS);
        Self {
            by: [by.into(); 4],
            mask: [mask; 4],
        }
    }
}

impl Gathers {
    /// Gathers for boards transformed by this number of symmetries.
    ///
    /// # Panics
    /// When the tuples are not numbered 0, 1, 2, ... in some order, or the symmetries are not 1 or
    /// 8.
    pub(crate) fn new(each: Vec<Gather>, symmetries: usize) -> Self {
        assert!(matches!(symmetries, 1 | 8));
        let mut tuples: Vec<usize> = each
            .iter()
            .flat_map(|gather| gather.members.iter().map(|member| member.tuple))
            .collect();
        tuples.sort_unstable();
        assert!(tuples.iter().copied().eq(0..tuples.len()));
        let bound = each.iter().map(Gather::bound).max().unwrap_or(0);
        Self {
            lookups: tuples.len() * symmetries,
            each,
            symmetries,
            bound,
        }
    }

    #[inline(always)]
    pub(super) fn each(&self) -> &[Gather] {
        &self.each
    }

    #[inline(always)]
    pub(super) fn symmetries(&self) -> usize {
        self.symmetries
    }
}

impl Gather {
    /// One more than the largest index that any board gives: all bits of all masks are set.
    ///
    /// # Panics
    /// When that overflows.
    fn bound(&self) -> usize {
        let bits =
            |all: u64, shift: &Shift| all | shift.mask.iter().fold(0, |all, mask| all | mask);
        let shared = self.shared.iter().fold(0, bits);
        let beyond = |member: &Member| {
            let start = member.start.into_iter().max().unwrap_or(0);
            let beyond = start
                .checked_add(bits(shared, &member.own))?
                .checked_add(1)?;
            usize::try_from(beyond).ok()
        };
        let all = self
            .members
            .iter()
            .map(|member| beyond(member).expect("an index"));
        all.max().unwrap_or(0)
    }
}

/// One value in a `WeightMemory`, as the memory and an index: the two together are one operand of
/// the processor, where a reference would have to be computed first.
#[derive(Debug)]
pub struct WeightRef<'s, T> {
    all: &'s [T],
    /// Below the length of `all`.
    i: usize,
}

impl<T> Clone for WeightRef<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for WeightRef<'_, T> {}

impl<'s, T> WeightRef<'s, T> {
    /// The value.
    #[inline(always)]
    pub fn get(self) -> &'s T {
        // SAFETY: `i` is below the length. `WeightView` creates references from checked indices,
        // and `before` only leads to lower ones.
        unsafe { self.all.get_unchecked(self.i) }
    }

    /// Pointer and index as a processor takes them: the index is below the length.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn operand(self) -> (*const T, usize) {
        (self.all.as_ptr(), self.i)
    }

    /// Its index in the memory.
    #[inline(always)]
    pub(crate) fn place(self) -> usize {
        self.i
    }

    /// The value `places` places before it.
    #[inline(always)]
    pub(crate) fn before(self, places: usize) -> Self {
        let i = self.i.saturating_sub(places);
        Self { i, ..self }
    }
}

impl WeightRef<'_, AtomicF32> {
    /// The sum of `value` and the number, in one instruction. The compiler treats atomics as
    /// integers, so it compiles [`AtomicF32::get`] into a load, a move to another register and an
    /// addition.
    #[inline(always)]
    pub(crate) fn added_to(self, value: Value) -> Value {
        #[cfg(target_arch = "x86_64")]
        {
            let (all, i) = self.operand();
            let mut sum = value;
            // SAFETY: reads the four aligned bytes of one number, in one access as an atomic load
            // would; SSE is part of x86-64.
            unsafe {
                std::arch::asm!(
                    "addss {sum}, dword ptr [{all} + 4*{i}]",
                    all = in(reg) all,
                    i = in(reg) i,
                    sum = inout(xmm_reg) sum,
                    options(pure, readonly, nostack),
                );
            }
            sum
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            value + self.get().get()
        }
    }
}

/// The values at the indices of four positions: bounds-checked once, read many times.
#[derive(Debug)]
pub struct WeightView<'s, T> {
    all: &'s [T],
    /// Below the length of `all`, each of them.
    at: &'s [[usize; 4]],
}

/// Values of two memories at the same index.
type Pair<'s, T, U> = (WeightRef<'s, T>, WeightRef<'s, U>);

impl<T> Clone for WeightView<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for WeightView<'_, T> {}

impl<T: Zeroed> WeightMemory<T> {
    /// The values at these indices.
    ///
    /// # Panics
    /// When the indices are those of larger tables.
    #[inline(always)]
    pub(crate) fn at<'s>(&'s self, indices: &'s Indices) -> WeightView<'s, T> {
        // Every index is below `indices.bound`: `fill` has compared each, and `fill_packed`
        // produces none beyond `Gather::bound`, since an index is `start` plus bits under its
        // masks. The fields are private to this file.
        assert!(indices.bound.is_some_and(|bound| bound <= self.len()));
        WeightView {
            all: self,
            at: &indices.at,
        }
    }
}

impl<'s, T> WeightView<'s, T> {
    /// The values of one position, in groups of eight, and the remainder.
    #[inline(always)]
    pub(crate) fn lane(
        self,
        lane: usize,
    ) -> (
        impl Iterator<Item = [WeightRef<'s, T>; 8]>,
        impl ExactSizeIterator<Item = WeightRef<'s, T>>,
    ) {
        assert!(lane < 4);
        let all = self.all;
        let weight = move |i: &[usize; 4]| WeightRef { all, i: i[lane] };
        let (eights, rest) = self.at.as_chunks::<8>();
        let eight = move |[a, b, c, d, e, f, g, h]: &'s [[usize; 4]; 8]| {
            [
                weight(a),
                weight(b),
                weight(c),
                weight(d),
                weight(e),
                weight(f),
                weight(g),
                weight(h),
            ]
        };
        (eights.iter().map(eight), rest.iter().map(weight))
    }

    /// The same one by one, for loop bodies too large to unroll eight times.
    #[inline(always)]
    pub(crate) fn each(self, lane: usize) -> impl ExactSizeIterator<Item = WeightRef<'s, T>> {
        assert!(lane < 4);
        let all = self.all;
        self.at.iter().map(move |i| WeightRef { all, i: i[lane] })
    }

    /// One value.
    #[inline(always)]
    pub(crate) fn weight(self, lookup: usize, lane: usize) -> WeightRef<'s, T> {
        let i = self.at[lookup][lane];
        WeightRef { all: self.all, i }
    }

    /// The values of one position, each with the value of a second memory at the same index; in
    /// groups of eight, and the remainder.
    ///
    /// # Panics
    /// When the second memory is shorter.
    #[inline(always)]
    pub(crate) fn lane_with<U: Zeroed>(
        self,
        second: &'s WeightMemory<U>,
        lane: usize,
    ) -> (
        impl Iterator<Item = [Pair<'s, T, U>; 8]>,
        impl ExactSizeIterator<Item = Pair<'s, T, U>>,
    ) {
        assert!(second.len() >= self.all.len());
        let second: &'s [U] = second;
        let (eights, rest) = self.lane(lane);
        let pair = move |one: WeightRef<'s, T>| {
            (
                one,
                WeightRef {
                    all: second,
                    i: one.i,
                },
            )
        };
        (eights.map(move |eight| eight.map(pair)), rest.map(pair))
    }

    /// Prefetches the values of one position. This is a hint and changes no result.
    #[inline(always)]
    pub fn prefetch(self, lane: usize) {
        let (eights, rest) = self.lane(lane);
        eights.for_each(|eight| eight.into_iter().for_each(WeightRef::prefetch));
        rest.for_each(WeightRef::prefetch);
    }

    /// Prefetches values that will be written soon: other cores give up their copies now, so that
    /// the write does not wait for it.
    #[inline(always)]
    pub fn prefetch_to_write(self, lane: usize) {
        let (eights, rest) = self.lane(lane);
        eights.for_each(|eight| eight.into_iter().for_each(WeightRef::prefetch_to_write));
        rest.for_each(WeightRef::prefetch_to_write);
    }
}

impl<T> WeightRef<'_, T> {
    #[inline(always)]
    fn prefetch_to_write(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no visible effect and cannot fault; a processor without this
        // instruction ignores it. The intrinsic compiles to the other prefetch on most targets.
        unsafe {
            use std::arch::asm;
            let (all, i) = self.operand();
            if size_of::<T>() == 4 {
                asm!("prefetchw [{} + 4*{}]", in(reg) all, in(reg) i, options(readonly, nostack, preserves_flags));
            } else {
                let at = all.wrapping_add(i);
                asm!("prefetchw [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
            }
        }
    }

    #[inline(always)]
    fn prefetch(self) {
        super::prefetch::prefetch(self.get());
    }
}

#[cfg(test)]
mod tests;
