//! The review of each game: its turns are replayed by the judge, then graded in pieces on several
//! threads, and counted in their order.
//!
//! A search has a table of its own for each call, and its own threads. So the moves of a searching
//! agent are analysed beforehand, by one call after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use afterstate::game::{Game, Slide, State};
use afterstate::judge::{Fault, Judge, Martingale, RecordEnd, ReplayEvent};

use super::input::{Item, RecordReader, item};
use super::result::{ReviewResult, Top};
use super::{
    Detail, GameReview, Highlights, Review, ReviewFault, ReviewOptions, ReviewedMove,
    ReviewedPosition, SpawnLuck, WorstMove,
};
use crate::LabError;
use crate::agent::{Agent, BoardState, StateAnalysis, board_state};
use crate::board::{GameBoard, cell_name};
use crate::control::{Event, Progress, Task, Unit};
use crate::error::game_on;
use crate::evaluate::Contender;
use crate::games::GameVisitor;
use crate::grade::{Grade, share_kept};
use crate::records::{Numbered, game_of};
use crate::share::{share, threads};

/// Turns that are graded at once; fewer in tests, so that short games have several pieces.
pub(super) const PIECE: usize = if cfg!(test) { 16 } else { 256 };
/// The boards of a call of a search: as many as it analyses in about this time, so that neither
/// new tables take long nor the answer to a cancellation.
const SEARCHED: std::ops::RangeInclusive<usize> = 8..=1024;
const SEARCH_TIME: Duration = Duration::from_millis(500);
/// The most faults that are listed.
const LISTED: usize = 100;

/// Reviews the games of a file.
pub(super) struct Reviewing<'a> {
    pub(super) grader: Grader<'a>,
    pub(super) records: RecordReader,
    pub(super) review: &'a mut Review,
}

/// Reviews single games.
pub(super) struct Grader<'a> {
    pub(super) contender: &'a Contender,
    /// The contender without its search.
    pub(super) values: &'a dyn Agent,
    /// Whether the contender searches, and thus has threads of its own.
    pub(super) searches: bool,
    pub(super) options: &'a ReviewOptions<'a>,
    /// The bytes of the file, if they are known.
    pub(super) length: Option<u64>,
}

/// A move, and the spawn after it.
pub(super) struct MoveAndSpawn<G: Game> {
    pub(super) state: State<G::Board>,
    pub(super) slide: Slide<G::Board>,
    /// The cell and the state; `None` where the record ends with the move.
    pub(super) spawn: Option<(usize, State<G::Board>)>,
}

/// A state that a spawn may lead to.
struct Successor<G: Game> {
    state: State<G::Board>,
    reward: f64,
    chance: f64,
}

/// A turn with its values.
struct Graded {
    reviewed: ReviewedMove,
    /// The value of the best move.
    best: Option<f64>,
    /// Its luck; `None` where it is not known.
    spawn: Option<Martingale>,
}

impl GameVisitor for Reviewing<'_> {
    /// The bytes that were read.
    type Output = Result<u64, LabError>;

    fn visit<G: Game>(mut self, game: G) -> Self::Output {
        let judge = Judge::new(game);
        let grader = &self.grader;
        let mut read = 0;
        while let Some(Numbered { number: line, text }) = self.records.next()? {
            let bytes = text.as_ref().map_or(0, Vec::len) as u64 + 1;
            match grader.review(&judge, &game, (line, read, bytes), text.as_deref())? {
                Ok(Some(reviewed)) => self.review.add(reviewed, grader.options),
                Ok(None) => {}
                Err(reason) => {
                    self.review.fault_count += 1;
                    if self.review.faults.len() < LISTED {
                        self.review.faults.push(ReviewFault { line, reason });
                    }
                }
            }
            read += bytes;
            if grader.options.control.is_cancelled() {
                break;
            }
        }
        Ok(read)
    }
}

impl Grader<'_> {
    /// The review of a line, or why it has none; `Ok(None)` if the work is cancelled.
    fn review<G: Game>(
        &self,
        judge: &Judge<G>,
        game: &G,
        (line, read, bytes): (u64, u64, u64),
        text: Option<&[u8]>,
    ) -> Result<Result<Option<GameReview>, String>, LabError> {
        let Some(text) = text else {
            return Ok(Err("the line is too long".to_owned()));
        };
        let (record, is_replay) = match item(text, game, &self.contender.game) {
            Ok(Item::Episode(record)) => (record, false),
            Ok(Item::Replay(record)) => (record, true),
            Err(reason) => return Ok(Err(self.other_game(text)?.unwrap_or(reason))),
        };
        let mut turns: Vec<MoveAndSpawn<G>> = Vec::new();
        let replayed = judge.observe(&record, &mut |half| match half {
            ReplayEvent::Slide { state, slide } => turns.push(MoveAndSpawn {
                state,
                slide,
                spawn: None,
            }),
            ReplayEvent::Spawn { cell, state, .. } => {
                if let Some(turn) = turns.last_mut() {
                    turn.spawn = Some((cell, state));
                }
            }
        });
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(fault) => {
                let reason = reason(&fault, is_replay);
                return Ok(Err(self.other_game(text)?.unwrap_or(reason)));
            }
        };
        let graded = self.grade(game, &turns, |share| {
            self.tell_progress(read as f64 + share * bytes as f64);
        });
        if graded.len() < turns.len() {
            return Ok(Ok(None));
        }
        let outcome = replayed.outcome();
        let (result, highlights) = self.summary(game, line, &turns, &graded)?;
        Ok(Ok(Some(GameReview {
            line,
            player: record.opened.tag,
            score: outcome.score,
            largest: outcome.largest,
            finished: *replayed.end() == RecordEnd::Over,
            result,
            highlights,
            moves: match self.options.detail {
                Detail::Full | Detail::Positions => graded.iter().map(|it| it.reviewed).collect(),
                Detail::FirstGames(_) => Vec::new(),
            },
            positions: match self.options.detail {
                Detail::Positions => self.positions(game, &turns, &graded, outcome.score)?,
                _ => Vec::new(),
            },
        })))
    }

    /// That a line is a record of another game or board, if it is.
    fn other_game(&self, line: &[u8]) -> Result<Option<String>, LabError> {
        let own = (&*self.contender.game, self.contender.shape);
        let found = game_of(line)?.filter(|&found| found != own);
        Ok(found.map(|(game, shape)| {
            let (found, own) = (game_on(game, shape), self.contender.game_on());
            format!("a game of {found}, but the model plays {own}")
        }))
    }

    fn tell_progress(&self, bytes: f64) {
        if let Some(length) = self.length.filter(|&length| length > 0) {
            self.options.control.emit(Event::Progress(Progress {
                share: (bytes / length as f64).min(1.0),
                total: Some(length),
                unit: Unit::Bytes,
                ..Progress::stage(Task::Review, "reviewing", 0.0, bytes as u64)
            }));
        }
    }

    /// Grades all turns; fewer of them if the work is cancelled.
    fn grade<G: Game>(
        &self,
        game: &G,
        turns: &[MoveAndSpawn<G>],
        progress: impl Fn(f64) + Sync,
    ) -> Vec<Graded> {
        let searched = self.searches.then(|| self.search(game, turns, &progress));
        if searched.as_ref().is_some_and(|it| it.len() < turns.len()) {
            return Vec::new();
        }
        let pieces: Vec<&[MoveAndSpawn<G>]> = turns.chunks(PIECE).collect();
        let done = AtomicUsize::new(0);
        let stop = || self.options.control.is_cancelled();
        let (agent, values) = (&*self.contender.agent, self.values);
        let (thresholds, pieces) = (self.options.thresholds, &pieces);
        let (searched, done, progress) = (&searched, &done, &progress);
        let graded = share(
            threads(self.options.threads).min(pieces.len().max(1)),
            0..pieces.len() as u64,
            stop,
            || {
                move |number| {
                    let piece = pieces[number as usize];
                    let from = number as usize * PIECE;
                    let moves = match searched {
                        Some(all) => all[from..from + piece.len()].to_vec(),
                        None => agent.analyze(&boards(game, piece)),
                    };
                    let spawns = luck(game, piece, values);
                    let turns = piece.iter().zip(moves).zip(spawns);
                    let graded: Vec<Graded> = turns
                        .map(|((turn, analysis), spawn)| Graded {
                            best: analysis.and_then(|it| it.best_total()),
                            reviewed: reviewed(turn, analysis, spawn.as_ref(), |total, best| {
                                thresholds.grade(total, best)
                            }),
                            spawn,
                        })
                        .collect();
                    let finished = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if searched.is_none() {
                        progress(finished as f64 / pieces.len() as f64);
                    }
                    graded
                }
            },
        );
        graded.into_iter().flatten().collect()
    }

    /// The analyses of all turns by a search; fewer of them if the work is cancelled.
    fn search<G: Game>(
        &self,
        game: &G,
        turns: &[MoveAndSpawn<G>],
        progress: &impl Fn(f64),
    ) -> Vec<Option<StateAnalysis>> {
        let mut found = Vec::with_capacity(turns.len());
        let mut size = *SEARCHED.start();
        while found.len() < turns.len() && !self.options.control.is_cancelled() {
            let rest = &turns[found.len()..];
            let piece = &rest[..size.min(rest.len())];
            let begun = Instant::now();
            found.extend(self.contender.agent.analyze(&boards(game, piece)));
            size = match begun.elapsed() < SEARCH_TIME {
                true => (2 * size).min(*SEARCHED.end()),
                false => (size / 2).max(*SEARCHED.start()),
            };
            progress(found.len() as f64 / turns.len() as f64);
        }
        found
    }

    /// The result of a game, and what stands out in it.
    fn summary<G: Game>(
        &self,
        game: &G,
        line: u64,
        turns: &[MoveAndSpawn<G>],
        graded: &[Graded],
    ) -> Result<(ReviewResult, Highlights), LabError> {
        let top = self.options.top;
        let moves = graded.iter().map(|it| (&it.reviewed, it.spawn.as_ref()));
        let result = ReviewResult::of(moves);
        let (mut worst, mut luckiest, mut unluckiest) =
            (Top::new(top), Top::new(top), Top::new(top));
        for (place, graded) in graded.iter().enumerate() {
            worst.see(graded.reviewed.loss.unwrap_or(0.0), || place);
            let luck = graded.reviewed.luck.unwrap_or(0.0);
            luckiest.see(luck, || place);
            unluckiest.see(-luck, || place);
        }
        let mut highlights = Highlights::default();
        for place in worst.into_vec() {
            let found = self.worst_move(game, (line, place), &turns[place], &graded[place])?;
            highlights.worst.extend(found);
        }
        for (places, list) in [
            (luckiest, &mut highlights.luckiest),
            (unluckiest, &mut highlights.unluckiest),
        ] {
            for place in places.into_vec() {
                let found = self.spawn_luck(game, (line, place), &turns[place], &graded[place])?;
                list.extend(found);
            }
        }
        Ok((result, highlights))
    }

    /// A move as one of the worst; `None` if it has no value.
    fn worst_move<G: Game>(
        &self,
        game: &G,
        (line, place): (u64, usize),
        turn: &MoveAndSpawn<G>,
        graded: &Graded,
    ) -> Result<Option<WorstMove>, LabError> {
        let ReviewedMove {
            direction, best, ..
        } = graded.reviewed;
        let (Some(loss), Some(share), Some(grade)) = (
            graded.reviewed.loss,
            graded.reviewed.share,
            graded.reviewed.grade,
        ) else {
            return Ok(None);
        };
        Ok(Some(WorstMove {
            line,
            number: place as u64 + 1,
            position: self.text(game, turn.state)?,
            direction,
            best,
            loss,
            share,
            grade,
        }))
    }

    /// The spawn after a move; `None` if the record ends with the move, or its luck is not known.
    fn spawn_luck<G: Game>(
        &self,
        game: &G,
        (line, place): (u64, usize),
        turn: &MoveAndSpawn<G>,
        graded: &Graded,
    ) -> Result<Option<SpawnLuck>, LabError> {
        let Some(((cell, state), luck)) = turn.spawn.zip(graded.reviewed.luck) else {
            return Ok(None);
        };
        Ok(Some(SpawnLuck {
            line,
            number: place as u64 + 1,
            tile: game.tile_value(state.cell(cell)),
            cell: cell_name(game.shape(), cell),
            luck,
            position: self.text(game, state)?,
        }))
    }

    /// The position before each turn, and the one after the last.
    fn positions<G: Game>(
        &self,
        game: &G,
        turns: &[MoveAndSpawn<G>],
        graded: &[Graded],
        last_score: u64,
    ) -> Result<Vec<ReviewedPosition>, LabError> {
        let mut score = 0;
        let mut positions = Vec::with_capacity(turns.len() + 1);
        let mut end = None;
        for (turn, graded) in turns.iter().zip(graded) {
            positions.push(ReviewedPosition {
                board: self.text(game, turn.state)?,
                score,
                value: graded.best,
            });
            score += u64::from(turn.slide.reward());
            end = turn.spawn.map(|(cell, state)| {
                score += u64::from(game.rules().spawn_reward(state.cell(cell)));
                state
            });
        }
        if let Some(state) = end {
            positions.push(ReviewedPosition {
                board: self.text(game, state)?,
                score,
                value: None,
            });
        }
        // The initial tiles may have brought points.
        let before = last_score.saturating_sub(score);
        positions.iter_mut().for_each(|it| it.score += before);
        Ok(positions)
    }

    /// A state in one line of text.
    fn text<G: Game>(&self, game: &G, state: State<G::Board>) -> Result<String, LabError> {
        let BoardState {
            tiles,
            chance_state,
        } = board_state(game, state);
        let board = GameBoard::new(&self.contender.game, game.shape(), tiles, chance_state)?;
        Ok(board.text())
    }
}

/// What is wrong with a game, and where.
fn reason(fault: &Fault, is_replay: bool) -> String {
    let place = match (is_replay, fault.action) {
        (true, Some(_)) => format!("step {}: ", fault.column),
        (false, Some(action)) => format!("action {action}, column {}: ", fault.column),
        _ => String::new(),
    };
    format!("{place}{}", fault.reason)
}

/// The boards before the moves.
fn boards<G: Game>(game: &G, turns: &[MoveAndSpawn<G>]) -> Vec<BoardState> {
    let boards = turns.iter().map(|turn| board_state(game, turn.state));
    boards.collect()
}

/// The review of a move.
fn reviewed<G: Game>(
    turn: &MoveAndSpawn<G>,
    analysis: Option<StateAnalysis>,
    spawn: Option<&Martingale>,
    grade: impl Fn(f64, f64) -> Grade,
) -> ReviewedMove {
    let direction = turn.slide.direction();
    let both = analysis.and_then(|it| it.total(direction).zip(it.best_total()));
    ReviewedMove {
        direction,
        best: analysis.and_then(|analysis| analysis.chosen),
        loss: analysis.and_then(|it| it.loss(direction)),
        share: both.map(|(own, most)| share_kept(own, most)),
        grade: both.map(|(own, most)| grade(own, most)),
        luck: spawn.map(Martingale::sum),
    }
}

/// The luck of the spawn of each turn, as a sum with at most one draw; `None` without a spawn, or
/// where the agent has no value of a state that a spawn may lead to.
pub(super) fn luck<G: Game>(
    game: &G,
    turns: &[MoveAndSpawn<G>],
    values: &dyn Agent,
) -> Vec<Option<Martingale>> {
    let mut boards = Vec::new();
    let mut successors: Vec<Vec<Successor<G>>> = Vec::new();
    for turn in turns {
        let mut of_turn = Vec::new();
        if turn.spawn.is_some() {
            game.for_each_spawn(turn.slide.after(), |state, reward, chance| {
                boards.push(board_state(game, state));
                of_turn.push(Successor {
                    state,
                    reward: reward.into(),
                    chance,
                });
            });
        }
        successors.push(of_turn);
    }
    let mut found = values.analyze(&boards).into_iter();
    let mut sums = Vec::new();
    for (turn, of_turn) in turns.iter().zip(successors) {
        let value = |it: &Successor<G>, analysis: Option<StateAnalysis>| {
            let analysis = analysis?;
            // The game is over without a slide.
            let is_over = analysis.rewards == StateAnalysis::OVER.rewards;
            let best = match (is_over, values.target()) {
                (false, _) => analysis.best_total(),
                (true, Some(tile)) if game.max_tile(it.state) >= tile => Some(100.0),
                (true, _) => Some(0.0),
            };
            // Rewards are no part of the chance of a target.
            let reward = values.target().map_or(it.reward, |_| 0.0);
            Some(reward + best?)
        };
        let numbers = of_turn.iter().map(|it| {
            let value = value(it, found.next().flatten());
            value.map(|value| (value, it.chance))
        });
        // Every analysis is taken, also behind a missing one.
        let numbers: Vec<Option<(f64, f64)>> = numbers.collect();
        let numbers: Option<Vec<(f64, f64)>> = numbers.into_iter().collect();
        let drawn = turn.spawn.and_then(|(_, state)| {
            let place = of_turn.iter().position(|it| it.state == state)?;
            Some(numbers.as_ref()?.get(place)?.0)
        });
        sums.push(drawn.zip(numbers).map(|(drawn, numbers)| {
            let mut sum = Martingale::default();
            sum.see(drawn, numbers.iter().copied());
            sum
        }));
    }
    sums
}
