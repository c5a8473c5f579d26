//! The search gives the values of the plain recursion, bit for bit: on every game, with tables of
//! any size, on several threads, with values of afterstates and of states.

use afterstate::Value;
use afterstate::episode::{Learner, Step, play};
use afterstate::game::{
    ChanceState, Direction, Fast2048, FastFibonacci, FastThrees, Fibonacci, Game, Grid,
    POWERS_OF_TWO_SPAWNS, PackedGrid, PowersOfTwo, Shape, Slide, State, Threes,
};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{
    AfterstateNetwork, NetworkOptions, StateNetwork, Td, Trainable, TupleSet,
};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::game_rng;
use afterstate::search::{
    Depth, Expectimax, SearchOptions, StopCondition, TranspositionTable, plain,
};
use afterstate::value::{ActionValue, ActionValues, Decision, Pending, ValueFunction};

/// Records the states of a game.
struct Visited<G: Game>(Vec<State<G::Board>>);

impl<G: Game> Learner<G> for Visited<G> {
    fn step(&mut self, step: &Step<G>) {
        self.0.push(step.state);
    }

    fn finish(&mut self, _: State<G::Board>, _: u32) {}
}

fn train<G: Game, N: Trainable<G>>(game: &G, network: &N, games: u64) {
    let mut policy = Greedy::new(game, network, Ties::Order);
    let mut learner = Backward::<_, _, Td>::new(game, network, TdParams::default());
    for number in 0..games {
        play(game, &mut policy, &mut learner, &mut game_rng(1, number));
    }
}

/// Decisions of the games that a value function plays, some moves apart.
fn decisions<G: Game, V: ValueFunction<G>>(game: &G, values: &V, count: usize) -> Vec<Decision<G>> {
    let mut visited = Visited::<G>(Vec::new());
    let mut policy = Greedy::new(game, values, Ties::Order);
    let mut number = 0;
    while visited.0.len() < 3 * count {
        play(game, &mut policy, &mut visited, &mut game_rng(2, number));
        number += 1;
    }
    let states = visited.0.iter().step_by(3).take(count);
    states
        .map(|&state| Decision::new(game, state).expect("a move was made"))
        .collect()
}

fn network(shape: Shape, tuples: &str) -> AfterstateNetwork {
    let tuples = TupleSet::parse(tuples, shape, true).expect("a valid set");
    AfterstateNetwork::new(&tuples, &NetworkOptions::default()).expect("memory")
}

fn options(plies: u8, rare_below: f64) -> SearchOptions {
    SearchOptions {
        rare_below,
        ..SearchOptions::new(Depth::fixed(plies).expect("a depth"))
    }
}

fn bits(values: &ActionValues) -> Vec<(Direction, u32, u32)> {
    let legal = values.legal();
    legal
        .map(|(d, it)| (d, it.value.to_bits(), it.total.to_bits()))
        .collect()
}

/// Compares with the plain search; `counts` are the decisions for 2, 3 and 4 plies.
fn same_as_plain<G: Game, V: ValueFunction<G>>(game: &G, values: &V, counts: [usize; 3]) {
    for (count, plies) in counts.into_iter().zip(2..) {
        for rare_below in [0.0, 0.2] {
            let table = TranspositionTable::new(1 << 16);
            let mut search = Expectimax::new(game, values, options(plies, rare_below), &table);
            for decision in decisions(game, values, count) {
                let found = search.search(game, &decision);
                let expected = plain::action_values(game, values, &decision, plies, rare_below);
                assert_eq!(
                    bits(&found.values),
                    bits(&expected),
                    "{plies} plies, {:?}",
                    decision.state()
                );
                assert_eq!((Some(found.best), found.plies), (expected.best(), plies));
            }
        }
    }
}

fn trained<G: Game>(game: &G, tuples: &str, games: u64) -> AfterstateNetwork {
    let network = network(game.shape(), tuples);
    train(game, &network, games);
    network
}

#[test]
fn fast_2048() {
    let game = Fast2048::new();
    same_as_plain(&game, &trained(&game, "8x4", 300), [1500, 150, 2]);
}

#[test]
fn threes() {
    for rules in [Threes::Course, Threes::Hint, Threes::Original] {
        let game = FastThrees::new(rules);
        same_as_plain(&game, &trained(&game, "8x4", 300), [500, 60, 1]);
    }
}

#[test]
fn fibonacci() {
    for rules in [Fibonacci::OneTwo, Fibonacci::OneThree] {
        let game = FastFibonacci::new(rules);
        same_as_plain(&game, &trained(&game, "0123 4567", 100), [300, 20, 0]);
    }
}

#[test]
fn other_boards() {
    let (small, large) = (Shape::new(3, 3).unwrap(), Shape::new(4, 5).unwrap());
    let game = PackedGrid::new(small, &PowersOfTwo).expect("a packed board");
    same_as_plain(&game, &trained(&game, "0123 0134", 300), [1000, 200, 20]);
    let game = Grid::new(large, &PowersOfTwo);
    same_as_plain(&game, &trained(&game, "0123 5678", 30), [50, 2, 0]);
    let game = PackedGrid::new(Shape::new(2, 3).unwrap(), &Threes::Course).expect("packed");
    same_as_plain(&game, &trained(&game, "012345", 300), [500, 200, 100]);
}

#[test]
fn values_of_states() {
    let game = Fast2048::new();
    let tuples = TupleSet::parse("8x4", Shape::FOUR, true).unwrap();
    let made = StateNetwork::new(&tuples, &NetworkOptions::default(), &POWERS_OF_TWO_SPAWNS);
    let network = made.unwrap();
    train(&game, &network, 200);
    same_as_plain(&game, &network, [500, 60, 1]);
}

#[test]
fn discounted_values() {
    let game = FastThrees::new(Threes::Course);
    let tuples = TupleSet::parse("8x4", Shape::FOUR, true).unwrap();
    let discounted = NetworkOptions {
        discount: 0.9,
        ..NetworkOptions::default()
    };
    let network = AfterstateNetwork::new(&tuples, &discounted).unwrap();
    train(&game, &network, 200);
    same_as_plain(&game, &network, [200, 20, 0]);
}

/// Values that depend on the state before the slide, as those of a Q-network do.
struct ByState(AfterstateNetwork);

impl<G: Game> ValueFunction<G> for ByState {
    type Lookup = afterstate::ntuple::Indices;

    fn locate(&self, game: &G, decision: &Decision<G>, at: &mut Self::Lookup) {
        self.0.locate(game, decision, at);
    }

    fn evaluate(
        &self,
        game: &G,
        pending: &Pending<'_, G, Self::Lookup>,
        mut visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        let first = pending.decision().state().cell(0);
        self.0.evaluate(game, pending, |slide, value| {
            let value = value.value + Value::from(first) * slide.direction() as u8 as Value;
            let total = slide.reward() as Value + value;
            visit(slide, ActionValue { value, total });
        });
    }

    fn fits(&self, game: &G) -> bool {
        ValueFunction::<G>::fits(&self.0, game)
    }

    fn discount(&self) -> Value {
        ValueFunction::<G>::discount(&self.0)
    }
}

#[test]
fn values_of_actions() {
    let game = Fast2048::new();
    let values = ByState(trained(&game, "8x4", 200));
    same_as_plain(&game, &values, [500, 60, 1]);
}

/// The largest tiles: 65,536 and 131,072 are neither confused with 32,768 nor lost.
#[test]
fn tiles_beyond_what_four_bits_hold() {
    let game = Fast2048::new();
    let network = trained(&game, "8x4", 200);
    let mut rng = game_rng(3, 0);
    let table = TranspositionTable::new(1 << 16);
    let mut search = Expectimax::new(&game, &network, options(3, 0.0), &table);
    for _ in 0..60 {
        let tiles: Vec<u8> = (0..16)
            .map(|_| match rng.below(4) {
                0 => 15 + rng.below(3) as u8,
                1 => 0,
                _ => 1 + rng.below(4) as u8,
            })
            .collect();
        let tiles = afterstate::game::Board::from_tiles(&tiles.try_into().unwrap());
        let Some(decision) = Decision::new(&game, State(tiles)) else {
            continue;
        };
        let expected = plain::action_values(&game, &network, &decision, 3, 0.0);
        assert_eq!(
            bits(&search.search(&game, &decision).values),
            bits(&expected)
        );
    }
}

/// A table of any size, filled by other searches or shared with other threads, changes no value.
#[test]
fn tables_change_no_value() {
    let game = Fast2048::new();
    let network = trained(&game, "8x4", 300);
    let some = decisions(&game, &network, 100);
    let all = |table: &TranspositionTable| -> Vec<_> {
        let mut search = Expectimax::new(&game, &network, options(4, 0.2), table);
        let found = some
            .iter()
            .map(|decision| search.search(&game, decision).values);
        found.map(|values| bits(&values)).collect()
    };
    let alone = all(&TranspositionTable::new(1 << 20));
    assert_eq!(all(&TranspositionTable::new(0)), alone);
    let mut shared = TranspositionTable::new(1 << 12);
    let both = std::thread::scope(|scope| {
        let threads = [0; 2].map(|_| scope.spawn(|| all(&shared)));
        threads.map(|thread| thread.join().expect("a thread"))
    });
    assert_eq!(both, [alone.clone(), alone.clone()]);
    assert_eq!(all(&shared), alone);
    shared.clear();
    assert_eq!(all(&shared), alone);
}

/// Ends a search after a number of polls.
struct Polls(u32, u32);

impl StopCondition for Polls {
    fn begin(&mut self) {
        self.1 = 0;
    }

    fn is_over(&mut self) -> bool {
        self.1 += 1;
        self.1 > self.0
    }
}

#[test]
fn a_limited_search_has_the_last_complete_depth() {
    let game = Fast2048::new();
    let network = trained(&game, "8x4", 200);
    let mut reached = Vec::new();
    for polls in [0, 1, 2, 100, 10_000] {
        let table = TranspositionTable::new(1 << 20);
        let search = Expectimax::new(&game, &network, options(4, 0.0), &table);
        let mut search = search.with_limit(Polls(polls, 0));
        for decision in decisions(&game, &network, 3) {
            let found = search.search(&game, &decision);
            let plies = found.plies;
            let expected = plain::action_values(&game, &network, &decision, plies, 0.0);
            assert_eq!(bits(&found.values), bits(&expected), "{polls} polls");
            reached.push(plies);
        }
    }
    assert_eq!(&reached[..9], [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    assert_eq!(&reached[12..], [4, 4, 4]);
}

/// A board with a 32768-tile is searched as one that is lower by a step; its own slide is made.
#[test]
fn downgraded_boards_make_their_own_slides() {
    let game = Fast2048::new();
    let network = trained(&game, "8x4", 300);
    let tiles = [15, 13, 6, 3, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 2];
    let lower = [14, 13, 6, 3, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 2];
    let [board, lower] = [tiles, lower].map(|tiles| {
        let state = game.state(&tiles, ChanceState::NONE).expect("a board");
        Decision::new(&game, state).expect("a move")
    });
    let table = TranspositionTable::new(1 << 16);
    let mut options = options(2, 0.0);
    options.downgrade_from = Some(15);
    let mut search = Expectimax::new(&game, &network, options, &table);
    let found = search.search(&game, &board);
    let expected = plain::action_values(&game, &network, &lower, 2, 0.0);
    assert_eq!(bits(&found.values), bits(&expected));
    let slide = search.choose(&game, &board, &mut game_rng(0, 0));
    assert_eq!(board.slides().get(found.best), Some(slide));
}
