//! The arguments of `afterstate review`.

use std::path::PathBuf;

use afterstate_lab::grade::GradeThresholds;

use super::SearchArgs;
use super::numbers::{probability, threads, top};

/// `afterstate review`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate review games.txt                           by the newest model of the game
  afterstate review games.txt runs/quick --search 2ply
  afterstate review games.txt runs/quick --top 10 --json
  afterstate review games.txt --thresholds 0.99,0.95,0.9,0.8
  head -n 1 games.txt | afterstate review -

RECORDS has one game per line: episode records, as `eval --records` and the referee write them, or replays of 2048verse.com. Each move is graded by the share of the best value that it keeps: best 1, excellent at least 0.999, good 0.99, inaccuracy 0.975, mistake 0.9, blunder less; --thresholds sets these four. Accuracy is the mean share over all moves. The luck of a new tile is the value of the board with it minus the mean over all new tiles; z is the sum of luck in standard deviations. Luck is measured without search. See docs/analysis.md.

Lines that are not games by the rules are listed and left out. The exit status is 0 if at least one game was reviewed, and 2 if there is none.")]
pub struct ReviewArgs {
    /// A file of records or replays, one game per line; - for standard input
    pub records: PathBuf,
    /// A model file, a run folder, a weight file of another program, an exact solution, or the baseline
    /// `greedy`, which grades by rewards alone [default: the network in the program,
    /// where it has one for the game and board, or else the newest run]
    pub model: Option<PathBuf>,
    /// Grade by the chance of the target of an exact solution instead of the score: losses and luck are
    /// in percentage points
    #[arg(long, alias = "target", conflicts_with_all = ["search", "hash", "cutoff", "downgrade"])]
    pub by_chance: bool,
    #[command(flatten)]
    pub search: SearchArgs,
    /// How many of the worst moves, and of the luckiest and unluckiest new tiles, are listed
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "3",
        value_parser = top
    )]
    pub top: usize,
    /// The smallest shares of the best value for excellent, good, inaccuracy and mistake
    #[arg(
        long,
        value_name = "E,G,I,M",
        default_value = "0.999,0.99,0.975,0.9",
        value_parser = thresholds
    )]
    pub thresholds: GradeThresholds,
    /// The number of threads; 0 means one for each core. Results do not depend on it
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub threads: usize,
    /// Print one JSON document, with every move, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Four shares in falling order.
fn thresholds(text: &str) -> Result<GradeThresholds, String> {
    let expected =
        || "expected four shares from 1 to 0, in falling order, such as 0.999,0.99,0.975,0.9";
    let shares = text.split(',').map(|share| probability(share.trim()).ok());
    let shares: Option<Vec<f64>> = shares.collect();
    let Some(&[excellent, good, inaccuracy, mistake]) = shares.as_deref() else {
        return Err(expected().to_owned());
    };
    let found = GradeThresholds {
        excellent,
        good,
        inaccuracy,
        mistake,
    };
    match found.are_ordered() {
        true => Ok(found),
        false => Err(expected().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_four_falling_shares() {
        assert_eq!(
            thresholds("0.999, 0.99,0.975,0.9"),
            Ok(GradeThresholds::default())
        );
        for text in [
            "",
            "0.9",
            "0.9,0.99,0.8,0.7",
            "1,1,1,nan",
            "2,1,1,1",
            "1,1,1,1,1",
        ] {
            assert!(thresholds(text).is_err(), "{text}");
        }
    }
}
