//! Duplicate frames of a capture (`CopyFilter`): one packet recorded at several interfaces, both sides of a router, or
//! mirror ports.
//!
//! Within 5 ms equal headers suffice. Later, a copy has equal IP identification and content, and an equal or
//! lower time to live. A retransmission gets a new identification (RFC 6864 section 4.3 forbids reuse within
//! a packet's lifetime), and its time to live does not fall. Pure ACKs without identification are copies if the sender's
//! advancing ACKs are repeated too. See ADR 0033.

use super::doubling::{Doubling, Repetition};
use super::majority::Majority;
use super::observation::Observation;
use base::rng::mix;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Header fields that identify a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Mark {
    pub(super) t: Time,
    id: Option<u16>,
    seq: u32,
    pub(super) ack: u32,
    payload: u32,
    pub(super) flags: u8,
    window: u16,
    stamps: Option<(u32, u32)>,
    sack: (u32, u32),
    interface: u32,
    pub(super) ttl: u8,
    /// Copies of this pure ACK found so far.
    copies: u8,
}

/// Last packet with an identification or content.
#[derive(Clone, Copy, Debug)]
struct Last {
    t: Time,
    content: u64,
    /// Number of packets of this sender before it.
    place: u64,
    ttl: u8,
}

/// Number of recent packets compared by their headers.
const DEPTH: usize = 16;
/// Time within which packets with equal headers and identification are duplicates, even if the sender reuses
/// identifications.
const MOMENT: Span = Span::from_millis(5);
/// Time within which packets without identification are duplicates: no sender repeats a packet so soon.
const INSTANT: Span = Span::from_nanos(200_000);
/// Shortest retransmission timer of stacks in use. Within it an equal TTL suffices, even before the numbering of the
/// sender is known.
const TIMER: Span = Span::from_millis(190);
/// Maximum packet lifetime, within which an identification is not reused (RFC 6864 section 4.1, RFC 9293
/// section 3.4.1).
const LIFETIME: Span = Span::from_secs(120);
/// Packets of one sender after which its identifications may have wrapped around.
const ROUND: u64 = 1 << 15;
/// Time within which a duplicate without identification but with a lower TTL may follow.
const ON_ITS_WAY: Span = Span::from_secs(1);
/// Number of recent packets without identification that are stored.
const NEAR: usize = 1 << 12;

/// Recent packets of one sender, for comparison.
#[derive(Debug, Default)]
pub(crate) struct CopyFilter {
    last: Vec<Mark>,
    next: usize,
    by_id: BTreeMap<u16, Last>,
    /// Recent packets without identification, by content.
    by_content: BTreeMap<u64, Last>,
    /// Contents of these packets in capture order.
    order: VecDeque<u64>,
    /// Hops between a packet and its duplicates, from the TTL.
    hops: Option<u8>,
    packets: u64,
    /// Packets whose identification another packet used within [`LIFETIME`], so that it is not unique.
    shared: u64,
    /// Distances of duplicates found by IP identification.
    lag: Majority<Span>,
    /// Distances of equal data packets without identification.
    alike: Majority<Span>,
    /// Number of data packets without identification.
    bare_data: u32,
    doubling: Doubling,
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
            copies: 0,
        }
    }

    pub(super) fn content(&self) -> u64 {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let (stamp, echo) = self.stamps.unwrap_or_default();
        let rest = u64::from(self.flags) << 16 | u64::from(self.window);
        [pair(self.seq, self.ack), pair(stamp, echo), pair(self.sack.0, self.sack.1), rest]
            .into_iter()
            .fold(u64::from(self.payload), |h, part| mix(h ^ mix(part)))
    }

    /// Whether the packet is a pure ACK; pure ACKs are often identical.
    fn is_bare(&self) -> bool {
        self.payload == 0
    }
}

/// Whether two distances are equal within [`INSTANT`], so that they belong to one second capture point.
pub(crate) fn is_near(a: Span, b: Span) -> bool {
    a.max(b).as_nanos() - a.min(b).as_nanos() <= INSTANT.as_nanos()
}

impl CopyFilter {
    /// Time since the original was captured, if this packet is a duplicate.
    pub(crate) fn ago(&mut self, o: &Observation) -> Option<Span> {
        let mut mark = Mark::of(o);
        // A sender that counts also uses 0, once in 65 536 packets; a constant 0 identifies nothing.
        mark.id = mark.id.or(o.id.filter(|_| self.comes_round()));
        if mark.id.is_none() && mark.is_bare() {
            self.doubling.see(&mark, INSTANT, TIMER);
        }
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

    /// Whether identifications just below 65 536 were seen recently. Offload may merge several identifications into
    /// one packet.
    fn comes_round(&self) -> bool {
        let last = self.by_id.range(u16::MAX - 63..);
        { last }.any(|(_, last)| self.packets - last.place <= ROUND)
    }

    /// Distance at which the sender's packets are captured twice, if nearly all duplicates have this distance.
    pub(crate) fn lag(&self) -> Option<Span> {
        let most =
            |lag: &Majority<Span>, of: u32| (lag.lead >= 4 && lag.lead * 4 >= of * 3).then_some(lag.value);
        most(&self.lag, self.lag.votes).or_else(|| most(&self.alike, self.bare_data / 2))
    }

    /// Records the distance of a duplicate; duplicates of the same instant have none.
    fn vote(&mut self, span: Span) {
        if span > INSTANT {
            self.lag.vote(span, is_near);
        }
    }

    fn at_once(&mut self, mark: &Mark) -> Option<Span> {
        let same =
            |m: &Mark| Mark { t: mark.t, interface: mark.interface, ttl: mark.ttl, copies: 0, ..*m } == *mark;
        let most = self.doubling.copies();
        let soon = |m: &Mark| {
            let span = mark.t.since(m.t).max(m.t.since(mark.t));
            let lowered = mark.ttl < m.ttl;
            match mark.id {
                Some(_) => span <= MOMENT,
                // A pure ACK needs a second interface, a lower time to live or the sender's other ACKs as proof.
                None if mark.is_bare() => {
                    span <= INSTANT && (m.interface != mark.interface || lowered || m.copies < most)
                }
                None => span <= INSTANT,
            }
        };
        let original = self.last.iter_mut().find(|m| same(m) && soon(m))?;
        original.copies = original.copies.saturating_add(1);
        let ago = mark.t.since(original.t);
        // Of duplicates captured within [`MOMENT`], the one with the highest TTL need not be the first.
        if let Some(known) = mark.id.and_then(|id| self.by_id.get_mut(&id)) {
            known.ttl = known.ttl.max(mark.ttl);
        }
        if mark.id.is_some() {
            self.vote(ago);
        }
        Some(ago)
    }

    /// Duplicate by identification and content, as long as the identification cannot have wrapped around.
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
            // A third capture is compared with the first, since the TTL falls hop by hop.
            self.by_id.insert(id, Last { t: mark.t, ..before });
        }
        copy.then_some(span)
    }
}

impl CopyFilter {
    /// Without identification: equal content and a lower time to live. Data, timestamps or the repetition of the sender's
    /// other ACKs distinguish the packet from duplicate ACKs.
    fn lost_hops(&mut self, mark: &Mark) -> Option<Span> {
        let ambiguous = mark.is_bare() && mark.stamps.is_none();
        if mark.id.is_some() || ambiguous && !self.doubling.holds(Repetition::LowerTtl) {
            return None;
        }
        self.bare_data += u32::from(!mark.is_bare());
        let new = Last { t: mark.t, content: mark.content(), place: self.packets, ttl: mark.ttl };
        let before = self.by_content.get(&new.content).copied();
        // Many packets may lie in between if the capture has coarse times or recorded packets in bunches.
        if let Some(before) = before.filter(|_| !mark.is_bare()) {
            let span = mark.t.since(before.t);
            if span <= INSTANT {
                return Some(span);
            }
            // Equal content at one recurring distance indicates a second capture point.
            self.alike.vote(span, is_near);
        }
        if let Some(before) = before.filter(|b| mark.ttl < b.ttl) {
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
        let mut twice = CopyFilter::default();
        packets.iter().filter(|o| twice.ago(o).is_some()).count()
    }

    #[test]
    fn a_router_lowers_the_time_to_live() {
        let sent: Vec<_> = (0..40).map(|n| packet(n * 10, n as u16 + 7, n as u32 * 1000, 64)).collect();
        // Captured on the other side of the router up to 3 s later, hundreds of packets apart.
        for late in [6, 50, 3000] {
            let mut both = sent.clone();
            both.extend(sent.iter().map(|o| Observation { t: o.t + Span::from_millis(late), ttl: 63, ..*o }));
            both.sort_by_key(|o| o.t);
            assert_eq!(copies(&both), 40, "{late} ms");
            // Three capture points.
            both.extend(sent.iter().map(|o| Observation {
                t: o.t + Span::from_millis(2 * late),
                ttl: 62,
                ..*o
            }));
            both.sort_by_key(|o| o.t);
            assert_eq!(copies(&both), 80, "{late} ms");
        }
    }

    /// Of duplicates captured within [`MOMENT`], the first may have the lower TTL.
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

    /// IPv6, and hosts that write no identification.
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

    /// Pure ACKs without identification and timestamps: 20 that advance, then five duplicates within 0.1 ms.
    fn bare_acks() -> Vec<Observation> {
        let ack = |us: u64, ack: u32| Observation {
            t: Time::ZERO + Span::from_nanos(us * 1000),
            id: None,
            payload: 0,
            head: TcpHead { ack, flags: flag::ACK, ..TcpHead::default() },
            ..packet(0, 0, 0, 64)
        };
        let mut all: Vec<_> = (0..20).map(|n| ack(n * 10_000, n as u32 * 1000)).collect();
        all.extend((1..=5).map(|n| ack(190_000 + n * 20, 19_000)));
        all
    }

    #[test]
    fn repeated_acks_are_copies_where_advancing_acks_are_repeated() {
        let sent = bare_acks();
        for (late, ttl) in [(1, 64), (6_000, 63)] {
            let mut both = sent.clone();
            both.extend(sent.iter().map(|o| Observation {
                t: o.t + Span::from_nanos(late * 1000),
                ttl,
                ..*o
            }));
            both.sort_by_key(|o| o.t);
            // The first ACKs are the votes.
            let found = copies(&both);
            assert!((22..=23).contains(&found), "{found} after {late} us");
        }
    }

    #[test]
    fn duplicate_acks_are_no_copies_where_advancing_acks_stand_alone() {
        assert_eq!(copies(&bare_acks()), 0);
    }

    #[test]
    fn what_is_sent_again_is_no_copy() {
        let mut all: Vec<_> = (0..40).map(|n| packet(n * 10, n as u16 + 7, n as u32 * 1000, 64)).collect();
        // A new identification, a constant identification, and a higher TTL.
        all.push(packet(600, 47, 5000, 64));
        assert_eq!(copies(&all), 0);
        let constant: Vec<_> = (0..40).map(|n| packet(n * 300, 4711, n as u32 / 2 * 1000, 64)).collect();
        assert_eq!(copies(&constant), 0);
        all.push(packet(700, 20, 13_000, 65));
        assert_eq!(copies(&all), 0);
        // The identification has wrapped around.
        let mut long: Vec<_> = (0..70_000u64).map(|n| packet(n, n as u16, n as u32, 64)).collect();
        long.push(packet(70_001, 70_000u64 as u16, 70_000 - 65_536, 64));
        assert_eq!(copies(&long), 0);
    }
}
