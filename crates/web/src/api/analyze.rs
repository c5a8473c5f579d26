//! Positions, their analysis, and reviews of whole games.

use std::io::Cursor;
use std::path::Path;

use afterstate::format::episode::EpisodeRecord;
use afterstate::format::verse::VerseReplay;
use afterstate::game::Direction;
use afterstate_lab::analyze::{
    Analysis, RolloutOptions, chance_of, deepen, lines, rollouts as play_rollouts,
};
use afterstate_lab::board::{self, GameBoard};
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::grade::{GradeThresholds, share_kept};
use afterstate_lab::review::{self, Detail, ReviewOptions};
use afterstate_lab::search::{SearchLimit, SearchSpec};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::schemas::{AnalysisView, ReviewView};
use super::{default_game, shape_of};
use crate::error::{Answer, JsonText, Problem};
use crate::extract::{Body, QueryOf, RecordsBody};
use crate::state::AppState;

/// The deepest search, and the longest of a move.
const MOST_PLIES: u8 = 6;
const MOST_MILLIS: u64 = 10_000;
/// The most games of rollouts for each move.
const MOST_ROLLOUTS: u64 = 2_000;
/// The most games of a review.
const MOST_GAMES: usize = 50;
/// The most moves of a review.
const MOST_REVIEWED: usize = 200_000;
/// The size of the table of searches that look few plies ahead.
const SMALL_TABLE: usize = 2 << 20;

/// A board to read.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PositionRequest {
    /// The game; 2048 by default.
    #[serde(default = "default_game")]
    pub game: String,
    /// The board: rows, lists, drawings or hexadecimal digits.
    #[schema(example = "2,2,0/0,4,0")]
    pub position: String,
    /// Its size, where the text does not tell.
    #[serde(default)]
    pub board: Option<String>,
}

/// A board that was read.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PositionView {
    /// The game.
    pub game: String,
    /// The board, as in `4x4`.
    pub board: String,
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub cols: usize,
    /// The values of the tiles in row-major order, 0 for an empty cell.
    pub cells: Vec<u64>,
    /// The board in one line, as all commands read it.
    pub position: String,
    /// The next tile, in games that show it.
    pub hint: Option<String>,
}

fn read(game: &str, text: &str, size: Option<&str>) -> Result<GameBoard, Problem> {
    let shape = match size {
        Some(size) => shape_of(size)?,
        None => board::shape_of(text)?,
    };
    Ok(GameBoard::parse(text, game, shape)?)
}

fn position_view(game: &str, board: &GameBoard) -> PositionView {
    let hint = board.chance_state().to_string();
    PositionView {
        game: game.to_owned(),
        board: board.shape().to_string(),
        rows: board.shape().rows(),
        cols: board.shape().cols(),
        cells: board.values().collect(),
        position: board.text(),
        hint: hint.strip_prefix('+').map(str::to_owned),
    }
}

/// Reads a board in any notation.
#[utoipa::path(post, path = "/api/v1/position", tag = "analyse", request_body = PositionRequest,
    responses((status = 200, body = PositionView), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub async fn position(Body(request): Body<PositionRequest>) -> Answer<PositionView> {
    let board = read(&request.game, &request.position, request.board.as_deref())?;
    Ok(Json(position_view(&request.game, &board)))
}

/// A board to analyse.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeRequest {
    /// The game; 2048 by default.
    #[serde(default = "default_game")]
    pub game: String,
    /// The board: rows, lists, drawings or hexadecimal digits.
    #[schema(example = "2,2,0/0,4,0")]
    pub position: String,
    /// Its size, where the text does not tell.
    #[serde(default)]
    pub board: Option<String>,
    /// The model; the network in the program by default, or else the newest run.
    #[serde(default)]
    pub model: Option<String>,
    /// `1ply` (default) to `6ply`, or a time such as `500ms`, up to 10 s.
    #[serde(default)]
    pub search: Option<String>,
    /// Whether to add the line of each move.
    #[serde(default)]
    pub lines: bool,
    /// Games that are played on after each move to find chances, up to 2000.
    #[serde(default)]
    #[schema(maximum = 2000)]
    pub rollouts: u64,
}

/// A board and the value of each move.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Analyzed {
    /// The board.
    #[serde(flatten)]
    pub board: PositionView,
    /// The analysis, as `afterstate analyze --json` prints it, with `grade` and `share` of each move.
    #[schema(value_type = AnalysisView)]
    pub analysis: serde_json::Value,
}

/// The contender with a search of this text, within the limits of the server.
pub fn searching(plain: &Contender, search: Option<&str>) -> Result<Contender, Problem> {
    let Some(text) = search.filter(|text| *text != "1ply") else {
        return Ok(plain.clone());
    };
    let limit: SearchLimit = text.parse()?;
    let millis = text
        .strip_suffix("ms")
        .and_then(|it| it.parse::<u64>().ok());
    let plies = limit.plies();
    let fits = match (millis, plies) {
        (Some(millis), _) => millis <= MOST_MILLIS,
        (None, Some(plies)) => plies <= MOST_PLIES,
        (None, None) => false,
    };
    if !fits {
        return Err(Problem::input(format!(
            "the search `{text}` is too much for this server; expected up to {MOST_PLIES}ply, or up \
             to {MOST_MILLIS}ms"
        )));
    }
    let mut spec = SearchSpec::new(limit);
    if plies.is_some_and(|plies| plies <= 3) && millis.is_none() {
        spec.table_bytes = SMALL_TABLE;
    }
    Ok(plain.clone().with_search(&spec)?)
}

/// The value of each move on a board; with lines, chances and a search on request. The work ends when
/// its client closes the connection.
#[utoipa::path(post, path = "/api/v1/analyze", tag = "analyse", request_body = AnalyzeRequest,
    responses((status = 200, body = Analyzed), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem, description = "There is no model"), (status = 408, body = Problem),
        (status = 429, body = Problem)))]
pub async fn analyze(
    State(app): State<AppState>,
    Body(request): Body<AnalyzeRequest>,
) -> Answer<Analyzed> {
    if request.rollouts > MOST_ROLLOUTS {
        return Err(Problem::input(format!(
            "{} rollouts; expected at most {MOST_ROLLOUTS}",
            request.rollouts
        )));
    }
    let queue = match request.search.as_deref() {
        _ if request.rollouts > 0 => &app.rollouts,
        None | Some("1ply") => &app.quick,
        Some(_) => &app.searches,
    };
    let board = read(&request.game, &request.position, request.board.as_deref())?;
    let model = request.model.as_deref();
    let plain = app.need_model(model, &request.game, board.shape()).await?;
    queue
        .run(move |token| {
            let contender = searching(&plain, request.search.as_deref())?;
            let control = Control::new().with_cancel(token);
            let mut analysis = deepen(&contender, &board, &control)?;
            if request.lines {
                let stop = || control.is_cancelled();
                let found = lines(&plain, &*plain.agent, &board, &Direction::ALL, &stop)?;
                analysis.add_lines(found);
            }
            if request.rollouts > 0 {
                let options = RolloutOptions {
                    tile: None,
                    games: request.rollouts,
                    seed: 1,
                    threads: 0,
                    control: &control,
                };
                analysis.add_rollouts(play_rollouts(&plain, &board, &options)?);
            }
            let analysis = graded(&analysis)?;
            Ok(Json(Analyzed {
                board: position_view(&request.game, &board),
                analysis,
            }))
        })
        .await
}

/// A tile that may be reached from a board.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChanceRequest {
    /// The game; 2048 by default.
    #[serde(default = "default_game")]
    pub game: String,
    /// The board: rows, lists, drawings or hexadecimal digits.
    #[schema(example = "2,2,0/0,4,0")]
    pub position: String,
    /// Its size, where the text does not tell.
    #[serde(default)]
    pub board: Option<String>,
    /// The model; the network in the program by default, or else the newest run.
    #[serde(default)]
    pub model: Option<String>,
    /// The tile.
    #[schema(format = "uint64", example = 16)]
    pub tile: u64,
    /// Games that are played on, up to 2000; 100 by default.
    #[serde(default = "hundred")]
    #[schema(minimum = 1, maximum = 2000)]
    pub games: u64,
}

fn hundred() -> u64 {
    100
}

/// The chance of reaching a tile.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Chance {
    /// The tile.
    pub tile: u64,
    /// The share of games that reached it; null if the game is over.
    pub chance: Option<f64>,
    /// Its 95% interval.
    pub ci95: Option<[f64; 2]>,
}

/// The chance of reaching a tile from a board, by games that the model plays on. The work ends when
/// its client closes the connection.
#[utoipa::path(post, path = "/api/v1/chance", tag = "analyse", request_body = ChanceRequest,
    responses((status = 200, body = Chance), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem, description = "There is no model"), (status = 408, body = Problem),
        (status = 429, body = Problem)))]
pub async fn chance(
    State(app): State<AppState>,
    Body(request): Body<ChanceRequest>,
) -> Answer<Chance> {
    if !(1..=MOST_ROLLOUTS).contains(&request.games) {
        return Err(Problem::input(format!(
            "{} games; expected 1 to {MOST_ROLLOUTS}",
            request.games
        )));
    }
    let board = read(&request.game, &request.position, request.board.as_deref())?;
    let model = request.model.as_deref();
    let player = app.need_model(model, &request.game, board.shape()).await?;
    app.rollouts
        .run(move |token| {
            let control = Control::new().with_cancel(token);
            let options = RolloutOptions {
                tile: None,
                games: request.games,
                seed: 1,
                threads: 0,
                control: &control,
            };
            let found = chance_of(&player, &board, request.tile, &options)?;
            Ok(Json(Chance {
                tile: request.tile,
                chance: found.map(|found| found.p),
                ci95: found.map(|found| found.ci95),
            }))
        })
        .await
}

/// An analysis as JSON, with the grade of each move and the share of the best value that it keeps.
fn graded(analysis: &Analysis<f32>) -> Result<serde_json::Value, Problem> {
    let unwritable = |error: serde_json::Error| Problem::input(error.to_string());
    let mut json = serde_json::to_value(analysis).map_err(unwritable)?;
    let totals = analysis.moves.iter().filter_map(|one| one.total);
    let best = totals.reduce(f32::max).map(f64::from);
    let thresholds = GradeThresholds::default();
    for (one, json) in analysis
        .moves
        .iter()
        .zip(json["moves"].as_array_mut().into_iter().flatten())
    {
        let both = one.total.map(f64::from).zip(best);
        json["grade"] = both
            .map(|(total, best)| thresholds.grade(total, best).name())
            .into();
        json["share"] = both.map(|(total, best)| share_kept(total, best)).into();
    }
    Ok(json)
}

/// How to review.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ReviewQuery {
    /// The model; the network in the program by default, or else the newest run.
    pub model: Option<String>,
    /// `1ply` (default) to `6ply`, or a time for each move.
    pub search: Option<String>,
}

/// Grades the moves of recorded games, and measures the luck of their spawns. The body is the text of
/// records, or replays of 2048verse.com.
#[utoipa::path(post, path = "/api/v1/review", tag = "analyse", params(ReviewQuery),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 200, body = ReviewView, description = "The review, as `afterstate review --json` prints it, with the position before each move"),
        (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 408, body = Problem), (status = 413, body = Problem), (status = 429, body = Problem)))]
pub async fn review(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<ReviewQuery>,
    RecordsBody(text, places): RecordsBody,
) -> Result<JsonText, Problem> {
    check_size(&text)?;
    let shared = app.clone();
    app.heavy
        .run(move |token| {
            let _places = places;
            let control = Control::new().with_cancel(token);
            let name = Path::new("records");
            let records = review::RecordReader::stream(name, Cursor::new(text), &control)?;
            let (game, shape) = records.game()?;
            let plain = shared.models.need(query.model.as_deref(), &game, shape)?;
            let contender = searching(&plain, query.search.as_deref())?;
            let options = ReviewOptions {
                thresholds: GradeThresholds::default(),
                top: 5,
                detail: Detail::Positions,
                threads: 0,
                control: &control,
            };
            let found = review::review(records, &contender, &plain.agent, &options)?;
            JsonText::of(&found)
        })
        .await
}

/// Refuses records whose review would be too large: it takes a few hundred bytes for each move.
fn check_size(text: &[u8]) -> Result<(), Problem> {
    let lines = text.split(|&byte| byte == b'\n');
    let games = lines.filter(|line| !line.trim_ascii().is_empty());
    let (games, moves) = games.fold((0, 0), |(games, moves), line| {
        (games + 1, moves + most_moves(line))
    });
    if games <= MOST_GAMES && moves <= MOST_REVIEWED {
        return Ok(());
    }
    let found = match games > MOST_GAMES {
        true => format!("{games} games; the page reviews up to {MOST_GAMES}"),
        false => format!("{moves} moves; the page reviews up to {MOST_REVIEWED}"),
    };
    Err(Problem::input(format!(
        "{found} at once, `afterstate review` any number"
    )))
}

/// The most moves that a line can have: a slide of an episode record begins with `#`; a step of a replay
/// takes three characters in the new format, one in the old.
fn most_moves(line: &[u8]) -> usize {
    if !VerseReplay::is_begun(line) || EpisodeRecord::is_begun(line) {
        return line.iter().filter(|&&byte| byte == b'#').count();
    }
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start_matches('\u{FEFF}');
    match text.starts_with("replay") {
        true => text.chars().count(),
        false => text.chars().count().div_ceil(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_cannot_hide_their_moves() {
        let steps = "0".repeat(3000);
        let of = |line: String| most_moves(line.as_bytes());
        assert!((1000..1010).contains(&of(format!("4x4-#_{steps}"))));
        assert!((1000..1010).contains(&of(format!("\u{FEFF}4x4-#_{steps}"))));
        assert!((3000..3010).contains(&of(format!("replay_{steps}#"))));
        assert!((3000..3010).contains(&of(format!("\u{FEFF}replay_{steps}#"))));
        assert_eq!(of("a:1|[1A][2B]#U[3C]#L[4D]|b:2".to_owned()), 2);
        let long = format!("4x4-#_{}", "0".repeat(3 * MOST_REVIEWED));
        assert!(check_size(long.as_bytes()).is_err());
    }
}
