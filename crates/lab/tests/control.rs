//! Tests of congestion controls on a path: each follows its specification.

use base::event::Event;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;

/// `flows` equal downloads over one hop; `hop` is its rate, delay and queue, `tcp` their options.
fn model(hop: &str, tcp: &str, flows: usize, app: &str, limit: &str) -> Model {
    let flow = |i: usize| {
        format!(
            "[[flow]]\nname = \"flow{i}\"\nfrom = \"server\"\nto = \"client\"\nstart = \"{} ms\"\n\
             transport = {{ tcp = {{ {tcp} }} }}\napp = {{ bulk = {{ {app} }} }}\n",
            1370 * i
        )
    };
    let flows: String = (0..flows).map(flow).collect();
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"wire\"\nbetween = [\"server\", \"client\"]\n{hop}\n{flows}\
         [run]\nlimit = \"{limit}\"\n"
    );
    testkit::model::<&str>(&text, &[])
}

fn run(model: &Model, repetition: u64) -> RunOutcome {
    run_once(model, repetition, Options::default())
}

fn get(outcome: &RunOutcome, flow: usize, metric: Metric) -> f64 {
    outcome.flows[flow].get(metric).unwrap_or(f64::NAN)
}

const CUBIC: &str = "cc = \"cubic\", window = \"50 MB\", delayed-ack.timer = \"0 s\"";
const BBR: &str = "cc = \"bbr\", window = \"50 MB\", delayed-ack.timer = \"0 s\"";

/// RFC 9438 section 5.1, equation 5: with deterministic losses, one packet in 1/p, a CUBIC flow of one
/// acknowledgement a segment averages (C/4 (3 + b) / (1 - b))^(1/4) RTT^(3/4) / p^(3/4) segments: 1.054 times
/// the last two factors with C 0.4 and b 0.7, where that is more than Reno has. Within 6 %: the round trip
/// in which a loss is repaired is not in the formula.
#[test]
fn cubic_has_the_window_of_its_response_function() {
    for every in [500u32, 2000, 8000] {
        let lost: Vec<String> = (1..=40).map(|i| (i * every).to_string()).collect();
        let hop = format!(
            "rate = \"10 Gbit/s\"\ndelay = \"100 ms\"\n[[hop.loss]]\nname = \"loss\"\ndirections = \"down\"\n\
             packets = \"{}\"",
            lost.join(", ")
        );
        // From the first loss, which ends slow start, to the last.
        let average = |tcp: &str| {
            let bytes = format!("bytes = \"{} B\"", 1460 * 40 * every);
            let mut outcome =
                run_once(&model(&hop, tcp, 1, &bytes, "1 h"), 0, Options { trace: true, shuffle_ties: None });
            let records = outcome.world.network.tracer();
            let losses: Vec<f64> = records
                .records()
                .iter()
                .filter(|r| matches!(r.event, Event::FastRetransmit { .. }))
                .map(|r| r.t.as_secs_f64())
                .collect();
            let (first, last) = (losses[4], losses[losses.len() - 1]);
            f64::from(every) * (losses.len() - 5) as f64 / (last - first) * 0.2
        };
        let (cubic, reno) = (average(CUBIC), average("window = \"50 MB\", delayed-ack.timer = \"0 s\""));
        let law = 1.054 * (0.2 * f64::from(every)).powi(3).sqrt().sqrt();
        eprintln!("1/{every}: cubic {cubic:.1}, law {law:.1}, ratio {:.3}, reno {reno:.1}", cubic / law);
        assert!((0.94..=1.06).contains(&(cubic / law)), "1/{every}: {cubic:.1}, formula {law:.1}");
        assert!(cubic > reno, "1/{every}: {cubic:.1} against Reno's {reno:.1}");
    }
}

/// Two flows of the same kind share a link whose queue is one product of rate and round trip.
#[test]
fn two_cubic_flows_share_fairly() {
    let hop = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { drop-tail = { limit = \"50 kB\" } }";
    let outcome = run(&model(hop, CUBIC, 2, "", "120 s"), 0);
    let rate = |i| get(&outcome, i, Metric::Throughput);
    let jain = (rate(0) + rate(1)).powi(2) / (2.0 * (rate(0).powi(2) + rate(1).powi(2)));
    eprintln!("cubic {:.0} {:.0} jain {jain}", rate(0), rate(1));
    assert!(jain > 0.9, "{} and {}: {jain}", rate(0), rate(1));
    assert!(rate(0) + rate(1) > 0.93e7, "{} in all", rate(0) + rate(1));
}

/// The greatest number of bytes in flight after `from` seconds, the mean, and the losses of one flow.
fn flight(outcome: &mut RunOutcome, from: f64) -> (f64, f64) {
    let (mut greatest, mut sum, mut n) = (0f64, 0.0, 0.0);
    let sender = outcome.world.flows[0].from.0;
    for record in outcome.world.network.tracer().records() {
        if let Event::Window { flight, .. } = record.event
            && record.t.as_secs_f64() > from
            && record.source.0 == sender
        {
            greatest = greatest.max(f64::from(flight));
            sum += f64::from(flight);
            n += 1.0;
        }
    }
    (greatest, sum / n)
}

/// draft-cardwell-iccrg-bbr-congestion-control-00 sections 4.2.3 and 4.3.4: alone on a clean link BBR uses
/// it (95 %), never has more than its window of two products of rate and round trip (and three quanta) in
/// flight once it knows the link, and on average little more than one; nothing is lost although the queue
/// would hold five. Every ten seconds it lets the queue run empty.
#[test]
fn bbr_fills_the_link_and_not_the_queue() {
    let (bps, rtt) = (10e6, 0.08);
    let hop = "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { drop-tail = { limit = \"500 kB\" } }";
    let model = model(hop, BBR, 1, "", "60 s");
    let mut outcome = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
    let rate = get(&outcome, 0, Metric::Throughput);
    let product = bps / 8.0 * rtt;
    let (greatest, mean) = flight(&mut outcome, 5.0);
    eprintln!("bbr {rate:.0} bit/s, greatest {:.2}, mean {:.2} products", greatest / product, mean / product);
    assert!(rate > 0.95 * bps * 1460.0 / 1512.0, "{rate} bit/s");
    assert_eq!(get(&outcome, 0, Metric::PacketsDropped), 0.0);
    // Payload in flight against the link's product, headers counted; a window is at most 2 and three quanta.
    assert!(greatest <= 2.1 * product, "{} products in flight", greatest / product);
    assert!((0.8..1.4).contains(&(mean / product)), "{} products on average", mean / product);
}

/// The same link with losses that Reno takes for congestion (claim of the draft, section 2): one packet in
/// a hundred, and BBR has at least 85 % of the link, Reno a fraction of that.
#[test]
fn bbr_does_not_take_every_loss_for_congestion() {
    let hop = "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\n[[hop.loss]]\nname = \"loss\"\ndirections = \"down\"\nprobability = 0.01";
    let rate = |tcp| get(&run(&model(hop, tcp, 1, "", "60 s"), 0), 0, Metric::Throughput);
    let (bbr, reno) = (rate(BBR), rate("window = \"50 MB\", delayed-ack.timer = \"0 s\""));
    eprintln!("lossy: bbr {bbr:.0}, reno {reno:.0}");
    assert!(bbr > 0.85 * 10e6 * 1460.0 / 1512.0, "{bbr}");
    assert!(reno < 0.4 * bbr, "{reno} against {bbr}");
}

/// When the rate falls to a fifth, the believed rate is forgotten after ten round trips (section 4.1.1.3):
/// the queue that the old rate builds is gone again, and nothing times out for ever.
#[test]
fn bbr_backs_off_when_the_rate_falls() {
    let hop = "rate = { schedule = [[\"0 s\", \"10 Mbit/s\"], [\"20 s\", \"2 Mbit/s\"]] }\ndelay = \"40 ms\"\nqueue = { drop-tail = { limit = \"500 kB\" } }";
    let model = model(hop, BBR, 1, "", "60 s");
    let mut outcome = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
    let (greatest, mean) = flight(&mut outcome, 40.0);
    let product = 2e6 / 8.0 * 0.08;
    eprintln!("after the fall: greatest {:.2} mean {:.2}", greatest / product, mean / product);
    assert!(greatest <= 2.5 * product, "{} products in flight", greatest / product);
    let rate = get(&outcome, 0, Metric::Throughput);
    let share = (20.0 * 10e6 + 40.0 * 2e6) / 60.0 * 1460.0 / 1512.0;
    assert!(rate > 0.93 * share, "{rate} of {share}");
}

/// Paced, a window leaves in steps and not at once: a queue of three packets, which drops most of a burst
/// of ten, loses nothing in the first round trip.
#[test]
fn pacing_spreads_the_window() {
    let hop = "rate = \"2 Mbit/s\"\ndelay = \"100 ms\"\nqueue = { drop-tail = { limit = \"3 packets\" } }";
    let dropped = |pacing: &str| {
        let tcp = format!("pacing = {pacing}, initial-window = \"10 segments\"");
        get(&run(&model(hop, &tcp, 1, "bytes = \"14600 B\"", "60 s"), 0), 0, Metric::PacketsDropped)
    };
    assert_eq!((dropped("false"), dropped("true")), (6.0, 0.0));
}

const MARKED: &str = "rate = \"2 Mbit/s\"\ndelay = \"50 ms\"\n[[hop.loss]]\nname = \"marks\"\n\
     directions = \"down\"\npackets = \"60, 200, 400\"\nmark = true";

/// PR-07: a marked packet arrives, so nothing is lost or resent, and the window is halved all the same, once
/// for each mark; without ECN the same packets are lost.
#[test]
fn a_mark_halves_the_window_and_loses_nothing() {
    let with = |ecn: &str| {
        let model = model(MARKED, &format!("ecn = {ecn}"), 1, "bytes = \"800 kB\"", "1 h");
        let mut outcome = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
        let count = |outcome: &mut RunOutcome, wanted: fn(&Event) -> bool| {
            outcome.world.network.tracer().records().iter().filter(|r| wanted(&r.event)).count()
        };
        let echoes = count(&mut outcome, |e| matches!(e, Event::MarkEchoed { .. }));
        let marks = count(&mut outcome, |e| matches!(e, Event::Marked { .. }));
        let [dropped, resent] =
            [Metric::PacketsDropped, Metric::SegmentsRetransmitted].map(|m| get(&outcome, 0, m));
        (marks, echoes, dropped, resent)
    };
    assert_eq!(with("true"), (3, 3, 0.0, 0.0));
    let (marks, echoes, dropped, resent) = with("false");
    assert_eq!((marks, echoes, dropped), (0, 0, 3.0));
    assert!(resent >= 3.0, "{resent}");
}

/// TB-23, PR-01: an application that reads nothing for 20 s fills the receive buffer and closes the window; probes are
/// sent until it opens, no timeout is counted, and everything arrives. The time is the pause plus the rest of the
/// transfer; the update that opens the window is not lost, so the sender waits for no probe.
#[test]
fn a_reader_that_pauses_closes_the_window() {
    let hop = "rate = \"1 Mbit/s\"\ndelay = \"50 ms\"";
    let app = "bytes = \"200 kB\", read-pause = \"20 s\"";
    let mut outcome = run_once(
        &model(hop, "window = \"32 kB\"", 1, app, "1 h"),
        0,
        Options { trace: true, shuffle_ties: None },
    );
    let sent = |from: f64, to: f64, outcome: &mut RunOutcome| {
        let records = outcome.world.network.tracer().records();
        let during = records.iter().filter(|r| (from..to).contains(&r.t.as_secs_f64()));
        let cause = |e: &Event| match e {
            Event::DataSent { cause, len, .. } => Some((*cause, *len)),
            _ => None,
        };
        during.filter_map(|r| cause(&r.event)).collect::<Vec<_>>()
    };
    // The rest of the window is less than a segment and is waited out (RFC 9293 section 3.8.6.2.1); then probes of a
    // byte, doubling from the timeout on: 1, 3, 7, 15 s after the window closed.
    let late = sent(1.5, 20.0, &mut outcome);
    let ((cause, len), probes) = late.split_first().expect("the rest of the window");
    assert!(*cause == base::truth::Cause::New && *len < 1460, "{late:?}");
    assert_eq!(probes, [(base::truth::Cause::WindowProbe, 1); 4]);
    for metric in [Metric::SpuriousTimeouts, Metric::GenuineTimeouts, Metric::SegmentsRetransmitted] {
        assert_eq!(get(&outcome, 0, metric), 0.0);
    }
    let rest = (200_000.0 - 32_000.0) * 8.0 * 1512.0 / 1460.0 / 1e6;
    let time = get(&outcome, 0, Metric::DownloadTime);
    assert!((20.0 + rest..20.0 + rest + 0.5).contains(&time), "{time}, and {rest} after the pause");
}

/// TB-23: the rate of a slow reader is the rate of the transfer, less the contents of the buffer at its end.
#[test]
fn a_slow_reader_sets_the_rate() {
    let hop = "rate = \"1 Mbit/s\"\ndelay = \"50 ms\"";
    let app = "bytes = \"200 kB\", read-rate = \"100 kbit/s\"";
    let outcome = run(&model(hop, "window = \"16 kB\"", 1, app, "1 h"), 0);
    let expected = (200_000.0 - 16_000.0) * 8.0 / 100_000.0;
    let time = get(&outcome, 0, Metric::DownloadTime);
    assert!((time / expected - 1.0).abs() < 0.05, "{time}, expected {expected}");
    assert_eq!(get(&outcome, 0, Metric::SegmentsRetransmitted), 0.0);
}

/// PR-01, TB-23: without window scaling no more than 65535 bytes are in flight, whatever the buffer.
#[test]
fn windows_above_64_kb_need_scaling() {
    let hop = "rate = \"100 Mbit/s\"\ndelay = \"100 ms\"";
    let rate = |scale: &str| {
        let tcp = format!("window = \"4 MB\", window-scale = {scale}");
        get(&run(&model(hop, &tcp, 1, "bytes = \"30 MB\"", "1 h"), 0), 0, Metric::Throughput)
    };
    let (without, with) = (rate("false"), rate("true"));
    let limit = 65_535.0 * 8.0 / 0.2;
    assert!(without < limit && without > 0.9 * limit, "{without} of {limit}");
    assert!(with > 10.0 * limit, "{with}");
}

/// RFC 9406 section 4.2: on a path whose queue holds twelve products of rate and round trip the standard slow
/// start doubles until the queue overflows. HyStart++ sees a longer round trip in the round after the first one
/// that began with more than a product, so at less than four products; it grows by a quarter in each of five
/// rounds more, to less than 4 * 1.25^5 = 12.2, and loses nothing.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let hop = "rate = \"20 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { drop-tail = { limit = \"3 MB\" } }";
    let with = |slow_start: &str| {
        let tcp = format!("{CUBIC}, slow-start = \"{slow_start}\"");
        let outcome = run(&model(hop, &tcp, 1, "bytes = \"12 MB\"", "1 h"), 0);
        (get(&outcome, 0, Metric::PacketsDropped), get(&outcome, 0, Metric::DownloadTime))
    };
    let (standard, hystart) = (with("standard"), with("hystart++"));
    eprintln!("slow start: standard {standard:?}, hystart++ {hystart:?}");
    assert!(standard.0 > 50.0, "{standard:?}");
    assert_eq!(hystart.0, 0.0);
}

const BBR3: &str =
    "cc = \"bbr3\", recovery = \"rack\", sack = true, window = \"50 MB\", delayed-ack.timer = \"0 s\"";

/// draft-ietf-ccwg-bbr section 5.3.4.2: alone on a clean link it loses no more than 2 % of it to the search for
/// the round trip, and 1 % to its margin (section 5.6.2); section 5.6.1: never more in flight than 2.25 products
/// of rate and round trip, three quanta and what bunched, on average little more than one; nothing is lost.
#[test]
fn bbr3_fills_the_link_and_not_the_queue() {
    let (bps, rtt) = (10e6, 0.08);
    let hop = "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { drop-tail = { limit = \"500 kB\" } }";
    let model = model(hop, BBR3, 1, "", "60 s");
    let mut outcome = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
    let rate = get(&outcome, 0, Metric::Throughput);
    let product = bps / 8.0 * rtt;
    let (greatest, mean) = flight(&mut outcome, 5.0);
    eprintln!(
        "bbr3 {rate:.0} bit/s, greatest {:.2}, mean {:.2} products",
        greatest / product,
        mean / product
    );
    assert!(rate > 0.98 * 0.99 * 0.98 * bps * 1460.0 / 1512.0, "{rate} bit/s");
    assert_eq!(get(&outcome, 0, Metric::PacketsDropped), 0.0);
    assert!(greatest <= 2.4 * product, "{} products in flight", greatest / product);
    assert!((0.8..1.4).contains(&(mean / product)), "{} products on average", mean / product);
}

/// draft-ietf-ccwg-bbr section 2.4: losses below 2 % do not hold it back, losses above do. One packet in a hundred
/// costs version 3 little, and Reno most of the link; one in twenty costs version 3 more than version 1, which does
/// not look at losses.
#[test]
fn bbr3_hears_losses_above_its_threshold() {
    let rate = |tcp: &str, lost: &str| {
        let hop = format!(
            "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\n[[hop.loss]]\nname = \"loss\"\ndirections = \"down\"\n\
             probability = {lost}"
        );
        get(&run(&model(&hop, tcp, 1, "", "60 s"), 0), 0, Metric::Throughput) / (10e6 * 1460.0 / 1512.0)
    };
    let (few, many) = (rate(BBR3, "0.005"), rate(BBR3, "0.05"));
    let reno = rate("window = \"50 MB\", delayed-ack.timer = \"0 s\"", "0.005");
    let first = rate(&BBR3.replace("bbr3", "bbr"), "0.05");
    eprintln!(
        "bbr3 at 0.5 %: {few:.3}, at 5 %: {many:.3}; reno {reno:.3}, bbr at 5 % {first:.3} of the link"
    );
    assert!(few > 0.8 && few > 2.0 * reno, "{few} of the link, Reno {reno}");
    assert!(many < 0.9 * first, "{many} of the link, version 1 {first}");
}

/// draft-ietf-ccwg-bbr section 5.5.10.2: in a shallow queue (a fifth of the product) version 3 loses less than
/// version 1, since it remembers how much in flight was too much, and stays in the order of its threshold of 2 %.
#[test]
fn bbr3_spares_a_shallow_queue() {
    let hop = "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { drop-tail = { limit = \"20 kB\" } }";
    let dropped = |tcp: &str| {
        let outcome = run(&model(hop, tcp, 1, "", "60 s"), 0);
        let sent = get(&outcome, 0, Metric::Throughput) * 60.0 / 8.0 / 1460.0;
        (get(&outcome, 0, Metric::PacketsDropped) / sent, get(&outcome, 0, Metric::Throughput))
    };
    let (new, old) = (dropped(BBR3), dropped(&BBR3.replace("bbr3", "bbr")));
    eprintln!(
        "shallow queue: bbr3 loses {:.4} at {:.0} bit/s, bbr {:.4} at {:.0}",
        new.0, new.1, old.0, old.1
    );
    assert!(new.0 < old.0 && new.0 < 0.02, "{} and {}", new.0, old.0);
    assert!(new.1 > 0.8 * 10e6 * 1460.0 / 1512.0, "{} bit/s", new.1);
}

/// RFC 3168 section 6.1.1.1: the first SYN is lost. Repeated with the offer, marks are heard; repeated without it, as
/// the sender may, nothing says that it can be marked, and what would have been is lost.
#[test]
fn a_syn_without_an_answer_is_repeated_without_the_offer() {
    let closed = "[[hop.gate]]\nname = \"first\"\nmode = \"drop\"\nstart = \"0 s\"\nlasts = \"0.5 s\"";
    let hop = format!("{MARKED}\n{closed}");
    let with = |fallback: &str| {
        let tcp = format!("ecn = true, ecn-fallback = {fallback}");
        let outcome = run(&model(&hop, &tcp, 1, "bytes = \"800 kB\"", "1 h"), 0);
        get(&outcome, 0, Metric::PacketsDropped)
    };
    assert_eq!((with("false"), with("true")), (1.0, 4.0));
}
