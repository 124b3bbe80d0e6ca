//! CCID 3 by RFC 4342 and RFC 5348: receive rate of a hurried report, first loss interval, loss events by the window counter,
//! the counter itself, and acknowledgements in PARTOPEN.

use base::event::Source;
use base::trace::Tracer;
use base::{Span, Time};
use dccp::ccid::Rules;
use dccp::ccid::ccid3::{Ccid3, Reporter};
use dccp::packet::{Kind, Opt};
use dccp::tfrc::{Arrival, LossHistory, Receiver, SenderConfig, equation};
use dccp::{Ccid, Config, Connection, Dccp};
use transport::app::Socket;
use transport::endpoint::{Endpoint, Io, Outgoing, Role};

const RTT: Span = Span::from_millis(100);
const SIZE: u32 = 500;

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// Feeds 200 packets, 5 ms apart and from the 100th on 10 ms, without packet `lost`; the reports' times and receive rates.
fn feed(receiver: &mut Receiver, lost: u64) -> Vec<(Time, f64)> {
    let mut reports = Vec::new();
    let mut now = Time::ZERO;
    for seq in 0..200 {
        now += Span::from_millis(if seq < 100 { 5 } else { 10 });
        if seq == lost {
            continue;
        }
        let timer = receiver.next_timeout();
        if timer < now {
            reports.extend(receiver.report(timer).map(|report| (timer, report.rate)));
        }
        receiver.on_packet(now, seq, SIZE, now, RTT, false);
        if receiver.next_timeout() <= now {
            reports.extend(receiver.report(now).map(|report| (now, report.rate)));
        }
    }
    reports
}

/// RFC 5348 section 6.2: a report that a loss event hurries covers a round trip too, wherever in the round trip it falls.
#[test]
fn a_hurried_report_covers_a_round_trip() {
    for lost in 130..150 {
        let mut receiver = Receiver::new(false);
        let reports = feed(&mut receiver, lost);
        assert_eq!(receiver.history().events(), 1);
        // Ten packets of 500 bytes in 100 ms, one of them lost at most; the edges of a round trip cut one off or not.
        for (at, rate) in reports.iter().filter(|(at, _)| *at > ms(700)) {
            assert!((40_000.0..=55_000.0).contains(rate), "{lost}: {rate} at {at:?}");
        }
    }
}

/// RFC 5348 section 6.3.1: the first interval gives the highest receive rate so far, not the one at the loss.
#[test]
fn the_first_loss_interval_gives_the_highest_receive_rate() {
    let mut receiver = Receiver::new(false);
    let reports = feed(&mut receiver, 150);
    let most = reports.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    assert!(most > 90_000.0, "{most}");
    let by_hand = 1.0 / equation::loss_rate(f64::from(SIZE), 0.1, most);
    let first = receiver.history().intervals().next().unwrap();
    assert!((first / by_hand - 1.0).abs() < 1e-9, "{first} {by_hand}");
}

/// RFC 4342 section 10.1: losses are two events if a packet between them has a window counter more than 4 from the one before the
/// first; consecutive losses are one event, however long they last, and although the counter wraps meanwhile.
#[test]
fn loss_events_of_ccid_3_follow_the_window_counter() {
    let play = |mut history: LossHistory| {
        for seq in 0..1000_u64 {
            // The counter makes four steps in twelve packets.
            if [100, 104, 640].contains(&seq) || (500..600).contains(&seq) {
                continue;
            }
            let arrival = Arrival { seq, counter: (seq / 3 % 16) as u8, ..Arrival::default() };
            history.on_arrival(ms(10 * seq), arrival, RTT, || 50.0);
        }
        (history.events(), history.intervals().collect::<Vec<_>>())
    };
    assert_eq!(play(LossHistory::new(false).by_counter()), (3, vec![140.0, 400.0, 50.0]));
    // By nominal arrivals the hole of a second makes an event each round trip.
    assert_eq!(play(LossHistory::new(false)).0, 3 + 9);
    // Linux forgets the interval before the first event.
    assert_eq!(play(LossHistory::new(false).by_counter().brief_start()).1, [140.0, 400.0]);
}

/// RFC 4342 section 8.1: the counter begins at 0, and after an acknowledgement of counter i it is at least i + 4; between two
/// packets it advances by 5 at most, also if a silence follows the acknowledgement.
#[test]
fn an_acknowledgement_raises_the_window_counter() {
    for (rules, counter) in [(Rules::Rfc, 4), (Rules::Linux, 0)] {
        let mut sender = Ccid3::new(SenderConfig::default(), rules);
        sender.seed(ms(5000), Span::from_secs(1));
        assert_eq!(sender.on_send(ms(5000), 1, 1000, true), 0);
        let mut report = Dccp::new(Kind::Ack, 1, Some(1));
        report.options = vec![Opt::LossEventRate(u32::MAX), Opt::ReceiveRate(1000)];
        sender.on_ack(ms(5200), &report, |_| ());
        assert_eq!(sender.on_send(ms(5210), 2, 1000, true), counter, "{rules}");
        report.ack = Some(2);
        sender.on_ack(ms(5400), &report, |_| ());
        assert_eq!(sender.on_send(ms(15_000), 3, 1000, true), counter + 5, "{rules}");
    }
}

/// RFC 4342 section 10.3: Linux reports when the window counter is four above that of the last report, and not while packets may be
/// missing; with the RFCs' rules a timer of a round trip decides, here of the 500 ms before an estimate exists.
#[test]
fn reports_follow_the_window_counter_with_the_rules_of_linux() {
    let reports = |rules, lost: &[u64]| {
        let mut reporter = Reporter::new(rules);
        let mut at = Vec::new();
        for seq in 0..30_u64 {
            let now = ms(1000 * seq);
            while reporter.next_timeout() < now && reporter.next_timeout() != Time::ZERO {
                let due = reporter.next_timeout();
                at.extend(reporter.report(due).map(|_| due));
            }
            if lost.contains(&seq) {
                continue;
            }
            let mut packet = Dccp::new(Kind::Data, seq, None);
            packet.ccval = (seq % 16) as u8;
            reporter.on_data(now, &packet, SIZE, false);
            if reporter.next_timeout() <= now {
                at.extend(reporter.report(now).map(|_| now));
            }
        }
        at
    };
    let linux = |lost: &[u64]| reports(Rules::Linux, lost);
    // Every fourth packet, for the counter makes one step in each.
    assert_eq!(linux(&[]), [0, 4, 8, 12, 16, 20, 24, 28].map(|s| ms(1000 * s)));
    // Packet 11 is missing: 12 reports nothing, and the third packet behind it makes a loss event.
    assert_eq!(linux(&[11]), [0, 4, 8, 14, 18, 22, 26].map(|s| ms(1000 * s)));
    let timed = reports(Rules::Rfc, &[]);
    assert!(timed.iter().any(|at| at.as_nanos() % 1_000_000_000 != 0), "between arrivals: {timed:?}");
}

/// RFC 5348 section 4.6: the second packet leaves s/X after the first one, and not with it.
#[test]
fn the_second_packet_waits_its_interval() {
    let mut sender = dccp::tfrc::Sender::new(SenderConfig::default());
    sender.seed(ms(300), RTT);
    sender.on_send(ms(300), true);
    // min(4 s, max(2 s, 4380)) in a round trip: a quarter of it between packets of 1000 bytes.
    assert_eq!(sender.next_send(), ms(325));
}

/// RFC 4340 section 8.1.5: the timer of PARTOPEN runs from the last packet, so that data, which acknowledge as well, keep
/// further acknowledgements back.
#[test]
fn data_in_partopen_keep_acknowledgements_back() {
    let config = Config { ccids: vec![Ccid::Tfrc], ..Config::default() };
    let mut client = Connection::new(config.clone(), Role::Active);
    let mut server = Connection::new(config, Role::Passive);
    let mut tracer = Tracer::off();
    let mut kinds = |end: &mut Connection, now, act: &dyn Fn(&mut Connection, &mut Io<'_, Dccp>)| {
        let mut out: Vec<Outgoing<Dccp>> = Vec::new();
        act(end, &mut Io { now, out: &mut out, tracer: &mut tracer, source: Source(0) });
        out.into_iter().map(|o| o.body).collect::<Vec<_>>()
    };
    client.write(3000);
    let head = base::packet::Packet::NONE;
    let request = kinds(&mut client, ms(0), &|c, io| c.open(io));
    let response = kinds(&mut server, ms(300), &|s, io| s.handle_packet(io, &request[0], &head));
    let mut sent = kinds(&mut client, ms(600), &|c, io| c.handle_packet(io, &response[0], &head));
    // The server is silent; the last packet leaves at 750 ms, 200 ms before the timer.
    while client.next_timeout() < ms(940) {
        let now = client.next_timeout();
        sent.extend(kinds(&mut client, now, &|c, io| c.handle_timeout(io)));
    }
    let of = |kind| sent.iter().filter(|p| p.kind == kind).count();
    assert_eq!(
        (of(Kind::DataAck), of(Kind::Ack)),
        (3, 1),
        "{:?}",
        sent.iter().map(|p| p.kind).collect::<Vec<_>>()
    );
}
