//! Whether two records are the same game, also in a mirror.
//!
//! A symmetry of the board maps cells to cells and slides to slides. Of all images of a game, the
//! one whose actions come first in the order of their codes is the canonical one, so two games are
//! images of each other exactly if their canonical actions are equal. Names, times and rewards do
//! not count. The actions are hashed.
//!
//! Somebody who plays the end of a good game again and again makes games that differ in their last
//! actions only. So the beginning of a game has a hash of its own: its first actions, up to the
//! spawn at which the probability of all spawns so far is below 10^-24. Among a million games, no
//! two begin alike by chance.

use twox_hash::XxHash3_64;

use crate::format::episode::{Action, RecordedMove};
use crate::game::{Direction, Shape};

/// The identity of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The hash of the canonical actions of the beginning: the same for all images.
    pub beginning: u128,
    /// The number of actions in the beginning.
    pub begins: usize,
    /// The hash of all canonical actions: the same for all images.
    pub canonical: u64,
    /// The hash of the actions.
    pub actions: u64,
}

/// ln 10^-24.
pub(super) const LN_BEGINNING: f64 = -55.262_042_231_857_1;

/// The bytes of an action.
const CODE: usize = 3;

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

    /// The identity of a game whose cells are on the board, and of its first actions.
    pub(super) fn identity(&self, moves: &[RecordedMove], begins: usize) -> Identity {
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
        let half = |seed| {
            let beginning = &canonical[..canonical.len().min(CODE * begins)];
            u128::from(XxHash3_64::oneshot_with_seed(seed, beginning))
        };
        Identity {
            beginning: half(1) << 64 | half(2),
            begins,
            canonical: XxHash3_64::oneshot(&canonical),
            actions: XxHash3_64::oneshot(&plain),
        }
    }
}

impl Image {
    fn code(&self, action: Action) -> [u8; CODE] {
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
