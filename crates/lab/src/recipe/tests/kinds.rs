//! Keys of other kinds, other names for keys, and what overrides changed.

use super::*;

pub(super) fn load(recipe: &str, changes: &[&str]) -> Result<Recipe, RecipeError> {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Recipe::load(recipe, &changes)
}

fn message(recipe: &str, changes: &[&str]) -> String {
    match load(recipe, changes) {
        Ok(recipe) => format!("accepted: {}", recipe.to_toml()),
        Err(error) => error.to_string(),
    }
}

/// Updates as published are for TD(0) of state values, and a key that would do nothing is refused.
#[test]
fn updates_as_published_need_what_they_are_for() -> Outcome {
    let states = load(
        "state-6",
        &["target=textbook", "end=negated", "subtract=stored-total"],
    )?;
    let backward = states
        .learner
        .td()
        .and_then(TdRecipe::backward)
        .ok_or("backward")?;
    assert_eq!(backward.end, EndOfGame::Negated);
    assert_eq!(backward.subtract, Subtract::StoredTotal);
    for (recipe, changes, part) in [
        ("td-4x6", vec!["end=negated"], "`learner.value` = \"state\""),
        (
            "td-4x6",
            vec!["subtract=stored-value"],
            "`learner.value` = \"state\"",
        ),
        (
            "state-6",
            vec!["end=negated", "rule=tc"],
            "`learner.rule` = \"td\"",
        ),
        (
            "state-6",
            vec!["end=negated", "lambda=0.5"],
            "`learner.lambda` = 0",
        ),
        ("state-6", vec!["end=never"], "negated"),
        (
            "state-6",
            vec!["update=forward", "end=negated"],
            "does not apply",
        ),
        (
            "td-4x6",
            vec!["td_error=tuple"],
            "learners of kind \"replay\"",
        ),
        (
            "dqn",
            vec!["spawn_rewards=false"],
            "learners of kind \"td\"",
        ),
    ] {
        let message = message(recipe, &changes);
        assert!(message.contains(part), "{changes:?}: {message}");
    }
    Ok(())
}

#[test]
fn a_key_of_another_kind_is_refused_with_the_reason() {
    for (recipe, change, part) in [
        (
            "td-4x6",
            "epsilon=0.5",
            "`learner.epsilon` in the override `epsilon=0.5` does not apply: only learners of kind \
             \"replay\" and \"dqn\" have it, and the learner of this recipe is of kind \"td\"",
        ),
        ("td-4x6", "double=true", "learners of kind \"dqn\""),
        ("td-4x6", "filters=8", "networks of kind \"deep\""),
        ("dqn", "tuples=4x6", "networks of kind \"n-tuple\""),
        ("dqn", "hint=true", "networks of kind \"n-tuple\""),
        ("dqn", "initial_value=5", "networks of kind \"n-tuple\""),
        ("dqn", "lambda=0.5", "learners of kind \"td\""),
        ("dqn", "update=backward", "learners of kind \"td\""),
        (
            "dqn",
            "ties=random",
            "learners of kind \"td\" and \"replay\"",
        ),
        (
            "ntuple-replay",
            "value=afterstate",
            "learners of kind \"td\" and \"dqn\"",
        ),
        ("ntuple-replay", "rule=tc", "learners of kind \"td\""),
        (
            "threes-4x6",
            "lambda=0.5",
            "it needs `learner.update` = \"backward\" or \"delayed\", which is \"forward\" in this recipe",
        ),
        (
            "dqn",
            "weight_decay=0.1",
            "it needs `learner.optimiser` = \"adamw\"",
        ),
        (
            "dqn",
            "target_update_iterations=5",
            "it needs `learner.target_update` = \"copy\", which is \"soft\"",
        ),
        (
            "dqn-report",
            "tau=0.1",
            "it needs `learner.target_update` = \"soft\"",
        ),
        (
            "dqn-report",
            "acting_network=target",
            "`learner.target_update` = \"soft\"",
        ),
        (
            "deep-best",
            "mask_targets=true",
            "it needs `learner.value` = \"action\"",
        ),
    ] {
        let message = message(recipe, &[change]);
        assert!(message.contains(part), "{recipe}, {change}: {message}");
    }
    let file = format!("{MINIMAL}[learner]\nepsilon = 0.5\n");
    let message = refusal(&file);
    assert!(
        message.contains("`learner.epsilon` in my.toml does not apply"),
        "{message}"
    );
}

#[test]
fn another_kind_needs_another_recipe() {
    let message = message("quick", &["network.kind=deep"]);
    let expected = "`network.kind` is set to \"deep\", but quick.toml has keys of another kind: network.hint, ";
    assert!(message.starts_with(expected), "{message}");
    let text = "name = 'm'\ngame = '2048'\nboard = '4x4'\n[network]\nkind = 'deep'\n[learner]\nkind = 'td'\n";
    let message = refusal(text);
    assert!(message.contains("`learner.kind` is \"td\", which needs `network.kind` to be n-tuple"));
    // Without keys of its own, a kind can be chosen by an override.
    let bare = "name = 'm'\ngame = '2048'\nboard = '4x4'\n";
    let deep = Recipe::parse(bare, "my.toml", &["network.kind=deep".into()]);
    assert!(deep.is_ok_and(|recipe| recipe.learner.dqn().is_some()));
}

/// Another choice inside a kind removes the keys of the old one, and says so.
#[test]
fn keys_of_the_other_choice_are_dropped_and_reported() -> Outcome {
    let forward = load("quick", &["update=forward"])?;
    assert_eq!(
        forward.changed,
        ["learner.update=forward", "learner.lambda=none"]
    );
    assert_eq!(forward.title(), "quick (update=forward, lambda=none)");
    let copy = load("dqn", &["target_update=copy"])?;
    let expected = ["learner.target_update=copy", "learner.acting_network=none"];
    assert_eq!(copy.changed, expected);
    Ok(())
}

#[test]
fn names_of_others_are_refused_with_the_key() {
    for (names, key) in [
        (
            "alpha lr rate learner.rate Alpha eta",
            "learner.learning_rate",
        ),
        ("gamma discount_factor", "learner.discount"),
        ("eps exploration", "learner.epsilon"),
        ("batch replay.batch minibatch", "learner.batch_size"),
        (
            "memory replay.memory buffer capacity",
            "learner.buffer_size",
        ),
        ("n_steps steps replay.steps", "learner.n_step"),
        ("replay.games n_envs", "learner.num_envs"),
        ("games n_episodes", "episodes"),
        ("seeds", "seed"),
        ("block", "block_games"),
        ("figure", "result"),
        ("initial network.initial", "network.initial_value"),
        ("updates replay.updates", "learner.max_updates"),
        ("follow deep.follow", "learner.target_update"),
        ("plays", "learner.acting_network"),
        ("turn deep.turn", "learner.augment"),
        ("mask", "learner.mask_targets"),
        ("deep.discount", "learner.discount"),
        (
            "dropout deep.dropout network.dropout",
            "network.dropout_hidden",
        ),
        (
            "dropout_place network.dropout_place",
            "network.dropout_convolutions",
        ),
        ("epochs iterations", "learner.max_iterations"),
        ("warmup", "learner.learning_starts"),
        ("optimizer", "learner.optimiser"),
        ("polyak", "learner.tau"),
    ] {
        for name in names.split(' ') {
            let message = message("td-4x6", &[&format!("{name}=1")]);
            let expected = format!("`{name}` in the override `{name}=1` is called `{key}` here");
            assert!(message.starts_with(&expected), "{message}");
        }
    }
    let eps = message("td-4x6", &["eps=0.1"]);
    assert!(
        eps.ends_with("and only learners of kind \"replay\" and \"dqn\" have it"),
        "{eps}"
    );
    for (text, part) in [
        (
            "figure = 'x'",
            "`figure` in my.toml is called `result` here",
        ),
        (
            "[replay]\ngames = 5",
            "`replay.games` in my.toml is called `learner.num_envs` here",
        ),
        (
            "[deep]\nturn = true",
            "`deep.turn` in my.toml is called `learner.augment` here",
        ),
        (
            "[network]\nkind = 'tuples'",
            "is the string \"tuples\", which is now \"n-tuple\"",
        ),
        (
            "[learner]\nupdate = 'replay'",
            "which is now `learner.kind` = \"replay\", or \"dqn\"",
        ),
        (
            "[learner]\nwibble = 1",
            "unknown key `learner.wibble` in my.toml: a learner of kind \"td\" has carousel, discount, end, ",
        ),
        (
            "wibble = 1",
            "unknown key `wibble` in my.toml: a recipe has the keys block_games, board, changed",
        ),
    ] {
        let message = refusal(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn whole_numbers_may_be_written_as_floats() -> Outcome {
    let recipe = set(&[
        "episodes=1e5",
        "seed=10_000",
        "threads=2.0",
        "block_games=1_0e1",
    ])?;
    assert_eq!((recipe.episodes, recipe.seed), (100_000, 10_000));
    assert_eq!((recipe.threads, recipe.block_games), (2, 100));
    let text = MINIMAL.replace("[network]", "episodes = 1e5\n[network]");
    assert_eq!(Recipe::parse(&text, "my.toml", &[])?.episodes, 100_000);
    let wide = load("dqn", &["hidden=[1e2, 16]"])?;
    assert_eq!(wide.network.expect_deep()?.hidden, [100, 16]);
    for change in [
        "episodes=1.5",
        "episodes=1e300",
        "episodes=nan",
        "episodes=inf",
        "episodes=-1e3",
    ] {
        assert!(set(&[change]).is_err(), "{change}");
    }
    Ok(())
}

#[test]
fn overrides_are_recorded_and_remove_the_claims() -> Outcome {
    let original = load("td-4x6", &[])?;
    assert!(original.changed.is_empty());
    assert_eq!(original.title(), "td-4x6");
    let changed = load("td-4x6", &["learning_rate=0.5", "episodes=1e3"])?;
    let expected = ["learner.learning_rate=0.5", "episodes=1000"];
    assert_eq!(changed.changed, expected);
    assert_eq!(changed.title(), "td-4x6 (learning_rate=0.5, episodes=1000)");
    assert_eq!(
        (&*changed.purpose, &*changed.result, &*changed.time),
        ("", "", "")
    );
    let again = Recipe::parse(&changed.to_toml(), "again", &[])?;
    assert_eq!(again, changed);
    // A title fits into a line, whatever the file has.
    let hostile = Recipe {
        changed: vec!["a\u{1b}[2J=\n".to_owned() + &"b".repeat(500)],
        ..again
    };
    assert!(hostile.title().len() < 100 && !hostile.title().contains(char::is_control));
    // A key that is set again is listed once.
    let more = [
        "learner.learning_rate=0.25".to_owned(),
        "purpose=mine".to_owned(),
    ];
    let more = Recipe::parse(&changed.to_toml(), "again", &more)?;
    assert_eq!(
        more.changed,
        ["episodes=1000", "learner.learning_rate=0.25"]
    );
    assert_eq!((&*more.purpose, &*more.result), ("mine", ""));
    // The value that is there already, and what no result depends on, are no changes.
    for same in [
        "learning_rate=0.1",
        "threads=1",
        "seed=7",
        "checkpoint_seconds=9",
        "scores=true",
        "block_games=5",
    ] {
        let recipe = load("td-4x6", &[same])?;
        assert_eq!(recipe.changed, [""; 0], "{same}");
        assert_eq!(recipe.result, original.result, "{same}");
    }
    let many = [
        "game=threes",
        "lambda=0.5",
        "rule=tc",
        "value=afterstate",
        "discount=0.9",
        "ties=random",
    ];
    assert_eq!(
        load("td-4x6", &many)?.title(),
        "td-4x6 (game=threes, lambda=0.5, rule=tc, discount=0.9, 1 more)"
    );
    Ok(())
}

/// The documents list the keys that may change when a run is resumed.
#[test]
fn keys_that_may_change_are_documented() {
    let documents = [
        include_str!("../../../../../docs/recipes.md"),
        include_str!("../../../../cli/src/args.rs"),
    ];
    for text in documents {
        let (_, list) = text.split_once("With `--resume`, only").unwrap_or_else(|| {
            let begin = text.find("With --resume only the keys").expect("a list");
            ("", &text[begin..])
        });
        let list = list.split("from the game").next().unwrap_or(list);
        let list = list.split("pub set").next().unwrap_or(list);
        for key in crate::recipe::changes::ON_RESUME {
            let name = key.rsplit('.').next().unwrap_or(key);
            assert!(list.contains(&format!("`{name}`")), "{name} in {list}");
        }
    }
}

#[test]
fn a_started_run_accepts_few_changes() -> Outcome {
    let text = load("ntuple-replay", &[])?.to_toml();
    let resume = |change: &str| Recipe::parse_stored(&text, "recipe.toml", &[change.to_owned()]);
    let begun = load("ntuple-replay", &[])?;
    for fine in [
        "episodes=50_000",
        "threads=2",
        "max_updates=9",
        "max_iterations=9",
        "log_iterations=3",
        "checkpoint_seconds=5",
    ] {
        let longer = resume(fine)?.content;
        assert_eq!(longer.continues(&begun, 10), Ok(()), "{fine}");
    }
    assert_eq!(
        resume("episodes=50_000")?.content.changed,
        ["episodes=50000"]
    );
    for wrong in ["discount=0.5", "seed=2", "name=other", "scores=true"] {
        let refused = resume(wrong).map_err(|error| error.to_string());
        let message = refused.err().unwrap_or_default();
        assert!(
            message.contains("cannot change when a run is resumed"),
            "{message}"
        );
    }
    let other = load("ntuple-replay", &["learning_rate=0.2"])?;
    let difference = other.continues(&begun, 10).err().ok_or("a difference")?;
    assert_eq!(difference.key, "learner.learning_rate");
    assert!(other.same_training(&begun).is_err());
    // Another rate from the tenth game on; the games before keep theirs.
    let mut changed = other;
    changed.keep_before(10, &begun)?;
    assert_eq!(changed.continues(&begun, 10), Ok(()));
    assert!(changed.continues(&begun, 11).is_err());
    let rates = changed.learner.learning_rate();
    assert_eq!(
        [rates.at(9), rates.at(10), rates.at(50_000)],
        [0.1, 0.2, 0.2]
    );
    let steps = "{ from = 0, learning_rate = 0.1 }, { from = 10, learning_rate = 0.2 }";
    let shown = format!("learner.learning_rate=[{steps}]");
    assert_eq!(changed.changed, [shown]);
    Ok(())
}

/// Games to come may be played again; those of the past stay as they were.
#[test]
fn restarts_may_begin_when_a_run_is_resumed() -> Outcome {
    let begun = load("quick", &[])?;
    let text = begun.to_toml();
    let resume = |change: &str| Recipe::parse_stored(&text, "recipe.toml", &[change.to_owned()]);
    let mut changed = resume("restart_length=10")?.content;
    changed.keep_before(50, &begun)?;
    assert_eq!(
        changed.changed,
        ["learner.restart_length=10", "learner.restart_from=50"]
    );
    assert_eq!(changed.continues(&begun, 50), Ok(()));
    assert!(changed.continues(&begun, 51).is_err());
    // From now on the length is a fact, until and unless no game was played with it.
    for (keys, wrong) in [
        (
            &["restart_length=20", "restart_from=50"][..],
            "learner.restart_length",
        ),
        (
            &["restart_length=10", "restart_from=40"],
            "learner.restart_from",
        ),
        (
            &["restart_length=10", "restart_from=60"],
            "learner.restart_from",
        ),
        (&[], "learner.restart_length"),
    ] {
        let other = load("quick", keys)?;
        let difference = other.continues(&changed, 55).err().ok_or("a difference")?;
        assert_eq!(difference.key, wrong, "{keys:?}");
        assert_eq!(other.continues(&changed, 40), Ok(()), "{keys:?}");
    }
    Ok(())
}
