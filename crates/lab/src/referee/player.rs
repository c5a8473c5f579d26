//! Players: programs that are started here, or connections from this machine.
//!
//! A program gets a process group of its own, which is killed as a whole when the player is
//! dropped: whatever it has started ends with it, unless it has left the group. This is no sandbox:
//! the program runs with the rights of the user.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::channel::{Channel, PAUSE, Silence, wait};
use super::protocol::Breach;
use crate::LabError;

/// How long a player may take to end by itself: when its input is closed, or when it has closed its
/// output.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long the referee waits for a connection.
const IDLE: Duration = Duration::from_secs(60);

/// Where players come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A program with its arguments, which talks on standard input and output.
    Program(Vec<OsString>),
    /// Connections to this port of 127.0.0.1; 0 is any free port.
    Tcp(u16),
}

impl Source {
    /// The command, for the seal.
    pub(super) fn command(&self) -> Vec<String> {
        match self {
            Self::Program(words) => words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            Self::Tcp(_) => vec!["a program that has connected".to_owned()],
        }
    }

    /// A short name, for records: letters, digits, and `.`, `_` and `-`.
    pub(super) fn name(&self) -> String {
        let program = match self {
            Self::Program(words) => words.first().map(Path::new),
            Self::Tcp(_) => None,
        };
        let name = program.and_then(Path::file_name).and_then(OsStr::to_str);
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let name = name.filter(|name| name.len() <= 40 && name.chars().all(plain));
        name.unwrap_or("player").to_owned()
    }
}

/// Starts players of one source.
pub(super) enum Starter {
    Program {
        words: Vec<OsString>,
        /// The most memory of each, in bytes.
        memory: Option<u64>,
    },
    Listener(TcpListener),
}

impl Starter {
    pub(super) fn new(source: &Source, memory: Option<u64>) -> Result<Self, LabError> {
        match source {
            Source::Program(words) => Ok(Self::Program {
                words: words.clone(),
                memory,
            }),
            Source::Tcp(port) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))
                    .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
                let listener = listener.map_err(|source| LabError::Port {
                    port: *port,
                    source,
                })?;
                Ok(Self::Listener(listener))
            }
        }
    }

    /// Starts a program; `None` for connections, which players make themselves.
    pub(super) fn start_program(&self) -> io::Result<Option<Player>> {
        match self {
            Self::Program { words, memory } => Process::start(words, *memory).map(Some),
            Self::Listener(_) => Ok(None),
        }
    }

    /// Starts a player, or waits for one.
    pub(super) fn start(&self, cancelled: &dyn Fn() -> bool) -> Result<Player, Halt> {
        let gone = |error: io::Error| Breach::Exit(format!("cannot be started: {error}"));
        let listener = match self {
            Self::Listener(listener) => listener,
            Self::Program { words, memory } => {
                return Ok(Process::start(words, *memory).map_err(gone)?);
            }
        };
        let deadline = Instant::now() + IDLE;
        while Instant::now() < deadline {
            if cancelled() {
                return Err(Halt::Cancelled);
            }
            // Another thread may take the connection first.
            if wait(listener, PAUSE)
                && let Ok((stream, _)) = listener.accept()
            {
                let channel = Channel::of_stream(stream).map_err(gone)?;
                return Ok(Player {
                    channel,
                    process: None,
                });
            }
        }
        Err(Breach::Timeout(IDLE.as_millis()).into())
    }
}

/// Why a game does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    Breach(Breach),
    Cancelled,
}

impl From<Breach> for Halt {
    fn from(breach: Breach) -> Self {
        Self::Breach(breach)
    }
}

/// A player that was started.
pub(super) struct Player {
    // In this order: the pipes are closed before the process is killed.
    channel: Channel,
    process: Option<Process>,
}

impl Player {
    /// Sends a line and waits for the reply. The time is that of the referee, from before the line
    /// is sent until the reply is complete.
    pub(super) fn ask(
        &mut self,
        line: &str,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, Duration), Halt> {
        let begun = Instant::now();
        let asked = self.channel.ask(line);
        let reply = asked.and_then(|()| self.channel.receive(begun + limit, cancelled));
        let took = begun.elapsed();
        let reply = reply.map_err(|silence| match silence {
            Silence::Cancelled => Halt::Cancelled,
            Silence::Timeout => Breach::Timeout(limit.as_millis()).into(),
            Silence::Closed => Breach::Exit(self.how_it_ended()).into(),
            Silence::LongLine => Breach::LongLine.into(),
            Silence::Unasked => Breach::Unasked.into(),
            Silence::NotReading => Breach::NotReading.into(),
        })?;
        Ok((reply, took))
    }

    /// Sends a line without a reply; whether it was sent.
    pub(super) fn tell(&mut self, line: &str) -> bool {
        self.channel.tell(line).is_ok()
    }

    /// Closes the input of the player, and lets it end by itself for a moment.
    pub(super) fn dismiss(self) {
        let Self { channel, process } = self;
        drop(channel);
        if let Some(process) = process {
            process.has_ended_within(FAREWELL);
        }
    }

    /// How a player ended that has closed its output.
    fn how_it_ended(&mut self) -> String {
        let closed = || "has closed its output".to_owned();
        let Some(process) = &mut self.process else {
            return "has closed the connection".to_owned();
        };
        match process.has_ended_within(FAREWELL) {
            true => process
                .kill()
                .map_or_else(closed, |s| format!("ended: {s}")),
            false => closed(),
        }
    }
}

/// A process and its group. Both are killed, and the process reaped, when this is dropped.
struct Process(Child);

impl Process {
    fn start(words: &[OsString], memory: Option<u64>) -> io::Result<Player> {
        let (program, args) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let process = Self(child);
        process.limit(memory)?;
        let (to, from) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Player {
            channel: Channel::of_process(to, from)?,
            process: Some(process),
        })
    }

    /// Limits its memory: that which it can write to, so that maps of files do not count.
    #[cfg(target_os = "linux")]
    fn limit(&self, memory: Option<u64>) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, prlimit};

        if let Some(most) = memory {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            match prlimit(self.id(), Resource::Data, limit) {
                // It has ended already.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Only Linux can limit the memory of another process.
    #[cfg(not(target_os = "linux"))]
    fn limit(&self, _: Option<u64>) -> io::Result<()> {
        Ok(())
    }

    fn id(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.0.id()).ok()?)
    }

    /// Waits until it has ended, without reaping it: its number stays its own.
    fn has_ended_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let Some(id) = self.id() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(id), options) {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                Ok(None) => return false,
                // It was reaped before.
                Ok(Some(_)) | Err(_) => return true,
            }
        }
    }

    /// Kills the group and reaps the process. A process that has ended before keeps its status.
    fn kill(&mut self) -> Option<ExitStatus> {
        if let Some(id) = self.id() {
            // The group may be gone already.
            let _ = kill_process_group(id, Signal::KILL);
        }
        let _ = self.0.kill();
        self.0.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
