//! Documentation check of source names: paths, types, functions and macros that a page cites exist; crates
//! that a page must list.
//!
//! [`PAGES`] describe the sources. A word in backticks is a path if it has a slash or the extension of a
//! source file; paths begin at the root of the repository or at `crates/`. It is a type if it is one
//! capitalised word, a macro if it ends in `!`, and a function if it has `::`. Words of other forms are not
//! checked.

use crate::Findings;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::path::Path;

/// Checked pages.
const PAGES: [&str; 2] = ["docs/architecture.md", "docs/adding.md"];
/// The page that must name every crate.
const HOUSE: &str = "docs/architecture.md";
/// First words of paragraphs whose paths the reader creates.
const NEW: [&str; 3] = ["New file", "A dialogue", "A scenario"];
/// Extensions by which a word without a slash is a file.
const EXTENSIONS: [&str; 4] = [".rs", ".md", ".toml", ".c"];
/// Placeholder name in a path.
const ANY: &str = "NAME";
/// Types and modules of the standard library.
const STD: [&str; 9] =
    ["Instant", "SystemTime", "HashMap", "HashSet", "Clone", "f64", "env", "thread", "std"];
/// Keywords that define a type.
const TYPES: [&str; 6] = ["struct", "enum", "trait", "type", "const", "static"];

/// Reports cited names that do not exist, and crates that the architecture page omits.
pub(crate) fn check(tree: &Tree, root: &Path, findings: &mut Findings) {
    for page in PAGES {
        let Ok(text) = tree.text(page) else {
            findings.errors.push(format!("{page} is missing"));
            continue;
        };
        for (line, word) in words(text) {
            if let Some(fault) = fault(tree, root, word) {
                findings.errors.push(format!("{page}:{line}: {fault}"));
            }
        }
    }
    let house = tree.text(HOUSE).unwrap_or_default();
    let manifests = tree.all().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"));
    for folder in manifests.filter(|path| path.starts_with("crates/") && path.matches('/').count() == 1) {
        if !house.contains(&format!("`{folder}`")) {
            findings.errors.push(format!("{HOUSE}: `{folder}` is missing"));
        }
    }
}

/// Words in backticks outside of code blocks, with their lines.
fn words(text: &str) -> Vec<(usize, &str)> {
    let (mut code, mut new, mut begins) = (false, false, true);
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            code = !code;
            begins = true;
            continue;
        }
        if begins && !line.is_empty() {
            new = NEW.iter().any(|start| line.starts_with(start));
        }
        begins = line.is_empty();
        if !code && !new {
            out.extend(line.split('`').skip(1).step_by(2).map(|word| (i + 1, word)));
        }
    }
    out
}

/// Description of a cited name that the sources lack; `None` if it exists.
fn fault(tree: &Tree, root: &Path, word: &str) -> Option<String> {
    if is_path(word) {
        let gone = alternatives(word).into_iter().find(|path| !exists(tree, root, path))?;
        return Some(format!("there is no {gone}"));
    }
    if let Some(name) = word.strip_suffix('!') {
        let known = is_name(name) && !sources(tree).any(|(_, text)| defines(text, "macro_rules!", name));
        return known.then(|| format!("there is no macro `{word}`"));
    }
    let name = word.strip_prefix("impl ").unwrap_or(word);
    if is_name(name) && name.starts_with(|c: char| c.is_uppercase()) {
        let defined = STD.contains(&name) || is_type(tree, name);
        return (!defined).then(|| format!("there is no type `{name}`"));
    }
    let segments: Vec<&str> = word.split('(').next().unwrap_or_default().split("::").collect();
    let plain = segments.len() > 1 && segments.iter().all(|s| is_name(s)) && !STD.contains(&segments[0]);
    (plain && !is_item(tree, &segments)).then(|| format!("there is no `{}`", segments.join("::")))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a word is the path of a source file or folder.
fn is_path(word: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_./{},-".contains(c);
    let file = EXTENSIONS.iter().any(|e| word.strip_suffix(e).is_some_and(|stem| !stem.is_empty()));
    word.chars().all(allowed) && !word.starts_with('.') && !word.contains(ANY) && (word.contains('/') || file)
}

/// `a/{b,c}` as `a/b` and `a/c`.
fn alternatives(word: &str) -> Vec<String> {
    let Some((before, (inside, after))) =
        word.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![word.to_owned()];
    };
    inside.split(',').flat_map(|part| alternatives(&format!("{before}{part}{after}"))).collect()
}

/// Whether a file or folder exists: from the root, in `crates/`, or anywhere if only its name is given.
fn exists(tree: &Tree, root: &Path, path: &str) -> bool {
    let bare = !path.contains('/');
    let folder = |from: &str| format!("{from}{}/", path.trim_end_matches('/'));
    let inside = |at: &str| {
        ["", "crates/"].iter().any(|from| at == format!("{from}{path}") || at.starts_with(&folder(from)))
            || bare && at.rsplit('/').next() == Some(path)
    };
    tree.all().any(|(at, _)| inside(at))
        || ["", "crates/"].iter().any(|from| root.join(from).join(path).exists())
}

/// Sources of the crates, each with its text.
fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.all().filter(|(path, _)| path.starts_with("crates/") && path.ends_with(".rs"))
}

/// Whether a text has this keyword before this name.
fn defines(text: &str, keyword: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end();
        let ends = !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        ends && before.len() < at
            && before.strip_suffix(keyword).is_some_and(|b| !b.ends_with(|c: char| c.is_alphanumeric()))
    })
}

fn is_type(tree: &Tree, name: &str) -> bool {
    sources(tree).any(|(_, text)| TYPES.iter().any(|keyword| defines(text, keyword, name)))
}

/// Whether a text has a field of this name.
fn has_field(text: &str, name: &str) -> bool {
    let field = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    text.lines().map(str::trim_start).any(|line| field(line.strip_prefix("pub ").unwrap_or(line)))
}

/// Whether `Type::item` is a function or field beside that type or its `impl`, or `module::item` an item of that module.
fn is_item(tree: &Tree, segments: &[&str]) -> bool {
    let (Some((last, path)), Some(owner)) = (segments.split_last(), segments.iter().rev().nth(1)) else {
        return false;
    };
    let is_owner = |text: &str| {
        TYPES.iter().any(|keyword| defines(text, keyword, owner))
            || text.lines().any(|line| {
                let words: BTreeSet<&str> = line
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|w| !w.is_empty())
                    .collect();
                words.contains("impl") && words.contains(owner)
            })
    };
    if owner.starts_with(|c: char| c.is_uppercase()) {
        return sources(tree)
            .any(|(_, text)| (defines(text, "fn", last) || has_field(text, last)) && is_owner(text));
    }
    // The root of a crate may re-export what a file below it defines.
    let inside = format!("crates/{}/src/{}", path[0], path[1..].join("/"));
    sources(tree).filter(|(at, _)| at.starts_with(&inside)).any(|(_, text)| {
        defines(text, "fn", last) || TYPES.iter().any(|keyword| defines(text, keyword, last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(architecture: &str) -> Vec<String> {
        let adding = "New file `crates/path/src/new.rs`:\n\n```rust\n`no::such`\n```\n\nSee `link.rs`.\n";
        let tree = Tree::of(&[
            ("docs/architecture.md", architecture),
            ("docs/adding.md", adding),
            ("crates/path/Cargo.toml", ""),
            (
                "crates/path/src/link.rs",
                "pub struct Link {\n    pub rate: u8,\n}\nimpl Link {\n    pub fn is_full(&self) {}\n}\n",
            ),
            ("crates/path/src/list.rs", "macro_rules! parts {}\nfn all() {}\n"),
        ]);
        let mut findings = Findings::default();
        check(&tree, Path::new("no-such-folder"), &mut findings);
        findings.errors
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error() {
        let page = "`crates/path`\n`path/src/{link,list}.rs` and `path/src/`\n`path/src/{link,gone}.rs`\n`path/old/` `path/NAME.rs`\n";
        assert_eq!(
            errors(page),
            [
                "docs/architecture.md:3: there is no path/src/gone.rs",
                "docs/architecture.md:4: there is no path/old/",
            ]
        );
        assert_eq!(
            errors("`crates/path` has `list.rs` and `lists.rs`\n"),
            ["docs/architecture.md:1: there is no lists.rs"]
        );
    }

    #[test]
    fn a_name_that_no_source_defines_is_an_error() {
        let page = "`crates/path` `Link` `impl Link` `Link::is_full` `Link::rate` `path::list::all` `parts!` `Instant::now` `[hop]`\n";
        assert_eq!(errors(page), [""; 0]);
        let page = "`crates/path`\n`Lin`\n`Link::full`\n`path::link::all`\n`part!`\n";
        assert_eq!(
            errors(page),
            [
                "docs/architecture.md:2: there is no type `Lin`",
                "docs/architecture.md:3: there is no `Link::full`",
                "docs/architecture.md:4: there is no `path::link::all`",
                "docs/architecture.md:5: there is no macro `part!`",
            ]
        );
    }

    #[test]
    fn a_crate_that_the_house_omits_is_an_error() {
        assert_eq!(errors("nothing\n"), ["docs/architecture.md: `crates/path` is missing"]);
    }
}
