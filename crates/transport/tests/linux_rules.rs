//! The claim: rules of Linux outside the reach of dialogues, because they apply before one begins or in a flag without
//! a notation, follow the kernel.

use base::Time;
use base::event::Source;
use base::trace::Tracer;
use transport::app::Socket;
use transport::endpoint::{Io, Outgoing};
use transport::tcp::config::Config;
use transport::tcp::{Connection, Role};

/// Segments sent at this time in milliseconds.
fn run(
    connection: &mut Connection,
    ms: u64,
    what: impl FnOnce(&mut Connection, &mut Io<'_>),
) -> Vec<Outgoing> {
    let (mut out, mut tracer) = (Vec::new(), Tracer::off());
    let mut io =
        Io { now: Time::from_nanos(ms * 1_000_000), out: &mut out, tracer: &mut tracer, source: Source(0) };
    what(connection, &mut io);
    out
}

/// A SYN, its answer, and the next segments of the opening end.
fn opened(config: &Config, bytes: u64) -> (Vec<Outgoing>, Vec<Outgoing>) {
    let mut ends = [Role::Active, Role::Passive].map(|role| Connection::new(*config, role));
    ends[0].write(bytes);
    let syn = run(&mut ends[0], 1000, |c, io| c.open(io));
    let answer = run(&mut ends[1], 1050, |c, io| c.on_segment(io, &syn[0].body, 0));
    let then = run(&mut ends[0], 1100, |c, io| c.on_segment(io, &answer[0].body, 1));
    ([syn, answer].concat(), then)
}

fn linux() -> Config {
    Config::profile("linux-6.x").expect("the profile")
}

/// 40 bytes of headers, and 20 of options in a SYN.
#[test]
fn a_syn_has_all_its_options() {
    let (syns, _) = opened(&linux(), 10_000);
    assert!(syns.iter().all(|out| out.body.syn && out.size == 60), "{syns:?}");
    let (syns, _) = opened(&Config::default(), 10_000);
    assert!(syns.iter().all(|out| out.size == 52));
}

/// The peer's SYN is acknowledged before data leave; elsewhere data carry the acknowledgement.
#[test]
fn the_handshake_ends_with_a_segment_of_its_own() {
    let (_, then) = opened(&linux(), 3000);
    let lens: Vec<u32> = then.iter().map(|out| out.body.len).collect();
    assert_eq!(lens, [0, 1460, 1460, 80]);
    assert!(then.iter().all(|out| out.body.ack == 1 && out.body.has_ack));
    assert_eq!(then[0].body.seq, 1);
    let (_, then) = opened(&Config::default(), 3000);
    assert_eq!(then[0].body.len, 1460);
    let (_, then) = opened(&linux(), 0);
    assert_eq!(then.len(), 1, "no acknowledgement twice");
}

/// Groups of two end with PSH, and so does the last segment that was written.
#[test]
fn groups_of_segments_are_pushed() {
    let pushed = |config: &Config, bytes| -> Vec<bool> {
        let (_, then) = opened(config, bytes);
        then.iter().filter(|out| out.body.len > 0).map(|out| out.body.push).collect()
    };
    assert_eq!(pushed(&linux(), 1 << 20), [false, true].repeat(5));
    assert_eq!(pushed(&linux(), 5 * 1460), [false, true, false, true, true]);
    assert!(!pushed(&Config::default(), 5 * 1460).contains(&true));
}

/// A window that grows is offered with half of the buffer in a SYN, in whole segments, as far as it can be said there.
#[test]
fn a_syn_offers_half_of_the_buffer() {
    let (syns, _) = opened(&linux(), 0);
    assert!(syns.iter().all(|out| out.body.window == 65_536 / 1460 * 1460), "{syns:?}");
    let mut small = linux();
    small.set("window", "16 kB").expect("a window");
    let (syns, _) = opened(&small, 0);
    assert!(syns.iter().all(|out| out.body.window == 16_000));
}

/// A window that has grown by one lets three out: two leave, the third waits for the acknowledgement that is due.
#[test]
fn less_than_a_group_waits_for_the_next_acknowledgement() {
    let sends = |defer: &str| -> Vec<usize> {
        let mut config = linux();
        for (word, value) in
            [("cc", "reno"), ("timestamps", "false"), ("initial-ssthresh", "14600 B"), ("defer", defer)]
        {
            config.set(word, value).expect(word);
        }
        let mut ends = [Role::Active, Role::Passive].map(|role| Connection::new(config, role));
        ends[0].write(1 << 20);
        let syn = run(&mut ends[0], 1000, |c, io| c.open(io));
        let answer = run(&mut ends[1], 1050, |c, io| c.on_segment(io, &syn[0].body, 0));
        run(&mut ends[0], 1100, |c, io| c.on_segment(io, &answer[0].body, 1));
        // Two segments are acknowledged every 24 ms, the first after 100 ms, each round trip longer than the last.
        let acks = (1..=30u64).map(|i| {
            let ack = base::tcp::Segment {
                ack: 1 + 2 * 1460 * i,
                has_ack: true,
                window: 1 << 20,
                ..answer[0].body
            };
            let ack = base::tcp::Segment { syn: false, seq: 1, ..ack };
            run(&mut ends[0], 1176 + 24 * i, |c, io| c.on_segment(io, &ack, 1 + i)).len()
        });
        acks.collect()
    };
    let (with, without) = (sends("true"), sends("false"));
    let apart = with.iter().zip(&without).find(|(a, b)| a != b);
    assert_eq!(apart, Some((&2, &3)), "{with:?} {without:?}");
}

/// The FIN of a connection that was closed by then goes with the last data; elsewhere it follows them.
#[test]
fn the_fin_goes_with_the_last_data() {
    let last = |config: &Config| -> Vec<(u32, bool)> {
        let mut ends = [Role::Active, Role::Passive].map(|role| Connection::new(*config, role));
        ends[0].write(3000);
        ends[0].close();
        let syn = run(&mut ends[0], 1000, |c, io| c.open(io));
        let answer = run(&mut ends[1], 1050, |c, io| c.on_segment(io, &syn[0].body, 0));
        let then = run(&mut ends[0], 1100, |c, io| c.on_segment(io, &answer[0].body, 1));
        then.iter().rev().take(2).map(|out| (out.body.len, out.body.fin)).collect()
    };
    assert_eq!(last(&linux()), [(80, true), (1460, false)]);
    assert_eq!(last(&Config::default()), [(0, true), (80, false)]);
}

/// What fills a hole is acknowledged with the window that is left beside all that waits to be read, and again with the one that
/// reading it opens.
#[test]
fn a_hole_that_is_filled_is_answered_twice() {
    let config = linux();
    let mut ends = [Role::Active, Role::Passive].map(|role| Connection::new(config, role));
    let syn = run(&mut ends[0], 1000, |c, io| c.open(io));
    let answer = run(&mut ends[1], 1050, |c, io| c.on_segment(io, &syn[0].body, 0));
    let opens = run(&mut ends[0], 1100, |c, io| c.on_segment(io, &answer[0].body, 1));
    run(&mut ends[1], 1150, |c, io| c.on_segment(io, &opens[0].body, 2));
    let segment = |i: u64| base::tcp::Segment { seq: 1 + 1460 * i, len: 1460, ..opens[0].body };
    for i in 1..44 {
        run(&mut ends[1], 1150 + i, |c, io| c.on_segment(io, &segment(i), 2 + i));
    }
    let answers = run(&mut ends[1], 1300, |c, io| c.on_segment(io, &segment(0), 50));
    let said: Vec<(u64, u32)> = answers.iter().map(|out| (out.body.ack, out.body.window)).collect();
    assert_eq!(said.iter().map(|(ack, _)| *ack).collect::<Vec<_>>(), [1 + 1460 * 44; 2]);
    assert!(said[1].1 >= 2 * said[0].1, "{said:?}");
}
