//! The surroundings of a cell, and a simple value function of boards.

use crate::game::{Game, Shape, State};

/// The number of tile indices that records can express.
pub(super) const TILES: usize = 36;
/// A power of two beyond them, so that no index needs a check.
const ANY: usize = 64;
/// The most cells beside a cell.
const MOST: usize = 4;
/// Kinds of surroundings.
pub(super) const SURROUNDINGS: usize = 2 * (MOST + 1);

/// The cells beside each cell, and the tiles that merge.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    beside: Vec<Vec<usize>>,
    /// Each pair of cells side by side, once.
    pairs: Vec<(usize, usize)>,
    merges: Box<[[bool; TILES]; TILES]>,
    /// What each pair of neighbours adds to the value of a board, by their tiles; 0 beside an empty cell.
    pair_values: Box<[[i8; ANY]; ANY]>,
}

impl Neighbours {
    pub(super) fn new<G: Game>(game: &G) -> Self {
        let beside = beside(game.shape());
        let pairs = beside.iter().enumerate().flat_map(|(cell, others)| {
            let others = others.iter().filter(move |&&other| cell < other);
            others.map(move |&other| (cell, other))
        });
        let mut merges = Box::new([[false; TILES]; TILES]);
        let largest = usize::from(game.largest_tile()).min(TILES - 1);
        for a in 1..=largest {
            for b in 1..=largest {
                // A merged tile may be beyond the largest one, which no game reaches.
                let mut line = [a as u8, b as u8];
                game.rules().slide_line(&mut line);
                merges[a][b] = line[1] == 0;
            }
        }
        let mut pair_values = Box::new([[0; ANY]; ANY]);
        for a in 1..TILES {
            for b in 1..TILES {
                let distance = a.abs_diff(b).min(FARTHEST as usize) as i8;
                pair_values[a][b] = if merges[a][b] { 2 } else { -distance };
            }
        }
        Self {
            pairs: pairs.collect(),
            beside,
            merges,
            pair_values,
        }
    }

    /// The kind of surroundings of an empty cell for a tile: how many tiles are beside it, and
    /// whether the tile merges with one of them.
    pub(super) fn kind(&self, cells: &[u8], cell: usize, tile: u8) -> usize {
        let tiles = self.beside[cell].iter().map(|&other| cells[other]);
        let (mut count, mut merges) = (0, false);
        for other in tiles.filter(|&other| other != 0) {
            count += 1;
            merges |= self.merges(tile, other);
        }
        2 * count + usize::from(merges)
    }

    /// The number of cells beside a cell.
    #[cfg(test)]
    pub(super) fn count_beside(&self, cell: usize) -> usize {
        self.beside[cell].len()
    }

    fn merges(&self, a: u8, b: u8) -> bool {
        let row = self.merges.get(usize::from(a));
        row.and_then(|row| row.get(usize::from(b))) == Some(&true)
    }

    /// The built-in value of a state: that of the best afterstate, which is four for each empty
    /// cell and two for each pair of neighbours that merges, minus the distance of each pair of
    /// neighbours in the order of tiles, at most six. The end of the game has the least of all
    /// values.
    pub(super) fn value<G: Game>(&self, game: &G, state: State<G::Board>) -> f64 {
        let slides = game.slides(state);
        let values = slides.legal().map(|slide| {
            let mut cells = [0; Shape::MAX_CELLS];
            let cells = &mut cells[..self.beside.len()];
            for (i, cell) in cells.iter_mut().enumerate() {
                *cell = slide.after().cell(i);
            }
            self.potential(cells)
        });
        let dead = -(FARTHEST * self.pairs.len() as i32);
        f64::from(values.max().unwrap_or(dead))
    }

    fn potential(&self, cells: &[u8]) -> i32 {
        let empty = cells.iter().filter(|&&cell| cell == 0).count() as i32;
        // Most of the time of judging: by a table, without branches.
        let pairs = self.pairs.iter().map(|&(a, b)| {
            let [a, b] = [a, b].map(|cell| usize::from(cells[cell]) % ANY);
            i32::from(self.pair_values[a][b])
        });
        4 * empty + pairs.sum::<i32>()
    }
}

/// The largest distance of two neighbours that counts.
const FARTHEST: i32 = 6;

/// The cells beside each cell.
fn beside(shape: Shape) -> Vec<Vec<usize>> {
    let (rows, cols) = (shape.rows(), shape.cols());
    let each = |cell: usize| {
        let (row, col) = (cell / cols, cell % cols);
        let sides = [
            (row > 0).then(|| cell - cols),
            (col + 1 < cols).then_some(cell + 1),
            (row + 1 < rows).then_some(cell + cols),
            (col > 0).then(|| cell - 1),
        ];
        sides.into_iter().flatten().collect()
    };
    (0..shape.cells()).map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Grid, PowersOfTwo, Threes};
    use crate::random::game_rng;

    /// The table of pairs is the value as its description says it.
    #[test]
    fn the_value_of_a_board_is_that_of_its_pairs() {
        fn compare(game: &Grid) {
            let neighbours = Neighbours::new(game);
            let mut rng = game_rng(1, 1);
            for _ in 0..500 {
                let tiles = u32::from(game.largest_tile()) + 1;
                let cells = game.shape().cells();
                let cells: Vec<u8> = (0..cells).map(|_| rng.below(tiles) as u8).collect();
                let pair = |&(a, b): &(usize, usize)| match (cells[a], cells[b]) {
                    (0, _) | (_, 0) => 0,
                    (a, b) if neighbours.merges(a, b) => 2,
                    (a, b) => -i32::from(a.abs_diff(b)).min(FARTHEST),
                };
                let empty = cells.iter().filter(|&&cell| cell == 0).count() as i32;
                let expected = 4 * empty + neighbours.pairs.iter().map(pair).sum::<i32>();
                assert_eq!(neighbours.potential(&cells), expected, "{cells:?}");
            }
        }
        compare(&Grid::new(Shape::FOUR, &PowersOfTwo));
        compare(&Grid::new(Shape::new(3, 5).unwrap(), &Threes::Hint));
    }
}
