use afterstate::game::{Fast2048, Game, Grid, PowersOfTwo, Threes};
use afterstate::random::game_rng;
use proptest::prelude::*;

use super::*;
use crate::games::{GameVisitor, games, with_game};

const TILE_VALUES: [u64; 5] = [2, 4, 8, 16, 32];

fn two_by_two() -> Shape {
    Shape::new(2, 2).unwrap()
}

fn tiles(text: &str) -> Result<Vec<u8>, String> {
    parse_tiles(text, two_by_two(), &TILE_VALUES).map_err(|error| error.to_string())
}

fn error(text: &str) -> String {
    tiles(text).unwrap_err()
}

/// The same board of 2x2 in many ways.
#[test]
fn boards_are_read_as_people_have_them() {
    for board in [
        "2,0/32,4",
        "2,0/ 32, 4",
        "2 0/32 4",
        " 2 . / 32 4 ",
        "2 .\n32 4\n",
        "2,./32,4",
        "2,0\n32,4",
        "2,0,\n32,4,",
        "2\t0 /\n32   4",
        "\n  2 0\r\n\r\n 32 4\n",
        "2 _;32 4;",
        "2 -|32 4",
        "|2 -|32 4|",
        "[[2, 0], [32, 4]]",
        "[[ 2.  0.]\n [32.  4.]]",
        "array([[ 2,  0],\n       [32,  4]], dtype=int32)",
        "((2,0),(32,4))",
        "{{2, 0}, {32, 4}};",
        "{\"board\": [[\"2\", null], [32, 4]]}",
        "[2, None, 32, 4]",
        "2 0 32 4",
        "2,0,32,4",
        "2\t\n32\t4",
        "|  2 |    |\n| 32 |  4 |",
        "+----+----+\n|  2 |    |\n+----+----+\n| 32 |  4 |\n+----+----+\n",
        "| 2 | - |\n|---|---|\n| 32 | 4 |",
        "┌────┬────┐\n│  2 │    │\n├────┼────┤\n│ 32 │  4 │\n└────┴────┘",
        "┌───┬───┐\n│   │   │\n│ 2 │   │\n│   │   │\n├───┼───┤\n│   │   │\n│32 │ 4 │\n│   │   │\n└───┴───┘",
        "┌───┬───┐\n│ 2 │   │\n├───┼───┤ score 12\n│32 │ 4 │ moves 3\n└───┴───┘",
        "+-----------+\n|    2     0|\n|   32     4|\n+-----------+",
        "\u{FEFF}2 ·\n32 4",
    ] {
        assert_eq!(tiles(board), Ok(vec![1, 0, 5, 2]), "{board:?}");
        assert_eq!(shape_of(board).unwrap(), two_by_two(), "{board:?}");
    }
}

/// Cells of a drawing may be several lines high, also without outer bars, and with text at one side.
#[test]
fn drawings_may_have_high_cells() {
    let expected = "2,0,0,4/0,0,8,0/0,0,0,0/16,0,1024,0";
    let rows = [
        "2   │   │   │4",
        "    │   │8  │",
        "    │   │   │",
        "16  │   │1024│",
    ];
    let open = rows
        .map(|row| format!("    │   │   │\n{row}"))
        .join("\n────┼───┼───┼────\n");
    let closed = rows.map(|row| {
        format!("│    │   │   │    │\n│{row:13}│  best: left\n│    │   │   │    │   up 12.5")
    });
    let edge = "├────┼───┼───┼────┤";
    let closed = format!("{edge}\n{}\n{edge}", closed.join(&format!("\n{edge}\n")));
    for text in [&open, &closed] {
        let board = GameBoard::parse(text, "2048", Shape::FOUR);
        assert_eq!(board.unwrap().text(), expected, "{text}");
        assert_eq!(shape_of(text).unwrap(), Shape::FOUR, "{text}");
    }
}

/// Spreadsheets leave empty cells out, between commas or semicolons.
#[test]
fn csv_files_may_leave_cells_out() {
    let expected = "2,0,0,4/0,0,8,0/0,0,0,0/16,0,1024,0";
    for text in [
        "2,,,4\n,,8,\n,,,\n16,,1024,",
        "2;;;4\n;;8;\n;;;\n16;;1024;\n",
        "2;0;0;4\r\n0;0;8;0\r\n0;0;0;0\r\n16;0;1024;0\r\n",
        "2;0;0;4;\n0;0;8;0;\n0;0;0;0;\n16;0;1024;0;",
        "\"2\",\"\",\"\",\"4\"\n\"\",\"\",\"8\",\"\"\n\"\",\"\",\"\",\"\"\n\"16\",\"\",\"1024\",\"\"",
        "2,,,4,\n,,8,,\n,,,,\n16,,1k,,",
    ] {
        let board = GameBoard::parse(text, "2048", Shape::FOUR);
        assert_eq!(board.unwrap().text(), expected, "{text}");
        assert_eq!(shape_of(text).unwrap(), Shape::FOUR, "{text}");
    }
    // The last column may be empty as a whole.
    let shape = Shape::new(2, 4).unwrap();
    for text in ["2,,2,\n,4,,", "2;;2;\n;4;;"] {
        let board = GameBoard::parse(text, "2048", shape).unwrap();
        assert_eq!(board.text(), "2,0,2,0/0,4,0,0");
    }
    let full = GameBoard::parse("2,4,\n8,16,", "2048", two_by_two());
    assert_eq!(full.unwrap().text(), "2,4/8,16");
    // A semicolon between rows is as before.
    let rows = GameBoard::parse("2 0; 32 4", "2048", two_by_two());
    assert_eq!(rows.unwrap().text(), "2,0/32,4");
    assert!(GameBoard::parse("2,,4\n8,2", "2048", two_by_two()).is_err());
}

/// Text on both sides of the bars is cells, on one side it is labels.
#[test]
fn drawings_may_have_no_outer_bars() {
    let expected = "2,0,0,4/0,8,0,0/0,0,0,2/16,0,0,0";
    for text in [
        "2 | 0 | 0 | 4\n0 | 8 | 0 | 0\n0 | 0 | 0 | 2\n16 | 0 | 0 | 0",
        "2 |   |   | 4\n  | 8 |   |  \n  |   |   | 2\n16 |   |   |  ",
        " 2 │   │   │ 4\n───┼───┼───┼──\n   │ 8 │   │\n   │   │   │ 2\n16 │   │   │",
        "2 | 0 | 0 | 4\n---|---|---|---\n0 | 8 | 0 | 0\n0 | 0 | 0 | 2\n16 | 0 | 0 | 0",
        "1 | 2 |   |   | 4 |\n2 | | 8 | | |\n3 | | | | 2 |\n4 | 16 | | | |",
        "| 2 |   |   | 4 | 1\n| | 8 | | | 2\n| | | | 2 | 3\n| 16 | | | | 4",
    ] {
        assert_eq!(shape_of(text).unwrap(), Shape::FOUR, "{text}");
        let board = GameBoard::parse(text, "2048", Shape::FOUR).unwrap();
        assert_eq!(board.text(), expected, "{text}");
    }
}

#[test]
fn invalid_boards_are_refused_with_the_place() {
    assert!(error("2,0/4").contains("row 2 of the board, `4`, has 1 cell;"));
    assert!(error("2 0 0/32 4").contains("row 1 of the board, `2 0 0`, has 3 cells"));
    assert!(error("2,0").starts_with("the board has 1 row of 2 cells; expected 2 rows of 2"));
    assert!(error("2 0/32 4/2 2").starts_with("the board has 3 rows;"));
    assert!(error("2,0/4,x").contains("`x` in row 2, cell 2, is not a tile"));
    assert!(error("2,0/4,-2").contains("`-2` in row 2, cell 2"));
    assert!(error("2,0/+4,2").contains("`+4` in row 2, cell 1"));
    assert!(error("2,0/4,2.5").contains("`2.5` in row 2"));
    assert!(error("2,/32,4").contains("row 1 of the board, `2,`, has 1 cell"));
    assert!(error("2,,/32,4").contains("nothing between the commas in row 1, cell 2"));
    assert!(error("../32 4").contains("has 1 cell"));
    assert!(error("2,0/4,3").contains(
        "3 in row 2, cell 2, is not a tile of this game, whose tiles are 2, 4, 8, 16, 32"
    ));
    assert!(error("2,0/4,99999999999999999999").contains("not a tile"));
    assert!(error("").starts_with("the board is missing"));
    let long = [
        "2 ".repeat(3000),
        format!("2 0/32 4{}", " ".repeat(LONGEST)),
        format!("2 0/32 4@{}1", " ".repeat(LONGEST)),
    ];
    for text in long {
        let found = GameBoard::parse(&text, "2048", two_by_two()).unwrap_err();
        assert!(found.to_string().contains("too long"), "{found}");
        assert!(
            shape_of(&text)
                .unwrap_err()
                .to_string()
                .contains("too long")
        );
    }
    assert!(error("[[2,0],[4,2").contains("brackets"));
    assert!(error("[[2,0],4,2]").contains("`4` is outside the brackets"));
    assert!(error("[4, [2,0]]").contains("`4` is outside the brackets"));
    assert!(error("0123456789abcdef").contains("hexadecimal digits of a board of 4x4"));
    let shape = |text| shape_of(text).unwrap_err().to_string();
    assert!(shape("2 0 0 4 0 0").contains("6 cells in one row are a board of 2x3 or of 3x2"));
    assert!(shape("2 0 0 4 0 0 2").contains("1 row of 7 cells"));
    assert!(shape("2 0 0/4 0").contains("row 2 of the board, `4 0`"));
    assert!(shape("2 0 0 0 0 0/4 0 0 0 0 0").contains("row 1 of the board"));
    assert!(shape("2/4/8").contains("has 1 cell"));
}

#[test]
fn thousands_stand_for_one_tile() {
    let values: Vec<u64> = (1..=17).map(|n| 1 << n).collect();
    let read = |text: &str| {
        let board = format!("{text},0,0,0/0,0,0,0/0,0,0,0/0,0,0,2");
        let tiles = parse_tiles(&board, Shape::FOUR, &values);
        tiles
            .map(|tiles| 1_u64 << tiles[0])
            .map_err(|it| it.to_string())
    };
    for (text, value) in [
        ("1k", 1024),
        ("1K", 1024),
        ("2k", 2048),
        ("4.1k", 4096),
        ("16k", 16384),
        ("32k", 32768),
        ("33k", 32768),
        ("64k", 65536),
        ("65k", 65536),
        ("66k", 65536),
        ("65.5k", 65536),
        ("128k", 131_072),
        ("131k", 131_072),
    ] {
        assert_eq!(read(text), Ok(value), "{text}");
    }
    assert!(
        read("3k")
            .unwrap_err()
            .contains("3k in row 1, cell 1, is not a tile of this game")
    );
    assert!(read("k").unwrap_err().contains("`k` in row 1"));
    assert!(read("1.23k").unwrap_err().contains("`1.23k` in row 1"));
    // Fibonacci numbers lie closer together: 1597 is nearly 2k, and 2584 is cut off to 2k.
    let near = parse_tiles("2k,0/0,1", two_by_two(), &[1, 987, 1597, 2584]).unwrap_err();
    assert!(
        near.to_string()
            .contains("`2k` in row 1, cell 1, may be any of the tiles 1597, 2584")
    );
}

#[test]
fn hexadecimal_digits_are_tile_indices() {
    let board = |text| GameBoard::parse(text, "2048", Shape::FOUR).map(|board| board.text());
    let expected = "2,4,8,16/0,0,0,0/0,0,0,0/0,1024,2048,32768";
    let short = board("0x1234").unwrap();
    assert_eq!(short, "0,0,0,0/0,0,0,0/0,0,0,0/2,4,8,16");
    for text in [
        "1234000000000abf",
        "0x1234000000000ABF",
        "0X1234000000000abf",
    ] {
        assert_eq!(board(text).unwrap(), expected);
        assert_eq!(shape_of(text).unwrap(), Shape::FOUR);
    }
    for text in [
        "1234 0000 0000 0abf",
        "1234/0000/0000/0abf",
        "1234\n0000\n0000\n0ABF\n",
    ] {
        assert_eq!(board(text).unwrap(), expected, "{text}");
        assert_eq!(shape_of(text).unwrap(), Shape::FOUR);
    }
    // Four tiles are no groups of digits.
    assert_eq!(shape_of("1024 2048 4096 8192").unwrap(), two_by_two());
    for (text, words) in [
        (
            "1234000000000abg",
            "`g` is no such digit; such a board has 16 digits",
        ),
        ("123400000000abf", "it has 15 digits; such"),
        ("12340000000000000abf", "it has 20 digits; such"),
        ("0x12340000000000abf", "it has 17 digits"),
        ("0x12340000z", "`z` is no such digit"),
        ("0x", "it has 0 digits"),
        ("1234", "the board has 1 row of 1 cell"),
    ] {
        let found = board(text).unwrap_err().to_string();
        assert!(found.contains(words), "{text}: {found}");
        assert!(shape_of(text).is_err(), "{text}");
    }
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
    let twos = [2, 4];
    let error = parse("2,2/0,0+1", two_by_two(), &PowersOfTwo, &twos).unwrap_err();
    assert!(error.to_string().contains("does not show its next tile"));
    assert!(parse("2,2/0,0@1", two_by_two(), &PowersOfTwo, &twos).is_err());
}

#[test]
fn a_drawing_names_its_rows_and_columns() {
    let (shape, tiles) = (Shape::new(2, 3).unwrap(), vec![1, 0, 10, 0, 4, 2]);
    let board = GameBoard::new("2048", shape, tiles, ChanceState::NONE).unwrap();
    let expected = [
        "      a      b      c  ",
        "  ┌──────┬──────┬──────┐",
        "1 │    2 │      │ 1024 │",
        "  ├──────┼──────┼──────┤",
        "2 │      │   16 │    4 │",
        "  └──────┴──────┴──────┘",
    ];
    let drawn = board.to_string();
    assert_eq!(drawn.lines().collect::<Vec<_>>(), expected);
    assert_eq!(cell_name(board.shape(), 5), "c2");
}

/// Boards of random games.
struct Sampled {
    game: &'static str,
    seed: u64,
}

impl GameVisitor for Sampled {
    type Output = Vec<GameBoard>;

    fn visit<G: Game>(self, game: G) -> Vec<GameBoard> {
        let shape = game.shape();
        let mut rng = game_rng(self.seed, 3);
        let mut state = game.start(&mut rng);
        let mut boards = Vec::new();
        loop {
            let tiles = (0..shape.cells()).map(|i| state.cell(i)).collect();
            let chance_state = game.chance_state(state);
            boards.push(GameBoard::new(self.game, shape, tiles, chance_state).unwrap());
            let slides = game.slides(state);
            let legal: Vec<_> = slides.legal().collect();
            if legal.is_empty() {
                return boards;
            }
            let slide = legal[rng.below(legal.len() as u32) as usize];
            state = game.spawn(slide.after(), &mut rng);
        }
    }
}

/// What is drawn or printed is read back, in every game and on every board.
#[test]
fn what_is_printed_is_read_back() {
    for game in games() {
        for (rows, cols) in [(2, 2), (2, 3), (3, 3), (4, 4), (5, 2), (5, 5)] {
            let shape = Shape::new(rows, cols).unwrap();
            let boards = with_game(game, shape, Sampled { game, seed: 7 }).unwrap();
            for board in boards.iter().step_by(3) {
                for text in [board.text(), board.to_string()] {
                    let again = GameBoard::parse(&text, game, shape);
                    let again = again.unwrap_or_else(|error| panic!("{game}\n{text}\n{error}"));
                    assert_eq!(again, *board, "{game}\n{text}");
                    assert_eq!(shape_of(&text).unwrap(), shape, "{game}\n{text}");
                }
            }
        }
    }
}

proptest! {
    /// Any text, and texts of the characters that boards have, give a board or an error.
    #[test]
    fn no_text_panics(
        any_text in any::<String>(),
        likely in "[0-9kK.,/;|+@ \t\n\\[\\](){}x_│─┼'\"a-f-]{0,80}",
        cells in proptest::collection::vec("(0|2|4|\\.|1k|2\\.|null)", 0..30),
        between in "(,| |\t|\n|/|;|\\||, |\\],\\[)",
    ) {
        for text in [any_text, likely, cells.join(&between)] {
            let _ = shape_of(&text);
            for (game, shape) in [("2048", Shape::FOUR), ("threes-hint", Shape::FOUR), ("2584", two_by_two())] {
                if let Ok(board) = GameBoard::parse(&text, game, shape) {
                    prop_assert_eq!(GameBoard::parse(&board.text(), game, shape).unwrap(), board.clone());
                    prop_assert_eq!(GameBoard::parse(&board.to_string(), game, shape).unwrap(), board);
                }
            }
        }
    }
}

/// Tiles beyond four bits are read, too.
#[test]
fn the_largest_tiles_are_read() {
    let board = GameBoard::parse(
        "131072 65536 32768 2\n. . . .\n. . . .\n. . . .",
        "2048",
        Shape::FOUR,
    );
    let board = board.unwrap();
    assert_eq!(board.tiles()[..4], [17, 16, 15, 1]);
    assert!(
        Fast2048::new()
            .state(board.tiles(), board.chance_state())
            .is_some()
    );
    let grid = Grid::new(Shape::FOUR, &PowersOfTwo);
    assert!(grid.state(board.tiles(), board.chance_state()).is_some());
}
