//! Files of records that games are opened from and added to.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use afterstate::format::episode::EpisodeRecord;
use afterstate::format::verse::VerseReplay;
use afterstate::game::Shape;

use super::Session;
use crate::LabError;
use crate::disk::{lock_folder, replace};
use crate::error::{RecordError, game_on};
use crate::records::{LONGEST_LINE, check_file, check_place, closest_game};
use crate::seal::Seal;
use crate::text::without_mark;

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
    let lines = without_mark(text)
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty())
}

/// Reads a file of at most this many bytes; `None` if it has more.
fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, LabError> {
    let mut text = Vec::new();
    let mut read = || {
        let file = File::open(path)?;
        if file.metadata()?.len() > most {
            return Ok(false);
        }
        // A pipe has no length.
        let length = file.take(most + 1).read_to_end(&mut text)?;
        Ok(length as u64 <= most)
    };
    let fits = read().map_err(LabError::file("read", path))?;
    Ok(fits.then_some(text))
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
        check_file(path)?;
        let too_large = || wrong(path, RecordError::TooLargeToOpen { most: LONGEST });
        let text = read(path, LONGEST)?.ok_or_else(too_large)?;
        let found = lines(&text).count() as u64;
        if found == 0 {
            return Err(LabError::NoRecords(path.to_owned()));
        }
        let wanted = number.unwrap_or(found);
        let index = wanted.checked_sub(1).and_then(|n| usize::try_from(n).ok());
        let line = index.and_then(|index| lines(&text).nth(index));
        let line = line.ok_or_else(|| wrong(path, RecordError::NoGame { wanted, found }))?;
        if line.len() as u64 > LONGEST_LINE {
            let (number, most) = (wanted, LONGEST_LINE);
            return Err(wrong(path, RecordError::TooLong { number, most }));
        }
        Ok(Self {
            path: path.to_owned(),
            number: wanted,
            line: line.to_vec(),
        })
    }

    /// The game and the board whose rules it follows.
    ///
    /// # Errors
    /// When it is not a record, or follows those of none.
    pub fn game(&self) -> Result<(&'static str, Shape), LabError> {
        let (path, number, line) = (self.path.clone(), self.number, &self.line);
        if VerseReplay::is_begun(line) && !EpisodeRecord::is_begun(line) {
            return Err(wrong(&self.path, RecordError::Verse { path, number }));
        }
        let (game, shape, fault) = closest_game(line)?;
        let source = match fault {
            None => return Ok((game, shape)),
            Some(RecordError::Text(source)) => RecordError::NotARecord { number, source },
            Some(source) => RecordError::NoRules {
                path,
                number,
                closest: game_on(game, shape),
                source: Box::new(source),
            },
        };
        Err(wrong(&self.path, source))
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

/// A file that the games of a player are added to. It is replaced atomically. Before that it is read
/// again, so that games which other processes have added meanwhile stay in it.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// The lines of the file that the next write replaces: the game in progress as it was saved last
    /// or opened.
    replaced: Vec<Vec<u8>>,
    /// Whether the game in progress is in the file as it was opened.
    is_as_opened: bool,
    /// Games that have ended, and are not in the file yet.
    ended: Vec<Vec<u8>>,
}

impl RecordFile {
    /// The file of this name, which may have records: they stay, except `continued`, if it is of this
    /// file, which the game in progress replaces once something else was played.
    ///
    /// # Errors
    /// When there is a file of another kind, a seal, or more than fits.
    pub fn open(path: &Path, continued: Option<&StoredRecord>) -> Result<Self, LabError> {
        check(path)?;
        if path.exists() && read(path, LONGEST_SAVED)?.is_none() {
            let most = LONGEST_SAVED;
            return Err(wrong(path, RecordError::TooLarge { most }));
        }
        let same = |other: &Path| {
            let name = |path: &Path| fs::canonicalize(path).ok();
            name(path).is_some_and(|path| Some(path) == name(other))
        };
        let continued = continued.filter(|record| same(&record.path));
        Ok(Self {
            path: path.to_owned(),
            is_as_opened: continued.is_some(),
            replaced: continued.iter().map(|record| record.line.clone()).collect(),
            ended: Vec::new(),
        })
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the game in progress behind the others, once its initial tiles are there; false if they
    /// are not. A game that is in the file as it was opened stays where it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&mut self, session: &Session) -> Result<bool, LabError> {
        if !session.is_started() {
            return Ok(false);
        }
        let line = session.line();
        if !self.has(&line) {
            self.write(Some(&line))?;
            self.replaced = vec![line];
        }
        Ok(true)
    }

    /// The same for a game that has ended: the next game that is saved comes behind it. A game without
    /// a move is not added. If it cannot be written, [`flush`](Self::flush) and the next save write it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close(&mut self, session: &Session) -> Result<(), LabError> {
        let line = session.line();
        if self.has(&line) || session.all_moves() == 0 && self.is_as_opened {
            self.is_as_opened = false;
            self.replaced.clear();
        } else if session.all_moves() > 0 {
            self.ended.push(line);
        }
        self.flush()
    }

    /// Whether the game in progress is in the file.
    pub fn has_game(&self) -> bool {
        !self.replaced.is_empty()
    }

    /// Whether there are games that have ended and are not in the file.
    pub fn is_behind(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Writes the games that have ended and are not in the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<(), LabError> {
        match self.is_behind() {
            true => self.write(None),
            false => Ok(()),
        }
    }

    /// Whether the game in progress has this line, and the file as well.
    fn has(&self, line: &[u8]) -> bool {
        self.is_as_opened && self.replaced.iter().any(|stored| stored == line)
    }

    /// Writes the games that have ended, and this line.
    fn write(&mut self, last: Option<&[u8]>) -> Result<(), LabError> {
        let _lock = lock_folder(&self.path);
        check(&self.path)?;
        let text = match self.path.exists() {
            true => {
                let most = LONGEST;
                let too_large = || wrong(&self.path, RecordError::TooLarge { most });
                read(&self.path, most)?.ok_or_else(too_large)?
            }
            false => Vec::new(),
        };
        let mut all: Vec<&[u8]> = lines(&text).collect();
        for replaced in &self.replaced {
            // It is missing if another process has changed it: then that one stays as well.
            if let Some(place) = all.iter().rposition(|line| line == replaced) {
                all.remove(place);
            }
        }
        all.extend(self.ended.iter().map(Vec::as_slice));
        all.extend(last);
        let text: Vec<u8> = all
            .iter()
            .flat_map(|line| [*line, b"\n"].concat())
            .collect();
        replace(&self.path, &text).map_err(LabError::file("write", &self.path))?;
        self.is_as_opened = false;
        self.replaced.clear();
        self.ended.clear();
        Ok(())
    }
}

/// Checks that games may be added to a file of this name.
fn check(path: &Path) -> Result<(), LabError> {
    check_place(path)?;
    match Seal::path_beside(path).exists() {
        true => Err(wrong(path, RecordError::Sealed)),
        false => Ok(()),
    }
}
