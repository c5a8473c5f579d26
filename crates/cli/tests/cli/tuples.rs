//! `tuples`: sets by name and by patterns, as text, JSON and drawings.

use crate::common::Lab;

#[test]
fn a_named_set_is_listed_with_its_sizes() {
    let lab = Lab::new();
    let text = lab.run("tuples 4x6").succeeds().stdout;
    for words in [
        "4x6 on 4x4: 4 tuples, 32 lookups",
        "012345      456789      012456      45689a",
        "1 2 3 4     . . . .     1 2 3 .     . . . .",
        "5 6 . .     1 2 3 4     4 5 6 .     1 2 3 .",
        "67,108,864",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    let memory: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(memory[1].ends_with("256 MiB       768 MiB"), "{text}");
    assert!(memory[0].ends_with("512 MiB         1 GiB"), "{text}");

    let json = lab.run("tuples 4x6 --json").json();
    assert_eq!(
        (&json["name"], &json["board"]),
        (&"4x6".into(), &"4x4".into())
    );
    assert_eq!(
        (&json["lookups"], &json["symmetries"]),
        (&32.into(), &8.into())
    );
    assert_eq!(json["weights"], 67_108_864);
    let tuple = &json["tuples"][3];
    assert_eq!(
        (&tuple["pattern"], &tuple["size"]),
        (&"45689a".into(), &6.into())
    );
    assert_eq!(tuple["cells"], serde_json::json!([4, 5, 6, 8, 9, 10]));
    assert_eq!(
        (&tuple["lookups"], &tuple["weights"]),
        (&8.into(), &16_777_216.into())
    );
    let bytes = ["afterstate_td", "afterstate_tc", "state_td", "state_tc"];
    let bytes = bytes.map(|key| json["bytes"][key].as_u64().expect("a number") >> 20);
    assert_eq!(bytes, [256, 768, 512, 1024]);
}

#[test]
fn tuples_of_a_recipe_are_named_by_it() {
    let lab = Lab::new();
    let json = lab.run("tuples state-22 --json").json();
    assert_eq!(json["name"], "state-22");
    assert_eq!(json["tuples"].as_array().map(Vec::len), Some(22));
    let text = lab.run("tuples 012 --no-symmetry").succeeds().stdout;
    assert!(text.contains("(1 symmetry)"), "{text}");
    lab.refuses("tuples dqn", &["deep"]);
}

#[test]
fn patterns_and_other_boards() {
    let lab = Lab::new();
    let one = lab.run("tuples 0125 0145 --json").json();
    let same = lab.run_with("tuples --json", "0125 0145").json();
    assert_eq!(one, same);
    assert_eq!(one["name"], serde_json::Value::Null);
    let json = lab
        .run("tuples lines --board 2x3 --no-symmetry --json")
        .json();
    assert_eq!(
        (&json["lookups"], &json["symmetries"]),
        (&5.into(), &1.into())
    );
    let text = lab.run("tuples 0o --board 5x5").succeeds().stdout;
    assert!(text.contains(". . . . 2"), "{text}");
}

#[test]
fn a_set_is_drawn() {
    let lab = Lab::new();
    let done = lab.run("tuples 8x4 --out lines.svg").succeeds();
    assert!(done.stdout.ends_with("\nlines.svg\n"), "{}", done.stdout);
    let light = lab.text("lines.svg");
    assert!(light.starts_with("<svg") && light.contains(">048c</text>"));
    lab.run("tuples 8x4 --out lines.svg --theme dark --json")
        .json();
    assert_ne!(lab.text("lines.svg"), light);
    lab.run("tuples 01 --board 2x2 --out one.png").succeeds();
    assert!(lab.bytes("one.png").starts_with(b"\x89PNG"));
}

#[test]
fn what_is_no_set_is_refused() {
    let lab = Lab::new();
    lab.refuses("tuples", &["SET"]);
    lab.refuses("tuples 9x9z", &["`9x9z`", "4x6", "lines", "names no cell"]);
    lab.refuses("tuples 0g", &["cell 16", "4x4"]);
    lab.refuses("tuples 4x6 0145", &["stands alone", "012345 456789"]);
    lab.refuses("tuples 00", &["twice"]);
    lab.refuses("tuples 012345678", &["9 cells"]);
    lab.refuses("tuples 4x6 --board 3x3", &["`4x6`", "3x3", "lines"]);
    lab.refuses("tuples 4x6 --board 9x9", &["9x9"]);
    lab.refuses("tuples 4x6 --theme dark", &["--out"]);
    lab.refuses(
        "tuples 4x6 --out x.svg --theme grey",
        &["grey", "light", "dark"],
    );
    for name in ["x.gif", "x", "svg"] {
        lab.refuses(&format!("tuples 4x6 --out {name}"), &[name, ".svg", ".png"]);
    }
    lab.refuses("tuples 4x6 --out missing/x.svg", &["missing/x.svg"]);
}
