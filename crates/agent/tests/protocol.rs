//! Messages between agent and controller: every input from another host is parsed or rejected, and has no other effect.
#![cfg(target_os = "linux")]

mod fuzz;

use agent::control_connection::{self, ConnectionFault};
use agent::message::{MOST, Message, MessageFault as Unread, PIECE, Reassembly, write};
use agent::token::Token;
use base::Span;
use base::dist::Dist;
use emulate::remote::hosts::{
    CommandOrder, CommandResult, EndOrder, MachineOrder, Orders, ReadLimit, RemoteResults,
};
use emulate::remote::results::{EndResult, List};
use emulate::remote::spec::{Draws, EndWork};
use scenario::model::{App, ConnectionLifetime, MessagePlan, RequestPlan, UsefulLife};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

/// The fuzzing corpus (`fuzz/README.md`) is harmless.
#[test]
fn the_corpus_is_harmless() {
    testkit::corpus::replay("agent", 10, fuzz::agent);
}

/// Kernel options in the corpus are current ones: an unknown option would be rejected early.
#[test]
fn the_corpus_speaks_this_protocol() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/agent");
    let mut words = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (name, input) = (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        let Some((1, said)) = input.split_first().map(|(first, rest)| (first & 7, rest)) else { continue };
        let json = said.split(|byte| *byte == b'\n').next().unwrap();
        let read = serde_json::from_slice::<Message>(json);
        if name.starts_with("seed-") {
            assert!(read.is_ok(), "{name}: {read:?}");
            words += 1;
        } else if name.starts_with("refused-") {
            assert!(read.is_err(), "{name}");
        }
    }
    assert!(words >= 20, "{words} words");
}

/// A client without the agent's token gets no data, whatever it sends.
#[test]
fn any_stranger_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let token = Token::parse(&"5a".repeat(32)).unwrap();
    let hello = [b"williwaw-agent".as_slice(), &agent::PROTOCOL.to_be_bytes()].concat();
    for input in testkit::corpus::inputs("agent", 10) {
        for greeting in [&[][..], &hello] {
            let mut stranger = TcpStream::connect(at).unwrap();
            stranger.write_all(&[greeting, &input].concat()).unwrap();
            stranger.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(control_connection::accept(listener.accept().unwrap().0, &token).is_err());
        }
    }
    let mut newer = TcpStream::connect(at).unwrap();
    newer.write_all(b"williwaw-agent\0\x09").unwrap();
    let refused = control_connection::accept(listener.accept().unwrap().0, &token);
    assert!(matches!(refused, Err(ConnectionFault::Version(9))));
}

/// Every message arrives unchanged, long ones in pieces.
#[test]
fn messages_come_through() {
    let reads = Some(ReadLimit { bytes_per_second: None, pause_ns: 7 });
    let draws = || Draws { name: "pages".into(), seed: u64::MAX, repetition: 1 };
    let one = || Dist::Constant(0.1);
    let asking = RequestPlan {
        pages: None,
        lasts: Some(Span::FOREVER),
        request: Dist::Pareto(1.0, 0.74, Some(55.0)),
        reply: Dist::Empirical([0.3, 1e300].as_slice().into()),
        objects: one(),
        object: Dist::TwoState { first: 1.0, second: 2.0, leave_first: 0.1, leave_second: 1.0 },
        largest: 1,
        think: Dist::Gamma(0.5, 2.0),
        paced: false,
        serve: one(),
        patience: Some(one()),
        connections: 6,
        keep: ConnectionLifetime::Page,
        pipelining: true,
    };
    let telling = MessagePlan {
        size: one(),
        every: Dist::Lognormal(1.0, 2.0),
        bursts: Some((one(), Dist::Cauchy(1.0, 2.0))),
        count: Some(7),
        lasts: None,
        useful: UsefulLife::UntilNext,
        stream: None,
    };
    let end = |app, payload| EndOrder {
        node: "server".into(),
        flow: 3,
        opens: true,
        linux: Default::default(),
        six: true,
        start_ns: u64::MAX,
        work: EndWork { app, reads, draws: draws(), payload },
    };
    let orders = Orders {
        machines: vec![MachineOrder {
            node: "server".into(),
            at: ("198.18.0.1".parse().unwrap(), "fd00::1".parse().unwrap()),
            linux: Default::default(),
        }],
        ends: vec![
            end(App::Bulk { bytes: None, lasts: Some(Span::from_nanos(1)) }, None),
            end(App::Requests(Box::new(asking)), None),
            end(App::Messages(Box::new(telling)), Some(1472)),
        ],
        commands: vec![CommandOrder {
            node: "server".into(),
            command: 0,
            run: "echo '\u{1f4a8}'\n".into(),
            start_ns: 0,
            serves: true,
        }],
        ..Orders::default()
    };
    let returned = RemoteResults {
        ends: vec![EndResult { flow: 3, fault: Some("no".into()), ..EndResult::default() }],
        commands: vec![CommandResult { command: 0, lacks: vec!["all".into()], ..CommandResult::default() }],
        overrun: 1,
    };
    let all = [
        Message::Welcome("0.1.0".into()),
        Message::Busy("192.0.2.1:9".into()),
        Message::Prepare(7, orders),
        Message::Start(u64::MAX, i64::MIN),
        Message::RemoteResults(returned, Default::default()),
        Message::List(3, true, List::Came),
        Message::Pong(1, 2),
    ];
    for message in all {
        for bytes in [Vec::new(), vec![7; 3 * PIECE]] {
            let (mut pieces, said) = (Reassembly::default(), write(&message, &bytes));
            let (last, before) = said.split_last().unwrap();
            assert!(before.iter().all(|piece| pieces.add(piece) == Ok(None)));
            assert_eq!(pieces.add(last), Ok(Some((message.clone(), bytes))));
        }
    }
}

/// No peer makes the other end keep more than the maximum length of a message.
#[test]
fn a_message_without_end_is_refused() {
    let mut pieces = Reassembly::default();
    let piece = vec![1; PIECE];
    let taken = (0..).take_while(|_| pieces.add(&piece) == Ok(None)).count();
    assert!(taken * (PIECE - 1) <= MOST && (taken + 1) * (PIECE - 1) > MOST);
    assert_eq!(Reassembly::default().add(&[]), Err(Unread::Piece));
    assert_eq!(Reassembly::default().add(&[2, 0]), Err(Unread::Piece));
    assert_eq!(Reassembly::default().add(&[0, 0, 0]), Err(Unread::Unread));
}
