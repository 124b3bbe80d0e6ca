//! One end of a kernel flow (`Part`): sockets in its namespace, workload thread, report.
//!
//! Two ends on one host share message boundaries in memory. Between hosts, requests carry them in band, and one-way
//! messages are recorded on arrival (`transport::app::{in_band, arrival_log}`).

use super::bulk::{self, BulkPlan};
use super::messages::{self, MessageReceiver};
use super::multi::{self, BoundarySource, End, Times};
use super::tcp_info_log::TcpInfoLog;
use crate::Error;
use crate::sockets::spec::EndWork;
use crate::sockets::spec::KernelSettings;
use base::{Span, Time};
use host::ExternalReport;
use netns::facts::TcpInfo;
use netns::namespace::Namespace;
use netns::sys;
use scenario::model::{App, Ip};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use transport::app::arrival_log::{Arrival, ArrivalLog, ArrivalRecorder};
use transport::app::connections::{MessageLog, Workload};
use transport::app::datagrams::{DatagramSink, DatagramSource};
use transport::app::in_band::FixedParameters;
use transport::app::message_stream::{MessageSchedule, StreamSink, StreamSource};
use transport::app::request::{RequestClient, RequestServer};

/// Prepared end of a kernel flow.
pub(crate) struct Part {
    kind: Kind,
    /// The opposite end is on another host.
    apart: bool,
    /// Address of the passive end.
    to: SocketAddr,
    /// Congestion control; None: the kernel's default.
    cc: Option<String>,
    /// Message boundaries.
    log: MessageLog,
    /// Arrivals of messages from another host.
    notes: ArrivalLog,
}

/// Sockets and workload of an end.
enum Kind {
    /// Active end of a bulk transfer.
    Writes(TcpStream, BulkPlan),
    /// Passive end of a bulk transfer.
    Reads(TcpListener, BulkPlan),
    /// Active end of a workload over connections.
    Opens(Box<dyn Workload>),
    /// Passive end of a workload over connections.
    Waits(TcpListener, Box<dyn Workload>),
    /// Sender of datagrams.
    Speaks(UdpSocket, Box<DatagramSource>),
    /// Receiver of datagrams; the sender may be on another host.
    SameHost(UdpSocket, MessageReceiver),
}

/// Report of a flow end.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) external: ExternalReport,
    /// `TCP_INFO` log of the first connection.
    pub(crate) watch: TcpInfoLog,
    /// Last `TCP_INFO` sample of each connection.
    pub(crate) lasts: Vec<TcpInfo>,
    /// Bytes written on all connections.
    pub(crate) written: u64,
    /// First error.
    pub(crate) fault: Option<String>,
    /// Send times of scheduled messages, if the receiver is on another host.
    pub(crate) send_times: Vec<Time>,
    /// Recorded arrivals of messages.
    pub(crate) arrivals: Vec<Arrival>,
    /// Kept open until the network is idle, so that a reset does not overtake an ACK.
    pub(crate) _stream: Option<TcpStream>,
}

impl From<bulk::BulkResult> for Report {
    fn from(result: bulk::BulkResult) -> Report {
        let bulk::BulkResult { finished, bytes, watch, fault, stream: _stream } = result;
        let external =
            ExternalReport { finished, received: bytes, connections: 1, ..ExternalReport::default() };
        Report { external, lasts: vec![watch.info], watch, fault, _stream, ..Report::default() }
    }
}

impl From<multi::MultiResult> for Report {
    fn from(result: multi::MultiResult) -> Report {
        let multi::MultiResult { finished, read, written, lines, watch, lasts, stats, fault } = result;
        let external = ExternalReport { finished, received: read, connections: lines, stats };
        Report { external, watch, lasts, written, fault, ..Report::default() }
    }
}

/// Address of the active or passive end: from the benchmark range (RFC 2544) or an IPv6 prefix (RFC 4193). Namespaces
/// are isolated, so all flows use the same addresses.
pub(crate) fn address(opens: bool, ip: Ip) -> IpAddr {
    let last = if opens { 1 } else { 2 };
    match ip {
        Ip::V4 => Ipv4Addr::new(198, 18, 0, last).into(),
        Ip::V6 => Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, 0xffff, 0, 0, 0, last.into()).into(),
    }
}

/// Network namespace of an end.
pub(crate) fn space(ip: Ip) -> Result<Namespace, Error> {
    Ok(match ip {
        Ip::V4 => Namespace::new()?,
        Ip::V6 => Namespace::six()?,
    })
}

/// Delay of the completion report to another host. The report travels apart from the packets and must not overtake
/// the last datagrams.
const TRAILING: Span = Span::from_millis(200);

impl Part {
    /// Creates the sockets of an end. `opens`: active end; `to`: address of the passive end; `shared`: message
    /// boundaries, if the opposite end is on this host.
    pub(crate) fn new(
        (work, opens): (&EndWork, bool),
        (space, linux, ip): (&Namespace, &KernelSettings, Ip),
        (start, limit): (Time, Time),
        (to, shared): (SocketAddr, Option<&MessageLog>),
    ) -> Result<Part, Error> {
        let apart = shared.is_none();
        let notes = ArrivalLog::default();
        let mut log = shared.cloned().unwrap_or_default();
        let listen = || {
            let listener = bulk::listen(space, ip)?;
            if let Some(cc) = &linux.cc {
                // Accepted connections inherit the congestion control. Setting it here also checks that the kernel
                // has it.
                let named = || sys::congestion_control(listener.as_raw_fd(), cc);
                named().map_err(Error::of(format!("making a socket with congestion control `{cc}`")))?;
            }
            Ok::<_, Error>(listener)
        };
        let draws = &work.draws;
        let kind = match (&work.app, opens, work.payload) {
            (App::Bulk { bytes, lasts }, _, _) => {
                let job = BulkPlan { start, limit, bytes: *bytes, lasts: *lasts, reads: work.reads };
                if opens {
                    Kind::Writes(bulk::socket(space, linux.cc.as_deref(), ip)?, job)
                } else {
                    Kind::Reads(bulk::listen(space, ip)?, job)
                }
            }
            (App::Requests(plan), _, _) => {
                if apart {
                    log = MessageLog::in_band(FixedParameters::of(plan));
                }
                if opens {
                    let client = RequestClient::new((**plan).clone(), log.clone(), &draws.name, draws.seed());
                    Kind::Opens(Box::new(client))
                } else {
                    Kind::Waits(listen()?, Box::new(RequestServer::new(log.clone())))
                }
            }
            (App::Messages(plan), true, None) => {
                let schedule = MessageSchedule::new(plan, &draws.name, draws.seed());
                Kind::Opens(Box::new(StreamSource::new(schedule, log.clone())))
            }
            (App::Messages(plan), true, Some(payload)) => {
                let schedule = MessageSchedule::new(plan, &draws.name, draws.seed());
                let source = DatagramSource::new(payload, start, schedule, log.clone());
                Kind::Speaks(datagrams(space, ip, 0)?, Box::new(source))
            }
            (App::Messages(plan), false, None) => {
                let workload: Box<dyn Workload> = if apart {
                    Box::new(ArrivalRecorder::new(notes.clone()))
                } else {
                    Box::new(StreamSink::new(log.clone(), plan.useful))
                };
                Kind::Waits(listen()?, workload)
            }
            (App::Messages(plan), false, Some(_)) => {
                let ear = if apart {
                    MessageReceiver::Notes(notes.clone())
                } else {
                    MessageReceiver::SameHost(Box::new(DatagramSink::new(log.clone(), plan.useful)))
                };
                Kind::SameHost(datagrams(space, ip, bulk::PORT)?, ear)
            }
        };
        Ok(Part { kind, apart, to, cc: linux.cc.clone(), log, notes })
    }

    /// Runs the end in the calling thread, which enters the namespace if it creates sockets during the run; calls
    /// `done` once.
    pub(crate) fn run(&mut self, space: &Namespace, times: Times<'_>, done: impl FnOnce()) -> Report {
        let Part { kind, apart, to, cc, log, notes } = self;
        let Times { clock, over, .. } = times;
        // With ends on different hosts, only the active end signals completion.
        let mut done = Some(done);
        if *apart && matches!(kind, Kind::Waits(..) | Kind::SameHost(..)) {
            done.take().into_iter().for_each(|done| done());
        }
        let done = || done.into_iter().for_each(|done| done());
        match kind {
            Kind::Reads(listener, job) => bulk::receive(listener, *job, clock, over, done).into(),
            Kind::Writes(stream, job) => {
                let result = bulk::send(stream, to.ip(), *job, clock, over);
                done();
                result.into()
            }
            Kind::Opens(workload) => {
                if let Err(error) = space.enter() {
                    done();
                    return Report { fault: Some(error.to_string()), ..Report::default() };
                }
                // Some congestion control algorithms need privileges, and sockets are created during the run.
                times.settle_in(cc.is_some());
                let end = End::Opens { to: *to, cc: cc.as_deref() };
                let meaning =
                    if log.known().is_some() { BoundarySource::InBand(log) } else { BoundarySource::Beside };
                let result = multi::play((end, meaning), &mut **workload, times, done);
                let send_times = if *apart && log.known().is_none() { all(log) } else { Vec::new() };
                Report { send_times, ..result.into() }
            }
            Kind::Waits(listener, workload) => {
                times.settle_in(false);
                let meaning = match (*apart, log.known().is_some()) {
                    (false, _) => BoundarySource::Beside,
                    (true, true) => BoundarySource::InBand(log),
                    (true, false) => BoundarySource::Noted,
                };
                let result = multi::play((End::Waits(listener), meaning), &mut **workload, times, done);
                Report { arrivals: notes.take(), ..result.into() }
            }
            Kind::Speaks(socket, source) => {
                times.settle_in(false);
                let trailing = if *apart { TRAILING } else { Span::ZERO };
                let result = messages::speak(socket, *to, source, trailing, times, done);
                let send_times = if *apart { all(log) } else { Vec::new() };
                Report { send_times, ..result.into() }
            }
            Kind::SameHost(socket, ear) => {
                times.settle_in(false);
                let result = messages::hear(socket, ear, times, done);
                Report { arrivals: notes.take(), ..result.into() }
            }
        }
    }
}

/// Creation times of all messages not yet taken from the first connection.
fn all(log: &MessageLog) -> Vec<Time> {
    std::iter::from_fn(|| log.take(0, u64::MAX)).map(|letter| letter.created).collect()
}

/// UDP socket in the namespace; port 0 is any port, for an end that only sends.
fn datagrams(space: &Namespace, ip: Ip, port: u16) -> Result<UdpSocket, Error> {
    space.inside(|| {
        let open = || {
            let socket = UdpSocket::bind((bulk::any(ip), port))?;
            socket.set_nonblocking(port != 0)?;
            Ok(socket)
        };
        open().map_err(Error::of("making a socket for datagrams"))
    })
}
