//! `williwaw analyse --anonymise`: anonymised copy of a capture, complete or absent, and the key file of its
//! address mapping.

use crate::console::exit::{CliError, ExitStatus, Failure};
use crate::console::interrupt;
use crate::console::streams::Console;
use crate::output::VERSION;
use crate::output::atomic_write;
use capture::anonymise::{Key, Mapping, copy};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Refuses a capture or key that is no regular file: the capture is read twice, for analysis and copy, which a pipe
/// does not permit.
pub(super) fn refuse(capture: &Path, key: Option<&Path>) -> Result<(), Failure> {
    let wrong = |path: &Path, remedy: &str| match path.metadata() {
        Ok(found) if !found.is_file() => {
            Err(Failure::usage(format!("`{}` is not a regular file", path.display()), remedy.to_owned()))
        }
        _ => Ok(()),
    };
    wrong(capture, "--anonymise reads the capture twice: write it to a file first")?;
    key.map_or(Ok(()), |key| wrong(key, "give --key a file of 32 hexadecimal digits, or a new file name"))
}

/// Writes the copy. An existing output file is an error.
pub(super) fn write(
    capture: &Path,
    out: &Path,
    key: Option<&Path>,
    console: &Console,
) -> Result<(), Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read `{}`: {error}", capture.display()), "give a pcap or pcapng file")
    };
    let file = File::open(capture).map_err(|e| unreadable(&e))?;
    let mut reader = capture::Reader::open(file).map_err(|e| unreadable(&e))?;
    let mut mapping = Mapping::new(self::key(key)?);
    if out.symlink_metadata().is_ok() {
        return Err(already_exists(out));
    }
    let part = Part(atomic_write::beside(out));
    let _ = std::fs::remove_file(&part.0);
    let to = create(&part.0, 0o666)?;
    let application = format!("williwaw {VERSION}");
    let stop = interrupt::watch_saying(console, "stopping; the copy is deleted");
    let mut to = Stoppable { to: BufWriter::with_capacity(1 << 20, to), stop };
    let tally = copy(&mut reader, &mut to, &mut mapping, &application);
    if stop.load(Ordering::Relaxed) {
        let text = "interrupted: the copy is deleted".to_owned();
        return Err(Failure { end: ExitStatus::Interrupted, why: CliError::Sentence(text, String::new()) });
    }
    let tally = tally.map_err(|error| Failure::write(out, &error))?;
    // A hard link instead of a rename does not overwrite a file created at this path meanwhile.
    std::fs::hard_link(&part.0, out).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists(out),
        _ => Failure::write(out, &error),
    })?;
    let left_out = match tally.left_out {
        0 => String::new(),
        n => format!(", {n} frames that are no IP packets left out"),
    };
    console.note(&format!("anonymised copy in {}: {} packets{left_out}", out.display(), tally.written));
    Ok(())
}

/// Path of the unfinished copy, which is deleted on drop.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writer that fails once the stop flag is set.
struct Stoppable<W> {
    to: W,
    stop: &'static AtomicBool,
}

impl<W: Write> Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("interrupted"));
        }
        self.to.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

fn already_exists(path: &Path) -> Failure {
    Failure::usage(format!("`{}` already exists", path.display()), "give --anonymise the name of a new file")
}

fn create(path: &Path, mode: u32) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists(path),
        _ => Failure::write(path, &error),
    })
}

/// Reads the key from a file, which is created if absent. Without a file, the key is random and not stored.
fn key(path: Option<&Path>) -> Result<Key, Failure> {
    let Some(path) = path else { return random() };
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).ok_or_else(|| {
            Failure::usage(
                format!("`{}` does not hold a key", path.display()),
                "give a file with 32 hexadecimal digits, or a new file name to create a key",
            )
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let key = random()?;
            let digits: String = key.0.iter().map(|b| format!("{b:02x}")).collect();
            let mut file = create(path, 0o600)?;
            writeln!(file, "{digits}").map_err(|error| Failure::write(path, &error))?;
            Ok(key)
        }
        Err(error) => Err(Failure::usage(
            format!("cannot read the key in `{}`: {error}", path.display()),
            "give --key a file of 32 hexadecimal digits, or a new file name",
        )),
    }
}

fn parse(text: &str) -> Option<Key> {
    let digits = text.trim();
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(digits, 16).ok().map(|n| Key(n.to_be_bytes()))
}

fn random() -> Result<Key, Failure> {
    let mut key = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
    read.map(|()| Key(key)).map_err(|error| {
        Failure::machine(
            format!("cannot create a random key: {error}"),
            "give --key a file of 32 secret hexadecimal digits",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_digits() {
        assert!(
            parse("00112233445566778899aabbccddeeff\n")
                == Some(Key(*b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))
        );
        for wrong in ["", "0011", "+0112233445566778899aabbccddeeff", "00112233445566778899aabbccddeefg"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
