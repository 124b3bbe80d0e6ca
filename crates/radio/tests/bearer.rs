//! A bearer against arithmetic by hand and against an independent element of the path.

mod common;

use base::{Rate, Span, Time};
use common::{Bench, permanent, s};
use path::capacity::Capacity;
use path::channel::class::ClassRule;
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::{Network, Port, Signal};
use proptest::prelude::*;
use radio::bssgp::Bucket;
use radio::cell::config::{CellConfig, IdleRepeat, Traffic, UserConfig, Voice};
use radio::cell::element;
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::mac::tbf::{Setup, TbfConfig, TbfState};
use radio::mobility::{Camping, Extent, Instants, MobilityConfig};
use radio::parameters;
use radio::quality::Source;
use radio::rlc::poll::Policy;
use radio::rlc::{Mode, Numbering};

fn one(user: UserConfig) -> CellConfig {
    CellConfig::of(vec![user])
}

/// GP-05, GP-07, GP-10: 1500 octets with N201 of 1520 are 1511 octets: 51 blocks of CS-2, 1.02 s on one timeslot and
/// 0.34 s on three.
#[test]
fn gp_07_a_packet_by_hand() {
    for (slots, periods) in [(1, 51), (3, 17)] {
        let mut user = permanent(slots);
        user.llc.n201 = 1520;
        let mut b = Bench::new(&one(user));
        b.down(0.0, 1500);
        b.run(10.0);
        let last = Time::ZERO + Span::from_millis(20).times(periods - 1) + radio::tdma::AIR;
        assert_eq!(b.got(element::down(0)), [(last.as_secs_f64(), 1)]);
        let counts = b.cell().counts(0).unwrap();
        assert_eq!((counts.down.new, counts.down.frames), (51, 1));
    }
    // MCS-9 on three timeslots: 148 octets a block, 11 blocks, four periods.
    let mut user = permanent(3);
    user.llc.n201 = 1520;
    (user.down.scheme, user.down.numbering) = (Scheme::Mcs9, Numbering::egprs(384));
    let mut b = Bench::new(&one(user));
    b.down(0.0, 1500);
    b.run(10.0);
    assert_eq!(
        b.got(element::down(0)),
        [((Time::ZERO + Span::from_millis(60) + radio::tdma::AIR).as_secs_f64(), 1)]
    );
}

/// With no errors and TBFs held the bearer is a hop with `framing`, to the nanosecond.
#[test]
fn without_errors_it_is_a_framed_link_to_the_nanosecond() {
    // 3 x 30 octets a packet and one block period a frame; a queue builds up and empties again. The last length
    // indicator falls away where a frame ends with its block, so sizes are a block short of that.
    let sizes = [79, 19, 49, 1399, 439, 79, 1489];
    let arrivals = [0, 0, 1, 3, 3, 200, 202];
    let mut user = permanent(1);
    user.llc.n201 = 1520;
    let mut b = Bench::new(&one(user));
    let mut frames = Network::new(1, base::trace::Tracer::off());
    let sink = frames.add(common::Sink::default());
    let framing = Framing { around: 11, payload: Some(30), overhead: 3, padded: true, ..Framing::default() };
    let config = ChannelConfig {
        framing,
        ..ChannelConfig::plain(Capacity::Fixed(Rate::from_bps(33 * 8 * 50)), Span::ZERO)
    };
    let channel = frames.add(Channel::new(config));
    frames.wire(channel, Port(0), sink, Port(0));
    frames.start(None);
    for (i, (size, tick)) in sizes.iter().zip(arrivals).enumerate() {
        let at = f64::from(tick) * 0.02;
        b.down(at, *size);
        let packet = base::Packet { id: i as u64 + 1, size: *size, ..base::Packet::NONE };
        frames.inject(s(at), channel, Port(0), packet);
    }
    b.run(60.0);
    frames.run_until(s(60.0));
    let air = Span::from_millis(20) - radio::tdma::AIR;
    let of_frames: Vec<(Time, u64)> =
        frames.element::<common::Sink>(sink).unwrap().0.iter().map(|(t, p)| (*t - air, p.id)).collect();
    let of_frames: Vec<(f64, u64)> = of_frames.iter().map(|(t, i)| (t.as_secs_f64(), *i)).collect();
    assert_eq!(of_frames.len(), sizes.len());
    assert_eq!(b.got(element::down(0)), of_frames);
}

/// GP-11: 200 blocks a second, a report each 20 blocks after 200 ms: about 60 of 64 outstanding, so that loss stalls.
/// EGPRS windows of 192 and more do not stall.
#[test]
fn gp_11_stalls_by_window_and_errors() {
    let stalls = |window: u32, bler: f64, slots: u8| {
        let mut user = permanent(slots);
        user.delays.abis = Span::from_millis(80);
        user.down.quality = Source::Constant { data: bler, control: 0.0 };
        if window > 64 {
            user.down.numbering = Numbering::egprs(window);
        }
        user.down.hold_off = Span::from_millis(260);
        let mut b = Bench::new(&one(user));
        (0..100).for_each(|_| b.down(0.0, 1000));
        b.run(200.0);
        assert_eq!(b.got(element::down(0)).len(), 100);
        b.cell().counts(0).unwrap().down.stalls
    };
    assert_eq!(stalls(64, 0.0, 4), 0, "about 60 are outstanding");
    assert!(stalls(64, 0.05, 4) > 10);
    assert_eq!(stalls(512, 0.05, 4), 0);
    assert!(stalls(64, 0.02, 3) < stalls(64, 0.02, 4));
}

/// GP-13, GP-14, C124: sparse reports stall the window.
#[test]
fn c124_sparse_reports_stall() {
    let stalled = |n| {
        let mut user = permanent(4);
        user.down.policy = Policy::Every { n };
        user.down.quality = Source::Constant { data: 0.1, control: 0.0 };
        let mut b = Bench::new(&one(user));
        (0..100).for_each(|_| b.down(0.0, 1000));
        b.run(300.0);
        b.cell().counts(0).unwrap().down.stalled
    };
    let [often, seldom, never] = [10, 32, 64].map(stalled);
    assert!(often < seldom && seldom < never, "{often} {seldom} {never}");
}

/// GP-42: the round trip of a small packet is the sum of its components (release 97: about 680 ms).
#[test]
fn gp_42_round_trip_by_components() {
    let mut user = UserConfig::new("phone");
    let constant = |ms: f64| base::dist::Dist::Constant(ms * 1e6);
    user.tbf.hold_down = Span::ZERO;
    let setup = &mut user.tbf.setup;
    *setup = setup
        .clone()
        .with(Setup::Access, constant(220.0))
        .with(Setup::DownlinkOnAgch, constant(180.0))
        .with(Setup::DownlinkOnPacch, constant(180.0))
        .with(Setup::PagingGroup, constant(0.0));
    user.delays.abis = Span::from_millis(20);
    user.delays.core = Span::from_millis(20);
    let mut b = Bench::new(&one(user));
    b.up(0.0, 60);
    b.run(5.0);
    let up = b.got(element::up(0))[0].0;
    // 220 ms of access, three blocks (71 octets of CS-2), the air, Abis and core.
    assert!((up - (0.22 + 0.04 + 0.01846 + 0.04)).abs() < 1e-4, "{up}");
    b.down(5.0, 60);
    b.run(10.0);
    let down = b.got(element::down(0))[0].0 - 5.0;
    // Core, to the next block period, assignment, one timeslot at first, Abis.
    assert!((down - (0.02 + 0.18 + 0.04 + 0.01846 + 0.02)).abs() < 1e-4, "{down}");
}

/// GP-18, GP-19, GP-20, C122: with release at once each packet sets up a TBF; with a held one only the first does.
#[test]
fn gp_19_gp_20_release_and_hold() {
    let run = |hold: u64| {
        let mut user = UserConfig::new("phone");
        user.tbf.hold_down = Span::from_millis(hold);
        user.tbf.hold_up = Span::from_millis(hold);
        let mut b = Bench::new(&one(user));
        for i in 0..20 {
            b.down(f64::from(i), 60);
            b.run(f64::from(i) + 0.01);
            b.up(f64::from(i) + 0.5, 60);
        }
        b.run(40.0);
        let delay = |got: Vec<(f64, u64)>, of: f64| -> f64 {
            got.iter().enumerate().skip(2).map(|(i, (t, _))| t - i as f64 - of).sum::<f64>() / 18.0
        };
        let counts = b.cell().counts(0).unwrap();
        assert!(b.conserved() && b.got(element::down(0)).len() == 20);
        (delay(b.got(element::down(0)), 0.0), delay(b.got(element::up(0)), 0.5), counts)
    };
    let (release, hold) = (run(0), run(2000));
    assert_eq!((release.2.down.tbfs, hold.2.down.tbfs), (20, 1));
    assert_eq!((release.2.up.tbfs, hold.2.up.tbfs), (20, 1));
    assert!(
        release.0 - hold.0 > 0.05 && release.1 - hold.1 > 0.05,
        "{} {} {} {}",
        release.0,
        hold.0,
        release.1,
        hold.1
    );
    assert!(hold.2.down.dummy > 50 && release.2.down.dummy == 0);
    assert!(hold.2.decoded_for_nothing > release.2.decoded_for_nothing);
    assert!(hold.2.signalling() > 0);
}

/// GP-09: unacknowledged RLC loses frames and repeats none.
#[test]
fn gp_09_unacknowledged_rlc() {
    let mut user = permanent(2);
    user.down.mode = Mode::Unacknowledged;
    user.down.quality = Source::Constant { data: 0.02, control: 0.0 };
    let mut b = Bench::new(&one(user));
    (0..200).for_each(|i| b.down(f64::from(i), 300));
    b.run(400.0);
    let counts = b.cell().counts(0).unwrap();
    let got = b.got(element::down(0)).len();
    // Eleven blocks a frame: 0.98^11 = 0.80 arrive whole.
    assert!((140..180).contains(&got), "{got}");
    assert!(counts.down.missing == 0 && counts.down.idle == 0 && b.conserved());
}

/// GP-22, GP-38, GP-49, C142: with both layers acknowledged LLC repeats what RLC still tries, unless RLC gives up first
/// or is flushed.
#[test]
fn c142_competing_recovery() {
    let run = |persistence: Option<u64>, flush: bool, feedback: u64| {
        let mut user = permanent(1);
        user.llc.mode = LlcMode::Acknowledged;
        user.llc.t200 = Span::from_secs(5);
        (user.llc.n200, user.llc.flush) = (8, flush);
        user.llc.feedback = Span::from_millis(feedback);
        user.down.persistence = persistence.map(Span::from_secs);
        // Bad for longer than T200 now and then.
        user.down.quality = Source::States { good: 0.0, bad: 1.0, good_lasts: 400.0, bad_lasts: 350.0 };
        let mut b = Bench::new(&one(user));
        (0..40).for_each(|i| b.down(f64::from(i) * 5.0, 400));
        b.run(1000.0);
        assert!(b.conserved());
        b.cell().counts(0).unwrap().down
    };
    let patient = run(None, false, 300);
    assert!(patient.repeated > 0 && patient.twice > 0, "{patient:?}");
    let impatient = run(Some(3), false, 300);
    assert!(impatient.repeated > 0 && impatient.twice == 0, "{impatient:?}");
    let flushed = run(None, true, 0);
    assert!(flushed.repeated > 0 && flushed.twice == 0, "{flushed:?}");
    // What flushing cannot prevent: T200 expires while the acknowledgement of a frame that has arrived is on its way.
    let late = run(None, true, 300);
    assert!(late.twice < patient.twice, "{late:?}");
}

/// GP-24: two mobiles share the leak rate of the cell although each alone may have all of it.
#[test]
fn gp_24_mobiles_share_the_flow_control_of_the_cell() {
    let run = |leak: Option<u64>| {
        let mut users = vec![permanent(2), permanent(2)];
        users[1].name = "other".into();
        let bucket = leak.map(|bps| Bucket { size: 2_000, leak: Rate::from_bps(bps) });
        let config = CellConfig { bucket, ..CellConfig::of(users) };
        let mut b = Bench::new(&config);
        for user in [0, 1] {
            (0..60).for_each(|_| b.down_of(user, 0.0, 500));
        }
        b.run(200.0);
        assert!(b.conserved());
        [0, 1].map(|user| b.got(element::down(user)).last().unwrap().0)
    };
    let free = run(None);
    let shared = run(Some(16_000));
    // 120 frames of 514 octets less 2000 at 2000 octets a second, in turn.
    assert!(free[0] < 20.0, "{free:?}");
    assert!(shared.iter().all(|t| (29.0..31.5).contains(t)), "{free:?} {shared:?}");
    // The empty bucket takes four frames of the first mobile before the other one asks: 1012 octets apart, then in turn.
    assert!((shared[0] - shared[1]).abs() < 1.2, "{shared:?}");
}

/// GP-21: a TBF is kept as long as the class of its frames requires.
#[test]
fn gp_21_release_by_traffic_class() {
    let run = |held: bool| {
        let mut user = UserConfig::new("phone");
        (user.tbf.hold_down, user.tbf.hold_up) = (Span::ZERO, Span::ZERO);
        let hold = [Some(Span::from_secs(2)), None];
        // Large packets are interactive.
        let rule = ClassRule { size: Some((1000, 1500)), ..ClassRule::default() };
        user.traffic = vec![Traffic { rule, hold, repeats: true }];
        let mut b = Bench::new(&one(user));
        (0..10).for_each(|i| b.down(f64::from(i), if held { 1200 } else { 300 }));
        b.run(20.0);
        assert_eq!(b.got(element::down(0)).len(), 10);
        b.cell().counts(0).unwrap().down
    };
    let (kept, released) = (run(true), run(false));
    assert_eq!((kept.tbfs, released.tbfs), (1, 10));
    assert!(kept.dummy > 10 && released.dummy == 0);
}

/// GP-43: in one acknowledged TBF blocks of a flow that needs no reliability are not repeated, those of the other are.
#[test]
fn gp_43_repeats_by_flow() {
    let mut user = permanent(2);
    user.down.idle = IdleRepeat::Never;
    user.down.quality = Source::Constant { data: 0.05, control: 0.0 };
    // Each packet is one frame of eleven blocks of CS-2 or less.
    let rule = ClassRule { size: Some((280, 320)), ..ClassRule::default() };
    user.traffic = vec![Traffic { rule, hold: [None; 2], repeats: false }];
    let mut b = Bench::new(&one(user));
    for i in 0..300 {
        b.down(f64::from(i) * 0.5, 300);
        b.down(f64::from(i) * 0.5 + 0.01, 200);
    }
    b.run(400.0);
    assert!(b.conserved() && b.network.packets_inside() == 0);
    let got = b.got(element::down(0));
    let (plain, safe) =
        (got.iter().filter(|g| g.1 % 2 == 1).count(), got.iter().filter(|g| g.1 % 2 == 0).count());
    assert_eq!(safe, 300, "the other flow loses nothing");
    // The last block of a burst is repeated, and one that carries octets of both; 0.95^10 arrive whole without repeats.
    assert!((150..225).contains(&plain), "{plain}");
    let counts = b.cell().counts(0).unwrap().down;
    assert!(counts.missing > 100, "{counts:?}");
}

/// GP-28, GP-32, GP-45, C181: downlink data of the old cell are lost, uplink data are delayed.
#[test]
fn gp_32_losses_of_a_change_of_cell() {
    let mut user = UserConfig::new("phone");
    user.sgsn.bucket = Some(Bucket { size: 6000, leak: Rate::from_bps(36_000) });
    user.mobility =
        MobilityConfig { instants: Some(Instants::Listed(vec![s(10.0)])), ..MobilityConfig::default() };
    let mut b = Bench::new(&one(user));
    // Beyond what three timeslots carry, so that the PCU holds data.
    for i in 0..60 {
        b.down(f64::from(i) * 0.3, 1480);
        b.up(f64::from(i) * 0.3 + 0.1, 200);
    }
    b.run(120.0);
    let (down, up) = (b.got(element::down(0)).len(), b.got(element::up(0)).len());
    assert!(b.conserved() && up == 60, "{down} {up}");
    let lost = 60 - down;
    assert!((3..20).contains(&lost), "{lost} packets of the old cell");
    let counts = b.cell().counts(0).unwrap();
    assert_eq!((counts.changes, counts.down.flushed as usize), (1, lost));
    let times: Vec<f64> = b.got(element::down(0)).iter().map(|g| g.0).collect();
    let gap = times.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
    assert!((1.0..6.0).contains(&gap), "{gap}");
}

/// GP-45: a forced change leads to the chosen neighbour, and the display follows it step by step without moving anything.
#[test]
fn gp_45_display_of_the_serving_cell() {
    let run = |looks: bool| {
        let mut user = UserConfig::new("phone");
        user.mobility.outage = Some(base::dist::Dist::Constant(2e9));
        let mut b = Bench::new(&one(user));
        (0..60).for_each(|i| b.down(f64::from(i) * 0.3, 1480));
        let neighbour = Extent::RoutingArea as u16 + 1;
        b.network.signal(s(20.0), b.cell, Signal::State { machine: 0, state: neighbour });
        let mut shown = Vec::new();
        for step in 0..100 {
            let at = 20.0 + 0.05 * f64::from(step);
            b.run(at);
            if step % 10 == 0 {
                b.down(at, 1480);
            }
            let now = b.network.now();
            shown.extend(looks.then(|| (now, b.cell().display(0, now).unwrap())));
        }
        b.run(120.0);
        (shown, b.got(element::down(0)), b.cell().counts(0))
    };
    let (shown, got, counts) = run(true);
    let (_, unseen, same) = run(false);
    assert!(got == unseen && counts == same, "a look changes nothing");
    let (change, to) = shown[0].1.change.unwrap();
    assert_eq!(to, Camping { cell: 2, bsc: 2, routing_area: 2, sgsn: 1 });
    assert_eq!(change.resumed, s(22.0));
    for (now, display) in &shown {
        let camped = if *now < change.access { (Camping::FIRST, Time::ZERO) } else { (to, change.access) };
        assert_eq!((display.place, display.since), camped, "{now:?}");
        assert_eq!(display.change, (*now < change.resumed).then_some((change, to)), "{now:?}");
        let down = display.ways[0];
        assert!(*now < change.resumed || down.state == TbfState::Idle || down.scheme == Scheme::Cs2);
        assert!(*now >= change.resumed || down.slots == 0, "no TBF between the cells");
    }
    let flows = shown.iter().any(|(now, d)| *now > change.resumed && d.ways[0].slots > 0);
    assert!(flows, "data flow in the new cell");
}

/// GP-31: within one BSC the data are moved.
#[test]
fn gp_31_within_one_bsc_nothing_is_lost() {
    let mut user = UserConfig::new("phone");
    let mut extents = [0.0; 4];
    extents[Extent::SameBsc as usize] = 1.0;
    user.mobility = MobilityConfig {
        instants: Some(Instants::Listed(vec![s(3.0)])),
        extents,
        ..MobilityConfig::default()
    };
    let mut b = Bench::new(&one(user));
    (0..20).for_each(|i| b.down(f64::from(i) * 0.3, 1480));
    b.run(60.0);
    assert_eq!((b.got(element::down(0)).len(), b.cell().counts(0).unwrap().changes), (20, 1));
}

/// GP-36: a voice call suspends data for tens of seconds and loses nothing.
#[test]
fn gp_36_voice_suspends() {
    let mut user = UserConfig::new("phone");
    let fixed = |s: f64| base::dist::Dist::Constant(s * 1e9);
    user.voice = Some(Voice { every: fixed(40.0), lasts: fixed(30.0) });
    let mut b = Bench::new(&one(user));
    (0..100).for_each(|i| b.down(f64::from(i), 500));
    b.run(300.0);
    let got = b.got(element::down(0));
    let gap = got.windows(2).map(|w| w[1].0 - w[0].0).fold(0.0, f64::max);
    assert!(got.len() == 100 && (29.0..33.0).contains(&gap), "{} {gap}", got.len());
    assert!(b.cell().counts(0).unwrap().calls >= 1);
}

/// FB-06, FB-07, FB-08: the three faults of implementations.
#[test]
fn fb_06_fb_07_fb_08_faults() {
    let run = |fault: &dyn Fn(&mut MobilityConfig)| {
        let mut user = UserConfig::new("phone");
        user.mobility =
            MobilityConfig { instants: Some(Instants::Listed(vec![s(10.0)])), ..MobilityConfig::default() };
        fault(&mut user.mobility);
        let mut b = Bench::new(&one(user));
        for i in 0..60 {
            b.down(f64::from(i) * 0.5, 1480);
            if i < 15 {
                b.up(f64::from(i) * 0.5, 100);
            }
        }
        b.run(100.0);
        assert!(b.conserved());
        let times = b.got(element::down(0));
        let gap = times.windows(2).map(|w| w[1].0 - w[0].0).fold(0.0, f64::max);
        (b.cell().counts(0).unwrap(), gap)
    };
    let (sound, gap) = run(&|_| ());
    assert_eq!((sound.up.twice, sound.changes), (0, 1));
    let (resends, _) = run(&|m| m.faults.resent_frames = 2);
    assert_eq!(resends.up.twice, 2, "two frames come twice, and LLC discards them");
    let (wrong_flush, _) = run(&|m| m.faults.flush_new_cell = true);
    assert!(wrong_flush.down.flushed > sound.down.flushed);
    let (_, dummy_gap) = run(&|m| m.faults.dummy_outage = Span::from_secs(4));
    assert!(dummy_gap > gap + 3.0, "{gap} {dummy_gap}");
}

/// GP-39, C141: slots by demand are fewer while little is sent.
#[test]
fn gp_39_slots_by_demand() {
    let run = |demand| {
        let mut user = UserConfig::new("phone");
        (user.demand, user.tbf.hold_down) = (demand, Span::from_secs(2));
        let mut b = Bench::new(&one(user));
        (0..100).for_each(|i| b.down(f64::from(i) * 0.2, 40));
        (100..140).for_each(|i| b.down(f64::from(i) * 0.2, 1480));
        b.run(19.0);
        let thin = b.cell().counts(0).unwrap().down.assigned;
        b.run(100.0);
        assert_eq!(b.got(element::down(0)).len(), 140);
        thin
    };
    let (fixed, by_demand) = (run(None), run(Some(radio::cell::config::Demand::default())));
    assert!(by_demand * 2 < fixed, "{by_demand} {fixed}");
}

/// GP-16, C167: idle retransmission in turn with others takes their slots.
#[test]
fn c167_idle_retransmission_costs_others() {
    let run = |idle: IdleRepeat| {
        let mut small = permanent(1);
        (small.down.idle, small.weight) = (idle, 1);
        small.delays.abis = Span::from_millis(150);
        let mut large = small.clone();
        large.name = "other".into();
        let mut config = CellConfig::of(vec![small, large]);
        config.slots = 1;
        let mut b = Bench::new(&config);
        (0..100).for_each(|_| b.down_of(1, 0.0, 1000));
        (0..100).for_each(|i| b.down_of(0, f64::from(i) * 0.5, 100));
        b.run(400.0);
        let last = b.got(element::down(1)).last().unwrap().0;
        (b.cell().counts(0).unwrap().down.idle, last)
    };
    let (always, free) = (run(IdleRepeat::Always), run(IdleRepeat::WhenFree));
    assert!(always.0 > 3 * free.0.max(1) && always.1 > free.1 + 1.0, "{always:?} {free:?}");
}

/// Presets of three networks can be run, and their parameters differ.
#[test]
fn presets_of_other_networks() {
    let t3192 = |preset| parameters::with(preset, parameters::Id::T3192);
    assert_eq!([t3192(&[]), t3192(parameters::OPENBTS), t3192(parameters::VENDOR)], [1500, 500, 500]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Packets are conserved and leave in order, whatever befalls the bearer.
    #[test]
    fn packets_are_conserved(
        seed in any::<u64>(),
        bler in 0.0f64..0.5,
        acknowledged in any::<bool>(),
        llc in any::<bool>(),
        hold in 0u64..3,
        policy in 0usize..3,
        every in 5.0f64..60.0,
        scheme in 0usize..13,
        sizes in proptest::collection::vec(28u32..1500, 1..60),
    ) {
        let mut user = UserConfig::new("phone");
        user.down.mode = if acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged };
        user.llc.mode = if llc { LlcMode::Acknowledged } else { LlcMode::Unacknowledged };
        user.tbf = TbfConfig { hold_down: Span::from_secs(hold), hold_up: Span::from_secs(hold), ..user.tbf };
        let policies = [
            Policy::Every { n: 10 },
            Policy::OnGap { n: 32, after: 2 },
            Policy::Adaptive { n: 20, poor: 5, threshold: 0.1 },
        ];
        user.down.scheme = Scheme::ALL[scheme];
        if user.down.scheme.is_egprs() {
            user.down.numbering = Numbering::egprs(192);
            user.down.resegment = true;
        }
        (user.up.policy, user.down.policy) = (policies[policy], policies[2 - policy]);
        for d in [&mut user.down, &mut user.up] {
            d.quality = Source::Constant { data: bler, control: bler / 2.0 };
        }
        user.sgsn.octets = Some(20_000);
        user.terminal.packets = Some(10);
        user.mobility.instants = Some(Instants::Every(base::dist::Dist::Exponential(every * 1e9)));
        user.mobility.faults.resent_frames = 2;
        let mut b = Bench::seeded(&one(user), base::rng::Seed { seed, repetition: 0 });
        for (i, size) in sizes.iter().enumerate() {
            let at = i as f64 * 0.4;
            if i % 3 == 0 { b.up(at, *size) } else { b.down(at, *size) }
            prop_assert!(b.conserved());
        }
        b.run(2000.0);
        prop_assert!(b.conserved());
        prop_assert_eq!(b.network.packets_inside(), 0);
        for port in [element::down(0), element::up(0)] {
            let got = b.got(port);
            prop_assert!(got.windows(2).all(|w| w[0].0 <= w[1].0));
            // Acknowledged LLC may overtake: it repeats a frame behind those that came meanwhile.
            prop_assert!(llc || got.windows(2).all(|w| w[0].1 < w[1].1));
        }
    }
}
