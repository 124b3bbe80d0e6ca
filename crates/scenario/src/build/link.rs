//! Chain of elements of one link: losses, propagation, queue and transmitter, gates and loads before the queue.
//!
//! Elements are added from downstream to upstream, because events of one instant run in the order of element
//! numbers.

use super::chance::{jitter, rule};
use super::{Builder, Chain, deadline, gate_of};
use crate::model::{Direction, GateMode, Link, Position, Queue};
use path::ElementId;
use path::background::{Absorber, Background};
use path::compression::{Compressor, Decompressor, Numbering, Restorer};
use path::deadline::DeadlineLink;
use path::firewall::{Firewall, INWARD, OUTWARD};
use path::hold::Hold;
use path::loaded::LoadedLink;
use path::loss::Loss;
use path::meter::Meter;
use path::outside::ExternalLink;
use path::qdisc::QueueSite;
use path::rst_flush::RstFlush;

impl Builder<'_> {
    /// Builds the chain of a link, unless it exists.
    pub(super) fn link(&mut self, index: usize) {
        if self.chains[index].is_some() {
            return;
        }
        let mut chain = None;
        let up = is_up(&self.model.links[index]);
        if up {
            self.firewall(index, &mut chain);
        }
        self.far_meters(index, &mut chain);
        self.past_the_transmitter(index, &mut chain);
        let serving = match self.model.links[index].bearer {
            Some(bearer) => self.bearer(bearer, index),
            None => Chain::of(self.served(index)),
        };
        self.prepend(index, &mut chain, serving);
        self.before_the_queue(index, &mut chain);
        if !up {
            self.firewall(index, &mut chain);
        }
        self.chains[index] = chain;
    }

    /// Prepends a part to the chain of a link.
    fn prepend(&mut self, index: usize, chain: &mut Option<Chain>, part: Chain) {
        self.links[index].push(part.entry.0);
        match chain {
            Some(chain) => {
                let (to, port) = chain.entry;
                self.network.wire(part.exit.0, part.exit.1, to, port);
                chain.entry = part.entry;
            }
            None => *chain = Some(part),
        }
    }

    fn prepend_element(&mut self, index: usize, chain: &mut Option<Chain>, id: ElementId) {
        self.prepend(index, chain, Chain::of(id));
    }

    /// Firewall at the fixed side of the link's hop, one element for both directions.
    fn firewall(&mut self, index: usize, chain: &mut Option<Chain>) {
        let model = self.model;
        let Some(number) = model.firewalls.iter().position(|f| f.links.contains(&index)) else { return };
        let of = &model.firewalls[number];
        let id = self.firewalls[number].unwrap_or_else(|| {
            // Further network paths have flow numbers of their own.
            let mut open_to: Vec<bool> = model.flows.iter().map(|f| of.open_to.contains(&f.name)).collect();
            for (i, open) in open_to.clone().into_iter().enumerate() {
                for number in super::path_numbers(model, i).filter(|_| open) {
                    open_to.resize(open_to.len().max(number + 1), false);
                    open_to[number] = true;
                }
            }
            self.add(of.name.clone(), Firewall::new(of.config.clone(), open_to))
        });
        self.firewalls[number] = Some(id);
        let port = if of.links[0] == index { INWARD } else { OUTWARD };
        self.prepend(index, chain, Chain { entry: (id, port), exit: (id, port) });
    }

    /// Charging meters at the far end of the link: the meter of the radio network, and on the uplink the meter of the
    /// gateway too.
    fn far_meters(&mut self, index: usize, chain: &mut Option<Chain>) {
        let link = &self.model.links[index];
        if link.charging.is_none() {
            return;
        }
        let places: &[&str] = if is_up(link) { &["radio", "gateway"] } else { &["radio"] };
        for place in places {
            let id = self.add(format!("{}.{place}", link.name), Meter::default());
            self.prepend_element(index, chain, id);
        }
    }

    /// Elements after the transmitter: delay jitter, losses, header decompression, end of background load,
    /// reset watch.
    fn past_the_transmitter(&mut self, index: usize, chain: &mut Option<Chain>) {
        let (model, seed) = (self.model, self.seed);
        let link = &model.links[index];
        if let Some(down) = link.flushes {
            let id = self.add(format!("{}.rst-watch", link.name), RstFlush);
            self.watches.push((id, down));
            self.prepend_element(index, chain, id);
        }
        let keeps = self.load_keeps_to(index);
        if let Some(through) = self.absorbs(index).filter(|_| !keeps) {
            let id = self.add(format!("{}.absorber", link.name), Absorber::but(through));
            self.prepend_element(index, chain, id);
        }
        let differences = self.headers_as_differences(link);
        if !differences.is_empty() {
            let id = self.add(format!("{}.decompressor", link.name), Decompressor::new(&differences));
            self.prepend_element(index, chain, id);
        }
        for &l in link.losses.iter().rev() {
            let loss = &model.losses[l];
            let stream = seed.stream(&format!("{}@{}", loss.name, link.name), "loss");
            let element = Loss::new(rule(&loss.kind, &loss.name, seed), stream).fate(loss.fate);
            let id = self.add(loss.name.clone(), element);
            self.prepend_element(index, chain, id);
        }
        if let Some(jitter) = jitter(link, seed) {
            let id = self.add(format!("{}.delay", link.name), jitter);
            self.prepend_element(index, chain, id);
        }
        if !differences.is_empty() {
            let id = self.add(format!("{}.compressor", link.name), Numbering::new(&differences));
            self.prepend_element(index, chain, id);
        }
        let headers = self.compressed_headers(link);
        if !headers.is_empty() {
            let compressed = headers.iter().map(Option::is_some).collect();
            let id = self.add(format!("{}.headers-restored", link.name), Restorer::new(compressed));
            self.prepend_element(index, chain, id);
        }
    }

    /// Elements before the queue: shaper, gates, background load, charging meter, MTU.
    fn before_the_queue(&mut self, index: usize, chain: &mut Option<Chain>) {
        let (model, seed) = (self.model, self.seed);
        let link = &model.links[index];
        if let Some(id) = self.shaper(index) {
            self.prepend_element(index, chain, id);
        }
        for &g in link.gates.iter().rev() {
            let gate = &model.gates[g];
            if gate.at == Position::BeforeQueue {
                let stores = gate.mode == GateMode::Hold;
                let hold = Hold::new(gate_of(&gate.timing, &gate.name, seed), stores);
                let id = self.add(gate.name.clone(), hold);
                self.prepend_element(index, chain, id);
            }
        }
        let keeps = self.load_keeps_to(index);
        for &i in link.backgrounds.iter().filter(|_| !keeps) {
            let source = Background::new(self.source(i, index));
            let id = self.add(model.backgrounds[i].name.clone(), source);
            self.backgrounds.push(id);
            self.prepend_element(index, chain, id);
        }
        let headers = self.compressed_headers(link);
        if !headers.is_empty() {
            let handovers = self.handovers_without_contexts(link);
            let id =
                self.add(format!("{}.headers-compressed", link.name), Compressor::new(headers, handovers));
            self.register_handover_triggers(link, id);
            self.prepend_element(index, chain, id);
        }
        if link.charging.is_some() && !is_up(link) {
            let id = self.add(format!("{}.gateway", link.name), Meter::default());
            self.prepend_element(index, chain, id);
        }
        if let Some(mtu) = link.mtu {
            let id = self.mtu(index, mtu);
            self.prepend_element(index, chain, id);
        }
    }

    /// Server of a link: channel, deadline queue, or plain link.
    fn served(&mut self, index: usize) -> ElementId {
        let (model, seed) = (self.model, self.seed);
        let link = &model.links[index];
        if model.processes.iter().any(|process| process.links.contains(&index)) {
            let id = self.add(link.name.clone(), ExternalLink::default());
            self.outsides.push((index, id));
            return id;
        }
        if link.channel.is_some() || !link.queue.is_plain() {
            return self.channel(index);
        }
        let (config, gates) = (self.config(link), self.gates(link));
        let plain = |config, gates| path::link::Link::new(config, gates);
        let add = |b: &mut Self, served: path::link::Link| {
            if !b.load_keeps_to(index) {
                return b.add(link.name.clone(), served);
            }
            let sources = link.backgrounds.iter().map(|&i| b.source(i, index)).collect();
            let id = b.add(link.name.clone(), LoadedLink::new(served, sources));
            b.backgrounds.push(id);
            id
        };
        match &link.queue {
            Queue::Deadline(deadline) => {
                let policy = deadline::policy(model, index, deadline, 2 * self.numbers());
                self.add(link.name.clone(), DeadlineLink::new(config, gates, policy))
            }
            Queue::Red(red) => {
                let (name, rate_bps) = (link.name.as_str(), link.rate.mean_bps());
                let red = red.manager(&QueueSite { seed, name, rate_bps, stay: None, unique: false });
                add(self, plain(config, gates).managed(red))
            }
            _ => add(self, plain(config, gates)),
        }
    }
}

fn is_up(link: &Link) -> bool {
    link.direction == Some(Direction::Up)
}
