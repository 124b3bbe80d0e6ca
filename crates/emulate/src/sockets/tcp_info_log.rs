//! Log of `TCP_INFO` samples of one connection: last sample, and samples with a changed window.

use base::Time;
use netns::facts::TcpInfo;

/// `TCP_INFO` log of a connection.
#[derive(Clone, Default, Debug)]
pub(crate) struct TcpInfoLog {
    /// Last sample.
    pub(crate) info: TcpInfo,
    /// Samples with a changed window, with their time in seconds from t = 0.
    pub(crate) history: Vec<(f64, TcpInfo)>,
}

impl TcpInfoLog {
    /// Adds a sample.
    pub(crate) fn note(&mut self, now: Time, info: TcpInfo) {
        if self.history.is_empty() || self.info.window() != info.window() {
            self.history.push((now.as_secs_f64(), info));
        }
        self.info = info;
    }
}
