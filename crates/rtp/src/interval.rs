//! RTCP transmission interval (RFC 3550 sections 6.2 and 6.3, appendix A.7): bandwidth share, randomisation, timer
//! reconsideration.

use base::rng::Stream;
use base::{Span, Time};

/// Minimum interval; half of it before the first report (RFC 3550 section 6.2).
const MINIMUM_S: f64 = 5.0;
/// Share of the RTCP bandwidth for senders.
const SENDERS: f64 = 0.25;
/// Compensates that reconsideration lets the mean converge below the interval: e - 3/2.
const COMPENSATION: f64 = core::f64::consts::E - 1.5;
/// Weight of a packet in the mean RTCP packet size.
const SIZE_WEIGHT: f64 = 1.0 / 16.0;
/// Intervals of silence after which a participant is timed out (RFC 3550 section 6.3.5).
const TIMEOUT: f64 = 5.0;

/// Interval before randomisation, seconds: `bandwidth` of RTCP in octets/s, `size` the mean RTCP packet in octets.
pub fn deterministic(members: u32, senders: u32, bandwidth: f64, sends: bool, size: f64, first: bool) -> f64 {
    let minimum = if first { MINIMUM_S / 2.0 } else { MINIMUM_S };
    let (mut bandwidth, mut sharing) = (bandwidth, members);
    if f64::from(senders) <= f64::from(members) * SENDERS {
        if sends {
            (bandwidth, sharing) = (bandwidth * SENDERS, senders);
        } else {
            (bandwidth, sharing) = (bandwidth * (1.0 - SENDERS), members - senders);
        }
    }
    if bandwidth <= 0.0 {
        return minimum;
    }
    (size * f64::from(sharing) / bandwidth).max(minimum)
}

/// Timer of reports of one participant.
#[derive(Clone, Debug)]
pub struct Interval {
    chance: Stream,
    /// RTCP bandwidth, octets/s.
    bandwidth: f64,
    /// Mean size of RTCP packets, octets, with IP and UDP headers.
    size: f64,
    last: Time,
    next: Time,
    first: bool,
}

/// Numbers of participants and senders, and whether this participant sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Participants, this one included.
    pub all: u32,
    /// Participants that send data.
    pub senders: u32,
    /// Whether this participant sends data.
    pub sends: bool,
}

impl Interval {
    /// Timer of a session whose RTCP has this bandwidth (octets/s); `size` is the probable first packet.
    pub fn new(chance: Stream, bandwidth: f64, size: u32) -> Self {
        Interval {
            chance,
            bandwidth,
            size: f64::from(size),
            last: Time::ZERO,
            next: Time::NEVER,
            first: true,
        }
    }

    /// Joins the session.
    pub fn start(&mut self, now: Time, members: Members) {
        self.last = now;
        self.next = now + self.draw(members);
    }

    fn plain(&self, members: Members) -> f64 {
        let Members { all, senders, sends } = members;
        deterministic(all, senders, self.bandwidth, sends, self.size, self.first)
    }

    fn draw(&mut self, members: Members) -> Span {
        //= RFC 3550 section 6.3.1: uniform from 0.5 to 1.5 times the interval, over e - 3/2
        Span::from_secs_f64(self.plain(members) * (self.chance.uniform() + 0.5) / COMPENSATION)
    }

    /// The timer expired: true if a report is due; else it was put off (timer reconsideration, section 6.3.6).
    pub fn expire(&mut self, now: Time, members: Members) -> bool {
        if self.next > now {
            return false;
        }
        let at = self.last + self.draw(members);
        if at > now {
            self.next = at;
            return false;
        }
        self.last = now;
        self.first = false;
        self.next = now + self.draw(members);
        true
    }

    /// An RTCP packet was sent or received; octets with IP and UDP headers.
    pub fn on_packet(&mut self, size: u32) {
        self.size += SIZE_WEIGHT * (f64::from(size) - self.size);
    }

    /// A participant left: the timer comes nearer (reverse reconsideration, section 6.3.4).
    pub fn shrink(&mut self, now: Time, before: u32, after: u32) {
        if self.next.is_never() || before == 0 {
            return;
        }
        let share = f64::from(after) / f64::from(before);
        let ahead = self.next.since(now).as_secs_f64() * share;
        let behind = now.since(self.last).as_secs_f64() * share;
        self.next = now + Span::from_secs_f64(ahead);
        self.last = Time::from_secs_f64(now.as_secs_f64() - behind);
    }

    /// Silence after which a participant counts as gone.
    pub fn patience(&self, members: Members) -> Span {
        Span::from_secs_f64(TIMEOUT * self.plain(Members { sends: false, ..members }))
    }
    /// Expiry time of the timer.
    pub fn next(&self) -> Time {
        self.next
    }
    /// Mean size of RTCP packets, octets.
    pub fn size(&self) -> f64 {
        self.size
    }
    /// Stops the timer: no more reports are due.
    pub fn stop(&mut self) {
        self.next = Time::NEVER;
    }
}
