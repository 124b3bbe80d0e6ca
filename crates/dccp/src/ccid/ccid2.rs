//! CCID 2, TCP-like congestion control (RFC 4341): window, pipe and timeout in packets.

use super::Fate;
use crate::ackvec::State;
use crate::packet::Dccp;
use base::{Span, Time};
use std::collections::VecDeque;

/// Later packets acknowledged after which a packet counts as lost (RFC 4341 section 5: NUMDUPACK).
const LATER: u32 = 3;
/// Minimum and initial value of the retransmission timeout (RFC 6298).
const LEAST_RTO: Span = Span::from_secs(1);
const MOST_RTO: Span = Span::from_secs(60);
/// Initial window for packets of up to 1095 bytes (RFC 4341 section 5, RFC 3390).
const INITIAL_WINDOW: f64 = 4.0;

/// A data packet that was sent, until its fate and that of all earlier packets is known.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    at: Time,
    acked: bool,
}

/// The sending half of CCID 2.
#[derive(Clone, Debug)]
pub struct Ccid2 {
    window: f64,
    threshold: f64,
    /// Data packets from the oldest one that is neither acknowledged nor lost, oldest first.
    sent: VecDeque<Sent>,
    pipe: u32,
    /// Losses of packets with higher sequence numbers than this are a new congestion event.
    reduced_at: u64,
    newest: u64,
    srtt: Option<(f64, f64)>,
    backoff: u32,
    deadline: Time,
    reductions: u64,
    expirations: u64,
    /// The sender is limited by the congestion window (RFC 7661: cwnd-limited).
    limited: bool,
}

impl Default for Ccid2 {
    fn default() -> Self {
        Ccid2 {
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            sent: VecDeque::new(),
            pipe: 0,
            reduced_at: 0,
            newest: 0,
            srtt: None,
            backoff: 1,
            deadline: Time::NEVER,
            reductions: 0,
            expirations: 0,
            limited: false,
        }
    }
}

impl Ccid2 {
    /// Earliest time of the next packet.
    pub fn next_send(&self) -> Time {
        if f64::from(self.pipe) < libm::floor(self.window).max(1.0) { Time::ZERO } else { Time::NEVER }
    }
    /// Sets the initial RTT estimate, unless one exists.
    pub fn seed(&mut self, rtt: Span) {
        let s = rtt.as_secs_f64();
        self.srtt = self.srtt.or(Some((s, s / 2.0)));
    }
    /// Records the transmission of data packet `seq`.
    pub fn on_send(&mut self, now: Time, seq: u64) {
        self.sent.push_back(Sent { seq, at: now, acked: false });
        self.pipe += 1;
        self.newest = seq;
        self.limited = f64::from(self.pipe) >= libm::floor(self.window).max(1.0);
        if self.deadline.is_never() {
            self.arm(now);
        }
    }

    fn timeout(&self) -> Span {
        //= RFC 6298 section 2.3: RTO = SRTT + max (G, K*RTTVAR)
        let base = self.srtt.map_or(LEAST_RTO, |(srtt, var)| Span::from_secs_f64(srtt + 4.0 * var));
        base.max(LEAST_RTO).times(u64::from(self.backoff)).min(MOST_RTO)
    }
    fn arm(&mut self, now: Time) {
        self.deadline = if self.pipe > 0 { now + self.timeout() } else { Time::NEVER };
    }
    fn sample(&mut self, rtt: f64) {
        self.srtt = Some(match self.srtt {
            None => (rtt, rtt / 2.0),
            Some((srtt, var)) => {
                let deviation = if srtt > rtt { srtt - rtt } else { rtt - srtt };
                (0.875 * srtt + 0.125 * rtt, 0.75 * var + 0.25 * deviation)
            }
        });
    }

    /// An acknowledgement with an Ack Vector arrived.
    pub fn on_ack(&mut self, now: Time, packet: &Dccp, mut fate: impl FnMut(Fate)) {
        let (Some(ack), Some(vector)) = (packet.ack, packet.ack_vector()) else { return };
        let (mut fresh, mut marked, mut newest) = (0_u32, None, None);
        let Some(oldest) = self.sent.front().map(|s| s.seq) else { return };
        vector.each(ack, |seq, state| {
            if seq < oldest || !matches!(state, State::Received | State::Marked) {
                return;
            }
            let at = self.sent.partition_point(|s| s.seq < seq);
            let Some(sent) = self.sent.get_mut(at).filter(|s| s.seq == seq && !s.acked) else { return };
            sent.acked = true;
            self.pipe = self.pipe.saturating_sub(1);
            fresh += 1;
            newest = newest.max(Some((seq, sent.at)));
            fate(Fate { seq, arrived: true });
            if state == State::Marked {
                marked = marked.max(Some(seq));
            }
        });
        if let Some((_, at)) = newest {
            self.sample(now.since(at).as_secs_f64());
            self.backoff = 1;
        }
        let lost = self.find_lost(&mut fate);
        if let Some(seq) = lost.max(marked) {
            self.reduce(seq);
        } else if self.limited {
            self.grow(fresh);
        }
        while self.sent.front().is_some_and(|s| s.acked) {
            self.sent.pop_front();
        }
        if fresh > 0 {
            self.arm(now);
        }
        self.limited = f64::from(self.pipe) >= libm::floor(self.window).max(1.0);
    }

    /// Marks packets with NUMDUPACK later ones acknowledged as lost; returns the highest lost sequence number.
    fn find_lost(&mut self, fate: &mut impl FnMut(Fate)) -> Option<u64> {
        let mut later = 0;
        let mut lost = None;
        for i in (0..self.sent.len()).rev() {
            let Some(sent) = self.sent.get_mut(i) else { continue };
            if sent.acked {
                later += 1;
            } else if later >= LATER {
                sent.acked = true;
                self.pipe = self.pipe.saturating_sub(1);
                lost = lost.max(Some(sent.seq));
                fate(Fate { seq: sent.seq, arrived: false });
            }
        }
        lost
    }

    fn grow(&mut self, fresh: u32) {
        //= RFC 4341 section 5: cwnd grows by one packet for every two newly acknowledged in slow start
        if self.window < self.threshold {
            self.window += 0.5 * f64::from(fresh);
        } else {
            self.window += f64::from(fresh) / self.window;
        }
    }

    fn reduce(&mut self, seq: u64) {
        //= RFC 4341 section 5: one congestion event per window of data
        if seq <= self.reduced_at {
            return;
        }
        self.reduced_at = self.newest;
        self.window = (self.window / 2.0).max(1.0);
        self.threshold = self.window.max(2.0);
        self.reductions += 1;
    }

    /// Expiry time of the retransmission timer.
    pub fn next_timeout(&self) -> Time {
        self.deadline
    }
    /// RTO expiry: all outstanding packets count as lost.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline > now {
            return;
        }
        self.expirations += 1;
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
        self.pipe = 0;
        self.sent.clear();
        self.reduced_at = self.newest;
        self.backoff = (self.backoff * 2).min(64);
        self.deadline = Time::NEVER;
    }
    /// Retransmission timeout with backoff; none before the first RTT sample.
    pub fn rto(&self) -> Option<Span> {
        self.srtt.map(|_| self.timeout())
    }
    /// Smoothed round-trip time; zero before the first sample.
    pub fn rtt(&self) -> Span {
        self.srtt.map_or(Span::ZERO, |(s, _)| Span::from_secs_f64(s))
    }
    /// Congestion window in packets.
    pub fn window(&self) -> f64 {
        self.window
    }
    /// Data packets in flight.
    pub fn pipe(&self) -> u32 {
        self.pipe
    }
    /// Congestion events.
    pub fn reductions(&self) -> u64 {
        self.reductions
    }
    /// Expirations of the retransmission timer.
    pub fn expirations(&self) -> u64 {
        self.expirations
    }
}
