//! Kernel statistics of a measurement: `TCP_INFO` samples of a connection, network counters, TCP settings, kernel
//! version; report of the server.

use crate::clock::{self, Clock};
use crate::flow::Pause;
use crate::sys;
use base::{Span, Time};
use netns::facts::TcpInfo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sample of `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InfoSample {
    /// Time in seconds since the job request.
    pub t: f64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// RTO, us.
    pub rto_us: u32,
    /// Current back-off: number of doublings of the RTO.
    pub backoff: u8,
    /// Segments in flight.
    pub unacked: u32,
    /// Retransmissions so far.
    pub retransmissions: u32,
    /// Bytes acknowledged so far.
    pub acked: u64,
}

/// Kernel statistics of one connection at one end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Last `TCP_INFO`, by kernel field names.
    pub info: BTreeMap<String, u64>,
    /// Samples that differ from their predecessor.
    pub history: Vec<InfoSample>,
}

impl Kernel {
    /// Field of the last `TCP_INFO`; 0 if missing.
    pub fn get(&self, name: &str) -> u64 {
        self.info.get(name).copied().unwrap_or(0)
    }
    /// Whether the kernel has given statistics.
    pub fn spoke(&self) -> bool {
        !self.info.is_empty()
    }
}

/// Server's report on a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Measured bytes received by the server.
    pub received: u64,
    /// Measured bytes sent by the server.
    pub sent: u64,
    /// Time from the first to the last byte received, s.
    pub receiving_s: f64,
    /// Pauses between received bytes, in seconds since the job request.
    pub pauses: Vec<Pause>,
    /// Number of complete transactions.
    pub transactions: u32,
    /// Kernel statistics at the end of the job, or, if `closed`, at the close of the connection.
    pub kernel: Kernel,
    /// The statistics are final, after the close of the connection.
    pub closed: bool,
}

/// Upper limit of samples; beyond it every second sample is discarded.
const MOST: usize = 1000;

/// Periodic `TCP_INFO` samples of a connection, in a thread of its own.
pub(crate) struct InfoSampler<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) clock: Clock,
    pub(crate) every: Span,
    pub(crate) history: Mutex<Vec<InfoSample>>,
    pub(crate) over: AtomicBool,
}

impl<'a> InfoSampler<'a> {
    pub(crate) fn new(stream: &'a TcpStream, clock: Clock, every: Span) -> InfoSampler<'a> {
        InfoSampler { stream, clock, every, history: Mutex::new(Vec::new()), over: AtomicBool::new(false) }
    }

    /// Samples until [over](Self::over) is set.
    pub(crate) fn run(&self) {
        let mut every = self.every;
        while !self.over.load(Ordering::Relaxed) {
            let Ok(info) = sys::tcp_info(self.stream) else { return };
            let look = look(self.clock.now(), &info);
            if let Ok(mut history) = self.history.lock() {
                let same = |old: &InfoSample| InfoSample { t: 0.0, ..*old } == InfoSample { t: 0.0, ..look };
                if !history.last().is_some_and(same) {
                    history.push(look);
                }
                if history.len() >= MOST {
                    let mut odd = false;
                    history.retain(|_| {
                        odd = !odd;
                        odd
                    });
                    every = every.times(2);
                }
            }
            // Short sleeps, so that the end of a job is noticed soon.
            let until = self.clock.now() + every;
            while !self.over.load(Ordering::Relaxed) && self.clock.now() < until {
                clock::sleep(self.clock.until(until).min(Span::from_millis(20)));
            }
        }
    }

    /// Current statistics, and samples since the last call, relative to `origin`.
    pub(crate) fn peek(&self, origin: Time) -> Kernel {
        let Ok(info) = sys::tcp_info(self.stream) else { return Kernel::default() };
        Kernel { info: told(&info), history: self.history(origin) }
    }

    /// Samples since the last call, relative to `origin`.
    pub(crate) fn history(&self, origin: Time) -> Vec<InfoSample> {
        let mut history = self.history.lock().map(|mut h| std::mem::take(&mut *h)).unwrap_or_default();
        let from = origin.as_secs_f64();
        for look in &mut history {
            look.t = ((look.t - from) * 1e6).round() / 1e6;
        }
        history
    }
}

fn look(now: Time, info: &TcpInfo) -> InfoSample {
    InfoSample {
        t: now.as_secs_f64(),
        cwnd: info.snd_cwnd,
        srtt_us: info.rtt,
        rto_us: info.rto,
        backoff: info.backoff,
        unacked: info.unacked,
        retransmissions: info.total_retrans,
        acked: info.bytes_acked,
    }
}

/// Waits until all sent data are acknowledged, at most `patience`.
pub(crate) fn settle(stream: &TcpStream, clock: Clock, patience: Span, stop: &AtomicBool) {
    let until = clock.now() + patience;
    while clock.now() < until && !stop.load(Ordering::Relaxed) {
        match sys::tcp_info(stream) {
            Ok(info) if info.unacked > 0 || info.notsent_bytes > 0 => clock::sleep(Span::from_millis(2)),
            _ => return,
        }
    }
}

/// Waits until a connection is closed in both directions and all data are acknowledged, at most `patience`. Returns
/// the last kernel statistics (empty where the kernel has none), and whether the connection was closed.
pub(crate) fn last_words(
    stream: &TcpStream,
    clock: Clock,
    patience: Span,
    stop: &AtomicBool,
) -> (BTreeMap<String, u64>, bool) {
    let until = clock.now() + patience;
    loop {
        let Ok(info) = sys::tcp_info(stream) else { return (BTreeMap::new(), false) };
        let closed = info.state == CLOSED;
        if closed || clock.now() >= until || stop.load(Ordering::Relaxed) {
            return (told(&info), closed);
        }
        clock::sleep(Span::from_millis(2));
    }
}

/// `TCP_CLOSE` of `include/net/tcp_states.h`: closed, or moved to a `TIME-WAIT` socket.
const CLOSED: u8 = 7;

fn told(info: &TcpInfo) -> BTreeMap<String, u64> {
    info.fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Nonzero network counters of the calling thread's namespace; empty if unavailable.
pub(crate) fn counters() -> BTreeMap<String, u64> {
    // `/proc/net` belongs to the main thread.
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let text = read("netstat").and_then(|a| Ok(a + &read("snmp")?)).unwrap_or_default();
    netns::proc::counters(&text)
}

/// Increase of the counters between two readings.
pub(crate) fn growth(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let grown = |(name, n): (&String, &u64)| {
        let more = n.saturating_sub(before.get(name).copied().unwrap_or(0));
        (more > 0).then(|| (name.clone(), more))
    };
    after.iter().filter_map(grown).collect()
}

/// TCP settings of the kernel.
pub(crate) fn settings() -> BTreeMap<String, String> {
    const NAMES: &[&str] = &[
        "tcp_sack",
        "tcp_timestamps",
        "tcp_window_scaling",
        "tcp_dsack",
        "tcp_frto",
        "tcp_ecn",
        "tcp_congestion_control",
        "tcp_rmem",
        "tcp_wmem",
        "tcp_slow_start_after_idle",
    ];
    let read = |name: &&str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
        Some(((*name).to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    NAMES.iter().filter_map(read).collect()
}

/// Version of this program and of the kernel.
pub fn name() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.trim();
    let system = if kernel.is_empty() { std::env::consts::OS.to_owned() } else { format!("Linux {kernel}") };
    format!("williwaw {}, {system}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grew_is_told() {
        let of = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
        };
        let grown = growth(&of(&[("a", 1), ("b", 2)]), &of(&[("a", 1), ("b", 5), ("c", 4)]));
        assert_eq!(grown, of(&[("b", 3), ("c", 4)]));
    }
}
