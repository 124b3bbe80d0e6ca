//! Builder of header compression: which flows a link's scheme compresses, and to which sizes (RFC 1144, RFC 2507, RFC 6846; catalogue
//! PR-09, PR-15, PR-16). Packets of kernels, and of other protocols than TCP, pass as they are.

use super::Builder;
use crate::model::{HeaderCompression, Link, Transport};
use path::compression::HeaderSizes;
use transport::tcp::{Config, Role};

/// Bytes of the headers of TCP over IPv4 without options: what the schemes compress.
const HEADERS: u32 = 40;

impl Builder<'_> {
    /// By ledger, what a flow's end of TCP makes of `of`.
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

    /// By ledger, whether headers are sent as differences on a link; empty if nobody's are.
    pub(super) fn headers_as_differences(&self, link: &Link) -> Vec<bool> {
        match link.compression {
            // RFC 1144 sends packets whose options change uncompressed.
            Some(HeaderCompression::Rfc1144) => self.by_ledger(false, |config| !config.timestamps),
            Some(HeaderCompression::Rfc2507) => self.by_ledger(false, |_| true),
            Some(HeaderCompression::Rohc) | None => Vec::new(),
        }
    }

    /// By ledger, sizes of compressed headers on a link; empty if sizes stay as they are.
    pub(super) fn compressed_headers(&self, link: &Link) -> Vec<Option<HeaderSizes>> {
        let sizes = |of: fn(&Config) -> HeaderSizes| {
            self.by_ledger(None, |config| (config.wire.header >= HEADERS).then(|| of(config)))
        };
        match link.compression {
            // RFC 2507 section 7.13, with an 8-bit CID: CID, flags and checksum are 4 B, and segments of one size need no more
            // (data in one direction are a special case of the flags, as `SPECIAL_D` of RFC 1144 appendix A). The difference
            // of an acknowledgement is 3 B: a zero and 16 bits. That is the RFC's "4-7 octets". Options that change
            // follow whole.
            Some(HeaderCompression::Rfc2507) => {
                sizes(|_| HeaderSizes { whole: HEADERS, data: 4, ack: 7, repeats_whole: true })
            }
            // RFC 6846 section 8.2, for IP identifiers in sequence and a CID of 0: formats seq_2 (16 + 8 bits) and seq_4 (8 + 8
            // bits), each with the 2 B checksum of the irregular chain: 5 B and 4 B. Both timestamps follow in a byte each at
            // least. Fields checked against `rfc6846.h` of the open ROHC library (rohc-lib.org), written after the RFC.
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
