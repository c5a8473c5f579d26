//! Tournaments of honest and hostile players.

use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use afterstate::game::Shape;

use super::*;
use crate::agent::Baseline;
use crate::control::quiet;
use crate::evaluate::Contender;
use crate::records::{JudgeOptions, judge};
use crate::seal::Seal;

/// Answers every board with a slide until it is illegal.
fn always(slide: &str) -> String {
    format!(
        "read word; echo ready 1; while read word rest; do [ $word = board ] && echo {slide}; done"
    )
}

struct Class(tempfile::TempDir);

impl Class {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("players")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A shell script among the players.
    fn script(&self, name: &str, lines: &str) {
        let path = self.path("players").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn options(&self, games: u64) -> TournamentOptions {
        let folder = self.path("players");
        TournamentOptions {
            entrants: find(&folder, "2048", Shape::FOUR).unwrap(),
            folder,
            play: MatchOptions {
                game: "2048".to_owned(),
                shape: Shape::FOUR,
                games,
                time: Duration::from_secs(20),
                start_time: Duration::from_secs(20),
                jobs: 2,
                memory: None,
            },
            target: None,
            out: self.path("results"),
        }
    }
}

fn play(options: TournamentOptions) -> TournamentReport {
    let secret = Secret::parse(&"5e".repeat(32)).unwrap();
    let tournament = Tournament::with_secret(options, secret).unwrap();
    tournament.play(quiet()).unwrap()
}

fn names(report: &TournamentReport) -> Vec<&str> {
    report.players.iter().map(|player| &*player.name).collect()
}

/// Two copies of a player without a memory have the same games: the same spawns, difference 0.
#[test]
fn tournament_pairs_games_by_number() {
    let class = Class::new();
    class.script("anna", &always("left"));
    class.script("ben", &always("left"));
    class.script("carl/player", &always("down"));
    let report = play(class.options(12));
    assert!(report.complete);
    let find = |name: &str| {
        let mut players = report.players.iter();
        players.find(|player| player.name == name).unwrap()
    };
    let (anna, ben, carl) = (find("anna"), find("ben"), find("carl"));
    assert_eq!(anna.scores.mean, ben.scores.mean);
    assert_eq!(anna.rank, ben.rank);
    assert_eq!(anna.same_games_as, ["ben"]);
    assert_eq!(ben.same_games_as, ["anna"]);
    assert!(carl.same_games_as.is_empty());
    let behind = ben.behind_previous.as_ref().unwrap();
    assert_eq!((behind.mean, behind.mean_ci95), (0.0, Some([0.0, 0.0])));
    assert_eq!(ben.told_apart, Some(false));
    // The first board of each game is the same for all.
    let starts = |player: &Standing| -> Vec<String> {
        let text = fs::read_to_string(player.records.as_ref().unwrap()).unwrap();
        let moves = text.lines().map(|line| line.split('|').nth(1).unwrap());
        moves.map(|moves| moves[..4].to_owned()).collect()
    };
    assert_eq!(starts(anna).len(), 12);
    assert_eq!(starts(anna), starts(carl));
}

#[test]
fn tournament_survives_hostile_players() {
    let class = Class::new();
    let greets = "read x; echo ready 1; read x";
    class.script("crash", &format!("{greets}; kill -9 $$"));
    class.script("flood", &format!("{greets}; exec yes left"));
    class.script(
        "illegal",
        &format!("{greets}; while :; do echo up; read x; done"),
    );
    class.script("mute", "exit 0");
    class.script("rude", &format!("{greets}; printf '\\033[2J\\n'"));
    class.script("lost", "");
    let lost = class.path("players/lost");
    fs::write(&lost, "#!/no/such/interpreter\n").unwrap();
    fs::write(class.path("players/notes.md"), "text").unwrap();
    fs::write(class.path("players/.hidden"), "text").unwrap();
    fs::write(class.path("players/net.safetensors"), "no model").unwrap();
    fs::create_dir(class.path("players/empty")).unwrap();
    let mut options = class.options(5);
    let greedy = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let entrant = Entrant::of_contender("greedy", &greedy);
    options.entrants.players.push(entrant);
    let report = play(options);
    assert!(report.complete);
    assert_eq!(names(&report)[0], "greedy");
    assert_eq!(report.players.len(), 6);
    assert_eq!(report.players[0].finished, 5);
    for player in &report.players[1..] {
        assert_eq!((player.scores.games, player.finished), (5, 0));
        let kind = match &*player.name {
            "crash" | "mute" => "exit",
            "flood" => "flood",
            "illegal" => "illegal-move",
            _ => "wrong-word",
        };
        assert!(player.broken.contains_key(kind), "{player:?}");
        assert!(player.first_breach.as_ref().unwrap().is_ascii());
    }
    let failed: Vec<&str> = report.failed.iter().map(|failed| &*failed.name).collect();
    assert_eq!(failed, ["lost", "net.safetensors"]);
    assert!(report.failed[0].reason.contains("cannot be started"));
    let skipped: Vec<&str> = report.skipped.iter().map(|one| &*one.name).collect();
    assert_eq!(skipped, [".hidden", "empty", "notes.md"]);
}

/// Everything in the folder of results is as the report says, and every match can be judged.
#[test]
fn tournament_results_are_read_back() {
    let class = Class::new();
    class.script("anna, \"the first\"", &always("left"));
    class.script("ben", &always("right"));
    class.script("carl", "exit 1");
    let report = play(class.options(8));
    let folder = &report.folder;
    let json = fs::read_to_string(folder.join(RESULTS_JSON)).unwrap();
    assert_eq!(
        serde_json::from_str::<TournamentReport>(&json).unwrap(),
        report
    );
    let mut table = csv::Reader::from_path(folder.join(RESULTS_CSV)).unwrap();
    let columns = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    for (row, player) in rows.iter().zip(&report.players) {
        let cell = |name: &str| {
            row.get(columns.iter().position(|c| c == name).unwrap())
                .unwrap()
        };
        assert_eq!(cell("player"), player.name);
        assert_eq!(cell("mean").parse::<f64>().unwrap(), player.scores.mean);
        let low = player.scores.mean_ci95.unwrap()[0];
        assert_eq!(cell("mean_low").parse::<f64>().unwrap(), low);
        assert_eq!(cell("target"), "2048");
        assert_eq!(cell("broken"), "8");
        assert!(cell("remark").starts_with("game 0: "), "{row:?}");
    }
    let mut scores = csv::Reader::from_path(folder.join(SCORES_CSV)).unwrap();
    let scores: Vec<csv::StringRecord> = scores.records().map(Result::unwrap).collect();
    assert_eq!(scores.len(), 8);
    let sum: f64 = scores
        .iter()
        .map(|game| game[1].parse::<f64>().unwrap())
        .sum();
    assert_eq!(sum / 8.0, report.players[0].scores.mean);
    for player in &report.players {
        let path = player.records.as_ref().unwrap();
        let seal = Seal::beside(path).unwrap().unwrap();
        assert_eq!(
            (&seal.secret, &seal.commitment),
            (&report.secret, &report.commitment)
        );
        let judged = judge(&JudgeOptions {
            game: Some(&seal.game),
            shape: Some(Shape::FOUR),
            seal: Some(&seal),
            ..JudgeOptions::new(path, quiet())
        });
        let judged = judged.unwrap();
        assert!(judged.passed && judged.sealed, "{:?}", judged.faults);
        assert_eq!(judged.mean, player.scores.mean);
    }
}

/// While games are played, no file with a name tells the secret or a spawn.
#[test]
fn tournament_tells_nothing_before_its_end() {
    let class = Class::new();
    class.script("anna", &always("left"));
    let results = class.path("results");
    let seen = class.path("seen");
    // Lists all files of the results and their content, whenever it starts.
    let spy = format!(
        "find {0} -type f | sort >> {1}; cat {0}/*.csv >> {1}; {2}",
        results.display(),
        seen.display(),
        always("down")
    );
    class.script("ben", &spy);
    let report = play(class.options(4));
    let seen = fs::read_to_string(seen).unwrap();
    let files: Vec<&str> = seen.lines().filter(|line| line.starts_with('/')).collect();
    assert!(files.iter().all(|file| file.ends_with(".csv")), "{files:?}");
    assert!(
        seen.contains("1,anna,4,"),
        "the first player is in the table: {seen}"
    );
    assert!(!seen.contains(&report.secret));
}

#[test]
fn tournament_can_be_cancelled() {
    let class = Class::new();
    class.script("anna", &always("left"));
    class.script("slow", "read x; echo ready 1; sleep 1000");
    class.script("unlucky", &always("left"));
    let mut options = class.options(3);
    options.play.time = Duration::from_secs(1000);
    let control = Control::new();
    let token = control.cancel_token();
    let tournament = Tournament::new(options).unwrap();
    let playing = thread::spawn(move || tournament.play(&control));
    let table = class.path("results").join(RESULTS_CSV);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !table.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    token.cancel();
    let report = playing.join().unwrap().unwrap();
    assert!(!report.complete);
    assert_eq!(names(&report), ["anna"]);
    assert_eq!(report.not_played, ["slow", "unlucky"]);
    let text = fs::read_to_string(table).unwrap();
    assert!(
        text.contains("slow,0,") && text.contains(NOT_PLAYED),
        "{text}"
    );
    assert!(class.path("results/records/anna.txt.seal.json").exists());
}

#[test]
fn tournament_refuses_wrong_places_and_tiles() {
    let class = Class::new();
    let folder = class.path("players");
    let none = find(&folder, "2048", Shape::FOUR).unwrap_err();
    assert!(matches!(none, LabError::NoPlayers(_)));
    class.script("anna", &always("left"));
    let refused = |options| Tournament::new(options).map(|_| ()).unwrap_err();
    let inside = TournamentOptions {
        out: folder.join("results"),
        ..class.options(1)
    };
    assert!(matches!(refused(inside), LabError::ResultsAmongPlayers(_)));
    assert!(!folder.join("results").exists());
    let tile = TournamentOptions {
        target: Some(3),
        ..class.options(1)
    };
    assert!(matches!(
        refused(tile),
        LabError::Solve(SolveError::Target { .. })
    ));
    fs::create_dir(class.path("results")).unwrap();
    fs::write(class.path("results/letter"), "").unwrap();
    assert!(matches!(
        refused(class.options(1)),
        LabError::NotEmpty { .. }
    ));
    let of_chess = find(&folder, "chess", Shape::FOUR).unwrap_err();
    assert!(matches!(of_chess, LabError::UnknownGame { .. }));
}

#[test]
fn tournament_of_a_folder_in_use_is_refused() {
    let class = Class::new();
    class.script("anna", &always("left"));
    let first = Tournament::new(class.options(1)).unwrap();
    let second = Tournament::new(class.options(1)).map(|_| ()).unwrap_err();
    assert!(matches!(second, LabError::Locked(folder) if folder == class.path("results")));
    first.play(quiet()).unwrap();
    let third = Tournament::new(class.options(1)).map(|_| ()).unwrap_err();
    assert!(matches!(third, LabError::NotEmpty { .. }));
}

/// An agent plays in this process as it does in an evaluation: it does not break rules.
#[test]
fn tournament_plays_agents_on_every_board() {
    for (game, shape) in [("2048", (2, 3)), ("threes-hint", (4, 4))] {
        let class = Class::new();
        class.script("anna", &always("left"));
        let shape = Shape::new(shape.0, shape.1).unwrap();
        let mut options = class.options(6);
        (options.play.game, options.play.shape) = (game.to_owned(), shape);
        for baseline in Baseline::ALL {
            let contender = Contender::baseline(baseline, game, shape).unwrap();
            let entrant = Entrant::of_contender(baseline.name(), &contender);
            options.entrants.players.push(entrant);
        }
        let report = play(options);
        for player in report.players.iter().filter(|player| player.name != "anna") {
            assert_eq!(player.finished, 6, "{player:?}");
            assert!(player.move_ms.is_some());
        }
    }
}
