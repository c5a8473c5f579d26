//! Drawings and pages of docs/how-it-works against the code that makes them, and the worked numbers
//! against the learners of the core.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use afterstate::Value;
use afterstate::episode::{Learner, LearningPolicy, Step};
use afterstate::game::{Grid, Shape, State};
use afterstate::learn::{
    Backward, Forward, PublishedBackward, PublishedParams, TdParams, TerminalTarget,
};
use afterstate::ntuple::{StateNetwork, Td, TupleSet};
use afterstate::policy::Ties;
use tiny_skia::Pixmap;

use super::texts;
use crate::plot::diagram::worked::{self, ALPHA, Example, LAMBDA, REPEATS};
use crate::plot::diagram::{Theme, all, fill_page, number_blocks, tuple_set};
use crate::plot::scene::{Script, formula};
use crate::plot::{Plot, Scene};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-it-works")
}

/// How to mend a difference.
const COMMAND: &str =
    "run `cargo run --release -p afterstate-lab --example diagrams -- docs/how-it-works`";

/// Every drawing in both themes, and tuple sets of all sizes.
fn plots() -> Vec<Plot> {
    let mut plots = Vec::new();
    for theme in Theme::ALL {
        plots.extend(all(theme).unwrap());
        let long = "01 12 23 34 45 56 67 78 89 9a ab bc cd de ef 0f 012345 01234567";
        let wide = "01234 0123456 abcdefgh klmno";
        for (name, patterns, rows, cols) in [
            ("8x6", "8x6", 4, 4),
            (
                "a name that is so long that it cannot ever stand on the page as it is",
                long,
                4,
                4,
            ),
            ("one", "0", 2, 2),
            ("lines", "lines", 2, 5),
            ("lines", "lines", 5, 3),
            ("5x5", wide, 5, 5),
        ] {
            let shape = Shape::new(rows, cols).unwrap();
            let set = TupleSet::parse(patterns, shape, true).unwrap();
            plots.push(tuple_set(name, &set, theme).unwrap());
        }
    }
    plots
}

#[test]
fn no_text_of_a_drawing_is_cut_off_or_lies_on_another() {
    let letters = super::Letters::new().unwrap();
    let found = |plot: &Plot| {
        let found = super::misplaced(&plot.scene, &letters).into_iter();
        let name = plot.name().to_owned();
        found
            .map(move |text| format!("{name}: {text}"))
            .collect::<Vec<_>>()
    };
    let found: Vec<String> = plots().iter().flat_map(found).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn committed_drawings_are_those_of_the_code() {
    let mut expected = BTreeSet::new();
    for theme in Theme::ALL {
        for plot in all(theme).unwrap() {
            let name = format!("{}.svg", plot.name());
            let found = fs::read_to_string(folder().join(&name)).unwrap_or_default();
            assert!(found == plot.svg(), "{name} differs; {COMMAND}");
            expected.insert(name);
        }
    }
    let found: BTreeSet<String> = super::names(&folder())
        .into_iter()
        .filter(|name| name.ends_with(".svg"))
        .collect();
    assert_eq!(found, expected, "and no others");
}

#[test]
fn worked_numbers_of_the_pages_are_those_of_the_code() {
    let blocks = number_blocks().unwrap();
    let mut unused: BTreeSet<&str> = blocks.iter().map(|(name, _)| *name).collect();
    let mut pages = String::new();
    for name in super::names(&folder()) {
        if !name.ends_with(".md") {
            continue;
        }
        let page = fs::read_to_string(folder().join(&name)).unwrap();
        let filled = fill_page(&page, &blocks).unwrap_or_else(|block| panic!("{name}: {block}"));
        assert!(page == filled, "{name} has other numbers; {COMMAND}");
        unused.retain(|block| !page.contains(&format!("<!-- numbers: {block} -->")));
        pages.push_str(&page);
    }
    assert!(unused.is_empty(), "no page shows {unused:?}");
    for plot in all(Theme::Light).unwrap() {
        for theme in ["", "-dark"] {
            let file = format!("{}{theme}.svg", plot.name());
            assert!(pages.contains(&file), "no page shows {file}");
        }
    }
}

#[test]
fn drawings_have_the_colours_of_their_theme_and_no_shortened_text() {
    for theme in Theme::ALL {
        for plot in all(theme).unwrap() {
            let dark = plot.name().ends_with("-dark");
            assert_eq!(dark, theme == Theme::Dark);
            let [_, green, _] = plot.scene.background.rgb();
            assert_eq!(green < 64, dark, "{}", plot.name());
            for text in texts(&plot.scene) {
                assert!(!text.contains('…'), "{}: {text}", plot.name());
            }
        }
        let plot = &all(theme).unwrap()[0];
        let page = Pixmap::decode_png(&plot.png().unwrap()).unwrap();
        let [_, green, _] = plot.scene.background.rgb();
        assert_eq!(page.pixels()[0].green(), green);
    }
}

#[test]
fn formulas_have_scripts_and_plain_texts_have_none() {
    let text = formula("S_{t+1} 16^{2} a_b}");
    let scripts: Vec<(Script, char)> = text.chars().map(Script::of).collect();
    assert_eq!(scripts[1], (Script::Sub, 't'));
    assert_eq!(scripts[4], (Script::Normal, ' '));
    assert_eq!(scripts[7], (Script::Super, '2'));
    assert!(
        scripts[9..]
            .iter()
            .all(|(script, _)| *script == Script::Normal)
    );
    let svg = all(Theme::Light).unwrap()[3].svg();
    assert!(
        svg.contains("S<tspan font-size=\"15.4\" dy=\"3.5\">0</tspan></text>"),
        "{svg}"
    );
    let mut scene = Scene::new(10.0, 10.0);
    let face = crate::plot::chart::PLAIN;
    scene.text((0.0, 0.0), "a_{b}\u{e062}", super::Anchor::Start, face);
    assert_eq!(texts(&scene), ["a_{b} "]);
}

/// The moves of the game as the learners of the core take them.
fn steps(example: &Example) -> impl Iterator<Item = Step<Grid>> {
    example.moves.iter().map(|step| Step {
        state: step.state,
        direction: step.direction,
        after: step.after,
        reward: step.reward,
        spawn_reward: 0,
    })
}

/// Shows the game to a learner of the core.
fn show(example: &Example, learner: &mut impl Learner<Grid>) {
    steps(example).for_each(|step| learner.step(&step));
    learner.finish(example.end, 0);
}

fn backward(
    game: &Grid,
    network: &StateNetwork,
    lambda: Value,
    reward_twice: bool,
) -> impl Learner<Grid> {
    let params = TdParams {
        learning_rate: ALPHA,
        lambda,
        reward_twice,
    };
    Backward::<Grid, _, Td>::new(game, network, params)
}

#[test]
fn worked_updates_are_those_of_the_learners() {
    let example = worked::example();
    let learned = |rows: Vec<worked::Row>| rows.iter().map(|row| row.after).collect::<Vec<_>>();
    let passed =
        |rows: &[worked::PassRow]| rows.iter().map(|row| row.row.after).collect::<Vec<_>>();

    let network = example.network().unwrap();
    show(
        &example,
        &mut Forward::<Grid, _, Td>::new(&example.game, &network, ALPHA),
    );
    assert_eq!(learned(example.td().unwrap()), example.values(&network));

    for (expected, lambda, twice) in [
        (learned(example.monte_carlo().unwrap()), 1.0, false),
        (passed(&example.td_lambda().unwrap()), LAMBDA, false),
        (passed(&example.textbook().unwrap().first), 0.0, false),
        (passed(&example.reward_twice().unwrap().first), 0.0, true),
    ] {
        let network = example.network().unwrap();
        show(
            &example,
            &mut backward(&example.game, &network, lambda, twice),
        );
        assert_eq!(example.values(&network), expected, "{lambda} {twice}");
    }
    for (flaw, twice) in [
        (example.textbook().unwrap(), false),
        (example.reward_twice().unwrap(), true),
    ] {
        let network = example.network().unwrap();
        let mut learner = backward(&example.game, &network, 0.0, twice);
        (0..REPEATS).for_each(|_| show(&example, &mut learner));
        drop(learner);
        assert_eq!(example.values(&network), flaw.limit);
    }
    assert_eq!(example.textbook().unwrap().limit, example.returns());
}

/// The last state keeps its value, and the one before moves towards its reward minus that value.
#[test]
fn the_odd_end_is_that_of_the_report() {
    let example = worked::example();
    let flaw = example.odd_end().unwrap();
    let [.., before, last] = &flaw.first[..] else {
        panic!("{flaw:?}");
    };
    assert_eq!(last.row.value, last.row.after);
    assert_eq!(before.row.target, before.reward - last.row.value);
    assert_eq!(flaw.limit.last(), Some(&last.row.value));

    let network = example.network().unwrap();
    let params = PublishedParams {
        end: TerminalTarget::Negated,
        ..PublishedParams::default()
    };
    let mut learner = PublishedBackward::new(&example.game, &network, Ties::Order, params);
    learner.set_learning_rate(ALPHA);
    let mut play = || {
        steps(&example).for_each(|step| learner.observe(&step, 0.0));
        learner.finish(example.end, 0);
    };
    play();
    let first: Vec<Value> = flaw.first.iter().map(|row| row.row.after).collect();
    assert_eq!(example.values(&network), first);
    (1..REPEATS).for_each(|_| play());
    drop(learner);
    assert_eq!(example.values(&network), flaw.limit);
}

/// With values held fixed, the error of the first state is that of the lambda-return.
#[test]
fn worked_returns_are_those_of_td_lambda() {
    let example = worked::example();
    let network = example.network().unwrap();
    let errors = |game: &Example| {
        let params = TdParams {
            learning_rate: 0.0,
            lambda: LAMBDA,
            reward_twice: false,
        };
        let mut learner = Backward::<Grid, _, Td>::new(&example.game, &network, params);
        show(game, &mut learner);
        learner.td_errors().total()
    };
    // Without its first move the game has the same errors but for one.
    let mut rest = example.clone();
    rest.moves.remove(0);
    let returns = example.n_step_returns().unwrap();
    let lambda_return: Value = returns.iter().map(|(value, weight)| value * weight).sum();
    let before = example.values(&network)[0];
    let error = f64::from((lambda_return - before).abs());
    assert!((errors(&example) - errors(&rest) - error).abs() < 1e-4);
    assert_eq!(lambda_return, 16.25, "as the page says");
}

#[test]
fn the_worked_game_follows_the_rules() {
    use afterstate::game::Game;
    let example = worked::example();
    for (step, next) in example.moves.iter().zip(&example.moves[1..]) {
        let mut found = false;
        example
            .game
            .for_each_spawn(step.after, |state, _, _| found |= state == next.state);
        assert!(found, "{step:?}");
    }
    let State(_) = example.end;
    assert!(!example.game.slides(example.end).any());
}

/// The network finds the weights at the indices of the arithmetic, each at another one.
#[test]
fn worked_indices_are_those_of_the_network() {
    let example = worked::lookups().unwrap();
    let indices: BTreeSet<u64> = example.lookups.iter().map(|lookup| lookup.index).collect();
    assert_eq!(indices.len(), example.lookups.len());
    let sum: Value = example.lookups.iter().map(|lookup| lookup.weight).sum();
    assert_eq!(sum, example.value);
    let update = worked::lookup_update().unwrap();
    assert_eq!(update.row.value, example.value);
    assert_eq!(update.lookups, example.lookups.len());
    let step = update.learning_rate / update.lookups as Value * update.row.delta;
    assert!((update.step - step).abs() < 1e-3, "{update:?}");
}

#[test]
fn worked_choices_are_means_over_spawns() {
    let example = worked::choices().unwrap();
    for choice in &example.choices {
        let chances: f64 = choice.successors.iter().map(|(_, chance, _)| chance).sum();
        assert!((chances - 1.0).abs() < 1e-12);
        let mean: f64 = choice
            .successors
            .iter()
            .map(|(_, chance, value)| chance * f64::from(*value))
            .sum();
        assert!((mean - f64::from(choice.mean)).abs() < 1e-4, "{choice:?}");
        assert_eq!(choice.mean, choice.value);
    }
    assert_eq!(example.best[0], example.best[1]);
}

#[test]
fn worked_steps_of_tc_are_those_of_its_formula() {
    let (mut weight, mut e, mut a) = (0.0_f32, 0.0_f32, 0.0_f32);
    let rows = worked::coherence().unwrap();
    for row in &rows {
        assert!((10.0..=30.0).contains(&row.target), "as the page says");
        let delta = row.target - weight;
        let ratio = if a > 0.0 { e.abs() / a } else { 1.0 };
        weight += ratio * delta;
        e += delta;
        a += delta.abs();
        let near = |found: f32, expected: f32| (found - expected).abs() < 1e-3;
        assert!(near(row.delta, delta) && near(row.ratio, ratio), "{row:?}");
        assert!(
            near(row.weight, weight) && near(row.error_sum, e),
            "{row:?}"
        );
        assert!(near(row.absolute_sum, a), "{row:?}");
    }
    assert!(rows.last().unwrap().ratio < 0.25, "errors cancel out");
}
