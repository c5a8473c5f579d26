//! `afterstate check`: verifies a file, or all files of a run.

use std::error::Error;
use std::fmt;

use afterstate_lab::check::{FileCheck, check};

use crate::args::CheckArgs;
use crate::interrupt;
use crate::output::{print, print_json};
use crate::progress::Display;

/// Files have faults.
#[derive(Debug)]
pub struct Damaged(usize);

impl Error for Damaged {}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 file has a fault"),
            count => write!(f, "{count} files have faults"),
        }
    }
}

pub fn run(args: &CheckArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let report = check(&args.path, &display.control());
    display.finish();
    let report = report?;
    let printed = match args.json {
        true => print_json(&report),
        false => print(report.files.iter().map(line).collect::<String>()),
    };
    // The exit status reports faults even if standard output is closed.
    match report.files.iter().filter(|file| !file.ok).count() {
        0 => printed,
        faults => Err(Damaged(faults).into()),
    }
}

fn line(file: &FileCheck) -> String {
    let about = match (&file.fault, &file.note) {
        // An error names its file.
        (Some(fault), _) => return format!("FAULT {fault}\n"),
        (None, Some(note)) => format!(" ({note})"),
        (None, None) => String::new(),
    };
    format!("ok    {}{about}\n", file.path)
}
