//! Restarts: a game is played again from its middle, and that game again from its own middle
//! (Matsuzaki 2017).
//!
//! path = the afterstates of a whole game; while |path| >= shortest: play a new game that begins
//! with a spawn after path[|path| / 2], learn from it, and let path be its afterstates.
//!
//! Most weights of a late position are read in few games, because few games get there. A chain of
//! restarts plays the second half of a game once more, its last quarter twice more, and so on, so
//! that positions near the end are visited about log2(|path| / shortest) times as often.
//!
//! Restarts continue with the random stream of their game, so that a game and its restarts are one
//! unit that its number and the seed determine. A game without restarts draws the same numbers.

use super::GameChain;
use crate::Value;
use crate::episode::{Episode, LearningPolicy, TdErrorStats, play_to_end};
use crate::game::{After, Game, Slide, State};
use crate::random::Rng;
use crate::tally::Outcome;
use crate::value::Decision;

/// Plays games with a player, and again from their middle.
pub struct Restarting<G: Game, P> {
    player: P,
    /// The shortest game that is played again; 0 for none.
    shortest: usize,
    path: Vec<After<G::Board>>,
}

impl<G: Game, P: LearningPolicy<G>> Restarting<G, P> {
    /// Games of at least `shortest` moves are played again; none if it is 0.
    pub fn new(player: P, shortest: usize) -> Self {
        Self {
            player,
            shortest,
            path: Vec::new(),
        }
    }

    #[inline(always)]
    fn play_on(&mut self, game: &G, episode: Episode<G>, rng: &mut Rng) -> Outcome {
        self.path.clear();
        play_to_end(game, episode, self, rng)
    }
}

impl<G: Game, P: LearningPolicy<G>> GameChain<G> for Restarting<G, P> {
    #[inline(always)]
    fn play(&mut self, game: &G, rng: &mut Rng, mut finished: impl FnMut(Outcome)) {
        finished(self.play_on(game, Episode::start(game, rng), rng));
        while self.shortest > 0 && self.path.len() >= self.shortest {
            let middle = self.path[self.path.len() / 2];
            let episode = Episode::start_after(game, middle, rng);
            finished(self.play_on(game, episode, rng));
        }
    }

    fn player(&mut self) -> &mut dyn LearningPolicy<G> {
        &mut self.player
    }
}

impl<G: Game, P: LearningPolicy<G>> LearningPolicy<G> for Restarting<G, P> {
    #[inline(always)]
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        let slide = self.player.act(game, decision, spawn_reward, rng);
        if self.shortest > 0 {
            self.path.push(slide.after());
        }
        slide
    }

    #[inline(always)]
    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        self.player.finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.player.set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        self.player.td_errors()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::{Learner, Step};
    use crate::game::{Fast2048, Grid, PowersOfTwo, Shape};
    use crate::policy::Random;
    use crate::random::game_rng;
    use crate::tally::Start;

    /// The first state of a game, and its afterstates.
    type Path<B> = (State<B>, Vec<After<B>>);

    #[derive(Default)]
    struct Paths<G: Game> {
        games: Vec<Path<G::Board>>,
        over: bool,
    }

    impl<G: Game> Learner<G> for Paths<G> {
        fn step(&mut self, step: &Step<G>) {
            if self.games.is_empty() || std::mem::take(&mut self.over) {
                self.games.push((step.state, Vec::new()));
            }
            self.games.last_mut().unwrap().1.push(step.after);
        }

        fn finish(&mut self, _: State<G::Board>, _: u32) {
            self.over = true;
        }
    }

    fn paths<G: Game>(game: &G, shortest: usize, seed: u64) -> (Paths<G>, Vec<Outcome>) {
        let learner = Paths {
            games: Vec::new(),
            over: false,
        };
        let mut restarting = Restarting::new((Random, learner), shortest);
        let mut outcomes = Vec::new();
        restarting.play(game, &mut game_rng(seed, 0), |outcome| {
            outcomes.push(outcome)
        });
        (restarting.player.1, outcomes)
    }

    fn starts_in_the_middle<G: Game>(game: &G) {
        for seed in 0..20 {
            let (played, outcomes) = paths(game, 10, seed);
            assert!(outcomes.len() > 1, "a random game has more than ten moves");
            // A game may be over before its first move: it has an outcome, but no path.
            let lengths: Vec<u64> = outcomes.iter().map(|outcome| outcome.moves).collect();
            let (last, before) = lengths.split_last().unwrap();
            assert!(*last < 10 && before.iter().all(|&moves| moves >= 10));
            assert_eq!(outcomes[0].start, Start::Initial);
            assert!(
                outcomes[1..]
                    .iter()
                    .all(|outcome| outcome.start == Start::Given)
            );
            for pair in played.games.windows(2) {
                let [(_, path), (first, _)] = pair else {
                    unreachable!()
                };
                let middle = path[path.len() / 2];
                let cells = game.shape().cells();
                let new: Vec<usize> = (0..cells)
                    .filter(|&i| middle.cell(i) != first.cell(i))
                    .collect();
                assert_eq!(new.len(), 1, "one spawn after the middle");
                assert_eq!(middle.cell(new[0]), 0);
            }
        }
    }

    #[test]
    fn a_restart_begins_with_a_spawn_after_the_middle_of_the_last_path() {
        starts_in_the_middle(&Fast2048::new());
        starts_in_the_middle(&Grid::new(Shape::new(3, 3).unwrap(), &PowersOfTwo));
    }

    #[test]
    fn without_restarts_the_games_are_the_same() {
        let game = Fast2048::new();
        for seed in 0..5 {
            let (_, once) = paths(&game, 0, seed);
            let (_, again) = paths(&game, 10, seed);
            assert_eq!(once, again[..1]);
        }
    }
}
