use super::*;
use afterstate::game::{Grid, Luck, Shape, Twos};
use afterstate::replay::{Curriculum, Overwrite, School};

fn small() -> Architecture {
    Architecture {
        board: (2, 2),
        tiles: 8,
        convolutions: vec![(2, 1), (1, 2)],
        filters: 32,
        hidden: vec![32],
        outputs: 4,
    }
}

fn game() -> Grid {
    Grid::new(Shape::new(2, 2).unwrap(), &Twos)
}

#[test]
fn an_illegal_best_slide_gives_way() {
    use Direction::{Down, Left, Right, Up};
    let pick = |fallback, outputs: usize, values: &[f32], legal: &[Direction]| {
        let architecture = Architecture { outputs, ..small() };
        let settings = Settings {
            fallback,
            ..Settings::default()
        };
        let dqn = Dqn::new(&architecture, settings, 1).unwrap();
        dqn.pick(values, |direction| legal.contains(&direction))
    };
    // Left, up, right, down.
    let values = [0.1, 0.4, 0.2, 0.3];
    for fallback in [Fallback::Value, Fallback::Number] {
        assert_eq!(pick(fallback, 4, &values, &[Left, Up]), Some(Up));
    }
    assert_eq!(
        pick(Fallback::Value, 4, &values, &[Left, Right, Down]),
        Some(Down)
    );
    assert_eq!(
        pick(Fallback::Number, 4, &values, &[Left, Right, Down]),
        Some(Right)
    );
    assert_eq!(pick(Fallback::Number, 4, &values, &[Left]), Some(Left));
    // Of three outputs, down is only for when there is nothing else.
    assert_eq!(
        pick(Fallback::Value, 3, &values[..3], &[Left, Down]),
        Some(Left)
    );
    assert_eq!(pick(Fallback::Value, 3, &values[..3], &[Down]), Some(Down));
    assert_eq!(pick(Fallback::Value, 3, &values[..3], &[]), None);
}

/// Targets by hand, from what the networks say.
#[test]
fn targets_are_those_of_the_settings() {
    let game = game();
    let state = |tiles: [u8; 4]| game.state(&tiles, Luck::NONE).unwrap();
    let transition = Transition {
        state: state([1, 1, 0, 0]),
        direction: Direction::Left,
        reward: 4,
        // Only up and right change it.
        next: state([0, 0, 1, 0]),
        over: false,
    };
    let over = Transition {
        over: true,
        ..transition
    };
    for (mask, double) in [(true, false), (false, false), (true, true), (false, true)] {
        let settings = Settings {
            mask,
            double,
            discount: 0.5,
            reward_scale: 2.0,
            ..Settings::default()
        };
        let mut dqn = Dqn::new(&small(), settings, 3).unwrap();
        let other = Parameters::random(&small(), &mut game_rng(9, 9)).unwrap();
        dqn.target.load(&other);
        let online = dqn.values(&dqn.network, [transition.next].into_iter());
        let later = dqn.values(&dqn.target, [transition.next].into_iter());
        let judged = if double { &online } else { &later };
        // Left and down change nothing.
        let counts: &[usize] = if mask { &[1, 2] } else { &[0, 1, 2, 3] };
        let best = counts
            .iter()
            .copied()
            .reduce(|a, b| if judged[b] > judged[a] { b } else { a });
        let expected = 2.0 + 0.5 * later[best.unwrap()];
        let found = dqn.targets(&game, &[&transition, &over]);
        assert!((found[0] - expected).abs() < 1e-6, "{mask} {double}");
        assert_eq!(found[1], 2.0);
    }
}

#[test]
fn the_target_network_follows() {
    let game = game();
    let curriculum = Curriculum {
        games: 4,
        memory: 100,
        overwrite: Overwrite::Oldest,
        batches: 1,
        batch: 4,
        epsilon: 0.0,
        epsilon_iterations: 0,
    };
    for target in [Target::Copy(3), Target::Soft(0.5)] {
        let settings = Settings {
            target,
            ..Settings::default()
        };
        let mut dqn = Dqn::new(&small(), settings, 1).unwrap();
        let mut school = School::new(game, curriculum, 1);
        let mut before = Vec::new();
        for iteration in 0..7 {
            before.push(dqn.parameters.clone());
            let followed = dqn.follower.clone();
            school.iterate(&mut dqn, |_| ());
            assert_ne!(dqn.parameters, before[iteration]);
            match target {
                Target::Copy(_) => assert_eq!(dqn.follower, before[iteration / 3 * 3]),
                Target::Soft(share) => {
                    let mut expected = followed;
                    expected.approach(&dqn.parameters, share);
                    assert_eq!(dqn.follower, expected);
                }
            }
        }
    }
}

type Values = std::collections::HashMap<<Grid as Game>::State, f64>;

/// The expected score of a player from a state on, exactly.
fn expected(dqn: &Dqn, game: &Grid, state: <Grid as Game>::State, known: &mut Values) -> f64 {
    if let Some(&value) = known.get(&state) {
        return value;
    }
    let slides = game.slides(state);
    let values = dqn.values(&dqn.network, [state].into_iter());
    let picked = dqn.pick(&values, |direction| slides.get(direction).is_some());
    let slide = picked.and_then(|direction| slides.get(direction));
    let mut value = 0.0;
    if let Some((after, reward)) = slide {
        value += f64::from(reward);
        let mut nexts = Vec::new();
        game.for_each_spawn(after, |next, _, p| nexts.push((next, p)));
        for (next, p) in nexts {
            value += p * expected(dqn, game, next, known);
        }
    }
    known.insert(state, value);
    value
}

/// 2x2 has an exact solution, and the player's own expectation is exact, too: no luck in this test.
#[test]
fn a_small_board_is_learned_to_its_optimum() {
    const BEST: f64 = 66.964_149_457_10;
    let game = game();
    let settings = Settings {
        discount: 1.0,
        reward_scale: 16.0,
        target: Target::Soft(0.02),
        double: true,
        ..Settings::default()
    };
    let mut dqn = Dqn::new(&small(), settings, 1).unwrap();
    let curriculum = Curriculum {
        games: 32,
        memory: 20_000,
        overwrite: Overwrite::Oldest,
        batches: 2,
        batch: 64,
        epsilon: 0.5,
        epsilon_iterations: 6000,
    };
    let mut school = School::new(game, curriculum, 1);
    let score = |dqn: &Dqn| {
        let (mut known, mut score) = (Values::new(), 0.0);
        game.for_each_start(|state, p| score += p * expected(dqn, &game, state, &mut known));
        score
    };
    let before = score(&dqn);
    for iteration in 0..6000 {
        // Smaller steps at the end.
        dqn.adam.rate = 2e-3 * 0.01_f32.powf(iteration as f32 / 6000.0);
        assert!(school.iterate(&mut dqn, |_| ()).is_finite());
    }
    let after = score(&dqn);
    assert!(before < 0.8 * BEST, "{before}");
    assert!(after > 0.99 * BEST && after < BEST + 1e-9, "{after}");
}

/// A network that has become NaN says so in its loss.
#[test]
fn nan_is_seen() {
    let mut dqn = Dqn::new(&small(), Settings::default(), 1).unwrap();
    dqn.parameters.0[0].values.fill(f32::NAN);
    assert!(!dqn.parameters.are_finite());
    dqn.network.load(&dqn.parameters);
    let curriculum = Curriculum {
        games: 8,
        memory: 100,
        overwrite: Overwrite::Oldest,
        batches: 1,
        batch: 8,
        epsilon: 0.0,
        epsilon_iterations: 0,
    };
    let mut school = School::new(game(), curriculum, 1);
    assert!(!school.iterate(&mut dqn, |_| ()).is_finite());
}
