//! Active queue management (AQM): RED, CoDel, PIE, threshold marking, dual-threshold drop.
//!
//! One of several managers, asked when a packet comes and again when it leaves. Each is a file of its own.

use super::codel::CoDel;
use super::dual_threshold::DualThreshold;
use super::pie::Pie;
use super::threshold::Threshold;
use crate::red::{Red, Verdict};
use base::{Span, Time};

/// What a manager is told of a packet and its queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    /// The present.
    pub(crate) now: Time,
    /// Packets that wait, this one not among them.
    pub(crate) packets: usize,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Its ECN codepoint.
    pub(crate) ecn: u8,
    /// How long the link has had nothing to do, when it comes; how long it has waited, when it leaves.
    pub(crate) span: Span,
    /// The ledger of its flow and direction.
    pub(crate) flow: u64,
}

/// A queue's manager.
#[derive(Clone, Debug)]
pub enum Manager {
    /// Random early detection.
    Red(Box<Red>),
    /// Marks above a threshold.
    Threshold(Threshold),
    /// One packet at a soft threshold.
    Dual(Box<DualThreshold>),
    /// Controlled delay.
    CoDel(CoDel),
    /// Proportional integral controller, enhanced.
    Pie(Box<Pie>),
}

impl Manager {
    /// A packet comes.
    pub(crate) fn comes(&mut self, view: View) -> Verdict {
        match self {
            Manager::Red(red) => red.arrival(view.now, view.packets, view.span, view.ecn),
            Manager::Threshold(threshold) => threshold.comes(view),
            Manager::Dual(dual) => dual.comes(view),
            Manager::CoDel(_) => Verdict::Pass,
            Manager::Pie(pie) => pie.comes(view),
        }
    }

    /// A packet is at the head and would leave.
    pub(crate) fn leaves(&mut self, view: View) -> Verdict {
        match self {
            Manager::Red(_) | Manager::Threshold(_) => Verdict::Pass,
            Manager::Dual(dual) => dual.leaves(),
            Manager::CoDel(codel) => codel.leaves(view),
            Manager::Pie(pie) => {
                pie.leaves(view);
                Verdict::Pass
            }
        }
    }

    /// The queue was full after all.
    pub(crate) fn overflowed(&mut self) {
        if let Manager::Red(red) = self {
            red.overflowed();
        }
    }
}
