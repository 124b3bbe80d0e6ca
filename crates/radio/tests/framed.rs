//! Framed bearers: HSCSD, W-CDMA RLC, cdma2000 RLP.

mod common;

use base::dist::Dist;
use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use common::{Sink, s};
use path::{ElementId, Network, Port};
use proptest::prelude::*;
use radio::framed::circuit::Coding;
use radio::framed::config::{Adaptation, ChannelState, Contention, Disconnections, FramedConfig};
use radio::framed::element::Framed;
use radio::quality::Steps;

struct Bench {
    network: Network,
    bearer: ElementId,
    sinks: [ElementId; 2],
    sent: usize,
}

impl Bench {
    fn new(config: &FramedConfig, seed: u64) -> Bench {
        let mut network = Network::new(1, Tracer::off());
        let sinks = [0; 2].map(|_| network.add(Sink::default()));
        let bearer = network.add(Framed::new(config, Seed { seed, repetition: 0 }));
        for (i, sink) in sinks.iter().enumerate() {
            network.wire(bearer, Port(i as u16), *sink, Port(0));
        }
        network.start(None);
        Bench { network, bearer, sinks, sent: 0 }
    }
    fn send(&mut self, at: f64, size: u32, port: u16) {
        self.sent += 1;
        let packet = Packet { id: self.sent as u64, size, flags: Flags::DATA, ..Packet::NONE };
        self.network.inject(s(at), self.bearer, Port(port), packet);
    }
    fn got(&self, port: usize) -> Vec<(f64, u64)> {
        let sink = self.network.element::<Sink>(self.sinks[port]).unwrap();
        sink.0.iter().map(|(t, p)| (t.as_secs_f64(), p.id)).collect()
    }
    fn bearer(&self) -> &Framed {
        self.network.element(self.bearer).unwrap()
    }
    fn conserved(&self) -> bool {
        let out = self.got(0).len() + self.got(1).len();
        self.sent == out + self.network.packets_inside() + self.network.counters().dropped as usize
    }
}

/// A download of 200 packets at once; the rate until the last one arrives, and the counters.
fn rate(config: &FramedConfig, port: u16) -> f64 {
    let mut b = Bench::new(config, 1);
    (0..1500).for_each(|_| b.send(0.0, 576, port));
    b.network.run_until(s(4000.0));
    assert!(b.conserved());
    let got = b.got(usize::from(port));
    got.len() as f64 * 576.0 * 8.0 / (got.last().unwrap().0 - config.delay.as_secs_f64())
}

/// GP-40, GP-48: timeslots of 14.4 kbit/s carry 13.4 kbit/s each, V.110 lets 38.4 through, basic GSM data have 10.0.
#[test]
fn gp_40_gp_48_rates_of_circuits() {
    let hscsd = FramedConfig::hscsd("phone", 3, 1);
    let (down, up) = (rate(&hscsd, 0), rate(&hscsd, 1));
    // PPP puts eight octets around each packet, and frames end packets with one octet.
    let of = |line: f64| line * 576.0 / 585.0;
    assert!((down / of(38_400.0) - 1.0).abs() < 0.02, "{down}");
    assert!((up / of(13_400.0) - 1.0).abs() < 0.02, "{up}");
    let mut basic = FramedConfig::hscsd("phone", 1, 1);
    basic.octets = 25;
    basic.states[0].rate = [Rate::from_bps(10_000); 2];
    let down = rate(&basic, 0);
    assert!((down / of(10_000.0) - 1.0).abs() < 0.02, "{down}");
}

/// GP-40: link adaptation in a call. Where C/I is poor for half of the time, the adaptive circuit carries more than
/// either coding alone, everything arrives in order across the changes, and the changes are few.
#[test]
fn gp_40_link_adaptation_in_a_call() {
    let steps = Steps((0..40).map(|k| (k * 1000, if k % 2 == 0 { 16.0 } else { 7.0 })).collect());
    let carried = |change: &dyn Fn(&mut FramedConfig)| {
        let mut config = FramedConfig::hscsd("phone", 3, 1);
        config.cap = None;
        config.adaptation = Some(Adaptation {
            c_over_i: [steps.clone(), steps.clone()],
            gain: 0.0,
            every: Span::from_millis(480),
            hysteresis_db: 2.0,
        });
        change(&mut config);
        let mut b = Bench::new(&config, 1);
        (0..6000).for_each(|_| b.send(0.0, 576, 0));
        b.network.run_until(s(800.0));
        assert!(b.conserved());
        let got = b.got(0);
        assert!(got.iter().map(|(_, id)| *id).eq(1..=got.len() as u64), "in order");
        (got.len(), b.bearer().regradings()[0])
    };
    // A hysteresis without end keeps the first coding.
    let stays = |config: &mut FramedConfig| config.adaptation.as_mut().unwrap().hysteresis_db = 200.0;
    let slow = |config: &mut FramedConfig| {
        stays(config);
        config.timeslots.1 = Coding::F96;
    };
    let (adaptive, changes) = carried(&|_| ());
    let (fast, slow) = (carried(&stays), carried(&slow));
    assert!(
        adaptive > fast.0 + fast.0 / 20 && adaptive > slow.0 + slow.0 / 20,
        "{adaptive} {fast:?} {slow:?}"
    );
    // Both directions see each of the 39 changes of C/I.
    assert_eq!((changes, fast.1, slow.1), (78, 0, 0));
}

/// GP-40: timeslots in a call. Uploads are faster while only 2 + 2 timeslots are left than with 3 + 1.
#[test]
fn gp_40_fallback_gives_uplink_peaks() {
    let mut config = FramedConfig::hscsd("phone", 3, 1);
    config.contention = Some(Contention {
        timeslots: 7,
        calls: 5.0,
        call_lasts: Span::from_secs(60),
        regrade: Span::from_secs(5),
        fallback: vec![[2, 2], [1, 1]],
    });
    let mut b = Bench::new(&config, 2);
    (0..6000).for_each(|_| b.send(0.0, 576, 1));
    b.network.run_until(s(1500.0));
    assert!(b.conserved());
    let mut windows = vec![0.0; 150];
    b.got(1).iter().for_each(|(t, _)| windows[(t / 10.0) as usize] += 576.0 * 0.8);
    let most = windows.iter().fold(0.0_f64, |a, b| a.max(*b));
    let least = windows[1..].iter().fold(f64::MAX, |a, b| a.min(*b));
    let line = |slots: f64| slots * 13_400.0 * 576.0 / 585.0;
    assert!(
        (most / line(2.0) - 1.0).abs() < 0.05 && (least / line(1.0) - 1.0).abs() < 0.05,
        "{least} {most}"
    );
    assert!(b.bearer().regradings()[1] > 10);
}

/// GP-41: the connection is lost now and then, for one of three causes, with its contents.
#[test]
fn gp_41_disconnections_and_their_causes() {
    let mut config = FramedConfig::hscsd("phone", 3, 1);
    config.disconnections = Some(Disconnections {
        every: Dist::Exponential(690e9),
        lasts: Dist::Constant(10e9),
        causes: [2.0, 1.0, 1.0],
    });
    let mut b = Bench::new(&config, 1);
    (0..100_000).for_each(|i| b.send(f64::from(i), 100, 0));
    b.network.run_until(s(101_000.0));
    assert!(b.conserved());
    let causes = b.bearer().disconnections().map(|(_, n)| n);
    let all: u64 = causes.iter().sum();
    assert!((115..175).contains(&all), "{all} in 100 000 s");
    assert!(causes[0] > causes[1] && causes.iter().all(|n| *n > 10), "{causes:?}");
    assert!(b.got(0).len() > 99_000 - 12 * all as usize);
}

/// WC-02: PDUs of one interval are one coded unit: all of them are lost, or none. A packet whose PDUs lie in two or three
/// intervals then arrives whole far more often than where each PDU is lost by itself.
#[test]
fn wc_02_pdus_of_an_interval_fail_together() {
    let whole = |together: bool| {
        let mut config = FramedConfig::wcdma("phone");
        (config.together, config.attempts, config.states[0].error) = (together, Some(1), [0.1, 0.0]);
        let mut b = Bench::new(&config, 3);
        (0..2000).for_each(|_| b.send(0.0, 576, 0));
        b.network.run_until(s(100.0));
        assert!(b.conserved());
        let counts = b.bearer().counts().down;
        let share = counts.errors as f64 / (counts.new + counts.missing + counts.idle) as f64;
        assert!((share - 0.1).abs() < 0.03, "{share}");
        b.got(0).len() as f64 / 2000.0
    };
    // 577 octets and a length indicator touch 15.45 PDUs of 40 octets on average, and those 2.2 intervals of twelve.
    let (apart, together) = (whole(false), whole(true));
    assert!((apart - libm::pow(0.9, 15.45)).abs() < 0.04, "{apart}");
    assert!((together - libm::pow(0.9, 2.2)).abs() < 0.06, "{together}");
}

/// A frame that is given up takes the packets that it carries along, and no packet behind them.
#[test]
fn a_frame_given_up_loses_its_own_packets() {
    let mut config = FramedConfig::wcdma("phone");
    (config.attempts, config.states[0].error) = (Some(1), [0.02, 0.0]);
    let mut b = Bench::new(&config, 5);
    (0..400).for_each(|_| b.send(0.0, 576, 0));
    b.network.run_until(s(100.0));
    let got = b.got(0).len() as f64;
    // 577 octets and a length indicator are 14.45 PDUs; a packet touches 15.45 of them on average.
    let whole = 400.0 * libm::pow(0.98, 15.45);
    assert!(b.conserved() && (got - whole).abs() < 35.0, "{got} of 400, {whole} expected");
}

/// WC-01, WC-02, WC-03: 384 kbit/s in PDUs of 40 octets; with 10 % of them lost 90 % is left, and nothing is lost.
#[test]
fn wc_01_wc_03_rlc_of_wcdma() {
    let mut config = FramedConfig::wcdma("phone");
    config.attempts = None;
    let carried = rate(&config, 0);
    let most = 384_000.0 * 0.9 * 576.0 / 578.0;
    assert!(carried > 0.85 * most && carried < 1.01 * most, "{carried} of {most}");
    let mut b = Bench::new(&config, 2);
    (0..500).for_each(|_| b.send(0.0, 576, 0));
    b.network.run_until(s(60.0));
    assert_eq!(b.got(0).len(), 500);
    let counts = b.bearer().counts().down;
    let share = counts.errors as f64 / (counts.new + counts.missing + counts.idle) as f64;
    assert!((share - 0.1).abs() < 0.01 && counts.reports < counts.new / 8, "{share} {counts:?}");
}

/// WC-04: with few attempts packets are given up, with many none.
#[test]
fn wc_04_limit_of_attempts() {
    let lost = |attempts| {
        let mut config = FramedConfig::wcdma("phone");
        config.attempts = Some(attempts);
        config.states[0].error = [0.3; 2];
        let mut b = Bench::new(&config, 3);
        (0..300).for_each(|i| b.send(f64::from(i) * 0.05, 576, 0));
        b.network.run_until(s(60.0));
        assert!(b.conserved() && b.network.packets_inside() == 0);
        300 - b.got(0).len()
    };
    let [one, three, many] = [1, 3, 40].map(lost);
    assert!(one > three && three > 0 && many == 0, "{one} {three} {many}");
}

/// WC-05: the high-rate channel is not taken away while data wait.
#[test]
fn wc_05_resource_is_kept_while_data_wait() {
    let run = |keep| {
        let mut config = FramedConfig::cdma2000("phone");
        config.keep = keep;
        config.states.iter_mut().for_each(|s| s.error = [0.0; 2]);
        rate(&config, 0)
    };
    let (taken, kept) = (run(false), run(true));
    assert!(kept > 1.5 * taken && kept > 140_000.0, "{taken} {kept}");
}

/// WC-06, WC-07: NAK rounds repair most losses, frames missing after three rounds are lost; the rate does not depend
/// on the frame time.
#[test]
fn wc_06_wc_07_rounds_of_naks() {
    let run = |naks: Vec<u8>, error: f64, frame: u64| {
        let mut config = FramedConfig::cdma2000("phone");
        config.states.truncate(1);
        config.states[0].lasts = None;
        config.states[0].error = [error; 2];
        config.period = Span::from_millis(frame);
        config.reports = radio::framed::config::Reports::Rounds { naks, timer: Span::from_millis(100) };
        let mut b = Bench::new(&config, 4);
        (0..2000).for_each(|i| b.send(f64::from(i) * 0.05, 500, 0));
        b.network.run_until(s(300.0));
        assert!(b.conserved() && b.network.packets_inside() == 0);
        2000 - b.got(0).len()
    };
    let (one, three) = (run(vec![1], 0.05, 20), run(vec![1, 2, 3], 0.05, 20));
    // A packet is 26 frames. One round leaves 0.05 squared of them: 6 % of the packets; three leave 0.05^4.
    assert!((60..190).contains(&one), "{one}");
    assert!(three <= 3, "{three}");
    for frame in [5, 10, 40, 80] {
        assert!(run(vec![1, 2, 3], 0.01, frame) <= 1);
    }
}

/// WC-08: a channel given and taken alternates between two rates.
#[test]
fn wc_08_channel_given_and_taken() {
    let config = FramedConfig::cdma2000("phone");
    let mut b = Bench::new(&config, 5);
    (0..3000).for_each(|_| b.send(0.0, 500, 0));
    b.network.run_until(s(120.0));
    let mut per_second = vec![0; 120];
    b.got(0).iter().for_each(|(t, _)| per_second[(*t as usize).min(119)] += 1);
    let fast = per_second.iter().filter(|n| **n > 30).count();
    let slow = per_second.iter().filter(|n| **n <= 4).count();
    assert!(fast > 10 && slow > 30, "{fast} {slow} {per_second:?}");
    assert!(b.bearer().changes() > 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Packets are conserved and leave in order.
    #[test]
    fn packets_are_conserved(
        seed in any::<u64>(),
        kind in 0usize..3,
        error in 0.0f64..0.5,
        hole in 1.0f64..5.0,
        sizes in proptest::collection::vec(28u32..1500, 1..60),
    ) {
        let mut config = match kind {
            0 => FramedConfig::hscsd("phone", 3, 1),
            1 => FramedConfig::wcdma("phone"),
            _ => FramedConfig::cdma2000("phone"),
        };
        config.states.iter_mut().for_each(|s| s.error = [error; 2]);
        config.states[0].lasts = Some(Dist::Exponential(10e9));
        config.states.push(ChannelState {
            name: "hole".into(),
            rate: [Rate::from_bps(0); 2],
            error: [1.0; 2],
            lasts: Some(Dist::Exponential(hole * 1e9)),
            weight: 1.0,
        });
        config.buffer = [Some(10_000), Some(4_000)];
        config.disconnections = Some(Disconnections {
            every: Dist::Exponential(60e9),
            lasts: Dist::Constant(3e9),
            causes: [1.0; 3],
        });
        let mut b = Bench::new(&config, seed);
        for (i, size) in sizes.iter().enumerate() {
            b.send(i as f64 * 0.7, *size, (i % 3 == 0) as u16);
            prop_assert!(b.conserved());
        }
        b.network.run_until(Time::from_secs_f64(5000.0));
        prop_assert!(b.conserved());
        prop_assert_eq!(b.network.packets_inside(), 0);
        for port in 0..2 {
            prop_assert!(b.got(port).windows(2).all(|w| w[0].1 < w[1].1 && w[0].0 <= w[1].0));
        }
    }
}
