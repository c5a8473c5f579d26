//! Run folders from a stranger: links, pipes, folders and devices in the place of every file.
//! Nothing outside the folder changes, nothing waits for ever, and nothing panics.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Done, Lab};

/// Files of a run folder, and temporary files as crashes left them in earlier versions.
const NAMES: [&str; 9] = [
    ".lock",
    "recipe.toml",
    "blocks.csv",
    "scores.txt",
    "checkpoint.safetensors",
    "model.safetensors",
    ".checkpoint.safetensors.part",
    ".model.safetensors.part",
    "plots",
];

/// What can be in the place of a file.
#[derive(Clone, Copy, Debug)]
enum Intruder {
    Link,
    Pipe,
    Folder,
    Device,
}

#[test]
fn hostile_run_folders() {
    let lab = Lab::new();
    let train = "train --threads 1 --set tuples=0123 --set block_games=10 --set scores=true";
    lab.run(&format!("{train} --episodes 30 --out run"))
        .succeeds();
    lab.write("victim", "untouched");
    fs::create_dir(lab.path("victims")).expect("a folder");
    let before = contents(&lab);
    let mut folders = 0;
    for name in NAMES {
        for intruder in [
            Intruder::Link,
            Intruder::Pipe,
            Intruder::Folder,
            Intruder::Device,
        ] {
            for command in [
                "train --resume sent --episodes 60",
                "eval sent --games 2",
                "plot sent",
                "check sent",
            ] {
                folders += 1;
                copy_run(&lab, name, intruder);
                let done = bounded(&lab, command);
                let what = format!("{name} as {intruder:?}: {}\n{}", done.what, done.stderr);
                assert!(matches!(done.status, Some(0..=3)), "{what}");
                assert_eq!(contents(&lab), before, "{what}: files outside have changed");
                fs::remove_dir_all(lab.path("sent")).expect("a folder of ours");
            }
        }
    }
    println!("{folders} commands on hostile folders");
}

/// What is outside of the hostile folder.
fn contents(lab: &Lab) -> (String, usize) {
    let inside = fs::read_dir(lab.path("victims")).expect("a readable folder");
    (lab.text("victim"), inside.count())
}

/// A copy of the run in which an intruder has the place of a file.
fn copy_run(lab: &Lab, name: &str, intruder: Intruder) {
    let sent = lab.path("sent");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(lab.path("run")).arg(&sent);
    assert!(copy.status().expect("cp").success());
    let place = sent.join(name);
    remove(&place);
    let target = if name == "plots" { "victims" } else { "victim" };
    match intruder {
        Intruder::Link => symlink(lab.path(target), &place).expect("a link"),
        Intruder::Folder => fs::create_dir(&place).expect("a folder"),
        Intruder::Device => symlink("/dev/zero", &place).expect("a link to a device"),
        Intruder::Pipe => {
            let made = Command::new("mkfifo").arg(&place).status();
            assert!(made.expect("mkfifo").success());
        }
    }
}

fn remove(place: &Path) {
    let _ = if place.is_dir() {
        fs::remove_dir_all(place)
    } else {
        fs::remove_file(place)
    };
}

/// Runs a command that must end within 20 seconds.
fn bounded(lab: &Lab, args: &str) -> Done {
    let program = lab.command(args);
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "20"])
        .arg(program.get_program());
    command.args(program.get_args()).current_dir(lab.path(""));
    Done::of(
        args,
        command.stdin(Stdio::null()).output().expect("timeout"),
    )
}
