//! Values of many boards at once: boards in as one array, values and best moves out.
//!
//! An array of tile indices has no allocation for each board, as [`BoardState`] has.

use std::sync::Mutex;

use afterstate::game::{ChanceState, Direction, Game, Position, Rules, Shape, State};
use afterstate::value::{ActionValues, Decision, ValueFunction};

use super::{Agent, BoardState, StateAnalysis};
use crate::LabError;
use crate::board::GameBoard;
use crate::error::game_on;
use crate::games::{self, GameVisitor, with_game};
use crate::share::{threads, try_share};

/// Boards of one game and shape.
#[derive(Clone, Copy, Debug)]
pub struct BoardBatch<'a> {
    rules: &'static dyn Rules,
    shape: Shape,
    tiles: &'a [u8],
    /// Empty in games that show no hint.
    hints: &'a [u8],
}

impl<'a> BoardBatch<'a> {
    /// Boards by their tile indices in row-major order, one board after another, and the hints that
    /// a game shows: see [`ChanceState::hint`].
    ///
    /// # Errors
    /// When there is no such game, or the lengths do not fit.
    pub fn new(
        game: &str,
        shape: Shape,
        tiles: &'a [u8],
        hints: &'a [u8],
    ) -> Result<Self, LabError> {
        let rules = games::rules(game)?;
        let (cells, name) = (shape.cells(), game_on(game, shape));
        if !tiles.len().is_multiple_of(cells) {
            let found = tiles.len();
            return Err(LabError::Board(format!(
                "{found} tiles are no whole boards of {name}; expected {cells} for each board"
            )));
        }
        let expected = match rules.shows_hint(shape) {
            true => tiles.len() / cells,
            false => 0,
        };
        if hints.len() != expected {
            let found = hints.len();
            return Err(LabError::Board(format!(
                "found {found} hints about the next tile; {name} needs {expected} for these boards"
            )));
        }
        Ok(Self {
            rules,
            shape,
            tiles,
            hints,
        })
    }

    /// The number of boards.
    pub fn len(&self) -> usize {
        self.tiles.len() / self.shape.cells()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Some of them.
    fn part(&self, from: usize, count: usize) -> Self {
        let cells = self.shape.cells();
        Self {
            tiles: &self.tiles[from * cells..][..count * cells],
            hints: match self.hints {
                [] => &[],
                hints => &hints[from..][..count],
            },
            ..*self
        }
    }

    /// The tiles and the chance state of each; `None` if no game can reach them.
    fn each(&self) -> impl Iterator<Item = (&'a [u8], Option<ChanceState>)> {
        let (rules, shape, hints) = (self.rules, self.shape, self.hints);
        let boards = self.tiles.chunks_exact(shape.cells()).enumerate();
        boards.map(move |(n, tiles)| {
            let hint = hints.get(n).copied().unwrap_or(0);
            (tiles, rules.chance_state_of(shape, tiles, hint))
        })
    }
}

/// The values of a move that is illegal, or of which an agent has no value.
const NONE: f32 = f32::NAN;

/// What an agent finds for many boards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardValues {
    /// Reward plus value of each of the four slides; NaN if it is illegal or has no value.
    pub totals: Vec<[f32; 4]>,
    /// The best move by the number of its direction; -1 if the game is over.
    pub best: Vec<i8>,
}

/// Where an agent writes what it finds, a place for each board.
pub struct BoardResults<'o> {
    totals: &'o mut [[f32; 4]],
    best: &'o mut [i8],
}

impl BoardResults<'_> {
    fn set(&mut self, board: usize, values: &ActionValues, chosen: Option<Direction>) {
        let total = |direction| {
            let total = values.get(direction).map(|value| value.total);
            total.filter(|total| total.is_finite()).unwrap_or(NONE)
        };
        self.totals[board] = Direction::ALL.map(total);
        self.best[board] = chosen.map_or(-1, |direction| direction as i8);
    }
}

/// The boards that an agent evaluates in one piece.
const PIECE: usize = 4096;

/// The values of many boards, on several threads (0 means one for each core). If `stop` returns true,
/// the rest of the boards has no values, and boards that were being searched may have those of a
/// shallower search: what was asked for is complete only if `stop` has always returned false.
///
/// # Errors
/// When no game can reach one of the boards.
pub fn board_values(
    agent: &dyn Agent,
    game: &str,
    boards: &BoardBatch<'_>,
    asked: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<BoardValues, LabError> {
    let mut found = BoardValues {
        totals: vec![[NONE; 4]; boards.len()],
        best: vec![-1; boards.len()],
    };
    let totals = found.totals.chunks_mut(PIECE);
    let pieces = totals.zip(found.best.chunks_mut(PIECE));
    let pieces: Vec<Mutex<BoardResults<'_>>> = pieces
        .map(|(totals, best)| Mutex::new(BoardResults { totals, best }))
        .collect();
    let evaluated = try_share(threads(asked), pieces.len(), || {
        |piece: usize| {
            if stop() {
                return Ok(());
            }
            let from = piece * PIECE;
            let count = PIECE.min(boards.len() - from);
            let mut places = pieces[piece].lock().unwrap_or_else(|it| it.into_inner());
            let done = agent.evaluate_boards(&boards.part(from, count), &mut places, stop);
            done.map_err(|at| from + at)
        }
    });
    drop(pieces);
    match evaluated {
        Ok(()) => Ok(found),
        Err(at) => Err(impossible(game, boards, at)),
    }
}

/// The four slides of many boards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardSlides {
    /// The tile indices after each slide; those before it where it is illegal.
    pub afterstates: Vec<u8>,
    /// The reward of each slide; 0 where it is illegal.
    pub rewards: Vec<i64>,
    /// Whether it is legal.
    pub legal: Vec<bool>,
}

/// The slides of many boards, up, right, down and left of each.
///
/// # Errors
/// When there is no such game, or no game can reach one of the boards.
pub fn board_slides(game: &str, boards: &BoardBatch<'_>) -> Result<BoardSlides, LabError> {
    let found = with_game(game, boards.shape, Sliding(boards))?;
    found.map_err(|at| impossible(game, boards, at))
}

struct Sliding<'b>(&'b BoardBatch<'b>);

impl GameVisitor for Sliding<'_> {
    /// Or the number of a board that no game can reach.
    type Output = Result<BoardSlides, usize>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let mut found = BoardSlides::default();
        for (n, (tiles, chance_state)) in self.0.each().enumerate() {
            let state = chance_state.and_then(|chance_state| game.state(tiles, chance_state));
            let slides = game.slides(state.ok_or(n)?);
            for direction in Direction::ALL {
                let from = found.afterstates.len();
                found.afterstates.extend(tiles);
                let slide = slides.get(direction);
                if let Some(slide) = slide {
                    slide.after().0.write_tiles(&mut found.afterstates[from..]);
                }
                found
                    .rewards
                    .push(slide.map_or(0, |slide| slide.reward().into()));
                found.legal.push(slide.is_some());
            }
        }
        Ok(found)
    }
}

fn impossible(game: &str, boards: &BoardBatch<'_>, at: usize) -> LabError {
    let BoardBatch { shape, rules, .. } = boards;
    let name = game_on(game, *shape);
    let largest = rules.largest_tile(*shape);
    let tiles = boards.part(at, 1).tiles;
    // Only tiles of the game can be written as a board.
    if let Some(tile) = tiles.iter().find(|&&tile| tile > largest) {
        return LabError::Board(format!(
            "board {at} has the tile index {tile}; the largest index of {name} is {largest}"
        ));
    }
    let text = GameBoard::new(game, *shape, tiles.to_vec(), ChanceState::NONE);
    let text = text.map_or_else(|_| format!("{tiles:?}"), |board| board.text());
    LabError::Board(format!("board {at}, `{text}`, cannot occur in {name}"))
}

/// Evaluates boards one analysis at a time: for agents without a faster way.
pub(super) fn analyze_each(
    agent: &(impl Agent + ?Sized),
    boards: &BoardBatch<'_>,
    places: &mut BoardResults<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), usize> {
    let state = |(tiles, chance_state): (&[u8], Option<ChanceState>)| {
        chance_state.map(|chance_state| BoardState {
            tiles: tiles.to_vec(),
            chance_state,
        })
    };
    let states: Vec<Option<BoardState>> = boards.each().map(state).collect();
    if let Some(at) = states.iter().position(Option::is_none) {
        return Err(at);
    }
    let states: Vec<BoardState> = states.into_iter().flatten().collect();
    for (n, found) in agent.analyze_many(&states, stop).into_iter().enumerate() {
        let StateAnalysis { values, chosen, .. } = found.ok_or(n)?;
        places.set(n, &values, chosen);
    }
    Ok(())
}

/// Evaluates boards by a value function, and chooses the first of the best moves.
pub(super) fn evaluate_by<G: Game, V: ValueFunction<G>>(
    game: &G,
    values: &V,
    boards: &BoardBatch<'_>,
    places: &mut BoardResults<'_>,
) -> Result<(), usize> {
    let (mut open, mut numbers) = (Vec::with_capacity(boards.len()), Vec::new());
    for (n, (tiles, chance_state)) in boards.each().enumerate() {
        let state = chance_state.and_then(|chance_state| game.state(tiles, chance_state));
        let state: State<G::Board> = state.ok_or(n)?;
        if let Some(decision) = Decision::new(game, state) {
            open.push(decision);
            numbers.push(n);
        }
    }
    let mut found = Vec::with_capacity(open.len());
    values.batch(game, &open, &mut found);
    for (n, values) in numbers.into_iter().zip(found) {
        places.set(n, &values, values.best());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::agent::Baseline;
    use crate::control::quiet;
    use crate::environment::{Autoreset, environments};
    use crate::recipe::Recipe;
    use crate::search::SearchSpec;
    use crate::trainer::Trainer;

    /// Boards of many games in progress.
    fn seen(game: &str, shape: Shape) -> (Vec<u8>, Vec<u8>) {
        let mut all = environments(game, shape, 40, Autoreset::NextStep, 3).unwrap();
        let (mut tiles, mut hints) = (Vec::new(), Vec::new());
        for step in 0..250 {
            let actions: Vec<i64> = (0..40).map(|n| (n + step) % 4).collect();
            all.step(&actions, false).unwrap();
            let seen = all.observe(false);
            tiles.extend(seen.tiles);
            hints.extend(seen.hints);
        }
        if !games::rules(game).unwrap().shows_hint(shape) {
            hints.clear();
        }
        (tiles, hints)
    }

    /// Bits, so that NaN equals itself.
    fn bits(values: &BoardValues) -> Vec<[u32; 4]> {
        let bits = |totals: &[f32; 4]| totals.map(f32::to_bits);
        values.totals.iter().map(bits).collect()
    }

    #[test]
    fn boards_have_the_values_of_their_analyses() {
        for (game, value) in [
            ("2048", "afterstate"),
            ("2048", "state"),
            ("threes-hint", "afterstate"),
        ] {
            let overrides = [
                format!("game={game}"),
                format!("value={value}"),
                "tuples=8x4".to_owned(),
                "episodes=50".to_owned(),
                "threads=1".to_owned(),
            ];
            let recipe = Recipe::load("quick", &overrides).unwrap();
            let mut trainer = Trainer::in_memory(recipe, quiet()).unwrap();
            trainer.train().unwrap();
            let agent = trainer.agent();
            let (tiles, hints) = seen(game, Shape::FOUR);
            let boards = BoardBatch::new(game, Shape::FOUR, &tiles, &hints).unwrap();
            let found = board_values(&*agent, game, &boards, 2, &|| false).unwrap();
            let mut expected = found.clone();
            let (totals, best) = (&mut *expected.totals, &mut *expected.best);
            let mut places = BoardResults { totals, best };
            analyze_each(&*agent, &boards, &mut places, &|| false).unwrap();
            assert_eq!(
                (bits(&found), &found.best),
                (bits(&expected), &expected.best)
            );
            assert!(found.best.contains(&-1) && found.best.iter().any(|&best| best > 0));
        }
    }

    #[test]
    fn boards_slide_in_all_directions() {
        let tiles = [1, 1, 2, 0, 0, 2, 2, 3, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let shape = Shape::new(3, 3).unwrap();
        let boards = BoardBatch::new("2048", shape, &tiles, &[]).unwrap();
        let found = board_slides("2048", &boards).unwrap();
        assert_eq!(found.rewards, [8, 20, 8, 20, 0, 0, 0, 0]);
        assert_eq!(found.legal[..4], [true; 4]);
        assert_eq!(found.legal[4..], [false, true, true, false]);
        let afterstates: Vec<&[u8]> = found.afterstates.chunks(9).collect();
        assert_eq!(afterstates[0], [1, 1, 3, 2, 3, 3, 0, 0, 0]);
        assert_eq!(afterstates[3], [2, 2, 0, 2, 0, 0, 2, 4, 0]);
        assert_eq!(afterstates[4], &tiles[9..]);
        assert_eq!(afterstates[5], [0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_search_evaluates_boards_as_well() {
        let recipe = Recipe::load("quick", &["episodes=5".to_owned(), "tuples=8x4".to_owned()]);
        let mut trainer = Trainer::in_memory(recipe.unwrap(), quiet()).unwrap();
        trainer.train().unwrap();
        let spec = SearchSpec::new("2ply".parse().unwrap());
        let contender = trainer.contender().with_search(&spec).unwrap();
        let (tiles, _) = seen("2048", Shape::FOUR);
        let boards = BoardBatch::new("2048", Shape::FOUR, &tiles[..16 * 30], &[]).unwrap();
        let agent = &*contender.agent;
        let values = |threads, stop: &(dyn Fn() -> bool + Sync)| {
            board_values(agent, "2048", &boards, threads, stop).unwrap()
        };
        assert_eq!(bits(&values(1, &|| false)), bits(&values(2, &|| false)));

        // One that is stopped has the values of the first boards.
        let asked = AtomicUsize::new(0);
        let found = values(1, &|| asked.fetch_add(1, Ordering::Relaxed) > 15);
        let missing = |totals: &&[f32; 4]| totals.iter().all(|total| total.is_nan());
        let missing = found.totals.iter().filter(missing).count();
        assert!(
            (1..30).contains(&missing),
            "{missing} boards have no values"
        );
    }

    #[test]
    fn wrong_boards_are_refused() {
        let agent = Baseline::Greedy.agent("2048", Shape::FOUR).unwrap();
        let of = |tiles: &[u8], hints: &[u8]| -> Result<BoardValues, LabError> {
            let boards = BoardBatch::new("2048", Shape::FOUR, tiles, hints)?;
            board_values(&*agent, "2048", &boards, 1, &|| false)
        };
        let mut tiles = [1; 48];
        tiles[40] = 30;
        for (tiles, hints, part) in [
            (&tiles[..17], &[][..], "expected 16 for each board"),
            (&tiles[..16], &[1], "found 1 hints"),
            (
                &tiles[..],
                &[],
                "board 2 has the tile index 30; the largest index of 2048 on 4x4",
            ),
        ] {
            let error = of(tiles, hints).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(of(&[], &[]).unwrap().best.is_empty());
    }
}
