//! Protocol table: the transports that a scenario may name beside TCP, a kernel's stack and plain datagrams. One protocol is
//! one file here and one line of [`protocols!`]; grammar, words, cost, fit and construction stand in that file.

use crate::grammar::cx::Cx;
use crate::grammar::reader::{Reader, chosen};
use crate::grammar::shape::{Shape, TableShape};
use crate::grammar::tree::Tree;
use crate::model::{App, Flow, Protocol};
use ::atp as atp_transport;
use base::FlowId;
use base::rng::Seed;
use host::{CodecConfig, FlowEnd, Host, HostConfig, WireCodec};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use transport::app::lines::Letters;
use transport::app::messages::{Manner, MessageSink, MessageSource};
use transport::app::streams::Streamed;
use transport::app::tell::Pace;
use transport::app::{App as Application, Bulk};
use transport::endpoint::{Endpoint, Role};

/// A checked choice of a protocol with its options: plain data that knows how to make an end of a flow.
pub trait Spec: Any + Debug + Send + Sync {
    /// The protocol's word in scenarios.
    fn name(&self) -> &'static str;
    /// What was chosen, in one line, without the protocol's name.
    fn words(&self) -> String;
    /// Payload of a full packet and its headers, bytes.
    fn sizes(&self) -> Sizes;
    /// Whether it can carry a workload; if not, what is wrong and how to mend it.
    fn fits(&self, app: &App) -> Result<(), Misfit>;
    /// The element at one end of a flow.
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd>;
    /// Whether another choice is the same.
    fn same(&self, other: &dyn Spec) -> bool;
    /// How packets are measured in results: "segment", "chunk", "packet".
    fn unit_word(&self) -> &'static str {
        "segment"
    }
    /// The kernel's protocol that its model can speak with, packet by packet, if there is one.
    fn speaks(&self) -> Option<Protocol> {
        None
    }
    /// Whether its packets are datagrams that are never acknowledged or repeated.
    fn datagrams(&self) -> bool {
        false
    }
    /// Whether its packets must not be cut up, because it learns the MTU of its paths.
    fn learns_mtu(&self) -> bool {
        false
    }
    /// How many network paths it uses at once; each is a route of its own through the network.
    fn paths(&self) -> usize {
        1
    }
}

impl PartialEq for dyn Spec {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

/// [`Spec::same`] for specs that can be compared.
pub fn same<T: Spec + PartialEq>(one: &T, other: &dyn Spec) -> bool {
    let other: &dyn Any = other;
    other.downcast_ref::<T>().is_some_and(|other| other == one)
}

/// What a full packet of a protocol takes, for estimates of cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sizes {
    /// Payload, bytes.
    pub payload: u32,
    /// Headers, bytes.
    pub header: u32,
    /// Largest number of bytes under way that the receiver allows.
    pub window: u64,
    /// Data packets for each acknowledgement.
    pub acked_each: f64,
}

/// Why a protocol cannot carry a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// What is wrong.
    pub message: &'static str,
    /// How to mend it.
    pub help: &'static str,
}

/// Where an end of a flow is built.
pub struct Site<'a> {
    /// Its place.
    pub host: HostConfig,
    /// Its flow.
    pub flow: &'a Flow,
    /// The number of the flow, from 0: for ports and tags.
    pub index: usize,
    /// The out-of-band record of message boundaries, shared by both ends.
    pub letters: &'a Letters,
    /// The seed of the repetition.
    pub seed: Seed,
    /// The number that packets bear on its first other network path; the further ones follow.
    pub other_paths: FlowId,
    /// The congestion window of all flows from this node to that one, for protocols that share it.
    pub window: atp_transport::SharedWindow,
    /// How it shows to a kernel at the other end, if there is one.
    pub codec: Option<CodecConfig>,
}

impl Site<'_> {
    /// A host with this endpoint and the flow's workload. A protocol that keeps messages gets message workloads as
    /// messages, in the given manner; requests and pages run over its streams.
    pub fn holding<E: Endpoint>(&self, endpoint: E, manner: Manner) -> Box<dyn FlowEnd> {
        let host = Host::holding(&self.host, endpoint, self.application(manner));
        Box::new(host.with_paths(self.other_paths))
    }

    /// A host whose other end is a kernel.
    pub fn coded<E: Endpoint>(&self, endpoint: E, codec: impl WireCodec<E> + 'static) -> Box<dyn FlowEnd> {
        let host = Host::holding(&self.host, endpoint, self.application(Manner::default()));
        Box::new(host.over(Box::new(codec)))
    }

    fn application(&self, manner: Manner) -> Box<dyn Application> {
        let (flow, role, letters) = (self.flow, self.host.role, self.letters.clone());
        match (&flow.app, role) {
            (App::Bulk { bytes, lasts }, Role::Active) => Box::new(Bulk::new(*bytes, *lasts)),
            (App::Bulk { .. }, Role::Passive) => Box::new(crate::build::sink(flow)),
            (App::Tell(plan), Role::Active) => {
                Box::new(MessageSource::new(Pace::new(plan, &flow.name, self.seed), manner, letters))
            }
            (App::Tell(plan), Role::Passive) => Box::new(MessageSink::new(letters, plan.useful)),
            (App::Ask(_), _) => {
                let workload = crate::build::workload(flow, role, self.letters, self.seed);
                workload
                    .map_or_else(|| Box::new(Bulk::new(None, None)) as _, |w| Box::new(Streamed::new(w)) as _)
            }
        }
    }
}

/// The list of protocols: a module each, with `VARIANT`, `TABLE` and `read`.
macro_rules! protocols {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// What `transport` may name.
        pub(crate) static CHOICE: Shape = Shape::Choice(&[
            crate::tables::flow::TCP,
            crate::tables::flow::LINUX,
            crate::tables::flow::udp::VARIANT,
            $($module::VARIANT),*
        ]);

        fn table(name: &str) -> Option<&'static TableShape> {
            $(if name == $module::VARIANT.name {
                return Some(&$module::TABLE);
            })*
            None
        }

        fn read_as(name: &str, reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
            $(if name == $module::VARIANT.name {
                return $module::read(reader, cx);
            })*
            None
        }
    };
}

protocols! { atp, dccp, icmp, sctp, tfrc }

/// Reads `transport`, if it names a protocol of this table; none inside: it does, and has been complained of.
pub(crate) fn read(tree: &Tree, cx: &Cx<'_>) -> Option<Option<Arc<dyn Spec>>> {
    let (name, reader) = chosen(tree, table)?;
    Some(read_as(name, reader, cx))
}
