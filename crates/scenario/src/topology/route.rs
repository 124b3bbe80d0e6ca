//! Routes of flows: unique shortest paths, or explicit routes of the file.
//!
//! The path with the fewest links is taken if it is unique; otherwise the flow names hops or links: `route =
//! ["core", "radio"]`, `way-back = [...]`.

use super::Graph;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::spelling::{alternatives, nearest};
use crate::grammar::tree::Tree;

/// Route from `from` to `to`; failure is reported at `place`.
pub(crate) fn find(
    graph: &Graph,
    from: usize,
    to: usize,
    place: SourceSpan,
    key: &str,
    cx: &Cx<'_>,
) -> Option<Vec<usize>> {
    let count = graph.nodes.len();
    if let Some(route) = graph.paths.unique(&graph.links, count, from, to) {
        return Some(route);
    }
    let tree = graph.paths.tree(&graph.links, count, from);
    let (distance, by) = (&tree.distance, &tree.by);
    let name = |node: usize| graph.nodes[node].name.as_str();
    if distance[to] == usize::MAX {
        if graph.complete {
            let reached: Vec<&str> =
                (0..count).filter(|&n| n != from && distance[n] != usize::MAX).map(name).take(12).collect();
            let help = if reached.is_empty() {
                format!("no hop or link leaves `{}`", name(from))
            } else {
                format!(
                    "from `{}` links lead to {} only",
                    name(from),
                    alternatives(reached).replace(" or ", " and ")
                )
            };
            let message = format!("no way leads from `{}` to `{}`", name(from), name(to));
            cx.push(Diagnostic::error("no-route", place, message).help(help));
        }
        return None;
    }
    let mut route = Vec::new();
    let mut node = to;
    while node != from {
        let [Some(first), second] = by[node] else { return None };
        if let Some(second) = second {
            let (a, b) = (&graph.links[first], &graph.links[second]);
            let message = format!(
                "two ways lead from `{}` to `{}`, one by `{}`, one by `{}`",
                name(from),
                name(to),
                a.name,
                b.name
            );
            cx.push(
                Diagnostic::error("ambiguous-route", place, message)
                    .also(graph.places[first], format!("`{}`", a.name))
                    .also(graph.places[second], format!("`{}`", b.name))
                    .help(format!("choose one: add {key} = [...] with the names of hops or links, in order")),
            );
            return None;
        }
        route.push(first);
        node = graph.links[first].from;
    }
    route.reverse();
    Some(route)
}

/// True if a path leads from `from` to `to`.
pub(crate) fn leads(graph: &Graph, from: usize, to: usize) -> bool {
    graph.paths.leads(&graph.links, graph.nodes.len(), from, to)
}

/// Explicit route, checked link by link.
pub(crate) fn written(graph: &Graph, from: usize, to: usize, tree: &Tree, cx: &Cx<'_>) -> Option<Vec<usize>> {
    let mut node = from;
    let mut visited = vec![from];
    let mut route = Vec::new();
    let name = |node: usize| graph.nodes[node].name.as_str();
    for step in tree.list()? {
        let text = leaf::text(step).ok()?;
        let named = graph.links.iter().position(|l| l.name == text).map(|i| vec![i]);
        let Some(candidates) = named.or_else(|| graph.owners.get(&text).cloned()) else {
            if graph.complete {
                let known = || graph.owners.keys().map(String::as_str);
                let d = Diagnostic::error("no-link", step.place, format!("there is no hop or link `{text}`"));
                cx.push(match nearest(&text, known()) {
                    Some(meant) => d.label(format!("did you mean `{meant}`?")),
                    None => d.help(format!("there is {}", alternatives(known().take(12)))),
                });
            }
            return None;
        };
        let Some(&link) = candidates.iter().find(|&&l| graph.links[l].from == node) else {
            let message = format!("`{text}` does not leave `{}`, where this route has come to", name(node));
            let leaving: Vec<&str> =
                graph.paths.leaving(node).iter().map(|&l| graph.links[l].name.as_str()).take(12).collect();
            cx.push(Diagnostic::error("broken-route", step.place, message).help(format!(
                "`{}` is left by {}",
                name(node),
                alternatives(leaving)
            )));
            return None;
        };
        node = graph.links[link].to;
        if visited.contains(&node) {
            let message = format!("with `{text}` this route returns to `{}`", name(node));
            cx.push(Diagnostic::error("loop", step.place, message).help("a route visits every node once"));
            return None;
        }
        visited.push(node);
        route.push(link);
    }
    if node != to {
        let message = format!("this route ends at `{}`, not at `{}`", name(node), name(to));
        cx.push(
            Diagnostic::error("broken-route", tree.place, message)
                .help("name every hop or link of the route, in order"),
        );
        return None;
    }
    Some(route)
}
