//! A model as the list of models has it.

use std::path::Path;
use std::sync::Arc;

use afterstate_lab::LabError;
use afterstate_lab::error::FileKind;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::Model;
use afterstate_lab::solve::Solution;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A model that can be named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The name to ask for it: that of its run or its file, `box:2048-4x4`, `random` or `greedy`.
    pub id: String,
    /// The game; none for a baseline, which plays any.
    pub game: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// The recipe, with what was changed in it.
    pub recipe: Option<String>,
    /// The games that it was trained for.
    pub trained: Option<u64>,
    /// The mean score of its last block of training games.
    pub mean: Option<f64>,
    /// `run`, `training`, `file`, `solution`, `box` for a network in the program, or `baseline`.
    pub kind: String,
}

impl ModelView {
    /// A model of which nothing but its name is known.
    pub(super) fn named(id: String, kind: &str) -> Self {
        Self {
            id,
            game: None,
            board: None,
            recipe: None,
            trained: None,
            mean: None,
            kind: kind.to_owned(),
        }
    }
}

/// A contender by this name: the page shows names, not paths.
pub fn renamed(contender: Contender, name: String) -> Contender {
    Contender {
        label: name.clone(),
        model: contender.model.map(|mut model| {
            model.path = name;
            model
        }),
        ..contender
    }
}

/// Opens a file that the command line has named: a model, weights of another program, or a solution.
pub fn open_file(path: &Path, id: String) -> Result<(ModelView, Arc<Contender>), LabError> {
    let (contender, recipe, kind) = match Model::open(path) {
        Err(LabError::Kind {
            found: FileKind::Solution,
            ..
        }) => {
            let solution = Arc::new(Solution::open(path)?);
            (Contender::exact(solution, path)?, None, "solution")
        }
        model => {
            let model = model?;
            (Contender::from(&model), model.recipe, "file")
        }
    };
    let view = ModelView {
        game: Some(contender.game.clone()),
        board: Some(contender.shape.to_string()),
        recipe,
        trained: contender.model.as_ref().and_then(|model| model.trained),
        ..ModelView::named(id.clone(), kind)
    };
    Ok((view, Arc::new(renamed(contender, id))))
}
