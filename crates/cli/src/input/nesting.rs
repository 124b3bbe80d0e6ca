//! Nesting of emulated links and the calling user.
//!
//! Behind how many links already, and on whose behalf.

use crate::console::environment;
use crate::console::exit::Failure;
use emulate::Surroundings;
use lab::node_addresses::LEVELS;
use std::ffi::OsString;

/// The variable that holds the names of the links around, outermost first.
const LINKS: &str = "WILLIWAW_LINKS";

/// The links around this process, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

/// Those of this process.
pub(crate) fn nested() -> Names {
    let text = environment::variable(LINKS).unwrap_or_default();
    Names(text.split_whitespace().map(clean).collect())
}

/// A name fit for a prompt and a terminal. Shells expand `$(...)`, backquotes and backslashes in `PS1`, and a name comes
/// from a file that a stranger may have named.
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

    /// And one more.
    pub(crate) fn with(&self, name: &str) -> Result<Names, Failure> {
        if self.level() >= LEVELS {
            return Err(Failure::usage(
                format!("this command is already behind {LEVELS} links"),
                "the address plan has no room for another",
            ));
        }
        let mut names = self.clone();
        names.0.push(clean(name));
        Ok(names)
    }

    /// Prefix of a prompt.
    pub(crate) fn prompt(&self) -> String {
        self.0.iter().map(|name| format!("[{name}] ")).collect()
    }

    /// Environment of a command, with the prompt of a shell.
    pub(crate) fn variables(&self, prompt: bool) -> Vec<(String, OsString)> {
        let mut variables = vec![(LINKS.to_owned(), self.0.join(" ").into())];
        if prompt {
            variables.push(("PS1".to_owned(), format!("{}$ ", self.prompt()).into()));
        }
        variables
    }
}

/// Settings of all commands.
pub(crate) fn common() -> Surroundings {
    Surroundings {
        program: Some(netns::keeper::this_program()),
        user: environment::caller().and_then(|(uid, gid)| netns::user::User::called_by(uid, gid)),
        ..Surroundings::default()
    }
}

/// Transfers ownership of the files written into a folder to the user who called this program with elevated rights.
pub(crate) fn give_back(folder: &std::path::Path) {
    let Some((uid, gid)) = environment::caller() else { return };
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        // Without that privilege it stays owned by root, which can still grant it.
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
