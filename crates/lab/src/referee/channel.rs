//! Lines to and from a player that may do anything: not answer, not read, write without an end.
//!
//! Reading waits with `poll` until a deadline; writing never waits. At most one line of a bounded
//! length is kept, so a flood costs no memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use super::protocol::LONGEST_REPLY;

/// How often cancellation is looked for.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Why there is no line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    Timeout,
    Closed,
    LongLine,
    Unasked,
    NotReading,
    Cancelled,
}

/// Both directions of the conversation.
pub(super) struct Channel {
    to: File,
    from: File,
}

impl Channel {
    /// The pipes of a process.
    pub(super) fn of_process(to: ChildStdin, from: ChildStdout) -> io::Result<Self> {
        // Each end of a pipe has a mode of its own: the player's end still waits.
        ioctl_fionbio(&to, true)?;
        Ok(Self {
            to: File::from(OwnedFd::from(to)),
            from: File::from(OwnedFd::from(from)),
        })
    }

    /// A connection.
    pub(super) fn of_stream(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let to = stream.try_clone()?;
        Ok(Self {
            to: File::from(OwnedFd::from(to)),
            from: File::from(OwnedFd::from(stream)),
        })
    }

    /// Sends a line, to which the player replies. It must not have written anything before.
    pub(super) fn ask(&mut self, line: &str) -> Result<(), Silence> {
        if wait(&self.from, Duration::ZERO) {
            let mut byte = [0];
            return Err(match self.from.read(&mut byte) {
                Ok(1) => Silence::Unasked,
                _ => Silence::Closed,
            });
        }
        self.tell(line)
    }

    /// Sends a line without a reply.
    pub(super) fn tell(&mut self, line: &str) -> Result<(), Silence> {
        match self.to.write(line.as_bytes()) {
            Ok(sent) if sent == line.len() => Ok(()),
            Ok(_) => Err(Silence::NotReading),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Silence::NotReading),
            Err(_) => Err(Silence::Closed),
        }
    }

    /// Waits for one line until the deadline; returns it without its end.
    pub(super) fn receive(
        &mut self,
        deadline: Instant,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Silence> {
        let mut line = Vec::new();
        // One byte more than the longest line and its end.
        let mut bytes = [0; LONGEST_REPLY + 3];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Silence::Timeout);
            }
            if cancelled() {
                return Err(Silence::Cancelled);
            }
            if !wait(&self.from, left.min(PAUSE)) {
                continue;
            }
            let room = bytes.len() - line.len();
            match self.from.read(&mut bytes[..room]) {
                Ok(0) => return Err(Silence::Closed),
                Ok(read) => line.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(Silence::Closed),
            }
            match line.iter().position(|&byte| byte == b'\n') {
                Some(end) if end + 1 < line.len() => return Err(Silence::Unasked),
                Some(_) => break,
                None if line.len() == bytes.len() => return Err(Silence::LongLine),
                None => {}
            }
        }
        let length = line.trim_ascii_end().len();
        line.truncate(length);
        match length <= LONGEST_REPLY {
            true => Ok(line),
            false => Err(Silence::LongLine),
        }
    }
}

/// Waits until there is something to read, or the other side has closed. A signal may end the wait
/// early.
pub(super) fn wait(file: &impl AsFd, time: Duration) -> bool {
    let time = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    };
    let mut files = [PollFd::new(file, PollFlags::IN)];
    poll(&mut files, Some(&time)).is_ok_and(|ready| ready > 0)
}
