//! Association set-up (RFC 9260 section 5): four-way handshake with a state cookie, collisions, restarts, T1
//! timers.
//!
//! The passive end keeps no state before COOKIE ECHO.

use super::cookie::Cookie;
use super::receipt::Receipt;
use super::{Association, Control, IDLE, State};
use crate::chunk::{Chunk, Failure, Init, Opaque, Packet};
use crate::path::{Path, Reachability};
use base::{Span, Time};
use transport::Io;
use transport::endpoint::Role;

/// Least window that INIT and INIT ACK may advertise, bytes (RFC 9260 section 3.3.2).
const LEAST_WINDOW: u32 = 1500;

impl Association {
    /// INIT with the association's parameters.
    fn init(&self) -> Init {
        Init {
            tag: self.tag,
            window: u32::try_from(self.room()).unwrap_or(u32::MAX),
            outbound: self.outbound.streams(),
            inbound: u16::MAX,
            initial: self.initial,
            addresses: self.paths.len() as u8,
            ecn: self.config.ecn,
            forward_tsn: self.config.forward_tsn,
            unrecognized: Vec::new(),
        }
    }

    /// Sends the INIT of the active end.
    pub(super) fn connect(&mut self, io: &mut Io<'_, Packet>) {
        if self.role != Role::Active || self.state != State::Closed || self.control.tries > 0 {
            return;
        }
        self.state = State::CookieWait;
        self.send_init(io);
    }

    fn send_init(&mut self, io: &mut Io<'_, Packet>) {
        let init = Chunk::Init(self.init());
        self.send_alone(io, self.data_path, init);
        self.arm(io.now);
    }

    /// Starts T1 or T2; each retransmission doubles the timeout, at most to RTO.Max (section 6.3.3).
    pub(super) fn arm(&mut self, now: Time) {
        let timeout = self.control_timeout().times(1 << self.control.tries.min(6)).min(self.config.rto.max);
        self.control = Control { deadline: now + timeout, tries: self.control.tries + 1 };
    }

    /// Expiry of T1-init or T1-cookie: retransmits the chunk, or ends the association (section 5.1.1).
    pub(super) fn on_t1(&mut self, io: &mut Io<'_, Packet>) {
        if self.control.tries > self.config.init_max_retransmissions {
            self.end(true);
            return;
        }
        // The next transmission uses another address (section 6.4).
        self.data_path = (self.data_path + 1) % self.paths.len() as u8;
        match (self.state, self.cookie.clone()) {
            (State::CookieWait, _) => self.send_init(io),
            (State::CookieEchoed, Some(cookie)) => self.echo(io, cookie),
            _ => self.control = IDLE,
        }
    }

    /// Sends COOKIE ECHO and starts T1-cookie.
    fn echo(&mut self, io: &mut Io<'_, Packet>, cookie: Opaque) {
        self.send_alone(io, self.data_path, Chunk::CookieEcho(cookie));
        self.arm(io.now);
    }

    /// Processes an INIT: replies with a cookie and keeps no state (section 5.1.3). An existing association
    /// replies too, with a new tag and its own tags in the cookie, because the peer may have restarted
    /// (section 5.2.2).
    pub(super) fn on_init(&mut self, io: &mut Io<'_, Packet>, init: &Init, path: u8) {
        if init.tag == 0 {
            return;
        }
        let answer = |own: [u32; 2], chunk| Packet {
            ports: self.ports,
            tag: init.tag,
            initial: [own[1], init.initial],
            chunks: vec![chunk],
            divisible: false,
        };
        let own = [self.tag, self.initial];
        let refuses = self.role != Role::Passive && self.state == State::Closed;
        //= RFC 9260 section 3.3.2: no streams, or a window below 1500 B, are answered by ABORT
        if refuses || init.outbound == 0 || init.inbound == 0 || init.window < LEAST_WINDOW {
            let cause = (!refuses).then_some(Failure::InvalidParameter);
            let abort = answer(own, Chunk::Abort { reflected: false, cause });
            return self.emit(io, path, abort);
        }
        //= RFC 9260 section 9.2: in SHUTDOWN-ACK-SENT, an INIT is discarded and SHUTDOWN ACK retransmitted
        if self.state == State::ShutdownAckSent {
            return self.send_alone(io, path, Chunk::ShutdownAck);
        }
        let (own, ties) = match self.state {
            State::Closed | State::CookieWait => (own, [0; 2]),
            //= RFC 9260 section 5.2.1: an INIT collision is answered with the tag of the own INIT
            State::CookieEchoed => (own, [self.tag, self.peer.tag]),
            _ => {
                let fresh = [(self.chance.bits() as u32).max(1), self.chance.bits() as u32];
                (fresh, [self.tag, self.peer.tag])
            }
        };
        let cookie =
            Cookie { made: io.now, own, ties, peer: Init { unrecognized: Vec::new(), ..init.clone() } };
        let own_init =
            Init { tag: own[0], initial: own[1], unrecognized: init.unrecognized.clone(), ..self.init() };
        let packet = Packet {
            ports: self.ports,
            tag: init.tag,
            initial: [own[1], init.initial],
            chunks: vec![Chunk::InitAck(own_init, cookie.write(self.secret))],
            divisible: false,
        };
        self.emit(io, path, packet);
    }

    /// Processes an INIT ACK: sends the cookie back (section 5.1, C).
    pub(super) fn on_init_ack(&mut self, io: &mut Io<'_, Packet>, init: &Init, cookie: &Opaque) {
        if self.state != State::CookieWait {
            return;
        }
        //= RFC 9260 section 3.3.3: a tag of 0 destroys the association
        if init.tag == 0 || init.outbound == 0 || init.inbound == 0 || init.window < LEAST_WINDOW {
            if init.tag != 0 {
                self.peer.tag = init.tag;
                let cause = Some(Failure::InvalidParameter);
                self.send_alone(io, self.data_path, Chunk::Abort { reflected: false, cause });
            }
            return self.end(true);
        }
        self.learn(init);
        self.cookie = Some(cookie.clone());
        self.state = State::CookieEchoed;
        self.control = IDLE;
        self.echo(io, cookie.clone());
    }

    /// Stores the parameters of the peer's INIT or INIT ACK.
    fn learn(&mut self, init: &Init) {
        self.peer.tag = init.tag;
        self.peer.initial = init.initial;
        self.peer.outbound = init.outbound;
        self.peer.window = u64::from(init.window);
        self.peer.ecn = init.ecn && self.config.ecn;
        self.peer.forward_tsn = init.forward_tsn && self.config.forward_tsn;
        self.outbound.limit(init.inbound);
        self.paths.truncate(usize::from(init.addresses.max(1)));
        if self.config.initial_threshold.is_none() {
            //= RFC 9260 section 7.2.1: the initial ssthresh MAY be arbitrarily high, for example the peer's a_rwnd
            self.paths.iter_mut().for_each(|path| path.threshold = u64::from(init.window));
        }
    }

    /// Processes a COOKIE ECHO in a packet with this tag (sections 5.1.5, 5.2.4). An authentic and fresh
    /// cookie creates the association, or restarts it for a peer that has restarted.
    pub(super) fn on_cookie_echo(&mut self, io: &mut Io<'_, Packet>, bytes: &Opaque, tag: u32, path: u8) {
        let Some(cookie) = Cookie::read(bytes, self.secret).filter(|cookie| cookie.own[0] == tag) else {
            return;
        };
        let (ours, theirs) = (cookie.own[0] == self.tag, cookie.peer.tag == self.peer.tag);
        let stands = self.state != State::Closed;
        let age = io.now.since(cookie.made.min(io.now));
        if age > self.config.cookie_life && !(stands && ours && theirs) {
            //= RFC 9260 section 5.1.5: a stale cookie is answered by an ERROR with its staleness
            let late = age.as_nanos().saturating_sub(self.config.cookie_life.as_nanos()) / 1000;
            let late = u32::try_from(late).unwrap_or(u32::MAX);
            let error = Packet {
                ports: self.ports,
                tag: cookie.peer.tag,
                initial: [cookie.own[1], cookie.peer.initial],
                chunks: vec![Chunk::Error(Failure::StaleCookie(late))],
                divisible: false,
            };
            return self.emit(io, path, error);
        }
        match (ours, theirs) {
            _ if !stands => {
                let had_one = self.una > 0 || self.next > 0 || self.receipt.next > 0;
                if self.role != Role::Passive || !ours || had_one {
                    return;
                }
                self.learn(&cookie.peer);
                self.establish(io.now);
            }
            //= RFC 9260 section 5.2.4, action A: the peer was restarted
            (false, false) if cookie.ties == [self.tag, self.peer.tag] => {
                if self.state == State::ShutdownAckSent {
                    self.send_alone(io, path, Chunk::ShutdownAck);
                    return self.send_alone(io, path, Chunk::Error(Failure::ShuttingDown));
                }
                self.restart(cookie.own);
                self.learn(&cookie.peer);
                self.establish(io.now);
            }
            //= RFC 9260 section 5.2.4, action B: both have sent an INIT
            (true, false) => {
                self.learn(&cookie.peer);
                if !self.associated() {
                    self.establish(io.now);
                }
            }
            //= RFC 9260 section 5.2.4, action D: both tags match, the COOKIE ACK was lost or crosses
            (true, true) => {
                if self.state == State::CookieEchoed {
                    self.establish(io.now);
                }
            }
            //= RFC 9260 section 5.2.4, action C: a cookie that arrives late is discarded
            (false, _) => return,
        }
        self.waiting.push_back((path, Chunk::CookieAck));
    }

    /// Restarts the association with the tag and initial TSN `own`: outstanding data are lost, unsent data are kept.
    fn restart(&mut self, own: [u32; 2]) {
        [self.tag, self.initial] = own;
        (self.una, self.next, self.resends, self.advanced, self.errors) = (0, 0, 0, 0, 0);
        self.sent.clear();
        self.waiting.clear();
        self.rush = None;
        self.cookie = None;
        self.outbound.restart();
        self.inbound.restart();
        self.receipt = Receipt::new();
        for (index, path) in self.paths.iter_mut().enumerate() {
            *path = Path::new(&self.config, index == 0);
        }
        self.begin_search();
        self.counts.restarts += 1;
    }

    /// Processes a COOKIE ACK, which ends the set-up (section 5.1, E).
    pub(super) fn on_cookie_ack(&mut self, now: Time) {
        if self.state == State::CookieEchoed {
            self.cookie = None;
            self.establish(now);
        }
    }

    /// Processes a Stale Cookie error: the set-up starts again (section 5.2.6).
    pub(super) fn on_stale_cookie(&mut self, io: &mut Io<'_, Packet>) {
        if self.state == State::CookieEchoed && self.control.tries <= self.config.init_max_retransmissions {
            self.state = State::CookieWait;
            self.peer.tag = 0;
            self.send_init(io);
        }
    }

    /// Enters ESTABLISHED: starts heartbeats and the path MTU search.
    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        self.control = IDLE;
        self.data_path = self.primary;
        let verifies = self.config.verifies_path && self.role == Role::Active;
        self.start_search(now, usize::from(self.primary));
        let Association { paths, config, chance, primary, .. } = self;
        for path in paths.iter_mut() {
            path.schedule_beat(config, now, chance);
        }
        let soon = now + Span::from_nanos(1);
        if let Some(path) = paths.get_mut(usize::from(*primary)).filter(|_| verifies) {
            (path.reach, path.beat_due) = (Reachability::Unconfirmed, soon);
        }
        if paths.len() > 1 {
            //= RFC 9260 section 5.4: all addresses but the one that was used are to be confirmed
            paths.iter_mut().skip(1).filter(|_| config.heartbeat.is_some()).for_each(|p| p.beat_due = soon);
        }
    }
}
