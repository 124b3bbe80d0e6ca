//! Transports of a flow: a model, kernels, or one of each.

use super::Linux;
use crate::protocol::Spec;
use base::Span;
use std::sync::Arc;
use transport::tcp::{Config, Role};

/// A protocol with its choices.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a scenario has a handful, and the large one is the common one")]
pub enum Transport {
    /// The model TCP.
    Tcp {
        /// The profile that the choices started from.
        profile: String,
        /// All of its choices.
        config: Config,
    },
    /// The Linux kernel's own TCP, real: its packets come and go by doors.
    Linux(Linux),
    /// Datagrams that nobody answers.
    Udp(Udp),
    /// A model of another protocol, at both ends.
    Model(Arc<dyn Spec>),
    /// Ends that are not alike, the opening one first: two models of TCP that have agreed on their options, or a kernel at
    /// least at one of them, a model of TCP or another kernel at the other.
    Ends(Box<[Transport; 2]>),
}

impl Transport {
    /// What one end is: [`Role::Active`] is where the flow comes from.
    pub fn at(&self, role: Role) -> &Transport {
        match self {
            Transport::Ends(ends) => &ends[usize::from(role == Role::Passive)],
            alike => alike,
        }
    }
    /// The model's choices, if it is one of TCP at both ends; of two that differ, the opening end's.
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
    /// The choice of another protocol than TCP, if it is a model of one.
    pub fn model(&self) -> Option<&dyn Spec> {
        if let Transport::Model(spec) = self { Some(&**spec) } else { None }
    }
    /// What is asked of the kernel, if one takes part: of two that differ, of the opening end's. Both have the same
    /// protocol and version of IP.
    pub fn linux(&self) -> Option<&Linux> {
        match self {
            Transport::Linux(linux) => Some(linux),
            Transport::Tcp { .. } | Transport::Udp(_) | Transport::Model(_) => None,
            Transport::Ends(ends) => ends.iter().find_map(Transport::linux),
        }
    }
    /// The same of each end.
    pub fn kernels(&self) -> [Option<&Linux>; 2] {
        [Role::Active, Role::Passive].map(|role| match self.at(role) {
            Transport::Linux(linux) => Some(linux),
            _ => None,
        })
    }
}

/// Sizes of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Most bytes of a message in one.
    pub payload: u32,
    /// Headers of each, bytes.
    pub header: u32,
    /// For how long each is of use to the network; none: for ever.
    pub lifetime: Option<Span>,
}
