//! Fuzz targets of both ends of a measurement, and of a modem beside it. The fuzzer's target and the replay of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use base::{Span, Time};
use measure::client_protocol::{ClientProtocol, Request};
use measure::flow::Output;
use measure::message::{Amount, Direction, Job};
use measure::modem::{Modem, ModemEvent, ModemEventKind, cause_of_silence};
use measure::probe;
use measure::server_protocol::{Identity, ServerLimits, ServerProtocol};
use measure::summary::TestOutcome;

/// The first byte selects the receiver of the rest and its pieces; the others are a peer's input.
pub(crate) fn measure(bytes: &[u8]) {
    let Some((first, said)) = bytes.split_first() else { return };
    let cut = usize::from(first >> 3) * 3 + 1;
    let _ = probe::read(said);
    match first & 7 {
        0..4 => {
            let rules = ServerLimits {
                token: (first & 1 == 1).then(|| "w".to_owned()),
                bytes: u64::from(first & 2) << 20,
                lasts: None,
            };
            let identity = Identity { key: 1, port: 1, name: "n".to_owned() };
            server(ServerProtocol::new(rules, identity, Span::from_secs(1)), said, cut);
        }
        kind => {
            let job = match kind {
                4 => Job::Probes,
                5 => Job::Transactions { request: 10, reply: 20, count: 3 },
                6 => Job::Bulk { direction: Direction::Down, amount: Amount::Bytes(100) },
                _ => Job::Bulk { direction: Direction::Down, amount: Amount::Lasts(Span::from_millis(50)) },
            };
            client(job, said, cut);
        }
    }
}

fn server(mut serving: ServerProtocol, said: &[u8], cut: usize) {
    let mut now = Time::ZERO;
    for piece in said.chunks(cut) {
        let refused = serving.on_bytes(now, piece).is_err();
        let _ = (serving.take_begun(), serving.is_welcome(), serving.is_working());
        // Output is bounded by the time: a timed job ends.
        for _ in 0..64 {
            now += Span::from_millis(20);
            match serving.next_out(now) {
                Some(Output::Bytes(bytes)) => {
                    assert!(bytes.len() <= 1 << 19, "a message of {} bytes", bytes.len())
                }
                Some(Output::Payload(n)) => assert!(n > 0, "nothing to send"),
                None => break,
            }
        }
        if serving.take_account().is_some() {
            serving.report("{}".to_owned());
        }
        if let Some(served) = serving.take_served() {
            assert!(served.received <= said.len() as u64, "more came than was sent");
            serving.report("{}".to_owned());
        }
        if refused {
            while serving.next_out(now).is_some() {}
            assert!(serving.is_over(), "it goes on after nonsense");
        }
    }
}

fn client(job: Job, said: &[u8], cut: usize) {
    let request = Request {
        session: 1,
        token: String::new(),
        job,
        window: 0,
        think: Span::ZERO,
        owed: if said.len() % 2 == 1 { vec![1, 2] } else { Vec::new() },
        threshold: Span::from_secs(1),
    };
    let mut asking = ClientProtocol::new(request);
    let mut now = Time::ZERO;
    for piece in said.chunks(cut) {
        now += Span::from_millis(20);
        while asking.next_out(now).is_some() {}
        if asking.on_bytes(now, piece).is_err() {
            return;
        }
        assert!(asking.bytes().0 <= said.len() as u64, "more came than was sent");
        let _ = (asking.echo(), asking.duration(), asking.next_wake(), asking.report());
    }
}

/// A results file is read or rejected, and the entries read can be summarised.
pub(crate) fn results(bytes: &[u8]) {
    let Ok(entries) = measure::entry::parse(std::path::Path::new("fuzz.jsonl"), bytes) else { return };
    let Some(outcome) = TestOutcome::of(&entries) else { return };
    let document = outcome.document();
    assert_eq!(document["tests"].as_array().map(Vec::len), Some(outcome.tests.len()));
}

/// The first byte selects the pieces; the others are what a modem says, one piece a second. Its events are those of the same
/// bytes at once, apart from their times, and each silence beside them has a cause or none.
pub(crate) fn modem(bytes: &[u8]) {
    let Some((first, said)) = bytes.split_first() else { return };
    let cut = usize::from(first >> 2) + 1;
    let mut modem = Modem::new();
    let mut events = Vec::new();
    let mut now = Time::ZERO;
    for piece in said.chunks(cut) {
        now += Span::from_secs(1);
        if let Some(command) = modem.next_out(now) {
            assert!(command.starts_with("AT"), "{command}");
            assert_eq!(modem.next_out(now), None, "one command at a time");
        }
        assert!(modem.next_wake() > now, "a timer that never rests");
        modem.on_bytes(now, piece);
        events.extend(modem.take_events());
    }
    assert!(events.len() <= said.len() * 2 + 1, "more events than bytes");
    assert!(events.windows(2).all(|pair| pair[0].t <= pair[1].t), "time goes back");
    // The pieces of the input do not change unsolicited result codes; responses depend on the command under way.
    let reports = |events: &[ModemEvent]| -> Vec<(ModemEventKind, String)> {
        let asked =
            |kind| matches!(kind, ModemEventKind::Answers | ModemEventKind::Silent | ModemEventKind::Refused);
        events.iter().filter(|e| !asked(e.kind)).map(|e| (e.kind, e.line.clone())).collect()
    };
    let mut whole = Modem::new();
    whole.on_bytes(now, said);
    assert_eq!(reports(&events), reports(&whole.take_events()), "the pieces matter");
    for last in events.iter().map(|event| event.t) {
        if let Some((_, evidence)) = cause_of_silence(&events, last, last + f64::from(*first)) {
            assert!((1..2000).contains(&evidence.len()), "{evidence}");
        }
    }
}
