use afterstate::game::{Fast2048, Game};
use afterstate::random::Rng;
use proptest::prelude::{any, prop_assert, proptest};
use rand_core::Rng as _;

use super::*;

fn terms() -> MatchTerms {
    MatchTerms {
        program: "afterstate 0.1.0".to_owned(),
        game: "2048".to_owned(),
        shape: Shape::FOUR,
        games: 3,
        time_ms: 100,
    }
}

fn seal() -> Seal {
    Seal {
        started: "2026-11-19T22:00:00Z".to_owned(),
        finished: "2026-11-19T22:00:01Z".to_owned(),
        ..Seal::new(&terms(), &Secret([9; 32]))
    }
}

/// The key stream of an all-zero key and nonce, from the appendix of RFC 8439: the first 32 bytes
/// seed the first spawn.
#[test]
fn spawns_come_from_chacha20() {
    let mut stream = Secret([0; 32]).spawns(0);
    let mut seed = [0; 32];
    stream.0.fill_bytes(&mut seed);
    assert_eq!(
        hex(&seed),
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    );
    let game = Fast2048::new();
    let mut stream = Secret([0; 32]).spawns(0);
    let expected = game.draw_spawn(game.empty(), &mut Rng::from_seed(seed));
    assert_eq!(stream.draw(&game, game.empty()), expected);
}

#[test]
fn spawns_depend_on_the_secret_and_the_game() {
    let game = Fast2048::new();
    let drawn = |secret: u8, number| {
        let mut spawns = Secret([secret; 32]).spawns(number);
        (0..20)
            .map(|_| spawns.draw(&game, game.empty()))
            .collect::<Vec<_>>()
    };
    assert_eq!(drawn(1, 7), drawn(1, 7));
    assert_ne!(drawn(1, 7), drawn(1, 8));
    assert_ne!(drawn(1, 7), drawn(2, 7));
    assert_ne!(Secret::new().unwrap(), Secret::new().unwrap());
}

/// By sha256sum.
#[test]
fn a_commitment_binds_secret_and_terms() {
    let first = terms().commitment(&Secret([0; 32]));
    assert_eq!(
        first,
        "92f0aaf27ca8b1d9a11838b7f536ceec48e4bb7a6554476c3daa3763901ae4b9"
    );
    let mut others = [(); 5].map(|()| terms());
    others[0].game = "2584".to_owned();
    others[1].shape = Shape::new(3, 4).unwrap();
    others[2].games = 4;
    others[3].time_ms = 101;
    others[4].program = "afterstate 9".to_owned();
    for other in others {
        assert_ne!(other.commitment(&Secret([0; 32])), first);
    }
    assert_ne!(terms().commitment(&Secret([1; 32])), first);
}

#[test]
fn a_seal_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("games.txt");
    assert!(Seal::beside(&records).unwrap().is_none());
    let path = Seal::path_beside(&records);
    assert_eq!(path, folder.path().join("games.txt.seal.json"));
    let seal = Seal {
        broken: BTreeMap::from([("timeout".to_owned(), vec![1, 2])]),
        ..seal()
    };
    Seal::check_place(&records).unwrap();
    seal.write(&path).unwrap();
    assert_eq!(Seal::beside(&records).unwrap(), Some(seal.clone()));
    assert_eq!(seal.expected_commitment(), Some(seal.commitment));
    // The records of a match are the only proof of it.
    let taken = Seal::check_place(&records);
    assert!(matches!(taken, Err(LabError::Sealed(path)) if path == records));
    std::fs::write(&path, "a letter").unwrap();
    assert!(matches!(
        Seal::check_place(&records),
        Err(LabError::NotSeal(_))
    ));
}

#[test]
fn hostile_seals_are_refused() {
    let good = serde_json::to_value(seal()).unwrap();
    let parse = |value: &serde_json::Value| Seal::parse(value.to_string().as_bytes());
    assert!(parse(&good).is_ok());
    for (key, value, words) in [
        ("format", "another".into(), "`format` is `another`"),
        ("version", 0.into(), "`version` is `0`; expected 1 to 2"),
        ("version", 3.into(), "`version` is `3`; expected 1 to 2"),
        ("started", "banana".into(), "`started` is `banana`"),
        ("finished", "2026".into(), "expected a time such as"),
        (
            "broken",
            serde_json::json!({"nonsense": [0]}),
            "`broken` is `nonsense`; expected one of illegal-move,",
        ),
        ("board", "9x9".into(), "`board` is `9x9`"),
        ("games", 0.into(), "`games` is `0`"),
        ("games", u64::MAX.into(), "expected 1 to 1000000"),
        ("games", (-1).into(), "not the JSON of a seal"),
        ("secret", "00".into(), "64 hexadecimal digits"),
        ("secret", "+0".repeat(32).into(), "64 hexadecimal digits"),
        ("secret", "AB".repeat(32).into(), "64 hexadecimal digits"),
        ("secret", "é".repeat(32).into(), "64 hexadecimal digits"),
        ("broken", "all".into(), "not the JSON of a seal"),
        (
            "kind",
            "own".into(),
            "`kind` is `own`; expected `referee` with",
        ),
        ("kind", "teacher".into(), "not the JSON of a seal"),
        (
            "seed",
            1.into(),
            "`kind` is `referee`; expected `referee` with",
        ),
        ("extra", 1.into(), "unknown field"),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        let error = parse(&bad).unwrap_err().to_string();
        assert!(error.contains(words), "{key}: {error}");
    }
    let deep = "[".repeat(100_000);
    let large = vec![b' '; LARGEST as usize + 1];
    for bytes in [b"".as_slice(), b"{}", b"null", deep.as_bytes(), &large] {
        assert!(Seal::parse(bytes).is_err());
    }
}

/// The commitment of version 1, by sha256sum, has neither the program nor the limit of a move.
#[test]
fn seals_of_version_1_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("games.txt");
    let write = |seal: &Seal| seal.write(&Seal::path_beside(&records)).unwrap();
    let old = Seal {
        version: 1,
        ..seal()
    };
    write(&old);
    let read = Seal::beside(&records).unwrap().unwrap();
    assert_eq!(
        read.expected_commitment().as_deref(),
        Some("43b94e2a93fa39d473410f9eab8e08ea4d654399ae521584e5c89bbdef570131")
    );
    assert!(matches!(
        Seal::check_place(&records),
        Err(LabError::Sealed(_))
    ));
    // An evaluation can be played again.
    write(&Seal {
        kind: SealKind::Own,
        seed: Some(7),
        draws_per_move: Some(1),
        secret: String::new(),
        commitment: String::new(),
        ..old
    });
    Seal::check_place(&records).unwrap();
}

/// The player's own seal has a seed and no secret.
#[test]
fn own_seals_are_read_or_refused() {
    let good = Seal {
        kind: SealKind::Own,
        seed: Some(7),
        draws_per_move: Some(1),
        secret: String::new(),
        commitment: String::new(),
        ..seal()
    };
    let good = serde_json::to_value(good).unwrap();
    let parse = |value: &serde_json::Value| Seal::parse(value.to_string().as_bytes());
    assert_eq!(good.get("secret"), None);
    let seal = parse(&good).unwrap();
    assert!(seal.expected_commitment().is_none() && seal.spawns(0).is_some());
    for (key, value) in [
        ("secret", "ab".repeat(32).into()),
        ("kind", "referee".into()),
        ("seed", serde_json::Value::Null),
        ("draws_per_move", 1_000_000.into()),
        ("games", 0.into()),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(parse(&bad).is_err(), "{key}");
    }
}

/// An evaluation that began before a match does not replace its records afterwards.
#[test]
fn records_of_a_match_that_ended_meanwhile_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let written = crate::records::write(&path, ("2048", Shape::FOUR), |_, _| {
        std::fs::write(&path, "the match").unwrap();
        seal().write(&Seal::path_beside(&path)).unwrap();
    });
    assert!(matches!(written, Err(LabError::Sealed(sealed)) if sealed == path));
    assert_eq!(std::fs::read(&path).unwrap(), b"the match");
}

#[test]
fn numbers_are_read_from_tags() {
    assert_eq!(number_of(&tag("student", 17)), Some(17));
    assert_eq!(number_of("afterstate:eval-17"), Some(17));
    for tag in ["slide:place", "a:referee-", "a:referee--1", "a:referee-1x"] {
        assert_eq!(number_of(tag), None, "{tag}");
    }
}

proptest! {
    /// Any bytes, and seals with some bytes changed, are read or refused.
    #[test]
    fn any_bytes_are_read_or_refused(
        noise in proptest::collection::vec(any::<u8>(), 0..60),
        changes in proptest::collection::vec((0..500_usize, any::<u8>()), 0..4),
    ) {
        let mut text = serde_json::to_vec(&seal()).unwrap();
        for (at, byte) in changes {
            let length = text.len();
            text[at % length] = byte;
        }
        for bytes in [noise, text] {
            if let Ok(seal) = Seal::parse(&bytes) {
                prop_assert!(seal.expected_commitment().is_some());
            }
        }
    }
}
