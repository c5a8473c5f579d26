//! `afterstate tournament`: all players of a folder against the referee, in one table.

use crate::args::TournamentArgs;

#[cfg(unix)]
pub use unix::run;

/// Process groups and pipes with time limits are those of Unix.
#[cfg(not(unix))]
pub fn run(_: &TournamentArgs) -> anyhow::Result<()> {
    anyhow::bail!("tournaments need Linux or another Unix; records and seals can be judged here")
}

#[cfg(unix)]
mod unix {
    use std::fmt::Write;
    use std::path::{Path, PathBuf};

    use afterstate::game::Shape;
    use afterstate_lab::LabError;
    use afterstate_lab::evaluate::Contender;
    use afterstate_lab::numbers::{decimals, signed};
    use afterstate_lab::referee::adopt_orphans;
    use afterstate_lab::tournament::{
        Entrant, RECORDS, RESULTS_CSV, Standing, Tournament, TournamentOptions, TournamentReport,
        find,
    };

    use super::TournamentArgs;
    use crate::commands::models::{baseline, open};
    use crate::commands::referee::{announce, options};
    use crate::commands::shown;
    use crate::interrupt;
    use crate::output::{grouped, harmless, percent, print, print_json, tell};
    use crate::progress::Display;

    pub fn run(args: &TournamentArgs) -> anyhow::Result<()> {
        let play = options(&args.play, 0)?;
        let mut entrants = find(&args.folder, &play.game, play.shape)?;
        for path in &args.with {
            let (name, contender) = also(path, &play.game, play.shape)?;
            let name = unused(&name, &entrants.players);
            let entrant = Entrant::of_contender(&name, &contender);
            entrants.players.push(entrant);
        }
        interrupt::listen()?;
        adopt_orphans();
        let players = entrants.players.len();
        let tournament = Tournament::new(TournamentOptions {
            out: args.out.clone().unwrap_or_else(|| beside(&args.folder)),
            folder: args.folder.clone(),
            entrants,
            play,
            target: args.target,
        })?;
        announce(&args.play, tournament.commitment())?;
        let display = Display::new();
        let report = tournament.play(&display.control());
        display.finish();
        let report = report?;
        match report.complete {
            true => interrupt::completed(),
            false => tell(&format!(
                "stopped by Ctrl-C: {} of {players} players have played all their games",
                report.players.len()
            )),
        }
        match args.play.json {
            true => print_json(&report),
            false => print(text(&report)),
        }
    }

    /// The default folder of results.
    fn beside(folder: &Path) -> PathBuf {
        // `.` and `..` have no name of their own.
        let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let named = if folder.file_name().is_some() {
            folder
        } else {
            &whole
        };
        let mut name = named.file_name().unwrap_or_default().to_owned();
        name.push("-results");
        named.with_file_name(name)
    }

    /// A model or a baseline that plays as well.
    fn also(path: &Path, game: &str, shape: Shape) -> anyhow::Result<(String, Contender)> {
        let contender = match baseline(path) {
            Some(baseline) => Contender::baseline(baseline, game, shape)?,
            None => open(path)?.0,
        };
        if (&*contender.game, contender.shape) != (game, shape) {
            return Err(LabError::DifferentGames {
                a: contender.label.clone(),
                game_a: contender.game_on(),
                b: "the tournament".to_owned(),
                game_b: format!("{game} on {shape}"),
            }
            .into());
        }
        Ok((path.display().to_string(), contender))
    }

    /// A name that no player has yet.
    fn unused(name: &str, players: &[Entrant]) -> String {
        let is_free = |name: &String| players.iter().all(|player| player.name != *name);
        let mut names = (2..).map(|number| format!("{name} ({number})"));
        let first = Some(name.to_owned()).filter(is_free);
        first
            .or_else(|| names.find(is_free))
            .unwrap_or_else(|| name.to_owned())
    }

    /// The longest name that is printed in full.
    const WIDEST: usize = 24;

    /// A name on one line of the table.
    fn cell(name: &str) -> String {
        let name = harmless(name).replace('\n', "\u{FFFD}");
        match name.chars().count() > WIDEST {
            true => name.chars().take(WIDEST - 3).collect::<String>() + "...",
            false => name,
        }
    }

    fn text(report: &TournamentReport) -> String {
        let r = report;
        let mut text = format!(
            "{} on {}, {} games each, {} ms a move\n\n",
            r.game,
            r.board,
            grouped(r.games as f64),
            r.time_ms
        );
        text += &table(r);
        // Writing to a string cannot fail.
        let mut line = |sentence: String| {
            let _ = writeln!(text, "{sentence}");
        };
        if r.players
            .iter()
            .any(|player| player.told_apart == Some(false))
        {
            line(
                "~ not told apart from the player above: the 95% interval of their difference over \
                 the same games\n  includes 0"
                    .to_owned(),
            );
        }
        alike(r).into_iter().for_each(&mut line);
        for player in &r.players {
            remark(player).into_iter().for_each(&mut line);
        }
        for failed in &r.failed {
            line(format!(
                "FAILED {}: {}",
                cell(&failed.name),
                harmless(&failed.reason)
            ));
        }
        for name in &r.not_played {
            line(format!("NOT PLAYED {}: stopped", cell(name)));
        }
        for skipped in &r.skipped {
            line(format!(
                "not a player: {}: {}",
                cell(&skipped.name),
                harmless(&skipped.reason)
            ));
        }
        line(format!("\nsecret  {}", r.secret));
        line(format!("table   {}", shown(&r.folder.join(RESULTS_CSV))));
        line(format!(
            "records {}, each with its seal: verify them with `afterstate judge`",
            shown(&r.folder.join(RECORDS))
        ));
        text
    }

    fn table(report: &TournamentReport) -> String {
        let tile = report.target.map(|tile| tile.to_string());
        let tile = tile.unwrap_or_else(|| "-".to_owned());
        let width = report.players.iter().map(|p| cell(&p.name).chars().count());
        let width = width.max().unwrap_or(0).max("player".len());
        let mut text = format!(
            "{:>4}  {:<width$}  {:>9}  {:^21}  {:>9}  {tile:>7}  {:^15}  {:>6}  {:>7}  {}\n",
            "rank",
            "player",
            "mean",
            "95%",
            "median",
            "95%",
            "broken",
            "ms/move",
            "to the first, 95%"
        );
        for player in &report.players {
            let mark = if player.told_apart == Some(false) {
                "~"
            } else {
                ""
            };
            let scores = &player.scores;
            let mean = scores.mean_ci95.map_or_else(String::new, |[low, high]| {
                format!("{} to {}", grouped(low), grouped(high))
            });
            let (reach, ends) = player.reached.as_ref().map_or_else(
                || ("-".to_owned(), String::new()),
                |reached| {
                    let [low, high] = reached.reach_ci95.map(percent);
                    (percent(reached.reach), format!("{low} - {high}"))
                },
            );
            let time = player
                .move_ms
                .map_or_else(|| "-".to_owned(), |ms| decimals(ms, 2));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:>4}  {:<width$}  {:>9}  {mean:^21}  {:>9}  {reach:>7}  {ends:^15}  {:>6}  {time:>7}  {}",
                format!("{}{mark}", player.rank),
                cell(&player.name),
                grouped(scores.mean),
                grouped(scores.median),
                grouped(player.broken.values().sum::<u64>() as f64),
                behind(player)
            );
        }
        text + "\n"
    }

    fn behind(player: &Standing) -> String {
        let Some(behind) = &player.behind_first else {
            return String::new();
        };
        let ends = behind.mean_ci95.map_or_else(String::new, |[low, high]| {
            format!(" ({} to {})", signed(low, 0), signed(high, 0))
        });
        signed(behind.mean, 0) + &ends
    }

    /// The players that played alike in every game, each group once.
    fn alike(report: &TournamentReport) -> Vec<String> {
        let mut told = Vec::new();
        let mut lines = Vec::new();
        for player in &report.players {
            if player.same_games_as.is_empty() || told.contains(&&player.name) {
                continue;
            }
            told.extend(&player.same_games_as);
            let others: Vec<String> = player.same_games_as.iter().map(|name| cell(name)).collect();
            lines.push(format!(
                "equal: {} and {} have the same score, moves and largest tile in every game",
                cell(&player.name),
                others.join(", ")
            ));
        }
        lines
    }

    /// What a player did wrong.
    fn remark(player: &Standing) -> Option<String> {
        let first = player.first_breach.as_ref()?;
        let kinds = player.broken.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, games)| format!("{kind} {}", grouped(*games as f64)))
            .collect();
        Some(format!(
            "BROKEN {}: {}; first in {}",
            cell(&player.name),
            kinds.join(", "),
            harmless(first)
        ))
    }
}
