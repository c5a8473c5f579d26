//! Plays games, learns them, and writes the last one down.

use afterstate::Value;
use afterstate::game::{After, Game, Grid, GridBoard, Slide, Spawn, State, each_cell};
use afterstate::ntuple::{
    AfterstateNetwork, Lookup, StateNetwork, Trainable, UpdateRule, WeightPart,
};
use afterstate::random::{Rng, game_rng};
use afterstate::value::{ActionValues, Decision};

use super::{
    Lesson, LessonOptions, LessonReturn, LessonSlide, LessonSpawn, LessonStep, LessonSums,
    LessonUpdate, LessonWeight, MOST_STEPS,
};
use crate::agent::{BoardState, StateAnalysis, board_state};
use crate::control::Control;
use crate::evaluate::Contender;

/// The last games whose mean score is told.
const LAST: u64 = 100;

/// A network whose lookups can be shown.
pub(super) trait Shown: Trainable<Grid> {
    /// The position that has a value in a move.
    fn position(state: State<GridBoard>, after: After<GridBoard>) -> Self::Input;

    /// Its board.
    fn board(position: Self::Input) -> GridBoard;

    /// The reward of a spawn is earned before the next slide: so for afterstates, the reward between
    /// two positions is that of the second slide.
    const BY_AFTERSTATE: bool;

    /// Every lookup.
    fn lookups(&self, board: GridBoard) -> Vec<Lookup>;

    /// The sums of TC of a weight, if the network has them.
    fn sums(&self, tuple: usize, index: usize) -> Option<LessonSums>;

    /// The tuples, as patterns.
    fn patterns(&self) -> Vec<String>;

    /// The number of lookups of one value.
    fn m(&self) -> usize;
}

/// Both networks have tables.
macro_rules! shown {
    ($network:ty, $by_afterstate:literal, $position:expr) => {
        impl Shown for $network {
            const BY_AFTERSTATE: bool = $by_afterstate;

            fn position(state: State<GridBoard>, after: After<GridBoard>) -> Self::Input {
                $position(state, after)
            }

            fn board(position: Self::Input) -> GridBoard {
                position.0
            }

            fn lookups(&self, board: GridBoard) -> Vec<Lookup> {
                self.tables().lookups_of(board)
            }

            fn sums(&self, tuple: usize, index: usize) -> Option<LessonSums> {
                let tables = self.tables();
                tables.has_coherence().then(|| {
                    let (mut error, mut absolute) = ([0.0], [0.0]);
                    tables.export(tuple, WeightPart::ErrorSum, index, &mut error);
                    tables.export(tuple, WeightPart::AbsoluteSum, index, &mut absolute);
                    LessonSums {
                        error: error[0],
                        absolute: absolute[0],
                    }
                })
            }

            fn patterns(&self) -> Vec<String> {
                let patterns = self.tables().tuples().patterns().iter();
                patterns.map(ToString::to_string).collect()
            }

            fn m(&self) -> usize {
                self.tables().lookups()
            }
        }
    };
}

shown!(AfterstateNetwork, true, |_, after| after);
shown!(StateNetwork, false, |state, _| state);

/// What all kinds of lessons share.
type Common<'a> = (Grid, &'a LessonOptions, Option<&'a Contender>, &'a Control);

pub(super) struct Teacher<'a, N> {
    game: Grid,
    options: &'a LessonOptions,
    exact: Option<&'a Contender>,
    control: &'a Control,
    network: &'a N,
}

/// A move of a game.
struct TaughtMove {
    decision: Decision<Grid>,
    values: ActionValues,
    slide: Slide<GridBoard>,
    cell: usize,
    spawn: Spawn,
}

/// An update that was made, and what could have come before it.
struct Made {
    update: LessonUpdate,
    spawns: Vec<LessonSpawn>,
    drawn: usize,
}

/// What a position is updated with.
struct Aim {
    /// When it is updated: 0 for the first one.
    order: usize,
    reward: Value,
    next: Value,
    carried: Option<LessonReturn>,
}

impl<'a, N: Shown> Teacher<'a, N> {
    pub(super) fn new((game, options, exact, control): Common<'a>, network: &'a N) -> Self {
        Self {
            game,
            options,
            exact,
            control,
            network,
        }
    }

    /// Learns all games; `None` if that is cancelled.
    pub(super) fn teach<R: UpdateRule>(&self) -> Option<Lesson> {
        let games = self.options.games;
        let (mut sum, mut counted) = (0, 0);
        for number in 0..games {
            if self.control.is_cancelled() {
                return None;
            }
            let (_, score, _, _) = self.learn::<R>(number, false);
            if number + LAST >= games {
                (sum, counted) = (sum + score, counted + 1);
            }
        }
        let (turns, score, end, made) = self.learn::<R>(games, true);
        let mut made: Vec<Made> = made;
        made.sort_by_key(|made| made.update.order);
        let mut steps = self.steps(&turns);
        let moves = turns.len();
        for mut made in made {
            // The order of moves, or the reverse.
            let order = made.update.order;
            let place = if self.options.backward {
                moves - 1 - order
            } else {
                order
            };
            if let Some(step) = steps.get_mut(place) {
                made.update.exact = self.exact_value(step);
                (step.update, step.spawns, step.drawn) = (made.update, made.spawns, made.drawn);
            }
        }
        Some(Lesson {
            options: self.options.clone(),
            patterns: self.network.patterns(),
            lookups: self.network.m(),
            mean: (counted > 0).then(|| sum as f64 / counted as f64),
            steps,
            end: self.tiles(end.0),
            score,
            moves,
        })
    }

    /// Plays a game and learns from it. The updates are written down if `shows`.
    fn learn<R: UpdateRule>(
        &self,
        number: u64,
        shows: bool,
    ) -> (Vec<TaughtMove>, u64, State<GridBoard>, Vec<Made>) {
        let mut rng = game_rng(self.options.seed, number);
        let mut state = self.game.start(&mut rng);
        let mut score = self.game.initial_score(state);
        let (mut turns, mut made) = (Vec::<TaughtMove>::new(), Vec::new());
        while let Some(turn) = self.turn(state, &mut rng) {
            turns.push(turn);
            if !self.options.backward && turns.len() > 1 {
                let order = turns.len() - 2;
                let aim = Aim {
                    order,
                    reward: self.reward(&turns, order),
                    next: self.value(&turns[order + 1]),
                    carried: None,
                };
                made.extend(self.update::<R>(&turns[order], aim, shows && order < MOST_STEPS));
            }
            let TaughtMove {
                slide, cell, spawn, ..
            } = turns[turns.len() - 1];
            score += u64::from(slide.reward() + self.game.spawn_reward(spawn.tile));
            state = self.game.place(slide.after(), cell, spawn);
        }
        if self.options.backward {
            let (mut next, mut carried) = (0.0, None);
            for place in (0..turns.len()).rev() {
                let order = turns.len() - 1 - place;
                let reward = self.reward(&turns, place);
                let target = reward + next;
                let aim = Aim {
                    order,
                    reward,
                    next,
                    carried,
                };
                made.extend(self.update::<R>(&turns[place], aim, shows && place < MOST_STEPS));
                let (lambda, after) = (self.options.lambda, self.value(&turns[place]));
                next = lambda * target + (1.0 - lambda) * after;
                carried = Some(LessonReturn { target, after });
            }
        } else if let Some(last) = turns.len().checked_sub(1) {
            let aim = Aim {
                order: last,
                reward: self.reward(&turns, last),
                next: 0.0,
                carried: None,
            };
            made.extend(self.update::<R>(&turns[last], aim, shows && last < MOST_STEPS));
        }
        (turns, score, state, made)
    }

    /// The best slide of a state, and a spawn; `None` if the game is over.
    fn turn(&self, state: State<GridBoard>, rng: &mut Rng) -> Option<TaughtMove> {
        let decision = Decision::new(&self.game, state)?;
        let mut lookup = Default::default();
        let values = self
            .network
            .action_values(&self.game, &decision, &mut lookup);
        let slide = decision.slides().get(values.best()?)?;
        let (cell, spawn) = self.game.draw_spawn(slide.after(), rng);
        Some(TaughtMove {
            decision,
            values,
            slide,
            cell,
            spawn,
        })
    }

    /// The reward between the position of a turn and that of the next one, or the end.
    fn reward(&self, turns: &[TaughtMove], place: usize) -> Value {
        let spawn = self.game.spawn_reward(turns[place].spawn.tile) as Value;
        let slide = match N::BY_AFTERSTATE {
            true => turns.get(place + 1).map_or(0, |turn| turn.slide.reward()),
            false => turns[place].slide.reward(),
        };
        spawn + slide as Value
    }

    fn position(&self, turn: &TaughtMove) -> N::Input {
        N::position(turn.decision.state(), turn.slide.after())
    }

    /// The value of the position of a turn.
    fn value(&self, turn: &TaughtMove) -> Value {
        self.value_of(self.position(turn))
    }

    fn value_of(&self, position: N::Input) -> Value {
        let mut at = N::Located::default();
        self.network.locate_positions([position; 4], &mut at);
        self.network.value_at(&at, 0)
    }

    /// Moves the value of a position towards its target. Everything that is written down is read
    /// before the weights move, except what says `after`.
    fn update<R: UpdateRule>(&self, turn: &TaughtMove, aim: Aim, shows: bool) -> Option<Made> {
        let Aim {
            order,
            reward,
            next,
            carried,
        } = aim;
        let position = self.position(turn);
        let board = N::board(position);
        let before = shows.then(|| (self.weights(board), self.spawns(turn)));
        let value = self.value_of(position);
        let target = reward + next;
        let mut at = N::Located::default();
        self.network.locate_positions([position; 4], &mut at);
        let rate = self.options.learning_rate;
        let updated = self.network.update::<R>(position, &mut at, 0, target, rate);
        let (mut weights, (spawns, drawn)) = before?;
        let after = self.weights(board);
        for (weight, after) in weights.iter_mut().zip(after) {
            (weight.after, weight.sums_after) = (after.before, after.sums);
        }
        let worth = |it: &LessonSpawn| it.chance * (f64::from(it.reward) + f64::from(it.value));
        Some(Made {
            drawn,
            update: LessonUpdate {
                order,
                position: self.tiles(board),
                reward,
                next,
                carried,
                mean: spawns.iter().map(worth).sum(),
                target,
                value,
                error: updated.delta,
                after: self.value_of(position),
                exact: None,
                weights,
            },
            spawns,
        })
    }

    /// The weights of a position, each once.
    fn weights(&self, board: GridBoard) -> Vec<LessonWeight> {
        let mut weights: Vec<LessonWeight> = Vec::new();
        for lookup in self.network.lookups(board) {
            let same = |weight: &&mut LessonWeight| {
                (weight.tuple, weight.index) == (lookup.tuple, lookup.index)
            };
            match weights.iter_mut().find(same) {
                Some(weight) => weight.cells.push(lookup.cells),
                None => {
                    let sums = self.network.sums(lookup.tuple, lookup.index);
                    weights.push(LessonWeight {
                        tuple: lookup.tuple,
                        index: lookup.index,
                        cells: vec![lookup.cells],
                        before: lookup.weight,
                        after: lookup.weight,
                        coherence: sums.map(LessonSums::coherence),
                        sums,
                        sums_after: sums,
                    });
                }
            }
        }
        weights
    }

    /// The tiles of a board, by value.
    fn tiles(&self, board: GridBoard) -> Vec<u64> {
        let tiles = board.tiles().iter();
        tiles.map(|&tile| self.game.tile_value(tile)).collect()
    }

    /// The steps as they were played, without updates.
    fn steps(&self, turns: &[TaughtMove]) -> Vec<LessonStep> {
        let written = &turns[..turns.len().min(MOST_STEPS)];
        let states: Vec<BoardState> = written
            .iter()
            .map(|turn| board_state(&self.game, turn.decision.state()))
            .collect();
        let exact = self.exact.map(|exact| exact.agent.analyze(&states));
        let exact = |place: usize| exact.as_ref().and_then(|exact| exact[place]);
        let steps = written.iter().enumerate();
        steps
            .map(|(place, turn)| self.step(turn, exact(place)))
            .collect()
    }

    fn step(&self, turn: &TaughtMove, exact: Option<StateAnalysis>) -> LessonStep {
        let State(state) = turn.decision.state();
        let After(after) = turn.slide.after();
        let slides: Vec<Slide<GridBoard>> = turn.decision.slides().legal().collect();
        let made = turn.slide.direction();
        let chosen = slides.iter().position(|slide| slide.direction() == made);
        let slide = |slide: &Slide<GridBoard>| {
            let value = turn.values.get(slide.direction());
            LessonSlide {
                direction: slide.direction().name().to_owned(),
                reward: slide.reward(),
                value: value.map_or(0.0, |value| value.value),
                total: value.map_or(0.0, |value| value.total),
                exact: exact.and_then(|exact| exact.total(slide.direction())),
            }
        };
        LessonStep {
            state: self.tiles(state),
            slides: slides.iter().map(slide).collect(),
            chosen: chosen.unwrap_or(0),
            afterstate: self.tiles(after),
            // The update fills in these.
            spawns: Vec::new(),
            drawn: 0,
            update: LessonUpdate {
                order: 0,
                position: Vec::new(),
                reward: 0.0,
                next: 0.0,
                carried: None,
                mean: 0.0,
                target: 0.0,
                value: 0.0,
                error: 0.0,
                after: 0.0,
                exact: None,
                weights: Vec::new(),
            },
        }
    }

    /// Every spawn after a move, with the value of the state that it leads to, and the place of the
    /// one that came.
    fn spawns(&self, turn: &TaughtMove) -> (Vec<LessonSpawn>, usize) {
        let after = turn.slide.after();
        let cells = self.game.spawn_cells(after);
        let share = 1.0 / f64::from(cells.count_ones().max(1));
        let (mut spawns, mut drawn) = (Vec::new(), 0);
        for cell in each_cell(cells) {
            self.game.for_each_new_tile(after, |spawn, chance| {
                if (cell, spawn) == (turn.cell, turn.spawn) {
                    drawn = spawns.len();
                }
                let (value, is_over) = self.state_value(self.game.place(after, cell, spawn));
                let hint = spawn.chance_state.to_string();
                spawns.push(LessonSpawn {
                    cell,
                    tile: self.game.tile_value(spawn.tile),
                    hint: hint.strip_prefix('+').map(str::to_owned),
                    reward: self.game.spawn_reward(spawn.tile),
                    chance: chance * share,
                    value,
                    is_over,
                });
            });
        }
        (spawns, drawn)
    }

    /// V of a state, or of its best slide the reward plus V of the afterstate; and whether the game
    /// is over there.
    fn state_value(&self, state: State<GridBoard>) -> (Value, bool) {
        let decision = Decision::new(&self.game, state);
        let is_over = decision.is_none();
        if !N::BY_AFTERSTATE {
            let position = N::position(state, self.game.as_afterstate(state));
            return (self.value_of(position), is_over);
        }
        let Some(decision) = decision else {
            return (0.0, is_over);
        };
        let mut lookup = Default::default();
        let values = self
            .network
            .action_values(&self.game, &decision, &mut lookup);
        let totals = values.legal().map(|(_, value)| value.total);
        (totals.reduce(Value::max).unwrap_or(0.0), is_over)
    }

    /// The value of the position of a step under perfect play.
    fn exact_value(&self, step: &LessonStep) -> Option<f64> {
        let totals = step.slides.iter().filter_map(|slide| slide.exact);
        match N::BY_AFTERSTATE {
            true => {
                let slide = &step.slides[step.chosen];
                Some(slide.exact? - f64::from(slide.reward))
            }
            false => totals.reduce(f64::max),
        }
    }
}
