//! How a player thinks: the lookups behind a value, and lessons.

use afterstate_lab::agent::BoardState;
use afterstate_lab::board::GameBoard;
use afterstate_lab::control::Control;
use afterstate_lab::games::rules;
use afterstate_lab::lesson::{self, LessonOptions};
use afterstate_lab::recipe::{Rule, ValueOf};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{default_game, direction_of, shape_of};
use crate::error::{Answer, Problem};
use crate::extract::Body;
use crate::state::App;

/// A slide whose value is explained.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The game; 2048 by default.
    #[serde(default = "default_game")]
    pub game: String,
    /// The board before the slide.
    #[schema(example = "2,2,0/0,4,0")]
    pub position: String,
    /// Its size, where the text does not tell.
    #[serde(default)]
    pub board: Option<String>,
    /// `up`, `right`, `down` or `left`; the best one by default.
    #[serde(default)]
    pub direction: Option<String>,
    /// The model; the network in the program by default, or else the newest run.
    #[serde(default)]
    pub model: Option<String>,
}

/// Every lookup of a value.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Explained {
    /// `afterstate` or `state`: which position has the value.
    pub value_of: String,
    /// The slide.
    pub direction: String,
    /// Its reward.
    pub reward: u32,
    /// The values of the tiles of that position, 0 for an empty cell.
    pub cells: Vec<u64>,
    /// Their indices, which are the digits of the indices of weights.
    pub tiles: Vec<u8>,
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub cols: usize,
    /// The tuples, as patterns of cells.
    pub patterns: Vec<String>,
    /// The lookups: the first tuple under every symmetry, the second, ...
    pub lookups: Vec<LookupView>,
    /// The sum of their weights: the value.
    pub sum: f64,
    /// The sum by cell: each weight is shared by the cells that its tuple reads.
    pub by_cell: Vec<f64>,
}

/// A lookup.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LookupView {
    /// The number of the tuple.
    pub tuple: usize,
    /// The number of the symmetry.
    pub symmetry: usize,
    /// The cells that it reads.
    pub cells: Vec<usize>,
    /// The index of the weight.
    pub index: usize,
    /// The weight.
    pub weight: f64,
}

/// How the value of a slide is found: every lookup with its weight.
#[utoipa::path(post, path = "/api/v1/explain", tag = "inside", request_body = ExplainRequest,
    responses((status = 200, body = Explained), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem, description = "There is no model"),
        (status = 409, body = Problem, description = "The model has no tuples, or the slide is illegal")))]
pub async fn explain(
    State(app): State<App>,
    Body(request): Body<ExplainRequest>,
) -> Answer<Explained> {
    let shared = app.clone();
    app.quick
        .run(move |_| explained(&shared, &request).map(Json))
        .await
}

fn explained(app: &App, request: &ExplainRequest) -> Result<Explained, Problem> {
    let shape = match &request.board {
        Some(board) => shape_of(board)?,
        None => afterstate_lab::board::shape_of(&request.position)?,
    };
    let board = GameBoard::parse(&request.position, &request.game, shape)?;
    let model = request.model.as_deref();
    let contender = app.models.need(model, &request.game, shape)?;
    let state = BoardState {
        tiles: board.tiles().to_vec(),
        chance_state: board.chance_state(),
    };
    let analysis = contender.agent.analyze(std::slice::from_ref(&state));
    let analysis = analysis.into_iter().next().flatten();
    let analysis = analysis.ok_or_else(|| Problem::input("no game can reach this board"))?;
    let direction = match (&request.direction, analysis.chosen) {
        (Some(name), _) => direction_of(name)?,
        (None, Some(best)) => best,
        (None, None) => return Err(Problem::conflict("the game is over on this board")),
    };
    let reward = analysis.rewards[direction as usize];
    let reward = reward.ok_or_else(|| {
        let name = direction.name();
        Problem::conflict(format!("the slide {name} is illegal: it changes nothing"))
    })?;
    let found = contender.agent.explain(&state, direction);
    let found = found.ok_or_else(|| {
        Problem::conflict("this model has no tuples: only n-tuple networks have lookups")
    })?;
    let value = |&tile: &u8| match tile {
        0 => Ok(0),
        tile => rules(&request.game).map(|rules| rules.tile_value(tile)),
    };
    let cells: Result<Vec<u64>, _> = found.tiles.iter().map(value).collect();
    Ok(Explained {
        value_of: match found.value_of {
            ValueOf::State => "state",
            _ => "afterstate",
        }
        .to_owned(),
        direction: direction.name().to_owned(),
        reward,
        cells: cells?,
        rows: shape.rows(),
        cols: shape.cols(),
        sum: found.sum(),
        by_cell: found.by_cell(),
        lookups: found
            .lookups
            .into_iter()
            .map(|lookup| LookupView {
                tuple: lookup.tuple,
                symmetry: lookup.symmetry,
                cells: lookup.cells,
                index: lookup.index,
                weight: lookup.weight.into(),
            })
            .collect(),
        patterns: found.patterns,
        tiles: found.tiles,
    })
}

/// A lesson. What is left out is as in `Learning, update by update` of the page.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LessonRequest {
    /// The game; 2048 by default.
    pub game: Option<String>,
    /// Its board; `2x3` by default.
    pub board: Option<String>,
    /// The tuples: a named set or patterns; `lines` by default.
    pub tuples: Option<String>,
    /// Which positions have a value: `afterstate` (default) or `state`.
    #[schema(value_type = Option<String>)]
    pub value: Option<ValueOf>,
    /// How the step of a weight follows from the error: `td` (default) or `tc`.
    #[schema(value_type = Option<String>)]
    pub rule: Option<Rule>,
    /// Whether values are updated from the end of the game.
    pub backward: Option<bool>,
    /// Lambda, where values are updated backward.
    pub lambda: Option<f32>,
    /// The learning rate; 0.1 by default.
    pub learning_rate: Option<f32>,
    /// The games that are learned before; 100 by default.
    #[schema(format = "uint64")]
    pub games: Option<u64>,
    /// The seed of all games.
    #[schema(format = "uint64")]
    pub seed: Option<u64>,
}

impl From<LessonRequest> for LessonOptions {
    fn from(asked: LessonRequest) -> Self {
        let usual = Self::default();
        Self {
            game: asked.game.unwrap_or(usual.game),
            board: asked.board.unwrap_or(usual.board),
            tuples: asked.tuples.unwrap_or(usual.tuples),
            value: asked.value.unwrap_or(usual.value),
            rule: asked.rule.unwrap_or(usual.rule),
            backward: asked.backward.unwrap_or(usual.backward),
            lambda: asked.lambda.unwrap_or(usual.lambda),
            learning_rate: asked.learning_rate.unwrap_or(usual.learning_rate),
            games: asked.games.unwrap_or(usual.games),
            seed: asked.seed.unwrap_or(usual.seed),
        }
    }
}

/// A game with every number of what was learned from it: see the fields of the answer.
#[utoipa::path(post, path = "/api/v1/lesson", tag = "inside",
    request_body = LessonRequest,
    responses((status = 200, body = Object, description = "The game: each step with its slides, spawns and update"),
        (status = 400, body = Problem), (status = 403, body = Problem), (status = 408, body = Problem),
        (status = 429, body = Problem)))]
pub async fn lesson(
    State(app): State<App>,
    Body(asked): Body<LessonRequest>,
) -> Answer<serde_json::Value> {
    let options = LessonOptions::from(asked);
    let solution = app.models.solution(&options.game, &options.board);
    app.heavy
        .run(move |token| {
            let control = Control::new().with_cancel(token);
            let found = lesson::lesson_beside(solution.as_deref(), &options, &control)?;
            let found = found.ok_or_else(|| Problem::busy("the work was cancelled"))?;
            let found = serde_json::to_value(&found);
            Ok(Json(
                found.map_err(|error| Problem::input(error.to_string()))?,
            ))
        })
        .await
}
