//! Episodes and their drivers: all ways to play games side by side give the same games, and batches
//! give the same values.

use std::cell::RefCell;
use std::collections::BTreeMap;

use afterstate::Value;
use afterstate::episode::{
    Episode, Learner, NoLearner, Step, play, play_batched, play_batched_from, play_interleaved,
    play_interleaved_from, play_on,
};
use afterstate::game::{
    After, ChanceState, Direction, Fast2048, FastThrees, Game, Grid, POWERS_OF_TWO_SPAWNS,
    PackedGrid, PowersOfTwo, Shape, Slide, State, Threes,
};
use afterstate::learn::{Backward, Forward, TdParams};
use afterstate::ntuple::{
    AfterstateNetwork, NetworkOptions, StateNetwork, Td, TupleSet, WeightCell, WeightPart,
    WeightTables,
};
use afterstate::policy::{Greedy, Policy, Random, Ties};
use afterstate::random::{Rng, game_rng};
use afterstate::tally::{Outcome, Start, Tally};
use afterstate::value::{ActionValues, Decision, ValueFunction};

const SEED: u64 = 11;
const GAMES: u64 = 12;

fn tuples(shape: Shape) -> TupleSet {
    let cols = shape.cols();
    let square = [0, 1, cols, cols + 1].map(|cell| format!("{cell:x}"));
    TupleSet::parse(&square.concat(), shape, true).unwrap()
}

/// Integers below `kinds`: with few of them, many moves have the same value.
fn randomise<C: WeightCell>(tables: &WeightTables<C>, kinds: u32) {
    let mut rng = game_rng(3, 3);
    for (table, (_, weights)) in tables.tuples().tables().enumerate() {
        let random: Vec<Value> = (0..weights).map(|_| rng.below(kinds) as Value).collect();
        tables.import(table, WeightPart::Weight, 0, &random);
    }
}

fn afterstates(shape: Shape, kinds: u32) -> AfterstateNetwork {
    let network = AfterstateNetwork::new(&tuples(shape), &NetworkOptions::default()).unwrap();
    randomise(network.tables(), kinds);
    network
}

fn states(shape: Shape, kinds: u32) -> StateNetwork {
    let options = NetworkOptions::default();
    let network = StateNetwork::new(&tuples(shape), &options, &POWERS_OF_TWO_SPAWNS).unwrap();
    randomise(network.tables(), kinds);
    network.refresh();
    network
}

fn packed(rows: usize, cols: usize) -> PackedGrid {
    PackedGrid::new(Shape::new(rows, cols).unwrap(), &PowersOfTwo).unwrap()
}

/// The numbers and the RNGs of `games` games.
fn rngs(games: u64) -> impl FnMut() -> Option<(u64, Rng)> {
    let mut numbers = 0..games;
    move || {
        numbers
            .next()
            .map(|number| (number, game_rng(SEED, number)))
    }
}

/// Adds a game that must not have been played before.
fn once<T>(games: &mut BTreeMap<u64, T>, number: u64, game: T) {
    assert!(
        games.insert(number, game).is_none(),
        "game {number} was played twice"
    );
}

fn interleaved_games_are_the_same<G: Game, V: ValueFunction<G>>(game: &G, values: &V) {
    for ties in [Ties::Order, Ties::Random] {
        let policy = || Greedy::new(game, values, ties);
        let mut alone = policy();
        let expected: BTreeMap<u64, Outcome> = (0..GAMES)
            .map(|n| {
                (
                    n,
                    play(game, &mut alone, &mut NoLearner, &mut game_rng(SEED, n)),
                )
            })
            .collect();
        assert!(
            expected
                .values()
                .all(|outcome| outcome.start == Start::Initial)
        );
        for (count, games) in [(1, GAMES), (2, GAMES), (3, GAMES), (3, 2), (2, 0)] {
            let mut policies: Vec<_> = (0..count).map(|_| policy()).collect();
            let mut found = BTreeMap::new();
            play_interleaved(game, &mut policies, rngs(games), |number, outcome| {
                once(&mut found, number, outcome);
            });
            let expected: BTreeMap<u64, Outcome> = expected
                .clone()
                .into_iter()
                .filter(|(n, _)| *n < games)
                .collect();
            assert_eq!(found, expected, "{count} policies, {ties:?}");
        }
    }
}

#[test]
fn interleaved_games_are_the_same_as_one_after_another() {
    let game = Fast2048::new();
    interleaved_games_are_the_same(&game, &afterstates(game.shape(), 2));
    interleaved_games_are_the_same(&game, &states(game.shape(), 2));
    let game = packed(3, 3);
    interleaved_games_are_the_same(&game, &afterstates(game.shape(), 2));
    interleaved_games_are_the_same(&game, &states(game.shape(), 2));
    let game = PackedGrid::new(Shape::FOUR, &Threes::Original).unwrap();
    interleaved_games_are_the_same(&game, &afterstates(game.shape(), 2));
}

/// A step as comparable numbers.
type Made<B> = (State<B>, Direction, After<B>, u32, u32);

/// Everything that a learner sees of a game.
#[derive(Debug, PartialEq)]
struct Record<B> {
    steps: Vec<Made<B>>,
    end: Option<(State<B>, u32)>,
}

/// Records games by number.
struct Recorder<'r, G: Game> {
    number: u64,
    records: &'r RefCell<BTreeMap<u64, Record<G::Board>>>,
}

impl<'r, G: Game> Recorder<'r, G> {
    fn new(records: &'r RefCell<BTreeMap<u64, Record<G::Board>>>, number: u64) -> Self {
        Self { number, records }
    }

    fn change(&self, change: impl FnOnce(&mut Record<G::Board>)) {
        let mut records = self.records.borrow_mut();
        let record = records.entry(self.number).or_insert(Record {
            steps: vec![],
            end: None,
        });
        assert!(record.end.is_none(), "game {} is over", self.number);
        change(record);
    }
}

impl<G: Game> Learner<G> for Recorder<'_, G> {
    fn step(&mut self, step: &Step<G>) {
        let made = (
            step.state,
            step.direction,
            step.after,
            step.reward,
            step.spawn_reward,
        );
        self.change(|record| record.steps.push(made));
    }

    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        self.change(|record| record.end = Some((state, spawn_reward)));
    }
}

/// The best slides by the values of a batch, the first of equal ones.
fn best_slides<G: Game, V: ValueFunction<G>>(
    game: &G,
    values: &V,
    decisions: &[Decision<G>],
    found: &mut Vec<ActionValues>,
) -> Vec<Slide<G::Board>> {
    values.batch(game, decisions, found);
    let choices = decisions.iter().zip(found);
    let best = |(decision, values): (&Decision<G>, &mut ActionValues)| {
        decision.slides().get(values.best()?)
    };
    choices
        .map(|choice| best(choice).expect("a legal slide"))
        .collect()
}

fn batched_games_are_the_same<G: Game, V: ValueFunction<G>>(game: &G, values: &V) {
    let records = RefCell::new(BTreeMap::new());
    let mut policy = Greedy::new(game, values, Ties::Order);
    let mut outcomes = BTreeMap::new();
    for number in 0..GAMES {
        let mut learner = Recorder::new(&records, number);
        let outcome = play(game, &mut policy, &mut learner, &mut game_rng(SEED, number));
        once(&mut outcomes, number, outcome);
    }
    for (most, games) in [(1, GAMES), (5, GAMES), (64, GAMES), (5, 3), (5, 0)] {
        let batched = RefCell::new(BTreeMap::new());
        let (mut found, mut buffer, mut numbers) = (BTreeMap::new(), Vec::new(), rngs(games));
        play_batched(
            game,
            most,
            |decisions| {
                assert!((1..=most).contains(&decisions.len()));
                best_slides(game, values, decisions, &mut buffer)
            },
            || numbers().map(|(number, rng)| (number, rng, Recorder::new(&batched, number))),
            |number, outcome| once(&mut found, number, outcome),
        );
        let expected: BTreeMap<u64, Outcome> = outcomes
            .clone()
            .into_iter()
            .filter(|(n, _)| *n < games)
            .collect();
        assert_eq!(found, expected, "{most} at once");
        let (batched, alone) = (batched.borrow(), records.borrow());
        assert_eq!(batched.len() as u64, games);
        for (number, record) in batched.iter() {
            assert_eq!(record, &alone[number], "{most} at once");
        }
    }
}

#[test]
fn batched_games_are_the_same_as_one_after_another() {
    let game = Fast2048::new();
    batched_games_are_the_same(&game, &afterstates(game.shape(), 2));
    batched_games_are_the_same(&game, &states(game.shape(), 1000));
    let game = packed(3, 3);
    batched_games_are_the_same(&game, &afterstates(game.shape(), 2));
    batched_games_are_the_same(&game, &states(game.shape(), 1000));
    let game = PackedGrid::new(Shape::FOUR, &Threes::Original).unwrap();
    batched_games_are_the_same(&game, &afterstates(game.shape(), 2));
}

/// Interrupts games after some moves and continues from there: the result is the rest of the game.
fn given_states_are_played_on<G: Game>(game: &G) {
    for number in 0..20 {
        let mut rng = game_rng(SEED, number);
        let mut whole = Episode::start(game, &mut rng);
        for _ in 0..5 + number {
            let Some(decision) = whole.decision() else {
                break;
            };
            let slide = Random.choose(game, decision, &mut rng);
            whole.advance(game, slide, &mut rng);
        }
        let (state, so_far) = (whole.state(), whole.outcome());
        assert_eq!(so_far.start, Start::Initial);
        let rest = Episode::start_from(game, state);
        assert_eq!((rest.state(), rest.outcome().moves), (state, 0));
        assert_eq!(rest.outcome().score, game.initial_score(state));
        assert_eq!(
            rest.finished(game).is_some(),
            whole.finished(game).is_some()
        );

        let mut other = rng.clone();
        let rest = play_on(game, rest, &mut Random, &mut NoLearner, &mut rng);
        let whole = play_on(game, whole, &mut Random, &mut NoLearner, &mut other);
        assert_eq!((rest.start, whole.start), (Start::Given, Start::Initial));
        assert_eq!(rest.moves, whole.moves - so_far.moves);
        let earned = rest.score - game.initial_score(state);
        assert_eq!(earned, whole.score - so_far.score);
        assert_eq!(rest.largest, whole.largest);
    }
}

#[test]
fn a_game_may_start_in_a_given_state() {
    given_states_are_played_on(&Fast2048::new());
    given_states_are_played_on(&packed(2, 3));
    given_states_are_played_on(&FastThrees::new(Threes::Hint));
}

/// Games from given states, and one that is over there, are the same side by side as one after
/// another. Every third game starts with the initial tiles.
fn given_starts_are_the_same_side_by_side<G: Game, V: ValueFunction<G>>(game: &G, values: &V) {
    let policy = || Greedy::new(game, values, Ties::Order);
    let start = |number: u64, rng: &mut Rng| match number % 3 {
        0 => Episode::start(game, rng),
        _ => {
            let mut before = Episode::start(game, &mut game_rng(SEED + 1, number));
            let most = if number == 4 { 1 << 20 } else { 20 };
            for _ in 0..most {
                let Some(decision) = before.decision() else {
                    break;
                };
                let slide = Random.choose(game, decision, rng);
                before.advance(game, slide, rng);
            }
            Episode::start_from(game, before.state())
        }
    };
    let mut expected = BTreeMap::new();
    for number in 0..GAMES {
        let mut rng = game_rng(SEED, number);
        let episode = start(number, &mut rng);
        let outcome = play_on(game, episode, &mut policy(), &mut NoLearner, &mut rng);
        let given = number % 3 != 0;
        assert_eq!(outcome.start == Start::Given, given);
        assert!(number != 4 || outcome.moves == 0, "it starts at its end");
        once(&mut expected, number, outcome);
    }
    let mut found = BTreeMap::new();
    let mut policies = [policy(), policy()];
    play_interleaved_from(
        game,
        &mut policies,
        start,
        rngs(GAMES),
        |number, outcome| {
            once(&mut found, number, outcome);
        },
    );
    assert_eq!(found, expected);

    for most in [1, 5] {
        let (mut found, mut buffer, mut numbers) = (BTreeMap::new(), Vec::new(), rngs(GAMES));
        play_batched_from(
            game,
            most,
            start,
            |decisions| {
                assert!(!decisions.is_empty());
                best_slides(game, values, decisions, &mut buffer)
            },
            || numbers().map(|(number, rng)| (number, rng, NoLearner)),
            |number, outcome| once(&mut found, number, outcome),
        );
        assert_eq!(found, expected, "{most} at once");
    }

    let mut tally = Tally::default();
    expected.values().for_each(|outcome| tally.add(outcome));
    let moves = |start| {
        let games = expected.values().filter(|outcome| outcome.start == start);
        games.map(|outcome| outcome.moves).sum::<u64>()
    };
    assert_eq!(
        (tally.games, tally.given_starts),
        (GAMES / 3, GAMES - GAMES / 3)
    );
    assert_eq!(tally.given_moves, moves(Start::Given));
    let mean = moves(Start::Initial) as f64 / tally.games as f64;
    assert_eq!(tally.moves_per_game(), mean);
}

#[test]
fn games_from_given_states_are_the_same_side_by_side() {
    let game = Fast2048::new();
    given_starts_are_the_same_side_by_side(&game, &afterstates(game.shape(), 1000));
    let game = packed(3, 3);
    given_starts_are_the_same_side_by_side(&game, &states(game.shape(), 1000));
}

/// A learner sees the same steps of an interrupted game as of one that is played through, including
/// the reward of the spawn before the interruption.
#[test]
fn an_interrupted_game_continues_with_the_reward_of_its_last_spawn() {
    let game = FastThrees::new(Threes::Course);
    let mut rng = game_rng(SEED, 1);
    let mut episode = Episode::start(&game, &mut rng);
    assert_eq!(episode.spawn_reward(), 0);
    while episode.spawn_reward() == 0 {
        let slide = Random.choose(&game, episode.decision().unwrap(), &mut rng);
        episode.advance(&game, slide, &mut rng);
    }
    let (state, earned) = (episode.state(), episode.spawn_reward());
    let resumed = Episode::in_progress(&game, state, earned, episode.outcome());
    let records = RefCell::new(BTreeMap::new());
    let outcomes = [(0, episode), (1, resumed)].map(|(number, episode)| {
        let mut learner = Recorder::new(&records, number);
        play_on(&game, episode, &mut Random, &mut learner, &mut rng.clone())
    });
    assert_eq!(outcomes[0], outcomes[1]);
    let records = records.borrow();
    assert_eq!(records[&0], records[&1]);
    assert_eq!(records[&1].steps[0].4, earned);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "another decision")]
fn a_slide_of_another_decision_is_refused() {
    let game = packed(2, 2);
    let state = |tiles: &[u8]| game.state(tiles, ChanceState::NONE).unwrap();
    let other = game.slides(state(&[1, 1, 0, 2]));
    let slide = other.get(Direction::Left).unwrap();
    let mut episode = Episode::start_from(&game, state(&[1, 1, 0, 0]));
    episode.advance(&game, slide, &mut game_rng(SEED, 0));
}

#[test]
fn a_game_that_starts_at_its_end_has_no_moves() {
    let game = packed(2, 2);
    let state = game.state(&[1, 2, 2, 1], ChanceState::NONE).unwrap();
    let episode = Episode::start_from(&game, state);
    assert!(episode.decision().is_none());
    let expected = Outcome {
        score: 0,
        moves: 0,
        largest: 4,
        start: Start::Given,
    };
    assert_eq!(episode.finished(&game), Some(expected));
    let records = RefCell::new(BTreeMap::new());
    let mut learner = Recorder::new(&records, 0);
    let mut rng = game_rng(SEED, 0);
    assert_eq!(
        play_on(&game, episode, &mut Random, &mut learner, &mut rng),
        expected
    );
    let end = Some((state, 0));
    assert_eq!(records.borrow()[&0], Record { steps: vec![], end });
}

/// All decisions of some random games.
fn decisions<G: Game>(game: &G) -> Vec<Decision<G>> {
    let mut decisions = Vec::new();
    for number in 0..5 {
        let mut rng = game_rng(SEED, number);
        let mut episode = Episode::start(game, &mut rng);
        while let Some(&decision) = episode.decision() {
            decisions.push(decision);
            let slide = Random.choose(game, &decision, &mut rng);
            episode.advance(game, slide, &mut rng);
        }
    }
    decisions
}

fn batches_have_the_values_of_each<G: Game, V: ValueFunction<G>>(game: &G, values: &V) {
    let decisions = decisions(game);
    let mut lookup = V::Lookup::default();
    let one_by_one: Vec<ActionValues> = decisions
        .iter()
        .map(|decision| values.action_values(game, decision, &mut lookup))
        .collect();
    assert_ne!(one_by_one[0], one_by_one[1]);
    let mut found = Vec::new();
    for count in [decisions.len(), 0, 1, 2, 33] {
        values.batch(game, &decisions[..count], &mut found);
        assert_eq!(found, one_by_one[..count]);
    }
    for (decision, found) in decisions.iter().zip(&one_by_one) {
        for direction in Direction::ALL {
            let slide = decision.slides().get(direction);
            let value = found.get(direction);
            let total = slide
                .zip(value)
                .map(|(slide, value)| slide.reward() as Value + value.value);
            assert_eq!(value.map(|value| value.total), total);
            assert_eq!(slide.is_some(), value.is_some());
        }
    }
}

#[test]
fn batches_have_exactly_the_values_of_each_decision() {
    let game = Fast2048::new();
    batches_have_the_values_of_each(&game, &afterstates(game.shape(), 1_000_000));
    batches_have_the_values_of_each(&game, &states(game.shape(), 1_000_000));
    let game = packed(3, 3);
    batches_have_the_values_of_each(&game, &afterstates(game.shape(), 1_000_000));
    batches_have_the_values_of_each(&game, &states(game.shape(), 1_000_000));
    let game = Grid::new(Shape::new(3, 5).unwrap(), &Threes::Hint);
    batches_have_the_values_of_each(&game, &afterstates(game.shape(), 1_000_000));
}

#[test]
#[should_panic(expected = "another board")]
fn a_policy_by_afterstates_of_another_board_is_refused() {
    let network = afterstates(Shape::new(3, 3).unwrap(), 2);
    Greedy::new(&Fast2048::new(), &network, Ties::Order);
}

#[test]
#[should_panic(expected = "another board")]
fn a_policy_by_states_of_another_board_is_refused() {
    let network = states(Shape::FOUR, 2);
    Greedy::new(&packed(3, 3), &network, Ties::Order);
}

#[test]
#[should_panic(expected = "another board")]
fn a_policy_by_states_of_a_game_with_other_spawns_is_refused() {
    let network = states(Shape::FOUR, 2);
    Greedy::new(&FastThrees::new(Threes::Course), &network, Ties::Order);
}

#[test]
#[should_panic(expected = "another board")]
fn a_backward_learner_of_another_board_is_refused() {
    let network = afterstates(Shape::new(3, 4).unwrap(), 2);
    Backward::<_, _, Td>::new(&packed(4, 3), &network, TdParams::default());
}

#[test]
#[should_panic(expected = "another board")]
fn a_forward_learner_of_another_board_is_refused() {
    let network = states(Shape::new(3, 4).unwrap(), 2);
    Forward::<_, _, Td>::new(&packed(4, 3), &network, 0.1);
}

#[test]
#[should_panic(expected = "another board")]
fn a_batch_of_another_board_is_refused() {
    let network = afterstates(Shape::new(3, 4).unwrap(), 2);
    network.batch(&packed(4, 3), &[], &mut Vec::new());
}

#[test]
#[should_panic(expected = "another board")]
fn values_of_slides_of_another_board_are_refused() {
    let (game, network) = (packed(4, 3), states(Shape::new(3, 4).unwrap(), 2));
    let decision = Decision::new(&game, game.start(&mut game_rng(SEED, 0))).unwrap();
    let _ = network.action_values(&game, &decision, &mut Default::default());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "another board: 3x4")]
fn a_position_of_another_board_is_refused() {
    let (game, network) = (packed(4, 3), states(Shape::new(3, 4).unwrap(), 2));
    network.value(game.start(&mut game_rng(SEED, 0)));
}
