//! Draft of an imported scenario: hops with values in the notation of scenario files, and notes on exact,
//! approximate and missing translations.

use super::{ImportError, Imported};
use crate::Style;
use std::fmt::Write;

/// One hop; values by direction: down, up.
#[derive(Clone, Default, Debug)]
pub(super) struct Hop {
    pub(super) name: String,
    pub(super) rate: [Option<String>; 2],
    pub(super) delay: [Option<String>; 2],
    pub(super) queue: [Option<String>; 2],
    /// Complete `[[hop.…]]` tables.
    pub(super) faults: Vec<String>,
}

/// Names of the directions by index.
pub(super) const DIRECTIONS: [&str; 2] = ["down", "up"];

/// A scenario under construction.
#[derive(Default, Debug)]
pub(super) struct Draft {
    /// Hops from the fixed end to the mobile end.
    pub(super) hops: Vec<Hop>,
    pub(super) exactly: Vec<String>,
    pub(super) roughly: Vec<String>,
    pub(super) left_out: Vec<String>,
    /// Data files that the scenario names.
    pub(super) files: Vec<String>,
}

impl Draft {
    /// Writes the scenario and reads it back as a check.
    pub(super) fn finish(mut self, source: &str) -> Result<Imported, ImportError> {
        if self.hops.is_empty() {
            return Err(ImportError::new("there is nothing to import", "give a command line or a recording"));
        }
        let timeless = |hop: &Hop| hop.rate.iter().chain(&hop.delay).all(Option::is_none);
        if self.hops.iter().all(timeless) {
            self.hops[0].delay[1] = Some("\"1 ms\"".into());
            self.hops[0].delay[0] = Some("\"1 ms\"".into());
            self.roughly
                .push("a path without rate and delay takes no time; it has 1 ms each way here".into());
        }
        for list in [&mut self.exactly, &mut self.roughly, &mut self.left_out] {
            let mut seen = std::collections::BTreeSet::new();
            list.retain(|note| seen.insert(note.clone()));
        }
        let scenario = self.text(source);
        if self.files.is_empty()
            && let Err(diagnostics) = crate::read("imported.toml", scenario.as_bytes(), &crate::NoFiles)
        {
            // The tool accepts values that a scenario does not, such as a delay of 1000 years.
            let message = diagnostics.render(Style::default());
            let first = message.lines().next().unwrap_or_default().to_owned();
            return Err(ImportError::new(
                format!("a scenario cannot express this: {first}"),
                "change that value",
            ));
        }
        let Draft { exactly, roughly, left_out, .. } = self;
        Ok(Imported { scenario, exactly, roughly, left_out })
    }

    fn text(&self, source: &str) -> String {
        let mut out = String::from("williwaw = 1\ntitle = \"An imported link\"\n\n");
        let short = source.lines().take(8).map(str::trim).filter(|line| !line.is_empty());
        for line in short {
            let _ = writeln!(out, "# from: {}", super::words_of_comment(line));
        }
        for (what, notes) in
            [("exactly", &self.exactly), ("roughly", &self.roughly), ("left out", &self.left_out)]
        {
            for note in notes {
                let _ = writeln!(out, "# {what}: {}", super::words_of_comment(note));
            }
        }
        let last = self.hops.len() - 1;
        let node = |i: usize| match i {
            0 => "server".to_owned(),
            i if i > last => "phone".to_owned(),
            i => format!("inside{i}"),
        };
        for (i, hop) in self.hops.iter().enumerate() {
            let _ = writeln!(
                out,
                "\n[[hop]]\nname = \"{}\"\nbetween = [\"{}\", \"{}\"]",
                hop.name,
                node(i),
                node(i + 1)
            );
            for (key, values, nothing) in [
                ("rate", &hop.rate, None),
                ("delay", &hop.delay, Some("\"0 s\"")),
                ("queue", &hop.queue, Some("\"unlimited\"")),
            ] {
                match (values, nothing) {
                    ([None, None], _) => {}
                    ([Some(down), Some(up)], _) if down == up => {
                        let _ = writeln!(out, "{key} = {down}");
                    }
                    ([down, up], nothing) => {
                        // An unlimited direction gets a rate above that of any other link.
                        let nothing = nothing.unwrap_or("\"100 Gbit/s\"");
                        let or = |value: &Option<String>| value.clone().unwrap_or_else(|| nothing.into());
                        let _ = writeln!(out, "{key} = {{ down = {}, up = {} }}", or(down), or(up));
                    }
                }
            }
            for fault in &hop.faults {
                let _ = write!(out, "\n{fault}");
            }
        }
        out.push_str(
            "\n# Choose the workload.\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\n\
             app = { bulk = { bytes = \"10 MB\" } }\n",
        );
        out
    }
}
