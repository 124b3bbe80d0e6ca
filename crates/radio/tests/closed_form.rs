//! RLC beside closed forms: the efficiency of selective repeat, and the same bits for the same seed.

mod common;

use base::Span;
use common::{Bench, permanent};
use radio::cell::config::{CellConfig, IdleRepeat};
use radio::coding::Scheme;
use radio::quality::Source;
use radio::rlc::Numbering;

/// A saturated downlink of one timeslot whose blocks are lost with probability `p`.
fn saturated(p: f64) -> Bench {
    let mut user = permanent(1);
    user.down.scheme = Scheme::Mcs1;
    user.down.numbering = Numbering::egprs(1024);
    user.down.idle = IdleRepeat::Never;
    // Longer than from a block to the report about it, so that no repeat is asked for twice.
    user.down.hold_off = Span::from_millis(700);
    user.down.quality = Source::Constant { data: p, control: 0.0 };
    let mut bench = Bench::new(&CellConfig::of(vec![user]));
    for i in 0..600 {
        bench.down(f64::from(i) * 0.01, 1500);
    }
    bench.run(500.0);
    bench
}

/// Selective repeat sends each block 1 / (1 - p) times on average: new blocks are the share 1 - p of all.
#[test]
fn gp_10_selective_repeat_has_the_efficiency_of_its_closed_form() {
    for p in [0.0, 0.05, 0.1, 0.2, 0.3] {
        let bench = saturated(p);
        let down = bench.cell().counts(0).unwrap().down;
        let sent = down.new + down.missing + down.idle;
        let efficiency = down.new as f64 / sent as f64;
        // Three standard deviations of a fraction of this number of blocks.
        let margin = 3.0 * (p * (1.0 - p) / sent as f64).sqrt() + 1e-9;
        assert!((efficiency - (1.0 - p)).abs() <= margin, "{efficiency} for {p}, {sent} blocks, {down:?}");
        assert!(bench.conserved());
    }
}
