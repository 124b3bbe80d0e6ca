//! TCP receiver: reassembly, delayed ACKs, SACK blocks, window.
//!
//! The receiver reassembles segments and delays ACKs of in-order data (RFC 1122 section 4.2.3.2, RFC 5681
//! section 4.2). Other segments are acknowledged at once. SACK blocks report out-of-order data (RFC 2018)
//! and duplicates (RFC 2883); timestamps are echoed.

mod ack_decision;
mod acknowledgement;
mod buffer;
mod linux;
mod paws;
mod quick;
mod reassembly;
mod shared_window;
mod window;

use super::config::{Config, Echo, ReceiverConfig};
use crate::recovery::rto::RtoTimer;
pub use ack_decision::Answer;
use base::tcp::{Block, Segment};
use base::{Span, Time};
use buffer::BufferOccupancy;
use linux::Linux;
use shared_window::Shared;
pub use shared_window::{Aggregate, FlowState, WindowManager, WindowShare};
use window::on_the_wire;

/// Receiver of a connection's data.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    sack: bool,
    /// PAWS applies. Not with [`Echo::Latest`]: TS.Recent is then not the latest time of data in order.
    paws: bool,
    /// Receive buffer, bytes; also the offered window while the application reads at once.
    window: u32,
    /// Window scale: the offered window is a multiple of 2^shift.
    shift: u32,
    /// Bytes in order that the application has not read; none: the application reads at once.
    unread: Option<u64>,
    /// Right edge: one past the last byte ever offered. Maintained only while the application reads slowly.
    edge: u64,
    /// A window update is to be sent.
    update: bool,
    least_update: u64,
    /// Next byte expected.
    next: u64,
    /// Out-of-order ranges, ascending and disjoint.
    held: Vec<Block>,
    /// SACK blocks last reported, most recent first.
    reported: Vec<Block>,
    /// DSACK block to report.
    dsack: Option<Block>,
    /// Full-sized segments not yet acknowledged, at least one per segment received.
    unacked: u32,
    mss: u64,
    /// Number of initial segments still to be acknowledged at once (RFC rules).
    quick: u32,
    /// Adaptive delayed-ACK timeout (ATO); unused if `ack_delay_min` is zero.
    patience: Span,
    /// Arrival time of the last data.
    last_data: Option<Time>,
    /// Deadline of the delayed ACK.
    ack_due: Time,
    /// Timestamp to echo (TS.Recent).
    echo: Option<Time>,
    /// Arrival time of the segment that carried TS.Recent.
    echo_at: Time,
    last_ack_sent: u64,
    /// Retransmit flag of the first segment since the last ACK; the next ACK echoes it.
    resent: bool,
    /// State of the rules taken from Linux.
    linux: Option<Box<Linux>>,
    /// Share of the host's window, if the host has a window manager.
    shared: Option<Box<Shared>>,
}

/// Result of a received segment with data, SYN or FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// ACK decision.
    pub answer: Answer,
    /// The segment contained no new data.
    pub duplicate: bool,
    /// Sequence numbers that are now in order: bytes, SYN and FIN.
    pub delivered: u64,
}

impl Receiver {
    /// A receiver that expects sequence number 0, the SYN, next.
    pub fn new(config: &Config) -> Self {
        let window = config.receiver.window.bytes(config.mss, u64::from(u32::MAX));
        let window = u32::try_from(window).unwrap_or(u32::MAX);
        let (window, shift) = on_the_wire(window, config);
        let linux = Linux::new(config);
        // A growing window starts at the window of the SYN.
        let growing = linux.as_ref().and_then(|l| l.buffer.as_ref());
        let (window, shift) = growing.map_or((window, shift), |b| (b.first() as u32, b.shift()));
        Receiver {
            config: config.receiver,
            sack: config.uses_sack(),
            paws: config.receiver.paws && config.receiver.echo != Echo::Latest,
            window,
            shift,
            unread: None,
            edge: 0,
            update: false,
            //= RFC 9293 section 3.8.6.2.2: the window is updated by at least a segment or half the buffer
            least_update: u64::from(config.mss).min(u64::from(window) / 2),
            next: 0,
            held: Vec::new(),
            reported: Vec::new(),
            dsack: None,
            unacked: 0,
            mss: u64::from(config.mss).max(1),
            quick: config.receiver.quick_acks,
            patience: config.receiver.ack_delay_min,
            last_data: None,
            ack_due: Time::NEVER,
            echo: None,
            echo_at: Time::ZERO,
            last_ack_sent: 0,
            resent: false,
            linux,
            shared: None,
        }
    }

    /// Replaces this receiver by `fresh`, before any data arrive. Keeps unread bytes and the share of the host's
    /// window.
    pub(super) fn start_anew(&mut self, fresh: Receiver) {
        let (unread, shared) = (self.unread, self.shared.take());
        *self = fresh;
        (self.unread, self.shared) = (unread, shared);
        self.edge = if unread.is_some() { self.next + u64::from(self.window) } else { 0 };
    }

    /// Next byte expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Deadline of the delayed ACK.
    pub fn next_timeout(&self) -> Time {
        self.ack_due
    }

    /// Processes a segment with data, SYN or FIN.
    #[inline(always)] // the connection's only call
    pub fn receive(&mut self, now: Time, segment: &Segment, rto: &RtoTimer) -> Arrival {
        let (seq, end) = (segment.seq, segment.end());
        if let Some(shared) = &mut self.shared {
            shared.now = now;
        }
        if self.unacked == 0 {
            self.resent = segment.resent;
        }
        if let Some(ts) = segment.timestamps {
            self.note_timestamp(now, seq, end, ts.value);
        }
        // A segment beyond the offered window is not accepted, but acknowledged (RFC 9293 section 3.10.7.4).
        let beyond = end > self.accepts_up_to();
        if end == seq || (beyond && !self.config.accept_beyond) {
            return Arrival { answer: Answer::Now, duplicate: false, delivered: 0 };
        }
        let before = self.next;
        // Only the rules of Linux go by it.
        let had = if self.linux.is_some() { self.kept() } else { BufferOccupancy::default() };
        let duplicate = self.has(seq, end);
        // Only what lies below SND.NXT of the peer's data or beside a gap can repeat anything.
        if (seq < before || !self.held.is_empty()) && self.config.dsack && self.sack {
            self.note_repeated(seq, end);
        }
        if duplicate {
            self.touch(seq, end);
        } else if seq <= self.next {
            self.next = end;
            if !self.held.is_empty() {
                self.absorb_held();
            }
        } else {
            self.hold(seq, end);
        }
        let delivered = self.next - before;
        if let Some(shared) = &self.shared
            && segment.len > 0
        {
            shared.share.arrived(delivered, seq > before && !duplicate);
        }
        let answer = match self.linux {
            Some(_) if !segment.syn => self.answer_as_linux(now, segment, rto, before, had, duplicate),
            _ => self.answer(now, seq, end, before),
        };
        if let Some(unread) = &mut self.unread {
            *unread += delivered;
        }
        Arrival { answer, duplicate, delivered }
    }

    /// Processes the timestamp of a segment without data (RFC 7323 rule only), and starts the RTT round of a Linux
    /// receive buffer.
    pub(super) fn read_peer_options(&mut self, now: Time, segment: &Segment) {
        if let Some(buffer) = self.linux.as_mut().and_then(|l| l.buffer.as_mut()) {
            buffer.open(now, self.next);
        }
        if let Some(ts) = segment.timestamps
            && self.config.echo == Echo::Rfc7323
        {
            self.note_timestamp(now, segment.seq, segment.seq, ts.value);
        }
    }
}
