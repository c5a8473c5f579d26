//! Whether a folder has the summary of another sweep, which is not overwritten.
//!
//! A sweep is the same if it has the same name and shares a variant with the summary: variants may
//! be added and removed.

use std::collections::BTreeSet;
use std::path::Path;

use super::{SUMMARY_CSV, SUMMARY_MD, SweepError};
use crate::LabError;
use crate::disk::inside;

/// Refuses a folder with the summary of another sweep. `folders` are those of the variants.
pub(super) fn check<'a>(
    out: &Path,
    name: &str,
    folders: impl Iterator<Item = &'a String>,
) -> Result<(), LabError> {
    let read = |file: &str| {
        let path = out.join(file);
        let exists = inside::check(&path).and_then(|exists| match exists {
            true => inside::read(&path).map(Some),
            false => Ok(None),
        });
        exists.map_err(LabError::file("read", &path))
    };
    let (text, table) = (read(SUMMARY_MD)?, read(SUMMARY_CSV)?);
    let other_name = text.as_deref().and_then(name_in).filter(|it| it != name);
    let ours: BTreeSet<&str> = folders.map(String::as_str).collect();
    let theirs = table.as_deref().map_or_else(Vec::new, folders_in);
    let shared = theirs.is_empty() || theirs.iter().any(|it| ours.contains(it.as_str()));
    if other_name.is_none() && shared {
        return Ok(());
    }
    Err(SweepError::Other {
        folder: out.to_owned(),
        found: other_name.unwrap_or_else(|| name.to_owned()),
        variants: theirs.join(", "),
    }
    .into())
}

/// The name of the sweep in `summary.md`, whose first line begins with it.
fn name_in(text: &[u8]) -> Option<String> {
    let line = text.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    Some(line.split_once(": ")?.0.to_owned())
}

/// The folders of variants in `summary.csv`.
fn folders_in(table: &[u8]) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(table);
    let column = reader.headers().ok().and_then(|names| {
        let mut names = names.iter();
        names.position(|name| name == "folder")
    });
    let Some(column) = column else {
        return Vec::new();
    };
    let records = reader.records().flatten();
    let folders = records.filter_map(|record| record.get(column).map(str::to_owned));
    folders.collect()
}
