//! What a user can do about an error, and how severe it is.
//!
//! The text of an error says what was found and what was expected. What to do about it depends on
//! the face: a command line names a flag, a web page a button. So an error has a [`Remedy`], which
//! each face words in its own terms.

use std::io;
use std::path::PathBuf;

use afterstate::game::Shape;

use super::{
    ConvertError, FileError, FileKind, LabError, RecordError, SolveError, SweepError, Unplayable,
};
use crate::plot::PlotError;

/// What a user can do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Write to another folder.
    AnotherFolder,
    /// Write to another file.
    AnotherFile,
    /// Write to a place where writing is allowed.
    WritablePlace,
    /// Free disk space, or write to another disk. What was saved before is intact.
    FreeSpace,
    /// Resume the run in this folder, or write to another one.
    ResumeRun(PathBuf),
    /// Set the value of the sweep back, write to another folder, or remove this run.
    RestoreSweep,
    /// Train a model of this game on this board, or name one.
    TrainModel {
        /// The game.
        game: String,
        /// The board.
        shape: Shape,
    },
    /// Train fewer runs of a sweep at once, besides what the first one says.
    FewerRunsAtOnce(Option<Box<Remedy>>),
    /// Build the program with deep learning.
    BuildWithDeep,
    /// Solve a smaller board, or a game that ends with a smaller tile.
    SmallerTarget,
    /// Solve the game that ends with a tile of at most this value.
    TargetUpTo(u64),
    /// Solve the game into a file.
    SolveGame,
    /// Free memory, or use a machine that has more.
    FreeMemory,
    /// Measure one symmetry of each board only, which takes less memory.
    MeasureOneSymmetry,
    /// Measure all symmetries of each board.
    MeasureAllSymmetries,
    /// Name the patterns of the tables when converting.
    NamePatterns,
    /// Say where the stages of a file begin when it is converted.
    NameStages,
    /// Name the format of the output file.
    NameFormat,
    /// Write to another file, or ask for this one to be overwritten.
    Overwrite,
    /// State that the reading program looks up each table once, without symmetries.
    WithoutSymmetry,
    /// Leave out everything but the weights.
    WeightsOnly,
    /// Name a program that can be executed.
    NameProgram,
    /// Listen at another port.
    AnotherPort,
    /// Name a file of records, which evaluations, matches and games of people are saved to.
    NameRecords,
    /// Have games of the run in this folder played and recorded.
    RecordGames(PathBuf),
    /// Have each game of this file judged, which says what is wrong with it.
    Judge(PathBuf),
    /// Have the games of this file reviewed, which is all that can be done with them.
    Review(PathBuf),
}

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// What was asked for cannot be done: a wrong value, a damaged file, a missing folder.
    Input,
    /// The disk or the memory of this machine did not suffice, or failed.
    System,
    /// A weight became NaN or infinite.
    Diverged,
}

impl LabError {
    /// What to do about it, if there is more to do than its text says.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NotPacked(_) => Some(Remedy::Overwrite),
            Self::NotRecords(_)
            | Self::NotSeal(_)
            | Self::Sealed(_)
            | Self::RecordsInUse(_)
            | Self::Solve(SolveError::Taken(_)) => Some(Remedy::AnotherFile),
            Self::Record { source, .. } => match **source {
                RecordError::TooLarge { .. } | RecordError::Sealed => Some(Remedy::AnotherFile),
                RecordError::NotARecord { .. } => Some(Remedy::NameRecords),
                RecordError::Verse { ref path, .. } => Some(Remedy::Review(path.clone())),
                RecordError::NoRules { ref path, .. } => Some(Remedy::Judge(path.clone())),
                _ => None,
            },
            Self::NoRecords(_) | Self::RecordsFolder { is_run: false, .. } => {
                Some(Remedy::NameRecords)
            }
            Self::RecordsFolder { path, .. } => Some(Remedy::RecordGames(path.clone())),
            Self::Player { .. } => Some(Remedy::NameProgram),
            Self::Port { .. } => Some(Remedy::AnotherPort),
            Self::NoDeep => Some(Remedy::BuildWithDeep),
            Self::File { action, source, .. } if *action != "read" => of_writing(source),
            Self::Plot(PlotError::Folder { source, .. } | PlotError::Write { source, .. }) => {
                of_writing(source)
            }
            Self::Unplayable { source, .. }
            | Self::Convert(ConvertError::NoTuples { source, .. }) => of_tables(source),
            Self::Unplotted { source, .. } => source.remedy(),
            Self::NotEmpty { .. } | Self::ResultsAmongPlayers(_) => Some(Remedy::AnotherFolder),
            Self::RunExists(folder) => Some(Remedy::ResumeRun(folder.clone())),
            Self::NoModel { game, shape } => Some(Remedy::TrainModel {
                game: game.clone(),
                shape: *shape,
            }),
            Self::Kind {
                wanted: FileKind::Solution,
                ..
            } => Some(Remedy::SolveGame),
            Self::Convert(error) => of_conversion(error),
            Self::Solve(error) => of_solving(error),
            Self::Sweep(error) => of_sweep(error),
            _ => None,
        }
    }

    /// Its class, by which a user interface chooses an exit status or a status code.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Diverged { .. } => ErrorClass::Diverged,
            Self::BufferMemory { .. }
            | Self::DeepMemory { .. }
            | Self::TableMemory { .. }
            | Self::Memory { .. }
            | Self::Refused { .. }
            | Self::NoRandomness(_)
            | Self::Solve(
                SolveError::Memory { .. }
                | SolveError::NoRoom { .. }
                | SolveError::TooManyStates { .. },
            )
            | Self::Solution {
                source: FileError::Memory { .. },
                ..
            } => ErrorClass::System,
            Self::Unplotted { source, .. } => source.class(),
            Self::File { action, source, .. } => class_of(*action == "read", source),
            Self::Plot(PlotError::Folder { source, .. } | PlotError::Write { source, .. }) => {
                class_of(false, source)
            }
            Self::Plot(PlotError::Png { .. } | PlotError::Network(_)) => ErrorClass::System,
            Self::Sweep(SweepError::Run { source, .. } | SweepError::Variant { source, .. }) => {
                source.class()
            }
            _ => ErrorClass::Input,
        }
    }
}

/// A file that cannot be read, or a place that cannot be one of a file, was named wrongly; any other
/// failure is that of the system.
fn class_of(reading: bool, error: &io::Error) -> ErrorClass {
    use io::ErrorKind as Kind;
    let misnamed = matches!(
        error.kind(),
        Kind::NotFound
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::AlreadyExists
            | Kind::InvalidFilename
            | Kind::InvalidInput
    );
    match reading && error.kind() != Kind::OutOfMemory || misnamed {
        true => ErrorClass::Input,
        false => ErrorClass::System,
    }
}

fn of_writing(error: &io::Error) -> Option<Remedy> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Remedy::FreeSpace),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Some(Remedy::WritablePlace)
        }
        _ => None,
    }
}

fn of_tables(error: &Unplayable) -> Option<Remedy> {
    if error.lacks_stages() {
        return Some(Remedy::NameStages);
    }
    error.needs_conversion().then_some(Remedy::NamePatterns)
}

fn of_conversion(error: &ConvertError) -> Option<Remedy> {
    match error {
        ConvertError::UnknownKind(_) => Some(Remedy::NameFormat),
        ConvertError::Taken(_) => Some(Remedy::Overwrite),
        ConvertError::NoPlace { remedy, .. } => remedy.clone(),
        _ => None,
    }
}

fn of_solving(error: &SolveError) -> Option<Remedy> {
    match error {
        SolveError::Memory { .. } | SolveError::NoRoom { .. } => Some(Remedy::SmallerTarget),
        SolveError::TooManyStates { fast: true, .. } => Some(Remedy::FreeMemory),
        SolveError::TooManyStates { .. } => Some(Remedy::MeasureOneSymmetry),
        SolveError::Tiles { most, .. } => Some(Remedy::TargetUpTo(*most)),
        SolveError::Asymmetric => Some(Remedy::MeasureAllSymmetries),
        _ => None,
    }
}

fn of_sweep(error: &SweepError) -> Option<Remedy> {
    match error {
        SweepError::OfARun(_) | SweepError::Other { .. } => Some(Remedy::AnotherFolder),
        SweepError::Changed { .. } => Some(Remedy::RestoreSweep),
        SweepError::Variant { source, .. } => source.remedy(),
        SweepError::Run { source, .. } => {
            let inner = source.remedy();
            // Runs side by side share the memory.
            match **source {
                LabError::Memory { .. }
                | LabError::DeepMemory { .. }
                | LabError::Refused { .. } => Some(Remedy::FewerRunsAtOnce(inner.map(Box::new))),
                _ => inner,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn writing(kind: io::ErrorKind) -> LabError {
        LabError::file("write", Path::new("x"))(kind.into())
    }

    #[test]
    fn a_full_disk_is_the_systems_fault_and_a_missing_folder_the_users() {
        use io::ErrorKind as Kind;
        for (kind, class, remedy) in [
            (
                Kind::StorageFull,
                ErrorClass::System,
                Some(Remedy::FreeSpace),
            ),
            (
                Kind::QuotaExceeded,
                ErrorClass::System,
                Some(Remedy::FreeSpace),
            ),
            (
                Kind::PermissionDenied,
                ErrorClass::System,
                Some(Remedy::WritablePlace),
            ),
            (Kind::Other, ErrorClass::System, None),
            (Kind::NotFound, ErrorClass::Input, None),
            (Kind::NotADirectory, ErrorClass::Input, None),
        ] {
            let error = writing(kind);
            assert_eq!((error.class(), error.remedy()), (class, remedy), "{kind}");
        }
        let reading = LabError::file("read", Path::new("x"))(Kind::PermissionDenied.into());
        assert_eq!(reading.class(), ErrorClass::Input);
        assert_eq!(reading.remedy(), None);
    }

    #[test]
    fn a_run_of_a_sweep_has_the_class_and_the_remedy_of_its_error() {
        let run = |source: LabError| {
            let run = "TD, seed 1".to_owned();
            let source = Box::new(source);
            LabError::from(SweepError::Run { run, source })
        };
        let full = run(writing(io::ErrorKind::StorageFull));
        assert_eq!(full.class(), ErrorClass::System);
        assert_eq!(full.remedy(), Some(Remedy::FreeSpace));
        let memory = run(LabError::Memory {
            needed: 2,
            available: 1,
        });
        assert_eq!(memory.class(), ErrorClass::System);
        assert_eq!(memory.remedy(), Some(Remedy::FewerRunsAtOnce(None)));
    }
}
