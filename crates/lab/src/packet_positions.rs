//! Packet positions of one repetition over time, as columns: for each packet and link, times of enqueue,
//! service start, and delivery or drop.
//!
//! A viewer with a time slider shows the packets in each queue and on each link at time t from these three
//! times. They are taken from the repetition's trace. A link is any element that records [`Event::Enqueued`].

use crate::once::{Options, run_once};
use base::event::{Event, Record};
use scenario::Model;
use scenario::build::closures;
use serde::Serialize;
use std::collections::BTreeMap;

/// Upper bound of hops, which bounds the size of the page.
pub const MOST_HOPS: usize = 200_000;

/// The hops of one repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PacketPositions {
    /// Names of the links that packets crossed, in the network's order.
    pub links: Vec<String>,
    /// Ends of each link: the nodes it leads from and to; empty where the element is not a link of the model.
    pub between: Vec<[String; 2]>,
    /// The hops, by the time at which each packet joined its queue.
    pub hops: Hops,
    /// End of the trace, s.
    pub until: f64,
    /// Hops left out because there were more than [`MOST_HOPS`].
    pub left_out: u64,
    /// Intervals of closed gates and of states: name, start, end, s.
    pub weather: Vec<(String, f64, f64)>,
}

/// One entry per hop in every column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hops {
    /// Index into [`PacketPositions::links`].
    pub link: Vec<u32>,
    /// Packet number.
    pub packet: Vec<u64>,
    /// Bytes on the link.
    pub size: Vec<u32>,
    /// 0 acknowledgements and other packets without data, 1 new data, 2 retransmission.
    pub kind: Vec<u8>,
    /// Time of arrival in the queue, s.
    pub enqueued: Vec<f64>,
    /// Start of transmission, s; absent for a packet dropped in the queue.
    pub started: Vec<Option<f64>>,
    /// Time of delivery or drop, s; absent for a packet still on the link at the end of the run.
    pub ended: Vec<Option<f64>>,
    /// True for a dropped packet.
    pub dropped: Vec<bool>,
}

/// Runs a repetition with its trace and returns its packet positions.
pub fn packet_positions(model: &Model, repetition: u64) -> PacketPositions {
    let mut outcome = run_once(model, repetition, Options { trace: true, shuffle_ties: None });
    let records = outcome.world.network.tracer().take();
    let mut positions = of(&records, &outcome.world.names);
    positions.between = positions
        .links
        .iter()
        .map(|name| {
            let link = model.links.iter().find(|link| link.name == *name);
            link.map_or_else(Default::default, |l| {
                [model.nodes[l.from].name.clone(), model.nodes[l.to].name.clone()]
            })
        })
        .collect();
    let seed = base::rng::Seed { seed: model.run.seed, repetition };
    let end = base::Time::from_secs_f64(positions.until);
    let closed = closures(model, seed, end).into_iter();
    positions.weather = closed
        .map(|(gate, from, until)| (model.gates[gate].name.clone(), from.as_secs_f64(), until.as_secs_f64()))
        .collect();
    let states = crate::picture::states::intervals(model, &records, positions.until);
    positions.weather.extend(states.into_iter().map(|state| (state.name, state.from, state.until)));
    positions
}

/// Packet positions of a trace; `names` are the names of the network's elements.
fn of(records: &[Record], names: &[String]) -> PacketPositions {
    let mut kinds: BTreeMap<u64, u8> = BTreeMap::new();
    for record in records {
        if let Event::DataSent { packet, cause, .. } = record.event {
            kinds.insert(packet, if cause == base::truth::Cause::New { 1 } else { 2 });
        }
    }
    let mut positions = PacketPositions::default();
    let mut links: BTreeMap<u32, u32> = BTreeMap::new();
    // Open hop by element and packet; a packet that crosses an element again starts a new hop.
    let mut open: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for record in records {
        let t = record.t.as_secs_f64();
        positions.until = positions.until.max(t);
        let element = record.source.0;
        match record.event {
            Event::Enqueued { packet, size, .. } => {
                let hops = &mut positions.hops;
                if hops.link.len() >= MOST_HOPS {
                    positions.left_out += 1;
                    continue;
                }
                let next = links.len() as u32;
                let link = *links.entry(element).or_insert(next);
                open.insert((element, packet), hops.link.len());
                hops.link.push(link);
                hops.packet.push(packet);
                hops.size.push(size);
                hops.kind.push(kinds.get(&packet).copied().unwrap_or(0));
                hops.enqueued.push(t);
                hops.started.push(None);
                hops.ended.push(None);
                hops.dropped.push(false);
            }
            Event::ServiceStarted { packet } => {
                if let Some(&hop) = open.get(&(element, packet)) {
                    positions.hops.started[hop].get_or_insert(t);
                }
            }
            Event::Delivered { packet } => {
                if let Some(hop) = open.remove(&(element, packet)) {
                    positions.hops.ended[hop] = Some(t);
                }
            }
            Event::Dropped { packet, .. } => {
                if let Some(hop) = open.remove(&(element, packet)) {
                    positions.hops.ended[hop] = Some(t);
                    positions.hops.dropped[hop] = true;
                }
            }
            _ => {}
        }
    }
    positions.links = vec![String::new(); links.len()];
    for (element, link) in links {
        positions.links[link as usize] = names.get(element as usize).cloned().unwrap_or_default();
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"30 kbit/s\"\n\
        delay = \"300 ms\"\nqueue = { drop-tail = { limit = \"4 packets\" } }\n[[flow]]\nname = \"download\"\n\
        from = \"server\"\nto = \"phone\"\ntransport = \"tcp\"\napp = { bulk = { bytes = \"60 kB\" } }\n";

    /// At every instant a queue holds at most its limit and services do not overlap. Every packet sent is
    /// delivered or dropped.
    #[test]
    fn hops_obey_the_link_that_made_them() {
        let scenario = scenario::read("film", TEXT.as_bytes(), &scenario::NoFiles).unwrap();
        let positions = packet_positions(scenario.first(), 0);
        let down = positions.links.iter().position(|name| name == "radio.down").unwrap() as u32;
        assert_eq!(positions.between[down as usize], ["server", "phone"]);
        let hops = &positions.hops;
        let mine: Vec<usize> = (0..hops.link.len()).filter(|&i| hops.link[i] == down).collect();
        assert!(mine.len() > 40 && mine.iter().any(|&i| hops.kind[i] == 1));
        for &i in &mine {
            let waiting = |t: f64| {
                mine.iter()
                    .filter(|&&j| {
                        hops.enqueued[j] <= t && hops.started[j].or(hops.ended[j]).is_none_or(|s| s > t)
                    })
                    .count()
            };
            assert!(waiting(hops.enqueued[i]) <= 4);
            let (Some(start), Some(end)) = (hops.started[i], hops.ended[i]) else {
                assert!(hops.dropped[i]);
                continue;
            };
            let on_air = f64::from(hops.size[i]) * 8.0 / 30e3;
            assert!((end - start - on_air - 0.3).abs() < 1e-6);
        }
        let dropped = hops.dropped.iter().filter(|d| **d).count();
        let counted = run_once(scenario.first(), 0, Options { trace: false, shuffle_ties: None });
        let metric = counted.flows[0].get(scenario::metric::Metric::PacketsDropped).unwrap();
        // A packet dropped at the queue's entrance never joins the queue.
        assert!(dropped as f64 <= metric);
        assert_eq!(positions.left_out, 0);
    }
}
