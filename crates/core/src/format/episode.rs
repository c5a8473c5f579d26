//! EpisodeRecord records: one game per line of text, in the format of the 2048-Framework of the
//! courses.
//!
//! `meta|moves|meta`, with meta = `TAG@MILLISECONDS` and a move = action `[REWARD]`
//! `(MILLISECONDS)`, where a reward or a time of 0 is omitted. An action is a slide, `#U #R #D #L`,
//! or a spawn: the cell, `0` to `9` and then `A` onwards, and the tile index, written the same way.
//! Games with a hint add a third character: `1`, `2`, `3`, or `4` for a bonus. See
//! docs/formats/episode.md.

use std::fmt;

use thiserror::Error;
use twox_hash::XxHash3_64;

use crate::game::{ChanceState, Direction};

/// One recorded game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpisodeRecord {
    /// The player's name, and the start time.
    pub opened: Meta,
    /// The actions.
    pub moves: Vec<RecordedMove>,
    /// The name of the side that made the last action, and the end time.
    pub closed: Meta,
    /// The column of the closing meta in the line, from 1; not written.
    pub closed_at: usize,
    /// A hash of the line as it was read; not written.
    pub digest: u64,
}

/// A name and a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Any text without `@` and `|`.
    pub tag: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedMove {
    /// What was done.
    pub action: Action,
    /// Its reward.
    pub reward: u64,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// Its column in the line, from 1; not written.
    pub column: usize,
}

/// A slide or a spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// By the player.
    Slide(Direction),
    /// By chance.
    Place {
        /// The cell, in row-major order.
        cell: u8,
        /// The tile's index.
        tile: u8,
        /// The hint after the spawn, where the game shows one: see [`ChanceState::hint`].
        hint: u8,
    },
}

/// Why a line cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("found {}, expected {expected}", shown(found.as_deref()))]
pub struct EpisodeError {
    /// The column in bytes, from 1.
    pub column: usize,
    /// The text at that column; `None` at the end of the line.
    pub found: Option<String>,
    /// What the parser expected there.
    pub expected: &'static str,
}

fn shown(found: Option<&str>) -> String {
    found.map_or_else(
        || "the end of the line".to_owned(),
        |text| format!("`{text}`"),
    )
}

const SLIDES: [(u8, Direction); 4] = [
    (b'U', Direction::Up),
    (b'R', Direction::Right),
    (b'D', Direction::Down),
    (b'L', Direction::Left),
];

impl EpisodeRecord {
    /// Parses a line without its line break into `self`. `hints` says whether the game shows hints.
    ///
    /// # Errors
    /// When the line is not a record. The [judge](crate::judge) checks whether it follows the
    /// rules.
    pub fn read(&mut self, line: &[u8], hints: bool) -> Result<(), EpisodeError> {
        let mut text = Text { line, at: 0 };
        self.moves.clear();
        self.opened = text.meta()?;
        text.expect(b'|', "`|` behind the opening time")?;
        while text.peek().is_some_and(|byte| byte != b'|') {
            let one = text.action(hints)?;
            self.moves.push(one);
        }
        text.expect(b'|', "`|` and the closing of the game")?;
        self.closed_at = text.at + 1;
        self.closed = text.meta()?;
        self.digest = XxHash3_64::oneshot(line);
        match text.peek() {
            None => Ok(()),
            Some(_) => Err(text.wrong("the end of the line")),
        }
    }

    /// Whether some bytes start like a record.
    pub fn is_begun(bytes: &[u8]) -> bool {
        let mut text = Text { line: bytes, at: 0 };
        text.meta().is_ok() && text.peek() == Some(b'|')
    }

    /// The line, without its line break.
    pub fn line(&self, hints: bool) -> impl fmt::Display + '_ {
        Line {
            episode: self,
            hints,
        }
    }
}

/// A line being parsed.
struct Text<'a> {
    line: &'a [u8],
    at: usize,
}

impl Text<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn wrong(&self, expected: &'static str) -> EpisodeError {
        let rest = &self.line[self.at.min(self.line.len())..];
        // Control characters are escaped, so that they do not reach a terminal.
        let found = rest[..rest.len().min(12)].escape_ascii().to_string();
        EpisodeError {
            column: self.at + 1,
            found: (!rest.is_empty()).then_some(found),
            expected,
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), EpisodeError> {
        if self.peek() != Some(byte) {
            return Err(self.wrong(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn meta(&mut self) -> Result<Meta, EpisodeError> {
        let rest = &self.line[self.at..];
        let length = rest.iter().position(|&byte| byte == b'@' || byte == b'|');
        let tag = &rest[..length.unwrap_or(rest.len())];
        let tag = std::str::from_utf8(tag)
            .map_err(|_| self.wrong("a name and a time, such as `slide:place@1794770036503`"))?;
        self.at += tag.len();
        self.expect(
            b'@',
            "a name, `@` and a time, such as `place@1794770036503`",
        )?;
        let at = self.number("a time in milliseconds")?;
        Ok(Meta {
            tag: tag.to_owned(),
            at,
        })
    }

    fn number(&mut self, expected: &'static str) -> Result<u64, EpisodeError> {
        let digits = self.line[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let length = digits.count();
        let text = std::str::from_utf8(&self.line[self.at..self.at + length]);
        let number = text.ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.wrong(expected))?;
        self.at += length;
        Ok(number)
    }

    /// A number in brackets, or 0 without brackets.
    fn in_brackets(&mut self, [open, close]: [u8; 2]) -> Result<u64, EpisodeError> {
        if self.peek() != Some(open) {
            return Ok(0);
        }
        self.at += 1;
        let number = self.number("a number in brackets")?;
        self.expect(close, "the end of the brackets")?;
        Ok(number)
    }

    fn action(&mut self, hints: bool) -> Result<RecordedMove, EpisodeError> {
        let column = self.at + 1;
        let action = if self.peek() == Some(b'#') {
            self.at += 1;
            let slide = SLIDES
                .iter()
                .find(|(letter, _)| self.peek() == Some(*letter));
            let (_, direction) = slide.ok_or_else(|| self.wrong("U, R, D or L"))?;
            self.at += 1;
            Action::Slide(*direction)
        } else {
            Action::Place {
                cell: self.digit("a slide such as `#U`, or the cell of a new tile")?,
                tile: self.digit("the index of the new tile")?,
                hint: if hints { self.hint()? } else { 0 },
            }
        };
        Ok(RecordedMove {
            action,
            reward: self.in_brackets(*b"[]")?,
            millis: self.in_brackets(*b"()")?,
            column,
        })
    }

    fn digit(&mut self, expected: &'static str) -> Result<u8, EpisodeError> {
        let digit = match self.peek() {
            Some(byte @ b'0'..=b'9') => byte - b'0',
            Some(byte @ b'A'..=b'Z') => byte - b'A' + 10,
            _ => return Err(self.wrong(expected)),
        };
        self.at += 1;
        Ok(digit)
    }

    fn hint(&mut self) -> Result<u8, EpisodeError> {
        let hint = self.peek().map(|byte| byte.wrapping_sub(b'0'));
        let hint = hint.filter(|hint| (1..=ChanceState::BONUS).contains(hint));
        let hint = hint.ok_or_else(|| self.wrong("a hint, 1 to 4, which this game shows"))?;
        self.at += 1;
        Ok(hint)
    }
}

struct Line<'a> {
    episode: &'a EpisodeRecord,
    hints: bool,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EpisodeRecord {
            opened,
            moves,
            closed,
            closed_at: _,
            digest: _,
        } = self.episode;
        write!(f, "{}@{}|", opened.tag, opened.at)?;
        for one in moves {
            match one.action {
                Action::Slide(direction) => {
                    f.write_str(["#U", "#R", "#D", "#L"][direction as usize])?;
                }
                Action::Place { cell, tile, hint } => {
                    write!(f, "{}{}", digit(cell), digit(tile))?;
                    if self.hints {
                        write!(f, "{}", digit(hint))?;
                    }
                }
            }
            if one.reward > 0 {
                write!(f, "[{}]", one.reward)?;
            }
            if one.millis > 0 {
                write!(f, "({})", one.millis)?;
            }
        }
        write!(f, "|{}@{}", closed.tag, closed.at)
    }
}

fn digit(number: u8) -> char {
    let digit = char::from_digit(number.into(), 36).unwrap_or('?');
    digit.to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = "slide:place@1794770036503|C1E2#L92#D[8]A1#LA1#D[4]31|place@1794770036503";

    fn read(line: &str, hints: bool) -> Result<EpisodeRecord, EpisodeError> {
        let mut episode = EpisodeRecord::default();
        episode.read(line.as_bytes(), hints).map(|()| episode)
    }

    #[test]
    fn a_line_is_read_and_written() {
        let episode = read(LINE, false).unwrap();
        assert_eq!(episode.opened.tag, "slide:place");
        assert_eq!(episode.closed.at, 1_794_770_036_503);
        assert_eq!(episode.moves.len(), 10);
        let place = |cell, tile| Action::Place {
            cell,
            tile,
            hint: 0,
        };
        assert_eq!(episode.moves[1].action, place(14, 2));
        let slide = &episode.moves[4];
        assert_eq!(slide.action, Action::Slide(Direction::Down));
        assert_eq!((slide.reward, slide.column), (8, 35));
        assert_eq!(episode.line(false).to_string(), LINE);
        let hinted = "a@1|013#U[3](12)F24(7)|b@20";
        let episode = read(hinted, true).unwrap();
        assert_eq!((episode.moves[1].reward, episode.moves[1].millis), (3, 12));
        assert_eq!(episode.line(true).to_string(), hinted);
    }

    #[test]
    fn invalid_lines_are_refused_with_the_column() {
        let error = |line, hints| {
            let error = read(line, hints).unwrap_err();
            format!("column {}: {error}", error.column)
        };
        let found = error("a@1|01#X|b@2", false);
        assert_eq!(found, "column 8: found `X|b@2`, expected U, R, D or L");
        assert!(error("", false).contains("found the end of the line"));
        assert!(error("a@1|01", false).contains("column 7"));
        assert!(error("a@1|01|b", false).contains("column 9"));
        assert!(error("a@1|01|b@", false).contains("a time"));
        assert!(error("a@1|01|b@2 ", false).contains("the end of the line"));
        assert!(error("a@1|0|b@2", false).contains("the index of the new tile"));
        assert!(error("a@1|01[|b@2", false).contains("a number in brackets"));
        assert!(error("a@1|01[3|b@2", false).contains("the end of the brackets"));
        assert!(error("a@1|01#U|b@2", true).contains("a hint, 1 to 4"));
        assert!(error("a@99999999999999999999|01|b@2", false).contains("a time"));
        let found = error("a@1|\u{1b}[31m|b@2", false);
        assert!(found.contains(r"`\x1b[31m|b@2`"), "{found}");
    }

    proptest! {
        /// Any bytes, and records with some bytes changed, give an error or a record that is
        /// written back the same.
        #[test]
        fn any_line_is_read_or_refused(
            noise in proptest::collection::vec(any::<u8>(), 0..60),
            changes in proptest::collection::vec((0..LINE.len(), any::<u8>()), 0..4),
            hints: bool,
        ) {
            let mut line = LINE.as_bytes().to_vec();
            for (at, byte) in changes {
                line[at] = byte;
            }
            for line in [noise, line] {
                let mut episode = EpisodeRecord::default();
                if episode.read(&line, hints).is_ok() {
                    let written = episode.line(hints).to_string();
                    let mut again = EpisodeRecord::default();
                    again.read(written.as_bytes(), hints).unwrap();
                    let what = |episode: &EpisodeRecord| {
                        let moves = episode.moves.iter();
                        let moves: Vec<_> = moves.map(|m| (m.action, m.reward, m.millis)).collect();
                        (episode.opened.clone(), moves, episode.closed.clone())
                    };
                    prop_assert_eq!(what(&again), what(&episode));
                }
            }
        }
    }
}
