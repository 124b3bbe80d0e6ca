//! Association set-up (RFC 9260 section 5): four ways with a cookie, so that the passive end keeps nothing before it has
//! come back.

use super::{Association, Control, IDLE, State};
use crate::chunk::encode::cookie_fields;
use crate::chunk::{Chunk, Cookie, Failure, Init, Packet};
use base::{Span, Time};
use siphasher::sip::SipHasher24;
use std::hash::Hasher as _;
use transport::Io;
use transport::endpoint::Role;

impl Association {
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
        }
    }

    /// The active end sends its INIT.
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

    /// Starts T1 or T2 for the try after this one; each doubles the timeout (section 6.3.3).
    pub(super) fn arm(&mut self, now: Time) {
        let timeout = self.control_timeout().times(1 << self.control.tries.min(6)).min(self.config.rto.max);
        self.control = Control { deadline: now + timeout, tries: self.control.tries + 1 };
    }

    /// T1-init or T1-cookie has expired: the chunk is repeated, or the peer given up (section 5.1.1).
    pub(super) fn on_t1(&mut self, io: &mut Io<'_, Packet>) {
        if self.control.tries > self.config.init_max_retransmissions {
            self.end(true);
            return;
        }
        // Another address may be reachable (section 6.4).
        self.data_path = (self.data_path + 1) % self.paths.len() as u8;
        match (self.state, self.cookie) {
            (State::CookieWait, _) => self.send_init(io),
            (State::CookieEchoed, Some(cookie)) => self.echo(io, cookie),
            _ => self.control = IDLE,
        }
    }

    fn echo(&mut self, io: &mut Io<'_, Packet>, cookie: Cookie) {
        self.send_alone(io, self.data_path, Chunk::CookieEcho(cookie));
        self.arm(io.now);
    }

    fn authenticator(&self, cookie: &Cookie) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write(&cookie_fields(cookie));
        hasher.finish()
    }

    /// An INIT: answered with a cookie, and nothing is kept (section 5.1.3). An association that stands answers as well,
    /// with its own tag, so that a peer that was restarted learns of it (section 5.2.2).
    pub(super) fn on_init(&mut self, io: &mut Io<'_, Packet>, init: &Init, path: u8) {
        if self.role != Role::Passive || init.tag == 0 || init.outbound == 0 || init.inbound == 0 {
            return;
        }
        let mut cookie = Cookie {
            made: io.now.as_nanos(),
            own_tag: self.tag,
            own_initial: self.initial,
            peer: *init,
            mac: 0,
        };
        cookie.mac = self.authenticator(&cookie);
        let answer = Packet {
            ports: self.ports,
            tag: init.tag,
            initial: [self.initial, init.initial],
            chunks: vec![Chunk::InitAck(self.init(), cookie)],
        };
        self.emit(io, path, answer);
    }

    /// An INIT ACK: the cookie goes back (section 5.1, C).
    pub(super) fn on_init_ack(&mut self, io: &mut Io<'_, Packet>, init: &Init, cookie: &Cookie) {
        if self.state != State::CookieWait || init.tag == 0 {
            return;
        }
        self.learn(init);
        self.cookie = Some(*cookie);
        self.state = State::CookieEchoed;
        self.control = IDLE;
        self.echo(io, *cookie);
    }

    /// What the peer's INIT or INIT ACK says.
    fn learn(&mut self, init: &Init) {
        self.peer.tag = init.tag;
        self.peer.initial = init.initial;
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

    /// A COOKIE ECHO (section 5.1.5): authentic and fresh, it makes the association.
    pub(super) fn on_cookie_echo(&mut self, io: &mut Io<'_, Packet>, cookie: &Cookie, path: u8) {
        let authentic = cookie.mac == self.authenticator(cookie) && cookie.own_tag == self.tag;
        if self.role != Role::Passive || !authentic {
            return;
        }
        if self.state != State::Closed {
            //= RFC 9260 section 5.2.4, action D: both tags match, the COOKIE ACK was lost
            if cookie.peer.tag == self.peer.tag {
                self.waiting.push_back((path, Chunk::CookieAck));
            }
            return;
        }
        let age = io.now.since(Time::from_nanos(cookie.made).min(io.now));
        if age > self.config.cookie_life {
            //= RFC 9260 section 5.1.5: a stale cookie is answered by an ERROR that says how late it is
            let late = age.as_nanos().saturating_sub(self.config.cookie_life.as_nanos()) / 1000;
            let late = u32::try_from(late).unwrap_or(u32::MAX);
            let error = Packet {
                ports: self.ports,
                tag: cookie.peer.tag,
                initial: [self.initial, cookie.peer.initial],
                chunks: vec![Chunk::Error(Failure::StaleCookie(late))],
            };
            self.emit(io, path, error);
            return;
        }
        if self.una > 0 || self.next > 0 || self.receipt.next > 0 {
            return; // this end had its association; it takes no second one
        }
        self.learn(&cookie.peer);
        self.establish(io.now);
        self.waiting.push_back((path, Chunk::CookieAck));
    }

    /// A COOKIE ACK ends the set-up (section 5.1, E).
    pub(super) fn on_cookie_ack(&mut self, now: Time) {
        if self.state == State::CookieEchoed {
            self.cookie = None;
            self.establish(now);
        }
    }

    /// A stale cookie: the set-up begins again (section 5.2.6).
    pub(super) fn on_stale_cookie(&mut self, io: &mut Io<'_, Packet>) {
        if self.state == State::CookieEchoed && self.control.tries <= self.config.init_max_retransmissions {
            self.state = State::CookieWait;
            self.peer.tag = 0;
            self.send_init(io);
        }
    }

    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        self.control = IDLE;
        self.data_path = self.primary;
        let Association { paths, config, chance, .. } = self;
        for path in paths.iter_mut() {
            path.schedule_beat(config, now, chance);
        }
        if paths.len() > 1 {
            //= RFC 9260 section 5.4: all addresses but the one that was used are to be confirmed
            let soon = now + Span::from_nanos(1);
            paths.iter_mut().skip(1).filter(|_| config.heartbeat.is_some()).for_each(|p| p.beat_due = soon);
        }
    }
}
