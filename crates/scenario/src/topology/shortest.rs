//! Shortest-path trees of the scenario's graph, by breadth-first search, with a second predecessor where two
//! paths have equal length. Recent trees are cached: routes of many flows between two routers cost one
//! search.

use crate::model::Link;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Number of cached trees, the most recently used last; bounds memory in a mesh in which every node is a
/// source.
const KEPT: usize = 16;

/// Breadth-first tree from one node.
pub(crate) struct Tree {
    from: usize,
    /// Number of links on the shortest path to each node; `usize::MAX` if unreachable.
    pub(crate) distance: Vec<usize>,
    /// Last link of a shortest path to each node, and of a second path of equal length.
    pub(crate) by: Vec<[Option<usize>; 2]>,
}

/// Links by the node they leave, and the trees computed so far.
#[derive(Default)]
pub(crate) struct Paths {
    /// Indexes of the links that leave each node, in order of the file.
    leaving: Vec<Vec<usize>>,
    /// Indexes of the links that enter each node.
    entering: Vec<Vec<usize>>,
    trees: RefCell<Vec<Rc<Tree>>>,
}

impl Paths {
    /// Adds a link; `index` is its index in the list of links.
    pub(crate) fn add(&mut self, link: &Link, index: usize) {
        let nodes = link.from.max(link.to) + 1;
        if self.leaving.len() < nodes {
            self.leaving.resize(nodes, Vec::new());
            self.entering.resize(nodes, Vec::new());
        }
        self.leaving[link.from].push(index);
        self.entering[link.to].push(index);
        self.trees.get_mut().clear();
    }

    /// Links that leave a node, in order of the file.
    pub(crate) fn leaving(&self, node: usize) -> &[usize] {
        self.leaving.get(node).map_or(&[], Vec::as_slice)
    }

    fn entering(&self, node: usize) -> &[usize] {
        self.entering.get(node).map_or(&[], Vec::as_slice)
    }

    /// Tree from `from` in a graph of `nodes` nodes.
    pub(crate) fn tree(&self, links: &[Link], nodes: usize, from: usize) -> Rc<Tree> {
        let mut trees = self.trees.borrow_mut();
        if let Some(at) = trees.iter().position(|t| t.from == from && t.distance.len() == nodes) {
            let tree = trees.remove(at);
            trees.push(tree);
        } else {
            if trees.len() == KEPT {
                trees.remove(0);
            }
            trees.push(Rc::new(self.search(links, nodes, from)));
        }
        Rc::clone(&trees[trees.len() - 1])
    }

    fn search(&self, links: &[Link], nodes: usize, from: usize) -> Tree {
        let mut distance = vec![usize::MAX; nodes];
        let mut by = vec![[None; 2]; nodes];
        distance[from] = 0;
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            for &index in self.leaving(node) {
                let next = links[index].to;
                if distance[next] == usize::MAX {
                    distance[next] = distance[node] + 1;
                    by[next][0] = Some(index);
                    waiting.push_back(next);
                } else if distance[next] == distance[node] + 1 && by[next][1].is_none() {
                    by[next][1] = Some(index);
                }
            }
        }
        Tree { from, distance, by }
    }

    /// Shortest path, if it is unique. A host with one outgoing or one incoming link needs no tree of its
    /// own: the path between the adjacent nodes decides.
    pub(crate) fn unique(&self, links: &[Link], nodes: usize, from: usize, to: usize) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        let (mut first, mut last) = (None, None);
        let (mut start, mut end) = (from, to);
        if let [only] = self.leaving(from) {
            first = Some(*only);
            start = links[*only].to;
        }
        if let [only] = self.entering(to)
            && start != to
        {
            last = Some(*only);
            end = links[*only].from;
        }
        let tree = self.tree(links, nodes, start);
        let mut route: Vec<usize> = last.into_iter().collect();
        let mut node = end;
        while node != start {
            let [Some(link), None] = tree.by[node] else { return None };
            route.push(link);
            node = links[link].from;
        }
        route.extend(first);
        route.reverse();
        // A path that passes one of its own ends twice is not a shortest path; the caller then searches the whole graph.
        let whole = route.iter().filter(|&&l| links[l].from == from || links[l].to == to).count();
        (whole <= 2).then_some(route)
    }

    /// Whether a path leads from `from` to `to`.
    pub(crate) fn leads(&self, links: &[Link], nodes: usize, from: usize, to: usize) -> bool {
        self.unique(links, nodes, from, to).is_some()
            || self.tree(links, nodes, from).distance[to] != usize::MAX
    }
}
