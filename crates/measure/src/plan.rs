//! Measurement plan: a list of repeated tests, and the setting of the HSCSD and GPRS study.
//!
//! A list of tests, each repeated; the published setting of the HSCSD and GPRS study is one word.

use crate::message::{Amount, Direction, Job};
use base::Span;
use serde::{Deserialize, Serialize};

/// One kind of measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Bytes in one direction.
    Bulk {
        /// `up` or `down`.
        down: bool,
        /// So many; 0: as long as `seconds`.
        bytes: u64,
        /// For so long, where `bytes` is 0.
        seconds: f64,
    },
    /// Requests and replies, one after the other on one connection.
    Transactions {
        /// Bytes of a request.
        request: u32,
        /// Bytes of a reply.
        reply: u32,
        /// How many in a sequence.
        count: u32,
    },
    /// Small packets there and back.
    Echo {
        /// Bytes of one.
        size: u32,
        /// How many.
        count: u32,
        /// From one to the next, seconds.
        interval: f64,
        /// As requests and replies of a connection, where datagrams do not come through.
        tcp: bool,
    },
    /// Load in one direction with small packets beside it, to see how the round trip grows.
    Buffer {
        /// `up` or `down`.
        down: bool,
        /// For so long.
        seconds: f64,
    },
}

impl Test {
    /// How it is called in tables and documents.
    pub fn name(&self) -> String {
        match self {
            Test::Bulk { down, bytes: 0, seconds } => format!("bulk {} {seconds} s", way(*down)),
            Test::Bulk { down, bytes, .. } => format!("bulk {} {bytes} B", way(*down)),
            Test::Transactions { request, reply, .. } => format!("transactions {request}/{reply} B"),
            Test::Echo { size, tcp, .. } => format!("echo {size} B {}", if *tcp { "TCP" } else { "UDP" }),
            Test::Buffer { down, .. } => format!("buffer {}", way(*down)),
        }
    }

    /// What it asks the server for; of a buffer the load.
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

/// A test and how often it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The test.
    pub test: Test,
    /// How often.
    pub repetitions: u32,
}

/// How the socket is set before it connects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// The largest segment, bytes; it binds both directions.
    pub mss: Option<u32>,
    /// The receive window offered by both ends, bytes.
    pub window: Option<u32>,
    /// The client's congestion control, by the kernel's name.
    pub cc: Option<String>,
}

/// All that is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The tests, in this order.
    pub steps: Vec<Step>,
    /// Between two repetitions, seconds.
    pub pause: f64,
    /// Before the first, seconds.
    pub delay: f64,
    /// From a reply to the next request, seconds.
    pub think: f64,
    /// Settings of the sockets.
    pub socket: Socket,
    /// No byte for longer than this is a pause, seconds.
    pub silence: f64,
    /// A connection on which nothing comes or goes for so long counts as lost, seconds.
    pub stall: f64,
    /// So long the client tries to connect before it counts as refused, seconds.
    pub connect: f64,
    /// After a disconnection it tries again for so long before it gives up, seconds.
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
    /// How many repetitions of all tests together.
    pub fn repetitions(&self) -> u64 {
        self.steps.iter().map(|step| u64::from(step.repetitions)).sum()
    }
}

/// The sizes of requests and replies of the HSCSD and GPRS study (table 1), bytes.
pub const PUBLISHED_SIZES: [(u32, u32); 3] = [(280, 499), (348, 4758), (539, 5070)];

/// The setting of that study: 40 transfers of 150 000 bytes each way, and of each size 19 sequences of 120
/// transactions; segments of 536 bytes, a window of 16 kilobytes.
pub fn published() -> (Vec<Step>, Socket) {
    let bulk = |down| Step { test: Test::Bulk { down, bytes: 150_000, seconds: 0.0 }, repetitions: 40 };
    let pair =
        |(request, reply)| Step { test: Test::Transactions { request, reply, count: 120 }, repetitions: 19 };
    let steps = [bulk(false), bulk(true)].into_iter().chain(PUBLISHED_SIZES.map(pair)).collect();
    (steps, Socket { mss: Some(536), window: Some(16 * 1024), cc: None })
}

/// Seconds as a span; nothing for what is no length of time.
pub(crate) fn span(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}
