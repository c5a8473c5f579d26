//! Which game some records are of: the one whose rules most of the first records follow.
//!
//! Of games that fit equally well, the more probable one is taken: every game of `threes-original`
//! is also one of `threes-hint`, but its new tiles have fewer cells to choose from.

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{Game, Shape};
use afterstate::judge::Judge;

use super::JudgeOptions;
use super::batch::Batch;
use crate::LabError;
use crate::error::{RecordError, game_on};
use crate::games::{DEFAULT_GAME, GameVisitor, games, with_game};

/// The records that are tried.
const TRIED: usize = 8;

/// The game that records are judged by.
pub(crate) struct JudgedGame {
    pub(crate) game: String,
    pub(crate) shape: Shape,
    /// Whether it was not named.
    pub(crate) is_guess: bool,
    /// What is wrong with the game that was named: no record follows its rules, and another fits.
    pub(crate) mismatch: Option<String>,
}

/// How well records fit a game.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Fit {
    valid: usize,
    /// Actions before the first fault of each record.
    actions: usize,
    ln_probability: f64,
}

/// Chooses the game: the one that was named, or the one that fits.
pub(crate) fn choose(options: &JudgeOptions<'_>, batch: &Batch) -> Result<JudgedGame, LabError> {
    let records = batch.first(TRIED);
    let shape = options.shape.unwrap_or(Shape::FOUR);
    let choice = |game: &str, shape, is_guess| JudgedGame {
        game: game.to_owned(),
        shape,
        is_guess,
        mismatch: None,
    };
    let likely = |fit: &Fit| 2 * fit.valid > records.len();
    let Some(game) = options.game else {
        let (game, fit) = best(&records, shape)?;
        if fit.valid == 0
            && options.shape.is_none()
            && let Some((game, shape, _)) = anywhere(&records)?.filter(|(.., fit)| likely(fit))
        {
            return Ok(choice(game, shape, true));
        }
        let game = if fit.actions == 0 { DEFAULT_GAME } else { game };
        return Ok(choice(game, shape, true));
    };
    let mut named = choice(game, shape, false);
    if !records.is_empty() && fit(game, shape, &records)?.valid == 0 {
        let (other, other_fit) = best(&records, shape)?;
        let other = match likely(&other_fit) {
            true => Some((other, shape, other_fit)),
            false => anywhere(&records)?.filter(|(.., fit)| likely(fit)),
        };
        named.mismatch = other.map(|(other, other_shape, fit)| {
            format!(
                "the records are of {}, not of {}: {} of the first {} follow the rules of the former, \
                 none of them those of the latter",
                game_on(other, other_shape),
                game_on(game, shape),
                fit.valid,
                records.len()
            )
        });
    }
    Ok(named)
}

/// The game and the board whose rules a record follows, or follows longest, and its first fault
/// under them; 4x4 before other boards.
pub(crate) fn closest(
    record: &[u8],
) -> Result<(&'static str, Shape, Option<RecordError>), LabError> {
    let (game, on_four) = best(&[record], Shape::FOUR)?;
    let other = match on_four.valid {
        0 => anywhere(&[record])?.filter(|(.., fit)| *fit > on_four),
        _ => None,
    };
    let (game, shape) = other.map_or((game, Shape::FOUR), |(game, shape, _)| (game, shape));
    Ok((game, shape, with_game(game, shape, FirstFault(record))?))
}

struct FirstFault<'a>(&'a [u8]);

impl GameVisitor for FirstFault<'_> {
    type Output = Option<RecordError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let hints = game.rules().shows_hint(game.shape());
        let mut episode = EpisodeRecord::default();
        let read = episode.read(self.0.trim_ascii_end(), hints);
        let judged = read.map_err(RecordError::from).and_then(|()| {
            let replayed = Judge::new(game).replay(&episode, None);
            replayed.map_err(RecordError::from)
        });
        judged.err()
    }
}

/// The game that fits best on a board.
fn best(records: &[&[u8]], shape: Shape) -> Result<(&'static str, Fit), LabError> {
    let mut best = (DEFAULT_GAME, fit(DEFAULT_GAME, shape, records)?);
    for game in games() {
        let fit = fit(game, shape, records)?;
        if fit > best.1 {
            best = (game, fit);
        }
    }
    Ok(best)
}

/// The game and the board that fit best.
fn anywhere(records: &[&[u8]]) -> Result<Option<(&'static str, Shape, Fit)>, LabError> {
    let sides = || Shape::SIDES;
    let shapes = sides().flat_map(|rows| sides().filter_map(move |cols| Shape::new(rows, cols)));
    let mut found: Option<(&str, Shape, Fit)> = None;
    for shape in shapes {
        let (game, fit) = best(records, shape)?;
        if found.is_none_or(|(.., most)| fit > most) {
            found = Some((game, shape, fit));
        }
    }
    Ok(found)
}

fn fit(game: &str, shape: Shape, records: &[&[u8]]) -> Result<Fit, LabError> {
    with_game(game, shape, Fitting(records))
}

struct Fitting<'a>(&'a [&'a [u8]]);

impl GameVisitor for Fitting<'_> {
    type Output = Fit;

    fn visit<G: Game>(self, game: G) -> Fit {
        let hints = game.rules().shows_hint(game.shape());
        let judge = Judge::new(game);
        let (mut fit, mut episode) = (Fit::default(), EpisodeRecord::default());
        for line in self.0 {
            if episode.read(line.trim_ascii_end(), hints).is_err() {
                continue;
            }
            match judge.replay(&episode, None) {
                Ok(replayed) => {
                    fit.valid += 1;
                    fit.actions += episode.moves.len();
                    fit.ln_probability += replayed.ln_probability();
                }
                Err(fault) => fit.actions += fault.action.map_or(0, |action| action - 1),
            }
        }
        fit
    }
}
