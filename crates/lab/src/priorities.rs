//! Priorities, windows and shares of the flows under receiver congestion managers of a running network
//! (CM-07).

use base::Time;
use host::Manager;
use path::{ElementId, Network};
use scenario::build::World;
use scenario::model::Model;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The congestion managers: name of the node, and the element that controls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers(Vec<(String, ElementId)>);

/// State of a managed flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Node with the congestion manager.
    pub node: String,
    /// Name of the flow.
    pub flow: String,
    /// Weight, which `FLOW.priority=WEIGHT` sets.
    pub priority: u32,
    /// Number of connections that receive data; 0 for datagrams.
    pub connections: usize,
    /// Sum of the receive windows that the flow's connections may advertise, bytes; `None` for datagrams.
    pub window_bytes: Option<u64>,
    /// Bytes received in order; `None` for datagrams.
    pub received_bytes: Option<u64>,
    /// Share of the access link that a throttle permits to datagrams, 0 to 1; `None` without a throttle.
    pub share: Option<f64>,
}

impl Managers {
    /// Congestion managers of a scenario.
    pub fn of(model: &Model, world: &World) -> Managers {
        let name = |&(node, id): &(usize, ElementId)| (model.nodes[node].name.clone(), id);
        Managers(world.managers.iter().map(name).collect())
    }

    /// Runs the network until `now`, and returns the state of all managed flows.
    pub fn list(&self, network: &mut Network, now: Time) -> Vec<Flow> {
        if self.0.is_empty() {
            return Vec::new();
        }
        network.run_until(now);
        let of = |(node, id): &(String, ElementId)| {
            let listed = network.element::<Manager>(*id).map(|manager| manager.list(network.now()));
            let flow = |one: host::Listed| Flow {
                node: node.clone(),
                flow: one.name,
                priority: one.priority,
                connections: one.connections,
                // A link without a limit yields no finite window.
                window_bytes: one.window.filter(|window| *window < 1 << 53),
                received_bytes: one.received,
                share: one.share,
            };
            listed.unwrap_or_default().into_iter().map(flow).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: priority {}", self.flow, self.node, self.priority)?;
        match (self.share, self.received_bytes) {
            (Some(share), _) => write!(f, ", datagrams, {:.1} % of the access link", 100.0 * share),
            (None, None) => write!(f, ", datagrams, not limited"),
            (None, Some(received)) => {
                let s = if self.connections == 1 { "" } else { "s" };
                write!(f, ", {} connection{s}, {received} B received", self.connections)?;
                match self.window_bytes.filter(|_| self.connections > 0) {
                    Some(window) => write!(f, ", window {window} B"),
                    None => Ok(()),
                }
            }
        }
    }
}
