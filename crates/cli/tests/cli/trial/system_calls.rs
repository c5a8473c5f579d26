//! A run is killed, or a system call fails, at every kind of call that changes the disk.
//!
//! `strace` counts the calls of each kind and injects a signal or an error into the n-th. Whatever
//! the call, the run can be resumed, and its model is that of a run that nothing disturbed.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Done, Lab, Tensors};
use crate::trial::{dice, rounds};

/// A run of a fraction of a second that saves again and again.
const TRAIN: &str = "train --threads 1 --set tuples=0123 --set block_games=50 --set scores=true \
     --set checkpoint_seconds=0.02 --episodes 200 --set rule=tc --set learning_rate=1 \
     --set lambda=0.5";

/// System calls that change the disk.
const CALLS: [&str; 8] = [
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "ftruncate",
    "unlink",
];

#[test]
fn kills_at_system_calls_lose_nothing() {
    let Some(lab) = prepare() else { return };
    let mut dice = dice("kills at system calls");
    let (mut kills, mut tries) = (0, 0);
    for n in rounds(2 * CALLS.len()) {
        tries += 1;
        let call = CALLS[n % CALLS.len()];
        let count = count_calls(&lab, call);
        // A run that saves by the clock makes now more, now fewer calls than the one that was
        // counted: half of the kills are among its first calls, which every run makes.
        let among = if (n / CALLS.len()).is_multiple_of(2) {
            count.div_ceil(2)
        } else {
            count
        };
        let when = 1 + dice.below(among);
        let injection = format!("inject={call}:signal=KILL:when={when}");
        let killed = strace(&lab, &injection, &format!("{TRAIN} --out cut"));
        kills += usize::from(killed.status.is_none() || killed.status == Some(137));
        finish_and_compare(&lab, &injection);
    }
    println!("{kills} kills at system calls, in {tries} tries");
    assert!(2 * kills >= tries, "only {kills} of {tries} kills hit");
}

/// Commands that write one file, whose bytes are always the same, and the file.
const WRITERS: [(&str, &str); 3] = [
    ("convert whole out.w", "out.w"),
    ("pack whole out.packed", "out.packed"),
    (
        "solve --game 2048 --board 2x2 --out out.solution",
        "out.solution",
    ),
];

/// A killed command leaves the file that was there or the new one, and writes it when it is repeated.
#[test]
fn killed_writers_leave_a_whole_file() {
    let Some(lab) = prepare() else { return };
    let mut dice = dice("killed writers");
    let calls = ["openat", "write", "pwrite64", "fsync", "rename"];
    let (mut kills, mut tries) = (0, 0);
    for n in rounds(WRITERS.len() * calls.len()) {
        tries += 1;
        let (command, file) = WRITERS[n % WRITERS.len()];
        let new = format!("{file}.new");
        if !lab.exists(&new) {
            lab.run(command).succeeds();
            lab.write(&new, lab.bytes(file));
            fs::remove_file(lab.path(file)).expect("a file of ours");
        }
        let call = calls[n / WRITERS.len() % calls.len()];
        let most = match call {
            "openat" => 20,
            "pwrite64" => 2,
            _ => 1,
        };
        let when = 1 + dice.below(most);
        let injection = format!("inject={call}:signal=KILL:when={when}");
        let killed = strace(&lab, &injection, command);
        kills += usize::from(killed.status.is_none() || killed.status == Some(137));
        let whole = !lab.exists(file) || lab.bytes(file) == lab.bytes(&new);
        assert!(whole, "{command}, {injection}: half a file");
        lab.run(command).succeeds();
        assert!(lab.bytes(file) == lab.bytes(&new), "{command}, {injection}");
        let left = lab
            .names(".")
            .into_iter()
            .find(|name| name.ends_with(".part"));
        assert_eq!(left, None, "{command}, {injection}");
        fs::remove_file(lab.path(file)).expect("a file of ours");
    }
    println!("{kills} kills of commands that write a file, in {tries} tries");
    assert!(2 * kills >= tries, "only {kills} of {tries} kills hit");
}

#[test]
fn failing_system_calls_lose_nothing() {
    let Some(lab) = prepare() else { return };
    let mut dice = dice("failing system calls");
    let (mut reported, mut faults) = (0, 0);
    for n in rounds(2 * CALLS.len()) {
        faults += 1;
        let call = CALLS[n % CALLS.len()];
        let error = ["ENOSPC", "EIO", "EDQUOT"][n / CALLS.len() % 3];
        let when = 1 + dice.below(count_calls(&lab, call));
        // From this call on, or this call alone.
        let all = if dice.below(2) == 0 { "+" } else { "" };
        let injection = format!("inject={call}:error={error}:when={when}{all}");
        let done = strace(&lab, &injection, &format!("{TRAIN} --out cut"));
        // An error of its libraries' loader is none of the program's.
        let loader = done.stderr.contains("error while loading shared libraries");
        if !loader {
            assert!(
                matches!(done.status, Some(0 | 2 | 3)),
                "{injection}: {}\n{}",
                done.what,
                done.stderr
            );
        }
        reported += usize::from(done.status != Some(0));
        finish_and_compare(&lab, &injection);
    }
    println!("{faults} injected faults, {reported} of them ended a run");
}

/// A folder with the run `whole`, or nothing where there is no strace.
fn prepare() -> Option<Lab> {
    let version = Command::new("strace").arg("-V").output();
    if version.is_err() {
        println!("SKIPPED: there is no strace");
        assert!(std::env::var_os("CI").is_none(), "CI needs strace");
        return None;
    }
    let lab = Lab::new();
    lab.run(&format!("{TRAIN} --out whole")).succeeds();
    Some(lab)
}

/// Runs the program under strace with an injection.
fn strace(lab: &Lab, injection: &str, args: &str) -> Done {
    let program = lab.command(args);
    let mut command = Command::new("strace");
    let call = injection.split(['=', ':']).nth(1).unwrap_or_default();
    command.args(["-f", "-qq", "-o", "calls.txt", "-e"]);
    command.arg(format!("trace={call}")).args(["-e", injection]);
    command.arg(program.get_program()).args(program.get_args());
    command
        .current_dir(lab.path(""))
        .stdin(Stdio::null())
        .env("LC_ALL", "C");
    Done::of(args, command.output().expect("strace"))
}

/// How many calls of a kind an undisturbed run makes.
fn count_calls(lab: &Lab, call: &str) -> u64 {
    let counted = format!("{call}.count");
    if !lab.exists(&counted) {
        let nothing = format!("inject={call}:delay_enter=0:when=1");
        strace(lab, &nothing, &format!("{TRAIN} --out counted"));
        let calls = lab.text("calls.txt");
        let calls = calls.lines().filter(|line| line.contains(call)).count();
        lab.write(&counted, calls.to_string());
        fs::remove_dir_all(lab.path("counted")).expect("a run of ours");
    }
    lab.text(&counted).parse::<u64>().expect("a count").max(1)
}

/// Resumes the disturbed run, or starts it where it had not begun, and compares it with the whole.
fn finish_and_compare(lab: &Lab, injection: &str) {
    if lab.exists("cut/recipe.toml") {
        lab.run("train --resume cut").succeeds();
    } else {
        // Nothing but an empty folder may be in the way.
        lab.run(&format!("{TRAIN} --out cut")).succeeds();
    }
    let whole = Tensors::read(&lab.path("whole/model.safetensors"));
    let cut = Tensors::read(&lab.path("cut/model.safetensors"));
    assert!(whole.data == cut.data, "{injection}: another model");
    assert_eq!(
        lab.text("whole/scores.txt"),
        lab.text("cut/scores.txt"),
        "{injection}"
    );
    assert_eq!(
        lab.names("whole"),
        lab.names("cut"),
        "{injection}: other files"
    );
    assert_eq!(
        lab.names("whole/plots"),
        lab.names("cut/plots"),
        "{injection}: other plots"
    );
    fs::remove_dir_all(lab.path("cut")).expect("a run of ours");
}
