//! Which sentences of which RFCs does the code obey? Citations stand above the line that does it:
//! `//= RFC 5681 section 3.1: one segment if the SYN was lost`. Reference, colon, our own words; several
//! references are joined by a comma.

use crate::tree::Tree;
use crate::{Findings, NOTE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One citation of one place in one RFC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Citation {
    pub(crate) rfc: u32,
    pub(crate) place: String,
    pub(crate) words: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// Every citation in the sources.
pub(crate) fn collect(tree: &Tree, findings: &mut Findings) -> Vec<Citation> {
    let mut all = Vec::new();
    for (path, source) in tree.sources() {
        for (i, line) in source.lines().enumerate() {
            let Some(text) = line.trim().strip_prefix("//=") else { continue };
            match parse(text.trim()) {
                Some((references, words)) => all.extend(references.into_iter().map(|(rfc, place)| {
                    Citation { rfc, place, words: words.to_owned(), file: path.to_owned(), line: i + 1 }
                })),
                None => findings.errors.push(format!(
                    "{path}:{}: a citation is written `//= RFC 5681 section 3.1: our words`",
                    i + 1
                )),
            }
        }
    }
    all
}

/// The references of a citation and its words, which may be absent.
fn parse(text: &str) -> Option<(Vec<(u32, String)>, &str)> {
    let (head, words) = text.split_once(": ").unwrap_or((text.trim_end_matches(':'), ""));
    let mut references = Vec::new();
    for part in head.strip_prefix("RFC ")?.split(", RFC ") {
        let (number, place) = part.split_once(' ').unwrap_or((part, ""));
        references.push((number.parse().ok()?, place.trim().to_owned()));
    }
    Some((references, words.trim()))
}

/// Numbers inside a place count as numbers: section 3.10 comes after section 3.9.
fn order(place: &str) -> Vec<(u32, String)> {
    place
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(|part| (part.parse().unwrap_or(0), part.to_owned()))
        .collect()
}

/// The page.
pub(crate) fn page(citations: &[Citation]) -> String {
    let mut by_rfc: BTreeMap<u32, Vec<&Citation>> = BTreeMap::new();
    for citation in citations {
        by_rfc.entry(citation.rfc).or_default().push(citation);
    }
    let mut out = String::from(NOTE);
    out.push_str(
        "# Which RFCs does the code obey, and where?\n\n\
         From the citations in the sources: above a line that does what an RFC asks for stands which one, where in\n\
         it, and what that means in our words. What is not listed is not claimed.\n\n\
         | RFC | citations |\n|---|---:|\n",
    );
    for (rfc, of) in &by_rfc {
        let _ = writeln!(out, "| [{rfc}](#rfc-{rfc}) | {} |", of.len());
    }
    for (rfc, mut of) in by_rfc {
        of.sort_by_key(|c| (order(&c.place), c.file.clone(), c.line));
        let _ = writeln!(out, "\n## RFC {rfc}\n\n| where | in our words | obeyed in |\n|---|---|---|");
        for c in of {
            let words = c.words.replace('|', "\\|");
            let _ = writeln!(out, "| {} | {words} | `{}:{}` |", c.place, c.file, c.line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_taken_apart() {
        let one = |text| parse(text).unwrap();
        assert_eq!(one("RFC 5681 section 3.1: a: b"), (vec![(5681, "section 3.1".into())], "a: b"));
        let two = vec![(5681, "equation 2".into()), (3465, "section 2.2".into())];
        assert_eq!(one("RFC 5681 equation 2, RFC 3465 section 2.2"), (two, ""));
        assert_eq!(one("RFC 4015 section 3.2 steps 8, 9: x").0[0].1, "section 3.2 steps 8, 9");
        for wrong in ["5681 section 3", "RFC section 3", "", "RFC"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn citations_are_found_where_they_stand() {
        let source = "fn a() {\n    //= RFC 6298 section 2.2: first sample\n    b();\n    //= nonsense\n}\n";
        let tree = Tree::of(&[("crates/transport/src/rtt.rs", source)]);
        let mut findings = Findings::default();
        let all = collect(&tree, &mut findings);
        assert_eq!((all.len(), all[0].line, all[0].rfc), (1, 2, 6298));
        assert!(findings.errors[0].starts_with("crates/transport/src/rtt.rs:4: a citation"), "{findings:?}");
    }

    #[test]
    fn sections_are_in_the_order_of_their_numbers() {
        let at = |place: &str| Citation {
            rfc: 9293,
            place: place.into(),
            words: String::new(),
            file: "a.rs".into(),
            line: 1,
        };
        let page = page(&[at("section 3.10.7"), at("section 3.9"), at("section 3.10")]);
        let places: Vec<&str> =
            page.lines().filter_map(|l| l.strip_prefix("| section ")?.split(' ').next()).collect();
        assert_eq!(places, ["3.9", "3.10", "3.10.7"]);
    }
}
