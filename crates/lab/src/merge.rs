//! Merges the parts of an evaluation or a comparison that several machines have played.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::compare::{Comparison, ComparisonPart};
use crate::error::{PartError, PartMismatch};
use crate::evaluate::scores;
use crate::numbers::bytes;
use crate::part::{EvaluationPart, PartInfo, PlayedGames};
use crate::report::{Evaluation, ModelInfo};
use crate::tables::open;
use crate::text::without_mark;

/// The largest size of a part: some ten million games.
const LONGEST: u64 = 1 << 30;

/// The result of all parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Merged {
    /// Of an evaluation.
    Evaluation(Box<Evaluation>),
    /// Of a comparison.
    Comparison(Box<Comparison>),
}

/// Merges the parts of an evaluation or a comparison, given as files in any order. The result is
/// that of one machine in everything but times.
///
/// # Errors
/// When a file cannot be read or is no part, parts do not belong together, or one is missing, given
/// twice or incomplete.
pub fn merge(paths: &[PathBuf]) -> Result<Merged, LabError> {
    let parts = paths
        .iter()
        .map(|path| Ok((path.clone(), read(path)?)))
        .collect::<Result<Vec<_>, LabError>>()?;
    Ok(merged(parts)?)
}

/// The same for documents in memory, each with the name that errors call it by.
///
/// # Errors
/// When a document is no part, parts do not belong together, or one is missing, given twice or
/// incomplete.
pub fn merge_documents(documents: &[(PathBuf, String)]) -> Result<Merged, LabError> {
    let part = |(name, text): &(PathBuf, String)| {
        let part = part_of(name, text.as_bytes())?;
        Ok((name.clone(), part))
    };
    let parts: Result<Vec<_>, PartError> = documents.iter().map(part).collect();
    Ok(merged(parts?)?)
}

/// A part as it was read.
#[derive(Clone)]
enum AnyPart {
    Evaluation(Box<EvaluationPart>),
    Comparison(Box<ComparisonPart>),
}

impl AnyPart {
    fn info(&self) -> &PartInfo {
        match self {
            Self::Evaluation(part) => &part.part,
            Self::Comparison(part) => &part.part,
        }
    }

    fn into_info(self) -> PartInfo {
        match self {
            Self::Evaluation(part) => part.part,
            Self::Comparison(part) => part.part,
        }
    }

    fn has_games(&self) -> bool {
        let mut played = self.info().played.iter();
        played.any(|played| !played.outcomes.is_empty())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Evaluation(_) => "evaluation",
            Self::Comparison(_) => "comparison",
        }
    }

    /// The results of its player, or of both.
    fn evaluations(&self) -> Vec<&Evaluation> {
        match self {
            Self::Evaluation(part) => vec![&part.evaluation],
            Self::Comparison(part) => vec![&part.comparison.a, &part.comparison.b],
        }
    }

    /// What must be the same in all parts, in words.
    fn identity(&self) -> Vec<(&'static str, String)> {
        let info = self.info();
        let mut identity = vec![
            ("kinds", self.kind().to_owned()),
            ("numbers of parts", info.part.of().to_string()),
            ("numbers of games", info.games_of_all.to_string()),
        ];
        for of in self.evaluations() {
            identity.extend([
                ("games", format!("{} on {}", of.game, of.board)),
                ("seeds", of.seed.to_string()),
                ("searches", of.search.clone()),
                ("models", model(of)),
            ]);
        }
        identity
    }

    /// How it differs from another, if they do not belong together.
    fn mismatch(&self, other: &Self) -> Option<PartMismatch> {
        let pairs = self.identity().into_iter().zip(other.identity());
        let differing = pairs.into_iter().find(|(first, other)| first != other);
        differing.map(|((what, first), (_, other))| PartMismatch { what, first, other })
    }

    /// Refuses outcomes that are not those of all games of the part.
    fn check(&self, path: &Path) -> Result<(), PartError> {
        let info = self.info();
        let in_range = |played: &PlayedGames| {
            played.seconds >= 0.0 && played.outcomes.iter().all(|outcome| outcome.in_range())
        };
        if info.played.len() != self.evaluations().len() || !info.played.iter().all(in_range) {
            return Err(PartError::NotAPart {
                path: path.to_owned(),
                reason: "its outcomes are not those of games".to_owned(),
            });
        }
        let numbers = info.part.games(info.games_of_all);
        let expected = numbers.end - numbers.start;
        for played in &info.played {
            let played = played.outcomes.len() as u64;
            if played != expected {
                return Err(PartError::Incomplete {
                    path: path.to_owned(),
                    played,
                    expected,
                });
            }
        }
        Ok(())
    }
}

/// A model by its digest: the same file may have another path on another machine.
fn model(of: &Evaluation) -> String {
    let named = |model: &ModelInfo| model.sha256.clone().unwrap_or_else(|| model.path.clone());
    of.model
        .as_ref()
        .map_or_else(|| "without a file".to_owned(), named)
}

/// By which the kind of a document is known.
#[derive(Deserialize)]
struct Probe {
    part: Option<IgnoredAny>,
    a: Option<IgnoredAny>,
}

fn read(path: &Path) -> Result<AnyPart, LabError> {
    let (file, size) = open(path).map_err(LabError::file("read", path))?;
    if size > LONGEST {
        let (path, limit) = (path.to_owned(), bytes(LONGEST));
        return Err(PartError::TooLarge { path, limit }.into());
    }
    let mut text = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut text);
    read.map_err(LabError::file("read", path))?;
    Ok(part_of(path, &text)?)
}

/// The part in a document.
fn part_of(path: &Path, text: &[u8]) -> Result<AnyPart, PartError> {
    let probe: Probe = parse(path, text)?;
    match (probe.part, probe.a) {
        (Some(_), None) => Ok(AnyPart::Evaluation(parse(path, text)?)),
        (Some(_), Some(_)) => Ok(AnyPart::Comparison(parse(path, text)?)),
        (None, _) => Err(PartError::NotAPart {
            path: path.to_owned(),
            reason: "it has no field `part`".to_owned(),
        }),
    }
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, PartError> {
    serde_json::from_slice(without_mark(text)).map_err(|error| PartError::NotAPart {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// The result of parts, each with its file.
fn merged(mut parts: Vec<(PathBuf, AnyPart)>) -> Result<Merged, PartError> {
    parts.sort_by_key(|(_, part)| part.info().part.number());
    check(&parts)?;
    // A part without games does not know.
    let mut played = parts
        .iter()
        .map(|(_, part)| part)
        .filter(|part| part.has_games());
    let equal =
        played.all(|part| matches!(part, AnyPart::Comparison(part) if part.comparison.equal));
    let mut parts = parts.into_iter().map(|(_, part)| part);
    let first = parts.next().ok_or(PartError::Nothing)?;
    let others = parts.map(AnyPart::into_info);
    Ok(match first {
        AnyPart::Evaluation(first) => {
            let [played] = joined(first.part, others);
            Merged::Evaluation(Box::new(result(first.evaluation, &played)))
        }
        AnyPart::Comparison(first) => {
            let [of_a, of_b] = joined(first.part, others);
            let a = result(first.comparison.a, &of_a);
            let b = result(first.comparison.b, &of_b);
            let games = [&*of_a.outcomes, &of_b.outcomes];
            let compared = Comparison::of([a, b], games, || Ok::<_, Infallible>(equal));
            Merged::Comparison(Box::new(compared.unwrap_or_else(|never| match never {})))
        }
    })
}

/// Checks parts in the order of their numbers: each is there once, whole, and of the same work.
fn check(parts: &[(PathBuf, AnyPart)]) -> Result<(), PartError> {
    let Some((first_path, first)) = parts.first() else {
        return Err(PartError::Nothing);
    };
    for (path, part) in parts {
        part.check(path)?;
        if let Some(difference) = first.mismatch(part) {
            return Err(PartError::Mismatch {
                first: first_path.clone(),
                other: path.clone(),
                difference,
            });
        }
    }
    let number = |(_, part): &(PathBuf, AnyPart)| part.info().part.number();
    let same = parts
        .windows(2)
        .find(|two| number(&two[0]) == number(&two[1]));
    if let Some([(first, part), (other, _)]) = same {
        return Err(PartError::Twice {
            first: first.clone(),
            other: other.clone(),
            part: part.info().part.to_string(),
        });
    }
    let of = first.info().part.of();
    let given: Vec<u64> = parts.iter().map(number).collect();
    let is_missing = |number: &u64| given.binary_search(number).is_err();
    let missing: Vec<u64> = (1..=of).filter(is_missing).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(PartError::Missing { of, missing })
    }
}

/// The games of each player, in order.
fn joined<const PLAYERS: usize>(
    first: PartInfo,
    others: impl Iterator<Item = PartInfo>,
) -> [PlayedGames; PLAYERS] {
    let mut all = std::array::from_fn(|_| PlayedGames::default());
    for info in std::iter::once(first).chain(others) {
        for (all, played) in all.iter_mut().zip(info.played) {
            all.seconds += played.seconds;
            all.outcomes.extend(played.outcomes);
        }
    }
    all
}

/// The results of a player's games of all parts.
fn result(of: Evaluation, played: &PlayedGames) -> Evaluation {
    Evaluation {
        scores: scores(&played.outcomes, played.seconds),
        ..of
    }
}
