//! How long the parts of a game take, by the clock. `benchmarks/README.md` says how to run it.
//!
//! Positions come in lists, so that an element of the report is one position or one move.

// The macros below make public items that nobody reads.
#![allow(missing_docs)]

mod common;

use std::hint::black_box;
use std::time::Duration;

use afterstate::game::Fast2048;
use afterstate::ntuple::{Indices, Tables, Weight};
use afterstate::play::{Afterstates, States, Viewpoint};
use common::EveryNewTile;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

/// A group whose elements are counted.
fn group<'c>(c: &'c mut Criterion, name: &str, elements: u64) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(elements));
    group
}

fn afterstates(c: &mut Criterion) {
    let (game, network) = (Fast2048::new(), common::td());
    let steps = common::steps::<Afterstates<_>>(&network);
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

    update(c, "td", &network, &afters);

    let outcome = common::slow_playing(&network);
    let playing = common::playing::<_, Afterstates<_>>;
    let learning = common::learning::<Afterstates<_>>;
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
    let steps = common::steps::<Afterstates<_>>(&network);
    update(c, "tc", &network, &common::afters(&steps));
}

fn update<W: Weight>(c: &mut Criterion, rule: &str, network: &Tables<W>, afters: &[common::After]) {
    let mut at = Indices::default();
    common::check_update(common::update(network, afters, &mut at), afters, network);
    group(c, "update", afters.len() as u64).bench_function(rule, |b| {
        b.iter(|| common::update(network, black_box(afters), &mut at))
    });
}

fn of_states(c: &mut Criterion) {
    let (game, network) = (Fast2048::new(), common::of_states());
    let plain = common::every_new_tile(&network);
    let states = common::states(&common::steps::<States<_>>(&network));
    let fast = common::choose::<States<_>>;
    let slow = common::choose::<EveryNewTile<1>>;
    common::check_choices(
        &fast(&game, &network, &states),
        &slow(&game, &plain, &states),
    );
    let mut choice = group(c, "choice by V(state)", states.len() as u64);
    choice.bench_function("expecting", |b| {
        b.iter(|| fast(&game, &network, black_box(&states)))
    });
    choice.bench_function("every new tile", |b| {
        b.iter(|| slow(&game, &plain, black_box(&states)))
    });
    drop(choice);
    learning_of_states::<States<_>>(c, "expecting", &network);
    learning_of_states::<EveryNewTile<1>>(c, "every new tile", &plain);
    learning_of_states::<EveryNewTile<4>>(c, "every new tile, by fours", &plain);
}

/// Whole games with learning. Two ways to add up the same numbers may part at a tie, so that each has
/// games of its own; an element is a move.
fn learning_of_states<V: Viewpoint<Fast2048>>(c: &mut Criterion, name: &str, network: &V::Network) {
    let game = Fast2048::new();
    let outcome = common::playing::<_, V>(&game, network);
    assert_eq!(common::learning::<V>(&game, network), outcome);
    group(c, "episode of V(state)", outcome.moves).bench_function(name, |b| {
        b.iter(|| common::learning::<V>(&game, black_box(network)))
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
