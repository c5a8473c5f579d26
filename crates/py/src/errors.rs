//! Errors as exceptions: the sentences of the command line, and what to do in terms of Python.

use std::path::Path;

use afterstate_lab::{ErrorClass, LabError, Remedy};
use pyo3::prelude::*;

/// Where a function writes: the keyword that names the place.
#[derive(Clone, Copy)]
pub enum Place {
    /// It writes nothing, or its place is an argument without a keyword.
    None,
    /// The keyword `out`.
    Out,
    /// The keyword `records`.
    Records,
}

/// The exception for an error.
pub fn exception(error: &LabError, place: Place) -> PyErr {
    let remedy = error.remedy().map(|remedy| worded(&remedy, place));
    let class = match error.class() {
        ErrorClass::Diverged => "DivergedError",
        ErrorClass::System => "ResourceError",
        _ => "InputError",
    };
    raised(class, &error.to_string(), remedy.as_deref())
}

/// The exception for input that this layer refuses.
pub fn input(text: &str) -> PyErr {
    raised("InputError", text, None)
}

/// An exception of `afterstate.errors`.
fn raised(class: &str, text: &str, remedy: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("afterstate.errors")
            .and_then(|errors| errors.getattr(class)?.call1((text, remedy)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Converts errors that have no place to write to.
pub trait OrRaise<T> {
    /// The value, or the exception.
    ///
    /// # Errors
    /// The exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<LabError>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error.into(), Place::None))
    }
}

fn shown(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// What to do about an error.
fn worded(remedy: &Remedy, place: Place) -> String {
    let named = |what: &str| match place {
        Place::None => what.to_owned(),
        Place::Out => format!("{what} with `out=`"),
        Place::Records => format!("{what} with `records=`"),
    };
    match remedy {
        Remedy::AnotherFolder => named("name another folder"),
        Remedy::AnotherFile => named("name another file"),
        Remedy::WritablePlace => named("choose a writable place"),
        Remedy::FreeSpace => {
            "free some space or choose another folder; what was saved before is intact".to_owned()
        }
        Remedy::ResumeRun(folder) => format!(
            "resume it with `afterstate.train(resume={})`, or choose another folder with `out=`",
            shown(folder)
        ),
        Remedy::RestoreSweep => {
            "restore the old value, name another folder, or remove this folder \
             to train it again"
                .to_owned()
        }
        Remedy::TrainModel { game, shape } => format!(
            "train one with `afterstate.train(game={game:?}, board=\"{shape}\", set={{\"tuples\": \
             \"lines\"}})`, or name a model"
        ),
        Remedy::FewerRunsAtOnce(other) => {
            let fewer = "train fewer runs at the same time";
            match other {
                Some(other) => format!("{}, or {fewer}", worded(other, place)),
                None => fewer.to_owned(),
            }
        }
        Remedy::BuildWithDeep => "build the package with it: `pip install . \
             --config-settings=build-args=\"--features deep\"`"
            .to_owned(),
        Remedy::SmallerTarget => "solve a smaller board, or choose a smaller `target`, at which \
             the game ends earlier"
            .to_owned(),
        Remedy::TargetUpTo(most) => {
            format!("choose a `target` of at most {most}, at which the game ends")
        }
        Remedy::SolveGame => "write one with `afterstate.solve(..., out=...)`".to_owned(),
        Remedy::FreeMemory => "free some memory, or use a machine with more".to_owned(),
        Remedy::MeasureOneSymmetry => "add `fast=True`, or free some memory".to_owned(),
        Remedy::MeasureAllSymmetries => "leave out `fast`".to_owned(),
        Remedy::NamePatterns => "name their patterns in `afterstate.convert`, in order, as in \
             `patterns=\"012345 456789\"`"
            .to_owned(),
        Remedy::NameFormat => "use a name ending in .safetensors or .w, or 2048.bin or \
             weights.bin; for any other name add `kind=\"native\"`, \"tdl\", \"demo\" or \
             \"framework\""
            .to_owned(),
        Remedy::Overwrite => "choose another name, or add `force=True` to overwrite it".to_owned(),
        Remedy::WithoutSymmetry => "add `no_symmetry=True` if the program that reads it does not \
             use symmetries"
            .to_owned(),
        Remedy::WeightsOnly => "add `weights_only=True` to leave them out".to_owned(),
        // What only other faces do, and remedies that are newer than this table.
        _ => String::new(),
    }
}
