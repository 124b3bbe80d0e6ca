//! Builder of networks of cells: one element per system, wired to the hosts of its users.

use super::{Builder, Ends};
use cells::system::Cells;
use path::{ElementId, Port};

impl Builder<'_> {
    /// Elements of the model's systems. A mobile has two ports: toward its host, and toward the server.
    pub(super) fn systems(&mut self, ends: &[Ends]) -> Vec<ElementId> {
        let model = self.model;
        let mut all = Vec::with_capacity(model.systems.len());
        for system in &model.systems {
            let id = self.add(system.name.clone(), Cells::new(&system.plan, &system.name, self.seed));
            for (mobile, user) in system.users.iter().enumerate() {
                let ends = ends[user.flow];
                let (handset, server) =
                    if user.mobile_asks { (ends.from, ends.to) } else { (ends.to, ends.from) };
                for (host, port) in
                    [(handset, Port(2 * mobile as u16)), (server, Port(2 * mobile as u16 + 1))]
                {
                    self.network.wire(host, Port(0), id, port);
                    self.network.wire(id, port, host, Port(0));
                }
            }
            // The system measures until the driver closes it at the end of the workloads.
            self.backgrounds.push(id);
            all.push(id);
        }
        all
    }
}
