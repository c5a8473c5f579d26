//! A game and its actions, as the answers have them.

use afterstate::format::episode::{EpisodeRecord, RecordedMove};
use afterstate_lab::session::{Session, Turn};

use super::bodies::{ActionResult, GameView, Happened, PossibleSpawn};

/// What a request has made since an action.
pub fn result_since(
    before: usize,
    id: &str,
    session: &Session,
    events: Vec<Happened>,
) -> ActionResult {
    let actions = session.actions();
    let made = &actions[before.min(session.made())..session.made()];
    ActionResult {
        game: game_view(id, session),
        events,
        tokens: made.iter().map(|action| token(session, action)).collect(),
    }
}

/// The names of hints, by index.
const HINTS: [&str; 4] = ["1", "2", "3", "bonus"];

/// The name of a hint, if it is one.
pub fn hint_name(hint: u8) -> Option<String> {
    let place = usize::from(hint).checked_sub(1)?;
    HINTS.get(place).map(|&name| name.to_owned())
}

fn game_view(id: &str, session: &Session) -> GameView {
    let turn = session.turn();
    GameView {
        id: id.to_owned(),
        game: session.game().to_owned(),
        board: session.shape().to_string(),
        rows: session.shape().rows(),
        cols: session.shape().cols(),
        cells: session.values(),
        turn: match turn {
            Turn::Slide => "slide",
            Turn::Spawn => "spawn",
            Turn::Over => "over",
        }
        .to_owned(),
        score: session.score(),
        moves: session.moves(),
        made: session.made(),
        actions: session.actions().len(),
        initial: session.initial_tiles_left(),
        slides: session.slides().to_vec(),
        hint: hint_name(session.chance_state().hint).filter(|_| session.shows_hint()),
        position: session.text(),
        spawns: session
            .spawns()
            .into_iter()
            .map(|one| PossibleSpawn {
                cell: one.placed.cell,
                tile: session.tile_value(one.placed.tile),
                hint: hint_name(one.placed.hint),
                chance: one.probability,
            })
            .collect(),
    }
}

/// The words of an action in a record.
fn token(session: &Session, action: &RecordedMove) -> String {
    let record = EpisodeRecord {
        moves: vec![RecordedMove {
            millis: 0,
            ..*action
        }],
        ..EpisodeRecord::default()
    };
    let line = record.line(session.shows_hint()).to_string();
    line.split('|').nth(1).unwrap_or_default().to_owned()
}
