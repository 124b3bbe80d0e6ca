//! Links and table of contents of the book (mdBook's `SUMMARY.md`): check of pages, links and anchors;
//! generated list of decision records (ADRs).

use crate::Findings;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";
const DECISIONS: &str = "docs/adr/README.md";
/// Line of the chapter that contains the decision records.
const CHAPTER: &str = "- [Decisions](adr/README.md)";

/// The table of contents with one line per decision record below their chapter.
pub(crate) fn summary(tree: &Tree) -> Result<String, String> {
    let rows = tree.text(DECISIONS)?.lines().filter_map(|line| line.strip_prefix("| [0")?.strip_suffix(" |"));
    let mut decisions: Vec<String> = rows
        .filter_map(|row| {
            let (number, rest) = row.split_once("](")?;
            let (file, title) = rest.split_once(") | ")?;
            Some(format!("  - [0{number}: {}](adr/{file})", title.replace(['[', ']'], "")))
        })
        .collect();
    decisions.sort();
    let mut out = String::new();
    for line in tree.text(SUMMARY)?.lines().filter(|line| !line.starts_with("  - [0")) {
        out.push_str(line);
        out.push('\n');
        if line == CHAPTER {
            decisions.iter().for_each(|d| {
                out.push_str(d);
                out.push('\n');
            });
        }
    }
    Ok(out)
}

/// Reports pages that are not in the table of contents, and links without a target.
pub(crate) fn check(tree: &Tree, root: &Path, findings: &mut Findings) {
    let Ok(summary) = tree.text(SUMMARY) else {
        findings.errors.push(format!("{SUMMARY} is missing"));
        return;
    };
    let listed: BTreeSet<String> = links(summary).iter().map(|(_, to)| format!("docs/{to}")).collect();
    for (path, text) in tree.all().filter(|(path, _)| is_page(path)) {
        if path.starts_with("docs/") && path != SUMMARY && !listed.contains(path) {
            findings.errors.push(format!("{path} is not in {SUMMARY}"));
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in links(text) {
            let (file, anchor) =
                target.split_once('#').map_or((target.as_str(), None), |(f, a)| (f, Some(a)));
            let to = if file.is_empty() { path.to_owned() } else { resolve(folder, file) };
            let there = tree.text(&to).is_ok() || root.join(&to).exists();
            if path.starts_with("docs/") && !to.starts_with("docs/") {
                findings.errors.push(format!(
                    "{path}:{line}: {target} is not in the book; name it as code, not as a link"
                ));
            } else if !there {
                findings.errors.push(format!("{path}:{line}: the link to {target} leads nowhere"));
            } else if let (Some(anchor), Ok(page)) = (anchor, tree.text(&to))
                && to.ends_with(".md")
                && !anchors(page).contains(anchor)
            {
                findings.errors.push(format!("{path}:{line}: {to} has no heading #{anchor}"));
            }
        }
    }
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || path == "README.md" || path == "benches/README.md")
}

/// Relative links of a page outside of code blocks: line and target.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target: &str = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                out.push((i + 1, target.to_owned()));
            }
        }
    }
    out
}

/// Joins a relative link such as `a/b` or `../c` to `folder`; the result is a path from the root of the
/// repository.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Anchors of a page's headings, by the rules of mdBook and code hosts.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_outside_the_contents_and_a_dead_link_are_found() {
        let tree = Tree::of(&[
            ("docs/SUMMARY.md", "- [A](a.md)\n"),
            (
                "docs/a.md",
                "# A b\n[x](b.md) [y](#a-b) [z](#c)\n```\n[code](no.md)\n```\n[w](gone.md) [v](../README.md)\n",
            ),
            ("docs/b.md", "# B\n"),
        ]);
        let mut findings = Findings::default();
        check(&tree, Path::new("no-such-folder"), &mut findings);
        assert_eq!(
            findings.errors,
            [
                "docs/a.md:2: docs/a.md has no heading #c",
                "docs/a.md:6: the link to gone.md leads nowhere",
                "docs/a.md:6: ../README.md is not in the book; name it as code, not as a link",
                "docs/b.md is not in docs/SUMMARY.md",
            ]
        );
    }

    #[test]
    fn decisions_stand_below_their_chapter_in_order() {
        let tree = Tree::of(&[
            (
                "docs/SUMMARY.md",
                "# S\n- [Decisions](adr/README.md)\n  - [0001: old](adr/x.md)\n- [Z](z.md)\n",
            ),
            ("docs/adr/README.md", "| [0002](0002-b.md) | B |\n| [0001](0001-a.md) | A |\n"),
        ]);
        let want = "# S\n- [Decisions](adr/README.md)\n  - [0001: A](adr/0001-a.md)\n  - [0002: B](adr/0002-b.md)\n- [Z](z.md)\n";
        assert_eq!(summary(&tree).unwrap(), want);
    }
}
