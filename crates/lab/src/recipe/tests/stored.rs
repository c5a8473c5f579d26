//! Recipes that earlier versions stored: of format 1, and of format 2 with its first keys.

use super::kinds::load;
use super::*;
use crate::migrate::Format;

/// A complete recipe of format 1, as its runs have it.
const FORMAT_1: &str = r#"
name = "quick"
purpose = "first run"
figure = "mean 100,044"
time = "66 seconds"
game = "2048"
board = "2x3"
episodes = 40
threads = 1
seed = 1
block = 10
checkpoint_seconds = 60.0
scores = false
[network]
kind = "tuples"
tuples = "01 12"
symmetry = true
hint = false
initial = 0.0
convolutions = ["2x1"]
filters = 256
hidden = [16]
relu = "all"
outputs = 4
[learner]
value = "afterstate"
update = "backward"
target = "textbook"
rule = "tc"
lambda = 0.5
ties = "order"
[[learner.rate]]
from = 0
rate = 1.0
[[learner.rate]]
from = 9
rate = 0.5
[replay]
games = 32
memory = 5000
overwrite = "oldest"
steps = 1
batches = 5
batch = 32
epsilon = 0.0
epsilon_iterations = 0
updates = 0
[deep]
initial_weights = "torch"
illegal = "value"
mask = true
discount = 0.99
reward_scale = 256.0
rewards = "learned"
optimiser = "adam"
weight_decay = 0.01
follow = "copy"
follow_iterations = 10
tau = 0.01
plays = "learner"
double = false
dropout = 0.0
dropout_place = "hidden"
turn = false
"#;

#[test]
fn a_stored_recipe_of_format_1_is_migrated_and_a_written_one_refused() -> Outcome {
    let stored = Recipe::parse_stored(FORMAT_1, "recipe.toml", &["episodes=50".into()])?;
    assert_eq!(stored.format, Format::One);
    assert!(stored.is_migrated());
    let recipe = stored.content;
    assert_eq!((recipe.block_games, recipe.episodes), (10, 50));
    assert_eq!(recipe.learner.discount(), 1.0);
    assert_eq!(recipe.learner.learning_rate().at(9), 0.5);
    // It did not store what was changed in `quick`; this is determined by comparison.
    let expected = ["board=2x3", "network.tuples=01 12"];
    assert!(
        expected
            .iter()
            .all(|change| recipe.changed.iter().any(|c| c == change)),
        "{:?}",
        recipe.changed
    );
    assert_eq!((&*recipe.purpose, &*recipe.result), ("", ""));
    let now = Recipe::parse_stored(&recipe.to_toml(), "recipe.toml", &[])?;
    assert!(!now.is_migrated());
    assert_eq!(now.content, recipe);
    let message = refusal(FORMAT_1);
    assert!(
        message.contains("`block` in my.toml is called `block_games` here"),
        "{message}"
    );
    Ok(())
}

#[test]
fn deep_recipes_of_format_1_keep_what_had_an_effect() -> Outcome {
    let deep = FORMAT_1
        .replace("kind = \"tuples\"", "kind = \"deep\"")
        .replace("tuples = \"01 12\"", "tuples = \"\"")
        .replace("update = \"backward\"", "update = \"replay\"")
        .replace("rule = \"tc\"", "rule = \"td\"")
        .replace("lambda = 0.5", "lambda = 0.0")
        .replace("value = \"afterstate\"", "value = \"action\"")
        .replace("follow = \"copy\"", "follow = \"soft\"")
        .replace("plays = \"learner\"", "plays = \"follower\"")
        .replace("turn = false", "turn = true")
        .replace("dropout = 0.0", "dropout = 0.25");
    let recipe = Recipe::parse_stored(&deep, "recipe.toml", &[])?.content;
    let hidden = &recipe.network.expect_deep()?.dropout_hidden;
    assert_eq!(*hidden, HiddenDropout::Last(0.25));
    assert_eq!(recipe.network.expect_deep()?.dropout_convolutions, 0.0);
    let dqn = recipe.learner.expect_dqn()?;
    assert_eq!((dqn.discount, dqn.augment), (0.99, true));
    let soft = TargetUpdate::Soft {
        tau: 0.01,
        acting_network: ActingNetwork::Target,
    };
    assert_eq!(dqn.target_update, soft);
    assert_eq!(recipe.network.expect_deep()?.outputs, 4);
    let after = deep.replace("value = \"action\"", "value = \"afterstate\"");
    let recipe = Recipe::parse_stored(&after, "recipe.toml", &[])?.content;
    assert_eq!(recipe.network.expect_deep()?.outputs, 1);
    Ok(())
}

/// Recipes of format 2 had one rate of dropout at first. Runs with them go on; a user learns the
/// new name.
#[test]
fn a_stored_recipe_with_one_rate_of_dropout_is_read_and_a_written_one_refused() -> Outcome {
    let changes = ["dropout_convolutions=0.25", "outputs=3", "illegal=output"];
    let now = load("dqn", &changes)?;
    let before = now
        .to_toml()
        .replace(
            "dropout_convolutions = 0.25",
            "dropout_place = \"convolutions\"",
        )
        .replace("dropout_hidden = 0.0", "dropout = 0.25")
        .replace("illegal = \"output\"", "illegal = \"number\"")
        .replace("network.dropout_convolutions=", "network.dropout=")
        .replace("learner.illegal=output", "learner.illegal=number");
    assert_eq!(
        Recipe::parse_stored(&before, "recipe.toml", &[])?.content,
        now
    );
    let message = refusal(&before);
    let expected = "`network.dropout` in my.toml is called `network.dropout_hidden` here";
    assert!(message.contains(expected), "{message}");
    Ok(())
}
