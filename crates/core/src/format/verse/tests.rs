use proptest::prelude::*;

use super::*;
use crate::game::Fast2048;
use crate::judge::{Judge, Reason, RecordEnd};

/// Five steps by hand, from the published layout of bits. Each is `time << 10 | row << 7 |
/// column << 4 | tile << 2 | slide` in three digits of base 128.
///
/// A 2 in row 1, column 1 without a time: 2047 << 10 = 2096128 = 127, 120, 0.
/// A 2 in row 1, column 2 without a time: 2096128 + 16 = 127, 120, 16.
/// Left (2), a 4 (1) in row 4, column 4, after 5 ms (resolution 0, 5 units: 5 << 3 = 40):
/// 40 << 10 | 3 << 7 | 3 << 4 | 1 << 2 | 2 = 40960 + 384 + 48 + 4 + 2 = 41398 = 2, 67, 54.
const BY_HAND: &str = "4x4-_¾ú0¾úg2ÅS";

#[test]
fn a_replay_by_hand() {
    let replay = VerseReplay::read(BY_HAND.as_bytes()).unwrap();
    assert_eq!((replay.shape, &*replay.label), (Shape::FOUR, ""));
    let cells: Vec<(u8, u8)> = replay.steps.iter().map(|it| (it.cell, it.tile)).collect();
    assert_eq!(cells, [(0, 1), (1, 1), (15, 2)]);
    assert_eq!(replay.steps[2].direction, Direction::Left);
    assert_eq!(replay.steps[0].millis(), None);
    assert_eq!(replay.steps[2].millis(), Some(5));
    assert_eq!(replay.to_string(), BY_HAND);

    let game = Fast2048::new();
    let record = replay.record(&game);
    assert_eq!(
        record.line(false).to_string(),
        "2048verse@0|0111#L[4](5)F2|2048verse@5"
    );
    let judged = Judge::new(game).replay(&record, None).unwrap();
    assert_eq!((judged.outcome().score, judged.outcome().moves), (4, 1));
    assert!(matches!(judged.end(), RecordEnd::Slides(_)));
}

/// The same game in the old format: number = slide << 5 | tile << 4 | column << 2 | row, from a
/// space on; slides are up, right, down, left. A 2 in cell 0 is 0, in row 1, column 2 it is 4, and
/// left with a 4 in row 4, column 4 is 96 + 16 + 12 + 3 = 127, the last character.
#[test]
fn an_old_replay_by_hand() {
    for header in ["replay_", "replay:", "replay"] {
        let replay = VerseReplay::read(format!("{header} $á").as_bytes()).unwrap();
        let new = VerseReplay::read(BY_HAND.as_bytes()).unwrap();
        let of = |replay: &VerseReplay| -> Vec<_> {
            let steps = replay.steps.iter();
            steps
                .map(|it| (it.direction, it.cell, it.tile))
                .skip(2)
                .collect()
        };
        assert_eq!(of(&replay), of(&new));
        assert_eq!((replay.steps[1].cell, replay.steps[1].tile), (1, 1));
    }
    let small = VerseReplay::read("replay_3x4 $".as_bytes()).unwrap();
    assert_eq!(small.shape.to_string(), "3x4");
    // A space at the end is a step: up, and a 2 in the first cell.
    assert_eq!(VerseReplay::read(b"replay_ $ ").unwrap().steps.len(), 3);
}

#[test]
fn times_have_eight_resolutions() {
    let millis = |resolution: u16, units: u16| VerseStep {
        time: units << 3 | resolution,
        ..VerseStep::new(Direction::Up, 0, 1)
    };
    assert_eq!(millis(0, 255).millis(), Some(255));
    assert_eq!(millis(1, 0).millis(), Some(256));
    assert_eq!(millis(1, 255).millis(), Some(1021));
    assert_eq!(millis(4, 255).millis(), Some(65_344));
    assert_eq!(millis(7, 254).millis(), Some(4_174_318));
    assert_eq!(millis(7, 255).millis(), None);
}

#[test]
fn other_lines_are_refused_with_the_reason() {
    let error = |line: &str| VerseReplay::read(line.as_bytes()).unwrap_err().to_string();
    assert!(error("").contains("expected `4x4-`"));
    assert!(error("4x4-abc").contains("expected `4x4-`"));
    assert_eq!(error("6x4-_"), "a board of 6x4; expected 2x2 to 5x5");
    assert!(error("4x4-_").starts_with("0 steps"));
    assert!(error("4x4-_¾ú0¾úg2Å").starts_with("2 characters at the end"));
    assert_eq!(
        error("4x4-_¾ú0¾!g"),
        "character 10, `!`, is not one of a replay"
    );
    assert!(error("replay_  ü\u{7}").starts_with("character 11, `\\u{7}`"));
    assert!(error("replay_a ").starts_with("character 8, `a`"));
    // Kind 2 of a tile, and row 3 of a 2x4 board.
    assert!(error("4x4-_008").contains("step 1 has a new tile of kind 2"));
    assert!(error("2x4-_020").contains("row 3 and column 1 of a board of 2x4"));
    assert_eq!(
        VerseReplay::read(b"4x4-_\xff").unwrap_err(),
        VerseError::NotText
    );
    assert!(VerseReplay::is_begun(BY_HAND.as_bytes()) && VerseReplay::is_begun(b"replay_ "));
    assert!(!VerseReplay::is_begun(b"slide:place@1|C1"));
}

/// A slide that changes nothing, and a tile on another, are found where they are.
#[test]
fn the_judge_finds_an_illegal_step() {
    let game = Fast2048::new();
    for (last, reason) in [
        (
            VerseStep::new(Direction::Up, 5, 1),
            Reason::Illegal(Direction::Up),
        ),
        (VerseStep::new(Direction::Left, 0, 1), Reason::Taken(0)),
    ] {
        let mut replay = VerseReplay::read(BY_HAND.as_bytes()).unwrap();
        replay.steps[2] = last;
        replay.steps.push(VerseStep::new(Direction::Left, 9, 1));
        let fault = Judge::new(game)
            .replay(&replay.record(&game), None)
            .unwrap_err();
        assert_eq!((fault.column, fault.reason), (3, reason));
    }
}

proptest! {
    /// Any text is read or refused; what is read is written back the same, and judged without a
    /// panic.
    #[test]
    fn any_line_is_read_or_refused(
        noise in proptest::collection::vec(any::<u8>(), 0..40),
        steps in "[0-9a-zA-ZÀ-ÿ¤¾]{0,60}",
        old in "[ -~Çüéâä]{0,40}",
        sides in "[1-6]x[1-6]",
    ) {
        let new = format!("{sides}-{}_{steps}", steps.len());
        let lines = [noise, new.into_bytes(), format!("replay_{old}").into_bytes()];
        for line in lines {
            let Ok(replay) = VerseReplay::read(&line) else { continue };
            let again = VerseReplay::read(replay.to_string().as_bytes()).unwrap();
            prop_assert_eq!(&again, &replay);
            if replay.shape == Shape::FOUR {
                let game = Fast2048::new();
                let _ = Judge::new(game).replay(&replay.record(&game), None);
            }
        }
    }
}
