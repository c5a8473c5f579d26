//! How an n-tuple network finds a value, lookup by lookup.

use afterstate::game::{After, Direction, Game, Position, State};
use afterstate::ntuple::{Lookup, TupleSet, WeightCell, WeightTables};

use super::BoardState;
use crate::recipe::ValueOf;

/// Every lookup of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Which position has the value: the afterstate of the slide, or the state before it.
    pub value_of: ValueOf,
    /// The tile indices of that position in row-major order.
    pub tiles: Vec<u8>,
    /// The tuples, as patterns of cells.
    pub patterns: Vec<String>,
    /// The lookups: the first tuple under every symmetry, the second, ...
    pub lookups: Vec<Lookup>,
}

impl Explanation {
    /// The sum of all weights: the value.
    pub fn sum(&self) -> f64 {
        let weights = self.lookups.iter().map(|lookup| f64::from(lookup.weight));
        weights.sum()
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
    let position = match value_of {
        ValueOf::State => before,
        _ => after,
    };
    Some(Explanation {
        value_of,
        tiles: (0..game.shape().cells())
            .map(|cell| position.cell(cell))
            .collect(),
        patterns: patterns(tables.tuples()),
        lookups: tables.lookups_of(position),
    })
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
        let full = BoardState {
            tiles: vec![1, 2, 3, 4, 5, 6],
            chance_state: ChanceState::NONE,
        };
        assert_eq!(agent.explain(&full, Direction::Left), None);
    }
}
