//! Player at the controller of repetitions whose path an agent carries. The agent receives the scenario once
//! and then each repetition.

use super::rep_report::{RepArtefacts, RepReport};
use super::task::{Readiness, RepOrder};
use crate::console::exit::Failure;
use crate::input::agents_file::Listed;
use agent::remote_path::RemotePath;
use emulate::Error;
use emulate::accuracy::live::Live;
use std::sync::atomic::AtomicBool;

/// Agent that carries the path, prepared for a task.
pub(crate) struct RemotePlayer(RemotePath);

impl RemotePlayer {
    /// Prepares the agent with the path for a task; returns its reply too.
    pub(crate) fn begin(listed: &Listed, task: &[u8]) -> Result<(RemotePlayer, Readiness), Failure> {
        let Some(path) = &listed.path else {
            return Err(Failure::usage(
                "no agent is assigned the path",
                "`path = true` in the list of agents",
            ));
        };
        let (away, reply) = RemotePath::begin(path, &listed.hosts, listed.clock_limit, task)?;
        let begun = serde_json::from_slice(&reply).map_err(|_| nonsense(&away))?;
        Ok((RemotePlayer(away), begun))
    }

    /// Orders one repetition from the agent and receives its report and files.
    pub(crate) fn play(
        &self,
        (cell, repetition): (u32, u64),
        (picture, called): (bool, &str),
        live: &Live,
        stop: &AtomicBool,
    ) -> Result<(RepReport, RepArtefacts), Failure> {
        let mut files = RepArtefacts::default();
        let mut strange = false;
        let piece = |kind: &str, bytes: Vec<u8>| {
            if kind == "live" {
                serde_json::from_slice(&bytes).into_iter().for_each(|numbers| live.set(numbers));
            } else {
                strange |= !files.add(kind, bytes);
            }
        };
        let turn = RepOrder { cell, repetition, picture, called: called.to_owned() };
        let order = serde_json::to_vec(&turn).unwrap_or_default();
        let reply = self.0.play(&order, piece, stop)?;
        let report: Option<RepReport> = serde_json::from_slice(&reply).ok();
        match report.filter(|report| report.key() == (cell, repetition) && !strange) {
            Some(report) => Ok((report, files)),
            None => Err(nonsense(&self.0)),
        }
    }
}

fn nonsense(away: &RemotePath) -> Failure {
    Error::Agent { name: away.name().to_owned(), why: "sent an unreadable message".to_owned() }.into()
}
