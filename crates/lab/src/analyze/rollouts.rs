//! Rollouts: the same number of games is played on from each legal move, to see how often each of
//! the next tiles is reached.
//!
//! Game n has the same random stream after every move, so moves are paired, and results depend on
//! the seed, not on threads. Games are played in rounds over all moves; if the work is cancelled,
//! every move keeps the games that all of them have.

use afterstate::game::Direction;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use super::{impossible, state_of};
use crate::LabError;
use crate::agent::{FirstMove, RoundSpec};
use crate::board::GameBoard;
use crate::control::{Control, Job, Meter, Status, Task, Unit};
use crate::evaluate::Contender;
use crate::games;
use crate::share::threads;
use crate::statistics::{mean_interval, share_interval};

/// How many tiles above the largest one have a chance.
const NEXT_TILES: usize = 3;
/// The moves take turns, so that every one of them has games when rollouts are stopped: the first turn
/// has this many games, and later ones as many as were played, up to a limit.
const FIRST_TURN: u64 = 16;
const LONGEST_TURN: u64 = 1000;

/// The options of rollouts.
pub struct RolloutOptions<'a> {
    /// The number of games for each legal move.
    pub games: u64,
    /// The seed.
    pub seed: u64,
    /// A further tile whose chance is computed.
    pub tile: Option<u64>,
    /// Threads; 0 means one for each core. The result does not depend on it.
    pub threads: usize,
    /// Events and cancellation.
    pub control: &'a Control,
}

/// How rollouts were played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutInfo {
    /// The number of games for each legal move.
    pub games: u64,
    /// The seed.
    pub seed: u64,
    /// How the moves were chosen: `1ply`, `2ply`.
    pub search: String,
    /// Whether they were cancelled before the last game.
    pub interrupted: bool,
    /// The further tile that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<u64>,
}

/// The chance of reaching a tile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileChance {
    /// The tile.
    pub tile: u64,
    /// The share of games that reached it.
    pub p: f64,
    /// Its 95% interval, by Wilson's score.
    pub ci95: [f64; 2],
}

/// The score of the rest of a game after a move, without the reward of the move: what its value
/// estimates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutScore {
    /// The mean over all games.
    pub mean: f64,
    /// Its 95% interval, by Student's t; `None` for a single game.
    pub mean_ci95: Option<[f64; 2]>,
}

/// The results of rollouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollouts {
    /// How they were played.
    pub info: RolloutInfo,
    /// By direction: the chances of the next tiles, and the score of the rest. `None` where the
    /// move is illegal, or no game was finished.
    pub moves: [Option<(Vec<TileChance>, RolloutScore)>; 4],
}

/// Plays on from every legal move of a board.
///
/// # Errors
/// When no game can reach the board.
pub fn rollouts(
    contender: &Contender,
    board: &GameBoard,
    options: &RolloutOptions<'_>,
) -> Result<Rollouts, LabError> {
    let state = state_of(board);
    let analysis = contender.agent.analyze(std::slice::from_ref(&state));
    let analysis = analysis.into_iter().next().flatten();
    let analysis = analysis.ok_or_else(|| impossible(contender, board))?;
    let legal = analysis.rewards.iter().flatten().count() as u64;
    let tiles = next_tiles(contender, board, options.tile)?;
    let (control, total) = (options.control, options.games * legal);
    let job = Job {
        task: Task::Analyze,
        subject: contender.label.clone(),
        total: Some(total),
        unit: Unit::Games,
    };
    let work = || {
        let meter = Meter::new(control, Task::Analyze, Unit::Games, 0, total);
        let mut played: [Vec<Outcome>; 4] = Default::default();
        let mut from = 0;
        while from < options.games && !control.is_cancelled() {
            let turn = from.clamp(FIRST_TURN, LONGEST_TURN);
            let numbers = from..options.games.min(from + turn);
            from = numbers.end;
            let round = RoundSpec {
                stop: &|| control.is_cancelled(),
                on_game: &|outcome| meter.game(outcome),
                ..RoundSpec::new(numbers, options.seed, threads(options.threads))
            };
            for direction in Direction::ALL {
                let first = FirstMove {
                    state: &state,
                    direction,
                };
                let games = contender.agent.play_from(first, &round);
                played[direction as usize].extend(games.unwrap_or_default());
            }
        }
        Ok(summary(
            contender,
            options,
            analysis.rewards,
            &tiles,
            &played,
        ))
    };
    control.run(job, work, |done| {
        let info = &done.as_ref().ok()?.info;
        Some((Status::of(!info.interrupted), info.games * legal))
    })
}

/// The chance of reaching a tile from a board: the best move, and then games by the same model.
/// `None` if no game was played, because the game is over or the work was cancelled.
///
/// # Errors
/// When no game can reach the board, or has the tile.
pub fn chance_of(
    contender: &Contender,
    board: &GameBoard,
    tile: u64,
    options: &RolloutOptions<'_>,
) -> Result<Option<TileChance>, LabError> {
    let values = games::tile_values(&contender.game, contender.shape)?;
    check_tile(contender, &values, tile)?;
    let state = state_of(board);
    let analysis = contender.agent.analyze(std::slice::from_ref(&state));
    let analysis = analysis.into_iter().next().flatten();
    let analysis = analysis.ok_or_else(|| impossible(contender, board))?;
    // A model without values, as the baseline `random`, has no best move: any legal one is played.
    let legal = Direction::ALL
        .into_iter()
        .find(|&it| analysis.rewards[it as usize].is_some());
    let Some(direction) = analysis.chosen.or(legal) else {
        return Ok(None);
    };
    let round = RoundSpec {
        stop: &|| options.control.is_cancelled(),
        ..RoundSpec::new(0..options.games, options.seed, threads(options.threads))
    };
    let first = FirstMove {
        state: &state,
        direction,
    };
    let played = contender.agent.play_from(first, &round).unwrap_or_default();
    Ok((!played.is_empty()).then(|| reached(tile, &played)))
}

/// The share of games that reached a tile.
fn reached(tile: u64, played: &[Outcome]) -> TileChance {
    let (hits, games) = (
        played.iter().filter(|it| it.largest >= tile).count() as u64,
        played.len() as u64,
    );
    TileChance {
        tile,
        p: hits as f64 / games as f64,
        ci95: share_interval(hits, games),
    }
}

/// Refuses a tile that the game does not have.
fn check_tile(contender: &Contender, values: &[u64], tile: u64) -> Result<(), LabError> {
    match values.contains(&tile) {
        true => Ok(()),
        false => Err(LabError::Board(format!(
            "there is no tile {tile} in {}",
            contender.game_on()
        ))),
    }
}

/// The values of the next tiles above the largest one on the board, and of one that is asked for.
fn next_tiles(
    contender: &Contender,
    board: &GameBoard,
    asked: Option<u64>,
) -> Result<Vec<u64>, LabError> {
    let values = games::tile_values(&contender.game, contender.shape)?;
    let largest = board.tiles().iter().copied().max().unwrap_or(0);
    let next = values.iter().copied().skip(largest.into());
    let mut tiles: Vec<u64> = next.take(NEXT_TILES).collect();
    if let Some(tile) = asked {
        check_tile(contender, &values, tile)?;
        if let Err(place) = tiles.binary_search(&tile) {
            tiles.insert(place, tile);
        }
    }
    Ok(tiles)
}

fn summary(
    contender: &Contender,
    options: &RolloutOptions<'_>,
    rewards: [Option<u32>; 4],
    tiles: &[u64],
    played: &[Vec<Outcome>; 4],
) -> Rollouts {
    let counts = played.iter().zip(rewards);
    let counts = counts.filter_map(|(played, reward)| reward.map(|_| played.len()));
    let games = counts.min().unwrap_or(0);
    let of = |direction: Direction| {
        let reward = rewards[direction as usize]?;
        let played = &played[direction as usize][..games];
        if played.is_empty() {
            return None;
        }
        let chance = |&tile: &u64| reached(tile, played);
        let rest = |outcome: &Outcome| outcome.score as f64 - f64::from(reward);
        let (mean, mean_ci95) = mean_interval(&played.iter().map(rest).collect::<Vec<_>>());
        Some((
            tiles.iter().map(chance).collect(),
            RolloutScore { mean, mean_ci95 },
        ))
    };
    let legal = rewards.iter().flatten().count();
    Rollouts {
        info: RolloutInfo {
            games: games as u64,
            seed: options.seed,
            search: contender.agent.search().to_owned(),
            interrupted: legal > 0 && (games as u64) < options.games,
            tile: options.tile,
        },
        moves: Direction::ALL.map(of),
    }
}
