use std::fs;

use super::*;
use crate::control::{Event, cancelled, quiet};

/// Two tables of 16 weights for the 2048-Framework.
fn framework() -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for table in [1.5_f32, 2.5] {
        bytes.extend(16_u64.to_le_bytes());
        bytes.extend([table; 16].iter().flat_map(|weight| weight.to_le_bytes()));
    }
    bytes
}

fn options<'a>(from: &'a Path, to: &'a Path, control: &'a Control) -> ConvertOptions<'a> {
    ConvertOptions {
        from,
        to,
        kind: None,
        patterns: Some("0 5"),
        stages: None,
        game: None,
        symmetry: true,
        base: None,
        weights_only: false,
        force: false,
        control,
    }
}

#[test]
fn file_names_determine_the_kind() {
    let kind = |name: &str| kind_of(Path::new(name));
    assert_eq!(kind("a/b.safetensors"), Some(Kind::Native));
    for name in ["4x6.w", "a.weights", "2048.w2"] {
        assert_eq!(kind(name), Some(Kind::Of(Program::Tdl)), "{name}");
    }
    assert_eq!(kind("x/2048.bin"), Some(Kind::Of(Program::Demo)));
    assert_eq!(kind("weights.bin"), Some(Kind::Of(Program::Framework)));
    for name in ["a.bin", "weights", "w", "..", "a.td"] {
        assert_eq!(kind(name), None, "{name}");
    }
}

#[test]
fn a_cancelled_conversion_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("weights.bin"), folder.path().join("a.w"));
    fs::write(&from, framework()).unwrap();
    let stopped = convert(&options(&from, &to, &cancelled())).unwrap_err();
    assert!(matches!(stopped, LabError::Convert(ConvertError::Stopped)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let report = convert(&options(&from, &to, quiet())).unwrap();
    assert_eq!((report.tables, report.weights), (2, 32));
    assert_eq!(report.bytes, fs::metadata(&to).unwrap().len());
    assert_eq!(report.to.format, Kind::Of(Program::Tdl));
    let before = fs::read(&to).unwrap();
    convert(&options(&from, &to, &cancelled())).unwrap_err();
    assert_eq!(fs::read(&to).unwrap(), before);
}

/// A file that is truncated after it was opened.
#[test]
fn a_file_truncated_during_conversion_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("weights.bin"), folder.path().join("a.w"));
    fs::write(&from, framework()).unwrap();
    let file = from.clone();
    let cut = Control::new().on_event(move |event| {
        if matches!(event, Event::Progress(_)) {
            fs::write(&file, b"").unwrap();
        }
    });
    let error = convert(&options(&from, &to, &cut)).unwrap_err();
    assert!(
        matches!(error, LabError::File { action: "read", .. }),
        "{error}"
    );
    assert!(!to.exists());
}

/// Tables of 15 and 15^2 weights, whose numbers tell their index.
fn framework_of_base_15(wide: bool) -> Vec<u8> {
    let mut bytes = match wide {
        true => 2_u64.to_le_bytes().to_vec(),
        false => 2_u32.to_le_bytes().to_vec(),
    };
    for count in [15_u32, 225] {
        bytes.extend(u64::from(count).to_le_bytes());
        bytes.extend((1..=count).flat_map(|weight| (weight as f32).to_le_bytes()));
    }
    bytes
}

#[test]
fn tables_of_base_15_become_ours_and_are_written_back() {
    // The number of tables takes four bytes, or eight as in the course of 2017.
    for wide in [false, true] {
        there_and_back(&framework_of_base_15(wide));
    }
}

fn there_and_back(file: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (from, ours) = (path("weights.bin"), path("a.safetensors"));
    fs::write(&from, file).unwrap();
    let threes = |from, to, patterns, base| ConvertOptions {
        patterns,
        game: patterns.and(Some("threes")),
        base,
        ..options(from, to, quiet())
    };
    let report = convert(&threes(&from, &ours, Some("0 15"), None)).unwrap();
    assert_eq!((report.tables, report.weights), (2, 16 + 256));
    // The tiles 3 and 2 are at 3 + 16 * 2, which was 3 + 15 * 2; tile 15 has no weight.
    let saved = crate::tables::StoredTables::open(&ours).unwrap();
    let bytes = saved.bytes("15").unwrap();
    let weight =
        |index: usize| f32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap());
    assert_eq!(weight(3 + 16 * 2), 1.0 + 3.0 + 15.0 * 2.0);
    assert_eq!(
        (weight(14 + 16 * 14), weight(15), weight(16 * 15)),
        (225.0, 0.0, 0.0)
    );

    let back = path("weights.b");
    let again = ConvertOptions {
        kind: Some(Kind::Of(Program::Framework)),
        ..threes(&ours, &back, None, Some(15))
    };
    convert(&again).unwrap();
    assert_eq!(fs::read(&back).unwrap(), file);
}

#[test]
fn a_base_of_15_is_for_games_with_few_tiles_and_for_the_framework() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (from, to) = (path("weights.bin"), path("a.safetensors"));
    fs::write(&from, framework_of_base_15(false)).unwrap();
    let refused = |options: &ConvertOptions<'_>| convert(options).unwrap_err().to_string();
    let of_2048 = ConvertOptions {
        patterns: Some("0 15"),
        ..options(&from, &to, quiet())
    };
    let error = refused(&of_2048);
    assert!(error.contains("15 tiles apart"), "{error}");
    let into_ours = ConvertOptions {
        game: Some("threes"),
        base: Some(15),
        ..of_2048
    };
    let error = refused(&into_ours);
    assert!(error.contains("only weights.bin"), "{error}");
    assert!(!to.exists());
}
