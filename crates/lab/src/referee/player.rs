//! Players: programs that are started here, connections from this machine, or agents of ours.
//!
//! A program gets a process group of its own, which is killed as a whole when the player is
//! dropped. On Linux, processes that have left the group become children of the referee when their
//! parents end ([`adopt_orphans`]), and are killed as well if their environment still has the mark
//! of the player. This is no sandbox: the program runs with the rights of the user, and can start
//! processes without the mark.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::channel::{Channel, PAUSE, Silence, wait};
use super::protocol::Breach;
use crate::LabError;
use crate::agent::{Agent, PolicyFn};

/// How long a player may take to end by itself: when its input is closed, or when it has closed its
/// output.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long the referee waits for a connection.
const IDLE: Duration = Duration::from_secs(60);

/// Where players come from.
#[derive(Clone, Debug)]
pub enum PlayerSource {
    /// A program with its arguments, which talks on standard input and output.
    Program(Vec<OsString>),
    /// Connections to this port of 127.0.0.1; 0 is any free port.
    Tcp(u16),
    /// A program with its arguments that is started in a folder. What it writes to standard error
    /// is dropped.
    Entrant {
        /// Its name.
        name: String,
        /// The program and its arguments.
        words: Vec<OsString>,
        /// The folder.
        folder: PathBuf,
    },
    /// An agent, which plays in this process.
    Agent(AgentPlayer),
}

/// An agent with its name.
#[derive(Clone)]
pub struct AgentPlayer {
    /// Its name.
    pub name: String,
    /// The agent.
    pub agent: Arc<dyn Agent>,
}

impl fmt::Debug for AgentPlayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentPlayer({:?})", self.name)
    }
}

impl PlayerSource {
    /// The command, for the seal.
    pub(super) fn command(&self) -> Vec<String> {
        match self {
            Self::Program(words) | Self::Entrant { words, .. } => words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            Self::Tcp(_) => vec!["a program that has connected".to_owned()],
            Self::Agent(player) => vec!["afterstate".to_owned(), player.name.clone()],
        }
    }

    /// A short name, for records: letters, digits, and `.`, `_` and `-`.
    pub(super) fn name(&self) -> String {
        let program = match self {
            Self::Program(words) => words.first().map(Path::new),
            Self::Entrant { name, .. } => Some(Path::new(name)),
            Self::Agent(player) => Some(Path::new(&player.name)),
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
    Program(PlayerCommand),
    Listener(TcpListener),
    Agent(Arc<dyn Agent>),
}

/// A program and how it is started.
pub(super) struct PlayerCommand {
    words: Vec<OsString>,
    /// The most memory, in bytes.
    memory: Option<u64>,
    /// The folder in which it runs without a standard error; that of this process, with its standard
    /// error, if there is none.
    folder: Option<PathBuf>,
}

impl Starter {
    pub(super) fn new(source: &PlayerSource, memory: Option<u64>) -> Result<Self, LabError> {
        match source {
            PlayerSource::Program(words) => Ok(Self::Program(PlayerCommand {
                words: words.clone(),
                memory,
                folder: None,
            })),
            PlayerSource::Entrant { words, folder, .. } => Ok(Self::Program(PlayerCommand {
                words: words.clone(),
                memory,
                folder: Some(folder.clone()),
            })),
            PlayerSource::Agent(player) => Ok(Self::Agent(Arc::clone(&player.agent))),
            PlayerSource::Tcp(port) => {
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

    /// The policy of an agent, for one slot.
    pub(super) fn policy(&self) -> Option<PolicyFn<'_>> {
        match self {
            Self::Agent(agent) => Some(agent.policy_fn()),
            Self::Program(_) | Self::Listener(_) => None,
        }
    }

    /// Starts a program; `None` for connections, which players make themselves, and for agents.
    pub(super) fn start_program(&self) -> io::Result<Option<StartedPlayer>> {
        match self {
            Self::Program(program) => Process::start(program).map(Some),
            Self::Listener(_) | Self::Agent(_) => Ok(None),
        }
    }

    /// Starts a player, or waits for one.
    pub(super) fn start(&self, cancelled: &dyn Fn() -> bool) -> Result<StartedPlayer, GameEnd> {
        let gone = |error: io::Error| Breach::Exit(format!("cannot be started: {error}"));
        let listener = match self {
            Self::Listener(listener) => listener,
            Self::Program(program) => return Ok(Process::start(program).map_err(gone)?),
            Self::Agent(_) => return Err(gone(io::ErrorKind::Unsupported.into()).into()),
        };
        let deadline = Instant::now() + IDLE;
        while Instant::now() < deadline {
            if cancelled() {
                return Err(GameEnd::Cancelled);
            }
            // Another thread may take the connection first.
            if wait(listener, PAUSE)
                && let Ok((stream, _)) = listener.accept()
            {
                let channel = Channel::of_stream(stream).map_err(gone)?;
                return Ok(StartedPlayer {
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
pub(super) enum GameEnd {
    Breach(Breach),
    Cancelled,
}

impl From<Breach> for GameEnd {
    fn from(breach: Breach) -> Self {
        Self::Breach(breach)
    }
}

/// A player that was started.
pub(super) struct StartedPlayer {
    // In this order: the pipes are closed before the process is killed.
    channel: Channel,
    process: Option<Process>,
}

impl StartedPlayer {
    /// Sends a line and waits for the reply. The time is that of the referee, from before the line
    /// is sent until the reply is complete.
    pub(super) fn ask(
        &mut self,
        line: &str,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, Duration), GameEnd> {
        let begun = Instant::now();
        let asked = self.channel.ask(line);
        let reply = asked.and_then(|()| self.channel.receive(begun + limit, cancelled));
        let took = begun.elapsed();
        let reply = reply.map_err(|silence| match silence {
            Silence::Cancelled => GameEnd::Cancelled,
            Silence::Timeout => Breach::Timeout(limit.as_millis()).into(),
            Silence::Closed => Breach::Exit(self.how_it_ended()).into(),
            Silence::LongLine => Breach::LongLine.into(),
            Silence::Unasked => Breach::Unasked.into(),
            Silence::NotReading => Breach::NotReading.into(),
        })?;
        match took <= limit {
            true => Ok((reply, took)),
            false => Err(Breach::Timeout(limit.as_millis()).into()),
        }
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

/// The children of this process that are no orphans, if orphans are adopted: players, and the
/// children from before.
static KNOWN: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// From here on, processes that players leave behind become children of this process, and are
/// killed when their player ends. Only Linux can do that.
///
/// It is for programs that do nothing but play a match: it holds for the whole process until its
/// end, and the exit status of any other child that is started later may be lost. Children from
/// before, which a shell may have left to this process, are not touched.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        known().get_or_insert_with(|| children().collect());
    }
}

fn known() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variable by which processes of a player are recognised: no other player has its name.
fn new_mark() -> String {
    static PLAYERS: AtomicU64 = AtomicU64::new(0);
    let number = PLAYERS.fetch_add(1, Ordering::Relaxed);
    format!("AFTERSTATE_PLAYER_{}_{number}", std::process::id())
}

/// Kills the orphans with this mark, and those that they leave in turn, until none is left or
/// [`FAREWELL`] is over. Orphans that have ended by themselves are reaped.
fn kill_orphans(known: &HashSet<Pid>, mark: &str) {
    let deadline = Instant::now() + FAREWELL;
    let mut killed = HashSet::new();
    while Instant::now() < deadline {
        let mut orphans: Vec<Pid> = children().filter(|child| !known.contains(child)).collect();
        orphans.retain(|&orphan| {
            !is_reaped(orphan) && (killed.contains(&orphan) || has_mark(orphan, mark))
        });
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let _ = kill_process(orphan, Signal::KILL);
            killed.insert(orphan);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Reaps a child if it has ended.
fn is_reaped(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(child), options), Ok(None))
}

/// Whether the environment of a process has the mark. That of another user cannot be read, nor can
/// such a process be killed.
fn has_mark(process: Pid, mark: &str) -> bool {
    let path = format!("/proc/{}/environ", process.as_raw_nonzero());
    let variables = std::fs::read(path).unwrap_or_default();
    let mark = format!("{mark}=");
    variables
        .split(|&byte| byte == 0)
        .any(|variable| variable == mark.as_bytes())
}

/// The children of all threads of this process.
fn children() -> impl Iterator<Item = Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let lists = threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let numbers = |list: String| -> Vec<Pid> {
        list.split_whitespace()
            .filter_map(|word| Pid::from_raw(word.parse().ok()?))
            .collect()
    };
    lists.flat_map(numbers)
}

/// A process and its group. Both are killed, and the process reaped, when this is dropped.
struct Process {
    child: Child,
    mark: String,
}

impl Process {
    fn start(program: &PlayerCommand) -> io::Result<StartedPlayer> {
        let (first, args) = program.words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(first);
        if let Some(folder) = &program.folder {
            command.current_dir(folder).stderr(Stdio::null());
        }
        let mark = new_mark();
        command
            .args(args)
            .env(&mark, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        // While this is locked, no other thread takes the new player for an orphan.
        let mut known = known();
        let child = command.spawn()?;
        let mut process = Self { child, mark };
        if let Some(known) = &mut *known {
            known.extend(process.id());
        }
        drop(known);
        let pipes = process.child.stdin.take().zip(process.child.stdout.take());
        process.limit(program.memory)?;
        let (to, from) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(StartedPlayer {
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
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
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
        let _ = self.child.kill();
        let ended = self.child.wait().ok();
        if let Some(known) = &mut *known()
            && self.id().is_some_and(|id| known.remove(&id))
        {
            kill_orphans(known, &self.mark);
        }
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
