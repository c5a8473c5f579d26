//! Games, positions and afterstates of any board, by the rules that are easy to read.

use afterstate::game::{
    After, ChanceState, Direction, Game as _, Grid, GridBoard, Slides, State, each_cell,
};
use afterstate::random::Rng;
use afterstate_lab::agent::BoardState;
use afterstate_lab::board::{GameBoard, shape_of};
use afterstate_lab::environment::stream;
use afterstate_lab::games as registry;
use pyo3::prelude::*;

use crate::convert::{direction, shape};
use crate::errors::{OrRaise, input};

/// The names of all games.
#[pyfunction]
pub fn games() -> Vec<&'static str> {
    registry::games().collect()
}

/// Rows and columns of the text of a board.
#[pyfunction]
pub fn board_shape(text: &str) -> PyResult<(usize, usize)> {
    let shape = shape_of(text).or_raise()?;
    Ok((shape.rows(), shape.cols()))
}

/// A game on a board.
#[pyclass(frozen, module = "afterstate._afterstate")]
#[derive(Clone)]
pub struct Game {
    name: String,
    grid: Grid,
}

#[pymethods]
impl Game {
    #[new]
    fn new(name: &str, board: &str) -> PyResult<Self> {
        let rules = registry::rules(name).or_raise()?;
        Ok(Self {
            name: name.to_owned(),
            grid: Grid::new(shape(board)?, rules),
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn rows(&self) -> usize {
        self.grid.shape().rows()
    }

    #[getter]
    fn cols(&self) -> usize {
        self.grid.shape().cols()
    }

    /// The number on each tile, by its index; 0 for an empty cell.
    #[getter]
    fn tile_values(&self) -> PyResult<Vec<u64>> {
        let values = registry::tile_values(&self.name, self.grid.shape()).or_raise()?;
        Ok(std::iter::once(0).chain(values).collect())
    }

    #[getter]
    fn shows_hint(&self) -> bool {
        self.grid.rules().shows_hint(self.grid.shape())
    }

    /// Draws an initial position.
    fn start(&self, random: &mut Random) -> Position {
        Position {
            game: self.clone(),
            state: self.grid.start(&mut random.0),
        }
    }

    /// The position of a text.
    fn parse(&self, text: &str) -> PyResult<Position> {
        let board = GameBoard::parse(text, &self.name, self.grid.shape()).or_raise()?;
        self.position_of(board.tiles(), board.chance_state())
    }

    /// The position of tile indices in row-major order, and a hint.
    fn position(&self, tiles: Vec<u8>, hint: u8) -> PyResult<Position> {
        let rules = self.grid.rules();
        let fits = tiles.len() == self.grid.shape().cells();
        let chance_state = fits.then(|| rules.chance_state_of(self.grid.shape(), &tiles, hint));
        match chance_state.flatten() {
            Some(chance_state) => self.position_of(&tiles, chance_state),
            None => Err(self.impossible(&tiles)),
        }
    }
}

impl Game {
    fn position_of(&self, tiles: &[u8], chance_state: ChanceState) -> PyResult<Position> {
        let state = self.grid.state(tiles, chance_state);
        let state = state.ok_or_else(|| self.impossible(tiles))?;
        Ok(Position {
            game: self.clone(),
            state,
        })
    }

    fn impossible(&self, tiles: &[u8]) -> PyErr {
        input(&format!(
            "the tile indices {tiles:?} cannot occur in {} on {}",
            self.name,
            self.grid.shape()
        ))
    }

    fn board(&self, board: GridBoard) -> PyResult<GameBoard> {
        let chance_state = self.grid.chance_state(State(board));
        let tiles = board.tiles().to_vec();
        GameBoard::new(&self.name, self.grid.shape(), tiles, chance_state).or_raise()
    }
}

/// A stream of random numbers: that of a game of an evaluation.
#[pyclass(module = "afterstate._afterstate")]
pub struct Random(Rng);

#[pymethods]
impl Random {
    #[new]
    fn new(seed: u64, game: u64) -> Self {
        Self(stream(seed, game))
    }

    /// A uniform number in [0, 1).
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}

/// A position in which the player is to move.
#[pyclass(frozen, eq, module = "afterstate._afterstate")]
#[derive(Clone)]
pub struct Position {
    game: Game,
    state: State<GridBoard>,
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        self.game.name == other.game.name && self.state == other.state
    }
}

impl Position {
    fn slides(&self) -> Slides<GridBoard> {
        self.game.grid.slides(self.state)
    }

    /// The position as agents read it.
    pub fn board_state(&self) -> BoardState {
        let State(board) = self.state;
        BoardState {
            tiles: board.tiles().to_vec(),
            chance_state: self.game.grid.chance_state(self.state),
        }
    }
}

#[pymethods]
impl Position {
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    /// The tile indices in row-major order.
    #[getter]
    fn tiles(&self) -> Vec<u8> {
        self.state.0.tiles().to_vec()
    }

    #[getter]
    fn hint(&self) -> u8 {
        self.game.grid.chance_state(self.state).hint
    }

    /// The board in one line.
    #[getter]
    fn text(&self) -> PyResult<String> {
        Ok(self.game.board(self.state.0)?.text())
    }

    /// The score with which a game starts in this position.
    #[getter]
    fn initial_score(&self) -> u64 {
        self.game.grid.initial_score(self.state)
    }

    /// The legal directions, by number.
    #[getter]
    fn legal(&self) -> Vec<usize> {
        let slides = self.slides();
        slides.legal().map(|it| it.direction() as usize).collect()
    }

    /// The afterstate and the reward of a slide; none if it is illegal.
    fn slide(&self, number: usize) -> PyResult<Option<(Afterstate, u32)>> {
        let direction: Direction = direction(number)?;
        let slide = self.slides().get(direction);
        Ok(slide.map(|slide| {
            let after = Afterstate {
                game: self.game.clone(),
                after: slide.after(),
            };
            (after, slide.reward())
        }))
    }

    fn drawing(&self) -> PyResult<String> {
        Ok(self.game.board(self.state.0)?.to_string())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.game.name, self.state).hash(&mut hasher);
        hasher.finish()
    }
}

/// A position after a slide and before the spawn.
#[pyclass(frozen, eq, module = "afterstate._afterstate")]
#[derive(Clone)]
pub struct Afterstate {
    game: Game,
    after: After<GridBoard>,
}

impl PartialEq for Afterstate {
    fn eq(&self, other: &Self) -> bool {
        self.game.name == other.game.name && self.after == other.after
    }
}

#[pymethods]
impl Afterstate {
    #[getter]
    fn game(&self) -> Game {
        self.game.clone()
    }

    /// The tile indices in row-major order.
    #[getter]
    fn tiles(&self) -> Vec<u8> {
        self.after.0.tiles().to_vec()
    }

    /// Every possible spawn: cell, tile index, probability, reward and position.
    fn spawns(&self) -> Vec<(usize, u8, f64, u32, Position)> {
        let grid = &self.game.grid;
        let cells = grid.spawn_cells(self.after);
        let share = 1.0 / f64::from(cells.count_ones().max(1));
        let mut all = Vec::new();
        for cell in each_cell(cells) {
            grid.for_each_new_tile(self.after, |spawn, chance| {
                let position = Position {
                    game: self.game.clone(),
                    state: grid.place(self.after, cell, spawn),
                };
                let reward = grid.spawn_reward(spawn.tile);
                all.push((cell, spawn.tile, share * chance, reward, position));
            });
        }
        all
    }

    /// Draws a spawn: the position after it, and its reward.
    fn spawn(&self, random: &mut Random) -> (Position, u32) {
        let grid = &self.game.grid;
        let (cell, spawn) = grid.draw_spawn(self.after, &mut random.0);
        let position = Position {
            game: self.game.clone(),
            state: grid.place(self.after, cell, spawn),
        };
        (position, grid.spawn_reward(spawn.tile))
    }

    fn drawing(&self) -> PyResult<String> {
        Ok(self.game.board(self.after.0)?.to_string())
    }
}
