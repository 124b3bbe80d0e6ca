//! Check of module headings: one in every source file, no question, first sentence of at most 240 characters,
//! a term of `docs/glossary.md`.

use crate::Findings;
use crate::tree::Tree;

const GLOSSARY: &str = "docs/glossary.md";
/// Maximum length of a heading's first sentence, characters.
const LONG: usize = 240;

/// Reports files without a heading, headings that are questions or too long, and headings without a term of
/// the glossary.
pub(crate) fn check(tree: &Tree, findings: &mut Findings) {
    let Ok(glossary) = tree.text(GLOSSARY) else {
        findings.errors.push(format!("{GLOSSARY} is missing"));
        return;
    };
    let terms = terms(glossary);
    for (path, text) in tree.all().filter(|(path, _)| is_source(path)) {
        if let Some(fault) = fault(text, &terms) {
            findings.errors.push(format!("{path}:1: {fault}"));
        }
    }
}

/// Whether a file is a source of a program; files of unit tests need no heading.
fn is_source(path: &str) -> bool {
    path.ends_with(".rs")
        && path.starts_with("crates/")
        && path.contains("/src/")
        && !path.ends_with("/tests.rs")
}

/// Terms of the glossary in lower case: bold words, and the first column of its tables.
fn terms(glossary: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in glossary.lines() {
        let named = match line.strip_prefix("| ") {
            Some(row) => row.split(" |").next().unwrap_or_default(),
            None => line.strip_prefix("**").and_then(|l| l.split("**").next()).unwrap_or_default(),
        };
        let words = named.split(',').map(|w| w.trim().trim_matches(['`', '.', '*']).to_lowercase());
        out.extend(words.filter(|w| w.len() > 1 && !w.starts_with('-') && w != "term"));
    }
    out
}

/// Defect of a file's heading, if any, as text.
fn fault(text: &str, terms: &[String]) -> Option<String> {
    let lines = text.lines().map_while(|l| l.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|l| !l.is_empty()).collect();
    if paragraph.is_empty() {
        return Some("no module heading: open with a noun phrase that names the subject".into());
    }
    let paragraph = paragraph.join(" ");
    let heading = paragraph.split_inclusive(['.', '?', ':']).next().unwrap_or(&paragraph);
    let lower = paragraph.to_lowercase();
    if heading.ends_with('?') {
        return Some("the module heading asks a question: open with a noun phrase".into());
    }
    if heading.chars().count() > LONG {
        return Some("the first sentence of the heading is too long".into());
    }
    let holds = |term: &String| lower.match_indices(term.as_str()).any(|(at, _)| begins_a_word(&lower, at));
    (!terms.iter().any(holds)).then(|| format!("the module heading holds no term of {GLOSSARY}"))
}

fn begins_a_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{fault, terms};

    const GLOSSARY: &str =
        "**Gate.** While closed.\n\n| term | meaning |\n|---|---|\n| AQM, queue | drops |\n";

    #[test]
    fn a_heading_is_a_noun_phrase_with_a_term() {
        let terms = terms(GLOSSARY);
        assert_eq!(terms, ["gate", "aqm", "queue"]);
        let wrong = |text: &str| fault(text, &terms).unwrap_or_default();
        assert_eq!(wrong("//! Active queue management: RED.\n"), "");
        assert_eq!(wrong("//! Gates.\n"), "");
        assert!(wrong("//! Who closes the gate? Somebody.\n").contains("question"));
        assert!(wrong("//! Things that happen.\n").contains("no term"));
        assert!(wrong("fn main() {}\n").contains("no module heading"));
    }
}
