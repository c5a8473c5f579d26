mod starts;

use super::*;
use crate::episode::{NoLearner, play};
use crate::game::{Fast2048, Grid, POWERS_OF_TWO_SPAWNS, PowersOfTwo, Shape};
use crate::ntuple::{NetworkOptions, StateNetwork, TupleSet, WeightPart};
use crate::policy::{Greedy, Policy, Random, Ties};
use crate::value::{Decision, ValueFunction};

fn config() -> ReplayConfig {
    ReplayConfig {
        num_envs: 4,
        buffer_size: 50,
        updates_per_step: 3,
        batch_size: 8,
        ..ReplayConfig::default()
    }
}

#[test]
fn a_full_buffer_replaces_the_oldest_or_any() {
    let mut rng = game_rng(1, 1);
    let mut buffer = ReplayBuffer::new(3, Overwrite::Oldest);
    (0..5).for_each(|n| buffer.push(n, &mut rng));
    assert_eq!((buffer.items(), buffer.oldest()), (&[3, 4, 2][..], 2));
    let again = ReplayBuffer::new(3, Overwrite::Oldest)
        .with_items(buffer.items().to_vec(), buffer.oldest());
    assert_eq!(again, buffer);

    let mut buffer = ReplayBuffer::new(100, Overwrite::Random);
    (0..200).for_each(|n| buffer.push(n, &mut rng));
    let old = buffer.items().iter().filter(|&&n| n < 100).count();
    // Each of the first hundred items survives with probability 0.99^100 = 0.37.
    assert!((20..55).contains(&old), "{old}");
    assert_eq!(buffer.len(), 100);
}

#[test]
fn sampling_is_uniform() {
    let mut rng = game_rng(1, 2);
    let mut buffer = ReplayBuffer::new(10, Overwrite::Oldest);
    let mut drawn = vec![7];
    buffer.sample(5, &mut rng, &mut drawn);
    assert!(drawn.is_empty() && buffer.is_empty());
    (0..10).for_each(|n| buffer.push(n, &mut rng));
    buffer.sample(10_000, &mut rng, &mut drawn);
    for n in 0..10 {
        let count = drawn.iter().filter(|&&one| one == n).count();
        assert!((850..1150).contains(&count), "{n}: {count}");
    }
}

#[test]
fn epsilon_falls_linearly() {
    let config = ReplayConfig {
        epsilon: 0.1,
        epsilon_iterations: 200,
        ..config()
    };
    assert_eq!(config.epsilon_at(0), 0.1);
    assert!((config.epsilon_at(50) - 0.075).abs() < 1e-12);
    assert_eq!((config.epsilon_at(200), config.epsilon_at(999)), (0.0, 0.0));
    let constant = ReplayConfig {
        epsilon_iterations: 0,
        ..config
    };
    assert_eq!(constant.epsilon_at(999), 0.1);
}

/// Records every transition in its batches, and moves at random.
#[derive(Default)]
struct Witness<G: Game> {
    learned: Vec<Transition<G::Board>>,
}

impl<G: Game> ReplayAgent<G> for Witness<G> {
    fn choose(
        &mut self,
        game: &G,
        decisions: &[Decision<G>],
        rng: &mut Rng,
        chosen: &mut Vec<Choice<G::Board>>,
    ) {
        chosen.clear();
        let choices = decisions.iter();
        let slides = choices.map(|decision| Random.choose(game, decision, rng));
        chosen.extend(slides.map(Choice::from));
    }

    fn learn(&mut self, _: &G, batch: &[Transition<G::Board>]) -> BatchStats {
        self.learned.extend_from_slice(batch);
        BatchStats {
            loss: 2.0,
            value: 1.0,
        }
    }
}

/// Transitions follow the rules, and games end where no slide is legal.
#[test]
fn transitions_follow_the_rules() {
    let game = Fast2048::new();
    let mut trainer = ReplayTrainer::new(game, config(), 5);
    let mut witness = Witness { learned: vec![] };
    let (mut finished, mut stats) = (Vec::new(), TrainingStats::default());
    for _ in 0..400 {
        stats.merge(&trainer.iterate(&mut witness, |outcome| finished.push(outcome)));
    }
    assert_eq!((stats.iterations, stats.moves), (400, 1600));
    // The first batch is drawn when the buffer holds enough transitions: after two iterations of
    // four.
    assert_eq!(stats.updates, 3 * 399);
    assert_eq!((stats.mean_loss(), stats.mean_value()), (2.0, 1.0));
    assert!(stats.is_finite() && stats.mean_reward() > 1.0);
    assert!(finished.len() > 5);
    assert!(
        finished
            .iter()
            .all(|outcome| outcome.moves > 20 && outcome.largest >= 16)
    );
    let played: u64 = finished.iter().map(|outcome| outcome.moves).sum();
    assert!(played <= 1600);
    let mut ends = 0;
    for t in &witness.learned {
        let slide = game.slides(t.state).get(t.direction).unwrap();
        assert_eq!(slide.reward(), t.reward);
        let mut possible = false;
        game.for_each_spawn(slide.after(), |state, _, _| possible |= state == t.next);
        assert!(possible);
        assert_eq!(!game.slides(t.next).any(), t.done);
        ends += usize::from(t.done);
    }
    assert!(ends > 0);
}

/// Three-step transitions equal the combination of single steps of the same games.
#[test]
fn transitions_span_several_moves() {
    let play = |n_step| {
        let config = ReplayConfig {
            num_envs: 1,
            buffer_size: 10_000,
            n_step,
            discount: 0.5,
            updates_per_step: 0,
            ..config()
        };
        let mut trainer = ReplayTrainer::new(Fast2048::new(), config, 5);
        for _ in 0..1000 {
            trainer.iterate(&mut Witness { learned: vec![] }, |_| ());
        }
        trainer.buffer.items().to_vec()
    };
    let (ones, threes) = (play(1), play(3));
    // The last two moves are still pending.
    assert_eq!((ones.len(), threes.len()), (1000, 998));
    let mut ends = 0;
    for (n, three) in threes.iter().enumerate() {
        let end = ones[n..n + 3].iter().position(|one| one.done).unwrap_or(2);
        let (first, last) = (&ones[n], &ones[n + end]);
        let later = (1..=end).map(|k| 0.5_f32.powi(k as i32) * ones[n + k].reward as f32);
        let expected = Transition {
            later_rewards: later.sum(),
            steps: end as u32 + 1,
            next: last.next,
            done: last.done,
            ..*first
        };
        assert_eq!(*three, expected);
        ends += usize::from(last.done);
    }
    assert!(ends > 3);
}

/// A trainer restored from its snapshot continues exactly like the original.
#[test]
fn a_restored_trainer_continues_exactly() {
    fn check<G: Game>(game: G) {
        let config = ReplayConfig {
            epsilon: 0.3,
            epsilon_iterations: 500,
            overwrite: Overwrite::Random,
            n_step: 3,
            discount: 0.9,
            ..config()
        };
        let mut trainer = ReplayTrainer::new(game, config, 5);
        let mut ignored = Witness { learned: vec![] };
        for _ in 0..100 {
            trainer.iterate(&mut ignored, |_| ());
        }
        let snapshot = trainer.snapshot();
        let mut other = ReplayTrainer::new(game, config, 5);
        other.restore(&snapshot).unwrap();
        assert_eq!(other.snapshot(), snapshot);
        let (mut a, mut b) = (Witness { learned: vec![] }, Witness { learned: vec![] });
        for _ in 0..100 {
            assert_eq!(
                trainer.iterate(&mut a, |_| ()),
                other.iterate(&mut b, |_| ())
            );
        }
        assert_eq!(a.learned, b.learned);
        assert_eq!(other.snapshot(), trainer.snapshot());
    }
    check(Fast2048::new());
    check(crate::game::FastThrees::new(crate::game::Threes::Hint));
    check(Grid::new(Shape::new(2, 3).unwrap(), &PowersOfTwo));
}

#[test]
fn snapshots_of_other_trainers_are_refused() {
    let mut trainer = ReplayTrainer::new(Fast2048::new(), config(), 5);
    trainer.iterate(&mut Witness { learned: vec![] }, |_| ());
    let snapshot = trainer.snapshot();
    let mut refused = |change: &dyn Fn(&mut ReplaySnapshot)| {
        let mut changed = snapshot.clone();
        change(&mut changed);
        trainer.restore(&changed).unwrap_err().to_string()
    };
    assert!(refused(&|s| s.envs.truncate(3)).contains("3 environments, expected 4"));
    assert!(refused(&|s| s.env_states.tiles[0] = 30).contains("is not a position"));
    let full = [1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 1];
    let over = |s: &mut ReplaySnapshot| s.env_states.tiles[..16].copy_from_slice(&full);
    assert!(refused(&over).contains("is not a position"));
    assert!(refused(&|s| s.env_states.chance_states[0] = 4096).contains("is not a position"));
    assert!(refused(&|s| s.buffer.directions[0] = 4).contains("4 is not a direction"));
    assert!(refused(&|s| s.buffer.rewards.truncate(1)).contains("`rewards` has 1 numbers"));
    assert!(refused(&|s| s.buffer.states.tiles.truncate(17)).contains("`states` has 17"));
    let wrong = refused(&|s| s.buffer.steps[0] = 2);
    assert!(wrong.contains("2 moves with 0 of later rewards; expected 1 to 1"));
    assert!(refused(&|s| s.buffer.later_rewards[0] = f32::NAN).contains("with NaN of later"));
    assert!(refused(&|s| s.buffer.done[0] = 1).contains("is not a position"));
    assert!(refused(&|s| s.buffer.done[0] = 2).contains("is not a position"));
    assert!(refused(&|s| s.envs[0].pending = 1).contains("`pending` has 0 numbers, expected 1"));
    assert!(refused(&|s| s.envs[0].outcome.score = u64::MAX).contains("too large"));
    assert!(refused(&|s| s.iterations = u64::MAX).contains("too large"));
    let mut small = ReplayTrainer::new(
        Fast2048::new(),
        ReplayConfig {
            buffer_size: 3,
            ..config()
        },
        5,
    );
    let error = small.restore(&snapshot).unwrap_err().to_string();
    assert!(error.contains("4 transitions in the buffer, which has room for 3"));
}

/// The JSON of format 1 gives the same state.
#[test]
fn replay_state_of_format_1_is_read() {
    let text = r#"{"iterations":7,"games":[["0100000000000010",{"score":8,"moves":3,"largest":0},[]],
        ["0000000000000011.0",{"score":0,"moves":0,"largest":0},[["0100000000000010",3,0,0.5,1,"1000000000001010",false]]]],
        "oldest":1,"memory":[["0110000000000000",3,4,0.0,1,"2000000000000010.0",false]]}"#;
    let saved: Format1Replay = serde_json::from_str(text).unwrap();
    let snapshot = saved.snapshot().unwrap();
    assert_eq!((snapshot.iterations, snapshot.oldest), (7, 1));
    assert_eq!((snapshot.pending.len(), snapshot.buffer.len()), (1, 1));
    assert_eq!(snapshot.envs[1].pending, 1);
    let mut trainer = ReplayTrainer::new(
        Fast2048::new(),
        ReplayConfig {
            num_envs: 2,
            n_step: 2,
            ..config()
        },
        5,
    );
    trainer.restore(&snapshot).unwrap();
    assert_eq!(trainer.snapshot(), snapshot);
    let wrong = text.replace("2000000000000010.0", "20000000000000-0");
    let saved: Format1Replay = serde_json::from_str(&wrong).unwrap();
    assert!(matches!(saved.snapshot(), Err(SnapshotError::Position(_))));
}

/// Computed by hand: two tables of one cell without symmetry, so that V is the sum of two weights.
#[test]
fn each_tuple_may_learn_the_whole_return() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &PowersOfTwo);
    let tuples = TupleSet::parse("0 1", shape, false).unwrap();
    let options = NetworkOptions {
        initial_value: 10.0,
        ..NetworkOptions::default()
    };
    let state = |tiles: [u8; 4]| game.state(&tiles, crate::game::ChanceState::NONE).unwrap();
    let learned = |params: NTupleReplayParams| {
        let network = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS).unwrap();
        let mut agent = NTupleReplayAgent::new(&game, &network, Ties::Order, params);
        ReplayAgent::<_>::set_learning_rate(&mut agent, 0.5);
        let transition = Transition {
            state: state([1, 1, 0, 0]),
            direction: Direction::Left,
            reward: 4,
            later_rewards: 0.0,
            steps: 1,
            next: state([2, 0, 0, 1]),
            done: true,
        };
        let stats = agent.learn(&game, &[transition]);
        let plain = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS).unwrap();
        for (tuple, cell) in [(0, 1), (1, 1)] {
            let mut weight = [0.0];
            network
                .tables()
                .export(tuple, WeightPart::Weight, cell, &mut weight);
            plain
                .tables()
                .import(tuple, WeightPart::Weight, cell, &weight);
        }
        plain.refresh();
        // The expectation over spawns follows the weights.
        let board = state([1, 1, 2, 0]);
        let decision = Decision::new(&game, board).unwrap();
        let values = |network: &StateNetwork| {
            network.action_values(&game, &decision, &mut Default::default())
        };
        let (found, expected) = (values(&network), values(&plain));
        for (direction, value) in expected.legal() {
            let found = found.get(direction).unwrap();
            assert!(
                (found.total - value.total).abs() < 1e-4,
                "{found:?} {value:?}"
            );
        }
        (network.value(state([1, 1, 0, 0])), stats.loss, stats.value)
    };
    let masked = NTupleReplayParams::default();
    // The game is over: the error is 4 - 10, and each of two weights takes a quarter of it.
    assert_eq!(learned(masked), (7.0, 36.0, 10.0));
    // Not masked, 4 + 10 - 10.
    let open = NTupleReplayParams {
        mask_terminal: false,
        ..masked
    };
    assert_eq!(learned(open), (12.0, 16.0, 10.0));
    // Each tuple alone: 4 + 5 - 5, of which its weight takes half.
    let tuple = NTupleReplayParams {
        td_error: TdErrorOf::Tuple,
        ..open
    };
    assert_eq!(learned(tuple), (14.0, 16.0, 10.0));
}

/// A slide is valued by one state after it, which is drawn anew each time.
#[test]
fn slides_may_be_valued_by_one_spawn() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &PowersOfTwo);
    let tuples = TupleSet::parse("0", shape, false).unwrap();
    let network = StateNetwork::new(&tuples, &NetworkOptions::default(), &POWERS_OF_TWO_SPAWNS);
    let network = network.unwrap();
    // Only a 2 in the first cell has a value.
    network.tables().import(0, WeightPart::Weight, 1, &[100.0]);
    network.refresh();
    let params = NTupleReplayParams {
        spawn_value: SpawnValue::Sample,
        ..NTupleReplayParams::default()
    };
    let mut agent = NTupleReplayAgent::new(&game, &network, Ties::Order, params);
    let board = game
        .state(&[0, 0, 2, 0], crate::game::ChanceState::NONE)
        .unwrap();
    let decision = Decision::new(&game, board).unwrap();
    let mut rng = game_rng(1, 1);
    let mut chosen = Vec::new();
    let mut directions = std::collections::HashSet::new();
    for _ in 0..100 {
        agent.choose(&game, &[decision], &mut rng, &mut chosen);
        directions.insert(chosen[0].slide.direction() as u8);
    }
    // Up leads to a tile 4 in the first cell; right leaves it to chance whether a 2 gets there.
    assert!(directions.len() > 1, "{directions:?}");
}

/// Computed by hand: a table of one cell without symmetry, so that V is the weight of its tile.
#[test]
fn values_move_towards_reward_plus_next_value() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &PowersOfTwo);
    let tuples = TupleSet::parse("0", shape, false).unwrap();
    let options = NetworkOptions {
        initial_value: 10.0,
        ..NetworkOptions::default()
    };
    let network = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS).unwrap();
    let mut agent =
        NTupleReplayAgent::new(&game, &network, Ties::Order, NTupleReplayParams::default());
    ReplayAgent::<_>::set_learning_rate(&mut agent, 0.5);
    let state = |tiles: [u8; 4]| game.state(&tiles, crate::game::ChanceState::NONE).unwrap();
    let mut transition = Transition {
        state: state([1, 1, 0, 0]),
        direction: Direction::Left,
        reward: 4,
        later_rewards: 0.0,
        steps: 1,
        next: state([2, 0, 0, 1]),
        done: false,
    };
    // The error is 4 + 10 - 10.
    let learned = agent.learn(&game, &[transition]);
    assert_eq!((learned.loss, learned.value), (16.0, 10.0));
    assert_eq!(network.value(state([1, 0, 0, 0])), 12.0);
    assert_eq!(network.value(state([2, 0, 0, 0])), 10.0);
    // The value after the end is 0: the error is 4 - 12.
    transition.done = true;
    let learned = agent.learn(&game, &[transition]);
    assert_eq!((learned.loss, learned.value), (64.0, 12.0));
    assert_eq!(network.value(state([1, 0, 0, 0])), 8.0);
}

/// Replay on 2x2 with a full-board tuple: almost optimal play.
#[test]
fn replay_learns_a_small_board() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &PowersOfTwo);
    let tuples = TupleSet::parse("0123", shape, true).unwrap();
    let options = NetworkOptions::default();
    let network = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS).unwrap();
    let mut agent =
        NTupleReplayAgent::new(&game, &network, Ties::Order, NTupleReplayParams::default());
    ReplayAgent::<_>::set_learning_rate(&mut agent, 0.1);
    let mut trainer = ReplayTrainer::new(
        game,
        ReplayConfig {
            epsilon: 0.1,
            epsilon_iterations: 2000,
            ..ReplayConfig::default()
        },
        1,
    );
    for _ in 0..4000 {
        assert!(trainer.iterate(&mut agent, |_| ()).is_finite());
    }
    let mut policy = Greedy::new(&game, &network, Ties::Order);
    let score = |number| {
        let mut rng = game_rng(2, number);
        play(&game, &mut policy, &mut NoLearner, &mut rng).score as f64
    };
    let mean = (0..20_000).map(score).sum::<f64>() / 20_000.0;
    // The optimal expected score is 66.964; the standard error of this mean is about 0.2.
    assert!(mean > 65.5, "{mean}");
}
