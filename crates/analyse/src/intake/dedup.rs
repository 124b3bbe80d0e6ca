//! Duplicate frames of the capture itself, from several interfaces, both sides of a router, or mirror ports.
//!
//! Within a moment equal headers are enough. Later, a copy has the same IP identification and content, and a time to live
//! that is equal or lower: a retransmission gets a new identification (RFC 6864 section 4.3 keeps one from coming round within
//! the lifetime of a packet), and its time to live does not fall between two transmissions. See ADR 0033.

use super::observation::Observation;
use base::rng::mix;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// What tells packets apart.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mark {
    t: Time,
    id: Option<u16>,
    seq: u32,
    ack: u32,
    payload: u32,
    flags: u8,
    window: u16,
    stamps: Option<(u32, u32)>,
    sack: (u32, u32),
    interface: u32,
    ttl: u8,
}

/// The packet that last had an identification.
#[derive(Clone, Copy, Debug)]
struct Last {
    t: Time,
    content: u64,
    /// Its place among all packets of this sender.
    place: u64,
    ttl: u8,
}

/// Packets back that are compared header by header.
const DEPTH: usize = 16;
/// Copies with an identification come within this, whatever else the sender does with its identifications.
const MOMENT: Span = Span::from_millis(5);
/// Without an identification, within this: no sender repeats itself so soon.
const INSTANT: Span = Span::from_nanos(200_000);
/// No retransmission timer in use is shorter; an equal time to live is enough within this, before it is known how the sender
/// counts.
const TIMER: Span = Span::from_millis(190);
/// Lifetime of a packet in the network: an identification is not used again within it (RFC 6864 section 4.1, RFC 9293
/// section 3.4.1).
const LIFETIME: Span = Span::from_secs(120);
/// Packets of one sender after which its identifications may have come round.
const ROUND: u64 = 1 << 15;
/// A copy without an identification that lost hops on its way comes within this, and within so many packets.
const ON_ITS_WAY: Span = Span::from_secs(1);
const NEAR: usize = 1 << 12;

/// The packets of one sender, as far as copies of them can come.
#[derive(Debug, Default)]
pub(crate) struct Twice {
    last: Vec<Mark>,
    next: usize,
    by_id: BTreeMap<u16, Last>,
    /// The last packets without an identification, by content, and in their order.
    by_content: BTreeMap<u64, Last>,
    order: VecDeque<u64>,
    /// Hops that copies had lost.
    hops: Option<u8>,
    packets: u64,
    /// Packets whose identification another packet had a moment before: then it identifies nothing.
    shared: u64,
    /// How far apart most copies are that an identification has told, and by how many more than are not.
    lag: (Span, u32),
    /// Copies that an identification has told.
    told: u32,
}

impl Mark {
    fn of(o: &Observation) -> Mark {
        let head = &o.head;
        Mark {
            t: o.t,
            id: o.id.filter(|id| *id != 0),
            seq: head.seq,
            ack: head.ack,
            payload: o.payload,
            flags: head.flags,
            window: head.window,
            stamps: head.timestamps,
            sack: head.blocks().first().copied().unwrap_or_default(),
            interface: o.interface,
            ttl: o.ttl,
        }
    }

    fn content(&self) -> u64 {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let (stamp, echo) = self.stamps.unwrap_or_default();
        let rest = u64::from(self.flags) << 16 | u64::from(self.window);
        [pair(self.seq, self.ack), pair(stamp, echo), pair(self.sack.0, self.sack.1), rest]
            .into_iter()
            .fold(u64::from(self.payload), |h, part| mix(h ^ mix(part)))
    }

    /// Bare acknowledgements are often alike.
    fn is_bare(&self) -> bool {
        self.payload == 0
    }
}

/// Two distances are those of one place at which packets were captured again.
pub(crate) fn is_near(a: Span, b: Span) -> bool {
    a.max(b).as_nanos() - a.min(b).as_nanos() <= INSTANT.as_nanos()
}

impl Twice {
    /// How long ago this packet was captured before, if it was.
    pub(crate) fn ago(&mut self, o: &Observation) -> Option<Span> {
        let mut mark = Mark::of(o);
        // Who counts has a 0 too, once in 65 536; where all are 0 it identifies nothing.
        mark.id = mark.id.or(o.id.filter(|_| self.comes_round()));
        let ago = self.at_once(&mark).or_else(|| self.later(&mark)).or_else(|| self.lost_hops(&mark));
        if ago.is_some() {
            return ago;
        }
        self.packets += 1;
        if self.last.len() < DEPTH {
            self.last.push(mark);
        } else {
            self.last[self.next] = mark;
            self.next = (self.next + 1) % DEPTH;
        }
        None
    }

    /// The last identifications before 0 were seen not long ago. Several belong to a packet that a network card put together.
    fn comes_round(&self) -> bool {
        let last = self.by_id.range(u16::MAX - 63..);
        { last }.any(|(_, last)| self.packets - last.place <= ROUND)
    }

    /// The distance at which what this sender sent was captured again, where identifications tell that it nearly always was.
    pub(crate) fn lag(&self) -> Option<Span> {
        let (lag, more) = self.lag;
        (more >= 4 && more * 4 >= self.told * 3).then_some(lag)
    }

    /// A copy came so much later. Those of an instant tell no distance.
    fn vote(&mut self, span: Span) {
        if span <= INSTANT {
            return;
        }
        let (lag, more) = self.lag;
        self.told += 1;
        self.lag = match more {
            0 => (span, 1),
            more if is_near(span, lag) => (lag, more + 1),
            more => (lag, more - 1),
        };
    }

    fn at_once(&mut self, mark: &Mark) -> Option<Span> {
        let same = |m: &Mark| Mark { t: mark.t, interface: mark.interface, ttl: mark.ttl, ..*m } == *mark;
        let soon = |m: &Mark| {
            let span = mark.t.since(m.t).max(m.t.since(mark.t));
            let lowered = mark.ttl < m.ttl;
            match mark.id {
                Some(_) => span <= MOMENT,
                // There only a second interface tells, or a hop in between.
                None if mark.is_bare() => span <= INSTANT && (m.interface != mark.interface || lowered),
                None => span <= INSTANT,
            }
        };
        let ago = self.last.iter().find(|m| same(m) && soon(m)).map(|m| mark.t.since(m.t))?;
        // Of copies taken within a moment the one that has lost fewest hops need not come first.
        if let Some(known) = mark.id.and_then(|id| self.by_id.get_mut(&id)) {
            known.ttl = known.ttl.max(mark.ttl);
        }
        if mark.id.is_some() {
            self.vote(ago);
        }
        Some(ago)
    }

    /// The same identification and content as a packet before, at any distance at which the identification cannot have come
    /// round.
    fn later(&mut self, mark: &Mark) -> Option<Span> {
        let id = mark.id?;
        let place = self.packets;
        let new = Last { t: mark.t, content: mark.content(), place, ttl: mark.ttl };
        let before = self.by_id.insert(id, new)?;
        if place - before.place > ROUND {
            return None;
        }
        let span = mark.t.since(before.t);
        if before.content != new.content {
            self.shared += u64::from(span <= LIFETIME);
            return None;
        }
        let counts = self.shared * 50 <= self.packets && self.by_id.len() > 1;
        let copy = span <= LIFETIME
            && match (counts, mark.ttl) {
                (_, ttl) if ttl > before.ttl => false,
                (true, _) => true,
                (false, ttl) => ttl < before.ttl || span <= TIMER && self.shared == 0,
            };
        if copy {
            self.vote(span);
            self.hops = (mark.ttl < before.ttl).then(|| before.ttl - mark.ttl).or(self.hops);
            // A third copy is compared with the first: hops are lost one after the other.
            self.by_id.insert(id, Last { t: mark.t, ..before });
        }
        copy.then_some(span)
    }
}

impl Twice {
    /// Without an identification: equal content that lost hops on its way. Data or timestamps tell it from others.
    fn lost_hops(&mut self, mark: &Mark) -> Option<Span> {
        if mark.id.is_some() || mark.is_bare() && mark.stamps.is_none() {
            return None;
        }
        let new = Last { t: mark.t, content: mark.content(), place: self.packets, ttl: mark.ttl };
        if let Some(before) = self.by_content.get(&new.content).filter(|b| mark.ttl < b.ttl) {
            let span = mark.t.since(before.t);
            let known = self.hops == Some(before.ttl - mark.ttl);
            let most = if known || mark.stamps.is_some() { ON_ITS_WAY } else { TIMER };
            return Some(span).filter(|span| *span <= most);
        }
        if self.by_content.insert(new.content, new).is_none() {
            self.order.push_back(new.content);
        }
        if self.order.len() > NEAR
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_content.remove(&oldest);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::wire::{TcpHead, flag};
    use std::net::{IpAddr, Ipv4Addr};

    fn packet(ms: u64, id: u16, seq: u32, ttl: u8) -> Observation {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        Observation {
            t: Time::ZERO + Span::from_millis(ms),
            interface: 0,
            source: address(1),
            destination: address(2),
            id: Some(id),
            size: 1040,
            payload: 1000,
            ecn: 0,
            ttl,
            head: TcpHead { seq, flags: flag::ACK, ..TcpHead::default() },
        }
    }

    fn copies(packets: &[Observation]) -> usize {
        let mut twice = Twice::default();
        packets.iter().filter(|o| twice.ago(o).is_some()).count()
    }

    #[test]
    fn a_router_lowers_the_time_to_live() {
        let sent: Vec<_> = (0..40).map(|n| packet(n * 10, n as u16 + 7, n as u32 * 1000, 64)).collect();
        // The other side of the router, up to 3 s later: hundreds of packets lie between.
        for late in [6, 50, 3000] {
            let mut both = sent.clone();
            both.extend(sent.iter().map(|o| Observation { t: o.t + Span::from_millis(late), ttl: 63, ..*o }));
            both.sort_by_key(|o| o.t);
            assert_eq!(copies(&both), 40, "{late} ms");
            // Three places.
            both.extend(sent.iter().map(|o| Observation {
                t: o.t + Span::from_millis(2 * late),
                ttl: 62,
                ..*o
            }));
            both.sort_by_key(|o| o.t);
            assert_eq!(copies(&both), 80, "{late} ms");
        }
    }

    /// Of copies taken within a moment the first may be the one that has lost a hop; the next comes later.
    #[test]
    fn copies_of_a_moment_come_in_any_order() {
        let mut all = Vec::new();
        for n in 0..40u16 {
            let one = packet(u64::from(n) * 100, n + 7, u32::from(n) * 1000, 63);
            all.push(one);
            all.push(Observation { ttl: 64, ..one });
            all.push(Observation { ttl: 64, t: one.t + Span::from_millis(20), ..one });
        }
        assert_eq!(copies(&all), 80);
    }

    /// Version 6, and hosts that write no identification.
    #[test]
    fn without_identification_lost_hops_tell() {
        let bare = |n: u64| Observation { id: None, ..packet(n * 10, 0, n as u32 * 1000, 64) };
        let sent: Vec<_> = (0..40).map(bare).collect();
        let copied = |late: u64, ttl: u8| {
            let mut both = sent.clone();
            both.extend(sent.iter().map(|o| Observation { t: o.t + Span::from_millis(late), ttl, ..*o }));
            both.sort_by_key(|o| o.t);
            copies(&both)
        };
        assert_eq!((copied(50, 63), copied(50, 64), copied(300, 63)), (40, 0, 0));
    }

    #[test]
    fn what_is_sent_again_is_no_copy() {
        let mut all: Vec<_> = (0..40).map(|n| packet(n * 10, n as u16 + 7, n as u32 * 1000, 64)).collect();
        // A new identification; the same one from a host that writes one number into all its packets; a higher time to live.
        all.push(packet(600, 47, 5000, 64));
        assert_eq!(copies(&all), 0);
        let constant: Vec<_> = (0..40).map(|n| packet(n * 300, 4711, n as u32 / 2 * 1000, 64)).collect();
        assert_eq!(copies(&constant), 0);
        all.push(packet(700, 20, 13_000, 65));
        assert_eq!(copies(&all), 0);
        // The identification has come round.
        let mut long: Vec<_> = (0..70_000u64).map(|n| packet(n, n as u16, n as u32, 64)).collect();
        long.push(packet(70_001, 70_000u64 as u16, 70_000 - 65_536, 64));
        assert_eq!(copies(&long), 0);
    }
}
