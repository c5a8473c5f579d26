//! The flat metadata of our files, read key by key with errors that name the key.

use std::path::Path;

use afterstate::format::native::{Metadata, NativeError};

use crate::LabError;

/// The key that only solutions have.
pub(crate) const SOLUTION: &str = "solution";
/// A key that models and checkpoints have, and solutions have not.
pub(crate) const TUPLES: &str = "tuples";

/// The metadata of a file.
pub(crate) struct Fields<'a> {
    metadata: &'a Metadata,
    path: &'a Path,
    /// What a file without a key is.
    foreign: fn(&Path, NativeError) -> LabError,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(
        metadata: &'a Metadata,
        path: &'a Path,
        foreign: fn(&Path, NativeError) -> LabError,
    ) -> Self {
        Self {
            metadata,
            path,
            foreign,
        }
    }

    /// Whether a key is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// When it is missing, or not what is expected.
    pub(crate) fn get<T>(
        &self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, LabError> {
        let missing = || (self.foreign)(self.path, NativeError::Foreign(key));
        let found = self.metadata.get(key).ok_or_else(missing)?;
        parse(found).ok_or_else(|| LabError::Metadata {
            path: self.path.to_owned(),
            key,
            found: found.chars().take(80).collect(),
            expected: expected.to_owned(),
        })
    }
}
