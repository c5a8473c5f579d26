//! `play` on a real pseudo-terminal, whose other side is a terminal emulator.

mod saved;

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::common::{Lab, wait_for};

/// What the program has written: all bytes, and the screen that they make.
struct Seen {
    bytes: Vec<u8>,
    emulator: vt100::Parser,
}

/// The program on a pseudo-terminal.
struct Terminal {
    child: std::process::Child,
    master: File,
    seen: Arc<Mutex<Seen>>,
    reader: Option<JoinHandle<()>>,
    /// Tells the reader to end.
    hung_up: Arc<AtomicBool>,
}

const DOWN: &[u8] = b"\x1b[B";
const LEFT: &[u8] = b"\x1b[D";
const ENTER_SCREEN: &[u8] = b"\x1b[?1049h";
const LEAVE_SCREEN: &[u8] = b"\x1b[?1049l";
const SHOW_CURSOR: &[u8] = b"\x1b[?25h";

fn size(columns: u16, lines: u16) -> Winsize {
    Winsize {
        ws_row: lines,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn side(length: u16) -> NonZero<u16> {
    NonZero::new(length).expect("a window")
}

impl Terminal {
    /// Starts it in a window of 60x20.
    fn start(lab: &Lab, args: &str) -> Self {
        Self::start_with(lab, args, &[])
    }

    fn start_with(lab: &Lab, args: &str, variables: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        // The program must not have it open, or it is never closed.
        fcntl_setfd(&master, FdFlags::CLOEXEC).expect("a descriptor");
        grantpt(&master).expect("its other side");
        unlockpt(&master).expect("its other side");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave: OwnedFd = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
        tcsetwinsize(&slave, size(60, 20)).expect("its size");
        let mut command = lab.command(args);
        command.env_remove("NO_COLOR").env_remove("COLORTERM");
        command
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8");
        command.envs(variables.iter().copied());
        let stdio = || Stdio::from(slave.try_clone().expect("a descriptor"));
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().expect("the program");
        drop((command, slave));
        let master = File::from(master);
        let hung_up = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen {
            bytes: Vec::new(),
            emulator: vt100::Parser::new(side(20), side(60), 0),
        }));
        let reader = {
            let (mut master, seen) = (master.try_clone().expect("a descriptor"), seen.clone());
            let hung_up = hung_up.clone();
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while !hung_up.load(Ordering::Relaxed) {
                    if !is_readable(&master) {
                        continue;
                    }
                    // The end is an error once no process has the other side open.
                    let Ok(count @ 1..) = master.read(&mut bytes) else {
                        return;
                    };
                    let mut seen = seen.lock().expect("the screen");
                    seen.bytes.extend_from_slice(&bytes[..count]);
                    seen.emulator.process(&bytes[..count]);
                }
            })
        };
        Self {
            child,
            master,
            seen,
            reader: Some(reader),
            hung_up,
        }
    }

    fn send(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("the terminal");
    }

    fn screen(&self) -> String {
        self.seen
            .lock()
            .expect("the screen")
            .emulator
            .screen()
            .contents()
    }

    fn is_alternate(&self) -> bool {
        let seen = self.seen.lock().expect("the screen");
        seen.emulator.screen().alternate_screen()
    }

    /// Waits until the screen has these words.
    #[track_caller]
    fn shows(&self, words: &str) {
        wait_for(words, || self.screen().contains(words));
    }

    fn resize(&self, columns: u16, lines: u16) {
        let mut seen = self.seen.lock().expect("the screen");
        seen.emulator
            .screen_mut()
            .set_size(side(lines), side(columns));
        drop(seen);
        tcsetwinsize(&self.master, size(columns, lines)).expect("its size");
        // The pseudo-terminal does not control the program, so the system sends no signal.
        self.signal(Signal::WINCH);
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id() as i32).expect("a process");
        kill_process(id, signal).expect("a process of ours");
    }

    /// Closes the window, and returns the exit status.
    fn hang_up(mut self) -> Option<i32> {
        self.hung_up.store(true, Ordering::Relaxed);
        let reader = self.reader.take().expect("a reader");
        reader.join().expect("a thread of ours");
        self.master = File::open("/dev/null").expect("a device");
        let mut ended: Option<ExitStatus> = None;
        wait_for("the program to end", || {
            ended = self.child.try_wait().expect("a child of ours");
            ended.is_some()
        });
        ended.and_then(|ended| ended.code())
    }

    /// Presses slides until one more move is made.
    fn make_a_move(&mut self, moves: u64) {
        let wanted = format!("moves {}", moves + 1);
        self.send(DOWN);
        let changed = |screen: &str| screen.contains(&wanted) || screen.contains("nothing");
        wait_for("a slide", || changed(&self.screen()));
        if !self.screen().contains(&wanted) {
            self.send(LEFT);
        }
        self.shows(&wanted);
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    fn ends_with(mut self, status: i32) -> String {
        let mut ended: Option<ExitStatus> = None;
        wait_for("the program to end", || {
            ended = self.child.try_wait().expect("a child of ours");
            ended.is_some()
        });
        if let Some(reader) = self.reader.take() {
            // The slave is closed, so the reader ends.
            reader.join().expect("a thread of ours");
        }
        let seen = self.seen.lock().expect("the screen");
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        assert_eq!(ended.and_then(|it| it.code()), Some(status), "{text:?}");
        let screen = seen.emulator.screen();
        assert!(
            !screen.alternate_screen() && !screen.hide_cursor(),
            "{text:?}"
        );
        assert!(!text.contains("panicked"), "{text:?}");
        if position(&seen.bytes, ENTER_SCREEN).is_some() {
            let left = position(&seen.bytes, LEAVE_SCREEN).expect("the usual screen");
            let shown = position(&seen.bytes, SHOW_CURSOR).expect("the cursor");
            let entered = position(&seen.bytes, ENTER_SCREEN).expect("the other screen");
            assert!(entered < left && entered < shown);
        }
        let modes = tcgetattr(&self.master).expect("its modes").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        screen.contents()
    }
}

/// A test that fails leaves no process behind.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is something to read, or the other side is closed, within a moment.
fn is_readable(file: &File) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    poll(&mut polled, Some(&moment)).is_ok_and(|count| count > 0)
}

/// The last place of some bytes in others.
fn position(all: &[u8], wanted: &[u8]) -> Option<usize> {
    all.windows(wanted.len()).rposition(|bytes| bytes == wanted)
}

#[test]
fn a_game_is_played_saved_and_opened() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --save games.txt");
    terminal.shows("2048 on 3x4");
    terminal.shows("by hand, without a model");
    for moves in 0..4 {
        terminal.make_a_move(moves);
    }
    terminal.send(b" ");
    terminal.shows("afterstate train");
    terminal.send(b"nn");
    terminal.shows("moves 0");
    for moves in 0..2 {
        terminal.make_a_move(moves);
    }
    terminal.send(b"q");
    let left = terminal.ends_with(0);
    assert!(
        left.contains("2 moves") && left.contains("saved to games.txt"),
        "{left}"
    );
    let before = lab.text("games.txt");
    assert_eq!(saved::moves(&before), [4, 2], "{before}");
    // The first one goes on, and moves to the end of the file; the other game stays.
    let open = "play --seed 1 --board 3x4 --open games.txt --number 1 --save games.txt";
    let mut terminal = Terminal::start(&lab, open);
    terminal.shows("moves 4");
    terminal.make_a_move(4);
    terminal.send(b"nn");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    terminal.send(b"q");
    terminal.ends_with(0);
    let text = lab.text("games.txt");
    assert_eq!(saved::moves(&text), [2, 5, 1], "{text}");
    assert_eq!(text.lines().next(), before.lines().last());
}

/// Whatever ends the program, the terminal is restored, and the game is in its file.
#[test]
fn signals_save_and_restore_the_terminal() {
    let lab = Lab::new();
    for (signal, status) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let file = format!("{status}.txt");
        let mut terminal =
            Terminal::start(&lab, &format!("play --seed 1 --board 3x4 --save {file}"));
        terminal.shows("moves 0");
        assert!(terminal.is_alternate());
        terminal.make_a_move(0);
        terminal.signal(signal);
        terminal.ends_with(status);
        assert_eq!(lab.text(&file).matches('#').count(), 1);
    }
    let mut terminal = Terminal::start(&lab, "play --board 3x4");
    terminal.shows("moves 0");
    terminal.send(b"\x03");
    terminal.ends_with(130);
}

/// A terminal that is gone without a signal is noticed: the summary cannot be written, and that is
/// all that is lost.
#[test]
fn a_window_that_is_closed_ends_the_program() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --save games.txt");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    assert_eq!(terminal.hang_up(), Some(3));
    assert_eq!(lab.text("games.txt").matches('#').count(), 1);
}

#[test]
fn it_can_be_suspended_and_the_window_resized() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --game threes-hint");
    terminal.shows("next tile");
    terminal.resize(40, 10);
    terminal.shows("too small");
    // Nothing is played that cannot be seen.
    terminal.send(b"wasd");
    terminal.resize(80, 24);
    terminal.shows("next tile");
    terminal.shows("moves 0");
    terminal.send(b"\x1a");
    wait_for("the usual screen", || !terminal.is_alternate());
    // Continued once it is really stopped.
    let status = format!("/proc/{}/status", terminal.child.id());
    let is_stopped = || std::fs::read_to_string(&status).is_ok_and(|it| it.contains("(stopped)"));
    if cfg!(target_os = "linux") {
        wait_for("it to stop", is_stopped);
    }
    terminal.signal(Signal::CONT);
    wait_for("the other screen", || terminal.is_alternate());
    terminal.shows("next tile");
    terminal.send(b"q");
    terminal.ends_with(0);
}

#[test]
fn a_model_is_watched_asked_and_coaches() {
    let lab = Lab::new();
    lab.train("runs/small", 100, "--board 2x3 --set tuples=012");
    let watch = "play --board 2x3 --watch --seed 1 --search 2ply --save games.txt";
    let mut terminal = Terminal::start(&lab, watch);
    terminal.shows("runs/small");
    terminal.send(b"++++++");
    terminal.shows("game over");
    terminal.shows("best");
    terminal.send(b"q");
    terminal.ends_with(0);
    // The games are those of an evaluation with the seed and the search.
    lab.run("eval runs/small --seed 1 --games 1 --search 2ply --records eval.txt")
        .succeeds();
    let actions = |name: &str| {
        let line = lab.text(name);
        let moves = line.split('|').nth(1).expect("moves").to_owned();
        // Without the times of moves.
        let mut parts = moves.split('(');
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.split_once(')').expect("a time").1);
        first + &rest.collect::<String>()
    };
    assert_eq!(actions("games.txt"), actions("eval.txt"));
    let judged = lab.run("judge games.txt --board 2x3 --game 2048 --json");
    assert!(
        judged.stdout.contains("\"episodes\": 1"),
        "{}",
        judged.stdout
    );
    let mut terminal = Terminal::start(&lab, "play runs/small --seed 2");
    terminal.shows("moves 0");
    terminal.send(b"v");
    terminal.shows("value");
    terminal.send(b"vi");
    terminal.shows("hint: ");
    terminal.send(b" ");
    terminal.shows("best move");
    terminal.send(b"?");
    terminal.shows("undo, redo");
    terminal.send(b"?u");
    terminal.shows("moves 0");
    terminal.send(b"3");
    terminal.shows("3ply");
    terminal.send(b"e");
    terminal.shows("saved to play.txt");
    terminal.send(b"q");
    terminal.ends_with(0);
    assert!(lab.exists("play.txt"));
}

#[test]
fn colours_are_used_only_if_wanted() {
    let lab = Lab::new();
    let colours = |args: &str, variables: &[(&str, &str)]| {
        let mut terminal = Terminal::start_with(&lab, args, variables);
        terminal.shows("moves 0");
        terminal.send(b"q");
        let seen = terminal.seen.clone();
        terminal.ends_with(0);
        let bytes = seen.lock().expect("the screen").bytes.clone();
        let has = |code: &[u8]| position(&bytes, code).is_some();
        (has(b"48;2;"), has(b"48;5;"))
    };
    assert_eq!(colours("play --board 3x4", &[]), (false, true));
    assert_eq!(
        colours("play --board 3x4", &[("COLORTERM", "truecolor")]),
        (true, false)
    );
    assert_eq!(colours("play --board 3x4 --no-color", &[]), (false, false));
    assert_eq!(
        colours("play --board 3x4", &[("NO_COLOR", "1")]),
        (false, false)
    );
}

#[test]
fn every_example_of_the_help_runs() {
    let lab = Lab::new();
    lab.train("runs/quick", 20, "");
    lab.run("eval greedy --games 2 --records games.txt")
        .succeeds();
    std::fs::remove_file(lab.path("games.txt.seal.json")).expect("a seal");
    let help = lab.run("play --help").succeeds().stdout;
    let (_, examples) = help.split_once("Examples:\n").expect("examples");
    let calls = examples
        .lines()
        .map_while(|line| line.trim().strip_prefix("afterstate "));
    let calls: Vec<&str> = calls.filter_map(|call| call.split("  ").next()).collect();
    assert!(calls.len() >= 5, "{examples}");
    for call in calls {
        let mut terminal = Terminal::start(&lab, call);
        terminal.shows("q: quit");
        terminal.send(b"q");
        terminal.ends_with(0);
    }
}

#[test]
fn without_a_terminal_it_is_refused() {
    let lab = Lab::new();
    lab.refuses("play", &["needs a terminal", "eval"]);
    lab.refuses("play --open games.txt", &["needs a terminal"]);
}

/// Wrong input is an error before the screen is taken.
#[test]
fn wrong_input_is_refused() {
    let lab = Lab::new();
    lab.train("runs/small", 20, "--board 2x3 --set tuples=012");
    lab.write("notes.txt", "no record\n");
    lab.write("bad.txt", "a@1|0111#U|b@2\n");
    lab.write("empty.txt", "");
    lab.write("marked.txt", "\u{FEFF}a@1|0111#U|b@2\r\n");
    lab.write("verse.txt", "replay4x4ABCDEFGH\n");
    lab.run("eval greedy --games 1 --records good.txt")
        .succeeds();
    for (args, words) in [
        ("play --game chess", "unknown game `chess`"),
        ("play --board 9x9", "9x9"),
        ("play nowhere", "nowhere"),
        ("play runs/small --board 4x4", "not 2048 on 4x4"),
        ("play runs/small --game threes", "not threes"),
        ("play random --search 3ply", "no values of moves"),
        ("play --open nowhere.txt", "cannot read"),
        (
            "play --open notes.txt",
            "game 1 is not an episode record: column 10",
        ),
        ("play --open notes.txt", "`afterstate play --save`"),
        ("play --open empty.txt", "`afterstate play --save`"),
        (
            "play --open bad.txt",
            "no game on any board; those of 2048 on",
        ),
        ("play --open bad.txt", "a slide up changes nothing"),
        (
            "play --open bad.txt",
            "`afterstate judge bad.txt` says what is wrong",
        ),
        ("play --open verse.txt", "is a replay of 2048verse.com"),
        (
            "play --open verse.txt",
            "`afterstate review verse.txt` reads replays",
        ),
        (
            "play --open marked.txt --game 2048",
            "column 9: a slide up changes nothing",
        ),
        ("play --open .", ". is a folder; expected a file of records"),
        ("play --open notes.txt --game 2048", "column"),
        ("play --open bad.txt --game 2048", "changes nothing"),
        ("play --open empty.txt", "no records"),
        ("play --open bad.txt --number 7", "game 7"),
        ("play --board 3x4 --save notes.txt", "not a file of records"),
        ("play --board 3x4 --save .", "directory"),
        (
            "play --board 3x4 --save nowhere/games.txt",
            "the folder nowhere",
        ),
        (
            "play --watch --game threes-hint",
            "no model of threes-hint on 4x4",
        ),
        (
            "play --watch --board 3x5",
            "`afterstate train --game 2048 --board 3x5 --set tuples=lines` trains one",
        ),
        (
            "play --open good.txt --board 5x5",
            "the record is a game of 2048 on 4x4, not of 2048 on 5x5",
        ),
        (
            "play --open good.txt --game threes",
            "the record is a game of 2048 on 4x4, not of threes on 4x4",
        ),
        ("play --number 1", "--open"),
    ] {
        let before = lab.listing();
        let terminal = Terminal::start(&lab, args);
        let seen = terminal.seen.clone();
        terminal.ends_with(2);
        let seen = seen.lock().expect("the screen");
        let text = String::from_utf8_lossy(&seen.bytes).replace("\r\n", " ");
        assert!(
            text.contains(words) && text.contains("error"),
            "{args}: {text}"
        );
        assert_eq!(position(&seen.bytes, ENTER_SCREEN), None, "{args}");
        assert_eq!(before, lab.listing(), "{args}");
    }
    let terminal = Terminal::start_with(&lab, "play --board 3x4", &[("TERM", "dumb")]);
    assert!(terminal.ends_with(2).contains("dumb"));
}
