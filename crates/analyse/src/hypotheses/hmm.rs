//! Search in the hidden Markov model of an episode: event courses (sequences of packet and ACK fates) that explain the
//! observed ACKs, with their likelihood.
//!
//! Packets arrive in the order of sending or are lost; reordering is an option. The receiver model of
//! `receiver_model.rs` answers each arrival; each ACK is lost or is the next observed one. A forward pass with a beam
//! follows all courses in parallel and merges courses in equal states; a backward pass gives posteriors. A
//! retransmission is unneeded with the probability of the courses in which its bytes are at the receiver before it
//! arrives.

pub(crate) use super::burstiness::{LONG, LossContext, LossCounts, PacketFate};
use super::constraints::LossConstraints;
use super::receiver_model::{EchoRule, RangeSets, ReceiverModel};
use super::timing::{ArrivalBounds, PathTiming};
use super::transitions::{
    self, Node, StepContext, Transition, elsewhere, follow, reachable, rest, since_last, step,
};
use crate::facts::copies::later;
use base::{Span, Time};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Data packet of an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) t: Time,
    pub(crate) stamp: Option<u32>,
    /// For a retransmission: index of its record, and cumulative ACK when it was sent.
    pub(crate) result: Option<(usize, u64)>,
}

/// Observed ACK of an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedAck {
    /// Time at the capture point.
    pub(crate) t: Time,
    /// Departure time from the receiver on the capture clock, if known.
    pub(crate) left: Option<Time>,
    pub(crate) ack: u64,
    pub(crate) dsack: Option<(u64, u64)>,
    pub(crate) blocks: [(u64, u64); 4],
    pub(crate) count: usize,
    pub(crate) echo: Option<u32>,
    /// The ACK may have another trigger than a data packet.
    pub(crate) free: bool,
    /// Position in the receiver's IP identification sequence. None where unknown.
    pub(crate) place: Option<u64>,
    /// Packets of the receiver not captured since the ACK before this one. None where unknown.
    pub(crate) missing: Option<u32>,
    /// An ACK with more information was captured before this ACK, although sent later.
    pub(crate) overtaken: bool,
}

/// Parameters of the model: probabilities and delays of path and receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelRates {
    /// Probability that a packet is lost, by [`LossContext`].
    pub(crate) loss: [f64; LossContext::ALL],
    /// Probability that an ACK is lost, by [`LossContext`].
    pub(crate) ack_loss: [f64; LossContext::ALL],
    pub(crate) rule: EchoRule,
    /// The receiver uses SACK.
    pub(crate) sack: bool,
    /// Probability that the receiver delays an ACK to wait for a second segment.
    pub(crate) delays: f64,
    /// Probability of a stretch ACK, used where the receiver counts packets in the IP identification.
    pub(crate) stretch_ack: f64,
    /// Probability that the receiver does not report a duplicate by DSACK.
    pub(crate) omits_dsack: f64,
    /// Minimum time from a packet to its ACK.
    pub(crate) least: Span,
    /// Timing of the path, for the expected arrival of ACKs.
    pub(crate) pace: PathTiming,
    /// The path reorders packets, so ACKs need not match the order of sending.
    pub(crate) loose: bool,
    /// Probability that the receiver sends a packet which is no ACK of this connection.
    pub(crate) foreign: f64,
}

/// Transition between nodes of successive layers.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    weight: f64,
    fate: PacketFate,
    /// The ACK echoes a timestamp that contradicts the echo rule.
    echo_mismatch: bool,
}

/// Result of the search over one episode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// For each retransmission, its index and the probability that it was unneeded.
    pub(crate) odds: Vec<(usize, f64)>,
    /// Log-likelihood of the observed ACKs.
    pub(crate) score: f64,
    pub(crate) counts: LossCounts,
    /// Expected number of ACKs whose echoed timestamp contradicts the echo rule.
    pub(crate) echo_mismatch: f64,
}

/// Nodes after one packet, with forward weights and edges to the next layer.
struct Layer {
    nodes: Vec<Node>,
    /// For each node, bounds on the arrival of earlier packets, along its likeliest course.
    fronts: Vec<ArrivalBounds>,
    alpha: Vec<f64>,
    /// Edges to the next layer.
    edges: Vec<Edge>,
}

/// Width of the beam search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beam {
    /// Number of nodes up to which none is pruned.
    all: usize,
    /// Nodes kept for each rank, if more nodes exist.
    equals: usize,
    /// Upper limit of nodes in one layer.
    widest: usize,
    /// Upper limit of steps of the whole search.
    steps: usize,
}

/// Beam of the first attempt; it nearly always suffices.
pub(crate) const NARROW: Beam = Beam { all: 24, equals: 16, widest: 512, steps: 1 << 18 };
/// Beam of the second attempt, where the first finds no explanation.
pub(crate) const WIDE: Beam = Beam { all: 96, equals: 64, widest: 2048, steps: 1 << 20 };
/// Nodes whose weight is below this share of the best are pruned.
const FAINT: f64 = 1e-5;

/// Packets sent before the first ACK of an episode part. Each may have arrived and been acknowledged before; beyond a
/// gap with the probability `chance`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preceding {
    pub(crate) packets: usize,
    pub(crate) chance: f64,
}

/// Searches one episode. None if no course explains the ACKs, or if the steps are used up. `steps` grows by the steps
/// used.
pub(crate) fn weigh(
    sent: &[SentPacket],
    acks: &[ObservedAck],
    start: ReceiverModel,
    before: Preceding,
    rates: &ModelRates,
    beam: Beam,
    steps: &mut usize,
) -> Option<Outcome> {
    let mut search = Search::new(sent, acks, start, before, rates, beam);
    let most = *steps + beam.steps;
    for i in 0..sent.len() {
        search.advance(i, steps, most)?;
    }
    search.backward()
}

/// Forward-backward search over the courses of one episode.
struct Search<'a> {
    sent: &'a [SentPacket],
    acks: &'a [ObservedAck],
    before: Preceding,
    rates: &'a ModelRates,
    beam: Beam,
    held: RangeSets,
    /// Observed cumulative ACKs, ascending.
    marks: Vec<u64>,
    constraints: LossConstraints,
    /// For each ACK, the number of packets sent early enough to trigger it.
    causes: Vec<u32>,
    demand: Demand,
    resumed: Vec<Time>,
    /// One layer before the first packet and one after each.
    layers: Vec<Layer>,
    /// Log-likelihood so far.
    score: f64,
    /// Transitions from one node (scratch space).
    outs: Vec<Transition>,
    /// Index of the next layer's nodes by their state.
    at: HashTable<u32>,
}

/// A layer while it is filled.
struct Filling {
    nodes: Vec<Node>,
    fronts: Vec<ArrivalBounds>,
    alpha: Vec<f64>,
    /// For each node, the largest weight among its incoming edges.
    heaviest: Vec<f64>,
    edges: Vec<Edge>,
}

impl Filling {
    fn after(layer: &Layer) -> Filling {
        let room = 2 * layer.nodes.len();
        Filling {
            nodes: Vec::with_capacity(room),
            fronts: Vec::with_capacity(room),
            alpha: Vec::with_capacity(room),
            heaviest: Vec::with_capacity(room),
            edges: Vec::with_capacity(4 * layer.nodes.len()),
        }
    }

    /// Adds a transition from node `from` of the previous layer, whose weight is `a`.
    fn add(
        &mut self,
        at: &mut HashTable<u32>,
        from: usize,
        a: f64,
        (to, front, weight, fate, echo_mismatch): &Transition,
    ) {
        let nodes = &mut self.nodes;
        let same = |&k: &u32| nodes[k as usize] == *to;
        let id = match at.entry(to.hash(), same, |&k| nodes[k as usize].hash()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let id = nodes.len() as u32;
                new.insert(id);
                nodes.push(*to);
                self.alpha.push(0.0);
                self.fronts.push(*front);
                self.heaviest.push(0.0);
                id
            }
        };
        let share = a * weight;
        self.alpha[id as usize] += share;
        if share > self.heaviest[id as usize] {
            (self.heaviest[id as usize], self.fronts[id as usize]) = (share, *front);
        }
        self.edges.push(Edge {
            from: from as u32,
            to: id,
            weight: *weight,
            fate: *fate,
            echo_mismatch: *echo_mismatch,
        });
    }
}

impl<'a> Search<'a> {
    fn new(
        sent: &'a [SentPacket],
        acks: &'a [ObservedAck],
        start: ReceiverModel,
        before: Preceding,
        rates: &'a ModelRates,
        beam: Beam,
    ) -> Search<'a> {
        let mut marks: Vec<u64> = acks.iter().map(|h| h.ack).collect();
        marks.dedup();
        let early = |h: &ObservedAck| sent.partition_point(|s| reachable(h, s.t, rates.least)) as u32;
        let causes: Vec<u32> = acks.iter().map(early).collect();
        let resumed = if rates.loose { transitions::resumed(sent, acks, rates.least) } else { Vec::new() };
        let first = Layer {
            nodes: vec![Node::first(start)],
            fronts: vec![ArrivalBounds::default()],
            alpha: vec![1.0],
            edges: Vec::new(),
        };
        Search {
            sent,
            acks,
            before,
            rates,
            beam,
            held: RangeSets::default(),
            marks,
            constraints: LossConstraints::of(sent, acks, rates.least),
            demand: Demand::of(acks, &causes),
            causes,
            resumed,
            layers: vec![first],
            score: 0.0,
            outs: Vec::new(),
            at: HashTable::new(),
        }
    }

    /// Adds the layer after packet `i`: all fates of the packet and its ACK, from every node of the last layer.
    fn advance(&mut self, i: usize, steps: &mut usize, most: usize) -> Option<()> {
        let (sent, acks, rates) = (self.sent, self.acks, self.rates);
        let layer = self.layers.last_mut()?;
        self.at.clear();
        let mut next = Filling::after(layer);
        let context = StepContext {
            at: i,
            before: if i < self.before.packets { self.before.chance } else { 0.0 },
            gap: since_last(sent, i),
            next_sent: sent.get(i + 1).map(|n| n.t),
            acks,
            resumed: &self.resumed,
            marks: &self.marks,
            constraints: &self.constraints,
            rates,
        };
        for (from, (node, a)) in layer.nodes.iter().zip(&layer.alpha).enumerate() {
            self.outs.clear();
            step(node, layer.fronts[from], &sent[i], &context, &mut self.held, &mut self.outs);
            if rates.loose {
                follow(sent, &context, &mut self.held, &mut self.outs);
            }
            for out in &self.outs {
                next.add(&mut self.at, from, *a, out);
            }
        }
        *steps += self.at.len();
        let left = |k: usize| self.causes.get(k).map_or(0, |c| c.saturating_sub(i as u32 + 1));
        let (held, marks) = (&self.held, &self.marks);
        let Filling { mut nodes, mut fronts, mut alpha, mut edges, .. } = next;
        if !rates.loose {
            let lacking = |n: &Node| self.demand.lacking(n.acks_explained, i as u32 + 1);
            let least = nodes.iter().map(lacking).min().unwrap_or(0).max(0);
            let keep: Vec<bool> = nodes.iter().map(|n| lacking(n) < least + HOPELESS).collect();
            retain(&keep, &mut nodes, &mut fronts, &mut alpha, &mut edges);
        }
        prune(&mut nodes, &mut fronts, &mut alpha, &mut edges, self.beam, |n| {
            heuristic(n, held, acks, marks, left, rates)
        });
        // The work of a step grows with the number of gaps in the receive buffer.
        let holes = nodes.iter().map(|n| held.get(n.receiver.held).len() / 8).sum::<usize>();
        *steps += nodes.len() + edges.len() + holes;
        let sum: f64 = alpha.iter().sum();
        if sum <= 0.0 || nodes.is_empty() || *steps > most {
            return None;
        }
        self.score += libm::log(sum);
        alpha.iter_mut().for_each(|a| *a /= sum);
        layer.edges = edges;
        self.layers.push(Layer { nodes, fronts, alpha, edges: Vec::new() });
        Some(())
    }

    /// Backward pass, from the states in which every ACK is explained.
    fn backward(mut self) -> Option<Outcome> {
        let last = self.layers.last()?;
        let mut beta: Vec<f64> = last.nodes.iter().map(|n| rest(n, self.acks, self.rates)).collect();
        let end: f64 = last.alpha.iter().zip(&beta).map(|(a, b)| a * b).sum();
        if end <= 0.0 {
            return None;
        }
        self.score += libm::log(end);
        let (mut odds, mut counts, mut echo_mismatch) = (Vec::new(), LossCounts::default(), 0.0);
        for (i, s) in self.sent.iter().enumerate().rev() {
            let layer = &self.layers[i];
            let mut behind = vec![0.0; layer.nodes.len()];
            for e in &layer.edges {
                behind[e.from as usize] += e.weight * beta[e.to as usize];
            }
            self.count(i, &beta, &mut counts, &mut echo_mismatch);
            let most = behind.iter().copied().fold(0.0, f64::max);
            if most <= 0.0 {
                return None;
            }
            behind.iter_mut().for_each(|b| *b /= most);
            if let Some((result, acked)) = s.result {
                odds.push((result, self.unneeded(layer, &behind, s, acked)));
            }
            beta = behind;
        }
        Some(Outcome { odds, score: self.score, counts, echo_mismatch })
    }

    /// Adds the expected fates of packet `i` and of its ACK.
    fn count(&self, i: usize, beta: &[f64], counts: &mut LossCounts, echo_mismatch: &mut f64) {
        let (layer, gap) = (&self.layers[i], since_last(self.sent, i));
        let all = layer.edges.iter().map(|e| e.share(&layer.alpha, beta)).sum::<f64>();
        if all <= 0.0 {
            return;
        }
        for e in &layer.edges {
            let from = &layer.nodes[e.from as usize];
            // After the last observed ACK, a loss and the end of the capture are indistinguishable.
            if from.acks_explained as usize >= self.acks.len() {
                continue;
            }
            let share = e.share(&layer.alpha, beta) / all;
            counts.add(from.before_packet(gap), from.before_answer(gap), e.fate, share);
            *echo_mismatch += if e.echo_mismatch { share } else { 0.0 };
        }
    }

    /// Probability that the bytes of a retransmission are at the receiver before it arrives.
    fn unneeded(&self, layer: &Layer, behind: &[f64], s: &SentPacket, acked: u64) -> f64 {
        let (mut yes, mut all) = (0.0, 0.0);
        for ((node, a), b) in layer.nodes.iter().zip(&layer.alpha).zip(behind) {
            let weight = a * b;
            all += weight;
            let comes = |p: &u32| {
                self.sent.get(*p as usize).is_some_and(|o| o.seq <= s.seq.max(acked) && s.end <= o.end)
            };
            if node.receiver.holds(&self.held, s.seq.max(acked), s.end) || node.overtaken.iter().any(comes) {
                yes += weight;
            }
        }
        if all > 0.0 { yes / all } else { 0.5 }
    }
}

impl Edge {
    fn share(&self, alpha: &[f64], beta: &[f64]) -> f64 {
        alpha[self.from as usize] * self.weight * beta[self.to as usize]
    }
}

/// Balance of ACKs and packets: each ACK needs an arrival of its own, unless it is `free`.
struct Demand {
    /// For each ACK, the number of earlier ACKs that need an arrival.
    answers: Vec<i64>,
    /// For each ACK, the largest excess, at any later ACK, of ACKs that need an arrival over packets sent in time.
    most: Vec<i64>,
}

/// Excess of needed over possible arrivals, compared with the best node, from which a node is dropped. An ACK without
/// a trigger has probability 1e-4 (`transitions::unsolicited`), so such nodes weigh at most 1e-16 of the best.
const HOPELESS: i64 = 4;

impl Demand {
    fn of(acks: &[ObservedAck], causes: &[u32]) -> Demand {
        let mut answers = Vec::with_capacity(acks.len() + 1);
        answers.push(0);
        answers.extend(acks.iter().scan(0, |sum, h| {
            *sum += i64::from(!h.free);
            Some(*sum)
        }));
        let mut most = vec![i64::MIN / 2; acks.len() + 1];
        for (k, cause) in causes.iter().enumerate().rev() {
            most[k] = most[k + 1].max(answers[k + 1] - i64::from(*cause));
        }
        Demand { answers, most }
    }

    /// Excess of the ACKs from `acks` on over the packets that can still trigger them, after `turns` packets.
    fn lacking(&self, acks: u32, turns: u32) -> i64 {
        self.most[acks as usize] - self.answers[acks as usize] + i64::from(turns)
    }
}

/// Prunes a layer to the heaviest nodes of each rank.
fn prune(
    nodes: &mut Vec<Node>,
    fronts: &mut Vec<ArrivalBounds>,
    alpha: &mut Vec<f64>,
    edges: &mut Vec<Edge>,
    beam: Beam,
    promise: impl Fn(&Node) -> f64,
) {
    if nodes.len() <= beam.all {
        return;
    }
    // A node with fewer explained ACKs has fewer factors in its weight: only nodes of equal rank are comparable.
    let weight = |i: usize| alpha[i] * promise(&nodes[i]);
    let mut order: Vec<(u32, f64, usize)> =
        (0..nodes.len()).map(|i| (nodes[i].rank(), weight(i), i)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let groups = order.chunk_by(|a, b| a.0 == b.0).count();
    let equals = beam.equals.min(beam.widest / groups).max(2);
    let mut keep = vec![false; nodes.len()];
    let (mut group, mut rank, mut best) = (u32::MAX, 0, 0.0);
    for (rival, weight, i) in order {
        if rival != group {
            (group, rank, best) = (rival, 0, weight);
        }
        rank += 1;
        keep[i] = rank <= equals && weight > best * FAINT;
    }
    retain(&keep, nodes, fronts, alpha, edges);
}

/// Keeps the marked nodes and the edges that lead to them.
fn retain(
    keep: &[bool],
    nodes: &mut Vec<Node>,
    fronts: &mut Vec<ArrivalBounds>,
    alpha: &mut Vec<f64>,
    edges: &mut Vec<Edge>,
) {
    if keep.iter().all(|k| *k) {
        return;
    }
    let mut moved = vec![u32::MAX; nodes.len()];
    let mut kept = 0;
    for i in 0..nodes.len() {
        if keep[i] {
            moved[i] = kept as u32;
            nodes[kept] = nodes[i];
            fronts[kept] = fronts[i];
            alpha[kept] = alpha[i];
            kept += 1;
        }
    }
    nodes.truncate(kept);
    fronts.truncate(kept);
    alpha.truncate(kept);
    edges.retain_mut(|e| {
        e.to = moved[e.to as usize];
        e.to != u32::MAX
    });
}

/// Look-ahead factor for pruning: agreement of a node with the next ACKs. It changes no weight.
///
/// Once the gap before an out-of-order range is filled, the receiver acknowledges the end of the range, unless that
/// ACK is lost. The remaining packets must suffice for the ACKs missing before the next observed one.
fn heuristic(
    node: &Node,
    held: &RangeSets,
    acks: &[ObservedAck],
    marks: &[u64],
    left: impl Fn(usize) -> u32,
    rates: &ModelRates,
) -> f64 {
    let lacking = acks.get(node.acks_explained as usize).and_then(|h| h.missing).map_or(0, |m| {
        m.saturating_sub(u32::from(node.acks_missing)).saturating_sub(left(node.acks_explained as usize))
    });
    let next = acks.get(node.acks_explained as usize).and_then(|h| h.echo);
    let echoes = if next.is_some_and(|e| later(node.receiver.ts_recent, e)) { 1e-4 } else { 1.0 };
    let asked: f64 = held
        .get(node.receiver.held)
        .iter()
        .map(|r| if marks.binary_search(&r.1).is_ok() { 1.0 } else { 0.05 })
        .product();
    echoes * asked * if lacking > 0 { elsewhere(lacking, rates) } else { 1.0 }
}
