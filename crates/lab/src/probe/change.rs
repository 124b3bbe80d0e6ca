//! Probes of losses and queue drops of data packets before and after the first state change.
//!
//! "The change" is the first [`Event::StateEntered`] of the trace.

use super::Readings;
use base::Time;
use base::event::{Event, Record};
use base::packet::DropReason;
use std::collections::BTreeSet;

/// Name and definition of each probe.
pub(super) const PROBES: &[(&str, &str)] = &[
    ("air_losses_before_change", "data packets lost to errors before the first change of state"),
    ("air_losses_after_change", "data packets lost to errors after it"),
    ("queue_drops_before_change", "data packets that a queue dropped before it"),
    ("queue_drops_after_change", "data packets that a queue dropped after it"),
    ("first_queue_drop_s", "when a queue first dropped a data packet"),
];

/// Measures the probes in the trace of one repetition; `from` is the data's sender. Without a state change,
/// no probe has a value.
pub(super) fn take(records: &[Record], from: u32, out: &mut Readings) {
    let entered = |r: &&Record| matches!(r.event, Event::StateEntered { .. });
    let Some(change) = records.iter().find(entered).map(|r| r.t) else { return };
    let mut data = BTreeSet::new();
    let (mut air, mut queue, mut first) = ([0u32; 2], [0u32; 2], None::<Time>);
    for r in records {
        match r.event {
            Event::DataSent { packet, .. } if r.source.0 == from => {
                data.insert(packet);
            }
            Event::Dropped { packet, reason, .. } if data.contains(&packet) => {
                let when = usize::from(r.t >= change);
                match reason {
                    DropReason::Loss | DropReason::Corrupt | DropReason::GivenUp => air[when] += 1,
                    DropReason::QueueFull | DropReason::Early | DropReason::Expired => {
                        queue[when] += 1;
                        first = first.or(Some(r.t));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    out.extend([
        ("air_losses_before_change", f64::from(air[0])),
        ("air_losses_after_change", f64::from(air[1])),
        ("queue_drops_before_change", f64::from(queue[0])),
        ("queue_drops_after_change", f64::from(queue[1])),
    ]);
    out.extend(first.map(|t| ("first_queue_drop_s", t.as_secs_f64())));
}
