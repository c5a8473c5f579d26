//! What every test here needs: a folder of its own, the program in it, and a look at what came of it.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A training that takes a fraction of a second: eight tables of 65,536 weights.
pub const SMALL: &str = "--threads 1 --set tuples=8x4 --set block_games=100";

/// How long anything here may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which the program is run.
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder }
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file's bytes.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file's text.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("a text file")
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file in the temporary folder");
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The program in this folder with its arguments, which are separated by spaces.
    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_afterstate"));
        command.args(args.split_whitespace());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &str) -> Done {
        Done::of(args, self.command(args).output().expect("the program"))
    }

    /// The same with one argument more, which may contain spaces.
    pub fn run_with(&self, args: &str, last: &str) -> Done {
        let output = self.command(args).arg(last).output().expect("the program");
        Done::of(&format!("{args} '{last}'"), output)
    }

    /// Starts it, and shows nothing of what it prints.
    pub fn spawn(&self, args: &str) -> Running {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("the program"))
    }

    /// Trains a small player for a few games into the folder `name`.
    pub fn train(&self, name: &str, episodes: u64, more: &str) {
        self.run(&format!(
            "train {SMALL} --episodes {episodes} --out {name} {more}"
        ))
        .succeeds();
    }

    /// Runs what must be refused: status 2, one helpful sentence with these words in it, nothing on
    /// standard output, no panic, and no file made, changed or left half-written.
    pub fn refuses(&self, args: &str, words: &[&str]) {
        let before = self.listing();
        self.run(args).refused(words);
        assert_eq!(
            before,
            self.listing(),
            "`{args}` was refused, and changed files"
        );
    }

    /// Runs what the disk or the memory does not suffice for: the same with status 3.
    pub fn lacks_room(&self, args: &str, words: &[&str]) {
        let before = self.listing();
        self.run(args).fails(3, words);
        let after = self.listing();
        assert_eq!(before, after, "`{args}` has failed, and changed files");
    }

    /// The same with one argument more, which may contain spaces.
    pub fn refuses_with(&self, args: &str, last: &str, words: &[&str]) {
        let before = self.listing();
        self.run_with(args, last).refused(words);
        assert_eq!(
            before,
            self.listing(),
            "`{args} '{last}'` was refused, and changed files"
        );
    }

    /// Every file and folder with its size, but for the locks, which have no content.
    pub fn listing(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a readable folder") {
                let path = entry.expect("an entry").path();
                let about = fs::symlink_metadata(&path).expect("its metadata");
                if about.is_dir() {
                    folders.push(path.clone());
                }
                if path.file_name().is_some_and(|name| name != ".lock") {
                    found.push((path, if about.is_file() { about.len() } else { 0 }));
                }
            }
        }
        found.sort();
        found
    }

    /// The names in a folder, sorted, but for the lock.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("a readable folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != ".lock")
            .collect();
        names.sort();
        names
    }
}

/// A run of the program that has ended.
pub struct Done {
    /// The command, for messages.
    pub what: String,
    /// Its exit status; none after a signal.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn of(args: &str, output: Output) -> Self {
        let done = Self {
            what: format!("afterstate {args} ({})", output.status),
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text on standard output"),
            stderr: String::from_utf8(output.stderr).expect("text on standard error"),
        };
        done.does_not_panic();
        done
    }

    fn does_not_panic(&self) {
        assert!(
            !self.stderr.contains("panicked") && self.status != Some(101),
            "{}: {}",
            self.what,
            self.stderr
        );
    }

    /// Checks its status.
    #[track_caller]
    pub fn ends_with(self, status: i32) -> Self {
        assert_eq!(
            self.status,
            Some(status),
            "{}\n{}\n{}",
            self.what,
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.ends_with(0)
    }

    /// Checks that it was refused with a sentence that has all these words.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Self {
        self.fails(2, words)
    }

    /// Checks that it ended with this status and a sentence that has all these words.
    #[track_caller]
    pub fn fails(self, status: i32, words: &[&str]) -> Self {
        let done = self.ends_with(status);
        let message = &done.stderr;
        assert!(
            message.starts_with("error: ") && message.trim_end().len() > 20,
            "{}: no sentence in `{message}`",
            done.what
        );
        assert!(
            message.lines().all(|line| line.len() < 1000),
            "{}: {message}",
            done.what
        );
        for word in words {
            assert!(
                message.contains(word),
                "{}: no `{word}` in `{message}`",
                done.what
            );
        }
        assert_eq!(
            done.stdout, "",
            "{}: refused, but printed something",
            done.what
        );
        done
    }

    /// The one JSON document on its standard output.
    #[track_caller]
    pub fn json(self) -> Value {
        let done = self.succeeds();
        serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("{}: {error} in\n{}", done.what, done.stdout))
    }
}

/// A program that is running; it is killed when this is dropped.
pub struct Running(Child);

impl Running {
    /// A child that was started with other outputs than [`Lab::spawn`] gives it.
    pub fn of(child: Child) -> Self {
        Self(child)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child of ours").is_some()
    }

    /// kill -9; whether that was what ended it.
    pub fn kill(mut self) -> bool {
        let running = !self.has_ended();
        // It may end between the question and the kill: then there is nothing to kill.
        let _ = self.0.kill();
        let status = self.0.wait().expect("a child of ours");
        running && status.code().is_none()
    }

    /// What it printed to the pipes that were not taken away, when it has ended by itself.
    pub fn output(mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(pipe) = &mut self.0.stdout {
            pipe.read_to_end(&mut stdout).expect("a pipe of ours");
        }
        if let Some(pipe) = &mut self.0.stderr {
            pipe.read_to_end(&mut stderr).expect("a pipe of ours");
        }
        Output {
            status: self.0.wait().expect("a child of ours"),
            stdout,
            stderr,
        }
    }

    /// Its exit status; none after a signal.
    pub fn wait(mut self) -> Option<i32> {
        wait_for("the program to end", || self.has_ended());
        self.0.wait().expect("a child of ours").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something holds.
#[track_caller]
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < PATIENCE,
            "waited {PATIENCE:?} for {what} in vain"
        );
        sleep(Duration::from_millis(1));
    }
}

/// Numbers that look random, from a seed: enough for delays and for files of rubbish.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// splitmix64
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }
}

/// A safetensors file taken apart: its header, and the bytes of its tensors. Its checksums are
/// removed, because they would find every change before the checks that are tested.
pub struct Tensors {
    pub header: Value,
    pub data: Vec<u8>,
}

impl Tensors {
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (length, rest) = bytes.split_first_chunk::<8>().expect("a length");
        let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let mut header: Value = serde_json::from_slice(header).expect("a JSON header");
        if let Some(metadata) = header["__metadata__"].as_object_mut() {
            metadata.retain(|key, _| !key.starts_with("checksum"));
        }
        Self {
            header,
            data: data.to_vec(),
        }
    }

    /// A value of its metadata.
    pub fn meta(&mut self, key: &str) -> &mut Value {
        &mut self.header["__metadata__"][key]
    }

    /// Where in its data a tensor is.
    pub fn range(&self, name: &str) -> Range<usize> {
        let place = &self.header[name]["data_offsets"];
        let byte = |n: usize| place[n].as_u64().expect("an offset") as usize;
        byte(0)..byte(1)
    }

    pub fn write(&self, path: &Path) {
        fs::write(path, self.to_bytes()).expect("a file in the temporary folder");
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let header = self.header.to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

/// The rows of a run's `blocks.csv`, each by the names of its columns.
pub struct Blocks {
    pub header: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Blocks {
    pub fn of(lab: &Lab, run: &str) -> Self {
        let text = lab.text(&format!("{run}/blocks.csv"));
        assert!(text.ends_with('\n'), "half a line in {text}");
        let mut lines = text.lines();
        let header: Vec<String> = lines
            .next()
            .expect("a header")
            .split(',')
            .map(str::to_owned)
            .collect();
        let number = |field: &str| {
            field
                .parse()
                .unwrap_or_else(|_| panic!("`{field}` in {text}"))
        };
        let rows: Vec<Vec<f64>> = lines
            .map(|line| line.split(',').map(number).collect())
            .collect();
        for row in &rows {
            assert_eq!(row.len(), header.len(), "a row of another length in {text}");
        }
        Self { header, rows }
    }

    /// A column, by its name.
    pub fn column(&self, name: &str) -> Vec<f64> {
        let place = self.header.iter().position(|column| column == name);
        let place = place.unwrap_or_else(|| panic!("no column {name} in {:?}", self.header));
        self.rows.iter().map(|row| row[place]).collect()
    }

    /// The counts of games by their largest tile, of each row.
    pub fn ended(&self) -> Vec<Vec<(u64, f64)>> {
        let columns = self.header.iter().enumerate().filter_map(|(place, name)| {
            let tile = name.strip_prefix("ended_")?;
            Some((place, tile.parse().expect("a tile")))
        });
        let columns: Vec<(usize, u64)> = columns.collect();
        let of = |row: &Vec<f64>| {
            columns
                .iter()
                .map(|&(place, tile)| (tile, row[place]))
                .collect()
        };
        self.rows.iter().map(of).collect()
    }
}

/// The scores of a run's `scores.txt`, whose lines must be in its format and numbered from 1 without a gap.
pub fn scores(lab: &Lab, run: &str) -> Vec<u64> {
    let text = lab.text(&format!("{run}/scores.txt"));
    assert!(text.is_empty() || text.ends_with('\n'), "half a line");
    let score = |(number, line): (u64, &str)| {
        let rest = line.strip_prefix(&format!("episode : {number}, score : "));
        let score = rest.and_then(|rest| rest.parse().ok());
        score.unwrap_or_else(|| panic!("line {number} of scores.txt reads `{line}`"))
    };
    (1..).zip(text.lines()).map(score).collect()
}
