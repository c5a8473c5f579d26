//! Valid recipes, and the errors of invalid ones.

mod kinds;
mod stored;

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
        for words in [&recipe.purpose, &recipe.result, &recipe.time] {
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

/// A recipe of a report as published and its twin, which follows the formula, differ in the keys
/// that docs/reports.md lists, and in no others.
#[test]
fn variants_of_a_report_differ_in_the_named_keys_only() -> Outcome {
    let variants: &[(&str, &str, &[&str])] = &[
        ("state-22-textbook", "state-22", &["end=zero"]),
        ("state-6-textbook", "state-6", &["target=textbook"]),
        ("state-6x6", "state-6", &["tuples=6x6"]),
        (
            "state-500k",
            "state-6",
            &[
                "episodes=500_000",
                "subtract=stored-value",
                "learning_rate=[{ from = 0, learning_rate = 0.1 }, \
                 { from = 50000, learning_rate = 0.05 }, { from = 80000, learning_rate = 0.02 }, \
                 { from = 200000, learning_rate = 0.01 }]",
            ],
        ),
        (
            "state-500k-textbook",
            "state-500k",
            &["subtract=value", "target=textbook"],
        ),
        (
            "dqn-report-textbook",
            "dqn-report",
            &[
                "mask_targets=true",
                "stored_action=made",
                "stored_reward=made",
            ],
        ),
        ("threes-4x6-textbook", "threes-4x6", &["spawn_rewards=true"]),
        ("threes-8x4-textbook", "threes-8x4", &["spawn_rewards=true"]),
        (
            "ntuple-replay",
            "ntuple-replay-report",
            &[
                "td_error=network",
                "mask_terminal=true",
                "spawn_value=expectation",
            ],
        ),
    ];
    for (name, original, changes) in variants {
        let variant = Recipe::load(name, &[])?;
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let changed = Recipe::load(original, &changes)?;
        let bare = |recipe: Recipe| Recipe {
            name: String::new(),
            purpose: String::new(),
            result: String::new(),
            time: String::new(),
            changed: Vec::new(),
            ..recipe
        };
        assert_eq!(bare(variant), bare(changed), "{name}");
    }
    Ok(())
}

#[test]
fn the_reference_systems_are_as_specified() -> Outcome {
    let report = Recipe::load("state-22", &[])?;
    assert_eq!(report.network.tuples().split_whitespace().count(), 22);
    let rate = report.learner.learning_rate();
    assert_eq!((rate.at(99_999), rate.at(100_000)), (0.1, 0.01));
    let td = report.learner.td().ok_or("a TD learner")?;
    assert_eq!(td.ties, Ties::Order);
    let end = td.backward().map(|backward| backward.end);
    assert_eq!(end, Some(EndOfGame::Negated));
    let second = Recipe::load("state-500k", &[])?;
    let subtract = second.learner.td().and_then(TdRecipe::backward);
    assert_eq!(subtract.map(|b| b.subtract), Some(Subtract::StoredValue));
    let lab = Recipe::load("state-6", &[])?;
    let backward = lab.learner.td().and_then(TdRecipe::backward);
    assert_eq!(backward.map(|b| b.target), Some(Target::RewardTwice));
    let tuples = Recipe::load("ntuple-replay-report", &[])?;
    // Those of the notebook of the "2048 experiment report", in which moves are never random.
    assert_eq!(tuples.network.tuples(), "012348 012346 012467 012456");
    let replay = tuples.learner.expect_buffer()?;
    assert_eq!((replay.num_envs, replay.updates_per_step), (32, 5));
    assert_eq!((replay.buffer_size, replay.batch_size), (5000, 32));
    assert_eq!(
        (replay.learning_starts, replay.max_iterations),
        (0, 500_000)
    );
    assert_eq!((replay.epsilon, replay.log_iterations), (0.0, 100));
    let dqn = Recipe::load("dqn-report", &[])?;
    let megengine = DeepRecipe {
        initial_weights: InitialWeights::Lecun,
        ..DeepRecipe::default()
    };
    assert_eq!(dqn.network, NetworkRecipe::Deep(megengine));
    let network = dqn.network.expect_deep()?;
    assert_eq!(network.convolutions, ["2x1", "1x2", "2x1", "1x2"]);
    assert_eq!((network.filters, network.outputs), (256, 4));
    assert_eq!(network.hidden, [16]);
    // Its 128 are of its own points, which are half of the usual; its 50,000 are updates.
    let expected = DqnRecipe {
        discount: 0.999,
        reward_scale: 256.0,
        buffer: BufferRecipe {
            max_iterations: 10_000,
            ..BufferRecipe::default()
        },
        value: DqnValue::Action(ActionRecipe {
            mask_targets: false,
            stored_action: StoredAction::Chosen,
            stored_reward: StoredReward::Chosen,
            ..ActionRecipe::default()
        }),
        ..DqnRecipe::default()
    };
    assert_eq!(dqn.learner, LearnerRecipe::Dqn(expected));
    let buffer = dqn.learner.expect_buffer()?;
    assert_eq!((buffer.num_envs, buffer.updates_per_step), (32, 5));
    assert_eq!((buffer.buffer_size, buffer.batch_size), (5000, 32));
    assert_eq!(dqn.learner.learning_rate().at(0), 1e-4);
    Ok(())
}

/// A run's file has the keys of its kinds and no others.
#[test]
fn written_recipes_have_no_key_without_effect() -> Outcome {
    let quick = Recipe::load("quick", &[])?.to_toml();
    for key in ["epsilon", "num_envs", "filters", "double", "replay", "deep"] {
        assert!(!quick.contains(key), "{key} in {quick}");
    }
    for key in [
        "kind = \"n-tuple\"",
        "kind = \"td\"",
        "lambda = 0.5",
        "discount = 1.0",
    ] {
        assert!(quick.contains(key), "no {key} in {quick}");
    }
    let forward = Recipe::load("threes-4x6", &[])?.to_toml();
    assert!(!forward.contains("lambda") && !forward.contains("target"));
    let afterstates = Recipe::load("deep-best", &[])?.to_toml();
    for key in [
        "mask_targets",
        "illegal",
        "weight_decay",
        "target_update_iterations",
        "tuples",
    ] {
        assert!(!afterstates.contains(key), "{key} in {afterstates}");
    }
    assert!(afterstates.contains("outputs = 1"), "{afterstates}");
    Ok(())
}

#[test]
fn omitted_keys_have_defaults() -> Outcome {
    let recipe = set(&[])?;
    let expected = Recipe {
        name: "m".into(),
        ..Recipe::default()
    };
    assert_eq!(recipe, expected);
    let rate = |changes: &[&str]| set(changes).map(|r| r.learner.learning_rate().at(0));
    assert_eq!(rate(&["rule=tc"])?, 1.0);
    assert_eq!(rate(&["rule=tc", "learning_rate=0.1"])?, 0.1);
    for key in read::REQUIRED {
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
        "learner.learning_rate=[{ from = 0, learning_rate = 0.1 }, { from = 9e0, learning_rate = 0.01 }]",
        "lambda = 1",
        "tuples=8x4",
        "board=3x3",
        "game=2048",
        "symmetry=false",
        "purpose=\"in quotes\"",
        "result=a = b",
        "seed=1",
        "seed=2",
    ])?;
    assert_eq!(recipe.learner.learning_rate().as_steps().len(), 2);
    assert_eq!(recipe.learner.lambda(), 1.0);
    assert_eq!((recipe.network.tuples(), &*recipe.board), ("8x4", "3x3"));
    assert_eq!(recipe.game, "2048");
    assert!(!recipe.network.expect_n_tuple()?.symmetry);
    assert_eq!((&*recipe.purpose, &*recipe.result), ("in quotes", "a = b"));
    assert_eq!(recipe.seed, 2);
    for tuples in ["456789", "012345 456789", "\"012345 456789\"", "1e5"] {
        let recipe = set(&[&format!("tuples={tuples}")])?;
        assert_eq!(recipe.network.tuples(), tuples.trim_matches('"'));
    }
    // A table that the file lacks is made, and a required key may come from an override.
    let text = "name = 'm'\ngame = '2048'\nboard = '4x4'";
    assert!(Recipe::parse(text, "my.toml", &["tuples=4x6".into()]).is_ok());
    Ok(())
}

#[test]
fn errors_name_key_found_and_expected() {
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
        (
            "[network]\nrate = 1",
            "`network.rate` in my.toml is called `learner.learning_rate` here",
        ),
        (
            "[lerner]\nlearning_rate = 1",
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
fn an_override_is_checked_like_the_file_and_named() {
    assert_refused(
        r#"
episodes=many    -> `episodes` in the override `episodes=many`: expected a whole number, found the
episodes=-5      -> expected a whole number of 0 or more, found -5
episodes=1.5     -> expected a whole number, found 1.5
episodes=        -> found the string ""
scores=yes       -> expected true or false, found the string "yes"
initial_value=[1] -> expected a number, found the list [1]
rule=sarsa       -> expected `td` or `tc`, found the string "sarsa"
target={ a = 1 } -> expected `textbook` or `reward-twice`, found the string "{ a = 1 }"
value=action     -> expected `afterstate` or `state`, found the string "action"
update=sideways  -> `learner.update` in the override `update=sideways`: expected one of `forward`, `backward`, `delayed`, found
learner.kind=q   -> expected one of `td`, `replay`, `dqn`, found the string "q"
learning_rate=fast -> `learner.learning_rate` in the override `learning_rate=fast` is the string "fast": expected a number
learning_rate=nan -> is NaN: the learning rate of step 1 is NaN: expected a number above 0 and at most 10
learning_rate=[{ from = 3, learning_rate = 0.1 }] -> the first step begins at game 3: expected 0
lamda=0.5        -> unknown key `lamda` in the override `lamda=0.5`: did you mean `learner.lambda`?
learner={ lambda = 1 } -> `learner` in the override `learner={ lambda = 1 }` is a table
kind=deep        -> is ambiguous: write network.kind or learner.kind
changed=[]       -> the program writes it
lambda           -> the override `lambda` is not KEY=VALUE
=5               -> is not KEY=VALUE
"#,
    );
    let choice = refusal(&format!("{MINIMAL}[learner]\nties = 5"));
    let expected = "`learner.ties` in my.toml: expected `order` or `random`, found 5";
    assert_eq!(choice, expected);
}

/// What a message ends with says what to do, so it is not cut off.
#[test]
fn refusals_are_whole_and_quote_values_as_recipes_do() {
    assert_refused(
        r#"
learning_rate=1e5 -> expected a number above 0 and at most 10
learning_rate=[0.1, 0.01] -> or steps such as [{ from = 0, learning_rate = 0.1 }
end=negated      -> `learner.end` is "negated": expected "zero", or
subtract=stored-value -> `learner.subtract` is "stored-value": expected "value", or
momentum=0.9     -> ; a network of kind "n-tuple" has hint, initial_value, kind,
momentum=0.9     -> ; a learner of kind "td" has carousel, discount, end,
lambd=0.5        -> `lambd` in the override `lambd=0.5` is called `learner.lambda` here
"#,
    );
    let both =
        |changes: &[&str]| set(changes).map_or_else(|error| error.to_string(), |_| String::new());
    let expected = "`learner.n_step` is 3, which needs `learner.lambda` to be 0, not 0.5: change one of the two";
    assert_eq!(both(&["n_step=3", "lambda=0.5"]), expected);
    let expected = "which needs `learner.end` to be \"zero\", not \"negated\": change one";
    assert!(both(&["n_step=3", "lambda=0", "end=negated"]).contains(expected));
    // Only what the recipe's own kind does not have is said to belong to another.
    assert!(!both(&["lambd=0.5"]).contains("only learners"));
    assert!(
        both(&["polyak=0.5"]).contains("`learner.tau` here, and only learners of kind \"dqn\"")
    );
}

#[test]
fn values_have_ranges() {
    assert_refused(
        r#"
name=../up      -> `name` is "../up": expected 1 to 64 letters
name=           -> `name` is ""
board=9x9       -> `board` is "9x9": expected ROWSxCOLUMNS, each from 2 to 5
episodes=0      -> `episodes` is 0: expected a whole number from 1
block_games=0   -> `block_games` is 0: expected a whole number from 1 to 1000000
block_games=1000001 -> `block_games` is 1000001
threads=1025    -> `threads` is 1025: expected a whole number from 0 to 1024
checkpoint_seconds=0     -> `checkpoint_seconds` is 0.0: expected more than 0
checkpoint_seconds=nan   -> `checkpoint_seconds` is NaN
checkpoint_seconds=86401 -> at most 86400 seconds
initial_value=inf   -> `network.initial_value` is inf: expected a finite number
initial_value=1e300 -> `network.initial_value` is 1e300: expected a finite number
discount=1.5    -> `learner.discount` is 1.5: expected a number from 0 to 1
discount=nan    -> `learner.discount` is NaN
lambda=1.5      -> `learner.lambda` is 1.5: expected a number from 0 to 1
lambda=nan      -> `learner.lambda` is NaN
"#,
    );
    let fine =
        "checkpoint_seconds=0.05 lambda=1 board=2x5 block_games=1e6 discount=0 tensorboard=true";
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

/// Values of deep networks and replay buffers, each refused alone.
#[test]
fn learners_with_a_buffer_have_ranges() {
    for (recipe, change, part) in [
        ("dqn", "num_envs=0", "`learner.num_envs` is 0"),
        ("dqn", "num_envs=4097", "from 1 to 4096"),
        (
            "dqn",
            "buffer_size=10000001",
            "`learner.buffer_size` is 10000001",
        ),
        ("dqn", "buffer_size=30", "at most learner.buffer_size, 30"),
        ("dqn", "n_step=0", "`learner.n_step` is 0"),
        (
            "dqn",
            "updates_per_step=0",
            "`learner.updates_per_step` is 0",
        ),
        ("dqn", "batch_size=4097", "from 1 to 4096"),
        ("dqn", "epsilon=1.5", "a number from 0 to 1"),
        ("dqn", "epsilon=nan", "`learner.epsilon` is NaN"),
        (
            "dqn",
            "epsilon_iterations=5",
            "needs `learner.epsilon` to be above 0",
        ),
        ("dqn", "discount=1.1", "`learner.discount` is 1.1"),
        ("dqn", "reward_scale=0", "`learner.reward_scale` is 0"),
        ("dqn", "tau=0", "`learner.tau` is 0"),
        ("dqn", "dropout_hidden=1", "`network.dropout_hidden` is 1"),
        (
            "dqn",
            "dropout_hidden=[0.1]",
            "`network.dropout_hidden` is [0.1]: expected a number, or a list of 2",
        ),
        (
            "dqn",
            "dropout_hidden=[0, 1]",
            "`network.dropout_hidden` is 1",
        ),
        (
            "dqn",
            "dropout_hidden=much",
            "expected a number, or a list with a number for each hidden layer",
        ),
        (
            "dqn",
            "stored_reward=chosen",
            "or `learner.rewards` = \"learned\"",
        ),
        (
            "dqn",
            "dropout_convolutions=-0.1",
            "`network.dropout_convolutions` is -0.1",
        ),
        (
            "dqn-report",
            "learning_starts=5001",
            "`learner.learning_starts` is 5001: expected at most learner.buffer_size, 5000",
        ),
        (
            "dqn",
            "illegal=output",
            "with four outputs it would be the same as \"number\"",
        ),
        (
            "deep-best",
            "stored_action=chosen",
            "it needs `learner.value` = \"action\"",
        ),
        (
            "ntuple-replay",
            "stored_action=chosen",
            "only learners of kind \"dqn\" have it",
        ),
        (
            "dqn-report",
            "target_update_iterations=0",
            "`learner.target_update_iterations` is 0",
        ),
        ("dqn", "outputs=5", "`network.outputs` is 5"),
        ("deep-best", "outputs=4", "`network.outputs` is 4"),
        ("dqn", "filters=0", "`network.filters` is 0"),
        ("dqn", "filters=1025", "`network.filters` is 1025"),
        ("dqn", "hidden=[0]", "`network.hidden`"),
        ("dqn", "convolutions=[\"0x1\"]", "`network.convolutions`"),
        ("dqn", "board=2x2", "expected at most 1x1"),
        ("dqn", "value=state", "expected `action` or `afterstate`"),
    ] {
        let message = match Recipe::load(recipe, &[change.to_owned()]) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(part), "{recipe}, {change}: {message}");
    }
    let both = ["augment=true".to_owned(), "outputs=3".to_owned()];
    let refused = Recipe::load("dqn", &both).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|message| message.contains("down would become another slide")));
    for fine in [
        "augment=true",
        "outputs=3",
        "buffer_size=64",
        "discount=1",
        "value=afterstate",
        "dropout_hidden=[0, 0.5]",
    ] {
        let loaded = Recipe::load("dqn", &[fine.to_owned()]);
        assert_eq!(loaded.err().map(|error| error.to_string()), None, "{fine}");
    }
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
fn former_names_of_recipes_lead_to_the_present_ones() {
    for (former, present) in RENAMED {
        let message = Recipe::load(former, &[]).unwrap_err().to_string();
        let expected = format!("the recipe `{former}` is now called `{present}`");
        assert_eq!(message, expected);
        assert_eq!(Recipe::load(present, &[]).unwrap().name, *present);
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
    let none = Recipe::load("nosuch", &[]).map_err(|error| error.to_string());
    let message = none.map_or_else(|message| message, |_| String::new());
    assert!(message.starts_with("unknown recipe `nosuch`. The recipes are quick, "));
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("my.toml"), MINIMAL)?;
    assert_eq!(Recipe::load(&path("my.toml"), &[])?.name, "m");
    let marked = format!("\u{FEFF}{}", MINIMAL.replace('\n', "\r\n"));
    std::fs::write(path("marked.toml"), marked)?;
    assert_eq!(Recipe::load(&path("marked.toml"), &[])?.name, "m");
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
