//! An example of how little a new game needs: these rules, and a line in `GAMES`. Everything else
//! works with it.
//!
//! The toy: tiles 1, 2, 3, ... slide all the way, two equal ones merge into the next, and a spawned
//! tile is always 1.

use afterstate::game::{ChanceState, Rules, Shape, Spawn};

#[derive(Debug)]
pub(super) struct Toy;

impl Rules for Toy {
    fn tile_value(&self, tile: u8) -> u64 {
        tile.into()
    }

    fn largest_tile(&self, shape: Shape) -> u8 {
        shape.cells() as u8
    }

    fn slide_line(&self, line: &mut [u8]) -> u32 {
        let mut tiles = line.iter().copied().filter(|&tile| tile > 0).peekable();
        let (mut slid, mut reward) = (Vec::new(), 0);
        while let Some(tile) = tiles.next() {
            let made = tile + u8::from(tiles.next_if_eq(&tile).is_some());
            reward += u32::from(made - tile);
            slid.push(made);
        }
        slid.resize(line.len(), 0);
        line.copy_from_slice(&slid);
        reward
    }

    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool {
        let known = tiles.iter().all(|&tile| tile <= self.largest_tile(shape));
        known && tiles.len() == shape.cells() && chance_state == ChanceState::NONE
    }

    fn for_each_new_tile(
        &self,
        _: Shape,
        _: ChanceState,
        _: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    ) {
        visit(Spawn::of(1), 1.0);
    }
}

mod tests {
    use crate::agent::{RoundSpec, ntuple_agent};
    use crate::control::quiet;
    use crate::memory::MemoryBudget;
    use crate::recipe::Recipe;
    use crate::solve::{SolveOptions, solve};
    use crate::spec::{NTupleSpec, TdSpec};

    /// A merge earns 1 and a board of four cells has a limited number of merges: the solver finds
    /// the optimal score, and a learner comes close to it.
    #[test]
    fn a_new_game_can_be_trained_and_solved() {
        let shape = crate::games::shape(2, 2).unwrap();
        let solved = solve(&SolveOptions {
            game: "toy",
            shape,
            target: None,
            discount: 1.0,
            bounds: false,
            threads: 1,
            memory: None,
            control: quiet(),
        });
        let best = solved.unwrap().unwrap().report().expected_score;
        let overrides = [
            "game=toy",
            "board=2x2",
            "tuples=0123",
            "initial_value=20",
            "learning_rate=0.3",
        ];
        let overrides = overrides.map(str::to_owned);
        let recipe = Recipe::load("quick", &overrides).unwrap();
        let spec = NTupleSpec::of(&recipe).unwrap();
        let budget = MemoryBudget::process();
        let agent = ntuple_agent(&spec, recipe.learner.rule(), 20.0, &budget).unwrap();
        agent.learn(&RoundSpec::new(0..5_000, 1, 1), &TdSpec::of(&recipe));
        let games = agent.play(&RoundSpec::new(0..5_000, 1, 1), None);
        let mean = games.iter().map(|game| game.score as f64).sum::<f64>() / 5_000.0;
        assert!(
            best > 4.0 && (mean - best).abs() < 0.05 * best,
            "{mean} for {best}"
        );
    }
}
