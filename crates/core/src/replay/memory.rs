//! What was seen, as much as there is room for.

use crate::random::Rng;

/// What makes way when memory is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// What was kept longest.
    #[default]
    Oldest,
    /// Anything, each with the same chance.
    Random,
}

/// A number of things, of which new ones replace others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory<T> {
    kept: Vec<T>,
    room: usize,
    overwrite: Overwrite,
    /// The place of the oldest once it is full.
    oldest: usize,
}

impl<T: Copy> Memory<T> {
    /// Room for so many, at least one.
    pub fn new(room: usize, overwrite: Overwrite) -> Self {
        Self {
            kept: Vec::new(),
            room: room.max(1),
            overwrite,
            oldest: 0,
        }
    }

    /// With these in it already, as [`Memory::kept`] and [`Memory::oldest`] had told. What does not fit is left out.
    pub fn with(mut self, kept: Vec<T>, oldest: usize) -> Self {
        self.kept = kept;
        self.kept.truncate(self.room);
        self.oldest = oldest % self.room;
        self
    }

    /// Keeps one more.
    pub fn push(&mut self, item: T, rng: &mut Rng) {
        if self.kept.len() < self.room {
            self.kept.push(item);
            return;
        }
        let place = match self.overwrite {
            Overwrite::Oldest => {
                let place = self.oldest;
                self.oldest = (place + 1) % self.room;
                place
            }
            Overwrite::Random => rng.below(self.room as u32) as usize,
        };
        self.kept[place] = item;
    }

    /// Draws some in place of what was drawn before, each with the same chance every time; none if there are none.
    pub fn draw(&self, count: usize, rng: &mut Rng, drawn: &mut Vec<T>) {
        drawn.clear();
        if !self.kept.is_empty() {
            let one = |_| self.kept[rng.below(self.kept.len() as u32) as usize];
            drawn.extend((0..count).map(one));
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All of them, in the order of their places.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// The place of the oldest once it is full.
    pub fn oldest(&self) -> usize {
        self.oldest
    }
}
