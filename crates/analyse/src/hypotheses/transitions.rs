//! State transitions of the event-course model: arrival, reordering or loss of a packet, and loss of its ACK.
//!
//! It arrives in its turn, or is overtaken and arrives later, or is lost; the receiver answers as its copy in
//! `receiver_model.rs` would; the answer is lost, or is the next one that was seen.

use super::burstiness::{Became, LONG, Past};
use super::constraints::Chances;
use super::hmm::{Heard, Rates, Sent};
use super::receiver_model::{Effect, Held, Mirror};
use super::timing::Front;
use base::rng::mix;
use base::{Span, Time};

/// How far a course has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    /// Answers that are explained.
    pub(crate) heard: u32,
    pub(crate) mirror: Mirror,
    /// So many packets in a row were lost just now; so many answers. More than [`LONG`] are not counted.
    pub(crate) lost: u8,
    pub(crate) deaf: u8,
    /// Answers that were lost since the last that is explained, where the next one tells how many.
    pub(crate) silent: u16,
    /// What was overtaken and has yet to arrive.
    pub(crate) aside: Aside,
}

/// Where a packet leads: when the path is through, how likely, what became of the packet, and whether the answer echoes what
/// it should not.
pub(crate) type Course = (Node, Front, f64, Became, bool);

/// How often a packet is overtaken, where some are.
const OVERTAKEN: f64 = 0.3;
/// How often what was overtaken by one is overtaken by the next, too.
const BEHIND: f64 = 0.5;
/// How often something is held up for longer than a round trip.
const HELD_UP: f64 = 0.01;
/// So many packets that were overtaken have yet to arrive; which, ascending, and [`NONE`] for fewer.
type Aside = [u32; 4];
/// No packet.
const NONE: u32 = u32::MAX;

/// More than this do not follow from one course.
const MOST_FOLLOW: usize = 96;
/// What fills a gap should be answered at once (RFC 5681 section 4.2); not all receivers do.
const FILLS_WAITS: f64 = 0.15;
/// How often an answer that stands for three segments stands for one more: a host that is late with its work merges what came
/// meanwhile, however much that is.
const STRETCH_GOES_ON: f64 = 0.7;

impl Node {
    /// Nothing has happened yet.
    pub(crate) fn first(mirror: Mirror) -> Node {
        Node { heard: 0, mirror, lost: 0, deaf: 0, silent: 0, aside: [NONE; 4] }
    }

    pub(crate) fn hash(&self) -> u64 {
        let Mirror { next, held, echo, told, waits } = self.mirror;
        let small = u64::from(self.heard) << 32
            | u64::from(self.lost) << 16
            | u64::from(self.deaf) << 8
            | u64::from(waits);
        let small = small ^ u64::from(self.silent) << 48;
        let [a, b, c, d] = self.aside.map(u64::from);
        let aside = (a ^ c.rotate_left(16)) << 32 | (b ^ d.rotate_left(16));
        mix(mix(next ^ small.rotate_left(17))
            ^ told.rotate_left(29)
            ^ (u64::from(held) << 32 | u64::from(echo))
            ^ mix(aside))
    }

    /// Who has explained as much, and has as many that are yet to arrive: only such are compared.
    pub(crate) fn rival(&self) -> u32 {
        self.heard * 2 + u32::from(self.aside[0] != NONE)
    }

    pub(crate) fn before_packet(&self, gap: Span) -> Past {
        Past::of(self.lost, self.deaf, gap)
    }

    pub(crate) fn before_answer(&self, gap: Span) -> Past {
        Past::of(self.deaf, self.lost, gap)
    }
}

/// What lies beyond a gap is never asked for again.
fn is_asked_for(marks: &[u64], seq: u64, end: u64) -> bool {
    marks.get(marks.partition_point(|m| *m < seq)).is_some_and(|m| *m < end)
}

/// How long after the packet before it this one was sent.
pub(crate) fn since_last(sent: &[Sent], i: usize) -> Span {
    i.checked_sub(1).map_or(Span::ZERO, |last| sent[i].t.since(sent[last].t))
}

/// Of each packet: when something came that can have been its answer.
pub(crate) fn resumed(sent: &[Sent], heard: &[Heard], least: Span) -> Vec<Time> {
    let mut times: Vec<Heard> = heard.to_vec();
    times.sort_by_key(|h| h.t);
    let first = |s: &Sent| times.partition_point(|h| !reachable(h, s.t, least));
    sent.iter().map(|s| times.get(first(s)).map_or(s.t, |h| h.t)).collect()
}

/// What surrounds a packet that was sent.
pub(crate) struct Scene<'a> {
    pub(crate) at: usize,
    /// How likely it has arrived, and been answered, before all that was heard.
    pub(crate) before: f64,
    /// Since the one before.
    pub(crate) gap: Span,
    pub(crate) next_sent: Option<Time>,
    pub(crate) heard: &'a [Heard],
    /// Of each packet: when something came that can have been its answer. Only where packets overtake each other.
    pub(crate) resumed: &'a [Time],
    pub(crate) marks: &'a [u64],
    pub(crate) chances: &'a Chances,
    pub(crate) rates: &'a Rates,
}

/// What can become of this packet.
pub(crate) fn step(
    node: &Node,
    front: Front,
    s: &Sent,
    scene: &Scene<'_>,
    held: &mut Held,
    out: &mut Vec<Course>,
) {
    if !node.mirror.waits || node.lost == 0 {
        return turn(*node, 1.0, front, s, scene, held, out);
    }
    // The second segment that an acknowledgement waited for was lost: by now the timer has let it go.
    let stays = still_waits(scene.gap);
    turn(*node, stays, front, s, scene, held, out);
    if stays < 1.0
        && let Some((spoke, share)) = speaks(node, scene)
    {
        turn(spoke, (1.0 - stays) * share, front, s, scene, held, out);
    }
}

/// The timer of the acknowledgement expired, and nobody heard it.
fn speaks(node: &Node, scene: &Scene<'_>) -> Option<(Node, f64)> {
    let deaf = scene.rates.deaf[node.before_answer(scene.gap) as usize];
    let (silent, missing) = silenced(node, scene);
    let spoke = Node { mirror: node.mirror.answers(), deaf: (node.deaf + 1).min(LONG), silent, ..*node };
    missing.is_none_or(|m| u32::from(silent) <= m).then_some((spoke, deaf))
}

/// What is missing if one more answer was lost, and how much may be.
fn silenced(node: &Node, scene: &Scene<'_>) -> (u16, Option<u32>) {
    let missing = scene.heard.get(node.heard as usize).and_then(|h| h.missing);
    (if missing.is_some() { node.silent + 1 } else { 0 }, missing)
}

/// The packet's turn.
fn turn(
    node: Node,
    share: f64,
    front: Front,
    s: &Sent,
    scene: &Scene<'_>,
    held: &mut Held,
    out: &mut Vec<Course>,
) {
    let Scene { at, gap, heard, chances, rates, .. } = *scene;
    // What came too soon for this packet can have none of the later ones as its cause either.
    let mut node = node;
    let mut sofar = share;
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
        sofar *= weight * accounts(h, node.silent, rates);
        if sofar == 0.0 {
            return;
        }
        (node.heard, node.silent) = (node.heard + 1, 0);
        node.mirror = node.mirror.answers();
    }
    if scene.before > 0.0 && s.seq > node.mirror.next {
        let before = node.mirror.takes(held, s.seq, s.end, None, rates.rule);
        out.push((Node { mirror: before.mirror, ..node }, front, sofar * scene.before, Became::Waits, false));
        sofar *= 1.0 - scene.before;
    }
    let loss = rates.loss[node.before_packet(gap) as usize];
    let lost = rates.pace.passes(front, s, false);
    if chances.may_lose(at, node.heard, node.mirror.holds(held, s.seq, s.end)) {
        let gone = Node { lost: (node.lost + 1).min(LONG), ..node };
        out.push((gone, lost, sofar * loss, Became::Lost, false));
    }
    if s.seq == s.end && node.mirror.next >= s.end {
        // What answers the FIN in its turn has none of the data as its cause.
        out.push((
            Node { lost: 0, ..node },
            rates.pace.passes(front, s, true),
            sofar * (1.0 - loss),
            Became::Waits,
            false,
        ));
        return;
    }
    let mut weight = sofar * (1.0 - loss);
    if rates.loose {
        if let Some(aside) = put(node.aside, at as u32) {
            out.push((Node { aside, lost: 0, ..node }, front, weight * OVERTAKEN, Became::Waits, false));
        }
        weight *= 1.0 - OVERTAKEN;
    }
    arrives(&node, front, s, weight, scene, held, out);
}

/// One more is overtaken, if there is room.
fn put(mut aside: Aside, packet: u32) -> Option<Aside> {
    *aside.iter_mut().find(|p| **p == NONE)? = packet;
    Some(aside)
}

/// One of them arrives.
fn taken(mut aside: Aside, at: usize) -> Aside {
    aside[at] = NONE;
    aside.sort_unstable();
    aside
}

/// Those that were overtaken arrive, in any order, once this packet's turn is over. None is overtaken by what is answered a round
/// trip after the first answer that can have been its own: then nothing was held up any more.
pub(crate) fn follow(sent: &[Sent], scene: &Scene<'_>, held: &mut Held, out: &mut Vec<Course>) {
    let mut k = 0;
    while k < out.len() && out.len() < MOST_FOLLOW {
        let (node, front, weight, became, odd) = out[k];
        k += 1;
        // What was lost overtook nothing.
        if became == Became::Lost && scene.next_sent.is_some() {
            continue;
        }
        for (at, &p) in node.aside.iter().enumerate().take_while(|p| *p.1 != NONE) {
            // It was only just overtaken by nobody.
            if p as usize == scene.at {
                continue;
            }
            let from = out.len();
            let node = Node { aside: taken(node.aside, at), ..node };
            arrives(&node, front, &sent[p as usize], weight * (1.0 - BEHIND), scene, held, out);
            for course in &mut out[from..] {
                (course.3, course.4) = (became, odd || course.4);
            }
        }
    }
    let ended = scene.next_sent.is_none();
    let late = |p: u32, heard: u32| {
        let last = heard.checked_sub(1).and_then(|h| scene.heard.get(h as usize));
        ended || last.is_some_and(|last| last.t.since(scene.resumed[p as usize]) > scene.rates.least)
    };
    out.retain(|course| course.0.aside.iter().take_while(|p| **p != NONE).all(|p| !late(*p, course.0.heard)));
    for course in out.iter_mut().filter(|course| course.3 != Became::Lost) {
        let behind = course.0.aside.iter().take_while(|p| **p != NONE && **p as usize != scene.at).count();
        course.2 *= libm::pow(BEHIND, behind as f64);
    }
    let Some(next) = scene.next_sent else { return };
    let long = |p: u32| {
        let t = sent[p as usize].t;
        next.since(t) > scene.rates.least && sent[scene.at].t.since(t) <= scene.rates.least
    };
    for course in out {
        if course.0.aside.iter().take_while(|p| **p != NONE).any(|p| long(*p)) {
            course.2 *= HELD_UP;
        }
    }
}

/// What a packet that arrives can lead to.
fn arrives(
    node: &Node,
    front: Front,
    s: &Sent,
    arrives: f64,
    scene: &Scene<'_>,
    held: &mut Held,
    out: &mut Vec<Course>,
) {
    let Scene { gap, next_sent, heard, marks, rates, .. } = *scene;
    let node = *node;
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
    let mut speak = 1.0;
    if effect.may_wait {
        // The next one comes before the timer of the acknowledgement, unless something holds it up until then.
        let wait =
            (0.05 + 0.8 * rates.delays) * still_waits(next_sent.map_or(Span::FOREVER, |n| n.since(s.t)));
        let wait = if effect.fills { wait * FILLS_WAITS } else { wait };
        speak = 1.0 - wait;
        let mirror = Mirror { waits: true, ..effect.mirror };
        out.push((Node { mirror, lost: 0, ..node }, front, arrives * wait, Became::Waits, false));
    }
    // Only where answers are counted does it matter that one stands for several.
    if let Some(several) = effect.may_stretch.filter(|_| rates.stretches > 0.0) {
        let goes_on = if several { STRETCH_GOES_ON } else { rates.stretches };
        let mirror = Mirror { waits: true, ..effect.mirror };
        speak = 1.0 - goes_on;
        out.push((Node { mirror, lost: 0, ..node }, front, arrives * goes_on, Became::Waits, false));
    }
    let answered = effect.mirror.answers();
    let deaf = rates.deaf[node.before_answer(gap) as usize];
    let (silent, missing) = silenced(&node, scene);
    if missing.is_none_or(|m| u32::from(silent) <= m) {
        let gone = Node { mirror: answered, lost: 0, deaf: (node.deaf + 1).min(LONG), silent, ..node };
        out.push((gone, front, arrives * speak * deaf, Became::Deaf, false));
    }
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
            let density = match rates.loose {
                true => rates.pace.loose(s.t, when),
                false => rates.pace.density(front, when, waits),
            } * in_time(h, s.t, rates.least);
            let weight = arrives * speak * (1.0 - deaf) * fits * density * accounts(h, node.silent, rates);
            let node = Node {
                heard: node.heard + 1,
                mirror: answered,
                lost: 0,
                deaf: 0,
                silent: 0,
                aside: node.aside,
            };
            let odd = h.echo.is_some_and(|echo| echo != effect.mirror.echo);
            out.push((node, Front::from(when), weight, Became::Heard, odd));
        }
    }
}

/// How often an acknowledgement still waits for a second segment when what was sent so much later arrives: its timer is at most
/// half a second (RFC 9293 section 3.8.6.3), but both may have been held up and come together.
fn still_waits(gap: Span) -> f64 {
    if gap > Span::from_millis(600) { 0.007 } else { 1.0 }
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

/// What came last without any packet as its cause.
pub(crate) fn rest(node: &Node, heard: &[Heard], rates: &Rates) -> f64 {
    let all = heard[node.heard as usize..].iter().enumerate();
    let silent = |i: usize| if i == 0 { node.silent } else { 0 };
    all.map(|(i, h)| unsolicited(h, &node.mirror, rates) * accounts(h, silent(i), rates)).product()
}

/// So many answers were lost before this one came: are they all that is missing?
fn accounts(h: &Heard, silent: u16, rates: &Rates) -> f64 {
    match h.missing.map(|m| m.checked_sub(u32::from(silent))) {
        None => 1.0,
        // More cannot have been sent.
        Some(None) => 0.0,
        Some(Some(others)) => elsewhere(others, rates),
    }
}

/// Who sends elsewhere does so more than once: how likely another such packet follows.
const AGAIN: f64 = 0.8;

/// How likely it is that so many packets went elsewhere.
pub(crate) fn elsewhere(packets: u32, rates: &Rates) -> f64 {
    match packets.checked_sub(1) {
        None => 1.0 - rates.foreign,
        Some(more) => rates.foreign * (1.0 - AGAIN) * libm::pow(AGAIN, f64::from(more)),
    }
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
