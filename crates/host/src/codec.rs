//! Wire codec of a modelled TCP connection towards a real stack: segments to IP packets and back, addresses,
//! ports, option negotiation.
//!
//! Each connection has its own codec. It writes the model's segments as IP packets ([`base::wire::segment`])
//! and reads received packets. It converts between stream offsets and sequence numbers, and between times and
//! timestamp ticks. The options in the peer's SYN are passed on, so that the model turns off options that the
//! peer lacks ([`transport::tcp::Offer`]).

use base::Time;
use base::packet::Packet;
use base::tcp::{SackBlocks, Segment, Timestamps};
use base::wire::segment::{self, End, IpFields};
use base::wire::{self, Digest, TcpHead, flag};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use transport::endpoint::Endpoint;
use transport::tcp::config::PathMtu;
use transport::tcp::{Config, Connection, Offer};

/// Wire format of one endpoint's packets towards a real stack: conversion between bodies and IP packets, with
/// the codec's state (sequence numbers, ports, options of the peer).
pub trait WireCodec<E: Endpoint>: Send {
    /// Writes a body as a packet and returns its size in bytes; [`WireCodec::written`] returns its bytes.
    fn write(&mut self, now: Time, body: &E::Body, ecn: u8) -> u32;
    /// Bytes of the last packet written.
    fn written(&self) -> &[u8];
    /// Reads a packet that arrived for `endpoint`; `None` if it has nothing for the endpoint.
    fn read(&mut self, now: Time, packet: &Packet, bytes: &mut [u8], endpoint: &mut E) -> Option<E::Body>;
    /// Whether the endpoint must reply to this body in any case; called before the endpoint processes the
    /// body.
    fn owes_answer(&self, _body: &E::Body, _endpoint: &E) -> bool {
        false
    }
    /// Keeps a copy of all packets from now on.
    fn keep(&mut self);
    /// Takes the packets kept since the last call, in order, with their times.
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
    //= RFC 9293 section 3.10.7.4: an unacceptable segment is answered, such as the probe of a closed window
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

/// Port of the active end's first connection. Later connections use the following ports, so that both ends
/// derive the same connection number.
pub(crate) const FIRST_PORT: u16 = 1024;
/// Port of the passive end.
pub(crate) const PORT: u16 = 9;

/// Addresses of the two ends of a flow with a real kernel, the active end first: IPv4 (RFC 2544, for
/// benchmarks) and IPv6 (RFC 5180). All flows use the same addresses: each flow has a wire of its own.
pub const ADDRESSES: [[IpAddr; 2]; 2] = [
    [IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2))],
    [
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)),
    ],
];

/// IPv4 address of an end on another network path, counted from 1: the path is the third byte.
pub const fn path_address(active: bool, path: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, path, if active { 1 } else { 2 })
}

/// Network path of a packet to an address of [`path_address`]; 0 for any other packet.
pub(crate) fn path_of(bytes: &[u8]) -> u8 {
    match bytes.get(16..20) {
        Some([198, 18, path, _]) if bytes[0] >> 4 == 4 => *path,
        _ => 0,
    }
}

/// Addresses and initial numbers of a modelled end on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodecConfig {
    /// Local address.
    pub here: IpAddr,
    /// Peer's address, of the same IP version.
    pub there: IpAddr,
    /// Initial sequence number of the first connection, and the connection's timestamp clock at t = 0 in
    /// milliseconds; the numbers of later connections are derived from both.
    pub origin: [u32; 2],
}

impl CodecConfig {
    /// Local and remote port of the first connection, for the active or the passive end.
    pub fn ports(opens: bool) -> [u16; 2] {
        if opens { [FIRST_PORT, PORT] } else { [PORT, FIRST_PORT] }
    }
}

/// Time to live (hop limit) of packets.
const TTL: u8 = 64;
/// Tick of the timestamp clock, nanoseconds.
const TICK: u64 = 1_000_000;
/// Number of ticks whose exact transmission time is kept.
const REMEMBERED: usize = 1 << 14;

/// Codec of one connection.
pub(crate) struct Codec {
    here: End,
    there: End,
    /// Whether the SYN of the peer has arrived.
    syn_received: bool,
    /// Reference offsets for unwrapping sequence numbers: of received data, and of ACKs.
    near: [u64; 2],
    /// Time of the last transmission in each tick.
    left: VecDeque<(u64, Time)>,
    packets: u16,
    /// Whether routers may fragment the packets.
    divisible: bool,
    /// Packets kept with their times; `None` if packets are not kept.
    kept: Option<Vec<(Time, Vec<u8>)>>,
    spare: Vec<u8>,
}

impl Codec {
    /// Codec of the `number`-th connection of the active (`opens`) or the passive end.
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
            syn_received: false,
            near: [0; 2],
            left: VecDeque::new(),
            packets: 0,
            divisible: false,
            kept: None,
            spare: Vec::new(),
        }
    }

    /// Sets the options of a connection's SYN; the connection has sent and received nothing.
    pub(crate) fn offer(&mut self, connection: &mut Connection) {
        let window = connection.receiver.largest_window();
        let config = connection.config();
        self.here.mss = (config.mss + options(config)).min(u32::from(u16::MAX)) as u16;
        self.agree(config, window);
    }

    /// Applies the negotiated options; the announced MSS stays.
    fn agree(&mut self, config: &Config, window: u32) {
        self.here.scale = config.window_scale.then(|| segment::scale_for(window));
        self.here.permits_sack = config.uses_sack();
        self.divisible = config.path_mtu == PathMtu::Off;
    }

    /// Writes a segment as a packet and returns its size in bytes; [`WireCodec::written`] returns its bytes.
    fn write(&mut self, now: Time, segment: &Segment, ecn: u8) -> u32 {
        self.packets = self.packets.wrapping_add(1);
        let outside = IpFields { id: self.packets, ecn, class: 0, ttl: TTL, divisible: self.divisible };
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

    /// Transmission time of the segment whose timestamp is echoed. Ticks are coarser than the model's clock.
    /// Of several segments in one tick the last one counts, so that a retransmission is never taken for the
    /// original.
    fn left_at(&self, echo: u32) -> Time {
        let latest = self.left.back().map_or(0, |(tick, _)| *tick);
        let tick = wire::unwrap(latest, echo.wrapping_sub(self.here.clock));
        match self.left.binary_search_by_key(&tick, |(tick, _)| *tick) {
            Ok(i) => self.left.get(i).map_or(Time::ZERO, |(_, t)| *t),
            Err(_) => Time::from_nanos(tick.saturating_mul(TICK)),
        }
    }

    /// Reads a packet for `connection`; `None` if it has nothing for the connection. The first SYN sets the
    /// options.
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
        if tcp.has(flag::SYN) && !self.syn_received {
            self.syn_received = true;
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
        if !self.syn_received && !tcp.has(flag::RST) {
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
        //= RFC 7323 section 2.2: the window of a SYN is never scaled; others only if both ends sent the
        // option
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

    /// Reference for unwrapping the peer's timestamp ticks, counted from the peer's SYN: both clocks run at
    /// the same rate, so no wrap is missed.
    fn near_tick(&self) -> u64 {
        let (first, last) = (self.left.front(), self.left.back());
        first.zip(last).map_or(0, |(first, last)| last.0.saturating_sub(first.0))
    }
}

/// Bytes of TCP options in a data segment (RFC 6691).
fn options(config: &Config) -> u32 {
    if config.timestamps { config.wire.timestamps } else { 0 }
}
