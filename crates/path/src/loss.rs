//! Loss models, also for ECN marks and duplication: listed packets, independent losses, Gilbert-Elliott, loss periods
//! over time.
//!
//! A list selects data packets of constructed cases ("data segments 9-15"). The other models select packets of all
//! kinds at random.

use crate::element::{Cx, Element, Port};
use crate::gate::Gate;
use base::Time;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::rng::{Chance, Stream};

/// Not-ECT codepoint (RFC 3168 section 5).
const NOT_ECT: u8 = 0;
/// CE codepoint (RFC 3168 section 5).
const CE: u8 = 3;

/// Model that selects the packets.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Data packets with ordinals in these ranges, bounds included (catalogue NS-09).
    Scripted(Vec<(u32, u32)>),
    /// Each packet independently, with this probability.
    Random(f64),
    /// Gilbert-Elliott chain with one step before each packet.
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
    /// Loss periods over time, independent of traffic.
    Weather {
        /// Loss periods are the closed intervals of this gate.
        bad: Gate,
        /// Loss probability outside of loss periods.
        loss_good: f64,
        /// Loss probability in loss periods.
        loss_bad: f64,
    },
}

/// Treatment of a selected packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    /// Dropped.
    #[default]
    Lost,
    /// Marked with CE if the packet is ECN-capable (RFC 3168), otherwise dropped.
    Marked,
    /// Duplicated; the copy follows at the same time.
    Duplicated,
}

/// Element that drops, marks or duplicates selected packets.
pub struct Loss {
    rule: Rule,
    stream: Stream,
    /// Whether the Gilbert-Elliott chain is in the bad state.
    bad: bool,
    fate: Fate,
    /// Chance of [`Rule::Random`].
    chance: Chance,
}

impl Loss {
    /// Element that drops the packets selected by `rule`, with random numbers from `stream`.
    pub fn new(rule: Rule, stream: Stream) -> Self {
        let chance = Chance::of(if let Rule::Random(p) = rule { p } else { 0.0 });
        Loss { rule, stream, bad: false, fate: Fate::Lost, chance }
    }

    /// Sets the treatment of selected packets; the default is to drop them.
    #[must_use]
    pub fn fate(mut self, fate: Fate) -> Self {
        self.fate = fate;
        self
    }

    /// Drops, marks or duplicates a selected packet; `reason`: that of a drop.
    #[cold]
    fn treat(&self, cx: &mut Cx<'_>, packet: Packet, reason: DropReason) {
        match self.fate {
            Fate::Duplicated => {
                let copy = cx.duplicate(&packet);
                cx.forward(Port(0), packet);
                cx.forward(Port(0), copy);
            }
            Fate::Marked if packet.ecn != NOT_ECT => {
                let (id, now) = (packet.id, cx.now());
                cx.record(Category::Path, now, || Event::Marked { packet: id });
                cx.forward(Port(0), Packet { ecn: CE, ..packet });
            }
            _ => cx.drop(packet, reason),
        }
    }

    /// Whether a packet passes; a selected one is treated.
    #[inline]
    pub(crate) fn passes(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let reason = match &self.rule {
            Rule::Random(_) if !self.stream.occurs(self.chance) => return true,
            Rule::Random(_) => Some(DropReason::Loss),
            _ => self.loses(cx.now(), packet),
        };
        if let Some(reason) = reason {
            self.treat(cx, *packet, reason);
        }
        reason.is_none()
    }

    /// Whether the model selects the packet; returns the reason for a drop.
    #[inline(never)]
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
    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        if self.passes(cx, packet) {
            cx.forward_from(Port(0), packet);
        }
        Time::NEVER
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.arrive(cx, port, &packet);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn wakes(&self) -> bool {
        false
    }
    fn holds(&self) -> usize {
        0
    }
}
