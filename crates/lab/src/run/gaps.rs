//! A run's `gaps.csv`: how far it was from perfect play, a line for each number of games it was measured at.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{BLOCKS, GAPS, existing};
use crate::LabError;
use crate::disk::replace;
use crate::plot::Gap;

/// The file's columns, by the names of [`Measurement`].
const HEADER: &str =
    "games,expected_score,optimum,gap,relative_gap,optimal_moves,mean_regret,moves,images";

/// What the first files did not have.
const LATER: &str = ",images";

/// What a run's `gaps.csv` says; nothing if there is none.
#[derive(Debug)]
pub struct Gaps {
    path: PathBuf,
    /// By their games.
    lines: BTreeMap<u64, Measurement>,
}

/// One line of the file: a player beside the best one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Games it was trained for.
    pub games: u64,
    /// What it earns on average.
    pub expected_score: f64,
    /// What the best play earns on average.
    pub optimum: f64,
    /// The difference of the two.
    pub gap: f64,
    /// The gap as a share of the optimum.
    pub relative_gap: f64,
    /// The share of its moves that give nothing away.
    pub optimal_moves: f64,
    /// What a move gives away.
    pub mean_regret: f64,
    /// Moves a game.
    pub moves: f64,
    /// The boards that it was asked about; a file that has no such column does not say.
    #[serde(default)]
    pub images: Option<Images>,
}

/// Which of the images of a board stand for themselves when a player is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Images {
    /// Each of them: the figures are of the player as it plays.
    All,
    /// One of them for all: the figures are of a player that turns every board to this image first. Networks with
    /// symmetries differ from it where equal moves are settled by their directions.
    One,
}

impl Gaps {
    /// Reads those of a run.
    ///
    /// # Errors
    /// When the folder holds no run, or the file is damaged.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        existing(folder, BLOCKS)?;
        let path = folder.join(GAPS);
        let lines = match fs::read(&path) {
            Ok(bytes) => parse(&bytes).map_err(|line| damaged(&path, line))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(LabError::file("read", &path)(error)),
        };
        Ok(Self { path, lines })
    }

    /// Their file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a measurement, in place of an earlier one of as many games, and writes the file.
    ///
    /// # Errors
    /// When the file cannot be written; the old one then stays. Also when a figure is not a number.
    pub fn keep(&mut self, line: Measurement) -> Result<(), LabError> {
        if !line.is_finite() {
            let found = "a game in which nothing can be earned has no gap to keep".to_owned();
            let path = self.path.clone();
            return Err(LabError::Inconsistent { path, found });
        }
        self.lines.insert(line.games, line);
        let written = self.to_csv().and_then(|bytes| replace(&self.path, &bytes));
        written.map_err(LabError::file("write", &self.path))
    }

    /// What is drawn of them, by rising number of games.
    pub fn curve(&self) -> Vec<Gap> {
        let gap = |line: &Measurement| Gap {
            games: line.games,
            relative: line.relative_gap,
        };
        self.lines.values().map(gap).collect()
    }

    fn to_csv(&self) -> io::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for line in self.lines.values() {
            writer.serialize(line).map_err(io::Error::other)?;
        }
        writer.into_inner().map_err(|error| error.into_error())
    }
}

impl Measurement {
    fn is_finite(&self) -> bool {
        let figures = [
            self.expected_score,
            self.optimum,
            self.gap,
            self.relative_gap,
            self.optimal_moves,
            self.mean_regret,
            self.moves,
        ];
        figures.into_iter().all(f64::is_finite)
    }
}

/// The lines of a file, or the number of the first that cannot be read.
fn parse(bytes: &[u8]) -> Result<BTreeMap<u64, Measurement>, u64> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|_| 1u64)?.clone();
    let first = HEADER.trim_end_matches(LATER);
    if ![HEADER, first]
        .iter()
        .any(|known| header.iter().eq(known.split(',')))
    {
        return Err(1);
    }
    let mut lines = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| line_at(bytes, error.position()))?;
        let line = row.deserialize(Some(&header)).ok();
        let line = line.filter(Measurement::is_finite);
        let line = line.ok_or_else(|| line_at(bytes, row.position()))?;
        lines.insert(line.games, line);
    }
    Ok(lines)
}

/// The number of the line at a position; the reader tells where the empty ones before it begin.
fn line_at(bytes: &[u8], position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let from = bytes.iter().skip(position.byte() as usize);
    let empty = from.take_while(|byte| byte.is_ascii_whitespace());
    position.line() + empty.filter(|&&byte| byte == b'\n').count() as u64
}

fn damaged(path: &Path, line: u64) -> LabError {
    let what = if line == 1 { "the header" } else { "a line" };
    LabError::Inconsistent {
        path: path.to_owned(),
        found: format!("line {line} is not {what} of `{HEADER}`; mend it, or remove the file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that holds a run, as far as it matters here.
    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(BLOCKS), "").unwrap();
        folder
    }

    fn measurement(games: u64, relative_gap: f64) -> Measurement {
        Measurement {
            games,
            expected_score: 480.0 * (1.0 - relative_gap),
            optimum: 480.0,
            gap: 480.0 * relative_gap,
            relative_gap,
            optimal_moves: 0.7,
            mean_regret: 480.0 * relative_gap / 50.1,
            moves: 50.1,
            images: Some(Images::All),
        }
    }

    #[test]
    fn what_is_kept_is_read_back_in_the_order_of_games() {
        let run = run();
        let mut gaps = Gaps::open(run.path()).unwrap();
        assert_eq!(gaps.curve(), []);
        for (games, gap) in [
            (1000, 0.1),
            (100, 1.0 / 3.0),
            (30_000, 1e-17),
            (20_000, -0.0),
        ] {
            gaps.keep(measurement(games, gap)).unwrap();
        }
        let read = Gaps::open(run.path()).unwrap();
        assert_eq!(read.lines, gaps.lines);
        let drawn: Vec<_> = read.curve().iter().map(|g| (g.games, g.relative)).collect();
        let expected = [
            (100, 1.0 / 3.0),
            (1000, 0.1),
            (20_000, 0.0),
            (30_000, 1e-17),
        ];
        assert_eq!(drawn, expected);
        let text = fs::read_to_string(run.path().join(GAPS)).unwrap();
        assert_eq!(text.lines().next(), Some(HEADER));
        assert_eq!(text.lines().count(), 5);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 2, "no rest");
    }

    #[test]
    fn a_line_of_as_many_games_is_replaced() {
        let run = run();
        for gap in [0.5, 0.25] {
            let mut gaps = Gaps::open(run.path()).unwrap();
            gaps.keep(measurement(100, gap)).unwrap();
        }
        let gaps = Gaps::open(run.path()).unwrap().curve();
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].relative, 0.25);
    }

    #[test]
    fn a_line_says_which_boards_were_asked_about() {
        let run = run();
        let mut gaps = Gaps::open(run.path()).unwrap();
        gaps.keep(measurement(1, 0.5)).unwrap();
        let fast = Measurement {
            images: Some(Images::One),
            ..measurement(2, 0.5)
        };
        gaps.keep(fast).unwrap();
        let text = fs::read_to_string(run.path().join(GAPS)).unwrap();
        let ends: Vec<_> = text.lines().map(|line| line.rsplit(',').next()).collect();
        assert_eq!(ends, [Some("images"), Some("all"), Some("one")]);
        assert_eq!(Gaps::open(run.path()).unwrap().lines, gaps.lines);
    }

    #[test]
    fn a_file_without_images_is_read_and_goes_on() {
        let run = run();
        let path = run.path().join(GAPS);
        let old = "games,expected_score,optimum,gap,relative_gap,optimal_moves,mean_regret,moves\n\
                   100,240.0,480.0,240.0,0.5,0.3,4.0,60.0\n";
        fs::write(&path, old).unwrap();
        let mut gaps = Gaps::open(run.path()).unwrap();
        assert_eq!(gaps.lines[&100].images, None);
        gaps.keep(measurement(200, 0.25)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("\n100,240.0,480.0,240.0,0.5,0.3,4.0,60.0,\n200,"),
            "{text}"
        );
        assert_eq!(Gaps::open(run.path()).unwrap().lines, gaps.lines);
    }

    #[test]
    fn a_damaged_file_is_named_with_its_line() {
        let run = run();
        let path = run.path().join(GAPS);
        let good = "100,240,480,240,0.5,0.3,4,60,one";
        let cases: [(Vec<u8>, u64); 9] = [
            (Vec::new(), 1),
            (b"games,gap\n1,2\n".to_vec(), 1),
            (vec![0xff, 0xfe, b'\n'], 1),
            (format!("{HEADER}\n{good}\n200,1,2\n").into(), 3),
            (
                format!("{HEADER}\n{}\n", good.replace("480", "much")).into(),
                2,
            ),
            (
                format!("{HEADER}\n{}\n", good.replace("480", "NaN")).into(),
                2,
            ),
            (
                format!("{HEADER}\n{}\n", good.replace("one", "two")).into(),
                2,
            ),
            (format!("{HEADER}\n{good}\n\n-{good}\n").into(), 4),
            (
                [format!("{HEADER}\n{good}\n").as_bytes(), &[0xff]].concat(),
                3,
            ),
        ];
        for (content, line) in cases {
            fs::write(&path, &content).unwrap();
            match Gaps::open(run.path()) {
                Err(LabError::Inconsistent { path: named, found }) => {
                    assert_eq!(named, path);
                    assert!(found.starts_with(&format!("line {line} ")), "{found}");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(fs::read(&path).unwrap(), content, "left as it was");
        }
    }

    #[test]
    fn what_is_no_number_is_not_kept() {
        let run = run();
        let mut gaps = Gaps::open(run.path()).unwrap();
        assert!(gaps.keep(measurement(1, f64::NAN)).is_err());
        assert!(!run.path().join(GAPS).exists());
    }

    #[test]
    fn only_a_run_has_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let opened = Gaps::open(folder.path());
        assert!(matches!(opened, Err(LabError::NoRun { .. })));
    }
}
