//! Files of sweeps: their meaning, and what is refused.

use std::fs;
use std::path::Path;

use super::{SMALL, SweepFolder};
use crate::LabError;
use crate::sweep::{Sweep, SweepError};

#[test]
fn a_file_becomes_runs() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    assert_eq!((sweep.name.as_str(), sweep.games), ("small", 60));
    let runs = sweep.runs(Path::new("out"));
    let folders: Vec<&Path> = runs.iter().map(|task| task.folder.as_path()).collect();
    let expected = [
        "out/as-it-is/seed-3",
        "out/td-0.1/seed-3",
        "out/as-it-is/seed-1",
        "out/td-0.1/seed-1",
        "out/as-it-is/seed-2",
        "out/td-0.1/seed-2",
    ];
    assert_eq!(folders, expected.map(Path::new));
    assert_eq!(runs[1].label, "TD / 0.1, seed 3");
    let recipe = &runs[1].recipe;
    assert_eq!((recipe.seed, recipe.threads, recipe.episodes), (3, 1, 150));
    assert_eq!(recipe.learner.learning_rate().at(0), 0.1);
}

#[test]
fn a_file_may_have_a_byte_order_mark() {
    let folder = SweepFolder::new();
    let marked = format!("\u{FEFF}{}", SMALL.replace('\n', "\r\n"));
    assert_eq!(folder.load(&marked).unwrap().games, 60);
}

#[test]
fn variants_may_set_their_own_recipe_and_threads() {
    let folder = SweepFolder::new();
    let quick = crate::recipe::Recipe::load("quick", &[]).unwrap();
    fs::create_dir(folder.path("mine")).unwrap();
    let mine = quick.to_toml().replace("episodes = 30000", "episodes = 77");
    fs::write(folder.path("mine/own.toml"), mine).unwrap();
    let more = "[[variant]]\nname = \"own\"\nrecipe = \"mine/own.toml\"\nset = [\"threads=2\", \"episodes=88\"]\n";
    let sweep = folder.load(&format!("{SMALL}{more}")).unwrap();
    let own = &sweep.variants[2].recipe;
    assert_eq!((own.episodes, own.threads), (88, 2));
    // Relative to the file, not to the working directory.
    let other = SMALL.replace("\"quick\"", "\"./mine/own.toml\"");
    assert_eq!(
        folder.load(&other).unwrap().variants[0].recipe.episodes,
        150
    );
}

#[test]
fn invalid_files_are_refused_with_the_reason() {
    let folder = SweepFolder::new();
    let variant = "[[variant]]\nname = \"as it is\"";
    let many_seeds = format!("seeds = {:?}", (0..1001).collect::<Vec<u64>>());
    let many: String = (0..101)
        .map(|i| format!("[[variant]]\nname = \"v{i}\"\n"))
        .collect();
    for (old, new, words) in [
        (
            "games = 60",
            "games = 60\ngmaes = 1",
            &["gmaes", "mean `games`"][..],
        ),
        ("games = 60", "", &["games"]),
        ("games = 60", "games = -1", &["line 6", "-1"]),
        (
            "games = 60",
            "games = 10000001",
            &["games", "10000001", "10000000"],
        ),
        ("games = 60", "games = [", &["line"]),
        ("seeds = [3, 1, 2]", "seeds = []", &["seeds", "1 to 1000"]),
        (
            "seeds = [3, 1, 2]",
            "seeds = [3, 1, 3]",
            &["seed 3", "twice"],
        ),
        (
            "seeds = [3, 1, 2]",
            "seeds = [9223372036854775808]",
            &["line 5"],
        ),
        ("seeds = [3, 1, 2]", &many_seeds, &["seeds", "1001"]),
        ("\"small\"", "\"../small\"", &["name", "../small"]),
        ("\"quick\"", "\"quikc\"", &["as it is", "quikc", "quick"]),
        ("\"quick\"", "\"./none.toml\"", &["as it is", "none.toml"]),
        ("board=3x3", "board=9x9", &["as it is", "board", "9x9"]),
        ("tuples=012 036", "tuples=09", &["as it is"]),
        ("board=3x3", "game=tetris", &["as it is", "tetris"]),
        (
            "\"episodes=150\"",
            "\"episods=150\"",
            &["episods", "episodes"],
        ),
        (
            "\"learning_rate=0.1\"",
            "\"learning_rate=-1\"",
            &["TD / 0.1", "rate"],
        ),
        ("\"learning_rate=0.1\"", "\"seed=7\"", &["seed=7", "seeds"]),
        (
            "\"learning_rate=0.1\"",
            "\"board=3x4\"",
            &["as it is", "TD / 0.1", "2048 on 3x3", "2048 on 3x4"],
        ),
        ("TD / 0.1", "as it is", &["as it is", "twice"]),
        ("TD / 0.1", "As-it: is", &["as-it-is", "rename"]),
        ("TD / 0.1", "Plots", &["variant.name", "Plots"]),
        ("TD / 0.1", "///", &["variant.name", "///"]),
        ("TD / 0.1", "", &["variant.name"]),
        ("TD / 0.1", "a\\nb", &["variant.name"]),
        (variant, &many, &["variant", "102"]),
        (
            variant,
            "[[variant]]\nname = \"x\"\nwhy = 1",
            &["variant.why", "name, recipe, set"],
        ),
    ] {
        assert!(SMALL.contains(old), "{old}");
        let error = folder.load(&SMALL.replacen(old, new, 1)).unwrap_err();
        let sentence = error.to_string();
        for word in words {
            assert!(
                sentence.contains(word),
                "`{new}`: no `{word}` in `{sentence}`"
            );
        }
    }
    assert!(folder.load(&SMALL[..SMALL.find("[[").unwrap()]).is_err());
    let huge = format!("{SMALL}#{}", " ".repeat(1 << 20));
    let error = folder.load(&huge).unwrap_err();
    assert!(
        matches!(error, LabError::Sweep(SweepError::TooLarge { .. })),
        "{error}"
    );
    fs::write(folder.path("bytes"), [b'a', 0xff]).unwrap();
    let error = Sweep::load(&folder.path("bytes")).unwrap_err();
    assert!(
        matches!(
            error,
            LabError::Sweep(SweepError::NotText { offset: 1, .. })
        ),
        "{error}"
    );
    assert!(Sweep::load(&folder.path("none")).is_err());
}
