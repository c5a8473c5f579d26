//! Instruction counts of the parts of a game, by valgrind: they are the same on every run, so that
//! a change of one in a thousand is visible. They do not include waiting for memory; `speed.rs`
//! measures that. `benchmarks/README.md` explains how to run it.
//!
//! Each function returns its input, so that neither creating nor freeing a network is counted, and
//! its results are checked after the counting.

// The macros below generate public items that are never read.
#![allow(missing_docs)]

use std::hint::black_box;

use afterstate::episode::Step;
use afterstate::game::Fast2048;
use afterstate::ntuple::{AfterstateNetwork, Indices, StateNetwork, Tc, Td, UpdateRule};
use afterstate::tally::Outcome;
use afterstate_benches::{self as common, After, ChosenDirection, EveryNewTile, State};
use gungraun::{library_benchmark, library_benchmark_group, main};

/// A trained network with positions from its games, and a buffer for indices.
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

fn td() -> Ready<AfterstateNetwork> {
    Ready::new(common::td(), common::steps)
}

fn tc() -> Ready<AfterstateNetwork> {
    Ready::new(common::tc(), common::steps)
}

fn of_states() -> Ready<StateNetwork> {
    Ready::new(common::of_states(), common::steps)
}

fn every_new_tile() -> Ready<EveryNewTile<1>> {
    let Ready { network, steps, .. } = of_states();
    Ready::new(EveryNewTile::new(&network), |_| steps.clone())
}

/// The input of a function, and its result.
type Done<N, T> = (Ready<N>, T);

#[library_benchmark]
#[bench::four_directions(args = (td()), teardown = check_slide)]
fn slide(ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, u64> {
    let sum = common::slide(&ready.game, black_box(&ready.states));
    (ready, sum)
}

fn check_slide((ready, sum): Done<AfterstateNetwork, u64>) {
    assert_eq!(sum, common::slow_slide(&ready.states));
}

#[library_benchmark]
#[bench::four_by_six(args = (td()), teardown = check_value)]
fn value(mut ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, f64> {
    let sum = common::value(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

fn check_value((ready, sum): Done<AfterstateNetwork, f64>) {
    assert_eq!(sum, common::slow_value(&ready.network, &ready.steps));
}

#[library_benchmark]
#[bench::td(args = (td()), teardown = check_update::<Td>)]
fn update_td(mut ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, f64> {
    let sum = common::update::<Td>(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

#[library_benchmark]
#[bench::tc(args = (tc()), teardown = check_update::<Tc>)]
fn update_tc(mut ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, f64> {
    let sum = common::update::<Tc>(&ready.network, black_box(&ready.afters), &mut ready.at);
    (ready, sum)
}

fn check_update<R: UpdateRule>((ready, sum): Done<AfterstateNetwork, f64>) {
    common::check_update::<R>(sum, &ready.afters, &ready.network);
}

#[library_benchmark]
#[bench::playing(args = (td()), teardown = check_episode)]
fn playing(ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, Outcome> {
    let outcome = common::playing(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

#[library_benchmark]
#[bench::learning(args = (td()), teardown = check_episode)]
fn learning(ready: Ready<AfterstateNetwork>) -> Done<AfterstateNetwork, Outcome> {
    let outcome = common::learning(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

fn check_episode((ready, outcome): Done<AfterstateNetwork, Outcome>) {
    assert_eq!(outcome, common::slow_playing(&ready.network));
}

#[library_benchmark]
#[bench::expecting(args = (of_states()), teardown = check_choices)]
fn choose(ready: Ready<StateNetwork>) -> Done<StateNetwork, Vec<ChosenDirection>> {
    let choices = common::choose(&ready.game, &ready.network, black_box(&ready.states));
    (ready, choices)
}

fn check_choices((ready, choices): Done<StateNetwork, Vec<ChosenDirection>>) {
    let plain = EveryNewTile::new(&ready.network);
    let slow = common::choose(&ready.game, &plain, &ready.states);
    common::check_choices((&ready.network, &choices), (&plain, &slow), &ready.states);
}

#[library_benchmark]
#[bench::every_new_tile(args = (every_new_tile()), teardown = check_slow_choices)]
fn slow_choose(ready: Ready<EveryNewTile<1>>) -> Done<EveryNewTile<1>, Vec<ChosenDirection>> {
    let choices = common::choose(&ready.game, &ready.network, black_box(&ready.states));
    (ready, choices)
}

fn check_slow_choices((ready, choices): Done<EveryNewTile<1>, Vec<ChosenDirection>>) {
    let network = common::of_states();
    let fast = common::choose(&ready.game, &network, &ready.states);
    common::check_choices((&network, &fast), (&ready.network, &choices), &ready.states);
}

#[library_benchmark]
#[bench::expecting(args = (of_states()), teardown = check_learning_of_states)]
fn learning_of_states(ready: Ready<StateNetwork>) -> Done<StateNetwork, Outcome> {
    let outcome = common::learning(&ready.game, black_box(&ready.network));
    (ready, outcome)
}

fn check_learning_of_states((ready, outcome): Done<StateNetwork, Outcome>) {
    let played = common::playing(&ready.game, &ready.network);
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
