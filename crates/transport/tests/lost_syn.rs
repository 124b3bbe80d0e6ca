//! The claim: a repeated SYN reduces the initial window (RFC 5681 section 3.1), unless the echoed timestamp shows a
//! sender that evaluates it (RFC 3522) that the first one had arrived.

use base::Time;
use base::event::{Category, Event, Source};
use base::trace::Tracer;
use transport::app::Socket;
use transport::endpoint::{Io, Outgoing};
use transport::tcp::config::Config;
use transport::tcp::{Connection, Role};

/// Segments sent at this time in milliseconds, and the verdict.
fn run(
    connection: &mut Connection,
    ms: u64,
    what: impl FnOnce(&mut Connection, &mut Io<'_>),
) -> (Vec<Outgoing>, Vec<Event>) {
    let (mut out, mut tracer) = (Vec::new(), Tracer::of(&[Category::Transport]));
    let mut io =
        Io { now: Time::from_nanos(ms * 1_000_000), out: &mut out, tracer: &mut tracer, source: Source(0) };
    what(connection, &mut io);
    (out, tracer.take().into_iter().map(|record| record.event).collect())
}

/// The SYN leaves at 1 s and again at 2 s; the peer receives one of the two, and its answer comes at 2.6 s. How many
/// segments leave then, and the verdict.
fn after(words: &[(&str, &str)], first_arrives: bool) -> (usize, Option<bool>) {
    let mut config = Config::default();
    words.iter().for_each(|(key, word)| config.set(key, word).unwrap());
    let mut ends = [Role::Active, Role::Passive].map(|role| Connection::new(config, role));
    ends[0].write(40_000);
    let (first, _) = run(&mut ends[0], 1000, |c, io| c.open(io));
    let (again, _) = run(&mut ends[0], 2000, |c, io| c.on_timeout(io));
    assert!(first[0].body.syn && again[0].body.syn, "the timer expires after a second");
    let heard = if first_arrives { &first[0] } else { &again[0] };
    let (answer, _) = run(&mut ends[1], 2500, |c, io| c.on_segment(io, &heard.body, 0));
    let (data, decided) = run(&mut ends[0], 2600, |c, io| c.on_segment(io, &answer[0].body, 1));
    let verdict = decided.iter().find_map(|event| match event {
        Event::Verdict { spurious, .. } => Some(*spurious),
        _ => None,
    });
    (data.iter().filter(|out| out.body.len > 0).count(), verdict)
}

#[test]
fn a_repeated_syn_leaves_one_segment() {
    assert_eq!(after(&[], true), (1, None));
    assert_eq!(after(&[], false), (1, None));
}

#[test]
fn one_that_was_repeated_too_early_leaves_the_first_window() {
    assert_eq!(after(&[("spurious", "eifel")], true), (10, Some(true)));
    assert_eq!(after(&[("spurious", "eifel")], false), (1, Some(false)));
}

#[test]
fn without_timestamps_nothing_is_known_of_it() {
    assert_eq!(after(&[("spurious", "eifel"), ("timestamps", "false")], true), (1, None));
}
