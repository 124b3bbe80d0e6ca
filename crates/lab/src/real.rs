//! Flow metrics of a real stack, from packets at its doors.
//!
//! The same numbers as of a model, as far as they can be seen from the doors at its ends: what was sent and what
//! became of it, not why.

use crate::ends::End;
use crate::measure::{FlowMeasures, Tally, longest_silence};
use base::Time;
use base::rng::Seed;
use scenario::Model;
use scenario::build::{World, closures};
use scenario::metric::Metric;

/// Measures a flow with a kernel at the end that sends, or at both.
pub(crate) fn flow(model: &Model, world: &World, index: usize, seed: Seed, limit: Time) -> FlowMeasures {
    let (flow, ends) = (&model.flows[index], world.flows[index]);
    let end = |id| End::of(&world.network, id);
    let (Some(from), Some(to)) = (end(ends.from), end(ends.to)) else {
        return FlowMeasures { values: vec![None; Metric::ALL.len()] };
    };
    let Some((bytes, _)) = flow.app.bulk() else {
        return crate::workload::sockets(model, world, index, seed, limit);
    };
    let mss = f64::from(from.largest_segment());
    let (ledger, back) = (&world.network.ledgers()[2 * index], &world.network.ledgers()[2 * index + 1]);
    let sent = from.counters();
    let data_sent = sent.data_sent as f64;
    let delivered = (to.received() as f64 / mss).ceil();
    // Of a transfer that did not get through, what did.
    let minimum = bytes.map_or(delivered, |b| (b as f64 / mss).ceil().min(delivered));
    let since_start = |t: Option<Time>| t.map(|t| t.since(ends.start).as_secs_f64());
    let end = limit.min(world.network.now());
    let download = since_start(to.finished());
    let duration = download.unwrap_or_else(|| end.since(ends.start).as_secs_f64());
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let drops = [ledger.queue_drops, ledger.other_drops, ledger.ack_drops, back.ack_drops];
    let value = |metric: &Metric| match metric {
        Metric::DownloadTime => download,
        Metric::CompletionTime => since_start(from.finished()),
        Metric::Throughput => ratio(8.0 * to.received() as f64, duration),
        Metric::GoodputRatio => ratio(minimum, data_sent),
        Metric::GoodputLinkRatio => ratio(minimum, data_sent - ledger.queue_drops as f64),
        Metric::SegmentsSent => Some(data_sent),
        Metric::SegmentsDelivered => Some(delivered),
        Metric::SegmentsRetransmitted => Some(sent.data_resent as f64),
        Metric::UnneededRetransmissions => Some(Tally::of(&ledger.verdicts()).unneeded as f64),
        Metric::LongestSilence => Some(longest_silence(model, from.silences(), seed).as_secs_f64()),
        Metric::GateClosures => {
            let until = from.finished().unwrap_or(end);
            Some(closures(model, seed, until).iter().filter(|c| c.1 >= ends.start).count() as f64)
        }
        Metric::PacketsDropped => Some(drops.iter().sum::<u64>() as f64),
        Metric::QueueDelay => ratio(ledger.queue_delay_ns as f64 / 1e9, data_sent),
        // Nobody outside a kernel sees a timer, or why something is sent again.
        _ => None,
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}
