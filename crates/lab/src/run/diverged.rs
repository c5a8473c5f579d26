//! A run's `diverged.json`: that its training ended because a weight became NaN or infinite. It is
//! removed when the run is resumed, and is not there in other runs.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::disk::{inside, replace_inside};
use crate::tables::open;

pub(super) const DIVERGED: &str = "diverged.json";
/// The largest size of the file.
const LONGEST: u64 = 1 << 12;

/// How a run diverged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// Games played so far.
    pub games: u64,
    /// The learning rate.
    #[serde(rename = "learning_rate")]
    pub rate: f32,
}

impl Divergence {
    /// Reads how the run of a folder diverged; `None` if it did not, as far as the folder tells.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(DIVERGED);
        inside::check(&path).ok()?;
        let (file, _) = open(&path).ok()?;
        serde_json::from_reader(file.take(LONGEST)).ok()
    }

    /// Writes it into a run folder.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(DIVERGED);
        let text = serde_json::to_string(self).map_err(io::Error::other);
        let saved = text.and_then(|text| replace_inside(&path, (text + "\n").as_bytes()));
        saved.map_err(LabError::file("write", &path))
    }

    /// Removes the file: the run goes on.
    pub(super) fn forget(folder: &Path) -> Result<(), LabError> {
        let path = folder.join(DIVERGED);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(LabError::file("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}
