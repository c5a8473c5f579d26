//! What is read, and what is said about faults.

use std::collections::BTreeSet;
use std::error::Error;

use super::*;

type Outcome = Result<(), Box<dyn Error>>;

pub(super) const MINIMAL: &str =
    "name = 'm'\ngame = '2048'\nboard = '4x4'\n[network]\ntuples = '4x6'\n";

pub(super) fn set(overrides: &[&str]) -> Result<Recipe, RecipeError> {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Recipe::parse(MINIMAL, "my.toml", &overrides)
}

/// The sentence about a text that must be refused.
pub(super) fn refusal(text: &str) -> String {
    match Recipe::parse(text, "my.toml", &[]) {
        Ok(recipe) => format!("accepted: {recipe:?}"),
        Err(error) => error.to_string(),
    }
}

/// Checks lines of the form `override -> part of the sentence about it`.
fn assert_refused(lines: &str) {
    for line in lines.trim().lines() {
        let (change, part) = line.split_once("-> ").unwrap_or((line, "an arrow"));
        let message = match set(&[change.trim()]) {
            Ok(recipe) => format!("accepted: {recipe:?}"),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(part), "{change}: {message}");
    }
}

#[test]
fn every_builtin_is_valid_complete_and_written_back() -> Outcome {
    assert_eq!(Recipe::builtin()[0].0, "quick");
    for (name, _) in Recipe::builtin() {
        let recipe = Recipe::load(name, &[])?;
        assert_eq!(recipe.name, *name);
        for words in [&recipe.purpose, &recipe.figure, &recipe.time] {
            assert!(!words.is_empty() && !words.contains('\n'), "{name}");
        }
        assert_eq!(Recipe::parse(&recipe.to_toml(), "again", &[])?, recipe);
    }
    Ok(())
}

#[test]
fn every_file_in_the_folder_is_a_builtin() -> Outcome {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes");
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        files.extend(name.strip_suffix(".toml").map(str::to_string));
    }
    let builtin = Recipe::builtin().iter().map(|(name, _)| name.to_string());
    assert_eq!(files, builtin.collect());
    Ok(())
}

#[test]
fn the_reference_systems_are_as_specified() -> Outcome {
    let r0 = Recipe::load("state-22", &[])?;
    assert_eq!(r0.network.tuples.split_whitespace().count(), 22);
    assert_eq!(
        (r0.learner.rate.at(49_999), r0.learner.rate.at(50_000)),
        (0.1, 0.01)
    );
    assert_eq!(
        (r0.learner.update, r0.learner.ties),
        (Update::Forward, Ties::Random)
    );
    let r1 = Recipe::load("state-6", &[])?;
    assert_eq!(r1.learner.target, Target::RewardTwice);
    // Each of its kin differs from R1 in one thing only.
    let same_but = |name: &str, change: &str| -> Result<(), RecipeError> {
        let kin = Recipe::load(name, &[])?;
        let changed = Recipe::load("state-6", &[change.to_string()])?;
        assert_eq!(
            (kin.learner, kin.network, kin.episodes),
            (changed.learner, changed.network, changed.episodes)
        );
        Ok(())
    };
    same_but("state-6-textbook", "target=textbook")?;
    same_but("state-6x6", "tuples=6x6")?;
    same_but("state-500k", "episodes=500_000")?;
    let r4 = Recipe::load("dqn-r4", &[])?;
    let (network, replay, deep) = (r4.network, r4.replay, r4.deep);
    assert_eq!(network.convolutions, ["2x1", "1x2", "2x1", "1x2"]);
    assert_eq!((network.filters, network.outputs), (256, 4));
    assert_eq!(network.hidden, [16]);
    assert_eq!((replay.games, replay.batches, replay.batch), (32, 5, 32));
    assert_eq!((replay.memory, replay.steps), (5000, 1));
    assert_eq!(r4.learner.rate.at(0), 1e-4);
    // Its 128 are of its own points, which are half of the usual.
    let expected = DeepRecipe {
        discount: 0.999,
        reward_scale: 256.0,
        ..DeepRecipe::default()
    };
    assert_eq!(deep, expected);
    assert_eq!((deep.follow, deep.follow_iterations), (Follow::Copy, 10));
    Ok(())
}

#[test]
fn what_is_left_out_has_a_default() -> Outcome {
    let recipe = set(&[])?;
    let expected = Recipe {
        name: "m".into(),
        ..Recipe::default()
    };
    assert_eq!(recipe, expected);
    assert_eq!(set(&["rule=tc"])?.learner.rate.at(0), 1.0);
    assert_eq!(set(&["rule=tc", "rate=0.1"])?.learner.rate.at(0), 0.1);
    for key in REQUIRED {
        let line = key.rsplit('.').next().unwrap_or(key);
        let without: Vec<&str> = MINIMAL.lines().filter(|l| !l.starts_with(line)).collect();
        let message = refusal(&without.join("\n"));
        let part = format!("`{key}` is missing in my.toml: expected a line such as `{line} = \"");
        assert!(message.contains(&part), "{message}");
    }
    Ok(())
}

#[test]
fn overrides_are_toml_or_else_text() -> Outcome {
    let recipe = set(&[
        "learner.rate=[{ from = 0, rate = 0.1 }, { from = 9, rate = 0.01 }]",
        "lambda = 1",
        "tuples=8x4",
        "board=3x3",
        "game=2048",
        "symmetry=false",
        "purpose=\"in quotes\"",
        "figure=a = b",
        "seed=1",
        "seed=2",
    ])?;
    assert_eq!(recipe.learner.rate.as_steps().len(), 2);
    assert_eq!(recipe.learner.lambda, 1.0);
    assert_eq!((&*recipe.network.tuples, &*recipe.board), ("8x4", "3x3"));
    assert_eq!(recipe.game, "2048");
    assert!(!recipe.network.symmetry);
    assert_eq!((&*recipe.purpose, &*recipe.figure), ("in quotes", "a = b"));
    assert_eq!(recipe.seed, 2);
    for tuples in ["456789", "012345 456789", "\"012345 456789\"", "1e5"] {
        let recipe = set(&[&format!("tuples={tuples}")])?;
        assert_eq!(recipe.network.tuples, tuples.trim_matches('"'));
    }
    // A table that the file lacks is made, and a required key may come from an override.
    let text = "name = 'm'\ngame = '2048'\nboard = '4x4'";
    assert!(Recipe::parse(text, "my.toml", &["tuples=4x6".into()]).is_ok());
    Ok(())
}

#[test]
fn a_fault_is_told_by_key_found_and_expected() {
    let many = MINIMAL.replace("[network]", "episodes = 'many'\n[network]");
    let expected = "`episodes` in my.toml: expected a whole number, found the string \"many\"";
    assert_eq!(refusal(&many), expected);
    let lamda = Recipe::parse("[learner]\nlamda = 0.5", "quick.toml", &[]);
    assert_eq!(
        lamda.map_err(|error| error.to_string()),
        Err("unknown key `learner.lamda` in quick.toml: did you mean `learner.lambda`?".into())
    );
    for (text, part) in [
        (
            "lambda = 0.5",
            "unknown key `lambda` in my.toml: did you mean `learner.lambda`?",
        ),
        ("[network]\nrate = 1", "did you mean `learner.rate`?"),
        (
            "[lerner]\nrate = 1",
            "unknown key `lerner` in my.toml: did you mean `learner`?",
        ),
        (
            "learner = 5",
            "`learner` in my.toml: expected a table that begins with [learner], found 5",
        ),
        (
            "name = 'a'\nname = 'b'",
            "my.toml, line 2, column 1: duplicate key",
        ),
        ("a = 'é' b", "my.toml, line 1, column 9"),
        ("seed = 99999999999999999999", "my.toml, line 1, column 8"),
    ] {
        let message = refusal(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn an_override_is_judged_like_the_file_but_named() {
    assert_refused(
        r#"
episodes=many    -> `episodes` in the override `episodes=many`: expected a whole number, found the
episodes=-5      -> expected a whole number of 0 or more, found -5
episodes=1.5     -> expected a whole number, found 1.5
episodes=        -> found the string ""
scores=yes       -> expected true or false, found the string "yes"
initial=[1]      -> expected a number, found the list [1]
rule=sarsa       -> expected `td` or `tc`, found the string "sarsa"
target={ a = 1 } -> expected `textbook` or `reward-twice`, found the string "{ a = 1 }"
rate=fast        -> `learner.rate` in the override `rate=fast` is the string "fast": expected a number
rate=nan         -> is NaN: the rate of step 1 is NaN: expected a number above 0 and at most 10
rate=[{ from = 3, rate = 0.1 }] -> the first step begins at game 3: expected 0
lamda=0.5        -> unknown key `lamda` in the override `lamda=0.5`: did you mean `learner.lambda`?
learner={ lambda = 1 } -> unknown key `learner`
lambda           -> the override `lambda` does not read KEY=VALUE
=5               -> does not read KEY=VALUE
"#,
    );
    let choice = refusal(&format!("{MINIMAL}[learner]\nties = 5"));
    let expected = "`learner.ties` in my.toml: expected `order` or `random`, found 5";
    assert_eq!(choice, expected);
}

#[test]
fn values_have_ranges() {
    assert_refused(
        r#"
name=../up      -> `name` is "../up": expected 1 to 64 letters
name=           -> `name` is ""
board=9x9       -> `board` is "9x9": expected ROWSxCOLUMNS, each from 2 to 5
episodes=0      -> `episodes` is 0: expected a whole number from 1
block=0         -> `block` is 0: expected a whole number from 1 to 1000000
block=1000001   -> `block` is 1000001
threads=1025    -> `threads` is 1025: expected a whole number from 0 to 1024
checkpoint_seconds=0     -> `checkpoint_seconds` is 0.0: expected more than 0
checkpoint_seconds=nan   -> `checkpoint_seconds` is NaN
checkpoint_seconds=86401 -> at most 86400 seconds
initial=inf     -> `network.initial` is inf: expected a finite number
initial=1e300   -> `network.initial` is 1e300: expected a finite number
lambda=1.5      -> `learner.lambda` is 1.5: expected a number from 0 to 1
lambda=nan      -> `learner.lambda` is NaN
"#,
    );
    let fine = "checkpoint_seconds=0.05 lambda=1 board=2x5 block=1000000";
    for change in fine.split(' ') {
        assert!(set(&[change]).is_ok(), "{change}");
    }
    let huge = Recipe {
        seed: u64::MAX,
        ..Recipe::default()
    };
    assert!(matches!(
        huge.validate(),
        Err(RecipeError::BadValue { key: "seed", .. })
    ));
}

/// Words of deep networks and of learning from memory, each refused alone.
#[test]
fn what_learns_from_memory_has_ranges() {
    for (recipe, change, part) in [
        ("dqn", "replay.games=0", "`replay.games` is 0"),
        ("dqn", "replay.games=4097", "from 1 to 4096"),
        ("dqn", "memory=500001", "`replay.memory` is 500001"),
        ("dqn", "memory=30", "at most replay.memory, 30"),
        ("dqn", "steps=0", "`replay.steps` is 0"),
        ("dqn", "batches=0", "`replay.batches` is 0"),
        ("dqn", "batch=4097", "from 1 to 4096"),
        ("dqn", "epsilon=1.5", "a number from 0 to 1"),
        ("dqn", "epsilon=nan", "`replay.epsilon` is NaN"),
        ("dqn", "discount=0", "`deep.discount` is 0"),
        ("dqn", "discount=1.1", "`deep.discount` is 1.1"),
        ("dqn", "reward_scale=0", "`deep.reward_scale` is 0"),
        ("dqn", "weight_decay=2", "`deep.weight_decay` is 2"),
        ("dqn", "tau=0", "`deep.tau` is 0"),
        ("dqn", "dropout=1", "`deep.dropout` is 1"),
        (
            "dqn",
            "follow_iterations=0",
            "`deep.follow_iterations` is 0",
        ),
        ("dqn", "follow=copy", "`deep.plays` is \"follower\""),
        ("dqn-r4", "plays=follower", "`deep.follow` = \"soft\""),
        ("dqn", "outputs=5", "`network.outputs` is 5"),
        ("dqn", "filters=0", "`network.filters` is 0"),
        ("dqn", "filters=1025", "`network.filters` is 1025"),
        ("dqn", "hidden=[0]", "`network.hidden`"),
        ("dqn", "convolutions=[\"0x1\"]", "`network.convolutions`"),
        ("dqn", "board=2x2", "kernels of at most"),
        ("dqn", "tuples=4x6", "`network.tuples` is \"4x6\""),
        ("dqn", "hint=true", "`network.hint` is true"),
        ("dqn", "initial=5", "`network.initial` is 5"),
        ("dqn", "value=state", "`learner.value`"),
        ("dqn", "update=backward", "`learner.update`"),
        ("ntuple-replay", "value=afterstate", "`learner.value`"),
        ("ntuple-replay", "rule=tc", "`learner.rule`"),
        ("quick", "value=action", "`learner.value`"),
    ] {
        let message = match Recipe::load(recipe, &[change.to_owned()]) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(part), "{recipe}, {change}: {message}");
    }
    let both = ["deep.turn=true".to_owned(), "outputs=3".to_owned()];
    let refused = Recipe::load("dqn", &both).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|message| message.contains("down would become another slide")));
    for fine in ["deep.turn=true", "outputs=3", "memory=64", "discount=1"] {
        assert!(Recipe::load("dqn", &[fine.to_owned()]).is_ok(), "{fine}");
    }
}

#[test]
fn forward_goes_with_neither_lambda_nor_the_double_reward() {
    for (change, found) in [
        ("lambda=0.5", "`learner.lambda` is 0.5"),
        (
            "target=reward-twice",
            "`learner.target` is \"reward-twice\"",
        ),
    ] {
        assert!(set(&[change]).is_ok());
        let result = set(&["update=forward", change]);
        assert!(matches!(result, Err(RecipeError::Conflict { .. })));
        let message = result.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(message.starts_with(found), "{message}");
    }
    assert!(set(&["update=forward"]).is_ok());
}

#[test]
fn boards_are_rows_by_columns() {
    assert!(matches!(parse_board("2x5"), Ok((2, 5))));
    for board in [
        "", "4", "x", "4x", "x4", "4x4x4", "+4x4", "4X4", "1x4", "4x6", "44x4", "４x4",
    ] {
        assert!(parse_board(board).is_err(), "{board}");
    }
}

#[test]
fn names_and_files() -> Outcome {
    let unknown = Recipe::load("quik", &[]).map_err(|error| error.to_string());
    let message = unknown.map_or_else(|message| message, |_| String::new());
    assert!(message.starts_with("unknown recipe `quik`: did you mean `quick`?"));
    for (name, _) in Recipe::builtin() {
        assert!(message.contains(name), "{message}");
    }
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("my.toml"), MINIMAL)?;
    assert_eq!(Recipe::load(&path("my.toml"), &[])?.name, "m");
    std::fs::write(path("large.toml"), vec![b'#'; MAX_BYTES + 1])?;
    let large = Recipe::load(&path("large.toml"), &[]);
    assert!(matches!(large, Err(RecipeError::TooLarge { .. })));
    std::fs::write(path("model.toml"), [b'#', 0xff, 0x00])?;
    let model = Recipe::load(&path("model.toml"), &[]);
    assert!(matches!(model, Err(RecipeError::NotText { offset: 1, .. })));
    for missing in [path("none.toml"), path(""), "none.toml".into()] {
        let result = Recipe::load(&missing, &[]);
        assert!(matches!(result, Err(RecipeError::Unreadable { .. })));
    }
    Ok(())
}
