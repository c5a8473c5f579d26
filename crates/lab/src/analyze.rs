//! Analysis of a board: the value of each move.

use std::ops::Sub;

use afterstate::game::{ChanceState, Direction, Rules, Shape};
use serde::{Deserialize, Deserializer, Serialize};

use crate::LabError;
use crate::agent::BoardState;
use crate::evaluate::Contender;
use crate::games;
use crate::report::ModelInfo;

/// The analysis of a board with values of type `V`; the JSON of `analyze --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis<V> {
    /// The file of the model or the solution; `None` for an agent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The game.
    pub game: String,
    /// Its board, as in `3x3`.
    pub board: String,
    /// How the values were found: `1ply`, `3ply`, `exact`.
    #[serde(default)]
    pub search: String,
    /// Fields that only a solution has.
    #[serde(flatten)]
    pub exact: Option<Exact>,
    /// The best direction for the score; `None` if the game is over.
    #[serde(with = "direction_names::option")]
    pub best: Option<Direction>,
    /// Up, right, down and left.
    pub moves: Vec<Move<V>>,
}

/// The part of an analysis that only a solution has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// The discount per move.
    pub discount: f64,
    /// The target tile, if the solution has one.
    pub target: Option<u64>,
    /// The best direction for the target; `None` if the game is over, or the target is unreachable.
    #[serde(with = "direction_names::option")]
    pub best_for_target: Option<Direction>,
}

impl<V> Analysis<V> {
    /// The best direction for the target, if there is one.
    pub fn best_for_target(&self) -> Option<Direction> {
        self.exact.as_ref()?.best_for_target
    }
}

/// The analysis of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move<V> {
    /// The direction; its name in JSON.
    #[serde(with = "direction_names")]
    pub direction: Direction,
    /// Whether it changes the board.
    pub legal: bool,
    /// Its immediate reward.
    pub reward: Option<u32>,
    /// The value of the rest of the game after it; `None` where the agent has no estimate.
    pub value: Option<V>,
    /// What the agent maximises: reward plus value.
    pub total: Option<V>,
    /// The largest total of all moves minus this one.
    pub loss: Option<V>,
    /// The probability of reaching the target, where there is one and the move is legal.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub win_probability: Option<Option<f64>>,
}

/// A field that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Directions by their names.
mod direction_names {
    use afterstate::game::Direction;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(direction: &Direction, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(direction.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Direction, D::Error> {
        let name = String::deserialize(from)?;
        named(&name).ok_or_else(|| serde::de::Error::custom(format!("no direction `{name}`")))
    }

    fn named(name: &str) -> Option<Direction> {
        Direction::ALL.into_iter().find(|it| it.name() == name)
    }

    pub mod option {
        use afterstate::game::Direction;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        pub fn serialize<S: Serializer>(
            direction: &Option<Direction>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            direction.map(Direction::name).serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Direction>, D::Error> {
            let Some(name) = Option::<String>::deserialize(from)? else {
                return Ok(None);
            };
            let error = || serde::de::Error::custom(format!("no direction `{name}`"));
            super::named(&name).map(Some).ok_or_else(error)
        }
    }
}

impl<V> Move<V> {
    /// An illegal direction.
    pub(crate) fn illegal(direction: Direction) -> Self {
        Self {
            direction,
            legal: false,
            reward: None,
            value: None,
            total: None,
            loss: None,
            win_probability: None,
        }
    }
}

/// Sets what each move loses against the best.
pub(crate) fn set_losses<V: Copy + PartialOrd + Sub<Output = V>>(moves: &mut [Move<V>]) {
    let totals = moves.iter().filter_map(|one| one.total);
    let most = totals.reduce(|a, b| if b > a { b } else { a });
    for one in moves {
        one.loss = most.zip(one.total).map(|(most, total)| most - total);
    }
}

/// The first of the moves with the largest value.
pub(crate) fn best<V>(
    moves: &[Move<V>],
    worth: impl Fn(&Move<V>) -> Option<f64>,
) -> Option<Direction> {
    let mut best: Option<(Direction, f64)> = None;
    for m in moves {
        if let Some(worth) = worth(m).filter(|&worth| best.is_none_or(|(_, most)| worth > most)) {
            best = Some((m.direction, worth));
        }
    }
    best.map(|(direction, _)| direction)
}

/// Analyses a board written as `2,0,0,4/0,0,8,0/...`: tile values in row-major order. Spaces may
/// replace the commas, line breaks the slashes, and dots the zeros of empty cells.
///
/// # Errors
/// When the text is not a board of the contender's game.
pub fn analyze(contender: &Contender, board: &str) -> Result<Analysis<f32>, LabError> {
    let (game, shape) = (&*contender.game, contender.shape);
    let tile_values = games::tile_values(game, shape)?;
    let (tiles, chance_state) = parse(board, shape, games::rules(game)?, &tile_values)?;
    if tiles.iter().all(|&tile| tile == 0) {
        return Err(LabError::Board(
            "the board is empty: a game always has tiles".to_owned(),
        ));
    }
    let impossible = || {
        LabError::Board(format!(
            "the board `{board}` cannot occur in {}: its tiles are larger than the board allows",
            contender.game_on()
        ))
    };
    let position = BoardState {
        tiles,
        chance_state,
    };
    let analysis = contender.agent.analyze(&[position]).pop().flatten();
    let analysis = analysis.ok_or_else(impossible)?;
    let of = |direction: Direction| {
        let reward = analysis.rewards[direction as usize];
        let Some(reward) = reward else {
            return Move::illegal(direction);
        };
        // A network with three outputs has no value for the fourth slide.
        let value = analysis.values.get(direction);
        let value = value.filter(|value| value.total.is_finite());
        Move {
            legal: true,
            reward: Some(reward),
            value: value.map(|value| value.value),
            total: value.map(|value| value.total),
            ..Move::illegal(direction)
        }
    };
    let mut moves = Direction::ALL.map(of);
    set_losses(&mut moves);
    Ok(Analysis {
        model: contender.model.clone(),
        game: game.to_owned(),
        board: shape.to_string(),
        search: contender.agent.search().to_owned(),
        exact: None,
        best: analysis.chosen,
        moves: moves.into(),
    })
}

/// The rows and columns of a board text.
///
/// # Errors
/// When its rows differ in length, or are too short or too long for a board.
pub fn shape_of(board: &str) -> Result<Shape, LabError> {
    let (cells, _) = split(split(board, '@').0, '+');
    let widths: Vec<usize> = rows(cells).map(|row| row_cells(row).count()).collect();
    let (count, cols) = (widths.len(), widths.first().copied().unwrap_or(0));
    match Shape::new(count, cols).filter(|_| widths.iter().all(|&width| width == cols)) {
        Some(shape) => Ok(shape),
        None => {
            // Refused with the first row that is wrong, whatever its tiles are.
            let any = |cell: &str| {
                if cell.parse::<u64>().is_ok() {
                    "0"
                } else {
                    cell
                }
                .to_owned()
            };
            let row = |row: &str| row_cells(row).map(any).collect::<Vec<_>>().join(",");
            let cells = rows(cells).map(row).collect::<Vec<_>>().join("/");
            parse_tiles(&cells, 4, 4, &[]).map(|_| Shape::FOUR)
        }
    }
}

/// The rows of a board: between slashes, or on lines of their own where there is no slash.
fn rows(board: &str) -> impl Iterator<Item = &str> {
    let between = if board.contains('/') { '/' } else { '\n' };
    board.trim().split(between).map(str::trim)
}

/// The cells of a row: between commas, or between spaces where there is no comma. A dot is an empty
/// cell, as 0 is.
fn row_cells(row: &str) -> impl Iterator<Item = &str> {
    let has_commas = row.contains(',');
    let by_commas = has_commas.then(|| row.split(','));
    let by_spaces = (!has_commas).then(|| row.split_whitespace());
    let cells = by_commas.into_iter().flatten();
    let cells = cells.chain(by_spaces.into_iter().flatten()).map(str::trim);
    cells.map(|cell| if cell == "." { "0" } else { cell })
}

/// The tile indices and the chance state of a board text. A chance state follows the tiles: `+2` or
/// `+bonus` for the hint, then `@` and what is left in the bag, such as `@1133`, where it matters
/// and the tiles do not determine it.
pub(crate) fn parse(
    board: &str,
    shape: Shape,
    rules: &dyn Rules,
    tile_values: &[u64],
) -> Result<(Vec<u8>, ChanceState), LabError> {
    let (board, bag) = split(board, '@');
    let (board, hint) = split(board, '+');
    let tiles = parse_tiles(board, shape.rows(), shape.cols(), tile_values)?;
    let wrong = |found: String, expected: &str| {
        let board = board.trim();
        LabError::Board(format!(
            "{found}; expected {expected} after the board, as in `{board}+2`"
        ))
    };
    let shows = rules.shows_hint(shape);
    let hints = "the next tile, +1, +2, +3 or +bonus,";
    let hint = match hint {
        None if shows => return Err(wrong("the next tile is missing".to_owned(), hints)),
        None => 0,
        Some(text) if !shows => {
            let found = format!("this game does not show its next tile, but `+{text}` was found");
            return Err(LabError::Board(found));
        }
        Some("1") => 1,
        Some("2") => 2,
        Some("3") => 3,
        Some("bonus") => ChanceState::BONUS,
        Some(text) => return Err(wrong(format!("`+{text}` is not a valid next tile"), hints)),
    };
    let impossible = || {
        let shown = ChanceState {
            hint,
            ..ChanceState::NONE
        };
        LabError::Board(format!(
            "the board `{}{shown}` cannot occur in a game",
            board.trim()
        ))
    };
    let mut chance_state = rules
        .chance_state_of(shape, &tiles, hint)
        .ok_or_else(impossible)?;
    if let Some(bag) = bag {
        chance_state.memory = parse_bag(bag)?;
        if !rules.has_chance_state() || !rules.is_possible(shape, &tiles, chance_state) {
            let found = format!("the bag `@{bag}` cannot occur with this board and next tile");
            return Err(LabError::Board(found));
        }
    }
    Ok((tiles, chance_state))
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((text, rest)) => (text, Some(rest.trim())),
        None => (text, None),
    }
}

/// The number of tiles of each kind in a bag.
fn parse_bag(text: &str) -> Result<[u8; 3], LabError> {
    let mut bag = [0; 3];
    for letter in text.chars() {
        let kind = "123".find(letter).filter(|&kind| bag[kind] < 4);
        let kind = kind.ok_or_else(|| {
            LabError::Board(format!(
                "`@{text}` is not a bag; expected up to four each of 1, 2 and 3, as in `@1133`"
            ))
        })?;
        bag[kind] += 1;
    }
    Ok(bag)
}

fn parse_tiles(
    board: &str,
    count: usize,
    cols: usize,
    tile_values: &[u64],
) -> Result<Vec<u8>, LabError> {
    let wrong = |found: String| {
        let example = vec![vec!["0"; cols].join(","); count].join("/");
        Err(LabError::Board(format!(
            "{found}; expected {count} rows of {cols} tiles, such as `{example}` (0 is an empty cell)"
        )))
    };
    let lines: Vec<&str> = rows(board).collect();
    if lines.len() != count {
        return wrong(format!(
            "the board has {} row{}",
            lines.len(),
            if lines.len() == 1 { "" } else { "s" }
        ));
    }
    let mut tiles = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let cells: Vec<&str> = row_cells(line).collect();
        if cells.len() != cols {
            return wrong(format!(
                "row {number} of the board, `{line}`, has {} cells",
                cells.len()
            ));
        }
        for cell in cells {
            let Ok(tile_value) = cell.parse::<u64>() else {
                return wrong(format!("`{cell}` in row {number} is not a tile"));
            };
            let index = if tile_value == 0 {
                Some(0)
            } else {
                tile_values
                    .iter()
                    .position(|&f| f == tile_value)
                    .map(|i| i + 1)
            };
            let Some(index) = index else {
                let known = tile_values
                    .iter()
                    .map(u64::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                return wrong(format!(
                    "{tile_value} in row {number} is not a tile of this game, whose tiles are {known}"
                ));
            };
            tiles.push(index as u8);
        }
    }
    Ok(tiles)
}

#[cfg(test)]
mod tests {
    use afterstate::game::{PowersOfTwo, Threes};

    use super::*;

    const TILE_VALUES: [u64; 5] = [2, 4, 8, 16, 32];

    #[test]
    fn boards_are_read_by_rows() {
        assert_eq!(
            parse_tiles("2,0/ 32, 4", 2, 2, &TILE_VALUES).unwrap(),
            [1, 0, 5, 2]
        );
    }

    #[test]
    fn spaces_lines_and_dots_are_read() {
        for board in [
            "2 0/32 4",
            " 2 . / 32 4 ",
            "2 .\n32 4\n",
            "2,./32,4",
            "2,0\n32,4",
            "2\t0 /\n32   4",
            "\n  2 0\r\n 32 4\n",
        ] {
            assert_eq!(
                parse_tiles(board, 2, 2, &TILE_VALUES).unwrap(),
                [1, 0, 5, 2],
                "{board:?}"
            );
            assert_eq!(shape_of(board).unwrap(), Shape::new(2, 2).unwrap());
        }
        let error = |board| {
            parse_tiles(board, 2, 2, &TILE_VALUES)
                .unwrap_err()
                .to_string()
        };
        assert!(error("2 0 0/32 4").contains("row 1 of the board, `2 0 0`, has 3 cells"));
        assert!(error("../32 4").contains("has 1 cells"));
        assert!(error("2 :/32 4").contains("`:` in row 1 is not a tile"));
        assert!(error("2 0\n\n32 4").contains("3 rows"));
        assert!(error("2,/32,4").contains("`` in row 1"));
    }

    #[test]
    fn the_hint_and_the_bag_follow_the_tiles() {
        let shape = Shape::new(2, 3).unwrap();
        let tile_values = [1, 2, 3, 6, 12, 24, 48];
        let course = |text| parse(text, shape, &Threes::Course, &tile_values);
        let (tiles, chance_state) = course("0,0,0/0,1,0 +2").unwrap();
        assert_eq!(
            (tiles, chance_state.hint, chance_state.memory),
            (vec![0, 0, 0, 0, 1, 0], 2, [0, 0, 1])
        );
        let error = |text| course(text).unwrap_err().to_string();
        assert!(error("0,0,0/0,1,0").contains("the next tile is missing"));
        assert!(error("0,0,0/0,1,0+7").contains("`+7` is not a valid next tile"));
        assert!(error("0,0,0/0,1,0+1").contains("the board `0,0,0/0,1,0+1` cannot occur"));
        assert!(error("0,0,0/0,1,0+2@x").contains("`@x` is not a bag"));
        assert!(error("0,0,0/0,1,0+2@11").contains("the bag `@11` cannot occur"));
        let hint = |text| parse(text, shape, &Threes::Hint, &tile_values).unwrap().1;
        assert_eq!(hint("48,0,0/0,1,0+bonus@1133").memory, [2, 0, 2]);
        let (four, twos) = (Shape::new(2, 2).unwrap(), [2, 4]);
        let error = parse("2,2/0,0+1", four, &PowersOfTwo, &twos).unwrap_err();
        assert!(error.to_string().contains("does not show its next tile"));
        assert!(parse("2,2/0,0@1", four, &PowersOfTwo, &twos).is_err());
    }

    #[test]
    fn invalid_boards_are_refused_with_the_reason() {
        let error = |board| {
            parse_tiles(board, 2, 2, &TILE_VALUES)
                .unwrap_err()
                .to_string()
        };
        assert!(error("2,0").starts_with("the board has 1 row;"));
        assert!(error("2,0/4").contains("row 2 of the board, `4`, has 1 cells"));
        assert!(error("2,0/4,x").contains("`x` in row 2 is not a tile"));
        assert!(
            error("2,0/4,3")
                .contains("3 in row 2 is not a tile of this game, whose tiles are 2, 4, 8, 16, 32")
        );
        assert!(error("2,0/4,-2").contains("`-2` in row 2"));
        assert!(error("").contains("2 rows of 2 tiles"));
        assert!(error("2,0/4,99999999999999999999").contains("not a tile"));
    }
}
