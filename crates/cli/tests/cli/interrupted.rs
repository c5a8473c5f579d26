//! A training may be stopped politely (Ctrl-C), killed at any moment, gone on with and made longer.
//! With one thread, none of it may be seen in the model: not a byte.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::common::{Blocks, Dice, Done, Lab, Running, SMALL, Tensors, scores, wait_for};

/// Saves about twenty times a second, so that there is much to disturb.
const RESTLESS: &str =
    "--set tuples=0123 --set block_games=100 --set scores=true --set checkpoint_seconds=0.05";

/// A training of a few seconds whose weights have sums beside them (TC), with eligibility (lambda).
const COHERENT: &str = "--episodes 6900 --set rule=tc --set learning_rate=1 --set lambda=0.5";
/// The same of values of states, whose expectations are kept beside the weights.
const OF_STATES: &str =
    "--episodes 3950 --set value=state --set rule=td --set learning_rate=0.1 --set lambda=0";

/// How often a training is killed at most.
const KILLS: usize = 14;

#[test]
fn killed_again_and_again_coherent() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} {COHERENT}");
    lab.run(&format!("{train} --out whole")).succeeds();
    train_under_fire(&lab, &train, "cut");
    same_run(&lab, "whole", "cut", 6900);
    // The last checkpoint is the same, too: the sums have survived, not only the weights.
    let mut whole = Tensors::read(&lab.path("whole/checkpoint.safetensors"));
    let mut cut = Tensors::read(&lab.path("cut/checkpoint.safetensors"));
    for block in ["cells", "sums"] {
        assert!(whole.header[block].is_object(), "{block} are kept");
    }
    assert!(whole.data == cut.data, "a sum was lost");
    // These tell of seconds, which no two runs share.
    whole.meta("progress").take();
    cut.meta("progress").take();
    assert_eq!(whole.header, cut.header);
}

#[test]
fn killed_again_and_again_of_states() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} {OF_STATES}");
    lab.run(&format!("{train} --out whole")).succeeds();
    train_under_fire(&lab, &train, "cut");
    same_run(&lab, "whole", "cut", 3950);
}

#[test]
fn killed_again_and_again_on_two_threads() {
    let lab = Lab::new();
    let train = format!("train --threads 2 {RESTLESS} {COHERENT}");
    train_under_fire(&lab, &train, "cut");
    counts_are_right(&lab, "cut", 6900);
    let json = lab.run("eval cut --games 100 --json").json();
    assert!(json["mean"].as_f64() > Some(3000.0), "it has learned");
}

/// `quick` is done in about the time between two checkpoints, so most kills come before the first.
#[test]
fn killed_before_the_first_checkpoint_is_due() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} {COHERENT}").replace("0.05", "60");
    lab.run(&format!("{train} --out whole")).succeeds();
    let running = lab.spawn(&format!("{train} --out cut"));
    wait_for("the recipe", || lab.exists("cut/recipe.toml"));
    sleep(Duration::from_millis(200));
    assert!(running.kill(), "the training is too short for this machine");
    lab.run("train --resume cut").succeeds();
    same_run(&lab, "whole", "cut", 6900);
}

/// What a kill leaves when a checkpoint is written but has not got its name: all of it, or a half,
/// and logs that have grown since.
#[test]
fn killed_between_the_halves_of_a_save() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} --seed 3");
    lab.run(&format!("{train} --episodes 500 --out whole"))
        .succeeds();
    let later = lab.bytes("whole/checkpoint.safetensors");
    for part in [&later[..], &later[..later.len() / 2], b""] {
        lab.run(&format!("{train} --episodes 200 --out cut"))
            .succeeds();
        let leftovers = [
            "cut/.checkpoint.safetensors.0123456789abcdef.part",
            "cut/.model.safetensors.part",
            "cut/plots/.score.svg.fedcba9876543210.part",
        ];
        for leftover in leftovers {
            lab.write(leftover, part);
        }
        // Its own rows, and later ones: those of two runs tell of seconds, and may differ in length.
        let (mut grown, whole) = (lab.text("cut/blocks.csv"), lab.text("whole/blocks.csv"));
        grown.extend(whole.split_inclusive('\n').skip(grown.lines().count()));
        lab.write("cut/blocks.csv", grown);
        lab.write("cut/scores.txt", lab.text("whole/scores.txt"));
        lab.run("train --resume cut --episodes 500").succeeds();
        same_run(&lab, "whole", "cut", 500);
        for leftover in leftovers {
            assert!(!lab.exists(leftover), "{leftover}");
        }
        fs::remove_dir_all(lab.path("cut")).expect("a folder of ours");
    }
}

/// The seed of the moments of the kills: another one each time, unless AFTERSTATE_KILL_SEED has one.
/// It is printed, and so shown where a test fails.
fn kill_seed() -> u64 {
    let given = std::env::var("AFTERSTATE_KILL_SEED").ok();
    let now = || {
        let since = SystemTime::UNIX_EPOCH.elapsed();
        since.expect("a clock past 1970").as_nanos() as u64
    };
    let seed = given.map_or_else(now, |text| text.parse().expect("a number as the seed"));
    println!("again with AFTERSTATE_KILL_SEED={seed}");
    seed
}

/// Trains into `run` with kill -9 at random moments, and then to the end.
fn train_under_fire(lab: &Lab, train: &str, run: &str) {
    let mut dice = Dice::new(kill_seed());
    let saved = || {
        fs::metadata(lab.path(&format!("{run}/checkpoint.safetensors")))
            .and_then(|about| about.modified())
            .ok()
    };
    let resume = format!("train --resume {run}");

    let mut running = lab.spawn(&format!("{train} --out {run}"));
    wait_for("the first checkpoint", || {
        saved().is_some() || running.has_ended()
    });
    let mut kills = 0;
    for n in 0..KILLS {
        // Half of the kills may hit the start, when files are read and logs cut; the others come
        // later, so that the training gets on.
        if n % 2 == 0 {
            let before = saved();
            wait_for("another checkpoint", || {
                saved() != before || running.has_ended()
            });
        }
        sleep(Duration::from_millis(dice.below(70)));
        kills += usize::from(running.kill());
        running = lab.spawn(&resume);
    }
    assert_eq!(running.wait(), Some(0), "the last one is left in peace");
    assert!(
        kills >= 4,
        "only {kills} of {KILLS} kills hit: the training is too short for this machine"
    );
    let leftover = lab.names(run);
    let parts: Vec<&String> = leftover
        .iter()
        .filter(|name| name.contains(".part"))
        .collect();
    assert!(parts.is_empty(), "half a file is left: {parts:?}");
}

/// Two runs that must not differ in anything but the time they took.
fn same_run(lab: &Lab, a: &str, b: &str, games: usize) {
    counts_are_right(lab, a, games);
    counts_are_right(lab, b, games);
    assert_eq!(scores(lab, a), scores(lab, b));
    let (blocks_a, blocks_b) = (Blocks::of(lab, a), Blocks::of(lab, b));
    assert_eq!(blocks_a.ended(), blocks_b.ended());
    for column in [
        "games",
        "block_games",
        "mean",
        "max",
        "moves",
        "learning_rate",
    ] {
        assert_eq!(blocks_a.column(column), blocks_b.column(column), "{column}");
    }
    assert!(
        lab.bytes(&format!("{a}/model.safetensors"))
            == lab.bytes(&format!("{b}/model.safetensors")),
        "the models differ"
    );
}

/// Every game once, every block once.
fn counts_are_right(lab: &Lab, run: &str, games: usize) {
    assert_eq!(scores(lab, run).len(), games);
    let mut ends: Vec<f64> = (1..=games / 100).map(|n| 100.0 * n as f64).collect();
    if !games.is_multiple_of(100) {
        ends.push(games as f64);
    }
    assert_eq!(Blocks::of(lab, run).column("games"), ends);
}

fn signal(name: &str, running: &Running) {
    let kill = format!("kill -{name} {}", running.id());
    let sent = Command::new("sh").args(["-c", &kill]).status();
    assert!(sent.expect("a shell").success(), "{kill}");
}

#[test]
fn ctrl_c_saves_and_says_how_to_go_on() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} {COHERENT}");
    lab.run(&format!("{train} --out whole")).succeeds();
    for (name, status) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        let run = format!("run-{name}");
        let train = format!("{train} --out {run}");
        let (done, games) = stopped(&lab, &train, &run, (name, status));
        assert_eq!(
            scores(&lab, &run).len(),
            games,
            "everything played is saved"
        );
        assert!(!lab.exists(&format!("{run}/model.safetensors")));

        // What it has learned so far can play.
        let json = lab.run(&format!("eval {run} --games 20 --json")).json();
        assert_eq!(json["games"], 20);

        // And it goes on by the very command that it named; one of them to its end.
        let (_, command) = done.stdout.split_once("afterstate train").expect("how");
        let command = format!("train{}", command.lines().next().expect("a line"));
        assert_eq!(command, format!("train --resume {run}"));
        if name == "INT" {
            let resumed = lab.run(&command).succeeds();
            assert!(
                resumed.stdout.contains("resumed after"),
                "{}",
                resumed.stdout
            );
            same_run(&lab, "whole", &run, 6900);
        }
    }
}

/// Starts a training, stops it by a signal after a checkpoint, and returns the games it had played.
fn stopped(lab: &Lab, train: &str, run: &str, (name, status): (&str, i32)) -> (Done, usize) {
    let mut command = lab.command(train);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program");
    let running = Running::of(child);
    wait_for("a checkpoint", || {
        lab.exists(&format!("{run}/checkpoint.safetensors"))
    });
    signal(name, &running);
    // A second one right after it is the same request.
    signal(name, &running);
    let done = Done::of(train, running.output()).ends_with(status);
    let line = done.stdout.lines().find(|line| line.contains("stopped"));
    let line = line.unwrap_or_else(|| panic!("SIG{name} was not heard: {}", done.stdout));
    let digits: String = line
        .chars()
        .take_while(|&c| c != '.')
        .filter(char::is_ascii_digit)
        .collect();
    let games = digits.parse().expect("a number of games");
    assert!(games > 0 && games < 6900, "{line}");
    (done, games)
}

#[test]
fn ctrl_c_during_eval_reports_what_was_played() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    let eval = "eval run --games 10000000 --threads 2 --json";
    let mut command = lab.command(eval);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::of(command.spawn().expect("the program"));
    wait_for("it to listen to Ctrl-C", || {
        listens(&running) || running.has_ended()
    });
    sleep(Duration::from_millis(300));
    signal("INT", &running);
    let done = Done::of(eval, running.output()).ends_with(130);
    let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("a document");
    let games = json["games"].as_u64().expect("games");
    assert!(games > 0 && games < 10_000_000, "{games}");
    let told = "stopped by Ctrl-C: these results are from ";
    assert!(done.stderr.contains(told), "{}", done.stderr);
}

#[test]
fn ctrl_c_during_solve_leaves_no_file() {
    let lab = Lab::new();
    lab.run("solve --board 2x2 --out s").succeeds();
    let older = lab.bytes("s");
    let mut running = lab.spawn("solve --board 3x3 --out s");
    wait_for("it to listen to Ctrl-C", || {
        listens(&running) || running.has_ended()
    });
    sleep(Duration::from_millis(300));
    signal("INT", &running);
    assert_eq!(running.wait(), Some(130));
    assert_eq!(lab.names("."), ["s"]);
    assert!(lab.bytes("s") == older, "the older file stays");
}

/// Whether a process has a handler for SIGINT, which is the second bit of `SigCgt`.
fn listens(running: &Running) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 2 != 0)
}

#[test]
fn a_run_can_be_made_longer() {
    let lab = Lab::new();
    let train = format!("train --threads 1 {RESTLESS} --seed 3");
    lab.run(&format!("{train} --episodes 500 --out whole"))
        .succeeds();
    lab.run(&format!("{train} --episodes 200 --out run"))
        .succeeds();
    let short = lab.bytes("run/model.safetensors");

    let again = lab.run("train --resume run").succeeds();
    assert!(again.stdout.contains("200 games"), "{}", again.stdout);
    assert!(lab.bytes("run/model.safetensors") == short, "nothing to do");
    assert_eq!(scores(&lab, "run").len(), 200);

    lab.run("train --resume run --episodes 500").succeeds();
    same_run(&lab, "whole", "run", 500);
}

#[test]
fn a_longer_run_remembers_how_long() {
    let lab = Lab::new();
    lab.train("run", 100, "--set scores=true");
    lab.run("train --resume run --episodes 300").succeeds();
    let recipe = lab.text("run/recipe.toml");
    assert!(recipe.contains("episodes = 300\n"), "{recipe}");
    // The folder's recipe makes the folder's model.
    lab.run("train run/recipe.toml --out again").succeeds();
    assert!(lab.bytes("run/model.safetensors") == lab.bytes("again/model.safetensors"));
}

#[test]
fn going_on_with_another_number_of_threads() {
    let lab = Lab::new();
    lab.train("run", 100, "--set scores=true");
    lab.run("train --resume run --episodes 250 --threads 2")
        .succeeds();
    counts_are_right(&lab, "run", 250);
}

/// However often it is to save, it also plays.
#[test]
fn saving_all_the_time_is_no_standstill() {
    let lab = Lab::new();
    let train = format!("train {SMALL} --set checkpoint_seconds=0.000001 --episodes 10");
    for threads in [1, 2] {
        let train = train.replace("--threads 1", &format!("--threads {threads}"));
        let running = lab.spawn(&format!("{train} --out run-{threads}"));
        assert_eq!(running.wait(), Some(0), "{threads} threads");
    }
}

/// A program that does not stop at the first signal ends at once by the second, with its status.
#[test]
fn a_second_signal_ends_at_once() {
    let lab = Lab::new();
    // Opening a recipe that is a FIFO without a writer cannot be cancelled.
    let made = Command::new("mkfifo").arg(lab.path("fifo.toml")).status();
    assert!(made.expect("mkfifo").success());
    let mut running = lab.spawn("train --out run fifo.toml");
    wait_for("it to listen to signals", || {
        listens(&running) || running.has_ended()
    });
    signal("INT", &running);
    // One within a second would be the same request.
    sleep(Duration::from_millis(1300));
    assert!(!running.has_ended(), "it waits");
    signal("TERM", &running);
    assert_eq!(running.wait(), Some(143));
}

/// `nohup` has SIGHUP ignored, and a training under it goes on when the terminal is closed.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_afterstate");
    let train = format!("train {SMALL} --episodes 100000000 --out long");
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("trap '' HUP; exec '{program}' {train}")])
        .current_dir(lab.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut running = Running::of(command.spawn().expect("a shell"));
    wait_for("it to listen to signals", || {
        listens(&running) || running.has_ended()
    });
    signal("HUP", &running);
    sleep(Duration::from_millis(300));
    assert!(!running.has_ended(), "the hangup was heard");
    signal("TERM", &running);
    assert_eq!(running.wait(), Some(143));
}

/// Judging a FIFO waits for its writer, and stops at the first Ctrl-C all the same.
#[test]
fn ctrl_c_while_a_fifo_is_judged() {
    let lab = Lab::new();
    let made = Command::new("mkfifo").arg(lab.path("fifo")).status();
    assert!(made.expect("mkfifo").success());
    // Without a writer it waits to be opened; with one that writes nothing, for its first line.
    for write in [None, Some(&b""[..]), Some(b"slide:place@1|C1E2#L9")] {
        let mut command = lab.command("judge fifo --json");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running::of(command.spawn().expect("the program"));
        wait_for("it to listen to signals", || {
            listens(&running) || running.has_ended()
        });
        let writer = write.map(|bytes| {
            let file = fs::File::options().write(true).open(lab.path("fifo"));
            let mut file = file.expect("a FIFO that is read");
            std::io::Write::write_all(&mut file, bytes).expect("a FIFO that is read");
            file
        });
        sleep(Duration::from_millis(100));
        signal("INT", &running);
        wait_for("its end", || running.has_ended());
        let done = Done::of("judge fifo", running.output()).ends_with(130);
        let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("a document");
        assert_eq!(json["interrupted"], true, "{json}");
        assert_eq!(json["fault_count"], 0, "half a line is no fault: {json}");
        drop(writer);
    }
}
