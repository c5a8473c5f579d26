//! A session that learns from memory: games side by side, and a network of states.

use std::io;
use std::sync::{Mutex, PoisonError, TryLockError};

use afterstate::format::native::{Keep, Metadata, NativeError};
use afterstate::game::{Direction, Game, ChanceState};
use afterstate::ntuple::Plain;
use afterstate::play::States;
use afterstate::replay::{self, ReplayConfig, ReplaySnapshot, ReplayAgent, ReplayTrainer, TrainingStats, NTupleReplayAgent};
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use super::{Chooser, Lesson, Lived, Playing, Rig, Session, Worth, states_rig};
use crate::LabError;
use crate::disk::Part;
use crate::recipe::{LearnerRecipe, Overwrite, Recipe, ReplayRecipe};
use crate::recorder::Sink;
use crate::registry::Player;
use crate::tables::Saved;

/// The metadata key under which a checkpoint keeps [`Kept`].
const REPLAY: &str = "replay";

/// A new session that learns as a recipe says, from memory.
pub(crate) fn of_memory<G: Game>(
    game: G,
    player: &Player,
    recipe: &Recipe,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    let rig = states_rig::<G, Plain>(game, player, initial)?;
    Ok(schooled(game, rig, config(&recipe.replay), recipe.seed))
}

/// A head that is sent to school.
pub(super) fn schooled<G: Game>(
    game: G,
    head: impl Head<G> + 'static,
    config: ReplayConfig,
    seed: u64,
) -> Box<dyn Session> {
    let school = ReplayTrainer::new(game, config, seed);
    Box::new(Schooled {
        head,
        day: Mutex::new(Day {
            school,
            waiting: Vec::new(),
        }),
    })
}

/// A network that can be taught from memory.
pub(super) trait Head<G: Game>: Playing {
    /// Hands over the one who learns.
    fn study(&self, study: &mut dyn FnMut(&mut dyn ReplayAgent<G>));
}

impl<G: Game> Head<G> for Rig<G, States<Plain>> {
    fn study(&self, study: &mut dyn FnMut(&mut dyn ReplayAgent<G>)) {
        study(&mut NTupleReplayAgent::new(&self.network, self.ties(), 0.0));
    }
}

pub(super) fn config(recipe: &ReplayRecipe) -> ReplayConfig {
    ReplayConfig {
        games: recipe.games,
        memory: recipe.memory,
        overwrite: match recipe.overwrite {
            Overwrite::Oldest => replay::Overwrite::Oldest,
            Overwrite::Random => replay::Overwrite::Random,
        },
        steps: recipe.steps,
        discount: 1.0,
        batches: recipe.batches,
        batch: recipe.batch,
        epsilon: recipe.epsilon,
        epsilon_iterations: recipe.epsilon_iterations,
    }
}

struct Schooled<G: Game, H> {
    head: H,
    day: Mutex<Day<G>>,
}

/// What changes from lesson to lesson.
struct Day<G: Game> {
    school: ReplayTrainer<G>,
    /// Games that ended beside the last one of a lesson: the first of the next.
    waiting: Vec<Outcome>,
}

/// What a checkpoint keeps of it.
#[derive(Serialize, Deserialize)]
struct Kept {
    school: ReplaySnapshot,
    waiting: Vec<Outcome>,
}

impl<G: Game, H: Head<G>> Session for Schooled<G, H> {
    fn learn(&self, lesson: &Lesson<'_>, recipe: &LearnerRecipe) -> Lived {
        let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        let Day { school, waiting } = &mut *day;
        let games = (lesson.numbers.end - lesson.numbers.start) as usize;
        let mut outcomes = std::mem::take(waiting);
        let mut study = TrainingStats::default();
        self.head.study(&mut |agent| {
            while outcomes.len() < games
                && study.updates < lesson.updates
                && study.is_finite()
                && !(lesson.stop)()
            {
                let number = lesson.numbers.start + outcomes.len() as u64;
                agent.set_rate(recipe.rate.at(number));
                let learned = school.iterate(agent, |outcome| {
                    (lesson.seen)(&outcome);
                    outcomes.push(outcome);
                });
                study.merge(&learned);
                (lesson.learned)(study.updates);
            }
        });
        *waiting = outcomes.split_off(games.min(outcomes.len()));
        Lived {
            outcomes,
            finite: study.is_finite(),
            study: Some(study),
        }
    }
}

impl<G: Game, H: Head<G>> Playing for Schooled<G, H> {
    fn play(&self, lesson: &Lesson<'_>) -> Vec<Outcome> {
        self.head.play(lesson)
    }

    fn record(&self, lesson: &Lesson<'_>, sink: Sink<'_>) -> Vec<Outcome> {
        self.head.record(lesson, sink)
    }

    fn worths(&self, tiles: &[u8], chance_state: ChanceState) -> Option<(Vec<Worth>, Option<Direction>)> {
        self.head.worths(tiles, chance_state)
    }

    fn chooser(&self) -> Chooser<'_> {
        self.head.chooser()
    }

    fn faces(&self) -> Vec<u64> {
        self.head.faces()
    }

    fn bytes(&self) -> u64 {
        self.head.bytes()
    }

    fn refresh(&self) {
        self.head.refresh();
    }

    fn drafts(&self) -> bool {
        self.head.drafts()
    }

    fn write(
        &self,
        metadata: &Metadata,
        keep: Keep,
        part: &Part,
        threads: usize,
    ) -> Result<(), NativeError> {
        let mut metadata = metadata.clone();
        // A draft is written while a lesson goes on, and need not be right: it has no notes.
        let day = match self.day.try_lock() {
            Ok(day) => Some(day),
            Err(TryLockError::Poisoned(day)) => Some(day.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let (Keep::Everything, Some(day)) = (keep, day) {
            let kept = Kept {
                school: day.school.notes(),
                waiting: day.waiting.clone(),
            };
            let text = serde_json::to_string(&kept).map_err(io::Error::other)?;
            metadata.insert(REPLAY.to_owned(), text);
        }
        self.head.write(&metadata, keep, part, threads)
    }

    fn read(&self, saved: &Saved, keep: Keep) -> Result<(), NativeError> {
        self.head.read(saved, keep)?;
        if keep == Keep::Everything {
            let text = saved.metadata().get(REPLAY).map_or("", String::as_str);
            let damaged = |found: String| NativeError::Metadata { key: REPLAY, found };
            let kept: Kept =
                serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
            let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
            let went_on = day.school.go_on(&kept.school);
            went_on.map_err(|error| damaged(error.to_string()))?;
            if !kept.waiting.iter().all(Outcome::in_range) {
                return Err(damaged("a game of more than anyone has played".to_owned()));
            }
            day.waiting = kept.waiting;
        }
        Ok(())
    }
}
