//! The setting of the study of delay spikes (Fu, Atiquzzaman, Ivancic 2003): 1.4 s each way, a spike of 12 s at 28 s before the
//! queue, 150 s of bulk data.

mod common;

use base::Span;
use common::{Lab, Way, lab, secs};
use sctp::Config;
use transport::app::{Bulk, Sink};

const PAYLOAD: u32 = 536;

fn study(profile: &str, bps: u64, window: u32, queue: Option<u32>) -> Lab {
    let mut config = Config::profile(profile).unwrap();
    config.mtu = PAYLOAD + 48;
    config.sack_every = 1;
    let weight = if config.window_counts_headers { PAYLOAD + 16 } else { PAYLOAD };
    config.window = u64::from(window * weight);
    let way = Way { queue, pause: Some((secs(28.0), secs(40.0))), ..Way::of(bps, Span::from_millis(1400)) };
    let mut l = lab(&config, &[way], 1, [Box::new(Bulk::new(None, None)), Box::new(Sink::new(None))]);
    l.run(150.0);
    l
}

#[test]
#[ignore = "prints a table"]
fn table() {
    for (window, queue) in [(60, None), (20, None), (60, Some(50)), (20, Some(13))] {
        for bps in [9_050, 13_400, 15_600, 21_400, 42_800, 46_800, 78_000, 100_000, 1_500_000] {
            print!("{window} {queue:?} {bps}:");
            for (profile, _, _) in sctp::config::PROFILES {
                let l = study(profile, bps, window, queue);
                let counts = l.sender().counts();
                print!(
                    " {profile} {} ({}t {}f)",
                    l.receiver().numbers()[1],
                    counts.timeouts,
                    counts.fast_retransmits
                );
            }
            println!();
        }
    }
}
