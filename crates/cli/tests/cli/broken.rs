//! A training whose weights become infinite stops with status 1, and leaves its last good checkpoint.

use crate::common::{Blocks, Lab, scores};

/// Learns well for 2,000 games, a fraction of a second, then far too fast.
const DIVERGING: &str = "--board 3x3 --set tuples=lines --set rule=td --set lambda=0 \
    --set learning_rate=[{from=0,learning_rate=0.1},{from=2000,learning_rate=10}] \
    --episodes 50000 --set block_games=500 --set scores=true --set checkpoint_seconds=0.03";

#[test]
fn infinite_weights_stop_the_run() {
    for threads in [1, 2] {
        for value in ["afterstate", "state"] {
            let lab = Lab::new();
            let train =
                format!("train --threads {threads} --set value={value} {DIVERGING} --out run");
            let done = lab.run(&train).ends_with(1);
            for part in [
                "error: ",
                "NaN or infinite",
                "smaller learning rate",
                "10",
                "checkpoint",
            ] {
                assert!(done.stderr.contains(part), "no `{part}` in {}", done.stderr);
            }
            assert!(!lab.exists("run/model.safetensors"), "nothing to play with");

            // The last checkpoint is from before, plays, and says how far the logs are to be believed.
            let json = lab.run("eval run --games 50 --json").json();
            assert!(json["mean"].as_f64() > Some(100.0));
            let kept = scores(&lab, "run").len();
            assert!((2000..50_000).contains(&kept), "{kept} games");
            let games = Blocks::of(&lab, "run").column("games");
            assert!(
                games.starts_with(&[500.0, 1000.0, 1500.0, 2000.0]),
                "{games:?}"
            );

            // Going on from there breaks again, and in the same way.
            lab.run("train --resume run").ends_with(1);
            lab.run("eval run --games 5 --json").json();
        }
    }
}

#[test]
fn a_start_that_is_too_large_stops_at_once() {
    let lab = Lab::new();
    let train =
        "train --threads 1 --board 3x3 --set tuples=lines --set initial_value=3e38 --episodes 3000";
    let done = lab.run(&format!("{train} --out run")).ends_with(1);
    assert!(done.stderr.contains("NaN or infinite"), "{}", done.stderr);
    assert!(!lab.exists("run/model.safetensors"));
}

/// Where no checkpoint was saved before it broke, the message does not speak of one.
#[test]
fn nothing_is_kept_where_nothing_was_saved() {
    let lab = Lab::new();
    let train =
        "train --threads 1 --board 3x3 --set tuples=lines --set initial_value=3e38 --episodes 3000";
    let done = lab.run(&format!("{train} --out run")).ends_with(1);
    let kept = done.stderr.contains("checkpoint is intact");
    assert_eq!(
        kept,
        lab.exists("run/checkpoint.safetensors"),
        "{}",
        done.stderr
    );
}
