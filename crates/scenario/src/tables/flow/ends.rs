//! Compatibility of two different ends of a flow, and negotiation of TCP options between two TCP models.
//!
//! Compatible are: two kernels with equal protocol and IP version; a kernel and a model of its protocol whose
//! packets can be encoded; two TCP models, which negotiate options in their SYNs (catalogue PR-14, TB-30).

use crate::model::{Ip, Protocol, Transport};
use transport::tcp::Config;
use transport::tcp::config::{Handshake, Spurious};

/// Reason why two ends are incompatible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndMismatch {
    /// Models with different handshakes.
    Handshakes,
    /// Models with different header sizes.
    Wires,
    /// Two models, one of them of another protocol than TCP.
    Models,
    /// Datagrams of the model at this end.
    Datagrams(usize),
    /// The model at this end is not TCP.
    NotTcp(usize),
    /// Kernels with different socket types.
    Protocols,
    /// The kernel at this end has an IP version that the model lacks.
    Version(usize),
    /// Kernels with different versions of IP.
    Versions,
    /// The kernel at this end uses another protocol than TCP opposite a model.
    Other(usize),
    /// The model at this end is one-way: it opens connections in one direction only.
    OneWay(usize),
    /// The model at this end uses a flag without an encoding in TCP headers.
    Flag(usize),
    /// The program at this end has no model as its peer.
    Program(usize),
}

impl EndMismatch {
    /// True if the second end has to be changed.
    pub(crate) fn second(self) -> bool {
        match self {
            EndMismatch::Handshakes
            | EndMismatch::Wires
            | EndMismatch::Models
            | EndMismatch::Protocols
            | EndMismatch::Versions => true,
            EndMismatch::Datagrams(end)
            | EndMismatch::NotTcp(end)
            | EndMismatch::Other(end)
            | EndMismatch::Version(end)
            | EndMismatch::OneWay(end)
            | EndMismatch::Flag(end)
            | EndMismatch::Program(end) => end == 1,
        }
    }

    /// Message of the diagnostic.
    pub(crate) fn message(self) -> &'static str {
        match self {
            EndMismatch::Handshakes => {
                "these two profiles open connections in different ways, or use a flag that the other lacks"
            }
            EndMismatch::Wires => "the two ends count different bytes on the wire for the same headers",
            EndMismatch::Models => "both ends are models, and only those of TCP can differ",
            EndMismatch::Datagrams(_) => "datagrams of the model have one configuration for both ends",
            EndMismatch::NotTcp(_) => {
                "only a model of TCP or SCTP, opposite a kernel, can have another end than its own"
            }
            EndMismatch::Protocols => "the two ends use different protocols",
            EndMismatch::Version(_) => "a model of this protocol uses IPv4, and this kernel IPv6",
            EndMismatch::Versions => "the kernels at the two ends use different versions of IP",
            EndMismatch::Other(_) => "the model at the other end uses TCP, and this kernel another protocol",
            EndMismatch::OneWay(_) => {
                "this profile opens connections in one direction, and a kernel opens them in both"
            }
            EndMismatch::Flag(_) => {
                "the retransmit flag is a proposal without a place in the header, so no kernel sends it back"
            }
            EndMismatch::Program(_) => PROGRAM.0,
        }
    }

    /// Remedy of the diagnostic.
    pub(crate) fn help(self) -> &'static str {
        match self {
            EndMismatch::Handshakes => "write the same `profile` at both ends",
            EndMismatch::Wires => "write the same `wire` at both ends",
            EndMismatch::Models => "write transport = { tcp = { ... } }, or \"linux\" at one of the ends",
            EndMismatch::Datagrams(_) => {
                "write transport = \"udp\", or transport = { linux = { protocol = \"udp\" } } for a kernel's"
            }
            EndMismatch::NotTcp(_) => "write the protocol for both ends, such as transport = \"sctp\"",
            EndMismatch::Version(_) => "leave `ip` out",
            EndMismatch::Protocols => "write the same `protocol` at both ends",
            EndMismatch::Versions => "write the same `ip` at both ends",
            EndMismatch::Other(_) => "leave `protocol` out, or write \"linux\" at both ends",
            EndMismatch::OneWay(_) => "choose another profile, such as \"rfc\" or \"linux-6.x\"",
            EndMismatch::Flag(_) => "choose a detector, such as spurious = \"eifel\"",
            EndMismatch::Program(_) => PROGRAM.1,
        }
    }
}

/// Message and remedy for a program without a model as its peer.
pub(crate) const PROGRAM: (&str, &str) = (
    "a program at one end needs a model at the other end, which determines the end of the run",
    "write the model at the other end, transport = { from = \"tcp\", to = { linux = { program = \"...\" } } }; [[command]] runs programs at both nodes",
);

/// Checks that two ends can communicate.
pub(crate) fn together(ends: &[Transport; 2]) -> Result<(), EndMismatch> {
    if let Some(end) = ends.iter().position(|end| matches!(end, Transport::Udp(_))) {
        return Err(EndMismatch::Datagrams(end));
    }
    if let Some(end) = ends.iter().position(|end| matches!(end, Transport::Model(_))) {
        let (Some(spec), Transport::Linux(linux)) = (ends[end].model(), &ends[1 - end]) else {
            return Err(EndMismatch::NotTcp(end));
        };
        return match spec.kernel_protocol() {
            None => Err(EndMismatch::NotTcp(end)),
            Some(protocol) if protocol != linux.protocol => Err(EndMismatch::Protocols),
            Some(_) if linux.ip != Ip::V4 => Err(EndMismatch::Version(1 - end)),
            Some(_) => Ok(()),
        };
    }
    match ends {
        [Transport::Linux(a), Transport::Linux(b)] => {
            if let Some(end) = [a, b].iter().position(|linux| linux.program.is_some()) {
                return Err(EndMismatch::Program(end));
            }
            if a.protocol != b.protocol {
                return Err(EndMismatch::Protocols);
            }
            if a.ip == b.ip { Ok(()) } else { Err(EndMismatch::Versions) }
        }
        [Transport::Tcp { config, .. }, Transport::Linux(linux)] => with_model(config, 0, linux.protocol),
        [Transport::Linux(linux), Transport::Tcp { config, .. }] => with_model(config, 1, linux.protocol),
        [Transport::Tcp { config: a, .. }, Transport::Tcp { config: b, .. }] => {
            let flag = |config: &Config| config.spurious == Spurious::RetransmitFlag;
            if a.opening.handshake != b.opening.handshake || flag(a) != flag(b) {
                return Err(EndMismatch::Handshakes);
            }
            if a.wire == b.wire { Ok(()) } else { Err(EndMismatch::Wires) }
        }
        _ => Err(EndMismatch::Models),
    }
}

//= RFC 9293 section 3.7.1: the smaller of the two segment sizes holds
/// Two TCP models negotiate options in their SYNs, for the lifetime of the connection.
pub(crate) fn agree(ends: &mut [Transport; 2]) {
    if let [Transport::Tcp { config: a, .. }, Transport::Tcp { config: b, .. }] = ends {
        let offers = [a.offer(), b.offer()];
        (*a, *b) = (a.agreed(offers[1]), b.agreed(offers[0]));
        for (end, offer) in [a, b].into_iter().zip(offers) {
            end.announced = offer.mss.map(u32::from);
        }
    }
}

fn with_model(config: &transport::tcp::Config, model: usize, protocol: Protocol) -> Result<(), EndMismatch> {
    if protocol != Protocol::Tcp {
        return Err(EndMismatch::Other(1 - model));
    }
    if config.opening.handshake == Handshake::OneWay {
        return Err(EndMismatch::OneWay(model));
    }
    if config.spurious == Spurious::RetransmitFlag {
        return Err(EndMismatch::Flag(model));
    }
    Ok(())
}
