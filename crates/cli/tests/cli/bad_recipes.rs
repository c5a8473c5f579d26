//! Recipes, overrides, options and boards that cannot be: each refused before anything is made.

use std::fs;
use std::time::{Duration, Instant};

use crate::bad_models::many_long_tuples;
use crate::common::{Lab, SMALL};

const RECIPE: &str = "name = \"mine\"\ngame = \"2048\"\nboard = \"3x3\"\nepisodes = 30\n[network]\ntuples = \"012\"\n";

/// The recipe with a line more at its top is refused.
fn refused_with_line(line: &str, words: &[&str]) {
    let lab = Lab::new();
    lab.write("mine.toml", format!("{line}\n{RECIPE}"));
    lab.refuses("train mine.toml --out run", words);
}

#[test]
fn the_recipe_that_the_others_here_spoil_is_good() {
    let lab = Lab::new();
    lab.write("mine.toml", RECIPE);
    lab.run("train mine.toml").succeeds();
    assert!(lab.exists("runs/mine/model.safetensors"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    refused_with_line(
        "episdes = 3",
        &["mine.toml", "`episdes`", "did you mean `episodes`"],
    );
    refused_with_line("Seed = 3", &["`Seed`", "did you mean `seed`"]);
    refused_with_line(
        "learner.ruel = \"td\"",
        &["`learner.ruel`", "`learner.rule`"],
    );
    refused_with_line(
        "wibble = 1",
        &["`wibble` in mine.toml: a recipe has the keys block_games, board"],
    );
    refused_with_line(
        "learner.lamda = 0.1",
        &["`learner.lamda`", "`learner.lambda`"],
    );
}

/// Also those of the file of a run, if it is given as a recipe.
#[test]
fn keys_of_format_1_are_refused_with_their_new_names() {
    for (line, words) in [
        ("block = 100", ["`block`", "`block_games`"]),
        ("figure = \"x\"", ["`figure`", "`result`"]),
        (
            "learner.rate = 0.1",
            ["`learner.rate`", "`learner.learning_rate`"],
        ),
        (
            "replay.memory = 5",
            ["`replay.memory`", "`learner.buffer_size`"],
        ),
        ("deep.turn = true", ["`deep.turn`", "`learner.augment`"]),
        (
            "learner.update = \"replay\"",
            ["`learner.update`", "`learner.kind`"],
        ),
    ] {
        refused_with_line(line, &words);
    }
}

#[test]
fn whole_numbers_may_have_an_exponent_or_underscores() {
    let lab = Lab::new();
    let small = "--board 2x3 --set tuples=012 --threads 1";
    for (out, args) in [
        ("exponent", "--episodes 1e2"),
        ("underscore", "--episodes 1_00"),
        ("set", "--set episodes=1e2"),
        ("set-underscore", "--set episodes=1_00"),
    ] {
        lab.run(&format!("train {small} {args} --out {out}"))
            .succeeds();
        let recipe = lab.text(&format!("{out}/recipe.toml"));
        assert!(recipe.contains("episodes = 100\n"), "{recipe}");
        assert!(recipe.contains("\"episodes=100\""), "{recipe}");
    }
}

#[test]
fn wrong_types_say_what_was_expected() {
    refused_with_line(
        "seed = \"one\"",
        &["mine.toml", "`seed`", "whole number", "\"one\""],
    );
    refused_with_line("seed = 1.5", &["`seed`", "whole number", "1.5"]);
    refused_with_line("seed = -1", &["`seed`", "-1"]);
    refused_with_line("scores = 1", &["`scores`", "true or false"]);
    refused_with_line("learner = 1", &["`learner`", "table"]);
    refused_with_line(
        "learner.rule = \"magic\"",
        &["`learner.rule`", "magic", "td"],
    );
    refused_with_line(
        "learner.learning_rate = \"fast\"",
        &["`learner.learning_rate`", "number", "steps"],
    );
    refused_with_line(
        "learner.learning_rate = [{ from = 5, learning_rate = 0.1 }]",
        &["learner.learning_rate", "game 5"],
    );
}

#[test]
fn values_out_of_range_say_the_range() {
    refused_with_line("threads = 5000", &["`threads`", "1024"]);
    refused_with_line("block_games = 0", &["`block_games`", "from 1"]);
    refused_with_line(
        "checkpoint_seconds = 0.0",
        &["`checkpoint_seconds`", "more than 0"],
    );
    refused_with_line("checkpoint_seconds = nan", &["`checkpoint_seconds`"]);
    refused_with_line("learner.lambda = 1.5", &["`learner.lambda`", "from 0 to 1"]);
    refused_with_line(
        "learner.learning_rate = 0",
        &["`learner.learning_rate`", "above 0"],
    );
    refused_with_line(
        "learner.learning_rate = 11",
        &["`learner.learning_rate`", "10"],
    );
    let line = "learner.update = \"forward\"\nlearner.lambda = 0.5";
    refused_with_line(line, &["`learner.lambda`", "backward"]);
}

#[test]
fn broken_files_say_where() {
    refused_with_line("seed =", &["mine.toml, line 1"]);
    refused_with_line("seed = 1\nseed = 2", &["mine.toml, line 2"]);
    refused_with_line("seed = 1 2", &["mine.toml, line 1"]);
    let lab = Lab::new();
    lab.refuses("train missing.toml", &["missing.toml", "No such file"]);
    lab.write("empty.toml", "");
    lab.refuses("train empty.toml", &["empty.toml", "`name`"]);
    lab.write("latin.toml", b"name = \"\xe9\"\n");
    lab.refuses("train latin.toml", &["latin.toml", "UTF-8"]);
    lab.write("large.toml", "#".repeat(2_000_000));
    lab.refuses("train large.toml", &["large.toml", "larger"]);
    fs::create_dir(lab.path("folder.toml")).expect("a folder");
    lab.refuses("train folder.toml", &["folder.toml", "directory"]);
    lab.write(
        "bare.toml",
        "name = \"bare\"\ngame = \"2048\"\nboard = \"4x4\"\n",
    );
    lab.refuses(
        "train bare.toml",
        &["`network.tuples`", "missing", "[network]"],
    );
    lab.train("run", 20, "");
    lab.refuses(
        "train run/model.safetensors",
        &["is not a recipe", "is it a model?"],
    );
}

#[test]
fn names_that_lead_elsewhere() {
    let lab = Lab::new();
    for name in ["../outside", ".hidden", "a/b", "", " "] {
        lab.write("mine.toml", RECIPE.replace("mine", name));
        lab.refuses("train mine.toml", &["`name`", "letters"]);
    }
}

#[test]
fn unknown_recipes_games_and_boards() {
    let lab = Lab::new();
    lab.refuses(
        "train quikc",
        &["`quikc`", "did you mean `quick`", "state-6"],
    );
    lab.refuses("train td4x6", &["did you mean `td-4x6`"]);
    lab.refuses("recipes nothing", &["`nothing`. The recipes are quick"]);
    lab.refuses("train --game chess", &["chess", "2048"]);
    for board in [
        "1x4",
        "6x6",
        "4",
        "4x",
        "x",
        "4X4",
        "4x4x4",
        "0x0",
        "99999999999999999999x2",
    ] {
        lab.refuses(
            &format!("train --board {board}"),
            &["`board`", "each from 2 to 5"],
        );
    }
}

#[test]
fn overrides_that_cannot_be() {
    let lab = Lab::new();
    let refuses = |set: &str, words: &[&str]| {
        lab.refuses_with("train --out run --set", set, words);
    };
    refuses("rate", &["`rate`", "KEY=VALUE"]);
    refuses("=1", &["KEY=VALUE"]);
    refuses("", &["KEY=VALUE"]);
    refuses("learner.ruel=td", &["`learner.ruel`", "`learner.rule`"]);
    refuses("lr=1", &["`lr`", "is called `learner.learning_rate` here"]);
    refuses("gamma=1", &["`gamma`", "is called `learner.discount` here"]);
    refuses(
        "alpha=1",
        &["`alpha`", "is called `learner.learning_rate` here"],
    );
    refuses(
        "epsilon=0.5",
        &[
            "`learner.epsilon`",
            "learners of kind \"replay\" and \"dqn\"",
            "kind \"td\"",
        ],
    );
    refuses(
        "network.kind=deep",
        &["quick.toml has keys of another kind", "network.tuples"],
    );
    refuses("tupels=4x6", &["`tupels`", "tuples"]);
    refuses(
        "episodes=many",
        &["`episodes`", "episodes=many", "whole number"],
    );
    refuses("episodes=0", &["`episodes`", "from 1"]);
    refuses("network=4x6", &["network"]);
    refuses("learning_rate=-0.1", &["rate", "above 0"]);
    refuses("lambda=nan", &["lambda"]);
}

#[test]
fn tuple_sets_that_cannot_be() {
    let lab = Lab::new();
    let refuses = |tuples: &str, words: &[&str]| {
        let begun = Instant::now();
        lab.refuses_with("train --out run --set", &format!("tuples={tuples}"), words);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{tuples}: refused, but late"
        );
    };
    refuses("0123 01g2", &["`01g2`", "cell 16", "0 to 15"]);
    refuses("0123 4z", &["`4z`", "`z` names no cell", "4x6"]);
    refuses("01231", &["`01231`", "cell `1` twice"]);
    refuses("012345678", &["`012345678`", "9 cells", "1 to 8"]);
    refuses("0123 0123", &["`0123`", "twice"]);
    refuses("9x9", &["9x9", "4x6"]);
    refuses("", &["empty", "4x6"]);
    refuses("01é", &["01é"]);
    lab.run_with(
        "train --out run --set",
        &format!("tuples={}", many_long_tuples(16)),
    )
    .fails(3, &["memory", "shorter tuples"]);
    assert!(!lab.exists("run"));
    lab.refuses("train --board 3x3", &["`4x6`", "3x3", "lines"]);
    lab.refuses("train --board 3x3 --set tuples=0129", &["cell 9", "0 to 8"]);
}

#[test]
fn options_that_cannot_be() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    let belongs = "cannot change when a run is resumed";
    lab.refuses("train --resume run --set discount=0.2", &[belongs]);
    let whole = "expected a whole number from 0 to 9223372036854775807";
    let some = "expected a whole number from 1 to 9223372036854775807";
    let cannot = "cannot be used with";
    for (args, words) in [
        ("tarin", ["unrecognized subcommand 'tarin'", "'train'"]),
        ("train --episodes many", ["invalid value 'many'", some]),
        ("train --episodes -5", ["invalid value '-5'", some]),
        ("train --episodes 1.5", ["invalid value '1.5'", some]),
        ("train --episodes 1e30", ["invalid value '1e30'", some]),
        ("train --seed 1.5", ["invalid value '1.5'", whole]),
        ("train --unknown", ["unexpected argument", "'--unknown'"]),
        ("train quick td-4x6", ["unexpected argument", "'td-4x6'"]),
        ("train quick --resume run", [cannot, "--resume"]),
        ("train --resume run --seed 2", [cannot, "--seed"]),
        ("train --resume run --out other", [cannot, "--out"]),
        ("eval run --games 0", ["'--games <N>'", "from 1 to"]),
        ("eval run --games -1", ["invalid value '-1'", "from 1 to"]),
        ("eval run --threads 100000", ["'--threads <T>'", "to 1024"]),
        ("train --threads 100000", ["'--threads <T>'", "to 1024"]),
        ("compare run", ["required arguments", "<B>"]),
        ("analyze", ["the board is missing", "standard input"]),
        ("plot", ["required arguments", "<RUN|SCORES>"]),
    ] {
        let words = [&words[..], &["--help"]].concat();
        lab.refuses(args, &words);
    }
    let nothing = lab.run("").ends_with(2).stderr;
    assert!(nothing.contains("Usage: afterstate"), "{nothing}");
    lab.refuses("eval --board 3x4", &["2048 on 3x4", "afterstate train"]);
    lab.refuses("train --set threads=100000", &["`threads`", "1024"]);
    lab.refuses("train --episodes 0", &["episodes", "1"]);
    lab.refuses("train --seed 18446744073709551615", &["seed"]);
}

#[test]
fn boards_that_cannot_be() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    let empty = "0,0,0,0/0,0,0,0/0,0,0,0";
    for (board, words) in [
        (format!("3,0,0,0/{empty}"), vec!["3 in row 1", "not a tile"]),
        (format!("1,0,0,0/{empty}"), vec!["1 in row 1", "not a tile"]),
        (format!("262144,0,0,0/{empty}"), vec!["262144", "131072"]),
        (format!("2,x,0,0/{empty}"), vec!["`x` in row 1"]),
        (
            format!("2,,0,0/{empty}"),
            vec!["nothing between the commas in row 1, cell 2"],
        ),
        (format!("0,-2,0,0/{empty}"), vec!["`-2` in row 1"]),
        (format!("2.5,0,0,0/{empty}"), vec!["`2.5`"]),
        (
            format!("99999999999999999999,0,0,0/{empty}"),
            vec!["not a tile"],
        ),
        (
            format!("2,0,0/{empty}"),
            vec!["row 1", "3 cells", "4 rows of 4"],
        ),
        (format!("2,0,0,0,0/{empty}"), vec!["row 1", "5 cells"]),
        (empty.to_owned(), vec!["3 rows", "4 rows of 4"]),
        (format!("{empty}/{empty}"), vec!["6 rows", "4 rows of 4"]),
        ("2".to_owned(), vec!["1 row", "4 rows of 4"]),
        (
            format!("131072,131072,0,0/{empty}"),
            vec!["131072,131072", "cannot occur in"],
        ),
    ] {
        lab.refuses(&format!("analyze {board} --model run"), &words);
        lab.refuses(&format!("analyze {board} --model run --json"), &words);
    }
    lab.refuses_with("analyze --model run", "", &["4 rows of 4"]);
    lab.refuses_with("analyze --model run", &"2,".repeat(200), &["4 rows of 4"]);
    lab.refuses_with("analyze --model run", &"2,".repeat(9000), &["too long"]);
}

#[test]
fn a_message_says_each_thing_once() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    lab.write("file", "");
    for args in [
        "train missing.toml",
        "train --out file/run",
        "eval missing",
        "eval file",
        "plot run --out file/pictures",
    ] {
        let message = lab.run(args).ends_with(2).stderr;
        let parts: Vec<&str> = message.trim().split(": ").collect();
        for (n, part) in parts.iter().enumerate() {
            assert!(
                !parts[n + 1..].contains(part),
                "`{part}` twice in `{message}`"
            );
        }
    }
}

#[test]
fn a_long_wrong_value_makes_no_long_message() {
    let lab = Lab::new();
    let long = "x".repeat(50_000);
    lab.refuses_with(
        &format!("train {SMALL} --out run --set"),
        &long,
        &["KEY=VALUE"],
    );
    for key in ["name", "game", "board", "tuples", "seed", "rate", "rule"] {
        let set = format!("{key}={long}");
        let word = if key == "tuples" { "xxx" } else { key };
        lab.refuses_with(&format!("train {SMALL} --out run --set"), &set, &[word]);
    }
    lab.refuses(&format!("train {long}"), &["unknown recipe"]);
}
