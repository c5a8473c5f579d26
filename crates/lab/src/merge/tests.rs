use super::*;
use crate::agent::Baseline;
use crate::compare::{compare, compare_part};
use crate::control::Control;
use crate::evaluate::{Contender, EvalOptions, evaluate, evaluate_part};
use afterstate::game::Shape;
use serde::Serialize;

fn contender(baseline: Baseline) -> Contender {
    let shape = Shape::new(3, 3).unwrap();
    Contender::baseline(baseline, "2048", shape).unwrap()
}

fn options<'c>(part: &str, games: u64, control: &'c Control) -> EvalOptions<'c> {
    EvalOptions {
        games,
        part: part.parse().unwrap(),
        seed: 5,
        threads: 1,
        control,
    }
}

/// Writes a part as JSON and reads it back, as `merge` does.
fn carried(part: &impl Serialize) -> AnyPart {
    let text = serde_json::to_vec(part).unwrap();
    part_of(Path::new("part.json"), &text).unwrap()
}

fn evaluation_part(part: &str, games: u64) -> EvaluationPart {
    let control = Control::new();
    evaluate_part(
        &contender(Baseline::Random),
        &options(part, games, &control),
    )
}

/// Parts with names by their order.
fn named(parts: Vec<AnyPart>) -> Vec<(PathBuf, AnyPart)> {
    let name = |(n, part)| (PathBuf::from(format!("{n}.json")), part);
    parts.into_iter().enumerate().map(name).collect()
}

fn without_times(mut evaluation: Evaluation) -> Evaluation {
    evaluation.scores.moves_per_second = 0.0;
    evaluation
}

#[test]
fn merged_evaluations_equal_the_undivided_one() {
    let control = Control::new();
    let whole = evaluate(&contender(Baseline::Random), &options("1/1", 50, &control));
    // In any order.
    let parts = ["3/4", "1/4", "4/4", "2/4"].map(|part| carried(&evaluation_part(part, 50)));
    let Merged::Evaluation(found) = merged(named(parts.to_vec())).unwrap() else {
        panic!("not an evaluation")
    };
    assert_eq!(without_times(*found), without_times(whole));
}

#[test]
fn merged_comparisons_equal_the_undivided_one() {
    let control = Control::new();
    for (a, b, equal) in [
        (Baseline::Greedy, Baseline::Random, false),
        (Baseline::Random, Baseline::Random, true),
    ] {
        let (a, b) = (contender(a), contender(b));
        // With two games, one of the parts is empty.
        for games in [90, 2] {
            let whole = compare(&a, &b, &options("1/1", games, &control)).unwrap();
            let part = |part| compare_part(&a, &b, &options(part, games, &control)).unwrap();
            let parts = ["1/3", "2/3", "3/3"].map(|name| carried(&part(name)));
            let Merged::Comparison(found) = merged(named(parts.to_vec())).unwrap() else {
                panic!("not a comparison")
            };
            assert_eq!(found.equal, equal);
            let timeless = |comparison: Comparison| Comparison {
                a: without_times(comparison.a),
                b: without_times(comparison.b),
                ..comparison
            };
            assert_eq!(timeless(*found), timeless(whole));
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let first = || carried(&evaluation_part("1/2", 20));
    let refused = |parts: Vec<AnyPart>| merged(named(parts)).unwrap_err().to_string();
    assert_eq!(refused(vec![]), "there are no parts to merge");
    assert_eq!(refused(vec![first()]), "of 2 parts, one is missing: 2");
    assert_eq!(
        refused(vec![first(), first()]),
        "0.json and 1.json are the same part, 1/2"
    );
    let other = |change: &dyn Fn(&mut EvaluationPart)| {
        let mut part = evaluation_part("2/2", 20);
        change(&mut part);
        refused(vec![first(), carried(&part)])
    };
    assert_eq!(
        other(&|part| part.evaluation.seed = 6),
        "0.json and 1.json do not belong together: their seeds are 5 and 6"
    );
    assert_eq!(
        other(&|part| part.evaluation.search = "2ply".to_owned()),
        "0.json and 1.json do not belong together: their searches are random and 2ply"
    );
    assert_eq!(
        other(&|part| part.part.played[0].outcomes.truncate(9)),
        "1.json has 9 of the 10 games of its part; play it again to its end"
    );
    let impossible = other(&|part| part.part.played[0].outcomes[0].score = u64::MAX);
    assert!(impossible.contains("not those of games"), "{impossible}");
    let of_none = other(&|part| part.part.played.clear());
    assert!(of_none.contains("not those of games"), "{of_none}");
    let larger = refused(vec![first(), carried(&evaluation_part("2/2", 30))]);
    assert!(
        larger.contains("numbers of games are 20 and 30"),
        "{larger}"
    );
}

#[test]
fn other_documents_are_refused() {
    let control = Control::new();
    let whole = evaluate(&contender(Baseline::Random), &options("1/1", 5, &control));
    let refused = |text: &[u8]| match part_of(Path::new("it.json"), text) {
        Ok(_) => panic!("{} was accepted", String::from_utf8_lossy(text)),
        Err(error) => error.to_string(),
    };
    let whole = serde_json::to_vec(&whole).unwrap();
    assert!(refused(&whole).contains("it has no field `part`"));
    let part = serde_json::to_vec(&evaluation_part("1/2", 4)).unwrap();
    for length in [0, 1, part.len() / 2, part.len() - 1] {
        assert!(refused(&part[..length]).contains("is not a part"));
    }
    assert!(refused(b"{\"part\":{}}").contains("is not a part"));
}
