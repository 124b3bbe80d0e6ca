//! Endpoint of an ATP flow over UDP or RTP: connectionless or with a connection, sender- or receiver-initiated.

mod feasibility;

use crate::config::{Config, Counters, FragmentLife};
use crate::control::{Control, Method, SharedWindow};
use crate::packet::{Atp, Content, HEADER};
use crate::receiver::{Receiver, ReceiverConfig};
use crate::sender::Sender;
use base::packet::{Flags, Packet};
use base::rng::Stream;
use base::truth::Cause;
use base::{Span, Time};
use rtp::Reporter;
use rtp::reporter::ReporterConfig;
use transport::app::Socket;
use transport::app::message::{Message, MessageEvent, MessageId};
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Io, Outgoing, Role};
use transport::macroflow::Granting;
use transport::recovery::rto::RtoTimer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// Data may flow.
    Open,
    /// Waits for a request, or for the answer to a SYN.
    Waits,
    /// Has sent a FIN.
    Closing,
    /// Closed: no packets are sent.
    Closed,
}

/// Endpoint of an ATP flow.
#[derive(Debug)]
pub struct AtpEnd {
    config: Config,
    role: Role,
    link: Link,
    sender: Sender,
    receiver: Receiver,
    control: Control,
    rto: RtoTimer,
    /// Retransmission timer of SYN, FIN and requests.
    knock: Time,
    /// Transmissions of the SYN, FIN or request so far.
    knocks: u32,
    started: Option<Time>,
    congestion: u64,
    /// Loss events and timeouts not yet reported to the application.
    cng: u32,
    timeouts: u64,
    /// Arrival time of the last acknowledgement.
    heard: Time,
    /// Bytes of the stream not yet cut into units.
    uncut: u64,
    closing: bool,
    /// Smoothed rate of acknowledged data while some was outstanding, bytes per second, and the least round trip.
    delivery: Option<f64>,
    least_rtt: Span,
    /// Least round trip of a transport below.
    rtt_below: Span,
    broken: bool,
    /// RTCP participant of this endpoint; none without RTP reports.
    reporter: Option<Reporter>,
}

/// SSRC in RTP headers of an endpoint without RTCP reports.
const SOURCE: u32 = 0x5749_4c4c;
/// First timeout of SYN, FIN and requests; doubles.
const KNOCK: Span = Span::from_secs(1);
/// Units of a stream that are cut before they can be sent.
const UNITS_AHEAD: usize = 4;
/// Transmissions of SYN, FIN or a request before the peer counts as unreachable.
const MOST_KNOCKS: u32 = 8;

impl AtpEnd {
    /// A new endpoint; `shared` is the window of all flows between these hosts.
    pub fn new(config: Config, role: Role, shared: SharedWindow) -> Self {
        let size = config.payload + HEADER + config.carrier.header() + config.option;
        let receiver = ReceiverConfig {
            ack_every: config.ack_every.max(1),
            ack_delay: config.ack_delay,
            tfrc: config.control == Method::Tfrc,
            header: size - config.payload,
            processes: config.processes,
            buffer: config.buffer,
        };
        let waits = config.connect || config.receiver_initiated;
        AtpEnd {
            link: if waits { Link::Waits } else { Link::Open },
            sender: Sender::new(config.payload),
            receiver: Receiver::new(receiver),
            control: Control::new(config.control, size, shared, config.weight),
            rto: RtoTimer::new(config.rto),
            role,
            knock: Time::NEVER,
            knocks: 0,
            started: None,
            congestion: 0,
            cng: 0,
            timeouts: 0,
            heard: Time::ZERO,
            uncut: 0,
            closing: false,
            delivery: None,
            least_rtt: Span::FOREVER,
            rtt_below: Span::FOREVER,
            broken: false,
            reporter: None,
            config,
        }
    }

    /// With RTCP reports, where RTP carries it; `chance` gives source, timestamps and report intervals.
    #[must_use]
    pub fn reporting(mut self, chance: Stream) -> Self {
        if self.config.carrier.is_rtp() {
            let name = if self.role == Role::Active { "sender" } else { "receiver" };
            let clock = rtp::Format::Dynamic.properties().clock;
            let (cname, bandwidth) = (format!("{name}@williwaw"), self.config.bandwidth);
            self.reporter = Some(Reporter::new(ReporterConfig { cname, clock, bandwidth }, chance));
        }
        self
    }

    /// Counters.
    pub fn counters(&self) -> Counters {
        Counters {
            sent: self.sender.sent,
            resent: self.sender.resent,
            received: self.receiver.fragments,
            late: self.receiver.late,
            duplicates: self.receiver.duplicates,
            whole: self.receiver.whole,
            in_time: self.receiver.whole_in_time,
            infeasible: self.sender.infeasible,
            expired: self.sender.expired,
            congestion: self.congestion,
            timeouts: self.timeouts,
            reductions: self.control.reductions(),
        }
    }
    /// Bytes of fragments that arrived, each once.
    pub fn bytes_received(&self) -> u64 {
        self.receiver.bytes
    }
    /// Replaces the congestion control.
    pub(crate) fn set_control(&mut self, control: Control) {
        self.control = control;
    }
    /// Nothing is left to be sent.
    pub(crate) fn is_done(&self) -> bool {
        self.role == Role::Active && self.sender.is_done()
    }
    /// Congestion control of the flow.
    pub fn control(&self) -> &Control {
        &self.control
    }
    /// Units that are being sent: number and fragments.
    pub fn units(&self) -> std::collections::BTreeMap<MessageId, u32> {
        self.sender.units()
    }

    fn packet(&self, adu: MessageId, content: Content) -> Atp {
        Atp {
            adu,
            length: 0,
            fragments: 0,
            deadline: Time::NEVER,
            content,
            answer: false,
            whole: false,
            class: 0,
            coverage: self.config.coverage,
            carrier: self.config.carrier,
            rtp: (self.reporter.as_ref().map_or(SOURCE, Reporter::ssrc), 0),
        }
    }

    /// Sends the RTCP report that is due; at the end of the flow the last one, with BYE.
    fn send_report(&mut self, io: &mut Io<'_, Atp>, leaves: bool) {
        let Some(reporter) = &mut self.reporter else { return };
        let compound = if leaves { reporter.leave(io.now) } else { reporter.report(io.now) };
        if let Some(compound) = compound {
            let packet = self.packet(0, Content::Report(compound));
            self.emit(io, packet, Cause::New, None);
        }
    }

    fn emit(&mut self, io: &mut Io<'_, Atp>, packet: Atp, cause: Cause, lives: Option<Span>) {
        // Packets without a deadline carry no option.
        let size = packet.size(if lives.is_some() { self.config.option } else { 0 });
        let data = matches!(packet.content, Content::Fragment { .. });
        let mut outgoing = Outgoing::new(packet, size, cause);
        outgoing.ecn = if self.config.ecn && data { 2 } else { 0 };
        io.out.push(match lives {
            Some(span) => outgoing.living(span),
            None => outgoing,
        });
    }

    /// The retransmission timeout. Reports of TFRC come once per round trip, so an answer may take two: four round trips as
    /// in its equation are the least.
    fn timeout(&self) -> Span {
        match &self.control {
            Control::Tfrc(tfrc) => self.rto.timeout().max(tfrc.rto().unwrap_or_default()),
            _ => self.rto.timeout(),
        }
    }

    /// The lifetime in the network of a fragment of a unit with this deadline.
    fn life(&self, now: Time, deadline: Time) -> Option<Span> {
        let unit = (!deadline.is_never()).then(|| deadline.since(now));
        let timeout = self.timeout();
        let own = match self.config.fragment {
            FragmentLife::Always => return None,
            FragmentLife::Adu => return unit,
            FragmentLife::Rto => timeout,
            FragmentLife::RtoAndRtt => timeout + self.rto.srtt(),
        };
        // Paper III.B: packet lifetime = min(application lifetime, RTO)
        Some(unit.map_or(own, |unit| unit.min(own)))
    }

    fn send_fragments(&mut self, io: &mut Io<'_, Atp>) {
        while self.sender.is_waiting() {
            if self.control.next_send() > io.now {
                self.control.on_blocked(io.now);
                return;
            }
            let Some((next, tx)) = self.sender.take() else { return };
            let important = self.config.important_every;
            let class = u8::from(important > 0 && next.adu % u64::from(important) != 0);
            // `whole`: no fragment of the unit is retransmitted end to end.
            let whole = next.whole || !self.config.retransmit;
            let content = Content::Fragment {
                number: next.number,
                bytes: next.bytes,
                tx,
                sent: io.now,
                rtt: self.rto.srtt(),
                again: next.cause,
                offset: next.offset,
            };
            let bare = self.packet(next.adu, content);
            let mut rtp = bare.rtp;
            if let Some(reporter) = &mut self.reporter {
                reporter.start(io.now);
                reporter.on_sent(io.now, HEADER + next.bytes);
                // All fragments of a unit have its timestamp.
                rtp.1 = reporter.timestamp(next.made);
            }
            let packet = Atp {
                length: next.length,
                fragments: next.fragments,
                deadline: next.deadline,
                whole,
                class,
                rtp,
                ..bare
            };
            let more = self.sender.is_waiting();
            let header = HEADER + self.config.carrier.header() + self.config.option;
            self.control.on_send(io.now, next.bytes + header, more);
            let lives = self.life(io.now, next.deadline);
            self.emit(io, packet, next.cause, lives);
            if self.rto.deadline().is_never() {
                self.rto.restart_with(io.now, self.timeout());
            }
        }
        self.control.on_idle();
    }

    fn on_ack(&mut self, io: &mut Io<'_, Atp>, adu: MessageId, content: &Content) {
        let Content::Ack { vector, echo, congested, expired, report, deadline } = content else { return };
        let (tx, sent, held) = *echo;
        let busy = self.sender.outstanding() > 0;
        let sample = io.now.since(sent).as_nanos().saturating_sub(held.as_nanos());
        self.rto.sample(Span::from_nanos(sample.max(1)));
        self.rto.end_backoff();
        self.least_rtt = self.least_rtt.min(Span::from_nanos(sample));
        let since = io.now.since(self.heard).as_secs_f64();
        self.heard = io.now;
        let acked = self.sender.on_ack(adu, vector, tx);
        if busy && acked.fresh > 0 && since > 0.0 {
            let rate = f64::from(acked.fresh * self.config.payload) / since;
            self.delivery = Some(self.delivery.map_or(rate, |old| 0.75 * old + 0.25 * rate));
        }
        self.control.on_left(acked.fresh, acked.lost);
        self.control.on_arrived_late(acked.given_up);
        if let Some(report) = report {
            self.control.on_report(io.now, report);
        }
        let forgiven = *expired && self.config.exp_forgives;
        let rtt = self.rto.srtt();
        if (acked.lost > 0 && !forgiven) || *congested {
            self.control.on_congestion(io.now, rtt);
            // Paper III.A: cng, a major loss event is reported to the application
            self.congestion += u64::from(acked.lost > 0);
            self.cng += u32::from(acked.lost > 0);
        }
        if let Some(deadline) = deadline {
            self.sender.set_lifetime(io.now, deadline.since(io.now));
        }
        if self.sender.outstanding() == 0 {
            self.rto.stop();
        } else if acked.fresh > 0 {
            self.rto.restart_with(io.now, self.timeout());
        }
    }

    /// SYN, FIN or request, again if need be.
    fn knock(&mut self, io: &mut Io<'_, Atp>) {
        let content = match (self.link, self.role) {
            (Link::Waits, Role::Active) if self.config.connect => Content::Syn,
            (Link::Waits, Role::Passive) if self.config.receiver_initiated => {
                Content::Request { lifetime: self.config.receiver_lifetime }
            }
            (Link::Closing, _) => Content::Fin,
            _ => {
                self.knock = Time::NEVER;
                return;
            }
        };
        if self.knocks >= MOST_KNOCKS {
            self.knock = Time::NEVER;
            self.finish();
            return;
        }
        let packet = self.packet(0, content);
        self.emit(io, packet, Cause::New, None);
        self.knock = io.now + KNOCK.times(1 << self.knocks.min(6));
        self.knocks += 1;
    }

    fn finish(&mut self) {
        self.link = Link::Closed;
        self.knock = Time::NEVER;
        self.rto.stop();
        self.sender.end();
        self.control.on_idle();
    }

    /// Cuts the stream into units as large as the receiver's buffer, a few ahead: a stream may have no end.
    fn cut(&mut self) {
        if self.sender.is_closed() || self.config.buffer == 0 {
            self.uncut = 0; // No unit of it would ever leave.
        }
        while self.uncut > 0 && self.sender.len() < UNITS_AHEAD {
            let part = self.uncut.min(self.config.buffer.max(1));
            self.send(Message::of(part));
            self.uncut -= part;
        }
        if self.closing && self.uncut == 0 {
            self.sender.close();
        }
    }

    fn is_unbound(&self, now: Time) -> bool {
        let since = self.started.map_or(Span::ZERO, |start| now.since(start));
        self.role == Role::Passive && self.config.unbinds.is_some_and(|after| since >= after)
    }

    fn acknowledge(&mut self, io: &mut Io<'_, Atp>) {
        let Some((adu, content)) = self.receiver.ack(io.now, self.config.receiver_lifetime) else { return };
        let lives = self.config.ack_lifetime.map(|beyond| beyond + self.receiver.rtt());
        let packet = self.packet(adu, content);
        self.emit(io, packet, Cause::New, lives);
    }

    fn abort_impatiently(&mut self, io: &mut Io<'_, Atp>) {
        for adu in self.receiver.impatient(io.now, self.config.receiver_patience) {
            self.receiver.abandon(adu);
            let packet = Atp { answer: true, ..self.packet(adu, Content::Abort) };
            self.emit(io, packet, Cause::New, None);
        }
    }
}

impl Socket for AtpEnd {
    /// A stream has no units: each write is one.
    fn write(&mut self, bytes: u64) {
        self.uncut = self.uncut.saturating_add(bytes);
        self.cut();
    }
    fn close(&mut self) {
        self.closing = true;
        self.cut();
    }
    fn stop(&mut self) {
        self.uncut = 0;
        self.sender.end();
    }
    fn received(&self) -> u64 {
        self.receiver.position()
    }
    fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }
    fn send(&mut self, message: Message) -> Option<MessageId> {
        let lifetime = message.lifetime.or(self.config.lifetime);
        let retransmissions = if self.config.retransmit { message.retransmissions } else { Some(0) };
        Some(self.sender.queue(Message { lifetime, retransmissions, ..message }, self.config.buffer))
    }
    fn keeps_messages(&self) -> bool {
        true
    }
    fn has_events(&self) -> bool {
        self.broken || self.cng > 0 || self.sender.has_events() || self.receiver.has_events()
    }
    fn poll_event(&mut self) -> Option<MessageEvent> {
        if std::mem::take(&mut self.broken) {
            return Some(MessageEvent::Broken);
        }
        if self.cng > 0 {
            self.cng -= 1;
            return Some(MessageEvent::Congested);
        }
        self.receiver.event().or_else(|| self.sender.event())
    }
}

impl Endpoint for AtpEnd {
    type Body = Atp;

    fn open(&mut self, io: &mut Io<'_, Atp>) {
        self.started = Some(io.now);
        self.knock(io);
        self.transmit(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Atp>, body: &Atp, head: &Packet) {
        if self.is_unbound(io.now) {
            if !matches!(body.content, Content::Unreachable) {
                let packet = self.packet(body.adu, Content::Unreachable);
                self.emit(io, packet, Cause::New, None);
            }
            return;
        }
        match &body.content {
            Content::Fragment { .. } => {
                self.knock = if self.link == Link::Closing { self.knock } else { Time::NEVER };
                if self.link == Link::Waits {
                    self.link = Link::Open;
                }
                let (stub, expired) = (head.flags.has(Flags::STUB), head.flags.has(Flags::EXPIRED));
                if let (Some(reporter), Content::Fragment { tx, .. }) = (&mut self.reporter, &body.content) {
                    reporter.start(io.now);
                    reporter.on_data(io.now, body.rtp.0, *tx as u16, body.rtp.1);
                }
                self.receiver.on_fragment(io.now, body, stub, head.ecn == 3, expired);
                if self.receiver.next_timeout() <= io.now {
                    self.acknowledge(io);
                }
            }
            Content::Ack { .. } => self.on_ack(io, body.adu, &body.content),
            Content::Request { lifetime } => {
                if self.link == Link::Waits {
                    self.link = Link::Open;
                }
                if let Some(lifetime) = lifetime {
                    self.sender.set_lifetime(io.now, *lifetime);
                }
            }
            Content::Abort if body.answer => self.sender.abandon(body.adu),
            Content::Abort => self.receiver.abandon(body.adu),
            Content::Syn | Content::Fin if !body.answer => {
                let fin = matches!(body.content, Content::Fin);
                self.link = if fin { Link::Closed } else { Link::Open };
                let packet = Atp { answer: true, ..self.packet(0, body.content.clone()) };
                self.emit(io, packet, Cause::New, None);
            }
            Content::Syn if self.link == Link::Waits => {
                (self.link, self.knock, self.knocks) = (Link::Open, Time::NEVER, 0);
            }
            Content::Fin if self.link == Link::Closing => self.finish(),
            Content::Syn | Content::Fin => {}
            Content::Report(compound) => {
                if let Some(reporter) = &mut self.reporter {
                    reporter.start(io.now);
                    reporter.on_compound(io.now, compound, body.size(0));
                }
                if compound.bye {
                    self.send_report(io, true);
                }
            }
            Content::Unreachable => {
                self.broken = true;
                self.finish();
            }
        }
        self.transmit(io);
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Atp>) {
        if self.knock <= io.now {
            self.knock(io);
        }
        if self.rto.deadline() <= io.now {
            self.timeouts += 1;
            let outstanding = self.sender.on_timeout();
            self.control.on_timeout(outstanding);
            self.rto.back_off();
            self.rto.stop();
            self.congestion += 1;
            self.cng += 1;
        }
        if self.control.next_timeout() <= io.now {
            self.control.on_nofeedback(io.now);
        }
        if self.receiver.next_timeout() <= io.now {
            self.acknowledge(io);
        }
        self.abort_impatiently(io);
        self.send_report(io, false);
        self.transmit(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Atp>) {
        self.cut();
        self.sender.stamp(io.now);
        self.give_up_what_expired(io);
        if self.link == Link::Open && self.started.is_some() {
            self.send_fragments(io);
        } else {
            self.control.on_idle();
        }
        if self.link == Link::Open
            && self.config.connect
            && self.role == Role::Active
            && self.sender.is_done()
        {
            self.link = Link::Closing;
            self.knock(io);
        }
        if self.role == Role::Active && self.started.is_some() && self.sender.is_done() {
            self.send_report(io, true);
        }
    }

    fn next_timeout(&self) -> Time {
        let flow = self.knock.min(self.receiver.next_timeout());
        let flow = flow.min(self.reporter.as_ref().map_or(Time::NEVER, Reporter::next_timeout));
        let flow = flow.min(self.receiver.next_impatience(self.config.receiver_patience));
        if self.sender.len() == 0 || self.started.is_none() {
            return flow;
        }
        let mut next = flow.min(self.rto.deadline()).min(self.sender.next_expiry());
        next = next.min(self.control.next_timeout());
        if self.link == Link::Open && self.sender.is_waiting() {
            next = next.min(self.control.next_send());
        }
        next
    }

    fn written(&self) -> (u64, bool) {
        (self.sender.written().saturating_add(self.uncut), self.closing || self.sender.is_closed())
    }

    fn report(&self) -> EndpointReport {
        let counters = self.counters();
        let mut named = if self.role == Role::Active {
            vec![
                ("units_infeasible", counters.infeasible as f64),
                ("units_expired", counters.expired as f64),
                ("congestion_events", counters.congestion as f64),
            ]
        } else {
            Vec::new()
        };
        named.extend(self.reporter.iter().flat_map(|reporter| reporter.named()));
        EndpointReport { unit: self.config.payload, named, ..EndpointReport::default() }
    }

    fn delivered(&self) -> u64 {
        self.receiver.bytes
    }

    fn takes_stubs(&self) -> bool {
        true
    }

    fn shares(&self) -> Option<Box<dyn Granting>> {
        match &self.control {
            Control::Shared(share) => Some(Box::new(share.window().clone())),
            _ => None,
        }
    }

    fn expiring(&self, now: Time) -> Option<Expiring> {
        (self.rto.deadline() <= now).then(|| Expiring {
            flight: u64::from(self.sender.outstanding()) * u64::from(self.config.payload),
            established: true,
        })
    }
}
