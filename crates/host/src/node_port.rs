//! Packet port of a whole machine: all IP packets of its kernel, routed by destination address to other
//! machines.
//!
//! Any number of programs send IP packets through the port. All packets to one other machine are one flow of
//! the path. The destination address selects the machine.
//!
//! Unlike a packet port at the end of one flow ([`crate::FlowPort`]), which records the ground truth of that
//! flow's segments, this port counts packets and bytes only.

use crate::port::{PacketPort, PacketRoute, PortQueues, flip};
use base::Time;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::wire::{self, Malformed};
use path::{Cx, Element, Port};
use std::net::IpAddr;

/// Another machine that can be reached from this one.
#[derive(Clone, Copy, Debug)]
struct Peer {
    node: NodeId,
    flow: FlowId,
    /// Whether packets to the machine travel in the reverse direction of the flow.
    reply: bool,
    /// Number of data packets and of other packets sent to the machine.
    ordinals: [u32; 2],
    addresses: [Option<IpAddr>; 2],
}

/// Counters of packets that entered and left.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct NodePortCounters {
    /// Packets from the machine into the network.
    pub sent: u64,
    /// Bytes sent, all headers counted.
    pub bytes_sent: u64,
    /// Packets from the network to the machine.
    pub received: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Packets with an unknown destination; they are dropped.
    pub unroutable: u64,
}

/// Element through which all packets of a machine enter and leave the network.
pub struct NodePort {
    node: NodeId,
    peers: Vec<Peer>,
    /// Default route: peer for packets with an unknown address.
    default_route: Option<usize>,
    counters: NodePortCounters,
    queues: PortQueues,
}

impl NodePort {
    /// Packet port of a machine without peers.
    pub fn new(node: NodeId) -> Self {
        NodePort {
            node,
            peers: Vec::new(),
            default_route: None,
            counters: NodePortCounters::default(),
            queues: PortQueues::default(),
        }
    }

    /// Adds a machine that can be reached; packets to it leave by the next port, in flow `flow`, in the
    /// flow's reverse direction if `reply`.
    pub fn add_peer(&mut self, node: NodeId, flow: FlowId, reply: bool) {
        self.peers.push(Peer { node, flow, reply, ordinals: [0; 2], addresses: [None; 2] });
    }

    /// Sets the addresses of the machine at a node.
    pub fn set_addresses(&mut self, node: NodeId, addresses: [Option<IpAddr>; 2]) {
        for peer in self.peers.iter_mut().filter(|peer| peer.node == node) {
            peer.addresses = addresses;
        }
    }

    /// Sets the default route: packets with an unknown address go to the machine at this node.
    pub fn set_default_route(&mut self, node: NodeId) {
        self.default_route = self.peers.iter().position(|peer| peer.node == node);
    }

    /// Counters.
    pub fn counters(&self) -> NodePortCounters {
        self.counters
    }
}

impl PacketPort for NodePort {
    fn inject(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let digest = wire::read(bytes)?;
        let bytes = bytes.get(..digest.size as usize).unwrap_or(bytes);
        let to = wire::destination(bytes);
        let known = self.peers.iter().position(|peer| to.is_some() && peer.addresses.contains(&to));
        let outward = to.is_some_and(|to| !to.is_multicast());
        let Some(port) = known.or(self.default_route.filter(|_| outward)) else {
            self.counters.unroutable += 1;
            return Ok(None);
        };
        let (body, id) = cx.emit_bytes(bytes, digest.size);
        self.counters.sent += 1;
        self.counters.bytes_sent += u64::from(digest.size);
        let peer = &mut self.peers[port];
        let route =
            PacketRoute { flow: peer.flow, source: self.node, destination: peer.node, reply: peer.reply };
        let head = route.head(cx.now(), (body, id), digest.size, Some(&digest), &mut peer.ordinals);
        let lives = self.queues.deadlines.apply(cx.now(), bytes).1;
        cx.forward(Port(port as u16), Packet { lives, ..head });
        Ok(Some(id))
    }

    fn queues(&mut self) -> &mut PortQueues {
        &mut self.queues
    }
}

impl Element for NodePort {
    /// Delivers a packet that has crossed the network: it leaves now.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let Some(mut bytes) = self.queues.absorb(cx, &packet) else { return };
        self.counters.received += 1;
        self.counters.bytes_received += u64::from(packet.size);
        if let Ok(digest) = wire::read(&bytes)
            && digest.ecn != packet.ecn
        {
            wire::set_ecn(&mut bytes, packet.ecn);
        }
        if packet.flags.has(Flags::CORRUPT) {
            flip(&mut bytes, packet.id);
        }
        self.queues.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// Packets in the departure queue have left the network.
    fn holds(&self) -> usize {
        0
    }
}
