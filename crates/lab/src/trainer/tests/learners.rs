//! Each learner in a run: with one thread an interrupted run has the same model as one that was
//! not, and only whole games count in its statistics.

use super::*;
use crate::evaluate::{Contender, EvalOptions, evaluate};
use crate::model::Model;
use crate::part::Part;
use crate::search::SearchSpec;

/// Keys of a recipe that select a learner.
const LEARNERS: &[&[&str]] = &[
    &["restart_length=10"],
    &["restart_length=10", "restart_from=33"],
    &["restart_length=10", "update=forward"],
    &["stages=[64, 96, 128]"],
    &["stages=[32, 64]", "carousel=20"],
    &["redundant=012 01"],
    &["stages=[64]", "promotion=false", "initial_value=50.0"],
    &["lambda=0.0", "n_step=3"],
    &["update=forward", "n_step=3", "value=state"],
    &["update=delayed", "restart_length=10"],
    &[
        "rule=[{from=0, rule=\"td\"}, {from=60, rule=\"tc\"}]",
        "initial_value=2000.0",
    ],
    &["rule=[{from=0, rule=\"tc\"}, {from=40, rule=\"td\"}, {from=80, rule=\"tc\"}]"],
    &["rule=[{from=0, rule=\"tc\"}, {from=33, rule=\"tc\"}]"],
];

/// A short run of one thread.
fn recipe(keys: &[&str]) -> Recipe {
    let common = [
        "tuples=0123 0134",
        "board=3x3",
        "episodes=120",
        "threads=1",
        "scores=true",
        "block_games=50",
    ];
    let all: Vec<String> = common.iter().chain(keys).map(ToString::to_string).collect();
    Recipe::load("quick", &all).unwrap()
}

fn model(folder: &Path) -> Vec<u8> {
    fs::read(run::model_path(folder)).unwrap()
}

#[test]
fn an_interrupted_run_has_the_same_model() {
    for keys in LEARNERS {
        let parent = tempfile::tempdir().unwrap();
        let whole = parent.path().join("whole");
        let status = Trainer::new(recipe(keys), &whole, quiet()).unwrap().train();
        assert_eq!(status.unwrap(), Status::Finished, "{keys:?}");
        let parts = parent.path().join("parts");
        let control = |games| {
            let cancel = CancelToken::default();
            let token = cancel.clone();
            let control = Control::new().with_interval(Duration::ZERO);
            control.with_cancel(cancel).on_event(move |event| {
                if matches!(event, Event::Progress(progress) if progress.done >= games) {
                    token.cancel();
                }
            })
        };
        let mut first = Trainer::new(recipe(keys), &parts, &control(30)).unwrap();
        assert_eq!(first.train().unwrap(), Status::Stopped);
        drop(first);
        for games in [60, 61, 120] {
            let mut next = Trainer::resume(&parts, &[], &control(games)).unwrap();
            next.train().unwrap();
        }
        assert!(model(&whole) == model(&parts), "{keys:?}");
        assert_eq!(
            fs::read(whole.join("scores.txt")).unwrap(),
            fs::read(parts.join("scores.txt")).unwrap(),
            "{keys:?}"
        );
    }
}

/// A run whose games are played again from a later one on is the same whether its recipe said so
/// from the start, or it was resumed with that key.
#[test]
fn restarts_may_begin_later() {
    let parent = tempfile::tempdir().unwrap();
    let train = |name: &str, keys: &[&str]| {
        let folder = parent.path().join(name);
        let mut trainer = Trainer::new(recipe(keys), &folder, quiet()).unwrap();
        trainer.train().unwrap();
        folder
    };
    let whole = train("whole", &["restart_length=10", "restart_from=70"]);
    let never = train("never", &[]);
    let resumed = train("resumed", &["episodes=70"]);
    let changes = ["restart_length=10", "episodes=120"].map(str::to_owned);
    let mut trainer = Trainer::resume(&resumed, &changes, quiet()).unwrap();
    trainer.train().unwrap();
    assert_eq!(trainer.recipe().learner.td().unwrap().restart_from, 70);
    let weights = |folder: &Path| digest(&run::model_path(folder));
    assert_ne!(weights(&whole), weights(&never));
    assert_eq!(weights(&whole), weights(&resumed));
    let scores = |folder: &Path| fs::read_to_string(folder.join("scores.txt")).unwrap();
    assert_eq!(scores(&whole), scores(&resumed));
    let (with, without) = (scores(&whole), scores(&never));
    let first = |text: &str| text.lines().take(70).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&with), first(&without));
    assert_ne!(with, without);
}

/// Scores are those of the games that began with the initial tiles; the moves of a block count
/// all that was played.
#[test]
fn statistics_leave_out_games_from_other_starts() {
    for (keys, more) in [
        (&["update=backward"][..], false),
        (&["restart_length=10"], true),
        (&["stages=[32, 64]", "carousel=20"], true),
    ] {
        let mut trainer = Trainer::in_memory(recipe(keys), quiet()).unwrap();
        let spec = crate::spec::TdSpec::of(trainer.recipe());
        let round = RoundSpec::new(0..50, 1, 1);
        let result = trainer.agent.learn(&round, &spec);
        assert_eq!(result.outcomes.len(), 50);
        let initial = |outcome: &afterstate::tally::Outcome| {
            outcome.start == afterstate::tally::Start::Initial && outcome.score > 0
        };
        assert!(result.outcomes.iter().all(initial));
        assert_eq!(result.restarts.games, 0, "{keys:?}");
        assert_eq!(result.restarts.moves > 100, more, "{keys:?}");
        trainer.train().unwrap();
        assert_eq!(trainer.games(), 120);
    }
}

/// TC begins with the sums of a new network, and each phase has the usual rate of its rule.
#[test]
fn a_phase_of_tc_begins_with_fresh_sums() {
    let sums = |trainer: &Trainer| {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("all");
        let output = crate::disk::AtomicFile::create(&path).unwrap();
        let metadata = trainer.metadata();
        let agent = &trainer.agent;
        agent
            .write(
                &metadata,
                afterstate::format::native::StoredParts::Everything,
                &output,
                1,
            )
            .unwrap();
        output.commit().unwrap();
        let bytes = crate::tables::StoredTables::open(&path)
            .unwrap()
            .bytes("sums")
            .unwrap();
        let sums = bytes
            .chunks(4)
            .map(|four| f32::from_le_bytes(four.try_into().unwrap()).abs());
        sums.sum::<f32>()
    };
    let text = "name = \"otd\"\ngame = \"2048\"\nboard = \"3x3\"\nthreads = 1\nepisodes = 60\n\
                [network]\ntuples = \"0123\"\ninitial_value = 2000\n[learner]\n\
                rule = [{ from = 0, rule = \"td\" }, { from = 3e1, rule = \"tc\" }]\n";
    let recipe = Recipe::parse(text, "otd", &[]).unwrap();
    let rates = [29, 30].map(|game| recipe.learner.learning_rate().at(game));
    assert_eq!(rates, [0.1, 1.0]);
    let mut trainer = Trainer::in_memory(recipe, quiet()).unwrap();
    let spec = crate::spec::TdSpec::of(trainer.recipe());
    trainer.agent.learn(&RoundSpec::new(0..30, 1, 1), &spec);
    assert_eq!(sums(&trainer), 0.0);
    trainer.agent.learn(&RoundSpec::new(30..31, 1, 1), &spec);
    let one = sums(&trainer);
    assert!(one > 0.0);
    // The game after which it began does not count twice.
    trainer.agent.learn(&RoundSpec::new(30..31, 1, 1), &spec);
    assert!(sums(&trainer) < 1.9 * one);
    trainer.train().unwrap();
    assert_eq!(trainer.games(), 60);
    // So does TC after TC.
    let recipe = Recipe::parse(&text.replace("\"td\"", "\"tc\""), "two", &[]).unwrap();
    let trainer = Trainer::in_memory(recipe, quiet()).unwrap();
    let spec = crate::spec::TdSpec::of(trainer.recipe());
    trainer.agent.learn(&RoundSpec::new(0..30, 1, 1), &spec);
    let before = sums(&trainer);
    trainer.agent.learn(&RoundSpec::new(30..31, 1, 1), &spec);
    let after = sums(&trainer);
    assert!(0.0 < after && after < 0.2 * before, "{before} {after}");
}

/// Optimistic TD, then TC, on a solved board. TC takes a tenth of its usual steps: a whole first one
/// would replace a value by one sample, and the policy would not come back to learn better
/// (docs/learners/phases.md).
#[test]
fn optimistic_td_and_then_tc_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let text = "name = \"otd\"\ngame = \"2048\"\nboard = \"2x2\"\nthreads = 1\nepisodes = 30000\n\
                [network]\ntuples = \"0123\"\ninitial_value = 2000\n[learner]\nlearning_rate = 0.1\n\
                rule = [{ from = 0, rule = \"td\" }, { from = 27000, rule = \"tc\" }]\n";
    let recipe = Recipe::parse(text, "otd", &[]).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let run = parent.path().join("run");
    let mut trainer = Trainer::new(recipe, &run, quiet()).unwrap();
    trainer.train().unwrap();
    let model = Model::open(&run).unwrap();
    let options = EvalOptions {
        games: 30_000,
        part: Part::WHOLE,
        seed: 1,
        threads: 1,
        control: quiet(),
    };
    let mean = evaluate(&Contender::from(&model), &options).scores.mean;
    assert!((mean - OPTIMUM).abs() < 0.6, "{mean}");
}

fn digest(path: &Path) -> [u8; 32] {
    Model::open(path).unwrap().agent.digest().unwrap()
}

/// A run with stages starts from a model without, or with its first stages; it plays as that model
/// does until it learns.
#[test]
fn a_run_with_stages_starts_from_a_model_of_its_first_stages() {
    let parent = tempfile::tempdir().unwrap();
    let folder = |name: &str| parent.path().join(name);
    let train = |name: &str, keys: &[&str]| {
        let mut trainer = Trainer::new(recipe(keys), &folder(name), quiet()).unwrap();
        trainer.train().unwrap();
    };
    train("one", &[]);
    train("two", &["stages=[64]"]);
    let play = |agent: &dyn Agent| agent.play(&RoundSpec::new(0..50, 1, 1), None);
    for (from, file) in [
        ("one", "model.safetensors"),
        ("one", "checkpoint.safetensors"),
        ("two", "model.safetensors"),
        ("two", "checkpoint.safetensors"),
    ] {
        let path = folder(from).join(file);
        let from = format!("from={}", path.display());
        let keys = [from.as_str(), "stages=[64, 128]"];
        let trainer = Trainer::in_memory(recipe(&keys), quiet()).unwrap();
        let model = Model::open(&path).unwrap();
        assert_eq!(play(&*trainer.agent()), play(&*model.agent), "{from}");
    }
    let refused = |from: &str, key: &str| {
        let from = format!("from={}", folder(from).display());
        let error = Trainer::in_memory(recipe(&[from.as_str(), key]), quiet()).err();
        error.unwrap().to_string()
    };
    let error = refused("two", "stages=[128]");
    assert!(
        error.contains("stages at 64") && error.contains("stages at 128"),
        "{error}"
    );
    let error = refused("two", "stages=[]");
    assert!(error.contains("one stage"), "{error}");

    // A model and its checkpoint are the same network, whose later stages store only what they
    // learned.
    let [model, checkpoint] = ["model", "checkpoint"]
        .map(|name| digest(&folder("two").join(format!("{name}.safetensors"))));
    assert_eq!(model, checkpoint);
    let saved = crate::tables::StoredTables::open(&run::model_path(&folder("two"))).unwrap();
    assert_eq!(saved.metadata()["stages"], "2");
    assert_eq!(saved.metadata()["thresholds"], "64");
    let weights = |name: &str| {
        let bytes = saved.bytes(name).unwrap();
        bytes
            .chunks(4)
            .map(|weight| weight != [0; 4])
            .collect::<Vec<_>>()
    };
    let (first, second) = (weights("0123"), weights("0123@1"));
    assert!(second.contains(&true));
    // Weights of the first stage that the second reads there.
    assert!(
        first
            .iter()
            .zip(&second)
            .any(|both| both == (&true, &false))
    );
}

fn converting<'a>(
    from: &'a Path,
    to: &'a Path,
    stages: Option<&'a [u64]>,
) -> crate::convert::ConvertOptions<'a> {
    crate::convert::ConvertOptions {
        from,
        to,
        kind: None,
        patterns: None,
        stages,
        game: None,
        symmetry: true,
        base: None,
        weights_only: true,
        force: false,
        control: quiet(),
    }
}

/// For TDL2048+ every stage has all weights that it reads; back again, with the stages named, it
/// plays the same games.
#[test]
fn stages_survive_a_conversion() {
    use crate::convert::convert;
    let parent = tempfile::tempdir().unwrap();
    let path = |name: &str| parent.path().join(name);
    let keys = [
        "tuples=012 456",
        "board=4x4",
        "stages=[64, 96]",
        "episodes=30",
    ];
    let mut trainer = Trainer::new(recipe(&keys), &path("run"), quiet()).unwrap();
    trainer.train().unwrap();
    let games = |path: &Path| {
        let model = Model::open(path).unwrap();
        model.agent.play(&RoundSpec::new(0..20, 1, 1), None)
    };
    let (run, theirs, ours) = (path("run"), path("a.w"), path("b.safetensors"));
    for from in ["model.safetensors", "checkpoint.safetensors"] {
        let from = run.join(from);
        let report = convert(&converting(&from, &theirs, None)).unwrap();
        assert_eq!((report.tables, report.weights), (6, 6 * 4096));
        let error = Model::open(&theirs).err().unwrap();
        assert_eq!(error.remedy(), Some(crate::Remedy::NameStages));
        assert!(error.to_string().contains("3 stages"), "{error}");
        let report = convert(&converting(&theirs, &ours, Some(&[64, 96]))).unwrap();
        assert_eq!(report.unplayable, None);
        assert_eq!(games(&ours), games(&from));
        // And once more, to the same bytes.
        let again = path("c.w");
        convert(&converting(&ours, &again, None)).unwrap();
        assert!(fs::read(&again).unwrap() == fs::read(&theirs).unwrap());
    }
    let refused = |from: &Path, to: &str, stages| {
        convert(&converting(from, &path(to), stages))
            .unwrap_err()
            .to_string()
    };
    let error = refused(&theirs, "d.safetensors", Some(&[64]));
    assert!(
        error.contains("3 stages") && error.contains("make 2"),
        "{error}"
    );
    let error = refused(&theirs, "d.safetensors", Some(&[64, 65]));
    assert!(error.contains("cannot begin at 65"), "{error}");
    let error = refused(&ours, "2048.bin", None);
    assert!(error.contains("tables for 3 stages"), "{error}");
    let error = refused(&run, "d.safetensors", Some(&[64, 96]));
    assert!(error.contains("where its own stages begin"), "{error}");
    // Without the stages it is kept as it is, and converted back.
    let kept = path("e.safetensors");
    let keeping = crate::convert::ConvertOptions {
        weights_only: false,
        ..converting(&theirs, &kept, None)
    };
    let report = convert(&keeping).unwrap();
    assert!(report.unplayable.unwrap().contains("3 stages"));
}

/// What a key needs, or cannot go with.
#[test]
fn combinations_without_sense_are_refused() {
    for (recipe, keys, part) in [
        ("quick", &["stages=[128, 64]"][..], "ascending"),
        ("quick", &["stages=[0.5]"], "a list of whole numbers"),
        ("quick", &["promotion=false"], "`network.stages`"),
        (
            "state-6",
            &["stages=[64]"],
            "`learner.value` = \"afterstate\"",
        ),
        ("dqn", &["stages=[64]"], "network"),
        ("quick", &["restart_length=1"], "from 2 to"),
        ("quick", &["restart_from=5"], "`learner.restart_length`"),
        ("dqn", &["restart_length=10"], "learners of kind \"td\""),
        ("quick", &["carousel=100"], "`network.stages`"),
        (
            "quick",
            &["carousel=100", "stages=[64]", "restart_length=10"],
            "`learner.restart_length`",
        ),
        ("quick", &["n_step=3"], "`learner.lambda`"),
        ("td-4x6", &["n_step=0"], "from 1 to 1000"),
        ("state-6", &["n_step=2"], "`learner.target`"),
        ("quick", &["update=delayed", "lambda=1.0"], "from 0 to 0.99"),
        (
            "quick",
            &["update=forward", "lambda=0.5"],
            "needs `learner.update` = \"backward\" or \"delayed\", which is \"forward\"",
        ),
        (
            "quick",
            &["update=delayed", "n_step=3"],
            "\"backward\" or \"forward\"",
        ),
        ("quick", &["rule=[]"], "empty"),
        (
            "quick",
            &["rule=[{from=0, rule=\"td\"}, {from=9, rule=\"td\"}]"],
            "nothing changes",
        ),
        (
            "state-6",
            &[
                "rule=[{from=0, rule=\"td\"}, {from=9, rule=\"tc\"}]",
                "end=negated",
            ],
            "td",
        ),
    ] {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let error = Recipe::load(recipe, &keys).err();
        let error = error.map_or_else(|| "accepted".to_owned(), |error| error.to_string());
        assert!(error.contains(part), "{recipe} {keys:?}: {error}");
    }
}

/// The model has only the tuples that are kept, and plays as its checkpoint does.
#[test]
fn redundant_tuples_are_folded_into_the_model() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    let keys = recipe(&["redundant=012 01 4"]);
    Trainer::new(keys, &folder, quiet())
        .unwrap()
        .train()
        .unwrap();
    let open = |name: &str| Model::open(&folder.join(name)).unwrap();
    let (model, checkpoint) = (open("model.safetensors"), open("checkpoint.safetensors"));
    let redundant = |model: &Model| match &model.spec {
        AgentSpec::NTuple(spec) => spec.tuples.redundant(),
        AgentSpec::Deep(_) => unreachable!(),
    };
    assert_eq!(redundant(&model), "");
    assert_eq!(redundant(&checkpoint), "012 01 4");
    let saved = crate::tables::StoredTables::open(&model.path).unwrap();
    assert!(saved.span("0123").is_some() && saved.span("012").is_none());
    // Sums in another order are rounded otherwise, so that ties may be broken otherwise.
    let mean = |model: &Model| {
        let outcomes = model.agent.play(&RoundSpec::new(0..400, 1, 1), None);
        outcomes.iter().map(|outcome| outcome.score).sum::<u64>() as f64 / 400.0
    };
    let (folded, whole) = (mean(&model), mean(&checkpoint));
    assert!((folded - whole).abs() < 0.15 * whole, "{folded} {whole}");
}

/// A model with stages is searched as any other.
#[test]
fn a_model_with_stages_is_searched() {
    let trainer = Trainer::in_memory(recipe(&["stages=[64]"]), quiet());
    let mut trainer = trainer.unwrap();
    trainer.train().unwrap();
    let searching = trainer
        .agent()
        .with_search(&SearchSpec::new("2ply".parse().unwrap()))
        .unwrap();
    let mean = |agent: &dyn Agent| {
        let outcomes = agent.play(&RoundSpec::new(0..200, 1, 2), None);
        outcomes.iter().map(|outcome| outcome.score).sum::<u64>() / 200
    };
    let (greedy, searched) = (mean(&*trainer.agent()), mean(&*searching));
    assert!(searched > greedy, "{searched} {greedy}");
}
