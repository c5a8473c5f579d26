//! Boards of standard input, one per line.

use std::io::{self, BufRead, BufReader, Write};

use afterstate_lab::LabError;
use afterstate_lab::analyze::Analysis;
use afterstate_lab::board::LONGEST;
use anyhow::{Context, bail};
use serde::Serialize;

use crate::output::OutputError;

/// The answer to a line that is not a valid board.
#[derive(Serialize)]
struct Fault {
    error: String,
}

/// Answers each line of standard input with one line.
pub(super) fn answer<V: Serialize>(
    ask: impl Fn(&str) -> Result<Analysis<V>, LabError>,
) -> anyhow::Result<()> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = io::BufWriter::new(io::stdout().lock());
    let (mut questions, mut faults) = (0_u64, 0_u64);
    let mut line = Vec::new();
    while read_line(&mut input, &mut line).context("cannot read standard input")? {
        questions += 1;
        let text = String::from_utf8_lossy(&line);
        let answer = match ask(text.trim_end_matches(['\n', '\r'])) {
            Ok(analysis) => serde_json::to_string(&analysis)?,
            Err(error) => {
                faults += 1;
                let error = error.to_string();
                serde_json::to_string(&Fault { error })?
            }
        };
        writeln!(output, "{answer}").map_err(OutputError)?;
        // Flush, because the writer may wait for this answer before it sends the next board.
        if input.buffer().is_empty() {
            output.flush().map_err(OutputError)?;
        }
    }
    output.flush().map_err(OutputError)?;
    if faults > 0 {
        bail!("{faults} of {questions} lines could not be answered; see `error` in their answers");
    }
    Ok(())
}

/// Reads a line, and skips the rest of one that is too long; false at the end. Such a line keeps
/// more bytes than a board may have, so it is refused.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = LONGEST as u64 + 1;
    let read = io::Read::take(&mut *input, most).read_until(b'\n', line)?;
    if read as u64 == most && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}
