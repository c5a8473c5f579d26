mod documented;
mod first_choice;
mod small_board;

use super::*;
use crate::value::boards;
use afterstate::game::{ChanceState, Grid, GridBoard, PowersOfTwo, Shape, Slide, Threes};
use afterstate::replay::{ReplayConfig, ReplayTrainer};

fn small() -> Architecture {
    Architecture {
        board: (2, 2),
        tiles: 8,
        convolutions: vec![(2, 1), (1, 2)],
        filters: 32,
        hidden: vec![32],
        hidden_relu: true,
        outputs: 4,
    }
}

fn game() -> Grid {
    Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo)
}

/// A discount of 0.5 and a scale of 2.
fn halves(kind: OutputKind) -> Settings {
    Settings {
        output: OutputSpec {
            kind,
            known_rewards: false,
            scale: 2.0,
        },
        discount: 0.5,
        ..Settings::default()
    }
}

fn state(tiles: [u8; 4]) -> State<GridBoard> {
    game().state(&tiles, ChanceState::NONE).unwrap()
}

/// A slide to the left that earns 4 points and leads to this state; the game continues.
fn slide_to(next: [u8; 4]) -> Transition<GridBoard> {
    Transition {
        state: state([1, 1, 0, 0]),
        direction: Direction::Left,
        reward: 4,
        later_rewards: 0.0,
        steps: 1,
        next: state(next),
        done: false,
    }
}

fn action_values(
    network: &DeepValueFunction,
    game: &Grid,
    state: State<GridBoard>,
) -> ActionValues {
    network.values(game, &[Decision::new(game, state).unwrap()])[0]
}

/// A copy every third iteration.
const COPY: TargetUpdate = TargetUpdate::Copy {
    target_update_iterations: 3,
};

fn soft(tau: f64, acting_network: ActingNetwork) -> TargetUpdate {
    TargetUpdate::Soft {
        tau,
        acting_network,
    }
}

const ACTION: OutputKind = OutputKind::Actions(Illegal::Value);

/// Targets computed by hand from the outputs of the networks.
#[test]
fn targets_follow_the_settings() {
    let game = game();
    // Only up and right are legal.
    let transition = slide_to([0, 0, 1, 0]);
    let over = Transition {
        done: true,
        ..transition
    };
    for (mask, double) in [(true, false), (false, false), (true, true), (false, true)] {
        let settings = Settings {
            mask,
            double,
            ..halves(ACTION)
        };
        let mut agent = DqnAgent::new(&small(), settings, 3, 1).unwrap();
        let other =
            Parameters::random(&small(), InitialWeights::Torch, &mut game_rng(9, 9)).unwrap();
        agent.target.network.load(&other);
        let online = agent
            .online
            .network
            .outputs(&boards(&game, [transition.next.0].into_iter()));
        let later = agent
            .target
            .network
            .outputs(&boards(&game, [transition.next.0].into_iter()));
        let judged = if double { &online } else { &later };
        // Left and down are illegal.
        let counts: &[usize] = if mask { &[1, 2] } else { &[0, 1, 2, 3] };
        let best = counts
            .iter()
            .copied()
            .reduce(|a, b| if judged[b] > judged[a] { b } else { a });
        let expected = 2.0 + 0.5 * later[best.unwrap()];
        let found = agent.targets(&game, &[&transition, &over]);
        assert!((found[0] - expected).abs() < 1e-6, "{mask} {double}");
        assert_eq!(found[1], 2.0);
    }
}

/// The same with n-step transitions, and with values of afterstates.
#[test]
fn targets_of_n_step_transitions_and_of_afterstates() {
    let game = game();
    let transition = Transition {
        // 8 one move later and 16 two moves later.
        later_rewards: 8.0,
        steps: 3,
        ..slide_to([2, 0, 0, 1])
    };
    let over = Transition {
        done: true,
        ..transition
    };
    let agent = DqnAgent::new(&small(), halves(ACTION), 3, 1).unwrap();
    let best = agent.rest_by_actions(&game, &[transition.next])[0];
    let found = agent.targets(&game, &[&transition, &over]);
    assert!((found[0] - (12.0 / 2.0 + 0.125 * best)).abs() < 1e-6);
    assert_eq!(found[1], 6.0);

    let architecture = Architecture {
        outputs: 1,
        ..small()
    };
    let agent = DqnAgent::new(&architecture, halves(OutputKind::Afterstates), 3, 1).unwrap();
    let slides = game.slides(transition.next);
    let value = |slide: Slide<GridBoard>| {
        let board = boards(&game, [slide.after().0].into_iter());
        slide.reward() as f32 / 2.0 + agent.target.network.outputs(&board)[0]
    };
    let best = slides.legal().map(value).reduce(f32::max).unwrap();
    let found = agent.targets(&game, &[&transition, &over]);
    assert!((found[0] - (8.0 / 2.0 + 0.125 * best)).abs() < 1e-5);
    assert_eq!(found[1], 4.0);
    // And the afterstate is what learns.
    let batch = [transition];
    let asked = agent.inputs(&game, &batch, &mut game_rng(1, 1));
    assert_eq!((asked.boards, asked.chosen), (vec![2, 0, 0, 0], vec![0]));
}

/// A reward that the rules know is not part of Q: it is subtracted from the target, and added where
/// slides are compared.
#[test]
fn known_rewards_are_added_by_the_rules() {
    let game = game();
    let mut settings = halves(ACTION);
    let learned = DqnAgent::new(&small(), settings.clone(), 3, 1).unwrap();
    settings.output.known_rewards = true;
    let known = DqnAgent::new(&small(), settings, 3, 1).unwrap();
    // 2 2 / 0 4: left and right merge for 4 points, up and down only slide.
    let next = state([1, 1, 0, 2]);
    let slides = game.slides(next);
    let q = learned.target.actions(&game, [(next, &slides)].into_iter());
    let best = ACTIONS.iter().zip(&q).filter_map(|(&action, value)| {
        let slide = slides.get(action)?;
        Some(value + slide.reward() as f32 / 2.0)
    });
    let best = best.reduce(f32::max).unwrap();
    let transition = Transition {
        later_rewards: 8.0,
        steps: 3,
        ..slide_to([1, 1, 0, 2])
    };
    // The slide's own reward of 4 is excluded; 8 came later.
    let found = known.targets(&game, &[&transition])[0];
    assert!((found - (8.0 / 2.0 + 0.125 * best)).abs() < 1e-6);
    let values = |agent: &DqnAgent| action_values(agent.acting(), &game, next);
    let (without, with) = (values(&learned), values(&known));
    for slide in slides.legal() {
        let total = |values: &ActionValues| values.get(slide.direction()).unwrap().total;
        let added = total(&with) - total(&without);
        assert!((added - slide.reward() as f32).abs() < 1e-4);
    }
    assert!(slides.legal().any(|slide| slide.reward() == 4));
}

/// Transforming a board and sliding it equals sliding it and transforming the result.
#[test]
fn symmetries_transform_boards_and_slides_alike() {
    for (shape, count) in [((2, 3), 4), ((3, 2), 4), ((4, 4), 8), ((2, 2), 8)] {
        let shape = Shape::new(shape.0, shape.1).unwrap();
        let game = Grid::new(shape, &PowersOfTwo);
        let symmetries = symmetries((shape.rows(), shape.cols()), true);
        assert_eq!(symmetries.len(), count);
        let mut rng = game_rng(1, 1);
        for _ in 0..50 {
            let tiles: Vec<u8> = (0..shape.cells()).map(|_| rng.below(4) as u8).collect();
            let slides = |tiles: &[u8]| {
                let state = game.state(tiles, ChanceState::NONE).unwrap();
                let slides = game.slides(state);
                ACTIONS.map(|action| {
                    slides.get(action).map(|slide| {
                        let cells = (0..shape.cells()).map(|cell| slide.after().cell(cell));
                        (cells.collect::<Vec<u8>>(), slide.reward())
                    })
                })
            };
            let transform = |symmetry: &Symmetry, tiles: &[u8]| -> Vec<u8> {
                symmetry.cells.iter().map(|&cell| tiles[cell]).collect()
            };
            for symmetry in &symmetries {
                let transformed = slides(&transform(symmetry, &tiles));
                for (action, slid) in ACTIONS.iter().zip(slides(&tiles)) {
                    let expected =
                        slid.map(|(after, reward)| (transform(symmetry, &after), reward));
                    assert_eq!(transformed[symmetry.slide(*action)], expected);
                }
            }
        }
    }
}

/// In Threes! a spawn has a reward, which belongs to the value of the afterstate.
#[test]
fn the_spawn_reward_belongs_to_the_afterstate() {
    let game = Grid::new(Shape::new(2, 3).unwrap(), &Threes::Course);
    let state = game.start(&mut game_rng(4, 4));
    let slide = game.slides(state).legal().next().unwrap();
    let transition = Transition {
        state,
        direction: slide.direction(),
        reward: slide.reward() + 3,
        later_rewards: 0.0,
        steps: 1,
        next: state,
        done: true,
    };
    let architecture = Architecture {
        board: (2, 3),
        tiles: 16,
        outputs: 1,
        ..small()
    };
    let agent = DqnAgent::new(&architecture, halves(OutputKind::Afterstates), 3, 1).unwrap();
    assert_eq!(agent.targets(&game, &[&transition]), [1.5]);
}

/// With three outputs, down has none: a state where only down is legal still has a value.
#[test]
fn a_forced_slide_without_an_output_does_not_end_the_game() {
    let game = game();
    // A full row that can only slide down.
    let transition = slide_to([1, 2, 0, 0]);
    let slides = game.slides(transition.next);
    let legal: Vec<Direction> = slides.legal().map(|slide| slide.direction()).collect();
    assert_eq!(legal, [Direction::Down]);
    let architecture = Architecture {
        outputs: 3,
        ..small()
    };
    let agent = DqnAgent::new(&architecture, halves(ACTION), 3, 1).unwrap();
    let values = agent
        .target
        .network
        .outputs(&boards(&game, [transition.next.0].into_iter()));
    let best = values.into_iter().reduce(f32::max).unwrap();
    let found = agent.targets(&game, &[&transition])[0];
    assert!((found - (2.0 + 0.5 * best)).abs() < 1e-6);
    let forced = Transition {
        direction: Direction::Down,
        ..transition
    };
    let batch = [forced];
    let asked = agent.inputs(&game, &batch, &mut game_rng(1, 1));
    assert!(asked.batch.is_empty());
}

#[test]
fn the_target_network_follows() {
    let game = game();
    let config = ReplayConfig {
        num_envs: 4,
        buffer_size: 100,
        updates_per_step: 1,
        batch_size: 4,
        ..ReplayConfig::default()
    };
    for target_update in [COPY, soft(0.5, ActingNetwork::Online)] {
        let settings = Settings {
            target_update,
            ..Settings::default()
        };
        let mut agent = DqnAgent::new(&small(), settings, 1, 1).unwrap();
        let mut trainer = ReplayTrainer::new(game, config, 1);
        let mut before = Vec::new();
        for iteration in 0..7 {
            before.push(agent.train_state.online.clone());
            let followed = agent.train_state.target.clone();
            trainer.iterate(&mut agent, |_| ());
            assert_ne!(agent.train_state.online, before[iteration]);
            match target_update {
                TargetUpdate::Copy { .. } => {
                    assert_eq!(agent.train_state.target, before[iteration / 3 * 3])
                }
                TargetUpdate::Soft { .. } => {
                    let mut expected = followed;
                    expected.approach(&agent.train_state.online, 0.5);
                    assert_eq!(agent.train_state.target, expected);
                }
            }
        }
    }
}

/// The acting network then differs from the learning one.
#[test]
fn the_target_network_may_act() {
    let game = game();
    let state = state([1, 0, 0, 0]);
    let other = Parameters::random(&small(), InitialWeights::Torch, &mut game_rng(9, 9)).unwrap();
    let values = |acting_network| {
        let settings = Settings {
            target_update: soft(0.01, acting_network),
            ..Settings::default()
        };
        let mut agent = DqnAgent::new(&small(), settings, 3, 1).unwrap();
        let same = action_values(agent.acting(), &game, state);
        agent.restore(TrainState {
            target: other.clone(),
            ..agent.train_state().clone()
        });
        [same, action_values(agent.acting(), &game, state)]
    };
    let [before, after] = values(ActingNetwork::Online);
    assert_eq!(before, after);
    let [begun, followed] = values(ActingNetwork::Target);
    assert_eq!(begun, before);
    assert_ne!(followed, before);
    let output = Settings::default().output;
    let expected = DeepValueFunction::new(&small(), &other, output, 1).unwrap();
    assert_eq!(followed, action_values(&expected, &game, state));
}

/// Dropout zeroes a share of the activations and scales the others, so that the mean is unchanged.
#[test]
fn dropout_zeroes_its_share_before_each_layer() {
    let architecture = Architecture {
        hidden: vec![20, 10],
        ..small()
    };
    let masks = |rates: [f32; 3]| {
        let rates = rates.into_iter().enumerate();
        let settings = Settings {
            dropout: rates
                .map(|(layer, rate)| DropoutRate { layer, rate })
                .collect(),
            ..Settings::default()
        };
        let agent = DqnAgent::new(&architecture, settings, 1, 1).unwrap();
        agent.dropout(500, &mut game_rng(1, 1))
    };
    assert_eq!(masks([0.0; 3]), []);
    let all = masks([0.5, 0.2, 0.75]);
    let expected = [(0, 32, 0.5, 2.0), (1, 20, 0.2, 1.25), (2, 10, 0.75, 4.0)];
    assert_eq!(all.len(), 3);
    for (Dropout { layer, factors }, (at, width, rate, kept)) in all.iter().zip(expected) {
        assert_eq!((*layer, factors.len()), (at, 500 * width));
        assert!(
            factors
                .iter()
                .all(|&factor| factor == 0.0 || factor == kept)
        );
        let left_out = factors.iter().filter(|&&factor| factor == 0.0).count();
        let share = left_out as f64 / factors.len() as f64;
        assert!((share - rate).abs() < 0.02, "{share}");
    }
    // A layer alone has the same mask as the first of three.
    assert_eq!(masks([0.5, 0.0, 0.0]), all[..1]);
    assert_eq!(
        masks([0.0, 0.5, 0.0])[0].factors,
        all[0].factors[..500 * 20]
    );
}

/// A diverged network shows as NaN in the loss.
#[test]
fn nan_shows_in_the_loss() {
    let mut agent = DqnAgent::new(&small(), Settings::default(), 1, 1).unwrap();
    agent.train_state.online.0[0].values.fill(f32::NAN);
    agent.online.network.load(&agent.train_state.online);
    let config = ReplayConfig {
        num_envs: 8,
        buffer_size: 100,
        updates_per_step: 1,
        batch_size: 8,
        ..ReplayConfig::default()
    };
    let mut trainer = ReplayTrainer::new(game(), config, 1);
    assert!(!trainer.iterate(&mut agent, |_| ()).is_finite());
}

/// Results are frozen. All moves are random, so that rounding, which differs between processors,
/// changes no game.
#[test]
fn results_are_frozen() {
    let cases = [
        (ACTION, false, 4, (12.855_643, -0.003_058)),
        (ACTION, true, 4, (3.321_261, -0.004_388)),
        (OutputKind::Afterstates, false, 1, (2.876_112, 0.157_096)),
    ];
    for (kind, known_rewards, outputs, expected) in cases {
        let architecture = Architecture { outputs, ..small() };
        let settings = Settings {
            dropout: vec![DropoutRate {
                layer: 1,
                rate: 0.1,
            }],
            augment: true,
            double: true,
            target_update: COPY,
            output: OutputSpec {
                kind,
                known_rewards,
                scale: 2.0,
            },
            ..halves(kind)
        };
        let mut agent = DqnAgent::new(&architecture, settings, 7, 1).unwrap();
        let config = ReplayConfig {
            num_envs: 8,
            buffer_size: 50,
            updates_per_step: 2,
            batch_size: 16,
            n_step: 3,
            discount: 0.5,
            epsilon: 1.0,
            ..ReplayConfig::default()
        };
        let mut trainer = ReplayTrainer::new(game(), config, 7);
        let mut stats = afterstate::replay::TrainingStats::default();
        for _ in 0..50 {
            stats.merge(&trainer.iterate(&mut agent, |_| ()));
        }
        let found = (stats.mean_loss(), stats.mean_value());
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * b.abs().max(1.0);
        assert!(
            near(found.0, expected.0) && near(found.1, expected.1),
            "{kind:?}, {known_rewards}: {found:?}"
        );
    }
}
