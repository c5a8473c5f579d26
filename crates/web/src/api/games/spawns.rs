//! How new tiles come: by chance, by hand, or chosen by an agent.

use std::sync::Arc;

use afterstate::game::Direction;
use afterstate::judge::{PlacedTile, Reason};
use afterstate_lab::LabError;
use afterstate_lab::agent::Agent;
use afterstate_lab::session::{Session, SpawnChoice};
use axum::http::StatusCode;

use super::bodies::Happened;
use super::view::hint_name;
use super::{make_slide, refused};
use crate::error::Problem;
use crate::state::AppState;

/// The agent by which spawns are chosen, if they are.
pub async fn spawner_of(
    app: &AppState,
    session: &Session,
    spawns: SpawnChoice,
    model: Option<&str>,
) -> Result<Option<Arc<dyn Agent>>, Problem> {
    let Some(wanted) = spawns.wanted() else {
        return Ok(None);
    };
    let found = app
        .find_model(model, session.game(), session.shape())
        .await?;
    let found = found.ok_or_else(|| {
        let (game, board) = (session.game(), session.shape());
        let message = format!(
            "there is no model of {game} on {board}, by whose values {wanted} tile is chosen; \
             choose greedy, train a model, or have tiles by chance"
        );
        Problem::new(StatusCode::NOT_FOUND, "no-model", message)
    })?;
    Ok(Some(Arc::clone(&found.agent)))
}

/// Why an agent could not choose a tile.
fn not_chosen(error: LabError, spawns: SpawnChoice) -> Problem {
    match (error, spawns.wanted()) {
        (LabError::NoSearch(name), Some(wanted)) => Problem::input(format!(
            "`{name}` has no values, so it cannot choose {wanted} tile; choose another model, or \
             tiles by chance"
        )),
        (error, _) => error.into(),
    }
}

/// The spawn that is due; none if it comes by hand.
pub fn spawn_after(
    session: &mut Session,
    spawns: SpawnChoice,
    agent: Option<&Arc<dyn Agent>>,
) -> Result<Option<Happened>, Problem> {
    let placed = match (spawns, agent) {
        (SpawnChoice::Manual, _) => Ok(None),
        (choice, Some(agent)) => session.spawn_by(choice, agent),
        _ => Ok(session.spawn_random()),
    };
    let placed = placed.map_err(|error| not_chosen(error, spawns))?;
    Ok(placed.map(|placed| spawn_event(session, placed)))
}

/// Makes a slide, and spawns a tile after it, unless that comes by hand. An agent chooses the tile
/// before the slide is made: without a tile there is no slide either.
pub fn make_move(
    session: &mut Session,
    direction: Direction,
    spawns: SpawnChoice,
    agent: Option<&Arc<dyn Agent>>,
) -> Result<Vec<Happened>, Problem> {
    let chosen = agent.map(|agent| session.spawn_after(direction, spawns, agent));
    let chosen = chosen.transpose();
    let chosen = chosen.map_err(|error| not_chosen(error, spawns))?;
    let mut events = vec![make_slide(session, direction)?];
    match chosen.flatten() {
        Some(placed) => {
            session.spawn(placed).map_err(|it| refused(&it))?;
            events.push(spawn_event(session, placed));
        }
        None => events.extend(spawn_after(session, spawns, agent)?),
    }
    Ok(events)
}

/// The event of a spawn.
pub fn spawn_event(session: &Session, placed: PlacedTile) -> Happened {
    Happened::Spawn {
        cell: placed.cell,
        tile: session.tile_value(placed.tile),
    }
}

/// The tile that a client places, by the values that it sees. The session checks the cell.
pub fn placed_tile(
    session: &Session,
    cell: usize,
    value: u64,
    hint: Option<&str>,
) -> Result<PlacedTile, Problem> {
    let possible: Vec<PlacedTile> = session.spawns().iter().map(|one| one.placed).collect();
    let Some(any) = possible.first() else {
        return Err(refused(&Reason::SlideDue));
    };
    let of_value = |one: &&PlacedTile| session.tile_value(one.tile) == value;
    let Some(tile) = possible.iter().find(of_value).map(|one| one.tile) else {
        let mut values: Vec<u64> = possible
            .iter()
            .map(|one| session.tile_value(one.tile))
            .collect();
        values.sort_unstable();
        values.dedup();
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        return Err(Problem::conflict(format!(
            "no tile {value} can spawn now; the possible tiles are {}",
            values.join(", ")
        )));
    };
    // Each cell has the same tiles, with the same hints.
    let hints = possible
        .iter()
        .filter(|one| (one.cell, one.tile) == (any.cell, tile));
    let hints: Vec<u8> = hints.map(|one| one.hint).collect();
    let found = hints
        .iter()
        .find(|&&one| hint.is_none() || hint_name(one).as_deref() == hint);
    match found {
        Some(&hint) => Ok(PlacedTile { cell, tile, hint }),
        None => {
            let names: Vec<String> = hints.iter().filter_map(|&one| hint_name(one)).collect();
            Err(Problem::conflict(match names.is_empty() {
                true => "this game shows no next tile: leave out `hint`".to_owned(),
                false => format!(
                    "this next tile cannot be shown now; the possible ones are {}",
                    names.join(", ")
                ),
            }))
        }
    }
}
