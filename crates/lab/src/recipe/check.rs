//! What the types of a recipe cannot express: ranges, and values that do not go together.

use std::ops::RangeInclusive;

use toml::Value;

use super::Recipe;
use super::dqn::{DqnRecipe, DqnValue, Optimiser, Rewards};
use super::error::{RecipeError, shorten};
use super::keys;
use super::learner::{
    BackwardRecipe, BufferRecipe, EndOfGame, LearnerRecipe, Rule, Subtract, Target, TdRecipe,
    Update, ValueOf,
};
use super::network::{DeepRecipe, HiddenDropout, NTupleRecipe, NetworkRecipe};
use afterstate::ntuple::Stages;
use afterstate::replay::{Illegal, StoredReward, TargetUpdate};

/// TOML's largest whole number: a larger one could be run, but not written to the run folder.
const LARGEST: u64 = i64::MAX as u64;

/// The largest number of convolutions, and of hidden layers, of a deep network.
pub(crate) const MOST_LAYERS: usize = 16;
/// The largest number of filters of a convolution.
pub(crate) const MOST_FILTERS: usize = 1024;
/// The largest width of a hidden layer.
pub(crate) const WIDEST: usize = 4096;
/// The range of the reward scale.
pub(crate) const SCALES: RangeInclusive<f64> = 1e-3..=1e9;
/// The largest number of transitions in a replay buffer: about a gigabyte of memory.
const MOST_TRANSITIONS: u64 = 10_000_000;

/// A day: checkpoints that are rarer than that have no use.
const MAX_CHECKPOINT_SECONDS: f64 = 86_400.0;

impl Recipe {
    /// Checks every value, alone and together with the others. [`Recipe::load`] and
    /// [`Recipe::parse`] call it; call it again after changing a field.
    ///
    /// # Errors
    /// With the first key whose value is out of range, or does not go with another.
    pub fn validate(&self) -> Result<(), RecipeError> {
        check_name(&self.name)?;
        parse_board(&self.board)?;
        whole("episodes", self.episodes, 1..=LARGEST)?;
        whole("threads", self.threads as u64, 0..=1024)?;
        whole("seed", self.seed, 0..=LARGEST)?;
        whole("block_games", self.block_games, 1..=1_000_000)?;
        let seconds = self.checkpoint_seconds;
        if !(seconds > 0.0 && seconds <= MAX_CHECKPOINT_SECONDS) {
            let expected = format!("more than 0 and at most {MAX_CHECKPOINT_SECONDS} seconds");
            return Err(bad("checkpoint_seconds", &format!("{seconds:?}"), expected));
        }
        match &self.network {
            NetworkRecipe::NTuple(network) => {
                validate_tables(network)?;
                validate_stages(network, self.learner.value())?;
                validate_carousel(network, &self.learner)?;
            }
            NetworkRecipe::Deep(network) => self.validate_layers(network)?,
        }
        number("learner.discount", self.learner.discount(), 0.0..=1.0)?;
        match (&self.learner, &self.network) {
            (LearnerRecipe::Td(learner), NetworkRecipe::NTuple(_)) => validate_td(learner),
            (LearnerRecipe::Replay(learner), NetworkRecipe::NTuple(_)) => {
                validate_buffer(&learner.buffer)
            }
            (LearnerRecipe::Dqn(learner), NetworkRecipe::Deep(network)) => {
                validate_dqn(learner, network)
            }
            (LearnerRecipe::Td(_), NetworkRecipe::Deep(_)) => {
                Err(kinds("\"td\"", "deep", "n-tuple"))
            }
            (LearnerRecipe::Replay(_), NetworkRecipe::Deep(_)) => {
                Err(kinds("\"replay\"", "deep", "n-tuple"))
            }
            (LearnerRecipe::Dqn(_), NetworkRecipe::NTuple(_)) => {
                Err(kinds("\"dqn\"", "n-tuple", "deep"))
            }
        }
    }

    fn validate_layers(&self, network: &DeepRecipe) -> Result<(), RecipeError> {
        let most = MOST_LAYERS as u64;
        let few = |key, count: usize| {
            let too_many = || {
                let found = format!("a list of {count}");
                bad(key, &found, format!("at most {most} of them"))
            };
            (count as u64 <= most).then_some(()).ok_or_else(too_many)
        };
        few("network.convolutions", network.convolutions.len())?;
        few("network.hidden", network.hidden.len())?;
        let filters = network.filters as u64;
        whole("network.filters", filters, 1..=MOST_FILTERS as u64)?;
        for &width in &network.hidden {
            whole("network.hidden", width as u64, 1..=WIDEST as u64)?;
        }
        validate_dropout(network)?;
        let (mut rows, mut cols) = parse_board(&self.board)?;
        for kernel in &network.convolutions {
            let (high, wide) = kernel_of(kernel)?;
            if high > rows || wide > cols {
                let expected =
                    format!("at most {rows}x{cols}, which remains of the board at this layer");
                let found = format!("\"{kernel}\"");
                return Err(bad("network.convolutions", &found, expected));
            }
            (rows, cols) = (rows + 1 - high, cols + 1 - wide);
        }
        Ok(())
    }
}

fn validate_dropout(network: &DeepRecipe) -> Result<(), RecipeError> {
    const KEY: &str = "network.dropout_hidden";
    let shares = || 0.0..=0.95;
    let layers = network.hidden.len();
    match &network.dropout_hidden {
        HiddenDropout::Last(share) => number(KEY, *share, shares())?,
        HiddenDropout::Each(all) if all.len() != layers => {
            let expected =
                format!("a number, or a list of {layers}, one for each layer of `network.hidden`");
            return Err(bad(KEY, &format!("{all:?}"), expected));
        }
        HiddenDropout::Each(all) => {
            let mut all = all.iter();
            all.try_for_each(|&share| number(KEY, share, shares()))?;
        }
    }
    let convolutions = network.dropout_convolutions;
    number("network.dropout_convolutions", convolutions, shares())
}

fn validate_tables(network: &NTupleRecipe) -> Result<(), RecipeError> {
    // Checked as the f32 of a weight, which is infinite from 3.4e38 on.
    if (network.initial_value as f32).is_finite() {
        return Ok(());
    }
    let expected = "a finite number, such as 0.0 or 320000.0";
    let found = format!("{:?}", network.initial_value);
    Err(bad("network.initial_value", &found, expected))
}

fn validate_stages(network: &NTupleRecipe, value: ValueOf) -> Result<(), RecipeError> {
    const KEY: &str = "network.stages";
    let NTupleRecipe {
        stages, promotion, ..
    } = network;
    let most = Stages::MOST - 1;
    if stages.len() > most {
        let found = format!("a list of {}", stages.len());
        return Err(bad(KEY, &found, format!("at most {most} of them")));
    }
    if !stages.is_sorted_by(|a, b| a < b) {
        let expected = "ascending numbers, such as [16384, 32768]";
        return Err(bad(KEY, &format!("{stages:?}"), expected));
    }
    if stages.is_empty() && !promotion {
        let needed = ("network.stages", "such as [16384]", "empty");
        return Err(conflict("network.promotion", "false".into(), needed));
    }
    if !stages.is_empty() && value == ValueOf::State {
        let expected = "an empty list, or `learner.value` = \"afterstate\": the expected change by a \
                        spawn, which state values are chosen by, would need the tables of two \
                        stages";
        return Err(bad(KEY, &format!("{stages:?}"), expected));
    }
    Ok(())
}

fn validate_carousel(network: &NTupleRecipe, learner: &LearnerRecipe) -> Result<(), RecipeError> {
    const KEY: &str = "learner.carousel";
    let td = learner.td().filter(|td| td.carousel > 0);
    let Some(TdRecipe {
        carousel,
        restart_length,
        ..
    }) = td
    else {
        return Ok(());
    };
    whole(KEY, *carousel as u64, 0..=100_000)?;
    let found = carousel.to_string();
    if network.stages.is_empty() {
        return Err(conflict(
            KEY,
            found,
            ("network.stages", "such as [16384]", "empty"),
        ));
    }
    if *restart_length > 0 {
        let restart = format!(
            "`learner.restart_length` = 0, which is {restart_length}: both say where \
                               the games after a whole game begin"
        );
        return Err(bad(KEY, &found, format!("0, or {restart}")));
    }
    Ok(())
}

fn validate_td(learner: &TdRecipe) -> Result<(), RecipeError> {
    let restart = learner.restart_length as u64;
    if restart != 0 {
        whole("learner.restart_length", restart, 2..=1_000_000)?;
    } else if learner.restart_from != 0 {
        return Err(conflict(
            "learner.restart_from",
            learner.restart_from.to_string(),
            ("learner.restart_length", "at least 2", "0"),
        ));
    }
    let backward = match &learner.update {
        Update::Forward(forward) => return n_steps(forward.n_step),
        Update::Delayed(delayed) => return number("learner.lambda", delayed.lambda, 0.0..=0.99),
        Update::Backward(backward) => backward,
    };
    number("learner.lambda", backward.lambda, 0.0..=1.0)?;
    n_steps(backward.n_step)?;
    if backward.n_step > 1 {
        return of_n_steps(backward);
    }
    let rule = match learner.rule.has(Rule::Tc) {
        true => Rule::Tc,
        false => Rule::Td,
    };
    let (key, found, default) = match (backward.end, backward.subtract) {
        (EndOfGame::Zero, Subtract::Value) => return Ok(()),
        (EndOfGame::Negated, _) => ("learner.end", "\"negated\"", "zero"),
        (EndOfGame::Zero, Subtract::StoredTotal) => {
            ("learner.subtract", "\"stored-total\"", "value")
        }
        (EndOfGame::Zero, Subtract::StoredPrevious) => {
            ("learner.subtract", "\"stored-previous\"", "value")
        }
        (EndOfGame::Zero, Subtract::StoredValue) => {
            ("learner.subtract", "\"stored-value\"", "value")
        }
    };
    let needed = match (learner.value, rule) {
        (ValueOf::State, Rule::Td) if backward.lambda == 0.0 => return Ok(()),
        (ValueOf::State, Rule::Td) => "`learner.lambda` = 0",
        (ValueOf::State, _) => "`learner.rule` = \"td\"",
        _ => "`learner.value` = \"state\"",
    };
    let expected = format!("\"{default}\", or {needed}: it is for TD(0) of state values");
    Err(bad(key, found, expected))
}

fn n_steps(found: u32) -> Result<(), RecipeError> {
    whole("learner.n_step", found.into(), 1..=1000)
}

/// Sums of several rewards are those of TD, without lambda.
fn of_n_steps(backward: &BackwardRecipe) -> Result<(), RecipeError> {
    let other = [
        ("learner.lambda", "0", backward.lambda != 0.0),
        (
            "learner.target",
            "\"textbook\"",
            backward.target != Target::Textbook,
        ),
        ("learner.end", "\"zero\"", backward.end != EndOfGame::Zero),
        (
            "learner.subtract",
            "\"value\"",
            backward.subtract != Subtract::Value,
        ),
    ];
    let conflicting = other.into_iter().find(|(.., differs)| *differs);
    conflicting.map_or(Ok(()), |(key, needed, _)| {
        let found = backward.n_step.to_string();
        let values = keys::table(backward);
        let value = keys::lookup(&values, key.trim_start_matches("learner."));
        let value = value.map_or_else(String::new, Value::to_string);
        Err(conflict("learner.n_step", found, (key, needed, &value)))
    })
}

fn validate_dqn(learner: &DqnRecipe, network: &DeepRecipe) -> Result<(), RecipeError> {
    validate_buffer(&learner.buffer)?;
    number("learner.reward_scale", learner.reward_scale, SCALES)?;
    if let Optimiser::Adamw { weight_decay } = learner.optimiser {
        number("learner.weight_decay", weight_decay, 0.0..=1.0)?;
    }
    match learner.target_update {
        TargetUpdate::Copy {
            target_update_iterations: iterations,
        } => whole("learner.target_update_iterations", iterations, 1..=LARGEST)?,
        TargetUpdate::Soft { tau, .. } => number("learner.tau", tau, 1e-6..=1.0)?,
    }
    let outputs = match learner.value {
        DqnValue::Action(_) => 3..=4,
        DqnValue::Afterstate => 1..=1,
    };
    whole("network.outputs", network.outputs as u64, outputs)?;
    if learner.action().illegal == Illegal::Output && network.outputs != 3 {
        let expected = "\"value\" or \"number\", or `network.outputs` = 3: with four outputs it \
                        would be the same as \"number\"";
        return Err(bad("learner.illegal", "\"output\"", expected));
    }
    let action = learner.action();
    if action.stored_reward == StoredReward::Chosen && action.rewards == Rewards::Known {
        let expected = "\"made\", or `learner.rewards` = \"learned\": where the rules add the \
                        reward of a slide, a stored 0 would be subtracted from it";
        return Err(bad("learner.stored_reward", "\"chosen\"", expected));
    }
    if learner.augment && network.outputs == 3 {
        let expected = "false, or `network.outputs` = 4: down would become another slide";
        return Err(bad("learner.augment", "true", expected));
    }
    Ok(())
}

fn validate_buffer(buffer: &BufferRecipe) -> Result<(), RecipeError> {
    whole("learner.num_envs", buffer.num_envs as u64, 1..=4096)?;
    let size = buffer.buffer_size as u64;
    whole("learner.buffer_size", size, 1..=MOST_TRANSITIONS)?;
    whole("learner.n_step", buffer.n_step.into(), 1..=1000)?;
    let updates = buffer.updates_per_step as u64;
    whole("learner.updates_per_step", updates, 1..=1000)?;
    whole("learner.batch_size", buffer.batch_size as u64, 1..=4096)?;
    let iterations = buffer.epsilon_iterations;
    whole("learner.epsilon_iterations", iterations, 0..=LARGEST)?;
    for (key, found) in [
        ("learner.max_iterations", buffer.max_iterations),
        ("learner.max_updates", buffer.max_updates),
        ("learner.log_iterations", buffer.log_iterations),
    ] {
        whole(key, found, 0..=LARGEST)?;
    }
    whole(
        "learner.learning_starts",
        buffer.learning_starts as u64,
        0..=LARGEST,
    )?;
    number("learner.epsilon", buffer.epsilon, 0.0..=1.0)?;
    if buffer.epsilon == 0.0 && iterations > 0 {
        return Err(conflict(
            "learner.epsilon_iterations",
            iterations.to_string(),
            ("learner.epsilon", "above 0", "0"),
        ));
    }
    for (key, found) in [
        ("learner.batch_size", buffer.batch_size),
        ("learner.learning_starts", buffer.learning_starts),
    ] {
        if found > buffer.buffer_size {
            let expected = format!("at most learner.buffer_size, {}", buffer.buffer_size);
            return Err(bad(key, &found.to_string(), expected));
        }
    }
    Ok(())
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

/// A name may become part of a file name: it must not contain path separators or start with a dot.
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
    Err(bad(key, &found.to_string(), expected))
}

fn number(key: &'static str, found: f64, range: RangeInclusive<f64>) -> Result<(), RecipeError> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("a number from {} to {}", range.start(), range.end());
    // Debug prints 1e300, Display three hundred zeros.
    Err(bad(key, &format!("{found:?}"), expected))
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

/// The error about a value, which is written as in a recipe.
fn bad(key: &'static str, found: &str, expected: impl Into<String>) -> RecipeError {
    RecipeError::BadValue {
        key,
        found: found.into(),
        expected: expected.into(),
    }
}

/// The error about a value that needs another one: (its key, what is needed, what was found).
fn conflict(
    key: &'static str,
    found: String,
    (other, needed, other_found): (&'static str, &'static str, &str),
) -> RecipeError {
    RecipeError::Conflict {
        key,
        found,
        other,
        other_found: other_found.into(),
        needed,
    }
}

fn kinds(learner: &str, network: &'static str, needed: &'static str) -> RecipeError {
    let other = ("network.kind", needed, network);
    conflict("learner.kind", learner.into(), other)
}
