//! Shared helpers of the binary's tests: a temporary folder with a scenario in it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use assert_cmd::Command;
use std::path::PathBuf;
use tempfile::TempDir;

/// A small grid: four cells of five short downloads.
pub(crate) const SMALL: &str = include_str!("../data/small.toml");

/// A folder with `small.toml` in it, removed at the end.
pub(crate) struct Desk {
    pub(crate) folder: TempDir,
}

/// Exit code and output of a command.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let desk = Desk { folder: tempfile::tempdir().expect("a temporary folder") };
        desk.write("small.toml", SMALL);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Command that runs the binary in this folder, without environment variables that change its output.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_williwaw"));
        command.current_dir(self.folder.path()).args(args);
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        ended(&mut self.command(args))
    }

    /// Runs the binary with this number of terminal columns (`COLUMNS`).
    pub(crate) fn run_at(&self, columns: usize, args: &[&str]) -> Ended {
        ended(self.command(args).env("COLUMNS", columns.to_string()))
    }
}

fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("the binary runs");
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("stdout is text"),
        err: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}
