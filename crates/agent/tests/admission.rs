//! Attacks on the agent's listening side: replayed handshakes, slow and silent peers, floods, long frames, a stop
//! during a session.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use agent::control::AgentControl;
use agent::control_connection::{self, ConnectionFault, HANDSHAKE};
use agent::message::Message;
use agent::path_worker::{PathPlayer, PathPreparer};
use agent::serve::Agent;
use agent::token::Token;
use emulate::Surroundings;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct PacketRelay;

impl PathPreparer for PacketRelay {
    fn begin(
        &self,
        _: &[u8],
        _: Option<Arc<AgentControl>>,
    ) -> Result<(Box<dyn PathPlayer + '_>, Vec<u8>), String> {
        Err("this test carries no path".to_owned())
    }
}

fn token(digits: &str) -> Token {
    Token::parse(&digits.repeat(32)).unwrap()
}

/// Runs `attack` against an agent; returns the agent's report and the duration of its shutdown.
fn against(attack: impl FnOnce(SocketAddr)) -> (String, Duration) {
    let around = Surroundings::default();
    let agent =
        Agent::listen("127.0.0.1:0".parse().unwrap(), token("5a"), around, Arc::new(PacketRelay), "test")
            .unwrap();
    let (at, stop, said) = (agent.address().unwrap(), AtomicBool::new(false), Mutex::new(String::new()));
    let took = std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            agent.serve(&stop, &|event| said.lock().unwrap().push_str(&format!("{event}\n")));
        });
        let attacked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| attack(at)));
        let since = Instant::now();
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap();
        attacked.unwrap();
        since.elapsed()
    });
    (said.into_inner().unwrap(), took)
}

/// Checks that a controller with the token is served without delay.
fn is_served(at: SocketAddr) {
    let since = Instant::now();
    let (_line, mut ear) = control_connection::connect(at, &token("5a")).unwrap();
    assert_eq!(ear.hear().unwrap().0, Message::Welcome("test".to_owned()));
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}

/// First flight of a controller's handshake, as an eavesdropper records it.
fn recorded() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let controller = scope.spawn(move || control_connection::connect(at, &token("5a")));
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(&[b"williwaw-agent".as_slice(), &agent::PROTOCOL.to_be_bytes()].concat()).unwrap();
        let mut flight = vec![0; 16 + 2 + 48];
        stream.read_exact(&mut flight).unwrap();
        drop(stream);
        assert!(controller.join().unwrap().is_err());
        flight
    })
}

#[test]
fn a_replayed_handshake_occupies_nothing() {
    let flight = recorded();
    let (said, _) = against(|at| {
        let mut replays: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(at).unwrap()).collect();
        for replay in &mut replays {
            replay.write_all(&flight).unwrap();
            // The agent answers: the first message is genuine.
            let mut answer = [0; 16 + 2 + 48];
            replay.read_exact(&mut answer).unwrap();
        }
        is_served(at);
        replays[0].write_all(&[&[0, 16][..], &[0; 16]].concat()).unwrap();
        let mut rest = Vec::new();
        let _ = replays[0].read_to_end(&mut rest);
    });
    assert!(said.contains("a run begins") && said.contains("did not prove that it has the token"), "{said}");
    assert_eq!(said.matches("busy").count(), 0, "{said}");
}

#[test]
fn one_deadline_covers_the_whole_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let limit = Duration::from_millis(600);
    let took = std::thread::scope(|scope| {
        let slow = scope.spawn(move || {
            let mut stream = TcpStream::connect(at).unwrap();
            let hello = [b"williwaw-agent".as_slice(), &agent::PROTOCOL.to_be_bytes(), &[0; 50]].concat();
            for byte in hello {
                if stream.write_all(&[byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let (stream, since) = (listener.accept().unwrap().0, Instant::now());
        let refused = control_connection::accept_within(stream, &token("5a"), limit);
        assert!(matches!(refused, Err(ConnectionFault::Slow)), "{refused:?}");
        let took = since.elapsed();
        slow.join().unwrap();
        took
    });
    assert!(took >= limit && took < limit + HANDSHAKE / 2, "{took:?}");
}

/// A first frame has the length of a handshake message; another one is refused by its length, before its body comes.
#[test]
fn a_long_first_frame_is_refused_before_it_is_read() {
    let (said, _) = against(|at| {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let hello = [b"williwaw-agent".as_slice(), &agent::PROTOCOL.to_be_bytes()].concat();
        stream.write_all(&[&hello[..], &[0xff, 0xff]].concat()).unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        // The hello, then code 4.
        assert_eq!(heard.get(16..), Some(&[0, 1, 4][..]), "{heard:?}");
        is_served(at);
    });
    assert!(said.contains("65535 B instead of 48 B"), "{said}");
}

#[test]
fn a_flood_of_silent_peers_does_not_fill_the_places() {
    let (said, took) = against(|at| {
        let strangers: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(at).unwrap()).collect();
        is_served(at);
        // An evicted controller gets the hello, then code 2.
        let mut first = &strangers[0];
        let mut heard = Vec::new();
        first.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let _ = first.read_to_end(&mut heard);
        assert_eq!(heard.get(16..), Some(&[0, 1, 2][..]), "{heard:?}");
    });
    assert!(said.contains("newer connections took its place"), "{said}");
    // 64 strangers still wait; a stop ends them too.
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_stop_is_obeyed_during_a_session_and_a_handshake() {
    let mut held = None;
    let (_, took) = against(|at| {
        let (line, mut ear) = control_connection::connect(at, &token("5a")).unwrap();
        ear.hear().unwrap();
        held = Some((line, ear, TcpStream::connect(at).unwrap()));
    });
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_refusal_tells_the_true_reason() {
    let (said, _) = against(|at| {
        let refused = control_connection::connect(at, &token("a5"));
        assert!(matches!(refused, Err(ConnectionFault::Token)), "{refused:?}");
        let mut long = TcpStream::connect(at).unwrap();
        let hello = [b"williwaw-agent".as_slice(), &agent::PROTOCOL.to_be_bytes(), &[255, 255]].concat();
        long.write_all(&hello).unwrap();
        let mut heard = Vec::new();
        long.read_to_end(&mut heard).unwrap();
        assert_eq!(heard.get(16..), Some(&[0, 1, 4][..]), "refused by its length alone");
        let mut browser = TcpStream::connect(at).unwrap();
        browser.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let _ = browser.read_to_end(&mut heard);
        let (_line, mut ear) = control_connection::connect(at, &token("5a")).unwrap();
        ear.hear().unwrap();
        let (_second, mut ear) = control_connection::connect(at, &token("5a")).unwrap();
        assert!(matches!(ear.hear().unwrap().0, Message::Busy(_)));
    });
    for words in ["has another token", "65535 B instead of 48 B", "is no williwaw controller", "is busy with"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}
