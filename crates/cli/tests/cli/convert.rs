//! Weights from one program to another: what comes out is what they would have written, what goes back is
//! the same byte for byte. What cannot be is refused: see `bad_weights`.

use std::fs;

use serde_json::Value;

use crate::common::{Lab, Tensors};

/// The patterns of the small players.
const PATTERNS: [&str; 8] = [
    "0123", "4567", "89ab", "cdef", "048c", "159d", "26ae", "37bf",
];

/// Bytes of a file, written down as the formats' pages say.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn put(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u16(self, n: u16) -> Self {
        self.put(&n.to_le_bytes())
    }

    pub fn u32(self, n: u32) -> Self {
        self.put(&n.to_le_bytes())
    }

    pub fn u64(self, n: u64) -> Self {
        self.put(&n.to_le_bytes())
    }

    /// The name of a table of TDL2048+, with its version.
    pub fn name(self, pattern: &str) -> Self {
        let number = u32::from_str_radix(pattern, 16).expect("hex digits");
        self.put(&[4]).u32(number).u16(pattern.len() as u16).u16(0)
    }

    /// Some weights of a table, four bytes each, most of them zeros.
    pub fn numbers(self, first: f32, count: u64) -> Self {
        (0..count).fold(self.u64(count), |bytes, n| {
            let number = if n % 7 == 1 {
                first + n as f32 / 8.0
            } else {
                0.0
            };
            bytes.put(&number.to_le_bytes())
        })
    }
}

/// A small network for TDL2048+: one tuple, four bytes a weight.
pub fn small_tdl() -> Bytes {
    let begun = Bytes::default().put(&[0]).u32(1).name("0123");
    begun.u16(4).numbers(3.0, 65_536).u16(0)
}

/// The tables of a model, in the order of the tuples.
fn tables(lab: &Lab, model: &str) -> Vec<Vec<u8>> {
    let tensors = Tensors::read(&lab.path(model));
    let table = |pattern: &&str| tensors.data[tensors.range(pattern)].to_vec();
    PATTERNS.iter().map(table).collect()
}

/// What `eval` says, but for the time.
pub fn eval(lab: &Lab, model: &str) -> Value {
    let args = format!("eval {model} --games 50 --json");
    let mut figures = lab.run(&args).json();
    figures["moves_per_second"].take();
    figures["model"].take();
    figures
}

#[track_caller]
pub fn same(lab: &Lab, a: &str, b: &str) {
    assert!(lab.bytes(a) == lab.bytes(b), "{a} and {b} differ");
}

#[test]
fn what_was_trained_here_goes_to_every_program_and_back() {
    let lab = Lab::new();
    lab.train("run", 300, "");
    let tables = tables(&lab, "run/model.safetensors");
    let count = 65_536;
    let begun = Bytes::default().put(&[0]).u32(8);
    let tdl = PATTERNS
        .iter()
        .zip(&tables)
        .fold(begun, |bytes, (pattern, table)| {
            bytes.name(pattern).u16(4).u64(count).put(table).u16(0)
        });
    let begun = Bytes::default().u64(8);
    let demo = PATTERNS
        .iter()
        .zip(&tables)
        .fold(begun, |bytes, (pattern, table)| {
            let name = format!("4-tuple pattern {pattern}");
            let bytes = bytes.u32(name.len() as u32).put(name.as_bytes());
            bytes.u64(count).put(table)
        });
    let begun = Bytes::default().u32(8);
    let framework = tables
        .iter()
        .fold(begun, |bytes, table| bytes.u64(count).put(table));

    let figures = eval(&lab, "run");
    let all = [
        ("some.w", tdl, ""),
        ("2048.bin", demo, ""),
        ("weights.bin", framework, "--patterns 8x4"),
    ];
    for (name, expected, patterns) in &all {
        let done = lab.run(&format!("convert run {name}")).succeeds();
        assert!(
            done.stdout.contains("8 tables with 524,288 weights"),
            "{}",
            done.stdout
        );
        assert!(
            done.stdout.contains("cannot store the recipe"),
            "{}",
            done.stdout
        );
        assert!(lab.bytes(name) == expected.0, "{name}");
        // As it is, if it says what its tables are.
        if patterns.is_empty() {
            assert_eq!(eval(&lab, name), figures);
        }
        // And through a file of ours.
        lab.run(&format!("convert {name} back.safetensors {patterns}"))
            .succeeds();
        assert_eq!(eval(&lab, "back.safetensors"), figures);
        fs::rename(lab.path(name), lab.path("first")).unwrap();
        lab.run(&format!("convert back.safetensors {name}"))
            .succeeds();
        same(&lab, "first", name);
    }
    // From each to each other.
    for (from, _, patterns) in &all {
        for (to, expected, _) in &all {
            fs::create_dir_all(lab.path("there")).unwrap();
            lab.run(&format!("convert {from} there/{to} {patterns}"))
                .succeeds();
            assert!(
                lab.bytes(&format!("there/{to}")) == expected.0,
                "{from} to {to}"
            );
        }
    }
    assert!(!lab.names(".").iter().any(|name| name.ends_with(".part")));
}

#[test]
fn weights_of_others_are_models() {
    let lab = Lab::new();
    lab.write("one.w", small_tdl().0);
    // Weight 1 + 16 n is 3 + that / 8 if that is 1 more than a multiple of 7: 1, 113, ...
    let board = "2,0,0,0/0,0,0,0/0,0,0,0/0,0,0,4";
    let analysis = lab
        .run(&format!("analyze {board} --model one.w --json"))
        .json();
    lab.run("convert one.w one.safetensors").succeeds();
    let ours = lab.run(&format!("analyze {board} --model one.safetensors --json"));
    assert_eq!(analysis["moves"], ours.json()["moves"]);
    // After up: 2 and 4 in the corners of the first row. Read from the left, 1 and 2 * 16^3; the other
    // images add 2 + 16^3, the two single tiles of the columns and the empty lines.
    let weight = |n: u64| {
        if n % 7 == 1 {
            3.0 + n as f64 / 8.0
        } else {
            0.0
        }
    };
    let lines = [1 + 2 * 4096, 2 + 4096, 1, 2, 4096, 2 * 4096, 0, 0];
    let expected: f64 = lines.map(weight).iter().sum();
    assert_eq!(analysis["moves"][0]["value"].as_f64(), Some(expected));

    let compared = lab
        .run("compare one.w one.safetensors --games 20 --json")
        .json();
    assert_eq!(compared["difference"], 0.0);
    let shown = lab.run("eval one.w --games 5").succeeds().stdout;
    assert!(shown.contains("trained by another program"), "{shown}");
}

#[test]
fn what_learning_needs_goes_with_it() {
    let lab = Lab::new();
    lab.train(
        "run",
        100,
        "--set learner.rule=tc --set learner.learning_rate=1",
    );
    lab.run("convert run/checkpoint.safetensors tc.w")
        .succeeds();
    lab.run("convert run/model.safetensors td.w").succeeds();
    let table = 1 + 8 + 2 + 8 + 4 * 65_536 + 2;
    assert_eq!(lab.bytes("td.w").len(), 5 + 8 * table);
    let sums = 2 + 8 + 8 * 65_536;
    assert_eq!(lab.bytes("tc.w").len(), 5 + 8 * (table + sums));
    // E is no larger than A, and the weights are those of the model.
    let (td, tc) = (lab.bytes("td.w"), lab.bytes("tc.w"));
    let weights = 4 * 65_536;
    assert!(td[24..24 + weights] == tc[24..24 + weights]);
    let sums = &tc[24 + weights..];
    assert_eq!(sums[..10], [4, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    let number = |at: usize| f32::from_le_bytes(sums[at..at + 4].try_into().unwrap());
    let numbers = (0..65_536).map(|n| (number(10 + 4 * n), number(10 + weights + 4 * n)));
    assert!(numbers.clone().all(|(e, a)| e.abs() <= a));
    assert!(numbers.filter(|(_, a)| *a > 0.0).count() > 10);

    lab.run("convert tc.w tc.safetensors").succeeds();
    assert_eq!(eval(&lab, "tc.safetensors"), eval(&lab, "run"));
    lab.run("convert tc.safetensors back.w").succeeds();
    same(&lab, "tc.w", "back.w");
    // A checkpoint as a model of ours keeps its sums as well.
    lab.run("convert run/checkpoint.safetensors whole.safetensors")
        .succeeds();
    lab.run("convert whole.safetensors back.w").succeeds();
    same(&lab, "tc.w", "back.w");
    assert_eq!(eval(&lab, "whole.safetensors"), eval(&lab, "run"));

    // Where there is no place for them, somebody has to say so.
    lab.refuses(
        "convert tc.w 2048.bin",
        &["TDL2048-Demo", "the sums of TC of tc.w", "--weights-only"],
    );
    lab.run("convert tc.w 2048.bin --weights-only").succeeds();
    lab.run("convert td.w back/2048.bin")
        .refused(&["back/2048.bin"]);
    lab.run("convert tc.w back.w --weights-only").succeeds();
    same(&lab, "td.w", "back.w");
}

/// Files that only TDL2048+ can play with, or that are written in other ways.
#[test]
fn everything_that_tdl2048_writes_comes_back_as_it_was() {
    let lab = Lab::new();
    let table = |name: &str| {
        Bytes::default()
            .name(name)
            .u16(4)
            .numbers(5.0, 256)
            .u16(0)
            .0
    };
    let begun = |count| Bytes::default().put(&[0]).u32(count);
    let halves = |n: u16| if n % 7 == 1 { 0x3c00 + n } else { 0 };
    let f16 = (0..256).fold(begun(1).name("01").u16(2).u64(256), |b, n| b.u16(halves(n)));
    let doubles = |n: u64| if n % 7 == 1 { n as f64 / 3.0 } else { -0.0 };
    let f64s = (0..256).fold(begun(1).name("01").u16(8).u64(256), |bytes, n| {
        bytes.put(&doubles(n).to_le_bytes())
    });
    let old = begun(2)
        .put(&[0])
        .u32(0x01)
        .numbers(2.0, 256)
        .put(&[2])
        .u32(0x5);
    let old = old.u64(16).u16(4).put(&[0; 64]);
    let feature = begun(1)
        .put(&[4])
        .put(b"num@lt  ")
        .u16(4)
        .numbers(1.0, 99)
        .u16(0);
    let more = begun(1).name("01").u16(4).numbers(1.0, 256);
    let more = more.u16(3).u64(2).put(b"secret").u16(0);
    let tagged = Bytes::default().put(b"w").put(&small_tdl().0);
    let twice = small_tdl().put(&tagged.0);
    let stages = begun(2).put(&table("00000001")).put(&table("10000001"));
    let apart = begun(1)
        .put(&table("01"))
        .put(b"w")
        .put(&begun(1).put(&table("12")).0);
    let files = [
        ("f16.w", f16.u16(0).0, ""),
        ("f64.w", f64s.u16(0).0, ""),
        ("old.w", old.0, ""),
        ("apart.w", apart.0, ""),
        ("tagged.td", tagged.0.clone(), ""),
        ("tagged.w", tagged.0, ""),
        ("untagged.td", small_tdl().0, ""),
        ("more.w", more.0, ""),
        (
            "feature.w",
            feature.0,
            "table 1, `num@lt`, is not looked up by the tiles",
        ),
        ("twice.w", twice.0, "the second one for `0123`"),
        (
            "stages.w",
            stages.0,
            "2 stages of the game, and does not say where they begin",
        ),
    ];
    for (name, bytes, unplayable) in files {
        lab.write(name, &bytes);
        let done = lab
            .run(&format!("convert {name} ours.safetensors"))
            .succeeds();
        assert!(done.stdout.contains(unplayable), "{}", done.stdout);
        if unplayable.is_empty() {
            assert!(
                !done.stdout.contains("not used as a model"),
                "{}",
                done.stdout
            );
            assert_eq!(eval(&lab, name), eval(&lab, "ours.safetensors"));
        } else {
            lab.refuses(&format!("eval {name}"), &[name, unplayable]);
            lab.refuses("eval ours.safetensors", &["ours.safetensors", unplayable]);
            lab.refuses(&format!("convert {name} 2048.bin"), &[name, unplayable]);
        }
        lab.write(name, "gone");
        lab.run(&format!("convert ours.safetensors {name} --force"))
            .succeeds();
        assert!(lab.bytes(name) == bytes, "{name}");
        // A copy of the copy knows it still.
        lab.run("convert ours.safetensors copy.safetensors")
            .succeeds();
        same(&lab, "ours.safetensors", "copy.safetensors");
    }
    // Doubles fit no four bytes, halves do.
    lab.run("convert f16.w 2048.bin").succeeds();
    assert_eq!(eval(&lab, "f16.w"), eval(&lab, "2048.bin"));
    lab.refuses(
        "convert f64.w 2048.bin",
        &["f64.w", "number 1 of `01` is 0.333", "cannot hold exactly"],
    );
    lab.refuses(
        "convert more.w 2048.bin",
        &["neither weights nor sums", "--weights-only"],
    );
    // Another name may ask for the byte that says what follows.
    lab.run("convert old.w old.td --to tdl").succeeds();
    assert!(lab.bytes("old.td") == [b"w", &lab.bytes("old.w")[..]].concat());
}
