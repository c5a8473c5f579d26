//! Baselines: agents without a network, for comparison. One moves at random, one maximises the
//! immediate reward.

use std::sync::Arc;

use afterstate::game::{ChanceState, Direction, Game, Shape};
use afterstate::policy::{GreedyReward, Policy, Random};
use afterstate::random::game_rng;
use afterstate::tally::Outcome;
use afterstate::value::{ActionValue, ActionValues, Decision};

use super::{
    Agent, BoardState, FirstMove, PolicyFn, RoundSpec, StartFn, StateAnalysis, initial, play_games,
    with_first_move,
};
use crate::LabError;
use crate::games::{GameVisitor, with_game};
use crate::recorder::Sink;

/// A baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Moves at random.
    Random,
    /// Takes the largest reward; equal rewards have the same probability.
    Greedy,
}

impl Baseline {
    /// All baselines.
    pub const ALL: [Self; 2] = [Self::Random, Self::Greedy];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Greedy => "greedy",
        }
    }

    /// The baseline of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|baseline| baseline.name() == name)
    }

    /// The agent for a game and a board.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn agent(self, game: &str, shape: Shape) -> Result<Arc<dyn Agent>, LabError> {
        with_game(game, shape, self)
    }
}

impl GameVisitor for Baseline {
    type Output = Arc<dyn Agent>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        Arc::new(BaselineAgent {
            game,
            baseline: self,
        })
    }
}

struct BaselineAgent<G> {
    game: G,
    baseline: Baseline,
}

impl<G: Game> BaselineAgent<G> {
    /// The moves that it may choose.
    fn choices(&self, decision: &Decision<G>) -> Vec<Direction> {
        let slides = decision.slides();
        let most = slides.legal().map(|slide| slide.reward()).max();
        let may = |reward| self.baseline == Baseline::Random || Some(reward) == most;
        let legal = slides.legal().filter(|slide| may(slide.reward()));
        legal.map(|slide| slide.direction()).collect()
    }

    fn play_games(
        &self,
        round: &RoundSpec<'_>,
        start: &StartFn<'_, G>,
        sink: Option<Sink<'_>>,
    ) -> Vec<Outcome> {
        match self.baseline {
            Baseline::Random => play_games(&self.game, round, || Random, start, sink),
            Baseline::Greedy => play_games(&self.game, round, || GreedyReward, start, sink),
        }
    }

    fn analysis(&self, decision: &Decision<G>) -> StateAnalysis {
        let mut values = ActionValues::default();
        // Neither estimates the rest of the game, and random moves have no values at all.
        let valued = decision.slides().legal();
        for slide in valued.filter(|_| self.baseline == Baseline::Greedy) {
            let total = slide.reward() as f32;
            values.set(slide.direction(), ActionValue { value: 0.0, total });
        }
        let mut rng = game_rng(0, 0);
        let chosen = match self.baseline {
            Baseline::Random => Random.choose(&self.game, decision, &mut rng),
            Baseline::Greedy => GreedyReward.choose(&self.game, decision, &mut rng),
        };
        StateAnalysis::of(decision, values, chosen.direction())
    }
}

impl<G: Game> Agent for BaselineAgent<G> {
    fn search(&self) -> &str {
        self.baseline.name()
    }

    fn draws_per_move(&self) -> Option<u32> {
        Some(1)
    }

    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.play_games(round, &initial(&self.game), sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        let start = with_first_move(&self.game, first)?;
        Some(self.play_games(round, &start, None))
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let one = |board: &BoardState| {
            let state = self.game.state(&board.tiles, board.chance_state)?;
            let decision = Decision::new(&self.game, state);
            Some(decision.map_or(StateAnalysis::OVER, |decision| self.analysis(&decision)))
        };
        boards.iter().map(one).collect()
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        Box::new(move |tiles: &[u8], chance_state: ChanceState| {
            let state = self.game.state(tiles, chance_state)?;
            let decision = Decision::new(&self.game, state);
            Some(decision.map_or_else(Vec::new, |decision| self.choices(&decision)))
        })
    }

    fn bytes(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use afterstate::tally::Tally;

    use super::*;

    fn tally(name: &str, game: &str, games: u64) -> Tally {
        let agent = Baseline::named(name)
            .unwrap()
            .agent(game, Shape::FOUR)
            .unwrap();
        let mut tally = Tally::default();
        for outcome in agent.play(&RoundSpec::new(0..games, 1, 2), None) {
            tally.add(&outcome);
        }
        tally
    }

    /// The course's table of random play over a million games: how many games end with each largest
    /// tile.
    #[test]
    fn random_threes_ends_as_the_course_says() {
        let tally = tally("random", "threes", 20_000);
        for (tile, share) in [(6, 0.01), (12, 0.14), (24, 0.45), (48, 0.35), (96, 0.05)] {
            let found = tally.end(tile);
            assert!(
                (found - share).abs() < 0.0125,
                "{tile}: {found} for {share}"
            );
        }
    }

    #[test]
    fn the_greedy_baseline_beats_the_random_one() {
        for game in ["2048", "threes", "threes-original", "2584"] {
            let (random, greedy) = (tally("random", game, 2000), tally("greedy", game, 2000));
            assert!(greedy.mean() > 1.2 * random.mean(), "{game}");
        }
        assert_eq!(Baseline::named("nobody"), None);
    }
}
