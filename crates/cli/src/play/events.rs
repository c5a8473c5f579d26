//! What goes into the interface, and what comes out of it.

use afterstate_lab::agent::{BoardState, StateAnalysis};
use afterstate_lab::search::SearchLimit;
use afterstate_lab::session::Session;

use super::keys::Key;

/// What happens to the interface.
#[derive(Debug)]
pub enum AppEvent {
    /// A key was pressed.
    Key(Key),
    /// A board was analysed; the analysis is `None` if it has no values.
    Analyzed {
        job: u64,
        found: Option<StateAnalysis>,
        /// Whether it is the whole search, and not a first look.
        complete: bool,
    },
    /// The values cannot be searched.
    NoSearch(String),
    /// The next move of autoplay is due.
    AutoMove,
    /// Something to tell.
    Message(String),
    /// The window has another size.
    Resized {
        /// Whether the interface fits into it.
        has_room: bool,
    },
}

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Analyse a board.
    Analyze(AnalysisJob),
    /// Save the game now.
    Save,
    /// This game is over or given up; another one has begun.
    Close(Box<Session>),
    /// Suspend the program, as Ctrl-Z does.
    Suspend,
    Quit,
    /// Quit as after SIGINT.
    Interrupt,
}

/// A board to analyse.
#[derive(Clone, Debug)]
pub struct AnalysisJob {
    /// Later boards have larger numbers.
    pub number: u64,
    /// Jobs of smaller numbers are no longer of interest.
    pub oldest: u64,
    pub board: BoardState,
    pub limit: SearchLimit,
}

/// Who values the moves.
#[derive(Clone, Debug)]
pub enum Adviser {
    /// A model, by its name.
    Model(String),
    /// None; the text says how to get a model.
    None(String),
}

/// What is fixed when the program starts.
pub struct Options {
    pub adviser: Adviser,
    pub limit: SearchLimit,
    pub manual: bool,
    pub watch: bool,
    pub seed: u64,
    /// The name of the file that games are saved to.
    pub file: Option<String>,
}
