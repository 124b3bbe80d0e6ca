//! The claim: a link costs time in proportion to its packets and frames, and bounded memory, in any order.

mod common;

use base::packet::{Flags, Packet};
use base::{Rate, Span, Time};
use common::{Bench, SEED, packet, plain, span};
use path::capacity::Capacity;
use path::channel::arq::ArqConfig;
use path::channel::error::{ErrorProcess, ErrorRate, Errors, Mode};
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::link::{Link, LinkConfig, QueueLimit};
use path::qdisc::Room;

fn packets(n: u32) -> Option<Room> {
    Some(Room { packets: Some(n), bytes: None })
}

fn errors(chance: ErrorRate, mode: Mode) -> Errors {
    Errors::new(ErrorProcess::Steady(chance), mode, SEED.stream("radio.noise@radio.down", "error"))
}

/// Processor time of this thread, seconds; none where the system does not tell.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// An ARQ sender whose acknowledgements overtake each other takes time in proportion to its frames, 200 000 here: each
/// insertion was a linear search among all of them.
#[test]
fn tiny_frames_out_of_order_cost_no_search() {
    let dist = base::dist::Dist::Uniform(0.0, 60e9);
    let feedback = base::dist::Sampler::new(dist, SEED.stream("x", "feedback"));
    let config = ChannelConfig {
        framing: Framing { payload: Some(1), ..Framing::default() },
        arq: Some(ArqConfig { attempts: Some(9), time: None, feedback, window: None }),
        errors: vec![errors(ErrorRate::Frame(0.01), Mode::Drop)],
        send_buffer: packets(1000),
        in_order: false,
        ..plain(800_000_000)
    };
    let mut bench = Bench::of(config).start();
    let began = processor_s();
    (1..=10).for_each(|i| bench.send(0.0, i, 20_000));
    assert_eq!(bench.arrived().len(), 10);
    if let (Some(began), Some(ended)) = (began, processor_s()) {
        assert!(ended - began < 15.0, "{} s of processor time for 200 000 frames", ended - began);
    }
}

/// A receive buffer behind a long propagation: each arrival was once compared with all packets in flight.
#[test]
fn a_long_flight_before_a_receive_buffer_costs_no_search() {
    let config = ChannelConfig { receive_buffer: packets(10), delay: span(10.0), ..plain(80_000_000) };
    let mut bench = Bench::of(config).start();
    let began = processor_s();
    (1..=50_000).for_each(|i| bench.send(0.0, i, 100));
    assert_eq!(bench.arrived().len(), 50_000);
    if let (Some(began), Some(ended)) = (began, processor_s()) {
        assert!(ended - began < 15.0, "{} s of processor time for 50 000 packets", ended - began);
    }
}

/// Background load above the rate of a link without a limit is counted as dropped in place of being stored without end.
#[test]
fn load_that_cannot_leave_is_counted_and_not_stored() {
    let link = LinkConfig {
        capacity: Capacity::Fixed(Rate::from_bps(1000)),
        delay: Span::ZERO,
        limit: QueueLimit::default(),
    };
    let load = Packet { flags: Flags::VIRTUAL, ..packet(1, 40) };
    for channel in [false, true] {
        let link = link.clone();
        let mut bench = Bench::chain(vec![Box::new(move |network| {
            if channel {
                network.add(Channel::new(plain(1000)))
            } else {
                network.add(Link::new(link, Vec::new()))
            }
        })])
        .start();
        (0..(1 << 20) + 1000).for_each(|_| bench.put(Time::ZERO, load));
        bench.send(0.0, 7, 40);
        let dropped = bench.network.counters().dropped;
        assert!((998..=1000).contains(&dropped), "{dropped} of 1000 beyond the bound");
        let inside = bench.network.packets_inside();
        assert_eq!(inside as u64 + dropped, (1 << 20) + 1001, "a real packet is taken, and nothing vanishes");
    }
}
