//! Loss models, also for marking and duplication: listed packets, independent choices, Gilbert-Elliott.
//!
//! Named packets, for building cases ("data segments 9-15"), and random ones: each on its own, or in bursts by the
//! two-state model of Gilbert and Elliott.

use crate::element::{Cx, Element, Port};
use crate::gate::Gate;
use base::Time;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::rng::Stream;

/// ECN codepoints (RFC 3168 section 5): not capable, and congestion experienced.
const NOT_ECT: u8 = 0;
const CE: u8 = 3;

/// How packets are chosen.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Data packets with these ordinals, first and last included (catalogue NS-09).
    Scripted(Vec<(u32, u32)>),
    /// Each packet with this probability.
    Random(f64),
    /// A chain with a good and a bad state, moved before each packet.
    GilbertElliott {
        /// Probability of leaving the good state.
        leave_good: f64,
        /// Probability of leaving the bad state.
        leave_bad: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// A bad state that is weather: it comes and goes with time, whatever the traffic.
    Weather {
        /// When it is bad.
        bad: Gate,
        /// Loss probability otherwise.
        loss_good: f64,
        /// Loss probability while it is.
        loss_bad: f64,
    },
}

/// What becomes of a chosen packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    /// It is dropped.
    #[default]
    Lost,
    /// It is marked if it may be (ECN, RFC 3168), else dropped.
    Marked,
    /// A second copy follows it at once.
    Duplicated,
}

/// Chooses packets on their way.
pub struct Loss {
    rule: Rule,
    stream: Stream,
    bad: bool,
    fate: Fate,
}

impl Loss {
    /// Loses by `rule`; chance comes from `stream`.
    pub fn new(rule: Rule, stream: Stream) -> Self {
        Loss { rule, stream, bad: false, fate: Fate::Lost }
    }

    /// The chosen packets meet another fate than to be dropped.
    #[must_use]
    pub fn fate(mut self, fate: Fate) -> Self {
        self.fate = fate;
        self
    }

    fn loses(&mut self, now: Time, packet: &Packet) -> Option<DropReason> {
        let p = match &mut self.rule {
            Rule::Scripted(ranges) => {
                let named = packet.flags.has(Flags::DATA)
                    && ranges.iter().any(|&(first, last)| (first..=last).contains(&packet.ordinal));
                return named.then_some(DropReason::Scripted);
            }
            Rule::Random(p) => *p,
            Rule::GilbertElliott { leave_good, leave_bad, loss_good, loss_bad } => {
                let leave = if self.bad { leave_bad } else { leave_good };
                self.bad ^= self.stream.uniform() < *leave;
                if self.bad { *loss_bad } else { *loss_good }
            }
            Rule::Weather { bad, loss_good, loss_bad } => {
                if bad.open_from(now, now) > now {
                    *loss_bad
                } else {
                    *loss_good
                }
            }
        };
        (self.stream.uniform() < p).then_some(DropReason::Loss)
    }
}

impl Element for Loss {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        match self.loses(cx.now(), &packet) {
            Some(_) if self.fate == Fate::Duplicated => {
                let copy = cx.duplicate(&packet);
                cx.forward(Port(0), packet);
                cx.forward(Port(0), copy);
            }
            Some(_) if self.fate == Fate::Marked && packet.ecn != NOT_ECT => {
                let (id, now) = (packet.id, cx.now());
                cx.record(Category::Path, now, || Event::Marked { packet: id });
                cx.forward(Port(0), Packet { ecn: CE, ..packet });
            }
            Some(reason) => cx.drop(packet, reason),
            None => cx.forward(Port(0), packet),
        }
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
