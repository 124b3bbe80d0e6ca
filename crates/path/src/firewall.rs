//! Stateful firewall between the Internet and a mobile network, at Gi behind the GGSN (catalogue GP-01).
//!
//! Packets pass if they belong to an entry. The inner side opens entries, the outer side only those of flows that are
//! open to it. An entry ends after an idle timeout, which depends on its protocol and state as in RFC 5382
//! section 5 and RFC 4787 section 4.3. Packets without an entry are discarded, and on request answered by RSTs.
//! Addresses are not translated. ICMP errors pass if the packet that they quote has an entry (RFC 5508
//! section 4). Later fragments of a packet of bytes pass: without the first one they reassemble to nothing.

use crate::element::{Cx, Element, Port};
use crate::fragment::TooBig;
use crate::router_answer;
use base::event::{Category, Event, FirewallStep};
use base::packet::{DropReason, Flags, Packet};
use base::tcp::Segment;
use base::trace::Derived;
use base::truth::CONNECTION;
use base::wire::{self, IpHead, icmp, reset};
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Port of packets from the outer side: entry outside, exit inside.
pub const INWARD: Port = Port(0);
/// Port of packets from the inner side.
pub const OUTWARD: Port = Port(1);

/// TCP segment without data or options in an IPv4 packet, bytes.
const BARE: u32 = 40;

base::named! {
    /// Packets that keep an entry alive (RFC 4787, requirement 6).
    pub enum RefreshedBy {
        /// Packets of both directions.
        Both = "both",
        /// Packets from the inner side.
        Inside = "inside",
    }
}

base::named! {
    /// Treatment of a TCP segment without an entry that opens none.
    pub enum Unknown {
        /// It is discarded.
        Discard = "discard",
        /// It is discarded, and its sender receives an RST.
        Reset = "reset",
        /// From the inner side it opens an entry of an established connection; otherwise it is discarded.
        Adopt = "adopt",
    }
}

base::named! {
    /// Treatment of a new connection while the table is full.
    pub enum WhenFull {
        /// It is refused.
        Refuse = "refuse",
        /// It takes the place of the entry that was idle for longest.
        Replace = "replace",
    }
}

/// Configuration of a firewall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirewallConfig {
    /// Idle timeout of an established TCP connection.
    pub established: Span,
    /// Idle timeout of a TCP connection that is half open, closed by both ends, or reset.
    pub transitory: Span,
    /// Idle timeout of other protocols.
    pub other: Span,
    /// Packets that keep an entry alive.
    pub refreshed_by: RefreshedBy,
    /// Treatment of TCP segments without an entry.
    pub unknown: Unknown,
    /// Largest number of entries; `None`: unlimited.
    pub limit: Option<usize>,
    /// Treatment of new connections while the table is full.
    pub when_full: WhenFull,
    /// Processing time of each packet.
    pub delay: Span,
}

impl Default for FirewallConfig {
    /// The least timeouts that RFC 5382 (requirement 5) permits, and the one that RFC 4787 recommends (requirement 5).
    fn default() -> Self {
        FirewallConfig {
            established: Span::from_secs(124 * 60),
            transitory: Span::from_secs(4 * 60),
            other: Span::from_secs(5 * 60),
            refreshed_by: RefreshedBy::Both,
            unknown: Unknown::Discard,
            limit: None,
            when_full: WhenFull::Refuse,
            delay: Span::ZERO,
        }
    }
}

/// Counters of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FirewallCounts {
    /// Entries opened.
    pub opened: u64,
    /// Entries that an idle timeout had ended when a packet of their connection came, or another entry needed room.
    pub expired: u64,
    /// Entries that made room for others.
    pub replaced: u64,
    /// Packets discarded for lack of an entry.
    pub refused: u64,
    /// Of them, segments answered by an RST.
    pub resets: u64,
}

/// State of a TCP connection as the firewall sees it; directions are inward, outward.
#[derive(Clone, Copy, Debug, Default)]
struct TcpState {
    /// A SYN has passed.
    syns: [bool; 2],
    /// A FIN has passed.
    fins: [bool; 2],
    /// An RST has passed.
    reset: bool,
}

impl TcpState {
    const ADOPTED: TcpState = TcpState { syns: [true; 2], fins: [false; 2], reset: false };

    fn is_over(&self) -> bool {
        self.reset || self.fins == [true; 2]
    }
    fn is_established(&self) -> bool {
        self.syns == [true; 2] && !self.is_over()
    }
    fn take(&mut self, flags: Flags, way: usize) {
        self.syns[way] |= flags.has(Flags::SYN);
        self.fins[way] |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
    }
}

struct Entry {
    /// Time of the last packet that kept it alive.
    used: Time,
    /// State of a TCP connection; `None` for other protocols.
    tcp: Option<TcpState>,
}

/// Flow and connection.
type Key = (u32, u64);

/// What a packet belongs to.
enum Subject {
    /// A connection, of TCP or not.
    Connection { connection: u64, tcp: bool },
    /// An ICMP error about a packet of this connection; `None`: of any connection of its flow.
    Error(Option<u64>),
    /// A later fragment of a packet of bytes.
    Fragment,
}

/// Firewall on both directions of a hop.
pub struct Firewall {
    config: FirewallConfig,
    /// By flow number, whether the outer side may open its connections.
    open_to: Vec<bool>,
    entries: BTreeMap<Key, Entry>,
    counts: BTreeMap<u32, FirewallCounts>,
    /// Packets in processing, with the end of it and their exit.
    held: VecDeque<(Time, Port, Packet)>,
}

impl Firewall {
    /// An empty table. `open_to`: by flow number, whether the outer side may open its connections.
    pub fn new(config: FirewallConfig, open_to: Vec<bool>) -> Self {
        Firewall { config, open_to, entries: BTreeMap::new(), counts: BTreeMap::new(), held: VecDeque::new() }
    }

    /// Counters of a flow.
    pub fn counts(&self, flow: u32) -> FirewallCounts {
        self.counts.get(&flow).copied().unwrap_or_default()
    }

    /// Time at which an entry expires if no packet keeps it alive.
    fn ends(&self, entry: &Entry) -> Time {
        let timeout = match entry.tcp {
            None => self.config.other,
            Some(tcp) if tcp.is_established() => self.config.established,
            Some(_) => self.config.transitory,
        };
        entry.used + timeout
    }

    fn count(&mut self, flow: u32) -> &mut FirewallCounts {
        self.counts.entry(flow).or_default()
    }

    /// Removes the entries of `keys` that have expired.
    fn expire(&mut self, cx: &mut Cx<'_>, keys: std::ops::RangeInclusive<Key>) {
        let now = cx.now();
        let of = self.entries.range(keys).map(|(key, entry)| (self.ends(entry), *key));
        let mut over: Vec<(Time, Key)> = of.filter(|(at, _)| *at <= now).collect();
        over.sort_unstable();
        for (at, key) in over {
            self.entries.remove(&key);
            self.count(key.0).expired += 1;
            record(cx, at, key, FirewallStep::Expired);
        }
    }

    /// Whether a packet passes; updates or opens its entry. `way`: 0 inward, 1 outward.
    fn admits(&mut self, cx: &mut Cx<'_>, packet: &Packet, subject: &Subject, way: usize) -> bool {
        let flow = packet.flow.0;
        let (connection, tcp) = match *subject {
            Subject::Fragment => return true,
            Subject::Error(about) => {
                let keys = (flow, about.unwrap_or(0))..=(flow, about.unwrap_or(u64::MAX));
                self.expire(cx, keys.clone());
                return self.entries.range(keys).next().is_some();
            }
            Subject::Connection { connection, tcp } => (connection, tcp),
        };
        let key = (flow, connection);
        self.expire(cx, key..=key);
        let opening = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        let refreshes = way == 1 || self.config.refreshed_by == RefreshedBy::Both;
        if let Some(entry) = self.entries.get_mut(&key) {
            if refreshes {
                entry.used = cx.now();
            }
            if let Some(state) = &mut entry.tcp {
                if opening && state.is_over() {
                    *state = TcpState::default();
                }
                state.take(packet.flags, way);
            }
            return true;
        }
        let may_open = way == 1 || self.open_to.get(flow as usize) == Some(&true);
        let adopts = way == 1 && self.config.unknown == Unknown::Adopt && !packet.flags.has(Flags::RST);
        if !(may_open && (!tcp || opening || adopts) && self.has_room(cx)) {
            return false;
        }
        let mut state = if opening { TcpState::default() } else { TcpState::ADOPTED };
        state.take(packet.flags, way);
        self.entries.insert(key, Entry { used: cx.now(), tcp: tcp.then_some(state) });
        self.count(flow).opened += 1;
        record(cx, cx.now(), key, FirewallStep::Opened);
        true
    }

    /// Whether the table has room for another entry; may replace one.
    fn has_room(&mut self, cx: &mut Cx<'_>) -> bool {
        let Some(limit) = self.config.limit.filter(|limit| self.entries.len() >= *limit) else { return true };
        self.expire(cx, (0, 0)..=(u32::MAX, u64::MAX));
        if self.entries.len() < limit {
            return true;
        }
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
        let (WhenFull::Replace, Some(key)) = (self.config.when_full, oldest) else { return false };
        self.entries.remove(&key);
        self.count(key.0).replaced += 1;
        record(cx, cx.now(), key, FirewallStep::Replaced);
        true
    }

    /// Ends a packet without an entry.
    fn refuse(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet, subject: &Subject) {
        let flow = packet.flow.0;
        self.count(flow).refused += 1;
        let connection = match *subject {
            Subject::Connection { connection, .. } => connection,
            Subject::Error(about) => about.unwrap_or(0),
            Subject::Fragment => 0,
        };
        let tcp = matches!(subject, Subject::Connection { tcp: true, .. });
        let answer = (tcp && self.config.unknown == Unknown::Reset).then(|| answer(cx, &packet)).flatten();
        let step = if answer.is_some() { FirewallStep::Reset } else { FirewallStep::Refused };
        record(cx, cx.now(), (flow, connection), step);
        if let Some(answer) = answer {
            self.count(flow).resets += 1;
            self.pass(cx, if port == OUTWARD { INWARD } else { OUTWARD }, answer);
        }
        cx.drop(packet, DropReason::Refused);
    }

    /// Forwards a packet after its processing.
    fn pass(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        if self.config.delay.is_zero() {
            cx.forward(port, packet);
        } else {
            self.held.push_back((cx.now() + self.config.delay, port, packet));
        }
    }
}

fn record(cx: &mut Cx<'_>, at: Time, (flow, connection): Key, step: FirewallStep) {
    cx.record(Category::Path, at, || Event::Firewall { flow, connection, step });
}

/// What a packet belongs to.
fn subject(cx: &Cx<'_>, packet: &Packet) -> Subject {
    let connection = cx.connection(packet);
    let Some(bytes) = cx.bytes(packet) else {
        return if cx.peek::<TooBig>(packet).is_some() {
            Subject::Error(None)
        } else {
            Subject::Connection { connection, tcp: cx.segment(packet).is_some() }
        };
    };
    let Ok(ip) = IpHead::read(bytes, 0) else { return Subject::Connection { connection, tcp: false } };
    if !ip.is_first() {
        return Subject::Fragment;
    }
    match icmp::quoted(bytes) {
        Some(quoted) => Subject::Error(wire::connection(quoted)),
        None => Subject::Connection { connection, tcp: ip.protocol == wire::TCP },
    }
}

/// RST to the sender of a segment; `None` for an RST.
fn answer(cx: &mut Cx<'_>, packet: &Packet) -> Option<Packet> {
    let from = Derived::Reset { of: packet.id };
    if let Some(bytes) = cx.bytes(packet).map(reset::answer) {
        return Some(router_answer::of_bytes(cx, packet, &bytes?, Flags::RST, from));
    }
    let segment = cx.segment(packet).filter(|segment| !segment.rst)?;
    // Sequence numbers carry the connection's number, acknowledgements do not.
    let base = segment.seq / CONNECTION * CONNECTION;
    let answer = reset::to_segment(&Segment { seq: segment.seq - base, ..segment });
    let answer = Segment { seq: answer.seq + base, ..answer };
    Some(router_answer::of_model(cx, packet, &answer, BARE, from))
}

impl Element for Firewall {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        // Background load is no connection of the mobile network's users.
        if packet.flags.has(Flags::VIRTUAL) {
            return self.pass(cx, port, packet);
        }
        let subject = subject(cx, &packet);
        if self.admits(cx, &packet, &subject, usize::from(port == OUTWARD)) {
            self.pass(cx, port, packet);
        } else {
            self.refuse(cx, port, packet, &subject);
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, port, packet)) = self.held.front().copied().filter(|(at, ..)| *at <= cx.now()) {
            self.held.pop_front();
            cx.forward(port, packet);
        }
    }

    fn next_wake(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |(at, ..)| *at)
    }

    fn holds(&self) -> usize {
        self.held.len()
    }
}
