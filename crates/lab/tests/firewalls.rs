//! Stateful firewalls from scenario files: who may open connections, idle timeouts, treatment of segments without an
//! entry, full tables, delay (GP-01).

mod common;

use common::metric;
use lab::once::{Options, RunOutcome, run_once};
use scenario::metric::Metric;
use testkit::radio_hop::{bulk, flow, over_radio};

/// A GPRS bearer behind a firewall with these keys, and flows.
fn play(firewall: &str, flows: &str) -> RunOutcome {
    let text = over_radio(&format!("radio = \"gprs\"\n{firewall}"), flows, "30 min");
    run_once(&testkit::model::<&str>(&text, &[]), 0, Options::default())
}

/// Entries opened, entries expired, packets refused, resets sent.
fn counts(outcome: &RunOutcome, flow: usize) -> [f64; 4] {
    use Metric::*;
    [FirewallEntries, FirewallExpired, FirewallRefused, FirewallResets].map(|m| metric(outcome, flow, m))
}

fn download() -> String {
    bulk("download", "server", "phone", "30 kB")
}

fn upload(name: &str) -> String {
    bulk(name, "phone", "server", "30 kB")
}

fn ticks(from: &str, to: &str, transport: &str, every: &str, count: u32) -> String {
    let app = format!("{{ ticker = {{ size = \"100 B\", every = \"{every}\", count = {count} }} }}");
    flow(&format!("{from}-ticks"), from, to, transport, &app)
}

/// GP-01: the mobile opens connections through the firewall, whose answers pass; the network opens none, unless the flow
/// is open to it. An entry changes no packet's time.
#[test]
fn gp_01_the_mobile_opens_connections_and_the_network_does_not() {
    let flows = format!("{}{}", download(), upload("upload"));
    let shut = play("firewall = {}", &flows);
    assert!(metric(&shut, 0, Metric::DownloadTime).is_nan());
    let [opened, _, refused, resets] = counts(&shut, 0);
    // The SYN and its retransmissions.
    assert!(opened == 0.0 && refused >= 5.0 && resets == 0.0, "{opened} {refused} {resets}");
    assert_eq!(counts(&shut, 1)[..3], [1.0, 0.0, 0.0]);
    let open = play("firewall = { open-to = [\"download\"] }", &flows);
    let none = play("", &flows);
    assert_eq!([0, 1].map(|f| counts(&open, f)[0]), [1.0, 1.0]);
    for flow in [0, 1] {
        let time = |outcome| metric(outcome, flow, Metric::DownloadTime);
        assert!(time(&none) > 0.0 && time(&open) == time(&none), "{} {}", time(&open), time(&none));
        assert!(metric(&none, flow, Metric::FirewallEntries).is_nan());
    }
}

/// GP-01: an entry ends after its idle timeout. The mobile's next datagram opens another one, the network's is refused.
#[test]
fn gp_01_entries_of_datagrams_expire_when_idle() {
    let udp = "{ udp = {} }";
    let from_phone = ticks("phone", "server", udp, "20 s", 10);
    let outcome = play("firewall = { other = \"15 s\" }", &from_phone);
    assert_eq!(counts(&outcome, 0)[..3], [10.0, 9.0, 0.0]);
    assert_eq!(metric(&outcome, 0, Metric::PacketsValid), 10.0);
    let longer = play("firewall = { other = \"25 s\" }", &from_phone);
    assert_eq!(counts(&longer, 0)[..3], [1.0, 0.0, 0.0]);
    let from_server = play("firewall = {}", &ticks("server", "phone", udp, "20 s", 10));
    assert_eq!(counts(&from_server, 0), [0.0, 0.0, 10.0, 0.0]);
}

/// GP-01: a TCP connection that is idle for longer than the timeout meets a firewall that does not know it. Its segments
/// are discarded, answered by resets, or adopted.
#[test]
fn gp_01_segments_of_an_expired_connection() {
    let flows = ticks("phone", "server", "\"tcp\"", "60 s", 3);
    let with = |keys: &str| play(&format!("firewall = {{ established = \"30 s\"{keys} }}"), &flows);
    let discarded = with("");
    let [opened, expired, refused, resets] = counts(&discarded, 0);
    assert!(opened == 1.0 && expired == 1.0 && refused >= 5.0 && resets == 0.0, "{refused}");
    let reset = with(", unknown = \"reset\"");
    // The first reset aborts the connection.
    assert_eq!(counts(&reset, 0), [1.0, 1.0, 1.0, 1.0]);
    let adopted = with(", unknown = \"adopt\"");
    assert_eq!(counts(&adopted, 0)[..3], [3.0, 2.0, 0.0]);
    assert!(metric(&adopted, 0, Metric::CompletionTime) > 120.0);
    let kept = play("firewall = { established = \"90 s\" }", &flows);
    assert_eq!(counts(&kept, 0)[..3], [1.0, 0.0, 0.0]);
}

/// GP-01: packets that only come from the network keep an entry alive or do not (RFC 4787, requirement 6).
#[test]
fn gp_01_packets_from_the_network_may_not_refresh() {
    let flow = ticks("server", "phone", "{ udp = {} }", "1 s", 30);
    let with = |keys: &str| {
        play(&format!("firewall = {{ other = \"5 s\", open-to = [\"server-ticks\"]{keys} }}"), &flow)
    };
    assert_eq!(counts(&with(""), 0)[..2], [1.0, 0.0]);
    // Each entry lasts for the 5 s after the packet that opened it; the last ones are open at the end.
    let [opened, expired, refused, _] = counts(&with(", refreshed-by = \"inside\""), 0);
    assert!((opened, refused) == (6.0, 0.0) && expired >= 5.0, "{opened} {expired}");
}

/// GP-01: a full table refuses new connections, or forgets the one that was idle for longest.
#[test]
fn gp_01_a_full_table() {
    let flows = format!("{}{}start = \"5 s\"\n", upload("one"), upload("two"));
    let refused = play("firewall = { limit = 1 }", &flows);
    assert!(metric(&refused, 0, Metric::DownloadTime) > 0.0);
    // The entry of a connection that both ends have closed expires after 4 min; then a later SYN has room.
    assert!(counts(&refused, 0)[1] == 1.0 && counts(&refused, 1)[2] >= 5.0);
    assert!(metric(&refused, 1, Metric::DownloadTime) > 240.0);
    let replaced = play("firewall = { limit = 1, when-full = \"replace\" }", &flows);
    assert!(metric(&replaced, 1, Metric::DownloadTime) > 0.0);
    assert!(metric(&replaced, 0, Metric::DownloadTime).is_nan() && counts(&replaced, 0)[2] >= 5.0);
}

/// GP-01: processing in the firewall adds to each one-way delay.
#[test]
fn gp_01_the_firewall_delays_packets() {
    let flow = ticks("phone", "server", "{ udp = {} }", "20 s", 10);
    let delay = |keys: &str| metric(&play(keys, &flow), 0, Metric::MessageDelayMax);
    let (without, with) = (delay(""), delay("firewall = { delay = \"40 ms\" }"));
    assert!((with - without - 0.040).abs() < 1e-9, "{with} {without}");
}
