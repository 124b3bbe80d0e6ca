//! Encrypted control connection between controller and agent.
//!
//! Both say which protocol they speak, in the clear; then a Noise handshake (NNpsk0, X25519, ChaCha20-Poly1305,
//! BLAKE2s) in which each proves that it has the token and both agree on keys that nobody learns from a token that is
//! stolen later. All that follows is encrypted, on loopback too: there is no second way to get wrong.

use crate::PROTOCOL;
use crate::message::{self, Message, PIECE, Pieces};
use crate::token::Token;
use crate::way;
use snow::{Builder, StatelessTransportState};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What each end says first.
const GREETING: &[u8; 14] = b"williwaw-agent";
const HELLO: usize = GREETING.len() + 2;
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// A peer that is silent for so long is gone; a controller speaks every [`BEAT`].
pub const SILENCE: Duration = Duration::from_secs(4);
/// Between two questions for the time.
pub const BEAT: Duration = Duration::from_millis(500);
/// A connection is made within this, or not.
pub const CONNECT: Duration = Duration::from_secs(4);

/// Why there is no line, or none any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nobody is there, or the network does not lead there.
    #[error("cannot be reached at {0}: {1}")]
    Unreachable(SocketAddr, io::Error),
    /// Somebody else is there.
    #[error("what listens at {0} is no williwaw agent")]
    Stranger(SocketAddr),
    /// Another version.
    #[error(
        "speaks version {0} of the protocol, and this program version {PROTOCOL}: install the same williwaw at both"
    )]
    Version(u16),
    /// It has another token.
    #[error("has another token: copy the token file of one to the other")]
    Token,
    /// It is at work for somebody else.
    #[error("is busy with a run of {0}")]
    Busy(String),
    /// The connection ended.
    #[error("was lost: {0}")]
    Lost(String),
    /// What came is not what the protocol says.
    #[error("was lost: it sent {0}")]
    Nonsense(String),
}

/// The speaking half of a line. It may be used by several threads.
#[derive(Debug)]
pub struct Line {
    keys: Keys,
    out: Mutex<(TcpStream, u64)>,
}

/// The keys of a line, which ways share.
#[derive(Clone)]
pub struct Keys(pub(crate) Arc<StatelessTransportState>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// The hearing half.
#[derive(Debug)]
pub struct Ear {
    keys: Keys,
    stream: TcpStream,
    next: u64,
    pieces: Pieces,
    frame: Vec<u8>,
    clear: Vec<u8>,
}

fn hello() -> [u8; HELLO] {
    let mut hello = [0; HELLO];
    hello[..GREETING.len()].copy_from_slice(GREETING);
    hello[GREETING.len()..].copy_from_slice(&PROTOCOL.to_be_bytes());
    hello
}

fn write_frame(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut frame = (bytes.len() as u16).to_be_bytes().to_vec();
    frame.extend(bytes);
    stream.write_all(&frame)
}

fn read_frame(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    into.resize(usize::from(u16::from_be_bytes(length)), 0);
    stream.read_exact(into)
}

/// What an error of a connection means, for people.
fn lost(error: &io::Error) -> Fault {
    Fault::Lost(match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing was heard of it for {} s", SILENCE.as_secs())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "the connection was closed".to_owned()
        }
        _ => error.to_string(),
    })
}

/// Connects to an agent.
///
/// # Errors
/// Each [`Fault`] but that of a busy one, which says so as its first message.
pub fn connect(to: SocketAddr, token: &Token) -> Result<(Line, Ear), Fault> {
    let unreachable = |error| Fault::Unreachable(to, error);
    let mut stream = TcpStream::connect_timeout(&to, CONNECT).map_err(unreachable)?;
    settle(&stream).map_err(unreachable)?;
    stream.write_all(&hello()).map_err(|e| lost(&e))?;
    read_hello(&mut stream, to)?;
    let mut noise = initiator(token).map_err(|e| Fault::Nonsense(e.to_string()))?;
    let mut buffer = vec![0; PIECE];
    let n = noise.write_message(&[], &mut buffer).map_err(|e| Fault::Nonsense(e.to_string()))?;
    write_frame(&mut stream, &buffer[..n]).map_err(|e| lost(&e))?;
    let mut frame = Vec::new();
    read_frame(&mut stream, &mut frame).map_err(|e| lost(&e))?;
    // An empty answer is what an agent gives to a token that is not its own.
    if frame.is_empty() || noise.read_message(&frame, &mut buffer).is_err() {
        return Err(Fault::Token);
    }
    open(stream, noise)
}

/// Answers a controller.
///
/// # Errors
/// Whoever came is none, or has another token or version.
pub fn accept(mut stream: TcpStream, token: &Token) -> Result<(Line, Ear), Fault> {
    let peer = stream.peer_addr().map_err(|e| lost(&e))?;
    settle(&stream).map_err(|e| lost(&e))?;
    stream.write_all(&hello()).map_err(|e| lost(&e))?;
    read_hello(&mut stream, peer)?;
    let mut noise = responder(token).map_err(|e| Fault::Nonsense(e.to_string()))?;
    let (mut frame, mut buffer) = (Vec::new(), vec![0; PIECE]);
    read_frame(&mut stream, &mut frame).map_err(|e| lost(&e))?;
    if noise.read_message(&frame, &mut buffer).is_err() {
        let _ = write_frame(&mut stream, &[]);
        return Err(Fault::Token);
    }
    let n = noise.write_message(&[], &mut buffer).map_err(|e| Fault::Nonsense(e.to_string()))?;
    write_frame(&mut stream, &buffer[..n]).map_err(|e| lost(&e))?;
    open(stream, noise)
}

fn settle(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))
}

fn read_hello(stream: &mut TcpStream, peer: SocketAddr) -> Result<(), Fault> {
    let mut theirs = [0; HELLO];
    stream.read_exact(&mut theirs).map_err(|_| Fault::Stranger(peer))?;
    if theirs[..GREETING.len()] != GREETING[..] {
        return Err(Fault::Stranger(peer));
    }
    let version = u16::from_be_bytes([theirs[HELLO - 2], theirs[HELLO - 1]]);
    if version == PROTOCOL { Ok(()) } else { Err(Fault::Version(version)) }
}

fn initiator(token: &Token) -> Result<snow::HandshakeState, snow::Error> {
    Builder::new(PATTERN.parse()?).psk(0, &token.0)?.prologue(&hello())?.build_initiator()
}

fn responder(token: &Token) -> Result<snow::HandshakeState, snow::Error> {
    Builder::new(PATTERN.parse()?).psk(0, &token.0)?.prologue(&hello())?.build_responder()
}

fn open(stream: TcpStream, noise: snow::HandshakeState) -> Result<(Line, Ear), Fault> {
    let keys = noise.into_stateless_transport_mode().map_err(|e| Fault::Nonsense(e.to_string()))?;
    let keys = Keys(Arc::new(keys));
    let ours = stream.try_clone().map_err(|e| lost(&e))?;
    let line = Line { keys: keys.clone(), out: Mutex::new((ours, 0)) };
    let ear =
        Ear { keys, stream, next: 0, pieces: Pieces::default(), frame: Vec::new(), clear: vec![0; PIECE] };
    Ok((line, ear))
}

/// Keys of both ends of a line that leads nowhere, for tests.
///
/// # Errors
/// Those of the library, which are none.
pub fn pair(token: &Token) -> Result<[Keys; 2], snow::Error> {
    let (mut a, mut b) = (initiator(token)?, responder(token)?);
    let (mut message, mut nothing) = (vec![0; PIECE], vec![0; PIECE]);
    let n = a.write_message(&[], &mut message)?;
    b.read_message(&message[..n], &mut nothing)?;
    let n = b.write_message(&[], &mut message)?;
    a.read_message(&message[..n], &mut nothing)?;
    let [a, b] = [a.into_stateless_transport_mode()?, b.into_stateless_transport_mode()?];
    Ok([Keys(Arc::new(a)), Keys(Arc::new(b))])
}

impl Line {
    /// The keys, for ways beside it.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Says something.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn say(&self, message: &Message, bytes: &[u8]) -> Result<(), Fault> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, next) = &mut *out;
        let mut frame = vec![0; PIECE + 16];
        for piece in message::write(message, bytes) {
            let number = way::number(0, *next);
            *next += 1;
            let n = self.keys.0.write_message(number, &piece, &mut frame);
            let n = n.map_err(|e| Fault::Nonsense(e.to_string()))?;
            write_frame(stream, &frame[..n]).map_err(|e| lost(&e))?;
        }
        Ok(())
    }

    /// Ends it: both ends hear no more.
    pub fn close(&self) {
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.0.shutdown(Shutdown::Both);
    }

    /// The addresses of this end and of the other.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn ends(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((out.0.local_addr()?, out.0.peer_addr()?))
    }
}

impl Ear {
    /// The next message, waited for as long as [`SILENCE`].
    ///
    /// # Errors
    /// The other end is gone, or speaks nonsense.
    pub fn hear(&mut self) -> Result<(Message, Vec<u8>), Fault> {
        loop {
            read_frame(&mut self.stream, &mut self.frame).map_err(|e| lost(&e))?;
            let number = way::number(0, self.next);
            self.next += 1;
            let n = self.keys.0.read_message(number, &self.frame, &mut self.clear);
            let n = n.map_err(|_| Fault::Nonsense("what its key does not fit".to_owned()))?;
            let clear = self.clear.get(..n).unwrap_or_default();
            if let Some(whole) = self.pieces.add(clear).map_err(|e| Fault::Nonsense(e.to_string()))? {
                return Ok(whole);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::{AROUND, BUFFER, Way};
    use std::net::TcpListener;

    fn both(ours: [u8; 32], theirs: [u8; 32]) -> [Result<(Line, Ear), Fault>; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            let agent = scope.spawn(|| accept(listener.accept().unwrap().0, &Token(theirs)));
            [connect(at, &Token(ours)), agent.join().unwrap()]
        })
    }

    #[test]
    fn long_messages_come_through_whole_and_another_token_does_not() {
        let [ours, theirs] = both([7; 32], [7; 32]);
        let ((line, _), (_, mut ear)) = (ours.unwrap(), theirs.unwrap());
        let bytes: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        let heard = std::thread::scope(|scope| {
            let heard = scope.spawn(|| [ear.hear().unwrap(), ear.hear().unwrap()]);
            line.say(&Message::Output(3, 1), &bytes).unwrap();
            line.say(&Message::Done, &[]).unwrap();
            heard.join().unwrap()
        });
        assert_eq!(heard, [(Message::Output(3, 1), bytes), (Message::Done, Vec::new())]);
        let [ours, theirs] = both([7; 32], [8; 32]);
        assert!(matches!(ours, Err(Fault::Token)) && matches!(theirs, Err(Fault::Token)));
    }

    #[test]
    fn packets_are_taken_once_unchanged_and_from_the_other_end_only() {
        let [here, there] = pair(&Token([1; 32])).unwrap();
        let (mut a, mut b) = (Way::new(here.0, 5), Way::new(there.0.clone(), 5));
        let mut other = Way::new(there.0, 6);
        b.reckon(-300, 1300);
        let mut datagram = vec![0; BUFFER];
        let n = a.seal(b"packet", 1000, &mut datagram).unwrap();
        assert_eq!(n, 6 + AROUND);
        let datagram = &datagram[..n];
        assert!(!datagram.windows(6).any(|w| w == b"packet"), "it is encrypted");
        for i in 0..n {
            let mut changed = datagram.to_vec();
            changed[i] ^= 1;
            assert_eq!(b.open(&changed, 2000), None, "byte {i}");
        }
        assert_eq!(a.open(datagram, 2000), None, "one's own");
        assert_eq!(other.open(datagram, 2000), None, "of another way");
        assert_eq!(b.open(datagram, 2000), Some(&b"packet"[..]));
        assert_eq!(b.open(datagram, 2000), None, "a second time");
        let mut early = vec![0; BUFFER];
        let n = a.seal(b"packet", 999, &mut early).unwrap();
        assert!(b.open(&early[..n], 2000).is_some(), "before the start it is carried and not counted");
        let took = emulate::lateness::Histogram::unpack(&b.carried().took);
        assert_eq!((took.count(), took.max().as_nanos()), (1, 700));
    }
}
