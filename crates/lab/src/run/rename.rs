//! Gives `blocks.csv` of a format 1 run the current column names when the run is resumed.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::LabError;
use crate::disk::{inside, replace_inside};
use crate::migrate::{block_column, former_block_column};

/// Renames the columns of the file, of which a checkpoint of format 1 covers some bytes, and
/// returns the new number of covered bytes. A file that does not match the checkpoint is unchanged.
///
/// The process may be killed before the next checkpoint: the file then has the current names, while
/// the checkpoint still counts the former header.
pub(super) fn rename_columns(path: &Path, counted: u64) -> Result<u64, LabError> {
    let bytes = inside::read(path).map_err(LabError::file("read", path))?;
    let text = std::str::from_utf8(&bytes).ok();
    let Some((header, rows)) = text.and_then(|text| text.split_once('\n')) else {
        return Ok(counted);
    };
    let named = |name: for<'a> fn(&'a str) -> std::borrow::Cow<'a, str>| {
        let names = header.split(',').map(name);
        names.collect::<Vec<_>>().join(",")
    };
    let (former, present) = (named(former_block_column), named(block_column));
    if counted <= former.len() as u64 || header == former && counted > bytes.len() as u64 {
        return Ok(counted);
    }
    if header != present {
        let renamed = format!("{present}\n{rows}");
        replace_inside(path, renamed.as_bytes()).map_err(LabError::file("write", path))?;
    }
    Ok(counted - former.len() as u64 + present.len() as u64)
}

/// The first line of a file: what columns its rows have.
pub(super) fn first_line(path: &Path) -> Result<String, LabError> {
    let file =
        inside::open(path, OpenOptions::new().read(true)).map_err(LabError::file("read", path))?;
    let mut line = Vec::new();
    let mut start = BufReader::new(file).take(LONGEST);
    let read = start.read_until(b'\n', &mut line);
    read.map_err(LabError::file("read", path))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// The longest header that is read, in bytes; ours has some hundreds.
const LONGEST: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FORMER: &str = "games,block_games,rate,q,average,ended_at_2";
    const PRESENT: &str = "games,block_games,learning_rate,value,running_average,ended_2";
    const ROWS: &str = "100,100,0.1,1,2,3\n";

    /// The content of a file after its columns are renamed, and the new count.
    fn renamed(content: &str, counted: usize) -> (String, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks.csv");
        fs::write(&path, content).unwrap();
        let counted = rename_columns(&path, counted as u64).unwrap();
        (fs::read_to_string(&path).unwrap(), counted as usize)
    }

    #[test]
    fn a_header_is_renamed_and_what_was_counted_stays_counted() {
        let former = format!("{FORMER}\n{ROWS}200,1");
        let present = format!("{PRESENT}\n{ROWS}200,1");
        let whole = |text: &str| text.len() - "200,1".len();
        let expected = (present.clone(), whole(&present));
        assert_eq!(renamed(&former, whole(&former)), expected);
        // The process was killed after that, and some rows later.
        assert_eq!(renamed(&present, whole(&former)), expected);
    }

    #[test]
    fn a_file_that_does_not_fit_stays_as_it_is() {
        let former = format!("{FORMER}\n{ROWS}");
        for (content, counted) in [
            (&former[..], former.len() + 1),
            (&former, 0),
            (FORMER, FORMER.len()),
            ("", 20),
        ] {
            assert_eq!(renamed(content, counted), (content.to_owned(), counted));
        }
    }
}
