//! The positions of games as arrays, for learners outside of this library: of recorded games, or of
//! games that an agent plays.
//!
//! Both ways replay records by the judge, so every position follows the rules. The games of an agent
//! are those of its evaluation with the same seed, in the order of their numbers, for any number of
//! threads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{Game, Position, Shape};
use afterstate::judge::{Judge, RecordEnd, ReplayEvent};

use crate::LabError;
use crate::agent::{Agent, RoundSpec};
use crate::control::{Control, Event, Job, Meter, Progress, Status, Task, Unit};
use crate::evaluate::{Contender, EvalOptions};
use crate::games::{GameVisitor, with_game};
use crate::records::{Numbered, game_of};
use crate::review::{Item, RecordReader, item};
use crate::seal::number_of;
use crate::share::threads;

/// The positions of some games before their slides, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// The tile indices of each state in row-major order.
    pub boards: Vec<u8>,
    /// The hint of each state about the next tile; 0 in games that show none.
    pub hints: Vec<u8>,
    /// The tile indices after the slide that was made.
    pub afterstates: Vec<u8>,
    /// The slide that was made, by the number of its direction.
    pub moves: Vec<i8>,
    /// Its reward.
    pub rewards: Vec<i64>,
    /// What the game earned from the slide to its end, with the slide's own reward.
    pub returns: Vec<i64>,
    /// The score at the end of the game.
    pub scores: Vec<i64>,
    /// The number of the game, or the line of its record.
    pub games: Vec<i64>,
    /// How many games have no positions here, because their records end before the game is over.
    pub unfinished: u64,
}

impl Positions {
    /// The number of positions.
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    fn append(&mut self, mut other: Self) {
        self.boards.append(&mut other.boards);
        self.hints.append(&mut other.hints);
        self.afterstates.append(&mut other.afterstates);
        self.moves.append(&mut other.moves);
        self.rewards.append(&mut other.rewards);
        self.returns.append(&mut other.returns);
        self.scores.append(&mut other.scores);
        self.games.append(&mut other.games);
        self.unfinished += other.unfinished;
    }
}

/// The positions of recorded games, with the name of their game and their board. Position n of the
/// game in line m is taken if n + m is divisible by `every`.
///
/// # Errors
/// When the file cannot be read, or one of its records does not follow the rules.
pub fn of_records(
    path: &Path,
    every: u64,
    control: &Control,
) -> Result<(String, Shape, Positions), LabError> {
    let records = RecordReader::open(path, control)?;
    let (game, shape) = records.game()?;
    let job = Job {
        task: Task::Positions,
        subject: path.display().to_string(),
        total: records.length(),
        unit: Unit::Bytes,
    };
    let reading = Reading {
        name: &game,
        path,
        records,
        every,
        control,
    };
    let found = control.run(
        job,
        || with_game(&game, shape, reading)?,
        |done| {
            let (read, _) = done.as_ref().ok()?;
            Some((Status::of(!control.is_cancelled()), *read))
        },
    );
    found.map(|(_, positions)| (game, shape, positions))
}

struct Reading<'a> {
    name: &'a str,
    path: &'a Path,
    records: RecordReader,
    every: u64,
    control: &'a Control,
}

impl GameVisitor for Reading<'_> {
    /// The bytes that were read, and the positions.
    type Output = Result<(u64, Positions), LabError>;

    fn visit<G: Game>(mut self, game: G) -> Self::Output {
        let judge = Judge::new(game);
        let mut positions = Positions::default();
        let mut read = 0;
        while let Some(Numbered { number: line, text }) = self.records.next()? {
            let refused = |reason| LabError::NoPositions {
                path: self.path.to_owned(),
                line,
                reason,
            };
            let Some(text) = text else {
                return Err(refused("the line is too long".to_owned()));
            };
            let record = item(&text, &game, self.name).map(|found| match found {
                Item::Episode(record) | Item::Replay(record) => record,
            });
            let of_line =
                record.and_then(|record| replay(&game, &judge, &record, line, self.every));
            match (of_line, game_of(&text)?) {
                (Ok(of_line), _) => positions.append(of_line),
                (Err(_), Some((name, shape))) if (name, shape) != (self.name, game.shape()) => {
                    let other = crate::error::game_on(name, shape);
                    return Err(refused(format!(
                        "a game of {other}, but the lines before are of another game"
                    )));
                }
                (Err(reason), _) => return Err(refused(reason)),
            }
            read += text.len() as u64 + 1;
            if let Some(length) = self.records.length().filter(|&length| length > 0) {
                self.control.emit(Event::Progress(Progress {
                    share: (read as f64 / length as f64).min(1.0),
                    total: Some(length),
                    unit: Unit::Bytes,
                    ..Progress::stage(Task::Positions, "reading", 0.0, read)
                }));
            }
            if self.control.is_cancelled() {
                break;
            }
        }
        Ok((read, positions))
    }
}

/// The positions of the games that a contender plays in an evaluation. Position n of game m is taken
/// if n + m is divisible by `every`.
///
/// # Errors
/// When there is no such game.
pub fn of_play(
    contender: &Contender,
    options: &EvalOptions<'_>,
    every: u64,
) -> Result<Positions, LabError> {
    let numbers = options.numbers();
    let games = numbers.end - numbers.start;
    let job = Job {
        task: Task::Positions,
        subject: contender.label.clone(),
        total: Some(games),
        unit: Unit::Games,
    };
    let playing = Playing {
        contender,
        options,
        every,
    };
    options.control.run(
        job,
        || with_game(&contender.game, contender.shape, playing)?,
        |done| {
            done.as_ref().ok()?;
            Some((Status::of(!options.control.is_cancelled()), games))
        },
    )
}

struct Playing<'a> {
    contender: &'a Contender,
    options: &'a EvalOptions<'a>,
    every: u64,
}

impl GameVisitor for Playing<'_> {
    type Output = Result<Positions, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let Self {
            contender,
            options,
            every,
        } = self;
        let judge = Judge::new(game);
        let numbers = options.numbers();
        let games = numbers.end - numbers.start;
        let meter = Meter::new(options.control, Task::Positions, Unit::Games, 0, games);
        let found: Mutex<BTreeMap<u64, Positions>> = Mutex::default();
        let sink = |record: &EpisodeRecord| {
            let number = number_of(&record.opened.tag).unwrap_or(0);
            // Its records follow the rules.
            if let Ok(of_game) = replay(&game, &judge, record, number, every) {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.insert(number, of_game);
            }
        };
        let round = RoundSpec {
            stop: &|| options.control.is_cancelled(),
            on_game: &|outcome| meter.game(outcome),
            ..RoundSpec::new(numbers, options.seed, threads(options.threads))
        };
        let agent: &dyn Agent = &*contender.agent;
        agent.play(&round, Some(&sink));
        let mut positions = Positions::default();
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.into_values().for_each(|it| positions.append(it));
        Ok(positions)
    }
}

/// The positions of a record, or why it has none.
fn replay<G: Game>(
    game: &G,
    judge: &Judge<G>,
    record: &EpisodeRecord,
    number: u64,
    every: u64,
) -> Result<Positions, String> {
    let mut turns = Vec::new();
    let replayed = judge.observe(record, &mut |half| match half {
        ReplayEvent::Slide { state, slide } => turns.push((state, slide, 0)),
        ReplayEvent::Spawn { cell, state, .. } => {
            if let Some((_, _, spawn_reward)) = turns.last_mut() {
                *spawn_reward = game.spawn_reward(state.cell(cell));
            }
        }
    });
    let replayed = replayed.map_err(|fault| fault.to_string())?;
    let mut positions = Positions::default();
    if *replayed.end() != RecordEnd::Over {
        positions.unfinished = 1;
        return Ok(positions);
    }
    let rewards = turns
        .iter()
        .rev()
        .scan(0, |rest, (_, slide, spawn_reward)| {
            *rest += i64::from(slide.reward()) + i64::from(*spawn_reward);
            Some(*rest)
        });
    let mut returns: Vec<i64> = rewards.collect();
    returns.reverse();
    let cells = game.shape().cells();
    let push = |boards: &mut Vec<u8>, board: G::Board| {
        boards.resize(boards.len() + cells, 0);
        let from = boards.len() - cells;
        board.write_tiles(&mut boards[from..]);
    };
    for (n, ((state, slide, _), earned)) in turns.iter().zip(returns).enumerate() {
        if !(n as u64).wrapping_add(number).is_multiple_of(every) {
            continue;
        }
        push(&mut positions.boards, state.0);
        push(&mut positions.afterstates, slide.after().0);
        positions.hints.push(state.0.hint());
        positions.moves.push(slide.direction() as i8);
        positions.rewards.push(slide.reward().into());
        positions.returns.push(earned);
        positions.scores.push(replayed.outcome().score as i64);
        positions.games.push(number as i64);
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agent::Baseline;
    use crate::control::quiet;
    use crate::evaluate::{evaluate_part, record};
    use crate::part::Part;

    fn options(games: u64, threads: usize) -> EvalOptions<'static> {
        EvalOptions {
            games,
            part: Part::WHOLE,
            seed: 5,
            threads,
            control: quiet(),
        }
    }

    #[test]
    fn positions_are_those_of_the_games() {
        for (game, shape) in [("2048", Shape::FOUR), ("threes-hint", Shape::FOUR)] {
            let player = Contender::baseline(Baseline::Greedy, game, shape).unwrap();
            let found = of_play(&player, &options(6, 2), 1).unwrap();
            assert_eq!(found, of_play(&player, &options(6, 1), 1).unwrap());
            let played = evaluate_part(&player, &options(6, 1)).part.played;
            let outcomes = &played[0].outcomes;
            let moves: u64 = outcomes.iter().map(|outcome| outcome.moves).sum();
            assert_eq!(found.len() as u64, moves);
            assert_eq!(found.boards.len(), found.len() * 16);
            for (n, outcome) in outcomes.iter().enumerate() {
                let first = found.games.iter().position(|&it| it == n as i64).unwrap();
                assert_eq!(found.scores[first], outcome.score as i64);
                let own = |at: &usize| found.games[*at] == n as i64;
                let last = (0..found.len()).rfind(own).unwrap();
                assert!(found.returns[last] >= found.rewards[last]);
                // The score of the initial tiles is not earned.
                let initial = found.scores[first] - found.returns[first];
                assert!((0..=30).contains(&initial) && (game != "2048" || initial == 0));
            }
            assert_eq!(found.hints.iter().any(|&hint| hint > 0), game != "2048");
        }
    }

    #[test]
    fn some_positions_are_taken_from_every_game() {
        let player = Contender::baseline(Baseline::Random, "2048", Shape::FOUR).unwrap();
        let all = of_play(&player, &options(8, 1), 1).unwrap();
        let some = of_play(&player, &options(8, 1), 7).unwrap();
        assert!((all.len() / 8..all.len() / 6).contains(&some.len()));
        let mut wanted = (0..all.len()).filter(|&at| {
            let game = all.games[at];
            let first = all.games.iter().position(|&it| it == game).unwrap();
            (at - first + game as usize).is_multiple_of(7)
        });
        assert!(
            some.returns
                .iter()
                .all(|&it| Some(it) == wanted.next().map(|at| all.returns[at]))
        );
        assert_eq!(wanted.next(), None);
    }

    #[test]
    fn records_have_the_positions_of_their_games() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.txt");
        let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
        record(&player, &options(5, 1), &path).unwrap();
        let played = of_play(&player, &options(5, 1), 1).unwrap();
        let (game, shape, read) = of_records(&path, 1, quiet()).unwrap();
        assert_eq!((&*game, shape), ("2048", Shape::FOUR));
        // Lines are numbered from 1.
        let games = read.games.iter().map(|line| line - 1).collect();
        assert_eq!(Positions { games, ..read }, played);

        let text = fs::read_to_string(&path).unwrap();
        let cut = text.replacen("#U", "#D", 3);
        fs::write(&path, cut).unwrap();
        let error = of_records(&path, 1, quiet()).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
