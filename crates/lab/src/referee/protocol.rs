//! The protocol: one line a message, ten words in all. See docs/referee.md.
//!
//! ```text
//! referee                            player
//! referee 1 2048 4x4                 ready 1
//! board 2 0 0 0 0 0 2 0 ...          left       (or up, right, down)
//! board 1 0 3 0 0 2 0 6 ... next 3   down       (in games that show the next tile; or next bonus)
//! over 1234
//! ```
//!
//! Every board is complete, so a player need not remember anything. Replies are bounded by
//! [`LONGEST_REPLY`].

use std::fmt::Write;

use afterstate::game::{ChanceState, Direction, Game, Shape, State};
use thiserror::Error;

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// The longest line of a player, in bytes.
pub const LONGEST_REPLY: usize = 80;

/// A rule that a player has broken. The game ends, and counts with its score so far.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Breach {
    /// A slide that changes nothing.
    #[error("a slide {} changes nothing", .0.name())]
    IllegalMove(Direction),
    /// No reply in time.
    #[error("no reply within {0} ms")]
    Timeout(u128),
    /// A player that is gone.
    #[error("the player {0}")]
    Exit(String),
    /// A line that is too long.
    #[error("a line of more than {LONGEST_REPLY} bytes")]
    LongLine,
    /// Output before the referee has asked.
    #[error("output before the referee has asked")]
    Unasked,
    /// A player that does not read what the referee writes.
    #[error("the player does not read its input")]
    NotReading,
    /// A wrong word.
    #[error("found `{found}`, expected {expected}")]
    WrongWord {
        /// As received, escaped.
        found: String,
        /// What the protocol allows.
        expected: String,
    },
    /// A game that was not played, because the player had failed too often.
    #[error("not played, because the player has failed too often")]
    Forfeit,
}

impl Breach {
    /// Its kind, as in seals and reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::IllegalMove(_) => "illegal-move",
            Self::Timeout(_) => "timeout",
            Self::Exit(_) => "exit",
            Self::LongLine | Self::Unasked | Self::NotReading => "flood",
            Self::WrongWord { .. } => "wrong-word",
            Self::Forfeit => "forfeit",
        }
    }
}

/// The first line to a player.
pub(super) fn greeting(game: &str, shape: Shape) -> String {
    format!("referee {VERSION} {game} {shape}\n")
}

/// Checks the answer to the greeting.
pub(super) fn read_ready(reply: &[u8]) -> Result<(), Breach> {
    let expected = format!("ready {VERSION}");
    match reply == expected.as_bytes() {
        true => Ok(()),
        false => Err(wrong(reply, format!("`{expected}`"))),
    }
}

/// A state in which the player is to move.
pub(super) fn board<G: Game>(game: &G, state: State<G::Board>) -> String {
    let mut line = "board".to_owned();
    // Writing to a string cannot fail.
    for cell in 0..game.shape().cells() {
        let _ = write!(line, " {}", game.tile_value(state.cell(cell)));
    }
    match game.chance_state(state).hint {
        0 => {}
        ChanceState::BONUS => line.push_str(" next bonus"),
        tile => {
            let _ = write!(line, " next {}", game.tile_value(tile));
        }
    }
    line.push('\n');
    line
}

/// The end of a game, which takes no reply.
pub(super) fn over(score: u64) -> String {
    format!("over {score}\n")
}

/// The slide of a reply.
pub(super) fn read_slide(reply: &[u8]) -> Result<Direction, Breach> {
    let mut slides = Direction::ALL.into_iter();
    let slide = slides.find(|direction| reply == direction.name().as_bytes());
    slide.ok_or_else(|| wrong(reply, "up, right, down or left".to_owned()))
}

fn wrong(reply: &[u8], expected: String) -> Breach {
    Breach::WrongWord {
        found: reply.escape_ascii().to_string(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::game::{Fast2048, FastThrees, Grid, Spawn, Threes};

    #[test]
    fn a_state_is_a_line() {
        let game = Fast2048::new();
        let state = game.place(game.empty(), 1, Spawn::of(11));
        assert_eq!(
            board(&game, state),
            "board 0 2048 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        let rules: &Threes = &Threes::Hint;
        let game = Grid::new(Shape::new(2, 3).unwrap(), rules);
        for (hint, shown) in [(2, "next 2"), (ChanceState::BONUS, "next bonus")] {
            let chance_state = ChanceState {
                memory: [4, 4, 4],
                hint,
            };
            let spawn = Spawn {
                tile: 4,
                chance_state,
            };
            let state = game.place(game.empty(), 5, spawn);
            assert_eq!(board(&game, state), format!("board 0 0 0 0 0 6 {shown}\n"));
        }
        let quiet = FastThrees::new(Threes::Course);
        let state = quiet.start(&mut afterstate::random::game_rng(1, 1));
        assert!(!board(&quiet, state).contains("next"));
    }

    #[test]
    fn replies_are_exact() {
        assert_eq!(read_slide(b"up"), Ok(Direction::Up));
        for reply in [b"UP".as_slice(), b"", b"u", b"up up", b"\x1b[2J", b"\xff"] {
            let breach = read_slide(reply).unwrap_err();
            assert_eq!(breach.kind(), "wrong-word");
            assert!(breach.to_string().is_ascii(), "{breach}");
        }
        assert!(read_ready(b"ready 1").is_ok());
        let exit = Breach::Exit("ended".to_owned());
        for breach in [exit, Breach::Timeout(9), Breach::Unasked, Breach::Forfeit] {
            assert!(crate::seal::BREACHES.contains(&breach.kind()));
        }
        let breach = read_ready(b"ready 2").unwrap_err();
        assert_eq!(breach.to_string(), "found `ready 2`, expected `ready 1`");
    }
}
