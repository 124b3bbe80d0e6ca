//! Player of a repetition in real time on this host; its machines may be at agents.

use super::numbers::{self, Marks};
use super::rep_report::{RepArtefacts, RepReport};
use super::summary::PlayedRep;
use crate::console::exit::Failure;
use crate::input::nesting;
use emulate::accuracy::live::Live;
use emulate::remote::hosts::RemoteHosts;
use emulate::{Options, Surroundings};
use lab::sweep::Sweep;
use netns::output::Outputs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Settings common to all repetitions.
pub(crate) struct LocalPlayer<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) options: &'a Options,
    pub(crate) elsewhere: Option<Arc<dyn RemoteHosts>>,
    /// Name of the run for `williwaw trigger`.
    pub(crate) called: &'a str,
    /// Whether repetitions run in parallel, so that each appends cell and repetition to its name.
    pub(crate) beside: bool,
    /// Whether events are returned.
    pub(crate) events: bool,
}

/// Kernel version of this host.
pub(crate) fn kernel_version() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|s| s.trim().to_owned())
}

impl LocalPlayer<'_> {
    /// Plays one repetition; `picture` also draws its first flow.
    pub(crate) fn play(
        &self,
        (cell, repetition): (u32, u64),
        outputs: Outputs,
        picture: bool,
        live: &Arc<Live>,
        stop: &AtomicBool,
    ) -> Result<(RepReport, RepArtefacts), Failure> {
        let nested = nesting::nested();
        let mut called = self.called.to_owned();
        if self.beside {
            called.push_str(&format!(".{cell}-{repetition}"));
        }
        let around = Surroundings {
            level: nested.level(),
            variables: nested.variables(false),
            resolver: crate::input::shell_link::resolver(None),
            outputs,
            called: Some(called),
            live: Some(live.clone()),
            elsewhere: self.elsewhere.clone(),
            ..nesting::common()
        };
        let cell = cell as usize;
        let model = &self.sweep.cells.held()[cell].model;
        let marks = Marks::before(model);
        let outcome = emulate::play(model, repetition, self.options, &around, stop)?;
        let mut played = PlayedRep { cell, repetition, outcome };
        let written = std::mem::take(&mut played.outcome.written);
        let mut files = RepArtefacts {
            capture: played.capture(self.sweep),
            events: self.events.then(|| played.events()),
            picture: if picture { played.drawn(self.sweep) } else { None },
            ..RepArtefacts::default()
        };
        let reported =
            numbers::gather(model, &played.outcome.commands, Some(&marks), |i| match &around.outputs {
                Outputs::Folder(folder) => {
                    let file = folder.join(format!("{}.{}", model.commands[i].name, netns::output::NAMES[0]));
                    std::fs::read(file).unwrap_or_default()
                }
                _ => written.get(i).map_or_else(Vec::new, |[out, _]| out.clone()),
            });
        // Empty outputs are kept too: they show that a command printed nothing.
        if matches!(around.outputs, Outputs::Memory) {
            for (i, outputs) in written.into_iter().enumerate() {
                files.outputs.extend(outputs.into_iter().enumerate().map(|(which, all)| ((i, which), all)));
            }
        }
        let mut report = played.report(self.sweep, self.options);
        numbers::add_to_report(&mut report, model, &reported);
        Ok((report, files))
    }
}
