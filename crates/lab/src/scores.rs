//! Files of scores: a line `episode : 14, score : 5512` for each game, as our runs write them with
//! `scores = true` and as the course program of "DLP Homework 2" did.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::LabError;
use crate::curve::GameScore;
pub use crate::error::ScoresError;
use crate::text::MARK;

/// The longest line that is read: many times what one needs.
const LONGEST: u64 = 200;
/// The largest number that has an exact value in a float, as plots need it.
const MOST: u64 = 1 << 53;

/// Reads the scores of a file.
///
/// # Errors
/// When it cannot be read, or is not a list of scores.
pub fn open(path: &Path) -> Result<Vec<GameScore>, LabError> {
    let failed = |error| LabError::file("read", path)(error);
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(LabError::Scores {
            path: path.to_owned(),
            source: ScoresError::Empty,
        });
    }
    match read(BufReader::new(file)) {
        Ok(Ok(scores)) => Ok(scores),
        Ok(Err(source)) => Err(LabError::Scores {
            path: path.to_owned(),
            source,
        }),
        Err(error) => Err(failed(error)),
    }
}

/// Reads scores; blank lines are skipped.
///
/// # Errors
/// The outer error is that of reading, the inner one that of the text.
pub fn read(mut from: impl BufRead) -> std::io::Result<Result<Vec<GameScore>, ScoresError>> {
    let mut scores: Vec<GameScore> = Vec::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if from.by_ref().take(LONGEST).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let words = String::from_utf8_lossy(&text);
        let words = words.trim_start_matches(MARK).trim();
        if words.is_empty() {
            continue;
        }
        let Some(score) = parse(words) else {
            let found = words.chars().take(60).collect();
            return Ok(Err(ScoresError::Line { line, found }));
        };
        if let Some(before) = scores.last().filter(|last| last.episode >= score.episode) {
            return Ok(Err(ScoresError::Order {
                line,
                episode: score.episode,
                before: before.episode,
            }));
        }
        scores.push(score);
    }
    Ok(match scores.is_empty() {
        true => Err(ScoresError::Empty),
        false => Ok(scores),
    })
}

/// `episode : 14, score : 5512`, with any blanks around the words.
fn parse(line: &str) -> Option<GameScore> {
    let (episode, score) = line.split_once(',')?;
    let number = |part: &str, name: &str| {
        let (word, number) = part.split_once(':')?;
        let number = number.trim().parse().ok().filter(|&number| number <= MOST);
        number.filter(|_| word.trim() == name)
    };
    Some(GameScore {
        episode: number(episode, "episode")?,
        score: number(score, "score")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<GameScore>, ScoresError> {
        super::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn lines_of_any_spacing_are_read() {
        let scores = read(
            "\u{FEFF}episode : 14, score : 5512\r\n\nepisode:15,score:0\r\n episode : 20 , score : 7",
        );
        let found: Vec<(u64, u64)> = scores
            .unwrap()
            .iter()
            .map(|score| (score.episode, score.score))
            .collect();
        assert_eq!(found, [(14, 5512), (15, 0), (20, 7)]);
    }

    #[test]
    fn other_texts_are_refused_with_their_line() {
        assert_eq!(read(" \n"), Err(ScoresError::Empty));
        for wrong in [
            "score : 3, episode : 1",
            "episode : 1",
            "episode : -1, score : 3",
            "episode : 1, score : 1e5",
            "episode : 1, score : 9007199254740993",
            "1000 mean = 5 max = 6",
        ] {
            let text = format!("episode : 1, score : 8\n{wrong}\n");
            let found = wrong.to_owned();
            assert_eq!(read(&text), Err(ScoresError::Line { line: 2, found }));
        }
        let order = ScoresError::Order {
            line: 2,
            episode: 1,
            before: 1,
        };
        let twice = "episode : 1, score : 8\n".repeat(2);
        assert_eq!(read(&twice), Err(order));
        // A long line is not read into memory.
        let long = "episode : 1, score : 8\n".to_owned() + &"9".repeat(1 << 20);
        assert!(matches!(
            read(&long),
            Err(ScoresError::Line { line: 2, .. })
        ));
    }
}
