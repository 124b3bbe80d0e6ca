//! Feature negotiation (RFC 4340 section 6): preference lists, confirmations, the values in force.

use super::Config;
use crate::ccid::Ccid;
use crate::packet::{Feature, Negotiation, Opt};

/// Requested and negotiated features of one end.
#[derive(Clone, Debug)]
pub(super) struct Features {
    ccids: Vec<Ccid>,
    ccid: Ccid,
    vectors: bool,
    /// This end sends NDP Counts.
    ndp: bool,
    ratio: u16,
    window: u64,
    /// The peer's sequence window: how far our numbers may run ahead of the highest one that it received.
    pub(super) peer_window: u64,
    /// Confirmations to put on the next packet.
    replies: Vec<Opt>,
    /// A negotiation had no value that both ends accept.
    pub(super) failed: bool,
}

/// Six bytes of a non-negotiable number (RFC 4340 section 7.5.2).
fn six(n: u64) -> Vec<u8> {
    n.to_be_bytes()[2..].to_vec()
}

fn value(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}

impl Features {
    pub(super) fn new(config: &Config) -> Self {
        let ccids = if config.ccids.is_empty() { vec![Ccid::Tfrc] } else { config.ccids.clone() };
        Features {
            ccid: ccids[0],
            ccids,
            vectors: config.ack_vectors,
            ndp: false,
            ratio: config.ack_ratio,
            window: config.sequence_window,
            peer_window: config.sequence_window,
            replies: Vec::new(),
            failed: false,
        }
    }

    /// The congestion control of both half-connections.
    pub(super) fn ccid(&self) -> Ccid {
        self.ccid
    }
    /// Whether acknowledgements carry Ack Vectors.
    pub(super) fn vectors(&self) -> bool {
        self.vectors || self.ccid == Ccid::Tcplike
    }

    /// Whether this end sends NDP Counts.
    pub(super) fn sends_ndp(&self) -> bool {
        self.ndp
    }

    fn preferences(&self) -> Vec<u8> {
        self.ccids.iter().map(|c| c.number()).collect()
    }

    /// The options of a request: preferences for both half-connections, and the numbers of this end.
    pub(super) fn offer(&self) -> Vec<Opt> {
        let change = |n, feature: Feature, values| Opt::Feature(n, feature.number(), values);
        let mut offer = vec![
            change(Negotiation::ChangeL, Feature::Ccid, self.preferences()),
            change(Negotiation::ChangeR, Feature::Ccid, self.preferences()),
            change(Negotiation::ChangeL, Feature::SequenceWindow, six(self.window)),
            change(Negotiation::ChangeL, Feature::AckRatio, self.ratio.to_be_bytes().to_vec()),
        ];
        //= RFC 4342 section 6.1.1: the receiver needs NDP Counts, to tell lost data from lost packets without
        if self.ccids.contains(&Ccid::Tfrc) {
            offer.push(change(Negotiation::ChangeL, Feature::SendNdpCount, vec![1]));
            offer.push(change(Negotiation::ChangeR, Feature::SendNdpCount, vec![1]));
        }
        if self.vectors {
            offer.push(change(Negotiation::ChangeR, Feature::SendAckVector, vec![1]));
        }
        offer
    }

    /// Reads the options of a packet; `server`: its preferences take precedence.
    pub(super) fn take(&mut self, options: &[Opt], server: bool) {
        for option in options {
            let Opt::Feature(negotiation, number, values) = option else { continue };
            match (Feature::of(*number), negotiation) {
                (Some(Feature::Ccid), Negotiation::ChangeL | Negotiation::ChangeR) => {
                    self.reconcile(*negotiation, values, server);
                }
                (Some(Feature::Ccid), _) => match values.first().copied().and_then(Ccid::of) {
                    Some(ccid) if self.ccids.contains(&ccid) => self.ccid = ccid,
                    // An empty confirmation, or a value that was not offered.
                    _ => self.failed = true,
                },
                (Some(Feature::SequenceWindow), Negotiation::ChangeL) => {
                    self.peer_window = value(values).max(32);
                    self.reply(Negotiation::ConfirmR, *number, values.clone());
                    // A server adds its own window to the confirmation.
                    if server {
                        let own = six(self.window);
                        self.reply(Negotiation::ChangeL, *number, own);
                    }
                }
                (Some(Feature::AckRatio), Negotiation::ChangeL) => {
                    self.ratio = u16::try_from(value(values)).unwrap_or(u16::MAX);
                    self.reply(Negotiation::ConfirmR, *number, values.clone());
                }
                (Some(Feature::SendAckVector), Negotiation::ChangeR) => {
                    self.vectors = values.first() == Some(&1);
                    self.reply(Negotiation::ConfirmL, *number, vec![u8::from(self.vectors)]);
                }
                (Some(Feature::SendNdpCount), Negotiation::ChangeL) => {
                    self.reply(Negotiation::ConfirmR, *number, values.clone());
                }
                (Some(Feature::SendNdpCount), Negotiation::ChangeR) => {
                    self.ndp = values.first() == Some(&1);
                    self.reply(Negotiation::ConfirmL, *number, vec![u8::from(self.ndp)]);
                }
                (Some(Feature::SendNdpCount), Negotiation::ConfirmR) => {
                    self.ndp = values.first() == Some(&1);
                }
                (_, Negotiation::ChangeL) => self.reply(Negotiation::ConfirmR, *number, Vec::new()),
                (_, Negotiation::ChangeR) => self.reply(Negotiation::ConfirmL, *number, Vec::new()),
                _ => {}
            }
        }
    }

    //= RFC 4340 section 6.3.1: the first entry of the server's list that is also in the client's list
    fn reconcile(&mut self, negotiation: Negotiation, values: &[u8], server: bool) {
        let theirs: Vec<Ccid> = values.iter().filter_map(|n| Ccid::of(*n)).collect();
        let (first, second) = if server { (&self.ccids, &theirs) } else { (&theirs, &self.ccids) };
        let agreed = first.iter().copied().find(|c| second.contains(c));
        let confirm = match negotiation {
            Negotiation::ChangeL => Negotiation::ConfirmR,
            _ => Negotiation::ConfirmL,
        };
        let mut content = Vec::new();
        match agreed {
            Some(ccid) => {
                self.ccid = ccid;
                content.push(ccid.number());
                content.extend(self.preferences());
            }
            None => self.failed = true,
        }
        self.reply(confirm, Feature::Ccid.number(), content);
    }

    fn reply(&mut self, negotiation: Negotiation, number: u8, content: Vec<u8>) {
        // A hostile peer may send any number of changes.
        if self.replies.len() < 16 {
            self.replies.push(Opt::Feature(negotiation, number, content));
        }
    }

    /// Confirmations for the next packet.
    pub(super) fn replies(&mut self) -> Vec<Opt> {
        std::mem::take(&mut self.replies)
    }

    /// Data packets per acknowledgement, as the peer asked for.
    pub(super) fn ratio(&self) -> u32 {
        u32::from(self.ratio)
    }
}
