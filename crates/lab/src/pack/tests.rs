use std::fs;

use afterstate::game::Shape;
use afterstate::ntuple::Stages;

use super::*;
use crate::agent::{BoardBatch, board_values};
use crate::control::{cancelled, quiet};
use crate::memory::MemoryBudget;
use crate::recipe::Recipe;
use crate::spec::AgentSpec;
use crate::trainer::Trainer;

/// A run of TC on a small board.
fn run(folder: &Path, further: &[&str]) {
    let overrides = ["tuples=012 345", "board=3x3", "episodes=200", "threads=1"];
    let overrides = overrides.iter().chain(further);
    let overrides: Vec<String> = overrides.map(|&text| text.to_owned()).collect();
    let recipe = Recipe::load("quick", &overrides).unwrap();
    Trainer::new(recipe, folder, quiet())
        .unwrap()
        .train()
        .unwrap();
}

fn options<'a>(from: &'a Path, to: &'a Path, control: &'a Control) -> PackOptions<'a> {
    PackOptions {
        from,
        to,
        limit: 1 << 20,
        games: 0,
        seed: 1,
        threads: 1,
        force: false,
        control,
    }
}

#[test]
fn cancelled_packing_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &[]);
    let stopped = pack(&options(&from, &to, &cancelled())).unwrap_err();
    assert!(matches!(stopped, LabError::PackStopped));
    assert!(!to.exists());
    let report = pack(&options(&from, &to, quiet())).unwrap();
    assert_eq!(report.bytes, fs::metadata(&to).unwrap().len());
    let before = fs::read(&to).unwrap();
    pack(&options(&from, &to, &cancelled())).unwrap_err();
    assert_eq!(fs::read(&to).unwrap(), before);
}

/// A checkpoint as packing loads it.
fn loaded(folder: &Path, options: &PackOptions<'_>) -> (WeightTables, Metadata) {
    let checkpoint = run::checkpoint_of(folder);
    let (saved, spec, metadata) = open(&checkpoint).unwrap();
    let (tables, _) = load::<AtomicF32>(&spec, &saved, &checkpoint, options).unwrap();
    (tables, metadata)
}

/// The tables of a packed model.
fn unpacked(path: &Path) -> WeightTables {
    let Weights::Ours(saved) = Weights::open(path).unwrap() else {
        panic!("a packed model is ours");
    };
    let fields = Fields::new(saved.metadata(), path, |path, error| {
        LabError::model("read", path)(error)
    });
    let spec = model::player(&fields).unwrap();
    let tables = WeightTables::new(&spec.tuples, &NetworkOptions::default()).unwrap();
    saved.read(&tables, StoredParts::Weights).unwrap();
    tables
}

/// Compares all weights with those of a packed file: the sum of c (weight - value)^2 is the error
/// that the encoder has counted.
fn errors_are_counted(folder: &Path, price: f32) -> f64 {
    let to = folder.join("priced.packed");
    let options = options(folder, &to, quiet());
    let (whole, metadata) = loaded(folder, &options);
    let search = Search {
        tables: &whole,
        path: folder,
        metadata: &metadata,
        options: &options,
        step: step(&whole),
    };
    let quantisation = Quantisation {
        step: search.step,
        power: POWER,
        price,
    };
    let encoded = search.encode(quantisation).unwrap();
    packed::write(&metadata, &encoded, &mut fs::File::create(&to).unwrap()).unwrap();
    let read = unpacked(&to);
    assert_eq!(read.tuples().tables().count(), encoded.len());
    let mut all = 0.0;
    for (number, (name, count)) in whole.tuples().tables().enumerate() {
        let part = |tables, part| numbers(tables, (number, count), part);
        let weights = part(&whole, WeightPart::Weight);
        let values = part(&read, WeightPart::Weight);
        let sums = part(&whole, WeightPart::AbsoluteSum);
        let kept = values.iter().filter(|value| **value != 0.0).count() as u64;
        assert!(kept > 0 && kept <= encoded[number].entry.kept, "{name}");
        let error = |place: usize| {
            let off = f64::from(weights[place]) - f64::from(values[place]);
            f64::from(sums[place]) * off * off
        };
        let error: f64 = (0..count).map(error).sum();
        let counted = encoded[number].error;
        assert!(
            (error - counted).abs() <= 1e-3 * counted,
            "{name}: {error} {counted}"
        );
        all += error;
    }
    all
}

#[test]
fn the_error_of_all_weights_is_what_the_encoder_says() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("run");
    run(&from, &[]);
    let (fine, coarse) = (
        errors_are_counted(&from, 1.0),
        errors_are_counted(&from, 1e4),
    );
    assert!(fine > 0.0 && fine < coarse, "{fine} {coarse}");
}

#[test]
fn a_packed_model_says_what_the_whole_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &[]);
    let report = pack(&options(&from, &to, quiet())).unwrap();
    assert!(report.kept > 0 && report.kept <= report.nonzero);
    let [whole, packed] = [&from, &to].map(|path| Model::open(path).unwrap());
    assert_eq!(packed.episodes, whole.episodes);
    assert_eq!(packed.recipe, whole.recipe);
    assert!(!packed.lacks_checksums);
}

/// A weight that a later stage reads in the one before is in the packed file for itself.
#[test]
fn stages_are_packed_without_promotion() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &["stages=[32]"]);
    assert!(errors_are_counted(&from, 1.0) > 0.0);
    pack(&options(&from, &to, quiet())).unwrap();
    let [whole, packed] = [&run::checkpoint_of(&from), &to].map(|path| {
        let model = Model::open(path).unwrap();
        let AgentSpec::NTuple(spec) = &model.spec else {
            panic!("an n-tuple network");
        };
        assert_eq!(spec.tuples.stages().thresholds(), [1 << 5]);
        (spec.tuples.stages().promotes(), model)
    });
    assert!(whole.0 && !packed.0);

    // Boards of both stages: the first with tiles up to 16, the second with one of 32.
    let shape = whole.1.spec.shape();
    let tiles: Vec<u8> = (0..900u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u8 % 5)
        .collect();
    let late = tiles
        .chunks(9)
        .flat_map(|board| [&[5][..], &board[1..]].concat());
    for tiles in [tiles.clone(), late.collect()] {
        let boards = BoardBatch::new("2048", shape, &tiles, &[]).unwrap();
        let totals = |model: &Model| {
            let values = board_values(&*model.agent, "2048", &boards, 1, &|| false).unwrap();
            values.totals.into_flattened()
        };
        let (whole, packed) = (totals(&whole.1), totals(&packed.1));
        let legal = || {
            whole
                .iter()
                .zip(&packed)
                .filter(|(whole, _)| whole.is_finite())
        };
        assert!(legal().any(|(whole, _)| *whole > 50.0));
        for (whole, packed) in legal() {
            assert!(
                (whole - packed).abs() <= 1.0 + 0.05 * whole.abs(),
                "{whole} {packed}"
            );
        }
    }
}

#[test]
fn runs_with_redundant_tuples_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &["redundant=01 34"]);
    let error = pack(&options(&from, &to, quiet())).unwrap_err().to_string();
    assert!(error.contains("redundant tuples"), "{error}");
    assert!(!to.exists());
}

#[test]
fn tables_that_the_format_cannot_hold_are_refused() {
    let tuples = |text, shape| TupleSet::parse(text, shape, true).unwrap();
    assert!(!is_too_large(&tuples("0123456", Shape::FOUR)));
    assert!(is_too_large(&tuples("01234567", Shape::FOUR)));
}

/// Tables of a first stage become those of a run that has more.
#[test]
fn a_run_with_stages_starts_from_a_packed_model() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &[]);
    pack(&options(&from, &to, quiet())).unwrap();
    let first = unpacked(&to);
    let mut saved = match Weights::open(&to).unwrap() {
        Weights::Ours(saved) => saved,
        Weights::Theirs(_) => panic!("a packed model is ours"),
    };
    saved.set_banks(1);
    let tuples = first.tuples().clone();
    let tuples = tuples.with_stages(Stages::new(vec![1 << 5], true));
    let more = WeightTables::<AtomicF32>::new(&tuples, &NetworkOptions::default()).unwrap();
    saved.read(&more, StoredParts::Weights).unwrap();
    for (number, (_, count)) in more.tuples().tables().enumerate() {
        let read = numbers(&more, (number, count), WeightPart::Weight);
        match number < 2 {
            true => assert_eq!(read, numbers(&first, (number, count), WeightPart::Weight)),
            false => assert!(read.iter().all(|&weight| weight == 0.0)),
        }
    }
}

/// A run whose last 10 games of 200 are a phase of TC: most of its weights have no sums.
#[test]
fn weights_without_sums_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    let rule = "rule=[{ from = 0, rule = \"td\" }, { from = 190, rule = \"tc\" }]";
    run(&from, &[rule, "learning_rate=0.1"]);
    let report = pack(&options(&from, &to, quiet())).unwrap();
    assert!(report.unsummed > 100, "{}", report.unsummed);
    // All fits into the limit: what is left out is as small as a step.
    let (whole, _) = loaded(&from, &options(&from, &to, quiet()));
    let read = unpacked(&to);
    let (mut unsummed, mut all) = (0, 0);
    for (table, (_, count)) in whole.tuples().tables().enumerate() {
        let sums = numbers(&whole, (table, count), WeightPart::AbsoluteSum);
        let weights = numbers(&whole, (table, count), WeightPart::Weight);
        let values = numbers(&read, (table, count), WeightPart::Weight);
        for ((sum, weight), value) in sums.iter().zip(&weights).zip(&values) {
            all += u64::from(*weight != 0.0);
            unsummed += u64::from(*weight != 0.0 && *sum == 0.0);
            assert!(
                (weight - value).abs() <= 16.0 * report.step,
                "{weight} {value} {sum}"
            );
        }
    }
    assert_eq!((report.nonzero, report.unsummed), (all, unsummed));
}

/// The tables with TC's sums, and 13 bytes for each weight that a thread encodes.
#[test]
fn memory_is_reserved_for_every_thread() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
    run(&from, &[]);
    for (threads, needed) in [(1, 12 * 8192 + 13 * 4096), (2, 12 * 8192 + 2 * 13 * 4096)] {
        let packed = |bytes| {
            let control = Control::new().with_memory(MemoryBudget::new(bytes));
            let options = PackOptions {
                threads,
                force: true,
                ..options(&from, &to, &control)
            };
            pack(&options).map(|report| report.tables)
        };
        let refused = packed(needed - 1).unwrap_err();
        assert!(
            matches!(refused, LabError::Memory { needed: found, .. } if found == needed),
            "{refused}"
        );
        assert_eq!(packed(needed).unwrap(), 2);
    }
}
