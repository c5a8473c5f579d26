use std::io::Cursor;

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::tdl::Tag;
use super::*;

/// A file assembled byte by byte.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u16(self, n: u16) -> Self {
        self.put(&n.to_le_bytes())
    }

    fn u32(self, n: u32) -> Self {
        self.put(&n.to_le_bytes())
    }

    fn u64(self, n: u64) -> Self {
        self.put(&n.to_le_bytes())
    }

    /// Four-byte floats: `first`, `first` + 1, ...
    fn floats(self, first: u32, count: u64) -> Self {
        let numbers: Vec<u8> = (first..first + count as u32)
            .flat_map(|n| (n as f32).to_le_bytes())
            .collect();
        self.put(&numbers)
    }

    /// A table of TDL2048+ up to its first count.
    fn table(self, pattern: u32, digits: u16, width: u16) -> Self {
        self.put(&[4]).u32(pattern).u16(digits).u16(0).u16(width)
    }
}

/// Two tables, the second with TC.
fn tdl() -> Vec<u8> {
    let begun = Bytes::default().put(&[0]).u32(2);
    let plain = begun.table(0x01, 2, 4).u64(256).floats(0, 256).u16(0);
    let weights = plain.table(0xf, 1, 4).u64(16).floats(1000, 16);
    let sums = weights.u16(4).u64(32).floats(2000, 32);
    sums.u16(0).0
}

fn demo() -> Vec<u8> {
    let begun = Bytes::default().u64(2).u32(18).put(b"2-tuple pattern 01");
    let first = begun.u64(256).floats(0, 256);
    let second = first.u32(17).put(b"1-tuple pattern f");
    second.u64(16).floats(1000, 16).0
}

fn framework() -> Vec<u8> {
    let begun = Bytes::default().u32(2).u64(256).floats(0, 256);
    begun.u64(16).floats(1000, 16).0
}

fn framework_of_2017() -> Vec<u8> {
    let begun = Bytes::default().u64(2).u64(256).floats(0, 256);
    begun.u64(16).floats(1000, 16).0
}

fn scan(program: Program, bytes: &[u8]) -> Result<Foreign, ScanError> {
    Foreign::scan(program, &mut Cursor::new(bytes), bytes.len() as u64, true)
}

/// Rewrites a file: its frame, and its numbers moved from their old to their new offsets.
fn rewritten(bytes: &[u8], from: &Foreign, to: &mut Foreign, by_name: bool) -> Vec<u8> {
    let frame = to.lay_out(by_name);
    let mut out = vec![0xee; frame.end() as usize];
    let mut put = |at: u64, bytes: &[u8]| {
        out[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    for (at, piece) in frame.pieces() {
        put(*at, piece);
    }
    let spans = |foreign: &Foreign| -> Vec<TensorSpan> {
        let entries = foreign.entries().into_iter();
        entries.flat_map(|entry| entry.spans).collect()
    };
    for (from, to) in spans(from).iter().zip(spans(to)) {
        assert_eq!((from.float, from.count), (to.float, to.count));
        put(to.at, &bytes[from.at as usize..][..from.bytes() as usize]);
    }
    out
}

/// Converts by way of the JSON description, which has no offsets.
#[track_caller]
fn there_and_back(program: Program, bytes: &[u8], by_name: bool) -> Foreign {
    let mut file = Cursor::new(bytes);
    let mut found = Foreign::scan(program, &mut file, bytes.len() as u64, by_name).unwrap();
    found.name_tables(None);
    assert!(found.is_sound());
    let json = serde_json::to_string(&found).unwrap();
    let mut copy: Foreign = serde_json::from_str(&json).unwrap();
    assert!(
        rewritten(bytes, &found, &mut copy, by_name) == bytes,
        "{json}"
    );
    assert_eq!(copy, found);
    found
}

#[test]
fn every_format_is_rewritten_to_the_same_bytes() {
    for by_name in [true, false] {
        there_and_back(Program::Tdl, &tdl(), by_name);
        there_and_back(Program::Tdl, &[b"w", &tdl()[..]].concat(), by_name);
    }
    there_and_back(Program::Demo, &demo(), false);
    there_and_back(Program::Framework, &framework(), false);
    let Foreign::Framework(old) = there_and_back(Program::Framework, &framework_of_2017(), false)
    else {
        panic!("another program");
    };
    assert!(old.wide);
}

#[test]
fn tables_are_found_with_their_patterns() {
    let expected = [("01".to_owned(), 0), ("f".to_owned(), 0)];
    for (program, bytes) in [(Program::Tdl, tdl()), (Program::Demo, demo())] {
        let found = scan(program, &bytes).unwrap();
        assert_eq!(found.table_patterns(None).unwrap(), expected);
        assert_eq!(found.program(), program);
    }
    let nameless = scan(Program::Framework, &framework()).unwrap();
    assert_eq!(
        nameless.table_patterns(None),
        Err(TablePatternError::NoPatterns { tables: 2 })
    );
    let given = ["01".to_owned(), "f".to_owned()];
    assert_eq!(nameless.table_patterns(Some(&given)).unwrap(), expected);

    // Upper and lower case are equivalent.
    let upper = Bytes::default().u64(1).u32(17).put(b"1-tuple pattern F");
    let upper = scan(Program::Demo, &upper.u64(16).floats(0, 16).0).unwrap();
    assert_eq!(upper.table_patterns(None).unwrap(), expected[1..]);

    // And with their numbers.
    let entries = scan(Program::Tdl, &tdl()).unwrap().entries();
    assert_eq!(entries[0].sums(), None);
    let [e, a] = entries[1].sums().unwrap();
    let number = |at: u64| f32::from_le_bytes(tdl()[at as usize..][..4].try_into().unwrap());
    assert_eq!(number(entries[0].weights().at + 4 * 17), 17.0);
    assert_eq!(number(entries[1].weights().at), 1000.0);
    assert_eq!((number(e.at), number(a.at)), (2000.0, 2016.0));
    assert!(!entries[1].has_more());
}

#[test]
fn unplayable_files_are_refused_with_the_reason() {
    let found = scan(Program::Demo, &demo()).unwrap();
    let given = |patterns: &[&str]| -> Vec<String> {
        patterns.iter().map(|&pattern| pattern.to_owned()).collect()
    };
    let other = found
        .table_patterns(Some(&given(&["02", "f"])))
        .unwrap_err();
    assert!(other.to_string().contains("table 1 is `01`"), "{other}");
    let count = found.table_patterns(Some(&given(&["02"]))).unwrap_err();
    let expected = TablePatternError::PatternCount {
        found: 1,
        expected: 2,
    };
    assert_eq!(count, expected);
    let nameless = scan(Program::Framework, &framework()).unwrap();
    let length = nameless
        .table_patterns(Some(&given(&["01", "ef"])))
        .unwrap_err();
    let expected = TablePatternError::Length {
        table: 2,
        pattern: "ef".to_owned(),
        found: 16,
        expected: 256,
    };
    assert_eq!(length, expected);

    let twice = [tdl(), tdl()].concat();
    let twice = scan(Program::Tdl, &twice).unwrap().table_patterns(None);
    assert!(matches!(
        twice,
        Err(TablePatternError::Twice { table: 3, .. })
    ));
    let feature = Bytes::default().put(&[0]).u32(1).put(&[4]).put(b"num@lt  ");
    let feature = feature.u16(4).u64(16).floats(0, 16).u16(0).0;
    let found = there_and_back(Program::Tdl, &feature, true);
    let expected = TablePatternError::Feature {
        table: 1,
        name: "num@lt".to_owned(),
    };
    assert_eq!(found.table_patterns(None), Err(expected));
}

#[test]
fn names_are_read_as_tdl2048_does() {
    let name = |number: u32, digits: u16, cells: u32| {
        let begun = Bytes::default().put(&[0]).u32(1);
        let bytes = begun.table(number, digits, 2).u64(16_u64.pow(cells));
        let bytes = bytes.put(&vec![0; 2 * 16_usize.pow(cells)]).u16(0).0;
        let Foreign::Tdl(tdl) = scan(Program::Tdl, &bytes).unwrap() else {
            panic!("another program");
        };
        let table = tdl.tables().next().unwrap();
        (table.label(), table.pattern())
    };
    let is = |label: &str, pattern: &str, stage: u32| {
        (label.to_owned(), Some((pattern.to_owned(), stage)))
    };
    assert_eq!(name(0x0145, 4, 4), is("0145", "0145", 0));
    // Before files stored the number of digits, it was the number of cells.
    assert_eq!(name(0x0145, 0, 4), is("0145", "0145", 0));
    // The stage precedes the pattern, with its digits reversed.
    assert_eq!(name(0x0000_0145, 8, 4), is("00000145", "0145", 0));
    assert_eq!(name(0x1000_0145, 8, 4), is("10000145", "0145", 1));
    assert_eq!(name(0x2000_0145, 0, 4), is("20000145", "0145", 2));
    assert_eq!(name(0x0100_0145, 8, 4), is("01000145", "0145", 16));
    assert_eq!(name(0x145, 3, 2), ("145".to_owned(), None));
}

#[test]
fn old_versions_and_other_widths() {
    // Versions 0 (four bytes), 1 (eight), 2 (as the file says).
    let begun = Bytes::default().put(&[0]).u32(3);
    let zero = begun.put(&[0]).u32(0x1).u64(16).floats(0, 16);
    let one = zero.put(&[1]).u32(0x1f).u64(256).put(&[0; 2048]);
    let two = one.put(&[2]).u32(0x2).u64(16).u16(4).floats(0, 16).0;
    let found = there_and_back(Program::Tdl, &two, true);
    let patterns = ["1", "1f", "2"].map(|pattern| (pattern.to_owned(), 0));
    assert_eq!(found.table_patterns(None).unwrap(), patterns);
    let floats: Vec<_> = found.entries().iter().map(|e| e.weights().float).collect();
    assert_eq!(floats, [Float::F32, Float::F64, Float::F32].map(Some));

    // Unknown fields are preserved.
    let more = Bytes::default().put(b"w\0").u32(1).table(0x3, 1, 2);
    let more = more
        .u64(16)
        .put(&[0; 32])
        .u16(3)
        .u64(5)
        .put(&[7; 15])
        .u16(0)
        .0;
    let found = there_and_back(Program::Tdl, &more, false);
    let entry = &found.entries()[0];
    assert!(entry.has_more() && entry.sums().is_none());
    assert_eq!((entry.spans[1].float, entry.spans[1].count), (None, 15));
}

#[test]
fn sections_keep_their_tags() {
    let tagged = [b"w", &tdl()[..]].concat();
    let both = [tdl(), tagged.clone(), tdl()].concat();
    let Foreign::Tdl(found) = there_and_back(Program::Tdl, &both, true) else {
        panic!("another program");
    };
    let tags: Vec<Tag> = found.sections.iter().map(|section| section.tag).collect();
    assert_eq!(tags, [Tag::ByName, Tag::Always, Tag::ByName]);

    // A file whose tags match its name is the same under another name.
    let from = scan(Program::Tdl, &tdl()).unwrap();
    assert_eq!(rewritten(&tdl(), &from, &mut from.clone(), false), tagged);
}

#[test]
fn files_are_written_as_the_original_programs_do() {
    let weights = |count| tdl::Field::new(Float::F32, count);
    let tables = vec![
        tdl::TdlTable::new("01", None, vec![weights(256)]).unwrap(),
        tdl::TdlTable::new("f", None, vec![weights(16), weights(32)]).unwrap(),
    ];
    let from = scan(Program::Tdl, &tdl()).unwrap();
    let mut ours = Foreign::Tdl(Tdl::new(tables));
    assert!(rewritten(&tdl(), &from, &mut ours, true) == tdl());
    // Four tables of 16^6: the file length that the original program writes.
    let large = ["012345", "456789", "012456", "45689a"];
    let tables = large.map(|p| tdl::TdlTable::new(p, None, vec![weights(1 << 24)]).unwrap());
    let mut large = Foreign::Tdl(Tdl::new(tables.into()));
    assert_eq!(large.lay_out(true).end(), 268_435_545);

    let tables = vec![
        demo::DemoTable::new("01", 256),
        demo::DemoTable::new("f", 16),
    ];
    let from = scan(Program::Demo, &demo()).unwrap();
    assert!(rewritten(&demo(), &from, &mut Foreign::Demo(Demo { tables }), false) == demo());
    let tables = vec![
        framework::FrameworkTable::new("01", 256),
        framework::FrameworkTable::new("f", 16),
    ];
    let from = scan(Program::Framework, &framework()).unwrap();
    let wide = false;
    let mut ours = Foreign::Framework(Framework { wide, tables });
    assert!(rewritten(&framework(), &from, &mut ours, false) == framework());
}

#[test]
fn every_truncation_is_an_error() {
    let files = [
        (Program::Tdl, tdl()),
        (Program::Demo, demo()),
        (Program::Framework, framework()),
        (Program::Framework, framework_of_2017()),
    ];
    for (program, bytes) in files {
        for length in 0..bytes.len() {
            assert!(
                scan(program, &bytes[..length]).is_err(),
                "{program:?} {length}"
            );
        }
        // And one byte too many.
        let longer = [&bytes[..], &[1]].concat();
        assert!(scan(program, &longer).is_err());
    }
}

#[test]
fn errors_name_the_offset_and_the_field() {
    let text = |program, bytes: &[u8]| scan(program, bytes).unwrap_err().to_string();
    let huge = Bytes::default()
        .put(&[0])
        .u32(1)
        .table(1, 1, 8)
        .u64(u64::MAX)
        .0;
    assert_eq!(
        text(Program::Tdl, &huge),
        "it ends too soon: at byte 24, the numbers of table 1 should have 18446744073709551615 bytes, and 0 are left"
    );
    let cases = [
        (
            Bytes::default().put(&[9]).0,
            "at byte 0, the version of a section is 9; expected 0",
        ),
        (Bytes::default().put(b"c\0").0, "`c`, a transposition table"),
        (
            Bytes::default().put(&[0]).u32(0).0,
            "at byte 1, the number of tables is 0",
        ),
        (
            Bytes::default().put(&[0]).u32(5000).0,
            "5000; expected 1 to 4096",
        ),
        (
            Bytes::default().put(&[0]).u32(1).put(&[127]).0,
            "the version of table 1 is 127",
        ),
        (
            Bytes::default().put(&[0]).u32(1).table(1, 1, 3).0,
            "at byte 14, the width of a weight of table 1 is 3",
        ),
        (
            Bytes::default().put(&[0]).u32(1).table(1, 1, 4).u64(0).0,
            "the number of weights of table 1 is 0",
        ),
        (
            vec![],
            "at byte 0, the kind of a section should have 1 bytes, and 0 are left",
        ),
    ];
    for (bytes, expected) in cases {
        let found = text(Program::Tdl, &bytes);
        assert!(found.contains(expected), "{found}");
    }
    let endless = Bytes::default()
        .put(&[0])
        .u32(1)
        .table(1, 1, 4)
        .u64(1)
        .floats(0, 1);
    let endless = (0..20)
        .fold(endless, |bytes, _| bytes.u16(1).u64(0))
        .u16(0)
        .0;
    assert!(text(Program::Tdl, &endless).contains("0 after 16 fields"));
    let name = Bytes::default().u64(1).u32(5000).0;
    assert!(
        text(Program::Demo, &name).contains("at byte 8, the length of the name of table 1 is 5000")
    );
    let rest = [demo(), vec![0; 3]].concat();
    assert!(text(Program::Demo, &rest).contains("3 more bytes follow"));
    assert!(
        text(Program::Framework, &framework()[..100])
            .contains("at byte 12, the numbers of table 1 should have 1024 bytes, and 88 are left")
    );
}

#[test]
fn edited_descriptions_are_refused() {
    let sound = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut found = scan(Program::Tdl, &tdl()).unwrap();
        found.name_tables(found.table_patterns(None).ok().as_ref());
        let mut json = serde_json::to_value(&found).unwrap();
        change(&mut json);
        serde_json::from_value::<Foreign>(json).is_ok_and(|found| found.is_sound())
    };
    let table = |json: &mut serde_json::Value| json["sections"][0]["tables"][0].take();
    assert!(sound(&|_| ()));
    assert!(!sound(
        &|json| json["sections"][0]["tables"] = serde_json::json!([])
    ));
    assert!(!sound(&|json| json["sections"] = serde_json::json!([])));
    assert!(!sound(
        &|json| json["sections"][0]["tables"][1] = table(json)
    ));
    assert!(!sound(
        &|json| json["sections"][0]["tables"][0]["tensor"] = "f.e".into()
    ));
    for (key, value) in [
        ("version", 3.into()),
        ("version", 0.into()),
        ("name", "00".into()),
        ("name", "0".into()),
        ("name", "é".into()),
        ("fields", serde_json::json!([])),
    ] {
        assert!(!sound(
            &|json| json["sections"][0]["tables"][0][key] = value.clone()
        ));
    }
    for (key, value) in [("width", 0), ("width", 3), ("count", 0)] {
        assert!(!sound(
            &|json| json["sections"][0]["tables"][0]["fields"][0][key] = value.into()
        ));
    }
    // Absurd lengths must not panic.
    sound(&|json| {
        json["sections"][0]["tables"][1]["fields"][0]["count"] = (u64::MAX / 2).into();
        json["sections"][0]["tables"][1]["fields"][1]["count"] = (u64::MAX - 1).into();
    });
}

/// Whatever a file claims, all spans found in it are within it, and it can be written again.
fn check(program: Program, bytes: &[u8]) {
    let Ok(mut found) = scan(program, bytes) else {
        return;
    };
    let _ = found.table_patterns(None);
    found.name_tables(None);
    assert!(found.is_sound());
    let mut copy = found.clone();
    assert!(rewritten(bytes, &found, &mut copy, true) == bytes);
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_file(bytes: Vec<u8>, program in 0..3_usize) {
        check(Program::ALL[program], &bytes);
    }

    #[test]
    fn damaged_files_are_an_error_or_a_file(
        program in 0..3_usize,
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..5),
        near_the_start: bool,
        cut in proptest::option::of(any::<Index>()),
    ) {
        let mut bytes = [tdl(), demo(), framework()][program].clone();
        for (place, byte) in changes {
            let within = if near_the_start { 48 } else { bytes.len() };
            bytes[place.index(within)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for program in Program::ALL {
            check(program, &bytes);
        }
    }
}

/// A stage precedes the pattern in a name of eight digits, with its own digits reversed.
#[test]
fn names_with_stages_are_read_as_they_are_written() {
    let table = |pattern: &str, stage| {
        let cells = pattern.len() as u32;
        let weights = tdl::Field::new(Float::F32, 16_u64.pow(cells));
        tdl::TdlTable::new(pattern, stage, vec![weights])
    };
    for (pattern, stage, name) in [
        ("012345", None, "012345"),
        ("012345", Some(0), "00012345"),
        ("012345", Some(1), "10012345"),
        ("012345", Some(17), "11012345"),
        ("012345", Some(32), "02012345"),
        ("0123456", Some(15), "f0123456"),
        ("01", Some(3), "30000001"),
    ] {
        let table = table(pattern, stage).unwrap();
        assert_eq!(table.label(), name);
        let read = table.pattern().unwrap();
        assert_eq!(read, (pattern.to_owned(), stage.unwrap_or(0)));
    }
    // No room for the stage.
    assert!(table("01234567", Some(0)).is_none());
    assert!(table("0123456", Some(16)).is_none());
}
