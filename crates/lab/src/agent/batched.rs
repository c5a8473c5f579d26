//! Agents whose values are computed for many boards in one call: each thread plays several games side
//! by side and asks for the values of all of their boards together.

use std::ops::Range;

use afterstate::episode::{Learner, NoLearner, play_batched_from};
use afterstate::game::{ChanceState, Game, Slide};
use afterstate::tally::Outcome;
use afterstate::value::Decision;

use super::{FirstMove, PolicyFn, RoundSpec, StartFn, initial, recorder, with_first_move};
use crate::recorder::{Sink, evaluation_rng};
use crate::share::share_out;

/// Values that are computed in batches.
pub(super) trait BatchedValues<G: Game>: Sync {
    /// The slide of each decision.
    fn choose(&self, game: &G, decisions: &[Decision<G>]) -> Vec<Slide<G::Board>>;

    /// How many games one thread plays side by side.
    fn games_together(&self) -> usize;

    /// How many threads may play at once, of those that were asked for.
    fn threads(&self, asked: usize) -> usize {
        asked
    }

    /// Whether a call has failed: no other game begins then.
    fn failed(&self) -> bool {
        false
    }
}

/// Plays the games of an evaluation, and records them if there is a sink.
pub(super) fn play<G: Game>(
    game: &G,
    values: &impl BatchedValues<G>,
    round: &RoundSpec<'_>,
    sink: Option<Sink<'_>>,
) -> Vec<Outcome> {
    let start = initial(game);
    match sink {
        None => play_with(game, values, round, &start, |_| NoLearner),
        Some(sink) => play_with(game, values, round, &start, |number| {
            recorder(game, sink, round.seed, number)
        }),
    }
}

/// Plays games that begin with a given move; `None` if it is illegal.
pub(super) fn play_from<G: Game>(
    game: &G,
    values: &impl BatchedValues<G>,
    first: FirstMove<'_>,
    round: &RoundSpec<'_>,
) -> Option<Vec<Outcome>> {
    let start = with_first_move(game, first)?;
    Some(play_with(game, values, round, &start, |_| NoLearner))
}

fn play_with<G: Game, L: Learner<G>>(
    game: &G,
    values: &impl BatchedValues<G>,
    round: &RoundSpec<'_>,
    start: &StartFn<'_, G>,
    observe: impl Fn(u64) -> L + Sync,
) -> Vec<Outcome> {
    let stop = || values.failed() || (round.stop)();
    let numbers: Range<u64> = round.numbers.clone();
    share_out(values.threads(round.threads), numbers, stop, |next| {
        let mut played = Vec::new();
        play_batched_from(
            game,
            values.games_together(),
            |_, rng| start(rng),
            |decisions| values.choose(game, decisions),
            || {
                let number = next()?;
                let rng = evaluation_rng(round.seed, number);
                Some((number, rng, observe(number)))
            },
            |number, outcome| {
                (round.on_game)(&outcome);
                played.push((number, outcome));
            },
        );
        played
    })
}

/// The choice for one state at a time.
pub(super) fn policy_fn<'a, G: Game>(
    game: &'a G,
    values: impl BatchedValues<G> + Send + 'a,
) -> PolicyFn<'a> {
    Box::new(move |tiles: &[u8], chance_state: ChanceState| {
        let state = game.state(tiles, chance_state)?;
        let decisions: Vec<_> = Decision::new(game, state).into_iter().collect();
        let chosen = values.choose(game, &decisions);
        Some(chosen.iter().map(|slide| slide.direction()).collect())
    })
}
