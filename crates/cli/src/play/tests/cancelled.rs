//! The worker.

use std::sync::Arc;
use std::sync::mpsc::channel;

use afterstate_lab::LabError;
use afterstate_lab::agent::{
    Agent, BoardState, FirstMove, PolicyFn, RoundSpec, SearchObserver, StateAnalysis,
};
use afterstate_lab::search::SearchSpec;

use super::super::events::{AnalysisJob, AppEvent};
use super::super::worker::Worker;
use super::{Table, analysis};

/// An agent whose moves are worth these totals: up, right, down, left.
struct Fixed([f32; 4]);

impl Agent for Fixed {
    fn play(
        &self,
        _: &RoundSpec<'_>,
        _: Option<&(dyn Fn(&afterstate::format::episode::EpisodeRecord) + Sync)>,
    ) -> Vec<afterstate::tally::Outcome> {
        Vec::new()
    }

    fn play_from(
        &self,
        _: FirstMove<'_>,
        _: &RoundSpec<'_>,
    ) -> Option<Vec<afterstate::tally::Outcome>> {
        None
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        boards.iter().map(|_| Some(analysis(self.0))).collect()
    }

    fn analyze_watched(&self, _: &BoardState, watch: &SearchObserver<'_>) -> Option<StateAnalysis> {
        while !(watch.stop)() {
            std::thread::yield_now();
        }
        None
    }

    fn with_search(self: Arc<Self>, _: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        Ok(self)
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        Box::new(|_, _| None)
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// A search that never ends is cancelled by the next board, and the interface is told the values of
/// the model meanwhile.
#[test]
fn a_search_of_a_board_that_was_left_is_cancelled() {
    let (sender, receiver) = channel();
    let spec_of = Box::new(|limit: &_| SearchSpec::new(Clone::clone(limit)));
    let agent = Arc::new(Fixed([1.0, 2.0, 3.0, 4.0]));
    let worker = Worker::start(agent, spec_of, move |event| sender.send(event).is_ok());
    let board = Table::new("2048", (4, 4), |_| ())
        .app
        .session
        .state()
        .unwrap();
    for number in 1..=3 {
        worker.ask(AnalysisJob {
            number,
            oldest: number,
            board: board.clone(),
            limit: "5ply".parse().unwrap(),
        });
        loop {
            let Ok(AppEvent::Analyzed { job, complete, .. }) = receiver.recv() else {
                panic!("no analysis");
            };
            assert!(!complete, "a search that has no end has ended");
            if job == number {
                break;
            }
        }
    }
    assert!(!worker.has_ended());
    let limit = "1ply".parse().unwrap();
    worker.ask(AnalysisJob {
        number: 4,
        oldest: 4,
        board,
        limit,
    });
    let found = receiver.recv();
    assert!(
        matches!(found, Ok(AppEvent::Analyzed { complete: true, .. })),
        "{found:?}"
    );
}
