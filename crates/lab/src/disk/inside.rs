//! Files inside a run folder, which may have been sent by someone else: only regular files are
//! opened. A symbolic link could lead to any file, and a FIFO or a device could block forever.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file inside a run folder, unless it is something else than a regular file.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Opening a device may have an effect, so it is not even tried.
    check(path)?;
    let file = without_following(options).open(path)?;
    let about = file.metadata()?;
    regular(&about)?;
    Ok(file)
}

/// Reads a file inside a run folder.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(path, OpenOptions::new().read(true))?;
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// Refuses what is not a regular file; returns whether there is one.
pub(crate) fn check(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) => regular(&about).map(|()| true),
        // In place of the folder there may be a file.
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Refuses what is not a folder, such as a link to one.
pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(about) => Err(wrong(about.file_type(), "a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn regular(about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(wrong(about.file_type(), "a regular file")),
    }
}

/// The error for something else than was expected. It is one of input, not of the disk.
fn wrong(found: FileType, expected: &str) -> io::Error {
    let found = kind(found);
    let text = format!("it is {found}; expected {expected}, because links are not followed here");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn kind(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a FIFO";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    match (found.is_symlink(), found.is_dir()) {
        (true, _) => "a symbolic link",
        (_, true) => "a folder",
        _ => "a regular file",
    }
}

/// Neither follows a link nor waits for the other end of a FIFO.
#[cfg(unix)]
fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
