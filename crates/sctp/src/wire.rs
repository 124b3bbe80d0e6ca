//! Wire codec of SCTP (RFC 9260 section 3) towards a real stack: packets of an association to IP packets and
//! back.
//!
//! Transmission sequence numbers are converted to offsets from the initial TSNs. The passive end keeps no
//! state of an INIT, so the codec stores the peer's initial TSN until the association does.

use crate::association::Association;
use crate::chunk::{Chunk, Origins, Packet, decode};
use base::Time;
use base::body::Body as _;
use base::wire::segment::{self, IpFields};
use base::wire::{self, IpHead};
use host::{CodecConfig, WireCodec};
use std::net::{IpAddr, Ipv4Addr};

/// Time to live of packets.
const TTL: u8 = 64;

/// Codec of one association.
pub struct Codec {
    here: Ipv4Addr,
    there: Ipv4Addr,
    /// Own port, and port of the peer.
    ports: [u16; 2],
    /// Initial TSN in the peer's last INIT or INIT ACK.
    offered: u32,
    /// IP identification of the last packet written.
    packets: u16,
    /// Bytes of the last SCTP packet written.
    inner: Vec<u8>,
    /// Bytes of the last IP packet written.
    out: Vec<u8>,
    /// IP packets in both directions with their times, for a capture; `None`: not kept.
    kept: Option<Vec<(Time, Vec<u8>)>>,
}

impl Codec {
    /// Codec of an end with these addresses, over IPv4; a passive end learns the peer's port from the INIT.
    pub fn new(config: &CodecConfig, ports: [u16; 2]) -> Codec {
        let four = |address| if let IpAddr::V4(four) = address { four } else { Ipv4Addr::UNSPECIFIED };
        Codec {
            here: four(config.here),
            there: four(config.there),
            ports,
            offered: 0,
            packets: 0,
            inner: Vec::new(),
            out: Vec::new(),
            kept: None,
        }
    }
}

impl WireCodec<Association> for Codec {
    fn write(&mut self, now: Time, body: &Packet, ecn: u8) -> u32 {
        self.packets = self.packets.wrapping_add(1);
        self.inner.clear();
        Packet { ports: self.ports, ..body.clone() }.encode(&mut self.inner);
        let outside = IpFields { id: self.packets, ecn, class: 0, ttl: TTL, divisible: body.divisible };
        segment::around(&mut self.out, self.here, self.there, wire::SCTP, &self.inner, outside);
        if let Some(kept) = &mut self.kept {
            kept.push((now, self.out.clone()));
        }
        self.out.len() as u32
    }

    fn written(&self) -> &[u8] {
        &self.out
    }

    fn read(
        &mut self,
        now: Time,
        packet: &base::Packet,
        bytes: &mut [u8],
        endpoint: &mut Association,
    ) -> Option<Packet> {
        wire::set_ecn(bytes, packet.ecn);
        if let Some(kept) = &mut self.kept {
            kept.push((now, bytes.to_vec()));
        }
        let ip = IpHead::read(bytes, 0).ok()?;
        let inner = bytes.get(ip.header as usize..ip.size as usize)?;
        if ip.protocol != wire::SCTP || !ip.is_first() {
            return None;
        }
        let ([own, known], [sent, expected]) = (endpoint.initial(), endpoint.numbers());
        let kind = inner.get(12).copied();
        // Data bundled with a COOKIE ECHO belong to the association that the cookie creates.
        let opens = kind == Some(wire::sctp::kind::COOKIE_ECHO);
        let (initial, near) =
            if opens { ([self.offered, own], [0, sent]) } else { ([known, own], [expected, sent]) };
        let read = decode(inner, &Origins { initial, near }).ok()?;
        if let Some(Chunk::Init(init) | Chunk::InitAck(init, _)) = read.chunks.first() {
            self.offered = init.initial;
            self.ports[1] = read.ports[0];
        }
        Some(read)
    }

    fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }

    fn take(&mut self) -> Vec<(Time, Vec<u8>)> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
