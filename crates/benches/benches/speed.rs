//! Wall-clock times of the parts of a game. `benchmarks/README.md` explains how to run it.
//!
//! Positions are in lists, so that an element of the report is one position or one move.

// The macros below generate public items that are never read.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use afterstate::game::Fast2048;
use afterstate::ntuple::Trainable;
use afterstate::ntuple::{AfterstateNetwork, Indices, Tc, Td, UpdateRule};
use afterstate_benches::{self as common, EveryNewTile};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

/// A group with its number of elements.
fn group<'c>(c: &'c mut Criterion, name: &str, elements: u64) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(elements));
    group
}

fn afterstates(c: &mut Criterion) {
    let (game, network) = (Fast2048::new(), common::td());
    let steps = common::steps(&network);
    let (states, afters) = (common::states(&steps), common::afters(&steps));
    let mut at = Indices::default();

    let slow = common::slow_slide(&states);
    assert_eq!(common::slide(&game, &states), slow);
    group(c, "slide", states.len() as u64).bench_function("four directions", |b| {
        b.iter(|| common::slide(&game, black_box(&states)))
    });

    let slow = common::slow_value(&network, &steps);
    assert_eq!(common::value(&network, &afters, &mut at), slow);
    group(c, "value", afters.len() as u64).bench_function("4x6", |b| {
        b.iter(|| common::value(&network, black_box(&afters), &mut at))
    });

    update::<Td>(c, "td", &network, &afters);

    let outcome = common::slow_playing(&network);
    let playing = common::playing::<_, AfterstateNetwork>;
    let learning = common::learning::<AfterstateNetwork>;
    assert_eq!(playing(&game, &network), outcome);
    assert_eq!(learning(&game, &network), outcome);
    let mut episode = group(c, "episode", outcome.moves);
    episode.bench_function("playing", |b| {
        b.iter(|| playing(&game, black_box(&network)))
    });
    episode.bench_function("learning", |b| {
        b.iter(|| learning(&game, black_box(&network)))
    });
}

fn coherent(c: &mut Criterion) {
    let network = common::tc();
    let steps = common::steps(&network);
    update::<Tc>(c, "tc", &network, &common::afters(&steps));
}

fn update<R: UpdateRule>(
    c: &mut Criterion,
    rule: &str,
    network: &AfterstateNetwork,
    afters: &[common::After],
) {
    let mut at = Indices::default();
    let sum = common::update::<R>(network, afters, &mut at);
    common::check_update::<R>(sum, afters, network);
    group(c, "update", afters.len() as u64).bench_function(rule, |b| {
        b.iter(|| common::update::<R>(network, black_box(afters), &mut at))
    });
}

fn of_states(c: &mut Criterion) {
    let (game, network) = (Fast2048::new(), common::of_states());
    let plain = EveryNewTile::<1>::new(&network);
    let states = common::states(&common::steps(&network));
    common::check_choices(
        (&network, &common::choose(&game, &network, &states)),
        (&plain, &common::choose(&game, &plain, &states)),
        &states,
    );
    let mut choice = group(c, "choice by V(state)", states.len() as u64);
    choice.bench_function("expecting", |b| {
        b.iter(|| common::choose(&game, &network, black_box(&states)))
    });
    choice.bench_function("every new tile", |b| {
        b.iter(|| common::choose(&game, &plain, black_box(&states)))
    });
    drop(choice);
    learning_of_states(c, "expecting", &network);
    learning_of_states(c, "every new tile", &plain);
    drop(plain);
    let by_fours = EveryNewTile::<4>::new(&network);
    learning_of_states(c, "every new tile, by fours", &by_fours);
}

/// Whole games with learning. Two ways to add up the same numbers may differ at a tie, so that each
/// plays its own games; an element is a move.
fn learning_of_states<N: Trainable<Fast2048>>(c: &mut Criterion, name: &str, network: &N) {
    let game = Fast2048::new();
    let outcome = common::playing(&game, network);
    assert_eq!(common::learning(&game, network), outcome);
    group(c, "episode of V(state)", outcome.moves).bench_function(name, |b| {
        b.iter(|| common::learning(&game, black_box(network)))
    });
}

/// Short: the whole takes well under three minutes, most of it training.
fn short() -> Criterion {
    Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
}

criterion_group!(
    name = benches;
    config = short();
    targets = afterstates, coherent, of_states
);
criterion_main!(benches);
