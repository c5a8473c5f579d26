//! Indices that are checked when they are found and not again when they are used.
//!
//! A move reads more than a hundred weights by indices that come from bits of a board. Instead of comparing
//! each of them with the length of the tables, [`Indices`] knows a bound that none of them reaches, and a
//! [`WeightMemory`] compares its length with the bound, once for the weights of four positions.

use super::{AtomicF32, Cpu, WeightMemory, Zeroed, lanes};
use crate::Value;

/// The places of the weights of four positions in all tables, worked out once for several uses.
///
/// Four, because that is how positions come, the four afterstates of a state or a stretch of a game, and
/// because a processor finds four at the price of one. A position is named by its lane, 0 to 3.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    /// For each lookup, the index of each position: all of them below `bound`.
    at: Vec<[usize; 4]>,
    /// None while they are being written, so that nobody reads by them if the writing should panic.
    bound: Option<usize>,
    /// Room for what an update changes at each of them.
    pub(crate) change: Vec<Value>,
}

impl Indices {
    /// Writes `count` lookups by any rule.
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
        // What is already there may be larger than the new bound, but all of it is written over: every
        // tuple has its lookups, one for each symmetry, and there are 1 or 8 of those.
        self.bound = None;
        self.at.resize(gathers.lookups, [0; 4]);
        lanes::find_four(cpu, gathers, boards, &mut self.at);
        self.bound = Some(gathers.bound);
    }

    /// Moves the indices of each position further by a number of its own, none larger than `most`.
    ///
    /// # Panics
    /// When one is.
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

    /// All indices, by lookup.
    #[cfg(test)]
    pub(crate) fn all(&self) -> &[[usize; 4]] {
        &self.at
    }
}

/// How to cut the indices of all tuples out of a packed board: a list of [`Gather`]s with the bound
/// that no index of theirs reaches.
#[derive(Clone, Debug)]
pub(crate) struct Gathers {
    each: Vec<Gather>,
    symmetries: usize,
    lookups: usize,
    bound: usize,
}

/// The lookups of one tuple, or of two whose tables are interleaved together, in a 4x4 board of four bits a
/// cell. Cells whose distance to their digits is the same move together, so that `012345` takes two
/// shifts and masks instead of six; and what two tuples share is worked out once.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// Whether the cells are cut out of the board turned by half a turn: [`HALF_TURN`](crate::game::HALF_TURN).
    pub(crate) turned: bool,
    /// The cells that all members have, or all but the lowest digit.
    pub(crate) shared: Vec<Shift>,
    /// One tuple, or two.
    pub(crate) members: Vec<Member>,
}

/// One tuple of a [`Gather`].
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its number in the set.
    pub(super) tuple: usize,
    /// Where its table starts, once for each lane.
    pub(super) start: [u64; 4],
    /// The cell that its partner does not have; of a tuple without a partner, its lowest digit.
    pub(super) own: Shift,
}

/// Bits of a board that move by one distance on their way into an index, each number once for each
/// lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift {
    /// How far they move to the right: less than 64.
    pub(super) by: [u64; 4],
    /// The bits of the index that they become.
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
    /// Bits that become those of `mask` by a shift to the right.
    ///
    /// # Panics
    /// When nothing would be left of a board.
    pub(crate) fn new(by: u32, mask: u64) -> Self {
        assert!(by < u64::BITS);
        Self {
            by: [by.into(); 4],
            mask: [mask; 4],
        }
    }
}

impl Gathers {
    /// Gathers for boards that are turned by so many symmetries.
    ///
    /// # Panics
    /// When the tuples are not numbered 0, 1, 2, ... in some order, or the symmetries are not 1 or 8.
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
    /// One more than the largest index that any board leads to: all bits of all masks are set.
    ///
    /// # Panics
    /// When that is no index.
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

/// One value of a slab, named by the slab and the index: the two together are an operand to the
/// processor, where a reference would have to be worked out first.
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
        // SAFETY: `i` is below the length: spots are made by `WeightView` of indices that are, or from those by
        // `before`, which lead to lower ones.
        unsafe { self.all.get_unchecked(self.i) }
    }

    /// WeightMemory and index as a processor takes them: the index is below the length.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn operand(self) -> (*const T, usize) {
        (self.all.as_ptr(), self.i)
    }

    /// Where it is in the slab.
    #[inline(always)]
    pub(crate) fn place(self) -> usize {
        self.i
    }

    /// The value so many places before it.
    #[inline(always)]
    pub(crate) fn before(self, places: usize) -> Self {
        let i = self.i.saturating_sub(places);
        Self { i, ..self }
    }
}

impl WeightRef<'_, AtomicF32> {
    /// The sum of `value` and the number, in one instruction. Atomics are whole numbers to the compiler,
    /// so from [`AtomicF32::get`] it makes a load, a move to another register and an addition.
    #[inline(always)]
    pub(crate) fn added_to(self, value: Value) -> Value {
        #[cfg(target_arch = "x86_64")]
        {
            let (all, i) = self.operand();
            let mut sum = value;
            // SAFETY: reads the four aligned bytes of a number of the slab, in one access as an atomic
            // load would; SSE is part of x86-64.
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

/// The values of a slab at the indices of four positions: compared with its length once, read many times.
#[derive(Debug)]
pub struct WeightView<'s, T> {
    all: &'s [T],
    /// Below the length of `all`, each of them.
    at: &'s [[usize; 4]],
}

/// Values of two slabs at the same index.
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
    /// When these are the indices of larger tables.
    #[inline(always)]
    pub(crate) fn at<'s>(&'s self, indices: &'s Indices) -> WeightView<'s, T> {
        // Every index is below `indices.bound`: `fill` has compared each, and `fill_packed` has none
        // beyond what `Gather::bound` allows, since an index is `start` plus bits under its masks. The
        // fields are private to this file.
        assert!(indices.bound.is_some_and(|bound| bound <= self.len()));
        WeightView {
            all: self,
            at: &indices.at,
        }
    }
}

impl<'s, T> WeightView<'s, T> {
    /// The values of one position, eight at a time, and those left over.
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
        let spot = move |i: &[usize; 4]| WeightRef { all, i: i[lane] };
        let (eights, rest) = self.at.as_chunks::<8>();
        let eight = move |[a, b, c, d, e, f, g, h]: &'s [[usize; 4]; 8]| {
            [
                spot(a),
                spot(b),
                spot(c),
                spot(d),
                spot(e),
                spot(f),
                spot(g),
                spot(h),
            ]
        };
        (eights.iter().map(eight), rest.iter().map(spot))
    }

    /// The same one by one, for loops with too much in them to have eight side by side.
    #[inline(always)]
    pub(crate) fn each(self, lane: usize) -> impl ExactSizeIterator<Item = WeightRef<'s, T>> {
        assert!(lane < 4);
        let all = self.all;
        self.at.iter().map(move |i| WeightRef { all, i: i[lane] })
    }

    /// One of them.
    #[inline(always)]
    pub(crate) fn spot(self, lookup: usize, lane: usize) -> WeightRef<'s, T> {
        let i = self.at[lookup][lane];
        WeightRef { all: self.all, i }
    }

    /// The values of one position, each with that of a second slab at the same index; eight at a time, and
    /// those left over.
    ///
    /// # Panics
    /// When the second slab is shorter.
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

    /// Asks the processor for the values of one position, to be read soon. A hint: it changes no result.
    #[inline(always)]
    pub fn prefetch(self, lane: usize) {
        let (eights, rest) = self.lane(lane);
        eights.for_each(|eight| eight.into_iter().for_each(WeightRef::prefetch));
        rest.for_each(WeightRef::prefetch);
    }

    /// The same for values that will be written soon: other processors give up their copies now, not when
    /// the writing waits for it.
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
        // SAFETY: a prefetch reads nothing into the program and cannot fault, and a processor without this one
        // takes it for nothing. The intrinsic would become the other prefetch on most targets.
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
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing into the program and cannot fault; SSE is part of x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.all.as_ptr().wrapping_add(self.i).cast());
        }
    }
}

#[cfg(test)]
mod tests;
