//! Measurement server (`Server`): TCP listener with one thread per connection, UDP echo with one thread per address,
//! log events, final statistics of closed connections.
//!
//! Clients that have not greeted yet have a deadline and use no client slot. If a thread cannot be started, only one
//! connection fails. Received data are discarded, and data are sent only on request.

use crate::clock::{self, Clock};
use crate::flow::Output;
use crate::kernel::{self, InfoSampler, Report};
use crate::message::{Message, Refusal};
use crate::probe;
use crate::server_protocol::{Identity, ServedJob, ServerLimits, ServerProtocol, Slots};
use crate::{Error, LOOK, filler, sys};
use base::{Span, Time};
use netns::admission::{Admission, AdmittedSlot};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Listening addresses, at least one. Without a token they must be loopback addresses.
    pub addresses: Vec<SocketAddr>,
    /// Limits of clients.
    pub rules: ServerLimits,
    /// Upper limit of concurrent clients.
    pub most: usize,
    /// Receive window offered from the SYN on, bytes; None: system default. A client may request a smaller window
    /// later, but a window once offered is not withdrawn.
    pub window: Option<u32>,
    /// Shortest gap between bytes that counts as a pause.
    pub pause: Span,
    /// Time without bytes in a job after which a client is disconnected.
    pub stall: Span,
}

/// Event for the server's log.
#[derive(Clone, Debug)]
pub struct Event {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Kind of event.
    pub what: EventKind,
}

/// Kind of event on a connection.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A job was completed.
    Done(ServedJob),
    /// A client was refused.
    Refused(String),
    /// The connection was lost during a job.
    Lost(String),
    /// The connection is closed, with its last `TCP_INFO`; empty where the kernel has none.
    Closed(BTreeMap<String, u64>),
}

/// Keys of open connections, and final statistics of closed connections.
#[derive(Debug, Default)]
struct Register {
    open: BTreeSet<u64>,
    closed: VecDeque<(u64, String)>,
}

/// Upper limit of stored final statistics.
const KEPT: usize = 1024;

impl Register {
    fn close(&mut self, key: u64, account: String) {
        if self.open.remove(&key) {
            self.closed.push_back((key, account));
        }
        if self.closed.len() > KEPT {
            self.closed.pop_front();
        }
    }

    fn account(&self, key: u64) -> Option<String> {
        self.closed.iter().find(|(k, _)| *k == key).map(|(_, account)| account.clone())
    }
}

/// Listening server: TCP listener and UDP echo socket for each address.
#[derive(Debug)]
pub struct Server {
    config: Config,
    packet_ports: Vec<(TcpListener, UdpSocket)>,
}

/// Poll interval for stop requests.
const NAP: Duration = Duration::from_millis(100);
/// Deadline of a greeting, from the connection's acceptance.
const GREETING: Span = Span::from_secs(10);
/// Upper limit of connections without a greeting; newer ones evict older ones.
const WAITING: usize = 64;
/// Longest time of a client without bytes between jobs.
const IDLE: Span = Span::from_secs(300);
/// Longest wait for outstanding ACKs at the end of a job.
const SETTLE: Span = Span::from_secs(30);

impl Server {
    /// Opens the listening sockets.
    ///
    /// # Errors
    /// [`Error::Open`] for a non-loopback address without a token; [`Error::Listen`].
    pub fn bind(config: Config) -> Result<Server, Error> {
        let mut packet_ports = Vec::new();
        for &address in &config.addresses {
            if config.rules.token.is_none() && !is_local(address.ip()) {
                return Err(Error::Open(address));
            }
            let refused = |source| Error::Listen { address, source };
            let listener = TcpListener::bind(address).map_err(refused)?;
            listener.set_nonblocking(true).map_err(refused)?;
            if let Some(window) = config.window {
                sys::offer(&listener, window).map_err(refused)?;
            }
            let at = listener.local_addr().map_err(refused)?;
            let echo = UdpSocket::bind(at).map_err(refused)?;
            echo.set_read_timeout(Some(NAP)).map_err(refused)?;
            packet_ports.push((listener, echo));
        }
        Ok(Server { config, packet_ports })
    }

    /// Listening addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.packet_ports.iter().filter_map(|(listener, _)| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop` is set; reports events to `tell`.
    ///
    /// # Errors
    /// The threads of an address cannot be started.
    pub fn serve(&self, stop: &AtomicBool, tell: &(dyn Fn(Event) + Sync)) -> Result<(), Error> {
        let keys = Mutex::new(Register::default());
        let (places, lobby) = (Slots::new(self.config.most), Admission::new(WAITING, farewell));
        let (keys, lobby, places) = (&keys, &lobby, &places);
        // Connections are accepted once all threads run, since clients could exhaust the thread limit before.
        let ready = OnceLock::new();
        let ready = &ready;
        std::thread::scope(|scope| {
            let mut started = Ok(());
            for (listener, socket) in &self.packet_ports {
                let listen = move || {
                    while *ready.wait() && !stop.load(Ordering::Relaxed) {
                        let Ok((stream, peer)) = listener.accept() else {
                            wait(listener);
                            continue;
                        };
                        let port = socket.local_addr().map_or(0, |at| at.port());
                        let spare = stream.try_clone();
                        let entered = lobby.enter(&stream, peer.ip()).and_then(|place| {
                            let client = Client { server: self, stream, peer, port, keys, stop, tell };
                            let serve = move || client.serve(&place, places.clone());
                            std::thread::Builder::new().spawn_scoped(scope, serve)
                        });
                        if let Err(error) = entered {
                            let text = format!("this server cannot start another thread: {error}");
                            spare.iter().for_each(|stream| refuse(stream, &text));
                            tell(Event { peer, what: EventKind::Refused(text) });
                        }
                    }
                    lobby.close();
                };
                let start = |result: io::Result<_>| result.map(|_| ()).map_err(Error::Thread);
                started = started
                    .and_then(|()| start(std::thread::Builder::new().spawn_scoped(scope, listen)))
                    .and_then(|()| {
                        let echo = move || echo(socket, keys, stop);
                        start(std::thread::Builder::new().spawn_scoped(scope, echo))
                    });
            }
            if started.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            let _ = ready.set(started.is_ok());
            started
        })
    }
}

/// Refuses a connection on which nothing has been sent; errors are ignored, since the peer may be gone.
fn refuse(mut stream: &TcpStream, text: &str) {
    let message = Message::Refused { why: Refusal::Busy, text: text.to_owned() };
    let _ = stream.write(&message.bytes());
}

/// Refuses an evicted client that has not greeted.
fn farewell(stream: &TcpStream, closing: bool) {
    let reason =
        if closing { "this server stops" } else { "too many connections wait to be let in; try again" };
    refuse(stream, reason);
}

#[cfg(target_os = "linux")]
fn wait(listener: &TcpListener) {
    use std::os::fd::AsRawFd as _;
    sys::wait_for(listener.as_raw_fd(), false, NAP);
}

#[cfg(not(target_os = "linux"))]
fn wait(_listener: &TcpListener) {
    clock::sleep(Span::from_millis(20));
}

/// Echoes datagrams that contain the key of an open connection.
fn echo(socket: &UdpSocket, keys: &Mutex<Register>, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        let Ok((n, from)) = socket.recv_from(&mut buffer) else { continue };
        let known = |key: u64| keys.lock().is_ok_and(|keys| keys.open.contains(&key));
        if probe::read(&buffer[..n]).is_some_and(|(key, _)| known(key)) {
            // An echo that cannot be sent counts as lost at the client.
            let _ = socket.send_to(&buffer[..n], from);
        }
    }
}

/// Random number, from the system's seed of the standard library's hashes.
fn secret() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Connection of a client.
struct Client<'a> {
    server: &'a Server,
    stream: TcpStream,
    peer: SocketAddr,
    port: u16,
    keys: &'a Mutex<Register>,
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(Event) + Sync),
}

impl Client<'_> {
    fn serve(&self, place: &AdmittedSlot<'_>, places: Arc<Slots>) {
        let key = secret();
        let config = &self.server.config;
        let identity = Identity { key, port: self.port, name: kernel::name() };
        let serving = ServerProtocol::new(config.rules.clone(), identity, config.pause).within(places);
        let clock = Clock::start();
        let mut pump = Pump { client: self, serving, clock, heard: Time::ZERO, key };
        let greeted = pump.greet();
        if !pump.serving.is_welcome() {
            if place.is_evicted() && !self.stop.load(Ordering::Relaxed) {
                self.happened(EventKind::Refused("newer connections took its place".to_owned()));
            }
            self.happened(EventKind::Closed(BTreeMap::new()));
            return;
        }
        place.admit();
        let watch = InfoSampler::new(&self.stream, clock, LOOK);
        let result = greeted.and_then(|()| {
            std::thread::scope(|scope| {
                let watching = std::thread::Builder::new().spawn_scoped(scope, || watch.run());
                if let Err(error) = &watching {
                    let text = format!("this server cannot start another thread: {error}");
                    self.happened(EventKind::Refused(text.clone()));
                    pump.serving.refuse(Refusal::Busy, text);
                    let _ = pump.serving.take_refusal();
                }
                let result = pump.run(&watch);
                watch.over.store(true, Ordering::Relaxed);
                let _ = watching.map(std::thread::ScopedJoinHandle::join);
                result
            })
        });
        let patience = if result.is_ok() { SETTLE } else { Span::ZERO };
        let (info, _) = kernel::last_words(&self.stream, clock, patience, self.stop);
        if let Ok(mut keys) = self.keys.lock() {
            keys.close(key, serde_json::to_string(&info).unwrap_or_default());
        }
        self.happened(EventKind::Closed(info));
        if let Err(error) = result
            && pump.serving.is_working()
            && !self.stop.load(Ordering::Relaxed)
        {
            self.happened(EventKind::Lost(error.to_string()));
        }
    }

    fn happened(&self, what: EventKind) {
        (self.tell)(Event { peer: self.peer, what });
    }
}

/// I/O loop of one connection.
struct Pump<'a> {
    client: &'a Client<'a>,
    serving: ServerProtocol,
    clock: Clock,
    /// Time of the last byte received, or accepted by the socket for sending.
    heard: Time,
    key: u64,
}

impl Pump<'_> {
    /// Reads until the client is accepted or refused, within [`GREETING`].
    fn greet(&mut self) -> io::Result<()> {
        let mut stream = &self.client.stream;
        // On some systems an accepted socket inherits options of the listener.
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(NAP))?;
        stream.set_write_timeout(Some(NAP))?;
        // Without `TCP_NOTSENT_LOWAT`, the system limits unsent bytes.
        let _ = sys::keep_short(stream, crate::UNSENT);
        let mut buffer = [0; 1 << 10];
        while !self.serving.is_welcome() {
            while let Some(Output::Bytes(bytes)) = self.serving.next_out(self.clock.now()) {
                self.write(&bytes)?;
            }
            if self.serving.is_over() {
                return stream.shutdown(std::net::Shutdown::Write);
            }
            match stream.read(&mut buffer) {
                Ok(0) => return stream.shutdown(std::net::Shutdown::Write),
                Ok(n) => self.take(&buffer[..n]),
                Err(error) => self.quiet(error)?,
            }
            if !self.serving.is_welcome() && self.clock.now().since(Time::ZERO) > GREETING {
                return Err(io::Error::other(format!("no greeting within {} s", GREETING.as_secs_f64())));
            }
        }
        Ok(())
    }

    /// Processes bytes received from the client.
    fn take(&mut self, bytes: &[u8]) {
        self.heard = self.clock.now();
        // The queued refusal contains the error.
        let _ = self.serving.on_bytes(self.heard, bytes);
        if let Some(why) = self.serving.take_refusal() {
            self.client.happened(EventKind::Refused(why));
        }
        if self.serving.is_welcome()
            && let Ok(mut keys) = self.client.keys.lock()
        {
            // The key is registered before the client is informed, since its first datagram may overtake its next
            // message.
            keys.open.insert(self.key);
        }
        self.begin();
    }

    fn run(&mut self, watch: &InfoSampler<'_>) -> io::Result<()> {
        let mut stream = &self.client.stream;
        let filler = filler();
        let mut buffer = vec![0; 1 << 16];
        loop {
            while let Some(out) = self.serving.next_out(self.clock.now()) {
                match out {
                    Output::Bytes(bytes) => self.write(&bytes)?,
                    Output::Payload(mut left) => {
                        while left > 0 {
                            let n = left.min(filler.len() as u64);
                            self.write(&filler[..n as usize])?;
                            left -= n;
                        }
                    }
                }
            }
            if let Some(served) = self.serving.take_served() {
                kernel::settle(stream, self.clock, SETTLE, self.client.stop);
                self.report(served, watch);
                continue;
            }
            if let Some(key) = self.serving.take_account() {
                let account = self.account(key);
                self.serving.report(account);
                continue;
            }
            if self.serving.is_over() {
                // The peer's last bytes are read before the close.
                return stream.shutdown(std::net::Shutdown::Write);
            }
            match stream.read(&mut buffer) {
                Ok(0) if self.serving.is_working() => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) => return stream.shutdown(std::net::Shutdown::Write),
                Ok(n) => self.take(&buffer[..n]),
                Err(error) => self.quiet(error)?,
            }
        }
    }

    fn begin(&mut self) {
        let Some((_, window)) = self.serving.take_begun() else { return };
        if window > 0 {
            // If the window cannot be set, the client sees this in its `TCP_INFO`.
            let _ = sys::offer(&self.client.stream, window);
        }
    }

    /// Final statistics of an earlier connection; waits for its close, which the client has already seen.
    fn account(&self, key: u64) -> String {
        let until = self.clock.now() + SETTLE;
        loop {
            let Ok(keys) = self.client.keys.lock() else { return String::new() };
            if let Some(account) = keys.account(key) {
                return account;
            }
            let known = key != self.key && keys.open.contains(&key);
            drop(keys);
            if !known || self.clock.now() >= until || self.client.stop.load(Ordering::Relaxed) {
                return String::new();
            }
            clock::sleep(Span::from_millis(2));
        }
    }

    fn report(&mut self, served: ServedJob, watch: &InfoSampler<'_>) {
        let report = Report {
            received: served.received,
            sent: served.sent,
            receiving_s: served.receiving_s,
            pauses: served.pauses.clone(),
            transactions: served.transactions,
            kernel: watch.peek(served.asked),
            closed: false,
        };
        self.serving.report(serde_json::to_string(&report).unwrap_or_default());
        self.client.happened(EventKind::Done(served));
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.client.stream).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    self.heard = self.clock.now();
                }
                Err(error) => self.quiet(error)?,
            }
        }
        Ok(())
    }

    /// Handles a read or write without progress; returns an error after the timeout of the state.
    fn quiet(&self, error: io::Error) -> io::Result<()> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        // A connection that timed out in the kernel has the same error kind as a read timeout.
        let given_up = error.kind() == TimedOut && cfg!(unix);
        if given_up || !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) {
            return Err(error);
        }
        let patience = match (self.serving.is_working(), self.serving.is_welcome()) {
            (true, _) => self.client.server.config.stall,
            (false, true) => IDLE,
            (false, false) => GREETING,
        };
        if self.client.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("the server stops"));
        }
        if self.clock.now().since(self.heard) > patience {
            return Err(io::Error::other(format!("no byte for {} s", patience.as_secs_f64())));
        }
        Ok(())
    }
}

/// Whether an address is loopback.
pub fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
