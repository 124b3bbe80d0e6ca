//! Word splitting of imported command lines, with the quotes and backslashes of a shell; nothing is expanded.

use super::ImportError;

/// Words of one command line.
pub(super) fn split(line: &str) -> Result<Vec<String>, ImportError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (_, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => {
                if let Some(next) = chars.next().filter(|c| *c != '\n') {
                    word.get_or_insert_default().push(next);
                }
            }
            (_, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(ImportError::new(format!("a quote is open at the end: {quote}"), "close it"));
    }
    words.extend(word);
    Ok(words)
}

/// Command lines of a text; a backslash at the end of a line continues it.
pub(super) fn lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// A word as messages show it, without control characters.
pub(super) fn shown(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}
