//! Control port of a modem (`ModemPort`) on systems other than Linux: none can be opened.

use super::{ModemDevice, ModemEvent};
use crate::Error;
use crate::cause::Cause;
use crate::clock::Clock;
use std::io;

/// Control port that cannot exist.
#[derive(Debug)]
pub(crate) enum ModemPort {}

impl ModemPort {
    pub(crate) fn open(device: &ModemDevice, _clock: Clock) -> Result<ModemPort, Error> {
        Err(Error::Modem { device: device.path.clone(), source: io::ErrorKind::Unsupported.into() })
    }

    pub(crate) fn beside<R>(
        &self,
        _tell: &(dyn Fn(ModemEvent) -> Result<(), Error> + Sync),
        act: impl FnOnce() -> R,
    ) -> (R, Result<(), Error>) {
        (act(), Ok(()))
    }

    pub(crate) fn around(&self, _last: f64, _until: f64) -> Option<(Cause, String)> {
        None
    }
}
