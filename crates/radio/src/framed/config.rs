//! Configuration of framed bearers (HSCSD, W-CDMA, cdma2000), by kind.

use super::circuit::Coding;
use crate::quality::Steps;
use crate::rlc::Numbering;
use base::dist::Dist;
use base::{Rate, Span, Time};

/// Report policy of the receiver.
#[derive(Clone, PartialEq, Debug)]
pub enum Reports {
    /// A gap is reported immediately (SREJ); acknowledgements are continuous. The timer retransmits the last
    /// frames.
    Continuous {
        /// T1: time without an acknowledgement after which the last frames are retransmitted.
        timer: Span,
    },
    /// Reports on the poll bit and on gaps, at least `prohibit` apart (25.322 sections 9.7.1 and 9.7.2).
    Polled {
        /// PDUs between polls.
        every: u32,
        /// Time between polls.
        timer: Span,
        /// Least time between two status reports.
        prohibit: Span,
    },
    /// Only missing frames are reported, in rounds of several NAKs. Each NAK has a frame of its own, and its
    /// copies protect against NAK loss.
    Rounds {
        /// NAKs of each round.
        naks: Vec<u8>,
        /// Time from the last NAK of a round to the next round.
        timer: Span,
    },
}

/// A state of the channel.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelState {
    /// Its name.
    pub name: String,
    /// Rate of frames with their payload, downlink and uplink.
    pub rate: [Rate; 2],
    /// Frame error rate, downlink and uplink.
    pub error: [f64; 2],
    /// Duration, nanoseconds; `None`: unlimited.
    pub lasts: Option<Dist>,
    /// Weight as a successor of another state.
    pub weight: f64,
}

base::named! {
    /// Cause of a circuit loss.
    pub enum Cause {
        /// Handover failure.
        Handover = "handover",
        /// The air interface.
        AirInterface = "air-interface",
        /// The remote equipment.
        Remote = "remote-equipment",
    }
}

/// Losses of the circuit.
#[derive(Clone, PartialEq, Debug)]
pub struct Disconnections {
    /// Time between losses, nanoseconds.
    pub every: Dist,
    /// Time until reconnection, nanoseconds.
    pub lasts: Dist,
    /// Weights of the causes, in the order of [`Cause`].
    pub causes: [f64; 3],
}

/// Automatic link adaptation of HSCSD ([`super::circuit`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Adaptation {
    /// C/I over time, downlink and uplink, dB.
    pub c_over_i: [Steps; 2],
    /// Receiver gain over the minimum of 3GPP TS 45.005, dB.
    pub gain: f64,
    /// Measurement period.
    pub every: Span,
    /// Hysteresis about the C/I at which the codings are equal, dB.
    pub hysteresis_db: f64,
}

/// Calls that compete for the timeslots of a cell with an HSCSD circuit.
#[derive(Clone, PartialEq, Debug)]
pub struct Contention {
    /// Traffic channels of the cell.
    pub timeslots: u8,
    /// Offered voice traffic, Erlang.
    pub calls: f64,
    /// Mean length of a call.
    pub call_lasts: Span,
    /// Time between upgrades.
    pub regrade: Span,
    /// Allocations in place of the wanted one, downlink and uplink, in order of preference.
    pub fallback: Vec<[u8; 2]>,
}

/// Configuration of a bearer.
#[derive(Clone, PartialEq, Debug)]
pub struct FramedConfig {
    /// Key of its random streams.
    pub name: String,
    /// Frame period (TTI); frames start at its multiples.
    pub period: Span,
    /// The frames of one period are coded and interleaved together: all are lost, or none.
    pub together: bool,
    /// Octets of user data in a frame.
    pub octets: u32,
    /// Overhead of each packet (PPP, PDCP), octets.
    pub around: u32,
    /// Window and sequence number space of frames.
    pub numbering: Numbering,
    /// Report policy.
    pub reports: Reports,
    /// Time from the end of a frame to a report about it at the sender.
    pub feedback: Span,
    /// MaxDAT: transmissions of a frame before its packet is abandoned; `None`: unlimited.
    pub attempts: Option<u8>,
    /// States of the channel; the first one is the initial state.
    pub states: Vec<ChannelState>,
    /// A state lasts at least as long as data wait (the resource is kept).
    pub keep: bool,
    /// Rate limits from distance and load, from each instant on; empty: none.
    pub limits: Vec<(Time, [Rate; 2])>,
    /// Upper limit of the rate behind the radio interface (A interface, V.110).
    pub cap: Option<Rate>,
    /// One-way delay beside transmission: interleaving, processing, the fixed network.
    pub delay: Span,
    /// Limits of the packet buffers, downlink and uplink, octets; `None`: unlimited.
    pub buffer: [Option<u64>; 2],
    /// Losses of the circuit.
    pub disconnections: Option<Disconnections>,
    /// HSCSD: timeslots, downlink and uplink, and their coding without adaptation.
    pub timeslots: ([u8; 2], Coding),
    /// HSCSD: automatic link adaptation.
    pub adaptation: Option<Adaptation>,
    /// HSCSD: calls that compete for timeslots.
    pub contention: Option<Contention>,
}

fn state(name: &str, down: u64, up: u64, error: f64, lasts: Option<Dist>, weight: f64) -> ChannelState {
    let rate = [Rate::from_bps(down), Rate::from_bps(up)];
    ChannelState { name: name.into(), rate, error: [error; 2], lasts, weight }
}

impl FramedConfig {
    /// HSCSD with `down` and `up` timeslots of 14.4 kbit/s and non-transparent RLP: frames of 536 bits of data, window
    /// 61 for one timeslot and 480 for several. One state, no errors.
    pub fn hscsd(name: &str, down: u8, up: u8) -> Self {
        let numbering = if down.max(up) > 1 {
            Numbering { space: 512, window: 480 }
        } else {
            Numbering { space: 64, window: 61 }
        };
        FramedConfig {
            name: name.into(),
            period: Span::from_millis(20),
            together: false,
            octets: 67,
            around: 8,
            numbering,
            reports: Reports::Continuous { timer: Span::from_millis(600) },
            feedback: Span::from_millis(300),
            attempts: None,
            states: vec![state("14.4", 13_400 * u64::from(down), 13_400 * u64::from(up), 0.0, None, 1.0)],
            keep: false,
            limits: Vec::new(),
            cap: Some(Rate::from_bps(38_400)),
            delay: Span::from_millis(245),
            buffer: [None; 2],
            disconnections: None,
            timeslots: ([down, up], Coding::F144),
            adaptation: None,
            contention: None,
        }
    }

    /// W-CDMA of release 99: downlink 384 kbit/s in 10 ms TTIs of 12 PDUs, uplink 64 kbit/s; PDUs of 336 bits
    /// with a header of 16.
    pub fn wcdma(name: &str) -> Self {
        FramedConfig {
            name: name.into(),
            period: Span::from_millis(10),
            together: false,
            octets: 40,
            around: 1,
            numbering: Numbering { space: 4096, window: 1024 },
            reports: Reports::Polled {
                every: 32,
                timer: Span::from_millis(150),
                prohibit: Span::from_millis(100),
            },
            feedback: Span::from_millis(80),
            attempts: Some(10),
            states: vec![state("dch", 384_000, 64_000, 0.1, None, 1.0)],
            keep: false,
            limits: Vec::new(),
            cap: None,
            delay: Span::from_millis(50),
            buffer: [None; 2],
            disconnections: None,
            timeslots: ([1; 2], Coding::F144),
            adaptation: None,
            contention: None,
        }
    }

    /// cdma2000 1x: frames of 20 ms, a supplemental channel of 153.6 kbit/s assigned and released beside a
    /// fundamental channel of 9.6 kbit/s, RLP type 3 with rounds of 1, 2 and 3 NAKs.
    pub fn cdma2000(name: &str) -> Self {
        let seconds = |a: f64, b: f64| Some(Dist::Uniform(a * 1e9, b * 1e9));
        FramedConfig {
            name: name.into(),
            period: Span::from_millis(20),
            together: false,
            octets: 20,
            around: 8,
            numbering: Numbering { space: 4096, window: 1024 },
            reports: Reports::Rounds { naks: vec![1, 2, 3], timer: Span::from_millis(100) },
            feedback: Span::from_millis(100),
            attempts: None,
            states: vec![
                state("supplemental", 153_600, 9_600, 0.01, seconds(0.5, 5.0), 1.0),
                state("fundamental", 9_600, 9_600, 0.01, seconds(1.5, 15.0), 1.0),
            ],
            keep: false,
            limits: Vec::new(),
            cap: None,
            delay: Span::from_millis(80),
            buffer: [None; 2],
            disconnections: None,
            timeslots: ([1; 2], Coding::F144),
            adaptation: None,
            contention: None,
        }
    }
}
