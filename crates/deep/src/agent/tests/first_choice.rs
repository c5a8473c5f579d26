//! What is made and what is stored where the slide of the largest value is illegal.

use super::*;
use afterstate::replay::{EnvSnapshot, PositionArrays, ReplaySnapshot, StoredAction, StoredReward};

/// An agent whose outputs are these numbers on every board.
fn constant(outputs: &[f32], illegal: Illegal) -> DqnAgent {
    let architecture = Architecture {
        outputs: outputs.len(),
        ..small()
    };
    let settings = halves(OutputKind::Actions(illegal));
    let mut agent = DqnAgent::new(&architecture, settings, 3, 1).unwrap();
    let mut state = agent.train_state().clone();
    state
        .online
        .0
        .iter_mut()
        .for_each(|one| one.values.fill(0.0));
    let bias = state.online.0.last_mut().unwrap();
    bias.values.copy_from_slice(outputs);
    state.target = state.online.clone();
    agent.restore(state);
    agent
}

/// 2 0 / 2 0: left is illegal, and up, right and down are legal.
const BOARD: [u8; 4] = [1, 0, 1, 0];

#[test]
fn the_setting_decides_what_is_made() {
    use Direction::{Down, Left, Right, Up};
    let made = |outputs: &[f32], illegal, board| {
        let decision = Decision::new(&game(), state(board)).unwrap();
        let choice = constant(outputs, illegal)
            .acting()
            .choices(&game(), &[decision])[0];
        (choice.first, choice.slide.direction())
    };
    let values = [4.0, 1.0, 2.0, 3.0];
    assert_eq!(made(&values, Illegal::Value, BOARD), (Left, Down));
    assert_eq!(made(&values, Illegal::Number, BOARD), (Left, Up));
    // Three outputs, right is the best: 0 2 / 0 2 moves left, up or down.
    let (three, board) = ([1.0, 2.0, 4.0], [0, 1, 0, 1]);
    assert_eq!(made(&three, Illegal::Value, board), (Right, Up));
    assert_eq!(made(&three, Illegal::Number, board), (Right, Down));
    assert_eq!(made(&three, Illegal::Output, board), (Right, Left));
    // Of equal values, the legal one is the first choice.
    assert_eq!(
        made(&[4.0, 1.0, 4.0, 3.0], Illegal::Value, BOARD),
        (Right, Right)
    );
    // A legal slide is never a first choice that is not made, whatever the outputs are.
    let not_numbers = [1.0, f32::NAN, 1.0, f32::NAN];
    let (first, slide) = made(&not_numbers, Illegal::Number, [1, 1, 1, 0]);
    assert_eq!(first, slide, "every slide is legal there");
    let close = [1.0, 4.0, f32::from_bits(4.0_f32.to_bits() + 1), 3.0];
    let (first, slide) = made(&close, Illegal::Value, BOARD);
    assert_eq!(first, slide, "up and right are legal");
}

/// Left is the best and illegal, so that down is made: 4 points, and the tile 4 in the third cell.
#[test]
fn the_buffer_may_store_the_illegal_first_choice() {
    for (stored_action, stored_reward, direction, reward) in [
        (StoredAction::Made, StoredReward::Made, Direction::Down, 4),
        (StoredAction::Made, StoredReward::Chosen, Direction::Down, 0),
        (StoredAction::Chosen, StoredReward::Made, Direction::Left, 4),
        (
            StoredAction::Chosen,
            StoredReward::Chosen,
            Direction::Left,
            0,
        ),
    ] {
        let config = ReplayConfig {
            num_envs: 1,
            stored_action,
            stored_reward,
            ..ReplayConfig::default()
        };
        let mut trainer = ReplayTrainer::new(game(), config, 1);
        let start = ReplaySnapshot {
            envs: vec![EnvSnapshot::default()],
            env_states: PositionArrays {
                tiles: BOARD.to_vec(),
                chance_states: vec![0],
            },
            ..ReplaySnapshot::default()
        };
        trainer.restore(&start).unwrap();
        let mut agent = constant(&[4.0, 1.0, 2.0, 3.0], Illegal::Value);
        trainer.iterate(&mut agent, |_| ());
        let buffer = trainer.snapshot().buffer;
        assert_eq!(buffer.states.tiles, BOARD);
        assert_eq!(buffer.directions, [direction as u8]);
        assert_eq!((&*buffer.rewards, &*buffer.done), (&[reward][..], &[0][..]));
        assert_eq!(buffer.next_states.tiles[2], 2);
    }
}

/// The illegal slide learns as if it had earned the points, 4 / 2 + 0.5 * 2, or its own reward of 0.
#[test]
fn an_illegal_slide_learns_what_another_one_led_to() {
    for (known_rewards, reward, expected) in [(false, 4, 3.0), (true, 4, 3.0), (false, 0, 1.0)] {
        let mut agent = constant(&[4.0, 1.0, 2.0, 3.0], Illegal::Value);
        agent.settings = halves(ACTION);
        agent.settings.output.known_rewards = known_rewards;
        let transition = Transition {
            state: state(BOARD),
            direction: Direction::Left,
            reward,
            ..slide_to([1, 0, 2, 0])
        };
        // The rules know no reward of an illegal slide, so that nothing is subtracted. In the next
        // state only right is legal, which is worth 2.
        let found = agent.targets(&game(), &[&transition]);
        assert_eq!(found, [expected], "{known_rewards}");
        let batch = [transition];
        let asked = agent.inputs(&game(), &batch, &mut game_rng(1, 1));
        assert_eq!((asked.boards, asked.chosen), (BOARD.to_vec(), vec![0]));
    }
}
