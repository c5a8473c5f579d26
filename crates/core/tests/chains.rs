//! Restarts and the carousel: games written out by hand, and on a solved board.

use afterstate::Value;
use afterstate::episode::{Learner, NoLearner, Step, play};
use afterstate::game::{Direction, Game, Grid, Position, PowersOfTwo, Shape, Slide, State};
use afterstate::learn::{
    Backward, Carousel, Forward, GameChain, Restarting, StartStates, TdParams,
};
use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, Stages, Tc, Td, TupleSet, WeightPart};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::{Rng, game_rng};
use afterstate::value::Decision;

fn two_by_two() -> Grid {
    Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo)
}

/// One tuple of one cell without symmetry: V of a board is the weight of cell 0's tile: 4 if it is
/// empty, 10 for a 2-tile, 20 for a 4-tile.
fn one_cell() -> AfterstateNetwork {
    let tuples = TupleSet::parse("0", two_by_two().shape(), false).unwrap();
    let options = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    let network = AfterstateNetwork::new(&tuples, &options).unwrap();
    let tables = network.tables();
    tables.import(0, WeightPart::Weight, 0, &[4.0, 10.0, 20.0]);
    network
}

fn numbers(network: &AfterstateNetwork, part: WeightPart) -> [Value; 3] {
    let mut numbers = [0.0; 3];
    network.tables().export(0, part, 0, &mut numbers);
    numbers
}

/// Slides left if it can; else down, right, or up.
struct LeftThenDown;

impl<G: Game> Policy<G> for LeftThenDown {
    fn choose(&mut self, _: &G, decision: &Decision<G>, _: &mut Rng) -> Slide<G::Board> {
        let directions = [
            Direction::Left,
            Direction::Down,
            Direction::Right,
            Direction::Up,
        ];
        let mut slides = directions.iter();
        let first = slides.find_map(|&direction| decision.slides().get(direction));
        first.expect("a decision has a legal slide")
    }
}

/// Writes games down: for each move the cells of its state and of its afterstate, and its reward.
struct Written<L> {
    learner: L,
    moves: Vec<(String, String, u32)>,
}

impl<L> Written<L> {
    fn new(learner: L) -> Self {
        let moves = Vec::new();
        Self { learner, moves }
    }
}

impl<L: Learner<Grid>> Learner<Grid> for &mut Written<L> {
    fn step(&mut self, step: &Step<Grid>) {
        fn cells(board: &impl Position) -> String {
            (0..4).map(|cell| board.cell(cell).to_string()).collect()
        }
        let one = (cells(&step.state.0), cells(&step.after.0), step.reward);
        self.moves.push(one);
        self.learner.step(step);
    }

    fn finish(&mut self, state: State<<Grid as Game>::Board>, spawn_reward: u32) {
        self.learner.finish(state, spawn_reward);
    }
}

fn td<'n>(
    game: &Grid,
    network: &'n AfterstateNetwork,
) -> Written<Forward<'n, Grid, AfterstateNetwork, Td>> {
    Written::new(Forward::new(game, network, 0.5))
}

fn written(moves: &[(&str, &str, u32)]) -> Vec<(String, String, u32)> {
    let all = moves.iter();
    all.map(|&(state, after, reward)| (state.to_owned(), after.to_owned(), reward))
        .collect()
}

/// The first game has five moves, so it is played again after path[5 / 2] = 2020; the second has
/// four, and is the last.
///
/// The afterstates of the first game have the tiles 1, 1, 2, 2 and 0 in cell 0. TD(0) with the rate
/// 0.5: 4 + 10 = 14: w1 = 12. 4 + 20 = 24: w1 = 18. 8 + 20 = 28: w2 = 24. 0 + 4: w2 = 14. At the end
/// 0: w0 = 2. Those of the second have 0, 1, 2 and 2. The reward of its first move belongs to 2020,
/// which is not learned again. 0 + 18: w0 = 10. 4 + 14 = 18: w1 = 18. 4 + 14 = 18: w2 = 16. At the
/// end 0: w2 = 8.
#[test]
fn a_restart_by_hand() {
    let (game, network) = (two_by_two(), one_cell());
    let mut log = td(&game, &network);
    let mut lengths = Vec::new();
    let mut chain = Restarting::new((LeftThenDown, &mut log), 5);
    chain.play(&game, &mut game_rng(0, 0), |game| lengths.push(game.moves));
    assert_eq!(lengths, [5, 4]);
    let first = [
        ("0110", "1010", 0),
        ("1011", "1020", 4),
        ("1120", "2020", 4),
        ("2022", "2030", 8),
        ("2031", "0231", 0),
    ];
    let second = [
        ("2120", "0031", 8),
        ("0131", "1031", 0),
        ("1131", "2031", 4),
        ("2131", "2032", 4),
    ];
    assert_eq!(log.moves, written(&[&first[..], &second].concat()));
    assert_eq!(numbers(&network, WeightPart::Weight), [10.0, 18.0, 8.0]);
}

/// The second stage begins at an 8-tile. The first game enters it in the state 1031, so that this is
/// the only state that is kept, and the second game begins there.
///
/// The afterstates of the first game have the tiles 0, 0, 0, 2 and 2 in cell 0: 8 + 4 = 12: w0 = 8.
/// 0 + 8: w0 = 8. 4 + 20 = 24: w0 = 16. 4 + 20 = 24: w2 = 22. At the end 0: w2 = 11. Those of the
/// second have 0, 2 and 2: 4 + 11 = 15: w0 = 15.5. 4 + 11 = 15: w2 = 13. At the end 0: w2 = 6.5.
#[test]
fn a_carousel_by_hand() {
    let (game, network) = (two_by_two(), one_cell());
    let (stages, kept) = (Stages::new(vec![1 << 3], true), StartStates::default());
    let mut log = td(&game, &network);
    let mut lengths = Vec::new();
    let mut chain = Carousel::new((LeftThenDown, &mut log), (&stages, 4), &kept, 100);
    chain.play(&game, &mut game_rng(6, 0), |game| lengths.push(game.moves));
    assert_eq!(lengths, [5, 3]);
    let first = [
        ("2100", "0021", 0),
        ("2021", "0031", 8),
        ("1031", "0131", 0),
        ("1131", "2031", 4),
        ("2131", "2032", 4),
    ];
    assert_eq!(log.moves, written(&[&first[..], &first[2..]].concat()));
    let arrays = kept.arrays(&game);
    assert_eq!((arrays.counts, arrays.tiles), (vec![1], vec![1, 0, 3, 1]));
    assert_eq!(numbers(&network, WeightPart::Weight), [15.5, 10.0, 6.5]);
}

/// The mean of 30,000 games of 2x2 after training on 30,000 chains. Its standard error is about 0.16.
fn near_the_optimum(name: &str, network: &AfterstateNetwork, mut chain: impl GameChain<Grid>) {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = two_by_two();
    chain.player().set_learning_rate(1.0);
    let (mut games, chains) = (0, 30_000);
    for n in 0..chains {
        chain.play(&game, &mut game_rng(1, n), |_| games += 1);
    }
    assert!(games > 3 * chains / 2, "{name}: {games} games");
    let mut policy = Greedy::new(&game, network, Ties::Random);
    let score = |n| play(&game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
    let mean = (0..30_000).map(score).sum::<u64>() as f64 / 30_000.0;
    assert!((mean - OPTIMUM).abs() < 0.6, "{name}: {mean}");
}

#[test]
fn each_learns_to_play_2x2_at_the_optimum() {
    let game = two_by_two();
    let tuples = TupleSet::parse("0123", game.shape(), true).unwrap();
    let options = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    let params = TdParams::default();
    let network = AfterstateNetwork::new(&tuples, &options).unwrap();
    let player = (
        Greedy::new(&game, &network, Ties::Random),
        Backward::<_, _, Tc>::new(&game, &network, params),
    );
    near_the_optimum("restart", &network, Restarting::new(player, 2));

    // Stages at the 8-tile and the 16-tile, each with weights of its own.
    let stages = Stages::new(vec![1 << 3, 1 << 4], true);
    let tuples = tuples.with_stages(stages.clone());
    let network = AfterstateNetwork::new(&tuples, &options).unwrap();
    let player = (
        Greedy::new(&game, &network, Ties::Random),
        Backward::<_, _, Tc>::new(&game, &network, params),
    );
    let kept = StartStates::default();
    let carousel = Carousel::new(player, (&stages, 4), &kept, 100);
    near_the_optimum("carousel", &network, carousel);
}
