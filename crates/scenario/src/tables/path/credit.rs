//! Validation of `flow-control` between links.
//!
//! A link with `flow-control` sends only within the credit of the next link. So there must be a single next
//! link, with no other traffic in its queue, and no element between them that loses packets.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::model::{Flow, Gate, GateMode, Link, Position, Queue};

/// Checks every link with flow control, and makes the next link grant credit.
pub(crate) fn check(links: &mut [Link], places: &[SourceSpan], gates: &[Gate], flows: &[Flow], cx: &Cx<'_>) {
    for from in 0..links.len() {
        if links[from].channel.as_ref().is_none_or(|c| c.credit.is_none()) {
            continue;
        }
        if let Some(to) = one(from, links, places, gates, flows, cx) {
            links[to].channel_mut().grants = true;
        }
    }
}

fn ways(flows: &[Flow]) -> impl Iterator<Item = (&Flow, &Vec<usize>)> {
    flows.iter().flat_map(|f| [(f, &f.route), (f, &f.way_back)])
}

/// Next link of `from`, if the conditions hold.
fn one(
    from: usize,
    links: &[Link],
    places: &[SourceSpan],
    gates: &[Gate],
    flows: &[Flow],
    cx: &Cx<'_>,
) -> Option<usize> {
    let link = &links[from];
    let name = &link.name;
    let say = |message: String, help: String| {
        cx.push(Diagnostic::error("flow-control", places[from], message).help(help));
        None
    };
    let mut next: Option<usize> = None;
    for (flow, way) in ways(flows) {
        let Some(at) = way.iter().position(|l| *l == from) else { continue };
        match (way.get(at + 1), next) {
            (None, _) => {
                return say(
                    format!("flow `{}` ends after `{name}`, and no element there grants credit", flow.name),
                    "flow control acts between two links: remove it here, or add the next hop".into(),
                );
            }
            (Some(&to), Some(other)) if other != to => {
                return say(
                    format!(
                        "flows divide after `{name}`, to `{}` and to `{}`",
                        links[other].name, links[to].name
                    ),
                    "flow control needs one next link for all flows".into(),
                );
            }
            (Some(&to), _) => next = Some(to),
        }
    }
    let to = next?;
    for (flow, way) in ways(flows) {
        if let Some(at) = way.iter().position(|l| *l == to)
            && (at == 0 || way[at - 1] != from)
        {
            return say(
                format!(
                    "`{}` is entered by flow `{}` too, which `{name}` does not send",
                    links[to].name, flow.name
                ),
                "flow control needs a next link that is entered from this one only".into(),
            );
        }
    }
    if !link.losses.is_empty() || link.compression.is_some() {
        let what = if link.compression.is_some() { "header-compression" } else { "loss" };
        return say(
            format!("`{what}` on `{name}` removes packets after it, and their credit would not return"),
            "write [[hop.error]] in place of [[hop.loss]]: the link detects errors, not losses".into(),
        );
    }
    let drops = |g: &&usize| gates[**g].at == Position::BeforeQueue && gates[**g].mode == GateMode::Drop;
    if let Some(&gate) = links[to].gates.iter().find(drops) {
        return say(
            format!("gate `{}` drops packets before the queue that gives credit for them", gates[gate].name),
            "put the gate after the queue".into(),
        );
    }
    let window = link.channel.as_ref()?.credit?.window;
    if let Queue::DropTail(_) = links[to].queue
        && let Some(room) = links[to].queue.limit().packets
        && room < window
    {
        cx.push(
            Diagnostic::warning(
                "small-queue",
                places[from],
                format!(
                    "`{name}` may send {window} packets ahead, and `{}` has room for {room}",
                    links[to].name
                ),
            )
            .help(format!("window = {room} loses none")),
        );
    }
    Some(to)
}
