//! Drawings that explain the methods, laid out as plots are: shapes in plain numbers, rendered to
//! SVG and PNG.
//!
//! Every number in a drawing is computed by the core: real rules, real networks in which a few
//! weights are set, real update rules (`worked`). The pages of docs/how-it-works show the same
//! numbers: [`number_blocks`] are the tables between markers in them. A test compares drawings and
//! pages with this code; `cargo run -p afterstate-lab --example diagrams` writes them.
//!
//! To add a drawing, write a function in a file here, with its numbers in `worked.rs`, and name it in
//! `all`; show it on a page of docs/how-it-works.

mod backups;
mod canvas;
mod choosing;
mod coherence;
mod dqn;
mod learning;
mod pages;
mod text;
mod tuples;
pub(super) mod worked;

pub use backups::backup_diagrams;
pub use choosing::{choose_by_afterstate, choose_by_state};
pub use coherence::coherence;
pub use dqn::dqn;
pub use learning::{odd_end, reward_twice, td_lambda, td_monte_carlo};
pub use pages::{fill_page, number_blocks};
pub use tuples::{ntuple_lookup, table_sizes, tuple_set};

use afterstate::game::Shape;
use afterstate::ntuple::TupleSet;

use super::{Plot, PlotError};

/// The colours of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// Both themes.
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    /// The end of the name of its drawings.
    fn suffix(self) -> &'static str {
        match self {
            Self::Light => "",
            Self::Dark => "-dark",
        }
    }
}

/// All drawings of docs/how-it-works in a theme.
///
/// # Errors
/// When the system refuses the memory of a network.
pub fn all(theme: Theme) -> Result<Vec<Plot>, PlotError> {
    let set = TupleSet::parse("4x6", Shape::FOUR, true).expect("a named set fits its board");
    Ok(vec![
        tuple_set("4x6", &set, theme)?,
        ntuple_lookup(theme)?,
        table_sizes(theme)?,
        td_monte_carlo(theme)?,
        backup_diagrams(theme)?,
        choose_by_afterstate(theme)?,
        choose_by_state(theme)?,
        td_lambda(theme)?,
        coherence(theme)?,
        reward_twice(theme)?,
        odd_end(theme)?,
        dqn(theme)?,
    ])
}
