//! Node of the element arena: a link by its type, any other element behind its interface.
//!
//! Links carry nearly all packets. Calls of a type known to the compiler become part of the network's loop.

use crate::element::Element;
use crate::link::Link;
use std::any::Any;
use std::ops::{Deref, DerefMut};

/// An element in the arena.
pub(crate) enum Node {
    /// A link.
    Link(Box<Link>),
    /// Any other element.
    Other(Box<dyn Element>),
}

impl Node {
    /// Node of an element; always `Some`.
    pub(crate) fn of<E: Element>(element: E) -> Option<Node> {
        let mut element = Some(element);
        let any: &mut dyn Any = &mut element;
        if let Some(link) = any.downcast_mut::<Option<Link>>() {
            return link.take().map(|link| Node::Link(Box::new(link)));
        }
        element.map(|element| Node::Other(Box::new(element)))
    }
}

impl Deref for Node {
    type Target = dyn Element;
    fn deref(&self) -> &dyn Element {
        match self {
            Node::Link(link) => &**link,
            Node::Other(element) => &**element,
        }
    }
}

impl DerefMut for Node {
    fn deref_mut(&mut self) -> &mut dyn Element {
        match self {
            Node::Link(link) => &mut **link,
            Node::Other(element) => &mut **element,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Loss, Rule};
    use crate::{capacity::Capacity, link::LinkConfig, link::QueueLimit};
    use base::rng::Seed;
    use base::{Rate, Span};

    #[test]
    fn links_are_kept_by_their_type() {
        let capacity = Capacity::Fixed(Rate::from_bps(1));
        let config = LinkConfig { capacity, delay: Span::ZERO, limit: QueueLimit::default() };
        assert!(matches!(Node::of(Link::new(config, Vec::new())), Some(Node::Link(_))));
        let seed = Seed { seed: 1, repetition: 0 };
        let loss = Loss::new(Rule::Random(0.5), seed.stream("node", "loss"));
        assert!(matches!(Node::of(loss), Some(Node::Other(_))));
    }
}
