//! Sweeps: variants of a recipe with several seeds each, their table, and their curves.

use afterstate_lab::curve::{Curve, Point};
use afterstate_lab::sweep::{FoundSweep, FoundVariant, SavedRow, sweeps_of};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::runs::RunQuery;
use crate::error::{Answer, Problem};
use crate::extract::QueryOf;
use crate::state::AppState;

/// The most points of a curve: longer ones are thinned.
const MOST_POINTS: usize = 500;

/// A sweep.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SweepView {
    /// Its name: its folder within the folder of runs.
    pub id: String,
    /// What its table contains, in one line; null until the sweep is finished.
    pub heading: Option<String>,
    /// Its variants; the others are compared with the first.
    pub variants: Vec<VariantView>,
}

/// A variant of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VariantView {
    /// Its name.
    pub name: String,
    /// Its runs, by seed.
    pub runs: Vec<SeedView>,
    /// Its row of `summary.csv`: mean, difference and win rate with 95% intervals; null until the
    /// sweep is finished.
    #[schema(value_type = Option<Object>)]
    pub row: Option<SavedRow>,
}

/// A run of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeedView {
    /// Its seed.
    pub seed: u64,
    /// The name of the run.
    pub id: String,
    /// Its status, as in the list of runs.
    pub status: String,
    /// Games so far.
    pub games: u64,
    /// The mean score of the last block.
    pub mean: Option<f64>,
}

/// The learning curve of a variant.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CurveView {
    /// The name of the variant.
    pub name: String,
    /// The number of seeds that it is the mean of.
    pub seeds: usize,
    /// Its points, by games.
    pub points: Vec<CurvePoint>,
}

/// A point of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurvePoint {
    /// Games of each run.
    pub games: u64,
    /// The mean score of the block, over all seeds.
    pub mean: f64,
    /// That of the lowest seed.
    pub low: f64,
    /// That of the highest seed.
    pub high: f64,
}

fn found(app: &AppState) -> Vec<FoundSweep> {
    sweeps_of(app.models.folder(), &app.models.runs())
}

fn view(app: &AppState, sweep: &FoundSweep) -> SweepView {
    let variant = |variant: &FoundVariant| VariantView {
        name: variant.name.clone(),
        row: variant.row.clone(),
        runs: variant
            .runs
            .iter()
            .map(|(&seed, run)| SeedView {
                seed,
                id: app.models.id_of(&run.path),
                status: run.status.name().to_owned(),
                games: run.games,
                mean: run.mean,
            })
            .collect(),
    };
    SweepView {
        id: app.models.id_of(&sweep.folder),
        heading: sweep.heading.clone(),
        variants: sweep.variants.iter().map(variant).collect(),
    }
}

/// All sweeps, also those that are under way.
#[utoipa::path(get, path = "/api/v1/sweeps", operation_id = "list_sweeps", tag = "train",
    responses((status = 200, body = Vec<SweepView>), (status = 403, body = Problem), (status = 429, body = Problem)))]
pub async fn list(State(app): State<AppState>) -> Answer<Vec<SweepView>> {
    let shared = app.clone();
    let list = move |_| {
        let sweeps = found(&shared);
        Ok(sweeps.iter().map(|sweep| view(&shared, sweep)).collect())
    };
    Ok(Json(app.quick.run(list).await?))
}

/// The learning curve of each variant: the mean over its seeds, as far as all of them go.
#[utoipa::path(get, path = "/api/v1/sweep/curves", tag = "train", params(RunQuery),
    responses((status = 200, body = Vec<CurveView>), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 429, body = Problem)))]
pub async fn curves(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<RunQuery>,
) -> Answer<Vec<CurveView>> {
    let shared = app.clone();
    app.quick
        .run(move |_| {
            let sweeps = found(&shared);
            let sweep = sweeps
                .iter()
                .find(|sweep| shared.models.id_of(&sweep.folder) == query.id);
            let sweep = sweep.ok_or_else(|| {
                let id: String = query.id.chars().take(80).collect();
                Problem::missing(format!("there is no sweep `{id}` in the folder of runs"))
            })?;
            Ok(Json(sweep.curves().iter().map(curve_view).collect()))
        })
        .await
}

fn curve_view(curve: &Curve) -> CurveView {
    let every = curve.points.len().div_ceil(MOST_POINTS).max(1);
    let last = curve.points.len();
    let kept = curve.points.iter().enumerate();
    let kept = kept.filter(|(place, _)| (place + 1) % every == 0 || place + 1 == last);
    let point = |(place, point): (usize, &Point)| {
        let seeds = curve.seeds.iter().filter_map(|seed| seed.points.get(place));
        let means: Vec<f64> = seeds.map(|point| point.tally.mean()).collect();
        let mean = point.tally.mean();
        CurvePoint {
            games: point.games,
            mean,
            low: means.iter().copied().fold(mean, f64::min),
            high: means.iter().copied().fold(mean, f64::max),
        }
    };
    CurveView {
        name: curve.label.clone(),
        seeds: curve.seeds.len(),
        points: kept.map(point).collect(),
    }
}
