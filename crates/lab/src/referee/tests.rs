//! Matches against players that obey the rules, and against players that do anything else.

use std::fs;
use std::thread;

use afterstate::format::episode::{Action, EpisodeRecord, RecordedMove};

use super::*;
use crate::control::quiet;
use crate::records::{JudgeOptions, JudgeReport, judge};

/// Answers every board with the same slide.
const LEFT: &str =
    "read word; echo ready 1; while read word rest; do [ $word = board ] && echo left; done";

fn options(script: &str, games: u64) -> RefereeOptions {
    let words = ["sh", "-c", script].map(Into::into);
    RefereeOptions {
        source: PlayerSource::Program(words.to_vec()),
        play: MatchOptions {
            game: "2048".to_owned(),
            shape: Shape::FOUR,
            games,
            time: Duration::from_secs(20),
            start_time: Duration::from_secs(20),
            jobs: 1,
            memory: None,
        },
        records: None,
    }
}

fn secret() -> Secret {
    Secret::parse(&"5e".repeat(32)).unwrap()
}

fn play(options: RefereeOptions) -> RefereeReport {
    let referee = Referee::with_secret(options, secret()).unwrap();
    referee.play(quiet()).unwrap()
}

/// A limit that a player does not meet in tests of timeouts. All others have time enough, however
/// busy the machine is.
const SHORT: Duration = Duration::from_millis(300);

/// The kinds and reasons of the breaches of a match.
fn breaches_of(options: RefereeOptions) -> Vec<(String, String)> {
    let games = options.play.games;
    let report = play(options);
    assert_eq!(report.scores.games, games, "every game counts");
    assert!(!report.passed);
    let breaches = report.breaches.into_iter();
    breaches
        .map(|breach| (breach.kind, breach.reason))
        .collect()
}

/// Every game of two is broken off with this kind, and a reason that has these words.
fn ends_by(script: &str, kind: &str, words: &str) {
    let mut options = options(script, 2);
    match (kind, script.contains("ready 1")) {
        ("timeout", true) => options.play.time = SHORT,
        ("timeout", false) => options.play.start_time = SHORT,
        _ => {}
    }
    let found = breaches_of(options);
    assert_eq!(found.len(), 2, "{script}: {found:?}");
    for (found, reason) in found {
        assert_eq!(found, kind, "{script}: {reason}");
        assert!(reason.contains(words), "{script}: {reason}");
    }
}

#[test]
fn referee_ends_games_of_players_that_break_the_rules() {
    for (after_greeting, kind, words) in [
        ("sleep 1000", "timeout", "no reply within 300 ms"),
        (
            "trap '' TERM INT HUP; while :; do sleep 1; done",
            "timeout",
            "300 ms",
        ),
        ("read x; printf lef; sleep 1000", "timeout", "300 ms"),
        (
            "while read x; do echo sideways; done",
            "wrong-word",
            "found `sideways`",
        ),
        ("while read x; do echo; done", "wrong-word", "found ``"),
        (
            "while read x; do printf 'left\\nleft\\n'; done",
            "flood",
            "before the referee",
        ),
        (
            "read x; exec head -c 1073741824 /dev/zero",
            "flood",
            "more than 80 bytes",
        ),
        (
            "read x; exec yes left",
            "flood",
            "before the referee has asked",
        ),
        ("read x; exit 3", "exit", "ended: exit status: 3"),
        ("read x; kill -9 $$", "exit", "signal: 9"),
        (
            "read x; exec 1>&-; sleep 1000",
            "exit",
            "has closed its output",
        ),
        (
            "while read x; do echo up; done",
            "illegal-move",
            "a slide up changes nothing",
        ),
    ] {
        ends_by(
            &format!("read x; echo ready 1; {after_greeting}"),
            kind,
            words,
        );
    }
}

#[test]
fn referee_ends_games_of_players_that_do_not_greet() {
    ends_by("exit 0", "exit", "ended: exit status: 0");
    ends_by("read x; echo ready 2", "wrong-word", "expected `ready 1`");
    ends_by("sleep 1000", "timeout", "300 ms");
    ends_by("exec 0<&- 1>&-; sleep 1000", "exit", "closed");
    for (kind, reason) in breaches_of(options("echo left; sleep 1000", 1)) {
        // The first word may come before or after the greeting.
        assert!(["flood", "wrong-word"].contains(&kind.as_str()), "{reason}");
    }
    // It is not started for ever.
    let kinds: Vec<String> = breaches_of(options("exit 0", 50))
        .into_iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(kinds[..3], ["exit"; 3]);
    assert_eq!(kinds[3..], vec!["forfeit"; 47]);
}

#[test]
fn referee_starts_a_player_again_up_to_a_limit() {
    let report = play(options(LEFT, 150));
    assert_eq!(report.broken["illegal-move"], 100);
    assert_eq!(report.broken["forfeit"], 50);
    assert!(report.scores.mean > 0.0, "broken games count");
}

/// A process that was started by a player, and holds its pipe, ends with it.
#[test]
#[cfg(target_os = "linux")]
fn referee_kills_what_a_player_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // Both pipes stay open when the player itself has ended.
    let script = format!(
        "read x; echo ready 1; exec 3<&0; sleep 1000 <&3 & echo $! > {}; exit 0",
        pid.display()
    );
    ends_by(&script, "timeout", "300 ms");
    let pid = fs::read_to_string(&pid).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    // The signal is sent, and the process ends soon. Where nobody reaps orphans, a dead process
    // keeps its entry.
    while fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
    {
        assert!(Instant::now() < deadline, "process {pid} is alive");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn referee_limits_memory() {
    let script = "read x; [ $(ulimit -d) = 65536 ] && echo ready 1; read x; exit 7";
    let mut limited = options(script, 1);
    limited.play.memory = Some(64 << 20);
    assert_eq!(
        play(limited).breaches[0].reason,
        "the player ended: exit status: 7"
    );
}

/// Nothing is left waiting when a match is cancelled.
#[test]
fn referee_can_be_cancelled() {
    let control = Control::new();
    let token = control.cancel_token();
    let mut slow = options("read x; echo ready 1; sleep 1000", 5);
    (slow.play.jobs, slow.play.time) = (2, Duration::from_secs(1000));
    let referee = Referee::new(slow).unwrap();
    let playing = thread::spawn(move || referee.play(&control));
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    token.cancel();
    let report = playing.join().unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!((report.scores.games, report.passed), (0, false));
    assert!(report.broken.is_empty(), "the player did nothing wrong");
}

/// It reports as all long work does, and its report is read back.
#[test]
fn referee_has_events_and_a_document() {
    use crate::control::Event;
    use std::sync::Arc;

    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let control = Control::new()
        .with_interval(Duration::ZERO)
        .on_event(move |event| told.lock().unwrap().push(event.clone()));
    let referee = Referee::new(options(LEFT, 3)).unwrap();
    let report = referee.play(&control).unwrap();
    let events = events.lock().unwrap();
    let task = Task::Referee;
    assert!(matches!(&events[0], Event::Started { task: t, total: Some(3), .. } if *t == task));
    assert!(matches!(&events[1], Event::Progress(progress) if progress.task == task));
    let last = events.last().unwrap();
    let finished = Status::Finished;
    assert!(matches!(last, Event::Finished { status, done: 3, .. } if *status == finished));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&json["games"], &json["passed"]),
        (&3.into(), &false.into())
    );
    let read: RefereeReport = serde_json::from_value(json).unwrap();
    assert_eq!(read, report);
}

#[test]
fn referee_refuses_what_it_cannot_start() {
    let started = |options| Referee::new(options).map(|_| ()).unwrap_err();
    let missing = RefereeOptions {
        source: PlayerSource::Program(vec!["./no-such-program".into()]),
        ..options("", 1)
    };
    assert!(matches!(started(missing), LabError::Player { .. }));
    let mut chess = options("", 1);
    chess.play.game = "chess".to_owned();
    assert!(matches!(started(chess), LabError::UnknownGame { .. }));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = RefereeOptions {
        source: PlayerSource::Tcp(taken.local_addr().unwrap().port()),
        ..options("", 1)
    };
    assert!(matches!(started(port), LabError::Port { .. }));
}

#[test]
fn referee_of_records_that_another_match_writes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let both = || {
        Referee::new(RefereeOptions {
            records: Some(path.clone()),
            ..options(LEFT, 1)
        })
    };
    let first = both().unwrap();
    let second = both().map(|_| ()).unwrap_err();
    assert!(matches!(&second, LabError::RecordsInUse(named) if *named == path));
    assert_eq!(second.remedy(), Some(crate::Remedy::AnotherFile));
    first.play(quiet()).unwrap();
    // Now the name has the records of a match, and no lock is left.
    let third = both().map(|_| ()).unwrap_err();
    assert!(matches!(third, LabError::Sealed(_)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A match of 30 games that is recorded in a folder.
fn recorded(jobs: usize, game: &str) -> (tempfile::TempDir, PathBuf, RefereeReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let mut options = options(LEFT, 30);
    (options.play.jobs, options.play.game) = (jobs, game.to_owned());
    options.records = Some(path.clone());
    let report = play(options);
    (folder, path, report)
}

fn judged(path: &Path, seal: &Seal) -> JudgeReport {
    let report = judge(&JudgeOptions {
        game: Some(&seal.game),
        shape: seal.shape(),
        seal: Some(seal),
        ..JudgeOptions::new(path, quiet())
    });
    report.unwrap()
}

/// A seal does not bind the moves: anyone with the secret can write other games for the commitment.
/// Only who ran the match knows which games were played. What commands and pages say must not claim
/// more.
#[test]
fn games_can_be_written_for_a_known_secret() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, script: &str| {
        let mut options = options(script, 3);
        options.records = Some(folder.path().join(name));
        let report = play(options);
        let seal = Seal::beside(&folder.path().join(name)).unwrap().unwrap();
        let judged = judged(&folder.path().join(name), &seal);
        (report.commitment, judged.sealed, judged.mean)
    };
    let (played, written) = (
        of("played.txt", LEFT),
        of("written.txt", &LEFT.replace("left", "up")),
    );
    assert_eq!(played.0, written.0, "one commitment");
    assert!(played.1 && written.1, "both seals are verified");
    assert_ne!(played.2, written.2);
}

/// A player is a child with the same rights. It must not find the secret in the memory of the
/// referee, nor records in its open files. Root can read everything, and is told so.
#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_a_referee_is_closed() {
    use rustix::process::{DumpableBehavior, dumpable_behavior};
    let _referee = Referee::new(options(LEFT, 1)).unwrap();
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    assert_eq!(
        can_players_read_memory(),
        rustix::process::geteuid().is_root()
    );
}

/// The moves of each game, without names and times.
fn moves(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let moves = text.lines().map(|line| line.split('|').nth(1).unwrap());
    let untimed = |moves: &str| {
        let parts = moves.split('(');
        parts
            .map(|part| part.split_once(')').map_or(part, |(_, rest)| rest))
            .collect()
    };
    moves.map(untimed).collect()
}

#[test]
fn referee_plays_the_same_games_with_any_number_of_jobs() {
    for game in ["2048", "threes-hint"] {
        let (one, two) = (recorded(1, game), recorded(2, game));
        assert_eq!(moves(&one.1), moves(&two.1));
        assert_eq!(one.2.scores.mean, two.2.scores.mean);
        assert_eq!(one.2.commitment, two.2.commitment);
        let numbers = fs::read_to_string(&two.1).unwrap();
        for (number, line) in numbers.lines().enumerate() {
            assert!(line.starts_with(&format!("sh:referee-{number}@")), "{line}");
        }
        let seal = Seal::beside(&two.1).unwrap().unwrap();
        let report = judged(&two.1, &seal);
        assert!(report.passed && report.sealed, "{:?}", report.faults);
        assert_eq!(report.unfinished, 30);
        assert_eq!(report.mean, two.2.scores.mean);
    }
}

/// Changes a text once; panics if nothing changes.
fn changed(text: &str, from: &str, to: &str) -> String {
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    changed
}

/// What the judge says about records that were changed. The forger also writes the new digest into
/// the seal.
fn forged(change: impl Fn(&str) -> String) -> String {
    let (_folder, path, _) = recorded(1, "2048");
    let mut seal = Seal::beside(&path).unwrap().unwrap();
    let text = change(&fs::read_to_string(&path).unwrap());
    fs::write(&path, text).unwrap();
    let said = |report: &JudgeReport| {
        assert!(!report.passed && !report.sealed);
        let faults = report.faults.iter();
        let faults: Vec<String> = faults
            .map(|fault| format!("line {:?}: {}", fault.line.unwrap_or(0), fault.reason))
            .collect();
        faults.join("\n")
    };
    let plain = said(&judged(&path, &seal));
    assert!(plain.contains("but the seal says"), "{plain}");
    seal.records_sha256 = sha256(&path).unwrap();
    said(&judged(&path, &seal))
}

#[test]
fn referee_records_cannot_be_forged() {
    let lines = |text: &str| {
        text.lines()
            .map(|line| format!("{line}\n"))
            .collect::<Vec<_>>()
    };
    let spawn = forged(|text| {
        let at = text.find('|').unwrap() + 2;
        let other = if &text[at..=at] == "1" { "2" } else { "1" };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    });
    assert!(spawn.contains("line 1: a new tile of index"), "{spawn}");
    assert!(
        spawn.contains("but the one that was drawn is of index"),
        "{spawn}"
    );
    let removed = forged(|text| {
        let mut lines = lines(text);
        lines.remove(4);
        lines.concat()
    });
    assert_eq!(
        removed,
        "line 5: this is game 5 of the match, expected game 4"
    );
    let renumbered = forged(|text| {
        let mut lines = lines(text);
        lines.remove(4);
        changed(&lines.concat(), "referee-5@", "referee-4@")
    });
    assert!(
        renumbered.contains("but the one that was drawn is"),
        "{renumbered}"
    );
    let doubled = forged(|text| {
        let mut lines = lines(text);
        lines.insert(4, lines[4].clone());
        lines.concat()
    });
    assert!(
        doubled.starts_with("line 6: this is game 4 of the match, expected game 5"),
        "{doubled}"
    );
    let fewer = forged(|text| lines(text)[..20].concat());
    assert_eq!(
        fewer,
        "line 0: the records end after game 19, but the match has games 0 to 29"
    );
    let more = forged(|text| changed(text, "", &lines(text)[0]));
    assert!(
        more.contains("this is game 0 of the match, expected game 1"),
        "{more}"
    );
    let slow = forged(|text| {
        let mut lines = lines(text);
        let mut episode = EpisodeRecord::default();
        episode.read(lines[0].trim_end().as_bytes(), false).unwrap();
        let slide = |one: &&mut RecordedMove| matches!(one.action, Action::Slide(_));
        episode.moves.iter_mut().find(slide).unwrap().millis = 20_001;
        episode.closed.at += 20_001;
        lines[0] = format!("{}\n", episode.line(false));
        lines.concat()
    });
    let words = "line 1: a move of game 0 took 20001 ms, but the limit of the match is 20000 ms";
    assert_eq!(slow, words);
    let cut = forged(|text| text[..text.len() - 20].to_owned());
    assert!(cut.contains("line 30:"), "{cut}");
}

#[test]
fn referee_seals_cannot_be_forged() {
    let (_folder, path, _) = recorded(1, "2048");
    let seal = Seal::beside(&path).unwrap().unwrap();
    let said = |seal: Seal| {
        let report = judged(&path, &seal);
        assert!(!report.passed && !report.sealed);
        report.faults[0].reason.clone()
    };
    let other = "5f".repeat(32);
    let commitment = "but its secret and terms give";
    for forged in [
        Seal {
            secret: other.clone(),
            ..seal.clone()
        },
        Seal {
            commitment: other.clone(),
            ..seal.clone()
        },
        Seal {
            games: 31,
            ..seal.clone()
        },
        Seal {
            board: "4x5".to_owned(),
            ..seal.clone()
        },
        Seal {
            time_ms: 1,
            ..seal.clone()
        },
        Seal {
            program: "afterstate 9".to_owned(),
            ..seal.clone()
        },
    ] {
        let reason = said(forged);
        assert!(reason.contains(commitment), "{reason}");
    }
    // A whole seal of another match.
    let other = Secret::parse(&other).unwrap();
    let of_other = Seal {
        records_sha256: seal.records_sha256.clone(),
        broken: seal.broken.clone(),
        ..Seal::new(&options("", 30).play.terms(), &other)
    };
    assert!(said(of_other).contains("but the one that was drawn is"));
    let unbroken = Seal {
        broken: BTreeMap::new(),
        ..seal
    };
    assert!(said(unbroken).contains("the seal does not say why it ends"));
}

/// A player by TCP, which answers as the one above.
fn connect(port: u16) -> std::io::Result<()> {
    use std::io::{BufRead, BufReader, Write};

    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
    let lines = BufReader::new(stream.try_clone()?).lines();
    for line in lines {
        match line?.split(' ').next() {
            Some("referee") => stream.write_all(b"ready 1\n")?,
            Some("board") => stream.write_all(b"left\n")?,
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn referee_accepts_connections() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let by_tcp = RefereeOptions {
        source: PlayerSource::Tcp(port),
        ..options("", 5)
    };
    let referee = Referee::with_secret(by_tcp, secret()).unwrap();
    let playing = thread::spawn(move || referee.play(quiet()));
    // Each broken game closes the connection.
    for _ in 0..5 {
        let _ = connect(port);
    }
    let report = playing.join().unwrap().unwrap();
    assert_eq!(report.broken["illegal-move"], 5);
    assert_eq!(report.scores.mean, play(options(LEFT, 5)).scores.mean);
}

/// The pipe of a player that does not read fills up, and nothing waits for it.
#[test]
fn referee_does_not_wait_for_readers() {
    use channel::{Channel, Silence};
    use std::process::{Command, Stdio};

    let mut child = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut channel = Channel::of_process(to, from).unwrap();
    let line = "board 0 0 0 0\n".repeat(10);
    let silence = (0..1_000_000).find_map(|_| channel.ask(&line).err());
    assert_eq!(silence, Some(Silence::NotReading));
    child.kill().unwrap();
    child.wait().unwrap();
}
