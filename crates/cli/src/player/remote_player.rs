//! Controller-side player of repetitions carried by an agent.
//!
//! It receives the scenario once and then each repetition, and its results are treated as if they had been
//! played here.

use super::rep_report::{RepArtefacts, RepReport};
use super::task::{Readiness, RepOrder};
use crate::console::exit::Failure;
use crate::input::agents_file::Listed;
use agent::remote_path::RemotePath;
use emulate::Error;
use emulate::accuracy::live::Live;
use std::sync::atomic::AtomicBool;

/// A host with the path, ready.
pub(crate) struct RemotePlayer(RemotePath);

impl RemotePlayer {
    /// Prepares the host named in the list for a task; returns its answer too.
    pub(crate) fn begin(listed: &Listed, task: &[u8]) -> Result<(RemotePlayer, Readiness), Failure> {
        let Some(path) = &listed.path else {
            return Err(Failure::usage(
                "no agent is assigned the path",
                "`path = true` in the list of agents",
            ));
        };
        let (away, told) = RemotePath::begin(path, &listed.hosts, listed.clock_limit, task)?;
        let begun = serde_json::from_slice(&told).map_err(|_| nonsense(&away))?;
        Ok((RemotePlayer(away), begun))
    }

    /// Has it play one repetition.
    pub(crate) fn play(
        &self,
        (cell, repetition): (u32, u64),
        (picture, called): (bool, &str),
        live: &Live,
        stop: &AtomicBool,
    ) -> Result<(RepReport, RepArtefacts), Failure> {
        let mut brought = RepArtefacts::default();
        let mut strange = false;
        let piece = |kind: &str, bytes: Vec<u8>| {
            if kind == "live" {
                serde_json::from_slice(&bytes).into_iter().for_each(|numbers| live.set(numbers));
            } else {
                strange |= !brought.add(kind, bytes);
            }
        };
        let turn = RepOrder { cell, repetition, picture, called: called.to_owned() };
        let order = serde_json::to_vec(&turn).unwrap_or_default();
        let told = self.0.play(&order, piece, stop)?;
        let told: Option<RepReport> = serde_json::from_slice(&told).ok();
        match told.filter(|told| told.key() == (cell, repetition) && !strange) {
            Some(told) => Ok((told, brought)),
            None => Err(nonsense(&self.0)),
        }
    }
}

fn nonsense(away: &RemotePath) -> Failure {
    Error::Agent { name: away.name().to_owned(), why: "sent what cannot be read".to_owned() }.into()
}
