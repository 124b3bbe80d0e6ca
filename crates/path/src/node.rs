//! Node of the element arena: links and filters by their types, any other element behind its interface.
//!
//! Links carry nearly all packets. Calls of a type known to the compiler become part of the network's loop. A filter
//! passes a packet on at once or removes it.

use crate::background::{Absorber, Background};
use crate::element::{Cx, Element};
use crate::link::Link;
use crate::loss::Loss;
use base::packet::Packet;
use std::any::Any;
use std::ops::{Deref, DerefMut};

/// An element in the arena.
pub(crate) enum Node {
    /// A link.
    Link(Box<Link>),
    /// A filter.
    Filter(Box<Filter>),
    /// Any other element.
    Other(Box<dyn Element>),
}

/// Element that passes a packet on at once or removes it.
pub(crate) enum Filter {
    /// Random loss.
    Loss(Loss),
    /// Source of background load.
    Background(Background),
    /// End of background load.
    Absorber(Absorber),
}

impl Node {
    /// Node of an element; always `Some`.
    pub(crate) fn of<E: Element>(element: E) -> Option<Node> {
        let mut element = Some(element);
        let any: &mut dyn Any = &mut element;
        if let Some(link) = any.downcast_mut::<Option<Link>>() {
            return link.take().map(|link| Node::Link(Box::new(link)));
        }
        let filter = if let Some(loss) = any.downcast_mut::<Option<Loss>>() {
            loss.take().map(Filter::Loss)
        } else if let Some(source) = any.downcast_mut::<Option<Background>>() {
            source.take().map(Filter::Background)
        } else if let Some(absorber) = any.downcast_mut::<Option<Absorber>>() {
            absorber.take().map(Filter::Absorber)
        } else {
            None
        };
        if let Some(filter) = filter {
            return Some(Node::Filter(Box::new(filter)));
        }
        element.map(|element| Node::Other(Box::new(element)))
    }
}

impl Filter {
    fn as_element(&self) -> &dyn Element {
        match self {
            Filter::Loss(loss) => loss,
            Filter::Background(source) => source,
            Filter::Absorber(absorber) => absorber,
        }
    }

    fn as_element_mut(&mut self) -> &mut dyn Element {
        match self {
            Filter::Loss(loss) => loss,
            Filter::Background(source) => source,
            Filter::Absorber(absorber) => absorber,
        }
    }

    /// Whether a packet passes; if not, it was removed or others were sent.
    #[inline(always)] // part of the network's loop
    pub(crate) fn passes(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        match self {
            Filter::Loss(loss) => loss.passes(cx, packet),
            Filter::Background(_) => true,
            Filter::Absorber(absorber) => absorber.passes(cx, packet),
        }
    }
}

impl Deref for Node {
    type Target = dyn Element;
    fn deref(&self) -> &dyn Element {
        match self {
            Node::Link(link) => &**link,
            Node::Filter(filter) => filter.as_element(),
            Node::Other(element) => &**element,
        }
    }
}

impl DerefMut for Node {
    fn deref_mut(&mut self) -> &mut dyn Element {
        match self {
            Node::Link(link) => &mut **link,
            Node::Filter(filter) => filter.as_element_mut(),
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
        assert!(matches!(Node::of(loss), Some(Node::Filter(filter)) if matches!(*filter, Filter::Loss(_))));
        assert!(matches!(Node::of(Absorber::default()), Some(Node::Filter(_))));
    }
}
