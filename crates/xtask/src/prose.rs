//! Documentation check of sentences on pages: at most [`LIMIT`] words each, in `docs/` and the READMEs of project, benches and fuzzing.
//!
//! A sentence ends at `.`, `?` or `!` before white space and a capital letter, digit or code. In a table
//! cell, clauses before `;` or `:` count separately. Code, a list in braces and the target of a link count as
//! one word, an item of a list of code as none. Headings and code blocks are not checked.

use crate::Findings;
use crate::tree::Tree;

/// Maximum number of words of a sentence.
const LIMIT: usize = 32;
/// Placeholder of code.
const CODE: &str = "`c`";
/// Placeholder of code in a list.
const ITEM: &str = "`c`,";
/// Pages outside of `docs/`.
const READMES: [&str; 3] = ["README.md", "benches/README.md", "fuzz/README.md"];

/// Reports sentences that are too long, with the first line of their paragraph.
pub(crate) fn check(tree: &Tree, findings: &mut Findings) {
    for (page, text) in tree.all().filter(|(path, _)| path.ends_with(".md")) {
        if page.starts_with("docs/") || READMES.contains(&page) {
            for (line, words) in long(text) {
                findings
                    .errors
                    .push(format!("{page}:{line}: a sentence of {words} words; split it at {LIMIT}"));
            }
        }
    }
}

/// Sentences of more than [`LIMIT`] words: first line of the paragraph, number of words.
fn long(text: &str) -> Vec<(usize, usize)> {
    let count = |sentence: &str| {
        sentence.split_whitespace().filter(|w| w.contains(char::is_alphanumeric) && *w != ITEM).count()
    };
    let sentences = paragraphs(text).into_iter().flat_map(|(line, paragraph, cell)| {
        let plain = plain(&paragraph);
        sentences(&plain, cell).into_iter().map(|s| (line, count(s))).collect::<Vec<_>>()
    });
    sentences.filter(|(_, words)| *words > LIMIT).collect()
}

/// Paragraphs, items of lists and cells of tables: first line, text, whether it is a cell.
fn paragraphs(text: &str) -> Vec<(usize, String, bool)> {
    let mut out: Vec<(usize, String, bool)> = Vec::new();
    let (mut code, mut open) = (false, false);
    for (i, line) in text.lines().enumerate() {
        let indented = !open && line.starts_with("    ");
        let line = line.trim();
        if line.starts_with("```") {
            (code, open) = (!code, false);
        } else if code || indented || line.is_empty() || line.starts_with('#') || line.starts_with("<!--") {
            open = false;
        } else if line.starts_with('|') {
            open = false;
            out.extend(line.trim_matches('|').split(" | ").map(|cell| (i + 1, cell.to_owned(), true)));
        } else if let Some(item) = item(line) {
            out.push((i + 1, item.to_owned(), false));
            open = true;
        } else if let (true, Some((_, paragraph, _))) = (open, out.last_mut()) {
            paragraph.push(' ');
            paragraph.push_str(line);
        } else {
            out.push((i + 1, line.to_owned(), false));
            open = true;
        }
    }
    out
}

/// The text of a list item's first line.
fn item(line: &str) -> Option<&str> {
    let (mark, rest) = line.split_once(' ')?;
    let number = mark.strip_suffix('.').is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()));
    (mark == "-" || mark == "*" || number).then_some(rest)
}

/// The text with one word in place of code, without the targets of links.
fn plain(text: &str) -> String {
    let code = text.split('`').enumerate().map(|(i, part)| if i % 2 == 1 { CODE } else { part });
    let mut out = String::new();
    let joined = without_braces(&code.collect::<String>());
    let mut rest = joined.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        out.push(']');
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

/// The text without lists in braces, which are no sentences.
fn without_braces(text: &str) -> String {
    let mut inside = false;
    let keep = |c: &char| match c {
        '{' => !std::mem::replace(&mut inside, true),
        '}' => std::mem::replace(&mut inside, false),
        _ => !inside,
    };
    text.chars().filter(keep).collect()
}

fn sentences(text: &str, cell: bool) -> Vec<&str> {
    let (mut out, mut begin) = (Vec::new(), 0);
    for (at, mark) in text.char_indices().filter(|(_, c)| ".?!;:".contains(*c)) {
        let after = text[at + 1..].trim_start_matches(['"', '\'', ')', '*', '_', ']']);
        let next = after.trim_start();
        let ends = match mark {
            ';' | ':' => cell,
            _ => next.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || "\"(*_[`".contains(c)),
        };
        if ends && next.len() < after.len() {
            out.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    out.push(&text[begin..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(n: usize) -> String {
        vec!["word"; n].join(" ")
    }

    #[test]
    fn a_long_sentence_is_an_error_on_any_page() {
        let (less, short, over) = (words(LIMIT - 1), words(LIMIT), words(LIMIT + 1));
        let generated = format!("{}{over}.\n", crate::NOTE);
        let page = format!("# {over}\n\n{short}. 7 {less}!\n\nA {short}\n\n```\n{over}\n```\n");
        let tree = Tree::of(&[
            ("docs/a.md", &page),
            ("docs/generated.md", &generated),
            ("README.md", &format!("- {short}\n  more. Next.\n")),
            ("peers/README.md", &over),
        ]);
        let mut findings = Findings::default();
        check(&tree, &mut findings);
        assert_eq!(
            findings.errors,
            [
                format!("README.md:1: a sentence of {} words; split it at {LIMIT}", LIMIT + 1),
                format!("docs/a.md:5: a sentence of {} words; split it at {LIMIT}", LIMIT + 1),
                format!("docs/generated.md:3: a sentence of {} words; split it at {LIMIT}", LIMIT + 1),
            ]
        );
    }

    #[test]
    fn code_and_links_are_one_word_and_clauses_of_cells_count_alone() {
        let half = words(LIMIT / 2);
        assert_eq!(long(&format!("{half} `a b c d` [{half}](x y z)\n")), [(1, LIMIT + 1)]);
        assert_eq!(long(&format!("| {half} ; x; {half} | {half} |\n")), []);
        assert_eq!(long(&format!("{half}; {half}: more\n")), [(1, LIMIT + 1)]);
    }

    #[test]
    fn lists_of_code_and_braces_are_no_words() {
        let list = vec!["`key`"; 2 * LIMIT].join(", ");
        assert_eq!(long(&format!("Metrics: {list}.\n\nKeys {{ {} }}.\n", words(2 * LIMIT))), []);
        assert_eq!(long(&format!("    {}\n", words(2 * LIMIT))), []);
    }

    #[test]
    fn a_point_inside_of_a_number_ends_no_sentence() {
        let half = words(LIMIT / 2);
        assert_eq!(long(&format!("{half} 6.1 {half} e.g. this\n")), [(1, LIMIT + 3)]);
    }
}
