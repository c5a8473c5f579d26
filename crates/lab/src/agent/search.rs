//! An agent that searches over the values of another.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use afterstate::episode::{Learner, NoLearner, Step, play_on};
use afterstate::game::{ChanceState, Direction, Game, Slide, State};
use afterstate::policy::Policy;
use afterstate::random::Rng;
use afterstate::search::{
    Expectimax, Helper, SearchOptions, SearchResult, StopCondition, TranspositionTable,
};
use afterstate::tally::Outcome;
use afterstate::value::{Decision, ValueFunction};
use sha2::{Digest, Sha256};

use super::{
    Agent, BoardState, Explanation, FirstMove, PolicyFn, RoundSpec, SearchObserver, StartFn,
    StateAnalysis, initial, recorder, with_first_move,
};
use crate::LabError;
use crate::memory::{MemoryBudget, Reservation};
use crate::recorder::{Sink, evaluation_rng};
use crate::search::{Clock, SearchSpec};
use crate::share::{share, threads, with_helpers};

/// An agent with a value function that can be searched.
pub(crate) trait ValueAgent: Agent + 'static {
    type Game: Game;
    type Values: ValueFunction<Self::Game>;

    fn game(&self) -> &Self::Game;

    /// Calls a function with the values as they are now.
    fn with_values<R>(&self, with: impl FnOnce(&Self::Values) -> R) -> R;
}

/// The agent that searches over the values of another.
///
/// # Errors
/// When the search does not fit the game.
pub(crate) fn search_agent<A: ValueAgent>(
    agent: Arc<A>,
    spec: &SearchSpec,
) -> Result<Arc<dyn Agent>, LabError> {
    let game = agent.game();
    let tiles = 1..=game.largest_tile();
    let tile_values: Vec<u64> = tiles.map(|tile| game.tile_value(tile)).collect();
    let reserved = MemoryBudget::process().reserve(spec.table_bytes as u64);
    Ok(Arc::new(SearchAgent {
        _reserved: reserved.map_err(|over| LabError::TableMemory {
            needed: over.needed,
            available: over.available,
        })?,
        options: spec.options(&tile_values)?,
        name: spec.to_string(),
        spec: spec.clone(),
        agent,
    }))
}

struct SearchAgent<A> {
    agent: Arc<A>,
    spec: SearchSpec,
    options: SearchOptions,
    name: String,
    /// The memory of the table, which is made for each round of games.
    _reserved: Reservation,
}

impl<A: ValueAgent> SearchAgent<A> {
    fn table(&self) -> TranspositionTable {
        TranspositionTable::new(self.spec.table_bytes)
    }

    /// How many of these threads help the one that searches a board: a small search needs no help.
    fn helpers(&self, threads: usize) -> usize {
        let small = self.options.depth.most() < Helper::LEAST_PLIES;
        if small { 0 } else { threads - 1 }
    }

    fn policy<'v>(
        &self,
        values: &'v A::Values,
        table: &'v TranspositionTable,
    ) -> Expectimax<'v, A::Game> {
        let search = Expectimax::new(self.agent.game(), values, self.options.clone(), table);
        match self.spec.clock() {
            Some(clock) => search.with_limit(clock),
            None => search,
        }
    }

    /// Analyses a board by a search, with the help of other threads.
    fn analysis(&self, with: Searching<'_, A>, board: &BoardState) -> Option<StateAnalysis> {
        let Searching {
            search,
            watch,
            values,
            table,
            helpers,
        } = with;
        let game = self.agent.game();
        let state = game.state(&board.tiles, board.chance_state)?;
        let Some(decision) = Decision::new(game, state) else {
            return Some(StateAnalysis::OVER);
        };
        let deepening = watch.is_some() || self.spec.clock().is_some();
        let mut search = match watch {
            Some(watch) => search.with_limit(Watched {
                clock: self.spec.clock(),
                watch,
                decision: &decision,
            }),
            None => search,
        };
        let done = AtomicBool::new(false);
        let help = |number: usize| {
            let search = Expectimax::new(game, values, self.options.clone(), table);
            let helper = Helper {
                number,
                of: helpers,
                deepening,
            };
            let mut search = search.with_limit(Flag(&done));
            search.help(game, &decision, helper);
        };
        let found = with_helpers(helpers, &help, || {
            // Helpers end also when the search panics, so that the panic is not waited for.
            let _ending = Ending(&done);
            search.search(game, &decision)
        });
        Some(StateAnalysis::of(&decision, found.values, found.best))
    }

    /// Analyses boards, which share a table. A search that is stopped leaves out the last of them,
    /// and those that it was searching have the values of the last ply that was complete.
    fn analyses(
        &self,
        boards: &[BoardState],
        watch: Option<&SearchObserver<'_>>,
    ) -> Vec<Option<StateAnalysis>> {
        let (table, threads) = (self.table(), threads(self.spec.threads));
        // Many boards are shared among the threads; a few are searched by all of them.
        let sharing = if boards.len() >= threads { threads } else { 1 };
        let helpers = self.helpers(threads / sharing);
        self.agent.with_values(|values| {
            let numbers = 0..boards.len() as u64;
            share(
                sharing,
                numbers,
                || watch.is_some_and(|watch| (watch.stop)()),
                || {
                    |number| {
                        let with = Searching {
                            search: self.policy(values, &table),
                            watch,
                            values,
                            table: &table,
                            helpers,
                        };
                        self.analysis(with, &boards[number as usize])
                    }
                },
            )
        })
    }

    /// A search may take seconds for each move, so a game that is stopped is left out.
    fn play_games(
        &self,
        round: &RoundSpec<'_>,
        start: &StartFn<'_, A::Game>,
        sink: Option<Sink<'_>>,
    ) -> Vec<Outcome> {
        let (game, table) = (self.agent.game(), self.table());
        self.agent.with_values(|values| {
            let played = share(round.threads, round.numbers.clone(), round.stop, || {
                let stopped = Rc::new(Cell::new(false));
                let mut policy = Stoppable {
                    policy: self.policy(values, &table),
                    stop: round.stop,
                    stopped: Rc::clone(&stopped),
                };
                move |number| {
                    let mut rng = evaluation_rng(round.seed, number);
                    let episode = start(&mut rng);
                    let outcome = match sink {
                        None => play_on(game, episode, &mut policy, &mut NoLearner, &mut rng),
                        Some(sink) => {
                            let recorder = recorder(game, sink, round.seed, number);
                            let mut observer = UnlessStopped {
                                learner: recorder,
                                stopped: Rc::clone(&stopped),
                            };
                            play_on(game, episode, &mut policy, &mut observer, &mut rng)
                        }
                    };
                    (!stopped.get()).then(|| {
                        (round.on_game)(&outcome);
                        outcome
                    })
                }
            });
            played.into_iter().map_while(|outcome| outcome).collect()
        })
    }
}

/// The search of one board.
struct Searching<'v, A: ValueAgent> {
    search: Expectimax<'v, A::Game>,
    /// Who follows it: then it deepens ply by ply.
    watch: Option<&'v SearchObserver<'v>>,
    values: &'v A::Values,
    table: &'v TranspositionTable,
    /// How many threads help.
    helpers: usize,
}

/// Sets a flag when it is dropped.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Ends the search of a helper.
struct Flag<'a>(&'a AtomicBool);

impl StopCondition for Flag<'_> {
    fn begin(&mut self) {}

    fn is_over(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<A: ValueAgent> Agent for SearchAgent<A> {
    fn search(&self) -> &str {
        &self.name
    }

    fn is_timed(&self) -> bool {
        self.spec.clock().is_some()
    }

    fn draws_per_move(&self) -> Option<u32> {
        Some(0)
    }

    fn explain(&self, board: &BoardState, direction: Direction) -> Option<Explanation> {
        self.agent.explain(board, direction)
    }

    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.play_games(round, &initial(self.agent.game()), sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        let start = with_first_move(self.agent.game(), first)?;
        Some(self.play_games(round, &start, None))
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        self.analyses(boards, None)
    }

    fn analyze_many(
        &self,
        boards: &[BoardState],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Option<StateAnalysis>> {
        self.analyses(boards, Some(&SearchObserver::until(stop)))
    }

    /// Deepens the search ply by ply: the last ply takes most of the time, and has the values of a
    /// search of that depth alone.
    fn analyze_watched(
        &self,
        board: &BoardState,
        watch: &SearchObserver<'_>,
    ) -> Option<StateAnalysis> {
        let table = self.table();
        let found = self.agent.with_values(|values| {
            let with = Searching {
                search: self.policy(values, &table),
                watch: Some(watch),
                values,
                table: &table,
                helpers: self.helpers(threads(self.spec.threads)),
            };
            self.analysis(with, board)
        });
        found.filter(|_| !(watch.stop)())
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        let table = self.table();
        Box::new(move |tiles: &[u8], chance_state: ChanceState| {
            let game = self.agent.game();
            let state = game.state(tiles, chance_state)?;
            let chosen = Decision::new(game, state).map(|decision| {
                self.agent
                    .with_values(|values| self.policy(values, &table).search(game, &decision).best)
            });
            Some(chosen.into_iter().collect())
        })
    }

    fn bytes(&self) -> u64 {
        self.agent.bytes() + self.spec.table_bytes as u64
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let mut sha = Sha256::new();
        sha.update(self.agent.digest()?);
        sha.update(&self.name);
        Some(sha.finalize().into())
    }
}

/// Ends a search by its clock, or when its follower says so, and reports its plies.
struct Watched<'a, G: Game> {
    clock: Option<Clock>,
    watch: &'a SearchObserver<'a>,
    decision: &'a Decision<G>,
}

impl<G: Game> StopCondition for Watched<'_, G> {
    fn begin(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.begin();
        }
    }

    fn is_over(&mut self) -> bool {
        (self.watch.stop)() || self.clock.as_mut().is_some_and(Clock::is_over)
    }

    fn searched(&mut self, found: &SearchResult) {
        let analysis = StateAnalysis::of(self.decision, found.values, found.best);
        (self.watch.on_ply)(found.plies, &analysis);
    }
}

/// A policy that ends a game quickly once it is stopped.
struct Stoppable<'a, P> {
    policy: P,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: Rc<Cell<bool>>,
}

impl<G: Game, P: Policy<G>> Policy<G> for Stoppable<'_, P> {
    fn choose(&mut self, game: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        if self.stopped.get() || (self.stop)() {
            self.stopped.set(true);
            let first = decision.slides().legal().next();
            return first.expect("a decision has a legal slide");
        }
        self.policy.choose(game, decision, rng)
    }
}

/// A learner that does not see the end of a game that was stopped.
struct UnlessStopped<L> {
    learner: L,
    stopped: Rc<Cell<bool>>,
}

impl<G: Game, L: Learner<G>> Learner<G> for UnlessStopped<L> {
    fn step(&mut self, step: &Step<G>) {
        self.learner.step(step);
    }

    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        if !self.stopped.get() {
            self.learner.finish(state, spawn_reward);
        }
    }
}
