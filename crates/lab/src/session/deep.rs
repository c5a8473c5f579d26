//! Sessions of deep networks, where deep learning is built in.

#[cfg(feature = "deep")]
mod rig;

#[cfg(feature = "deep")]
pub(crate) use rig::{playing, training};

#[cfg(not(feature = "deep"))]
pub(crate) use missing::{playing, training};

#[cfg(not(feature = "deep"))]
mod missing {
    use std::path::Path;

    use super::super::{Playing, Session};
    use crate::LabError;
    use crate::deep::DeepPlayer;
    use crate::recipe::Recipe;
    use crate::tables::Saved;

    /// What would make a deep network that learns.
    pub(crate) fn training(_: &DeepPlayer, _: &Recipe) -> Result<Box<dyn Session>, LabError> {
        Err(LabError::NoDeep)
    }

    /// What would make one to be filled from a model.
    pub(crate) fn playing(
        _: &DeepPlayer,
        _: &Saved,
        _: &Path,
    ) -> Result<Box<dyn Playing>, LabError> {
        Err(LabError::NoDeep)
    }
}
