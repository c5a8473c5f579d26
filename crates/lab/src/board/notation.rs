//! The cells of a text, before they are tiles.
//!
//! To read boards that are written in another way, add a case to `BoardNotation::of`, or to `tile` in
//! `cell.rs`, and a line to `boards_are_read_as_people_have_them` in `tests.rs`.

use afterstate::game::Shape;

use crate::error::BoardFault;

/// Bars between the cells of a drawing.
const BARS: [char; 4] = ['│', '┃', '║', '|'];
const OPEN: [char; 3] = ['[', '(', '{'];
const CLOSE: [char; 3] = [']', ')', '}'];

/// How a text arranges its cells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BoardNotation<'t> {
    /// Rows, each with its text and its cells.
    Rows(Vec<(&'t str, Vec<&'t str>)>),
    /// All cells in one row.
    Flat(Vec<&'t str>),
    /// A tile index for each of 4x4 cells.
    Hex { digits: [u8; 16], text: String },
}

impl<'t> BoardNotation<'t> {
    pub(super) fn of(text: &'t str) -> Result<Self, BoardFault> {
        // Tabs at either end may stand for empty cells.
        let lines = text.trim_matches(['\n', '\r', '\u{FEFF}']);
        let text = lines.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
        if text.is_empty() {
            return Err(BoardFault::Missing);
        }
        let rows = match () {
            () if is_drawing(text) => drawing(text),
            () if text.contains(OPEN) => bracketed(text)?,
            () => {
                if let Some(hex) = hex(text)? {
                    return Ok(hex);
                }
                let sheet = tabbed(lines).or_else(|| csv(text));
                sheet.unwrap_or_else(|| separated(text))
            }
        };
        let single = |(_, cells): &(&str, Vec<&str>)| cells.len() == 1;
        let is_column = rows.len() > *Shape::SIDES.end() && rows.iter().all(single);
        Ok(match rows.len() {
            1 => Self::Flat(rows.into_iter().flat_map(|(_, cells)| cells).collect()),
            _ if is_column => Self::Flat(rows.into_iter().flat_map(|(_, cells)| cells).collect()),
            _ => Self::Rows(rows),
        })
    }

    /// The board that the text has.
    pub(super) fn shape(&self) -> Result<Shape, BoardFault> {
        match self {
            Self::Hex { .. } => Ok(Shape::FOUR),
            Self::Flat(cells) => {
                let count = cells.len();
                let sides =
                    Shape::SIDES.flat_map(|rows| Shape::SIDES.map(move |cols| (rows, cols)));
                let of = sides.filter(|(rows, cols)| rows * cols == count);
                let of: Vec<Shape> = of.filter_map(|(r, c)| Shape::new(r, c)).collect();
                let square = of.iter().find(|shape| shape.rows() == shape.cols());
                match (square, of.is_empty()) {
                    (Some(square), _) => Ok(*square),
                    (None, true) => Err(BoardFault::Flat(count)),
                    (None, false) => Err(BoardFault::Ambiguous { cells: count, of }),
                }
            }
            Self::Rows(rows) => {
                let cols = rows.first().map_or(0, |(_, cells)| cells.len());
                if !Shape::SIDES.contains(&rows.len()) {
                    return Err(BoardFault::Rows(rows.len()));
                }
                let is_wrong = |count: usize| count != cols || !Shape::SIDES.contains(&count);
                let mut numbered = (1..).zip(rows);
                match numbered.find(|(_, (_, cells))| is_wrong(cells.len())) {
                    Some((row, (text, cells))) => Err(wrong_row(row, text, cells.len())),
                    None => Shape::new(rows.len(), cols).ok_or(BoardFault::Rows(rows.len())),
                }
            }
        }
    }

    /// The texts of the cells of a board.
    pub(super) fn cells(&self, shape: Shape) -> Result<Vec<&'t str>, BoardFault> {
        match self {
            Self::Hex { text, .. } => Err(BoardFault::Hex(text.clone())),
            Self::Flat(cells) if cells.len() == shape.cells() => Ok(cells.clone()),
            Self::Flat(cells) => Err(BoardFault::Flat(cells.len())),
            Self::Rows(rows) => {
                if rows.len() != shape.rows() {
                    return Err(BoardFault::Rows(rows.len()));
                }
                let mut numbered = (1..).zip(rows);
                match numbered.find(|(_, (_, cells))| cells.len() != shape.cols()) {
                    Some((row, (text, cells))) => Err(wrong_row(row, text, cells.len())),
                    None => Ok(rows.iter().flat_map(|(_, cells)| cells.clone()).collect()),
                }
            }
        }
    }
}

fn wrong_row(row: usize, text: &str, found: usize) -> BoardFault {
    let text = text.chars().take(60).collect();
    BoardFault::Cells { row, text, found }
}

type Row<'t> = (&'t str, Vec<&'t str>);

/// Whether bars are between cells, and not between rows: several lines have them, or they are those
/// of a drawing.
fn is_drawing(text: &str) -> bool {
    let bars = |line: &&str| line.matches(BARS).count() > 1;
    text.contains(&BARS[..3]) || text.lines().count() > 1 && text.lines().any(|line| bars(&line))
}

/// The rows of a drawing: lines with bars. Text outside the first and the last bar is a label if
/// only one side has it, and a cell if both sides do: then the drawing has no outer bars.
fn drawing<'t>(text: &'t str) -> Vec<Row<'t>> {
    let mut groups: Vec<Vec<Row<'t>>> = vec![Vec::new()];
    for line in text.lines().map(str::trim) {
        let parts: Vec<&str> = line.split(BARS).map(str::trim).collect();
        let inside = parts.get(1..parts.len() - 1).unwrap_or_default();
        if is_border(line, inside) {
            groups.push(Vec::new());
        } else if inside.len() > 1 || inside.iter().any(|part| !part.is_empty()) {
            let mut group = groups.pop().unwrap_or_default();
            group.push((line, parts));
            groups.push(group);
        }
    }
    groups.retain(|group| !group.is_empty());
    let rows = joined(groups);
    let has_text = |part: Option<&&str>| part.is_some_and(|part| !part.is_empty());
    let is_open = rows.iter().any(|(_, parts)| has_text(parts.first()))
        && rows.iter().any(|(_, parts)| has_text(parts.last()));
    // One box around all rows, without bars between their cells.
    let is_box = !is_open && rows.iter().all(|(_, parts)| parts.len() == 3);
    let filled = |(line, parts): Row<'t>| {
        let outer = usize::from(!is_open);
        let cells = parts[outer..parts.len() - outer].iter();
        let cells = cells.map(|&cell| if cell.is_empty() { "0" } else { cell });
        match is_box {
            true => (
                line,
                cells.flat_map(|cell| cell.split_whitespace()).collect(),
            ),
            false => (line, cells.collect()),
        }
    };
    rows.into_iter().map(filled).collect()
}

/// Whether a line of a drawing is a border between rows, such as `├────┼────┤` or `|----+----|`; a
/// single dash is an empty cell.
fn is_border(line: &str, inside: &[&str]) -> bool {
    let is_edge = |part: &str| part.len() > 2 && part.chars().all(|c| "-+=:─┼━".contains(c));
    // A label may stand before or behind it.
    let is_line = |word: &str| {
        word.chars()
            .all(|c| "-+=─━═┼╋╬├┤┬┴┌┐└┘╔╗╚╝╠╣╦╩".contains(c))
    };
    let mut words = line.split_whitespace();
    match inside.is_empty() {
        true => words.any(|word| word.chars().count() > 2 && is_line(word)),
        false => inside.iter().all(|part| is_edge(part)),
    }
}

/// The rows of a drawing, from its lines between borders: where each row has the same number of
/// lines, these are one row, whose cells are on one of them each.
fn joined<'t>(groups: Vec<Vec<Row<'t>>>) -> Vec<Row<'t>> {
    let lines = groups.first().map_or(0, Vec::len);
    let is_even = groups.iter().all(|group| group.len() == lines);
    if groups.len() < 2 || lines < 2 || !is_even {
        return groups.into_iter().flatten().collect();
    }
    let rows: Option<Vec<Row<'t>>> = groups.iter().map(|group| one_row(group)).collect();
    rows.unwrap_or_else(|| groups.into_iter().flatten().collect())
}

/// The row that some lines make; `None` if a column has two cells, or the lines differ in length.
fn one_row<'t>(lines: &[Row<'t>]) -> Option<Row<'t>> {
    let (first, parts) = lines.first()?;
    let mut row = vec![""; parts.len()];
    let mut text = *first;
    for (line, parts) in lines {
        if parts.len() != row.len() {
            return None;
        }
        for (column, (cell, part)) in row.iter_mut().zip(parts).enumerate() {
            let is_label = column == 0 || column + 1 == parts.len();
            match (cell.is_empty(), part.is_empty()) {
                (_, true) => {}
                (true, false) => (*cell, text) = (part, line),
                (false, false) if is_label => {}
                (false, false) => return None,
            }
        }
    }
    Some((text, row))
}

/// The rows of nested brackets: the contents of the innermost ones.
fn bracketed(text: &str) -> Result<Vec<Row<'_>>, BoardFault> {
    // numpy names the type of its numbers behind the rows.
    let text = text.split("dtype").next().unwrap_or(text);
    let (mut rows, mut open) = (Vec::new(), None);
    let (mut depth, mut row_depth) = (0_usize, None);
    let mut outside = String::new();
    for (at, c) in text.char_indices() {
        if OPEN.contains(&c) {
            depth += 1;
            outside.extend(open.replace(at + 1).map(|from| &text[from..at]));
        } else if CLOSE.contains(&c) {
            if let Some(from) = open.take() {
                if *row_depth.get_or_insert(depth) != depth {
                    return Err(BoardFault::Brackets);
                }
                let row = text[from..at].trim();
                rows.push((row, row_cells(row)));
            }
            depth = depth.checked_sub(1).ok_or(BoardFault::Brackets)?;
        } else if open.is_none() {
            outside.push(c);
        }
    }
    if open.is_some() {
        return Err(BoardFault::Brackets);
    }
    let words = outside.split(|c: char| c.is_whitespace() || c == ',');
    let mut numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match numbers.next() {
        Some(number) => Err(BoardFault::Outside(number.chars().take(20).collect())),
        None => Ok(rows),
    }
}

/// 16 hexadecimal digits, also in four groups, or fewer behind `0x`, where zeros at the front may be
/// left out; `None` for other texts.
fn hex<'t>(text: &str) -> Result<Option<BoardNotation<'t>>, BoardFault> {
    let joined = hex_groups(text);
    let text = joined.as_deref().unwrap_or(text);
    let plain = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = plain.unwrap_or(text);
    if plain.is_none() && !is_like_hex(digits) {
        return Ok(None);
    }
    let wrong = digits.chars().find(|c| !c.is_ascii_hexdigit());
    let fits = digits.len() == 16 || plain.is_some() && (1..16).contains(&digits.len());
    let number = u64::from_str_radix(digits, 16).ok();
    let Some(number) = number.filter(|_| fits && wrong.is_none()) else {
        return Err(BoardFault::NotHex {
            text: text.chars().take(40).collect(),
            digits: digits.chars().count(),
            wrong,
        });
    };
    let digit = |place: usize| (number >> (60 - 4 * place) & 15) as u8;
    Ok(Some(BoardNotation::Hex {
        digits: std::array::from_fn(digit),
        text: text.to_owned(),
    }))
}

/// Whether a text without `0x` is meant as hexadecimal digits: one long word, of which nearly all
/// letters are such digits.
fn is_like_hex(text: &str) -> bool {
    let letters = text.chars().count();
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric());
    is_word && letters > 10 && digits + 2 >= letters
}

/// Four groups of four hexadecimal digits as one word. Without a letter, or a zero before other
/// digits, they would be four tiles.
fn hex_groups(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || "/,;|_".contains(c));
    let groups: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_hex = |word: &str| word.len() == 4 && word.bytes().all(|c| c.is_ascii_hexdigit());
    let is_no_tile = |word: &str| {
        let has_letter = word.contains(|c: char| c.is_ascii_alphabetic());
        has_letter || word.starts_with('0')
    };
    let fits = groups.len() == 4 && groups.iter().all(|word| is_hex(word));
    (fits && groups.iter().any(|word| is_no_tile(word))).then(|| groups.concat())
}

/// Rows between slashes, semicolons or bars, or on lines of their own where there are none.
fn separated(text: &str) -> Vec<Row<'_>> {
    let between = ['/', ';', '|'].into_iter().find(|&c| text.contains(c));
    let between = between.unwrap_or('\n');
    // A separator may also stand before the first row or behind the last.
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == between);
    let rows = text.split(between).map(str::trim);
    let is_row = |row: &&str| between != '\n' || !row.is_empty();
    let rows: Vec<&str> = rows.filter(is_row).collect();
    rows.iter().map(|row| (*row, row_cells(row))).collect()
}

/// Rows of a spreadsheet, which leaves empty cells out between its tabs; `None` for other texts.
fn tabbed<'t>(text: &'t str) -> Option<Vec<Row<'t>>> {
    let rows = text.lines().filter(|row| !row.is_empty());
    let rows: Vec<Row<'_>> = rows.map(|row| (row, row.split('\t').collect())).collect();
    let width = rows.first()?.1.len();
    let is_even = rows.iter().all(|(_, cells)| cells.len() == width);
    let mut cells = rows.iter().flat_map(|(_, cells)| cells);
    let is_sheet = is_even && width > 1 && !cells.any(|cell| cell.contains([' ', ',', '/', ';']));
    let spaced = text.lines().map(|row| row.split_whitespace().count());
    let spaced: Vec<usize> = spaced.filter(|&count| count > 0).collect();
    // Without an empty cell, tabs are as good as spaces.
    let has_gaps = text.contains("\t\t") || spaced.windows(2).any(|two| two[0] != two[1]);
    let filled = |(row, cells): Row<'t>| {
        let cells = cells.into_iter();
        let cells = cells.map(|cell| if cell.is_empty() { "0" } else { cell });
        (row, cells.collect())
    };
    (is_sheet && has_gaps).then(|| rows.into_iter().map(filled).collect())
}

/// Rows of a CSV file on lines of their own, which may leave empty cells out; between cells are
/// semicolons, or commas. `None` for other texts.
fn csv<'t>(text: &'t str) -> Option<Vec<Row<'t>>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let between = [';', ','].into_iter().find(|&c| text.contains(c))?;
    let rows = lines.iter().map(|line| (*line, line.split(between)));
    let rows: Vec<Row<'t>> = rows
        .map(|(line, cells)| (line, cells.map(str::trim).collect()))
        .collect();
    let width = rows.first()?.1.len();
    let is_even = rows.iter().all(|(_, cells)| cells.len() == width);
    let mut cells = rows.iter().flat_map(|(_, cells)| cells);
    let is_sheet = is_even
        && rows.len() > 1
        && width > 1
        && !cells.any(|cell| cell.contains([' ', '\t', ',', '/', '|']));
    if !is_sheet {
        return None;
    }
    let is_left_out = |cell: &&str| cell.is_empty() || *cell == "\"\"";
    let is_gap = |column: usize| rows.iter().any(|(_, cells)| is_left_out(&cells[column]));
    let has_gaps = (0..width - 1).any(is_gap);
    // A separator behind every row may also be punctuation.
    let ends_empty = rows.iter().all(|(_, cells)| is_left_out(&cells[width - 1]));
    let is_punctuation = match rows.len() {
        rows if rows == width => false,
        rows if rows + 1 == width => true,
        _ => !has_gaps,
    };
    let width = width - usize::from(ends_empty && is_punctuation);
    let leaves_cells_out = has_gaps || ends_empty && !is_punctuation;
    // What is complete, with commas, is read as any other text.
    if between == ',' && !leaves_cells_out {
        return None;
    }
    let filled = |(row, cells): Row<'t>| {
        let cells = cells.into_iter().take(width);
        let cells = cells.map(|cell| if is_left_out(&cell) { "0" } else { cell });
        (row, cells.collect())
    };
    Some(rows.into_iter().map(filled).collect())
}

/// The cells of a row: between commas, or between spaces where there is no comma.
fn row_cells(row: &str) -> Vec<&str> {
    if !row.contains(',') {
        return row.split_whitespace().collect();
    }
    let row = row.trim().strip_suffix(',').unwrap_or(row);
    row.split(',').map(str::trim).collect()
}
