//! Control port of a modem (`ModemPort`): the serial device, a thread that reads it during a measurement, and its history of events.

use super::{Modem, ModemDevice, ModemEvent, cause_of_silence};
use crate::cause::Cause;
use crate::clock::Clock;
use crate::{Error, companion, sys};
use netns::sys::serial::{self, Setting};
use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Largest number of events kept for causes; the log has all of them.
const MOST: usize = 4096;
/// Poll interval for stop requests and repeated commands.
const NAP: Duration = Duration::from_millis(100);

/// Opened control port with the history of its events.
#[derive(Debug)]
pub(crate) struct ModemPort {
    file: File,
    before: Setting,
    clock: Clock,
    history: Mutex<VecDeque<ModemEvent>>,
}

impl Drop for ModemPort {
    fn drop(&mut self) {
        serial::restore(self.file.as_raw_fd(), &self.before);
    }
}

impl ModemPort {
    /// Opens the device exclusively, in raw mode.
    pub(crate) fn open(device: &ModemDevice, clock: Clock) -> Result<ModemPort, Error> {
        let opened = serial::open(&device.path, device.speed);
        let (file, before) = opened.map_err(|source| Error::Modem { device: device.path.clone(), source })?;
        Ok(ModemPort { file, before, clock, history: Mutex::default() })
    }

    fn history(&self) -> MutexGuard<'_, VecDeque<ModemEvent>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the modem while `act` runs and passes its events to `tell`; also returns the first error of `tell`.
    pub(crate) fn beside<R>(
        &self,
        tell: &(dyn Fn(ModemEvent) -> Result<(), Error> + Sync),
        act: impl FnOnce() -> R,
    ) -> (R, Result<(), Error>) {
        companion::beside(|over| self.run(over, tell), act)
    }

    fn run(
        &self,
        over: &AtomicBool,
        tell: &(dyn Fn(ModemEvent) -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let mut modem = Modem::new();
        let mut buffer = [0; 4096];
        let mut there = true;
        while there && !over.load(Ordering::Relaxed) {
            if let Some(command) = modem.next_out(self.clock.now()) {
                // A command that cannot be written is not answered, and repeated.
                let _ = (&self.file).write_all(format!("{command}\r").as_bytes());
            }
            if sys::wait_for(self.file.as_raw_fd(), false, NAP) {
                let read = (&self.file).read(&mut buffer);
                let now = self.clock.now();
                let end = match read {
                    Ok(0) => Some("the device was closed".to_owned()),
                    Ok(n) => {
                        modem.on_bytes(now, &buffer[..n]);
                        None
                    }
                    Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => None,
                    Err(error) => Some(error.to_string()),
                };
                if let Some(why) = end {
                    modem.on_end(now, &why);
                    there = false;
                }
            }
            for event in modem.take_events() {
                let mut history = self.history();
                if history.len() >= MOST {
                    history.pop_front();
                }
                history.push_back(event.clone());
                drop(history);
                tell(event)?;
            }
        }
        Ok(())
    }

    /// Cause of a silence from `last` to `until`, s since the start, that the events beside it show.
    pub(crate) fn around(&self, last: f64, until: f64) -> Option<(Cause, String)> {
        cause_of_silence(self.history().make_contiguous(), last, until)
    }
}
