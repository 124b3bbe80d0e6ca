//! Plain TFRC beside the TFRC agent of ns-2.35 on the same link (NS-14): packets delivered.
//!
//! The agent's figures come from `crates/dccp/tests/ns2/tfrc.tcl`, run with the arguments of each row.

use base::packet::{FlowId, NodeId};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use dccp::tfrc::Timeout;
use dccp::{Flow, FlowConfig};
use host::{Host, HostConfig};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::loss::{Loss, Rule};
use path::{Network, Port};
use transport::app::{Bulk, Sink};
use transport::endpoint::Role;

fn delivered(
    (bps, delay_ms, room, seconds, loss): (u64, u64, u32, u64, f64),
    timeout: Timeout,
    seed: u64,
) -> u64 {
    let mut network = Network::new(1, Tracer::off());
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let link = |packets| {
        let limit = QueueLimit { packets: Some(packets), ..QueueLimit::default() };
        let capacity = Capacity::Fixed(Rate::from_bps(bps));
        Link::new(LinkConfig { capacity, delay: Span::from_millis(delay_ms), limit }, Vec::new())
    };
    // Initial windows as in the agent: RFC 3390 for packets of 1000 bytes.
    let config = FlowConfig { timeout, ..FlowConfig::default() };
    let to = Host::holding(&end(Role::Passive, 1, 0), Flow::new(config), Box::new(Sink::new(Some(u64::MAX))));
    let from = Host::holding(&end(Role::Active, 0, 1), Flow::new(config), Box::new(Bulk::new(None, None)));
    let to = network.add(to);
    let stream = Seed { seed, repetition: 0 }.stream("loss", "test");
    let lossy = network.add(Loss::new(Rule::Random(loss), stream));
    // ns-2 counts the packet in service against the limit, a link here does not.
    let (down, from, up) = (network.add(link(room - 1)), network.add(from), network.add(link(1000)));
    for (a, b) in [(from, down), (down, lossy), (lossy, to), (to, up), (up, from)] {
        network.wire(a, Port(0), b, Port(0));
    }
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(seconds));
    network.element::<Host<Flow>>(to).unwrap().connection().packets().1
}

/// NS-14, RT-06: the long-run rate lies within 5 % of the agent's where the link decides.
#[test]
fn the_rate_lies_beside_the_agent_of_ns2() {
    // kbit/s, ms, packets, seconds; packets that the agent delivered.
    let table = [
        (400, 50, 20, 600, 29_001),
        (100, 100, 10, 600, 7_235),
        (1000, 20, 30, 300, 36_288),
        (30, 300, 10, 600, 2_150),
    ];
    let mut far = Vec::new();
    for (kbps, delay, room, seconds, agent) in table {
        let ours = delivered((kbps * 1000, delay, room, seconds, 0.0), Timeout::FourRtt, 1);
        let ratio = ours as f64 / f64::from(agent);
        println!("{kbps} kbit/s {delay} ms {room} packets: {ours}, agent {agent}, {ratio:.3}");
        if (ratio - 1.0).abs() > 0.05 {
            far.push((kbps, delay, ratio));
        }
    }
    assert!(far.is_empty(), "{far:?}");
}

/// NS-14, RT-06: where random losses decide, the rate lies within 5 % of the agent's if both put the same timeout into the
/// equation. The stock agent measures it in ticks of 100 ms (2.5 to 3 round trips here); its variable `minrto_` makes it four
/// round trips, as RFC 5348 section 3.1 has it, and the agent slower by 2 % at a loss rate of 0.01 and by 9 % at 0.05.
/// Six seeds each: `ns-random` 1 to 6 there (`tfrc.tcl` with `minrto_` and the seed as further arguments).
#[test]
fn the_timeout_in_the_equation_is_all_that_differs_from_the_agent_of_ns2() {
    // kbit/s, ms, packets, seconds, loss; means of packets that the agent delivered: stock, and with four round trips.
    let table = [
        ((10_000_000, 100, 1000, 600, 0.02), [24_851.0, 23_521.0]),
        ((10_000_000, 50, 1000, 600, 0.01), [72_625.0, 71_069.0]),
        ((10_000_000, 50, 1000, 600, 0.05), [26_144.0, 23_700.0]),
    ];
    let mut far = Vec::new();
    for (path, agent) in table {
        for (timeout, agent) in [Timeout::Measured, Timeout::FourRtt].into_iter().zip(agent) {
            let ours = (1..=6).map(|seed| delivered(path, timeout, seed) as f64).sum::<f64>() / 6.0;
            let ratio = ours / agent;
            println!("{path:?} {timeout}: {ours:.0}, agent {agent}, {ratio:.3}");
            if (ratio - 1.0).abs() > 0.05 {
                far.push((path, timeout, ratio));
            }
        }
    }
    assert!(far.is_empty(), "{far:?}");
}
