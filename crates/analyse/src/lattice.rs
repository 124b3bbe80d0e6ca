//! Which course of events explains what came back? Copies arrive in the order they were sent or are lost, the receiver
//! answers each arrival as its copy in `mirror.rs` would, answers are lost or are the next one that was seen. Every
//! course that explains all answers is followed at once; courses that have led to the same are followed as one
//! (a hidden Markov model). What share of the weight of all courses has the earlier bytes at the receiver when a
//! retransmission's turn comes is how likely it was unneeded.

use crate::mirror::{EchoRule, Effect, Held, Mirror};
use base::{Span, Time};
use std::collections::BTreeMap;

/// A packet with data that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) t: Time,
    pub(crate) stamp: Option<u32>,
    /// Where the verdict is wanted, and what was acknowledged when it was sent.
    pub(crate) result: Option<(usize, u64)>,
}

/// An acknowledgement that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// When it was seen; when it left the receiver, if that is known.
    pub(crate) t: Time,
    pub(crate) left: Option<Time>,
    pub(crate) ack: u64,
    pub(crate) dsack: Option<(u64, u64)>,
    pub(crate) blocks: [(u64, u64); 4],
    pub(crate) count: usize,
    pub(crate) echo: Option<u32>,
    /// It may have been sent for another reason than an arrival.
    pub(crate) free: bool,
}

/// How often things happen on a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// A packet is lost after one that was not; after one that was.
    pub(crate) loss: [f64; 2],
    /// The same of acknowledgements.
    pub(crate) deaf: [f64; 2],
    pub(crate) rule: EchoRule,
    /// The receiver uses SACK.
    pub(crate) sack: bool,
    /// How often it waits for a second segment before it answers.
    pub(crate) delays: f64,
    /// How likely it does not report a duplicate.
    pub(crate) silent: f64,
    /// The shortest round trip, and what it seldom exceeds.
    pub(crate) least: Span,
    pub(crate) usual: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Node {
    /// Answers that are explained.
    heard: u32,
    mirror: Mirror,
    /// The last packet was lost; the last answer was; the last answer that came was late.
    lost: bool,
    deaf: bool,
    late: bool,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    weight: f64,
    became: Became,
}

/// What became of a packet and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Became {
    Lost,
    /// It arrived, and its answer waits.
    Waits,
    /// It arrived, and its answer was lost.
    Deaf,
    /// It arrived, and its answer came.
    Heard,
}

/// What comes of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// How likely each retransmission was unneeded.
    pub(crate) odds: Vec<(usize, f64)>,
    /// How well all was explained: the logarithm of the weight.
    pub(crate) score: f64,
    pub(crate) counts: Counts,
    /// Steps that were followed.
    pub(crate) steps: usize,
}

/// How often packets were lost and not, after one that was not and after one that was; the same of answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) loss: [[f64; 2]; 2],
    pub(crate) deaf: [[f64; 2]; 2],
}

impl Counts {
    fn add(&mut self, from: &Node, became: Became, share: f64) {
        self.loss[usize::from(from.lost)][usize::from(became == Became::Lost)] += share;
        match became {
            Became::Lost | Became::Waits => {}
            Became::Deaf => self.deaf[usize::from(from.deaf)][1] += share,
            Became::Heard => self.deaf[usize::from(from.deaf)][0] += share,
        }
    }
}

struct Layer {
    nodes: Vec<Node>,
    alpha: Vec<f64>,
    /// To the next layer.
    edges: Vec<Edge>,
}

/// How often an answer takes longer than usual after one that did not, and after one that did.
const LATE: f64 = 0.02;
const STAYS_LATE: f64 = 0.8;
/// No acknowledgement that waits for its timer comes sooner after the shortest round trip.
const AT_ONCE: Span = Span::from_millis(60);
/// So many courses are all followed; of more, at each number of explained answers so many, if they weigh more than
/// this share of the best.
const BEAM: usize = 24;
const EQUALS: usize = 8;
const FAINT: f64 = 1e-5;

/// Weighs the courses; nothing if none explains what came.
pub(crate) fn weigh(sent: &[Sent], heard: &[Heard], start: Mirror, rates: &Rates) -> Option<Outcome> {
    let mut held = Held::default();
    let mut marks: Vec<u64> = heard.iter().map(|h| h.ack).collect();
    marks.dedup();
    let first = Node { heard: 0, mirror: start, lost: false, deaf: false, late: false };
    let mut layers = vec![Layer { nodes: vec![first], alpha: vec![1.0], edges: Vec::new() }];
    let mut score = 0.0;
    for (i, s) in sent.iter().enumerate() {
        let next_sent = sent.get(i + 1).map(|n| n.t);
        let layer = layers.last_mut()?;
        let mut at: BTreeMap<Node, u32> = BTreeMap::new();
        let (mut nodes, mut alpha) = (Vec::new(), Vec::<f64>::new());
        let mut edges = Vec::new();
        let mut outs = Vec::new();
        let scene = Scene { next_sent, heard, marks: &marks, rates };
        for (from, (node, a)) in layer.nodes.iter().zip(&layer.alpha).enumerate() {
            outs.clear();
            step(node, s, &scene, &mut held, &mut outs);
            for (to, weight, became) in &outs {
                let id = *at.entry(*to).or_insert_with(|| {
                    nodes.push(*to);
                    alpha.push(0.0);
                    nodes.len() as u32 - 1
                });
                alpha[id as usize] += a * weight;
                edges.push(Edge { from: from as u32, to: id, weight: *weight, became: *became });
            }
        }
        prune(&mut nodes, &mut alpha, &mut edges, &held, &marks);
        let sum: f64 = alpha.iter().sum();
        if sum <= 0.0 || nodes.is_empty() {
            return None;
        }
        score += libm::log(sum);
        alpha.iter_mut().for_each(|a| *a /= sum);
        layer.edges = edges;
        layers.push(Layer { nodes, alpha, edges: Vec::new() });
    }
    // Back from the end: every answer is explained there.
    let last = layers.last()?;
    let mut beta: Vec<f64> = last.nodes.iter().map(|n| rest(n, heard)).collect();
    let end: f64 = last.alpha.iter().zip(&beta).map(|(a, b)| a * b).sum();
    if end <= 0.0 {
        return None;
    }
    score += libm::log(end);
    let (mut odds, mut counts) = (Vec::new(), Counts::default());
    for (i, s) in sent.iter().enumerate().rev() {
        let layer = &layers[i];
        let mut before = vec![0.0; layer.nodes.len()];
        for e in &layer.edges {
            before[e.from as usize] += e.weight * beta[e.to as usize];
        }
        let (all, mut shares) =
            (layer.edges.iter().map(|e| e.share(&layer.alpha, &beta)).sum::<f64>(), counts);
        if all > 0.0 {
            for e in &layer.edges {
                let from = &layer.nodes[e.from as usize];
                shares.add(from, e.became, e.share(&layer.alpha, &beta) / all);
            }
        }
        counts = shares;
        let most = before.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return None;
        }
        before.iter_mut().for_each(|b| *b /= most);
        if let Some((result, acked)) = s.result {
            let (mut yes, mut all) = (0.0, 0.0);
            for ((node, a), b) in layer.nodes.iter().zip(&layer.alpha).zip(&before) {
                let weight = a * b;
                all += weight;
                if node.mirror.holds(&held, s.seq.max(acked), s.end) {
                    yes += weight;
                }
            }
            odds.push((result, if all > 0.0 { yes / all } else { 0.5 }));
        }
        beta = before;
    }
    let steps = layers.iter().map(|l| l.edges.len()).sum();
    Some(Outcome { odds, score, counts, steps })
}

impl Edge {
    fn share(&self, alpha: &[f64], beta: &[f64]) -> f64 {
        alpha[self.from as usize] * self.weight * beta[self.to as usize]
    }
}

/// What came last without any packet as its cause.
fn rest(node: &Node, heard: &[Heard]) -> f64 {
    heard[node.heard as usize..].iter().map(|h| unsolicited(h, &node.mirror)).product()
}

/// It says what is known: something else made the receiver speak.
fn unsolicited(h: &Heard, mirror: &Mirror) -> f64 {
    match (h.ack == mirror.next && h.dsack.is_none() && h.count == 0, h.free) {
        (false, _) => 0.0,
        (true, true) => 1.0,
        (true, false) => 1e-4,
    }
}

/// Keeps the heaviest.
fn prune(nodes: &mut Vec<Node>, alpha: &mut Vec<f64>, edges: &mut Vec<Edge>, held: &Held, marks: &[u64]) {
    if nodes.len() <= BEAM {
        return;
    }
    // Who has explained fewer answers so far has yet to pay for the others: only equals are compared.
    let weight = |i: usize| alpha[i] * promise(&nodes[i], held, marks);
    let mut order: Vec<(u32, f64, usize)> =
        (0..nodes.len()).map(|i| (nodes[i].heard, weight(i), i)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut keep = vec![false; nodes.len()];
    let (mut group, mut rank, mut best) = (u32::MAX, 0, 0.0);
    for (heard, weight, i) in order {
        if heard != group {
            (group, rank, best) = (heard, 0, weight);
        }
        rank += 1;
        keep[i] = rank <= EQUALS && weight > best * FAINT;
    }
    let mut moved = vec![u32::MAX; nodes.len()];
    let mut kept = 0;
    for i in 0..nodes.len() {
        if keep[i] {
            moved[i] = kept as u32;
            nodes[kept] = nodes[i];
            alpha[kept] = alpha[i];
            kept += 1;
        }
    }
    nodes.truncate(kept);
    alpha.truncate(kept);
    edges.retain_mut(|e| {
        e.to = moved[e.to as usize];
        e.to != u32::MAX
    });
}

/// How well what lies beyond the gap agrees with what comes: where a stretch ends the receiver asks for what follows once
/// all before it is there, unless that answer is lost. Only for the choice of whom to follow.
fn promise(node: &Node, held: &Held, marks: &[u64]) -> f64 {
    held.get(node.mirror.held)
        .iter()
        .map(|r| if marks.binary_search(&r.1).is_ok() { 1.0 } else { 0.05 })
        .product()
}

/// What lies beyond a gap is never asked for again.
fn is_asked_for(marks: &[u64], seq: u64, end: u64) -> bool {
    marks.get(marks.partition_point(|m| *m < seq)).is_some_and(|m| *m < end)
}

/// What surrounds a packet that was sent.
struct Scene<'a> {
    next_sent: Option<Time>,
    heard: &'a [Heard],
    marks: &'a [u64],
    rates: &'a Rates,
}

/// What can become of this packet.
fn step(node: &Node, s: &Sent, scene: &Scene<'_>, held: &mut Held, out: &mut Vec<(Node, f64, Became)>) {
    let Scene { next_sent, heard, marks, rates } = *scene;
    // What came too soon for this packet can have none of the later ones as its cause either.
    let mut node = *node;
    let mut sofar = 1.0;
    while let Some(h) = heard.get(node.heard as usize) {
        if !h.free && reachable(h, s.t, rates.least) {
            break;
        }
        let weight = unsolicited(h, &node.mirror);
        if weight == 0.0 {
            if reachable(h, s.t, rates.least) {
                break;
            }
            return;
        }
        sofar *= weight;
        node.heard += 1;
        node.mirror = node.mirror.answers();
    }
    let loss = rates.loss[usize::from(node.lost)];
    out.push((Node { lost: true, ..node }, sofar * loss, Became::Lost));
    let effect = node.mirror.takes(held, s.seq, s.end, s.stamp, rates.rule);
    if effect.beyond.is_some() && is_asked_for(marks, s.seq, s.end) {
        return;
    }
    let arrives = sofar * (1.0 - loss);
    let mut speak = 1.0;
    if effect.may_wait {
        // The next one comes before the timer of the acknowledgement, unless something holds it up until then.
        let far = next_sent.is_none_or(|n| n.since(s.t) > Span::from_millis(600));
        let wait = if far { 0.02 } else { 0.05 + 0.8 * rates.delays };
        speak = 1.0 - wait;
        let mirror = Mirror { waits: true, ..effect.mirror };
        out.push((Node { mirror, lost: false, ..node }, arrives * wait, Became::Waits));
    }
    let answered = effect.mirror.answers();
    let deaf = rates.deaf[usize::from(node.deaf)];
    let gone = Node { mirror: answered, lost: false, deaf: true, ..node };
    out.push((gone, arrives * speak * deaf, Became::Deaf));
    if let Some(h) = heard.get(node.heard as usize) {
        let fits = fits(h, &effect, held, rates) * in_time(h, s.t, rates.least);
        if fits > 0.0 {
            let late = h.t > s.t + rates.usual;
            // A receiver that delays acknowledgements does so with one segment alone, and never with a duplicate.
            let at_once = h.t <= s.t + rates.least + AT_ONCE;
            let patience = match (effect.may_wait, at_once) {
                (true, true) => 1.0 - 0.8 * rates.delays,
                (true, false) => 0.8,
                (false, _) => 0.8,
            };
            let fits = fits * patience;
            let weight = match (node.late, late) {
                (false, false) => 1.0 - LATE,
                // That it comes just then, and not at any other time since, is the less likely the longer it took.
                (false, true) => LATE * rates.usual.as_secs_f64() / h.t.since(s.t).as_secs_f64().max(1e-9),
                (true, false) => 1.0 - STAYS_LATE,
                (true, true) => STAYS_LATE,
            };
            let node = Node { heard: node.heard + 1, mirror: answered, lost: false, deaf: false, late };
            out.push((node, arrives * speak * (1.0 - deaf) * fits * weight, Became::Heard));
        }
    }
}

/// This answer can be to what was sent at `t`.
fn reachable(h: &Heard, t: Time, least: Span) -> bool {
    h.t >= t + Span::from_nanos(least.as_nanos() / 4 * 3)
}

/// The same by the receiver's clock, which may go wrong.
fn in_time(h: &Heard, t: Time, least: Span) -> f64 {
    let due = t + Span::from_nanos(least.as_nanos() / 4 * 3);
    if h.left.is_none_or(|left| left >= due) { 1.0 } else { 1e-3 }
}

/// How well an answer is what the receiver would have said now.
fn fits(h: &Heard, e: &Effect, held: &Held, rates: &Rates) -> f64 {
    if h.ack != e.mirror.next {
        return 0.0;
    }
    let mut weight = 1.0;
    if let Some(echo) = h.echo
        && echo != e.mirror.echo
    {
        weight *= 1e-4;
    }
    if rates.sack {
        match (h.dsack, e.duplicate) {
            (Some(told), Some(is)) if told == is => {}
            (Some(_), _) => return 0.0,
            (None, Some(_)) => weight *= rates.silent,
            _ => {}
        }
        let is = held.get(e.mirror.held);
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
