//! Fuzz targets of messages from another host and of the agents file. The fuzzer's target and the replay of its corpus
//! share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use agent::list;
use agent::message::{self, MOST, Message, PIECE, Reassembly};
use agent::token::Token;
use agent::tunnel::{self, ReplayWindow};
use base::Time;
use base::dist::Dist;
use base::rng::Seed;
use emulate::accuracy::lateness::Histogram;
use emulate::remote::results::{EndResult, List, Lists};
use emulate::remote::spec::EndWork;
use scenario::model::App;
use transport::app::connections::MessageLog;
use transport::app::message_stream::{MessagePlan, MessageSchedule, UsefulLife};
use transport::app::request::RequestClient;
use transport::app::{arrival_log, in_band};

/// The first byte selects the target for the rest.
pub(crate) fn agent(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first & 7 {
        // Pieces of a message, as frames bring them: two bytes with the length of each.
        0 => {
            let (mut pieces, mut rest) = (Reassembly::default(), rest);
            while let Some((length, after)) = rest.split_first_chunk::<2>() {
                let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
                let (piece, after) = after.split_at(length);
                match pieces.add(piece) {
                    Ok(Some((message, bytes))) => heard(&message, &bytes),
                    Ok(None) => {}
                    Err(_) => return,
                }
                rest = after;
            }
        }
        // The JSON of a message, and bytes behind a line feed.
        1 => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let (json, bytes) = rest.split_at(end);
            let whole = [&[0], &(json.len() as u32).to_be_bytes()[..], json, bytes].concat();
            if let Ok(Some((message, bytes))) = Reassembly::default().add(&whole) {
                heard(&message, &bytes);
            }
        }
        2 => {
            let text = String::from_utf8_lossy(rest);
            let _ = (Token::parse(&text), list::address(&text));
            match list::read(&text, &["server", "phone"]) {
                Ok(list) => assert!(!list.hosts.is_empty() || list.path.is_some()),
                Err(wrong) => {
                    assert!(wrong.iter().all(|why| !why.to_string().is_empty()) && !wrong.is_empty());
                }
            }
        }
        3 => {
            let mut seen = ReplayWindow::default();
            for datagram in rest.chunks(8) {
                if tunnel::of(datagram).is_some() {
                    let number: u64 = datagram.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
                    seen.add(number & ((1 << 40) - 1));
                    assert!(!seen.add(number & ((1 << 40) - 1)), "taken twice");
                }
            }
            let _ = seen.lost();
        }
        // Lists of an end, one per line: which list, and a piece of it.
        4 => {
            let mut end = EndResult::default();
            for line in rest.split(|byte| *byte == b'\n') {
                let Some((which, piece)) = line.split_first() else { continue };
                let list = List::ALL[usize::from(*which) % List::ALL.len()];
                if end.lists.add(list, piece).is_err() {
                    break;
                }
            }
            told(end);
        }
        // Bytes on a connection, in pieces: one byte selects the known state, one more gives the length of each piece.
        5 => {
            let Some((known, rest)) = rest.split_first() else { return };
            let some = |bit: u8, value: u64| (known & bit != 0).then_some(value);
            let known = in_band::FixedParameters {
                request: some(1, 9),
                reply: some(2, 0),
                wait_ns: some(4, u64::MAX),
            };
            let (mut apart, mut whole) = (in_band::Reader::new(known), in_band::Reader::new(known));
            let (mut all, mut ends, mut together) = (Vec::new(), Vec::new(), Vec::new());
            let mut rest = rest;
            let mut result = Ok(());
            while let Some((length, after)) = rest.split_first() {
                let (piece, after) = after.split_at(usize::from(*length).min(after.len()));
                all.extend(piece);
                result = result.and_then(|()| apart.read(piece, |letter| ends.push(letter)));
                rest = after;
            }
            assert_eq!(whole.read(&all, |letter| together.push(letter)), result);
            assert_eq!(together, ends, "the same however it is cut");
            assert!(ends.is_sorted_by(|a, b| a.end < b.end));
        }
        _ => {}
    }
}

/// Lists are split and reassembled unchanged; arbitrary reports of two ends are merged.
fn told(mut end: EndResult) {
    let (whole, mut again) = (end.lists.clone(), Lists::default());
    end.lists.take_apart(|list, piece| again.add(list, &piece).expect("what was said can be read"));
    assert_eq!(again, whole);
    let times = |ns: &u64| Time::from_nanos(*ns);
    let made: Vec<Time> = whole.send_times.iter().map(times).collect();
    let came: Vec<_> = whole.arrivals.iter().map(|(at, value)| (times(at), *value)).collect();
    let plan = MessagePlan {
        size: Dist::Uniform(1.0, 5000.0),
        every: Dist::Constant(1e6),
        bursts: None,
        count: None,
        lasts: None,
        useful: UsefulLife::UntilNext,
        stream: None,
    };
    let pace = || MessageSchedule::new(&plan, "voice", Seed { seed: 1, repetition: 0 });
    let (over, cut) = (
        arrival_log::sent_messages(pace(), None, &made),
        arrival_log::sent_messages(pace(), Some(1472), &made),
    );
    for seen in [
        arrival_log::replay_stream(&over, &came, plan.useful),
        arrival_log::replay_datagrams(&cut, &came, plan.useful).0,
    ] {
        assert!(seen.delays.len() <= made.len() && seen.late as usize <= seen.delays.len());
    }
}

/// An accepted message is encoded to equal bytes.
fn heard(message: &Message, bytes: &[u8]) {
    assert!(bytes.len() <= MOST);
    if let Message::RemoteResults(_, carried) = message {
        let took = Histogram::unpack(&carried.took);
        let _ = (took.quantile(0.5), took.above(took.max()));
    }
    if let Message::List(_, _, list) = message {
        let _ = Lists::default().add(*list, bytes);
    }
    if let Message::Prepare(_, orders) = message {
        orders.ends.iter().for_each(|end| work(&end.work));
    }
    let mut again = Reassembly::default();
    let said = message::write(message, bytes);
    let (last, before) = said.split_last().expect("a message has a piece");
    assert!(said.iter().all(|piece| piece.len() <= PIECE));
    for piece in before {
        assert_eq!(again.add(piece), Ok(None));
    }
    assert_eq!(again.add(last), Ok(Some((message.clone(), bytes.to_vec()))));
}

/// An accepted workload plan can be drawn from.
fn work(EndWork { app, draws, .. }: &EndWork) {
    match app {
        App::Requests(plan) => {
            drop(RequestClient::new((**plan).clone(), MessageLog::default(), &draws.name, draws.seed()))
        }
        App::Messages(plan) => {
            let mut pace = MessageSchedule::new(plan, &draws.name, draws.seed());
            let _ = (pace.message(), pace.message());
        }
        App::Bulk { .. } => {}
    }
}
