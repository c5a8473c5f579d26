//! What to do about an error, in terms of the command line.

use std::path::Path;

use afterstate::game::Shape;
use afterstate_lab::Remedy;
use afterstate_lab::games::DEFAULT_GAME;
use afterstate_lab::recipe::Recipe;

use crate::args::Command;
use crate::commands::shown;

/// The sentence that follows the text of an error.
pub fn worded(remedy: &Remedy, command: &Command) -> String {
    let place = place(command);
    let named = |what: &str| match place {
        Some(place) => format!("{what} with `{place}`"),
        None => what.to_owned(),
    };
    match remedy {
        Remedy::AnotherFolder => named("name another folder"),
        Remedy::AnotherFile => named("name another file"),
        Remedy::WritablePlace => named("choose a writable place"),
        Remedy::FreeSpace => {
            "free some space or choose another folder; what was saved before is intact".to_owned()
        }
        Remedy::ResumeRun(folder) => format!(
            "resume it with `afterstate train --resume {}`, or choose another folder with `--out`",
            shown(folder)
        ),
        Remedy::RestoreSweep => format!(
            "restore the old value, {}, or remove this folder to train it again",
            named("name another folder")
        ),
        Remedy::TrainModel { game, shape } => format!(
            "train one with `{}`, or name one with `--model`",
            train(game, *shape)
        ),
        Remedy::FewerRunsAtOnce(other) => {
            let fewer = "train fewer runs at the same time with `--jobs`";
            match other {
                Some(other) => format!("{}, or {fewer}", worded(other, command)),
                None => fewer.to_owned(),
            }
        }
        Remedy::BuildWithDeep => format!("\nbuild and run with it:  {}", with_deep()),
        Remedy::SmallerTarget => "solve a smaller board, or choose a smaller `--target`, at which \
             the game ends earlier"
            .to_owned(),
        Remedy::TargetUpTo(most) => {
            format!("choose a `--target` of at most {most}, at which the game ends")
        }
        Remedy::SolveGame => "write one with `afterstate solve --out`".to_owned(),
        Remedy::FreeMemory => "free some memory, or use a machine with more".to_owned(),
        Remedy::MeasureOneSymmetry => "add `--fast`, or free some memory".to_owned(),
        Remedy::MeasureAllSymmetries => "leave out `--fast`".to_owned(),
        Remedy::NamePatterns => "name their patterns in `afterstate convert`, in order, as in \
             --patterns \"012345 456789\""
            .to_owned(),
        Remedy::NameStages => {
            "say where they begin in `afterstate convert`, as in --stages 16384,32768".to_owned()
        }
        Remedy::NameFormat => {
            "use a name ending in .safetensors or .w, or 2048.bin or weights.bin; for \
             any other name add --to native, tdl, demo or framework"
                .to_owned()
        }
        Remedy::Overwrite => "choose another name, or add --force to overwrite it".to_owned(),
        Remedy::WithoutSymmetry => {
            "add --no-symmetry if the program that reads it does not use symmetries".to_owned()
        }
        Remedy::WeightsOnly => "add --weights-only to leave them out".to_owned(),
        Remedy::NameProgram => {
            "name a program that can be executed, such as `-- ./student` for one \
             in this folder, or with its interpreter, as in `-- python3 student.py`"
                .to_owned()
        }
        Remedy::AnotherPort => "name another port with `--tcp`".to_owned(),
        Remedy::NameRecords => "name a file of records, as `afterstate play --save`, \
             `afterstate eval --records` and `afterstate referee --records` write them"
            .to_owned(),
        Remedy::RecordGames(run) => format!(
            "`afterstate eval {} --records games.txt` writes one",
            shown(run)
        ),
        Remedy::Judge(path) => format!(
            "`afterstate judge {}` says what is wrong with each game",
            shown(path)
        ),
        Remedy::Review(path) => format!("`afterstate review {}` reads replays", shown(path)),
        // A remedy that is newer than this table.
        _ => String::new(),
    }
}

/// The flag of a command that says where it writes.
fn place(command: &Command) -> Option<&'static str> {
    match command {
        Command::Train(args) => args.resume.is_none().then_some("--out"),
        Command::Eval(args) => args.records.as_ref().map(|_| "--records"),
        Command::Play(args) => args.save.as_ref().map(|_| "--save"),
        Command::Referee(args) => args.records.as_ref().map(|_| "--records"),
        Command::Solve(_) | Command::Plot(_) | Command::Sweep(_) | Command::Tournament(_) => {
            Some("--out")
        }
        _ => None,
    }
}

/// The command that trains a model of a game on a board.
pub fn train(game: &str, shape: Shape) -> String {
    if (game, shape) == (DEFAULT_GAME, Shape::FOUR) {
        return "afterstate train".to_owned();
    }
    let made_for = |recipe: &Recipe| recipe.game == game && recipe.board == shape.to_string();
    let recipes = Recipe::builtin().iter();
    let mut recipes = recipes.filter_map(|(name, _)| Recipe::load(name, &[]).ok());
    match recipes.find(made_for) {
        Some(recipe) => format!("afterstate train {}", recipe.name),
        // These tuples exist on every board.
        None => format!("afterstate train --game {game} --board {shape} --set tuples=lines"),
    }
}

/// What the player in the terminal says without a model.
pub fn without_model(game: &str, shape: Shape) -> String {
    format!("no model: train one with `{}`", train(game, shape))
}

/// The command that was given, by a program that has deep learning.
fn with_deep() -> String {
    let given = std::env::args_os().skip(1);
    let given = given.map(|word| shown(Path::new(&word)));
    let words = ["cargo run --release --features deep --".to_owned()];
    words.into_iter().chain(given).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Args;

    fn told(remedy: &Remedy, words: &str) -> String {
        let words = std::iter::once("afterstate").chain(words.split(' '));
        worded(remedy, &Args::try_parse_from(words).unwrap().command)
    }

    #[test]
    fn the_flag_is_that_of_the_command() {
        for (words, flag) in [
            ("train", "`--out`"),
            ("eval random --records x", "`--records`"),
            ("solve --board 2x2", "`--out`"),
            ("plot runs/x", "`--out`"),
            ("sweep x.toml", "`--out`"),
        ] {
            let text = told(&Remedy::WritablePlace, words);
            assert!(text.ends_with(&format!("with {flag}")), "{words}: {text}");
        }
        for words in ["train --resume x", "eval random", "convert a b"] {
            assert!(
                !told(&Remedy::WritablePlace, words).contains("--"),
                "{words}"
            );
        }
    }

    #[test]
    fn the_train_command_names_the_game() {
        let of = |game: &str, shape| {
            let game = game.to_owned();
            told(&Remedy::TrainModel { game, shape }, "analyze x")
        };
        assert!(of("2048", Shape::FOUR).contains("`afterstate train`"));
        let small = Shape::new(2, 3).unwrap();
        let any = "`afterstate train --game threes --board 2x3 --set tuples=lines`";
        assert!(of("threes", small).contains(any));
        assert!(of("2584", Shape::FOUR).contains("`afterstate train 2584`"));
    }
}
