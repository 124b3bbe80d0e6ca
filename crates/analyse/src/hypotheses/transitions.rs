//! State transitions of the hidden Markov model of an episode: arrival, reordering or loss of a packet, and loss,
//! delay or observation of its ACK, with their weights.
//!
//! The receiver model of `receiver_model.rs` answers an arrival.

use super::burstiness::{LONG, LossContext, PacketFate};
use super::constraints::LossConstraints;
use super::hmm::{ModelRates, ObservedAck, SentPacket};
use super::receiver_model::{Effect, RangeSets, ReceiverModel};
use super::timing::ArrivalBounds;
use base::rng::mix;
use base::{Span, Time};

/// State of an event course between two packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    /// Number of observed ACKs explained.
    pub(crate) acks_explained: u32,
    pub(crate) receiver: ReceiverModel,
    /// Length of the current run of lost data packets, saturating at [`LONG`].
    pub(crate) packets_lost: u8,
    /// Length of the current run of lost ACKs, saturating at [`LONG`].
    pub(crate) acks_lost: u8,
    /// ACKs lost since the last explained one; counted only if the IP identification of the next one gives their
    /// number.
    pub(crate) acks_missing: u16,
    /// Packets that were overtaken and have not arrived yet.
    pub(crate) overtaken: Overtaken,
}

/// Transition: next state, arrival bounds after the packet, weight, fate of the packet, and whether the ACK's echo
/// contradicts the echo rule.
pub(crate) type Transition = (Node, ArrivalBounds, f64, PacketFate, bool);

/// Probability that a packet is overtaken, on a path that reorders.
const OVERTAKEN: f64 = 0.3;
/// Probability that an overtaken packet is overtaken by the next packet too.
const BEHIND: f64 = 0.5;
/// Probability that a packet is delayed by more than a round trip.
const HELD_UP: f64 = 0.01;
/// Indices of overtaken packets that have not arrived, ascending, filled up with [`NONE`].
type Overtaken = [u32; 4];
/// Index that stands for no packet.
const NONE: u32 = u32::MAX;

/// Upper limit of transitions from one state.
const MOST_FOLLOW: usize = 96;
/// Factor for a delayed ACK of data that fill a gap: RFC 5681 section 4.2 requires an immediate ACK, but not all
/// receivers conform.
const FILLS_WAITS: f64 = 0.15;
/// Probability that a stretch ACK of three or more segments covers one more. A busy host merges all arrivals since its
/// last ACK, whatever their number.
const STRETCH_GOES_ON: f64 = 0.7;

impl Node {
    /// State before the first packet.
    pub(crate) fn first(receiver: ReceiverModel) -> Node {
        Node {
            acks_explained: 0,
            receiver,
            packets_lost: 0,
            acks_lost: 0,
            acks_missing: 0,
            overtaken: [NONE; 4],
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        let ReceiverModel { next, held, ts_recent: echo, last_ack_sent: told, ack_pending: waits } =
            self.receiver;
        let small = u64::from(self.acks_explained) << 32
            | u64::from(self.packets_lost) << 16
            | u64::from(self.acks_lost) << 8
            | u64::from(waits);
        let small = small ^ u64::from(self.acks_missing) << 48;
        let [a, b, c, d] = self.overtaken.map(u64::from);
        let overtaken = (a ^ c.rotate_left(16)) << 32 | (b ^ d.rotate_left(16));
        mix(mix(next ^ small.rotate_left(17))
            ^ told.rotate_left(29)
            ^ (u64::from(held) << 32 | u64::from(echo))
            ^ mix(overtaken))
    }

    /// Rank for pruning: number of explained ACKs, then whether overtaken packets are outstanding.
    pub(crate) fn rank(&self) -> u32 {
        self.acks_explained * 2 + u32::from(self.overtaken[0] != NONE)
    }

    pub(crate) fn before_packet(&self, gap: Span) -> LossContext {
        LossContext::of(self.packets_lost, self.acks_lost, gap)
    }

    pub(crate) fn before_answer(&self, gap: Span) -> LossContext {
        LossContext::of(self.acks_lost, self.packets_lost, gap)
    }
}

/// Whether an observed cumulative ACK lies in `[seq, end)`: the segment was then missing at that ACK.
fn is_asked_for(marks: &[u64], seq: u64, end: u64) -> bool {
    marks.get(marks.partition_point(|m| *m < seq)).is_some_and(|m| *m < end)
}

/// Time between the sending of packets `i - 1` and `i`.
pub(crate) fn since_last(sent: &[SentPacket], i: usize) -> Span {
    i.checked_sub(1).map_or(Span::ZERO, |last| sent[i].t.since(sent[last].t))
}

/// For each packet, the time of the first ACK that it can have triggered.
pub(crate) fn resumed(sent: &[SentPacket], acks: &[ObservedAck], least: Span) -> Vec<Time> {
    let mut times: Vec<ObservedAck> = acks.to_vec();
    times.sort_by_key(|h| h.t);
    let first = |s: &SentPacket| times.partition_point(|h| !reachable(h, s.t, least));
    sent.iter().map(|s| times.get(first(s)).map_or(s.t, |h| h.t)).collect()
}

/// Inputs for the transitions of one packet.
pub(crate) struct StepContext<'a> {
    pub(crate) at: usize,
    /// Probability that the packet arrived and was acknowledged before the first ACK of the episode part.
    pub(crate) before: f64,
    /// Time since the previous packet was sent.
    pub(crate) gap: Span,
    pub(crate) next_sent: Option<Time>,
    pub(crate) acks: &'a [ObservedAck],
    /// For each packet, the time of the first ACK that it can have triggered. Filled only for reordering paths.
    pub(crate) resumed: &'a [Time],
    pub(crate) marks: &'a [u64],
    pub(crate) constraints: &'a LossConstraints,
    pub(crate) rates: &'a ModelRates,
}

/// Adds all transitions of packet `s` from `node`.
pub(crate) fn step(
    node: &Node,
    front: ArrivalBounds,
    s: &SentPacket,
    context: &StepContext<'_>,
    held: &mut RangeSets,
    out: &mut Vec<Transition>,
) {
    if !node.receiver.ack_pending || node.packets_lost == 0 {
        return turn(*node, 1.0, front, s, context, held, out);
    }
    // The second segment that the delayed ACK waited for was lost: its timer may have expired by now.
    let stays = still_waits(context.gap);
    turn(*node, stays, front, s, context, held, out);
    if stays < 1.0
        && let Some((spoke, share)) = acks_late(node, context)
    {
        turn(spoke, (1.0 - stays) * share, front, s, context, held, out);
    }
}

/// State after the delayed-ACK timer expired and its ACK was lost, with the probability of that loss.
fn acks_late(node: &Node, context: &StepContext<'_>) -> Option<(Node, f64)> {
    let ack_loss = context.rates.ack_loss[node.before_answer(context.gap) as usize];
    let (acks_missing, missing) = missing_acks(node, context);
    let spoke = Node {
        receiver: node.receiver.answers(),
        acks_lost: (node.acks_lost + 1).min(LONG),
        acks_missing,
        ..*node
    };
    missing.is_none_or(|m| u32::from(acks_missing) <= m).then_some((spoke, ack_loss))
}

/// Number of lost ACKs if one more is lost, and number known to be missing.
fn missing_acks(node: &Node, context: &StepContext<'_>) -> (u16, Option<u32>) {
    let missing = context.acks.get(node.acks_explained as usize).and_then(|h| h.missing);
    (if missing.is_some() { node.acks_missing + 1 } else { 0 }, missing)
}

/// Adds the transitions of a packet in its turn of the sending order: loss, overtaking, arrival.
fn turn(
    node: Node,
    share: f64,
    front: ArrivalBounds,
    s: &SentPacket,
    context: &StepContext<'_>,
    held: &mut RangeSets,
    out: &mut Vec<Transition>,
) {
    let StepContext { at, gap, acks, constraints, rates, .. } = *context;
    // An ACK too early for this packet is too early for all later ones.
    let mut node = node;
    let mut sofar = share;
    while let Some(h) = acks.get(node.acks_explained as usize) {
        if !h.free && reachable(h, s.t, rates.least) {
            break;
        }
        let weight = unsolicited(h, &node.receiver, rates);
        if weight == 0.0 {
            if reachable(h, s.t, rates.least) {
                break;
            }
            return;
        }
        sofar *= weight * accounts(h, node.acks_missing, rates);
        if sofar == 0.0 {
            return;
        }
        (node.acks_explained, node.acks_missing) = (node.acks_explained + 1, 0);
        node.receiver = node.receiver.answers();
    }
    if context.before > 0.0 && s.seq > node.receiver.next {
        let before = node.receiver.takes(held, s.seq, s.end, None, rates.rule);
        out.push((
            Node { receiver: before.receiver, ..node },
            front,
            sofar * context.before,
            PacketFate::AckDelayed,
            false,
        ));
        sofar *= 1.0 - context.before;
    }
    let loss = rates.loss[node.before_packet(gap) as usize];
    let lost = rates.pace.passes(front, s, false);
    if constraints.may_lose(at, node.acks_explained, node.receiver.holds(held, s.seq, s.end)) {
        let gone = Node { packets_lost: (node.packets_lost + 1).min(LONG), ..node };
        out.push((gone, lost, sofar * loss, PacketFate::Lost, false));
    }
    if s.seq == s.end && node.receiver.next >= s.end {
        // The ACK of an in-order FIN is triggered by no data packet.
        out.push((
            Node { packets_lost: 0, ..node },
            rates.pace.passes(front, s, true),
            sofar * (1.0 - loss),
            PacketFate::AckDelayed,
            false,
        ));
        return;
    }
    let mut weight = sofar * (1.0 - loss);
    if rates.loose {
        if let Some(overtaken) = put(node.overtaken, at as u32) {
            out.push((
                Node { overtaken, packets_lost: 0, ..node },
                front,
                weight * OVERTAKEN,
                PacketFate::AckDelayed,
                false,
            ));
        }
        weight *= 1.0 - OVERTAKEN;
    }
    arrives(&node, front, s, weight, context, held, out);
}

/// Adds an overtaken packet; None if the list is full.
fn put(mut overtaken: Overtaken, packet: u32) -> Option<Overtaken> {
    *overtaken.iter_mut().find(|p| **p == NONE)? = packet;
    Some(overtaken)
}

/// Removes an overtaken packet that arrives.
fn taken(mut overtaken: Overtaken, at: usize) -> Overtaken {
    overtaken[at] = NONE;
    overtaken.sort_unstable();
    overtaken
}

/// Adds arrivals of overtaken packets, in any order, after the current packet. A packet stays overtaken for at most
/// one RTT after the first ACK that it can have triggered.
pub(crate) fn follow(
    sent: &[SentPacket],
    context: &StepContext<'_>,
    held: &mut RangeSets,
    out: &mut Vec<Transition>,
) {
    let mut k = 0;
    while k < out.len() && out.len() < MOST_FOLLOW {
        let (node, front, weight, fate, echo_mismatch) = out[k];
        k += 1;
        // A lost packet overtakes nothing.
        if fate == PacketFate::Lost && context.next_sent.is_some() {
            continue;
        }
        for (at, &p) in node.overtaken.iter().enumerate().take_while(|p| *p.1 != NONE) {
            // The current packet was not overtaken yet.
            if p as usize == context.at {
                continue;
            }
            let from = out.len();
            let node = Node { overtaken: taken(node.overtaken, at), ..node };
            arrives(&node, front, &sent[p as usize], weight * (1.0 - BEHIND), context, held, out);
            for course in &mut out[from..] {
                (course.3, course.4) = (fate, echo_mismatch || course.4);
            }
        }
    }
    let ended = context.next_sent.is_none();
    let late = |p: u32, acks: u32| {
        let last = acks.checked_sub(1).and_then(|h| context.acks.get(h as usize));
        ended || last.is_some_and(|last| last.t.since(context.resumed[p as usize]) > context.rates.least)
    };
    out.retain(|course| {
        course.0.overtaken.iter().take_while(|p| **p != NONE).all(|p| !late(*p, course.0.acks_explained))
    });
    for course in out.iter_mut().filter(|course| course.3 != PacketFate::Lost) {
        let behind =
            course.0.overtaken.iter().take_while(|p| **p != NONE && **p as usize != context.at).count();
        course.2 *= libm::pow(BEHIND, behind as f64);
    }
    let Some(next) = context.next_sent else { return };
    let long = |p: u32| {
        let t = sent[p as usize].t;
        next.since(t) > context.rates.least && sent[context.at].t.since(t) <= context.rates.least
    };
    for course in out {
        if course.0.overtaken.iter().take_while(|p| **p != NONE).any(|p| long(*p)) {
            course.2 *= HELD_UP;
        }
    }
}

/// Adds the transitions of a packet that arrives: its ACK is delayed, lost or observed.
fn arrives(
    node: &Node,
    front: ArrivalBounds,
    s: &SentPacket,
    arrives: f64,
    context: &StepContext<'_>,
    held: &mut RangeSets,
    out: &mut Vec<Transition>,
) {
    let StepContext { gap, next_sent, acks, marks, rates, .. } = *context;
    let node = *node;
    let effect = node.receiver.takes(held, s.seq, s.end, s.stamp, rates.rule);
    if effect.beyond.is_some() && is_asked_for(marks, s.seq, s.end) {
        return;
    }
    // Cumulative ACKs never decrease: the next observed ACK bounds what arrived before it.
    let most = acks.get(node.acks_explained as usize).map_or(u64::MAX, |h| h.ack);
    if effect.receiver.next > most {
        return;
    }
    let front = rates.pace.passes(front, s, true);
    let mut speak = 1.0;
    if effect.may_wait {
        // The next packet arrives before the delayed-ACK timer expires, unless it was sent too late.
        let wait =
            (0.05 + 0.8 * rates.delays) * still_waits(next_sent.map_or(Span::FOREVER, |n| n.since(s.t)));
        let wait = if effect.fills { wait * FILLS_WAITS } else { wait };
        speak = 1.0 - wait;
        let receiver = ReceiverModel { ack_pending: true, ..effect.receiver };
        out.push((
            Node { receiver, packets_lost: 0, ..node },
            front,
            arrives * wait,
            PacketFate::AckDelayed,
            false,
        ));
    }
    // Stretch ACKs matter only where the receiver's packets are counted.
    if let Some(several) = effect.may_stretch.filter(|_| rates.stretch_ack > 0.0) {
        let goes_on = if several { STRETCH_GOES_ON } else { rates.stretch_ack };
        let receiver = ReceiverModel { ack_pending: true, ..effect.receiver };
        speak = 1.0 - goes_on;
        out.push((
            Node { receiver, packets_lost: 0, ..node },
            front,
            arrives * goes_on,
            PacketFate::AckDelayed,
            false,
        ));
    }
    let answered = effect.receiver.answers();
    let ack_loss = rates.ack_loss[node.before_answer(gap) as usize];
    let (acks_missing, missing) = missing_acks(&node, context);
    if missing.is_none_or(|m| u32::from(acks_missing) <= m) {
        let gone = Node {
            receiver: answered,
            packets_lost: 0,
            acks_lost: (node.acks_lost + 1).min(LONG),
            acks_missing,
            ..node
        };
        out.push((gone, front, arrives * speak * ack_loss, PacketFate::AckLost, false));
    }
    if let Some(h) = acks.get(node.acks_explained as usize) {
        let fits = fits(h, &effect, held, rates);
        if fits > 0.0 && reachable(h, s.t, rates.least) {
            let when = h.left.unwrap_or(h.t);
            // Only the ACK of a single segment is delayed, never that of a duplicate.
            let waits = match (effect.may_wait, effect.fills) {
                (false, _) => 0.0,
                (true, false) => 0.8 * rates.delays,
                (true, true) => 0.8 * rates.delays * FILLS_WAITS,
            };
            let density = match rates.loose {
                true => rates.pace.loose(s.t, when),
                false => rates.pace.density(front, when, waits),
            } * in_time(h, s.t, rates.least);
            let weight =
                arrives * speak * (1.0 - ack_loss) * fits * density * accounts(h, node.acks_missing, rates);
            let node = Node {
                acks_explained: node.acks_explained + 1,
                receiver: answered,
                packets_lost: 0,
                acks_lost: 0,
                acks_missing: 0,
                overtaken: node.overtaken,
            };
            let echo_mismatch = h.echo.is_some_and(|echo| echo != effect.receiver.ts_recent);
            out.push((node, ArrivalBounds::from(when), weight, PacketFate::AckObserved, echo_mismatch));
        }
    }
}

/// Probability that a delayed ACK still waits when a packet sent `gap` later arrives. Its timer is at most 0.5 s (RFC
/// 9293 section 3.8.6.3), but a delay spike may have compressed both packets.
fn still_waits(gap: Span) -> f64 {
    if gap > Span::from_millis(600) { 0.007 } else { 1.0 }
}

/// Whether a packet sent at `t` can have triggered this ACK, by the capture clock.
pub(crate) fn reachable(h: &ObservedAck, t: Time, least: Span) -> bool {
    h.t >= t + Span::from_nanos(least.as_nanos() / 4 * 3)
}

/// Weight of [`reachable`] by the receiver's clock, which may be in error.
fn in_time(h: &ObservedAck, t: Time, least: Span) -> f64 {
    let due = t + Span::from_nanos(least.as_nanos() / 4 * 3);
    if h.left.is_none_or(|left| left >= due) { 1.0 } else { 1e-3 }
}

/// Likelihood of an observed ACK, given the receiver's state.
fn fits(h: &ObservedAck, e: &Effect, held: &RangeSets, rates: &ModelRates) -> f64 {
    if h.ack != e.receiver.next {
        return 0.0;
    }
    let mut weight = 1.0;
    if let Some(echo) = h.echo
        && echo != e.receiver.ts_recent
    {
        weight *= 1e-4;
    }
    if rates.sack {
        match (h.dsack, e.duplicate) {
            (Some(told), Some(is)) if told == is => {}
            (Some(_), _) => return 0.0,
            (None, Some(_)) => weight *= rates.omits_dsack,
            _ => {}
        }
        let is = held.get(e.receiver.held);
        let told = &h.blocks[..h.count];
        if told.iter().any(|b| !is.contains(b)) {
            return 0.0;
        }
        // RFC 2018 section 4: the first block holds what has just arrived.
        if let (Some(seq), Some(first)) = (e.beyond, told.first())
            && !(first.0..first.1).contains(&seq)
        {
            return 0.0;
        }
        let room = if h.echo.is_some() { 3 } else { 4 } - usize::from(h.dsack.is_some());
        if told.len() < is.len().min(room) {
            weight *= 1e-3;
        }
    }
    weight
}

/// Weight of the remaining ACKs at the end, which no packet triggered.
pub(crate) fn rest(node: &Node, acks: &[ObservedAck], rates: &ModelRates) -> f64 {
    let all = acks[node.acks_explained as usize..].iter().enumerate();
    let acks_missing = |i: usize| if i == 0 { node.acks_missing } else { 0 };
    all.map(|(i, h)| unsolicited(h, &node.receiver, rates) * accounts(h, acks_missing(i), rates)).product()
}

/// Weight of the gap in the receiver's IP identifications before this ACK, `acks_missing` of which are lost ACKs.
fn accounts(h: &ObservedAck, acks_missing: u16, rates: &ModelRates) -> f64 {
    match h.missing.map(|m| m.checked_sub(u32::from(acks_missing))) {
        None => 1.0,
        // More ACKs lost than packets sent.
        Some(None) => 0.0,
        Some(Some(others)) => elsewhere(others, rates),
    }
}

/// Probability that a packet to another destination is followed by one more.
const AGAIN: f64 = 0.8;

/// Probability that this number of packets went to other destinations.
pub(crate) fn elsewhere(packets: u32, rates: &ModelRates) -> f64 {
    match packets.checked_sub(1) {
        None => 1.0 - rates.foreign,
        Some(more) => rates.foreign * (1.0 - AGAIN) * libm::pow(AGAIN, f64::from(more)),
    }
}

/// Weight of an ACK that repeats the receiver's state and was triggered by no arrival.
fn unsolicited(h: &ObservedAck, receiver: &ReceiverModel, rates: &ModelRates) -> f64 {
    match (h.ack == receiver.next && h.dsack.is_none() && h.count == 0, h.free) {
        (false, _) => 0.0,
        (true, true) => 1.0,
        (true, false) if rates.loose => 0.02,
        (true, false) => 1e-4,
    }
}
