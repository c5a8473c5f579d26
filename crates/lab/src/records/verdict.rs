//! The verdict: what was found in all records, and whether they pass.

use afterstate::game::Game;
use afterstate::judge::{Judge, SideTotals, SpawnTest, SpawnTestKind, Statistic};
use afterstate::tally::Tally;

use super::duplicates::{Duplicates, Repeated};
use super::faults::{FaultKind, Faults};
use super::guess::JudgedGame;
use super::sealed::SealReport;
use super::times::Times;
use super::{JudgeOptions, JudgeReport, LEAST_P, NamedTest};
use crate::games;
use crate::numbers::{grouped, p_value};
use crate::seal::SealKind;

/// What was found in the valid games.
#[derive(Default)]
pub(super) struct JudgeTotals {
    tally: Tally,
    unfinished: u64,
    side_totals: (SideTotals, SideTotals),
    tests: Vec<SpawnTest>,
    duplicates: u64,
    /// Repeated games that are no chance.
    repeated: Vec<Repeated>,
    faults_of_times: Vec<String>,
    notes: Vec<String>,
}

impl JudgeTotals {
    pub(super) fn of<G: Game>(judge: &Judge<G>, duplicates: &Duplicates, times: &Times) -> Self {
        let tally = judge.tally();
        let repeated: Vec<Repeated> = duplicates.implausible(tally.games).collect();
        let mut notes = times.notes();
        let by_chance = duplicates.count() - repeated.len() as u64;
        if by_chance > 0 {
            notes.push(format!(
                "{} games repeat an earlier one or its beginning, which chance explains: they are \
                 short",
                grouped(by_chance as f64)
            ));
        }
        Self {
            unfinished: judge.unfinished(),
            side_totals: judge.side_totals(),
            tests: judge.tests(),
            duplicates: duplicates.count(),
            repeated,
            faults_of_times: times.faults(),
            notes,
            tally,
        }
    }
}

/// What no judge can see in records without a seal.
const UNSEALED: &str = "Records do not show which games were left out, who played them, or \
                        whether a program played them at all. A forger who knows the tests can \
                        choose tiles by something that no test measures. Only a match that you \
                        run yourself excludes this: see `afterstate referee`.";
/// The same with the seal of a referee.
const SEALED: &str = "A seal does not show who played, and anyone with its secret can write other \
                      games for it. It is evidence if you ran the match yourself, or have records \
                      and seal from who did.";
/// The same with the player's own seal.
const OWN: &str = "The player's own seal is no evidence of how the games came about: the player \
                   knew the seed and with it all new tiles, may have tried many seeds, and chose \
                   the number of games.";

/// Of Threes!, where another number is published.
const OTHER_FORMULA: &str = "By the published formula: the percentage of games that reach 384, and a \
                             point for 384 and each tile beyond it. The 86.9 points of the TCG report \
                             are by a later formula, which was not published; this one gives 97.2 for \
                             its figures.";

pub(super) fn report(
    options: &JudgeOptions<'_>,
    choice: &JudgedGame,
    totals: &JudgeTotals,
    mut faults: Faults,
    interrupted: bool,
) -> JudgeReport {
    let JudgeTotals { tally, .. } = totals;
    for repeated in &totals.repeated {
        faults.of_line(FaultKind::Duplicate, repeated.line, repeated.reason());
    }
    match options.games {
        Some(required) if required != tally.games && !interrupted => faults.of_all(
            FaultKind::Number,
            format!(
                "{} valid games, required {}",
                grouped(tally.games as f64),
                grouped(required as f64)
            ),
        ),
        _ => {}
    }
    let tests = named_tests(&totals.tests, &mut faults);
    for reason in &totals.faults_of_times {
        faults.of_all(FaultKind::Times, reason.clone());
    }
    let speed = (tally.seconds > 0.0).then(|| tally.speed());
    check_speed(options, tally, speed, &mut faults);
    let (player, environment) = totals.side_totals;
    let passed = faults.count() == 0 && !interrupted;
    let actions = [FaultKind::Game, FaultKind::Rules, FaultKind::Seal];
    let verified = options.seal.is_some() && faults.none_of(&actions) && !interrupted;
    let kind = options.seal.filter(|_| verified).map(|seal| seal.kind);
    let limits = match kind {
        Some(SealKind::Referee) => SEALED,
        Some(SealKind::Own) => OWN,
        None => UNSEALED,
    };
    let fast = faults.none_of(&[FaultKind::Speed]);
    JudgeReport {
        passed,
        interrupted,
        failures: faults.failures(),
        game: choice.game.clone(),
        board: choice.shape.to_string(),
        guessed: choice.is_guess,
        episodes: tally.games,
        games_required: options.games,
        unfinished: totals.unfinished,
        duplicates: totals.duplicates,
        mean: tally.mean(),
        max: tally.max,
        moves_per_second: speed,
        min_speed: options.min_speed,
        actions_passed: faults.none_of(&actions) && faults.none_of(&[FaultKind::Spawns]),
        speed_passed: options.min_speed.map(|_| fast),
        player,
        environment,
        assessment: assessment(choice, tally).filter(|_| passed),
        assessment_note: (passed && choice.game == "threes").then(|| OTHER_FORMULA.to_owned()),
        sealed: kind == Some(SealKind::Referee),
        seal: options.seal.map(|seal| SealReport::of(seal, verified)),
        tests,
        luck_model: options.model.map(|model| model.label.clone()),
        fault_count: faults.count(),
        faults: faults.reported,
        notes: totals.notes.clone(),
        limits: limits.to_owned(),
        tally: tally.clone(),
    }
}

/// The results of the tests, and a fault for each that fails. The limit is divided by their number
/// (Bonferroni), so that all of them together fail fair games once in a million files.
fn named_tests(tests: &[SpawnTest], faults: &mut Faults) -> Vec<NamedTest> {
    let least = LEAST_P / tests.len().max(1) as f64;
    let each = tests.iter().map(|test| {
        let fault = fault_of(test, least);
        let passed = fault.is_none();
        if let Some(words) = fault {
            let (draws, p) = (grouped(test.draws as f64), p_value(test.p));
            let reason = match test.is_too_even(least) {
                true => format!("{words}: p = 1 - {:.1e} over {draws} draws", 1.0 - test.p),
                false => {
                    format!("{words}: p {p} over {draws} draws, expected at least {least:.1e}")
                }
            };
            faults.of_all(FaultKind::Spawns, reason);
        }
        let (chi_squared, freedom, z) = match test.statistic {
            Statistic::ChiSquared { value, freedom } => (Some(value), Some(freedom), None),
            Statistic::Z(z) => (None, None, Some(z)),
        };
        NamedTest {
            name: test.kind.name().to_owned(),
            p: test.p,
            passed,
            draws: test.draws,
            chi_squared,
            freedom,
            z,
        }
    });
    each.collect()
}

/// What a test says, if it fails.
fn fault_of(test: &SpawnTest, least: f64) -> Option<String> {
    let name = test.kind.name();
    if test.is_too_even(least) {
        return Some(format!("the frequencies of {name} are too even for chance"));
    }
    let z = match test.statistic {
        Statistic::Z(z) => z,
        Statistic::ChiSquared { .. } => 0.0,
    };
    let often = |what: &str| match z < 0.0 {
        true => format!("{what} that came up often become rare, as if they were kept even"),
        false => format!("{what} that came up often come up again too often"),
    };
    (test.p < least).then(|| match test.kind {
        SpawnTestKind::Luck => format!("new tiles are too kind to the player (z = {z:.1})"),
        SpawnTestKind::PastCells => often("cells"),
        SpawnTestKind::PastTiles => often("tiles"),
        SpawnTestKind::Surroundings => {
            "the cells of new tiles depend on the tiles beside them".to_owned()
        }
        _ => format!("the frequencies of {name} differ from the rules"),
    })
}

fn check_speed(options: &JudgeOptions<'_>, tally: &Tally, speed: Option<f64>, faults: &mut Faults) {
    let slow = match (speed, options.min_speed) {
        (Some(found), Some(least)) if found < least => Some(format!(
            "{found:.0} moves per second, expected at least {least:.0}"
        )),
        // Every game ends in the millisecond in which it started: this gives a lower bound.
        (None, Some(least)) if (tally.moves as f64) < least * tally.games as f64 / 1000.0 => {
            Some(format!(
                "the times are too coarse to show the speed, expected at least {least:.0} moves per \
                 second"
            ))
        }
        _ => None,
    };
    slow.into_iter()
        .for_each(|reason| faults.of_all(FaultKind::Speed, reason));
}

/// The percentage of games that reach the goal tile, and a point for the goal and each tile beyond
/// it.
fn assessment(choice: &JudgedGame, tally: &Tally) -> Option<f64> {
    let rules = games::rules(&choice.game).ok()?;
    let goal = rules.goal_tile()?;
    let highest = tally.ended.keys().next_back().copied().unwrap_or(0);
    let beyond =
        (goal..=rules.largest_tile(choice.shape)).filter(|&tile| rules.tile_value(tile) <= highest);
    Some(100.0 * tally.reach(rules.tile_value(goal)) + beyond.count() as f64)
}

#[cfg(test)]
mod tests {
    use afterstate::game::Shape;

    use super::*;

    /// 100 games, of which 50 reach 384 and the highest tile is 768: 50 points, and one for each of
    /// the two tiles.
    #[test]
    fn points_are_those_of_the_course() {
        let mut tally = Tally::default();
        for number in 0..100 {
            tally.add(&afterstate::tally::Outcome {
                largest: if number < 50 {
                    192
                } else if number < 99 {
                    384
                } else {
                    768
                },
                ..Default::default()
            });
        }
        let choice = |game: &str| JudgedGame {
            game: game.to_owned(),
            shape: Shape::FOUR,
            is_guess: false,
            mismatch: None,
        };
        assert_eq!(assessment(&choice("threes"), &tally), Some(52.0));
        assert_eq!(assessment(&choice("2048"), &tally), Some(0.0));
    }
}
