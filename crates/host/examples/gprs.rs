//! scratch
use base::{FlowId, NodeId, Rate, Span, Time, event::*, rng::Seed, trace::Tracer, units::Limit};
use host::*;
use path::{Network, Port, capacity::Capacity, gate::*, link::*};
use transport::app::*;
use transport::tcp::{Config, Role};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut c = Config::profile("ns2-2001").unwrap();
    c.set("recovery", &a[1]).unwrap();
    c.set("bug-fix", "off").unwrap();
    let limit: u32 = a[2].parse().unwrap();
    for kv in &a[3..] {
        let (k, v) = kv.split_once('=').unwrap();
        c.set(k, v).unwrap();
    }
    let mut n = Network::new(1, Tracer::of(&[Category::Transport, Category::Path]));
    let seed = Seed { seed: 1, repetition: 0 };
    let s = |x: f64| Time::from_secs_f64(x);
    let gate = Gate::new(&Closures::List(vec![(s(30.), s(39.))]), "g", seed);
    let lc = LinkConfig {
        capacity: Capacity::Fixed(Rate::from_bps(30000)),
        delay: Span::from_millis(300),
        limit: Limit::Packets(limit),
    };
    let lu = LinkConfig { limit: Limit::Packets(1000), ..lc.clone() };
    let phone = n.add(Host::new(
        HostConfig {
            flow: FlowId(0),
            node: NodeId(1),
            peer: NodeId(0),
            role: Role::Passive,
            start: Time::ZERO,
            tcp: c,
        },
        Box::new(Sink::new(Some(308000))),
    ));
    let down = n.add(Link::new(lc, vec![gate.clone()]));
    let server = n.add(Host::new(
        HostConfig {
            flow: FlowId(0),
            node: NodeId(0),
            peer: NodeId(1),
            role: Role::Active,
            start: Time::ZERO,
            tcp: c,
        },
        Box::new(Bulk::new(Some(308000))),
    ));
    let up = n.add(Link::new(lu, vec![gate]));
    n.wire(server, Port(0), down, Port(0));
    n.wire(down, Port(0), phone, Port(0));
    n.wire(phone, Port(0), up, Port(0));
    n.wire(up, Port(0), server, Port(0));
    n.start(None);
    n.run_until(s(4000.));
    let seg = |q: u64| if q == 0 { 0 } else { (q - 1) / 1000 + 1 };
    let mut seqs = std::collections::BTreeMap::new();
    let mut lines = vec![];
    for r in n.tracer().take() {
        match r.event {
            Event::DataSent { packet, seq, .. } => {
                seqs.insert(packet, seg(seq));
                lines.push(format!("{:.6},s,{}", r.t.as_secs_f64(), seg(seq)));
            }
            Event::Dropped { packet, .. } => {
                let q = seqs.get(&packet).copied().unwrap_or(999);
                lines.push(format!("{:.6},x,{}", r.t.as_secs_f64(), q));
            }
            Event::AckReceived { ack, .. } => {
                lines.push(format!("{:.6},a,{}", r.t.as_secs_f64(), seg(ack) - 1))
            }
            Event::RtoFired { .. } | Event::Verdict { .. } => eprintln!("{:?}", r),
            _ => {}
        }
    }
    for l in lines {
        println!("{l}");
    }
    let h = n.element::<Host>(server).unwrap();
    eprintln!("{:?} {:?} pool {}", h.counters(), h.finished(), n.bodies());
    eprintln!("{:?}", n.counters());
}
