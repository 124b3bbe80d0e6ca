//! Fuzz target of the journal of a run: arbitrary bytes are read or refused. The fuzzer's target and the
//! tests share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use results::journal;
use std::path::Path;

/// Reads arbitrary bytes as a journal. The rows read lie within the file, and a second read of the valid part
/// yields equal rows.
pub(crate) fn journal(bytes: &[u8]) {
    let path = Path::new("fuzz.journal");
    let Ok(Some(contents)) = journal::parse(path, bytes) else { return };
    let length = usize::try_from(contents.length).unwrap_or(usize::MAX);
    assert!(length <= bytes.len(), "more was read than is there");
    let again = journal::parse(path, &bytes[..length]);
    assert!(again.is_ok_and(|again| again.as_ref() == Some(&contents)), "the whole part is not the whole");
    for row in &contents.rows {
        assert!(contents.header.check_row(row).is_ok(), "a row that does not fit");
    }
}
