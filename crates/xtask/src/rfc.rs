//! Citations of RFCs in sources: collection with tests and known gaps, and the generated page by RFC and
//! section.
//!
//! A citation stands above the line that implements it: `//= RFC 5681 section 3.1: one segment if the SYN was
//! lost`. It has references, a colon and a description; several references are separated by commas. A draft
//! that never became an RFC is cited by its name.

use crate::tree::Tree;
use crate::{Findings, NOTE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A citation of one section of one RFC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Citation {
    /// Number of the RFC; 0: a draft, whose name begins the place.
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

/// References of a citation, and its description, which may be absent.
fn parse(text: &str) -> Option<(Vec<(u32, String)>, &str)> {
    let (head, words) = text.split_once(": ").unwrap_or((text.trim_end_matches(':'), ""));
    let mut references = Vec::new();
    if head.starts_with("draft-") {
        return Some((vec![(0, head.to_owned())], words.trim()));
    }
    for part in head.strip_prefix("RFC ")?.split(", RFC ") {
        let (number, place) = part.split_once(' ').unwrap_or((part, ""));
        references.push((number.parse().ok()?, place.trim().to_owned()));
    }
    Some((references, words.trim()))
}

/// Sort key of a place in which numbers compare as numbers: section 3.10 comes after section 3.9.
fn order(place: &str) -> Vec<(u32, String)> {
    place
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(|part| (part.parse().unwrap_or(0), part.to_owned()))
        .collect()
}

/// The number of a section or equation at the start of a place: `section 3.2` of `section 3.2 step 6`.
fn key(place: &str) -> &str {
    let mut words = place.split([' ', ',', ':', ';', ')']);
    let (Some(kind), Some(number)) = (words.next(), words.next()) else { return place };
    &place[..(kind.len() + 1 + number.trim_end_matches('.').len()).min(place.len())]
}

/// Test or dialogue that names a place of an RFC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Proof {
    rfc: u32,
    /// The place as [`key`] returns it; empty if only the RFC was named.
    key: String,
    /// `script/dialogues/name.toml` or `path/src/file.rs::test`.
    name: String,
}

/// Folder of the dialogues.
const DIALOGUES: &str = "crates/script/dialogues/";

/// Every test and dialogue that names an RFC.
pub(crate) fn proofs(tree: &Tree) -> Vec<Proof> {
    let short = |path: &str| path.strip_prefix("crates/").unwrap_or(path).to_owned();
    let mut all: Vec<Proof> = Vec::new();
    let mut note = |name: String, text: &str| {
        for (rfc, key) in named(text) {
            let proof = Proof { rfc, key, name: name.clone() };
            if !all.contains(&proof) {
                all.push(proof);
            }
        }
    };
    for (path, source) in tree.sources() {
        for test in crate::rust::tests(source).into_iter().filter(|t| !t.ignored) {
            note(format!("{}::{}", short(path), test.name), test.text);
        }
    }
    for (path, text) in tree.all().filter(|(path, _)| path.starts_with(DIALOGUES)) {
        // The `rfc` list of a dialogue has numbers without the word RFC.
        let listed = text.lines().find_map(|l| l.strip_prefix("rfc = ")).unwrap_or_default();
        let listed: String =
            listed.split('"').filter(|t| is_number(t)).map(|n| format!("RFC {n}; ")).collect();
        let head = text.split("[[event]]").next().unwrap_or(text);
        note(short(path), &format!("{listed}\n{head}"));
    }
    all
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit())
}

/// RFCs that a text names, each with the sections and equations named after it.
fn named(text: &str) -> Vec<(u32, String)> {
    let mut out = Vec::new();
    for part in text.split("RFC ").skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Ok(rfc) = digits.parse() else { continue };
        out.push((rfc, String::new()));
        let words: Vec<&str> = part[digits.len()..].split_whitespace().take(40).collect();
        let mut kind = "";
        for word in words {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            match bare {
                "section" | "sections" => kind = "section",
                "equation" | "equations" => kind = "equation",
                "and" | "or" | "to" => {}
                number if !kind.is_empty() && number.starts_with(|c: char| c.is_ascii_digit()) => {
                    out.push((rfc, format!("{kind} {number}")));
                    // A list continues only after a comma.
                    if !word.ends_with(',') {
                        kind = "";
                    }
                }
                _ => kind = "",
            }
        }
    }
    out.dedup();
    out
}

/// A section that the code deliberately does not implement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gap {
    rfc: u32,
    place: String,
    asks: String,
    why: String,
}

/// File with the list of gaps.
const GAPS: &str = "docs/rfc-gaps.toml";

/// Reads the deliberate gaps.
pub(crate) fn gaps(tree: &Tree, findings: &mut Findings) -> Vec<Gap> {
    let Ok(text) = tree.text(GAPS) else { return Vec::new() };
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            findings.errors.push(format!("{GAPS}: {error}"));
            return Vec::new();
        }
    };
    let mut out = Vec::new();
    for gap in table.get("gap").and_then(toml::Value::as_array).into_iter().flatten() {
        let text = |key: &str| gap.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let rfc = gap.get("rfc").and_then(toml::Value::as_integer).and_then(|n| u32::try_from(n).ok());
        match (rfc, text("where"), text("asks"), text("why")) {
            (Some(rfc), Some(place), Some(asks), Some(why)) => out.push(Gap { rfc, place, asks, why }),
            _ => findings.errors.push(format!("{GAPS}: a gap has `rfc`, `where`, `asks` and `why`: {gap}")),
        }
    }
    out
}

/// Names of tests and dialogues of this place, or of a part of it.
fn shown_by<'p>(rfc: u32, place: &str, proofs: &'p [Proof]) -> Vec<&'p str> {
    let key = key(place);
    let part = format!("{key}.");
    let fits = |p: &&Proof| p.rfc == rfc && (p.key == key || p.key.starts_with(&part));
    let mut names: Vec<&str> = proofs.iter().filter(fits).map(|p| p.name.as_str()).collect();
    names.dedup();
    names
}

/// The first names, and the number of further ones.
fn few(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(3).map(|n| format!("`{}`", n.replace("script/dialogues/", ""))).collect();
    match names.len() {
        0 => String::new(),
        n if n > 3 => format!("{} and {} more", shown.join(", "), n - 3),
        _ => shown.join(", "),
    }
}

/// The generated page.
pub(crate) fn page(citations: &[Citation], proofs: &[Proof], gaps: &[Gap]) -> String {
    let mut by_rfc: BTreeMap<u32, Vec<&Citation>> = BTreeMap::new();
    for gap in gaps {
        by_rfc.entry(gap.rfc).or_default();
    }
    for proof in proofs {
        by_rfc.entry(proof.rfc).or_default();
    }
    for citation in citations {
        by_rfc.entry(citation.rfc).or_default().push(citation);
    }
    let all_of = |rfc: u32| {
        let mut names: Vec<&str> = proofs.iter().filter(|p| p.rfc == rfc).map(|p| p.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut out = String::from(NOTE);
    let _ = write!(
        out,
        "# Which RFCs does the code obey, and where?\n\n\
         From the citations in the sources: the line above an implementation names the RFC, the section and the\n\
         requirement in our words. Beside it stand the dialogues (`crates/script/dialogues`) and tests that name\n\
         this section. Requirements that are not met stand below each RFC with their reason, from `{GAPS}`. What is\n\
         not listed is not claimed.\n\n\
         | RFC | citations | tests and dialogues | not done |\n|---|---:|---:|---:|\n",
    );
    for (rfc, of) in &by_rfc {
        let (shown, not) = (all_of(*rfc).len(), gaps.iter().filter(|g| g.rfc == *rfc).count());
        if *rfc == 0 {
            let _ = writeln!(out, "| [drafts](#drafts) | {} | {shown} | {not} |", of.len());
            continue;
        }
        let _ = writeln!(out, "| [{rfc}](#rfc-{rfc}) | {} | {shown} | {not} |", of.len());
    }
    for (rfc, mut of) in by_rfc {
        of.sort_by_key(|c| (order(&c.place), c.file.clone(), c.line));
        let heading = if rfc == 0 { "Drafts".to_owned() } else { format!("RFC {rfc}") };
        let _ = writeln!(out, "\n## {heading}");
        let mut rows = String::new();
        for c in &of {
            let words = c.words.replace('|', "\\|");
            let shown = few(&shown_by(rfc, &c.place, proofs));
            let _ = writeln!(rows, "| {} | {words} | `{}:{}` | {shown} |", c.place, c.file, c.line);
        }
        // Places with a test or dialogue, but without a citation in the code.
        let mut places: Vec<&str> = proofs.iter().filter(|p| p.rfc == rfc).map(|p| p.key.as_str()).collect();
        places.sort_by_key(|p| order(p));
        places.dedup();
        for place in places.into_iter().filter(|p| !p.is_empty()) {
            let inside =
                |c: &&Citation| place == key(&c.place) || place.starts_with(&format!("{}.", key(&c.place)));
            if !of.iter().any(inside) {
                let _ = writeln!(rows, "| {place} | | | {} |", few(&shown_by(rfc, place, proofs)));
            }
        }
        if rows.is_empty() {
            let names = all_of(rfc);
            if !names.is_empty() {
                let _ = writeln!(out, "\nNamed by {}.", few(&names));
            }
        } else {
            let _ =
                write!(out, "\n| where | in our words | obeyed in | shown by |\n|---|---|---|---|\n{rows}");
        }
        let mut missing: Vec<&Gap> = gaps.iter().filter(|g| g.rfc == rfc).collect();
        missing.sort_by_key(|g| order(&g.place));
        if !missing.is_empty() {
            out.push_str("\n| not done | what it asks for | why not |\n|---|---|---|\n");
        }
        for g in missing {
            let _ = writeln!(out, "| {} | {} | {} |", g.place, g.asks, g.why);
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
        assert_eq!(one("draft-a-b-00 section 4: x"), (vec![(0, "draft-a-b-00 section 4".into())], "x"));
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
        let page = page(&[at("section 3.10.7"), at("section 3.9"), at("section 3.10")], &[], &[]);
        let places: Vec<&str> =
            page.lines().filter_map(|l| l.strip_prefix("| section ")?.split(' ').next()).collect();
        assert_eq!(places, ["3.9", "3.10", "3.10.7"]);
    }

    #[test]
    fn places_are_found_in_a_text() {
        let found =
            named("// RFC 6298 sections 2.2, 5.3 and more. RFC 5681 equation 4, RFC 7323 itself; RFC x");
        let expected = [
            (6298, ""),
            (6298, "section 2.2"),
            (6298, "section 5.3"),
            (5681, ""),
            (5681, "equation 4"),
            (7323, ""),
        ];
        assert_eq!(found, expected.map(|(rfc, key)| (rfc, key.to_owned())));
        assert_eq!(key("section 3.2 step 6"), "section 3.2");
        assert_eq!(key("equation 4, without what"), "equation 4");
        assert_eq!(key(""), "");
    }

    /// Tests are listed with the code that they cover, and gaps with their reason.
    #[test]
    fn a_page_shows_code_test_and_reason() {
        let source =
            "//= RFC 6298 section 5: timers\nfn a() {}\n#[test]\nfn b() {\n    // RFC 6298 section 5.3\n}\n";
        let dialogue = "id = \"d\"\nrfc = [\"6298\"]\nnotes = \"RFC 6298 section 2.1\"\n[[event]]\n";
        let gap = "[[gap]]\nrfc = 6298\nwhere = \"section 5.7\"\nasks = \"3 s\"\nwhy = \"no SYN\"\n[[gap]]\nrfc = 1\n";
        let tree = Tree::of(&[
            ("crates/t/src/a.rs", source),
            ("crates/script/dialogues/d.toml", dialogue),
            ("docs/rfc-gaps.toml", gap),
        ]);
        let mut findings = Findings::default();
        let citations = collect(&tree, &mut findings);
        let gaps = gaps(&tree, &mut findings);
        let page = page(&citations, &proofs(&tree), &gaps);
        assert!(page.contains("| section 5 | timers | `crates/t/src/a.rs:1` | `t/src/a.rs::b` |"), "{page}");
        assert!(page.contains("| section 2.1 | | | `d.toml` |"), "{page}");
        assert!(page.contains("| section 5.7 | 3 s | no SYN |"), "{page}");
        assert_eq!(findings.errors.len(), 1, "{findings:?}");
    }
}
