//! Players that know nothing, to measure others by: one moves at random, one takes the largest reward.

use afterstate::game::{Direction, Game, Shape};
use afterstate::play::{Policy, Random, Step};
use afterstate::random::Rng;
use afterstate::tally::Outcome;

use crate::LabError;
use crate::evaluate::Contender;
use crate::recorder::Sink;
use crate::registry::{self, OnBoard, on_board};
use crate::session::{Lesson, play_games};

/// A player without a network, of some game.
#[derive(Clone, Debug)]
pub struct Baseline {
    kind: Kind,
    game: String,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Random,
    Greedy,
}

impl Baseline {
    /// The names that [`Baseline::named`] knows.
    pub const NAMES: [&str; 2] = ["random", "greedy"];

    /// The player of this name, if it is one of [`Baseline::NAMES`].
    ///
    /// # Errors
    /// When there is no such game.
    pub fn named(name: &str, game: &str, shape: Shape) -> Result<Option<Self>, LabError> {
        let kind = match name {
            "random" => Kind::Random,
            "greedy" => Kind::Greedy,
            _ => return Ok(None),
        };
        registry::rules(game)?;
        Ok(Some(Self {
            kind,
            game: game.to_owned(),
            shape,
        }))
    }
}

impl Contender for Baseline {
    fn game(&self) -> (&str, Shape) {
        (&self.game, self.shape)
    }

    fn search(&self) -> &'static str {
        match self.kind {
            Kind::Random => "random",
            Kind::Greedy => "greedy",
        }
    }

    fn play(&self, lesson: &Lesson<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        let games = Games {
            kind: self.kind,
            lesson,
            sink,
        };
        // The game was found when the player was made.
        on_board(&self.game, self.shape, games).unwrap_or_default()
    }
}

struct Games<'a> {
    kind: Kind,
    lesson: &'a Lesson<'a>,
    sink: Option<Sink<'a>>,
}

impl OnBoard for Games<'_> {
    type Output = Vec<Outcome>;

    fn on<G: Game>(self, game: G) -> Self::Output {
        match self.kind {
            Kind::Random => play_games(&game, self.lesson, || Random, self.sink),
            Kind::Greedy => play_games(&game, self.lesson, || Grabbing, self.sink),
        }
    }
}

/// Takes the largest reward, and any of those that are equal.
struct Grabbing;

impl<G: Game> Policy<G> for Grabbing {
    fn choose(&mut self, game: &G, state: G::State, rng: &mut Rng) -> Option<Step<G>> {
        let slides = game.slides(state);
        let most = slides.legal().map(|(_, _, reward)| reward).max()?;
        let mut best: Vec<(Direction, G::After, u32)> = slides.legal().collect();
        best.retain(|&(_, _, reward)| reward == most);
        let pick = rng.below(best.len() as u32) as usize;
        Some(Step::new(state, best[pick], 0.0))
    }
}

#[cfg(test)]
mod tests {
    use afterstate::tally::Tally;

    use super::*;

    fn tally(name: &str, game: &str, games: u64) -> Tally {
        let shape = Shape::new(4, 4).unwrap();
        let player = Baseline::named(name, game, shape).unwrap().unwrap();
        let lesson = Lesson {
            numbers: 0..games,
            seed: 1,
            threads: 2,
            stop: &|| false,
            seen: &|_| (),
            updates: u64::MAX,
            learned: &|_| (),
        };
        let mut tally = Tally::default();
        for outcome in player.play(&lesson, None) {
            tally.add(&outcome);
        }
        tally
    }

    /// The course's table of random play over a million games: how many games end with each largest tile.
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
    fn who_grabs_plays_better_than_who_does_not() {
        for game in ["2048", "threes", "threes-original", "2584"] {
            let (random, greedy) = (tally("random", game, 2000), tally("greedy", game, 2000));
            assert!(greedy.mean() > 1.2 * random.mean(), "{game}");
        }
        assert!(
            Baseline::named("nobody", "2048", Shape::FOUR)
                .unwrap()
                .is_none()
        );
    }
}
