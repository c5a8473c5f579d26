//! `afterstate referee`: plays the environment's side against another program.

use std::error::Error;
use std::fmt;

use crate::args::RefereeArgs;
use crate::output::grouped;

/// The player broke the rules in some games.
#[derive(Debug)]
pub struct RulesBroken {
    broken: u64,
    games: u64,
}

impl Error for RulesBroken {}

impl fmt::Display for RulesBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [broken, games] = [self.broken, self.games].map(|games| grouped(games as f64));
        write!(f, "the player broke the rules in {broken} of {games} games")
    }
}

#[cfg(unix)]
pub use unix::{announce, options, run};

/// Process groups and pipes with time limits are those of Unix.
#[cfg(not(unix))]
pub fn run(_: &RefereeArgs) -> anyhow::Result<()> {
    anyhow::bail!("the referee needs Linux or another Unix; records and seals can be judged here")
}

#[cfg(unix)]
mod unix {
    use std::fmt::Write;

    use afterstate_lab::referee::{
        BreachReport, MatchOptions, PlayerSource, Referee, RefereeOptions, RefereeReport,
        START_TIME, adopt_orphans, can_players_read_memory,
    };

    use super::{RefereeArgs, RulesBroken};
    use crate::args::MatchArgs;
    use crate::commands::eval::{cut_short, scores_table};
    use crate::commands::models::game_of;
    use crate::commands::shown;
    use crate::interrupt;
    use crate::output::{grouped, harmless, print, print_json, tell};
    use crate::progress::Display;

    pub fn run(args: &RefereeArgs) -> anyhow::Result<()> {
        let play = options(&args.play, args.tcp.map_or(0, |_| 1))?;
        interrupt::listen()?;
        adopt_orphans();
        let referee = Referee::new(RefereeOptions {
            source: match args.tcp {
                Some(port) => PlayerSource::Tcp(port),
                None => PlayerSource::Program(args.program.clone()),
            },
            play,
            records: args.records.clone(),
        })?;
        if let Some(port) = args.tcp {
            tell(&format!("waiting for players at 127.0.0.1:{port}"));
        }
        announce(&args.play, referee.commitment())?;
        let display = Display::new();
        let report = referee.play(&display.control());
        display.finish();
        let report = report?;
        cut_short(report.scores.games, report.games_committed);
        let printed = match args.play.json {
            true => print_json(&report),
            false => print(text(&report)),
        };
        // The exit status reports broken rules even if standard output is closed.
        match report.broken.values().sum() {
            0 => printed,
            broken => Err(RulesBroken {
                broken,
                games: report.scores.games,
            }
            .into()),
        }
    }

    /// What is played, with this number of copies of a player where none is named.
    pub fn options(args: &MatchArgs, jobs: usize) -> anyhow::Result<MatchOptions> {
        let (game, shape) = game_of(Some(&args.game), Some(&args.board))?;
        Ok(MatchOptions {
            game,
            shape,
            games: args.games,
            time: args.time,
            start_time: START_TIME,
            jobs: args.jobs.unwrap_or(jobs),
            memory: (args.memory > 0).then_some(args.memory << 20),
        })
    }

    /// Publishes the commitment of a match or a tournament, before the first game.
    pub fn announce(args: &MatchArgs, commitment: &str) -> anyhow::Result<()> {
        if cfg!(not(target_os = "linux")) && args.memory > 0 {
            tell("the memory of players is not limited: only Linux can do that");
        }
        if can_players_read_memory() {
            tell(
                "a player could read the coming tiles in the memory of the referee: only Linux closes \
                 it, and not for root; use another user, or players that you trust",
            );
        }
        let line = format!("commitment {commitment}");
        match args.json {
            true => tell(&line),
            false => print(line + "\n\n")?,
        }
        Ok(())
    }

    /// What records and seal prove together.
    const PROVES: &str = "to you, who ran the match, they prove that no game was invented, \
        changed or left out;\nto others they do not, because anyone with the secret can write \
        other games for it.\nThey do not prove who played";

    /// The largest number of breaches that are printed.
    const LISTED: usize = 20;

    fn text(report: &RefereeReport) -> String {
        let r = report;
        let player = harmless(&r.player.join(" "));
        let mut text = format!(
            "{player}: {} on {}, {} games, {} ms a move\n\n{}\n",
            r.game,
            r.board,
            grouped(r.scores.games as f64),
            r.time_ms,
            scores_table(&r.scores)
        );
        // Writing to a string cannot fail.
        let mut line = |sentence: String| {
            let _ = writeln!(text, "{sentence}");
        };
        for breach in r.breaches.iter().take(LISTED) {
            line(listed(breach));
        }
        let broken: u64 = r.broken.values().sum();
        if broken > LISTED as u64 {
            let more = grouped((broken - LISTED as u64) as f64);
            line(format!("and {more} more games"));
        }
        if let (Some(records), Some(seal)) = (&r.records, &r.seal) {
            line(format!("records {}", shown(records)));
            line(format!("seal    {}", shown(seal)));
            if let Some(digest) = &r.records_sha256 {
                line(format!("sha256  {digest} (of the records)"));
            }
            line(format!(
                "verify them with `afterstate judge {}`\n{PROVES}",
                shown(records)
            ));
        }
        line(match broken {
            0 if r.passed => "all games were played by the rules".to_owned(),
            0 => "no rule was broken so far".to_owned(),
            _ => "FAILED: the player broke the rules".to_owned(),
        });
        text
    }

    fn listed(breach: &BreachReport) -> String {
        let BreachReport {
            game,
            kind,
            moves,
            score,
            reason,
        } = breach;
        let [moves, score] = [moves, score].map(|number| grouped(*number as f64));
        let reason = harmless(reason);
        format!("BROKEN game {game} after {moves} moves, score {score}: {kind}: {reason}")
    }
}
