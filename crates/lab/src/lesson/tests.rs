use super::*;

mod twin;

fn options(value: ValueOf, backward: bool) -> LessonOptions {
    LessonOptions {
        value,
        backward,
        lambda: if backward { 0.5 } else { 0.0 },
        ..LessonOptions::default()
    }
}

fn taught(options: &LessonOptions) -> Lesson {
    lesson(options, &Control::new()).unwrap().unwrap()
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-3 * a.abs().max(b.abs()).max(1.0)
}

/// Every number of a lesson follows from the others by the formulas on the page.
#[test]
fn the_numbers_of_each_update_agree() {
    for value in [ValueOf::Afterstate, ValueOf::State] {
        for backward in [false, true] {
            let options = options(value, backward);
            let lesson = taught(&options);
            assert_eq!(lesson.moves, lesson.steps.len());
            let last = lesson.steps.len() - 1;
            for (place, step) in lesson.steps.iter().enumerate() {
                let update = &step.update;
                let order = if backward { last - place } else { place };
                assert_eq!(update.order, order);
                assert!(near(update.target, update.reward + update.next));
                assert!(near(update.error, update.target - update.value));
                let sum: f32 = update
                    .weights
                    .iter()
                    .map(|weight| weight.before * weight.cells.len() as f32)
                    .sum();
                assert!(near(sum, update.value), "{sum} {}", update.value);
                let lookups: usize = update.weights.iter().map(|it| it.cells.len()).sum();
                assert_eq!(lookups, lesson.lookups);
                for weight in &update.weights {
                    let step = 0.1 / lesson.lookups as f32 * update.error;
                    let made = weight.after - weight.before;
                    assert!(near(made, step * weight.cells.len() as f32), "{weight:?}");
                }
                let slide = &step.slides[step.chosen];
                assert!(step.slides.iter().all(|it| it.total <= slide.total));
                let chances: f64 = step.spawns.iter().map(|spawn| spawn.chance).sum();
                assert!((chances - 1.0).abs() < 1e-9);
                let expected = match value {
                    ValueOf::Afterstate => &step.afterstate,
                    _ => &step.state,
                };
                assert_eq!(&update.position, expected);
            }
            let end = lesson.steps[last].update.next;
            assert_eq!(end, 0.0);
        }
    }
}

/// Forward TD(0) of afterstates: the target is the reward of the next slide plus the value of the
/// next afterstate, as it was when that slide was chosen.
#[test]
fn the_target_is_that_of_the_next_slide() {
    let lesson = taught(&options(ValueOf::Afterstate, false));
    for pair in lesson.steps.windows(2) {
        let slide = &pair[1].slides[pair[1].chosen];
        assert!(near(pair[0].update.target, slide.total));
        assert_eq!(pair[0].update.reward, slide.reward as f32);
    }
    let exact = lesson.steps[0].update.exact.unwrap();
    assert!(exact > 10.0, "2x3 is solved: {exact}");
}

/// What the diagram shows for the tile that came is what the target has, to the last bit.
#[test]
fn the_spawn_that_comes_has_the_value_of_the_target() {
    for value in [ValueOf::Afterstate, ValueOf::State] {
        let lesson = taught(&options(value, false));
        for step in &lesson.steps {
            let (update, spawn) = (&step.update, &step.spawns[step.drawn]);
            match value {
                ValueOf::Afterstate => assert_eq!(spawn.value, update.target),
                _ if spawn.is_over => assert_eq!(update.next, 0.0),
                _ => assert_eq!(spawn.value, update.next),
            }
        }
    }
}

/// Spawns that differ in the next tile alone are told apart, and the one that came is marked.
#[test]
fn a_spawn_has_the_hint_that_it_shows() {
    let lesson = taught(&LessonOptions {
        game: "threes".into(),
        games: 3,
        ..LessonOptions::default()
    });
    let mut hints = 0;
    for (step, next) in lesson.steps.iter().zip(&lesson.steps[1..]) {
        let same = |(place, spawn): (usize, &LessonSpawn)| {
            let others = &step.spawns[..place];
            let like = |it: &&LessonSpawn| {
                (it.cell, it.tile, &it.hint) == (spawn.cell, spawn.tile, &spawn.hint)
            };
            others.iter().find(like).is_some()
        };
        assert!(
            !step.spawns.iter().enumerate().any(same),
            "{:?}",
            step.spawns
        );
        let spawn = &step.spawns[step.drawn];
        assert_eq!(next.state[spawn.cell], spawn.tile);
        hints += usize::from(spawn.hint.is_some());
        let target = f64::from(spawn.reward) + f64::from(spawn.value);
        assert!(near(target as f32, step.update.target));
        assert!(step.update.exact.is_some(), "Threes! on 2x3 is solved");
    }
    assert!(hints > 0);
}

/// Boards that are solved in a moment; Threes! with large bags on 2x3 has too many positions.
#[test]
fn small_boards_are_solved() {
    let small = SmallSolutions::default();
    let found = |game: &str, rows, cols| {
        let shape = games::shape(rows, cols).unwrap();
        let found = small.find(game, shape, &Control::new()).unwrap();
        found.is_some()
    };
    for game in [
        "2048",
        "threes",
        "threes-hint",
        "threes-original",
        "2584",
        "2584-three",
    ] {
        assert!(found(game, 2, 2), "{game}");
    }
    assert!(found("2048", 2, 3) && found("threes", 2, 3));
    assert!(!found("threes-original", 2, 3) && !found("2048", 3, 3));
    assert!(
        small
            .find("chess", games::shape(2, 2).unwrap(), &Control::new())
            .is_err()
    );
}

/// A board that is too large to be solved has the values of a solution of it, and no other.
#[test]
fn a_solution_stands_beside_what_is_learned() {
    let options = LessonOptions {
        board: "3x3".to_owned(),
        games: 3,
        ..LessonOptions::default()
    };
    let exact = |rows, cols| {
        let shape = games::shape(rows, cols).unwrap();
        // Any contender has totals; those of the greedy one are the rewards.
        let greedy = Contender::baseline(crate::agent::Baseline::Greedy, "2048", shape).unwrap();
        let lesson = lesson_beside(Some(&greedy), &options, &Control::new());
        lesson.unwrap().unwrap().steps[0].slides.clone()
    };
    for slide in exact(3, 3) {
        assert_eq!(slide.exact, Some(f64::from(slide.reward)));
    }
    assert!(exact(2, 3).iter().all(|slide| slide.exact.is_none()));
}

#[test]
fn tc_steps_are_scaled_by_coherence() {
    let options = LessonOptions {
        rule: Rule::Tc,
        learning_rate: 1.0,
        ..LessonOptions::default()
    };
    let lesson = taught(&options);
    let weights = lesson.steps.iter().flat_map(|step| &step.update.weights);
    let shares: Vec<f32> = weights.filter_map(|weight| weight.coherence).collect();
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    assert!(shares.iter().any(|&share| share < 1.0));
}

#[test]
fn options_without_effect_are_refused() {
    let refused = |options: LessonOptions| {
        let error = lesson(&options, &Control::new()).unwrap_err();
        error.to_string()
    };
    let default = LessonOptions::default;
    for (options, words) in [
        (
            LessonOptions {
                lambda: 0.5,
                ..default()
            },
            "only where values are updated backward",
        ),
        (
            LessonOptions {
                games: 1 << 40,
                ..default()
            },
            "at most 20000",
        ),
        (
            LessonOptions {
                board: "4x4".into(),
                games: 20_000,
                ..default()
            },
            "at most 5000",
        ),
        (
            LessonOptions {
                learning_rate: f32::NAN,
                ..default()
            },
            "above 0",
        ),
        (
            LessonOptions {
                game: "chess".into(),
                ..default()
            },
            "chess",
        ),
        (
            LessonOptions {
                board: "9x9".into(),
                ..default()
            },
            "9",
        ),
        (
            LessonOptions {
                tuples: "zz".into(),
                ..default()
            },
            "zz",
        ),
        (
            LessonOptions {
                board: "4x4".into(),
                tuples: "01234567".into(),
                ..default()
            },
            "memory",
        ),
        (
            LessonOptions {
                game: "threes".into(),
                board: "4x4".into(),
                tuples: "0123".into(),
                value: ValueOf::State,
                ..default()
            },
            "threes",
        ),
    ] {
        let text = refused(options);
        assert!(text.contains(words), "{text}");
    }
    let cancelled = crate::control::cancelled();
    let long = LessonOptions {
        games: 1000,
        board: "3x3".into(),
        ..default()
    };
    assert!(lesson(&long, &cancelled).unwrap().is_none());
}
