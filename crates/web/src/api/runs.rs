//! Training: recipes as forms, runs with their curves, start, stop and resume.

pub mod file;
mod training;

use std::collections::BTreeMap;

use afterstate_lab::block::Block;
use afterstate_lab::recipe::{KeyForm, Recipe, RecipeInfo};
use afterstate_lab::run::{blocks_of, model_of, recipe_of};
use afterstate_lab::runs::RunInfo;
use afterstate_lab::spec::{BuiltinRecipe, NetworkSize};
use afterstate_lab::trainer::Trainer;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use training::begin;
pub use training::{Trainings, stop_all, wait_for_all};
use utoipa::{IntoParams, ToSchema};

use super::schemas::{BlockView, KeyView, RecipeSummary};
use crate::error::{Answer, Problem};
use crate::extract::{Body, QueryOf};
use crate::models::lock;
use crate::state::AppState;

/// The most blocks of an answer: longer runs are thinned.
const MOST_BLOCKS: usize = 2_000;

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// Its name: its folder within the folder of runs.
    pub id: String,
    /// The recipe, with what was changed in it.
    pub title: String,
    /// The recipe.
    pub recipe: Option<String>,
    /// What was changed in it, each `key=value`.
    pub changed: Vec<String>,
    /// The game.
    pub game: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// `running`, `finished`, `stopped`, `new` or `damaged`.
    pub status: String,
    /// Whether this server trains it, and can stop it.
    pub here: bool,
    /// Games so far.
    pub games: u64,
    /// Updates so far, with a replay buffer.
    pub updates: Option<u64>,
    /// The mean score of the last block.
    pub mean: Option<f64>,
    /// When it was begun.
    pub started: Option<String>,
    /// When it was finished.
    pub finished: Option<String>,
    /// The last progress, while this server trains it.
    #[schema(value_type = Option<Object>)]
    pub progress: Option<serde_json::Value>,
}

/// A run with its recipe.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten)]
    pub run: RunView,
    /// Its recipe, as TOML.
    pub toml: String,
    /// The games of the whole recipe.
    pub episodes: u64,
    /// The points that a value of 1 stands for.
    pub value_unit: f64,
    /// Files that can be downloaded: `model`, `recipe`, `blocks`.
    pub files: Vec<String>,
}

/// A recipe as a form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecipeForm {
    /// Its description.
    #[schema(value_type = RecipeSummary)]
    pub recipe: RecipeInfo,
    /// Its keys: each with key, type, value, choices and help.
    #[schema(value_type = Vec<KeyView>)]
    pub keys: Vec<KeyForm>,
    /// What was changed, each `key=value`.
    pub changed: Vec<String>,
    /// The size of its network, in words.
    pub size: Option<String>,
}

/// Changes of a recipe.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Values by key, as text.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A run to start.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// A built-in recipe.
    pub recipe: String,
    /// Values by key, as text. `from` is the name of a run.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// The name of a run.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Its name, as in the list.
    #[param(example = "quick")]
    pub id: String,
}

/// Blocks of a run.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BlocksQuery {
    /// The name of the run, as in the list.
    #[param(example = "quick")]
    pub id: String,
    /// Only blocks after this number of games.
    #[serde(default)]
    pub after: u64,
}

/// A change of a run that is resumed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The name of the run, as in the list.
    #[schema(example = "quick")]
    pub id: String,
    /// Values by key, as text, such as `episodes`.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A built-in recipe.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecipeView {
    /// Its description, as in `afterstate recipes --json`.
    #[serde(flatten)]
    #[schema(value_type = RecipeSummary)]
    pub recipe: BuiltinRecipe,
    /// Whether it trains a deep network, which not every build can.
    pub deep: bool,
}

/// The built-in recipes.
#[utoipa::path(get, path = "/api/v1/recipes", tag = "train",
    responses((status = 200, body = Vec<RecipeView>), (status = 403, body = Problem)))]
pub async fn recipes() -> Answer<Vec<RecipeView>> {
    let all = BuiltinRecipe::all()?.into_iter().map(|recipe| {
        let keys = Recipe::load_builtin(&recipe.recipe.name, &[])?.form();
        let deep = is_deep(&keys);
        Ok(RecipeView { recipe, deep })
    });
    Ok(Json(all.collect::<Result<_, Problem>>()?))
}

/// Whether a recipe with these keys trains a deep network.
fn is_deep(keys: &[KeyForm]) -> bool {
    let is = |one: &KeyForm| one.key == "network.kind" && one.value == "deep";
    keys.iter().any(is)
}

/// An error of a recipe without what only the command line has: overrides and files.
fn in_a_form(mut problem: Problem) -> Problem {
    let before = " in the override `";
    if let Some(start) = problem.message.find(before) {
        let rest = &problem.message[start + before.len()..];
        let length = rest.find('`').map_or(rest.len(), |end| end + 1);
        let end = start + before.len() + length;
        problem.message.replace_range(start..end, "");
    }
    if let Some((_, reason)) = problem.message.split_once("recipe.toml: ") {
        problem.message = reason.to_owned();
    }
    problem
}

/// The keys of a recipe with their values, after changes. Some changes bring other keys.
#[utoipa::path(post, path = "/api/v1/recipes/{name}/form", tag = "train", params(("name" = String, Path)),
    request_body = Changes,
    responses((status = 200, body = RecipeForm), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub async fn form(
    State(app): State<AppState>,
    Path(name): Path<String>,
    Body(changes): Body<Changes>,
) -> Answer<RecipeForm> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let recipe = recipe(&shared, &name, &changes.set)?;
            let keys = recipe.form();
            let size = match NetworkSize::of(&recipe) {
                Ok(size) => Some(size.to_string()),
                // Tuples that do not fit are told where they are entered.
                Err(error) if !is_deep(&keys) => return Err(error.into()),
                Err(_) => None,
            };
            Ok(Json(RecipeForm {
                recipe: recipe.info(),
                changed: recipe.changed.clone(),
                size,
                keys,
            }))
        })
        .await
}

/// A recipe with changes. Only keys of its form may be changed, and a model to start with is named by
/// its run: nothing that a client sends becomes a path.
fn recipe(app: &AppState, name: &str, set: &BTreeMap<String, String>) -> Result<Recipe, Problem> {
    let form = Recipe::load_builtin(name, &[])?.form();
    let mut overrides = Vec::new();
    for (key, value) in set {
        let is_table = key.starts_with("network.") || key.starts_with("learner.");
        if !is_table && !form.iter().any(|one| &one.key == key) {
            let key: String = key.chars().take(60).collect();
            return Err(Problem::input(format!("`{key}` cannot be changed here")));
        }
        match key.as_str() {
            "from" if value.is_empty() => {}
            "from" => {
                let path = app.models.run(value)?.path;
                let path = path.to_str().ok_or_else(|| {
                    let run = app.models.id_of(&path);
                    Problem::input(format!(
                        "the path of the run `{run}` is not UTF-8 text, so a recipe cannot name it"
                    ))
                })?;
                // Strings of JSON are strings of TOML.
                overrides.push(format!("from={}", serde_json::Value::from(path)));
            }
            _ => overrides.push(format!("{key}={value}")),
        }
    }
    Recipe::load_builtin(name, &overrides).map_err(|error| in_a_form(error.into()))
}

fn view(app: &AppState, run: &RunInfo) -> RunView {
    let id = app.models.id_of(&run.path);
    let trainings = lock(&app.trainings);
    let training = trainings.running.get(&id);
    RunView {
        title: run.title(),
        recipe: run.recipe.clone(),
        changed: run.changed.clone(),
        game: run.game.clone(),
        board: run.board.clone(),
        status: match training {
            Some(_) => "running".to_owned(),
            None => run.status.name().to_owned(),
        },
        here: training.is_some(),
        games: run.games,
        updates: run.updates,
        mean: run.mean,
        started: run.started.clone(),
        finished: run.finished.clone(),
        progress: training.and_then(|training| training.progress.clone()),
        id,
    }
}

/// All runs, newest first, also those that the command line has started.
#[utoipa::path(get, path = "/api/v1/runs", operation_id = "list_runs", tag = "train",
    responses((status = 200, body = Vec<RunView>), (status = 403, body = Problem)))]
pub async fn list(State(app): State<AppState>) -> Answer<Vec<RunView>> {
    let shared = app.clone();
    let list = move |_| {
        let runs = shared.models.runs();
        Ok(runs.iter().map(|run| view(&shared, run)).collect())
    };
    Ok(Json(app.quick.run(list).await?))
}

/// A run with its recipe.
#[utoipa::path(get, path = "/api/v1/run", operation_id = "show_run", tag = "train", params(RunQuery),
    responses((status = 200, body = RunDetail), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem)))]
pub async fn show(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<RunQuery>,
) -> Answer<RunDetail> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let run = shared.models.run(&query.id)?;
            let recipe = recipe_of(&run.path, &[])?;
            let mut files = vec!["recipe".to_owned()];
            files.extend(model_of(&run.path).ok().map(|_| "model".to_owned()));
            files.extend(blocks_of(&run.path).ok().map(|_| "blocks".to_owned()));
            Ok(Json(RunDetail {
                run: view(&shared, &run),
                toml: recipe.to_toml(),
                episodes: recipe.episodes,
                value_unit: recipe.value_unit(),
                files,
            }))
        })
        .await
}

/// The blocks of a run: scores, speed, rates of tiles, losses. Of a long run, each of up to 2000 is
/// the last of some blocks.
#[utoipa::path(get, path = "/api/v1/run/blocks", tag = "train", params(BlocksQuery),
    responses((status = 200, body = Vec<BlockView>, description = "Each as in `afterstate train --json`"),
        (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn blocks(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<BlocksQuery>,
) -> Answer<Vec<Block>> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let run = shared.models.run(&query.id)?;
            // A run that has just begun has no blocks.
            let mut all = blocks_of(&run.path).unwrap_or_default();
            all.retain(|block| block.games > query.after);
            let every = all.len().div_ceil(MOST_BLOCKS).max(1);
            let last = all.len();
            let mut place = 0;
            all.retain(|_| {
                place += 1;
                place % every == 0 || place == last
            });
            Ok(Json(all))
        })
        .await
}

/// Starts a run.
#[utoipa::path(post, path = "/api/v1/runs", operation_id = "start_run", tag = "train", request_body = StartRequest,
    responses((status = 200, body = RunView), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 429, body = Problem, description = "Too many runs at once, or not enough memory")))]
pub async fn start(
    State(app): State<AppState>,
    Body(request): Body<StartRequest>,
) -> Answer<RunView> {
    let shared = app.clone();
    app.heavy
        .run(move |token| {
            let recipe = recipe(&shared, &request.recipe, &request.set)?;
            if is_deep(&recipe.form()) && !cfg!(feature = "deep") {
                return Err(Problem::input(
                    "this recipe trains a deep network, which this program was built without; build \
                     one that can: `cargo build --release --features deep`",
                ));
            }
            let name = recipe.name.clone();
            begin(&shared, &token, move |folder, control| {
                Trainer::new_under(recipe, folder, &name, control)
            })
            .map(Json)
        })
        .await
}

/// Resumes a run from its last checkpoint.
#[utoipa::path(post, path = "/api/v1/run/resume", tag = "train", request_body = ResumeRequest,
    responses((status = 200, body = RunView), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "It is running, or finished"),
        (status = 429, body = Problem)))]
pub async fn resume(
    State(app): State<AppState>,
    Body(request): Body<ResumeRequest>,
) -> Answer<RunView> {
    let shared = app.clone();
    app.heavy
        .run(move |token| {
            let run = shared.models.run(&request.id)?;
            if lock(&shared.trainings).running.contains_key(&request.id) {
                return Err(Problem::conflict("this run is running"));
            }
            if request.set.contains_key("from") {
                return Err(Problem::input("`from` cannot be changed in a run"));
            }
            let set = request.set.iter();
            let overrides: Vec<String> = set.map(|(key, value)| format!("{key}={value}")).collect();
            let view = begin(&shared, &token, move |_, control| {
                let trainer = Trainer::resume(&run.path, &overrides, control)?;
                Ok(trainer)
            });
            view.map(Json).map_err(in_a_form)
        })
        .await
}

/// Stops a run that this server trains. It saves its state first.
#[utoipa::path(post, path = "/api/v1/run/stop", tag = "train", request_body = RunId,
    responses((status = 200, body = RunView), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "This server does not train it")))]
pub async fn stop(State(app): State<AppState>, Body(request): Body<RunId>) -> Answer<RunView> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let run = shared.models.run(&request.id)?;
            match lock(&shared.trainings).running.get(&request.id) {
                Some(training) => training.cancel.cancel(),
                None => {
                    return Err(Problem::conflict(
                        "this server does not train this run; a run of the command line is stopped \
                         there",
                    ));
                }
            }
            Ok(Json(view(&shared, &run)))
        })
        .await
}

/// The name of a run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunId {
    /// Its name, as in the list.
    #[schema(example = "quick")]
    pub id: String,
}
