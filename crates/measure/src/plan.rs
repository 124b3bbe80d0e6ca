//! Measurement plan (`Plan`): steps with tests and repetitions, timeouts, socket options; plan of the published HSCSD
//! and GPRS measurements.

use crate::message::{Amount, Direction, Job};
use base::Span;
use serde::{Deserialize, Serialize};

/// Test, which is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Bulk transfer in one direction.
    Bulk {
        /// True: from server to client.
        down: bool,
        /// Bytes to transfer; 0: limited by `seconds`.
        bytes: u64,
        /// Duration in seconds, if `bytes` is 0.
        seconds: f64,
    },
    /// Sequence of transactions (request and reply) on one connection.
    Transactions {
        /// Size of a request, bytes.
        request: u32,
        /// Size of a reply, bytes.
        reply: u32,
        /// Number of transactions in a sequence.
        count: u32,
    },
    /// Echo of small packets, for RTT and loss.
    Echo {
        /// Size of a packet, bytes.
        size: u32,
        /// Number of packets.
        count: u32,
        /// Interval, s.
        interval: f64,
        /// Over TCP as transactions, where UDP is blocked.
        tcp: bool,
    },
    /// Load in one direction with small packets beside, to measure RTT growth.
    Buffer {
        /// True: from server to client.
        down: bool,
        /// Duration, s.
        seconds: f64,
    },
}

impl Test {
    /// Name of the test in tables and documents.
    pub fn name(&self) -> String {
        match self {
            Test::Bulk { down, bytes: 0, seconds } => format!("bulk {} {seconds} s", way(*down)),
            Test::Bulk { down, bytes, .. } => format!("bulk {} {bytes} B", way(*down)),
            Test::Transactions { request, reply, .. } => format!("transactions {request}/{reply} B"),
            Test::Echo { size, tcp, .. } => format!("echo {size} B {}", if *tcp { "TCP" } else { "UDP" }),
            Test::Buffer { down, .. } => format!("buffer {}", way(*down)),
        }
    }

    /// Job for the server; for a buffer test, its load.
    pub(crate) fn job(&self) -> Job {
        let lasts = |s: f64| Amount::Lasts(span(s).max(Span::from_nanos(1)));
        let direction = |down| if down { Direction::Down } else { Direction::Up };
        match *self {
            Test::Bulk { down, bytes: 0, seconds } | Test::Buffer { down, seconds } => {
                Job::Bulk { direction: direction(down), amount: lasts(seconds) }
            }
            Test::Bulk { down, bytes, .. } => {
                Job::Bulk { direction: direction(down), amount: Amount::Bytes(bytes) }
            }
            Test::Transactions { request, reply, count } => Job::Transactions { request, reply, count },
            Test::Echo { size, count, tcp: true, .. } => {
                Job::Transactions { request: size, reply: size, count }
            }
            Test::Echo { .. } => Job::Probes,
        }
    }
}

fn way(down: bool) -> &'static str {
    if down { Direction::Down.name() } else { Direction::Up.name() }
}

/// Test with its number of repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Test.
    pub test: Test,
    /// Number of repetitions.
    pub repetitions: u32,
}

/// Socket options set before the connection opens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// MSS, bytes; limits both directions.
    pub mss: Option<u32>,
    /// Receive window offered by both ends, bytes.
    pub window: Option<u32>,
    /// Congestion control algorithm of the client, by kernel name.
    pub cc: Option<String>,
}

/// Plan of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// Time between repetitions, s.
    pub pause: f64,
    /// Delay before the first repetition, s.
    pub delay: f64,
    /// Think time from a reply to the next request, s.
    pub think: f64,
    /// Socket options.
    pub socket: Socket,
    /// Shortest gap between bytes that counts as a pause, s.
    pub silence: f64,
    /// Time without bytes after which a connection counts as lost, s.
    pub stall: f64,
    /// Timeout of a connection attempt, s.
    pub connect: f64,
    /// Time of failed reconnection attempts after which the measurement ends, s.
    pub give_up: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            steps: Vec::new(),
            pause: 0.0,
            delay: 0.0,
            think: 0.0,
            socket: Socket::default(),
            silence: 2.0,
            stall: 120.0,
            connect: 30.0,
            give_up: 600.0,
        }
    }
}

impl Plan {
    /// Number of repetitions of all tests.
    pub fn repetitions(&self) -> u64 {
        self.steps.iter().map(|step| u64::from(step.repetitions)).sum()
    }
}

/// Request and reply sizes of the published HSCSD and GPRS measurements (table 1), bytes.
pub const PUBLISHED_SIZES: [(u32, u32); 3] = [(280, 499), (348, 4758), (539, 5070)];

/// Plan of the published measurements: 40 transfers of 150 000 bytes in each direction, and 19 sequences of 120
/// transactions for each size. MSS 536 bytes, window 16 kB.
pub fn published() -> (Vec<Step>, Socket) {
    let bulk = |down| Step { test: Test::Bulk { down, bytes: 150_000, seconds: 0.0 }, repetitions: 40 };
    let pair =
        |(request, reply)| Step { test: Test::Transactions { request, reply, count: 120 }, repetitions: 19 };
    let steps = [bulk(false), bulk(true)].into_iter().chain(PUBLISHED_SIZES.map(pair)).collect();
    (steps, Socket { mss: Some(536), window: Some(16 * 1024), cc: None })
}

/// Seconds as a span; zero for negative and invalid values.
pub(crate) fn span(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}
