//! Random moves until the buffer is filled, first choices that are illegal, and the last board.

use super::*;

/// Prefers left, legal or not, and makes the first legal slide. Counts what it is asked for.
#[derive(Default)]
struct PrefersLeft {
    choices: usize,
    batches: usize,
}

impl<G: Game> ReplayAgent<G> for PrefersLeft {
    fn choose(
        &mut self,
        _: &G,
        decisions: &[Decision<G>],
        _: &mut Rng,
        chosen: &mut Vec<Choice<G::Board>>,
    ) {
        self.choices += 1;
        chosen.clear();
        chosen.extend(decisions.iter().map(|decision| {
            let slides = decision.slides();
            let left = slides.get(Direction::Left);
            let slide = left.or_else(|| slides.legal().next());
            Choice {
                slide: slide.expect("a decision has a legal slide"),
                first: Direction::Left,
            }
        }));
    }

    fn learn(&mut self, _: &G, _: &[Transition<G::Board>]) -> BatchStats {
        self.batches += 1;
        BatchStats::default()
    }
}

/// Four moves an iteration: 48 transitions after twelve iterations, 50 of 52 after thirteen.
#[test]
fn moves_are_random_and_nothing_is_learned_until_the_buffer_is_filled() {
    let config = ReplayConfig {
        learning_starts: 50,
        ..config()
    };
    let mut trainer = ReplayTrainer::new(Fast2048::new(), config, 5);
    let mut agent = PrefersLeft::default();
    for iteration in 1..=20_usize {
        let stats = trainer.iterate(&mut agent, |_| ());
        let learns = iteration >= 13;
        assert_eq!(stats.updates, if learns { 3 } else { 0 }, "{iteration}");
        assert_eq!(agent.choices, iteration.saturating_sub(13), "{iteration}");
    }
    assert_eq!(agent.batches, 3 * 8);
    let directions = trainer.buffer.items().iter().map(|t| t.direction as u8);
    let all: std::collections::HashSet<u8> = directions.collect();
    assert_eq!(all.len(), 4, "the first moves are random");
}

/// 2 0 / 2 0: left is illegal, and up earns 4 points and leads to 4 0 / 0 0 and a new tile. Slide
/// and reward of the first choice may be stored, both or one of them, with the state that followed.
#[test]
fn an_illegal_first_choice_and_its_reward_may_be_stored() {
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    let stored = |stored_action, stored_reward| {
        let config = ReplayConfig {
            num_envs: 1,
            stored_action,
            stored_reward,
            ..config()
        };
        let start = ReplaySnapshot {
            envs: vec![EnvSnapshot::default()],
            env_states: PositionArrays {
                tiles: vec![1, 0, 1, 0],
                chance_states: vec![0],
            },
            ..ReplaySnapshot::default()
        };
        let mut trainer = ReplayTrainer::new(game, config, 5);
        trainer.restore(&start).unwrap();
        trainer.iterate(&mut PrefersLeft::default(), |_| ());
        trainer
    };
    use StoredAction::{Chosen, Made};
    for (stored_action, stored_reward, direction, reward) in [
        (Made, StoredReward::Made, Direction::Up, 4),
        (Chosen, StoredReward::Made, Direction::Left, 4),
        (Made, StoredReward::Chosen, Direction::Up, 0),
        (Chosen, StoredReward::Chosen, Direction::Left, 0),
    ] {
        let trainer = stored(stored_action, stored_reward);
        let [transition] = trainer.buffer.items() else {
            panic!("one transition");
        };
        assert_eq!(transition.direction, direction);
        assert_eq!((transition.reward, transition.done), (reward, false));
        assert_eq!(transition.next.cell(0), 2);
        // A checkpoint with it is read again, but only by a run that stores first choices.
        let snapshot = trainer.snapshot();
        let mut other = stored(stored_action, stored_reward);
        other.restore(&snapshot).unwrap();
        assert_eq!(other.snapshot(), snapshot);
        let strict = stored(Made, StoredReward::Made).restore(&snapshot);
        let both_made = stored_action == Made && stored_reward == StoredReward::Made;
        assert_eq!(strict.is_ok(), both_made);
    }
}

#[test]
fn the_last_board_is_that_of_the_game_that_ended_last() {
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    let mut trainer = ReplayTrainer::new(game, config(), 5);
    let last = |trainer: &ReplayTrainer<Grid>| trainer.last_state().unwrap();
    assert_eq!(last(&trainer), trainer.envs[0].episode.state());
    let mut ended = false;
    while !ended {
        trainer.iterate(&mut Witness { learned: vec![] }, |_| ended = true);
    }
    assert!(!game.slides(last(&trainer)).any());
}
