//! Games in progress: the rules, undo, spawns of any kind, and moves of a model.
//!
//! A game lives in the memory of the server. The answer to each action has it as text, in the words of
//! episode records; a page that keeps these can open the game again when the server has forgotten it.

mod bodies;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterstate::format::episode::{Action, EpisodeRecord, RecordedMove};
use afterstate::game::Direction;
use afterstate::judge::{PlacedTile, Reason};
use afterstate_lab::LabError;
use afterstate_lab::agent::Agent;
use afterstate_lab::board::GameBoard;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::session::{Session, SpawnChoice, Turn};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
pub use bodies::{
    ActionResult, AutoRequest, GameView, Happened, JumpRequest, NewGame, PossibleSpawn,
    SlideRequest, SpawnRequest,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::analyze::searching;
use super::{direction_of, shape_of};
use crate::error::{Answer, Problem};
use crate::extract::{Body, MaybeBody};
use crate::models::lock;
use crate::state::{AppState, random_id};

/// The most games in memory; the one that was used longest ago makes room.
const MOST: usize = 500;
/// The most actions of all games together, and of one game: each takes a few hundred bytes.
const MOST_ACTIONS: usize = 500_000;
/// The most moves of a request, and the longest time of it.
const MOST_MOVES: u32 = 5_000;
const LONGEST: Duration = Duration::from_millis(250);

/// All games in progress.
#[derive(Default)]
pub struct OpenGames(HashMap<String, Entry>);

struct Entry {
    session: Arc<Mutex<Session>>,
    /// Whether its initial tiles are placed by hand.
    is_manual: bool,
    /// The number of its actions, those that were undone included.
    actions: usize,
    used: Instant,
}

impl OpenGames {
    fn add(&mut self, id: String, session: Session, is_manual: bool) {
        let entry = Entry {
            is_manual,
            actions: session.actions().len(),
            session: Arc::new(Mutex::new(session)),
            used: Instant::now(),
        };
        self.0.insert(id, entry);
        self.make_room(MOST, MOST_ACTIONS);
    }

    /// Notes the number of actions of a game.
    fn set_actions(&mut self, id: &str, actions: usize) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.actions = actions;
            self.make_room(MOST, MOST_ACTIONS);
        }
    }

    /// Drops the games that were used longest ago, until the others are within both limits. The game
    /// that was used last stays.
    fn make_room(&mut self, games: usize, actions: usize) {
        let mut sum: usize = self.0.values().map(|entry| entry.actions).sum();
        while self.0.len() > games || (sum > actions && self.0.len() > 1) {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            let dropped = self.0.remove(&oldest);
            sum -= dropped.map_or(0, |entry| entry.actions);
        }
    }

    fn is_manual(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|entry| entry.is_manual)
    }

    fn get(&mut self, id: &str) -> Result<Arc<Mutex<Session>>, Problem> {
        let entry = self.0.get_mut(id).ok_or_else(|| {
            Problem::missing(
                "this game is not in the memory of the server any more; begin it anew from its \
                 record",
            )
        })?;
        entry.used = Instant::now();
        Ok(Arc::clone(&entry.session))
    }
}

/// The names of hints, by index.
const HINTS: [&str; 4] = ["1", "2", "3", "bonus"];

fn hint_name(hint: u8) -> Option<String> {
    let place = usize::from(hint).checked_sub(1)?;
    HINTS.get(place).map(|&name| name.to_owned())
}

fn view(id: &str, session: &Session) -> Result<GameView, Problem> {
    let turn = session.turn();
    Ok(GameView {
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
    })
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

fn refused(reason: &Reason) -> Problem {
    Problem::conflict(reason.to_string())
}

/// Begins a game.
#[utoipa::path(post, path = "/api/v1/games", tag = "play", request_body = NewGame,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub async fn create(State(app): State<AppState>, Body(new): Body<NewGame>) -> Answer<ActionResult> {
    let id = random_id(8).map_err(|error| Problem::busy(error.to_string()))?;
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let session = begin(&new)?;
            let played = ActionResult {
                game: view(&id, &session)?,
                events: Vec::new(),
                tokens: tokens(&session, 0),
            };
            lock(&shared.games).add(id, session, new.manual);
            Ok(Json(played))
        })
        .await
}

fn begin(new: &NewGame) -> Result<Session, Problem> {
    let seed = match new.seed {
        Some(seed) => seed,
        None => {
            let digits = random_id(8).map_err(|error| Problem::busy(error.to_string()))?;
            u64::from_str_radix(&digits, 16).unwrap_or(1)
        }
    };
    let line = new
        .actions
        .as_ref()
        .map(|actions| format!("web@0|{actions}|web@0"));
    let mut session = match (&new.position, line) {
        (Some(text), line) => {
            let shape = afterstate_lab::board::shape_of(text)
                .or_else(|error| shape_of(&new.board).map_err(|_| error))?;
            let board = GameBoard::parse(text, &new.game, shape)?;
            match line {
                Some(line) => Session::open_on_board(&new.game, &board, line.as_bytes(), seed)?,
                None => Session::on_board(&new.game, &board, seed)?,
            }
        }
        (None, Some(line)) => {
            let shape = shape_of(&new.board)?;
            match new.actions.as_deref() {
                // Nothing was placed yet.
                Some("") => Session::new(&new.game, shape, seed, 0)?,
                _ => Session::open(&new.game, shape, line.as_bytes(), seed)?,
            }
        }
        (None, None) => Session::new(&new.game, shape_of(&new.board)?, seed, 0)?,
    };
    if !new.manual {
        session.start();
    }
    Ok(session)
}

/// Everything that was made since an action.
fn tokens(session: &Session, from: usize) -> Vec<String> {
    let actions = session.actions();
    let made = &actions[from.min(session.made())..session.made()];
    made.iter().map(|action| token(session, action)).collect()
}

/// A game for one request alone. Requests for the same game wait for each other here, where they hold
/// no place of a lane: a long search in one game keeps no other waiting.
async fn alone(app: &AppState, id: &str) -> Result<OwnedMutexGuard<Session>, Problem> {
    let session = lock(&app.games).get(id)?;
    Ok(session.lock_owned().await)
}

/// Does something with a game.
async fn with(
    app: &AppState,
    id: String,
    act: impl FnOnce(&AppState, &mut Session) -> Result<Vec<Happened>, Problem> + Send + 'static,
) -> Answer<ActionResult> {
    let session = alone(app, &id).await?;
    changed(app, id, session, act).await
}

/// Does something with a game that is this request's alone.
async fn changed(
    app: &AppState,
    id: String,
    mut session: OwnedMutexGuard<Session>,
    act: impl FnOnce(&AppState, &mut Session) -> Result<Vec<Happened>, Problem> + Send + 'static,
) -> Answer<ActionResult> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let before = session.made();
            let events = act(&shared, &mut session)?;
            lock(&shared.games).set_actions(&id, session.actions().len());
            Ok(Json(ActionResult {
                game: view(&id, &session)?,
                events,
                tokens: tokens(&session, before),
            }))
        })
        .await
}

/// A game as it is.
#[utoipa::path(get, path = "/api/v1/games/{id}", operation_id = "show_game", tag = "play", params(("id" = String, Path)),
    responses((status = 200, body = ActionResult), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn show(State(app): State<AppState>, Path(id): Path<String>) -> Answer<ActionResult> {
    with(&app, id, |_, _| Ok(Vec::new())).await
}

/// Forgets a game.
#[utoipa::path(delete, path = "/api/v1/games/{id}", tag = "play", params(("id" = String, Path)),
    responses((status = 204), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn remove(
    State(app): State<AppState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let mut games = lock(&app.games);
    games.get(&id)?;
    games.0.remove(&id);
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a slide, and spawns a tile, unless they come by hand.
#[utoipa::path(post, path = "/api/v1/games/{id}/slide", tag = "play", params(("id" = String, Path)),
    request_body = SlideRequest,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "The slide changes nothing, or a tile is due")))]
pub async fn slide(
    State(app): State<AppState>,
    Path(id): Path<String>,
    Body(request): Body<SlideRequest>,
) -> Answer<ActionResult> {
    let direction = direction_of(&request.direction)?;
    let session = alone(&app, &id).await?;
    let agent = spawning(&app, &session, request.spawns, request.model.as_deref()).await?;
    changed(&app, id, session, move |_, session| {
        let mut events = vec![slid(session, direction)?];
        let spawned = spawned(session, request.spawns, agent.as_ref());
        // A slide whose tile cannot be chosen is not made.
        let spawned = spawned.inspect_err(|_| {
            session.undo();
        })?;
        events.extend(spawned);
        Ok(events)
    })
    .await
}

fn slid(session: &mut Session, direction: Direction) -> Result<Happened, Problem> {
    if session.made() >= MOST_ACTIONS {
        return Err(Problem::conflict(format!(
            "this game has {} actions, the most that the server keeps; begin a new one",
            session.made()
        )));
    }
    let to = session.destinations(direction);
    let reward = session.slide(direction).map_err(|it| refused(&it))?;
    Ok(Happened::Slide {
        direction: direction.name().to_owned(),
        reward,
        to,
        cells: session.values(),
    })
}

/// The agent by which spawns are chosen, if they are.
async fn spawning(
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

/// Why a tile could not be chosen by an agent.
fn not_chosen(error: LabError, spawns: SpawnChoice) -> Problem {
    match (error, spawns.wanted()) {
        (LabError::NoSearch(name), Some(wanted)) => Problem::input(format!(
            "`{name}` has no values, so it cannot choose {wanted} tile; choose another model, or \
             tiles by chance"
        )),
        (error, _) => error.into(),
    }
}

/// The spawn after a slide.
fn spawned(
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
    Ok(placed.map(|placed| happened(session, placed)))
}

fn happened(session: &Session, placed: PlacedTile) -> Happened {
    Happened::Spawn {
        cell: placed.cell,
        tile: session.tile_value(placed.tile),
    }
}

/// Spawns a tile that was chosen, or one by chance.
#[utoipa::path(post, path = "/api/v1/games/{id}/spawn", tag = "play", params(("id" = String, Path)),
    request_body = SpawnRequest,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "The rules do not allow this tile there")))]
pub async fn spawn(
    State(app): State<AppState>,
    Path(id): Path<String>,
    Body(request): Body<SpawnRequest>,
) -> Answer<ActionResult> {
    with(&app, id, move |_, session| {
        let (Some(cell), Some(value)) = (request.cell, request.tile) else {
            if request.cell.is_some() || request.tile.is_some() {
                return Err(Problem::input(
                    "expected both a cell and a tile, or neither",
                ));
            }
            let placed = session.spawn_random();
            let placed = placed.ok_or_else(|| refused(&Reason::SlideDue))?;
            return Ok(vec![happened(session, placed)]);
        };
        let placed = wanted(session, cell, value, request.hint.as_deref())?;
        session.spawn(placed).map_err(|it| refused(&it))?;
        Ok(vec![happened(session, placed)])
    })
    .await
}

/// The spawn that a client has chosen, by the values that it sees. The session checks the cell.
fn wanted(
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

/// Takes back a slide with the spawn after it; a single spawn, if a tile is to be placed by hand. With
/// `to`, all slides after that many.
#[utoipa::path(post, path = "/api/v1/games/{id}/undo", tag = "play", params(("id" = String, Path)),
    request_body = Option<JumpRequest>,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 409, body = Problem, description = "There is nothing to undo")))]
pub async fn undo(
    State(app): State<AppState>,
    Path(id): Path<String>,
    MaybeBody(request): MaybeBody<JumpRequest>,
) -> Answer<ActionResult> {
    let name = id.clone();
    with(&app, id, move |app, session| {
        let moves = session.moves();
        let nothing = || Problem::conflict("there is nothing to undo");
        if let Some(to) = request.to {
            if to >= moves {
                return Err(nothing());
            }
            while session.moves() > to && session.undo() {}
            return Ok(Vec::new());
        }
        if session.turn() == Turn::Spawn || moves == 0 {
            // Initial tiles that came by chance stay.
            let may_undo = moves > 0 || lock(&app.games).is_manual(&name);
            let undone = may_undo && session.undo();
            return undone.then(Vec::new).ok_or_else(nothing);
        }
        while session.moves() == moves && session.undo() {}
        Ok(Vec::new())
    })
    .await
}

/// Makes a slide again that was undone, with the spawn after it. With `to`, all slides up to that many;
/// the answer then has no events.
#[utoipa::path(post, path = "/api/v1/games/{id}/redo", tag = "play", params(("id" = String, Path)),
    request_body = Option<JumpRequest>,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 409, body = Problem, description = "There is nothing to redo")))]
pub async fn redo(
    State(app): State<AppState>,
    Path(id): Path<String>,
    MaybeBody(request): MaybeBody<JumpRequest>,
) -> Answer<ActionResult> {
    with(&app, id, move |_, session| {
        let (before, moves) = (session.made(), session.moves());
        let to = request.to.unwrap_or(moves + 1);
        let mut events = Vec::new();
        while let Some(action) = session.next_action() {
            match action {
                Action::Slide(_) if session.moves() >= to => break,
                // A tile that was placed by hand is an action of its own.
                Action::Slide(_) if request.to.is_none() && session.made() > before => break,
                Action::Slide(direction) => events.push(slid(session, direction)?),
                Action::Place { .. } => {
                    let placed = session.spawn_random();
                    events.extend(placed.map(|placed| happened(session, placed)));
                }
            }
            if session.moves() > moves + 1 {
                events.clear();
            }
        }
        match session.made() == before {
            true => Err(Problem::conflict("there is nothing to redo")),
            false => Ok(events),
        }
    })
    .await
}

/// Has a model make moves.
#[utoipa::path(post, path = "/api/v1/games/{id}/auto", tag = "play", params(("id" = String, Path)),
    request_body = AutoRequest,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem)))]
pub async fn auto(
    State(app): State<AppState>,
    Path(id): Path<String>,
    Body(request): Body<AutoRequest>,
) -> Answer<ActionResult> {
    if !(1..=MOST_MOVES).contains(&request.moves) {
        return Err(Problem::input(format!(
            "{} moves; expected 1 to {MOST_MOVES}",
            request.moves
        )));
    }
    let shared = app.clone();
    let mut session = alone(&app, &id).await?;
    let (game, shape) = (session.game().to_owned(), session.shape());
    let plain = app
        .need_model(request.model.as_deref(), &game, shape)
        .await?;
    let fortune = spawning(&app, &session, request.spawns, request.model.as_deref()).await?;
    app.searches
        .run(move |token| {
            let player = searching(&plain, request.search.as_deref())?;
            let before = session.made();
            let begun = Instant::now();
            let stop = || token.is_cancelled();
            let mut events = Vec::new();
            for number in 0..request.moves {
                if session.turn() == Turn::Spawn && request.spawns != SpawnChoice::Manual {
                    events.extend(spawned(&mut session, request.spawns, fortune.as_ref())?);
                }
                let Some(direction) = chosen(&session, &player, &stop)? else {
                    break;
                };
                events.push(slid(&mut session, direction)?);
                events.extend(spawned(&mut session, request.spawns, fortune.as_ref())?);
                if number > 0 {
                    events.clear();
                }
                let is_late = begun.elapsed() > LONGEST;
                if is_late || request.spawns == SpawnChoice::Manual || stop() {
                    break;
                }
            }
            lock(&shared.games).set_actions(&id, session.actions().len());
            Ok(Json(ActionResult {
                game: view(&id, &session)?,
                events,
                tokens: tokens(&session, before),
            }))
        })
        .await
}

/// The slide that a player makes; `None` if it is not its turn.
fn chosen(
    session: &Session,
    player: &Contender,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Direction>, Problem> {
    let Some(state) = session.state().filter(|_| session.turn() == Turn::Slide) else {
        return Ok(None);
    };
    let found = player.agent.analyze_until(&state, stop);
    let found = found.and_then(|analysis| analysis.chosen);
    match found {
        Some(direction) => Ok(Some(direction)),
        None if stop() => Ok(None),
        None => Err(Problem::conflict("the model has no values of this board")),
    }
}

/// The record of a game, as `judge`, `review` and `play --open` read it.
#[utoipa::path(get, path = "/api/v1/games/{id}/record", tag = "play", params(("id" = String, Path)),
    responses((status = 200, content_type = "text/plain", body = String), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "A game that began on a given board has no record")))]
pub async fn record(
    State(app): State<AppState>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, Problem> {
    let session = alone(&app, &id).await?;
    app.quick
        .run(move |_| {
            if session.is_on_board() || !session.is_started() {
                return Err(Problem::conflict(
                    "a game that began on a given board, or has no initial tiles, has no record",
                ));
            }
            let mut line = session.line();
            line.push(b'\n');
            Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], line))
        })
        .await
}

#[cfg(test)]
mod tests {
    use afterstate::game::Shape;

    use super::*;

    #[test]
    fn the_games_used_longest_ago_make_room() {
        let mut games = OpenGames::default();
        for id in ["a", "b", "c"] {
            let mut session = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
            session.start();
            games.add(id.to_owned(), session, false);
            // The times of use must differ.
            std::thread::sleep(Duration::from_millis(2));
        }
        games.get("a").unwrap();
        // Each game has two actions.
        games.make_room(3, 6);
        assert_eq!(games.0.len(), 3);
        games.make_room(3, 5);
        let mut left: Vec<&str> = games.0.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["a", "c"]);
        games.make_room(1, 6);
        assert!(games.0.contains_key("a"));
        games.make_room(3, 1);
        assert_eq!(games.0.len(), 1, "the game in use stays");
    }
}
