//! Whether any environment of 2048 keeps the rules, seen from outside: the board before an
//! action, the board after it, the reward, whether the game is said to be over.
//!
//! After a legal slide exactly one cell of the afterstate differs: the spawn. What differs else is
//! a fault of the slide. A slide on a full board is legal only by a merge, and an environment that
//! tests for a full board before the slide forgets the spawn after it; it is counted apart, because
//! such games are much too easy at the end.

use std::fmt;

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::Frequency;
use crate::game::{Direction, Game, Slides, State, each_cell};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The tiles at the start.
    Start,
    /// That they are in other cells in each game: all cells are equally likely.
    StartPlaces,
    /// Where tiles slide, and which merge.
    Slides,
    /// The rewards of slides.
    Rewards,
    /// That an illegal action changes nothing and gives nothing.
    IllegalActions,
    /// The announced legal actions.
    Masks,
    /// That one tile spawns after each slide.
    Spawns,
    /// The same after a merge on a full board.
    SpawnsOnFullBoards,
    /// That all empty cells are equally likely.
    SpawnPlaces,
    /// Which tiles spawn, and how often.
    SpawnTiles,
    /// Slides and rewards with tiles beyond 32768.
    LargeTiles,
    /// That a game is over exactly when no slide is legal.
    Terminal,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Start,
        Self::StartPlaces,
        Self::Slides,
        Self::Rewards,
        Self::IllegalActions,
        Self::Masks,
        Self::Spawns,
        Self::SpawnsOnFullBoards,
        Self::SpawnPlaces,
        Self::SpawnTiles,
        Self::LargeTiles,
        Self::Terminal,
    ];
}

/// What was found by a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckResult {
    /// The check.
    pub check: Check,
    /// Whether it passed; `None` if there was nothing to check.
    pub passed: Option<bool>,
    /// How many cases were seen.
    pub tried: u64,
    /// How many of them were faults.
    pub faults: u64,
    /// The first fault, or how draws deviate from chance.
    pub fault: Option<String>,
    /// For draws: the probability that fair ones deviate as far.
    pub p: Option<f64>,
}

/// An action of an environment, seen from outside. Boards are tile indices in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct ObservedAction<'a> {
    /// The board before it.
    pub before: &'a [u8],
    /// The direction.
    pub action: Direction,
    /// The board after it.
    pub after: &'a [u8],
    /// The reward, unless it is not to be checked.
    pub reward: Option<f64>,
    /// Whether the game is said to be over.
    pub terminated: bool,
    /// Which actions were said to be legal before it.
    pub mask: Option<[bool; 4]>,
}

/// Draws that are less probable than this are not fair.
pub const LEAST_P: f64 = 1e-6;

#[derive(Clone, Debug, Default)]
struct Count {
    tried: u64,
    faults: u64,
    first: Option<String>,
}

impl Count {
    fn see(&mut self, fault: Option<String>) {
        self.tried += 1;
        if let Some(fault) = fault {
            self.faults += 1;
            self.first.get_or_insert(fault);
        }
    }
}

/// Judges an environment of a game whose spawns depend on the empty cells alone.
#[derive(Clone, Debug)]
pub struct EnvironmentJudge<G: Game> {
    game: G,
    counts: [Count; Check::ALL.len()],
    places: Frequency,
    tiles: Frequency,
    starts: Starts,
}

/// The games that started with the right number of tiles, and how many of them had one in each cell.
#[derive(Clone, Debug, Default)]
struct Starts {
    games: u64,
    cells: Vec<u64>,
}

impl Starts {
    fn see(&mut self, tiles: &[u8]) {
        self.games += 1;
        self.cells.resize(tiles.len(), 0);
        let placed = self.cells.iter_mut().zip(tiles);
        for (count, _) in placed.filter(|(_, tile)| **tile != 0) {
            *count += 1;
        }
    }

    /// The probability that fair starts of this many tiles have one as often in any one cell, by the
    /// binomial distribution and times the number of cells. `None` if the games are so few that even
    /// equal starts would pass.
    fn test(&self, tiles: usize) -> Option<f64> {
        let cells = self.cells.len() as f64;
        let law = Binomial::new(tiles as f64 / cells, self.games).ok()?;
        let as_often = |count: u64| match count {
            0 => 1.0,
            count => (cells * law.sf(count - 1)).min(1.0),
        };
        let most = self.cells.iter().max().copied()?;
        (as_often(self.games) < LEAST_P).then(|| as_often(most))
    }
}

/// The smallest tile index beyond 32768.
const LARGE: u8 = 16;

impl<G: Game> EnvironmentJudge<G> {
    /// A judge that has seen nothing; `None` for games with other spawns.
    pub fn new(game: G) -> Option<Self> {
        let kinds = usize::from(game.largest_tile()) + 1;
        game.rules().uniform_spawns()?;
        Some(Self {
            counts: Default::default(),
            places: Frequency::new(game.shape().cells()),
            tiles: Frequency::new(kinds),
            starts: Starts::default(),
            game,
        })
    }

    fn count(&mut self, check: Check) -> &mut Count {
        &mut self.counts[check as usize]
    }

    fn state(&self, tiles: &[u8]) -> Option<State<G::Board>> {
        self.game.state(tiles, Default::default())
    }

    fn spawns(&self) -> &'static [(u8, f64)] {
        self.game.rules().uniform_spawns().unwrap_or_default()
    }

    fn tiles_of(&self, slides: &Slides<G::Board>, direction: Direction) -> Option<(Vec<u8>, u32)> {
        let slide = slides.get(direction)?;
        let cells = 0..self.game.shape().cells();
        let tiles = cells.map(|i| slide.after().cell(i)).collect();
        Some((tiles, slide.reward()))
    }

    /// Whether a slide in a direction and a spawn lead from one board to another, or the slide is
    /// illegal and the boards are the same. By it the meaning of actions is found.
    pub fn explains(&self, before: &[u8], direction: Direction, after: &[u8]) -> bool {
        let Some(state) = self.state(before) else {
            return false;
        };
        match self.tiles_of(&self.game.slides(state), direction) {
            None => before == after,
            Some((slid, _)) => matches!(Difference::of(&slid, after), Difference::Spawn(..)),
        }
    }

    /// Sees the board at the start of a game.
    pub fn start(&mut self, tiles: &[u8]) {
        let expected = self.game.rules().initial_tiles(self.game.shape());
        let placed = tiles.iter().filter(|&&tile| tile != 0);
        let known = |tile: &&u8| self.spawns().iter().any(|(spawn, _)| spawn == *tile);
        let found = placed.clone().count();
        let fault = if found != expected {
            Some(format!(
                "a game starts with {found} tiles; expected {expected}"
            ))
        } else {
            let strange = placed.clone().find(|tile| !known(tile));
            strange.map(|&tile| format!("a game starts with a {}", self.value(tile)))
        };
        if fault.is_none() {
            self.starts.see(tiles);
            for &tile in placed {
                self.tiles.see(usize::from(tile), self.chances());
            }
        }
        self.count(Check::StartPlaces).tried = self.starts.games;
        self.count(Check::Start).see(fault);
    }

    /// The tiles that spawn, and the probability of each.
    fn chances(&self) -> impl Iterator<Item = (usize, f64)> + Clone + use<G> {
        let spawns = self.spawns().iter();
        spawns.map(|&(tile, p)| (usize::from(tile), p))
    }

    fn value(&self, tile: u8) -> u64 {
        if tile == 0 {
            0
        } else {
            self.game.tile_value(tile)
        }
    }

    fn shown(&self, tiles: &[u8]) -> String {
        let rows = tiles.chunks(self.game.shape().cols());
        let row = |row: &[u8]| {
            let values = row.iter().map(|&tile| self.value(tile).to_string());
            values.collect::<Vec<_>>().join(",")
        };
        rows.map(row).collect::<Vec<_>>().join("/")
    }

    /// Sees an action.
    ///
    /// # Errors
    /// When a board cannot occur in the game: a wrong number of cells, or unknown tiles.
    pub fn see(&mut self, seen: &ObservedAction<'_>) -> Result<(), ImpossibleBoard> {
        let impossible = |tiles: &[u8]| ImpossibleBoard(tiles.to_vec());
        let before = self
            .state(seen.before)
            .ok_or_else(|| impossible(seen.before))?;
        let after = self
            .state(seen.after)
            .ok_or_else(|| impossible(seen.after))?;
        let slides = self.game.slides(before);
        if let Some(mask) = seen.mask {
            let legal = Direction::ALL.map(|direction| slides.get(direction).is_some());
            let fault = (mask != legal).then(|| {
                let (found, expected) = (named(mask), named(legal));
                let board = self.shown(seen.before);
                format!("on {board} the mask allows {found}; legal are {expected}")
            });
            self.count(Check::Masks).see(fault);
        }
        match self.tiles_of(&slides, seen.action) {
            None => self.see_illegal(seen),
            Some((slid, reward)) => self.see_legal(seen, &slid, reward),
        }
        let over = !self.game.slides(after).any();
        let fault = (seen.terminated != over).then(|| {
            let board = self.shown(seen.after);
            match over {
                true => {
                    format!("on {board} no slide is legal, but the game is not said to be over")
                }
                false => format!("on {board} the game is said to be over, but a slide is legal"),
            }
        });
        self.count(Check::Terminal).see(fault);
        Ok(())
    }

    fn see_illegal(&mut self, seen: &ObservedAction<'_>) {
        let board = self.shown(seen.before);
        let action = seen.action.name();
        let fault = if seen.before != seen.after {
            let after = self.shown(seen.after);
            Some(format!(
                "{action} is illegal on {board}, but it leads to {after}"
            ))
        } else {
            let reward = seen.reward.filter(|&reward| reward != 0.0);
            reward.map(|reward| format!("{action} is illegal on {board}, but it gives {reward}"))
        };
        self.count(Check::IllegalActions).see(fault);
    }

    fn see_legal(&mut self, seen: &ObservedAction<'_>, slid: &[u8], reward: u32) {
        let ObservedAction { before, after, .. } = *seen;
        let (board, action) = (self.shown(before), seen.action.name());
        let is_large = before.iter().chain(slid).any(|&tile| tile >= LARGE);
        let or_large = |check| if is_large { Check::LargeTiles } else { check };
        let found = Difference::of(slid, after);
        let wrong = (found == Difference::Other).then(|| {
            let (expected, found) = (self.shown(slid), self.shown(after));
            format!("{action} on {board} leads to {found}; expected {expected} and one new tile")
        });
        let is_slide = wrong.is_none();
        self.count(or_large(Check::Slides)).see(wrong);
        if let Some(given) = seen.reward {
            let expected = f64::from(reward);
            // Rewards may be 32-bit floats.
            let differs = (given - expected).abs() > 1e-6 * expected.max(1.0);
            let fault = || format!("{action} on {board} gives {given}; expected {expected}");
            let fault = differs.then(fault);
            self.count(or_large(Check::Rewards)).see(fault);
        }
        if !is_slide {
            return;
        }
        let check = match before.contains(&0) {
            true => Check::Spawns,
            false => Check::SpawnsOnFullBoards,
        };
        let missing = found == Difference::None;
        let fault = missing.then(|| format!("after {action} on {board} no tile spawns"));
        self.count(check).see(fault);
        if let Difference::Spawn(cell, tile) = found {
            self.see_spawn(slid, cell, tile);
        }
    }

    fn see_spawn(&mut self, slid: &[u8], cell: usize, tile: u8) {
        let mut empty = 0_u32;
        for (i, _) in slid.iter().enumerate().filter(|&(_, &tile)| tile == 0) {
            empty |= 1 << i;
        }
        let chance = 1.0 / f64::from(empty.count_ones());
        let places = each_cell(empty).map(move |cell| (cell, chance));
        self.places.see(cell, places);
        self.count(Check::SpawnPlaces).see(None);
        let spawns = self.spawns();
        let fault = if spawns.iter().any(|&(spawn, _)| spawn == tile) {
            self.tiles.see(usize::from(tile), self.chances());
            None
        } else {
            let board = self.shown(slid);
            Some(format!("a {} spawns on {board}", self.value(tile)))
        };
        self.count(Check::SpawnTiles).see(fault);
    }

    /// What was found by each check.
    pub fn results(&self) -> Vec<CheckResult> {
        Check::ALL.map(|check| self.result(check)).into()
    }

    fn result(&self, check: Check) -> CheckResult {
        let Count {
            tried,
            faults,
            first,
        } = &self.counts[check as usize];
        let draws = match check {
            Check::SpawnPlaces => Some(&self.places),
            Check::SpawnTiles => Some(&self.tiles),
            _ => None,
        };
        let of_draws = check == Check::StartPlaces || draws.is_some();
        let p = match check {
            Check::StartPlaces => {
                let tiles = self.game.rules().initial_tiles(self.game.shape());
                self.starts.test(tiles)
            }
            _ => draws.and_then(Frequency::test).map(|test| test.p_value),
        };
        let unfair = p.filter(|&p| p < LEAST_P);
        let what = match check {
            Check::StartPlaces => "games do not start with tiles in random cells",
            Check::SpawnPlaces => "the empty cells are not equally likely",
            _ => "the new tiles do not have the chances of the rules",
        };
        let by_chance = unfair.map(|p| format!("{what}: p = {p:.1e}"));
        // Draws that are too few to test show faults at most.
        let is_tested = *tried > 0 && (!of_draws || p.is_some() || *faults > 0);
        CheckResult {
            check,
            passed: is_tested.then_some(*faults == 0 && unfair.is_none()),
            tried: *tried,
            faults: *faults,
            fault: first.clone().or(by_chance),
            p,
        }
    }
}

/// A board that cannot occur in a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpossibleBoard(Vec<u8>);

impl fmt::Display for ImpossibleBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the tile indices {:?} cannot be a board of this game",
            self.0
        )
    }
}

impl std::error::Error for ImpossibleBoard {}

/// How a board differs from an afterstate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    None,
    /// A tile in an empty cell.
    Spawn(usize, u8),
    Other,
}

impl Difference {
    fn of(slid: &[u8], after: &[u8]) -> Self {
        let pairs = slid.iter().zip(after).enumerate();
        let mut differing = pairs.filter(|(_, (slid, after))| slid != after);
        match (differing.next(), differing.next()) {
            (None, _) => Self::None,
            (Some((cell, (0, &tile))), None) => Self::Spawn(cell, tile),
            _ => Self::Other,
        }
    }
}

/// The names of the directions of a mask.
fn named(mask: [bool; 4]) -> String {
    let names = Direction::ALL.into_iter().filter(|&it| mask[it as usize]);
    let names: Vec<&str> = names.map(Direction::name).collect();
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Grid, PowersOfTwo, Shape, Threes};
    use crate::random::{Rng, game_rng};

    /// An environment with one fault.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Flaw {
        None,
        ForgetsSpawnOnFullBoard,
        ForgetsSpawns,
        FoursTooOften,
        FirstCell,
        HalfReward,
        SpawnsOnIllegal,
        PenaltyOnIllegal,
        AllowsAll,
        OverWhenFull,
        ThreeTiles,
        SameStart,
        FarMerge,
    }

    fn judged(flaw: Flaw) -> Vec<CheckResult> {
        let game = Grid::new(Shape::FOUR, &PowersOfTwo);
        let mut judge = EnvironmentJudge::new(game).unwrap();
        for number in 0..60 {
            let mut rng = game_rng(1, number);
            let mut tiles = vec![0; 16];
            for _ in 0..2 + usize::from(flaw == Flaw::ThreeTiles) {
                spawn(&mut tiles, flaw, &mut rng);
            }
            if flaw == Flaw::SameStart {
                tiles = [vec![1, 1], vec![0; 14]].concat();
            }
            judge.start(&tiles);
            while let Some(after) = step(&mut judge, &game, flaw, &tiles, &mut rng) {
                tiles = after;
            }
        }
        judge.results()
    }

    fn spawn(tiles: &mut [u8], flaw: Flaw, rng: &mut Rng) {
        let empty: Vec<usize> = (0..tiles.len()).filter(|&i| tiles[i] == 0).collect();
        let place = match flaw {
            Flaw::FirstCell => 0,
            _ => rng.below(empty.len() as u32) as usize,
        };
        let fours = if flaw == Flaw::FoursTooOften { 2 } else { 1 };
        tiles[empty[place]] = 1 + u8::from(rng.below(10) < fours);
    }

    fn step(
        judge: &mut EnvironmentJudge<Grid>,
        game: &Grid,
        flaw: Flaw,
        before: &[u8],
        rng: &mut Rng,
    ) -> Option<Vec<u8>> {
        let slides = game.slides(judge.state(before).unwrap());
        let action = Direction::ALL[rng.below(4) as usize];
        let legal = Direction::ALL.map(|it| slides.get(it).is_some());
        let mut after = before.to_vec();
        let mut reward = 0.0;
        if let Some(slide) = slides.get(action) {
            after = (0..16).map(|i| slide.after().cell(i)).collect();
            reward = f64::from(slide.reward());
            let full = !before.contains(&0);
            if flaw == Flaw::FarMerge && action == Direction::Left {
                far_merge(before, &mut after);
            }
            let forgets = flaw == Flaw::ForgetsSpawns && !full && rng.below(50) == 0;
            if !(forgets || flaw == Flaw::ForgetsSpawnOnFullBoard && full) {
                spawn(&mut after, flaw, rng);
            }
        } else if flaw == Flaw::SpawnsOnIllegal && before.contains(&0) {
            spawn(&mut after, flaw, rng);
        } else if flaw == Flaw::PenaltyOnIllegal {
            reward = -1.0;
        }
        if flaw == Flaw::HalfReward {
            reward /= 2.0;
        }
        let over = !game.slides(judge.state(&after).unwrap()).any();
        let terminated = over || flaw == Flaw::OverWhenFull && !after.contains(&0);
        let seen = ObservedAction {
            before,
            action,
            after: &after,
            reward: Some(reward),
            terminated,
            mask: Some(if flaw == Flaw::AllowsAll {
                [true; 4]
            } else {
                legal
            }),
        };
        judge.see(&seen).unwrap();
        (!terminated).then_some(after)
    }

    /// In a row of three equal tiles the two far from the wall merge.
    fn far_merge(before: &[u8], after: &mut [u8]) {
        for (from, to) in before.chunks(4).zip(after.chunks_mut(4)) {
            if let [a, b, c, 0] = *from
                && a == b
                && b == c
                && a != 0
            {
                to.copy_from_slice(&[a, a + 1, 0, 0]);
            }
        }
    }

    fn failed(flaw: Flaw) -> Vec<Check> {
        let results = judged(flaw).into_iter();
        let failed = results.filter(|result| result.passed == Some(false));
        failed.map(|result| result.check).collect()
    }

    #[test]
    fn a_correct_environment_passes() {
        for result in judged(Flaw::None) {
            let expected = (result.check != Check::LargeTiles).then_some(true);
            assert_eq!(result.passed, expected, "{result:?}");
        }
    }

    #[test]
    fn few_starts_are_not_tested() {
        let mut starts = Starts::default();
        let mut tiles = [0; 16];
        (tiles[3], tiles[9]) = (1, 2);
        for _ in 0..7 {
            starts.see(&tiles);
        }
        assert_eq!(starts.test(2), None);
        starts.see(&tiles);
        // (1/8)^8, for each of 16 cells.
        let p = starts.test(2).unwrap();
        assert!((p - 16.0 / 8_f64.powi(8)).abs() < 1e-12, "{p}");
    }

    #[test]
    fn every_flaw_fails_its_check_alone() {
        for (flaw, check) in [
            (Flaw::ForgetsSpawnOnFullBoard, Check::SpawnsOnFullBoards),
            (Flaw::ForgetsSpawns, Check::Spawns),
            (Flaw::FoursTooOften, Check::SpawnTiles),
            (Flaw::HalfReward, Check::Rewards),
            (Flaw::SpawnsOnIllegal, Check::IllegalActions),
            (Flaw::PenaltyOnIllegal, Check::IllegalActions),
            (Flaw::AllowsAll, Check::Masks),
            (Flaw::OverWhenFull, Check::Terminal),
            (Flaw::ThreeTiles, Check::Start),
            (Flaw::SameStart, Check::StartPlaces),
            (Flaw::FarMerge, Check::Slides),
        ] {
            assert_eq!(failed(flaw), [check], "{flaw:?}");
        }
        // The first tiles spawn as well.
        let both = [Check::StartPlaces, Check::SpawnPlaces];
        assert_eq!(failed(Flaw::FirstCell), both);
    }

    #[test]
    fn tiles_beyond_32768_are_checked_apart() {
        let game = Grid::new(Shape::FOUR, &PowersOfTwo);
        let judge = EnvironmentJudge::new(game).unwrap();
        let mut before = vec![0; 16];
        (before[0], before[1]) = (15, 15);
        for (tile, reward, passed) in [
            (16, 65_536.0, true),
            (15, 65_536.0, false),
            (16, 0.0, false),
        ] {
            let mut after = vec![0; 16];
            (after[0], after[15]) = (tile, 1);
            let seen = ObservedAction {
                before: &before,
                action: Direction::Left,
                after: &after,
                reward: Some(reward),
                terminated: false,
                mask: None,
            };
            let mut judge = judge.clone();
            judge.see(&seen).unwrap();
            let result = judge.result(Check::LargeTiles);
            assert_eq!(result.passed, Some(passed), "{result:?}");
            assert_eq!(judge.result(Check::Slides).passed, None);
        }
    }

    #[test]
    fn actions_are_explained_by_their_direction() {
        let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
        let judge = EnvironmentJudge::new(game).unwrap();
        assert!(judge.explains(&[1, 1, 0, 0], Direction::Left, &[2, 0, 1, 0]));
        assert!(!judge.explains(&[1, 1, 0, 0], Direction::Right, &[2, 0, 1, 0]));
        assert!(judge.explains(&[1, 2, 0, 0], Direction::Up, &[1, 2, 0, 0]));
        assert!(!judge.explains(&[99, 0, 0, 0], Direction::Up, &[1, 2, 0, 0]));
        let other = Grid::new(Shape::FOUR, &Threes::Course);
        assert!(EnvironmentJudge::new(other).is_none());
    }
}
