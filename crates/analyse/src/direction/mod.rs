//! State of one direction of a TCP connection, reconstructed from the capture (`Direction`), and processing of the
//! sender's packets: data segments, retransmissions, SYN and FIN.
//!
//! ACKs are processed in `answer.rs`, the end of the connection in `outcome.rs`.

pub(crate) mod answer;
pub(crate) mod baseline;
mod breaches;
mod idle;
mod outcome;
pub(crate) mod parts;
mod paws;
mod reconcile;
mod segments;

use self::baseline::Baseline;
use self::parts::{AckArrivals, ControlSegments, Dupacks, Expiry, OfferedWindow, Peer};
use self::paws::PawsSuspects;
use self::segments::{SHORT, WHOLE, segments};
use crate::facts::copies::{Copies, Copy, Evidence, Fate, later};
use crate::facts::ip_id::IpIdSequence;
use crate::facts::ranges::Ranges;
use crate::facts::reason::{AwayFromSender, Phase, ReactionTime, Reason, ResendContext};
use crate::facts::rtt::{self, Rtt};
use crate::findings::flow::{FlowDirection, Retransmission};
use crate::findings::join::Sighting;
use crate::findings::profile::ProfileFacts;
use crate::hypotheses::hmm::SentPacket;
use crate::hypotheses::replay::{EpisodeRecorder, EpisodeStart};
use crate::intake::capture_point::CapturePoint;
use crate::intake::limits::Limits;
use crate::intake::observation::Observation;
use crate::verdict::{FinalVerdict, Judge, Need, State};
use base::wire::{flag, unwrap};
use base::{Span, Time};

/// State of one sender, reconstructed from the capture.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    pub(crate) keep: Option<Limits>,
    /// Offset of the SYN; reported offsets count from it.
    pub(crate) base: u64,
    /// A sequence number of this direction was seen.
    pub(crate) begun: bool,
    /// Lowest unacknowledged byte.
    pub(crate) una: u64,
    /// An ACK was seen.
    pub(crate) answered: bool,
    /// One past the highest byte seen.
    pub(crate) max: u64,
    pub(crate) sacked: Ranges,
    /// One past the highest byte known to have arrived out of order.
    pub(crate) beyond: u64,
    /// Ranges not captured although later bytes were.
    pub(crate) missing: Ranges,
    /// Time when packets were last found missing from the capture.
    missed: Option<Time>,
    paws_suspects: PawsSuspects,
    pub(crate) copies: Copies,
    pub(crate) judge: Judge,
    pub(crate) rtt: Rtt,
    pub(crate) phase: Phase,
    /// Arrivals of ACKs.
    pub(crate) acks: AckArrivals,
    pub(crate) last_sent: Option<Time>,
    /// IP identification sequence of this sender.
    own: IpIdSequence,
    /// Further identifications used by the last packet, if offload merged several segments into it.
    together: u64,
    /// Smaller MSS option of the two in the handshake, bytes.
    pub(crate) mss: Option<u16>,
    /// Longest payload captured in one Ethernet frame, bytes.
    ordinary: u32,
    /// Retransmission timer.
    pub(crate) timer: Expiry,
    /// Duplicate acknowledgements.
    pub(crate) dupacks: Dupacks,
    /// Offered window.
    pub(crate) window: OfferedWindow,
    pub(crate) echo: Option<u32>,
    /// The receiving end.
    pub(crate) peer: Peer,
    pub(crate) seen: ProfileFacts,
    pub(crate) first_flight_open: bool,
    pub(crate) place: CapturePoint,
    pub(crate) stats: FlowDirection,
    pub(crate) rulings: Vec<FinalVerdict>,
    pub(crate) replay: EpisodeRecorder,
    pub(crate) baseline: Baseline,
    reacts: ReactionTime,
    /// The segment with the highest bytes.
    newest: Option<Copy>,
    /// Retransmissions that filled a gap without evidence that they were sent after the preceding arrivals.
    unordered: Vec<usize>,
    /// SYN and FIN.
    pub(crate) control: ControlSegments,
}

/// Longest time from an ACK to the capture of its data that counts as late capture: receive offload in card or kernel,
/// or another processor.
pub(crate) const BEHIND: Span = Span::from_millis(3);
/// Assumed bytes in flight beyond the capture point where the window is not known.
const UNSEEN: u64 = 1 << 20;
/// Time beyond the RTT to the sender within which duplicate ACKs may trigger a retransmission.
const SIGNS_LAST: Span = Span::from_secs(1);
/// Sequence numbers further than this from the expected one are not part of the connection.
const FAR: u64 = 1 << 30;

/// Whether `a` was sent before `b`, by IP identifications if the sender `counts` packets in them, otherwise by
/// timestamps.
fn sent_before(a: &Copy, b: &Copy, counts: bool) -> Option<bool> {
    let by_number = |(a, b): (u16, u16)| (counts && a != b).then_some(b.wrapping_sub(a) < 1 << 15);
    let by_stamp = |(a, b): (u32, u32)| (a != b).then_some(later(b, a));
    a.id.zip(b.id).and_then(by_number).or_else(|| a.stamp.zip(b.stamp).and_then(by_stamp))
}

impl Direction {
    pub(crate) fn new(keep: Limits) -> Direction {
        Direction { keep: Some(keep), first_flight_open: true, ..Direction::default() }
    }

    /// Whether a list of findings with `taken` entries may grow.
    pub(crate) fn room(&self, taken: usize) -> bool {
        taken < self.keep.unwrap_or_default().happenings
    }

    /// Offset in the report: relative to the SYN.
    pub(crate) fn told(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.base)
    }

    fn begin(&mut self, seq: u64, syn: bool) {
        self.begun = true;
        self.base = if syn { seq } else { seq - 1 };
        self.max = seq;
        if !self.answered {
            self.una = seq;
        }
    }

    /// 64-bit offset of a sequence number, unwrapped near the highest known one.
    pub(crate) fn offset(&self, wire: u32) -> u64 {
        if self.begun || self.answered {
            unwrap(self.max.max(self.una), wire)
        } else {
            1 << 32 | u64::from(wire)
        }
    }

    /// Processes a packet of this sender.
    pub(crate) fn on_sent(&mut self, o: &Observation) {
        let (t, head) = (o.t, &o.head);
        let lost = self.lost_before(o);
        self.stats.packets += 1;
        self.stats.bytes += u64::from(o.size);
        let (syn, fin) = (head.has(flag::SYN), head.has(flag::FIN));
        if self.keep.is_some_and(|k| k.arrivals) {
            self.sight(o, syn);
        }
        if head.has(flag::RST) || (o.payload == 0 && !syn && !fin) {
            return;
        }
        let seq = self.offset(head.seq);
        if !self.begun {
            self.begin(seq, syn);
            self.first_flight_open = syn;
        }
        if seq.abs_diff(self.max) > FAR && o.payload > 0 && !syn && self.stats.data_packets == 0 {
            // Several hosts answered the SYN, each with a sequence number of its own (RFC 9293 section 3.5
            // resets the others). The first data show which one the connection uses.
            (self.una, self.answered) = (seq, false);
            self.begin(seq, false);
        }
        if seq.abs_diff(self.max) > FAR {
            self.stats.strange += 1;
            return;
        }
        if syn {
            if self.control.syn.is_some() {
                self.stats.control_again += 1;
            }
            self.control.syn = Some(t);
        }
        let start = seq + u64::from(syn);
        let end = start + u64::from(o.payload);
        if o.payload > 0 {
            self.on_data(o, start, end, lost);
        } else if syn {
            self.max = self.max.max(end);
        }
        if fin {
            if o.payload == 0 && self.control.fin == Some(end) {
                self.stats.control_again += 1;
            }
            self.control.fin = Some(end);
            if o.payload == 0 && end > self.max && !syn {
                // The data before the FIN did not pass the capture point.
                self.missing.add(self.max, end);
                self.stats.missing_bytes += end - self.max;
            }
            if o.payload == 0 && end >= self.max {
                let copy = Copy {
                    serial: 0,
                    seq: end,
                    end: end + 1,
                    t,
                    stamp: head.timestamps.map(|ts| ts.0),
                    id: o.id,
                    flight: 0,
                    fate: Fate::Open,
                };
                self.newest = Some(copy);
            }
            self.max = self.max.max(end + 1);
            if o.payload == 0 {
                // A FIN without data is acknowledged like a segment.
                self.control.fin_alone = Some((end, t));
                self.replay.sent(SentPacket { seq: end, end, t, stamp: None, result: None }, self.max);
            }
        }
    }

    /// Whether packets directly before this one were lost before the capture point, by the sender's IP identifications.
    fn lost_before(&mut self, o: &Observation) -> bool {
        // A packet merged by offload used one identification for each segment.
        let whole = if o.payload > WHOLE { u64::from(o.payload / SHORT) } else { 0 };
        let together = std::mem::replace(&mut self.together, whole);
        let before = self.own.place();
        let between =
            before.zip(self.own.see(o.id)).and_then(|(before, here)| IpIdSequence::between(before, here));
        between.is_some_and(|n| n > together) && self.own.counts()
    }

    /// Records a packet for the join with another capture.
    fn sight(&mut self, o: &Observation, syn: bool) {
        let seq = self.offset(o.head.seq) + u64::from(syn);
        if !self.begun {
            self.begin(seq - u64::from(syn), syn);
        }
        self.stats.sightings.push(Sighting {
            t: o.t,
            seq: self.told(seq),
            end: self.told(seq + u64::from(o.payload)),
            ack: o.head.ack,
            id: o.id.filter(|id| *id != 0),
            stamp: o.head.timestamps.map(|ts| ts.0),
            echo: o.head.timestamps.map(|ts| ts.1),
        });
    }

    fn on_data(&mut self, o: &Observation, seq: u64, end: u64, lost: bool) {
        let t = o.t;
        let behind = self.behind(t, seq, end);
        if o.payload <= 1 && self.window.closed_at.is_some_and(|at| at <= seq) {
            self.stats.window_probes += 1;
            self.window.probed = self.window.probed.max(end);
            return;
        }
        if o.payload <= 1 && seq + 1 == self.max && self.una >= self.max && !behind {
            self.stats.keep_alives += 1;
            return;
        }
        self.stats.data_packets += 1;
        self.stats.data_bytes += u64::from(o.payload);
        let size = self.wire_segment(o);
        self.stats.data_segments += size.map_or(1, |size| u64::from(o.payload.div_ceil(size)));
        self.stats.options.longest = self.stats.options.longest.max(size.unwrap_or(o.payload));
        self.stats.data_span = Some((self.stats.data_span.map_or(t, |s| s.0), t));
        self.judge.stamped |= o.head.timestamps.is_some();
        if seq <= self.base {
            // The first transmission precedes the capture.
            self.stats.before_capture += 1;
            self.unsure();
            return;
        }
        if behind && self.copies.firsts.back().is_some_and(|last| last.seq > seq) {
            // Segments captured late are out of order.
            return;
        }
        self.overruns(t, end);
        self.gap_of_capture(t, seq, behind);
        let copy = Copy {
            serial: 0,
            seq,
            end,
            t,
            stamp: o.head.timestamps.map(|ts| ts.0),
            id: o.id,
            flight: 0,
            fate: Fate::Open,
        };
        if seq >= self.max || behind {
            if seq > self.max {
                let gap = (self.max, seq);
                self.missing.add(gap.0, gap.1);
                self.stats.missing_bytes += gap.1 - gap.0;
            }
            self.note_age(&copy);
            self.paused(t, None, lost || seq > self.max);
            self.limited_transmit();
            self.reacts.see(rtt::age(t, self.acks.heard));
            if let Some((let_out, apart)) = self.acks.lets_out.take() {
                self.place.reaction(t.since(let_out), apart);
            }
        }
        for segment in segments(copy, size) {
            self.on_segment(segment, behind);
        }
        if self.first_flight_open {
            self.seen.first_flight = Some(self.max.saturating_sub(self.base + 1));
        }
        self.window.full =
            self.window.edge.is_some_and(|edge| edge < self.max + u64::from(self.stats.options.longest));
        self.last_sent = Some(t);
    }

    /// Detects packets missing from the capture: near the sender a sequence gap, otherwise data acknowledged but not
    /// captured.
    fn gap_of_capture(&mut self, t: Time, seq: u64, behind: bool) {
        let skips = seq > self.max && !self.place.is_far();
        let below = !behind && self.acks.unseen.overlaps(0, seq);
        let unseen = below && rtt::age(t, self.acks.ahead) > BEHIND;
        if skips || unseen {
            self.misses(t);
        }
        if unseen {
            self.acks.unseen.forget_below(seq);
        }
    }

    /// Records that packets passed the capture point but are not in the capture.
    pub(crate) fn misses(&mut self, t: Time) {
        (self.missed, self.judge.torn) = (Some(t), Some(t));
    }

    /// Whether the capture was found to lack packets after `t`.
    pub(crate) fn missed_since(&self, t: Time) -> bool {
        self.missed.is_some_and(|at| at > t)
    }

    /// Starts an episode. `from`: position of the peer's last packet in its IP identification sequence.
    pub(crate) fn trouble(&mut self, from: Option<u64>) {
        let Direction { una, max, echo, .. } = *self;
        let fin = self.control.fin_alone;
        self.replay.begin(&self.copies, &EpisodeStart { una, max, echo, from, fin });
    }

    /// Whether the segment was captured shortly after its ACK.
    fn behind(&mut self, t: Time, seq: u64, end: u64) -> bool {
        let upto = end.min(self.max);
        // After a second host answered the SYN, acknowledged bytes may lie beyond the data.
        if seq >= upto
            || self.acks.unseen.is_empty()
            || rtt::age(t, self.acks.ahead) > BEHIND
            || !self.acks.unseen.holds(seq, upto)
        {
            return false;
        }
        self.stats.acknowledged_unseen -= upto - seq;
        self.acks.unseen.take(seq, upto);
        true
    }

    /// Processes a segment below the highest byte seen; returns its index in the list of retransmissions, if it is one.
    fn resent(&mut self, mut copy: Copy, (need, evidence): (Need, Evidence)) -> Option<u32> {
        let max = self.max;
        if self.missing.overlaps(copy.seq, copy.end.min(max)) && !self.was_seen(copy.seq, copy.end.min(max)) {
            return self.late(copy);
        }
        self.late_original(&copy);
        let scene = self.scene(&copy);
        let original = self.copies.first_of(copy.seq).copied();
        let reason = match original {
            Some(first) if self.missed_since(first.t) => Reason::Unknown,
            _ => scene.reason(),
        };
        self.paused(copy.t, Some(reason), false);
        let at = self.stats.retransmissions.len();
        if self.room(at) {
            self.stats.retransmissions.push(Retransmission {
                t: copy.t,
                seq: self.told(copy.seq),
                end: self.told(copy.end),
                acked: self.told(self.una),
                original: original.map(|c| c.t),
                flight: original.map_or(0, |c| c.flight),
                reason,
                waited: scene.idle(),
                duplicates: self.dupacks.count,
                need,
                evidence,
                answered: None,
                answer_left: None,
                likelihood: None,
            });
        }
        // Away from the sender, its timer and the ACKs received by it are unknown.
        if scene.far.is_none() {
            self.note_faults(&scene, reason, &copy);
        }
        self.enter(reason, &copy);
        if copy.end > max {
            // The new bytes of the segment are a first transmission.
            let tail = Copy { seq: max, ..copy };
            copy.end = max;
            copy.serial = self.copies.push(copy, true);
            self.copies.push(tail, false);
        } else {
            copy.serial = self.copies.push(copy, true);
        }
        let state = State {
            sacked: &self.sacked,
            rtt: &self.rtt,
            duplicates: self.dupacks.overtaking,
            clock: &self.peer.clock,
            stamp: None,
        };
        let pushed = self.judge.resent(&mut self.copies, copy, at, self.una, &state);
        self.rulings.extend(pushed);
        self.settle();
        Some(at as u32)
    }

    /// Whether all bytes of `[seq, end)` were captured before.
    fn was_seen(&self, seq: u64, end: u64) -> bool {
        !self.missing.overlaps(seq, end)
    }

    /// Processes bytes missing so far that pass the capture point now: reordered before it, or retransmitted after a
    /// loss before it.
    fn late(&mut self, mut copy: Copy) -> Option<u32> {
        let t = copy.t;
        self.missing.take(copy.seq, copy.end);
        let recent = self.copies.firsts.len().saturating_sub(64);
        let after = self.copies.firsts.iter().skip(recent).find(|c| c.seq >= copy.end).copied();
        // Acknowledged data are no longer in the send log.
        let after = after.or(self.newest.filter(|c| c.seq >= copy.end));
        let quick =
            self.rtt.least_of_all().map_or(Span::from_millis(3), |l| Span::from_nanos(l.as_nanos() / 2));
        let since = rtt::age(t, after.map(|c| c.t));
        let order = after.and_then(|after| sent_before(&copy, &after, self.own.counts()));
        let far = self.place.is_far();
        // A report of the gap takes one RTT between the capture point and the sender.
        let too_soon = far && self.place.to_sender.is_some_and(|back| since < back);
        let soon = since < quick.max(BEHIND) && self.dupacks.count < 3;
        let overtaken = order.unwrap_or(too_soon || soon);
        if overtaken {
            self.paused(t, None, false);
            self.stats.out_of_order += 1;
            return None;
        }
        let at = self.stats.retransmissions.len();
        if order.is_none() && far {
            self.unordered.push(at);
        }
        let scene = self.scene(&copy);
        let waited =
            scene.far.is_none() && scene.waited() >= Span::from_millis(190) && self.dupacks.count == 0;
        // Near the sender, the capture lacks the first copy. That copy may have arrived, and ACKs may be missing from
        // the capture as well.
        let missed = !self.place.is_far();
        let reason = match missed {
            true => Reason::Unknown,
            false if waited => Reason::Timeout,
            false => scene.reason(),
        };
        let (need, evidence) = match missed {
            _ if copy.end <= self.una => (Need::Unneeded, Evidence::Acked),
            true => (Need::Unknown, Evidence::Nothing),
            false => (Need::Needed, Evidence::Unseen),
        };
        self.paused(t, Some(reason), false);
        if self.room(at) {
            self.stats.retransmissions.push(Retransmission {
                t,
                seq: self.told(copy.seq),
                end: self.told(copy.end),
                acked: self.told(self.una),
                original: None,
                flight: 0,
                reason,
                waited: scene.waited(),
                duplicates: self.dupacks.count,
                need,
                evidence,
                answered: None,
                answer_left: None,
                likelihood: None,
            });
        }
        self.enter(reason, &copy);
        copy.fate = Fate::Open;
        self.copies.push(copy, true);
        Some(at as u32)
    }

    fn scene(&self, copy: &Copy) -> ResendContext {
        let oldest = self.copies.of(self.una, self.una + 1).map(|c| c.t).max();
        let times = self.copies.of(self.una, self.una + 1).take(2).count();
        let beyond = self.sacked.top().and_then(|top| self.copies.first_of(top - 1)).map(|c| c.t);
        ResendContext {
            t: copy.t,
            seq: copy.seq,
            end: copy.end,
            una: self.una,
            max: self.max,
            heard: self.acks.heard,
            advanced: self.acks.advanced,
            oldest_sent: oldest,
            overtaken_by: beyond.zip(oldest).map_or(Span::ZERO, |(beyond, oldest)| beyond.since(oldest)),
            resent_before: times > 1,
            duplicates: self.dupacks.count,
            holes: !self.sacked.is_empty(),
            timeout: self.rtt.timeout(),
            reacts: self.reacts.usual(),
            least: self.rtt.least_of_all(),
            expired: self.timer.expired,
            phase: self.phase,
            far: self.place.is_far().then(|| self.far(copy)),
        }
    }

    /// Facts about a retransmission captured away from its sender.
    fn far(&self, copy: &Copy) -> AwayFromSender {
        let back = self.place.to_sender;
        let recent = back.unwrap_or_default().times(2) + SIGNS_LAST;
        let signs = self.dupacks.count > 0
            || !self.sacked.is_empty()
            || self.dupacks.last.is_some_and(|(t, upto)| self.una < upto || copy.t.since(t) <= recent);
        let below = copy.end <= self.dupacks.hole;
        let bytes = || self.copies.of(copy.seq, copy.end.min(self.max));
        let whole = self.was_seen(copy.seq, copy.end.min(self.max));
        let last = bytes().map(|c| c.t).max().filter(|_| whole);
        let times = self.copies.of(copy.seq, copy.seq + 1).count();
        AwayFromSender {
            back,
            passed: last.map(|last| (last, times)),
            signs,
            below,
            probes: !self.judge.without_sack,
        }
    }

    fn enter(&mut self, reason: Reason, copy: &Copy) {
        match reason {
            Reason::Timeout => {
                self.phase = Phase::Timeout(self.max);
                self.timer.expired = Some(copy.t);
                self.timer.at_timeout = 0;
                if self.place.is_far() {
                    return;
                }
                let shortest = self.seen.shortest_timer_s.unwrap_or(f64::INFINITY);
                let waited = rtt::age(copy.t, self.acks.advanced.max(self.oldest_before(copy)));
                if waited != Span::FOREVER {
                    self.seen.shortest_timer_s = Some(shortest.min(waited.as_secs_f64()));
                    self.timer.ran = Some((copy.seq, waited));
                }
            }
            Reason::Fast => self.phase = Phase::Recovery(self.max),
            Reason::Unknown => self.unsure(),
            _ => {}
        }
    }

    /// Enters the phase in which the retransmission timer may have expired unseen. Data sent until then may reach
    /// beyond the capture point, up to the window's right edge.
    pub(crate) fn unsure(&mut self) {
        let beyond =
            if self.place.is_far() { self.window.edge.unwrap_or(self.max + UNSEEN) } else { self.max };
        let upto = beyond.max(self.max);
        self.phase = match self.phase {
            Phase::Timeout(until) => Phase::Timeout(until),
            Phase::Unsure(until) => Phase::Unsure(until.max(upto)),
            Phase::Open | Phase::Recovery(_) => Phase::Unsure(upto),
        };
    }

    fn oldest_before(&self, copy: &Copy) -> Option<Time> {
        self.copies.of(copy.seq, copy.seq + 1).map(|c| c.t).max()
    }

    /// Counts a limited transmit: new data after the first or second duplicate ACK (RFC 3042).
    fn limited_transmit(&mut self) {
        if matches!(self.dupacks.count, 1 | 2) && self.phase == Phase::Open {
            self.seen.limited.0 += 1;
        }
    }
}
