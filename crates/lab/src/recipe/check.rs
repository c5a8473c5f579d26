//! What the types of a recipe cannot say: ranges, and values that do not go together.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use super::error::{RecipeError, shorten};
use super::{Follow, Kind, Plays, Recipe, Rule, Target, Ties, Update, ValueOf};
use crate::model::word;

/// TOML's largest whole number: a larger one could be run, but not written to the run folder.
const LARGEST: u64 = i64::MAX as u64;

/// Convolutions, and hidden layers, of a deep network at most.
pub(crate) const MOST_LAYERS: usize = 16;
/// Filters of a convolution at most.
pub(crate) const MOST_FILTERS: usize = 1024;
/// Numbers of a hidden layer at most.
pub(crate) const WIDEST: usize = 4096;
/// What rewards may be divided by.
pub(crate) const SCALES: RangeInclusive<f64> = 1e-3..=1e9;
/// Moves in memory, and in games that are not in memory yet: what a checkpoint has room for in its header.
const MOST_MOVES: u64 = 500_000;

/// A day: a run that keeps less than one checkpoint a day has no use for them.
const MAX_CHECKPOINT_SECONDS: f64 = 86_400.0;

impl Recipe {
    /// Checks every value, alone and beside the others. [`Recipe::load`] and [`Recipe::parse`] have
    /// done it; whoever changes a field afterwards does it again.
    pub fn validate(&self) -> Result<(), RecipeError> {
        check_name(&self.name)?;
        parse_board(&self.board)?;
        whole("episodes", self.episodes, 1..=LARGEST)?;
        whole("threads", self.threads as u64, 0..=1024)?;
        whole("seed", self.seed, 0..=LARGEST)?;
        whole("block", self.block, 1..=1_000_000)?;
        let seconds = self.checkpoint_seconds;
        if !(seconds > 0.0 && seconds <= MAX_CHECKPOINT_SECONDS) {
            let expected = format!("more than 0 and at most {MAX_CHECKPOINT_SECONDS} seconds");
            return Err(bad("checkpoint_seconds", seconds, expected));
        }
        // Judged as the f32 of a weight, which is infinite from 3.4e38 on.
        if !(self.network.initial as f32).is_finite() {
            let expected = "a finite number, such as 0.0 or 320000.0";
            return Err(bad("network.initial", self.network.initial, expected));
        }
        self.validate_replay()?;
        self.validate_learner()?;
        self.validate_deep()?;
        match self.network.kind {
            Kind::Tuples => Ok(()),
            Kind::Deep => self.validate_layers(),
        }
    }

    /// Also where there is no deep network: what is accepted is written to the run folder and read again.
    fn validate_deep(&self) -> Result<(), RecipeError> {
        let (network, deep) = (&self.network, &self.deep);
        for kernel in &network.convolutions {
            kernel_of(kernel)?;
        }
        let most = MOST_LAYERS as u64;
        let layers = |count: usize| (count as u64 <= most).then_some(());
        let too_many = |key, count: usize| {
            let found = format!("a list of {count}");
            bad(key, found, format!("at most {most} of them"))
        };
        let (kernels, widths) = (network.convolutions.len(), network.hidden.len());
        layers(kernels).ok_or_else(|| too_many("network.convolutions", kernels))?;
        layers(widths).ok_or_else(|| too_many("network.hidden", widths))?;
        whole(
            "network.filters",
            network.filters as u64,
            1..=MOST_FILTERS as u64,
        )?;
        for &width in &network.hidden {
            whole("network.hidden", width as u64, 1..=WIDEST as u64)?;
        }
        whole("network.outputs", network.outputs as u64, 3..=4)?;
        let iterations = deep.follow_iterations;
        whole("deep.follow_iterations", iterations, 1..=LARGEST)?;
        number("deep.discount", deep.discount, 0.01..=1.0)?;
        number("deep.reward_scale", deep.reward_scale, SCALES)?;
        number("deep.weight_decay", deep.weight_decay, 0.0..=1.0)?;
        number("deep.tau", deep.tau, 1e-6..=1.0)?;
        number("deep.dropout", deep.dropout, 0.0..=0.95)
    }

    fn validate_layers(&self) -> Result<(), RecipeError> {
        let (network, deep) = (&self.network, &self.deep);
        let with_deep = |key, found: String, expected: &str| {
            let expected = format!("{expected} with `network.kind` = \"deep\"");
            Err(RecipeError::BadValue {
                key,
                found,
                expected,
            })
        };
        if !network.tuples.is_empty() {
            let found = format!("\"{}\"", shorten(&network.tuples));
            return with_deep("network.tuples", found, "nothing");
        }
        if network.hint {
            return with_deep("network.hint", "true".into(), "false");
        }
        if network.initial != 0.0 {
            return with_deep("network.initial", network.initial.to_string(), "0.0");
        }
        if deep.turn && self.learner.value == ValueOf::Action && network.outputs == 3 {
            let expected = "false, or `network.outputs` = 4: down would become another slide,";
            return with_deep("deep.turn", "true".into(), expected);
        }
        if deep.plays == Plays::Follower && deep.follow == Follow::Copy {
            let expected = "\"learner\", or `deep.follow` = \"soft\": a copy may be old,";
            return with_deep("deep.plays", "\"follower\"".into(), expected);
        }
        let (mut rows, mut cols) = parse_board(&self.board)?;
        for kernel in &network.convolutions {
            let (high, wide) = kernel_of(kernel)?;
            if high > rows || wide > cols {
                return Err(bad(
                    "network.convolutions",
                    kernel,
                    format!("kernels of at most {rows}x{cols} here: that is left of the board"),
                ));
            }
            (rows, cols) = (rows + 1 - high, cols + 1 - wide);
        }
        Ok(())
    }

    fn validate_replay(&self) -> Result<(), RecipeError> {
        let replay = &self.replay;
        whole("replay.games", replay.games as u64, 1..=4096)?;
        whole("replay.memory", replay.memory as u64, 1..=MOST_MOVES)?;
        let most_steps = MOST_MOVES / 4 / replay.games as u64;
        whole(
            "replay.steps",
            replay.steps.into(),
            1..=most_steps.min(1000),
        )?;
        whole("replay.batches", replay.batches as u64, 1..=1000)?;
        whole("replay.batch", replay.batch as u64, 1..=4096)?;
        whole(
            "replay.epsilon_iterations",
            replay.epsilon_iterations,
            0..=LARGEST,
        )?;
        whole("replay.updates", replay.updates, 0..=LARGEST)?;
        if !(0.0..=1.0).contains(&replay.epsilon) {
            let expected = "a number from 0 to 1";
            return Err(bad("replay.epsilon", replay.epsilon, expected));
        }
        if replay.batch > replay.memory {
            let expected = format!("at most replay.memory, {}", replay.memory);
            return Err(bad("replay.batch", replay.batch, expected));
        }
        Ok(())
    }

    fn validate_learner(&self) -> Result<(), RecipeError> {
        let learner = &self.learner;
        if !(0.0..=1.0).contains(&learner.lambda) {
            let expected = "a number from 0 to 1";
            return Err(bad("learner.lambda", learner.lambda, expected));
        }
        let is_deep = self.network.kind == Kind::Deep;
        if is_deep && learner.update != Update::Replay {
            let expected = "\"replay\" with `network.kind` = \"deep\"";
            return Err(bad("learner.update", word(&learner.update), expected));
        }
        if !is_deep && learner.value == ValueOf::Action {
            let expected =
                "\"afterstate\" or \"state\"; \"action\" needs `network.kind` = \"deep\"";
            return Err(bad("learner.value", "action", expected));
        }
        if is_deep && learner.ties != Ties::Order {
            let expected = "\"order\" with `network.kind` = \"deep\"";
            return Err(bad("learner.ties", word(&learner.ties), expected));
        }
        let update = match learner.update {
            Update::Backward => return Ok(()),
            Update::Forward => "forward",
            Update::Replay => "replay",
        };
        if learner.lambda != 0.0 {
            let found = learner.lambda.to_string();
            return Err(needs_backward("learner.lambda", found, update));
        }
        if learner.target == Target::RewardTwice {
            let found = "\"reward-twice\"".into();
            return Err(needs_backward("learner.target", found, update));
        }
        if learner.update == Update::Replay {
            let needs = |key, found: &str, needed: &str| {
                let expected = format!("\"{needed}\" with `learner.update` = \"replay\"");
                bad(key, found, expected)
            };
            if is_deep && learner.value == ValueOf::State {
                let expected = "\"action\" or \"afterstate\" with `network.kind` = \"deep\"";
                return Err(bad("learner.value", "state", expected));
            }
            if !is_deep && learner.value != ValueOf::State {
                return Err(needs("learner.value", "afterstate", "state"));
            }
            if learner.rule != Rule::Td {
                return Err(needs("learner.rule", "tc", "td"));
            }
        }
        Ok(())
    }
}

/// Rows and columns of a board written as `ROWSxCOLUMNS`, each from 2 to 5.
///
/// ```
/// use afterstate_lab::recipe::parse_board;
///
/// assert_eq!(parse_board("3x4")?, (3, 4));
/// assert!(parse_board("9x9").is_err());
/// # Ok::<(), afterstate_lab::recipe::RecipeError>(())
/// ```
pub fn parse_board(board: &str) -> Result<(usize, usize), RecipeError> {
    match *board.as_bytes() {
        [rows @ b'2'..=b'5', b'x', columns @ b'2'..=b'5'] => {
            Ok((usize::from(rows - b'0'), usize::from(columns - b'0')))
        }
        _ => Err(RecipeError::BadValue {
            key: "board",
            found: format!("\"{}\"", shorten(board)),
            expected: "ROWSxCOLUMNS, each from 2 to 5, such as \"4x4\"".into(),
        }),
    }
}

/// A name may become part of a file name: it must not lead elsewhere, or hide.
pub(crate) fn check_name(name: &str) -> Result<(), RecipeError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('.') {
        return Ok(());
    }
    Err(RecipeError::BadValue {
        key: "name",
        found: format!("\"{}\"", shorten(name)),
        expected: "1 to 64 letters, digits, or any of - _ . +, not beginning with a dot".into(),
    })
}

fn whole(key: &'static str, found: u64, range: RangeInclusive<u64>) -> Result<(), RecipeError> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("a whole number from {} to {}", range.start(), range.end());
    Err(bad(key, found, expected))
}

fn number(key: &'static str, found: f64, range: RangeInclusive<f64>) -> Result<(), RecipeError> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("a number from {} to {}", range.start(), range.end());
    Err(bad(key, found, expected))
}

/// Rows and columns of a kernel written as `ROWSxCOLUMNS`, each from 1 to 5.
pub(crate) fn kernel_of(kernel: &str) -> Result<(usize, usize), RecipeError> {
    match *kernel.as_bytes() {
        [rows @ b'1'..=b'5', b'x', columns @ b'1'..=b'5'] => {
            Ok((usize::from(rows - b'0'), usize::from(columns - b'0')))
        }
        _ => Err(RecipeError::BadValue {
            key: "network.convolutions",
            found: format!("\"{}\"", shorten(kernel)),
            expected: "kernels of ROWSxCOLUMNS, each from 1 to 5, such as \"2x1\"".into(),
        }),
    }
}

fn bad(key: &'static str, found: impl Debug, expected: impl Into<String>) -> RecipeError {
    RecipeError::BadValue {
        key,
        found: format!("{found:?}"),
        expected: expected.into(),
    }
}

fn needs_backward(key: &'static str, found: String, update: &'static str) -> RecipeError {
    RecipeError::Conflict {
        key,
        found,
        other: "learner.update",
        other_found: update,
        needed: "backward",
    }
}
