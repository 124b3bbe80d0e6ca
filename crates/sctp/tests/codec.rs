//! Test of the SCTP wire codec: two ends that exchange bytes send at equal times as two ends that exchange
//! chunks.

mod common;

use base::event::Event;
use base::truth::Cause;
use base::{Span, Time};
use common::{Lab, Way, coded, lab};
use sctp::Config;
use transport::app::{App, Bulk, Sink, Socket as _};

type Sent = (Time, u64, u32, Cause);

/// Transmissions of the sender with time and cause, and the total received.
fn sent(mut l: Lab) -> (Vec<Sent>, u64) {
    l.run(600.0);
    let from = l.from.0;
    let records = l.records().into_iter().filter(|record| record.source.0 == from);
    let left = records.filter_map(|record| match record.event {
        Event::DataSent { seq, len, cause, .. } => Some((record.t, seq, len, cause)),
        _ => None,
    });
    let all = (left.collect(), l.receiver().received());
    assert_eq!(l.network.bodies(), 0);
    all
}

/// Losses, a delay spike, ECN off and on: encoding changes no result, with any initial TSN.
#[test]
fn in_bytes_ends_say_what_they_say_in_chunks() {
    for (name, _, _) in sctp::config::PROFILES.iter().filter(|(name, ..)| !name.starts_with("ns2")) {
        let config = Config { ecn: *name == "rfc9260", ..Config::profile(name).unwrap() };
        for loses in [&[][..], &[(4, 4), (30, 32)]] {
            let pause = Some((Time::ZERO + Span::from_secs(3), Time::ZERO + Span::from_secs(9)));
            let way = Way { loses: loses.to_vec(), pause, ..Way::of(200_000, Span::from_millis(150)) };
            for seed in 1..4 {
                let apps = || -> [Box<dyn App>; 2] {
                    [Box::new(Bulk::new(Some(300_000), None)), Box::new(Sink::new(Some(300_000)))]
                };
                let chunks = sent(lab(&config, std::slice::from_ref(&way), seed, apps()));
                assert!(chunks.0.iter().any(|(.., cause)| *cause == Cause::Timeout), "{name}");
                assert_eq!(chunks.1, 300_000);
                assert_eq!(
                    sent(coded(&config, std::slice::from_ref(&way), seed, apps())),
                    chunks,
                    "{name}, seed {seed}"
                );
            }
        }
    }
}
