//! Indices that are checked when they are found and not again when they are used.
//!
//! A move reads about a hundred weights, and to compare each index with the length of the tables would
//! be a third of the instructions that this takes. So [`Indices`] knows a bound that none of them reaches,
//! and a [`Slab`] compares its length with the bound, once for 32 weights.

use super::{Cpu, Slab, Zeroed, lanes};
use crate::Value;

/// The places of the weights of four positions in all tables, worked out once for several uses.
///
/// Four, because that is how positions come, the four afterstates of a state or a stretch of a game, and
/// because a processor finds four at the price of one. A position is named by its lane, 0 to 3.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    /// For each lookup, the index of each position: all of them below `bound`.
    at: Vec<[usize; 4]>,
    bound: usize,
    /// Room for what an update changes at each of them.
    pub(crate) change: Vec<Value>,
}

impl Indices {
    /// Writes `count` lookups by any rule.
    ///
    /// # Panics
    /// When an index is not below `bound`.
    pub(crate) fn fill(&mut self, count: usize, bound: usize, rule: impl Fn(usize) -> [usize; 4]) {
        self.at.clear();
        self.at.extend((0..count).map(rule));
        assert!(self.at.as_flattened().iter().all(|&i| i < bound));
        self.bound = bound;
    }

    /// Writes the lookups of four packed boards.
    #[inline(always)]
    pub(crate) fn fill_packed(&mut self, cpu: Cpu, gathers: &Gathers, boards: [u64; 4]) {
        // What is already there may be larger than the new bound, but all of it is written over:
        // every tuple has its lookups, or the writing panics and leaves a bound of 0.
        self.bound = 0;
        self.at.resize(gathers.lookups, [0; 4]);
        lanes::find_four(cpu, gathers, boards, &mut self.at);
        self.bound = gathers.bound;
    }

    /// The indices of one position.
    #[inline(always)]
    pub(super) fn lane(&self, lane: usize) -> impl Iterator<Item = usize> {
        self.at.iter().map(move |i| i[lane])
    }

    /// The index of one lookup of one position.
    #[inline(always)]
    pub(crate) fn get(&self, lookup: usize, lane: usize) -> usize {
        self.at[lookup][lane]
    }

    /// All indices, by lookup.
    #[inline(always)]
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

/// The lookups of one tuple, or of two whose tables are woven together, in a 4x4 board of four bits a
/// cell. Cells whose distance to their digits is the same move together, so that `012345` takes two
/// shifts and masks instead of six; and what two tuples share is worked out once.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// Whether the board is first rotated to the left by [`ROTATION`], so that all shifts are to the
    /// right.
    pub(crate) rotated: bool,
    /// The cells that all members have, or all but the lowest digit.
    pub(crate) shared: Vec<Shift>,
    /// One tuple, or two.
    pub(crate) members: Vec<Member>,
}

/// One tuple of a [`Gather`].
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its number in the set.
    pub(crate) tuple: usize,
    /// Where its table starts, once for each lane.
    pub(crate) start: [u64; 4],
    /// The cell that its partner does not have; of a tuple without a partner, its lowest digit.
    pub(crate) own: Shift,
}

/// Bits of a board that move by one distance on their way into an index, each number once for each
/// lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift {
    /// How far they move to the right.
    pub(crate) by: [u64; 4],
    /// The bits of the index that they become.
    pub(crate) mask: [u64; 4],
}

/// By how much a board is rotated to the left: two cells.
pub(crate) const ROTATION: u32 = 8;

impl Gathers {
    /// Gathers for boards that are turned by so many symmetries.
    ///
    /// # Panics
    /// When the tuples are not numbered 0, 1, 2, ... in some order.
    pub(crate) fn new(each: Vec<Gather>, symmetries: usize) -> Self {
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
    fn bound(&self) -> usize {
        let bits =
            |all: u64, shift: &Shift| all | shift.mask.iter().fold(0, |all, mask| all | mask);
        let shared = self.shared.iter().fold(0, bits);
        let last = |member: &Member| {
            let start = member.start.into_iter().max().unwrap_or(0);
            start + bits(shared, &member.own)
        };
        let last = self.members.iter().map(last).max();
        last.map_or(0, |last| last as usize + 1)
    }
}

/// A position's values, four at a time, and the few that are left over.
pub(crate) type Lane<F, R> = (F, R);

impl<T: Zeroed> Slab<T> {
    /// The values at the indices of one position, four at a time, and those left over.
    ///
    /// # Panics
    /// When these are the indices of larger tables.
    #[inline(always)]
    pub(crate) fn lane<'s>(
        &'s self,
        indices: &'s Indices,
        lane: usize,
    ) -> Lane<impl Iterator<Item = [&'s T; 4]>, impl Iterator<Item = &'s T>> {
        let all: &[T] = self;
        assert!(indices.bound <= all.len() && lane < 4);
        // SAFETY: every index is below `indices.bound`: `fill` has compared each, and `fill_packed` has
        // none beyond what `Gather::bound` allows, since an index is `start` plus bits under its masks.
        // The fields are private to this file. The bound is within the slab, as just asserted.
        let get = move |i: &[usize; 4]| unsafe { all.get_unchecked(i[lane]) };
        let (fours, rest) = indices.at.as_chunks::<4>();
        let four = move |[a, b, c, d]: &'s [[usize; 4]; 4]| [get(a), get(b), get(c), get(d)];
        (fours.iter().map(four), rest.iter().map(get))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Number;

    fn shift(mask: u64) -> Shift {
        Shift {
            by: [4; 4],
            mask: [mask; 4],
        }
    }

    #[test]
    fn no_board_leads_beyond_the_bound() {
        let members = vec![
            Member {
                tuple: 1,
                start: [1000; 4],
                own: shift(0xF),
            },
            Member {
                tuple: 0,
                start: [1001; 4],
                own: shift(0),
            },
        ];
        let gather = Gather {
            rotated: false,
            shared: vec![shift(0xF00)],
            members,
        };
        let gathers = Gathers::new(vec![gather], 8);
        let mut indices = Indices::default();
        for cpu in Cpu::all() {
            indices.fill_packed(cpu, &gathers, [0, u64::MAX, 0x1234_5678, 0xF0F0 << 20]);
            assert_eq!(indices.bound, 1000 + 0xF0F + 1);
            let largest = indices.all().as_flattened().iter().max();
            assert_eq!(largest, Some(&(indices.bound - 1)), "{cpu}");
        }
    }

    #[test]
    #[should_panic(expected = "bound")]
    fn tables_that_are_too_small_are_not_read() {
        let slab: Slab<Number> = Slab::zeroed(10).unwrap();
        let mut indices = Indices::default();
        indices.fill(4, 11, |_| [3; 4]);
        let _ = slab.lane(&indices, 0);
    }

    #[test]
    #[should_panic(expected = "bound")]
    fn an_index_beyond_the_bound_is_refused() {
        Indices::default().fill(5, 11, |k| [0, k + 7, 0, 0]);
    }
}
