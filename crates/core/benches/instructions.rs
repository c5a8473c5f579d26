//! How many instructions the parts of a game take, counted by valgrind: the same number on every run,
//! so that a change of one in a thousand can be seen. It says nothing of the time that weights take to
//! arrive; `speed.rs` does. `benchmarks/README.md` says how to run it.
//!
//! Each function hands back what it was given, so that neither making nor freeing a network is
//! counted, and its results are checked after the counting.

// The macros below make public items that nobody reads.
#![allow(missing_docs)]

mod common;

use std::hint::black_box;

use afterstate::game::Fast2048;
use afterstate::ntuple::{Coherent, Expecting, Indices, Plain, Tables, Weight};
use afterstate::play::{Afterstates, States, Step};
use afterstate::tally::Outcome;
use common::{After, Choice, EveryNewTile, State};
use gungraun::{library_benchmark, library_benchmark_group, main};

/// A trained network with positions from its games, and room for indices.
struct Ready<N> {
    game: Fast2048,
    network: N,
    steps: Vec<Step<Fast2048>>,
    states: Vec<State>,
    afters: Vec<After>,
    at: Indices,
}

impl<N> Ready<N> {
    fn new(network: N, steps: impl Fn(&N) -> Vec<Step<Fast2048>>) -> Self {
        let steps = steps(&network);
        Self {
            game: Fast2048::new(),
            network,
            states: common::states(&steps),
            afters: common::afters(&steps),
            steps,
            at: Indices::default(),
        }
    }
}

fn td() -> Ready<Tables<Plain>> {
    Ready::new(common::td(), common::steps::<Afterstates<_>>)
}

fn tc() -> Ready<Tables<Coherent>> {
    Ready::new(common::tc(), common::steps::<Afterstates<_>>)
}

fn of_states() -> Ready<Expecting<Plain>> {
    Ready::new(common::of_states(), common::steps::<States<_>>)
}

fn every_new_tile() -> Ready<Tables<Plain>> {
    let Ready { network, steps, .. } = of_states();
    Ready::new(common::every_new_tile(&network), |_| steps.clone())
}

/// What a function was given, and what it made of it.
type Done<N, T> = (Ready<N>, T);

#[library_benchmark]
#[bench::four_directions(args = (td()), teardown = check_slide)]
fn slide(ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, u64> {
    let sum = common::slide(&ready.game, black_box(&ready.states));
    (ready, sum)
}

fn check_slide((ready, sum): Done<Tables<Plain>, u64>) {
    assert_eq!(sum, common::slow_slide(&ready.states));
}

#[library_benchmark]
#[bench::four_by_six(args = (td()), teardown = check_value)]
fn value(mut ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, f64> {
    let sum = common::value(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

fn check_value((ready, sum): Done<Tables<Plain>, f64>) {
    assert_eq!(sum, common::slow_value(&ready.network, &ready.steps));
}

#[library_benchmark]
#[bench::td(args = (td()), teardown = check_update)]
fn update_td(mut ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, f64> {
    let sum = common::update(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

#[library_benchmark]
#[bench::tc(args = (tc()), teardown = check_update)]
fn update_tc(mut ready: Ready<Tables<Coherent>>) -> Done<Tables<Coherent>, f64> {
    let sum = common::update(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

fn check_update<W: Weight>((ready, sum): Done<Tables<W>, f64>) {
    common::check_update(sum, &ready.afters, &ready.network);
}

#[library_benchmark]
#[bench::playing(args = (td()), teardown = check_episode)]
fn playing(ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, Outcome> {
    let outcome = common::playing::<_, Afterstates<_>>(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

#[library_benchmark]
#[bench::learning(args = (td()), teardown = check_episode)]
fn learning(ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, Outcome> {
    let outcome = common::learning::<Afterstates<_>>(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

fn check_episode((ready, outcome): Done<Tables<Plain>, Outcome>) {
    assert_eq!(outcome, common::slow_playing(&ready.network));
}

#[library_benchmark]
#[bench::expecting(args = (of_states()), teardown = check_choices)]
fn choose(ready: Ready<Expecting<Plain>>) -> Done<Expecting<Plain>, Vec<Choice>> {
    let choices =
        common::choose::<States<_>>(&ready.game, &ready.network, black_box(&ready.states));
    (ready, choices)
}

fn check_choices((ready, choices): Done<Expecting<Plain>, Vec<Choice>>) {
    let plain = common::every_new_tile(&ready.network);
    let slow = common::choose::<EveryNewTile<1>>(&ready.game, &plain, &ready.states);
    common::check_choices(&choices, &slow);
}

#[library_benchmark]
#[bench::every_new_tile(args = (every_new_tile()), teardown = check_slow_choices)]
fn slow_choose(ready: Ready<Tables<Plain>>) -> Done<Tables<Plain>, Vec<Choice>> {
    let choices =
        common::choose::<EveryNewTile<1>>(&ready.game, &ready.network, black_box(&ready.states));
    (ready, choices)
}

fn check_slow_choices((ready, choices): Done<Tables<Plain>, Vec<Choice>>) {
    let fast = common::of_states();
    let fast = common::choose::<States<_>>(&ready.game, &fast, &ready.states);
    common::check_choices(&fast, &choices);
}

#[library_benchmark]
#[bench::expecting(args = (of_states()), teardown = check_learning_of_states)]
fn learning_of_states(ready: Ready<Expecting<Plain>>) -> Done<Expecting<Plain>, Outcome> {
    let outcome = common::learning::<States<_>>(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

fn check_learning_of_states((ready, outcome): Done<Expecting<Plain>, Outcome>) {
    let played = common::playing::<_, States<_>>(&ready.game, &ready.network);
    assert_eq!(outcome, played);
}

library_benchmark_group!(
    name = parts,
    benchmarks = [slide, value, update_td, update_tc]
);
library_benchmark_group!(name = episode, benchmarks = [playing, learning]);
library_benchmark_group!(
    name = choice,
    benchmarks = [choose, slow_choose, learning_of_states]
);
main!(library_benchmark_groups = [parts, episode, choice]);
