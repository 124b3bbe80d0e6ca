//! Nesting of emulated links: their names in `WILLIWAW_LINKS`, the shell prompt, and file ownership for the
//! user behind sudo.

use crate::console::environment;
use crate::console::exit::Failure;
use emulate::Surroundings;
use lab::node_addresses::LEVELS;
use std::ffi::OsString;

/// Environment variable with the names of the links around a process, outermost first.
const LINKS: &str = "WILLIWAW_LINKS";

/// Names of nested links, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

/// Names of the links around this process.
pub(crate) fn nested() -> Names {
    let text = environment::variable(LINKS).unwrap_or_default();
    Names(text.split_whitespace().map(clean).collect())
}

/// Name with all characters replaced that are unsafe in a prompt: shells expand `$(...)`, backquotes and backslashes in
/// `PS1`, and the name may come from an untrusted file.
pub(crate) fn clean(name: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let clean: String = name.chars().take(64).map(fit).collect();
    if clean.is_empty() { "link".to_owned() } else { clean }
}

impl Names {
    /// Depth of nesting.
    pub(crate) fn level(&self) -> u8 {
        self.0.len().min(usize::from(LEVELS)) as u8
    }

    /// The names with one more link inside; an error beyond [`LEVELS`].
    pub(crate) fn with(&self, name: &str) -> Result<Names, Failure> {
        if self.level() >= LEVELS {
            return Err(Failure::usage(
                format!("this command already runs over {LEVELS} nested links"),
                "the address plan has no room for another",
            ));
        }
        let mut names = self.clone();
        names.0.push(clean(name));
        Ok(names)
    }

    /// Prefix of the shell prompt: each name in brackets.
    pub(crate) fn prompt(&self) -> String {
        self.0.iter().map(|name| format!("[{name}] ")).collect()
    }

    /// Environment variables of a command; `prompt` adds the prompt of a shell.
    pub(crate) fn variables(&self, prompt: bool) -> Vec<(String, OsString)> {
        let mut variables = vec![(LINKS.to_owned(), self.0.join(" ").into())];
        if prompt {
            variables.push(("PS1".to_owned(), format!("{}$ ", self.prompt()).into()));
        }
        variables
    }
}

/// Settings common to all emulations: supervisor program, and the user behind sudo.
pub(crate) fn common() -> Surroundings {
    Surroundings {
        program: Some(netns::keeper::this_program()),
        user: environment::caller().and_then(|(uid, gid)| netns::user::User::called_by(uid, gid)),
        ..Surroundings::default()
    }
}

/// Gives the ownership of all files in a folder to the user who called this program through sudo or pkexec.
pub(crate) fn give_back(folder: &std::path::Path) {
    let Some((uid, gid)) = environment::caller() else { return };
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        // Without the right to change owners, the file stays owned by root.
        let _ = std::os::unix::fs::lchown(&path, Some(uid), Some(gid));
        if !path.is_symlink() && path.is_dir() {
            todo.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_runs_nothing_and_moves_no_cursor() {
        let names = Names::default().with("$(touch owned)`id`\\u\x1b[2J;!x").unwrap();
        assert_eq!(names.prompt(), "[--touch-owned--id--u--2J--x] ");
        assert_eq!(Names::default().with("lte-2.5_x+y").unwrap().prompt(), "[lte-2.5_x+y] ");
        assert_eq!(Names::default().with("").unwrap().prompt(), "[link] ");
    }
}
