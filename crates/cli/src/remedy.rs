//! What to do about an error, in terms of the command line.

use std::path::Path;

use afterstate::game::Shape;
use afterstate_lab::Remedy;
use afterstate_lab::games::DEFAULT_GAME;

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
        Remedy::WritablePlace => named("choose a place you may write to"),
        Remedy::FreeSpace => {
            "free some space or choose another folder, what was saved before is still there"
                .to_owned()
        }
        Remedy::ResumeRun(folder) => format!(
            "go on with it by `afterstate train --resume {}`, or choose another `--out`",
            shown(folder)
        ),
        Remedy::RestoreSweep => format!(
            "put the old value back, {}, or remove this one to train it anew",
            named("name another folder")
        ),
        Remedy::TrainModel { game, shape } => format!(
            "train one with `{}`, or name one with `--model`",
            train(game, *shape)
        ),
        Remedy::FewerRunsAtOnce(other) => {
            let fewer = "or train fewer at once with `--jobs`";
            match other {
                Some(other) => format!("{}, {fewer}", worded(other, command)),
                None => fewer.to_owned(),
            }
        }
        Remedy::BuildWithDeep => format!("\nthe same with it:  {}", with_deep()),
        Remedy::SmallerTarget => "solve a smaller board, or a smaller `--target`, with which the \
             game ends sooner"
            .to_owned(),
        Remedy::TargetUpTo(most) => format!("give a `--target` up to {most} that ends the game"),
        Remedy::SolveGame => "make one with `afterstate solve --out`".to_owned(),
        Remedy::FreeMemory => "free some, or measure it on a larger machine".to_owned(),
        Remedy::MeasureOneSymmetry => "measure it with `--fast`, or free some".to_owned(),
        Remedy::MeasureAllSymmetries => "measure it without `--fast`".to_owned(),
        Remedy::NamePatterns => "name their patterns to `afterstate convert`, in order, as in \
             --patterns \"012345 456789\""
            .to_owned(),
        Remedy::NameFormat => {
            "names ending in .safetensors or .w, 2048.bin and weights.bin do; for \
             any other add --to native, tdl, demo or framework"
                .to_owned()
        }
        Remedy::Overwrite => "choose another name, or add --force to write over it".to_owned(),
        Remedy::WithoutSymmetry => {
            "add --no-symmetry if the program that reads it will do so".to_owned()
        }
        Remedy::WeightsOnly => "add --weights-only to leave them out".to_owned(),
        // A remedy that is newer than this table.
        _ => String::new(),
    }
}

/// The flag of a command that says where it writes.
fn place(command: &Command) -> Option<&'static str> {
    match command {
        Command::Train(args) => args.resume.is_none().then_some("--out"),
        Command::Eval(args) => args.records.as_ref().map(|_| "--records"),
        Command::Solve(_) | Command::Plot(_) | Command::Sweep(_) => Some("--out"),
        _ => None,
    }
}

/// The command that trains a model of a game on a board.
fn train(game: &str, shape: Shape) -> String {
    match (game, shape) {
        (DEFAULT_GAME, Shape::FOUR) => "afterstate train".to_owned(),
        _ => format!("afterstate train --game {game} --board {shape}"),
    }
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
        assert!(of("threes", small).contains("`afterstate train --game threes --board 2x3`"));
    }
}
