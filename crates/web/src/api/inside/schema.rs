//! The fields of a lesson, which the lab writes. These types only describe; a test compares them with an
//! answer.

#![allow(
    dead_code,
    reason = "schemas are read by programs that read the description"
)]

use utoipa::ToSchema;

/// A game with every number of what was learned from it.
#[derive(ToSchema)]
pub struct LessonView {
    /// Its options, as in the request.
    options: super::LessonRequest,
    /// The tuples, as patterns of cells.
    patterns: Vec<String>,
    /// The number of lookups of one value, m.
    lookups: usize,
    /// The mean score of the last games that were learned before, up to 100 of them.
    mean: Option<f64>,
    /// The steps of the game, in its order, at most 400.
    steps: Vec<LessonStepView>,
    /// The tiles at its end, by value.
    end: Vec<u64>,
    /// Its score.
    score: u64,
    /// Its moves.
    moves: usize,
}

/// A move, the spawn after it, and the update of the value of the position.
#[derive(ToSchema)]
pub struct LessonStepView {
    /// The tiles of the state, by value.
    state: Vec<u64>,
    /// Its slides, with values as they were when the move was chosen.
    slides: Vec<LessonSlideView>,
    /// The slide that is made: its place among them.
    chosen: usize,
    /// The tiles of the afterstate.
    afterstate: Vec<u64>,
    /// Every spawn that may come, with values as they are before the update.
    spawns: Vec<LessonSpawnView>,
    /// The one that comes: its place among them.
    drawn: usize,
    /// The update.
    update: LessonUpdateView,
}

/// A slide of a state.
#[derive(ToSchema)]
pub struct LessonSlideView {
    /// The direction.
    direction: String,
    /// Its reward.
    reward: u32,
    /// V of the afterstate, or the mean of V over its spawns.
    value: f32,
    /// Their sum, which the player maximises.
    total: f32,
    /// What the total is under perfect play, on small boards and with a solution.
    exact: Option<f64>,
}

/// A spawn after a slide.
#[derive(ToSchema)]
pub struct LessonSpawnView {
    /// The cell.
    cell: usize,
    /// The value of the tile.
    tile: u64,
    /// The next tile that it shows, in games with a hint: its index, or `bonus`.
    hint: Option<String>,
    /// Its reward.
    reward: u32,
    /// Its chance.
    chance: f64,
    /// V of the state with it, or of its best slide the reward plus V.
    value: f32,
    /// Whether the game is over there.
    is_over: bool,
}

/// The update of the value of one position.
#[derive(ToSchema)]
pub struct LessonUpdateView {
    /// When it is made: 0 for the first one.
    order: usize,
    /// The tiles of the position, by value.
    position: Vec<u64>,
    /// The reward between this position and the next one.
    reward: f32,
    /// What is added to it: the value of the next position, or z; 0 at the end.
    next: f32,
    /// What z is made of; null for forward updates, and at the end.
    carried: Option<LessonReturnView>,
    /// The mean over every spawn of its reward plus value.
    mean: f64,
    /// Reward plus `next`.
    target: f32,
    /// The value before.
    value: f32,
    /// Target minus value.
    error: f32,
    /// The value after.
    after: f32,
    /// What the value is under perfect play, on small boards and with a solution.
    exact: Option<f64>,
    /// Its lookups, each weight once.
    weights: Vec<LessonWeightView>,
}

/// z = lambda target + (1 - lambda) after, both of the next move.
#[derive(ToSchema)]
pub struct LessonReturnView {
    /// The target of the next move.
    target: f32,
    /// The value of its position after its update.
    after: f32,
}

/// A weight of a position.
#[derive(ToSchema)]
pub struct LessonWeightView {
    /// The number of its tuple.
    tuple: usize,
    /// The cells that it reads, for each symmetry that finds it.
    cells: Vec<Vec<usize>>,
    /// Its index in the table.
    index: usize,
    /// Its value before the update, for one lookup.
    before: f32,
    /// Its value after.
    after: f32,
    /// With TC: |E| / A before the update.
    coherence: Option<f32>,
    /// With TC: the sums before the update.
    sums: Option<LessonSumsView>,
    /// With TC: the sums after it.
    sums_after: Option<LessonSumsView>,
}

/// The sums of TC beside a weight.
#[derive(ToSchema)]
pub struct LessonSumsView {
    /// E: the sum of all errors.
    error: f32,
    /// A: the sum of their absolute values.
    absolute: f32,
}
