//! The arguments of a search.

use afterstate_lab::LabError;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::search::{SearchLimit, SearchSpec};
use anyhow::bail;

use super::numbers::{probability, table_mebibytes, tile};

/// How far to look ahead.
#[derive(Clone, Debug, clap::Args)]
pub struct SearchArgs {
    /// How far to look ahead: moves of the player (`1ply` compares the moves by their values, `2ply`
    /// looks one new tile and one move further, ...), a time for each move (`100ms`), or plies by the
    /// number of empty cells (`empty:4=5ply,8=4ply,3ply`)
    #[arg(long, value_name = "SEARCH", default_value = "1ply", value_parser = limit)]
    pub search: SearchLimit,
    /// The size of the table of searched positions in MiB [default: 64]
    #[arg(long, value_name = "MIB", allow_negative_numbers = true, value_parser = table_mebibytes)]
    pub hash: Option<u64>,
    /// Search one ply less behind new tiles with a smaller probability than P; 0.2 selects the 4-tiles
    /// of 2048
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = probability)]
    pub cutoff: Option<f64>,
    /// Search boards with this tile or a larger one as if their large tiles were lower by a step, for
    /// networks that have hardly seen them
    #[arg(long, value_name = "TILE", allow_negative_numbers = true, value_parser = tile)]
    pub downgrade: Option<u64>,
}

const CUTOFF: &str = "--cutoff";

/// A limit of a search.
pub(super) fn limit(text: &str) -> Result<SearchLimit, LabError> {
    text.parse()
}

impl SearchArgs {
    /// Whether any of them was given.
    pub fn any(&self) -> bool {
        !self.search.is_greedy() || self.option().is_some()
    }

    /// The first option that only a search has.
    fn option(&self) -> Option<&'static str> {
        let given = [
            (self.hash.is_some(), "--hash"),
            (self.cutoff.is_some(), CUTOFF),
            (self.downgrade.is_some(), "--downgrade"),
        ];
        given
            .into_iter()
            .find_map(|(given, name)| given.then_some(name))
    }

    /// The contender with this search.
    pub fn of(&self, contender: Contender) -> anyhow::Result<Contender> {
        self.on_threads(0, contender)
    }

    /// The same, with this number of threads for one board; 0 means one for each core.
    pub fn on_threads(&self, threads: usize, contender: Contender) -> anyhow::Result<Contender> {
        self.check(&[])?;
        self.searching(&self.search, threads, contender)
    }

    /// The same search without cut-off and downgrading.
    pub fn plain(&self) -> Self {
        Self {
            cutoff: None,
            downgrade: None,
            ..self.clone()
        }
    }

    /// Refuses options without effect, where a command also searches with other limits.
    pub fn check(&self, others: &[&SearchLimit]) -> anyhow::Result<()> {
        let limits = || others.iter().copied().chain([&self.search]);
        match self.option() {
            Some(option) if limits().all(SearchLimit::is_greedy) => {
                let least = if option == CUTOFF { 3 } else { 2 };
                bail!("{option} has no effect on a search of 1ply; use --search {least}ply or more")
            }
            _ if self.cutoff.is_some() && !limits().any(SearchLimit::can_cut_off) => {
                bail!("{CUTOFF} has no effect on a search of 2ply; use --search 3ply or more")
            }
            _ => Ok(()),
        }
    }

    /// The contender with a limit and these options, and a number of threads for one board.
    pub fn searching(
        &self,
        limit: &SearchLimit,
        threads: usize,
        contender: Contender,
    ) -> anyhow::Result<Contender> {
        if limit.is_greedy() {
            return Ok(contender);
        }
        let spec = SearchSpec {
            threads,
            ..self.spec(limit)
        };
        Ok(contender.with_search(&spec)?)
    }

    /// The search with this limit and the given options.
    pub fn spec(&self, limit: &SearchLimit) -> SearchSpec {
        let mut spec = SearchSpec::new(limit.clone());
        if let Some(mebibytes) = self.hash {
            spec.table_bytes = (mebibytes << 20) as usize;
        }
        spec.rare_below = self.cutoff.unwrap_or(0.0);
        spec.downgrade_from = self.downgrade;
        spec
    }
}
