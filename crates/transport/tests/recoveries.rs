//! The claim: over a path that loses, reorders and delays, every recovery with every window reduction delivers
//! everything, sends nothing beyond its limits, and is idle afterwards (TB-08, TB-11, TB-12, TB-13).

mod fuzz;

use base::event::Source;
use base::rng::mix;
use base::tcp::Segment;
use base::trace::Tracer;
use base::{Span, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;
use transport::Io;
use transport::app::Socket as _;
use transport::tcp::cc::Controller;
use transport::tcp::config::{CongestionControl, Recovery, Response, Spurious};
use transport::tcp::{Config, Connection, Role};

/// A path between two ends with given faults. Random values are a function of the packet's number.
struct Path {
    ends: [Connection; 2],
    now: Time,
    /// On its way: when it arrives, its number; to whom, what.
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    sent: u64,
    resent: u64,
    highest: u64,
    seed: u64,
    loss_permille: u64,
    jitter_us: u64,
    /// Nothing gets through for this long from time to time.
    pause_ms: u64,
}

impl Path {
    fn call(&mut self, end: usize, what: impl FnOnce(&mut Connection, &mut Io<'_>)) {
        let (mut out, mut tracer) = (Vec::new(), Tracer::off());
        let mut io = Io { now: self.now, out: &mut out, tracer: &mut tracer, source: Source(0) };
        what(&mut self.ends[end], &mut io);
        self.losses_are_heard();
        for sent in out {
            let segment = sent.body;
            if end == 0 && segment.len > 0 {
                self.resent += u64::from(segment.seq < self.highest);
                self.highest = self.highest.max(segment.end());
                let sender = &self.ends[0].sender;
                assert!(segment.end() <= sender.una() + sender.peer_window().max(1461) + 1);
            }
            self.sent += 1;
            let draw = mix(self.seed ^ self.sent);
            // Whatever the weather, it is over in the end.
            let bad = self.sent < 20_000 && draw % 1000 < self.loss_permille;
            let pause = self.pause_ms * 1_000_000;
            let at = self.now.as_nanos();
            let held = if pause > 0 && at % (8 * pause) < pause { 8 * pause - at % (8 * pause) } else { 0 };
            let delay = 40_000_000 + held + (draw >> 20) % (self.jitter_us * 1000 + 1);
            if !bad {
                let arrives = self.now + Span::from_nanos(delay);
                self.flying.insert((arrives, self.sent), (1 - end, segment));
            }
        }
    }

    /// A congestion control with loss events receives all losses, whatever revealed them: an acknowledgement or a timer
    /// (draft-ietf-ccwg-bbr section 5.2.4).
    fn losses_are_heard(&self) {
        let sender = &self.ends[0].sender;
        if let (Controller::Bbr3(bbr), Some(sent)) = (&sender.tcb.control, &sender.tcb.sent) {
            assert_eq!(bbr.lost(), sent.found_lost().bytes);
        }
    }

    /// Runs until the sender is done; whether it was before the time was up.
    fn run(&mut self) -> bool {
        self.call(0, |c, io| c.open(io));
        let limit = Time::ZERO + Span::from_secs(50_000);
        while !self.ends[0].sender.done() {
            let packet = self.flying.first_key_value().map_or(Time::NEVER, |((t, _), _)| *t);
            let timer = self.ends[0].next_timeout().min(self.ends[1].next_timeout());
            self.now = self.now.max(packet.min(timer));
            if self.now > limit {
                return false;
            }
            if packet <= timer {
                let (_, (end, segment)) = self.flying.pop_first().expect("one flies");
                self.call(end, |c, io| c.on_segment(io, &segment, 0));
            } else {
                for end in 0..2 {
                    if self.ends[end].next_timeout() <= self.now {
                        self.call(end, |c, io| c.on_timeout(io));
                    }
                }
            }
        }
        true
    }
}

fn config(choices: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (key, value) in choices {
        config.set(key, value).expect("an option");
    }
    config
}

/// A transfer of `bytes`; segments sent again, and seconds.
fn transfer(config: Config, bytes: u64, seed: u64, loss: u64, jitter_us: u64, pause_ms: u64) -> (u64, f64) {
    let ends = [Connection::new(config, Role::Active), Connection::new(config, Role::Passive)];
    let mut path = Path {
        ends,
        now: Time::ZERO,
        flying: BTreeMap::new(),
        sent: 0,
        resent: 0,
        highest: 0,
        seed: mix(seed),
        loss_permille: loss,
        jitter_us,
        pause_ms,
    };
    path.ends[0].write(bytes);
    path.ends[0].close();
    assert!(path.run(), "{:?} is stuck at {} of {bytes}", config.recovery, path.ends[1].received());
    // A paced sender may look once more whether there is something to release.
    let sent = path.sent;
    for _ in 0..3 {
        path.now = path.now.max(path.ends[0].next_timeout().min(path.now + Span::from_secs(60)));
        path.call(0, |c, io| c.on_timeout(io));
    }
    assert_eq!(path.sent, sent, "something left after the end");
    let [sender, receiver] = &path.ends;
    assert_eq!((receiver.received(), sender.acknowledged()), (bytes, bytes));
    assert_eq!(sender.sender.flight(), 0);
    assert!(sender.sender.next_timeout().is_never(), "a timer runs on");
    if let Some(record) = &sender.sender.tcb.sent {
        assert!(record.records().is_empty());
        assert_eq!((record.in_flight(), record.sacked(), record.lost()), (0, 0, 0));
    }
    (path.resent, path.now.since(Time::ZERO).as_secs_f64())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_whatever_the_recovery(
        seed in any::<u64>(),
        bytes in 1u64..200_000,
        loss in 0u64..150,
        jitter_us in prop_oneof![Just(0u64), 1u64..60_000],
        pause_ms in prop_oneof![3 => Just(0u64), 1 => 300u64..3000],
        sack in any::<bool>(),
        spurious in proptest::sample::select(Spurious::NAMES),
        response in proptest::sample::select(Response::NAMES),
        cc in proptest::sample::select(CongestionControl::NAMES),
        limited in any::<bool>(),
    ) {
        for recovery in Recovery::NAMES {
            for reduction in ["halving", "prr"] {
                let config = config(&[
                    ("recovery", recovery),
                    ("reduction", reduction),
                    ("sack", if sack { "on" } else { "off" }),
                    ("spurious", spurious),
                    ("response", response),
                    ("cc", cc),
                    ("limited-transmit", if limited { "true" } else { "false" }),
                ]);
                transfer(config, bytes, seed, loss, jitter_us, pause_ms);
            }
        }
    }

    /// Any input of a peer, at any time: no panic, no endless timer, no transmission that was not allowed.
    #[test]
    fn no_peer_upsets_a_recovery(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for recovery in Recovery::NAMES {
            for reduction in ["halving", "prr"] {
                fuzz::tcp_sender_with(&bytes, &[("recovery", recovery), ("reduction", reduction)]);
            }
        }
    }
}

/// Without losses no strategy resends. With losses, strategies that repair without a timeout are done
/// sooner than Tahoe, and strategies that use SACK sooner than Reno.
#[test]
fn reports_save_time() {
    let cost = |recovery: &str, loss| {
        let config = config(&[("recovery", recovery), ("sack", "auto")]);
        (0..40)
            .map(|seed| transfer(config, 300_000, seed, loss, 0, 0))
            .fold((0, 0.0), |(n, t), (resent, time)| (n + resent, t + time))
    };
    for recovery in Recovery::NAMES {
        assert_eq!(cost(recovery, 0).0, 0, "{recovery} resends what is not lost");
    }
    let (_, reno) = cost("reno", 50);
    for recovery in ["newreno-sack", "rfc3517", "rfc6675", "fack", "rack"] {
        let (_, time) = cost(recovery, 50);
        assert!(time < reno, "{recovery} took {time} s, reno {reno} s");
    }
}
