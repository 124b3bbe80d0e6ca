//! Interface and list of the transport protocols of scenarios beside TCP, kernels and UDP: options, sizes,
//! supported workloads, construction of endpoints.
//!
//! Each protocol is one file of this folder and one line of [`protocols!`]; its file holds grammar,
//! description, cost, fit and construction.

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
use transport::app::connections::MessageLog;
use transport::app::message_stream::MessageSchedule;
use transport::app::messages::{Manner, MessageSink, MessageSource};
use transport::app::streams::Streamed;
use transport::app::{App as Application, Bulk};
use transport::endpoint::{Endpoint, Role};

/// A protocol with checked options, as plain data; builds the ends of a flow.
pub trait Spec: Any + Debug + Send + Sync {
    /// Name of the protocol in scenarios.
    fn name(&self) -> &'static str;
    /// Options in one line, without the protocol's name.
    fn words(&self) -> String;
    /// Payload of a full packet and its headers, bytes.
    fn sizes(&self) -> Sizes;
    /// Checks that the protocol can carry a workload; the error has cause and remedy.
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload>;
    /// Builds the element at one end of a flow.
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd>;
    /// Equality with another specification.
    fn same(&self, other: &dyn Spec) -> bool;
    /// Unit of packets in results: "segment", "chunk", "packet".
    fn unit_word(&self) -> &'static str {
        "segment"
    }
    /// Kernel protocol with which the model interoperates packet by packet, if any.
    fn kernel_protocol(&self) -> Option<Protocol> {
        None
    }
    /// Whether packets of the protocol are datagrams without acknowledgement or retransmission.
    fn datagrams(&self) -> bool {
        false
    }
    /// Whether the protocol carries streams of media, with frames as messages.
    fn carries_streams(&self) -> bool {
        true
    }
    /// Whether the protocol discovers the path MTU, so that its packets must not be fragmented.
    fn learns_mtu(&self) -> bool {
        false
    }
    /// Number of network paths that the protocol uses at once, each with a route of its own.
    fn paths(&self) -> usize {
        1
    }
}

impl PartialEq for dyn Spec {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

/// Implements [`Spec::same`] for specifications with `PartialEq`.
pub fn same<T: Spec + PartialEq>(one: &T, other: &dyn Spec) -> bool {
    let other: &dyn Any = other;
    other.downcast_ref::<T>().is_some_and(|other| other == one)
}

/// Sizes of a full packet, for cost estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sizes {
    /// Payload, bytes.
    pub payload: u32,
    /// Headers, bytes.
    pub header: u32,
    /// Largest flight that the receiver permits, bytes.
    pub window: u64,
    /// Data packets per acknowledgement.
    pub acked_each: f64,
}

/// Reason why a protocol cannot carry a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsupportedWorkload {
    /// Cause.
    pub message: &'static str,
    /// Remedy.
    pub help: &'static str,
}

/// Context in which an end of a flow is built.
pub struct Site<'a> {
    /// Host configuration.
    pub host: HostConfig,
    /// Flow of the end.
    pub flow: &'a Flow,
    /// Index of the flow, from 0, for ports and tags.
    pub index: usize,
    /// Out-of-band record of message boundaries, shared by both ends.
    pub log: &'a MessageLog,
    /// Seed of the repetition.
    pub seed: Seed,
    /// Flow number of packets on the first further network path; the numbers of the next paths follow.
    pub other_paths: FlowId,
    /// Congestion window shared by flows between the two nodes, for protocols with a shared window.
    pub window: atp_transport::SharedWindow,
    /// Addresses and numbers for a kernel at the other end, if there is one.
    pub codec: Option<CodecConfig>,
}

impl Site<'_> {
    /// A host with this endpoint and the flow's workload. Message workloads run as messages in the given
    /// manner if the protocol preserves message boundaries. Requests and pages run over its streams.
    pub fn holding<E: Endpoint>(&self, endpoint: E, manner: Manner) -> Box<dyn FlowEnd> {
        let host = Host::holding(&self.host, endpoint, self.application(manner));
        Box::new(host.with_paths(self.other_paths))
    }

    /// A host opposite a kernel.
    pub fn coded<E: Endpoint>(&self, endpoint: E, codec: impl WireCodec<E> + 'static) -> Box<dyn FlowEnd> {
        let host = Host::holding(&self.host, endpoint, self.application(Manner::default()));
        Box::new(host.over(Box::new(codec)))
    }

    fn application(&self, manner: Manner) -> Box<dyn Application> {
        let (flow, role, log) = (self.flow, self.host.role, self.log.clone());
        if let Some(media) = crate::build::media(flow, role, manner, &log) {
            return media;
        }
        match (&flow.app, role) {
            (App::Bulk { bytes, lasts }, Role::Active) => Box::new(Bulk::new(*bytes, *lasts)),
            (App::Bulk { .. }, Role::Passive) => Box::new(crate::build::sink(flow)),
            (App::Messages(plan), Role::Active) => {
                Box::new(MessageSource::new(MessageSchedule::new(plan, &flow.name, self.seed), manner, log))
            }
            (App::Messages(plan), Role::Passive) => Box::new(MessageSink::new(log, plan.useful)),
            (App::Requests(_), _) => {
                let workload = crate::build::workload(flow, role, self.log, self.seed);
                workload
                    .map_or_else(|| Box::new(Bulk::new(None, None)) as _, |w| Box::new(Streamed::new(w)) as _)
            }
        }
    }
}

/// List of protocols: modules with `VARIANT`, `TABLE` and `read`.
macro_rules! protocols {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Values of `transport`.
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

protocols! { atp, dccp, icmp, rtp, sctp, tfrc }

/// Reads `transport`. Outer `None`: not a protocol of this list; inner `None`: its options have errors, which are
/// reported.
pub(crate) fn read(tree: &Tree, cx: &Cx<'_>) -> Option<Option<Arc<dyn Spec>>> {
    let (name, reader) = chosen(tree, table)?;
    Some(read_as(name, reader, cx))
}
