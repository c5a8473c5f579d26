//! How a player thinks: the lookups behind a value, and lessons.

mod schema;

use std::sync::{Arc, LazyLock};

use afterstate::game::Shape;
use afterstate_lab::agent::{BoardState, Explanation, StateAnalysis};
use afterstate_lab::board::GameBoard;
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::rules;
use afterstate_lab::lesson::{self, LessonOptions, SmallSolutions};
use afterstate_lab::recipe::{Rule, ValueOf};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{default_game, direction_of, shape_of};
use crate::error::{Answer, JsonText, Problem};
use crate::extract::Body;
use crate::state::AppState;

/// Solutions of small boards, which depend on nothing but game and board.
static SMALL: LazyLock<SmallSolutions> = LazyLock::new(SmallSolutions::default);

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
    /// Whether to add values under perfect play: on boards of up to six cells, which are solved in
    /// seconds, and on those whose solution the command line has named.
    #[serde(default)]
    pub exact: bool,
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
    /// The value of the slide: V of the afterstate, or the mean of V over `spawns`.
    pub value: f64,
    /// Its reward and value.
    pub total: f64,
    /// The value of the position under perfect play.
    pub exact: Option<f64>,
    /// Reward and value of the slide under perfect play.
    pub exact_total: Option<f64>,
    /// The values of the tiles of that position, 0 for an empty cell.
    pub cells: Vec<u64>,
    /// Their indices.
    pub tiles: Vec<u8>,
    /// The tiles of the afterstate, by value.
    pub afterstate: Vec<u64>,
    /// Every state that the slide may lead to.
    pub spawns: Vec<SpawnView>,
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub cols: usize,
    /// The tuples, as patterns of cells.
    pub patterns: Vec<String>,
    /// The base of the indices of weights.
    pub base: usize,
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
    /// The tiles of these cells as digits: the index of each tile, at most the base minus 1.
    pub digits: Vec<usize>,
    /// The index of the weight: the sum of digit times base^i.
    pub index: usize,
    /// The weight.
    pub weight: f64,
}

/// A state that a slide may lead to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SpawnView {
    /// The cell of the new tile.
    pub cell: usize,
    /// The value of the tile.
    #[schema(format = "uint64")]
    pub tile: u64,
    /// The next tile that is shown with it, in games with a hint: its index, or `bonus`.
    pub hint: Option<String>,
    /// Its chance.
    pub chance: f64,
    /// Its reward.
    pub reward: u32,
    /// V of the state, for values of states; for values of afterstates the largest total of its
    /// slides, 0 if the game is over.
    pub value: f64,
    /// Whether the game is over there.
    pub is_over: bool,
}

/// How the value of a slide is found: every lookup with its weight.
#[utoipa::path(post, path = "/api/v1/explain", tag = "inside", request_body = ExplainRequest,
    responses((status = 200, body = Explained), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem, description = "There is no model"),
        (status = 409, body = Problem, description = "The model has no tuples, or the slide is illegal")))]
pub async fn explain(
    State(app): State<AppState>,
    Body(request): Body<ExplainRequest>,
) -> Answer<Explained> {
    let shape = match &request.board {
        Some(board) => shape_of(board)?,
        None => afterstate_lab::board::shape_of(&request.position)?,
    };
    let board = GameBoard::parse(&request.position, &request.game, shape)?;
    let model = request.model.as_deref();
    let contender = app.need_model(model, &request.game, shape).await?;
    let shared = app.clone();
    // Solving a board takes longer than reading a value.
    let queue = if request.exact {
        &app.heavy
    } else {
        &app.quick
    };
    queue
        .run(move |token| {
            let control = Control::new().with_cancel(token);
            let solution = match request.exact {
                true => perfect(&shared, &request.game, shape, &control)?,
                false => None,
            };
            explained(&contender, solution.as_deref(), &board, &request).map(Json)
        })
        .await
}

/// Perfect play of a game on a board: a solution that the command line has named, or else that of a
/// small board.
fn perfect(
    app: &AppState,
    game: &str,
    shape: Shape,
    control: &Control,
) -> Result<Option<Arc<Contender>>, Problem> {
    match app.models.solution(game, &shape.to_string()) {
        Some(solution) => Ok(Some(solution)),
        None => Ok(SMALL.find(game, shape, control)?),
    }
}

fn analysis_of(contender: &Contender, state: &BoardState) -> Option<StateAnalysis> {
    let found = contender.agent.analyze(std::slice::from_ref(state));
    found.into_iter().next().flatten()
}

fn explained(
    contender: &Contender,
    solution: Option<&Contender>,
    board: &GameBoard,
    request: &ExplainRequest,
) -> Result<Explained, Problem> {
    let state = BoardState {
        tiles: board.tiles().to_vec(),
        chance_state: board.chance_state(),
    };
    let analysis = analysis_of(contender, &state);
    let analysis = analysis.ok_or_else(|| Problem::input("no game can reach this board"))?;
    let direction = match (&request.direction, analysis.chosen) {
        (Some(name), _) => direction_of(name)?,
        (None, Some(best)) => best,
        (None, None) => return Err(Problem::conflict("the game is over on this board")),
    };
    let illegal = || {
        let name = direction.name();
        Problem::conflict(format!("the slide {name} is illegal: it changes nothing"))
    };
    let found = contender.agent.explain(&state, direction);
    let reward = analysis.rewards[direction as usize].ok_or_else(illegal)?;
    let found = found.ok_or_else(|| {
        Problem::conflict("this model has no tuples: only n-tuple networks have lookups")
    })?;
    let of = analysis.values.get(direction).ok_or_else(illegal)?;
    let exact = solution.and_then(|solution| analysis_of(solution, &state));
    let exact_total = exact.and_then(|exact| exact.total(direction));
    let rules = rules(&request.game)?;
    let value = |tile: u8| match tile {
        0 => 0,
        tile => rules.tile_value(tile),
    };
    Ok(Explained {
        value_of: match found.value_of {
            ValueOf::State => "state",
            _ => "afterstate",
        }
        .to_owned(),
        direction: direction.name().to_owned(),
        reward,
        value: of.value.into(),
        total: of.total.into(),
        exact: match found.value_of {
            ValueOf::State => exact.and_then(|exact| exact.best_total()),
            _ => exact_total.map(|total| total - f64::from(reward)),
        },
        exact_total,
        cells: found.tiles.iter().map(|&tile| value(tile)).collect(),
        afterstate: found.afterstate.iter().map(|&tile| value(tile)).collect(),
        rows: board.shape().rows(),
        cols: board.shape().cols(),
        sum: found.sum(),
        by_cell: found.by_cell(),
        spawns: spawns(contender, &found, value),
        lookups: lookups(&found),
        base: found.base,
        patterns: found.patterns,
        tiles: found.tiles,
    })
}

fn lookups(found: &Explanation) -> Vec<LookupView> {
    let lookups = found.lookups.iter();
    lookups
        .map(|lookup| LookupView {
            tuple: lookup.tuple,
            symmetry: lookup.symmetry,
            cells: lookup.cells.clone(),
            digits: found.digits(lookup),
            index: lookup.index,
            weight: lookup.weight.into(),
        })
        .collect()
}

/// Every state that a slide may lead to, with its value by this contender.
fn spawns(
    contender: &Contender,
    found: &Explanation,
    tile_value: impl Fn(u8) -> u64,
) -> Vec<SpawnView> {
    let states: Vec<BoardState> = found.successors.iter().map(|it| it.state.clone()).collect();
    let best = contender.agent.analyze(&states);
    let spawns = found.successors.iter().zip(best);
    spawns
        .map(|(spawn, best)| {
            let best = || best.and_then(|best| best.best_total());
            SpawnView {
                cell: spawn.cell,
                tile: tile_value(spawn.tile),
                hint: spawn
                    .state
                    .chance_state
                    .to_string()
                    .strip_prefix('+')
                    .map(str::to_owned),
                chance: spawn.chance,
                reward: spawn.reward,
                value: spawn.value.or_else(best).unwrap_or(0.0),
                is_over: spawn.is_over,
            }
        })
        .collect()
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
    /// The games that are learned before; 100 by default, up to 20,000 on boards of up to nine cells,
    /// else up to 5,000.
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

/// A game with every number of what was learned from it.
#[utoipa::path(post, path = "/api/v1/lesson", tag = "inside",
    request_body = LessonRequest,
    responses((status = 200, body = schema::LessonView, description = "The game: each step with its slides, spawns and update"),
        (status = 400, body = Problem), (status = 403, body = Problem), (status = 408, body = Problem),
        (status = 429, body = Problem)))]
pub async fn lesson(
    State(app): State<AppState>,
    Body(asked): Body<LessonRequest>,
) -> Result<JsonText, Problem> {
    let options = LessonOptions::from(asked);
    let shared = app.clone();
    app.heavy
        .run(move |token| {
            let control = Control::new().with_cancel(token);
            let solution = perfect(&shared, &options.game, shape_of(&options.board)?, &control)?;
            let found = lesson::lesson_beside(solution.as_deref(), &options, &control)?;
            let found = found.ok_or_else(|| Problem::busy("the work was cancelled"))?;
            JsonText::of(&found)
        })
        .await
}
