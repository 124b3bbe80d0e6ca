//! Check that a transport can carry the workload of a flow.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::model::{App, Linux, Protocol, Transport};

/// Reports a workload that the transport cannot carry, with a remedy.
pub(crate) fn fits(app: &App, transport: &Transport, place: SourceSpan, cx: &Cx<'_>) {
    let complain = |message: &str, help: &str| {
        cx.push(Diagnostic::error("impossible", place, message).help(help));
    };
    let streams = matches!(app, App::Messages(plan) if plan.stream.is_some());
    let model = match transport {
        Transport::Tcp { .. } => true,
        Transport::Model(spec) => spec.carries_streams(),
        _ => false,
    };
    if streams && !model {
        return complain(
            "a stream is carried by a model of TCP, SCTP, DCCP, RTP or ATP",
            "write transport = \"rtp\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        );
    }
    match (app, transport) {
        (App::Requests(_) | App::Messages(_), Transport::Ends(ends))
            if ends.iter().any(|end| end.model().is_some()) =>
        {
            complain(
                "a model of this protocol opposite a kernel carries bulk data",
                "write app = { bulk = {} }, or the same transport for both ends",
            );
        }
        (App::Requests(_) | App::Messages(_), Transport::Ends(ends))
            if ends.iter().filter_map(Transport::linux).any(|linux| linux.program.is_some()) =>
        {
            complain(
                "a program at an end carries bulk data",
                "write app = { bulk = {} }, or leave `program` out",
            );
        }
        (_, Transport::Ends(ends)) => ends.iter().for_each(|end| fits(app, end, place, cx)),
        (app, Transport::Model(spec)) => {
            if let Err(misfit) = spec.fits(app) {
                complain(misfit.message, misfit.help);
            }
        }
        (
            App::Bulk { .. } | App::Requests(_),
            Transport::Udp(_) | Transport::Linux(Linux { protocol: Protocol::Udp { .. }, .. }),
        ) => complain(
            "datagrams carry messages at their own pace; this workload needs a connection",
            "write transport = \"tcp\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        ),
        (App::Requests(_), Transport::Linux(Linux { protocol: Protocol::Dccp { .. }, .. })) => complain(
            "DCCP does not retransmit losses; requests and replies need a reliable transport",
            "write transport = \"linux\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        ),
        (App::Requests(_), Transport::Tcp { config, .. })
            if config.opening.handshake == transport::tcp::config::Handshake::OneWay =>
        {
            complain(
                "this workload sends data in both directions, and connections of this profile carry them in one only",
                "choose another profile, such as \"rfc\"",
            );
        }
        _ => {}
    }
}
