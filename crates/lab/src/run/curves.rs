//! Reading a run's `blocks.csv` back: its learning curve, and the pictures of it.

use std::fs;
use std::path::{Path, PathBuf};

use afterstate::tally::Tally;

use super::{BLOCKS, ENDED, existing, recipe_of};
use crate::LabError;
use crate::plot::{self, Curve, Point, StudyPoint};
use crate::recipe::Recipe;

const PLOTS: &str = "plots";

/// The learning curve of a run, from its `blocks.csv`, without gaps.
///
/// # Errors
/// When the file or the recipe is missing or damaged.
pub fn curve_of(folder: &Path) -> Result<Curve, LabError> {
    let path = existing(folder, BLOCKS)?;
    let damaged = |found: String| LabError::Inconsistent {
        path: path.clone(),
        found,
    };
    let text = fs::read_to_string(&path).map_err(LabError::file("read", &path))?;
    // A crash may have torn the last row.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let mut reader = csv::Reader::from_reader(whole.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| damaged(error.to_string()))?
        .clone();
    let mut points = Vec::new();
    let mut studies = Vec::new();
    let unit = recipe_of(folder, &[])?.value_unit();
    for row in reader.records() {
        let row = row.map_err(|error| damaged(error.to_string()))?;
        let line = points.len() + 2;
        points.push(
            point(&header, &row).ok_or_else(|| damaged(format!("line {line} is not a block")))?,
        );
        studies.extend(study(&header, &row, unit));
    }
    let label = folder.file_name().map_or_else(
        || folder.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    );
    Ok(Curve {
        label,
        points,
        gaps: Vec::new(),
        studies,
    })
}

/// What was learned from memory, in runs that do, with a network whose values are in units of so many points.
fn study(header: &csv::StringRecord, row: &csv::StringRecord, unit: f64) -> Option<StudyPoint> {
    let number = |name: &str| {
        let text = row.get(header.iter().position(|column| column == name)?)?;
        text.parse::<f64>().ok().filter(|number| number.is_finite())
    };
    Some(StudyPoint {
        games: number("games")? as u64,
        loss: number("loss")?,
        value: number("q")? * unit,
        updates: number("updates")? as u64,
        average: number("average")?,
    })
}

fn point(header: &csv::StringRecord, row: &csv::StringRecord) -> Option<Point> {
    let number = |name: &str| {
        let text = row.get(header.iter().position(|column| column == name)?)?;
        text.parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
    };
    let games = number("block_games")?;
    let ended = header
        .iter()
        .filter_map(|column| column.strip_prefix(ENDED))
        .map(|face| {
            let count = number(&format!("{ENDED}{face}"))?;
            Some((face.parse().ok()?, count as u64))
        });
    let tally = Tally {
        games: games as u64,
        score: (number("mean")? * games).round() as u64,
        max: number("max")? as u64,
        moves: number("moves")? as u64,
        seconds: number("seconds")?,
        ended: ended
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .filter(|&(_, count)| count > 0)
            .collect(),
        given_starts: 0,
    };
    Some(Point {
        games: number("games")? as u64,
        tally,
    })
}

/// What a picture of this run alone is headed by.
pub fn title(recipe: &Recipe) -> String {
    format!("{}: {} on {}", recipe.name, recipe.game, recipe.board)
}

/// Draws the pictures of a run into its `plots/`; nothing while no block is full.
///
/// # Errors
/// When they cannot be drawn or written.
pub fn draw(folder: &Path, title: &str) -> Result<Vec<PathBuf>, LabError> {
    let curve = curve_of(folder)?;
    if curve.points.is_empty() {
        return Ok(Vec::new());
    }
    Ok(plot::draw(&[curve], title, &folder.join(PLOTS))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of different networks can be drawn together.
    #[test]
    fn values_are_in_points() {
        for (recipe, unit) in [
            ("dqn", 256.0),
            ("deep-best", 1024.0),
            ("ntuple-replay", 1.0),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let text = Recipe::load(recipe, &[]).unwrap().to_toml();
            fs::write(folder.path().join(crate::run::RECIPE), text).unwrap();
            let blocks = "games,block_games,mean,max,moves,seconds,updates,loss,q,reward,average\n\
                          100,100,9,9,9,9,700,0.5,4.25,1,1234.5\n";
            fs::write(folder.path().join(BLOCKS), blocks).unwrap();
            let curve = curve_of(folder.path()).unwrap();
            assert_eq!(curve.studies[0].value, 4.25 * unit, "{recipe}");
        }
    }

    #[test]
    fn what_was_learned_from_memory_is_read() {
        let record = |text: &str| csv::StringRecord::from(text.split(',').collect::<Vec<_>>());
        let header = record("games,q,loss,updates,average");
        let found = study(&header, &record("100,4.25,0.5,700,1234.5"), 256.0);
        let expected = StudyPoint {
            games: 100,
            loss: 0.5,
            value: 1088.0,
            updates: 700,
            average: 1234.5,
        };
        assert_eq!(found, Some(expected));
        // Runs that do not learn from memory have no such columns, and a broken one has no such number.
        assert_eq!(study(&record("games,mean"), &record("100,5"), 1.0), None);
        assert_eq!(study(&header, &record("100,NaN,0.5,700,1"), 1.0), None);
    }
}
