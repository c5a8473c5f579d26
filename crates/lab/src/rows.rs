//! What the CSV files of a run have in common: columns named by serde, and lines that errors name.

use serde::Serialize;

/// The column names of a row type, which are the names of its fields.
pub(crate) fn columns(example: &impl Serialize) -> Result<Vec<String>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(example)?;
    let bytes = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    Ok(reader.headers()?.iter().map(str::to_owned).collect())
}

/// A row as a line of a CSV file.
pub(crate) fn line(row: &impl Serialize) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer.serialize(row)?;
    let bytes = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number of the line at a position. The reader reports where the empty lines before it begin.
pub(crate) fn line_at(bytes: &[u8], position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let from = bytes.iter().skip(position.byte() as usize);
    let empty = from.take_while(|byte| byte.is_ascii_whitespace());
    position.line() + empty.filter(|&&byte| byte == b'\n').count() as u64
}
