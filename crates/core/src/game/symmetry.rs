//! The positions symmetric to a position, and the canonical one among them.

use std::sync::LazyLock;

use super::{Position, Shape};

/// [`Shape::symmetries`] of every shape, computed once per process.
static SYMMETRIES: LazyLock<Vec<Vec<Vec<usize>>>> = LazyLock::new(|| {
    let sides = || Shape::SIDES;
    let shapes = sides().flat_map(|rows| sides().filter_map(move |cols| Shape::new(rows, cols)));
    shapes.map(Shape::symmetries).collect()
});

/// The symmetries of a shape.
pub(crate) fn symmetries_of(shape: Shape) -> &'static [Vec<usize>] {
    let first = *Shape::SIDES.start();
    let sides = Shape::SIDES.count();
    &SYMMETRIES[(shape.rows() - first) * sides + shape.cols() - first]
}

/// The symmetric position with the smallest key; `transform` builds the one whose cell `i` holds
/// cell `sources[i]`.
pub(super) fn canonical<B: Position>(shape: Shape, transform: impl Fn(&[usize]) -> B) -> B {
    let all = symmetries_of(shape)
        .iter()
        .map(|sources| transform(sources));
    let smaller = |a: B, b: B| if b.key() < a.key() { b } else { a };
    let identity = || transform(&symmetries_of(shape)[0]);
    all.reduce(smaller).unwrap_or_else(identity)
}

/// Transforms a mask of cells in the same way.
pub(super) fn transform_mask(mask: u32, sources: &[usize]) -> u32 {
    let bit = |(i, &source): (usize, &usize)| (mask >> source & 1) << i;
    sources.iter().enumerate().map(bit).sum()
}

/// Transforms packed cells of four bits in the same way.
pub(super) fn transform_packed(cells: u64, sources: &[usize]) -> u64 {
    let cell = |(i, &source): (usize, &usize)| (cells >> (4 * source) & 15) << (4 * i);
    sources.iter().enumerate().map(cell).sum()
}

/// A key of packed cells, a chance state and spawn cells.
#[inline(always)]
pub(super) fn packed_key(cells: u64, chance_state: u16, spawn_cells: u32) -> u128 {
    u128::from(cells) | u128::from(chance_state) << 64 | u128::from(spawn_cells) << 80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetries_are_cached_by_shape() {
        for rows in Shape::SIDES {
            for cols in Shape::SIDES {
                let shape = Shape::new(rows, cols).unwrap();
                assert_eq!(symmetries_of(shape), shape.symmetries(), "{shape}");
            }
        }
    }
}
