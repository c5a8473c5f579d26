//! Whether two records are the same game, also in a mirror.
//!
//! A symmetry of the board maps cells to cells and slides to slides. Of all images of a game, the
//! one whose actions come first in the order of their codes is the canonical one, so two games are
//! images of each other exactly if their canonical actions are equal. Names, times and rewards do
//! not count. The actions are hashed to 128 bits.

use twox_hash::XxHash3_64;

use crate::format::episode::{Action, RecordedMove};
use crate::game::{Direction, Shape};

/// The identity of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The hash of the canonical actions: the same for all images.
    pub canonical: u128,
    /// The hash of the actions.
    pub actions: u128,
}

/// A symmetry: where each cell and each slide goes.
#[derive(Clone, Debug)]
struct Image {
    cells: Vec<u8>,
    slides: [u8; 4],
}

/// All symmetries of a board, the identity first.
#[derive(Clone, Debug)]
pub(super) struct Images(Vec<Image>);

impl Images {
    pub(super) fn new(shape: Shape) -> Self {
        let images = shape.symmetries().into_iter().map(|sources| {
            let mut cells = vec![0; sources.len()];
            for (to, from) in sources.into_iter().enumerate() {
                cells[from] = to as u8;
            }
            let slides = Direction::ALL.map(|direction| slide_of(shape, &cells, direction) as u8);
            Image { cells, slides }
        });
        Self(images.collect())
    }

    /// The identity of a game whose cells are on the board.
    pub(super) fn identity(&self, moves: &[RecordedMove]) -> Identity {
        let (mut plain, mut canonical) = (Vec::new(), Vec::new());
        let mut least: Vec<&Image> = self.0.iter().collect();
        for one in moves {
            let codes = || least.iter().map(|image| image.code(one.action));
            let Some(first) = codes().min() else { break };
            least.retain(|image| image.code(one.action) == first);
            canonical.extend_from_slice(&first);
            plain.extend(
                self.0
                    .first()
                    .map(|image| image.code(one.action))
                    .iter()
                    .flatten(),
            );
        }
        Identity {
            canonical: hash(&canonical),
            actions: hash(&plain),
        }
    }
}

impl Image {
    fn code(&self, action: Action) -> [u8; 3] {
        match action {
            Action::Slide(direction) => [u8::MAX, self.slides[direction as usize], 0],
            Action::Place { cell, tile, hint } => [self.cells[usize::from(cell)], tile, hint],
        }
    }
}

/// The slide that a slide becomes: two neighbours along it become two neighbours along that.
fn slide_of(shape: Shape, cells: &[u8], direction: Direction) -> Direction {
    let (cols, below) = (shape.cols(), shape.cols());
    let (from, to) = match direction {
        Direction::Up => (below, 0),
        Direction::Down => (0, below),
        Direction::Left => (1, 0),
        Direction::Right => (0, 1),
    };
    let place = |cell: usize| {
        let cell = usize::from(cells[cell]);
        (cell / cols, cell % cols)
    };
    let (from, to) = (place(from), place(to));
    match (from.0.cmp(&to.0), from.1.cmp(&to.1)) {
        (std::cmp::Ordering::Greater, _) => Direction::Up,
        (std::cmp::Ordering::Less, _) => Direction::Down,
        (_, std::cmp::Ordering::Greater) => Direction::Left,
        _ => Direction::Right,
    }
}

fn hash(bytes: &[u8]) -> u128 {
    let half = |seed| u128::from(XxHash3_64::oneshot_with_seed(seed, bytes));
    half(1) << 64 | half(2)
}
