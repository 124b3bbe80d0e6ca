//! Encrypted control connection between controller and agent: handshake with the token, keys, sending and receiving of
//! messages, faults.
//!
//! Both ends send their protocol version unencrypted, then run a Noise handshake (NNpsk0, X25519, ChaCha20-Poly1305,
//! BLAKE2s) that proves possession of the token with forward secrecy. An eavesdropper can replay the first Noise
//! message, so the controller confirms the fresh keys with one encrypted frame before the agent accepts it. One
//! deadline covers the whole handshake, and its frames have fixed lengths. All later frames are encrypted, also on
//! loopback.

use crate::PROTOCOL;
use crate::message::{self, Message, PIECE, Reassembly};
use crate::token::Token;
use crate::tunnel;
use netns::clock::monotonic;
use snow::{Builder, StatelessTransportState};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// First bytes sent by each end.
const GREETING: &[u8; 14] = b"williwaw-agent";
const HELLO: usize = GREETING.len() + 2;
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Time without a message after which a peer counts as lost; a controller sends a clock query every [`BEAT`].
pub const SILENCE: Duration = Duration::from_secs(4);
/// Interval of clock queries.
pub const BEAT: Duration = Duration::from_millis(500);
/// Timeout of a TCP connection attempt.
pub const CONNECT: Duration = Duration::from_secs(4);
/// Deadline of the whole handshake after the TCP connection.
pub const HANDSHAKE: Duration = Duration::from_secs(4);
/// Length of each Noise message, bytes: X25519 key and tag of an empty payload.
const NOISE: usize = 32 + TAG;
/// Length of the Poly1305 tag, bytes: the only content of the confirmation.
const TAG: usize = 16;
/// Counter of the first message; 0 is used by the confirmation.
const FIRST: u64 = 1;

/// Reason why a connection failed or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionFault {
    /// No listener at the address, or no route to it.
    #[error("cannot be reached at {0}: {1}")]
    Unreachable(SocketAddr, io::Error),
    /// Another program listens at the address.
    #[error("the program that listens at {0} is not a williwaw agent")]
    Stranger(SocketAddr),
    /// Different protocol version.
    #[error(
        "uses version {0} of the protocol, and this program version {PROTOCOL}: install the same williwaw at both"
    )]
    Version(u16),
    /// Different token.
    #[error("has another token: copy the token file of one to the other")]
    Token,
    /// The handshake was not completed with the keys that it began with: a replay, or a damaged connection.
    #[error("did not prove that it has the token: the handshake was replayed or corrupted")]
    Unproven,
    /// The handshake exceeded its deadline.
    #[error("did not complete the handshake within {} s", HANDSHAKE.as_secs())]
    Slow,
    /// The connection was evicted, since too many connections wait for their handshake.
    #[error("closed this connection for newer ones: too many connections wait for their handshake")]
    Crowded,
    /// The agent is stopping.
    #[error("is stopping")]
    Stopping,
    /// The agent serves another controller.
    #[error("is busy with a run of {0}")]
    Busy(String),
    /// The connection ended.
    #[error("was lost: {0}")]
    Lost(String),
    /// The peer violated the protocol.
    #[error("was lost: it sent {0}")]
    Nonsense(String),
}

/// Sending half of a connection, shared by several threads.
#[derive(Debug)]
pub struct ControlSender {
    keys: Keys,
    out: Mutex<(TcpStream, u64)>,
}

/// Keys of a connection, shared with its tunnels.
#[derive(Clone)]
pub struct Keys(pub(crate) Arc<StatelessTransportState>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// Receiving half of a connection.
#[derive(Debug)]
pub struct ControlReceiver {
    keys: Keys,
    stream: TcpStream,
    next: u64,
    pieces: Reassembly,
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

/// Reason of a refused handshake, sent as one unencrypted byte instead of the Noise message. It is not authenticated,
/// so it serves only for the error message.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Refusal {
    Token = 1,
    Crowded = 2,
    Stopping = 3,
    Nonsense = 4,
}

impl Refusal {
    fn fault(code: u8) -> ConnectionFault {
        match code {
            1 => ConnectionFault::Token,
            2 => ConnectionFault::Crowded,
            3 => ConnectionFault::Stopping,
            _ => ConnectionFault::Nonsense("a refusal of the first message of the handshake".to_owned()),
        }
    }
}

/// Refuses a connection in its handshake; errors are ignored, since the peer may be gone.
fn refuse(mut stream: &TcpStream, why: Refusal) {
    let _ = stream.write_all(&[0, 1, why as u8]);
}

/// Informs a controller in its handshake that its connection was evicted, or that the agent stops.
pub(crate) fn evict(stream: &TcpStream, stopping: bool) {
    refuse(stream, if stopping { Refusal::Stopping } else { Refusal::Crowded });
}

/// Reads of a handshake, with one deadline for all.
struct Handshake<'a> {
    stream: &'a mut TcpStream,
    /// Deadline on the monotonic clock, ns.
    until: u64,
    began: bool,
}

impl<'a> Handshake<'a> {
    fn new(stream: &'a mut TcpStream, limit: Duration) -> Self {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Handshake { stream, until: monotonic().saturating_add(limit), began: false }
    }

    fn read(&mut self, mut into: &mut [u8]) -> Result<(), ConnectionFault> {
        while !into.is_empty() {
            let left = self.until.saturating_sub(monotonic());
            if left == 0 {
                return Err(ConnectionFault::Slow);
            }
            // A timeout of zero would disable the timeout.
            self.stream.set_read_timeout(Some(Duration::from_nanos(left))).map_err(|e| lost(&e))?;
            match self.stream.read(into) {
                Ok(0) => return Err(lost(&io::ErrorKind::UnexpectedEof.into())),
                Ok(n) => {
                    self.began = true;
                    into = &mut into[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(ConnectionFault::Slow);
                }
                Err(e) => return Err(lost(&e)),
            }
        }
        Ok(())
    }

    /// Reads the peer's greeting.
    fn hello(&mut self, peer: SocketAddr) -> Result<(), ConnectionFault> {
        let mut theirs = [0; HELLO];
        // Byte by byte, so that another greeting is detected early.
        for i in 0..HELLO {
            self.read(&mut theirs[i..=i])?;
            if i < GREETING.len() && theirs[i] != GREETING[i] {
                return Err(ConnectionFault::Stranger(peer));
            }
        }
        let version = u16::from_be_bytes([theirs[HELLO - 2], theirs[HELLO - 1]]);
        if version == PROTOCOL { Ok(()) } else { Err(ConnectionFault::Version(version)) }
    }

    /// Reads a frame of exactly `N` bytes, or a refusal of one byte.
    fn frame<const N: usize>(&mut self) -> Result<[u8; N], ConnectionFault> {
        let (mut length, mut frame) = ([0; 2], [0; N]);
        self.read(&mut length)?;
        match usize::from(u16::from_be_bytes(length)) {
            n if n == N => self.read(&mut frame)?,
            1 => {
                self.read(&mut frame[..1])?;
                return Err(Refusal::fault(frame[0]));
            }
            n => {
                return Err(ConnectionFault::Nonsense(format!(
                    "a handshake message of {n} B instead of {N} B"
                )));
            }
        }
        Ok(frame)
    }
}

fn read_frame(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    into.resize(usize::from(u16::from_be_bytes(length)), 0);
    stream.read_exact(into)
}

/// Fault of a connection, from an I/O error.
fn lost(error: &io::Error) -> ConnectionFault {
    ConnectionFault::Lost(match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no message from it for {} s", SILENCE.as_secs())
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
/// Any [`ConnectionFault`] except [`ConnectionFault::Busy`]: a busy agent reports that in its first message.
pub fn connect(to: SocketAddr, token: &Token) -> Result<(ControlSender, ControlReceiver), ConnectionFault> {
    let unreachable = |error| ConnectionFault::Unreachable(to, error);
    let mut stream = TcpStream::connect_timeout(&to, CONNECT).map_err(unreachable)?;
    settle(&stream).map_err(unreachable)?;
    let _ = stream.write_all(&hello());
    let mut noise = initiator(token).map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    let mut shake = Handshake::new(&mut stream, HANDSHAKE);
    shake.hello(to).map_err(|fault| match fault {
        // A listener that accepts and sends nothing is another program.
        ConnectionFault::Slow if !shake.began => ConnectionFault::Stranger(to),
        fault => fault,
    })?;
    let mut buffer = [0; NOISE];
    noise.write_message(&[], &mut buffer).map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    // A refusing agent may have closed its side already; its reason is still readable.
    let _ = write_frame(shake.stream, &buffer);
    let answer = shake.frame::<NOISE>()?;
    if noise.read_message(&answer, &mut buffer).is_err() {
        return Err(ConnectionFault::Token);
    }
    let keys = keys(noise)?;
    let mut proof = [0; TAG];
    let sealed = keys.0.write_message(tunnel::number(0, 0), &[], &mut proof);
    sealed.map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    write_frame(&mut stream, &proof).map_err(|e| lost(&e))?;
    open(stream, keys)
}

/// Accepts a controller that proves possession of the token.
///
/// # Errors
/// The peer is another program, has another token or version, or exceeds the deadline.
pub fn accept(stream: TcpStream, token: &Token) -> Result<(ControlSender, ControlReceiver), ConnectionFault> {
    accept_within(stream, token, HANDSHAKE)
}

/// [`accept`] with another deadline.
///
/// # Errors
/// The errors of [`accept`].
pub fn accept_within(
    mut stream: TcpStream,
    token: &Token,
    limit: Duration,
) -> Result<(ControlSender, ControlReceiver), ConnectionFault> {
    let peer = stream.peer_addr().map_err(|e| lost(&e))?;
    settle(&stream).map_err(|e| lost(&e))?;
    stream.write_all(&hello()).map_err(|e| lost(&e))?;
    let mut shake = Handshake::new(&mut stream, limit);
    shake.hello(peer)?;
    let first = shake.frame::<NOISE>().inspect_err(|fault| {
        if matches!(fault, ConnectionFault::Nonsense(_)) {
            refuse(shake.stream, Refusal::Nonsense);
        }
    })?;
    let mut noise = responder(token).map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    let mut buffer = [0; NOISE];
    if noise.read_message(&first, &mut buffer).is_err() {
        refuse(shake.stream, Refusal::Token);
        return Err(ConnectionFault::Token);
    }
    noise.write_message(&[], &mut buffer).map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    write_frame(shake.stream, &buffer).map_err(|e| lost(&e))?;
    let keys = keys(noise)?;
    let proof = shake.frame::<TAG>()?;
    if keys.0.read_message(tunnel::number(0, 0), &proof, &mut []).is_err() {
        return Err(ConnectionFault::Unproven);
    }
    open(stream, keys)
}

fn settle(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(SILENCE))
}

fn keys(noise: snow::HandshakeState) -> Result<Keys, ConnectionFault> {
    let keys = noise.into_stateless_transport_mode().map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
    Ok(Keys(Arc::new(keys)))
}

fn initiator(token: &Token) -> Result<snow::HandshakeState, snow::Error> {
    Builder::new(PATTERN.parse()?).psk(0, &token.0)?.prologue(&hello())?.build_initiator()
}

fn responder(token: &Token) -> Result<snow::HandshakeState, snow::Error> {
    Builder::new(PATTERN.parse()?).psk(0, &token.0)?.prologue(&hello())?.build_responder()
}

fn open(stream: TcpStream, keys: Keys) -> Result<(ControlSender, ControlReceiver), ConnectionFault> {
    stream.set_read_timeout(Some(SILENCE)).map_err(|e| lost(&e))?;
    let ours = stream.try_clone().map_err(|e| lost(&e))?;
    let line = ControlSender { keys: keys.clone(), out: Mutex::new((ours, FIRST)) };
    let (pieces, frame, clear) = (Reassembly::default(), Vec::new(), vec![0; PIECE]);
    let ear = ControlReceiver { keys, stream, next: FIRST, pieces, frame, clear };
    Ok((line, ear))
}

/// Keys of both ends of a virtual connection, for tests.
///
/// # Errors
/// An error of the Noise library, which does not occur.
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

impl ControlSender {
    /// Keys for the tunnels of this connection.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn send(&self, message: &Message, bytes: &[u8]) -> Result<(), ConnectionFault> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, next) = &mut *out;
        let mut frame = vec![0; PIECE + 16];
        for piece in message::write(message, bytes) {
            let number = tunnel::number(0, *next);
            *next += 1;
            let n = self.keys.0.write_message(number, &piece, &mut frame);
            let n = n.map_err(|e| ConnectionFault::Nonsense(e.to_string()))?;
            write_frame(stream, &frame[..n]).map_err(|e| lost(&e))?;
        }
        Ok(())
    }

    /// Closes both directions of the connection.
    pub fn close(&self) {
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.0.shutdown(Shutdown::Both);
    }

    /// Local and remote address.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn ends(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((out.0.local_addr()?, out.0.peer_addr()?))
    }
}

impl ControlReceiver {
    /// Waits for the next message, at most [`SILENCE`].
    ///
    /// # Errors
    /// The connection is lost, or the peer violated the protocol.
    pub fn hear(&mut self) -> Result<(Message, Vec<u8>), ConnectionFault> {
        loop {
            read_frame(&mut self.stream, &mut self.frame).map_err(|e| lost(&e))?;
            let number = tunnel::number(0, self.next);
            self.next += 1;
            let n = self.keys.0.read_message(number, &self.frame, &mut self.clear);
            let n = n.map_err(|_| {
                ConnectionFault::Nonsense("a message that its key does not authenticate".to_owned())
            })?;
            let clear = self.clear.get(..n).unwrap_or_default();
            if let Some(whole) =
                self.pieces.add(clear).map_err(|e| ConnectionFault::Nonsense(e.to_string()))?
            {
                return Ok(whole);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::{AROUND, BUFFER, EncryptedTunnel};
    use std::net::TcpListener;

    fn both(
        ours: [u8; 32],
        theirs: [u8; 32],
    ) -> [Result<(ControlSender, ControlReceiver), ConnectionFault>; 2] {
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
            line.send(&Message::Output(3, 1), &bytes).unwrap();
            line.send(&Message::Done, &[]).unwrap();
            heard.join().unwrap()
        });
        assert_eq!(heard, [(Message::Output(3, 1), bytes), (Message::Done, Vec::new())]);
        let [ours, theirs] = both([7; 32], [8; 32]);
        assert!(matches!(ours, Err(ConnectionFault::Token)) && matches!(theirs, Err(ConnectionFault::Token)));
    }

    #[test]
    fn packets_are_taken_once_unchanged_and_from_the_other_end_only() {
        let [here, there] = pair(&Token([1; 32])).unwrap();
        let (mut a, mut b) = (EncryptedTunnel::new(here.0, 5), EncryptedTunnel::new(there.0.clone(), 5));
        let mut other = EncryptedTunnel::new(there.0, 6);
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
        let took = emulate::accuracy::lateness::Histogram::unpack(&b.carried().took);
        assert_eq!((took.count(), took.max().as_nanos()), (1, 700));
    }
}
