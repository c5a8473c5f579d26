//! Weight files that are damaged, forged, or not what another program would understand.

use crate::common::{Dice, Lab, Tensors};
use crate::convert::{Bytes, eval, same, small_tdl};

#[test]
fn bad_files_are_told_with_their_place() {
    let lab = Lab::new();
    let good = small_tdl().0;
    let refuses = |name: &str, bytes: &[u8], words: &[&str]| {
        lab.write(name, bytes);
        for command in [
            format!("convert {name} out.safetensors"),
            format!("eval {name}"),
        ] {
            lab.refuses(&command, &[&[name], words].concat());
        }
    };
    refuses(
        "a.w",
        &good[..1000],
        &[
            "TDL2048+",
            "at byte 24",
            "should have 262144 bytes, and 976 are left",
        ],
    );
    refuses(
        "a.w",
        &good[..3],
        &["at byte 1, the number of tables", "4 bytes, and 2 are left"],
    );
    refuses("a.w", b"", &["at byte 0"]);
    refuses("a.w", b"c\0", &["`c`, a transposition table"]);
    refuses(
        "a.w",
        &[&good[..], b"x"].concat(),
        &["at byte 262170", "is 120; expected 0"],
    );
    let huge = Bytes::default()
        .put(&[0])
        .u32(4096)
        .name("0123")
        .u16(8)
        .u64(u64::MAX / 2);
    refuses("a.w", &huge.0, &["at byte 24, the numbers of table 1"]);
    let mut strange = good.clone();
    strange[5] = 9;
    refuses(
        "a.w",
        &strange,
        &["at byte 5, the version of table 1 is 9; expected 4"],
    );
    let demo = Bytes::default()
        .u64(1)
        .u32(20)
        .put(b"4-tuple pattern 0123")
        .u64(65_536);
    refuses(
        "b.bin",
        &demo.0,
        &["TDL2048-Demo", "at byte 40", "262144 bytes, and 0 are left"],
    );
    refuses("2048.bin", &[1, 2, 3], &["TDL2048-Demo", "at byte 0"]);
    refuses(
        "weights.bin",
        &[4, 0, 0, 0, 1],
        &["2048-Framework", "at byte 4"],
    );
    refuses(
        "b.bin",
        &[0; 64],
        &["2048-Framework", "the number of tables is 0"],
    );
    refuses("what", b"nobody's file", &["safetensors"]);
    refuses("a.safetensors", &good, &["safetensors"]);
    // What is no number is read by nobody.
    let mut nan = good.clone();
    nan[24 + 4 * 100..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    lab.write("nan.w", &nan);
    lab.refuses(
        "convert nan.w out.safetensors",
        &["nan.w", "number 100 of `0123`, at byte 424, is NaN"],
    );
    lab.refuses(
        "eval nan.w",
        &["nan.w", "weight 100 of tensor `0123` is NaN"],
    );
    lab.refuses("convert nowhere.w out.safetensors", &["nowhere.w"]);
    lab.refuses("convert . out.safetensors", &["not a run folder"]);
}

#[test]
fn patterns_are_given_where_a_file_has_none() {
    let lab = Lab::new();
    let framework = Bytes::default().u32(2).numbers(1.0, 256).numbers(2.0, 16);
    lab.write("weights.bin", &framework.0);
    let convert = "convert weights.bin out.safetensors --patterns";
    let missing = [
        "weights.bin",
        "which cells its 2 tables look at",
        "--patterns",
    ];
    lab.refuses("convert weights.bin out.safetensors", &missing);
    lab.refuses("eval weights.bin", &missing);
    lab.refuses_with(convert, "01", &["2 tables, and 1 patterns"]);
    lab.refuses_with(
        convert,
        "01 23",
        &["table 2 has 16 weights; its pattern `23` has 256"],
    );
    lab.refuses_with(convert, "01 x", &["`x`"]);
    lab.refuses_with(convert, "00 1", &["names cell `0` twice"]);
    lab.run_with(convert, "01 f").succeeds();
    lab.run("convert out.safetensors 2048.bin").succeeds();
    assert_eq!(eval(&lab, "out.safetensors"), eval(&lab, "2048.bin"));
    // The older kind, with a longer count.
    let old = Bytes::default().u64(2).put(&framework.0[4..]);
    lab.write("old.bin", &old.0);
    lab.run_with("convert old.bin old.safetensors --patterns", "01 f")
        .succeeds();
    lab.run("convert old.safetensors back.bin").succeeds();
    same(&lab, "old.bin", "back.bin");
    // Files that name theirs must agree; ours know them.
    lab.run_with("convert 2048.bin b.safetensors --patterns", "01 f")
        .succeeds();
    lab.refuses_with(
        "convert 2048.bin b.safetensors --patterns",
        "01 e",
        &["table 2 is `f`"],
    );
    lab.refuses_with(
        "convert out.safetensors b.w --patterns",
        "01 f",
        &["out.safetensors names its own"],
    );
    lab.refuses_with(
        &format!("{convert} 01 --game"),
        "chess",
        &["unknown game `chess`"],
    );
}

/// A table's name may look like the beginning of a safetensors file, and a game is for files that do not say theirs.
#[test]
fn names_and_games_are_not_mistaken() {
    let lab = Lab::new();
    let begun = Bytes::default().put(&[0]).u32(1).name("7bf6");
    lab.write("brace.w", begun.u16(4).numbers(3.0, 65_536).u16(0).0);
    assert_eq!(lab.bytes("brace.w")[7], b'{');
    lab.write("brace6.w", {
        let begun = Bytes::default().put(&[0]).u32(1).name("7bf6ae");
        begun.u16(4).numbers(3.0, 1 << 24).u16(0).0
    });
    assert_eq!(lab.bytes("brace6.w")[8], b'{');
    for name in ["brace", "brace6"] {
        lab.run(&format!("convert {name}.w {name}.safetensors"))
            .succeeds();
        lab.run(&format!("convert {name}.safetensors {name}.back.w"))
            .succeeds();
        same(&lab, &format!("{name}.w"), &format!("{name}.back.w"));
    }
    let convert = "convert brace.w x.safetensors --game";
    lab.refuses(
        &format!("{convert} threes"),
        &["brace.w names its own game"],
    );
    lab.refuses(
        "convert brace.safetensors x.w --game 2048",
        &["names its own game"],
    );
    lab.run("convert brace.safetensors weights.bin --weights-only")
        .succeeds();
    let given = "convert weights.bin x.safetensors --patterns 7bf6 --game";
    lab.run(&format!("{given} threes")).succeeds();
    lab.refuses(&format!("{given} 2584"), &["2584 has more kinds of tiles"]);
}

#[test]
fn what_another_program_would_mistake_is_refused() {
    let lab = Lab::new();
    lab.train("states", 20, "--set learner.value=state");
    lab.refuses(
        "convert states a.w",
        &["the values of states of states", "afterstates"],
    );
    lab.train("once", 20, "--set symmetry=false");
    lab.refuses("convert once a.w", &["looked up once", "--no-symmetry"]);
    lab.run("convert once a.w --no-symmetry").succeeds();
    lab.run("convert a.w a.safetensors --no-symmetry")
        .succeeds();
    assert_eq!(eval(&lab, "a.safetensors"), eval(&lab, "once"));
    lab.run("convert a.safetensors b.w").succeeds();
    same(&lab, "a.w", "b.w");
    let small = "train --threads 1 --board 3x3 --set tuples=lines --episodes 20 --out small";
    lab.run(small).succeeds();
    lab.refuses("convert small a.w", &["the 3x3 board", "4x4"]);
    // But any of them can become a model of ours.
    lab.run("convert states states.safetensors").succeeds();
    assert_eq!(eval(&lab, "states.safetensors"), eval(&lab, "states"));
    let checkpoint = "train --threads 1 --set tuples=8x4 --episodes 20 --out more --set learner.value=state --set learner.rule=tc --set learner.learning_rate=1";
    lab.run(checkpoint).succeeds();
    lab.run("convert more/checkpoint.safetensors more.safetensors")
        .succeeds();
    assert_eq!(eval(&lab, "more.safetensors"), eval(&lab, "more"));
}

#[test]
fn only_weight_files_are_written_over() {
    let lab = Lab::new();
    lab.write("a.w", small_tdl().0);
    lab.write("notes.w", "not weights");
    lab.refuses(
        "convert a.w notes.w",
        &["notes.w already exists", "--force"],
    );
    lab.refuses("convert a.w what.bin", &["what.bin", "--to"]);
    lab.refuses("convert a.w what", &["--to native, tdl, demo or framework"]);
    lab.refuses("convert a.w nowhere/b.w", &["cannot write nowhere/b.w"]);
    lab.refuses("convert a.w ..", &["cannot write .."]);
    lab.train("run", 20, "");
    lab.refuses("convert a.w run --to native", &["cannot write run"]);
    lab.refuses(
        "convert a.w run/checkpoint.safetensors",
        &["checkpoint.safetensors already exists"],
    );
    lab.run("convert a.w what.bin --to framework").succeeds();
    lab.run("convert a.w what.bin --to demo").succeeds();
    lab.run("convert a.w notes.w --force").succeeds();
    same(&lab, "a.w", "notes.w");
    lab.run("convert a.w a.w").succeeds();
    same(&lab, "a.w", "notes.w");
    #[cfg(target_os = "linux")]
    {
        let device = lab.run("convert a.w /dev/null --to tdl --force");
        device.refused(&["/dev/null"]);
    }
}

/// A description in our own file that does not fit it, as only an edited file has.
#[test]
fn edited_descriptions_are_refused() {
    let lab = Lab::new();
    lab.write("a.w", small_tdl().0);
    lab.run("convert a.w a.safetensors").succeeds();
    let edit = |from: &str, to: &str| {
        let mut tensors = Tensors::read(&lab.path("a.safetensors"));
        let text = tensors
            .meta("foreign")
            .as_str()
            .expect("a description")
            .to_owned();
        assert!(text.contains(from), "{text}");
        *tensors.meta("foreign") = text.replace(from, to).into();
        tensors.write(&lab.path("edited.safetensors"));
    };
    edit("65536", "65535");
    lab.refuses(
        "convert edited.safetensors b.w",
        &["edited.safetensors", "`0123`", "65535"],
    );
    edit("65536", "18446744073709551615");
    lab.refuses("convert edited.safetensors b.w", &["edited.safetensors"]);
    edit(r#""0123""#, r#""4567""#);
    lab.refuses("convert edited.safetensors b.w", &["no tensor `4567`"]);
    edit(r#""version":4"#, r#""version":3"#);
    lab.refuses(
        "convert edited.safetensors b.w",
        &["`foreign`", "a description of a file"],
    );
    edit("{", "[");
    lab.refuses("convert edited.safetensors b.w", &["`foreign`"]);
}

/// Whatever is changed, the program says something sensible and leaves nothing half-written.
#[test]
fn damage_never_panics() {
    let lab = Lab::new();
    let table = |bytes: Bytes, name| bytes.name(name).u16(4).numbers(3.0, 256).u16(0);
    let good = table(table(Bytes::default().put(&[0]).u32(2), "01"), "12").0;
    let mut dice = Dice::new(11);
    for round in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..=dice.below(3) {
            let within = if round % 3 == 0 { bytes.len() } else { 30 };
            bytes[dice.below(within as u64) as usize] = dice.roll() as u8;
        }
        bytes.truncate(bytes.len() - (dice.below(4) * dice.below(300)) as usize);
        lab.write("a.w", &bytes);
        let done = lab.run("convert a.w b.safetensors");
        match done.status {
            Some(0) => {
                lab.run("convert b.safetensors c.w").succeeds();
                same(&lab, "a.w", "c.w");
            }
            _ => {
                done.refused(&["a.w"]);
            }
        }
        assert!(!lab.names(".").iter().any(|name| name.ends_with(".part")));
    }
}
