//! Long work: it runs on a thread of its own without the lock of the interpreter, while this thread
//! passes its events on and looks for Ctrl-C.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use afterstate_lab::LabError;
use afterstate_lab::control::Control;
use pyo3::prelude::*;

use crate::errors::{Place, exception};
use crate::player::{Player, Watch};

/// How long a signal may wait.
const POLL: Duration = Duration::from_millis(50);

/// Does work under a control. Its events go to `listener` as JSON, on the calling thread. If that
/// raises, or a signal handler does, the work is cancelled: it saves what it can, and the exception
/// is passed on.
///
/// # Errors
/// Those of the work, of the listener, and of signal handlers.
pub fn run<T: Send>(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    place: Place,
    work: impl FnOnce(&Control) -> Result<T, LabError> + Send,
) -> PyResult<T> {
    run_with(py, listener, place, &[], work)
}

/// The same with these players: what a function in Python raises for one of them cancels the work,
/// too.
///
/// # Errors
/// As [`run`].
pub fn run_with<T: Send>(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    place: Place,
    players: &[&Player],
    work: impl FnOnce(&Control) -> Result<T, LabError> + Send,
) -> PyResult<T> {
    let watch = &Watch::of(players);
    let (sender, events) = mpsc::channel::<String>();
    let control = match listener {
        Some(_) => Control::new().on_event(move |event| {
            // Numbers, text and lists: JSON has all of these. Nobody listens once it has raised.
            let _ = serde_json::to_string(event).map(|text| sender.send(text));
        }),
        None => {
            drop(sender);
            Control::new()
        }
    };
    let cancel = control.cancel_token();
    // Only a thread without the lock needs to own it.
    let (done, raised) = py.detach(move || {
        thread::scope(|scope| {
            let worker = scope.spawn(move || work(&control));
            let mut raised = None;
            loop {
                let called = match events.recv_timeout(POLL) {
                    Ok(text) => told(listener.as_ref(), &text),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(RecvTimeoutError::Disconnected) if worker.is_finished() => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        thread::sleep(Duration::from_millis(1));
                        Ok(())
                    }
                };
                if raised.is_none() {
                    raised = called
                        .and_then(|()| Python::attach(|py| py.check_signals()))
                        .and_then(|()| watch.check())
                        .err();
                    if raised.is_some() {
                        cancel.cancel();
                    }
                }
            }
            let done = worker.join();
            (
                done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                raised,
            )
        })
    });
    match raised.map_or_else(|| watch.check(), Err) {
        Err(raised) => Err(raised),
        Ok(()) => done.map_err(|error| exception(&error, place)),
    }
}

/// Calls a listener.
fn told(listener: Option<&Py<PyAny>>, text: &str) -> PyResult<()> {
    let Some(listener) = listener else {
        return Ok(());
    };
    Python::attach(|py| listener.call1(py, (text,)).map(drop))
}
