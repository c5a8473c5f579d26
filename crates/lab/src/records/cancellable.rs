//! Reading that can be cancelled while it waits.
//!
//! Reading a FIFO or a terminal waits until someone writes, and opening a FIFO does as well. Neither
//! can be interrupted, so another thread does both. When the work is cancelled, the thread is left
//! waiting, and what was read until then is all there is.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::control::Control;

/// Bytes that are read at once, and pieces that are read ahead.
const PIECE: usize = 1 << 18;
const AHEAD: usize = 4;
/// How often cancellation is looked for.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct Cancellable {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    /// How much of the piece has been handed out.
    taken: usize,
    control: Control,
}

impl Cancellable {
    /// Opens something in another thread, and reads it there.
    pub(crate) fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        control: &Control,
    ) -> Self {
        let (sender, pieces) = sync_channel(AHEAD);
        let refused = sender.clone();
        let started = thread::Builder::new().spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => {
                    // The receiver may be dropped already.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut piece = vec![0; PIECE];
                let read = input.read(&mut piece);
                let read = match read {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.map(|length| {
                        piece.truncate(length);
                        piece
                    }),
                };
                let is_last = read.as_ref().map_or(true, Vec::is_empty);
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        if let Err(error) = started {
            let _ = refused.send(Err(error));
        }
        drop(refused);
        Self {
            pieces,
            piece: Vec::new(),
            taken: 0,
            control: control.clone(),
        }
    }
}

impl Read for Cancellable {
    /// Ends when the work is cancelled, as at the end of a file.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() {
            if self.control.is_cancelled() {
                return Ok(0);
            }
            match self.pieces.recv_timeout(PAUSE) {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let length = bytes.len().min(self.piece.len() - self.taken);
        bytes[..length].copy_from_slice(&self.piece[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read_in_order() {
        let all: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let input = io::Cursor::new(all.clone());
        let mut read = Vec::new();
        let mut cancellable = Cancellable::new(move || Ok(input), &Control::new());
        cancellable.read_to_end(&mut read).unwrap();
        assert!(read == all);
        assert_eq!(cancellable.read(&mut [0; 9]).unwrap(), 0, "the end stays");
    }

    #[test]
    fn an_error_is_told() {
        let open = || Err::<io::Empty, _>(io::ErrorKind::PermissionDenied.into());
        let error = Cancellable::new(open, &Control::new())
            .read(&mut [0])
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    /// Nobody ever writes to this pipe.
    #[test]
    fn waiting_can_be_cancelled() {
        let (reader, _writer) = io::pipe().unwrap();
        let control = Control::new();
        let cancel = control.cancel_token();
        let mut cancellable = Cancellable::new(move || Ok(reader), &control);
        let waiting = thread::spawn(move || cancellable.read(&mut [0]));
        cancel.cancel();
        assert_eq!(waiting.join().unwrap().unwrap(), 0);
    }
}
