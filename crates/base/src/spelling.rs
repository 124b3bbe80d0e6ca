//! Spelling suggestion: the nearest allowed word of an unknown word, by edit distance.

/// Damerau-Levenshtein distance with adjacent transpositions; `None` above `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|&d| d <= most)
}

/// The candidate nearest to `word`, if near enough. Case, `_` and `-` are ignored.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| -> Vec<char> {
        s.chars().take(65).flat_map(char::to_lowercase).map(|c| if c == '_' { '-' } else { c }).collect()
    };
    let word = plain(word);
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters = plain(candidate);
            let allowed = (word.len().max(letters.len()) / 3).clamp(1, 4);
            distance(&word, &letters, allowed).map(|d| (d, candidate))
        })
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["recovery", "response", "rto", "sack", "drop-tail"];
        assert_eq!(nearest("recovry", keys), Some("recovery"));
        assert_eq!(nearest("droptail", keys), Some("drop-tail"));
        assert_eq!(nearest("drop_tail", keys), Some("drop-tail"));
        assert_eq!(nearest("skac", keys), None);
        assert_eq!(nearest("sakc", keys), Some("sack"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"x".repeat(100_000), keys), None);
    }
}
