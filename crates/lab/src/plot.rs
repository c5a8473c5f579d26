//! A run's pictures, each as PNG and as SVG: its score, how many games reached each tile (win rate), how
//! many ended there (termination rate), and, where it was measured, how far it is from perfect play.
//!
//! The idea: a picture is first a list of shapes in plain numbers (`scene`), written out twice, once
//! as text (`svg`) and once as pixels (`png`). So both show the same, a test can ask whether any text
//! is cut off, and no system font, browser or drawing backend is needed: the letters come from a
//! crate that carries Noto Sans.
//!
//! Runs of many blocks are noisy, so neighbouring blocks are merged until about 100 points are left
//! (`merge`). Merging adds tallies up, hence a point is exactly the mean or share of its games and no
//! game is lost; the axis says how many games a point has.

mod chart;
mod legend;
mod letters;
mod merge;
mod picture;
mod png;
mod scale;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use afterstate::tally::Tally;

use crate::disk::replace;
use letters::Letters;
use scene::Scene;

/// One run as it is drawn: its name and its blocks, in the order they were played.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name in the legend.
    pub label: String,
    /// Its blocks, by rising number of games.
    pub points: Vec<Point>,
    /// What was measured against the solution of its game, by rising number of games; mostly nothing.
    pub gaps: Vec<Gap>,
    /// What it learned from memory, by rising number of games; nothing if it did not.
    pub studies: Vec<StudyPoint>,
}

/// One block of a run.
#[derive(Clone, Debug)]
pub struct Point {
    /// Games so far at the end of the block.
    pub games: u64,
    /// What the games of this block alone came to.
    pub tally: Tally,
}

/// What a run learned from memory in one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudyPoint {
    /// Games so far at the end of the block.
    pub games: u64,
    /// The mean loss of a batch, in the network's own units.
    pub loss: f64,
    /// The mean value of a state in a batch, in points.
    pub value: f64,
    /// Batches so far at the end of the block.
    pub updates: u64,
    /// R4's running average by then.
    pub average: f64,
}

/// How far a run was from perfect play.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Games it was trained for.
    pub games: u64,
    /// What its expected score lacks of the best, as a share of that.
    pub relative: f64,
}

/// One of several things that are compared by a number: a row of [`draw_lanes`].
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its name, at the left.
    pub label: String,
    /// The single numbers.
    pub dots: Vec<f64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// The interval of the mean.
    pub interval: Option<[f64; 2]>,
    /// The mean in words, at the right.
    pub value: String,
    /// And what is to be said of it.
    pub remark: String,
    /// Its colour.
    pub tint: Tint,
}

/// The colours of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// The first lane, which the others are compared with.
    First,
    /// Neither better nor worse.
    Plain,
    /// Better than the first lane.
    Better,
    /// Worse than that.
    Worse,
}

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// There was no run to draw.
    #[error("no runs to draw")]
    NoRuns,
    /// A run has no finished games.
    #[error("the run `{label}` has no finished games to draw")]
    NoGames {
        /// The run's name.
        label: String,
    },
    /// The folder for the pictures could not be created.
    #[error("cannot create the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A picture could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The picture's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The font that the program carries could not be read.
    #[error("the built-in font is damaged")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// The picture could not be turned into a PNG.
    #[error("cannot make a PNG of {width}x{height} pixels: {reason}")]
    Png {
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
        /// What the encoder said.
        reason: String,
    },
}

/// Draws `score`, `win-rate` and `termination-rate` of the runs into `dir`, as `.png` and `.svg`, also
/// `gap` of those that have any, and `average`, `loss` and `value` of those that learn from memory, and returns the paths. The folder is created if missing; every file
/// appears whole or not at all.
///
/// One run is drawn with a line or band for every tile; several runs with a panel for every tile, so
/// that they can be compared. Of the gap there is a line for each run.
///
/// ```
/// use afterstate::tally::{Outcome, Tally};
/// use afterstate_lab::plot::{Curve, Point, draw};
///
/// let mut tally = Tally::default();
/// tally.add(&Outcome { score: 20_000, moves: 1_000, largest: 2048 });
/// let points = vec![Point { games: 1, tally }];
/// let curve = Curve { label: "my run".into(), points, gaps: Vec::new(), studies: Vec::new() };
/// let dir = std::env::temp_dir().join("afterstate-plot-example");
/// let files = draw(&[curve], "My first run", &dir)?;
/// assert_eq!(files.len(), 6);
/// # std::fs::remove_dir_all(dir).ok();
/// # Ok::<(), afterstate_lab::plot::PlotError>(())
/// ```
pub fn draw(curves: &[Curve], title: &str, dir: &Path) -> Result<Vec<PathBuf>, PlotError> {
    if curves.is_empty() {
        return Err(PlotError::NoRuns);
    }
    let runs = merge::runs(curves)?;
    let letters = Letters::new()?;
    let mut scenes = vec![
        ("score", picture::score(&runs, title, &letters)),
        ("win-rate", picture::win_rate(&runs, title, &letters)),
        (
            "termination-rate",
            picture::termination_rate(&runs, title, &letters),
        ),
    ];
    scenes.extend(picture::gap(curves, title, &letters).map(|scene| ("gap", scene)));
    scenes.extend(picture::average(curves, title, &letters).map(|scene| ("average", scene)));
    scenes.extend(picture::loss(curves, title, &letters).map(|scene| ("loss", scene)));
    scenes.extend(picture::value(curves, title, &letters).map(|scene| ("value", scene)));
    save_all(&scenes, &letters, dir)
}

/// Draws a row for each lane into `dir`, as `NAME.png` and `NAME.svg`, and returns the paths: a dot for each number, the mean with its
/// interval above them, and a line at the mean of the first lane through all rows.
///
/// # Errors
/// When there is nothing to draw, or it cannot be written.
pub fn draw_lanes(
    lanes: &[Lane],
    title: &str,
    about: &str,
    dir: &Path,
    name: &str,
) -> Result<Vec<PathBuf>, PlotError> {
    if lanes.is_empty() {
        return Err(PlotError::NoRuns);
    }
    let letters = Letters::new()?;
    let scene = picture::lanes(lanes, title, about, &letters);
    save_all(&[(name, scene)], &letters, dir)
}

/// Everything is drawn in memory before the first file is touched.
fn save_all(
    scenes: &[(&str, Scene)],
    letters: &Letters,
    dir: &Path,
) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    for (name, scene) in scenes {
        files.push((format!("{name}.png"), png::render(scene, letters)?));
        files.push((format!("{name}.svg"), svg::render(scene).into_bytes()));
    }
    fs::create_dir_all(dir).map_err(|source| PlotError::Folder {
        path: dir.to_owned(),
        source,
    })?;
    files
        .into_iter()
        .map(|(name, bytes)| save(dir, &name, &bytes))
        .collect()
}

fn save(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, PlotError> {
    let path = dir.join(name);
    match replace(&path, bytes) {
        Ok(()) => Ok(path),
        Err(source) => Err(PlotError::Write { path, source }),
    }
}
