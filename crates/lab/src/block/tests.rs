use std::collections::BTreeMap;

use afterstate::replay::TrainingStats;
use afterstate::tally::{Outcome, Tally};
use proptest::prelude::*;

use super::*;
use crate::curve::Curve;
use crate::plot;

const TILES: [u64; 4] = [2, 1024, 2048, 4096];
const HEADER: &str = "games,block_games,mean,max,moves,seconds,moves_per_second,learning_rate,\
                      ended_2,ended_1024,ended_2048,ended_4096\n";

fn example() -> Block {
    let mut tally = Tally::default();
    for (score, largest) in [(10_000, 1024), (20_001, 2048), (20_000, 2048)] {
        let moves = score / 20;
        tally.add(&Outcome {
            score,
            moves,
            largest,
            ..Outcome::default()
        });
    }
    tally.seconds = 0.123_456;
    Block::new(1_003, &tally, 0.1, None)
}

fn with_replay() -> Block {
    let stats = ReplayStats {
        total: TrainingStats {
            iterations: 140,
            updates: 700,
            ..TrainingStats::default()
        },
        block: TrainingStats {
            updates: 3,
            loss: 1.0,
            value: 10.0,
            moves: 7,
            reward: 8,
            ..TrainingStats::default()
        },
        scores: ScoreStats {
            running_average: Some(1_234.5),
            ..ScoreStats::default()
        },
        log: None,
    };
    Block {
        replay: Some(ReplayBlock::from(&stats)),
        ..example()
    }
}

fn table(blocks: &[Block]) -> String {
    let replay = blocks.iter().any(|block| block.replay.is_some());
    let columns = Columns::new(&TILES, replay);
    let rows = blocks.iter().map(|block| columns.row(block).unwrap());
    columns.header().unwrap() + &rows.collect::<String>()
}

#[test]
fn a_block_is_a_row_of_its_fields() {
    let row = "1003,3,16667.0,20001,2500,0.123,20250,0.1,0,1,2,0\n";
    assert_eq!(table(&[example()]), format!("{HEADER}{row}"));
    let text = table(&[with_replay()]);
    let header = "learning_rate,iterations,updates,loss,value,reward,running_average,ended_2,";
    assert!(text.contains(header), "{text}");
    let third = 1.0 / 3.0;
    let row = format!(
        ",0.1,140,700,{third},{},{},1234.5,0,",
        10.0 / 3.0,
        8.0 / 7.0
    );
    assert!(text.contains(&row), "{row} in {text}");
}

#[test]
fn a_block_has_the_tally_it_was_made_of() {
    let tally = example().tally();
    assert_eq!((tally.games, tally.score, tally.max), (3, 50_001, 20_001));
    assert_eq!(tally.ended, BTreeMap::from([(1024, 1), (2048, 2)]));
    assert_eq!(Block::new(1_003, &tally, 0.1, None).mean, example().mean);
}

#[test]
fn columns_of_format_1_are_read_under_their_present_names() {
    for block in [example(), with_replay()] {
        let present = table(std::slice::from_ref(&block));
        let mut former = present.replace("ended_", "ended_at_");
        for (name, old) in [
            ("learning_rate", "rate"),
            (",value,", ",q,"),
            ("running_average", "average"),
        ] {
            former = former.replace(name, old);
        }
        assert_ne!(former, present);
        assert_eq!(read(former.as_bytes()).unwrap(), [block]);
    }
}

/// Files of earlier versions of format 2 have no iterations, and rows without them are added.
#[test]
fn a_file_without_iterations_is_read_and_continued() {
    let block = with_replay();
    let before = Block {
        replay: block.replay.map(|replay| ReplayBlock {
            iterations: None,
            ..replay
        }),
        ..block.clone()
    };
    let header = table(std::slice::from_ref(&block));
    let header = header.lines().next().unwrap().replace("iterations,", "");
    let columns = Columns::new(&TILES, true).of_file(&header);
    let text = format!("{header}\n{}", columns.row(&block).unwrap());
    assert_eq!(read(text.as_bytes()).unwrap(), [before]);
    let now = Columns::new(&TILES, true);
    assert_eq!(now.clone().of_file(&now.header().unwrap()), now);
    assert_eq!(now.clone().of_file(""), now);
}

/// Checkpoints of format 1 keep these statistics under other names.
#[test]
fn statistics_of_format_1_are_read() {
    let stats = ReplayStats {
        scores: ScoreStats {
            running_average: Some(2.5),
            ..ScoreStats::default()
        },
        ..ReplayStats::default()
    };
    let text = r#"{"total":{},"block":{},"running_average":2.5}"#.replace(
        "{}",
        &serde_json::to_string(&TrainingStats::default()).unwrap(),
    );
    let former = text
        .replace("total", "all")
        .replace("running_average", "average");
    assert_ne!(former, text);
    let former = serde_json::from_str(&format!(r#"{{"studied":{former}}}"#)).unwrap();
    let mut progress = crate::migrate::progress(former);
    let found: ReplayStats = serde_json::from_value(progress["replay"].take()).unwrap();
    assert_eq!(found, stats);
}

#[test]
fn a_torn_last_line_is_left_out() {
    let text = table(&[example()]);
    assert_eq!(read(&text.as_bytes()[..text.len() - 1]), Ok(Vec::new()));
    let torn = format!("{text}2000,5");
    assert_eq!(read(torn.as_bytes()).unwrap(), [example()]);
}

/// What is wrong with a row in which one field is replaced.
fn refusal(from: &str, to: &str) -> String {
    let text = table(&[example()]);
    let row = text.lines().nth(1).unwrap();
    let damaged = row.replacen(from, to, 1);
    assert_ne!(row, damaged, "{from}");
    match read(format!("{HEADER}{damaged}\n").as_bytes()) {
        Err(BlockError::Row { line: 2, found }) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_that_are_no_block_are_refused_with_the_reason() {
    for (from, to, words) in [
        (
            "1003,",
            "many,",
            &["`games` is `many`", "invalid digit"][..],
        ),
        ("1003,", "-1003,", &["`games` is `-1003`"]),
        ("1003,", "2,", &["a block of 3 games after 2"]),
        (
            ",0,1,2,0",
            ",0,1,3,0",
            &["4 games ended", "the block has 3"],
        ),
        (",0,1,2,0", ",0,1,1000000000,0", &["1000000001 games ended"]),
        (",0,1,2,0", ",0,1,18446744073709551615,9", &["games ended"]),
        (",0,1,2,0", ",0,1,some,0", &["`ended_2048` is `some`"]),
        (",0,1,2,0", ",0,1,2", &["fields"]),
        ("16667.0", "NaN", &["a mean score of NaN"]),
        (
            "16667.0",
            "20002.0",
            &["mean score of 20002", "highest of 20001"],
        ),
        ("16667.0", "-1", &["a mean score of -1"]),
        ("0.123", "inf", &["`seconds`"]),
        (",2500,", ",99999999999999999,", &["a count above"]),
        (",0.1,", ",-0.1,", &["`learning_rate`"]),
    ] {
        let found = refusal(from, to);
        for word in words {
            assert!(found.contains(word), "{from} as {to}: {found}");
        }
    }
}

#[test]
fn tables_that_are_none_are_refused() {
    for (text, missing) in [
        ("", "games"),
        ("games,mean\n", "block_games"),
        ("one,two\n1,2\n", "games"),
        (&HEADER.replace("max,", "")[..], "max"),
    ] {
        let missing = missing.to_owned();
        assert_eq!(read(text.as_bytes()), Err(BlockError::Header { missing }));
    }
    assert!(read(&[0xff, 0xfe, 0x00, b'\n', b'1', b'\n']).is_err());
    // Games that do not increase, and the line after an empty one.
    let twice = table(&[example(), example()]);
    let error = read(twice.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "line 3 is not a block: 1003 games after 1003");
    let error = read(format!("{HEADER}\n1,2\n").as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("line 3 "), "{error}");
}

#[test]
fn json_has_the_same_fields_and_is_read_inside_a_tagged_event() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "event", rename_all = "lowercase")]
    enum Event {
        Block(Block),
    }
    let event = Event::Block(with_replay());
    let text = serde_json::to_string(&event).unwrap();
    for part in [
        "\"event\":\"block\"",
        "\"games\":1003",
        "\"mean\":16667.0",
        "\"running_average\":1234.5",
        "\"ended\":{\"1024\":1,\"2048\":2}",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    let plain = serde_json::to_string(&example()).unwrap();
    assert!(!plain.contains("replay"), "{plain}");
}

prop_compose! {
    fn any_block()(
        ended in prop::collection::vec(0u64..1_000_000, TILES.len()),
        others in 0u64..1000,
        before in 0u64..1 << 50,
        score in 0u64..1 << 50,
        moves in 0u64..1 << 53,
        seconds in 0.0..1e9,
        learning_rate in 0f32..10.0,
        replay in prop::option::of((any::<u64>(), -1e9..1e9, -1e9..1e9, 0.0..1e9, 0.0..1e9)),
    ) -> Block {
        let games = ended.iter().sum::<u64>() + others;
        let ended = TILES.into_iter().zip(ended).filter(|(_, count)| *count > 0);
        let tally = Tally {
            games,
            score: if games > 0 { score } else { 0 },
            max: score,
            moves,
            seconds,
            ended: ended.collect(),
            ..Tally::default()
        };
        let replay = replay.map(|(updates, loss, value, reward, running_average)| ReplayBlock {
            iterations: (updates % 2 == 0).then_some(updates / 5), updates, loss, value, reward, running_average,
        });
        Block { replay, ..Block::new(before + games, &tally, learning_rate, None) }
    }
}

/// A field as a stranger may have written it.
fn any_field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0u64..2000).prop_map(|n| n.to_string()),
        2 => any::<u64>().prop_map(|n| n.to_string()),
        1 => (0u32..64).prop_map(|bit| (1u64 << bit).to_string()),
        1 => any::<f64>().prop_map(|n| n.to_string()),
        1 => "[0-9.eNaif-]{0,6}",
    ]
}

proptest! {
    #[test]
    fn a_block_written_and_read_back_is_equal(block in any_block()) {
        let text = table(std::slice::from_ref(&block));
        prop_assert_eq!(read(text.as_bytes()).unwrap(), [block.clone()], "{}", text);
        let json = serde_json::to_string(&block).unwrap();
        prop_assert_eq!(serde_json::from_str::<Block>(&json).unwrap(), block);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Either it is refused, or it can be drawn.
    #[test]
    fn no_table_makes_the_drawing_panic(
        rows in prop::collection::vec(prop::collection::vec(any_field(), 18), 1..4),
        games in prop::collection::vec(1u64..1 << 53, 4),
    ) {
        let header = table(&[with_replay()]).lines().next().unwrap().to_owned();
        let mut games = games;
        games.sort_unstable();
        let mut text = header + "\n";
        // Few rows of wild fields are blocks, so half of them get a sound beginning.
        for (row, games) in rows.iter().zip(games) {
            let sound = [games, games, 9, 9, 9].map(|n| n.to_string());
            let fields: Vec<String> = match games % 2 {
                0 => sound.into_iter().chain(row[5..].iter().cloned()).collect(),
                _ => row.clone(),
            };
            text += &(fields.join(",") + "\n");
        }
        if let Ok(blocks) = read(text.as_bytes()) {
            let curve = Curve::new("run".to_owned(), &blocks, 256.0);
            for plot in plot::plots(&[curve], "t").into_iter().flatten() {
                prop_assert!(!plot.svg().contains("NaN"), "{text}");
                plot.png().unwrap();
            }
        }
    }
}
