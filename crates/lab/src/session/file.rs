//! Files of records that games are opened from and added to.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use afterstate::game::Shape;

use super::Session;
use crate::LabError;
use crate::disk::replace;
use crate::error::RecordError;
use crate::records::{check_place, game_of};
use crate::seal::Seal;

/// The longest file that games are opened from: thousands of games of a strong player.
const LONGEST: u64 = 256 << 20;
/// The longest file that games are added to: it is written anew each time.
const LONGEST_SAVED: u64 = 16 << 20;

/// A record of a file.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// The file.
    pub path: PathBuf,
    /// The number of the game in it, from 1.
    pub number: u64,
    /// The line.
    pub line: Vec<u8>,
}

/// The lines that are not empty.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty())
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, LabError> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut text))
        .map_err(LabError::file("read", path))?;
    match text.len() as u64 > most {
        true => Err(wrong(path, RecordError::TooLarge { most })),
        false => Ok(text),
    }
}

fn wrong(path: &Path, source: RecordError) -> LabError {
    LabError::Record {
        path: path.to_owned(),
        source: Box::new(source),
    }
}

impl StoredRecord {
    /// Reads the record of this number, from 1, or the last one.
    ///
    /// # Errors
    /// When the file cannot be read, or has no such record.
    pub fn read(path: &Path, number: Option<u64>) -> Result<Self, LabError> {
        let text = read(path, LONGEST)?;
        let found = lines(&text).count() as u64;
        if found == 0 {
            return Err(LabError::NoRecords(path.to_owned()));
        }
        let wanted = number.unwrap_or(found);
        let index = wanted.checked_sub(1).and_then(|n| usize::try_from(n).ok());
        let line = index.and_then(|index| lines(&text).nth(index));
        let line = line.ok_or_else(|| wrong(path, RecordError::NoGame { wanted, found }))?;
        Ok(Self {
            path: path.to_owned(),
            number: wanted,
            line: line.to_vec(),
        })
    }

    /// The game and the board whose rules it follows.
    ///
    /// # Errors
    /// When it follows those of none.
    pub fn game(&self) -> Result<(&'static str, Shape), LabError> {
        game_of(&self.line)?.ok_or_else(|| wrong(&self.path, RecordError::NoRules))
    }

    /// The session of this record: see [`Session::open`].
    ///
    /// # Errors
    /// When there is no such game, or the line is not a record of it.
    pub fn session(&self, game: &str, shape: Shape, seed: u64) -> Result<Session, LabError> {
        let opened = Session::open(game, shape, &self.line, seed);
        opened.map_err(|source| match source {
            RecordError::Game(error) => *error,
            source => wrong(&self.path, source),
        })
    }
}

/// A file that the games of a player are added to. It is replaced atomically.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// The records before the game in progress, each with its line break.
    kept: Vec<u8>,
}

impl RecordFile {
    /// The file of this name, which may have records: they stay, except `continued`, if it is of this
    /// file, which the game in progress replaces.
    ///
    /// # Errors
    /// When there is a file of another kind, a seal, or more than fits.
    pub fn open(path: &Path, continued: Option<&StoredRecord>) -> Result<Self, LabError> {
        check_place(path)?;
        if Seal::path_beside(path).exists() {
            return Err(wrong(path, RecordError::Sealed));
        }
        let text = match path.exists() {
            true => read(path, LONGEST_SAVED)?,
            false => Vec::new(),
        };
        let same = |other: &Path| {
            let name = |path: &Path| fs::canonicalize(path).ok();
            name(path).is_some_and(|path| Some(path) == name(other))
        };
        let left_out = continued.filter(|record| same(&record.path));
        let left_out = left_out.map(|record| record.number);
        let mut kept = Vec::new();
        for (line, number) in lines(&text).zip(1..) {
            if Some(number) != left_out {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
        let path = path.to_owned();
        Ok(Self { path, kept })
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the game in progress behind the others, once its initial tiles are there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, session: &Session) -> Result<(), LabError> {
        if session.initial_tiles_left() > 0 {
            return Ok(());
        }
        let line = session.line() + "\n";
        let text = [&self.kept, line.as_bytes()].concat();
        replace(&self.path, &text).map_err(LabError::file("write", &self.path))
    }

    /// The same, and keeps it there: the next game that is saved comes behind it. A game without a
    /// move is not kept.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close(&mut self, session: &Session) -> Result<(), LabError> {
        if session.moves() == 0 {
            return Ok(());
        }
        self.save(session)?;
        self.kept.extend_from_slice(session.line().as_bytes());
        self.kept.push(b'\n');
        Ok(())
    }
}
