//! Signals between elements: they keep their turn among packets, count nowhere, and vanish where no wire is.

use base::packet::Packet;
use base::trace::Tracer;
use base::{Rate, Time};
use path::{Cx, Element, Network, Port, Signal};

/// Sends a packet, two signals by its port 1 and another packet for each packet that comes.
struct Speaker;

impl Element for Speaker {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.forward(Port(0), packet);
        cx.signal(Port(1), Signal::Credit);
        cx.signal(Port(1), Signal::Rate(Rate::from_bps(packet.id)));
        cx.signal(Port(7), Signal::Close);
        cx.forward(Port(0), Packet { id: packet.id + 1, ..packet });
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// Keeps incoming signals, in order; answers a credit with one of its own.
#[derive(Default)]
struct Hearer(Vec<String>);

impl Element for Hearer {
    fn on_packet(&mut self, _cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.0.push(format!("packet {} by {}", packet.id, port.0));
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.0.push(format!("{signal:?}"));
        if signal == Signal::Credit {
            cx.signal(Port(0), Signal::Open);
        }
    }
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

#[test]
fn a_signal_keeps_its_turn_among_packets() {
    let mut network = Network::new(1, Tracer::default());
    let hearer = network.add(Hearer::default());
    let speaker = network.add(Speaker);
    network.wire(speaker, Port(0), hearer, Port(3));
    network.wire(speaker, Port(1), hearer, Port(0));
    network.wire(hearer, Port(0), hearer, Port(0));
    network.start(None);
    for id in [5, 8] {
        network.inject(Time::ZERO, speaker, Port(0), Packet { id, ..Packet::NONE });
    }
    let heard = &network.element::<Hearer>(hearer).unwrap().0;
    let round = |id: u64| {
        let rate = format!("{:?}", Signal::Rate(Rate::from_bps(id)));
        let (first, second) = (format!("packet {id} by 3"), format!("packet {} by 3", id + 1));
        // The receiver's answers follow all earlier signals.
        [first, "Credit".to_owned(), rate, second, "Open".to_owned()]
    };
    assert_eq!(*heard, [round(5), round(8)].concat());
    assert_eq!(network.counters().dropped, 0, "a signal without a wire is no lost packet");
}
