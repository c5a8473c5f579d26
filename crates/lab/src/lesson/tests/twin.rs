//! A slow twin: it learns the games of lessons again with a map from indices to numbers, and
//! recomputes every number that a backup diagram shows, each at its own time.
//!
//! Lesson n is game n after n games, so lessons 0, 1, 2, ... of one seed are all games of one learner.
//! The twin takes from them which slide is made and which tile appears, and computes the rest.

use std::collections::{BTreeMap, HashMap};

use super::*;

/// The values of tiles in row-major order, 0 for an empty cell.
type Tiles = Vec<u64>;

const SPAWNS: [(u64, f64); 2] = [(2, 0.9), (4, 0.1)];

/// 2048 on a small board.
struct Board {
    rows: usize,
    cols: usize,
}

impl Board {
    /// The cells of each line, from the side that tiles slide to.
    fn lines(&self, direction: &str) -> Vec<Vec<usize>> {
        let row = |r: usize| (0..self.cols).map(move |c| r * self.cols + c);
        let col = |c: usize| (0..self.rows).map(move |r| r * self.cols + c);
        match direction {
            "up" => (0..self.cols).map(|c| col(c).collect()).collect(),
            "down" => (0..self.cols).map(|c| col(c).rev().collect()).collect(),
            "left" => (0..self.rows).map(|r| row(r).collect()).collect(),
            _ => (0..self.rows).map(|r| row(r).rev().collect()).collect(),
        }
    }

    /// A slide with its reward, if it changes the board.
    fn slide(&self, state: &Tiles, direction: &str) -> Option<(Tiles, u64)> {
        let (mut after, mut reward) = (vec![0; state.len()], 0);
        for line in self.lines(direction) {
            let mut tiles = line.iter().map(|&cell| state[cell]);
            let mut waiting = 0;
            let mut out: Vec<u64> = Vec::new();
            for tile in tiles.by_ref().filter(|&tile| tile != 0) {
                match waiting {
                    0 => waiting = tile,
                    _ if waiting == tile => {
                        out.push(2 * tile);
                        reward += 2 * tile;
                        waiting = 0;
                    }
                    _ => out.push(std::mem::replace(&mut waiting, tile)),
                }
            }
            out.push(waiting);
            line.iter()
                .zip(out)
                .for_each(|(&cell, tile)| after[cell] = tile);
        }
        (after != *state).then_some((after, reward))
    }

    fn slides(&self, state: &Tiles) -> Vec<(&'static str, Tiles, u64)> {
        let all = ["up", "right", "down", "left"].into_iter();
        let legal = all.filter_map(|name| self.slide(state, name).map(|it| (name, it)));
        legal
            .map(|(name, (after, reward))| (name, after, reward))
            .collect()
    }

    /// Cell, tile, chance and state of every spawn.
    fn spawns(&self, after: &Tiles) -> Vec<(usize, u64, f64, Tiles)> {
        let empty: Vec<usize> = (0..after.len()).filter(|&cell| after[cell] == 0).collect();
        let mut all = Vec::new();
        for &cell in &empty {
            for (tile, chance) in SPAWNS {
                let mut state = after.clone();
                state[cell] = tile;
                all.push((cell, tile, chance / empty.len() as f64, state));
            }
        }
        all
    }

    /// For each symmetry, the cell that stands at each cell.
    fn symmetries(&self) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        for transposes in [false, true] {
            if transposes && self.rows != self.cols {
                continue;
            }
            for (down, right) in [(false, false), (false, true), (true, false), (true, true)] {
                let source = |cell: usize| {
                    let (mut r, mut c) = (cell / self.cols, cell % self.cols);
                    if down {
                        r = self.rows - 1 - r;
                    }
                    if right {
                        c = self.cols - 1 - c;
                    }
                    if transposes {
                        c * self.cols + r
                    } else {
                        r * self.cols + c
                    }
                };
                all.push((0..self.rows * self.cols).map(source).collect());
            }
        }
        all
    }

    /// The points to come under perfect play.
    fn best(&self, state: &Tiles, known: &mut HashMap<Tiles, f64>) -> f64 {
        if let Some(&known) = known.get(state) {
            return known;
        }
        let slides = self.slides(state).into_iter();
        let best = slides
            .map(|(_, after, reward)| reward as f64 + self.rest(&after, known))
            .reduce(f64::max)
            .unwrap_or(0.0);
        known.insert(state.clone(), best);
        best
    }

    fn rest(&self, after: &Tiles, known: &mut HashMap<Tiles, f64>) -> f64 {
        let spawns = self.spawns(after).into_iter();
        spawns
            .map(|(_, _, chance, state)| chance * self.best(&state, known))
            .sum()
    }
}

/// A weight with its sums E and A.
#[derive(Clone, Copy, Default)]
struct Cell {
    weight: f64,
    error: f64,
    absolute: f64,
}

struct Twin {
    board: Board,
    options: LessonOptions,
    patterns: Vec<Vec<usize>>,
    symmetries: Vec<Vec<usize>>,
    cells: HashMap<(usize, usize), Cell>,
    perfect: HashMap<Tiles, f64>,
}

impl Twin {
    fn new(lesson: &Lesson) -> Self {
        let (rows, cols) = crate::recipe::parse_board(&lesson.options.board).unwrap();
        let board = Board { rows, cols };
        let cell = |digit: char| digit.to_digit(36).unwrap() as usize;
        Self {
            symmetries: board.symmetries(),
            board,
            options: lesson.options.clone(),
            patterns: lesson
                .patterns
                .iter()
                .map(|it| it.chars().map(cell).collect())
                .collect(),
            cells: HashMap::new(),
            perfect: HashMap::new(),
        }
    }

    fn of_states(&self) -> bool {
        self.options.value == ValueOf::State
    }

    /// Tuple and index of each lookup.
    fn keys(&self, board: &Tiles) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (tuple, pattern) in self.patterns.iter().enumerate() {
            for symmetry in &self.symmetries {
                let digit = |&cell: &usize| match board[symmetry[cell]] {
                    0 => 0,
                    tile => tile.ilog2().min(15) as usize,
                };
                let digits = pattern.iter().map(digit).rev();
                all.push((tuple, digits.fold(0, |index, digit| 16 * index + digit)));
            }
        }
        all
    }

    fn cell(&self, key: (usize, usize)) -> Cell {
        self.cells.get(&key).copied().unwrap_or_default()
    }

    fn value(&self, board: &Tiles) -> f64 {
        self.keys(board)
            .into_iter()
            .map(|key| self.cell(key).weight)
            .sum()
    }

    /// The value of an afterstate, or the mean of V over all states that follow it.
    fn slide_value(&self, after: &Tiles) -> f64 {
        if !self.of_states() {
            return self.value(after);
        }
        let spawns = self.board.spawns(after).into_iter();
        spawns
            .map(|(_, _, chance, state)| chance * self.value(&state))
            .sum()
    }

    /// What stands beside a spawn: V of the state, or the largest total of its slides.
    fn spawn_value(&self, state: &Tiles) -> f64 {
        if self.of_states() {
            return self.value(state);
        }
        let slides = self.board.slides(state).into_iter();
        slides
            .map(|(_, after, reward)| reward as f64 + self.value(&after))
            .reduce(f64::max)
            .unwrap_or(0.0)
    }

    /// The numbers of a choice, at the time of the choice.
    fn chooses(&mut self, step: &LessonStep) {
        let slides = self.board.slides(&step.state);
        assert_eq!(slides.len(), step.slides.len());
        let largest = slides
            .iter()
            .map(|(_, after, reward)| *reward as f64 + self.slide_value(after))
            .fold(f64::MIN, f64::max);
        for ((name, after, reward), shown) in slides.iter().zip(&step.slides) {
            assert_eq!((*name, *reward as u32), (&*shown.direction, shown.reward));
            let value = self.slide_value(after);
            same("value of a slide", shown.value, value);
            same("total of a slide", shown.total, *reward as f64 + value);
            let exact = *reward as f64 + self.board.rest(after, &mut self.perfect);
            same("exact total", shown.exact.unwrap() as f32, exact);
        }
        let (_, after, _) = &slides[step.chosen];
        assert_eq!(&step.afterstate, after);
        same("the largest total", step.slides[step.chosen].total, largest);
    }

    /// The numbers of an update, at the time of the update; then makes it.
    fn learns(&mut self, step: &LessonStep, next_step: Option<&LessonStep>, z: Option<f64>) -> f64 {
        let update = &step.update;
        let position = if self.of_states() {
            &step.state
        } else {
            &step.afterstate
        };
        assert_eq!(&update.position, position);
        self.spawns_of(step, next_step);
        let reward_of = |step: &LessonStep| f64::from(step.slides[step.chosen].reward);
        let reward = match self.of_states() {
            true => reward_of(step),
            false => next_step.map_or(0.0, reward_of),
        };
        let following = |next: &LessonStep| match self.of_states() {
            true => self.value(&next.state),
            false => self.value(&next.afterstate),
        };
        let rest = z.unwrap_or_else(|| next_step.map_or(0.0, following));
        let (value, target) = (self.value(position), reward + rest);
        same("r", update.reward, reward);
        same("V of the next position, or z", update.next, rest);
        same("target", update.target, target);
        same("V", update.value, value);
        same("error", update.error, target - value);
        let exact = match self.of_states() {
            true => self.board.best(position, &mut self.perfect),
            false => self.board.rest(position, &mut self.perfect),
        };
        same("exact V", update.exact.unwrap() as f32, exact);
        self.moves_weights(update, target - value);
        same("V after", update.after, self.value(position));
        target
    }

    fn spawns_of(&self, step: &LessonStep, next_step: Option<&LessonStep>) {
        let spawns = self.board.spawns(&step.afterstate);
        assert_eq!(spawns.len(), step.spawns.len());
        let mut mean = 0.0;
        for ((cell, tile, chance, state), shown) in spawns.iter().zip(&step.spawns) {
            assert_eq!((*cell, *tile), (shown.cell, shown.tile));
            let value = self.spawn_value(state);
            same("chance", shown.chance as f32, *chance);
            same("value of s''", shown.value, value);
            assert_eq!(shown.is_over, self.board.slides(state).is_empty());
            mean += chance * value;
        }
        same("mean over s''", step.update.mean as f32, mean);
        let (_, _, _, came) = &spawns[step.drawn];
        match next_step {
            Some(next) => assert_eq!(&next.state, came),
            None => assert!(step.spawns[step.drawn].is_over),
        }
    }

    fn moves_weights(&mut self, update: &LessonUpdate, error: f64) {
        let keys = self.keys(&update.position);
        let share = f64::from(self.options.learning_rate) / keys.len() as f64;
        let mut before = BTreeMap::new();
        for &key in &keys {
            let cell = self.cell(key);
            before.entry(key).or_insert((0, cell)).0 += 1;
            let coherence = match self.options.rule {
                Rule::Tc if cell.absolute > 0.0 => cell.error.abs() / cell.absolute,
                _ => 1.0,
            };
            let cell = Cell {
                weight: cell.weight + share * coherence * error,
                error: cell.error + error,
                absolute: cell.absolute + error.abs(),
            };
            self.cells.insert(key, cell);
        }
        assert_eq!(before.len(), update.weights.len());
        for shown in &update.weights {
            let key = (shown.tuple, shown.index);
            let ((lookups, before), after) = (before[&key], self.cell(key));
            assert_eq!(shown.cells.len(), lookups);
            same("weight before", shown.before, before.weight);
            same("weight after", shown.after, after.weight);
            let sums = [(shown.sums, before), (shown.sums_after, after)];
            for (sums, cell) in sums {
                assert_eq!(sums.is_some(), self.options.rule == Rule::Tc);
                if let Some(sums) = sums {
                    same("E", sums.error, cell.error);
                    same("A", sums.absolute, cell.absolute);
                }
            }
            if let Some(coherence) = shown.coherence {
                let whole = before.absolute == 0.0;
                let share = if whole {
                    1.0
                } else {
                    before.error.abs() / before.absolute
                };
                same("|E| / A", coherence, share);
            }
        }
    }

    /// A whole game in the order in which it was learned.
    fn game(&mut self, lesson: &Lesson) {
        let steps = &lesson.steps;
        let last = steps.len() - 1;
        if self.options.backward {
            steps.iter().for_each(|step| self.chooses(step));
            let mut z = 0.0;
            for (place, step) in steps.iter().enumerate().rev() {
                let target = self.learns(step, steps.get(place + 1), Some(z));
                let after = self.value(&step.update.position);
                let lambda = f64::from(self.options.lambda);
                z = lambda * target + (1.0 - lambda) * after;
                let carried = place.checked_sub(1).and_then(|it| steps[it].update.carried);
                assert_eq!(carried.is_some(), place > 0);
                if let Some(carried) = carried {
                    same("target that is carried", carried.target, target);
                    same("V that is carried", carried.after, after);
                }
            }
            assert_eq!(steps[last].update.carried, None);
            return;
        }
        for (place, step) in steps.iter().enumerate() {
            self.chooses(step);
            if let Some(before) = place.checked_sub(1) {
                self.learns(&steps[before], Some(step), None);
            }
        }
        self.learns(&steps[last], None, None);
    }
}

#[track_caller]
fn same(what: &str, shown: f32, found: f64) {
    let size = found.abs().max(1.0);
    assert!(
        (f64::from(shown) - found).abs() <= 1e-3 * size,
        "{what}: {shown}, not {found}"
    );
}

/// Forward and backward, states and afterstates, TD and TC.
#[test]
fn every_number_of_a_backup_diagram_is_recomputed() {
    let small = SmallSolutions::default();
    for (board, games) in [("2x2", 12), ("2x3", 6)] {
        let shape = shape_of(board).unwrap();
        let solution = small.find("2048", shape, &Control::new()).unwrap();
        for value in [ValueOf::Afterstate, ValueOf::State] {
            for (backward, lambda) in [(false, 0.0), (true, 0.0), (true, 0.5)] {
                for (rule, learning_rate) in [(Rule::Td, 0.1), (Rule::Tc, 1.0)] {
                    let options = LessonOptions {
                        board: board.into(),
                        value,
                        rule,
                        backward,
                        lambda,
                        learning_rate,
                        seed: 5,
                        ..LessonOptions::default()
                    };
                    follows(&options, games, solution.as_deref());
                }
            }
        }
    }
}

fn follows(options: &LessonOptions, games: u64, solution: Option<&Contender>) {
    let mut twin: Option<Twin> = None;
    for games in 0..games {
        let options = LessonOptions {
            games,
            ..options.clone()
        };
        let lesson = lesson_beside(solution, &options, &Control::new())
            .unwrap()
            .unwrap();
        twin.get_or_insert_with(|| Twin::new(&lesson)).game(&lesson);
    }
}
