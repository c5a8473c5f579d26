//! A run's `gaps.csv`: how far it was from optimal play, a row for each number of games at which it
//! was measured.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{BLOCKS, GAPS, existing};
use crate::LabError;
use crate::curve::GapPoint;
use crate::disk::{inside, lock_folder, replace_inside};
use crate::migrate;
use crate::rows::{columns, line_at};

/// The measurements in a run's `gaps.csv`; none without that file.
#[derive(Debug)]
pub struct Gaps {
    path: PathBuf,
    /// By number of games.
    lines: BTreeMap<u64, GapRow>,
}

/// One row of the file: a player compared with optimal play.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GapRow {
    /// Games it was trained for.
    pub games: u64,
    /// Its expected score.
    pub expected_score: f64,
    /// The expected score of optimal play.
    pub optimum: f64,
    /// The difference of the two.
    pub gap: f64,
    /// The gap as a proportion of the optimum.
    pub relative_gap: f64,
    /// The proportion of its moves that are optimal.
    pub optimal_moves: f64,
    /// The expected loss of a move.
    pub mean_regret: f64,
    /// Moves a game.
    pub moves: f64,
    /// The boards on which the player was measured; `None` in files without this column.
    #[serde(default)]
    pub symmetries: Option<SymmetryMode>,
}

/// Which of the symmetric boards a player is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymmetryMode {
    /// All of them: the result is that of the player as it plays.
    All,
    /// One for all: the result is that of a player that first transforms every board to its
    /// canonical form. Networks with symmetries differ from it where the direction breaks a tie.
    One,
}

impl Gaps {
    /// Reads the measurements of a run.
    ///
    /// # Errors
    /// When the folder holds no run, or the file is damaged.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        existing(folder, BLOCKS)?;
        let path = folder.join(GAPS);
        let lines = read(&path)?;
        Ok(Self { path, lines })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a measurement, replaces an earlier one of the same number of games, and writes the
    /// file.
    ///
    /// # Errors
    /// When the file cannot be written, or was damaged since; it is then unchanged. Also when a
    /// result is not finite.
    pub fn keep(&mut self, line: GapRow) -> Result<(), LabError> {
        if !line.is_finite() {
            let found = "the optimum is 0, so there is no relative gap to save".to_owned();
            let path = self.path.clone();
            return Err(LabError::Inconsistent { path, found });
        }
        // Another process may have added one since the file was read.
        let _lock = lock_folder(&self.path);
        self.lines = read(&self.path)?;
        self.lines.insert(line.games, line);
        let written = self
            .to_csv()
            .and_then(|bytes| replace_inside(&self.path, &bytes));
        written.map_err(LabError::file("write", &self.path))
    }

    /// The points of its curve, by increasing number of games.
    pub fn curve(&self) -> Vec<GapPoint> {
        let gap = |line: &GapRow| GapPoint {
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

impl GapRow {
    fn is_finite(&self) -> bool {
        let numbers = [
            self.expected_score,
            self.optimum,
            self.gap,
            self.relative_gap,
            self.optimal_moves,
            self.mean_regret,
            self.moves,
        ];
        numbers.into_iter().all(f64::is_finite)
    }
}

/// The measurements in a file; none if there is no such file.
fn read(path: &Path) -> Result<BTreeMap<u64, GapRow>, LabError> {
    match inside::read(path) {
        Ok(bytes) => parse(&bytes).map_err(|line| damaged(path, line)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(LabError::file("read", path)(error)),
    }
}

/// The rows of a file, or the number of the first line that cannot be read.
fn parse(bytes: &[u8]) -> Result<BTreeMap<u64, GapRow>, u64> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = header(&mut reader).ok_or(1u64)?;
    let mut lines = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| line_at(bytes, error.position()))?;
        let line = row.deserialize(Some(&header)).ok();
        let line = line.filter(GapRow::is_finite);
        let line = line.ok_or_else(|| line_at(bytes, row.position()))?;
        lines.insert(line.games, line);
    }
    Ok(lines)
}

/// The file's columns under their present names; `None` if they are not those of a measurement. The
/// first files did not have the last column.
fn header(reader: &mut csv::Reader<&[u8]>) -> Option<csv::StringRecord> {
    let found = reader.headers().ok()?.iter();
    let names: csv::StringRecord = found.map(migrate::gap_column).collect();
    let expected = columns(&GapRow::default()).ok()?;
    let (_, first) = expected.split_last()?;
    let known = names.iter().eq(expected.iter()) || names.iter().eq(first.iter());
    known.then_some(names)
}

fn damaged(path: &Path, line: u64) -> LabError {
    let what = if line == 1 { "the header" } else { "a line" };
    let columns = columns(&GapRow::default()).unwrap_or_default();
    let columns = columns.join(",");
    LabError::Inconsistent {
        path: path.to_owned(),
        found: format!("line {line} is not {what} of `{columns}`; correct it, or remove the file"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEADER: &str = "games,expected_score,optimum,gap,relative_gap,optimal_moves,\
                          mean_regret,moves,symmetries";

    /// A minimal folder with a run.
    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(BLOCKS), "").unwrap();
        folder
    }

    fn measurement(games: u64, relative_gap: f64) -> GapRow {
        GapRow {
            games,
            expected_score: 480.0 * (1.0 - relative_gap),
            optimum: 480.0,
            gap: 480.0 * relative_gap,
            relative_gap,
            optimal_moves: 0.7,
            mean_regret: 480.0 * relative_gap / 50.1,
            moves: 50.1,
            symmetries: Some(SymmetryMode::All),
        }
    }

    #[test]
    fn measurements_are_read_back_in_the_order_of_games() {
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

    /// All of them read the file before the first one writes it.
    #[test]
    fn of_several_writers_none_loses_a_measurement() {
        let run = run();
        let mut writers: Vec<Gaps> = (0..8).map(|_| Gaps::open(run.path()).unwrap()).collect();
        std::thread::scope(|scope| {
            for (number, gaps) in writers.iter_mut().enumerate() {
                scope.spawn(move || gaps.keep(measurement(number as u64, 0.5)).unwrap());
            }
        });
        let read = Gaps::open(run.path()).unwrap();
        assert!(
            read.lines.keys().copied().eq(0..8),
            "{:?}",
            read.lines.keys()
        );
    }

    #[test]
    fn a_measurement_of_the_same_number_of_games_is_replaced() {
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
    fn a_line_states_the_measured_symmetries() {
        let run = run();
        let mut gaps = Gaps::open(run.path()).unwrap();
        gaps.keep(measurement(1, 0.5)).unwrap();
        let fast = GapRow {
            symmetries: Some(SymmetryMode::One),
            ..measurement(2, 0.5)
        };
        gaps.keep(fast).unwrap();
        let text = fs::read_to_string(run.path().join(GAPS)).unwrap();
        let ends: Vec<_> = text.lines().map(|line| line.rsplit(',').next()).collect();
        assert_eq!(ends, [Some("symmetries"), Some("all"), Some("one")]);
        assert_eq!(Gaps::open(run.path()).unwrap().lines, gaps.lines);
    }

    #[test]
    fn a_file_without_symmetries_is_read_and_extended() {
        let run = run();
        let path = run.path().join(GAPS);
        let old = "games,expected_score,optimum,gap,relative_gap,optimal_moves,mean_regret,moves\n\
                   100,240.0,480.0,240.0,0.5,0.3,4.0,60.0\n";
        fs::write(&path, old).unwrap();
        let mut gaps = Gaps::open(run.path()).unwrap();
        assert_eq!(gaps.lines[&100].symmetries, None);
        gaps.keep(measurement(200, 0.25)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("\n100,240.0,480.0,240.0,0.5,0.3,4.0,60.0,\n200,"),
            "{text}"
        );
        assert_eq!(Gaps::open(run.path()).unwrap().lines, gaps.lines);
    }

    #[test]
    fn a_file_of_format_1_is_read_and_gets_the_present_names() {
        let run = run();
        let path = run.path().join(GAPS);
        let old = HEADER.replace("symmetries", "images");
        fs::write(
            &path,
            format!("{old}\n100,240.0,480.0,240.0,0.5,0.3,4.0,60.0,one\n"),
        )
        .unwrap();
        let mut gaps = Gaps::open(run.path()).unwrap();
        assert_eq!(gaps.lines[&100].symmetries, Some(SymmetryMode::One));
        gaps.keep(measurement(200, 0.25)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(HEADER), "{text}");
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
    fn results_that_are_not_finite_are_refused() {
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
