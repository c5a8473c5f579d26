//! Deep players are players like others; a program without deep learning says how to get it.

#[cfg(not(feature = "deep"))]
#[test]
fn without_deep_learning_the_command_that_has_it_is_told() {
    let lab = crate::common::Lab::new();
    for args in [
        "train dqn",
        "train deep-best --episodes 5",
        "train dqn --set filters=8",
    ] {
        let command = format!("cargo run --release --features deep -- {args}");
        lab.refuses(args, &["built without deep learning", &command]);
    }
    let sweep =
        "name = \"s\"\nrecipe = \"dqn\"\nseeds = [1]\ngames = 0\n[[variant]]\nname = \"a\"\n";
    lab.write("s.toml", sweep);
    let command = "cargo run --release --features deep -- sweep s.toml";
    lab.refuses("sweep s.toml", &["built without deep learning", command]);
}

#[cfg(feature = "deep")]
mod built_in {
    use std::process::Command;

    use serde_json::{Value, json};

    use crate::common::{Lab, Tensors};
    use crate::numpy::python;

    /// A small deep player into the folder `name`.
    fn train(lab: &Lab, name: &str, more: &str) {
        let small = "--board 3x3 --threads 1 --set episodes=40 --set block_games=20 --set filters=8 --set updates_per_step=1 --set learner.num_envs=8";
        let kernels = "convolutions=[\"2x1\", \"1x2\"]";
        let args = format!("train dqn {small} --out {name} {more} --set");
        lab.run_with(&args, kernels).succeeds();
    }

    #[test]
    fn a_deep_player_is_evaluated_compared_analyzed_and_drawn() {
        let lab = Lab::new();
        train(&lab, "deep", "");
        lab.train("tuples", 40, "--board 3x3 --set tuples=012");
        let eval = |threads: usize| {
            let args = format!("eval deep --games 70 --seed 5 --threads {threads} --json");
            lab.run(&args).json()
        };
        let (one, two) = (eval(1), eval(2));
        for key in ["mean", "max", "games", "tiles"] {
            assert_eq!(one[key], two[key], "{key}");
        }
        assert!(one["tiles"].is_array());
        assert_eq!(one["games"], 70);
        assert_eq!(one["board"], "3x3");
        let compared = lab.run("compare deep tuples --games 30 --json").json();
        assert_eq!(compared["a"]["games"], 30);
        let analysis = lab
            .run("analyze 2,0,0/0,0,0/0,0,2 --model deep --json")
            .json();
        let best = analysis["best"].as_str().expect("a move");
        let total = |m: &Value| m["total"].as_f64().expect("a number");
        let moves = analysis["moves"].as_array().expect("moves");
        let largest = moves.iter().max_by(|a, b| total(a).total_cmp(&total(b)));
        assert_eq!(largest.expect("four moves")["direction"], best);
        let plots = lab.names("deep/plots");
        for plot in ["score.png", "running-average.png", "loss.svg", "value.png"] {
            assert!(plots.contains(&plot.to_owned()), "{plots:?}");
        }
        lab.run("eval deep --games 5 --records deep.log").succeeds();
        lab.run("judge deep.log --game 2048 --board 3x3").succeeds();
        lab.refuses(
            "convert deep/model.safetensors w.w --to tdl",
            &["a deep network"],
        );
    }

    #[test]
    fn afterstates_and_three_outputs() {
        let lab = Lab::new();
        train(
            &lab,
            "after",
            "--set value=afterstate --set learner.augment=true --set n_step=4",
        );
        train(&lab, "three", "--set outputs=3 --set illegal=number");
        for run in ["after", "three"] {
            let eval = lab.run(&format!("eval {run} --games 20 --json")).json();
            assert_eq!(eval["games"], 20);
            let args = format!("analyze 2,0,0/0,0,0/0,0,2 --model {run} --json");
            let analysis = lab.run(&args).json();
            assert!(analysis["best"].is_string());
            // All slides are legal; of three outputs, none is for down.
            let moves = analysis["moves"].as_array().expect("moves");
            for m in moves {
                let silent = run == "three" && m["direction"] == "down";
                assert_eq!(m["legal"], true);
                assert_eq!(m["total"].is_null(), silent, "{run}: {m}");
            }
        }
        let told = lab
            .run("analyze 2,0,0/0,0,0/0,0,2 --model three")
            .succeeds();
        assert!(!told.stdout.contains("inf"), "{}", told.stdout);
    }

    #[test]
    fn damaged_deep_models_are_refused() {
        let lab = Lab::new();
        train(&lab, "run", "");
        let path = lab.path("run/model.safetensors");
        let bytes = lab.bytes("run/model.safetensors");
        lab.write("cut.safetensors", &bytes[..bytes.len() - 100]);
        lab.refuses("eval cut.safetensors --games 5", &["cut.safetensors"]);
        let damage = |key: &str, value: &str, words: &[&str]| {
            let mut tensors = Tensors::read(&path);
            *tensors.meta(key) = json!(value);
            tensors.write(&lab.path("odd.safetensors"));
            lab.refuses("eval odd.safetensors --games 5", words);
        };
        damage("hidden", "17", &["linear1.weight"]);
        damage("hidden", &"4096 ".repeat(16), &["linear1.weight"]);
        damage(
            "convolutions",
            "1x2 2x1",
            &["conv1.weight", "[8, 16, 1, 2]"],
        );
        damage(
            "hidden",
            "4096 4096 4096 4096 99999",
            &["hidden", "1 to 4096"],
        );
        damage("filters", "1024", &["conv1.weight"]);
        damage("filters", "0", &["filters", "1 to 1024"]);
        damage("convolutions", "2x1 1x2 5x5", &["kernel of 5x5"]);
        damage("convolutions", "2x1 1x2 ?", &["convolutions", "2x1"]);
        damage("outputs", "5", &["outputs", "3 or 4"]);
        damage("reward_scale", "NaN", &["reward_scale"]);
        damage("reward_scale", "1e300", &["reward_scale", "1e9"]);
        damage("illegal", "?", &["illegal", "value, number or output"]);
        damage("relu", "?", &["relu", "all or convolutions"]);
        damage("rewards", "?", &["rewards", "learned or known"]);
        damage("afterstate", "3", &["afterstate"]);
        damage("episodes", "many", &["episodes"]);
        damage("value", "state", &["action or afterstate"]);
        damage("board", "9x9", &["board"]);
        damage("game", "chess", &["chess"]);
        let mut tensors = Tensors::read(&path);
        tensors.data[..4].copy_from_slice(&f32::NAN.to_le_bytes());
        tensors.write(&lab.path("odd.safetensors"));
        lab.refuses("eval odd.safetensors --games 5", &["not a finite number"]);
    }

    /// A model, and a checkpoint for who asks it for a model, have the network that played; the other one is beside it.
    #[test]
    fn the_model_is_the_network_that_plays() {
        let lab = Lab::new();
        let both = [("target", "online"), ("online", "target")];
        let found = both.map(|(plays, other)| {
            // All slides are made at random, so that both see the same games and learn the same.
            train(
                &lab,
                plays,
                &format!("--set acting_network={plays} --set tau=0.1 --set epsilon=1"),
            );
            let of = |file: &str| Tensors::read(&lab.path(&format!("{plays}/{file}.safetensors")));
            let [model, checkpoint] = ["model", "checkpoint"].map(of);
            let numbers =
                |tensors: &Tensors, name: &str| tensors.data[tensors.range(name)].to_vec();
            let playing = numbers(&checkpoint, "linear1.weight");
            let other = numbers(&checkpoint, &format!("{other}.linear1.weight"));
            assert!(playing == numbers(&model, "linear1.weight"));
            [playing, other]
        });
        let [[target, online], [same_online, same_target]] = found;
        assert!(online == same_online && target == same_target);
        assert!(online != target);
    }

    /// By updates, where a training ends with them; nothing else of it can be changed.
    #[test]
    fn a_training_that_counts_updates_can_be_made_longer() {
        let lab = Lab::new();
        train(&lab, "run", "--set max_updates=40");
        let done = lab.run("train --resume run").succeeds();
        assert!(
            done.stdout.contains("--set max_updates=N"),
            "{}",
            done.stdout
        );
        lab.refuses(
            "train --resume run --set discount=0.1",
            &["`learner.discount`", "cannot change when a run is resumed"],
        );
        let longer = lab
            .run("train --resume run --set max_updates=60")
            .succeeds();
        assert!(longer.stdout.contains("60 updates"), "{}", longer.stdout);
    }

    /// Recipes of format 2 had one rate of dropout at first, and "number" was the cycle of the
    /// outputs. Such a run goes on to the same model, which plays the same.
    #[test]
    fn a_run_with_one_rate_of_dropout_is_resumed() {
        let lab = Lab::new();
        let more = "--set dropout_convolutions=0.3 --set outputs=3 --set illegal=output";
        train(&lab, "whole", &format!("{more} --set episodes=80"));
        train(&lab, "run", more);
        let former = |recipe: &str| {
            recipe
                .replace("dropout_convolutions = 0.3", "dropout = 0.3")
                .replace("dropout_hidden = 0.0", "dropout_place = \"convolutions\"")
                .replace("illegal = \"output\"", "illegal = \"number\"")
                .replace("network.dropout_convolutions=", "network.dropout=")
        };
        lab.write("run/recipe.toml", former(&lab.text("run/recipe.toml")));
        for file in ["model", "checkpoint"] {
            let path = lab.path(&format!("run/{file}.safetensors"));
            let mut tensors = Tensors::read(&path);
            let recipe = tensors.meta("recipe");
            *recipe = json!(former(recipe.as_str().expect("text")));
            *tensors.meta("illegal") = json!("number");
            tensors.write(&path);
        }
        let eval = lab.run("eval run --games 20 --seed 3 --json").json();
        train(&lab, "same", more);
        let same = lab.run("eval same --games 20 --seed 3 --json").json();
        assert_eq!(eval["mean"], same["mean"]);
        lab.run("train --resume run --episodes 80").succeeds();
        let data = |run: &str| Tensors::read(&lab.path(&format!("{run}/model.safetensors"))).data;
        assert!(data("run") == data("whole"), "other weights");
        let recipe = lab.text("run/recipe.toml");
        assert!(recipe.contains("dropout_convolutions = 0.3"), "{recipe}");
    }

    #[test]
    fn damaged_deep_checkpoints_are_refused() {
        let lab = Lab::new();
        train(&lab, "run", "");
        let path = lab.path("run/checkpoint.safetensors");
        let sound = lab.bytes("run/checkpoint.safetensors");
        let damage = |change: &dyn Fn(&mut Tensors), words: &[&str]| {
            lab.write("run/checkpoint.safetensors", &sound);
            let mut tensors = Tensors::read(&path);
            change(&mut tensors);
            tensors.write(&path);
            lab.refuses("train --resume run --episodes 80", words);
        };
        let meta = |key: &'static str, value: &'static str| {
            move |tensors: &mut Tensors| *tensors.meta(key) = json!(value)
        };
        damage(&meta("deep", "{}"), &["deep"]);
        damage(&meta("deep", "?"), &["deep"]);
        let many = r#"{"steps": 18446744073709551615, "iterations": 1}"#;
        damage(&meta("deep", many), &["deep", "a number above"]);
        damage(&meta("replay", ""), &["replay"]);
        damage(&meta("progress", "{}"), &["progress"]);
        let edit = |key: &'static str, from: &'static str, to: &'static str| {
            move |tensors: &mut Tensors| {
                let text = tensors.meta(key);
                let edited = text.as_str().expect("text").replacen(from, to, 1);
                assert_ne!(Some(edited.as_str()), text.as_str(), "{from}");
                *text = json!(edited);
            }
        };
        let moves = edit("replay", "\"moves\":", "\"moves\":99999999999999");
        damage(&moves, &["replay", "too large"]);
        let updates = |tensors: &mut Tensors| {
            let text = tensors.meta("progress");
            let progress = serde_json::from_str(text.as_str().expect("text"));
            let mut progress: Value = progress.expect("JSON");
            let updates = &mut progress["replay"]["total"]["updates"];
            assert!(updates.is_u64());
            *updates = json!(u64::MAX);
            *text = json!(progress.to_string());
        };
        damage(&updates, &["above the supported maximum"]);
        for array in ["conv1.weight", "online.conv1.weight", "first.conv1.weight"] {
            damage(
                &|tensors| {
                    let from = tensors.range(array).start;
                    tensors.data[from..from + 4].copy_from_slice(&f32::NAN.to_le_bytes());
                },
                &[array, "not a finite number"],
            );
        }
        lab.write("run/checkpoint.safetensors", &sound);
        lab.run("train --resume run --episodes 80").succeeds();
    }

    /// Weights so large that outputs are infinite: status 1, and the checkpoint stays as it was.
    #[test]
    fn a_deep_network_that_breaks_stops_the_training() {
        for (plays, online) in [("online", ""), ("target", "online.")] {
            let lab = Lab::new();
            train(
                &lab,
                "run",
                &format!("--set acting_network={plays} --set hidden=[16]"),
            );
            let path = lab.path("run/checkpoint.safetensors");
            let mut tensors = Tensors::read(&path);
            for layer in ["conv1.weight", "linear1.weight", "linear2.weight"] {
                let range = tensors.range(&format!("{online}{layer}"));
                for four in tensors.data[range].chunks_exact_mut(4) {
                    four.copy_from_slice(&1e30_f32.to_le_bytes());
                }
            }
            tensors.write(&path);
            let before = lab.bytes("run/checkpoint.safetensors");
            let done = lab.run("train --resume run --episodes 80").ends_with(1);
            assert!(done.stderr.contains("NaN or infinite"), "{}", done.stderr);
            assert!(lab.bytes("run/checkpoint.safetensors") == before);
        }
    }

    #[test]
    fn numpy_computes_the_outputs_that_analyze_tells() {
        outputs_in_numpy(
            "--set hidden=[7,5] --set rewards=learned --set relu=convolutions",
            "total",
        );
        outputs_in_numpy(
            "--set hidden=[7,5] --set rewards=known --set relu=all",
            "value",
        );
    }

    /// The page about the format is enough to compute what the player computes.
    fn outputs_in_numpy(more: &str, figure: &str) {
        let Some(python) = python() else { return };
        let lab = Lab::new();
        train(&lab, "run", more);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/run_layers.py");
        let output = Command::new(python)
            .args([script, "run/model.safetensors", "1,1,2,0,3,0,0,4,1"])
            .current_dir(lab.path("."))
            .output()
            .expect("python");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let outputs: Vec<f64> = serde_json::from_slice(&output.stdout).expect("numbers");
        assert_eq!(outputs.len(), 4);
        let analysis = lab
            .run("analyze 2,2,4/0,8,0/0,16,2 --model run --json")
            .json();
        for (direction, expected) in ["left", "up", "right", "down"].iter().zip(outputs) {
            let moves = analysis["moves"].as_array().expect("moves");
            let m = moves.iter().find(|m| m["direction"] == *direction);
            let found = m.and_then(|m| m[figure].as_f64()).expect("a legal move");
            let near = (found - expected).abs() <= 1e-3 * expected.abs().max(1.0);
            assert!(near, "{direction}: analyze says {found}, numpy {expected}");
        }
    }
}
