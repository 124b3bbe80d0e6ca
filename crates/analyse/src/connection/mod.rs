//! State of one TCP connection: handshake options, both directions, RTT from the capture point to each end, duplicate
//! frames; at the end a connection report (`Flow`).

pub(crate) mod table;

use crate::direction::Direction;
use crate::findings::flow::Flow;
use crate::findings::profile;
use crate::intake::dedup::CopyFilter;
use crate::intake::limits::Limits;
use crate::intake::observation::{Endpoint, Observation};
use base::wire::flag;
use base::{Span, Time};

/// Fields of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug)]
struct Opening {
    t: Time,
    seq: u32,
    /// Acknowledgement number of a SYN-ACK.
    ack: Option<u32>,
    mss: Option<u16>,
    scale: Option<u8>,
    sack: bool,
    ecn: bool,
    again: bool,
    /// The options are truncated by the capture, so absent ones may have been sent.
    cut: bool,
}

/// TCP connection with its two directions.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    /// Endpoint that sent the first captured packet.
    one: Endpoint,
    other: Endpoint,
    /// SYN or SYN-ACK of each end: index 0 is `one`, 1 is `other`.
    opening: [Option<Opening>; 2],
    /// Index of the client, if the SYN was captured.
    client: Option<usize>,
    directions: [Direction; 2],
    twice: [CopyFilter; 2],
    first: Time,
    last: Time,
    packets: u64,
    bytes: u64,
    captured_twice: u64,
    copies_apart: Span,
    reset: bool,
    finished: [bool; 2],
    /// Latest TSval of each end not echoed yet, with its capture time: for the RTT to the opposite end.
    asked: [Option<(u32, Time)>; 2],
    third: bool,
}

/// Idle time after which a SYN begins a new connection whatever its sequence number.
const OLD: Span = Span::from_secs(120);

impl Connection {
    pub(crate) fn new(keep: Limits, number: u64, o: &Observation) -> Connection {
        Connection {
            number,
            one: o.from(),
            other: o.to(),
            opening: [None; 2],
            client: None,
            directions: [Direction::new(keep), Direction::new(keep)],
            twice: [CopyFilter::default(), CopyFilter::default()],
            first: o.t,
            last: o.t,
            packets: 0,
            bytes: 0,
            captured_twice: 0,
            copies_apart: Span::ZERO,
            reset: false,
            finished: [false; 2],
            asked: [None; 2],
            third: false,
        }
    }

    fn side(&self, from: Endpoint) -> usize {
        usize::from(from != self.one)
    }

    /// Whether this packet begins a new connection with the same four-tuple.
    pub(crate) fn is_over_with(&self, o: &Observation) -> bool {
        if !o.head.has(flag::SYN) || o.head.has(flag::ACK) || self.packets == 0 {
            return false;
        }
        match self.opening[self.side(o.from())] {
            Some(opening) => opening.seq != o.head.seq || o.t.since(self.last) > OLD,
            // The SYN-ACK was captured before its SYN.
            None if self.opening[1 - self.side(o.from())]
                .is_some_and(|answer| answer.ack == Some(o.head.seq.wrapping_add(1))) =>
            {
                false
            }
            // The capture joined the old connection in the middle; a new one begins.
            None => {
                self.directions[self.side(o.from())].begun
                    || self.opening.iter().any(Option::is_some)
                    || self.reset
            }
        }
    }

    /// Time since the last packet; [`Span::FOREVER`] after RST or both FINs.
    pub(crate) fn quiet(&self, now: Time) -> Span {
        if self.reset || self.finished == [true; 2] { Span::FOREVER } else { now.since(self.last) }
    }

    pub(crate) fn push(&mut self, o: &Observation) {
        let side = self.side(o.from());
        self.last = self.last.max(o.t);
        if let Some(ago) = self.twice[side].ago(o) {
            self.captured_twice += 1;
            self.copies_apart = self.copies_apart.max(ago);
            return;
        }
        self.packets += 1;
        self.bytes += u64::from(o.size);
        let head = &o.head;
        if head.has(flag::SYN) {
            self.open(side, o);
        }
        self.reset |= head.has(flag::RST);
        self.finished[side] |= head.has(flag::FIN);
        self.locate(side, o);
        let scale = self.scale(side);
        self.directions[1 - side].on_answer(o, scale);
        self.directions[side].on_sent(o);
    }

    /// Window scale shift of `side`; None if the handshake does not show it.
    fn scale(&self, side: usize) -> Option<u8> {
        let unknown = |o: &Opening| o.cut && o.scale.is_none();
        if self.opening.iter().flatten().any(unknown) {
            return None;
        }
        match (self.opening[side], self.opening[1 - side]) {
            (Some(a), Some(b)) => Some(a.scale.filter(|_| b.scale.is_some()).unwrap_or(0)),
            // The peer offers no window scaling, so neither side scales.
            (None, Some(b)) if b.scale.is_none() => Some(0),
            (Some(a), None) if a.scale.is_none() => Some(0),
            // A SYN-ACK carries the option only if the SYN did (RFC 7323 section 2.2).
            (Some(a), None) if a.ack.is_some() => a.scale,
            _ => None,
        }
    }

    fn open(&mut self, side: usize, o: &Observation) {
        let head = &o.head;
        let ack = head.has(flag::ACK);
        let again = self.opening[side].is_some();
        self.opening[side] = Some(Opening {
            t: o.t,
            seq: head.seq,
            ack: ack.then_some(head.ack),
            mss: head.mss,
            scale: head.scale,
            sack: head.permits_sack,
            ecn: if ack { head.has(flag::ECE) } else { head.has(flag::ECE) && head.has(flag::CWR) },
            again,
            cut: head.cut,
        });
        if let [Some(a), Some(b)] = &self.opening
            && (a.sack || !a.cut)
            && (b.sack || !b.cut)
        {
            let sack = a.sack && b.sack;
            self.directions.iter_mut().for_each(|direction| {
                (direction.judge.may_report, direction.judge.without_sack) = (sack, !sack)
            });
        }
        let mss = self.opening.iter().flatten().filter_map(|opening| opening.mss).min();
        self.directions.iter_mut().for_each(|direction| direction.mss = mss);
        // After the handshake the path's queues are empty.
        self.directions.iter_mut().for_each(|direction| direction.rtt.empty_path = true);
        if !again {
            self.client.get_or_insert(if ack { 1 - side } else { side });
        }
    }

    /// Samples the RTT between the capture point and each end: from the handshake, then from timestamps and echoes.
    fn locate(&mut self, side: usize, o: &Observation) {
        let head = &o.head;
        // The acknowledged packet must have been sent once; the ACK may be a retransmission.
        if let (Some(mine), Some(theirs)) = (self.opening[side], self.opening[1 - side])
            && !theirs.again
        {
            if head.has(flag::SYN) && head.has(flag::ACK) {
                if !mine.again {
                    self.near(side, o.t.since(theirs.t));
                }
            } else if !self.third && !head.has(flag::SYN) && self.client == Some(side) {
                self.third = true;
                self.near(side, o.t.since(theirs.t));
            }
        }
        let Some((value, echo)) = head.timestamps else { return };
        // This packet echoes the TSval recorded from the opposite end.
        if let Some((asked, t)) = self.asked[1 - side]
            && (echo == asked || crate::facts::copies::later(echo, asked))
        {
            if echo == asked {
                self.near(side, o.t.since(t));
            }
            self.asked[1 - side] = None;
        }
        if self.asked[side].is_none() {
            self.asked[side] = Some((value, o.t));
        }
    }

    /// Adds a sample of the RTT between capture point and `side`.
    fn near(&mut self, side: usize, span: Span) {
        self.directions[side].place.sender(span);
        self.directions[1 - side].place.receiver(span);
    }

    pub(crate) fn finish(self) -> Flow {
        // Without the SYN, the end with the smaller port counts as the server.
        let client = self.client.unwrap_or(usize::from(self.one.port < self.other.port));
        let ends = [self.one, self.other];
        let opening = self.opening;
        let both = |f: fn(&Opening) -> bool| match opening {
            [Some(a), Some(b)] if (f(&a) || !a.cut) && (f(&b) || !b.cut) => Some(f(&a) && f(&b)),
            [Some(a), None] | [None, Some(a)] if !f(&a) && !a.cut => Some(false),
            _ => None,
        };
        let [a, b] = self.directions;
        let copied = self.twice.iter().find_map(CopyFilter::lag);
        let (a, b) = (a.finish(copied), b.finish(copied));
        let seen = [a.1, b.1];
        let mut directions = [a.0, b.0];
        for (side, direction) in directions.iter_mut().enumerate() {
            direction.options.mss = opening[1 - side].and_then(|o| o.mss);
            direction.options.scale = opening[1 - side].and_then(|o| o.scale);
            direction.options.sack = both(|o| o.sack);
            direction.options.ecn = both(|o| o.ecn);
            if direction.data_packets > 0 {
                direction.profile = profile::check(direction, seen[side]);
            }
        }
        if client == 1 {
            directions.swap(0, 1);
        }
        Flow {
            client: ends[client],
            server: ends[1 - client],
            opened: self.client.is_some(),
            first: self.first,
            last: self.last,
            packets: self.packets,
            bytes: self.bytes,
            captured_twice: self.captured_twice,
            copies_apart: self.copies_apart,
            reset: self.reset,
            directions,
        }
    }
}
