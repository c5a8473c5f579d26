//! Connects the interface with the terminal, the file of records and the worker.
//!
//! The terminal is restored when this returns, on a panic, and on signals: see [`restore`].

use std::io::{self, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use afterstate_lab::session::{RecordFile, Session, StoredRecord};
use anyhow::{Context, bail};
use ratatui::DefaultTerminal;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event as TerminalEvent};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;

use super::app::App;
use super::events::{AppEvent, Effect};
use super::keys::Key;
use super::palette::TerminalStyle;
use super::view::{draw, has_room};
use super::worker::Worker;
use crate::commands::shown;
use crate::interrupt;

/// The longest wait before signals and the terminal are looked at.
const POLL: Duration = Duration::from_millis(50);
/// The shortest time between two frames while autoplay runs at full speed.
const FRAME: Duration = Duration::from_millis(33);
/// The shortest time between two saves of a game that goes on.
const SAVE: Duration = Duration::from_secs(1);

/// What comes from other threads.
pub enum DriverEvent {
    Event(AppEvent),
    /// The window has another size.
    Resize,
    /// The terminal cannot be read.
    Closed(io::Error),
}

/// Where a game is saved.
pub struct Saving {
    /// The file, if one was named.
    pub file: Option<RecordFile>,
    /// The file that is used when the user asks to save without one.
    pub default: PathBuf,
    /// The record that the game in progress was opened from.
    pub opened: Option<StoredRecord>,
}

/// Gives the terminal back as it was. Each step is tried, whatever becomes of the others.
pub fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

/// Restores the terminal when it is dropped.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// The two ends of the channel of inputs.
pub fn inputs() -> (Sender<DriverEvent>, Receiver<DriverEvent>) {
    channel()
}

/// What the loop needs besides the interface.
pub struct Driver {
    pub style: TerminalStyle,
    pub worker: Option<Worker>,
    pub saving: Saving,
    pub sender: Sender<DriverEvent>,
    pub receiver: Receiver<DriverEvent>,
}

/// The state of the loop.
struct Running {
    driver: Driver,
    /// Never dropped: its drop prints an error, and panics, if the terminal is gone. The [`Guard`]
    /// restores the terminal.
    terminal: ManuallyDrop<DefaultTerminal>,
    app: App,
    /// The [`changes`](Session::changes) of the game when it was saved or begun.
    saved_changes: u64,
    saved_at: Instant,
    auto_at: Instant,
    drawn_at: Instant,
    is_drawn: bool,
}

/// Whether the loop goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Quit,
}

/// Runs the interface until the user quits; returns the session.
///
/// # Errors
/// When the terminal or the file fails.
pub fn run(driver: Driver, (app, effects): (App, Vec<Effect>)) -> anyhow::Result<App> {
    interrupt::listen_on_screen(restore)?;
    let guard = Guard;
    let terminal = ratatui::try_init().context("cannot use the terminal")?;
    listen(driver.sender.clone());
    let now = Instant::now();
    let mut running = Running {
        driver,
        terminal: ManuallyDrop::new(terminal),
        saved_changes: app.session.changes(),
        app,
        saved_at: now,
        auto_at: now,
        drawn_at: now,
        is_drawn: false,
    };
    let result = running.run(effects);
    let saved = running.save();
    drop(guard);
    if result.is_err() && has_hung_up() {
        // The terminal that would show the error is closed; the signal decides the exit status.
    } else {
        result?;
    }
    saved?;
    let file = running.driver.saving.file.as_ref();
    if !file.is_some_and(RecordFile::has_game) {
        running.app.file = None;
    }
    Ok(running.app)
}

/// Whether a signal has come, as it does when the terminal is closed; the thread that handles it may
/// be a moment later than the error.
fn has_hung_up() -> bool {
    let begun = Instant::now();
    while !interrupt::asked() && begun.elapsed() < POLL {
        thread::sleep(Duration::from_millis(1));
    }
    interrupt::asked()
}

/// Reads keys on a thread of its own, which ends with the process.
fn listen(sender: Sender<DriverEvent>) {
    thread::spawn(move || {
        loop {
            let input = match event::read() {
                Ok(TerminalEvent::Key(key)) => {
                    Key::of(key).map(|key| DriverEvent::Event(AppEvent::Key(key)))
                }
                Ok(TerminalEvent::Resize(..)) => Some(DriverEvent::Resize),
                Ok(_) => None,
                Err(error) => Some(DriverEvent::Closed(error)),
            };
            let closed = matches!(input, Some(DriverEvent::Closed(_)));
            if input.is_some_and(|input| sender.send(input).is_err()) || closed {
                return;
            }
        }
    });
}

impl Running {
    fn run(&mut self, effects: Vec<Effect>) -> anyhow::Result<()> {
        self.measure()?;
        if self.effects(effects)? == Flow::Quit {
            return Ok(());
        }
        loop {
            self.draw()?;
            match self.driver.receiver.recv_timeout(self.wait()) {
                Ok(input) => {
                    if self.input(input)? == Flow::Quit {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            // All that has come meanwhile is drawn once.
            while let Ok(input) = self.driver.receiver.try_recv() {
                if self.input(input)? == Flow::Quit {
                    return Ok(());
                }
            }
            if interrupt::asked() || self.tick()? == Flow::Quit {
                return Ok(());
            }
        }
    }

    /// How long nothing is to be done.
    fn wait(&self) -> Duration {
        let auto = match self.app.can_auto_move() {
            true => (self.auto_at + self.app.delay()).saturating_duration_since(Instant::now()),
            false => POLL,
        };
        auto.min(POLL)
    }

    fn input(&mut self, input: DriverEvent) -> anyhow::Result<Flow> {
        self.is_drawn = false;
        match input {
            DriverEvent::Event(event) => {
                let effects = self.app.update(event);
                self.effects(effects)
            }
            DriverEvent::Resize => self.measure().map(|()| Flow::On),
            DriverEvent::Closed(error) => Err(error).context("cannot read the terminal"),
        }
    }

    /// Tells the interface whether it fits into the window.
    fn measure(&mut self) -> anyhow::Result<()> {
        let size = self.terminal.size();
        let size = size.context("cannot find the size of the terminal")?;
        let has_room = has_room(size.width, size.height);
        self.app.update(AppEvent::Resized { has_room });
        Ok(())
    }

    /// What is done by time.
    fn tick(&mut self) -> anyhow::Result<Flow> {
        if self.driver.worker.as_ref().is_some_and(Worker::has_ended) {
            bail!("the analysis has failed");
        }
        // A terminal that is gone cannot be told from a silent one otherwise.
        if !io::stdin().is_terminal() {
            return Ok(Flow::Quit);
        }
        if self.saved_at.elapsed() >= SAVE
            && let Err(error) = self.save()
        {
            self.tell(error.to_string());
        }
        if self.app.can_auto_move() && self.auto_at.elapsed() >= self.app.delay() {
            self.auto_at = Instant::now();
            self.is_drawn = false;
            let effects = self.app.update(AppEvent::AutoMove);
            return self.effects(effects);
        }
        Ok(Flow::On)
    }

    fn effects(&mut self, effects: Vec<Effect>) -> anyhow::Result<Flow> {
        for effect in effects {
            match effect {
                Effect::Analyze(job) => {
                    if let Some(worker) = &self.driver.worker {
                        worker.ask(job);
                    }
                }
                Effect::Save => self.save_as_asked(),
                Effect::Close(session) => self.close(&session),
                Effect::Suspend => self.suspend()?,
                Effect::Quit => return Ok(Flow::Quit),
                Effect::Interrupt => {
                    interrupt::pressed();
                    return Ok(Flow::Quit);
                }
            }
        }
        Ok(Flow::On)
    }

    fn tell(&mut self, text: String) {
        self.app.update(AppEvent::Message(text));
        self.is_drawn = false;
    }

    /// Saves the game, if there is a file and the game has changed, and games that have ended.
    fn save(&mut self) -> anyhow::Result<()> {
        self.saved_at = Instant::now();
        let changes = self.app.session.changes();
        if let Some(file) = &mut self.driver.saving.file {
            let saved = match self.saved_changes == changes {
                true => file.flush(),
                false => file.save(&self.app.session).map(|_| ()),
            };
            // The panel says so, also without a key.
            self.is_drawn &= self.app.is_unsaved == saved.is_err();
            self.app.is_unsaved = saved.is_err();
            saved?;
            self.saved_changes = changes;
        }
        Ok(())
    }

    /// Saves now, and from now on.
    fn save_as_asked(&mut self) {
        let Saving {
            file,
            default,
            opened,
        } = &mut self.driver.saving;
        let file = match file {
            Some(file) => file,
            None => match RecordFile::open(default, opened.as_ref()) {
                Ok(default) => file.insert(default),
                Err(error) => return self.tell(error.to_string()),
            },
        };
        let name = shown(file.path());
        let saved = file.save(&self.app.session);
        (self.app.file, self.app.is_unsaved) = (Some(name.clone()), saved.is_err());
        let text = match saved {
            Ok(true) => {
                self.saved_changes = self.app.session.changes();
                format!("saved to {name}, and further moves will be")
            }
            Ok(false) => "nothing to save until the first tiles are entered".to_owned(),
            Err(error) => error.to_string(),
        };
        self.tell(text);
    }

    fn close(&mut self, session: &Session) {
        self.saved_changes = self.app.session.changes();
        self.driver.saving.opened = None;
        if let Some(file) = &mut self.driver.saving.file {
            let closed = file.close(session);
            self.app.is_unsaved = closed.is_err();
            if let Err(error) = closed {
                self.tell(error.to_string());
            }
        }
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let rushing = self.app.auto && self.app.delay() < FRAME;
        if self.is_drawn || rushing && self.drawn_at.elapsed() < FRAME {
            return Ok(());
        }
        let (app, style) = (&self.app, self.driver.style);
        let drawn = self.terminal.draw(|frame| draw(frame, app, style));
        drawn.context("cannot write to the terminal")?;
        self.is_drawn = true;
        self.drawn_at = Instant::now();
        Ok(())
    }

    /// Gives the terminal back to the shell until the program is continued.
    #[cfg(unix)]
    fn suspend(&mut self) -> anyhow::Result<()> {
        restore();
        io::stdout().flush()?;
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        // Not `clear`, which asks the terminal where the cursor is, and waits for the answer.
        let size = self.terminal.size()?;
        self.terminal
            .resize(Rect::new(0, 0, size.width, size.height))?;
        self.is_drawn = false;
        Ok(())
    }

    #[cfg(not(unix))]
    fn suspend(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
