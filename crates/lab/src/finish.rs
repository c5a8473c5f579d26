//! Plots drawn at the end of a run.

use std::path::{Path, PathBuf};

use crate::LabError;
use crate::plot;
use crate::run::curve_of;

/// The folder of a run's plots, inside its own.
const PLOTS: &str = "plots";

/// Draws the plots of a run into its `plots/`; none while no block is complete.
///
/// # Errors
/// When the blocks cannot be read, or the plots cannot be written.
pub fn draw_plots(run: &Path, title: &str) -> Result<Vec<PathBuf>, LabError> {
    let curve = curve_of(run)?;
    if curve.points.is_empty() {
        return Ok(Vec::new());
    }
    Ok(plot::draw(&[curve], title, &run.join(PLOTS))?)
}
