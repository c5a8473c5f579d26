use std::process::Command;

use serde::Deserialize;

use super::*;
use crate::block::ReplayBlock;

/// Lengths and checksums of the records of a file, and their data.
fn records(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at(12);
        let length: [u8; 8] = head[..8].try_into().unwrap();
        assert_eq!(head[8..], masked_crc(&length).to_le_bytes());
        let (data, rest) = rest.split_at(u64::from_le_bytes(length) as usize);
        let (crc, rest) = rest.split_at(4);
        assert_eq!(crc, masked_crc(data).to_le_bytes());
        records.push(data.to_vec());
        bytes = rest;
    }
    records
}

/// The first vector is of RFC 3720; the others are `masked_crc32c` of tensorboard 2.21.
#[test]
fn checksums_are_masked_crc32c() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(masked_crc(b""), 0xa282_ead8);
    assert_eq!(masked_crc(b"123456789"), 0xc78a_b0e5);
}

/// The first record of an event file by tensorboard 2.21, but for the time, which is 1.5 here.
#[test]
fn a_record_is_framed_as_tensorboard_frames_it() {
    let event = version(1.5);
    let data = b"\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0dbrain.Event:2";
    assert_eq!(event, data);
    let record = framed(&event);
    assert_eq!(record[..8], 24u64.to_le_bytes());
    assert_eq!(record.len(), 8 + 4 + 24 + 4);
    assert_eq!(records(&record), [event]);
}

#[test]
fn messages_are_protobuf() {
    let scalars = [scalar("a", 1.0), scalar("bc", -2.5)];
    let event = summary(&scalars, 300, 0.0);
    let expected: [&[u8]; 5] = [
        b"\x09\0\0\0\0\0\0\0\0",
        b"\x10\xac\x02",
        b"\x2a\x15",
        b"\x0a\x08\x0a\x01a\x15\0\0\x80\x3f",
        b"\x0a\x09\x0a\x02bc\x15\0\0\x20\xc0",
    ];
    assert_eq!(event, expected.concat());
    assert_eq!(restart(5, 0.0)[9..], *b"\x10\x05\x3a\x02\x08\x01");
}

#[test]
fn a_new_file_comes_after_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = || {
        let writer = EventWriter::create(folder.path()).unwrap();
        writer.path().to_owned()
    };
    let mut paths = vec![path(), path(), path()];
    // As by a clock that was an hour ahead.
    let ahead = format!("{PREFIX}{:010}.other.7", now() as u64 + 3600);
    let ahead = folder.path().join(ahead);
    fs::write(&ahead, "").unwrap();
    paths.extend([ahead, path(), path()]);
    assert!(paths.is_sorted_by(|a, b| a < b), "{paths:?}");
}

/// The tiles of a game.
const TILES: [u64; 6] = [256, 512, 1024, 2048, 4096, 8192];

fn block(games: u64, mean: f64) -> Block {
    Block {
        games,
        block_games: 100,
        mean,
        max: 20_000,
        moves_per_second: 1_234_567,
        learning_rate: 0.1,
        ended: [(1024, 25), (2048, 50), (4096, 25)].into(),
        ..Block::default()
    }
}

#[test]
fn a_block_becomes_scalars() {
    let scalars = from_block(&block(100, 12.5), &[512, 1024, 2048, 4096]);
    let find = |tag: &str| scalars.iter().find(|scalar| scalar.tag == tag);
    for (tag, value) in [
        ("score/mean", 12.5),
        ("score/max", 20_000.0),
        ("training/learning_rate", 0.1),
        ("training/moves_per_second", 1_234_567.0),
        // Every game passed it, and none ended with it.
        ("win_rate/512", 1.0),
        ("win_rate/1024", 1.0),
        ("win_rate/2048", 0.75),
        ("win_rate/4096", 0.25),
    ] {
        assert_eq!(find(tag).map(|scalar| scalar.value), Some(value), "{tag}");
    }
    assert!(find("training/loss").is_none());
    let replay = Some(ReplayBlock {
        updates: 700,
        loss: 0.5,
        ..ReplayBlock::default()
    });
    let with_replay = Block {
        replay,
        ..block(100, 12.5)
    };
    let scalars = from_block(&with_replay, &[]);
    assert!(scalars.contains(&scalar("training/loss", 0.5)));
    assert!(scalars.contains(&scalar("training/updates", 700.0)));
}

/// The tiles with a win rate are those up to the largest of the run, also after it was resumed.
#[test]
fn win_rates_go_up_to_the_largest_tile_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let rates = |writer: &EventWriter| {
        let bytes = fs::read(writer.path()).unwrap();
        let last = records(&bytes).pop().unwrap();
        let text = String::from_utf8_lossy(&last).into_owned();
        text.matches("win_rate/").count()
    };
    let large = Block {
        ended: [(8192, 100)].into(),
        ..block(100, 1.0)
    };
    let mut writer = EventWriter::create(folder.path()).unwrap();
    writer.block(&block(100, 1.0), &TILES).unwrap();
    assert_eq!(rates(&writer), 5);
    writer.block(&large, &TILES).unwrap();
    writer.block(&block(300, 1.0), &TILES).unwrap();
    assert_eq!(rates(&writer), 6);
    let mut writer = EventWriter::resume(folder.path(), 300, &[large]).unwrap();
    writer.block(&block(400, 1.0), &TILES).unwrap();
    assert_eq!(rates(&writer), 6);
}

/// A Python with tensorboard, if there is one: `./test` makes it.
fn python() -> Option<String> {
    let named = std::env::var("AFTERSTATE_PYTHON").ok();
    let named = named.filter(|name| !name.is_empty());
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let import = Command::new(&python)
        .args(["-c", "import tensorboard"])
        .output();
    match import {
        Ok(output) if output.status.success() => Some(python),
        _ if named.is_some() => panic!("AFTERSTATE_PYTHON={python} has no tensorboard"),
        _ => {
            eprintln!("SKIPPED: no python3 with tensorboard; `./test` makes one");
            None
        }
    }
}

/// One scalar as TensorBoard finds it.
#[derive(Debug, Deserialize, PartialEq)]
struct Read {
    tag: String,
    step: u64,
    wall_time: f64,
    value: f32,
}

/// All scalars in a folder, by the part of TensorBoard that reads it.
fn read(python: &str, folder: &Path) -> Vec<Read> {
    const SCRIPT: &str = "
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0}).Reload()
print(json.dumps([
    {'tag': tag, 'step': e.step, 'wall_time': e.wall_time, 'value': e.value}
    for tag in events.Tags()['scalars'] for e in events.Scalars(tag)
]))";
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn point(tag: &str, step: u64, wall_time: f64, value: f32) -> Read {
    let tag = tag.to_owned();
    Read {
        tag,
        step,
        wall_time,
        value,
    }
}

#[test]
fn the_real_tensorboard_reads_the_scalars() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(folder.path()).unwrap();
    let values = [0.1, -1e30, f32::MIN_POSITIVE, 177_340.5, 0.0];
    let mut expected = Vec::new();
    for (tag, from) in [("score/mean", 1), ("training/ü", 1 << 40)] {
        for (step, value) in (from..).zip(values) {
            let time = 1_763_000_000.125 + step as f64;
            writer.scalar(tag, step, time, value).unwrap();
            expected.push(point(tag, step, time, value));
        }
    }
    writer.flush().unwrap();
    let mut found = read(&python, folder.path());
    found.sort_by(|a, b| a.tag.cmp(&b.tag));
    assert_eq!(found, expected);
}

#[test]
fn tensorboard_discards_what_a_resumed_run_repeats() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let means = || {
        let found = read(&python, folder.path()).into_iter();
        let found = found.filter(|read| read.tag == "score/mean");
        found
            .map(|read| (read.step, read.value))
            .collect::<Vec<_>>()
    };
    // Four blocks, the last of them torn by a crash; the checkpoint is from game 250.
    let mut writer = EventWriter::create(folder.path()).unwrap();
    for (games, mean) in [(100, 1.0), (200, 2.0), (300, 3.0), (400, 4.0)] {
        writer.block(&block(games, mean), &TILES).unwrap();
    }
    let torn = fs::read(writer.path()).unwrap();
    fs::write(writer.path(), &torn[..torn.len() - 5]).unwrap();
    assert_eq!(means(), [(100, 1.0), (200, 2.0), (300, 3.0)]);
    // Void events are gone at once, before there is anything in their place.
    let mut writer = EventWriter::resume(folder.path(), 250, &[]).unwrap();
    assert_eq!(means(), [(100, 1.0), (200, 2.0)]);
    for (games, mean) in [(300, 3.5), (400, 4.5)] {
        writer.block(&block(games, mean), &TILES).unwrap();
    }
    let expected = [(100, 1.0), (200, 2.0), (300, 3.5), (400, 4.5)];
    assert_eq!(means(), expected);
    // A checkpoint at the end of a block keeps that block; one before the first keeps nothing.
    EventWriter::resume(folder.path(), 400, &[]).unwrap();
    assert_eq!(means(), expected);
    EventWriter::resume(folder.path(), 0, &[]).unwrap();
    assert_eq!(means(), []);
}
