//! Words in diagnostics: suggestions for unknown words, lists of alternatives, articles.

pub use base::spelling::nearest;

/// Alternatives in words: "`a`, `b` or `c`".
pub(crate) fn alternatives<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|w| format!("`{w}`")).collect();
    match quoted.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// A word with its article, "a" or "an".
pub(crate) fn article(word: &str) -> String {
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']) && !word.starts_with("un");
    format!("{} {word}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_joined_in_words() {
        assert_eq!(alternatives(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
