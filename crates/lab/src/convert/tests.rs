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
        game: None,
        symmetry: true,
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
