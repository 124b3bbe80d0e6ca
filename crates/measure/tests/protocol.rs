//! Measurement protocol between two ends: every job is completed to the byte, however the bytes are split, and no peer
//! causes a panic or unbounded state.

mod fuzz;

use base::{Span, Time};
use measure::client_protocol::{ClientFault, ClientProtocol, Request};
use measure::flow::Output;
use measure::message::{Amount, Direction, Job, Message, Refusal, VERSION};
use measure::server_protocol::{Identity, ServedJob, ServerLimits, ServerProtocol};
use proptest::prelude::*;
use std::path::Path;

fn request(job: Job) -> Request {
    Request {
        session: 1,
        token: String::new(),
        job,
        owed: Vec::new(),
        window: 0,
        think: Span::from_millis(3),
        threshold: Span::from_secs(1),
    }
}

fn server(rules: ServerLimits) -> ServerProtocol {
    ServerProtocol::new(rules, Identity { key: 5, port: 9, name: "test".into() }, Span::from_secs(1))
}

/// Bytes to be sent; measured data are zeros.
fn bytes(out: Output) -> Vec<u8> {
    match out {
        Output::Bytes(bytes) => bytes,
        Output::Payload(n) => vec![0; n as usize],
    }
}

/// Runs a job between both ends; a millisecond passes whenever both are silent.
fn play(
    asking: &mut ClientProtocol,
    serving: &mut ServerProtocol,
    cut: usize,
) -> Result<Option<ServedJob>, ClientFault> {
    let mut now = Time::ZERO;
    let mut seen = None;
    for _ in 0..100_000 {
        let mut quiet = true;
        while let Some(out) = asking.next_out(now) {
            quiet = false;
            for piece in bytes(out).chunks(cut) {
                let _ = serving.on_bytes(now, piece);
            }
            now += Span::from_millis(1);
        }
        while let Some(out) = serving.next_out(now) {
            quiet = false;
            for piece in bytes(out).chunks(cut) {
                asking.on_bytes(now, piece)?;
            }
            now += Span::from_millis(1);
        }
        if let Some(key) = serving.take_account() {
            serving.report(format!("account of {key}"));
            continue;
        }
        if let Some(served) = serving.take_served() {
            seen = Some(served);
            serving.report("{}".into());
            continue;
        }
        asking.end_probes();
        if asking.is_done() {
            return Ok(seen);
        }
        if quiet {
            now += Span::from_millis(1);
        }
    }
    panic!("they never come to an end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_job_is_carried_out_to_the_byte(
        down in any::<bool>(), timed in any::<bool>(), n in 1u64..20_000,
        sizes in (1u32..3000, 1u32..3000), count in 1u32..20, kind in 0..3, cut in 1usize..5000
    ) {
        let direction = if down { Direction::Down } else { Direction::Up };
        let job = match kind {
            0 => Job::Probes,
            1 => Job::Transactions { request: sizes.0, reply: sizes.1, count },
            _ if timed => Job::Bulk { direction, amount: Amount::Lasts(Span::from_nanos(n * n % 40_000_000 + 1)) },
            _ => Job::Bulk { direction, amount: Amount::Bytes(n) },
        };
        let owed: Vec<u64> = (0..n % 3).collect();
        let asked = Request { owed: owed.clone(), ..request(job) };
        let (mut asking, mut serving) = (ClientProtocol::new(asked), server(ServerLimits::default()));
        let served = play(&mut asking, &mut serving, cut).unwrap().unwrap();
        prop_assert_eq!(served.job, job);
        let (came, went) = asking.bytes();
        prop_assert_eq!((came, went), (served.sent, served.received));
        match job {
            Job::Probes => prop_assert_eq!((came, went), (0, 0)),
            Job::Transactions { request, reply, count } => {
                prop_assert_eq!(asking.transactions().len(), count as usize);
                prop_assert_eq!(came, u64::from(reply) * u64::from(count));
                prop_assert_eq!(went, u64::from(request) * u64::from(count));
                for pair in asking.transactions().windows(2) {
                    prop_assert!(pair[1].0 >= pair[0].0 + pair[0].1 + Span::from_millis(3), "no time to think");
                }
            }
            Job::Bulk { direction, amount } => {
                let (this, other) = if direction == Direction::Down { (came, went) } else { (went, came) };
                prop_assert_eq!(other, 0);
                match amount {
                    Amount::Bytes(n) => prop_assert_eq!(this, n),
                    Amount::Lasts(_) => prop_assert!(this > 0),
                }
            }
        }
        let accounts: Vec<(u64, String)> =
            owed.iter().rev().map(|key| (*key, format!("account of {key}"))).collect();
        prop_assert_eq!(asking.accounts(), accounts);
        prop_assert!(asking.duration().is_some() && !serving.is_over());
    }
}

fn refusal(rules: ServerLimits, token: &str, job: Job) -> ClientFault {
    let mut asking = ClientProtocol::new(Request { token: token.into(), ..request(job) });
    play(&mut asking, &mut server(rules), 1000).expect_err("it should be refused")
}

#[test]
fn who_may_not_is_told_why() {
    let locked = || ServerLimits { token: Some("open sesame".into()), ..ServerLimits::default() };
    for (token, word) in [("", "requires a token"), ("open barley", "wrong"), ("open sesame!", "wrong")] {
        match refusal(locked(), token, Job::Probes) {
            ClientFault::Refused { why: Refusal::Token, text } => assert!(text.contains(word), "{text}"),
            other => panic!("{other}"),
        }
    }
    let small = ServerLimits { bytes: 1000, lasts: Some(Span::from_secs(1)), ..ServerLimits::default() };
    let up = |amount| Job::Bulk { direction: Direction::Up, amount };
    let many = Job::Transactions { request: 10, reply: 10, count: u32::MAX };
    for job in [up(Amount::Bytes(1001)), up(Amount::Lasts(Span::from_nanos(1_000_000_001))), many] {
        let fault = refusal(small.clone(), "", job);
        assert!(matches!(fault, ClientFault::Refused { why: Refusal::TooMuch, .. }), "{fault}");
    }
    let mut asking = ClientProtocol::new(Request { token: "open sesame".into(), ..request(Job::Probes) });
    assert!(play(&mut asking, &mut server(locked()), 1).unwrap().is_some());
}

#[test]
fn another_version_is_told_at_both_ends() {
    let mut old = Message::Hello { version: VERSION, session: 0, token: String::new() }.bytes();
    old[10] = 77; // low byte of the version
    let mut serving = server(ServerLimits::default());
    serving.on_bytes(Time::ZERO, &old).unwrap();
    let Some(Output::Bytes(answer)) = serving.next_out(Time::ZERO) else { panic!("no answer") };
    let mut asking = ClientProtocol::new(request(Job::Probes));
    match asking.on_bytes(Time::ZERO, &answer) {
        Err(ClientFault::Refused { why: Refusal::Version, text }) => {
            assert!(text.contains("version 77"), "{text}")
        }
        other => panic!("{other:?}"),
    }
    assert!(serving.is_over());
    let mut welcome = Message::Welcome { version: VERSION, key: 0, port: 0, name: String::new() }.bytes();
    welcome[10] = 78;
    let mut asking = ClientProtocol::new(request(Job::Probes));
    assert_eq!(asking.on_bytes(Time::ZERO, &welcome), Err(ClientFault::Version(78)));
}

/// The fuzzing corpus (`fuzz/README.md`) is harmless.
#[test]
fn any_peer_will_do() {
    testkit::corpus::replay("measure", 10, fuzz::measure);
}

/// What any modem says is harmless (WL-14).
#[test]
fn any_modem_will_do() {
    testkit::corpus::replay("modem", 10, fuzz::modem);
}

proptest! {
    /// Lines of a modem in any order, cut, changed and in pieces.
    #[test]
    fn changed_lines_of_a_modem_are_harmless(
        lines in prop::collection::vec((0..MODEM.len(), any::<prop::sample::Index>(), any::<u8>(), 0..6u8), 0..20),
        cut in any::<u8>()
    ) {
        let mut bytes = vec![cut];
        for (line, at, to, how) in lines {
            let mut line = MODEM[line].as_bytes().to_vec();
            let i = at.index(line.len());
            match how {
                0 => line[i] = to,
                1 => line.truncate(i),
                2 => line.insert(i, b"0,\"+"[usize::from(to) % 4]),
                _ => {}
            }
            bytes.extend(line);
            bytes.extend(b"\r\n");
        }
        fuzz::modem(&bytes);
    }
}

const MODEM: [&str; 14] = [
    "OK",
    "ERROR",
    "+CME ERROR: 30",
    "NO CARRIER",
    "+CREG: 2,1,\"00C3\",\"000A\"",
    "+CREG: 1,\"00C3\",\"000B\"",
    "+CGREG: 1,00C3,000C",
    "+CGREG: 2",
    "+CEREG: 1,\"1000\",\"0000A01\",7",
    "+CEREG: 3",
    "+CGEV: NW DETACH",
    "+CGEV: ME PDN DEACT 1",
    "+CSQ: 12,99",
    "ATE0V1",
];

const RESULTS: &str = r#"{"begin":{"schema":"williwaw-measure-journal/1","started":"2000-01-01T00:00:00Z","server":"s","address":"a","client_name":"c","server_name":"n","settings":{},"plan":{"steps":[{"test":{"bulk":{"down":true,"bytes":9,"seconds":0.0}},"repetitions":2}],"socket":{"mss":null,"window":null,"cc":null},"pause":0.0,"delay":0.0,"think":0.0,"silence":2.0,"stall":1.0,"connect":1.0,"give_up":1.0}}}
{"run":{"step":0,"repetition":0,"t":0.1,"complete":true,"seconds":0.5,"bytes":9}}
{"link":{"before":true,"command":"x","seconds":1.0,"status":0}}
{"account":{"run":0,"info":{"data_segs_out":3}}}
{"modem":{"t":0.2,"kind":"cell-change","line":"+CREG: 1","before":{"area":1,"id":2},"cell":{"area":1,"id":3}}}
{"end":{"t":1.0,"complete":true,"counters":{},"capture_missed":null}}
"#;

proptest! {
    /// Results with changed, cut or doubled bytes are read or rejected; figures may be anything that JSON allows.
    #[test]
    fn changed_results_are_harmless(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 0..8)) {
        let mut bytes = RESULTS.as_bytes().to_vec();
        for (at, to, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let i = at.index(bytes.len());
            match how {
                0 => bytes[i] = to,
                1 => bytes[i] = b"0123456789eE-.\"{}[],:"[usize::from(to) % 21],
                2 => bytes.truncate(i),
                _ => bytes.insert(i, b"9e-0"[usize::from(to) % 4]),
            }
        }
        fuzz::results(&bytes);
    }
}

#[test]
fn the_results_above_are_whole() {
    fuzz::results(RESULTS.as_bytes());
    let entries = measure::entry::parse(Path::new("x"), RESULTS.as_bytes()).unwrap();
    assert_eq!(entries.len(), 6);
}
