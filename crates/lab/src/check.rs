//! Verifies files: a model, a checkpoint, a solution, weights of another program, sealed records, a
//! recipe, or all files of a run folder.

use std::fs;
use std::io::Read;
use std::path::Path;

use afterstate::format::native::NativeError;
use serde::Serialize;

use crate::LabError;
use crate::boxed;
use crate::control::Control;
use crate::disk::inside;
use crate::finish;
use crate::foreign::{Weights, extension};
use crate::games;
use crate::memory::MemoryBudget;
use crate::metadata::SOLUTION;
use crate::recipe::{Recipe, parse_board};
use crate::records::{JudgeOptions, judge};
use crate::report::ModelInfo;
use crate::run;
use crate::seal::Seal;
use crate::solve::Solution;

/// The result of a check; the JSON of `check --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Whether no file has a fault.
    pub ok: bool,
    /// Every file that was checked.
    pub files: Vec<FileCheck>,
}

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileCheck {
    /// The file.
    pub path: String,
    /// Whether it has no fault.
    pub ok: bool,
    /// What is wrong with it.
    pub fault: Option<String>,
    /// What could not be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A note about a file, or its fault.
type Checked = Result<Option<&'static str>, LabError>;

const NO_CHECKSUMS: &str =
    "an earlier version wrote it, without checksums: only its structure was verified";
const FOREIGN: &str = "files of this program have no checksums: only its structure was verified";

/// Verifies a file or a run folder.
///
/// # Errors
/// When there is no such file, or it is of no kind that can be verified.
pub fn check(path: &Path, control: &Control) -> Result<CheckReport, LabError> {
    let is_folder = || fs::metadata(path).map(|about| about.is_dir());
    let is_folder = match boxed::named(path) {
        Some(_) => false,
        None => {
            boxed::check_name(path)?;
            is_folder().map_err(LabError::file("read", path))?
        }
    };
    let files = match is_folder {
        true => folder(path, control)?,
        false => vec![told(path, file(path, control)?)],
    };
    Ok(CheckReport {
        ok: files.iter().all(|file| file.ok),
        files,
    })
}

fn told(path: &Path, checked: Checked) -> FileCheck {
    let (fault, note) = match checked {
        Ok(note) => (None, note.map(str::to_owned)),
        Err(error) => (Some(error.to_string()), None),
    };
    FileCheck {
        path: path.display().to_string(),
        ok: fault.is_none(),
        fault,
        note,
    }
}

/// The outer error is that of a file that is none of ours.
fn file(path: &Path, control: &Control) -> Result<Checked, LabError> {
    if extension(path) == "toml" {
        let recipe = Recipe::load_stored(path, &[]);
        return Ok(recipe.map(|_| None).map_err(LabError::from));
    }
    if Seal::path_beside(path).exists() {
        return Ok(records(path, control));
    }
    match weights(path) {
        Err(LabError::Model {
            source: NativeError::Packed(error),
            path,
        }) => Ok(Err(LabError::model("read", &path)(error.into()))),
        Err(LabError::Model { .. }) if !may_have_tensors(path) => {
            Err(LabError::NothingToCheck(path.to_owned()))
        }
        checked => Ok(checked),
    }
}

/// Whether a file is one of tensors by its name or its first bytes, however damaged it is: a length,
/// and a header that begins with a brace.
fn may_have_tensors(path: &Path) -> bool {
    let begins = || {
        let mut start = Vec::new();
        let file = crate::tables::open(path).ok()?.0;
        file.take(9).read_to_end(&mut start).ok()?;
        (start.get(8) == Some(&b'{')).then_some(())
    };
    matches!(extension(path), "safetensors" | "solution") || begins().is_some()
}

fn weights(path: &Path) -> Checked {
    let saved = match Weights::open(path)? {
        Weights::Theirs(_) => return Ok(Some(FOREIGN)),
        Weights::Ours(saved) => saved,
    };
    saved.verify().map_err(LabError::model("read", path))?;
    let note = saved.lacks_checksums().then_some(NO_CHECKSUMS);
    match saved.metadata().contains_key(SOLUTION) {
        true => drop(Solution::open_within(path, &MemoryBudget::process())?),
        // A file that does not say what it plays is of no use.
        false => drop(ModelInfo::of_file(path)?),
    }
    Ok(note)
}

fn records(path: &Path, control: &Control) -> Checked {
    let inconsistent = |found: String| LabError::Inconsistent {
        path: path.to_owned(),
        found,
    };
    let seal = Seal::open(&Seal::path_beside(path))?;
    let (rows, cols) = parse_board(&seal.board)?;
    let report = judge(&JudgeOptions {
        game: Some(&seal.game),
        shape: Some(games::shape(rows, cols)?),
        seal: Some(&seal),
        ..JudgeOptions::new(path, control)
    })?;
    match report.faults.first() {
        _ if report.passed => Ok(None),
        Some(fault) => Err(inconsistent(fault.reason.clone())),
        None => Err(inconsistent("it was not read to its end".to_owned())),
    }
}

/// All files of a run. It may come from someone else: only regular files are opened.
fn folder(folder: &Path, control: &Control) -> Result<Vec<FileCheck>, LabError> {
    let recipe = run::recipe_path(folder);
    if fs::symlink_metadata(&recipe).is_err() {
        return Err(LabError::NoRun {
            folder: folder.to_owned(),
            missing: "recipe.toml",
        });
    }
    let [model, checkpoint] = [run::model_path(folder), run::checkpoint_of(folder)];
    let mut files = Vec::new();
    for path in [&recipe, &checkpoint, &model] {
        let checked = match inside::check(path) {
            Ok(false) => continue,
            Ok(true) if *path == recipe => file(path, control)?,
            Ok(true) => weights(path),
            Err(error) => Err(LabError::file("read", path)(error)),
        };
        files.push(told(path, checked));
    }
    for (path, checked) in run::check_logs(folder) {
        files.push(told(&path, checked.map(|()| None)));
    }
    if inside::check(&model).is_ok_and(|found| found) && finish::lacks_plots(folder) {
        let plots = finish::plots_of(folder);
        let missing = LabError::Inconsistent {
            path: plots.clone(),
            found: "the plots of the finished run are missing".to_owned(),
        };
        files.push(told(&plots, Err(missing)));
    }
    Ok(files)
}
