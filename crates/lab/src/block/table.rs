//! Blocks as rows of `blocks.csv`, in both directions.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Block, ReplayBlock};
use crate::migrate;
use crate::rows::{columns, line, line_at};

/// The prefix of the columns that count games by their largest tile.
const ENDED: &str = migrate::ENDED.1;

/// Why a text is not a table of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The header does not name what every block has.
    #[error("line 1 is not the header of a table of blocks: expected a column `{missing}`")]
    Header {
        /// The first column that is not there.
        missing: String,
    },
    /// A row that is not a block.
    #[error("line {line} is not a block: {found}")]
    Row {
        /// Its number in the file, from 1.
        line: u64,
        /// What is wrong with it.
        found: String,
    },
}

/// The columns of a table of blocks that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    tiles: Vec<u64>,
    replay: bool,
    /// Whether there is a column of iterations beside that of updates.
    iterations: bool,
}

/// A column that files of earlier versions do not have.
const ITERATIONS: &str = "iterations";

impl Columns {
    /// A column for each of these tiles, and those of [`ReplayBlock`] where the run has a replay
    /// buffer.
    pub fn new(tiles: &[u64], replay: bool) -> Self {
        Self {
            tiles: tiles.to_vec(),
            replay,
            iterations: true,
        }
    }

    /// The same for a file that begins with this line: a run that was begun by an earlier version
    /// keeps the columns of its file.
    pub fn of_file(self, header: &str) -> Self {
        let mut names = header.trim_end().split(',');
        Self {
            iterations: header.is_empty() || names.any(|name| name == ITERATIONS),
            ..self
        }
    }

    /// The first line of the file.
    ///
    /// # Errors
    /// When the CSV library fails, which it does not for these types.
    pub fn header(&self) -> Result<String, csv::Error> {
        let mut names = columns(&Block::default())?;
        if self.replay {
            names.extend(columns(&ReplayBlock::default())?);
        }
        names.extend(self.tiles.iter().map(|tile| format!("{ENDED}{tile}")));
        line(&names)
    }

    /// The line of a block.
    ///
    /// # Errors
    /// When the CSV library fails, which it does not for these types.
    pub fn row(&self, block: &Block) -> Result<String, csv::Error> {
        // What has columns of its own is left out of the first part.
        let fixed = Block {
            replay: None,
            ended: BTreeMap::new(),
            ..block.clone()
        };
        let count = |tile| block.ended.get(tile).copied().unwrap_or(0);
        let ended: Vec<u64> = self.tiles.iter().map(count).collect();
        let replay = block.replay.unwrap_or_default();
        match (self.replay, self.iterations) {
            (false, _) => line(&(fixed, ended)),
            (true, true) => line(&(fixed, replay, ended)),
            (true, false) => {
                let ReplayBlock {
                    iterations: _,
                    updates,
                    loss,
                    value,
                    reward,
                    running_average,
                } = replay;
                line(&(
                    fixed,
                    (updates, loss, value, reward, running_average),
                    ended,
                ))
            }
        }
    }
}

/// Reads the blocks of a file. A last line without its end is left out: a crash may have torn it.
///
/// # Errors
/// Where a line is not a block, or its counts contradict each other or the line before it.
pub fn read(bytes: &[u8]) -> Result<Vec<Block>, BlockError> {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    let whole = &bytes[..end.map_or(0, |end| end + 1)];
    let mut reader = csv::Reader::from_reader(whole);
    let header = header(&mut reader)?;
    let mut blocks: Vec<Block> = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| fault(whole, error.position(), error.to_string()))?;
        let block = block(&header, &row).map_err(|found| fault(whole, row.position(), found))?;
        if let Some(before) = blocks.last().filter(|before| before.games >= block.games) {
            let found = format!("{} games after {}", block.games, before.games);
            return Err(fault(whole, row.position(), found));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn fault(bytes: &[u8], position: Option<&csv::Position>, found: String) -> BlockError {
    let line = line_at(bytes, position);
    BlockError::Row { line, found }
}

/// The columns, by their names of today.
struct Header {
    names: csv::StringRecord,
    replay: bool,
}

fn header(reader: &mut csv::Reader<&[u8]>) -> Result<Header, BlockError> {
    let missing = |missing: &str| BlockError::Header {
        missing: missing.to_owned(),
    };
    let unreadable = |_| missing("games");
    let found = reader.headers().map_err(unreadable)?;
    let names: csv::StringRecord = found.iter().map(migrate::block_column).collect();
    let has = |name: &String| names.iter().any(|found| found == name);
    let fixed = columns(&Block::default()).map_err(unreadable)?;
    if let Some(name) = fixed.iter().find(|name| !has(name)) {
        return Err(missing(name));
    }
    let replay = columns(&ReplayBlock::default()).map_err(unreadable)?;
    let replay = replay.iter().all(|name| name == ITERATIONS || has(name));
    Ok(Header { names, replay })
}

fn block(header: &Header, row: &csv::StringRecord) -> Result<Block, String> {
    let names = Some(&header.names);
    let in_words = |error| in_words(header, row, error);
    let fixed: Block = row.deserialize(names).map_err(in_words)?;
    let replay = header.replay.then(|| row.deserialize::<ReplayBlock>(names));
    let mut ended = BTreeMap::new();
    for (name, field) in header.names.iter().zip(row) {
        let Some(tile) = name.strip_prefix(ENDED) else {
            continue;
        };
        let tile: u64 = tile
            .parse()
            .map_err(|_| format!("the column `{name}` names no tile"))?;
        let count: u64 = field
            .parse()
            .map_err(|_| format!("`{name}` is `{field}`, expected a number of games"))?;
        if count > 0 {
            ended.insert(tile, count);
        }
    }
    let block = Block {
        replay: replay.transpose().map_err(in_words)?,
        ended,
        ..fixed
    };
    match block.fault() {
        None => Ok(block),
        Some(fault) => Err(fault),
    }
}

/// Names the column, its value and the fault of that.
fn in_words(header: &Header, row: &csv::StringRecord, error: csv::Error) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return error.to_string();
    };
    let field = err.field().and_then(|field| usize::try_from(field).ok());
    let named = field.and_then(|field| header.names.get(field).zip(row.get(field)));
    match named {
        Some((name, value)) => format!("`{name}` is `{value}`: {}", err.kind()),
        None => err.kind().to_string(),
    }
}
