//! Plots drawn at the end of a run.

use std::path::{Path, PathBuf};

use crate::LabError;
use crate::disk::inside;
use crate::plot::{self, Plot};
use crate::run::curve_of;

/// The folder of a run's plots, inside its own.
const PLOTS: &str = "plots";

/// Draws the plots of a run into its `plots/`; none while no block is complete.
///
/// # Errors
/// When the blocks cannot be read, or the plots cannot be written.
pub fn draw_plots(run: &Path, title: &str) -> Result<Vec<PathBuf>, LabError> {
    let plots = render(run, title)?;
    save(&plots, run)
}

/// Draws them if one is missing, as after a kill or on a full disk; none otherwise.
///
/// # Errors
/// As for [`draw_plots`].
pub(crate) fn draw_missing_plots(run: &Path, title: &str) -> Result<Vec<PathBuf>, LabError> {
    let plots = render(run, title)?;
    match all_exist(&plots, run) {
        true => Ok(Vec::new()),
        false => save(&plots, run),
    }
}

/// Whether all these plots are in the folder of a run.
fn all_exist(plots: &[Plot], run: &Path) -> bool {
    let folder = plots_of(run);
    plots.iter().all(|plot| {
        let file = |kind: &str| folder.join(format!("{}.{kind}", plot.name())).exists();
        file("png") && file("svg")
    })
}

fn render(run: &Path, title: &str) -> Result<Vec<Plot>, LabError> {
    let curve = curve_of(run)?;
    match curve.points.is_empty() {
        true => Ok(Vec::new()),
        false => Ok(plot::plots(&[curve], title)?),
    }
}

fn save(plots: &[Plot], run: &Path) -> Result<Vec<PathBuf>, LabError> {
    if plots.is_empty() {
        return Ok(Vec::new());
    }
    Ok(plot::save(plots, &plots_folder(run)?)?)
}

/// The folder of a run's plots, to write to.
///
/// # Errors
/// When it is something else, such as a link that leads out of the run.
pub fn plots_folder(run: &Path) -> Result<PathBuf, LabError> {
    let folder = plots_of(run);
    inside::check_folder(&folder).map_err(LabError::file("write", &folder))?;
    Ok(folder)
}

/// The folder of a run's plots.
pub(crate) fn plots_of(run: &Path) -> PathBuf {
    run.join(PLOTS)
}

/// Whether a run has complete blocks but lacks a plot of them.
pub(crate) fn lacks_plots(run: &Path) -> bool {
    render(run, "").is_ok_and(|plots| !all_exist(&plots, run))
}
