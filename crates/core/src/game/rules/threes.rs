//! Threes!: tiles 1, 2, 3, 6, 12, ... 6144, index 1 to 14. Lines slide by one cell, and tiles are
//! drawn from a bag.
//!
//! 1 + 2 = 3, and equal tiles from 3 on merge. The score is that of the board: 3^(index-2) for
//! every tile from 3 on. So the reward of a merge is the gain in the board's score, and the spawn
//! of a 3-tile has a reward of 3 points.
//!
//! A bag holds the same number of 1, 2 and 3; it is refilled when it is empty. Where the game shows
//! a hint, the next tile is already drawn from the bag. A bonus tile does not come from the bag:
//! the hint says only `bonus`, and its value is drawn when it spawns.

use super::{Rules, edge};
use crate::game::{ChanceState, Direction, Shape, Spawn};

/// The rules of Threes!, in three variants. On boards of fewer than 16 cells all of them start with
/// one tile and show a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threes {
    /// A bag of three, no bonus tiles, no hint; tiles spawn at the edge that the slide moved away
    /// from.
    Course,
    /// A bag of twelve, bonus tiles, a hint.
    Hint,
    /// As `Hint`, but tiles spawn only in lines that moved.
    Original,
}

/// Bonus tiles occur once the largest tile is 48.
const BONUS_FROM: u8 = 7;
/// The probability of a bonus tile is 1 / `BONUS_IN`.
const BONUS_IN: f64 = 21.0;
/// The smallest bonus tile is 6.
const FIRST_BONUS: u8 = 4;
/// The largest bonus tile is an eighth of the largest tile.
const BONUS_BELOW: u8 = 3;

/// The memory of the [`ChanceState`] is the bag: the number of tiles of index 1, 2 and 3 left in
/// it.
impl Threes {
    /// The largest tile index: 6144. Two of them do not merge.
    pub const LARGEST: u8 = 14;

    /// The number of copies of each tile in a full bag.
    const fn each(self) -> u8 {
        match self {
            Self::Course => 1,
            Self::Hint | Self::Original => 4,
        }
    }

    const fn has_bonus(self) -> bool {
        matches!(self, Self::Hint | Self::Original)
    }

    /// Visits every possible hint with the bag after it is drawn.
    #[inline(always)]
    fn for_each_hint(
        self,
        chance_state: ChanceState,
        largest: u8,
        mut visit: impl FnMut(ChanceState, f64),
    ) {
        let bag = if chance_state.memory == [0; 3] {
            [self.each(); 3]
        } else {
            chance_state.memory
        };
        let mut from_bag = 1.0;
        if self.has_bonus() && largest >= BONUS_FROM {
            let hint = ChanceState::BONUS;
            visit(ChanceState { memory: bag, hint }, 1.0 / BONUS_IN);
            from_bag -= 1.0 / BONUS_IN;
        }
        let count = f64::from(bag.iter().sum::<u8>());
        for hint in 1..=3 {
            let kind = usize::from(hint) - 1;
            let left = f64::from(bag[kind]);
            if left > 0.0 {
                let mut memory = bag;
                memory[kind] -= 1;
                visit(ChanceState { memory, hint }, from_bag * left / count);
            }
        }
    }

    /// Visits every tile that a hint can stand for.
    #[inline(always)]
    fn for_each_tile(hint: u8, largest: u8, mut visit: impl FnMut(u8, f64)) {
        if hint == ChanceState::BONUS {
            let last = largest - BONUS_BELOW;
            let chance = 1.0 / f64::from(last - FIRST_BONUS + 1);
            for tile in FIRST_BONUS..=last {
                visit(tile, chance);
            }
        } else {
            visit(hint, 1.0);
        }
    }

    /// [`Rules::for_each_new_tile`] with static dispatch of `visit`.
    #[inline(always)]
    pub(in crate::game) fn new_tiles(
        self,
        shape: Shape,
        chance_state: ChanceState,
        largest: u8,
        mut visit: impl FnMut(Spawn, f64),
    ) {
        let shows = self.shows_hint(shape);
        let mut arrive = |chance_state: ChanceState, chance: f64| {
            Self::for_each_tile(chance_state.hint, largest, |tile, p| {
                if shows {
                    self.for_each_hint(chance_state, largest, |chance_state, next| {
                        visit(Spawn { tile, chance_state }, chance * p * next);
                    });
                } else {
                    let chance_state = ChanceState {
                        hint: 0,
                        ..chance_state
                    };
                    visit(Spawn { tile, chance_state }, chance * p);
                }
            });
        };
        if chance_state.hint == 0 {
            self.for_each_hint(chance_state, largest, arrive);
        } else {
            arrive(chance_state, 1.0);
        }
    }
}

fn merge(ahead: u8, tile: u8) -> Option<u8> {
    match (ahead, tile) {
        (1, 2) | (2, 1) => Some(3),
        (3..Threes::LARGEST, _) if ahead == tile => Some(tile + 1),
        _ => None,
    }
}

/// The score of a tile on the board.
#[inline(always)]
fn score(tile: u8) -> u32 {
    if tile < 3 {
        0
    } else {
        3_u32.pow(u32::from(tile) - 2)
    }
}

impl Rules for Threes {
    fn tile_value(&self, tile: u8) -> u64 {
        match tile {
            0..=3 => tile.into(),
            _ => 3 << (tile - 3),
        }
    }

    /// Without bonus tiles, each cell doubles what the others can build from a 3. With them, a
    /// bonus may always supply the missing tile.
    fn largest_tile(&self, shape: Shape) -> u8 {
        let alone = 2 + shape.cells() as u8;
        if self.has_bonus() && alone >= BONUS_FROM {
            return Self::LARGEST;
        }
        alone.min(Self::LARGEST)
    }

    /// The first pair that merges, or the first gap, moves the rest of the line by one cell.
    fn slide_line(&self, line: &mut [u8]) -> u32 {
        for at in 1..line.len() {
            let (ahead, tile) = (line[at - 1], line[at]);
            let made = if ahead == 0 {
                Some(tile)
            } else {
                merge(ahead, tile)
            };
            if let Some(made) = made {
                line[at - 1] = made;
                line[at..].rotate_left(1);
                line[line.len() - 1] = 0;
                return score(made) - score(ahead) - score(tile);
            }
        }
        0
    }

    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool {
        let largest = tiles.iter().copied().max().unwrap_or(0);
        let bag = chance_state
            .memory
            .iter()
            .all(|&count| count <= self.each());
        let hint = match chance_state.hint {
            0 => !self.shows_hint(shape),
            ChanceState::BONUS => self.has_bonus() && largest >= BONUS_FROM,
            hint => hint < ChanceState::BONUS && self.shows_hint(shape),
        };
        tiles.len() == shape.cells() && largest <= self.largest_tile(shape) && bag && hint
    }

    fn for_each_new_tile(
        &self,
        shape: Shape,
        chance_state: ChanceState,
        largest: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    ) {
        self.new_tiles(shape, chance_state, largest, visit);
    }

    fn initial_tiles(&self, shape: Shape) -> usize {
        if shape.cells() < Shape::FOUR.cells() {
            1
        } else {
            9
        }
    }

    fn has_chance_state(&self) -> bool {
        true
    }

    #[inline(always)]
    fn shows_hint(&self, shape: Shape) -> bool {
        *self != Self::Course || shape.cells() < Shape::FOUR.cells()
    }

    /// Every bag of three adds 6 to the sum of the tiles, so the sum determines what the last bag
    /// has placed on the board; where the hint is known, it does so uniquely. For larger bags it
    /// determines nothing, and a full bag is assumed.
    fn chance_state_of(&self, shape: Shape, tiles: &[u8], hint: u8) -> Option<ChanceState> {
        let chance_state = match self {
            Self::Course => {
                let sum = tiles.iter().map(|&tile| self.tile_value(tile)).sum::<u64>() % 6;
                let drawn =
                    |out: &[u8]| out.iter().map(|&tile| u64::from(tile)).sum::<u64>() == sum;
                let outs: [&[u8]; 7] = [&[], &[1], &[2], &[3], &[1, 2], &[1, 3], &[2, 3]];
                let mut outs = outs
                    .into_iter()
                    .filter(|&out| drawn(out) && !out.contains(&hint));
                let out = outs.next()?;
                let left = |tile| u8::from(!out.contains(&tile) && tile != hint);
                ChanceState {
                    memory: if out.is_empty() && hint == 0 {
                        [0; 3]
                    } else {
                        [1, 2, 3].map(left)
                    },
                    hint,
                }
            }
            Self::Hint | Self::Original => ChanceState {
                memory: [0; 3],
                hint,
            },
        };
        self.is_possible(shape, tiles, chance_state)
            .then_some(chance_state)
    }

    fn spawn_mask(&self, shape: Shape, direction: Direction, moved: u32) -> u32 {
        let lines = match self {
            Self::Course | Self::Hint => u32::MAX,
            Self::Original => moved,
        };
        edge(shape, direction, lines)
    }

    /// 384, as in the course.
    fn goal_tile(&self) -> Option<u8> {
        Some(10)
    }

    #[inline(always)]
    fn spawn_reward(&self, tile: u8) -> u32 {
        score(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slid(line: &[u8]) -> (Vec<u8>, u32) {
        let mut line = line.to_vec();
        let reward = Threes::Course.slide_line(&mut line);
        (line, reward)
    }

    #[test]
    fn lines_slide_by_one_cell_and_merge_once() {
        assert_eq!(slid(&[0, 0, 5, 0]), (vec![0, 5, 0, 0], 0));
        assert_eq!(slid(&[1, 0, 2, 3]), (vec![1, 2, 3, 0], 0));
        assert_eq!(slid(&[1, 2, 1, 2]), (vec![3, 1, 2, 0], 3));
        assert_eq!(slid(&[2, 1, 0, 0]), (vec![3, 0, 0, 0], 3));
        assert_eq!(slid(&[3, 3, 3, 3]), (vec![4, 3, 3, 0], 3));
        assert_eq!(slid(&[4, 3, 3, 0]), (vec![4, 4, 0, 0], 3));
        assert_eq!(slid(&[1, 1, 2, 2]), (vec![1, 3, 2, 0], 3));
        assert_eq!(slid(&[1, 1, 5, 5]), (vec![1, 1, 6, 0], 27));
        assert_eq!(slid(&[2, 2, 1, 1]), (vec![2, 3, 1, 0], 3));
        assert_eq!(slid(&[13, 13, 0, 0]), (vec![14, 0, 0, 0], 177_147));
        assert_eq!(slid(&[14, 14, 0, 0]), (vec![14, 14, 0, 0], 0));
    }

    #[test]
    fn tile_values_and_scores_are_those_of_the_game() {
        let tile_values: Vec<u64> = (0..=14)
            .map(|tile| Threes::Course.tile_value(tile))
            .collect();
        assert_eq!(tile_values[..7], [0, 1, 2, 3, 6, 12, 24]);
        assert_eq!(tile_values[14], 6144);
        let scores: Vec<u32> = (0..=14)
            .map(|tile| Threes::Course.spawn_reward(tile))
            .collect();
        assert_eq!(scores[..6], [0, 0, 0, 3, 9, 27]);
        assert_eq!(scores[14], 3_u32.pow(12));
    }

    fn new_tiles(
        rules: Threes,
        bag: [u8; 3],
        hint: u8,
        largest: u8,
    ) -> Vec<(u8, ChanceState, f64)> {
        let mut found = Vec::new();
        rules.new_tiles(
            Shape::FOUR,
            ChanceState { memory: bag, hint },
            largest,
            |spawn, p| {
                found.push((spawn.tile, spawn.chance_state, p));
            },
        );
        found
    }

    #[test]
    fn the_bag_gives_each_of_its_tiles_once() {
        let chance_state = |bag| ChanceState {
            memory: bag,
            hint: 0,
        };
        let third = 1.0 / 3.0;
        assert_eq!(
            new_tiles(Threes::Course, [0; 3], 0, 9),
            [
                (1, chance_state([0, 1, 1]), third),
                (2, chance_state([1, 0, 1]), third),
                (3, chance_state([1, 1, 0]), third)
            ]
        );
        assert_eq!(
            new_tiles(Threes::Course, [0, 1, 1], 0, 9),
            [
                (2, chance_state([0, 0, 1]), 0.5),
                (3, chance_state([0, 1, 0]), 0.5)
            ]
        );
        assert_eq!(
            new_tiles(Threes::Course, [0, 0, 1], 0, 9),
            [(3, chance_state([0; 3]), 1.0)]
        );
    }

    #[test]
    fn the_hint_comes_true_and_another_one_is_drawn() {
        let found = new_tiles(Threes::Hint, [0, 3, 1], 2, 6);
        let chance_state = |bag, hint| ChanceState { memory: bag, hint };
        assert_eq!(
            found,
            [
                (2, chance_state([0, 2, 1], 2), 0.75),
                (2, chance_state([0, 3, 0], 3), 0.25)
            ]
        );
        // From 48 on, the next tile may be a bonus; this does not change the bag.
        let found = new_tiles(Threes::Original, [0, 0, 1], 2, 7);
        assert_eq!(
            found[0],
            (2, chance_state([0, 0, 1], ChanceState::BONUS), 1.0 / 21.0)
        );
        assert_eq!(found[1].1, chance_state([0; 3], 3));
        // A bonus is any tile from 6 to an eighth of the largest: here 6, 12 and 24.
        let mut tiles: Vec<u8> = new_tiles(Threes::Hint, [1; 3], ChanceState::BONUS, 9)
            .into_iter()
            .map(|(tile, ..)| tile)
            .collect();
        tiles.dedup();
        assert_eq!(tiles, [4, 5, 6]);
    }

    /// The chance state of every position of some games is recovered from its tiles and its hint.
    #[test]
    fn the_sum_of_tiles_determines_a_bag_of_three() {
        use crate::game::{Game, Grid};
        let game = Grid::new(Shape::new(2, 3).unwrap(), &Threes::Course);
        let mut rng = crate::random::game_rng(1, 1);
        for _ in 0..200 {
            let mut state = game.start(&mut rng);
            loop {
                let tiles: Vec<u8> = (0..6).map(|i| state.cell(i)).collect();
                let chance_state = game.chance_state(state);
                let found = Threes::Course.chance_state_of(game.shape(), &tiles, chance_state.hint);
                assert_eq!(found, Some(chance_state), "{tiles:?}");
                let slides = game.slides(state);
                let Some(slide) = slides.legal().last() else {
                    break;
                };
                state = game.spawn(slide.after(), &mut rng);
            }
        }
        let chance_state =
            |tiles: [u8; 6], hint| Threes::Course.chance_state_of(game.shape(), &tiles, hint);
        assert_eq!(
            chance_state([1, 0, 0, 0, 0, 0], 1),
            None,
            "two 1-tiles of one bag"
        );
        assert_eq!(
            chance_state([1, 0, 0, 0, 0, 0], 0),
            None,
            "the hint is always shown"
        );
        assert_eq!(
            chance_state([1, 0, 0, 0, 0, 0], 2).unwrap().memory,
            [0, 0, 1]
        );
    }

    /// On 2x3, after a slide to the left, a tile may spawn in the right column.
    #[test]
    fn tiles_spawn_at_the_edge_that_the_slide_moved_away_from() {
        let shape = Shape::new(2, 3).unwrap();
        let spawn_mask = |rules: Threes, direction| rules.spawn_mask(shape, direction, 0b10);
        assert_eq!(spawn_mask(Threes::Hint, Direction::Left), 0b100_100);
        assert_eq!(spawn_mask(Threes::Original, Direction::Left), 0b100_000);
        assert_eq!(spawn_mask(Threes::Course, Direction::Up), 0b111_000);
        assert_eq!(spawn_mask(Threes::Original, Direction::Up), 0b010_000);
        assert_eq!(spawn_mask(Threes::Course, Direction::Down), 0b000_111);
        assert_eq!(spawn_mask(Threes::Course, Direction::Right), 0b001_001);
    }
}
