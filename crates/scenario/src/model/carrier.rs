//! Transport of a flow in the scenario model: TCP model, kernel, datagrams, another protocol, or two
//! different ends.

use super::Linux;
use crate::protocol::Spec;
use base::Span;
use std::sync::Arc;
use transport::tcp::{Config, Role};

/// Transport protocol of a flow with its options.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a scenario has a handful, and the large one is the common one")]
pub enum Transport {
    /// The model TCP.
    Tcp {
        /// Name of the profile behind the options.
        profile: String,
        /// All options.
        config: Config,
    },
    /// The Linux kernel's own TCP; its packets enter and leave the network at packet ports.
    Linux(Linux),
    /// UDP datagrams, without acknowledgements.
    Udp(Udp),
    /// A model of another protocol, at both ends.
    Model(Arc<dyn Spec>),
    /// Different ends, the connecting end first: two TCP models, whose options are negotiated, or a kernel and another
    /// kernel or a model of its protocol.
    Ends(Box<[Transport; 2]>),
}

impl Transport {
    /// Transport at one end; [`Role::Active`] is the connecting end.
    pub fn at(&self, role: Role) -> &Transport {
        match self {
            Transport::Ends(ends) => &ends[usize::from(role == Role::Passive)],
            alike => alike,
        }
    }
    /// TCP configuration, if both ends are TCP models; if they differ, the configuration of the connecting end.
    pub fn tcp(&self) -> Option<&Config> {
        match self {
            Transport::Tcp { config, .. } => Some(config),
            Transport::Ends(ends) => match &**ends {
                [Transport::Tcp { config, .. }, Transport::Tcp { .. }] => Some(config),
                _ => None,
            },
            Transport::Linux(_) | Transport::Udp(_) | Transport::Model(_) => None,
        }
    }
    /// Specification of another protocol than TCP, if both ends are a model of it.
    pub fn model(&self) -> Option<&dyn Spec> {
        if let Transport::Model(spec) = self { Some(&**spec) } else { None }
    }
    /// Kernel settings, if an end is a kernel; if both ends are, the settings of the connecting end. Two kernels have
    /// equal protocol and IP version.
    pub fn linux(&self) -> Option<&Linux> {
        match self {
            Transport::Linux(linux) => Some(linux),
            Transport::Tcp { .. } | Transport::Udp(_) | Transport::Model(_) => None,
            Transport::Ends(ends) => ends.iter().find_map(Transport::linux),
        }
    }
    /// Kernel settings of each end.
    pub fn kernels(&self) -> [Option<&Linux>; 2] {
        [Role::Active, Role::Passive].map(|role| match self.at(role) {
            Transport::Linux(linux) => Some(linux),
            _ => None,
        })
    }
}

/// Sizes and lifetime of UDP datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Largest payload of a datagram, bytes.
    pub payload: u32,
    /// Headers of a datagram, bytes.
    pub header: u32,
    /// Lifetime of a datagram in the network; `None`: unlimited.
    pub lifetime: Option<Span>,
}
