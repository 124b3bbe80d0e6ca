//! Kinds of framed bearers as data.

use crate::rlc::Numbering;
use base::dist::Dist;
use base::{Rate, Span, Time};

/// When the receiving side reports.
#[derive(Clone, PartialEq, Debug)]
pub enum Reports {
    /// A gap is reported at once (SREJ); acknowledgements travel all the time. The timer repeats the last frames.
    Continuous {
        /// T1: the last frames are sent again after this time without an acknowledgement.
        timer: Span,
    },
    /// On the poll bit and on gaps, not more often than `prohibit` allows (25.322 sections 9.7.1 and 9.7.2).
    Polled {
        /// A poll after so many PDUs.
        every: u32,
        /// A poll when this time has passed since the last one.
        timer: Span,
        /// Least time between two status reports.
        prohibit: Span,
    },
    /// Only what is missing is reported, in rounds: how many NAKs each round sends. Each NAK has a frame of its own, and
    /// its copies guard against their loss.
    Rounds {
        /// NAKs of each round.
        naks: Vec<u8>,
        /// From the last NAK of a round to the next one.
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
    /// How long it lasts, nanoseconds; none: for ever.
    pub lasts: Option<Dist>,
    /// Weight with which it follows another state.
    pub weight: f64,
}

base::named! {
    /// Why a circuit was lost.
    pub enum Cause {
        /// Handover failure.
        Handover = "handover",
        /// The air interface.
        AirInterface = "air-interface",
        /// The remote equipment.
        Remote = "remote-equipment",
    }
}

/// Loss of the circuit.
#[derive(Clone, PartialEq, Debug)]
pub struct Disconnections {
    /// From one to the next, nanoseconds.
    pub every: Dist,
    /// How long until the connection is there again, nanoseconds.
    pub lasts: Dist,
    /// Weights of the causes, in the order of [`Cause`].
    pub causes: [f64; 3],
}

/// A bearer.
#[derive(Clone, PartialEq, Debug)]
pub struct FramedConfig {
    /// Key of its random streams.
    pub name: String,
    /// The clock: frames start at multiples of it (TTI).
    pub period: Span,
    /// Frames of one period are coded and interleaved together: all are lost, or none.
    pub together: bool,
    /// Octets of user data in a frame.
    pub octets: u32,
    /// Octets around each packet (PPP, PDCP).
    pub around: u32,
    /// Frames that may be outstanding.
    pub numbering: Numbering,
    /// Reports.
    pub reports: Reports,
    /// From the end of a frame until the other side has a report about it.
    pub feedback: Span,
    /// Transmissions of a frame before its packet is given up (MaxDAT); none: without end.
    pub attempts: Option<u8>,
    /// States of the channel; the first one is where it starts.
    pub states: Vec<ChannelState>,
    /// A state is not left while data wait (the resource is kept).
    pub keep: bool,
    /// What distance and load leave of the rates, from each instant on; empty: all.
    pub limits: Vec<(Time, [Rate; 2])>,
    /// Upper limit of the rate behind the radio interface (A interface, V.110).
    pub cap: Option<Rate>,
    /// One-way delay beside transmission: interleaving, processing, the fixed network.
    pub delay: Span,
    /// Packets that may wait, downlink and uplink, octets; none: any amount.
    pub buffer: [Option<u64>; 2],
    /// Losses of the circuit.
    pub disconnections: Option<Disconnections>,
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
        }
    }

    /// W-CDMA of release 99: 384 kbit/s down in 10 ms of 12 PDUs, 64 kbit/s up, PDUs of 336 bits with 16 of header.
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
        }
    }

    /// cdma2000 1x: frames of 20 ms, a supplemental channel of 153.6 kbit/s given and taken beside a fundamental one of
    /// 9.6, RLP type 3 with rounds of 1, 2 and 3 NAKs.
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
        }
    }
}
