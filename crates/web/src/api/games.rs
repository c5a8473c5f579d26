//! Games in progress: the rules, undo, spawns of any kind, and moves of a model.
//!
//! A game lives in the memory of the server. The answer to each action has it as text, in the words of
//! episode records; a page that keeps these can open the game again when the server has forgotten it.

mod bodies;
mod spawns;
mod store;
mod view;

use std::sync::Arc;
use std::time::{Duration, Instant};

use afterstate::format::episode::Action;
use afterstate::game::Direction;
use afterstate::judge::Reason;
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
    ActionResult, AutoRequest, Happened, JumpRequest, NewGame, SlideRequest, SpawnRequest,
};
use spawns::{make_move, placed_tile, spawn_after, spawn_event, spawner_of};
use store::MOST_ACTIONS;
pub use store::OpenGames;
use tokio::sync::OwnedMutexGuard;
use view::result_since;

use super::analyze::searching;
use super::{direction_of, shape_of};
use crate::error::{Answer, Problem};
use crate::extract::{Body, LongBody, MaybeBody};
use crate::models::lock;
use crate::state::{AppState, random_id};

/// The most moves of a request, and the longest time of it.
const MOST_MOVES: u32 = 5_000;
const LONGEST: Duration = Duration::from_millis(250);

fn refused(reason: &Reason) -> Problem {
    Problem::conflict(reason.to_string())
}

/// Begins a game.
#[utoipa::path(post, path = "/api/v1/games", tag = "play", request_body = NewGame,
    responses((status = 200, body = ActionResult), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub async fn create(
    State(app): State<AppState>,
    LongBody(new, places): LongBody<NewGame>,
) -> Answer<ActionResult> {
    let id = random_id(8).map_err(|error| Problem::busy(error.to_string()))?;
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let _places = places;
            let session = new_session(&new)?;
            let played = result_since(0, &id, &session, Vec::new());
            lock(&shared.games).add(id, session, new.manual);
            Ok(Json(played))
        })
        .await
}

fn new_session(new: &NewGame) -> Result<Session, Problem> {
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
    if session.made() >= MOST_ACTIONS {
        return Err(too_long(session.made()));
    }
    if !new.manual {
        session.start();
    }
    Ok(session)
}

/// A game, locked for one request. Requests for the same game wait for each other here, where they
/// hold no place of a queue: a long search in one game keeps no other waiting.
async fn lock_game(app: &AppState, id: &str) -> Result<OwnedMutexGuard<Session>, Problem> {
    let session = lock(&app.games).get(id)?;
    Ok(session.lock_owned().await)
}

/// Acts on a game.
async fn act(
    app: &AppState,
    id: String,
    action: impl FnOnce(&AppState, &mut Session) -> Result<Vec<Happened>, Problem> + Send + 'static,
) -> Answer<ActionResult> {
    let session = lock_game(app, &id).await?;
    act_locked(app, id, session, action).await
}

/// Acts on a game that is locked. The answer has all that was made.
async fn act_locked(
    app: &AppState,
    id: String,
    mut session: OwnedMutexGuard<Session>,
    action: impl FnOnce(&AppState, &mut Session) -> Result<Vec<Happened>, Problem> + Send + 'static,
) -> Answer<ActionResult> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let before = session.made();
            let events = action(&shared, &mut session)?;
            lock(&shared.games).set_actions(&id, session.actions().len());
            Ok(Json(result_since(before, &id, &session, events)))
        })
        .await
}

/// A game as it is.
#[utoipa::path(get, path = "/api/v1/games/{id}", operation_id = "show_game", tag = "play", params(("id" = String, Path)),
    responses((status = 200, body = ActionResult), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn show(State(app): State<AppState>, Path(id): Path<String>) -> Answer<ActionResult> {
    act(&app, id, |_, _| Ok(Vec::new())).await
}

/// Forgets a game.
#[utoipa::path(delete, path = "/api/v1/games/{id}", tag = "play", params(("id" = String, Path)),
    responses((status = 204), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn remove(
    State(app): State<AppState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    lock(&app.games).remove(&id)?;
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
    let session = lock_game(&app, &id).await?;
    let agent = spawner_of(&app, &session, request.spawns, request.model.as_deref()).await?;
    act_locked(&app, id, session, move |_, session| {
        make_move(session, direction, request.spawns, agent.as_ref())
    })
    .await
}

fn too_long(actions: usize) -> Problem {
    Problem::conflict(format!(
        "this game has {actions} actions; the server keeps {MOST_ACTIONS}: begin a new one"
    ))
}

fn make_slide(session: &mut Session, direction: Direction) -> Result<Happened, Problem> {
    if session.made() >= MOST_ACTIONS {
        return Err(too_long(session.made()));
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
    act(&app, id, move |_, session| {
        let (Some(cell), Some(value)) = (request.cell, request.tile) else {
            if request.cell.is_some() || request.tile.is_some() {
                return Err(Problem::input(
                    "expected both a cell and a tile, or neither",
                ));
            }
            let placed = session.spawn_random();
            let placed = placed.ok_or_else(|| refused(&Reason::SlideDue))?;
            return Ok(vec![spawn_event(session, placed)]);
        };
        let placed = placed_tile(session, cell, value, request.hint.as_deref())?;
        session.spawn(placed).map_err(|it| refused(&it))?;
        Ok(vec![spawn_event(session, placed)])
    })
    .await
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
    act(&app, id, move |app, session| {
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
    act(&app, id, move |_, session| {
        let (before, moves) = (session.made(), session.moves());
        let to = request.to.unwrap_or(moves + 1);
        let mut events = Vec::new();
        while let Some(action) = session.next_action() {
            match action {
                Action::Slide(_) if session.moves() >= to => break,
                // A tile that was placed by hand is an action of its own.
                Action::Slide(_) if request.to.is_none() && session.made() > before => break,
                Action::Slide(direction) => events.push(make_slide(session, direction)?),
                Action::Place { .. } => {
                    let placed = session.spawn_random();
                    events.extend(placed.map(|placed| spawn_event(session, placed)));
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
    let mut session = lock_game(&app, &id).await?;
    let (game, shape) = (session.game().to_owned(), session.shape());
    let model = request.model.as_deref();
    let plain = app.need_model(model, &game, shape).await?;
    let spawner = spawner_of(&app, &session, request.spawns, model).await?;
    app.searches
        .run(move |token| {
            let player = searching(&plain, request.search.as_deref())?;
            let stop = || token.is_cancelled();
            let before = session.made();
            let events = play_moves(&mut session, &player, &request, spawner.as_ref(), &stop)?;
            lock(&shared.games).set_actions(&id, session.actions().len());
            Ok(Json(result_since(before, &id, &session, events)))
        })
        .await
}

/// Makes moves, and returns what happened in the first one if it is the only one. A tile that spawned
/// before a slide that fails is taken back. The error of the first move is returned; later ones end
/// the loop, so that the answer still has the moves before them.
fn play_moves(
    session: &mut Session,
    player: &Contender,
    request: &AutoRequest,
    spawner: Option<&Arc<dyn Agent>>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Happened>, Problem> {
    let begun = Instant::now();
    let mut events = Vec::new();
    for number in 0..request.moves {
        let before = session.made();
        match play_move(session, player, request.spawns, spawner, stop) {
            Ok(happened) if happened.is_empty() => break,
            Ok(happened) if number == 0 => events = happened,
            Ok(_) => events.clear(),
            Err(problem) => {
                while session.made() > before && session.undo() {}
                match number {
                    0 => return Err(problem),
                    _ => break,
                }
            }
        }
        if begun.elapsed() > LONGEST || request.spawns == SpawnChoice::Manual || stop() {
            break;
        }
    }
    Ok(events)
}

/// Makes a move, after a spawn that is still due; nothing if the game is over or waits for a tile by
/// hand.
fn play_move(
    session: &mut Session,
    player: &Contender,
    spawns: SpawnChoice,
    spawner: Option<&Arc<dyn Agent>>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Happened>, Problem> {
    let mut events = Vec::new();
    if session.turn() == Turn::Spawn {
        events.extend(spawn_after(session, spawns, spawner)?);
    }
    if let Some(direction) = choose_slide(session, player, stop)? {
        events.extend(make_move(session, direction, spawns, spawner)?);
    }
    Ok(events)
}

/// The slide that a player makes; `None` if it is not its turn.
fn choose_slide(
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
    let session = lock_game(&app, &id).await?;
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
