//! Tests of calls over transports for real-time data: units with a playout time on an idle link.

use lab::once::{Options, run_once};
use scenario::metric::Metric;

/// AT-09, RT-08: a call at half the rate of an idle link loses the units of the handshake and of the first rounds, and no others:
/// those that half a round trip would make late are given up at once, so that the next ones arrive in time.
#[test]
fn at_09_rt_08_a_call_recovers_from_the_backlog_of_its_handshake() {
    for transport in
        ["\"atp\"", "{ atp = { control = \"tfrc\" } }", "{ atp = { carrier = \"dccp\" } }", "\"dccp\""]
    {
        for rate in ["64 kbit/s", "640 kbit/s"] {
            let text = format!(
                r#"
                williwaw = 1
                [[hop]]
                name = "radio"
                between = ["server", "phone"]
                rate = "{rate}"
                delay = "100 ms"
                [[flow]]
                name = "call"
                from = "server"
                to = "phone"
                transport = {transport}
                app = {{ cbr = {{ rate = "32 kbit/s", packet = "160 B", lasts = "60 s", playout = "300 ms" }} }}
            "#
            );
            let outcome = run_once(&testkit::model::<&str>(&text, &[]), 0, Options::default());
            let [sent, delivered] = [Metric::MessagesSent, Metric::MessagesDelivered]
                .map(|metric| outcome.flows[0].get(metric).unwrap());
            println!("{transport} at {rate}: {delivered} of {sent}");
            // A unit is written each 40 ms.
            assert!(delivered >= sent - 50.0, "{transport} at {rate}: {delivered} of {sent}");
        }
    }
}
