//! Atomic write of files: a temporary file in the same folder, then rename; a full disk or a kill leaves the
//! previous file.

use crate::console::exit::Failure;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Writes a file atomically; devices and pipes directly.
pub(crate) fn whole(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    put(path, &mut |file| file.write_all(bytes.as_ref())).map_err(|error| Failure::write(path, &error))
}

/// [`whole`] for content that `write` produces piece by piece.
pub(crate) fn stream(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn io::Write) -> results::Result<()>,
) -> Result<(), Failure> {
    let mut unread = None;
    let put = put(path, &mut |file| {
        let mut out = io::BufWriter::new(file);
        match write(&mut out) {
            Ok(()) => out.flush(),
            Err(results::Error::Write(error)) => Err(error),
            Err(error) => {
                unread = Some(error);
                Err(io::Error::other("its contents cannot be read"))
            }
        }
    });
    match unread {
        Some(error) => Err(error.into()),
        None => put.map_err(|error| Failure::write(path, &error)),
    }
}

/// Function that writes the content of a file.
type Fill<'a> = &'a mut dyn FnMut(&mut fs::File) -> io::Result<()>;

/// Checks that a file can be written at `path` later, without writing: the folder exists, and `path` is no folder.
pub(crate) fn possible(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let refused = |kind: ErrorKind| Err(Failure::write(path, &io::Error::from(kind)));
    match fs::metadata(folder) {
        Ok(at) if !at.is_dir() => refused(ErrorKind::NotADirectory),
        Ok(_) if path.is_dir() => refused(ErrorKind::IsADirectory),
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::write(path, &error)),
    }
}

fn put(path: &Path, fill: Fill<'_>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fill(&mut fs::OpenOptions::new().write(true).create(true).truncate(true).open(path)?);
    }
    // A symbolic link is kept, and its target replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let part = beside(&place);
    let written = fresh(&part)
        .and_then(|mut file| fill(&mut file))
        .and_then(|()| there.as_ref().map_or(Ok(()), |old| as_before(&part, old)))
        .and_then(|()| fs::rename(&part, &place));
    match written {
        // The file is writable and its folder is not: it is written in place.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && there.is_some() => {
            let _ = fs::remove_file(&part);
            fill(&mut fs::OpenOptions::new().write(true).create(true).truncate(true).open(&place)?)
        }
        Err(error) => {
            // The first error is reported; a missing temporary file is none.
            let _ = fs::remove_file(&part);
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// Creates a file anew, to be read too; a file or link that another user placed at this path is removed and not followed.
pub(crate) fn fresh(part: &Path) -> io::Result<fs::File> {
    match fs::File::create_new(part) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(part)?;
            fs::File::create_new(part)
        }
        made => made,
    }
}

/// Sets owner and mode of the replaced file; the owner only if this user has the right to.
fn as_before(part: &Path, old: &fs::Metadata) -> io::Result<()> {
    let _ = std::os::unix::fs::chown(part, Some(old.uid()), Some(old.gid()));
    fs::set_permissions(part, old.permissions())
}

/// Path of the temporary file: `.NAME.PID.part` in the same folder.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        whole(&at("a"), "one").unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        whole(&at("link"), "two").unwrap();
        assert_eq!(fs::read_to_string(at("a")).unwrap(), "two");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink(), "the link is still one");
        whole(Path::new("/dev/null"), "three").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file(), "a device is still one");
        // A failed replacement leaves the old file, and no temporary file.
        fs::create_dir(at("folder")).unwrap();
        assert!(whole(&at("folder"), "four").is_err());
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (place, victim) = (folder.path().join("out"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, beside(&place)).unwrap();
        whole(&place, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        assert!(!fs::symlink_metadata(&place).unwrap().is_symlink());
    }

    #[test]
    fn where_a_file_may_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        assert!(possible(&folder.path().join("new")).is_ok());
        assert!(possible(Path::new("new-here")).is_ok());
        for wrong in [folder.path().to_owned(), folder.path().join("no/new")] {
            assert!(possible(&wrong).is_err(), "{wrong:?}");
        }
        whole(&folder.path().join("file"), "").unwrap();
        assert!(possible(&folder.path().join("file/new")).is_err());
    }
}
