//! Plots of runs as PNG and SVG: the score, how many games reached each tile (win rate), how many
//! ended there (termination rate), and, where it was measured, how far the run is from optimal
//! play.
//!
//! A plot is first a list of shapes in plain numbers (`scene`), which is rendered twice, as text
//! (`svg`) and as pixels (`png`). So both show the same, a test can check that no text is cut off,
//! and no system font, browser or drawing backend is needed: the font comes from a crate that
//! contains Noto Sans.
//!
//! Runs of many blocks are noisy, so adjacent blocks are merged until about 100 points are left
//! (`merge`). Merging adds tallies, so a point is exactly the mean or proportion of its games and
//! no game is lost; the heading says how many games a point has.
//!
//! A curve that is the mean of several runs, as those of a sweep are, has a band around it (`band`).
//!
//! No curve makes the drawing panic: counts that contradict each other are an error, numbers that
//! are not finite have no point, and everything else is kept inside its frame.

mod band;
mod chart;
pub mod diagram;
mod legend;
mod letters;
mod merge;
mod pages;
mod png;
mod scale;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::curve::{Curve, GameScore};
use crate::disk::{replace, replace_inside};
use crate::numbers::grouped;
use letters::Letters;
use scene::Scene;

/// A plot that is laid out and can be rendered in either format, without touching the disk.
#[derive(Clone, Debug)]
pub struct Plot {
    name: String,
    scene: Scene,
}

impl Plot {
    /// Its name, which is that of its files without the ending: `win-rate`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content of its SVG file.
    pub fn svg(&self) -> String {
        svg::render(&self.scene)
    }

    /// The content of its PNG file.
    ///
    /// # Errors
    /// When there is no memory for its pixels.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        png::render(&self.scene, &Letters::new()?)
    }

    /// Writes it to a file, as SVG or PNG by the ending of its name. The file is replaced
    /// atomically.
    ///
    /// # Errors
    /// When the name has another ending, or the plot cannot be rendered or written.
    pub fn write(&self, file: &Path) -> Result<(), PlotError> {
        let path = || file.to_owned();
        let bytes = match file.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => self.svg().into_bytes(),
            Some("png") => self.png()?,
            _ => return Err(PlotError::Ending { path: path() }),
        };
        let written = replace(file, &bytes);
        written.map_err(|source| PlotError::Write {
            path: path(),
            source,
        })
    }
}

/// What was drawn; the JSON of `plot --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlotReport {
    /// The title of the plots.
    pub title: String,
    /// The run folders.
    pub runs: Vec<PathBuf>,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// One of several items that are compared by a number: a row of [`dot_rows`].
#[derive(Clone, Debug)]
pub struct DotRow {
    /// Its name, at the left.
    pub label: String,
    /// The numbers.
    pub dots: Vec<f64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// The interval of the mean.
    pub interval: Option<[f64; 2]>,
    /// The mean as text, at the right.
    pub value: String,
    /// A remark after it.
    pub remark: String,
    /// Its colour.
    pub colour: RowColour,
}

/// The colours of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowColour {
    /// The first row, which the others are compared with.
    First,
    /// Neither better nor worse.
    Plain,
    /// Better than the first row.
    Better,
    /// Worse than that.
    Worse,
}

/// The scores of a program, game by game.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreSeries {
    /// Its name.
    pub label: String,
    /// The scores.
    pub scores: Vec<GameScore>,
}

/// What a plot of scores shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreStyle {
    /// A dot for each game whose number is a multiple of this. Up to 200 of them are joined by a line,
    /// if there are no means.
    pub every: Option<u64>,
    /// A line through the means of this many games each; what is left at the end has no point.
    pub mean_of: Option<u64>,
    /// The ends of the x axis, in episodes.
    pub x_range: Option<[f64; 2]>,
    /// The ends of the y axis, in points.
    pub y_range: Option<[f64; 2]>,
}

impl ScoreStyle {
    /// About 2,000 dots and a hundred means, for what is not given.
    pub fn or_default(self, series: &[ScoreSeries]) -> Self {
        let longest = series.iter().map(|one| one.scores.len() as u64).max();
        let games = longest.unwrap_or(0);
        if self.every.is_some() || self.mean_of.is_some() {
            return self;
        }
        Self {
            every: Some(games.div_ceil(2000).max(1)),
            mean_of: Some((games / 100).max(1)),
            ..self
        }
    }

    /// What the y axis shows.
    fn about(&self) -> String {
        let dots = self.every.map(|every| match every {
            1 => "a dot for each game".to_owned(),
            _ => format!("a dot for every {}th game", grouped(every as f64)),
        });
        let means = self.mean_of.map(|size| match size {
            1 => "a line through the games".to_owned(),
            _ => format!("a line of the means of {} games", grouped(size as f64)),
        });
        let parts: Vec<String> = dots.into_iter().chain(means).collect();
        format!("score: {}", parts.join(", "))
    }
}

/// The most dots of a plot of scores.
const MOST_DOTS: u64 = 200_000;

/// Why a plot could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// No score is inside of the axes.
    #[error("no score lies inside of the axes")]
    NothingInside,
    /// No game has a number that is due for a dot.
    #[error("no score is of a game whose number is a multiple of {every}")]
    NoMultiple {
        /// A dot for each game whose number is a multiple of this.
        every: u64,
    },
    /// More dots than can be told apart.
    #[error("{found} dots are too many for a plot; expected at most {MOST_DOTS}")]
    Dots {
        /// The dots.
        found: u64,
    },
    /// The counts of a run contradict each other, or are too large to be drawn.
    #[error("the run `{label}` cannot be drawn: after {games} games, {found}")]
    Counts {
        /// The run's name.
        label: String,
        /// Where.
        games: u64,
        /// What was found.
        found: &'static str,
    },
    /// The folder for the plots could not be created.
    #[error("cannot create the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The name of a file does not say its format.
    #[error("cannot tell the format of {}; expected a name that ends with .svg or .png", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// A plot could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Its file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The font that the program carries could not be read.
    #[error("the built-in font is damaged")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// The network of a worked example could not be created.
    #[error(transparent)]
    Network(#[from] afterstate::ntuple::NetworkError),
    /// A plot could not be encoded as PNG.
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

/// Lays out the plots of these runs: `score`, `win-rate` and `termination-rate`; `gap` where any
/// was measured; `running-average`, `loss` and `value` where any has a replay buffer.
///
/// One run has a line or band for every tile; several runs have a panel for every tile and a line
/// for each run.
///
/// ```
/// use afterstate::tally::{Outcome, Start, Tally};
/// use afterstate_lab::curve::{Curve, Point};
/// use afterstate_lab::plot::plots;
///
/// let mut tally = Tally::default();
/// tally.add(&Outcome { score: 20_000, moves: 1_000, largest: 2048, start: Start::Initial });
/// let points = vec![Point { games: 1, tally }];
/// let curve = Curve { label: "my run".into(), points, ..Curve::default() };
/// let plots = plots(&[curve], "My first run")?;
/// let names: Vec<&str> = plots.iter().map(|plot| plot.name()).collect();
/// assert_eq!(names, ["score", "win-rate", "termination-rate"]);
/// assert!(plots[0].svg().starts_with("<svg"));
/// assert!(plots[0].png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), afterstate_lab::plot::PlotError>(())
/// ```
///
/// # Errors
/// When a run has no finished game, or its counts contradict each other.
pub fn plots(curves: &[Curve], title: &str) -> Result<Vec<Plot>, PlotError> {
    if curves.is_empty() {
        return Err(PlotError::NoRuns);
    }
    let runs = merge::runs(curves)?;
    let letters = Letters::new()?;
    let scenes = [
        ("score", Some(pages::score(&runs, title, &letters))),
        ("win-rate", Some(pages::win_rate(&runs, title, &letters))),
        (
            "termination-rate",
            Some(pages::termination_rate(&runs, title, &letters)),
        ),
        ("gap", pages::gap(curves, title, &letters)),
        (
            "running-average",
            pages::running_average(curves, title, &letters),
        ),
        ("loss", pages::loss(curves, title, &letters)),
        ("value", pages::value(curves, title, &letters)),
    ];
    let plot = |(name, scene): (&str, Option<Scene>)| {
        let name = name.to_owned();
        scene.map(|scene| Plot { name, scene })
    };
    Ok(scenes.into_iter().filter_map(plot).collect())
}

/// Lays out a plot with a row for each item: a dot for each number, the mean with its interval
/// above them, and a line at the mean of the first row through all rows.
///
/// # Errors
/// When there are no rows.
pub fn dot_rows(
    dot_rows: &[DotRow],
    title: &str,
    about: &str,
    name: &str,
) -> Result<Plot, PlotError> {
    if dot_rows.is_empty() {
        return Err(PlotError::NoRuns);
    }
    let letters = Letters::new()?;
    Ok(Plot {
        name: name.to_owned(),
        scene: pages::dot_rows(dot_rows, title, about, &letters),
    })
}

/// Lays out a plot of single games: dots, means, or both.
///
/// # Errors
/// When nothing is inside of the axes, or there would be too many dots.
pub fn scores(series: &[ScoreSeries], style: &ScoreStyle, title: &str) -> Result<Plot, PlotError> {
    let style = style.or_default(series);
    let games: u64 = series.iter().map(|one| one.scores.len() as u64).sum();
    let dots = style.every.map_or(0, |every| games / every.max(1));
    if dots > MOST_DOTS {
        return Err(PlotError::Dots { found: dots });
    }
    if let (Some(every), None) = (style.every, style.mean_of) {
        let mut episodes = series.iter().flat_map(|one| &one.scores);
        if !episodes.any(|game| game.episode % every.max(1) == 0) {
            return Err(PlotError::NoMultiple { every });
        }
    }
    let scene = pages::scores(series, &style, title, &Letters::new()?);
    Ok(Plot {
        name: "scores".to_owned(),
        scene: scene.ok_or(PlotError::NothingInside)?,
    })
}

/// Writes plots into a folder, as `NAME.png` and `NAME.svg`, and returns the paths. All are
/// rendered before the first file is written, the folder is created if missing, and each file is
/// replaced atomically; a link of its name is refused.
///
/// # Errors
/// When a plot cannot be rendered or written.
pub fn save(plots: &[Plot], folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    for plot in plots {
        files.push((format!("{}.png", plot.name), plot.png()?));
        files.push((format!("{}.svg", plot.name), plot.svg().into_bytes()));
    }
    fs::create_dir_all(folder).map_err(|source| PlotError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let save = |(name, bytes): (String, Vec<u8>)| {
        let path = folder.join(name);
        match replace_inside(&path, &bytes) {
            Ok(()) => Ok(path),
            Err(source) => Err(PlotError::Write { path, source }),
        }
    };
    files.into_iter().map(save).collect()
}

/// Writes the [`plots`] of these runs into a folder: see [`save`].
///
/// # Errors
/// Those of the two.
pub fn draw(curves: &[Curve], title: &str, folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    save(&plots(curves, title)?, folder)
}
