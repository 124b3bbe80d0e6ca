//! Which course of events explains what came back? Copies arrive in the order they were sent or are lost, the receiver
//! answers each arrival as its copy in `mirror.rs` would, answers are lost or are the next one that was seen. Every
//! course that explains all answers is followed at once; courses that have led to the same are followed as one
//! (a hidden Markov model). What share of the weight of all courses has the earlier bytes at the receiver when a
//! retransmission's turn comes is how likely it was unneeded.

use crate::chances::Chances;
use crate::copies::later;
use crate::mirror::{EchoRule, Effect, Held, Mirror};
use crate::pace::{Front, Pace};
pub(crate) use crate::past::{Became, Counts, LONG, Past};
use base::rng::mix;
use base::{Span, Time};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

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
    /// A packet is lost: by [`Past`].
    pub(crate) loss: [f64; Past::ALL],
    /// An answer is lost: by [`Past`].
    pub(crate) deaf: [f64; Past::ALL],
    pub(crate) rule: EchoRule,
    /// The receiver uses SACK.
    pub(crate) sack: bool,
    /// How often it waits for a second segment before it answers.
    pub(crate) delays: f64,
    /// How likely it does not report a duplicate.
    pub(crate) silent: f64,
    /// No answer comes sooner.
    pub(crate) least: Span,
    /// How long things take on this path.
    pub(crate) pace: Pace,
    /// Packets overtake each other now and then: what comes need not fit.
    pub(crate) loose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    /// Answers that are explained.
    heard: u32,
    mirror: Mirror,
    /// So many packets in a row were lost just now; so many answers. More than [`LONG`] are not counted.
    lost: u8,
    deaf: u8,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    weight: f64,
    became: Became,
    /// The answer echoes what the receiver should not have echoed.
    odd: bool,
}

/// What comes of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// How likely each retransmission was unneeded.
    pub(crate) odds: Vec<(usize, f64)>,
    /// How well all was explained: the logarithm of the weight.
    pub(crate) score: f64,
    pub(crate) counts: Counts,
    /// How many answers, all courses weighed, echo what the receiver should not have echoed.
    pub(crate) odd: f64,
}

struct Layer {
    nodes: Vec<Node>,
    /// Of each: when the path is through with what was sent before, along its likeliest course.
    fronts: Vec<Front>,
    alpha: Vec<f64>,
    /// To the next layer.
    edges: Vec<Edge>,
}

/// What fills a gap should be answered at once (RFC 5681 section 4.2); not all receivers do.
const FILLS_WAITS: f64 = 0.15;
/// So many courses are all followed; of more, at each number of explained answers so many, if they weigh more than
/// this share of the best.
const BEAM: usize = 24;
const EQUALS: usize = 8;
const FAINT: f64 = 1e-5;
/// No more courses than this are followed at once, and no more steps than this in all.
const WIDEST: usize = 256;
const ENOUGH: usize = 1 << 18;

/// Weighs the courses; nothing if none explains what came, or too many do. `steps` grows by those that were followed.
pub(crate) fn weigh(
    sent: &[Sent],
    heard: &[Heard],
    start: Mirror,
    rates: &Rates,
    steps: &mut usize,
) -> Option<Outcome> {
    let mut held = Held::default();
    let mut marks: Vec<u64> = heard.iter().map(|h| h.ack).collect();
    marks.dedup();
    let chances = Chances::of(sent, heard, rates.least);
    let first = Node { heard: 0, mirror: start, lost: 0, deaf: 0 };
    let mut layers = vec![Layer {
        nodes: vec![first],
        fronts: vec![Front::default()],
        alpha: vec![1.0],
        edges: Vec::new(),
    }];
    let most = *steps + ENOUGH;
    let mut score = 0.0;
    let mut outs = Vec::new();
    // Which of the next layer's nodes a course has led to, found by what it is.
    let mut at: HashTable<u32> = HashTable::new();
    for (i, s) in sent.iter().enumerate() {
        let next_sent = sent.get(i + 1).map(|n| n.t);
        let layer = layers.last_mut()?;
        at.clear();
        let room = 2 * layer.nodes.len();
        let (mut nodes, mut alpha) = (Vec::<Node>::with_capacity(room), Vec::<f64>::with_capacity(room));
        let (mut fronts, mut heaviest) = (Vec::<Front>::with_capacity(room), Vec::<f64>::with_capacity(room));
        let mut edges = Vec::with_capacity(4 * layer.nodes.len());
        let scene = Scene {
            at: i,
            gap: since_last(sent, i),
            next_sent,
            heard,
            marks: &marks,
            chances: &chances,
            rates,
        };
        for (from, (node, a)) in layer.nodes.iter().zip(&layer.alpha).enumerate() {
            outs.clear();
            step(node, layer.fronts[from], s, &scene, &mut held, &mut outs);
            for (to, front, weight, became, odd) in &outs {
                let same = |&k: &u32| nodes[k as usize] == *to;
                let id = match at.entry(to.hash(), same, |&k| nodes[k as usize].hash()) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        let id = nodes.len() as u32;
                        new.insert(id);
                        nodes.push(*to);
                        alpha.push(0.0);
                        fronts.push(*front);
                        heaviest.push(0.0);
                        id
                    }
                };
                let share = a * weight;
                alpha[id as usize] += share;
                if share > heaviest[id as usize] {
                    (heaviest[id as usize], fronts[id as usize]) = (share, *front);
                }
                let (weight, became, odd) = (*weight, *became, *odd);
                edges.push(Edge { from: from as u32, to: id, weight, became, odd });
            }
        }
        *steps += at.len();
        prune(&mut nodes, &mut fronts, &mut alpha, &mut edges, &held, heard, &marks);
        *steps += nodes.len() + edges.len();
        let sum: f64 = alpha.iter().sum();
        if sum <= 0.0 || nodes.is_empty() || *steps > most {
            return None;
        }
        score += libm::log(sum);
        alpha.iter_mut().for_each(|a| *a /= sum);
        layer.edges = edges;
        layers.push(Layer { nodes, fronts, alpha, edges: Vec::new() });
    }
    // Back from the end: every answer is explained there.
    let last = layers.last()?;
    let mut beta: Vec<f64> = last.nodes.iter().map(|n| rest(n, heard, rates)).collect();
    let end: f64 = last.alpha.iter().zip(&beta).map(|(a, b)| a * b).sum();
    if end <= 0.0 {
        return None;
    }
    score += libm::log(end);
    let (mut odds, mut counts, mut odd) = (Vec::new(), Counts::default(), 0.0);
    for (i, s) in sent.iter().enumerate().rev() {
        let (layer, gap) = (&layers[i], since_last(sent, i));
        let mut before = vec![0.0; layer.nodes.len()];
        for e in &layer.edges {
            before[e.from as usize] += e.weight * beta[e.to as usize];
        }
        let (all, mut shares) =
            (layer.edges.iter().map(|e| e.share(&layer.alpha, &beta)).sum::<f64>(), counts);
        if all > 0.0 {
            for e in &layer.edges {
                let from = &layer.nodes[e.from as usize];
                // What comes after the last answer is not known to be lost.
                if from.heard as usize >= heard.len() {
                    continue;
                }
                let share = e.share(&layer.alpha, &beta) / all;
                shares.add(from.before_packet(gap), from.before_answer(gap), e.became, share);
                odd += if e.odd { share } else { 0.0 };
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
    Some(Outcome { odds, score, counts, odd })
}

impl Node {
    fn hash(&self) -> u64 {
        let Mirror { next, held, echo, told, waits } = self.mirror;
        let small = u64::from(self.heard) << 32
            | u64::from(self.lost) << 16
            | u64::from(self.deaf) << 8
            | u64::from(waits);
        mix(mix(next ^ small.rotate_left(17))
            ^ told.rotate_left(29)
            ^ (u64::from(held) << 32 | u64::from(echo)))
    }

    fn before_packet(&self, gap: Span) -> Past {
        Past::of(self.lost, self.deaf, gap)
    }

    fn before_answer(&self, gap: Span) -> Past {
        Past::of(self.deaf, self.lost, gap)
    }
}

impl Edge {
    fn share(&self, alpha: &[f64], beta: &[f64]) -> f64 {
        alpha[self.from as usize] * self.weight * beta[self.to as usize]
    }
}

/// What came last without any packet as its cause.
fn rest(node: &Node, heard: &[Heard], rates: &Rates) -> f64 {
    heard[node.heard as usize..].iter().map(|h| unsolicited(h, &node.mirror, rates)).product()
}

/// It says what is known: something else made the receiver speak.
fn unsolicited(h: &Heard, mirror: &Mirror, rates: &Rates) -> f64 {
    match (h.ack == mirror.next && h.dsack.is_none() && h.count == 0, h.free) {
        (false, _) => 0.0,
        (true, true) => 1.0,
        (true, false) if rates.loose => 0.02,
        (true, false) => 1e-4,
    }
}

/// Keeps the heaviest.
fn prune(
    nodes: &mut Vec<Node>,
    fronts: &mut Vec<Front>,
    alpha: &mut Vec<f64>,
    edges: &mut Vec<Edge>,
    held: &Held,
    heard: &[Heard],
    marks: &[u64],
) {
    if nodes.len() <= BEAM {
        return;
    }
    // Who has explained fewer answers so far has yet to pay for the others: only equals are compared.
    let weight = |i: usize| alpha[i] * promise(&nodes[i], held, heard, marks);
    let mut order: Vec<(u32, f64, usize)> =
        (0..nodes.len()).map(|i| (nodes[i].heard, weight(i), i)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let groups = order.chunk_by(|a, b| a.0 == b.0).count();
    let equals = EQUALS.min(WIDEST / groups).max(2);
    let mut keep = vec![false; nodes.len()];
    let (mut group, mut rank, mut best) = (u32::MAX, 0, 0.0);
    for (heard, weight, i) in order {
        if heard != group {
            (group, rank, best) = (heard, 0, weight);
        }
        rank += 1;
        keep[i] = rank <= equals && weight > best * FAINT;
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

/// How well what lies beyond the gap agrees with what comes: where a stretch ends the receiver asks for what follows once
/// all before it is there, unless that answer is lost. Only for the choice of whom to follow.
fn promise(node: &Node, held: &Held, heard: &[Heard], marks: &[u64]) -> f64 {
    let next = heard.get(node.heard as usize).and_then(|h| h.echo);
    let echoes = if next.is_some_and(|e| later(node.mirror.echo, e)) { 1e-4 } else { 1.0 };
    let asked: f64 = held
        .get(node.mirror.held)
        .iter()
        .map(|r| if marks.binary_search(&r.1).is_ok() { 1.0 } else { 0.05 })
        .product();
    echoes * asked
}

/// What lies beyond a gap is never asked for again.
fn is_asked_for(marks: &[u64], seq: u64, end: u64) -> bool {
    marks.get(marks.partition_point(|m| *m < seq)).is_some_and(|m| *m < end)
}

/// How long after the packet before it this one was sent.
pub(crate) fn since_last(sent: &[Sent], i: usize) -> Span {
    i.checked_sub(1).map_or(Span::ZERO, |last| sent[i].t.since(sent[last].t))
}

/// What surrounds a packet that was sent.
struct Scene<'a> {
    at: usize,
    /// Since the one before.
    gap: Span,
    next_sent: Option<Time>,
    heard: &'a [Heard],
    marks: &'a [u64],
    chances: &'a Chances,
    rates: &'a Rates,
}

/// What can become of this packet.
fn step(
    node: &Node,
    front: Front,
    s: &Sent,
    scene: &Scene<'_>,
    held: &mut Held,
    out: &mut Vec<(Node, Front, f64, Became, bool)>,
) {
    let Scene { at, gap, next_sent, heard, marks, chances, rates } = *scene;
    // What came too soon for this packet can have none of the later ones as its cause either.
    let mut node = *node;
    let mut sofar = 1.0;
    while let Some(h) = heard.get(node.heard as usize) {
        if !h.free && reachable(h, s.t, rates.least) {
            break;
        }
        let weight = unsolicited(h, &node.mirror, rates);
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
    let loss = rates.loss[node.before_packet(gap) as usize];
    let lost = rates.pace.passes(front, s, false);
    if chances.may_lose(at, node.heard, node.mirror.holds(held, s.seq, s.end)) {
        let gone = Node { lost: (node.lost + 1).min(LONG), ..node };
        out.push((gone, lost, sofar * loss, Became::Lost, false));
    }
    let effect = node.mirror.takes(held, s.seq, s.end, s.stamp, rates.rule);
    if effect.beyond.is_some() && is_asked_for(marks, s.seq, s.end) {
        return;
    }
    // A receiver does not take back what it told: more than the next answer says cannot have arrived before that.
    let most = heard.get(node.heard as usize).map_or(u64::MAX, |h| h.ack);
    if effect.mirror.next > most {
        return;
    }
    let front = rates.pace.passes(front, s, true);
    let arrives = sofar * (1.0 - loss);
    let mut speak = 1.0;
    if effect.may_wait {
        // The next one comes before the timer of the acknowledgement, unless something holds it up until then.
        let far = next_sent.is_none_or(|n| n.since(s.t) > Span::from_millis(600));
        let wait = if far { 0.003 } else { 0.05 + 0.8 * rates.delays };
        let wait = if effect.fills { wait * FILLS_WAITS } else { wait };
        speak = 1.0 - wait;
        let mirror = Mirror { waits: true, ..effect.mirror };
        out.push((Node { mirror, lost: 0, ..node }, front, arrives * wait, Became::Waits, false));
    }
    let answered = effect.mirror.answers();
    let deaf = rates.deaf[node.before_answer(gap) as usize];
    let gone = Node { mirror: answered, lost: 0, deaf: (node.deaf + 1).min(LONG), ..node };
    out.push((gone, front, arrives * speak * deaf, Became::Deaf, false));
    if let Some(h) = heard.get(node.heard as usize) {
        let fits = fits(h, &effect, held, rates);
        if fits > 0.0 && reachable(h, s.t, rates.least) {
            let when = h.left.unwrap_or(h.t);
            // A receiver that delays acknowledgements does so with one segment alone, and never with a duplicate.
            let waits = match (effect.may_wait, effect.fills) {
                (false, _) => 0.0,
                (true, false) => 0.8 * rates.delays,
                (true, true) => 0.8 * rates.delays * FILLS_WAITS,
            };
            let density = rates.pace.density(front, when, waits) * in_time(h, s.t, rates.least);
            let node = Node { heard: node.heard + 1, mirror: answered, lost: 0, deaf: 0 };
            let weight = arrives * speak * (1.0 - deaf) * fits * density;
            let odd = h.echo.is_some_and(|echo| echo != effect.mirror.echo);
            out.push((node, Front::from(when), weight, Became::Heard, odd));
        }
    }
}

/// This answer can be to what was sent at `t`.
pub(crate) fn reachable(h: &Heard, t: Time, least: Span) -> bool {
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
