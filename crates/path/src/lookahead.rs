//! Lookahead in a network: packets that a link forwards to the next one ahead of time.
//!
//! Packets of a link with one sender arrive in the order of that sender's queue. A packet that joins the first link then
//! joins the second one at once, with its later arrival as the time, and the arrival itself is no event. Arrivals at a
//! link with several senders are taken together (`link::merge`). All times are those without
//! lookahead (`docs/adr/0166-lookahead-between-links.md`).

use crate::element::{Core, Cx, Element as _, ElementId, Port};
use crate::link::Lookahead;
use crate::node::Node;
use crate::outbox::Outbox;
use crate::schedule::Schedule;
use base::event::Category;
use base::packet::{Flags, Packet};
use base::{Span, Time};

/// Marks links between which packets are forwarded ahead. With a record of the path, each arrival is an event.
pub(crate) fn prepare(elements: &mut [Node], core: &mut Core) {
    if core.tracer.wants(Category::Path) {
        return;
    }
    let foreseeable: Vec<bool> =
        elements.iter().map(|node| matches!(node, Node::Link(link) if link.is_foreseeable())).collect();
    if foreseeable.iter().filter(|link| **link).count() < 2 {
        return;
    }
    prepare_chains(elements, core, &foreseeable);
    prepare_merges(elements, core, &foreseeable);
}

/// Links with one sender, a link.
fn prepare_chains(elements: &mut [Node], core: &mut Core, foreseeable: &[bool]) {
    let mut senders: Vec<Option<usize>> =
        core.wires.sole_senders().iter().map(|sender| sender.map(|id| id.0 as usize)).collect();
    for (i, sender) in senders.iter_mut().enumerate() {
        *sender = sender.filter(|from| foreseeable[i] && foreseeable[*from]);
    }
    let places = places(&senders);
    for (i, sender) in senders.iter().enumerate() {
        if let (Some(from), Some(_)) = (*sender, places[i])
            && let Ok([Node::Link(next), Node::Link(link)]) = elements.get_disjoint_mut([i, from])
        {
            next.lookahead.add(Lookahead::TAKES);
            link.lookahead.add(Lookahead::FORWARDS);
            core.forwarding.push(from as u32);
        }
    }
    core.forwarding.sort_unstable_by_key(|&i| (std::cmp::Reverse(places[i as usize]), i));
    core.forwarding.dedup();
}

/// Links whose senders are links that send to no other element.
fn prepare_merges(elements: &mut [Node], core: &mut Core, foreseeable: &[bool]) {
    let target = |i: usize| {
        let to = core.wires.only_target(ElementId(i as u32), Port(0)).map(|to| to.0 as usize);
        to.filter(|to| foreseeable[i] && foreseeable.get(*to) == Some(&true))
    };
    let mut senders = vec![0; elements.len()];
    (0..elements.len()).filter_map(target).for_each(|to| senders[to] += 1);
    let wires = core.wires.wires_to();
    let is_merge = |to: usize| senders[to] > 1 && senders[to] == wires[to];
    let feeders: Vec<usize> = (0..elements.len()).filter(|i| target(*i).is_some_and(is_merge)).collect();
    for to in (0..elements.len()).filter(|to| is_merge(*to)) {
        if let Some(Node::Link(link)) = elements.get_mut(to)
            && link.delay() > Span::ZERO
        {
            link.merge_arrivals();
            core.merging.push(to as u32);
        }
    }
    for i in feeders {
        let to = target(i).unwrap_or(i);
        if let Ok([Node::Link(link), Node::Link(next)]) = elements.get_disjoint_mut([i, to])
            && next.lookahead.has(Lookahead::MERGES)
        {
            link.lookahead.add(Lookahead::FORWARDS);
            link.lookahead.add(Lookahead::FEEDS);
        }
    }
}

/// For each element the number of elements before it in its chain, which ends at one without a sender; none in a loop.
fn places(senders: &[Option<usize>]) -> Vec<Option<u32>> {
    let mut places: Vec<Option<u32>> = senders.iter().map(|sender| sender.is_none().then_some(0)).collect();
    let mut chain = Vec::new();
    for i in 0..senders.len() {
        let mut at = i;
        while places[at].is_none()
            && chain.len() <= senders.len()
            && let Some(from) = senders[at]
        {
            chain.push(at);
            at = from;
        }
        let mut place = places[at];
        for at in chain.drain(..).rev() {
            place = place.map(|n| n + 1);
            places[at] = place;
        }
    }
    places
}

/// Delivers a packet to link `i`, which forwards ahead, and on along the chain of links. Schedules the link that has the
/// packet then.
#[inline(never)]
pub(crate) fn arrive(
    elements: &mut [Node],
    schedule: &mut Schedule,
    cx: &mut Cx<'_>,
    i: usize,
    packet: &Packet,
) {
    let now = cx.now;
    let Some(Node::Link(link)) = elements.get_mut(i) else { return };
    link.count_in_batches(cx.core, now);
    if link.lookahead.has(Lookahead::FEEDS)
        && let Some(arrival) = link.transmit(now, packet.size)
    {
        note_sojourn(cx.core, packet);
        let (to, _) = cx.core.wires.end(ElementId(i as u32), Port(0));
        if let Some(Node::Link(next)) = elements.get_mut(to.0 as usize)
            && let Some(merge) = next.merge()
        {
            schedule.no_later(to.0 as usize, merge.push(arrival, i as u32, packet));
        }
        return;
    }
    let is_first = link.departs().is_never();
    link.take(cx, packet);
    let front = link.departs();
    // Behind packets that wait for their own departure no packet is forwarded.
    if is_first && !front.is_never() {
        pass_on(elements, schedule, cx.core, now, (i, front), packet);
    } else {
        schedule.no_later(i, front);
    }
}

/// Counts a packet that does not wait in the ledger of its flow.
#[inline(always)]
fn note_sojourn(core: &mut Core, packet: &Packet) {
    if packet.flags.has(Flags::DATA)
        && let Some(ledger) = core.ledgers.get_mut(packet.ledger())
    {
        ledger.queue_waits += 1;
    }
}

/// Forwards the packet that joined a link along the chain of links; `at`: the link, and the packet's departure.
#[inline(always)]
fn pass_on(
    elements: &mut [Node],
    schedule: &mut Schedule,
    core: &mut Core,
    now: Time,
    mut at: (usize, Time),
    packet: &Packet,
) {
    loop {
        let (i, departure) = at;
        let to = core.wires.reaches(ElementId(i as u32), Port(0), packet).0.0 as usize;
        let Ok([Node::Link(link), Node::Link(next)]) = elements.get_disjoint_mut([i, to]) else { break };
        if !link.lookahead.has(Lookahead::FORWARDS) {
            break;
        }
        if let Some(merge) = next.merge() {
            let due = merge.push(departure, i as u32, packet);
            link.forwarded_to_merge();
            return schedule.no_later(to, due);
        }
        if !next.lookahead.has(Lookahead::TAKES) {
            break;
        }
        next.count_in_batches(core, now);
        let is_first = next.departs().is_never();
        let Some(sojourn) = next.join_ahead(departure, packet) else { break };
        link.forwarded(sojourn);
        at = (to, next.departs());
        if !is_first {
            break;
        }
    }
    schedule.no_later(at.0, at.1);
}

/// Wakes link `i`, which merges: takes arrivals, and delivers a packet that is not forwarded.
#[inline(never)]
pub(crate) fn wake(elements: &mut [Node], schedule: &mut Schedule, cx: &mut Cx<'_>, i: usize) {
    let now = cx.now;
    take_arrivals(elements, schedule, cx, i, now, u32::MAX);
    let Some(Node::Link(link)) = elements.get_mut(i) else { return };
    if link.departs() <= now {
        link.count_forwarded(cx.core, now, true);
        link.on_wake(cx);
    }
    schedule.set(i, link.next_exit());
}

/// Lets link `i` take its arrivals before `now`, and those at `now` of links up to number `woken`. Returns the time of
/// the last one.
fn take_arrivals(
    elements: &mut [Node],
    schedule: &mut Schedule,
    cx: &mut Cx<'_>,
    i: usize,
    now: Time,
    woken: u32,
) -> Option<Time> {
    let Some(Node::Link(link)) = elements.get_mut(i) else { return None };
    let arrivals = link.merge().as_mut()?.sort(now, woken);
    let mut last = None;
    for k in 0..arrivals {
        let Some(Node::Link(link)) = elements.get_mut(i) else { break };
        let Some(arrival) = link.merge().as_ref().and_then(|merge| merge.sorted(k)) else { break };
        cx.core.counters.hops += 1;
        link.count_in_batches(cx.core, arrival.at);
        let is_first = link.departs().is_never();
        cx.now = arrival.at;
        link.take(cx, &arrival.packet);
        let front = link.departs();
        if is_first && !front.is_never() {
            pass_on(elements, schedule, cx.core, now, (i, front), &arrival.packet);
        }
        last = Some(arrival.at);
    }
    cx.now = now;
    if let Some(Node::Link(link)) = elements.get_mut(i)
        && let Some(merge) = link.merge()
    {
        merge.clear_sorted();
    }
    last
}

/// Lets links take arrivals by `now`, and counts forwarded packets that arrived by `now`; exactly then, of elements up
/// to number `woken`. Returns the last time at which one arrived.
pub(crate) fn count(
    elements: &mut [Node],
    schedule: &mut Schedule,
    core: &mut Core,
    outbox: &mut Outbox,
    now: Time,
    woken: u32,
) -> Option<Time> {
    let mut last = None;
    for k in 0..core.merging.len() {
        let i = core.merging[k];
        let cx = &mut Cx { now, me: ElementId(i), core, outbox };
        last = last.max(take_arrivals(elements, schedule, cx, i as usize, now, woken));
    }
    for k in 0..core.forwarding.len() {
        let i = core.forwarding[k];
        if let Some(Node::Link(link)) = elements.get_mut(i as usize) {
            last = last.max(link.count_forwarded(core, now, i <= woken));
        }
    }
    last
}

/// Returns forwarded packets under way to the links in which they are at `now`, and ends lookahead.
#[cold]
pub(crate) fn recall(
    elements: &mut [Node],
    schedule: &mut Schedule,
    core: &mut Core,
    outbox: &mut Outbox,
    now: Time,
) {
    count(elements, schedule, core, outbox, now, core.woken);
    for node in elements.iter_mut() {
        if let Node::Link(link) = node
            && link.lookahead.has(Lookahead::FEEDS)
        {
            link.clear();
        }
    }
    for i in std::mem::take(&mut core.merging) {
        let Some(Node::Link(link)) = elements.get_mut(i as usize) else { continue };
        let merge = link.merge().take();
        for arrival in merge.iter().flat_map(|merge| merge.arrivals()) {
            if let Some(Node::Link(link)) = elements.get_mut(arrival.from as usize) {
                link.take_back(arrival);
            }
        }
    }
    // The last links of chains first.
    for i in std::mem::take(&mut core.forwarding) {
        while let Some(Node::Link(link)) = elements.get(i as usize)
            && let Some(packet) = link.last_forwarded()
            && let next = core.wires.reaches(ElementId(i), Port(0), packet).0.0 as usize
            && let Ok([Node::Link(link), Node::Link(next)]) = elements.get_disjoint_mut([i as usize, next])
        {
            link.take_back_from(next);
        }
    }
    for (i, node) in elements.iter_mut().enumerate() {
        if let Node::Link(link) = node
            && std::mem::take(&mut link.lookahead) != Lookahead::default()
        {
            link.resume(now);
            schedule.set(i, link.departs());
        }
    }
}

/// Whether a call from outside or a signal to an element changes what was foreseen.
pub(crate) fn concerns(elements: &[Node], i: usize) -> bool {
    matches!(elements.get(i), Some(Node::Link(link)) if link.lookahead != Lookahead::default())
}
