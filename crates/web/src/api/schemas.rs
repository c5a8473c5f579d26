//! The fields of answers that the lab writes: of analyses, reviews, judgements, blocks and recipes. These
//! types only describe; a test compares them with answers, so that no field is left out.

#![allow(
    dead_code,
    reason = "schemas are read by programs that read the description"
)]

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// The model that answered.
#[derive(ToSchema)]
pub struct ModelSummary {
    /// Its name.
    path: String,
    /// The SHA-256 digest of its file.
    sha256: Option<String>,
    /// The game.
    game: String,
    /// The board.
    board: String,
    /// The recipe, with what was changed in it.
    recipe: Option<String>,
    /// Everything that was changed in the recipe, each `key=value`.
    changed: Vec<String>,
    /// The games that it was trained for.
    trained: Option<u64>,
}

/// The value of each move on a board.
#[derive(ToSchema)]
pub struct AnalysisView {
    /// The model; none for `random` and `greedy`.
    model: Option<ModelSummary>,
    /// The game.
    game: String,
    /// The board, as in `4x4`.
    board: String,
    /// The board that was analysed, in one line.
    position: String,
    /// How the values were found: `1ply`, `3ply`, `exact`.
    search: String,
    /// The plies that were searched.
    plies: Option<u8>,
    /// Whether the search was stopped before its end.
    interrupted: bool,
    /// How games were played on, if they were.
    rollouts: Option<RolloutsView>,
    /// Of a solution: the weight of a reward one move later.
    discount: Option<f64>,
    /// Of a solution: the tile of its chances.
    target: Option<u64>,
    /// Of a solution: the best direction for that tile.
    best_for_target: Option<String>,
    /// The best direction; null if the game is over.
    best: Option<String>,
    /// Up, right, down and left.
    moves: Vec<MoveView>,
}

/// How games were played on.
#[derive(ToSchema)]
pub struct RolloutsView {
    /// Games after each move.
    games: u64,
    /// The seed.
    seed: u64,
    /// How the player searched.
    search: String,
    /// Whether they were stopped before their end.
    interrupted: bool,
}

/// A move and its value.
#[derive(ToSchema)]
pub struct MoveView {
    /// The direction.
    direction: String,
    /// Whether the slide changes the board.
    legal: bool,
    /// Its reward.
    reward: Option<u32>,
    /// What the rest of the game is expected to earn.
    value: Option<f64>,
    /// Reward plus value, which the best move maximises.
    total: Option<f64>,
    /// How much less than the best.
    loss: Option<f64>,
    /// `best`, `excellent`, `good`, `inaccuracy`, `mistake` or `blunder`.
    grade: Option<String>,
    /// The share of the best total that it keeps.
    share: Option<f64>,
    /// Of a solution: the chance of its tile.
    win_probability: Option<f64>,
    /// Of a solution: how much less than the best.
    win_loss: Option<f64>,
    /// The chances of tiles, by games that were played on.
    chances: Option<Vec<TileChanceView>>,
    /// What these games earned.
    rest: Option<RestView>,
    /// The line of best moves and most likely tiles after it, by the values at once.
    line: Option<Vec<LineMoveView>>,
}

/// The chance of reaching a tile.
#[derive(ToSchema)]
pub struct TileChanceView {
    /// The tile.
    tile: u64,
    /// The share of games that reached it.
    p: f64,
    /// Its 95% interval.
    ci95: [f64; 2],
}

/// The points that games earned.
#[derive(ToSchema)]
pub struct RestView {
    /// Their mean.
    mean: f64,
    /// Its 95% interval.
    mean_ci95: Option<[f64; 2]>,
}

/// A move of a line.
#[derive(ToSchema)]
pub struct LineMoveView {
    /// The direction.
    direction: String,
    /// The tile after it.
    spawn: Option<LineSpawnView>,
}

/// A tile of a line.
#[derive(ToSchema)]
pub struct LineSpawnView {
    /// Its value.
    tile: u64,
    /// Its cell, as in `c2`.
    cell: String,
}

/// A review of recorded games.
#[derive(ToSchema)]
pub struct ReviewView {
    /// The model; none for `random` and `greedy`.
    model: Option<ModelSummary>,
    /// The game.
    game: String,
    /// The board.
    board: String,
    /// How the values of moves were found.
    search: String,
    /// How the values of spawns were found.
    luck_search: String,
    /// The tile whose chance the values are, if they are chances.
    target: Option<u64>,
    /// The least share of the best value that a move of each grade keeps.
    thresholds: BTreeMap<String, f64>,
    /// Whether it was stopped before the last game.
    interrupted: bool,
    /// All games together.
    total: TotalView,
    /// Each game.
    games: Vec<GameReviewView>,
    /// How many lines could not be reviewed.
    fault_count: u64,
    /// The first of them.
    faults: Vec<ReviewFaultView>,
}

/// What the review of one game or of all found.
#[derive(ToSchema)]
pub struct ReviewResultView {
    /// The number of moves.
    move_count: u64,
    /// The mean share of the best value that they kept.
    accuracy: Option<f64>,
    /// The mean loss.
    mean_loss: Option<f64>,
    /// The sum of all losses.
    total_loss: f64,
    /// The number of moves of each grade.
    grades: BTreeMap<String, u64>,
    /// The luck of all spawns, in points.
    luck: f64,
    /// The same in standard deviations.
    luck_z: Option<f64>,
    /// The moves that lost most.
    worst: Vec<WorstMoveView>,
    /// The luckiest spawns.
    luckiest: Vec<SpawnLuckView>,
    /// The unluckiest spawns.
    unluckiest: Vec<SpawnLuckView>,
}

/// All games of a review.
#[derive(ToSchema)]
pub struct TotalView {
    /// Their number.
    games: u64,
    /// Their result.
    #[serde(flatten)]
    result: ReviewResultView,
}

/// The review of a game.
#[derive(ToSchema)]
pub struct GameReviewView {
    /// Its line in the records.
    line: u64,
    /// The name in its record.
    player: String,
    /// Its score.
    score: u64,
    /// Its largest tile.
    largest: u64,
    /// Whether it is over at the end of the record.
    finished: bool,
    /// Its result.
    #[serde(flatten)]
    result: ReviewResultView,
    /// Every move.
    moves: Vec<ReviewedMoveView>,
    /// The position before each move and after the last one.
    positions: Vec<ReviewedPositionView>,
}

/// The review of a move.
#[derive(ToSchema)]
pub struct ReviewedMoveView {
    /// The move.
    direction: String,
    /// The best move.
    best: Option<String>,
    /// The value that it lost.
    loss: Option<f64>,
    /// The share of the best value that it kept.
    share: Option<f64>,
    /// Its grade.
    grade: Option<String>,
    /// The luck of the spawn after it.
    luck: Option<f64>,
}

/// A position of a reviewed game.
#[derive(ToSchema)]
pub struct ReviewedPositionView {
    /// The board in one line.
    board: String,
    /// The score so far.
    score: u64,
    /// The value of the best move.
    value: Option<f64>,
}

/// One of the worst moves.
#[derive(ToSchema)]
pub struct WorstMoveView {
    /// The line of its game.
    line: u64,
    /// Its number in the game, from 1.
    number: u64,
    /// The board before it.
    position: String,
    /// The move.
    direction: String,
    /// The best move.
    best: Option<String>,
    /// The value that it lost.
    loss: f64,
    /// The share of the best value that it kept.
    share: f64,
    /// Its grade.
    grade: String,
}

/// The luck of a spawn.
#[derive(ToSchema)]
pub struct SpawnLuckView {
    /// The line of its game.
    line: u64,
    /// The number of the move before it, from 1.
    number: u64,
    /// The tile.
    tile: u64,
    /// Its cell, as in `c2`.
    cell: String,
    /// Its luck.
    luck: f64,
    /// The board after it.
    position: String,
}

/// A line that could not be reviewed.
#[derive(ToSchema)]
pub struct ReviewFaultView {
    /// The line.
    line: u64,
    /// Why.
    reason: String,
}

/// A judgement of a file of records.
#[derive(ToSchema)]
pub struct JudgementView {
    /// Whether there is no fault.
    passed: bool,
    /// Whether it was stopped before the end of the file.
    interrupted: bool,
    /// What failed, in words.
    failures: Vec<String>,
    /// The game.
    game: String,
    /// The board.
    board: String,
    /// Whether the game was guessed from the records.
    guessed: bool,
    /// Valid games.
    episodes: u64,
    /// The number of games that was asked for.
    games_required: Option<u64>,
    /// Valid games that end before they are over.
    unfinished: u64,
    /// Valid games that are the same as an earlier one, or a mirror image of it.
    duplicates: u64,
    /// Their mean score.
    mean: f64,
    /// The highest score.
    max: u64,
    /// Moves a second, by the times in the records.
    moves_per_second: Option<f64>,
    /// The speed that was asked for.
    min_speed: Option<f64>,
    /// Whether every action follows the rules and new tiles are those of chance.
    actions_passed: bool,
    /// Whether it was fast enough.
    speed_passed: Option<bool>,
    /// The slides of the player.
    player: TimeShareView,
    /// The new tiles of the environment.
    environment: TimeShareView,
    /// Points of the assessment, for games that have one.
    assessment: Option<f64>,
    /// What the points cannot be compared with.
    assessment_note: Option<String>,
    /// Whether there is a seal and everything agrees with it: never in the app, which takes no seals.
    sealed: bool,
    /// What the seal says.
    #[schema(value_type = Option<Object>)]
    seal: Option<()>,
    /// Tests of the spawns.
    tests: Vec<SpawnTestView>,
    /// The model by which luck was measured.
    luck_model: Option<String>,
    /// The number of faults.
    fault_count: u64,
    /// The first faults.
    faults: Vec<FaultView>,
    /// What is odd, but no fault.
    notes: Vec<String>,
    /// What the judge cannot see.
    limits: String,
    /// The statistics of all games.
    tally: TallyView,
}

/// Moves of one side, and their time.
#[derive(ToSchema)]
pub struct TimeShareView {
    /// Moves.
    moves: u64,
    /// Their time in milliseconds.
    millis: u64,
}

/// A test of spawns.
#[derive(ToSchema)]
pub struct SpawnTestView {
    /// What was tested.
    name: String,
    /// The probability that fair draws deviate at least as far.
    p: f64,
    /// Whether that is credible.
    passed: bool,
    /// The number of draws.
    draws: u64,
    /// The test statistic of frequencies.
    chi_squared: Option<f64>,
    /// Its degrees of freedom.
    freedom: Option<u64>,
    /// The test statistic of a sum, in standard deviations.
    z: Option<f64>,
}

/// A fault in a file of records.
#[derive(ToSchema)]
pub struct FaultView {
    /// Its kind.
    kind: String,
    /// Its line.
    line: Option<u64>,
    /// The number of the action.
    action: Option<u64>,
    /// The column.
    column: Option<u64>,
    /// What is wrong.
    reason: String,
}

/// Statistics of games.
#[derive(ToSchema)]
pub struct TallyView {
    /// Games.
    games: u64,
    /// Moves.
    moves: u64,
    /// The sum of the scores.
    score: u64,
    /// The highest score.
    max: u64,
    /// Their time.
    seconds: f64,
    /// The number of games by their largest tile.
    ended: BTreeMap<String, u64>,
}

/// A block of training games.
#[derive(ToSchema)]
pub struct BlockView {
    /// Games so far.
    games: u64,
    /// Games of the block.
    block_games: u64,
    /// Their mean score.
    mean: f64,
    /// Their highest score.
    max: u64,
    /// Their moves.
    moves: u64,
    /// Their time.
    seconds: f64,
    /// Moves a second.
    moves_per_second: u64,
    /// The learning rate at its end.
    learning_rate: f64,
    /// What was learned from a replay buffer.
    replay: Option<ReplayBlockView>,
    /// The number of games by their largest tile.
    ended: BTreeMap<String, u64>,
}

/// What was learned from a replay buffer in a block.
#[derive(ToSchema)]
pub struct ReplayBlockView {
    /// Iterations so far.
    iterations: Option<u64>,
    /// Updates so far.
    updates: u64,
    /// The mean loss.
    loss: f64,
    /// The mean value Q.
    value: f64,
    /// The mean reward.
    reward: f64,
    /// The running average of scores.
    running_average: f64,
}

/// A built-in recipe.
#[derive(ToSchema)]
pub struct RecipeSummary {
    /// Its name.
    name: String,
    /// What it is for.
    purpose: String,
    /// What it has reached.
    result: String,
    /// How long it trains.
    time: String,
    /// The game.
    game: String,
    /// The board.
    board: String,
    /// The games to train for.
    episodes: u64,
    /// The iterations after which it ends.
    max_iterations: Option<u64>,
    /// The updates after which it ends.
    max_updates: Option<u64>,
    /// The weights of its tables, or the parameters of its deep network.
    weights: Option<u64>,
    /// Their memory in bytes.
    bytes: Option<u64>,
}

/// A key of a recipe.
#[derive(ToSchema)]
pub struct KeyView {
    /// The dotted key.
    key: String,
    /// `whole`, `number`, `text`, `switch`, `choice` or `list`.
    #[schema(rename = "type")]
    r#type: String,
    /// Its value.
    value: String,
    /// The words of a choice.
    choices: Vec<String>,
    /// What it means.
    help: String,
}
