//! Measurements on loopback without any rights: jobs are completed to the byte, a lost connection is reported and
//! reopened, and every error is one clear message.

#[allow(dead_code, reason = "each test uses some of it")]
mod common;

use common::{Memory, asking, beside, serving};
use measure::cause::Cause;
use measure::client::measure;
use measure::client_protocol::ClientFault;
use measure::entry::{self, Entry, Journal, Run};
use measure::plan::Test;
use measure::server::Server;
use measure::summary::TestOutcome;
use measure::{Error, client};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn bulk(down: bool, bytes: u64) -> Test {
    Test::Bulk { down, bytes, seconds: 0.0 }
}

fn runs(entries: &[Entry]) -> Vec<&Run> {
    entries
        .iter()
        .filter_map(|entry| if let Entry::Run(run) = entry { Some(run.as_ref()) } else { None })
        .collect()
}

/// Every kind of test, over IPv4 and IPv6, with and without a token (WL-01, WL-04, WL-05, WL-08, WL-11, WL-12).
#[test]
fn all_is_measured_to_the_byte() {
    let mut homes = vec![SocketAddr::from(HERE)];
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        homes.push((Ipv6Addr::LOCALHOST, 0).into());
    } else {
        eprintln!("skipped for IPv6: this machine has none");
    }
    for (home, token) in homes.into_iter().zip([None, Some("word")]) {
        let server = Server::bind(serving(home, token)).unwrap();
        let memory = Memory::default();
        let steps = vec![
            (bulk(false, 150_000), 2),
            (bulk(true, 150_000), 2),
            (Test::Bulk { down: true, bytes: 0, seconds: 0.2 }, 1),
            (Test::Bulk { down: false, bytes: 0, seconds: 0.2 }, 1),
            (Test::Transactions { request: 280, reply: 499, count: 120 }, 2),
            (Test::Echo { size: 32, count: 5, interval: 0.01, tcp: false }, 1),
            (Test::Echo { size: 32, count: 5, interval: 0.01, tcp: true }, 1),
        ];
        let at = server.addresses()[0].to_string();
        let config = asking(&at, token.unwrap_or_default(), steps);
        assert!(beside(&server, || measure(&config, &never(), &memory)).unwrap());
        let entries = memory.0.into_inner().unwrap();
        let runs = runs(&entries);
        assert_eq!(runs.len(), 10);
        assert!(runs.iter().all(|run| run.complete && run.pauses.is_empty()));
        for run in &runs[..4] {
            assert_eq!(run.bytes, 150_000);
            let sender = if run.step == 0 { &run.client } else { &run.server.kernel };
            if cfg!(target_os = "linux") {
                assert!(sender.get("bytes_acked") >= 150_000, "{:?}", sender.info);
            }
        }
        for run in &runs[4..6] {
            assert!(run.bytes > 0 && run.seconds.unwrap() >= 0.19, "{:?}", run.seconds);
        }
        for run in &runs[6..8] {
            assert_eq!((run.response_s.len(), run.server.transactions), (120, 120));
            assert_eq!((run.bytes, run.server.received), (499 * 120, 280 * 120));
        }
        assert_eq!((runs[8].probes, runs[8].rtt_s.len()), (5, 5));
        assert_eq!((runs[9].probes, runs[9].rtt_s.len()), (5, 5));
        let outcome = TestOutcome::of(&entries).unwrap();
        let document = outcome.document();
        assert_eq!(document["schema"], "williwaw-measure/1");
        assert_eq!(document["tests"][4]["metrics"]["response_time_s"]["n"], 240);
        assert!(outcome.complete && outcome.disconnections.is_empty());
    }
}

/// However short a planned transfer, it carries data and counts among the planned ones.
#[test]
fn the_shortest_transfer_counts() {
    let server = Server::bind(serving(HERE.into(), None)).unwrap();
    let memory = Memory::default();
    let steps = [0.0, 1e-9, 0.001]
        .into_iter()
        .flat_map(|seconds| [false, true].map(|down| (Test::Bulk { down, bytes: 0, seconds }, 3)))
        .collect();
    let config = asking(&server.addresses()[0].to_string(), "", steps);
    assert!(beside(&server, || measure(&config, &never(), &memory)).unwrap());
    let entries = memory.0.into_inner().unwrap();
    assert!(runs(&entries).iter().all(|run| run.complete && run.bytes > 0 && run.seconds.is_some()));
    let outcome = TestOutcome::of(&entries).unwrap();
    assert!(outcome.tests.iter().all(|test| test.done == 3 && test.metrics[0].summary.n == 3));
}

/// Relay that cuts each connection after its number of bytes towards the client; `None` never cuts.
fn relay(to: SocketAddr, cut: &[Option<usize>], over: &AtomicBool, listener: &TcpListener) {
    listener.set_nonblocking(true).unwrap();
    std::thread::scope(|scope| {
        let mut cuts = cut.iter().copied();
        while !over.load(Ordering::Relaxed) {
            let Ok((client, _)) = listener.accept() else {
                std::thread::yield_now();
                continue;
            };
            let left = cuts.next().flatten();
            let server = TcpStream::connect(to).unwrap();
            let (up_from, up_to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            scope.spawn(move || pass(up_from, up_to, None));
            scope.spawn(move || pass(server, client, left));
        }
    });
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut left: Option<usize>) {
    let mut buffer = [0; 1000];
    loop {
        let n = from.read(&mut buffer).unwrap_or(0);
        if n == 0 || left == Some(0) || to.write_all(&buffer[..n]).is_err() {
            break;
        }
        if let Some(left) = &mut left {
            *left = left.saturating_sub(n);
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Cut connections are reported with their cause (WL-14) and opened again, and the measurement continues with the rest
/// (WL-03).
#[test]
fn a_lost_connection_is_told_and_made_again() {
    let server = Server::bind(serving(HERE.into(), None)).unwrap();
    let listener = TcpListener::bind(HERE).unwrap();
    let (at, over) = (listener.local_addr().unwrap(), never());
    let memory = Memory::default();
    let steps =
        vec![(bulk(true, 100_000), 2), (Test::Transactions { request: 100, reply: 1000, count: 30 }, 1)];
    let config = asking(&at.to_string(), "", steps);
    // A greeting; a transfer that is cut; a greeting; a whole transfer; a sequence that is cut.
    let cuts = [None, Some(40_000), None, None, Some(12_000)];
    let complete = beside(&server, || {
        std::thread::scope(|scope| {
            scope.spawn(|| relay(server.addresses()[0], &cuts, &over, &listener));
            let result = measure(&config, &never(), &memory);
            over.store(true, Ordering::Relaxed);
            result
        })
    });
    assert!(complete.unwrap());
    let entries = memory.0.into_inner().unwrap();
    let runs = runs(&entries);
    let state: Vec<(usize, u32, bool)> = runs.iter().map(|r| (r.step, r.repetition, r.complete)).collect();
    assert_eq!(state, [(0, 0, false), (0, 1, true), (1, 0, false), (1, 0, true)]);
    assert!((30_000..100_000).contains(&runs[0].bytes), "{} bytes before the cut", runs[0].bytes);
    assert_eq!(runs[2].response_s.len() + runs[3].response_s.len(), 30, "no transaction is lost or doubled");
    let outcome = TestOutcome::of(&entries).unwrap();
    assert_eq!(outcome.disconnections.len(), 2);
    for lost in &outcome.disconnections {
        assert_eq!((lost.kind.as_str(), lost.attempts), ("lost", 1));
        assert_eq!((lost.cause, &lost.account), (Cause::RemoteEquipment, &None), "{}", lost.evidence);
        assert!(lost.until.unwrap() >= lost.t);
    }
    assert_eq!((outcome.tests[0].done, outcome.tests[0].broken), (1, 1));
    assert_eq!(outcome.tests[1].metrics[0].summary.n, 30);
}

fn fails(server: &str, token: &str) -> Error {
    let mut config = asking(server, token, vec![(bulk(true, 1000), 1)]);
    config.plan.connect = 0.5;
    let memory = Memory::default();
    let error = measure(&config, &never(), &memory).expect_err("it should fail");
    assert!(memory.0.into_inner().unwrap().is_empty(), "an error at once leaves nothing");
    error
}

#[test]
fn what_is_wrong_is_one_clear_error() {
    assert!(matches!(fails("no such place", ""), Error::Name { .. }));
    let free = TcpListener::bind(HERE).unwrap().local_addr().unwrap();
    match fails(&free.to_string(), "") {
        Error::Connect { source, .. } => assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused),
        other => panic!("{other}"),
    }
    // A server that accepts connections and is silent; then one with another protocol.
    let silent = TcpListener::bind(HERE).unwrap();
    assert!(matches!(fails(&silent.local_addr().unwrap().to_string(), ""), Error::Silent { .. }));
    let stranger = TcpListener::bind(HERE).unwrap();
    let at = stranger.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = stranger.accept().unwrap();
            let _ = stream.write_all(b"SSH-2.0-nobody\r\n");
            let _ = stream.read(&mut [0; 64]);
        });
        assert!(matches!(fails(&at, ""), Error::Fault { fault: ClientFault::Stranger(_), .. }));
    });
    let server = Server::bind(serving(HERE.into(), Some("word"))).unwrap();
    let at = server.addresses()[0].to_string();
    beside(&server, || {
        for token in ["", "sword"] {
            match fails(&at, token) {
                Error::Fault { fault: ClientFault::Refused { text, .. }, .. } => {
                    assert!(text.contains("token"))
                }
                other => panic!("{other}"),
            }
        }
    });
    // A server with a public address needs a token before it listens.
    let open = Server::bind(serving((Ipv4Addr::UNSPECIFIED, 0).into(), None));
    assert!(matches!(open, Err(Error::Open(_))));
}

#[test]
fn names_and_addresses_are_understood() {
    let port = |text: &str| client::resolve(text).unwrap()[0].to_string();
    assert_eq!(port("192.0.2.1"), "192.0.2.1:24790");
    assert_eq!(port("192.0.2.1:9"), "192.0.2.1:9");
    assert_eq!(port("2001:db8::1"), "[2001:db8::1]:24790");
    assert_eq!(port("[2001:db8::1]"), "[2001:db8::1]:24790");
    assert_eq!(port("[2001:db8::1]:9"), "[2001:db8::1]:9");
}

/// A kill damages at most the last line of the journal.
#[test]
fn what_was_measured_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.jsonl");
    let server = Server::bind(serving(HERE.into(), None)).unwrap();
    let memory = Memory::default();
    let config = asking(&server.addresses()[0].to_string(), "", vec![(bulk(true, 1000), 3)]);
    assert!(beside(&server, || measure(&config, &never(), &memory)).unwrap());
    let entries = memory.0.into_inner().unwrap();
    let mut journal = Journal::create(&path).unwrap();
    for entry in &entries {
        journal.add(entry).unwrap();
    }
    assert!(Journal::create(&path).is_err(), "older results are not written over");
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(entry::read(&path).unwrap(), entries);
    // Cut anywhere after the first line: the entries read are a prefix of those written.
    let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    for end in (first..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let read = entry::read(&path).unwrap();
        assert!(entries.starts_with(&read));
        assert!(TestOutcome::of(&read).is_some_and(|outcome| !outcome.complete));
    }
    // Changed in the middle: reported with its line.
    let mut torn = whole.clone();
    torn[first + 3] = b'!';
    std::fs::write(&path, &torn).unwrap();
    assert!(matches!(entry::read(&path), Err(Error::Damaged { line: 2, .. })));
}

/// A hundred strangers that send nothing, or single bytes, take no client's place, and each receives the reason of its eviction.
#[test]
fn strangers_do_not_lock_the_server() {
    let server = Server::bind(common::serving(HERE.into(), Some("word"))).unwrap();
    let at = server.addresses()[0];
    let refused = std::sync::Mutex::new(Vec::new());
    let tell = |event: measure::server::Event| {
        if let measure::server::EventKind::Refused(why) = event.what {
            refused.lock().unwrap().push(why);
        }
    };
    common::watching(&server, &tell, || {
        let mut strangers: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(at).unwrap()).collect();
        strangers.iter_mut().for_each(|stranger| _ = stranger.write_all(b"w"));
        let memory = Memory::default();
        let config = asking(&at.to_string(), "word", vec![(bulk(true, 10_000), 2)]);
        assert!(measure(&config, &never(), &memory).unwrap());
        let mut heard = Vec::new();
        let _ = strangers[0].read_to_end(&mut heard);
        // The outcome depends on whether the byte was read before the place was taken.
        let heard = String::from_utf8_lossy(&heard);
        let reasons = ["too many connections wait", "no message of this protocol begins"];
        assert!(reasons.iter().any(|why| heard.contains(why)), "{heard:?}");
        let wrong = measure(&asking(&at.to_string(), "other", vec![(bulk(true, 1), 1)]), &never(), &memory);
        assert!(matches!(wrong, Err(Error::Fault { .. })), "{wrong:?}");
    });
    let refused = refused.into_inner().unwrap();
    let strangers = ["newer connections", "no message of this protocol"];
    assert!(refused.iter().any(|why| strangers.iter().any(|words| why.contains(words))), "{refused:?}");
    assert!(refused.iter().any(|why| why.contains("the token is wrong")), "{refused:?}");
}
