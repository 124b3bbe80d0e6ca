//! Service of a link: its capacity over time, its queue limit and the gates behind its queue.

use super::{Builder, gate_of};
use crate::model::{ChangedRate, Delay, GateMode, Link, LinkRate, Position, Queue};
use base::Span;
use path::capacity::{Capacity, Change};
use path::gate::Gate;
use path::link::{LinkConfig, LinkGate, QueueLimit};

impl Builder<'_> {
    pub(super) fn config(&self, link: &Link) -> LinkConfig {
        let base = match &link.rate {
            LinkRate::Unlimited => Capacity::Unlimited,
            LinkRate::Constant(rate) => Capacity::Fixed(*rate),
            LinkRate::Schedule(s) => Capacity::Steps { steps: s.steps.clone(), period: s.repeat },
        };
        let changes: Vec<(Gate, Change)> = link
            .rate_changes
            .iter()
            .map(|&c| {
                let change = &self.model.rate_changes[c];
                let to = match change.to {
                    ChangedRate::To(rate) => Change::To(rate),
                    ChangedRate::Times(factor) => Change::Times(factor),
                };
                (gate_of(&change.timing, &change.name, self.seed), to)
            })
            .collect();
        let capacity =
            if changes.is_empty() { base } else { Capacity::Changing { base: Box::new(base), changes } };
        let delay = match &link.delay {
            Delay::Constant(span) => *span,
            _ => Span::ZERO,
        };
        let limit = if link.queue.is_plain() {
            let room = link.queue.limit();
            let drop_head = matches!(link.queue, Queue::DropHead(_));
            QueueLimit { packets: room.packets, bytes: room.bytes, drop_head }
        } else {
            QueueLimit::default()
        };
        LinkConfig { capacity, delay, limit }
    }

    pub(super) fn gates(&self, link: &Link) -> Vec<LinkGate> {
        let after = link.gates.iter().map(|&g| &self.model.gates[g]);
        after
            .filter(|g| g.at == Position::AfterQueue)
            .map(|g| LinkGate {
                gate: gate_of(&g.timing, &g.name, self.seed),
                stores: g.mode == GateMode::Hold,
            })
            .collect()
    }
}
