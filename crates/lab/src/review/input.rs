//! The games of a file: episode records, and replays of 2048verse.com.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use afterstate::format::episode::EpisodeRecord;
use afterstate::format::verse::VerseReplay;
use afterstate::game::{Game, Shape};

use crate::LabError;
use crate::control::Control;
use crate::error::game_on;
use crate::evaluate::Contender;
use crate::records::{Batch, Cancellable, JudgeOptions, Lines, Numbered, choose, opener};

/// The game of all replays of 2048verse.com that we read.
const VERSE_GAME: &str = "2048";

/// A file of records that is read line by line.
pub struct RecordReader {
    path: PathBuf,
    lines: Lines,
    length: Option<u64>,
    control: Control,
    /// The first lines, which tell the game.
    first: Batch,
    waiting: VecDeque<Numbered>,
}

impl RecordReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be read or is empty.
    pub fn open(path: &Path, control: &Control) -> Result<Self, LabError> {
        let (length, open) = opener(path, control);
        Self::of(path, open()?, length, control)
    }

    /// Reads a stream, which may wait for more. The path names it in errors.
    ///
    /// # Errors
    /// When it cannot be read or is empty.
    pub fn stream(
        path: &Path,
        stream: impl Read + Send + 'static,
        control: &Control,
    ) -> Result<Self, LabError> {
        let stream = Cancellable::new(move || Ok(stream), control);
        Self::of(path, Box::new(stream), None, control)
    }

    fn of(
        path: &Path,
        file: Box<dyn Read>,
        length: Option<u64>,
        control: &Control,
    ) -> Result<Self, LabError> {
        let mut lines = Lines::new(path, file).keeping_spaces();
        let first = Batch::read(&mut lines, &|| control.is_cancelled())?;
        if first.lines.is_empty() && !control.is_cancelled() {
            return Err(LabError::NoRecords(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            waiting: first.lines.clone().into(),
            lines,
            length,
            control: control.clone(),
            first,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file, if they are known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The board of the first line, if that is a replay of 2048verse.com.
    fn verse_shape(&self) -> Option<Shape> {
        let line = *self.first.first(1).first()?;
        let is_verse = VerseReplay::is_begun(line) && !EpisodeRecord::is_begun(line);
        let shape = VerseReplay::read(line).map_or(Shape::FOUR, |replay| replay.shape);
        is_verse.then_some(shape)
    }

    /// The game and the board, by the rules that the first records follow.
    ///
    /// # Errors
    /// None so far; the list of games is fixed.
    pub fn game(&self) -> Result<(String, Shape), LabError> {
        if let Some(shape) = self.verse_shape() {
            return Ok((VERSE_GAME.to_owned(), shape));
        }
        let choice = choose(&JudgeOptions::new(&self.path, &self.control), &self.first)?;
        Ok((choice.game, choice.shape))
    }

    /// Refuses a contender of another game.
    pub(super) fn check_game(&self, contender: &Contender) -> Result<(), LabError> {
        let differs = match self.verse_shape() {
            Some(shape) => contender.game != VERSE_GAME || contender.shape != shape,
            None => {
                let options = JudgeOptions {
                    game: Some(&contender.game),
                    shape: Some(contender.shape),
                    ..JudgeOptions::new(&self.path, &self.control)
                };
                choose(&options, &self.first)?.mismatch.is_some()
            }
        };
        if !differs {
            return Ok(());
        }
        let (game, shape) = self.game()?;
        Err(LabError::OtherGame {
            model: contender.label.clone(),
            game: contender.game_on(),
            records: self.path.clone(),
            judged: game_on(&game, shape),
        })
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<Numbered>, LabError> {
        if self.waiting.is_empty() {
            let control = &self.control;
            let batch = Batch::read(&mut self.lines, &|| control.is_cancelled())?;
            self.waiting.extend(batch.lines);
        }
        Ok(self.waiting.pop_front())
    }
}

/// A game of a line.
pub(crate) enum Item {
    Episode(EpisodeRecord),
    Replay(EpisodeRecord),
}

/// The game of a line, or why there is none.
pub(crate) fn item<G: Game>(line: &[u8], game: &G, name: &str) -> Result<Item, String> {
    if VerseReplay::is_begun(line) && !EpisodeRecord::is_begun(line) {
        let replay = VerseReplay::read(line).map_err(|error| error.to_string())?;
        if name != VERSE_GAME || replay.shape != game.shape() {
            let (found, own) = (
                game_on(VERSE_GAME, replay.shape),
                game_on(name, game.shape()),
            );
            return Err(format!("a replay of {found}, but the model plays {own}"));
        }
        return Ok(Item::Replay(replay.record(game)));
    }
    let mut record = EpisodeRecord::default();
    let hints = game.rules().shows_hint(game.shape());
    match record.read(line.trim_ascii_end(), hints) {
        Ok(()) => Ok(Item::Episode(record)),
        Err(error) => Err(format!("column {}: {error}", error.column)),
    }
}
