//! The models that stay open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Instant, SystemTime};

use afterstate_lab::ErrorClass;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::Model;
use afterstate_lab::run::model_of;

use super::{FRESH, Lookup, lock, renamed};
use crate::error::Problem;

/// The most models that stay open.
const OPEN: usize = 3;

/// A model that is open.
struct Opened {
    contender: Arc<Contender>,
    file: PathBuf,
    modified: Option<SystemTime>,
    /// When its file was last looked at.
    checked: Instant,
    used: Instant,
}

/// The models that stay open, by folder.
#[derive(Default)]
pub struct ModelCache {
    opened: Mutex<HashMap<PathBuf, Opened>>,
    /// Held while a model is loaded: one at a time, so that no model is loaded twice.
    pub(super) loading: Mutex<()>,
}

impl ModelCache {
    /// The open model of this folder, or the folder if its file has to be read.
    pub(super) fn look_up(&self, folder: PathBuf) -> Result<Lookup, Problem> {
        let fresh = |found: &mut Opened| {
            let is_fresh = found.checked.elapsed() < FRESH;
            is_fresh.then(|| Arc::clone(&found.contender))
        };
        if let Some(contender) = self.opened(&folder, fresh).flatten() {
            return Ok(contender.into());
        }
        let (file, modified) = file_of(&folder)?;
        if let Some(contender) = self.opened_from(&folder, &file, modified) {
            return Ok(contender.into());
        }
        // While one request reads a newer file, the others are answered by the model that is open.
        let older = self.opened(&folder, |found| Arc::clone(&found.contender));
        match older.filter(|_| matches!(self.loading.try_lock(), Err(TryLockError::WouldBlock))) {
            Some(contender) => Ok(contender.into()),
            None => Ok(Lookup::OnDisk(folder)),
        }
    }

    /// The model of a folder, if it is open.
    fn opened<T>(&self, folder: &Path, of: impl FnOnce(&mut Opened) -> T) -> Option<T> {
        let mut opened = lock(&self.opened);
        let found = opened.get_mut(folder)?;
        found.used = Instant::now();
        Some(of(found))
    }

    /// The same, if its file is this one, as it was when it was read.
    fn opened_from(
        &self,
        folder: &Path,
        file: &Path,
        modified: Option<SystemTime>,
    ) -> Option<Arc<Contender>> {
        let same = |found: &mut Opened| {
            let is_same = (&*found.file, found.modified) == (file, modified);
            found.checked = Instant::now();
            is_same.then(|| Arc::clone(&found.contender))
        };
        self.opened(folder, same).flatten()
    }

    /// Closes the models used longest ago, so that that of a folder may be open.
    fn make_room(&self, folder: &Path) {
        let mut opened = lock(&self.opened);
        while opened.len() >= OPEN && !opened.contains_key(folder) {
            let oldest = opened.iter().min_by_key(|(_, it)| it.used);
            let Some(oldest) = oldest.map(|(folder, _)| folder.clone()) else {
                break;
            };
            opened.remove(&oldest);
        }
    }

    /// Opens the model of a folder by this name, unless another request has opened it meanwhile.
    pub(super) fn open(&self, folder: &Path, name: String) -> Result<Arc<Contender>, Problem> {
        let _loading = lock(&self.loading);
        let (file, modified) = file_of(folder)?;
        if let Some(contender) = self.opened_from(folder, &file, modified) {
            return Ok(contender);
        }
        self.make_room(folder);
        let model = match Model::open(folder) {
            // Models that are only kept open make room.
            Err(error) if error.class() == ErrorClass::System => {
                let dropped = std::mem::take(&mut *lock(&self.opened));
                if dropped.is_empty() {
                    return Err(error.into());
                }
                drop(dropped);
                Model::open(folder)?
            }
            model => model?,
        };
        let contender = Arc::new(renamed(Contender::from(&model), name));
        lock(&self.opened).insert(
            folder.to_owned(),
            Opened {
                contender: Arc::clone(&contender),
                file,
                modified,
                checked: Instant::now(),
                used: Instant::now(),
            },
        );
        Ok(contender)
    }
}

/// The file of a model, and when it was changed.
fn file_of(folder: &Path) -> Result<(PathBuf, Option<SystemTime>), Problem> {
    let file = model_of(folder)?;
    let modified = std::fs::metadata(&file).and_then(|it| it.modified()).ok();
    Ok((file, modified))
}
