//! 2x2, whose exact solution is known; the expected score of a policy is also computed exactly.

use super::*;

type Values = std::collections::HashMap<State<GridBoard>, f64>;

/// The exact expected score of an agent from a state on.
fn expected(agent: &DqnAgent, game: &Grid, state: State<GridBoard>, known: &mut Values) -> f64 {
    if let Some(&value) = known.get(&state) {
        return value;
    }
    let mut value = 0.0;
    if let Some(decision) = Decision::new(game, state) {
        let slide = agent.acting().choose(game, &[decision])[0];
        value += f64::from(slide.reward());
        let mut nexts = Vec::new();
        game.for_each_spawn(slide.after(), |next, _, p| nexts.push((next, p)));
        for (next, p) in nexts {
            value += p * expected(agent, game, next, known);
        }
    }
    known.insert(state, value);
    value
}

/// Both the optimum and the agent's expected score are exact, so these tests have no random error.
#[test]
fn a_small_board_is_learned_to_its_optimum_by_actions() {
    learn_a_small_board(ACTION, false, 0.97);
}

#[test]
fn a_small_board_is_learned_to_its_optimum_by_actions_whose_rewards_are_known() {
    learn_a_small_board(ACTION, true, 0.97);
}

#[test]
fn a_small_board_is_learned_to_its_optimum_by_afterstates() {
    learn_a_small_board(OutputKind::Afterstates, false, 0.99);
}

/// Reaches at least this share of the optimal score.
fn learn_a_small_board(kind: OutputKind, known_rewards: bool, share: f64) {
    const BEST: f64 = 66.964_149_457_10;
    let game = game();
    let (outputs, filters, iterations) = match kind {
        OutputKind::Afterstates => (1, 32, 4000),
        OutputKind::Actions(_) => (4, 16, 3000),
    };
    let architecture = Architecture {
        outputs,
        filters,
        hidden: vec![32],
        ..small()
    };
    let settings = Settings {
        output: OutputSpec {
            kind,
            known_rewards,
            scale: 16.0,
        },
        discount: 1.0,
        target_update: soft(0.02, ActingNetwork::Target),
        double: true,
        ..Settings::default()
    };
    let mut agent = DqnAgent::new(&architecture, settings, 1, 1).unwrap();
    let config = ReplayConfig {
        num_envs: 32,
        buffer_size: 20_000,
        updates_per_step: 2,
        batch_size: 64,
        epsilon: 0.5,
        epsilon_iterations: iterations,
        ..ReplayConfig::default()
    };
    let mut trainer = ReplayTrainer::new(game, config, 1);
    let score = |agent: &DqnAgent| {
        let (mut known, mut score) = (Values::new(), 0.0);
        game.for_each_start(|state, p| score += p * expected(agent, &game, state, &mut known));
        score
    };
    let before = score(&agent);
    for iteration in 0..iterations {
        // Smaller learning rate at the end.
        agent.train_state.adam.learning_rate =
            2e-3 * 0.01_f32.powf(iteration as f32 / iterations as f32);
        assert!(trainer.iterate(&mut agent, |_| ()).is_finite());
    }
    let after = score(&agent);
    assert!(before < 0.8 * BEST, "{before}");
    assert!(after > share * BEST && after < BEST + 1e-9, "{after}");
}
