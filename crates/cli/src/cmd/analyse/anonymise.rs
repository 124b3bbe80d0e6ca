//! `williwaw analyse --anonymise`: a copy of the capture that can be shown to others, and the key of its addresses.

use crate::exit::Failure;
use crate::plan::VERSION;
use crate::talk::Talk;
use capture::anonymise::{Key, Mapping, copy};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// Writes the copy. Nothing that is there is written over.
pub(super) fn write(capture: &Path, out: &Path, key: Option<&Path>, talk: &Talk) -> Result<(), Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read `{}`: {error}", capture.display()), "give a pcap or pcapng file")
    };
    let file = File::open(capture).map_err(|e| unreadable(&e))?;
    let mut reader = capture::Reader::open(file).map_err(|e| unreadable(&e))?;
    let mut mapping = Mapping::new(self::key(key)?);
    let to = create(out, 0o666)?;
    let application = format!("williwaw {VERSION}");
    let tally = copy(&mut reader, BufWriter::with_capacity(1 << 20, to), &mut mapping, &application)
        .map_err(|error| Failure::write(out, &error))?;
    let left_out = match tally.left_out {
        0 => String::new(),
        n => format!(", {n} frames that are no IP packets left out"),
    };
    talk.note(&format!("anonymised copy in {}: {} packets{left_out}", out.display(), tally.written));
    Ok(())
}

fn create(path: &Path, mode: u32) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(
            format!("`{}` is there already", path.display()),
            "give --anonymise the name of a new file",
        ),
        _ => Failure::write(path, &error),
    })
}

/// The key in a file, which is made if it is not there; without a file one that nobody keeps.
fn key(path: Option<&Path>) -> Result<Key, Failure> {
    let Some(path) = path else { return random() };
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).ok_or_else(|| {
            Failure::usage(
                format!("`{}` holds no key", path.display()),
                "a key is 32 hexadecimal digits; name a file that is not there, and one is made",
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
            "give --key a file of 32 hexadecimal digits, or one that is not there",
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
            format!("no random key can be made here: {error}"),
            "give --key a file of 32 hexadecimal digits that nobody else knows",
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
