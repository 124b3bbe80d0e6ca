//! ICMP echo in scenarios (RFC 792, catalogue ME-05): `transport = "icmp"`, requests on a schedule, as `ping`
//! sends them.

use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::grammar::cx::Cx;
use crate::diagnostic::Diagnostic;
use crate::model::App;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use ::host::{DatagramConfig, EchoClient, EchoServer, FlowEnd};
use std::sync::Arc;
use transport::app::message_stream::MessageSchedule;
use transport::endpoint::Role;

/// Variant `icmp` of `transport`.
pub(super) const VARIANT: Variant = Variant {
    name: "icmp",
    doc: "Echo requests and replies, as ping sends them; for messages at their own pace.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

/// Options of ICMP echo.
pub(super) static TABLE: TableShape = table(
    "icmp",
    "Each message is an echo request; the other end replies with as many bytes. `response_time_s` and its kin are round trips.",
    &[field("header", Shape::One(ValueKind::Bytes), Need::Default("\"28 B\""), "Headers of each: IPv4 and ICMP.")],
);

/// Largest payload of an echo request: the largest IPv4 packet without its headers, bytes.
const LARGEST: u32 = 65_507;

/// ICMP echo with its options.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    /// Headers of each packet, bytes.
    header: u32,
}

/// Reads the table `icmp`.
pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let header = reader.bytes("header")?;
    let Some(header) = u32::try_from(header).ok().filter(|n| *n <= LARGEST) else {
        let message = format!("`header` is at most {LARGEST} B");
        cx.push(Diagnostic::error("bad-value", reader.place("header"), message));
        return None;
    };
    Some(Arc::new(Choice { header }))
}

impl Spec for Choice {
    fn name(&self) -> &'static str {
        "icmp"
    }
    fn words(&self) -> String {
        format!("echo, {} B of headers", self.header)
    }
    fn sizes(&self) -> Sizes {
        Sizes { payload: LARGEST, header: self.header, window: u64::MAX, acked_each: 1.0 }
    }
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload> {
        match app {
            App::Messages(_) => Ok(()),
            _ => Err(UnsupportedWorkload {
                message: "an echo request is a message at its own pace; this workload needs a connection",
                help: "write app = { ticker = { size = \"32 B\", every = \"1 s\", count = 100 } }",
            }),
        }
    }
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let ::host::HostConfig { flow, node, peer, role, start } = site.host;
        let sizes =
            DatagramConfig { flow, node, peer, payload: LARGEST, header: self.header, lifetime: None };
        match (&site.flow.app, role) {
            (App::Messages(plan), Role::Active) => {
                let schedule = MessageSchedule::new(plan, &site.flow.name, site.seed);
                Box::new(EchoClient::new(sizes, start, schedule, site.log.clone()))
            }
            _ => Box::new(EchoServer::new(sizes, site.log.clone())),
        }
    }
    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }
    fn carries_streams(&self) -> bool {
        false
    }
    fn datagrams(&self) -> bool {
        true
    }
    fn unit_word(&self) -> &'static str {
        "packet"
    }
}
