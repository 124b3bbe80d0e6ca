//! Node of the element arena: links and filters by their types, any other element behind its interface.
//!
//! Links carry nearly all packets. Calls of a type known to the compiler become part of the network's loop. A filter
//! passes a packet on at once or removes it.

use crate::background::{Absorber, Background};
use crate::element::{Cx, Element, Port};
use crate::link::Link;
use crate::loss::Loss;
use crate::wires::PortEnd;
use base::packet::Packet;
use std::any::Any;
use std::ops::{Deref, DerefMut};

/// An element in the arena.
pub(crate) enum Node {
    /// A link.
    Link(Box<Link>),
    /// Random loss.
    Loss(Box<Loss>),
    /// Source of background load.
    Background(Box<Background>),
    /// End of background load.
    Absorber(Box<Absorber>),
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
        if let Some(loss) = any.downcast_mut::<Option<Loss>>() {
            return loss.take().map(|loss| Node::Loss(Box::new(loss)));
        }
        if let Some(source) = any.downcast_mut::<Option<Background>>() {
            return source.take().map(|source| Node::Background(Box::new(source)));
        }
        if let Some(absorber) = any.downcast_mut::<Option<Absorber>>() {
            return absorber.take().map(|absorber| Node::Absorber(Box::new(absorber)));
        }
        element.map(|element| Node::Other(Box::new(element)))
    }

    /// Submits a packet to a filter. If it passes, returns its next target, or sends it by the outbox unless it is `alone`.
    #[inline(never)]
    pub(crate) fn pass(&mut self, cx: &mut Cx<'_>, packet: &Packet, alone: bool) -> Option<PortEnd> {
        let passes = match self {
            Node::Link(_) | Node::Other(_) => false,
            Node::Loss(loss) => loss.passes(cx, packet),
            Node::Background(_) => true,
            Node::Absorber(absorber) => absorber.passes(cx, packet),
        };
        if passes && alone {
            return Some(cx.core.wires.reaches(cx.me, Port(0), packet));
        }
        if passes {
            cx.forward_from(Port(0), packet);
        }
        None
    }
}

impl Deref for Node {
    type Target = dyn Element;
    fn deref(&self) -> &dyn Element {
        match self {
            Node::Link(link) => &**link,
            Node::Loss(loss) => &**loss,
            Node::Background(source) => &**source,
            Node::Absorber(absorber) => &**absorber,
            Node::Other(element) => &**element,
        }
    }
}

impl DerefMut for Node {
    fn deref_mut(&mut self) -> &mut dyn Element {
        match self {
            Node::Link(link) => &mut **link,
            Node::Loss(loss) => &mut **loss,
            Node::Background(source) => &mut **source,
            Node::Absorber(absorber) => &mut **absorber,
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
        assert!(matches!(Node::of(loss), Some(Node::Loss(_))));
        assert!(matches!(Node::of(Absorber::default()), Some(Node::Absorber(_))));
    }
}
