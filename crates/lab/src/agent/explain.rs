//! How an n-tuple network finds a value, lookup by lookup.

use afterstate::game::{After, Direction, Game, Position, State, each_cell};
use afterstate::ntuple::{Lookup, TupleSet, WeightCell, WeightTables};

use super::{BoardState, board_state};
use crate::recipe::ValueOf;

/// Every lookup of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Which position has the value: the afterstate of the slide, or the state before it.
    pub value_of: ValueOf,
    /// The tile indices of that position in row-major order.
    pub tiles: Vec<u8>,
    /// The tile indices of the afterstate.
    pub afterstate: Vec<u8>,
    /// The tuples, as patterns of cells.
    pub patterns: Vec<String>,
    /// The lookups: the first tuple under every symmetry, the second, ...
    pub lookups: Vec<Lookup>,
    /// The base of the indices of weights. A tile beyond its largest digit counts as that digit.
    pub base: usize,
    /// Every state that the slide may lead to.
    pub successors: Vec<Successor>,
}

/// A state that a slide may lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    /// The cell of the new tile.
    pub cell: usize,
    /// The index of the new tile.
    pub tile: u8,
    /// Its chance.
    pub chance: f64,
    /// Its reward.
    pub reward: u32,
    /// The state.
    pub state: BoardState,
    /// Whether the game is over there.
    pub is_over: bool,
    /// V of the state, for a network of states: also where the game is over.
    pub value: Option<f64>,
}

impl Explanation {
    /// The digits of the index of a lookup, lowest first.
    pub fn digits(&self, lookup: &Lookup) -> Vec<usize> {
        let digit = |&cell: &usize| usize::from(self.tiles[cell]).min(self.base - 1);
        lookup.cells.iter().map(digit).collect()
    }

    /// The sum of all weights: the value.
    pub fn sum(&self) -> f64 {
        sum_of(&self.lookups)
    }

    /// What the lookups that read a cell have in common: for each cell the sum of their weights, each
    /// divided by the number of cells that its tuple reads. All of them together are the value.
    pub fn by_cell(&self) -> Vec<f64> {
        let mut cells = vec![0.0; self.tiles.len()];
        for lookup in &self.lookups {
            let share = f64::from(lookup.weight) / lookup.cells.len() as f64;
            lookup.cells.iter().for_each(|&cell| cells[cell] += share);
        }
        cells
    }
}

/// Explains the value of a slide by these tables.
pub(super) fn explain<G: Game, C: WeightCell>(
    game: &G,
    tables: &WeightTables<C>,
    value_of: ValueOf,
    board: &BoardState,
    direction: Direction,
) -> Option<Explanation> {
    let state = game.state(&board.tiles, board.chance_state)?;
    let After(after) = game.slides(state).get(direction)?.after();
    let State(before) = state;
    let of_states = value_of == ValueOf::State;
    let position = match value_of {
        ValueOf::State => before,
        _ => after,
    };
    let tiles = |board: G::Board| -> Vec<u8> {
        let cells = 0..game.shape().cells();
        cells.map(|cell| board.cell(cell)).collect()
    };
    Some(Explanation {
        value_of,
        tiles: tiles(position),
        afterstate: tiles(after),
        patterns: patterns(tables.tuples()),
        lookups: tables.lookups_of(position),
        base: 1 << tables.tuples().tile_bits(),
        successors: successors(game, After(after), |board| {
            of_states.then(|| sum_of(&tables.lookups_of(board)))
        }),
    })
}

fn sum_of(lookups: &[Lookup]) -> f64 {
    lookups.iter().map(|lookup| f64::from(lookup.weight)).sum()
}

fn successors<G: Game>(
    game: &G,
    after: After<G::Board>,
    value: impl Fn(G::Board) -> Option<f64>,
) -> Vec<Successor> {
    let cells = game.spawn_cells(after);
    let share = 1.0 / f64::from(cells.count_ones().max(1));
    let mut all = Vec::new();
    for cell in each_cell(cells) {
        game.for_each_new_tile(after, |spawn, chance| {
            let state = game.place(after, cell, spawn);
            let State(board) = state;
            all.push(Successor {
                cell,
                tile: spawn.tile,
                chance: chance * share,
                reward: game.spawn_reward(spawn.tile),
                state: board_state(game, state),
                is_over: game.slides(state).legal().next().is_none(),
                value: value(board),
            });
        });
    }
    all
}

fn patterns(tuples: &TupleSet) -> Vec<String> {
    tuples.patterns().iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use afterstate::game::{ChanceState, Direction};

    use crate::agent::BoardState;
    use crate::control::Control;
    use crate::recipe::Recipe;
    use crate::trainer::Trainer;

    /// The agent of a short training.
    fn trained(overrides: &[&str]) -> Trainer {
        let common = ["board=2x3", "tuples=012 0134", "episodes=200", "threads=1"];
        let all = common.iter().chain(overrides).map(|&it| it.to_owned());
        let recipe = Recipe::load("quick", &all.collect::<Vec<_>>()).unwrap();
        let mut trainer = Trainer::in_memory(recipe, &Control::new()).unwrap();
        trainer.train().unwrap();
        trainer
    }

    #[test]
    fn the_sum_of_an_explanation_is_the_value_of_the_move() {
        let agent = trained(&[]).agent();
        let board = BoardState {
            tiles: vec![1, 1, 2, 0, 3, 0],
            chance_state: ChanceState::NONE,
        };
        let analysis = agent.analyze(std::slice::from_ref(&board))[0].unwrap();
        let found = agent.explain(&board, Direction::Left).unwrap();
        let value = f64::from(analysis.values.get(Direction::Left).unwrap().value);
        assert!(value > 0.0);
        assert!(
            (found.sum() - value).abs() < 1e-2,
            "{} {value}",
            found.sum()
        );
        assert!((found.by_cell().iter().sum::<f64>() - value).abs() < 1e-2);
        assert_eq!(found.patterns, ["012", "0134"]);
        assert_eq!(found.lookups.len(), 8);
        assert_eq!(found.tiles, [2, 2, 0, 3, 0, 0]);
        let chances: f64 = found.successors.iter().map(|it| it.chance).sum();
        assert!((chances - 1.0).abs() < 1e-9);
        assert!(found.successors.iter().all(|it| it.value.is_none()));
        for lookup in &found.lookups {
            let digits = found.digits(lookup).into_iter().rev();
            let index = digits.fold(0, |index, digit| index * found.base + digit);
            assert_eq!(index, lookup.index);
        }
    }

    #[test]
    fn a_network_of_states_explains_the_state_before_the_slide() {
        let agent = trained(&["value=state"]).agent();
        let board = BoardState {
            tiles: vec![1, 1, 2, 0, 3, 0],
            chance_state: ChanceState::NONE,
        };
        let found = agent.explain(&board, Direction::Left).unwrap();
        assert_eq!(found.tiles, board.tiles);
        // The value of the slide is the mean of V over the states that it may lead to.
        let analysis = agent.analyze(std::slice::from_ref(&board))[0].unwrap();
        let value = f64::from(analysis.values.get(Direction::Left).unwrap().value);
        let terms = found.successors.iter();
        let mean: f64 = terms.map(|it| it.chance * it.value.unwrap()).sum();
        assert!(value > 0.0 && (mean - value).abs() < 1e-2, "{mean} {value}");
        let full = BoardState {
            tiles: vec![1, 2, 3, 4, 5, 6],
            chance_state: ChanceState::NONE,
        };
        assert_eq!(agent.explain(&full, Direction::Left), None);
    }

    /// The digits of a lookup make its index in every game, also where a table does not tell the
    /// largest tiles apart.
    #[test]
    fn digits_make_the_index_in_every_game() {
        let mut bases = Vec::new();
        for game in crate::games::games() {
            let game = format!("game={game}");
            let set = [
                "board=4x4",
                "tuples=0123 159",
                "episodes=3",
                "threads=1",
                &*game,
            ];
            let recipe = Recipe::load("quick", &set.map(str::to_owned)).unwrap();
            let mut trainer = Trainer::in_memory(recipe, &Control::new()).unwrap();
            trainer.train().unwrap();
            let agent = trainer.agent();
            let largest = crate::games::rules(&game[5..]).unwrap();
            let largest = largest.largest_tile(crate::games::shape(4, 4).unwrap());
            let mut tiles = vec![
                largest,
                largest - 1,
                9,
                8,
                7,
                6,
                5,
                4,
                3,
                3,
                2,
                1,
                0,
                0,
                0,
                0,
            ];
            for hint in [0, 1] {
                let board = BoardState {
                    tiles: tiles.clone(),
                    chance_state: ChanceState {
                        memory: [0; 3],
                        hint,
                    },
                };
                let found = Direction::ALL.into_iter();
                for found in found.filter_map(|it| agent.explain(&board, it)) {
                    for lookup in &found.lookups {
                        let digits = found.digits(lookup).into_iter().rev();
                        let index = digits.fold(0, |index, digit| index * found.base + digit);
                        assert_eq!(index, lookup.index, "{game}");
                    }
                    bases.push(found.base);
                }
                tiles[12] = 1;
            }
        }
        assert!(bases.contains(&16) && bases.contains(&32), "{bases:?}");
    }
}
