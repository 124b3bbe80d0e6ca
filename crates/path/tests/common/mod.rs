//! A network of one chain, driven packet by packet, and a sink that records arrivals.

#![allow(dead_code, reason = "each test file uses a part")]

use base::packet::Packet;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::Capacity;
use path::channel::{Channel, ChannelConfig};
use path::{ElementId, Network, Port};
pub(crate) use testkit::chain::{SEED, Sink, packet, s};

pub(crate) fn span(x: f64) -> Span {
    Span::from_secs_f64(x)
}

/// A plain channel of `bps` bit/s, without delay.
pub(crate) fn plain(bps: u64) -> ChannelConfig {
    ChannelConfig::plain(Capacity::Fixed(Rate::from_bps(bps)), Span::ZERO)
}

/// A constant distribution, seconds.
pub(crate) fn always(seconds: f64) -> base::dist::Sampler {
    base::dist::Sampler::new(base::dist::Dist::Constant(seconds * 1e9), SEED.stream("x", "always"))
}

/// Adds one element.
pub(crate) type Builder = Box<dyn FnOnce(&mut Network) -> ElementId>;

/// Elements one after the other, and a sink.
pub(crate) struct Bench {
    pub(crate) network: Network,
    pub(crate) entry: ElementId,
    pub(crate) sink: ElementId,
    /// The elements, the first one first.
    pub(crate) chain: Vec<ElementId>,
    pub(crate) sent: u64,
}

impl Bench {
    pub(crate) fn of(config: ChannelConfig) -> Self {
        Bench::chain(vec![Box::new(|network| network.add(Channel::new(config)))])
    }

    /// Builds a chain, the first one first; credit goes back from each to the one before.
    pub(crate) fn chain(builders: Vec<Builder>) -> Self {
        let mut network = Network::new(2, Tracer::off());
        let sink = network.add(Sink::default());
        let mut chain: Vec<ElementId> = builders.into_iter().rev().map(|b| b(&mut network)).collect();
        chain.reverse();
        for pair in chain.windows(2) {
            network.wire(pair[0], Port(0), pair[1], Port(0));
            network.wire(pair[1], Port(1), pair[0], Port(1));
        }
        let (entry, exit) = (chain[0], chain[chain.len() - 1]);
        network.wire(exit, Port(0), sink, Port(0));
        Bench { network, entry, sink, chain, sent: 0 }
    }

    pub(crate) fn start(mut self) -> Self {
        self.network.start(None);
        self
    }

    pub(crate) fn send(&mut self, at: f64, ordinal: u32, size: u32) {
        self.put(s(at), packet(ordinal, size));
    }

    pub(crate) fn put(&mut self, at: Time, packet: Packet) {
        self.sent += 1;
        self.network.inject(at, self.entry, Port(0), Packet { born: at, ..packet });
    }

    pub(crate) fn arrived(&mut self) -> Vec<(Time, Packet)> {
        self.network.run_until(s(1e6));
        self.network.element::<Sink>(self.sink).unwrap().0.clone()
    }

    /// When which packet arrived.
    pub(crate) fn arrivals(&mut self) -> Vec<(Time, u32)> {
        self.arrived().into_iter().map(|(t, p)| (t, p.ordinal)).collect()
    }

    /// Whether every packet arrived or was dropped.
    pub(crate) fn is_conserved(&self) -> bool {
        let counters = self.network.counters();
        self.sent == counters.absorbed + counters.dropped && self.network.packets_inside() == 0
    }
}

/// Ordinals as they arrived.
pub(crate) fn order(arrivals: &[(Time, u32)]) -> Vec<u32> {
    arrivals.iter().map(|a| a.1).collect()
}
