//! One direction of a framed bearer: packet queue, frames, reports and NAK rounds, retransmission, in-order delivery.

use super::circuit::Coding;
use super::config::{FramedConfig, Reports};
use crate::cell::counts::DirectionCounts;
use crate::coding::Scheme;
use crate::rlc::poll::{Policy, Poller};
use crate::rlc::receive::{BlockPart, Receiver, Report};
use crate::rlc::send::{Reason, SendOptions, Sender};
use crate::rlc::{Bsn, Mode};
use base::packet::{DropReason, Packet};
use base::rng::Stream;
use base::{Rate, Span, Time};
use std::collections::VecDeque;

/// Number of a packet in its direction, counted from 0.
type Number = u32;

/// Next round of NAKs for a missing frame.
#[derive(Clone, Copy)]
struct Round {
    bsn: Bsn,
    round: usize,
    due: Time,
}

/// One direction of a framed bearer: sender, receiver and packets.
pub(super) struct Lane {
    sender: Sender<Number>,
    receiver: Receiver,
    poller: Poller,
    chance: Stream,
    together: bool,
    octets: u32,
    /// Present coding of an HSCSD circuit; `None` for other bearers.
    coding: Option<Coding>,
    around: u32,
    feedback: Span,
    delay: Span,
    attempts: Option<u8>,
    reports: Reports,
    buffer: Option<u64>,
    /// Packets in the bearer, oldest first.
    inside: VecDeque<Packet>,
    /// Number of the oldest packet in `inside`.
    first: Number,
    waiting: u64,
    /// Numbers of the packets with an abandoned frame.
    spoiled: Vec<Number>,
    /// Octets that may be sent at the present rate and have not been used.
    credit: f64,
    heard: VecDeque<(Time, Report)>,
    last_report: Time,
    last_sent: Time,
    last_poll: Time,
    rounds: Vec<Round>,
    pub(super) out: VecDeque<(Time, Packet)>,
    pub(super) drops: Vec<(Packet, DropReason)>,
    pub(super) counts: DirectionCounts,
}

impl Lane {
    pub(super) fn new(config: &FramedConfig, buffer: Option<u64>, chance: Stream) -> Self {
        let policy = match &config.reports {
            Reports::Continuous { .. } => Policy::Every { n: 1 },
            Reports::Polled { every, .. } => Policy::Every { n: *every },
            Reports::Rounds { .. } => Policy::Every { n: 1 },
        };
        let ticks = (config.feedback.as_nanos() / config.period.as_nanos().max(1)) as u32;
        let rules = SendOptions { preemptive: true, hold_off: ticks + 2, resegment: false };
        Lane {
            sender: Sender::new(config.numbering, Mode::Acknowledged, rules),
            receiver: Receiver::new(config.numbering, Mode::Acknowledged, false),
            poller: Poller::new(policy),
            chance,
            together: config.together,
            octets: config.octets,
            coding: None,
            around: config.around,
            feedback: config.feedback,
            delay: config.delay,
            attempts: config.attempts,
            reports: config.reports.clone(),
            buffer,
            inside: VecDeque::new(),
            first: 0,
            waiting: 0,
            spoiled: Vec::new(),
            credit: 0.0,
            heard: VecDeque::new(),
            last_report: Time::ZERO,
            last_sent: Time::ZERO,
            last_poll: Time::ZERO,
            rounds: Vec::new(),
            out: VecDeque::new(),
            drops: Vec::new(),
            counts: DirectionCounts::default(),
        }
    }

    /// A packet enters the queue, or is dropped if the buffer is full.
    pub(super) fn take(&mut self, packet: Packet) {
        let octets = packet.size + self.around;
        self.counts.offered += u64::from(packet.size);
        if self.buffer.is_some_and(|most| self.waiting + u64::from(octets) > most) {
            self.counts.full += 1;
            self.drops.push((packet, DropReason::QueueFull));
            return;
        }
        self.waiting += u64::from(octets);
        self.sender.feed.push(octets, self.first + self.inside.len() as u32);
        self.inside.push_back(packet);
    }

    /// Whether data are queued, frames unacknowledged, or NAK rounds pending.
    pub(super) fn is_busy(&self) -> bool {
        self.sender.feed.has_data() || self.sender.is_pending() || !self.rounds.is_empty()
    }
    /// Whether data are queued or frames are to be retransmitted.
    pub(super) fn has_data(&self) -> bool {
        self.sender.feed.has_data() || self.sender.has_work()
    }
    /// Number of packets in the bearer.
    pub(super) fn holds(&self) -> usize {
        self.inside.len() + self.out.len()
    }

    /// Sets the coding of an HSCSD circuit for this and later periods.
    pub(super) fn code(&mut self, coding: Coding) {
        (self.coding, self.octets) = (Some(coding), coding.octets());
    }

    /// Executes one period with a rate and a frame error rate; `tick` is the number of the period.
    pub(super) fn step(&mut self, tick: u32, now: Time, period: Span, rate: Rate, error: f64) {
        self.take_reports(tick, now);
        self.nak(now);
        self.credit += rate.bps() as f64 / 8.0 * period.as_secs_f64();
        let mut spare = true;
        let mut fate = None;
        while self.credit >= f64::from(self.octets) {
            let repeat = self.may_repeat(now);
            let slow = self.coding == Some(Coding::F96);
            let scheme = if slow { Scheme::Cs1 } else { Scheme::Cs2 };
            let Some(unit) = self.sender.next_octets(tick, scheme, self.octets, repeat) else { break };
            spare = false;
            // RLP remapping (24.022 section 5.2.3): the data of a TCH/F14.4 frame fill three TCH/F9.6 frames.
            let frames = if slow && unit.first_scheme != scheme { 3 } else { 1 };
            self.credit -= f64::from(self.octets * frames);
            let error = if frames == 1 { error } else { 1.0 - libm::pow(1.0 - error, f64::from(frames)) };
            match unit.reason {
                Reason::New => self.counts.new += 1,
                Reason::Missing => self.counts.missing += 1,
                Reason::Idle => self.counts.idle += 1,
            }
            self.last_sent = now;
            let lost = match fate.filter(|_| self.together) {
                Some(lost) => lost,
                None => self.chance.uniform() < error,
            };
            fate = Some(lost);
            if lost {
                self.counts.errors += 1;
                continue;
            }
            self.arrive(unit.bsn, unit.last, now, period);
        }
        // An idle channel accumulates credit for at most one frame, so that a frame longer than a period can be sent.
        let most = if spare { f64::from(self.octets) } else { f64::from(self.octets).max(self.credit) };
        self.credit = self.credit.min(most);
        if self.sender.is_stalled() {
            self.counts.stalled_ticks += 1;
        }
    }

    /// Whether unacknowledged frames may be retransmitted: the timer has expired since the last transmission.
    fn may_repeat(&self, now: Time) -> bool {
        match &self.reports {
            Reports::Continuous { timer } => now.since(self.last_sent) > *timer,
            Reports::Polled { timer, .. } => {
                now.since(self.last_sent) > *timer && now.since(self.last_poll) > *timer
            }
            Reports::Rounds { timer, .. } => now.since(self.last_sent) > timer.times(2),
        }
    }

    fn arrive(&mut self, bsn: Bsn, last: bool, now: Time, period: Span) {
        let end = now + period;
        let before = self.receiver.vq();
        let high = self.receiver.vr();
        let taken = self.receiver.take(bsn, BlockPart::Whole, false);
        self.counts.duplicates += u64::from(taken.duplicate);
        if taken.complete > before {
            self.deliver(taken.complete, end);
        }
        let due = self.poller.block(taken.gap, last);
        match &self.reports {
            Reports::Continuous { .. } => self.report(end),
            Reports::Polled { timer, prohibit, .. } => {
                let (timer, prohibit) = (*timer, *prohibit);
                let timed = now.since(self.last_poll) >= timer;
                if due || timed {
                    self.last_poll = now;
                }
                if (due || timed || taken.gap) && end.since(self.last_report) >= prohibit {
                    self.report(end);
                } else if due && self.last_report <= end {
                    // During the prohibit time one report is scheduled for its end.
                    self.report(self.last_report + prohibit);
                }
            }
            Reports::Rounds { .. } => {
                if taken.gap {
                    for missing in high..bsn {
                        self.rounds.push(Round { bsn: missing, round: 0, due: end + self.feedback });
                    }
                }
                // This report only advances the sender's window.
                self.heard.push_back((end + self.feedback, self.receiver.report()));
            }
        }
    }

    fn report(&mut self, at: Time) {
        self.counts.reports += 1;
        self.last_report = at;
        self.heard.push_back((at + self.feedback, self.receiver.report()));
    }

    /// Processes the reports that reach the sender by `now`; abandons frames after the maximum number of transmissions.
    fn take_reports(&mut self, tick: u32, now: Time) {
        while self.heard.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, mut report)) = self.heard.pop_front() else { return };
            if matches!(self.reports, Reports::Rounds { .. }) {
                // NAKs report the missing frames; this report only advances the window.
                report.end = report.complete;
            }
            self.sender.on_report(&report, tick);
        }
        let Some(most) = self.attempts else { return };
        while let Some(bsn) = self.sender.oldest_missing().filter(|b| self.sender.attempts(*b) >= most) {
            self.give_up(bsn, now);
        }
    }

    /// Processes the NAK rounds due by `now`. Each round causes one retransmission, since the further NAKs of a round are
    /// copies against NAK loss. After the last round the frame is abandoned.
    fn nak(&mut self, now: Time) {
        let Reports::Rounds { naks, timer } = &self.reports else { return };
        let (naks, timer) = (naks.clone(), *timer);
        let mut i = 0;
        while i < self.rounds.len() {
            let round = self.rounds[i];
            if round.due > now {
                i += 1;
                continue;
            }
            self.rounds.swap_remove(i);
            if self.receiver.has(round.bsn) {
                continue;
            }
            let Some(copies) = naks.get(round.round) else {
                self.give_up(round.bsn, now);
                continue;
            };
            self.counts.reports += u64::from(*copies);
            self.sender.mark_missing(round.bsn);
            let wait = Span::from_millis(20).times(u64::from(*copies)) + timer + self.feedback;
            self.rounds.push(Round { bsn: round.bsn, round: round.round + 1, due: now + wait });
        }
    }

    /// Abandons a frame: its packets are lost, and sender and receiver treat it as received.
    fn give_up(&mut self, bsn: Bsn, now: Time) {
        let hit = self.sender.feed.in_block(bsn).map(|p| p.token);
        self.spoiled.extend(hit);
        self.sender.give_up(bsn);
        let taken = self.receiver.take(bsn, BlockPart::Whole, false);
        self.deliver(taken.complete, now);
        self.sender.feed.release(self.sender.va());
    }

    fn deliver(&mut self, complete: Bsn, end: Time) {
        let Lane { sender, inside, spoiled, out, drops, counts, first, waiting, around, delay, .. } = self;
        sender.feed.deliver(complete, |number| {
            let Some(packet) = inside.pop_front() else { return };
            *first = number + 1;
            *waiting -= u64::from(packet.size + *around);
            if spoiled.contains(&number) {
                spoiled.retain(|s| *s != number);
                drops.push((packet, DropReason::GivenUp));
                return;
            }
            counts.frames += 1;
            counts.octets += u64::from(packet.size);
            out.push_back((end + *delay, packet));
        });
    }

    /// Loss of the circuit: all packets in the bearer are dropped.
    pub(super) fn reset(&mut self) {
        let numbering = self.sender.numbering();
        self.sender.feed.clear(|_, _| ());
        self.sender.restart(numbering, |_| ());
        self.receiver = Receiver::new(numbering, Mode::Acknowledged, false);
        self.heard.clear();
        self.rounds.clear();
        self.spoiled.clear();
        self.counts.flushed += self.inside.len() as u64;
        self.first += self.inside.len() as u32;
        self.waiting = 0;
        for packet in self.inside.drain(..) {
            self.drops.push((packet, DropReason::Flushed));
        }
    }
}
