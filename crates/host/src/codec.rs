//! Codec between a model's segments and IP packets of a real stack.
//!
//! Each of its connections has a wire: it writes the model's segments as IP packets ([`base::wire::segment`]) and
//! reads what comes. Here stream offsets become sequence numbers and back, instants become ticks of timestamps and
//! back, and what the other end's SYN offers is told, so that the model gives up what the other end does not want
//! ([`transport::tcp::Offer`]).

use base::Time;
use base::packet::Packet;
use base::tcp::{SackBlocks, Segment, Timestamps};
use base::wire::segment::{self, End, Outside};
use base::wire::{self, Digest, TcpHead, flag};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use transport::endpoint::Endpoint;
use transport::tcp::config::PathMtu;
use transport::tcp::{Config, Connection, Offer};

/// The wire format of one endpoint's packets, where the other end is no model: bodies to IP packets and back, with the
/// state that this takes (numbers, ports, what the peer has offered).
pub trait WireCodec<E: Endpoint>: Send {
    /// Writes a body as a packet and returns its size in bytes; [`WireCodec::written`] has the bytes.
    fn write(&mut self, now: Time, body: &E::Body, ecn: u8) -> u32;
    /// The packet that was written last.
    fn written(&self) -> &[u8];
    /// Reads a packet that arrived for `endpoint`; `None` if it says nothing to it.
    fn read(&mut self, now: Time, packet: &Packet, bytes: &mut [u8], endpoint: &mut E) -> Option<E::Body>;
    /// Whether the endpoint owes an answer to this body whatever it makes of it; asked before it takes it in.
    fn owes_answer(&self, _body: &E::Body, _endpoint: &E) -> bool {
        false
    }
    /// Keeps a copy of what passes from now on.
    fn keep(&mut self);
    /// What has passed since this was last called, in order, and when.
    fn take(&mut self) -> Vec<(Time, Vec<u8>)>;
}

impl WireCodec<Connection> for Codec {
    fn write(&mut self, now: Time, body: &Segment, ecn: u8) -> u32 {
        Codec::write(self, now, body, ecn)
    }
    fn written(&self) -> &[u8] {
        &self.spare
    }
    fn read(
        &mut self,
        now: Time,
        packet: &Packet,
        bytes: &mut [u8],
        endpoint: &mut Connection,
    ) -> Option<Segment> {
        Codec::read(self, now, packet, bytes, endpoint)
    }
    //= RFC 9293 section 3.10.7.4: what is not acceptable is answered, such as the probe of a closed window
    fn owes_answer(&self, body: &Segment, endpoint: &Connection) -> bool {
        body.end() == body.seq && body.seq < endpoint.receiver.next() && !body.rst
    }
    fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }
    fn take(&mut self) -> Vec<(Time, Vec<u8>)> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// Where the opening end's first connection comes from; the next one comes from the next port, so that both ends call a
/// connection by the same number.
pub(crate) const FIRST_PORT: u16 = 1024;
/// Where the waiting end waits.
pub(crate) const PORT: u16 = 9;

/// Addresses of the two ends of a flow in which a kernel takes part, the opening one first: of version 4 (RFC 2544's,
/// for tests of networks) and of version 6 (RFC 5180's). Every flow has the same: each is alone on its wire.
pub const ADDRESSES: [[IpAddr; 2]; 2] = [
    [IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2))],
    [
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)),
    ],
];

/// How a model's end shows on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodecConfig {
    /// Its address.
    pub here: IpAddr,
    /// The other end's, of the same version.
    pub there: IpAddr,
    /// Where the sequence numbers of its first connection begin, and the clock of its timestamps at t = 0,
    /// milliseconds; those of the others follow.
    pub origin: [u32; 2],
}

impl CodecConfig {
    /// Ports of an end that opens its first connection, or waits for it: its own, and the other's.
    pub fn ports(opens: bool) -> [u16; 2] {
        if opens { [FIRST_PORT, PORT] } else { [PORT, FIRST_PORT] }
    }
}

/// Hops a packet may make.
const TTL: u8 = 64;
/// A tick of the clock for timestamps, nanoseconds.
const TICK: u64 = 1_000_000;
/// Ticks of which it is remembered when exactly a segment left.
const REMEMBERED: usize = 1 << 14;

/// The wire of one connection.
pub(crate) struct Codec {
    here: End,
    there: End,
    /// The other end's SYN has come.
    heard: bool,
    /// Offsets near which the next ones lie: of what comes, and of what is acknowledged.
    near: [u64; 2],
    /// The last instant of each tick in which something left.
    left: VecDeque<(u64, Time)>,
    packets: u16,
    /// Routers may cut its packets up.
    divisible: bool,
    /// What passed, if that is kept.
    kept: Option<Vec<(Time, Vec<u8>)>>,
    spare: Vec<u8>,
}

impl Codec {
    /// The wire of the `number`-th connection of an end that opens connections, or waits for them.
    pub(crate) fn new(config: &CodecConfig, number: usize, opens: bool) -> Codec {
        let opening = FIRST_PORT.saturating_add(u16::try_from(number).unwrap_or(u16::MAX));
        let ports = if opens { [opening, PORT] } else { [PORT, opening] };
        let apart = (number as u32).wrapping_mul(0x9e37_79b9);
        let end = |address, port| End { address, port, ..End::NOBODY };
        let here = End {
            first: config.origin[0].wrapping_add(apart),
            clock: config.origin[1].wrapping_add(apart),
            ..end(config.here, ports[0])
        };
        Codec {
            here,
            there: end(config.there, ports[1]),
            heard: false,
            near: [0; 2],
            left: VecDeque::new(),
            packets: 0,
            divisible: false,
            kept: None,
            spare: Vec::new(),
        }
    }

    /// What a SYN from here may offer: the choices of a connection that has sent and received nothing.
    pub(crate) fn offer(&mut self, connection: &mut Connection) {
        let window = connection.receiver.largest_window();
        let config = connection.config();
        self.here.mss = (config.mss + options(config)).min(u32::from(u16::MAX)) as u16;
        self.agree(config, window);
    }

    /// The ends have agreed on these choices; the segment size that is offered stays.
    fn agree(&mut self, config: &Config, window: u32) {
        self.here.scale = config.window_scale.then(|| segment::scale_for(window));
        self.here.permits_sack = config.uses_sack();
        self.divisible = config.path_mtu == PathMtu::Off;
    }

    /// Writes a segment as a packet; says how large it is. [`WireCodec::written`] has it.
    fn write(&mut self, now: Time, segment: &Segment, ecn: u8) -> u32 {
        self.packets = self.packets.wrapping_add(1);
        let outside = Outside { id: self.packets, ecn, class: 0, ttl: TTL, divisible: self.divisible };
        if let Some(stamps) = segment.timestamps {
            self.remember(stamps.value);
        }
        let Codec { here, there, spare, kept, .. } = self;
        let size = segment::packet(spare, here, there, segment, outside, usize::MAX);
        if let Some(kept) = kept {
            kept.push((now, spare.clone()));
        }
        size
    }

    fn remember(&mut self, t: Time) {
        let tick = t.as_nanos() / TICK;
        match self.left.back_mut() {
            Some(last) if last.0 == tick => last.1 = t,
            _ => self.left.push_back((tick, t)),
        }
        if self.left.len() > REMEMBERED {
            self.left.pop_front();
        }
    }

    /// When a segment left whose timestamp is echoed. Ticks are coarser than the model's clock: of several segments in
    /// one tick it is the last, so that a copy is never taken for what it repeats.
    fn left_at(&self, echo: u32) -> Time {
        let latest = self.left.back().map_or(0, |(tick, _)| *tick);
        let tick = wire::unwrap(latest, echo.wrapping_sub(self.here.clock));
        match self.left.binary_search_by_key(&tick, |(tick, _)| *tick) {
            Ok(i) => self.left.get(i).map_or(Time::ZERO, |(_, t)| *t),
            Err(_) => Time::from_nanos(tick.saturating_mul(TICK)),
        }
    }

    /// Reads a packet that came for `connection`; none if it says nothing to it. A first SYN is agreed upon.
    fn read(
        &mut self,
        now: Time,
        packet: &Packet,
        bytes: &mut [u8],
        connection: &mut Connection,
    ) -> Option<Segment> {
        wire::set_ecn(bytes, packet.ecn);
        if let Some(kept) = &mut self.kept {
            kept.push((now, bytes.to_vec()));
        }
        let digest = wire::read(bytes).ok()?;
        let tcp = digest.tcp?;
        if tcp.has(flag::SYN) && !self.heard {
            self.heard = true;
            self.there.port = tcp.source;
            self.there.first = tcp.seq;
            self.there.scale = tcp.scale.map(|scale| scale.min(14));
            self.there.clock = tcp.timestamps.map_or(0, |(value, _)| value);
            connection.agree(Offer {
                mss: tcp.mss,
                sack: tcp.permits_sack,
                timestamps: tcp.timestamps.is_some(),
                scale: tcp.scale.is_some(),
            });
            let window = connection.receiver.largest_window();
            self.agree(connection.config(), window);
        }
        if !self.heard && !tcp.has(flag::RST) {
            return None;
        }
        Some(self.segment(&digest, &tcp))
    }

    fn segment(&mut self, digest: &Digest, tcp: &TcpHead) -> Segment {
        let syn = tcp.has(flag::SYN);
        let seq = wire::unwrap(self.near[0], tcp.seq.wrapping_sub(self.there.first));
        let ack = wire::unwrap(self.near[1], tcp.ack.wrapping_sub(self.here.first));
        let has_ack = tcp.has(flag::ACK);
        self.near[0] = self.near[0].max(seq + u64::from(digest.payload));
        if has_ack {
            self.near[1] = self.near[1].max(ack);
        }
        let mut sack = SackBlocks::default();
        for &(left, right) in tcp.blocks() {
            let at = |edge: u32| wire::unwrap(ack, edge.wrapping_sub(self.here.first));
            sack.push(at(left), at(right));
        }
        //= RFC 7323 section 2.2: the window of a SYN is not scaled, and none is unless both ends say so
        let shift = if syn { 0 } else { self.there.scale.filter(|_| self.here.scale.is_some()).unwrap_or(0) };
        let timestamps = tcp.timestamps.map(|(value, echo)| {
            let ticks = wire::unwrap(self.near_tick(), value.wrapping_sub(self.there.clock));
            Timestamps {
                value: Time::from_nanos(ticks.saturating_mul(TICK)),
                echo: if has_ack { self.left_at(echo) } else { Time::ZERO },
            }
        });
        Segment {
            seq,
            ack: if has_ack { ack } else { 0 },
            len: digest.payload,
            window: u32::from(tcp.window) << shift,
            has_ack,
            syn,
            fin: tcp.has(flag::FIN),
            push: tcp.has(flag::PSH),
            rst: tcp.has(flag::RST),
            ece: tcp.has(flag::ECE),
            cwr: tcp.has(flag::CWR),
            resent: false,
            resent_echo: false,
            sack,
            timestamps,
        }
    }

    /// Near which the ticks of the other end's clock lie, counted from its SYN: both clocks run alike, so no wrap is
    /// missed.
    fn near_tick(&self) -> u64 {
        let (first, last) = (self.left.front(), self.left.back());
        first.zip(last).map_or(0, |(first, last)| last.0.saturating_sub(first.0))
    }
}

/// Bytes of a segment that the choices give to options (RFC 6691).
fn options(config: &Config) -> u32 {
    if config.timestamps { config.wire.timestamps } else { 0 }
}
