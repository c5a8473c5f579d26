//! Reading a run's `blocks.csv` back, as blocks and as a learning curve.

use std::path::Path;

use super::{BLOCKS, ITERATIONS, RunProgress, existing, recipe_of};
use crate::LabError;
use crate::block::{self, Block, IterationRow};
use crate::curve::{AveragePoint, Curve};
use crate::disk::inside;
use crate::recipe::Recipe;

/// The blocks of a run, from its `blocks.csv`.
///
/// # Errors
/// When the file is missing or damaged.
pub fn blocks_of(folder: &Path) -> Result<Vec<Block>, LabError> {
    let path = existing(folder, BLOCKS)?;
    let bytes = inside::read(&path).map_err(LabError::file("read", &path))?;
    block::read(&bytes).map_err(|error| LabError::Inconsistent {
        found: error.to_string(),
        path,
    })
}

impl RunProgress {
    /// Takes from `blocks.csv` what checkpoints of earlier versions did not keep: the highest score
    /// and running average. They are only shown, so that a damaged file does not matter here.
    pub(super) fn complete(&mut self, folder: &Path) {
        let Some(replay) = self.replay.as_mut().filter(|replay| replay.log.is_none()) else {
            return;
        };
        for block in blocks_of(folder).unwrap_or_default() {
            let average = block.replay.map_or(0.0, |replay| replay.running_average);
            replay.scores.raise(block.max, average);
        }
        let current = replay.scores.running_average.unwrap_or(0.0);
        replay.scores.raise(self.block.max, current);
    }
}

/// The running averages in `iterations.csv`; none without that file. A row that was not written to
/// its end, as after a crash, and what follows it are left out.
fn averages(folder: &Path) -> Vec<AveragePoint> {
    let bytes = inside::read(&folder.join(ITERATIONS)).unwrap_or_default();
    let mut table = csv::Reader::from_reader(&bytes[..]);
    let rows = table.deserialize().map_while(Result::ok);
    let point = |row: IterationRow| {
        let running_average = row.running_average?;
        let iteration = row.iteration;
        running_average.is_finite().then_some(AveragePoint {
            iteration,
            running_average,
        })
    };
    rows.filter_map(point).collect()
}

/// The learning curve of a run, from its `blocks.csv` and `iterations.csv`, without gaps.
///
/// # Errors
/// When the file or the recipe is missing or damaged.
pub fn curve_of(folder: &Path) -> Result<Curve, LabError> {
    let blocks = blocks_of(folder)?;
    let unit = recipe_of(folder, &[])?.value_unit();
    let label = folder.file_name().map_or_else(
        || folder.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    Ok(Curve {
        averages: averages(folder),
        ..Curve::new(label, &blocks, unit)
    })
}

/// The title of a plot of this run alone.
pub fn title(recipe: &Recipe) -> String {
    format!("{}: {} on {}", recipe.title(), recipe.game, recipe.board)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn averages_are_those_of_whole_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(averages(path).is_empty());
        let header = IterationRow::header().unwrap();
        let rows = "100,500,0,2.5,1.0,4.0,,\n\
                    200,1000,1,2.5,1.0,4.0,640.5,1281\n\
                    300,1500,2,2.5,1.0,4.0,650.0,1600\n\
                    400,2000,3,2.";
        fs::write(path.join(ITERATIONS), header + rows).unwrap();
        let found: Vec<(u64, f64)> = averages(path)
            .iter()
            .map(|point| (point.iteration, point.running_average))
            .collect();
        assert_eq!(found, [(200, 640.5), (300, 650.0)]);
    }

    /// Values of different networks have the same unit in a plot.
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
            let blocks = "games,block_games,mean,max,moves,seconds,moves_per_second,rate,\
                          updates,loss,q,reward,average\n\
                          100,100,9,9,9,9,1,0.1,700,0.5,4.25,1,1234.5\n";
            fs::write(folder.path().join(BLOCKS), blocks).unwrap();
            let curve = curve_of(folder.path()).unwrap();
            assert_eq!(curve.replay[0].value, 4.25 * unit, "{recipe}");
        }
    }
}
