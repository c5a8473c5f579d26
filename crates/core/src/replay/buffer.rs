//! The replay buffer: a fixed capacity; new items replace old ones.

use serde::{Deserialize, Serialize};

use crate::random::Rng;

/// Which item is replaced when the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    /// The oldest.
    #[default]
    Oldest,
    /// A random one.
    Random,
}

/// A buffer of fixed capacity, in which new items replace old ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayBuffer<T> {
    items: Vec<T>,
    capacity: usize,
    overwrite: Overwrite,
    /// The index of the oldest item once it is full.
    oldest: usize,
}

impl<T: Copy> ReplayBuffer<T> {
    /// An empty buffer with a capacity of at least one.
    pub fn new(capacity: usize, overwrite: Overwrite) -> Self {
        Self {
            items: Vec::new(),
            capacity: capacity.max(1),
            overwrite,
            oldest: 0,
        }
    }

    /// Fills the buffer with items as [`ReplayBuffer::items`] and [`ReplayBuffer::oldest`] reported
    /// them. Items beyond the capacity are dropped.
    pub fn with_items(mut self, items: Vec<T>, oldest: usize) -> Self {
        self.items = items;
        self.items.truncate(self.capacity);
        self.oldest = oldest % self.capacity;
        self
    }

    /// Adds an item.
    pub fn push(&mut self, item: T, rng: &mut Rng) {
        if self.items.len() < self.capacity {
            self.items.push(item);
            return;
        }
        let index = match self.overwrite {
            Overwrite::Oldest => {
                let index = self.oldest;
                self.oldest = (index + 1) % self.capacity;
                index
            }
            Overwrite::Random => rng.below(self.capacity as u32) as usize,
        };
        self.items[index] = item;
    }

    /// Replaces `drawn` by `count` items drawn with replacement; by none if the buffer is empty.
    pub fn sample(&self, count: usize, rng: &mut Rng, drawn: &mut Vec<T>) {
        drawn.clear();
        if !self.items.is_empty() {
            let one = |_| self.items[rng.below(self.items.len() as u32) as usize];
            drawn.extend((0..count).map(one));
        }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items, in index order.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The index of the oldest item once it is full.
    pub fn oldest(&self) -> usize {
        self.oldest
    }
}
