//! The symmetric positions of a position, and which of them is the canonical one.

use std::sync::LazyLock;

use super::{Position, Shape};

/// The symmetries of every shape, as [`Shape::symmetries`] has them, made once a program.
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

/// The symmetric position with the smallest key; `transform` makes the one whose cell `i` shows cell `sources[i]`.
pub(super) fn canonical<B: Position>(shape: Shape, transform: impl Fn(&[usize]) -> B) -> B {
    let all = symmetries_of(shape)
        .iter()
        .map(|sources| transform(sources));
    let smaller = |a: B, b: B| if b.key() < a.key() { b } else { a };
    let identity = || transform(&symmetries_of(shape)[0]);
    all.reduce(smaller).unwrap_or_else(identity)
}

/// A mask of cells, transformed in the same way.
pub(super) fn transform_mask(mask: u32, sources: &[usize]) -> u32 {
    let bit = |(i, &source): (usize, &usize)| (mask >> source & 1) << i;
    sources.iter().enumerate().map(bit).sum()
}

/// Packed cells of four bits, transformed in the same way.
pub(super) fn transform_packed(cells: u64, sources: &[usize]) -> u64 {
    let cell = |(i, &source): (usize, &usize)| (cells >> (4 * source) & 15) << (4 * i);
    sources.iter().enumerate().map(cell).sum()
}

/// A key of packed cells, a chance state and the cells that a new tile may enter.
#[inline(always)]
pub(super) fn packed_key(cells: u64, chance_state: u16, spawn_cells: u32) -> u128 {
    u128::from(cells) | u128::from(chance_state) << 64 | u128::from(spawn_cells) << 80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_finds_its_own_symmetries() {
        for rows in Shape::SIDES {
            for cols in Shape::SIDES {
                let shape = Shape::new(rows, cols).unwrap();
                assert_eq!(symmetries_of(shape), shape.symmetries(), "{shape}");
            }
        }
    }
}
