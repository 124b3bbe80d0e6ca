//! Test finder for Rust sources: functions marked `#[test]` with their comments and bodies.
//!
//! Braces in strings, characters and comments do not count.

/// A function marked `#[test]`.
#[derive(Debug, PartialEq)]
pub(crate) struct Test<'s> {
    /// Name of the function.
    pub(crate) name: &'s str,
    /// Text from the first comment or attribute above the function to its closing brace.
    pub(crate) text: &'s str,
    /// Whether it is marked `#[ignore]`: such a test does not run by default.
    pub(crate) ignored: bool,
}

/// The tests of a source, in order.
pub(crate) fn tests(source: &str) -> Vec<Test<'_>> {
    let code = code_only(source);
    let mut tests = Vec::new();
    // Start of the comments and attributes that belong to the next item, and their text.
    let mut above: Option<usize> = None;
    let (mut marked, mut ignored) = (false, false);
    let mut at = 0;
    let mut skip_to = 0;
    for line in source.split_inclusive('\n') {
        let (start, trimmed) = (at, line.trim());
        at += line.len();
        if start < skip_to {
            continue;
        }
        if trimmed.starts_with("//") || trimmed.starts_with("#[") {
            above.get_or_insert(start);
            marked |= trimmed.starts_with("#[test]");
            ignored |= trimmed.starts_with("#[ignore");
            continue;
        }
        if marked
            && let Some(name) = function_name(trimmed)
            && let Some(end) = end_of_body(&code, start)
        {
            let text = &source[above.unwrap_or(start)..end];
            tests.push(Test { name, text, ignored });
            skip_to = end;
        }
        above = None;
        (marked, ignored) = (false, false);
    }
    tests
}

/// Name of the function whose definition starts on this line, if any.
fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end])
}

/// Offset behind the closing brace of the first body that opens at or after `from`.
fn end_of_body(code: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The source with strings, characters and comments blanked out, of equal length.
fn code_only(source: &str) -> Vec<u8> {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut i = 0;
    while i < bytes.len() {
        let end = match bytes[i] {
            b'/' if bytes.get(i + 1) == Some(&b'/') => find(bytes, i, b"\n").unwrap_or(bytes.len()),
            b'/' if bytes.get(i + 1) == Some(&b'*') => end_of_comment(bytes, i),
            b'"' => end_of_string(bytes, i),
            b'r' if !follows_word(bytes, i) => match raw_string(bytes, i) {
                Some(end) => end,
                None => {
                    i += 1;
                    continue;
                }
            },
            b'\'' => end_of_character(bytes, i),
            _ => {
                i += 1;
                continue;
            }
        };
        out[i..end].fill(b' ');
        i = end;
    }
    out
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    bytes[from..].windows(what.len()).position(|w| w == what).map(|at| from + at)
}

/// True if a letter before `i` makes the quote at `i` the end of a word; the prefix of a raw string such as
/// `br"..."` does not.
fn follows_word(bytes: &[u8], i: usize) -> bool {
    let is_word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    let Some(before) = i.checked_sub(1) else { return false };
    if bytes[before] == b'b' {
        return before.checked_sub(1).is_some_and(is_word);
    }
    is_word(before)
}

fn end_of_comment(bytes: &[u8], from: usize) -> usize {
    let (mut depth, mut i) = (0, from);
    while i + 1 < bytes.len() {
        match &bytes[i..i + 2] {
            b"/*" => (depth, i) = (depth + 1, i + 2),
            b"*/" if depth == 1 => return i + 2,
            b"*/" => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
    }
    bytes.len()
}

fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut i = from + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// Offset behind the raw string that begins at `from`, if one does.
fn raw_string(bytes: &[u8], from: usize) -> Option<usize> {
    let hashes = bytes[from + 1..].iter().take_while(|b| **b == b'#').count();
    let open = from + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    Some(find(bytes, open + 1, &close).map_or(bytes.len(), |at| at + close.len()))
}

/// Offset behind a character literal, which ends at its quote, or behind the tick of a lifetime.
fn end_of_character(bytes: &[u8], from: usize) -> usize {
    match bytes.get(from + 1) {
        Some(b'\\') => {
            let rest = bytes.get(from + 3..).unwrap_or_default();
            rest.iter().position(|b| *b == b'\'').map_or(bytes.len(), |n| from + 4 + n)
        }
        Some(first) => {
            let length = match first {
                0..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            if bytes.get(from + 1 + length) == Some(&b'\'') { from + 2 + length } else { from + 1 }
        }
        None => from + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<&str> {
        tests(source).iter().map(|t| t.name).collect()
    }

    #[test]
    fn tests_are_found_with_their_comments_and_bodies() {
        let source = "\
/// AB-01: a comment of something else.
fn helper() {}

/// AB-02: what it shows.
#[test]
fn first() {
    // AB-03
    assert!(true);
}
fn other() {} // AB-04

#[test]
#[ignore = \"slow\"]
fn second() {}
";
        let found = tests(source);
        assert_eq!(names(source), ["first", "second"]);
        assert!(found[0].text.contains("AB-02") && found[0].text.contains("AB-03"));
        assert!(!found[0].text.contains("AB-01") && !found[0].text.contains("AB-04"));
        assert!(!found[0].ignored && found[1].ignored);
    }

    #[test]
    fn a_blank_line_parts_a_comment_from_a_test() {
        let source = "/// AB-01\n\n#[test]\nfn one() {}\n";
        assert!(!tests(source)[0].text.contains("AB-01"));
    }

    #[test]
    fn braces_in_strings_characters_and_comments_do_not_count() {
        let source = r####"
#[test]
fn one() {
    let a = "}"; let b = '}'; let c = '\''; let d = r#"}"}"#; let e = b"\"}"; /* } /* } */ */
    let f: &'static str = "AB-01"; let g = br"}"; let h = '\u{7d}'; let i = 'é'; // }
}
#[test]
fn two() { let _ = "AB-02"; }
"####;
        let found = tests(source);
        assert_eq!(names(source), ["one", "two"]);
        assert!(found[0].text.contains("AB-01") && !found[0].text.contains("AB-02"));
        assert!(found[1].text.contains("AB-02"));
    }

    #[test]
    fn tests_inside_a_macro_are_found() {
        let source = "proptest! {\n    /// AB-05\n    #[test]\n    fn prop(x in 0..9) { check(x) }\n}\n";
        assert_eq!(names(source), ["prop"]);
        assert!(tests(source)[0].text.contains("AB-05"));
    }

    #[test]
    fn a_source_that_breaks_off_is_no_panic() {
        let whole = "#[test]\nfn one() { r#\"a\"# '\\x' /* \" */ }\n";
        for end in 0..=whole.len() {
            tests(&whole[..end]);
        }
    }
}
