//! Builder of header compression: the flows that a link compresses, and compressed sizes (RFC 1144, RFC 2507,
//! RFC 6846; catalogue PR-09, PR-15, PR-16). Packets of kernels and of protocols other than TCP pass
//! uncompressed.

use super::Builder;
use crate::model::{HeaderCompression, Link, Transport};
use path::compression::{Handovers, HeaderSizes};
use path::element::{ElementId, Signal};
use path::states::StateMachine;
use transport::tcp::{Config, Role};

/// TCP/IPv4 header without options, the part that the schemes compress, bytes.
const HEADERS: u32 = 40;

impl Builder<'_> {
    /// Value of `of` for the TCP configuration of the sender in each flow direction (ledger); `none` for other transports.
    fn by_ledger<T: Clone>(&self, none: T, of: impl Fn(&Config) -> T) -> Vec<T> {
        let end = |role| {
            let (of, none) = (&of, none.clone());
            move |flow: &crate::model::Flow| match flow.transport.at(role) {
                Transport::Tcp { config, .. } => of(config),
                _ => none.clone(),
            }
        };
        let (active, passive) = (end(Role::Active), end(Role::Passive));
        let flows = self.model.flows.iter().flat_map(|flow| [active(flow), passive(flow)]);
        flows.chain(std::iter::repeat(none.clone())).take(2 * self.numbers()).collect()
    }

    /// For each flow direction (ledger), whether a link sends headers as differences; empty if for none.
    pub(super) fn headers_as_differences(&self, link: &Link) -> Vec<bool> {
        match link.compression {
            // RFC 1144: packets with changed options are sent uncompressed.
            Some(HeaderCompression::Rfc1144) => self.by_ledger(false, |config| !config.timestamps),
            Some(HeaderCompression::Rfc2507) => self.by_ledger(false, |_| true),
            Some(HeaderCompression::Rohc) | None => Vec::new(),
        }
    }

    /// Indexes of a link's state machines with a state whose entry loses the contexts of header compression.
    fn machines_without_contexts(&self, link: &Link) -> Vec<usize> {
        let all = link.channel.as_ref().map_or(&[][..], |channel| &channel.machines);
        let loses = |m: &&usize| self.model.machines[**m].states.iter().any(|state| state.loses_contexts);
        all.iter().filter(loses).copied().collect()
    }

    /// Handovers of a link without context transfer (RFC 3374).
    pub(super) fn handovers_without_contexts(&self, link: &Link) -> Vec<Handovers> {
        let of = |m: usize| {
            let loses = self.model.machines[m].states.iter().map(|state| state.loses_contexts).collect();
            Handovers::new(m as u16, StateMachine::new(self.plans[m].clone(), self.seed), loses)
        };
        self.machines_without_contexts(link).into_iter().map(of).collect()
    }

    /// Registers a compressor at the triggers of handovers without context transfer.
    pub(super) fn register_handover_triggers(&mut self, link: &Link, compressor: ElementId) {
        for m in self.machines_without_contexts(link) {
            let machine = &self.model.machines[m];
            for (s, state) in machine.states.iter().enumerate() {
                let signal = Signal::State { machine: m as u16, state: s as u16 };
                self.network.lend(&format!("{}.{}", machine.name, state.name), compressor, signal);
            }
        }
    }

    /// For each flow direction (ledger), compressed header sizes on a link; empty if sizes do not change.
    pub(super) fn compressed_headers(&self, link: &Link) -> Vec<Option<HeaderSizes>> {
        let sizes = |of: fn(&Config) -> HeaderSizes| {
            self.by_ledger(None, |config| (config.wire.header >= HEADERS).then(|| of(config)))
        };
        match link.compression {
            // RFC 2507 section 7 (COMPRESSED_TCP), 8-bit CID: CID, flags and checksum take 4 B. The flags I, P, S, A, W
            // and U have the meaning of RFC 1144, its special cases included: segments of equal size in one
            // direction need no delta (`SPECIAL_D`, RFC 1144 appendix A). A compressor that leaves the special
            // cases out (Click's) sends 7 B for them. An ACK adds a delta of 3 B, a zero and 16 bits. Changed
            // options are sent in full.
            Some(HeaderCompression::Rfc2507) => {
                sizes(|_| HeaderSizes { whole: HEADERS, data: 4, ack: 7, repeats_whole: true })
            }
            // RFC 6846 section 8.2, sequential IP identifiers, CID 0: formats seq_2 (24 bits) and seq_4 (16 bits),
            // each with the 2 B checksum of the irregular chain: 5 B and 4 B. Each of both timestamps adds at
            // least 1 B. Fields checked against `rfc6846.h` of the ROHC library (rohc-lib.org).
            Some(HeaderCompression::Rohc) => sizes(|config| {
                let (data, acks) = (config.timestamps, config.timestamps && config.wire.timestamps_on_acks);
                let whole = HEADERS + if data { config.wire.timestamps } else { 0 };
                let option = |there: bool| if there { 2 } else { 0 };
                let beside = if data && !acks { config.wire.timestamps } else { 0 };
                HeaderSizes {
                    whole,
                    data: 5 + option(data),
                    ack: 4 + option(acks) + beside,
                    repeats_whole: false,
                }
            }),
            Some(HeaderCompression::Rfc1144) | None => Vec::new(),
        }
    }
}
