//! Entering a new tile by hand, to follow a game on another device: first its cell and its value,
//! then, in games that show it, the next tile.

use afterstate::game::{ChanceState, Direction, Shape};
use afterstate::judge::PlacedTile;
use afterstate_lab::session::PossibleSpawn;

/// A tile that is being entered.
#[derive(Clone, Debug)]
pub struct Entry {
    spawns: Vec<PossibleSpawn>,
    shape: Shape,
    pub cell: usize,
    /// Its index.
    pub tile: u8,
    /// The hint after it.
    pub hint: u8,
    /// Whether the hint is asked for, not the tile.
    pub asks_hint: bool,
}

impl Entry {
    /// The first cell and the most probable tile; `None` if nothing may spawn.
    pub fn new(spawns: Vec<PossibleSpawn>, shape: Shape) -> Option<Self> {
        let first = spawns.first()?.placed;
        let mut entry = Self {
            spawns,
            shape,
            cell: first.cell,
            tile: first.tile,
            hint: first.hint,
            asks_hint: false,
        };
        entry.tile = most_probable(&entry.tiles());
        entry.hint = most_probable(&entry.hints());
        Some(entry)
    }

    /// The tiles that may spawn in the cell, with their probabilities.
    pub fn tiles(&self) -> Vec<(u8, f64)> {
        self.shares(|one| (one.cell == self.cell).then_some(one.tile))
    }

    /// The hints that may follow the tile, with their probabilities.
    pub fn hints(&self) -> Vec<(u8, f64)> {
        self.shares(|one| (one.cell == self.cell && one.tile == self.tile).then_some(one.hint))
    }

    /// Each key of some spawns, with its share of their probability.
    fn shares(&self, key: impl Fn(PlacedTile) -> Option<u8>) -> Vec<(u8, f64)> {
        let mut shares: Vec<(u8, f64)> = Vec::new();
        for one in &self.spawns {
            let Some(key) = key(one.placed) else {
                continue;
            };
            match shares.iter_mut().find(|(known, _)| *known == key) {
                Some((_, share)) => *share += one.probability,
                None => shares.push((key, one.probability)),
            }
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= sum);
        shares.sort_unstable_by_key(|(key, _)| *key);
        shares
    }

    /// Whether a tile may spawn in a cell.
    pub fn may_spawn(&self, cell: usize) -> bool {
        self.spawns.iter().any(|one| one.placed.cell == cell)
    }

    /// Moves the cursor to the nearest cell in a direction in which a tile may spawn.
    pub fn step(&mut self, direction: Direction) {
        let cols = self.shape.cols();
        let place = |cell: usize| ((cell / cols) as i64, (cell % cols) as i64);
        let (row, col) = place(self.cell);
        let distance = |cell: usize| {
            let (r, c) = place(cell);
            let (ahead, aside) = match direction {
                Direction::Up => (row - r, c - col),
                Direction::Down => (r - row, c - col),
                Direction::Left => (col - c, r - row),
                Direction::Right => (c - col, r - row),
            };
            (ahead > 0).then(|| (aside.abs(), ahead))
        };
        let cells = self.spawns.iter().map(|one| one.placed.cell);
        let near = cells.filter_map(|cell| Some((distance(cell)?, cell)));
        if let Some((_, cell)) = near.min() {
            self.cell = cell;
        }
    }

    /// Chooses the next tile or hint of the list.
    pub fn next(&mut self) {
        let (list, now) = self.list();
        let at = list.iter().position(|&(key, _)| key == now);
        let at = at.map_or(0, |at| (at + 1) % list.len());
        self.choose(list[at].0);
    }

    /// Chooses by a digit: the next tile whose value begins with it, or the hint of this number.
    pub fn digit(&mut self, digit: u8, tile_value: impl Fn(u8) -> u64) {
        let (list, now) = self.list();
        let matches = |&(key, _): &(u8, f64)| match self.asks_hint {
            true => key == digit,
            false => tile_value(key).to_string().as_bytes()[0] == b'0' + digit,
        };
        let matching: Vec<u8> = list
            .iter()
            .filter(|one| matches(one))
            .map(|one| one.0)
            .collect();
        let later = matching.iter().find(|&&key| key > now);
        if let Some(&key) = later.or(matching.first()) {
            self.choose(key);
        }
    }

    /// Chooses the hint for a bonus tile.
    pub fn bonus(&mut self) {
        if self.asks_hint
            && self
                .list()
                .0
                .iter()
                .any(|(key, _)| *key == ChanceState::BONUS)
        {
            self.hint = ChanceState::BONUS;
        }
    }

    fn list(&self) -> (Vec<(u8, f64)>, u8) {
        match self.asks_hint {
            true => (self.hints(), self.hint),
            false => (self.tiles(), self.tile),
        }
    }

    fn choose(&mut self, key: u8) {
        match self.asks_hint {
            true => self.hint = key,
            false => {
                self.tile = key;
                self.hint = most_probable(&self.hints());
            }
        }
    }

    /// Confirms the tile or the hint; the spawn, if nothing more is to be asked.
    pub fn confirm(&mut self) -> Option<PlacedTile> {
        if !self.asks_hint && self.hints().len() > 1 {
            self.asks_hint = true;
            return None;
        }
        Some(PlacedTile {
            cell: self.cell,
            tile: self.tile,
            hint: self.hint,
        })
    }
}

/// The key of the largest share, the first of equal ones.
fn most_probable(shares: &[(u8, f64)]) -> u8 {
    let larger = |a: (u8, f64), b: &(u8, f64)| if b.1 > a.1 + 1e-12 { *b } else { a };
    shares.iter().fold((0, 0.0), larger).0
}
