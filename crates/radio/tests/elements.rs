//! The elements and interfaces of a GPRS bearer: added delay, and reduction of the rate.

mod common;

use base::{Rate, Span};
use common::{Bench, permanent};
use radio::cell::config::{CellConfig, PcuSite, UserConfig};
use radio::cell::element;
use radio::coding::Scheme;
use radio::mac::tbf::{Durations, Setup};
use radio::quality::{Profile, Source, Steps};

fn one(user: UserConfig) -> CellConfig {
    CellConfig::of(vec![user])
}

/// GP-01, GP-02: GGSN, Gn with GTP, SGSN, Gb with BSSGP, PCU, Abis, Um and terminal: a packet's way down and up is the
/// sum of all of them, and each protocol adds its headers on its interface alone.
#[test]
fn gp_01_gp_02_a_packet_passes_every_element() {
    let mut user = permanent(1);
    user.llc.n201 = 1520;
    let rate = Rate::from_bps(64_000);
    (user.delays.gn_rate, user.delays.gn_overhead) = (Some(rate), 36);
    (user.sgsn.gb_rate, user.sgsn.gb_overhead) = (Some(rate), 57);
    (user.delays.core, user.sgsn.gb_delay) = (Span::from_millis(30), Span::from_millis(10));
    (user.delays.abis, user.delays.terminal) = (Span::from_millis(20), Span::from_millis(10));
    user.delays.cable = Some(Rate::from_bps(115_200));
    let mut b = Bench::new(&one(user));
    b.down(0.0, 489);
    b.run(5.0);
    b.up(5.0, 489);
    b.run(10.0);
    let octets = |n: u32| f64::from(8 * n) / 64_000.0;
    let (gn, gb) = (octets(489 + 36) + 0.030, octets(489 + 11 + 57) + 0.010);
    // 500 octets and a length indicator are 17 blocks of CS-2, from the next block period on.
    let (periods, air) = (16.0 * 0.02, radio::tdma::AIR.as_secs_f64());
    let first = libm::ceil((gn + gb) / 0.02) * 0.02;
    let down = first + periods + air + 0.020 + 0.010 + 8.0 * 489.0 / 115_200.0;
    let [(at, 1)] = b.got(element::down(0))[..] else { panic!("{:?}", b.got(element::down(0))) };
    assert!((at - down).abs() < 1e-6, "{at} {down}");
    // Up, Gb carries the packet itself (its LLC frame ends at the SGSN model's boundary of packets).
    let up = periods + air + 0.020 + octets(489 + 57) + 0.010 + gn;
    let [(at, 2)] = b.got(element::up(0))[..] else { panic!("{:?}", b.got(element::up(0))) };
    assert!((at - 5.0 - up).abs() < 1e-6, "{} {up}", at - 5.0);
}

/// GP-01: the place of the PCU decides which interfaces blocks cross and which LLC frames, and so when blocks begin.
#[test]
fn gp_01_the_pcu_has_a_place() {
    let arrival = |pcu_at| {
        let mut user = permanent(1);
        user.llc.n201 = 1520;
        (user.delays.abis, user.delays.bsc) = (Span::from_millis(20), Span::from_millis(5));
        user.sgsn.gb_delay = Span::from_millis(12);
        let mut b = Bench::new(&CellConfig { pcu_at, ..one(user) });
        b.down(0.0, 489);
        b.run(5.0);
        b.got(element::down(0))[0].0
    };
    let blocks = 16.0 * 0.02 + radio::tdma::AIR.as_secs_f64();
    // The frame takes the next block period at the PCU; 37, 12 and 0 ms are before it.
    for (site, expected) in [
        (PcuSite::Bts, 0.040 + blocks),
        (PcuSite::Bsc, 0.020 + blocks + 0.025),
        (PcuSite::Sgsn, blocks + 0.037),
    ] {
        assert!((arrival(site) - expected).abs() < 1e-6, "{site}: {} {expected}", arrival(site));
    }
}

/// GP-01: a slow Abis in the loop of RLC closes its window; behind a PCU in the base station it does not.
#[test]
fn gp_01_abis_is_in_the_loop_of_rlc_or_not() {
    let stalled = |pcu_at| {
        let mut user = permanent(4);
        user.delays.abis = Span::from_millis(250);
        let mut b = Bench::new(&CellConfig { pcu_at, ..one(user) });
        (0..100).for_each(|_| b.down(0.0, 1000));
        b.run(60.0);
        assert_eq!(b.got(element::down(0)).len(), 100);
        b.cell().counts(0).unwrap().down.stalled_ticks
    };
    let (near, far) = (stalled(PcuSite::Bts), stalled(PcuSite::Bsc));
    assert!(near == 0 && far > 50, "{near} {far}");
}

/// GP-01: Abis to a PCU in the base station carries each LLC frame once, with its headers of Gb, in both directions.
#[test]
fn gp_01_frames_share_abis_toward_a_pcu_in_the_base_station() {
    let user = |name: &str| {
        let mut user = permanent(1);
        (user.name, user.llc.n201, user.sgsn.gb_overhead) = (name.into(), 1520, 57);
        user
    };
    let mut config = CellConfig::of(vec![user("a"), user("b")]);
    (config.pcu_at, config.abis) = (PcuSite::Bts, Some(Rate::from_bps(8000)));
    let mut b = Bench::new(&config);
    for _ in 0..20 {
        (0..2).for_each(|m| b.down_of(m, 0.0, 489));
        b.up(0.0, 489);
    }
    b.run(60.0);
    // 557 octets a frame: 40 frames down, 20 packets up, which Gb carries without LLC, in 546 octets.
    let last = |port| b.got(port).iter().map(|(at, _)| *at).fold(0.0, f64::max);
    let down = last(element::down(0)).max(last(element::down(1)));
    assert!((down - 40.0 * 0.557).abs() < 0.4, "{down}");
    let up = last(element::up(0));
    assert!((up - 20.0 * 0.546).abs() < 0.4, "{up}");
}

/// Blocks of new data in 20 s of a backlogged downlink on four timeslots.
fn blocks(scheme: Scheme, abis: Option<u64>) -> f64 {
    let mut user = permanent(4);
    user.down.scheme = scheme;
    let mut config = one(user);
    config.abis = abis.map(Rate::from_bps);
    let mut b = Bench::new(&config);
    (0..400).for_each(|_| b.down(0.0, 1000));
    b.run(20.0);
    assert!(b.conserved());
    b.cell().counts(0).unwrap().down.new as f64
}

/// GP-46: with 16 kbit/s of Abis for each of four timeslots CS-2 is unchanged, and CS-4, which would carry 67 % more,
/// sends 136 blocks a second in place of 200.
#[test]
fn gp_46_abis_is_a_limit_of_its_own() {
    let full = blocks(Scheme::Cs2, None);
    assert!((full - 4000.0).abs() < 20.0, "{full}");
    assert_eq!(blocks(Scheme::Cs2, Some(64_000)), full);
    assert_eq!(blocks(Scheme::Cs4, None), full);
    let short = blocks(Scheme::Cs4, Some(64_000));
    assert!((short / (20.0 * 8000.0 / 59.0) - 1.0).abs() < 0.02, "{short}");
    // 128 kbit/s are enough for CS-4 again.
    assert_eq!(blocks(Scheme::Cs4, Some(128_000)), full);
}

/// GP-46: mobiles on different timeslots share a short Abis evenly.
#[test]
fn gp_46_timeslots_share_a_short_abis() {
    let user = |name: &str| {
        let mut user = permanent(1);
        (user.name, user.down.scheme) = (name.into(), Scheme::Cs4);
        user
    };
    let mut config = CellConfig::of(vec![user("a"), user("b"), user("c")]);
    (config.slots, config.abis) = (3, Some(Rate::from_bps(32_000)));
    let mut b = Bench::new(&config);
    for _ in 0..200 {
        (0..3).for_each(|m| b.down_of(m, 0.0, 1000));
    }
    b.run(30.0);
    let sent = [0, 1, 2].map(|m| b.cell().counts(m).unwrap().down.new as f64);
    let each = 30.0 * 4000.0 / 59.0 / 3.0;
    assert!(sent.iter().all(|n| (n / each - 1.0).abs() < 0.03), "{sent:?}, {each} each");
}

/// GP-06: without link adaptation the scheme stays whatever C/I: a packet takes the same blocks at 25 and at 7 dB, only
/// more of them again.
#[test]
fn gp_06_the_scheme_stays_at_any_quality() {
    let sent = |db: f64| {
        let mut user = permanent(1);
        user.llc.n201 = 1520;
        let c_over_i = Steps(vec![(0, db)]);
        user.down.quality =
            Source::Interference { c_over_i, profile: Profile::Hopping, gain: 0.0, correlation: 0.0 };
        let mut b = Bench::new(&one(user));
        (0..20).for_each(|_| b.down(0.0, 1489));
        b.run(200.0);
        assert_eq!(b.got(element::down(0)).len(), 20);
        let down = b.cell().counts(0).unwrap().down;
        (down.new, down.missing + down.idle)
    };
    let (good, poor) = (sent(25.0), sent(7.0));
    assert_eq!(good.0, poor.0, "{good:?} {poor:?}");
    assert!(good.1 < 60 && poor.1 > 600, "{good:?} {poor:?}");
}

/// GP-47: a TBF that is kept for two seconds costs the mobile a hundred block periods of decoding for nothing.
#[test]
fn gp_47_blocks_decoded_for_nothing() {
    let spent = |hold: u64| {
        let mut user = permanent(1);
        (user.tbf.permanent, user.llc.n201) = (false, 1520);
        user.tbf.hold_down = Span::from_millis(hold);
        let constant = base::dist::Dist::Constant(200e6);
        user.tbf.setup = Durations::none().with(Setup::DownlinkOnAgch, constant);
        let mut b = Bench::new(&one(user));
        b.down(0.0, 1489);
        b.run(20.0);
        assert_eq!(b.got(element::down(0)).len(), 1);
        let counts = b.cell().counts(0).unwrap();
        assert!(counts.decoded >= 50 + counts.decoded_for_nothing);
        counts.decoded_for_nothing as f64
    };
    let (kept, released) = (spent(2000), spent(0));
    assert!((kept - released - 100.0).abs() < 6.0, "{kept} {released}");
}
