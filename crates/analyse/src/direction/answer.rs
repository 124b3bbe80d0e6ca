//! Processing of ACKs for one direction's data: cumulative and SACK progress, duplicate ACKs, RTT samples, offered
//! window, delay spikes.

use crate::direction::Direction;
use crate::facts::copies::Evidence;
use crate::facts::digest::AckDigest;
use crate::facts::ip_id::IpIdSequence;
use crate::facts::reason::{Phase, shortest_timer};
use crate::facts::rtt;
use crate::findings::flow::{AckPoint, Spike, SpikeKind};
use crate::hypotheses::hmm::ObservedAck;
use crate::intake::observation::Observation;
use crate::verdict::{Need, State};
use base::wire::{flag, unwrap};
use base::{Span, Time};

/// Shortest delay beyond the usual RTT that counts as a spike.
const SHORTEST_SPIKE: Span = Span::from_millis(300);
/// ACKs further ahead than this are not part of the connection.
const FAR: u64 = 1 << 30;

impl Direction {
    /// Processes a packet of the receiver and its acknowledgement of this direction's data.
    pub(crate) fn on_answer(&mut self, o: &Observation, scale: Option<u8>) {
        let head = &o.head;
        let from = self.peer.numbers.place();
        let place = self.peer.numbers.see(o.id);
        if !head.has(flag::ACK) || head.has(flag::RST) {
            return;
        }
        let (t, syn) = (o.t, head.has(flag::SYN));
        self.hears(o);
        let ack = self.offset(head.ack);
        if !self.answered && !self.begun {
            // The capture begins with the peer: the data that it acknowledges were sent before.
            (self.una, self.max) = (ack, ack);
        }
        if !self.answered && self.control.syn.is_none() && ack < self.una && self.una - ack < FAR {
            // The capture began between data and their acknowledgement.
            self.una = ack;
        }
        if ack.abs_diff(self.max.max(self.una)) > FAR || !syn && self.is_of_another(ack) {
            self.stats.strange += 1;
            return;
        }
        let before = self.una;
        let window = u64::from(head.window) << if syn { 0 } else { scale.unwrap_or(0).min(14) };
        let digest = self.digest(o, ack, before);
        if head.cut && !syn {
            // The SACK options are truncated.
            self.judge.torn = Some(t);
        }
        self.silence(t, before, &digest);
        if digest.duplicate || digest.newly > 0 {
            self.trouble(from);
        }
        self.note(o, ack, &digest, (from, place));
        self.answered = true;
        if digest.advances() {
            self.advance(t, ack, &digest, from.zip(place));
        } else if digest.duplicate {
            self.dupacks.count += 1;
            self.dupacks.overtaking += u64::from(digest.dsack.is_none() && !digest.echo_moved);
            self.reaches_beyond(&digest);
            if digest.dsack.is_none() || digest.newly > 0 {
                self.dupacks.sign(t, self.una, self.max);
            }
            self.stats.duplicate_acks += 1;
            if self.phase == Phase::Open && self.dupacks.count <= 2 && self.max > self.una {
                self.seen.limited.1 += 1;
            }
        }
        self.stats.dsacks += u64::from(digest.dsack.is_some());
        self.judge.reports_duplicates |= digest.dsack.is_some();
        if digest.duplicate && head.blocks().is_empty() {
            self.judge.may_report = false;
        }
        if self.peer.numbers.foreign().is_some()
            && from
                .zip(place)
                .and_then(|(from, place)| IpIdSequence::between(from, place))
                .is_some_and(|n| n > 0)
        {
            self.judge.answers_lost = Some(t);
        }
        if !self.judge.open.is_empty() {
            self.bound(t, &digest);
            let state = State {
                sacked: &self.sacked,
                rtt: &self.rtt,
                duplicates: self.dupacks.overtaking,
                clock: &self.peer.clock,
                stamp: head.timestamps.map(|ts| ts.0),
            };
            self.judge.on_ack(&mut self.copies, &digest, &state, &mut self.rulings);
            self.settle();
        }
        if self.judge.open.is_empty() {
            // Copies covered by the last ACK stay in the send log until the next one.
            self.copies.forget(before, u64::MAX);
            if !digest.advances() {
                self.replay.forget_last();
            }
        }
        if digest.advances() {
            self.sacked.forget_below(self.una);
        }
        if let Some((value, echo)) = head.timestamps {
            self.echo = Some(echo);
            self.peer.clock.see(t, value);
        }
        self.offer(t, ack, window, head.window, scale, syn);
        self.acks.heard = Some(t);
        let open = !self.judge.open.is_empty() || self.dupacks.count > 0 || !self.sacked.is_empty();
        if self.replay.is_over(self.una, open) {
            self.weigh();
        }
        self.point(t, ack, scale.map(|_| window), &digest, o);
    }

    /// Records that the receiver sends data of its own: captured here, or skipped by its sequence numbers.
    fn hears(&mut self, o: &Observation) {
        let head = &o.head;
        let own = o.payload + u32::from(head.has(flag::SYN)) + u32::from(head.has(flag::FIN));
        let lost = self.peer.end.is_some_and(|end| (head.seq.wrapping_sub(end) as i32) > 0);
        if o.payload > 0 || lost {
            self.peer.talked = Some(o.t);
        }
        let end = head.seq.wrapping_add(own);
        if self.peer.end.is_none_or(|before| (end.wrapping_sub(before) as i32) > 0) {
            self.peer.end = Some(end);
        }
    }

    /// Whether this is an ACK of data never sent. It answers the SYN: the peer has an older connection with this
    /// four-tuple and will be reset (RFC 9293 section 3.10.7.3).
    fn is_of_another(&self, ack: u64) -> bool {
        self.control.syn.is_some() && !self.answered && self.stats.data_packets == 0 && ack != self.max
    }

    fn digest(&mut self, o: &Observation, ack: u64, before: u64) -> AckDigest {
        let head = &o.head;
        let hole = !self.sacked.is_empty() || self.dupacks.count > 0;
        let mut d = AckDigest {
            t: o.t,
            before,
            edge_heard: self.answered,
            ack: ack.max(before),
            news: [(0, 0); 4],
            newly: 0,
            dsack: None,
            echo: head.timestamps.map(|ts| ts.1),
            echo_moved: false,
            duplicate: false,
            hole,
            held: self.beyond > before,
            heard: self.acks.heard,
        };
        d.echo_moved = match (d.echo, self.echo) {
            (Some(new), Some(old)) => crate::facts::copies::later(new, old),
            _ => false,
        };
        let near = self.max.max(self.una);
        let blocks = head.blocks();
        let as_offsets = |b: &(u32, u32)| (unwrap(near, b.0), unwrap(near, b.1));
        for (i, block) in blocks.iter().enumerate() {
            let (left, right) = as_offsets(block);
            if left >= right || right > near + 1 || near - left.min(near) > FAR {
                continue;
            }
            //= RFC 2883 section 4: the first block is a duplicate if it is below the acknowledgement, or inside the second
            let inside = |b: &(u32, u32)| {
                let (l, r) = as_offsets(b);
                l <= left && right <= r && (l, r) != (left, right)
            };
            if i == 0 && (right <= ack || blocks.get(1).is_some_and(inside)) {
                d.dsack = Some((left, right));
            } else if right > ack && self.sacked.add(left.max(ack), right) {
                d.news[d.newly] = (left, right);
                d.newly += 1;
            }
        }
        let plain = o.payload == 0 && !head.has(flag::SYN | flag::FIN);
        let outstanding = self.max > before;
        d.duplicate = ack == before
            && plain
            && self.answered
            && (d.newly > 0
                || d.dsack.is_some()
                || (blocks.is_empty() || !d.hole || d.echo_moved)
                    && head.window == self.window.raw
                    && (outstanding || d.echo_moved));
        d
    }

    /// Adds an ACK to the recorded episode.
    fn note(&mut self, o: &Observation, ack: u64, d: &AckDigest, (from, place): (Option<u64>, Option<u64>)) {
        let head = &o.head;
        self.acks.blocks |= head.sacks > 0;
        let overtaken = ack < d.before;
        self.acks.overtaken |= overtaken;
        if overtaken && place.is_none() {
            return;
        }
        let near = self.max.max(self.una);
        let blocks: Vec<(u64, u64)> = head
            .blocks()
            .iter()
            .skip(usize::from(d.dsack.is_some()))
            .map(|b| (unwrap(near, b.0), unwrap(near, b.1)))
            .collect();
        // An ACK of the FIN alone is not triggered by data.
        let ends = self.control.fin.is_some_and(|fin| ack > fin);
        let free = o.payload > 0 || head.has(flag::SYN | flag::FIN) || ends && d.dsack.is_none();
        let mut heard = ObservedAck::of(d, &blocks, free);
        if let Some(fin) = self.control.fin {
            heard.leave_out(fin);
        }
        let tick = self.peer.clock.tick().unwrap_or_default();
        let left = head.timestamps.and_then(|ts| self.peer.clock.left(o.t, ts.0));
        heard.left = left.map(|l| l + tick);
        (heard.ack, heard.place, heard.overtaken) = (heard.ack.min(ack), place, overtaken);
        // The SYN-ACK acknowledges no data.
        if !head.has(flag::SYN) {
            self.replay.record_ack(heard, d.before, d.hole, self.echo, from);
        }
    }

    fn advance(&mut self, t: Time, ack: u64, d: &AckDigest, places: Option<(u64, u64)>) {
        let clean = self.judge.open.is_empty();
        let apart = rtt::age(t, self.acks.heard);
        self.acks.lets_out = (apart != Span::FOREVER).then_some((t, apart));
        if d.newly > 0 {
            self.dupacks.sign(t, ack, self.max);
        }
        if self.missing.overlaps(self.una, ack.min(self.max)) {
            self.never_seen(t);
        }
        // The receiver accepted the byte of a window probe.
        self.max = self.max.max(ack.min(self.window.probed));
        if ack > self.max {
            // The acknowledged bytes are missing from the capture.
            self.stats.acknowledged_unseen += ack - self.max;
            self.acks.unseen.add(self.max, ack);
            self.acks.ahead = Some(t);
            self.max = ack;
        }
        if clean {
            // The last segment that the ACK covers was sent once: an RTT sample, unless the ACK was delayed.
            let covered = self.copies.firsts.partition_point(|c| c.end <= ack);
            if let Some(last) = covered.checked_sub(1).and_then(|i| self.copies.firsts.get(i))
                && !d.hole
                && last.end > d.before
            {
                let (span, len) = (t.since(last.t), last.end - last.seq);
                let due = self.pace().due(last.t, self.acks.advanced, ack - self.una);
                let segments = (ack - self.una).div_ceil(self.copies.longest.max(1));
                let mut missing = self.baseline.see(segments, t.since(due).max(due.since(t)));
                if let Some((from, place)) = places
                    && let Some(gap) = IpIdSequence::between(from, place)
                {
                    // On a path that reorders, duplicate ACKs come in between.
                    if !self.loose() {
                        self.peer.numbers.clean(segments, from, place);
                    }
                    if self.peer.numbers.foreign().is_some() {
                        // Packets to other destinations are not lost ACKs.
                        missing = gap.min(segments.saturating_sub(1));
                    }
                }
                self.replay.clean(segments, missing);
                self.rtt.sample(span, len);
                self.place.receiver(span);
            }
        } else if let Some(last) = self.copies.first_of(ack - 1).copied()
            && !d.hole
            && self.copies.of(last.seq, last.end).count() == 1
            // The ACK may have waited for an earlier retransmission.
            && !self.judge.open.waits_below(ack)
        {
            self.rtt.sample(t.since(last.t), last.end - last.seq);
        }
        if self.copies.firsts.front().is_some_and(|c| c.end <= ack) {
            self.first_flight_open = false;
        }
        // ACKs in a close train are spaced by the bottleneck.
        self.rtt.alone = self.place.to_receiver.zip(self.bottleneck());
        let gap = rtt::age(t, self.acks.advanced);
        let least = self.rtt.least_of_all().unwrap_or(Span::ZERO).as_nanos();
        for (train, limit) in self.acks.trains.iter_mut().zip([least / 4, least / 4 * 3]) {
            if gap.as_nanos() <= limit {
                *train = (train.0 + (ack - self.una), train.1 + gap);
            }
        }
        // A gap as long as a retransmission timer may hide an expiry.
        if self.place.is_far() && self.acks.advanced.is_some() && gap >= shortest_timer(self.place.to_sender)
        {
            self.unsure();
        }
        self.una = ack;
        self.acks.advanced = Some(t);
        self.acks.lost_pauses = Span::ZERO;
        (self.dupacks.count, self.dupacks.overtaking) = (0, 0);
        match self.phase {
            Phase::Recovery(until) | Phase::Timeout(until) | Phase::Unsure(until) if ack >= until => {
                self.phase = Phase::Open
            }
            _ => {}
        }
    }

    /// Acknowledged bytes were never captured. The first copy of a retransmission may therefore have arrived unseen.
    fn never_seen(&mut self, t: Time) {
        self.misses(t);
        self.was_not_lost();
        let since = self.acks.advanced.unwrap_or_default();
        let recent = self.stats.retransmissions.iter_mut().rev().take_while(|r| r.t >= since);
        for r in recent.filter(|r| r.evidence == Evidence::Unseen) {
            (r.need, r.evidence) = (Need::Unknown, Evidence::Nothing);
        }
    }

    /// The timestamp echo identifies the acknowledged copy: an upper bound of the minimum RTT.
    fn bound(&mut self, t: Time, d: &AckDigest) {
        let Some(echo) = d.echo.filter(|_| d.advances() || d.echo_moved) else { return };
        if let Some(one) = self.copies.stamped(echo).next() {
            self.rtt.bound(t.since(one.t), one.end - one.seq);
        }
    }

    /// A duplicate ACK shows data beyond the gap, unless a retransmission can have triggered the ACK.
    fn reaches_beyond(&mut self, d: &AckDigest) {
        if let Some(top) = self.sacked.top() {
            self.beyond = self.beyond.max(top);
        } else if d.dsack.is_none() && !d.echo_moved && !self.judge.open.any_covered() {
            let first = self.copies.first_of(d.before).map(|c| c.serial);
            let at = first.and_then(|s| self.copies.get(s + self.dupacks.count));
            if let Some(copy) = at.filter(|c| self.judge.open.first().is_none_or(|first| first > c.serial)) {
                self.beyond = self.beyond.max(copy.end);
            }
        }
    }

    fn offer(&mut self, t: Time, ack: u64, window: u64, raw: u16, scale: Option<u8>, syn: bool) {
        self.window.raw = raw;
        if scale.is_some() || syn {
            let edge = ack + window;
            self.window.edge = Some(self.window.edge.map_or(edge, |e| e.max(edge)));
            self.stats.options.window = self.stats.options.window.max(window);
            self.stats.options.window_known = true;
        } else {
            // With an unknown window scale, only a field of 0 is meaningful.
            self.window.edge = None;
            self.stats.options.window_known = false;
        }
        if self.window.closed_at.is_some() && raw > 0 {
            self.window.opened = Some(t);
        }
        self.window.closed_at = (raw == 0 && !syn).then_some(ack);
    }

    /// Records a delay spike or outage: the first ACK after a long gap with data outstanding.
    fn silence(&mut self, t: Time, before: u64, d: &AckDigest) {
        if before >= self.max || d.ack > self.max || !(d.advances() || d.duplicate) {
            return;
        }
        let oldest = self.copies.first_of(before).map(|c| c.t);
        let Some(since) = self.acks.heard.max(oldest) else { return };
        // Packets missing from the capture are no silence of the path.
        if self.missed_since(since) || self.missing.overlaps(before, d.ack) {
            return;
        }
        let span = t.since(since);
        let Some(usual) = self.rtt.smoothed() else { return };
        let long = self.rtt.timeout().unwrap_or(usual).max(usual + usual).max(usual + SHORTEST_SPIKE);
        if span > long && self.room(self.stats.spikes.len()) {
            let seq = self.told(before);
            let spoken = self.last_word(since, before, t);
            self.stats.spikes.push(Spike {
                t: since,
                until: t,
                kind: SpikeKind::Unknown,
                seq,
                usual,
                spoken,
            });
        }
    }

    /// Time from the start of a silence to the last segment sent in it, not counting the segment that the ACK at `t`
    /// covers.
    fn last_word(&self, since: Time, before: u64, t: Time) -> Span {
        let least = self.rtt.least_of_all().unwrap_or(Span::ZERO);
        let due = Span::from_nanos(least.as_nanos() / 4 * 3);
        // Both lists ascend in time: the latest two instants lie at their ends.
        let mut last = [since; 2];
        let latest = self.copies.latest(since, before).map(|list| list.skip_while(|c| t.since(c.t) < due));
        for sent in latest {
            let mut found = 0;
            for s in sent.map(|c| c.t) {
                if s > last[0] {
                    last = [s, last[0]];
                    found += 1;
                } else if s < last[0] {
                    last[1] = last[1].max(s);
                    found += 1;
                }
                if found > 1 {
                    break;
                }
            }
        }
        last[1].since(since)
    }

    fn point(&mut self, t: Time, ack: u64, window: Option<u64>, d: &AckDigest, o: &Observation) {
        if !self.keep.is_some_and(|k| k.points) {
            return;
        }
        let near = self.max.max(self.una);
        let mut point = AckPoint {
            t,
            ack: self.told(ack),
            window_end: window.map(|w| self.told(ack + w)),
            duplicate: !d.advances(),
            sack: [(0, 0); 4],
            sacks: 0,
        };
        for (left, right) in o.head.blocks() {
            let (left, right) = (self.told(unwrap(near, *left)), self.told(unwrap(near, *right)));
            point.sack[usize::from(point.sacks)] = (left, right);
            point.sacks += 1;
        }
        self.stats.acks.push(point);
    }
}
