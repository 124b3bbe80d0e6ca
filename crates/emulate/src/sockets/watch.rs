//! Change log of a kernel's view of a connection.

use base::Time;
use netns::facts::TcpInfo;

/// A connection under observation.
#[derive(Clone, Default, Debug)]
pub(crate) struct Watch {
    /// The last look.
    pub(crate) info: TcpInfo,
    /// Those that showed something new, in seconds from t = 0.
    pub(crate) history: Vec<(f64, TcpInfo)>,
}

impl Watch {
    /// Takes in one look.
    pub(crate) fn note(&mut self, now: Time, info: TcpInfo) {
        if self.history.is_empty() || self.info.window() != info.window() {
            self.history.push((now.as_secs_f64(), info));
        }
        self.info = info;
    }
}
