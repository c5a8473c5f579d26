//! Copies numbers from their offsets in one file to those in another, on every core.

use afterstate::format::foreign::TensorSpan;
use afterstate::format::native::Checksums;

use super::input::SourceFile;
use super::{ConvertError, ConvertOptions, Kind};
use crate::LabError;
use crate::control::{Event, Progress, Task, Unit};
use crate::disk::AtomicFile;
use crate::share::{threads, try_share};

/// Numbers copied at once.
const SOME: u64 = 1 << 17;

/// A span to copy, and its destination.
pub(super) struct Copy {
    pub(super) from: TensorSpan,
    pub(super) to: TensorSpan,
}

/// A piece of a copy: its copy, and its first number.
type Piece = (usize, u64);

/// Copies all of them. Of several errors, returns the first in the file.
pub(super) fn carry(
    input: &SourceFile,
    copies: &[Copy],
    (output, sums): (&AtomicFile, Option<&Checksums>),
    kind: Kind,
    options: &ConvertOptions<'_>,
) -> Result<(), LabError> {
    let pieces = |number: usize| {
        let starts = (0..copies[number].from.count).step_by(SOME as usize);
        starts.map(move |start| (number, start))
    };
    let pieces: Vec<Piece> = (0..copies.len()).flat_map(pieces).collect();
    try_share(threads(0), pieces.len(), || {
        let (mut bytes, mut recoded) = (Vec::new(), Vec::new());
        let pieces = &pieces;
        move |number| {
            if options.control.is_cancelled() {
                return Err(ConvertError::Stopped.into());
            }
            options.control.emit(Event::Progress(Progress {
                unit: Unit::Parts,
                total: Some(pieces.len() as u64),
                ..Progress::stage(
                    Task::Convert,
                    "copying",
                    number as f64 / pieces.len() as f64,
                    number as u64,
                )
            }));
            let (copy, start) = pieces[number];
            let Copy { from, to } = &copies[copy];
            let count = SOME.min(from.count - start);
            bytes.resize((count * from.width()) as usize, 0);
            let at = from.at + start * from.width();
            let read = input.source.read_at(&mut bytes, at);
            read.map_err(LabError::file("read", &input.path))?;
            check(input, from, start, &bytes)?;
            let bytes = match (from.float, to.float) {
                (Some(own), Some(other)) if own != other => {
                    let lost = |(place, found)| ConvertError::Inexact {
                        path: input.path.clone(),
                        table: from.tensor.clone(),
                        index: start + place as u64,
                        found,
                        kind,
                    };
                    own.recode(&bytes, other, &mut recoded).map_err(lost)?;
                    &recoded
                }
                _ => &bytes,
            };
            let at = to.at + start * to.width();
            sums.inspect(|sums| sums.add(bytes, at));
            let written = output.write_at(bytes, at);
            written.map_err(LabError::file("write", options.to))
        }
    })
}

/// Refuses numbers that are not finite, which no program would read.
fn check(input: &SourceFile, span: &TensorSpan, start: u64, bytes: &[u8]) -> Result<(), LabError> {
    let Some((place, found)) = span.float.and_then(|float| float.first_not_finite(bytes)) else {
        return Ok(());
    };
    let index = start + place as u64;
    Err(ConvertError::NotFinite {
        path: input.path.clone(),
        table: span.tensor.clone(),
        index,
        at: span.at + index * span.width(),
        found,
    }
    .into())
}
