//! Configuration of framed bearers: HSCSD with RLP, W-CDMA RLC AM, cdma2000 RLP, with the defaults of each.

use super::circuit::Coding;
use crate::quality::Steps;
use crate::rlc::Numbering;
use base::dist::Dist;
use base::{Rate, Span, Time};

/// Report policy of the receiver, and the timers of the sender.
#[derive(Clone, PartialEq, Debug)]
pub enum Reports {
    /// The receiver acknowledges continuously and reports each gap immediately (SREJ). The sender retransmits the last
    /// frames at the expiry of a timer.
    Continuous {
        /// T1: time since the last transmission after which unacknowledged frames are retransmitted.
        timer: Span,
    },
    /// The receiver reports on the poll bit and on gaps, at least `prohibit` apart (25.322 sections 9.7.1 and 9.7.2).
    Polled {
        /// PDUs between polls.
        every: u32,
        /// Maximum time between two polls while frames are sent.
        timer: Span,
        /// Status prohibit timer: minimum time between two status reports.
        prohibit: Span,
    },
    /// The receiver reports only missing frames, in rounds of several NAKs. Each NAK uses a frame of its own; the copies
    /// in a round protect against NAK loss.
    Rounds {
        /// Number of NAKs in each round.
        naks: Vec<u8>,
        /// Time from the last NAK of a round to the next round.
        timer: Span,
    },
}

/// State of the channel: rates, frame error rates, duration.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelState {
    /// Name of the state.
    pub name: String,
    /// Rate of frames, counted by their user data, downlink and uplink.
    pub rate: [Rate; 2],
    /// Frame error rate, downlink and uplink.
    pub error: [f64; 2],
    /// Duration, nanoseconds; `None`: unlimited.
    pub lasts: Option<Dist>,
    /// Relative probability that this state follows another state.
    pub weight: f64,
}

base::named! {
    /// Cause of a circuit loss.
    pub enum Cause {
        /// Handover failure.
        Handover = "handover",
        /// Failure of the air interface.
        AirInterface = "air-interface",
        /// The remote equipment released the circuit.
        Remote = "remote-equipment",
    }
}

/// Random losses of the circuit.
#[derive(Clone, PartialEq, Debug)]
pub struct Disconnections {
    /// Time from a reconnection to the next loss, nanoseconds.
    pub every: Dist,
    /// Time from a loss to the reconnection, nanoseconds.
    pub lasts: Dist,
    /// Relative probabilities of the causes, in the order of [`Cause`].
    pub causes: [f64; 3],
}

/// Automatic link adaptation of HSCSD ([`super::circuit`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Adaptation {
    /// C/I over time, downlink and uplink, dB.
    pub c_over_i: [Steps; 2],
    /// Receiver gain over the minimum receiver of 3GPP TS 45.005, dB.
    pub gain: f64,
    /// Period over which C/I is averaged.
    pub every: Span,
    /// Hysteresis about the C/I at which both codings have equal throughput, dB.
    pub hysteresis_db: f64,
}

/// Voice calls that compete with an HSCSD circuit for the timeslots of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Contention {
    /// Number of traffic channels of the cell.
    pub timeslots: u8,
    /// Offered voice traffic, Erlang.
    pub calls: f64,
    /// Mean duration of a call.
    pub call_lasts: Span,
    /// Time between two upgrades of the allocation.
    pub regrade: Span,
    /// Allocations used when the wanted one does not fit, downlink and uplink, in order of preference.
    pub fallback: Vec<[u8; 2]>,
}

/// Configuration of a framed bearer.
#[derive(Clone, PartialEq, Debug)]
pub struct FramedConfig {
    /// Key of its random streams.
    pub name: String,
    /// Frame period (TTI); frames start at multiples of the period.
    pub period: Span,
    /// The frames of a period are coded and interleaved together: either all of them are lost or none.
    pub together: bool,
    /// Octets of user data in a frame.
    pub octets: u32,
    /// Overhead of each packet (PPP, PDCP), octets.
    pub around: u32,
    /// Window and sequence number space, in frames.
    pub numbering: Numbering,
    /// Report policy.
    pub reports: Reports,
    /// Time from the end of a frame until a report about this frame reaches the sender.
    pub feedback: Span,
    /// MaxDAT: maximum number of transmissions of a frame, after which its packets are abandoned; `None`: unlimited.
    pub attempts: Option<u8>,
    /// States of the channel; the first one is the initial state.
    pub states: Vec<ChannelState>,
    /// The initial state does not end while data are queued or to be retransmitted (the resource is kept).
    pub keep: bool,
    /// Rate limits by distance and load, downlink and uplink, each from its start time on; empty: no limit.
    pub limits: Vec<(Time, [Rate; 2])>,
    /// Maximum rate of the path behind the radio interface (A interface, V.110).
    pub cap: Option<Rate>,
    /// One-way delay in addition to transmission: interleaving, processing, the fixed network.
    pub delay: Span,
    /// Limits of the packet buffers, downlink and uplink, octets; `None`: unlimited.
    pub buffer: [Option<u64>; 2],
    /// Losses of the circuit; `None`: no losses.
    pub disconnections: Option<Disconnections>,
    /// HSCSD: number of timeslots, downlink and uplink, and their coding without adaptation.
    pub timeslots: ([u8; 2], Coding),
    /// HSCSD: automatic link adaptation; `None`: fixed coding.
    pub adaptation: Option<Adaptation>,
    /// HSCSD: calls that compete for timeslots; `None`: fixed timeslots.
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

    /// cdma2000 1x: frames of 20 ms; a supplemental channel of 153.6 kbit/s is assigned and released in addition to a
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
