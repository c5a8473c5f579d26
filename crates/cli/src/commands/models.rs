//! The models and baselines that a command names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterstate::game::Shape;
use afterstate_lab::LabError;
use afterstate_lab::agent::Baseline;
use afterstate_lab::error::FileKind;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::{self, DEFAULT_GAME};
use afterstate_lab::model::{self, Model};
use afterstate_lab::recipe::parse_board;
use afterstate_lab::report::ModelInfo;
use afterstate_lab::solve::Solution;

use super::{RUNS, shown};
use crate::output::{count, tell};

/// The baseline of this name, unless there is a file of that name.
pub fn baseline(model: &Path) -> Option<Baseline> {
    let named = Baseline::named(model.to_str()?)?;
    (!model.exists()).then_some(named)
}

/// The names of all baselines.
pub fn baselines() -> String {
    Baseline::ALL.map(Baseline::name).join(" and ")
}

/// A game and a board by their names, or the default ones.
pub fn game_of(game: Option<&str>, board: Option<&str>) -> anyhow::Result<(String, Shape)> {
    let (rows, cols) = parse_board(board.unwrap_or("4x4"))?;
    let shape = games::shape(rows, cols)?;
    Ok((game.unwrap_or(DEFAULT_GAME).to_owned(), shape))
}

/// The description of a model: its game, its recipe with overrides, its training.
pub fn described(model: &ModelInfo) -> String {
    let trained = match model.trained {
        Some(games) => format!("trained for {}", count(games, "game")),
        None => "trained by another program".to_owned(),
    };
    let recipe = model.recipe.as_ref();
    let recipe = recipe.map_or_else(String::new, |recipe| format!(", {recipe}"));
    let path = shown(Path::new(&model.path));
    format!(
        "{path}: {} on {}{recipe}, {trained}",
        model.game, model.board
    )
}

/// Opens a model, and tells if its file has no checksums.
pub fn open_model(path: &Path) -> Result<Model, LabError> {
    let model = Model::open(path)?;
    if model.lacks_checksums {
        tell_unchecked(&model.path);
    }
    Ok(model)
}

/// The same for a solution.
pub fn open_solution(path: &Path) -> Result<Solution, LabError> {
    let solution = Solution::open(path)?;
    if solution.lacks_checksums() {
        tell_unchecked(path);
    }
    Ok(solution)
}

fn tell_unchecked(path: &Path) {
    let path = shown(path);
    tell(&format!(
        "{path} has no checksums, as files of earlier versions: damage of its numbers may not be found"
    ));
}

/// A contender with its description.
pub type Described = (Contender, String);

/// A model, or an exact solution, which plays optimally.
pub fn open(path: &Path) -> anyhow::Result<Described> {
    match open_model(path) {
        Err(LabError::Kind {
            found: FileKind::Solution,
            ..
        }) => {
            let contender = Contender::exact(Arc::new(open_solution(path)?), path)?;
            let words = format!("{}: {}, exact solution", shown(path), contender.game_on());
            Ok((contender, words))
        }
        model => {
            let model = model?;
            Ok((Contender::from(&model), described(&model.info())))
        }
    }
}

/// An exact solution whose values are the chance of its target.
pub fn open_for_target(path: &Path) -> anyhow::Result<Described> {
    let is_baseline = baseline(path).is_some();
    let model = (!is_baseline).then(|| open_model(path)).transpose();
    let solution = match model {
        Err(LabError::Kind {
            found: FileKind::Solution,
            ..
        }) => Arc::new(open_solution(path)?),
        Err(error) => return Err(error.into()),
        Ok(_) => anyhow::bail!(
            "--by-chance needs an exact solution, whose chances are known, and {} is none; \
             `afterstate solve --target TILE --out FILE` writes one",
            shown(path)
        ),
    };
    let contender = Contender::exact_for_target(solution, path)?;
    let words = format!("{}: {}, exact chances", shown(path), contender.game_on());
    Ok((contender, words))
}

/// Two contenders; a baseline plays the game of the model, and two play the named one.
pub fn pair(
    a: &Path,
    b: &Path,
    named: (Option<&str>, Option<&str>),
) -> anyhow::Result<(Described, Described)> {
    let are_baselines = baseline(a).is_some() && baseline(b).is_some();
    if !are_baselines && named != (None, None) {
        anyhow::bail!(
            "--game and --board are only for two of {}: a model has its own game and board",
            baselines()
        );
    }
    let of_game = |baseline, game: &str, shape| {
        let contender = Contender::baseline(baseline, game, shape)?;
        let words = described_baseline(&contender);
        anyhow::Ok((contender, words))
    };
    let against = |baseline, (other, _): &Described| of_game(baseline, &other.game, other.shape);
    Ok(match (baseline(a), baseline(b)) {
        (None, None) => (open(a)?, open(b)?),
        (Some(baseline), None) => {
            let b = open(b)?;
            (against(baseline, &b)?, b)
        }
        (None, Some(baseline)) => {
            let a = open(a)?;
            let b = against(baseline, &a)?;
            (a, b)
        }
        (Some(a), Some(b)) => {
            let (game, shape) = game_of(named.0, named.1)?;
            (of_game(a, &game, shape)?, of_game(b, &game, shape)?)
        }
    })
}

/// The description of a baseline.
pub fn described_baseline(contender: &Contender) -> String {
    format!("{}: {}", contender.label, contender.game_on())
}

/// The default model of this game and board.
pub fn default_model(game: &str, shape: Shape) -> anyhow::Result<PathBuf> {
    games::rules(game)?;
    let none = || LabError::NoModel {
        game: game.to_owned(),
        shape,
    };
    Ok(model::default_model(Path::new(RUNS), game, shape).ok_or_else(none)?)
}
