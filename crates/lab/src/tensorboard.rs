//! Event files that TensorBoard reads: the statistics of blocks as scalars over games.
//!
//! An event file is a sequence of records, each `length: u64, crc(length), data, crc(data)`, all
//! little-endian. The checksum is a CRC32C, rotated and shifted by a constant ("masked"). The data
//! is one `Event` message of TensorFlow's `event.proto`; the few fields that scalars need are
//! encoded here by hand. The first event names the version of the file.
//!
//! Every process writes a new file, and TensorBoard reads the files of a folder in the order of
//! their names. A resumed run repeats the games after its last checkpoint, so events of those games
//! are void. Its file begins with a `SessionLog` event of status `START`, at which TensorBoard
//! discards all earlier events from that step on, as it documents for restarts
//! (`purge_orphaned_data`). Nothing is shown twice, and old files are never changed. `blocks.csv`
//! stays the record of the run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::block::Block;

/// What the names of all event files begin with; the time of creation follows.
const PREFIX: &str = "events.out.tfevents.";
/// The version that makes TensorBoard look for restarts.
const VERSION: &str = "brain.Event:2";

/// One number of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The name of its chart, with a group before the slash.
    pub tag: String,
    /// Its value; files have 32 bits for it.
    pub value: f32,
}

/// The scalars of a block, with a win rate for each of `tiles`. Their step is the block's number of
/// games.
pub fn from_block(block: &Block, tiles: &[u64]) -> Vec<Scalar> {
    let tally = block.tally();
    let mut scalars = vec![
        scalar("score/mean", block.mean),
        scalar("score/max", block.max as f64),
        scalar("training/learning_rate", block.learning_rate.into()),
        scalar("training/moves_per_second", block.moves_per_second as f64),
    ];
    if let Some(replay) = &block.replay {
        scalars.extend([
            scalar("score/running_average", replay.running_average),
            scalar("training/updates", replay.updates as f64),
            scalar("training/loss", replay.loss),
            scalar("training/value", replay.value),
            scalar("training/reward", replay.reward),
        ]);
        let iterations = replay.iterations.map(|count| count as f64);
        scalars.extend(iterations.map(|count| scalar("training/iterations", count)));
    }
    for &tile in tiles {
        scalars.push(scalar(&format!("win_rate/{tile}"), tally.reach(tile)));
    }
    scalars
}

fn scalar(tag: &str, value: f64) -> Scalar {
    Scalar {
        tag: tag.to_owned(),
        value: value as f32,
    }
}

/// An event file that is being written.
#[derive(Debug)]
pub struct EventWriter {
    file: BufWriter<File>,
    path: PathBuf,
    /// The largest tile of the run so far.
    largest: u64,
}

impl EventWriter {
    /// Starts a new event file in a folder, which is created if missing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let (file, path) = new_file(folder)?;
        let file = BufWriter::new(file);
        let mut writer = Self {
            file,
            path,
            largest: 0,
        };
        writer.record(&version(now()))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Starts a new event file for a run that continues after `step` and these blocks: what earlier
    /// files say of later steps is void. For a run that begins, that is step 0.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn resume(folder: &Path, step: u64, blocks: &[Block]) -> io::Result<Self> {
        let mut writer = Self::create(folder)?;
        writer.largest = blocks.iter().map(largest).max().unwrap_or(0);
        writer.record(&restart(step.saturating_add(1), now()))?;
        writer.flush()?;
        Ok(writer)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds one scalar. The time is in seconds since 1970.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn scalar(&mut self, tag: &str, step: u64, wall_time: f64, value: f32) -> io::Result<()> {
        let tag = tag.to_owned();
        self.scalars(&[Scalar { tag, value }], step, wall_time)
    }

    /// Adds the scalars of a block at the present time, and hands them to the system, so that
    /// TensorBoard shows them. Of all tiles of the game, given in ascending order, those up to the
    /// largest of the run so far have a win rate: 1 where every game of the block passed the tile, 0
    /// where none reached it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn block(&mut self, block: &Block, tiles: &[u64]) -> io::Result<()> {
        self.largest = self.largest.max(largest(block));
        let seen = tiles.partition_point(|&tile| tile <= self.largest);
        self.scalars(&from_block(block, &tiles[..seen]), block.games, now())?;
        self.flush()
    }

    /// Adds scalars of one step as one event.
    fn scalars(&mut self, scalars: &[Scalar], step: u64, wall_time: f64) -> io::Result<()> {
        self.record(&summary(scalars, step, wall_time))
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn record(&mut self, data: &[u8]) -> io::Result<()> {
        self.file.write_all(&framed(data))
    }
}

/// The largest tile of all games of a block; 0 without games.
fn largest(block: &Block) -> u64 {
    block.ended.keys().next_back().copied().unwrap_or(0)
}

/// Seconds since 1970.
fn now() -> f64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.as_ref().map_or(0.0, Duration::as_secs_f64)
}

/// A new file whose name comes after those of all event files in the folder.
fn new_file(folder: &Path) -> io::Result<(File, PathBuf)> {
    let mut time = now() as u64;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let other = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let other: Option<u64> = other.and_then(|rest| rest.split('.').next()?.parse().ok());
        // Also after one of the same second, and of a clock that has been set back since.
        time = time.max(other.map_or(0, |other| other.saturating_add(1)));
    }
    loop {
        let path = folder.join(format!("{PREFIX}{time:010}.afterstate"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && time < u64::MAX => {
                time += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A record of this data.
fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let parts: [&[u8]; 4] = [
        &length,
        &masked_crc(&length).to_le_bytes(),
        data,
        &masked_crc(data).to_le_bytes(),
    ];
    parts.concat()
}

/// The checksum of records, masked so that the checksum of data with checksums in it stays useful.
fn masked_crc(data: &[u8]) -> u32 {
    const MASK: u32 = 0xa282_ead8;
    crc32c::crc32c(data).rotate_right(15).wrapping_add(MASK)
}

/// Field numbers of the messages in `event.proto` and `summary.proto`.
mod field {
    pub const WALL_TIME: u64 = 1;
    pub const STEP: u64 = 2;
    pub const FILE_VERSION: u64 = 3;
    pub const SUMMARY: u64 = 5;
    pub const SESSION_LOG: u64 = 7;
    /// Of `SessionLog`.
    pub const STATUS: u64 = 1;
    /// Of `Summary`.
    pub const VALUE: u64 = 1;
    /// Of `Summary.Value`.
    pub const TAG: u64 = 1;
    pub const SIMPLE_VALUE: u64 = 2;
}

/// `SessionLog.START`.
const START: u64 = 1;

fn version(wall_time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(field::WALL_TIME, wall_time);
    event.bytes(field::FILE_VERSION, VERSION.as_bytes());
    event.0
}

fn restart(step: u64, wall_time: f64) -> Vec<u8> {
    let mut log = Message::default();
    log.integer(field::STATUS, START);
    let mut event = Message::default();
    event.double(field::WALL_TIME, wall_time);
    event.integer(field::STEP, step);
    event.bytes(field::SESSION_LOG, &log.0);
    event.0
}

fn summary(scalars: &[Scalar], step: u64, wall_time: f64) -> Vec<u8> {
    let mut summary = Message::default();
    for scalar in scalars {
        let mut value = Message::default();
        value.bytes(field::TAG, scalar.tag.as_bytes());
        value.float(field::SIMPLE_VALUE, scalar.value);
        summary.bytes(field::VALUE, &value.0);
    }
    let mut event = Message::default();
    event.double(field::WALL_TIME, wall_time);
    event.integer(field::STEP, step);
    event.bytes(field::SUMMARY, &summary.0);
    event.0
}

/// A protobuf message: fields one after another, each headed by its number and wire type.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// A variable-length integer. Steps beyond `i64` do not occur: no run has as many games.
    fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    /// Text or another message.
    fn bytes(&mut self, field: u64, content: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(content.len() as u64);
        self.0.extend(content);
    }

    /// Seven bits in each byte, the lowest first; all but the last have their top bit set.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests;
