//! Source texts of the repository by path from its root: reader, and the sources of the crates.
//!
//! Build folders and folders of version control are left out.

use std::collections::BTreeMap;
use std::path::Path;

/// Folders without sources.
const SKIPPED: &[&str] = &["target", "runs", "reproduce"];
/// Extensions of texts that are written by hand. `run` and `Makefile` have none.
const TEXTS: &[&str] = &["rs", "toml", "md", "py", "tcl", "cc", "c", "js", "css", "sh", "yml", "html"];
/// Maximum size of a text, bytes; larger files are data.
const LARGEST: u64 = 4 << 20;

/// Texts of a repository by path.
#[derive(Default, Debug)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the texts from disk.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree::default();
        tree.folder(root, "", 0)?;
        Ok(tree)
    }

    /// A tree of these files, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect() }
    }

    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), String> {
        let cannot = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(cannot)?;
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                // Build folders lie at the root only; `src/reproduce` is a module. Packages of Node lie in
                // the folder of a page.
                let built = name == "node_modules" || prefix.is_empty() && SKIPPED.contains(&name.as_str());
                if !hidden && !built && depth < 16 {
                    self.folder(&entry.path(), &path, depth + 1)?;
                }
            } else if kind.is_file() && is_text(&path) {
                let size = entry.metadata().map_err(cannot)?.len();
                if size <= LARGEST
                    && let Ok(text) = std::fs::read_to_string(entry.path())
                {
                    self.files.insert(path, text);
                }
            }
        }
        Ok(())
    }

    /// Text of a file.
    pub(crate) fn text(&self, path: &str) -> Result<&str, String> {
        self.files.get(path).map(String::as_str).ok_or_else(|| format!("there is no {path}"))
    }

    /// All texts with their paths.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Rust sources of all crates except this one, which contains ids and citations only as examples.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().filter(|(path, _)| {
            path.starts_with("crates/") && path.ends_with(".rs") && !path.starts_with("crates/xtask/")
        })
    }
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, ending)) => TEXTS.contains(&ending) || path == "docs/scenario.schema.json",
        None => ["Makefile", "run"].contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_and_hidden_folders_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for path in ["src/reproduce/a.rs", "target/b.rs", ".git/c.rs", ".ci/run", "data.csv"] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "text").unwrap();
        }
        let tree = Tree::read(root.path()).unwrap();
        let paths: Vec<&str> = tree.all().map(|(path, _)| path).collect();
        assert_eq!(paths, [".ci/run", "src/reproduce/a.rs"]);
    }

    #[test]
    fn a_missing_file_is_named() {
        assert_eq!(Tree::default().text("docs/x.md"), Err("there is no docs/x.md".into()));
    }
}
