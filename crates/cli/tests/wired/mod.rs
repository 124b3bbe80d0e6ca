//! Running `williwaw wire` process, for the tests of interfaces and of serial lines.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running `williwaw wire`.
pub(crate) struct Wire {
    pub(crate) process: Child,
    lines: BufReader<ChildStdout>,
    /// Names of the two ends, as the program prints them.
    pub(crate) ends: Vec<String>,
}

impl Wire {
    /// Waits until `command`, which starts the program, is open.
    pub(crate) fn open(mut command: Command) -> Wire {
        command.args(["--json", "--lateness", "50 ms"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        if line.is_empty() {
            panic!("{}", String::from_utf8_lossy(&process.wait_with_output().unwrap().stderr));
        }
        let open: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(open["state"], "open", "{line}");
        let ends = open["ends"].as_array().unwrap().iter().map(|end| end["end"].as_str().unwrap().to_owned());
        Wire { process, lines, ends: ends.collect() }
    }

    pub(crate) fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([format!("-{name}"), self.process.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }

    /// Ends the program with SIGINT and returns its output.
    pub(crate) fn close(mut self) -> Value {
        self.signal("INT");
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let code = self.process.wait().unwrap().code();
        let closed: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        // A busy machine may be late.
        assert!(code == Some(0) || !closed["unfaithful"].is_null(), "{code:?} {line}");
        closed
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
