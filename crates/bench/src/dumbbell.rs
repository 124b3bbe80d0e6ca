//! Benchmark of many long SACK flows over one bottleneck: the dumbbell of `peers/ns2/dumbbell.tcl`, and
//! variants with more flows.

use crate::clock::{Clock, each, least};
use crate::say;
use base::Time;
use base::rng::Seed;
use base::trace::Tracer;
use host::Host;
use scenario::build::{World, build};
use scenario::{Model, NoFiles, read};
use std::fmt::Write as _;
use std::time::Duration;
use transport::app::Socket as _;

/// Options of ns-2.35 in the dumbbell, over the profile of 2001. Its queues drop a packet at one packet less
/// than their limit.
const TCP: &str = r#"{ profile = "ns2-2001", recovery = "sack", window = "200 segments", timestamps = false, bug-fix = "careful", limited-transmit = true, rto.tick = "10 ms", rto.min = "200 ms", rto.initial = "3 s", rto.max = "60 s", rto.clamp-before-backoff = true, delayed-ack.syn = false }"#;

/// Scenario of `flows` pairs of hosts, with a router on each side and `mbits` Mbit/s between the routers.
fn scenario(flows: u32, mbits: f64, queue: u32, seconds: u32) -> String {
    let mut s = format!(
        "williwaw = 1\n[run]\nlimit = \"{seconds} s\"\n\
         [[hop]]\nname = \"bottleneck\"\nbetween = [\"left\", \"right\"]\nrate = \"{mbits} Mbit/s\"\n\
         delay = \"20 ms\"\nqueue = {{ drop-tail = {{ limit = \"{queue} packets\" }} }}\n"
    );
    for i in 0..flows {
        let access = |name: &str, from: &str, to: &str, delay: f64| {
            format!(
                "[[hop]]\nname = \"{name}{i}\"\nbetween = [\"{from}\", \"{to}\"]\nrate = \"1000 Mbit/s\"\n\
                 delay = \"{delay:.1} ms\"\nqueue = {{ drop-tail = {{ limit = \"999 packets\" }} }}\n"
            )
        };
        let near = 1.0 + 0.1 * f64::from(i % 50);
        s += &access("near", &format!("from{i}"), "left", near);
        s += &access("far", "right", &format!("to{i}"), 1.0);
        let _ = write!(
            s,
            "[[flow]]\nname = \"flow{i}\"\nfrom = \"from{i}\"\nto = \"to{i}\"\nstart = \"{} ms\"\n\
             transport = {{ tcp = {TCP} }}\napp = \"bulk\"\n",
            10 * (i % 50)
        );
    }
    s
}

pub(crate) fn model(flows: u32, mbits: f64, queue: u32, seconds: u32) -> Model {
    let text = scenario(flows, mbits, queue, seconds);
    match read("dumbbell", text.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario.first().clone(),
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    }
}

pub(crate) fn run(model: &Model) -> (Duration, World) {
    let mut world = started(model);
    let clock = Clock::start();
    world.network.run_until(Time::ZERO + model.run.limit);
    (clock.stop(), world)
}

/// [`run`] without a clock: reading a clock ends the program under valgrind, which hides the vDSO in the
/// auxiliary vector.
pub(crate) fn run_untimed(model: &Model) -> World {
    let mut world = started(model);
    world.network.run_until(Time::ZERO + model.run.limit);
    world
}

fn started(model: &Model) -> World {
    let mut world = build(model, Seed { seed: 1, repetition: 0 }, Tracer::off());
    world.network.start(None);
    world
}

pub(crate) struct Totals {
    pub(crate) data: u64,
    pub(crate) resent: u64,
    pub(crate) delivered: u64,
    pub(crate) drops: u64,
    pub(crate) hops: u64,
}

pub(crate) fn totals(world: &World) -> Totals {
    let mut t = Totals { data: 0, resent: 0, delivered: 0, drops: 0, hops: world.network.counters().hops };
    for (i, ends) in world.flows.iter().enumerate() {
        let host = |id| world.network.element::<Host>(id);
        let (Some(from), Some(to)) = (host(ends.from), host(ends.to)) else { continue };
        t.data += from.counters().data_sent;
        t.resent += from.counters().data_resent;
        t.delivered += to.connection().received();
        t.drops += world.network.ledgers()[2 * i].queue_drops;
    }
    t
}

/// Payload that ns-2.35 delivers, bytes.
const NS2_DELIVERED: f64 = 716_816_000.0;

/// 50 flows, 100 Mbit/s, 60 s.
pub(crate) fn compare() {
    let model = model(50, 100.0, 499, 60);
    let (took, world) = least(5, || run(&model));
    let t = totals(&world);
    let off = 100.0 * (t.delivered as f64 / NS2_DELIVERED - 1.0);
    say(&format!(
        "dumbbell  data {}  resent {}  drops {}  delivered {} B ({off:+.2} % of ns-2)  hops {}",
        t.data, t.resent, t.drops, t.delivered, t.hops
    ));
    say(&format!(
        "dumbbell  {:.3} s  {:.0} ns a data segment  {:.1} ns a packet-hop",
        took.as_secs_f64(),
        each(took, t.data),
        each(took, t.hops)
    ));
}

/// Growing number of flows with a constant share for each: 2 Mbit/s and 10 packets of queue.
pub(crate) fn growth() {
    let mut first = None;
    for flows in [1u32, 10, 100, 1000, 10_000] {
        let seconds = (20_000 / flows.max(20)).max(4);
        let model = model(flows, 2.0 * f64::from(flows), 10 * flows, seconds.min(1000));
        let (took, world) = least(3, || run(&model));
        let t = totals(&world);
        let ns = each(took, t.hops);
        let one = *first.get_or_insert(ns);
        say(&format!(
            "growth    {flows:>5} flows  {:>9} hops  {ns:>6.1} ns a packet-hop  {:.2} times that of one flow",
            t.hops,
            ns / one
        ));
    }
}
