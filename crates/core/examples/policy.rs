//! A policy of one's own on a value function: softmax, which prefers good moves without excluding
//! others, and its mean score beside that of the greedy policy.

use afterstate::episode::{NoLearner, play};
use afterstate::game::{Fast2048, Game, Slide};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, Td, TupleSet};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::{Rng, game_rng};
use afterstate::value::{Decision, ValueFunction};

struct Softmax<'v, V, L> {
    values: &'v V,
    temperature: f32,
    lookup: L,
}

impl<G: Game, V: ValueFunction<G>> Policy<G> for Softmax<'_, V, V::Lookup> {
    fn choose(&mut self, game: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        let values = self.values.action_values(game, decision, &mut self.lookup);
        let best = values.best().and_then(|best| values.get(best));
        let best = best.expect("a decision has a legal slide").total;
        let weight = |slide: &Slide<G::Board>| {
            let value = values.get(slide.direction()).map_or(best, |it| it.total);
            ((value - best) / self.temperature).exp()
        };
        let mut left = rng.below(1 << 24) as f32 / (1 << 24) as f32;
        left *= decision
            .slides()
            .legal()
            .map(|slide| weight(&slide))
            .sum::<f32>();
        let mut slides = decision.slides().legal();
        let found = slides.find(|slide| {
            left -= weight(slide);
            left < 0.0
        });
        let last = || decision.slides().legal().last();
        found.or_else(last).expect("a decision has a legal slide")
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let game = Fast2048::new();
    let tuples = TupleSet::parse("8x4", game.shape(), true)?;
    let network = AfterstateNetwork::new(&tuples, &NetworkOptions::default())?;
    let mut greedy = Greedy::new(&game, &network, Ties::Order);
    let mut learner = Backward::<_, _, Td>::new(&game, &network, TdParams::default());
    for number in 0..1000 {
        play(&game, &mut greedy, &mut learner, &mut game_rng(1, number));
    }
    let mut softmax = Softmax {
        values: &network,
        temperature: 20.0,
        lookup: Default::default(),
    };
    let (mut by_softmax, mut by_greedy) = (0, 0);
    for number in 0..200 {
        by_softmax += play(
            &game,
            &mut softmax,
            &mut NoLearner,
            &mut game_rng(2, number),
        )
        .score;
        by_greedy += play(&game, &mut greedy, &mut NoLearner, &mut game_rng(2, number)).score;
    }
    println!("greedy {}, softmax {}", by_greedy / 200, by_softmax / 200);
    Ok(())
}
