//! Task message to an agent that carries the path: scenario with all its files, settings, and the order for
//! one repetition.

use crate::console::exit::Failure;
use crate::input::files::{self, Input, Inputs};
use crate::output::VERSION;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Scenario and settings of a remote run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Version of the controller's program, because results of different versions are not mixed.
    pub(crate) version: String,
    /// File name of the scenario, for messages.
    pub(crate) name: String,
    /// Text of the scenario.
    pub(crate) text: String,
    /// Overrides, as `KEY=VALUE`.
    pub(crate) overrides: Vec<String>,
    /// Seed in place of the scenario's.
    pub(crate) seed: Option<u64>,
    pub(crate) repetitions: u32,
    pub(crate) lateness_ns: u64,
    /// Whether real-time priority is requested.
    pub(crate) realtime: bool,
    /// Whether devices have segmentation offload.
    pub(crate) offload: bool,
    pub(crate) spin_ns: Option<u64>,
    /// Whether events are returned.
    pub(crate) events: bool,
    /// Whether captures are returned.
    pub(crate) capture: bool,
    /// Whether the first repetition is drawn.
    pub(crate) picture: bool,
    /// Name and length, bytes, of each file that the scenario names. The contents follow the message in this order.
    files: Vec<(String, u64)>,
}

/// Reply of an agent that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Readiness {
    /// Kernel version of the agent's host.
    pub(crate) kernel: Option<String>,
    /// Calibration of the host as JSON.
    pub(crate) calibration: Value,
    /// Notes for the user: clock offsets and calibration.
    pub(crate) said: Vec<String>,
}

/// Order for one repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepOrder {
    pub(crate) cell: u32,
    pub(crate) repetition: u64,
    pub(crate) picture: bool,
    /// Name of the run for `williwaw trigger` at the host with the path.
    pub(crate) called: String,
}

impl Task {
    /// Task of a scenario; the caller fills in the remaining settings.
    pub(crate) fn of(input: &Input, repetitions: u32, seed: Option<u64>) -> Task {
        let scenario = &input.scenario;
        Task {
            version: VERSION.to_owned(),
            name: scenario.name().to_owned(),
            text: scenario.text().to_owned(),
            overrides: scenario.overrides().iter().map(|(key, value)| format!("{key}={value}")).collect(),
            seed,
            repetitions,
            lateness_ns: 0,
            realtime: true,
            offload: true,
            spin_ns: None,
            events: false,
            capture: false,
            picture: false,
            files: input.files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect(),
        }
    }

    /// Message with the files: 4 bytes with the length of the JSON, the JSON, the contents of the files.
    pub(crate) fn bytes(&self, files: &Inputs) -> Vec<u8> {
        // Serialisation of a plain structure does not fail.
        let words = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = (words.len() as u32).to_be_bytes().to_vec();
        bytes.extend(words);
        for file in files.values() {
            bytes.extend(file);
        }
        bytes
    }

    /// Parses such a message; `None` if it is malformed.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Task, Inputs)> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (words, mut rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let task: Task = serde_json::from_slice(words).ok()?;
        let mut files = Inputs::new();
        for (name, length) in &task.files {
            let (file, after) = rest.split_at_checked(usize::try_from(*length).ok()?)?;
            files.insert(name.clone(), file.to_vec());
            rest = after;
        }
        rest.is_empty().then_some((task, files))
    }

    /// Reads the scenario of the task.
    pub(crate) fn input(&self, files: Inputs) -> Result<Input, Failure> {
        if self.version != VERSION {
            return Err(Failure::usage(
                format!("this is williwaw {VERSION}, and the controller's is {}", self.version),
                "install one version at both",
            ));
        }
        files::read_again(&self.name, &self.text, files, &self.overrides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "williwaw = 1\n[[hop]]\nname = \"a\"\nbetween = [\"x\", \"y\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\ntransport = \"tcp\"\napp = { bulk = { bytes = \"1 kB\" } }\n";

    /// The other host reads the same scenario, with the same files, and nothing that was cut.
    #[test]
    fn a_task_arrives_whole_or_not_at_all() {
        let files =
            Inputs::from([("b.trace".to_owned(), vec![0, 255]), ("a.csv".to_owned(), b"1,2\n".to_vec())]);
        let set = ["run.repetitions=7".to_owned()];
        let input = files::read_again("s.toml", TEXT, files.clone(), &set).unwrap();
        let task = Task::of(&input, 7, Some(3));
        let bytes = task.bytes(&input.files);
        let (read, its_files) = Task::read(&bytes).unwrap();
        assert_eq!((&read, &its_files), (&task, &files));
        let again = read.input(its_files).unwrap();
        assert_eq!(again.scenario.hash(), input.scenario.hash());
        assert!((0..bytes.len()).all(|n| Task::read(&bytes[..n]).is_none()));
        assert!(Task::read(&[&bytes[..], b"x"].concat()).is_none());
        let other = Task { version: "0".into(), ..read };
        assert!(other.input(Inputs::new()).is_err());
    }
}
