//! The worked target of docs/how-it-works/dqn.md, computed by the agent from the numbers of its
//! table.

use super::*;

const PAGE: &str = include_str!("../../../../../docs/how-it-works/dqn.md");

/// The row of the table that begins with these words.
fn row(name: &str) -> &'static str {
    let table = PAGE.split("<!-- numbers: dqn-target -->").nth(1).unwrap();
    let table = table.split("<!-- end -->").next().unwrap();
    let rows = table.lines().filter_map(|line| line.split_once(" | "));
    let mut rows = rows.map(|(first, rest)| (first.trim_start_matches("| "), rest));
    let found = rows.find(|(first, _)| *first == name);
    found
        .unwrap_or_else(|| panic!("no row {name}"))
        .1
        .trim_end_matches(" |")
}

fn number(text: &str) -> f32 {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is not a number"))
}

/// The outputs of a row in the order of the network: left, up, right, down.
fn outputs(name: &str) -> Vec<f32> {
    let words: Vec<&str> = row(name).split([' ', ',']).collect();
    let of = |slide: &str| {
        let at = words.iter().position(|word| *word == slide).unwrap();
        number(words[at + 1])
    };
    ["left", "up", "right", "down"].map(of).to_vec()
}

/// An agent whose networks have these outputs on every board.
fn agent(settings: Settings) -> DqnAgent {
    let architecture = Architecture {
        board: (4, 4),
        tiles: 16,
        ..small()
    };
    let mut agent = DqnAgent::new(&architecture, settings, 1, 1).unwrap();
    let mut state = agent.train_state().clone();
    for (network, row) in [
        (&mut state.online, "Q(s', a') of the online network"),
        (&mut state.target, "Q'(s', a') of the target network"),
    ] {
        network.0.iter_mut().for_each(|one| one.values.fill(0.0));
        let bias = network.0.last_mut().unwrap();
        bias.values.copy_from_slice(&outputs(row));
    }
    agent.restore(state);
    agent
}

#[test]
fn the_targets_of_the_page_are_those_of_the_agent() {
    let game = Grid::new(Shape::new(4, 4).unwrap(), &PowersOfTwo);
    let cells = row("state s").trim_matches('`').split_whitespace();
    let tiles = cells.filter(|cell| *cell != "/").map(|cell| match cell {
        "." => 0,
        value => value.parse::<u32>().unwrap().ilog2() as u8,
    });
    let tiles: Vec<u8> = tiles.collect();
    let state = game.state(&tiles, ChanceState::NONE).unwrap();
    assert_eq!(row("slide a"), "left");
    let slide = game.slides(state).get(Direction::Left).unwrap();
    assert_eq!(slide.reward() as f32, number(row("points")));
    // All four slides are legal in the state that follows.
    let next = game.state(
        &[0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0],
        ChanceState::NONE,
    );
    let next = next.unwrap();
    assert_eq!(game.slides(next).legal().count(), 4);
    let transition = Transition {
        state,
        direction: Direction::Left,
        reward: slide.reward(),
        later_rewards: 0.0,
        steps: 1,
        next,
        done: false,
    };
    for (double, name) in [(false, "target of DQN"), (true, "target of double DQN")] {
        let settings = Settings {
            output: OutputSpec {
                kind: ACTION,
                known_rewards: false,
                scale: 256.0,
            },
            discount: 0.999,
            mask: false,
            double,
            ..Settings::default()
        };
        let found = agent(settings).targets(&game, &[&transition])[0];
        let text = row(name);
        let documented = number(text.rsplit("= ").next().unwrap());
        assert!(
            (found - documented).abs() < 5e-5,
            "{name}: {found}, {documented}"
        );
        // The error is that of Q(s, a).
        let error = match double {
            false => row("error"),
            true => row("error of double DQN"),
        };
        let error = (number(error) - (found - number(row("Q(s, a)")))).abs();
        assert!(error < 1e-4, "{name}: {error}");
    }
}

/// The transition after an illegal first choice, as published and by the formula.
#[test]
fn the_flaws_of_the_page_are_those_of_the_settings() {
    let game = Grid::new(Shape::new(4, 4).unwrap(), &PowersOfTwo);
    let board = |tiles: [u8; 16]| game.state(&tiles, ChanceState::NONE).unwrap();
    // 32 32 in the first row: up is illegal, and right earns 64 points.
    let state = board([5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Only left and down are legal.
    let next = board([0, 0, 1, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(game.slides(state).get(Direction::Up).is_none());
    let right = game.slides(state).get(Direction::Right).unwrap();
    assert_eq!(right.reward(), 64);
    for (mask, direction, reward) in [(true, Direction::Right, 64), (false, Direction::Up, 0)] {
        let transition = Transition {
            state,
            direction,
            reward,
            later_rewards: 0.0,
            steps: 1,
            next,
            done: false,
        };
        let settings = Settings {
            output: OutputSpec {
                scale: 256.0,
                ..Settings::default().output
            },
            discount: 0.999,
            mask,
            ..Settings::default()
        };
        let agent = agent(settings);
        let found = agent.targets(&game, &[&transition])[0];
        let batch = [transition];
        let inputs = agent.inputs(&game, &batch, &mut game_rng(1, 1));
        let learns = ACTIONS[inputs.chosen[0]];
        let (name, expected) = match mask {
            true => ("Q(s, right) moves towards 64 / 256 + 0.999 x 4 = ", 4.246),
            false => ("Q(s, up) moves towards 0 + 0.999 x 4.125 = ", 4.1209),
        };
        assert_eq!(learns, direction);
        assert!((found - expected).abs() < 5e-5, "{name}: {found}");
        let text = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("{name}{expected}")), "{name}");
    }
}
