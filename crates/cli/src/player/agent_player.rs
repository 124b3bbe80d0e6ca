//! Player at an agent: repetitions in real time on the path that the agent carries; results go to the
//! controller and not to the agent's disk.

use super::local_player::{LocalPlayer, kernel_version};
use super::summary;
use super::task::{Readiness, RepOrder, Task};
use crate::console::exit::Failure;
use agent::control::AgentControl;
use agent::path_worker::{PathPlayer, PathPreparer};
use base::Span;
use emulate::Options;
use emulate::accuracy::calibrate::Calibration;
use emulate::accuracy::live::Live;
use lab::sweep::Sweep;
use netns::output::Outputs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Prepares and plays the repetitions of a controller's task.
pub(crate) struct AgentPlayer;

/// Interval of reports on lateness.
const TICK: Duration = Duration::from_millis(500);

impl PathPreparer for AgentPlayer {
    fn begin(
        &self,
        task: &[u8],
        elsewhere: Option<Arc<AgentControl>>,
    ) -> Result<(Box<dyn PathPlayer + '_>, Vec<u8>), String> {
        let text = |failure: Failure| failure.to_string();
        let (task, files) = Task::read(task).ok_or("the task cannot be read")?;
        let input = task.input(files).map_err(text)?;
        let sweep = Sweep::whole(&input.scenario, Some(task.repetitions), task.seed, &task.version);
        let sweep = sweep.map_err(|error| text(error.into()))?;
        let calibration = Calibration::of_this_machine(task.realtime, task.spin_ns.map(Span::from_nanos));
        let options = Options {
            trace: task.events || task.picture,
            capture: task.capture,
            realtime: calibration.method().realtime,
            offload: task.offload,
            spin: calibration.method().spin,
            lateness_limit: Span::from_nanos(task.lateness_ns),
        };
        let clocks = elsewhere.iter().flat_map(|control| control.agents());
        let mut words: Vec<String> = clocks
            .map(|agent| crate::input::agents_file::clock_of(&agent, "the host with the path"))
            .collect();
        words.push(summary::calibrated(&calibration, "the host with the path"));
        let begun = Readiness {
            kernel: kernel_version(),
            calibration: summary::calibration(&calibration),
            said: words,
        };
        let reply = serde_json::to_vec(&begun).map_err(|error| error.to_string())?;
        Ok((Box::new(AgentRun { task, sweep, options, elsewhere }), reply))
    }
}

struct AgentRun {
    task: Task,
    sweep: Sweep,
    options: Options,
    elsewhere: Option<Arc<AgentControl>>,
}

impl PathPlayer for AgentRun {
    fn play(
        &mut self,
        order: &[u8],
        out: &(dyn Fn(&str, &[u8]) + Sync),
        stop: &AtomicBool,
    ) -> Result<Vec<u8>, String> {
        let turn: RepOrder = serde_json::from_slice(order).map_err(|_| "the order cannot be read")?;
        if turn.cell as usize >= self.sweep.cells.len() {
            return Err(format!("there is no cell {}", turn.cell));
        }
        let here = LocalPlayer {
            sweep: &self.sweep,
            options: &self.options,
            elsewhere: self
                .elsewhere
                .clone()
                .map(|control| control as Arc<dyn emulate::remote::hosts::RemoteHosts>),
            called: &turn.called,
            beside: false,
            events: self.task.events,
        };
        let live = Arc::new(Live::default());
        let (report, files) = std::thread::scope(|scope| {
            let (finished, wait) = channel::<()>();
            let seen = live.clone();
            scope.spawn(move || {
                while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    out("live", &serde_json::to_vec(&seen.numbers()).unwrap_or_default());
                }
            });
            let played = here.play((turn.cell, turn.repetition), Outputs::Memory, turn.picture, &live, stop);
            drop(finished);
            played.map_err(|failure| failure.to_string())
        })?;
        for (kind, bytes) in files.pieces() {
            out(&kind, bytes);
        }
        serde_json::to_vec(&report).map_err(|error| error.to_string())
    }
}
