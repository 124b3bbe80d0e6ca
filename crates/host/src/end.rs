//! Report of a flow end (counters, times, verdicts, statistics), and the common interface of flow ends:
//! modelled hosts, packet ports, datagram sources, echo ends.

use crate::external_sockets::ExternalSockets;
use crate::external_udp::ExternalUdp;
use crate::flow_port::FlowPort;
use crate::host::{Host, HostCounters};
use crate::multi_connection::MultiConnectionHost;
use crate::udp::{UdpSink, UdpSource};
use base::{Packet, Time};
use path::{Cx, Element, ElementId, Network, Port, Signal};
use transport::app::Socket as _;
use transport::app::stats::AppStats;
use transport::endpoint::{Endpoint, EndpointReport};
use transport::tcp::sender::Verdicts;

/// Report of one end of a flow.
#[derive(Clone, Default, Debug)]
pub struct EndReport {
    /// Packet and byte counters.
    pub counters: HostCounters,
    /// Payload of a full packet, bytes; at least 1. Converts bytes to segments.
    pub unit: u32,
    /// Whether path MTU discovery made `unit` smaller than the connection began with.
    pub reduced: bool,
    /// Bytes received by the application.
    pub received: u64,
    /// Connections or associations opened.
    pub connections: u64,
    /// Time at which the workload was done, at this end.
    pub finished: Option<Time>,
    /// Time of the last datagram's arrival. `None`: the flow has connections.
    pub datagrams_over: Option<Time>,
    /// Verdicts of the sender's detector; `None` where timers are not visible from outside.
    pub judged: Option<Verdicts>,
    /// Bytes outstanding at the first expiry of the retransmission timer.
    pub first_timeout_flight: Option<u64>,
    /// Gaps of more than a second between two data packets sent.
    pub silences: Vec<(Time, Time)>,
    /// Statistics of a workload of requests, pages or messages.
    pub stats: Option<AppStats>,
    /// Protocol-specific metrics, by name.
    pub named: Vec<(&'static str, f64)>,
}

/// An element that is one end of a flow.
pub trait FlowEnd: Element {
    /// Time at which the workload was done; `None` before.
    fn finished(&self) -> Option<Time>;
    /// Report of this flow end.
    fn report(&self) -> EndReport;
    /// Keeps the packets that cross the codec, if the end sends packets of bytes.
    fn keep_packets(&mut self) {}
    /// Takes the packets kept since the last call, in order, with their times.
    fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        Vec::new()
    }
}

/// Flow end of a protocol that another crate implements.
pub struct AnyEnd(Box<dyn FlowEnd>);

impl AnyEnd {
    /// Wraps any flow end.
    pub fn new(end: Box<dyn FlowEnd>) -> Self {
        AnyEnd(end)
    }
    /// Keeps the packets that cross the codec, if the end sends packets of bytes.
    pub fn keep_packets(&mut self) {
        self.0.keep_packets();
    }
    /// Takes the packets kept since the last call, in order, with their times.
    pub fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        self.0.take_packets()
    }
    /// The wrapped end, if it is a `T`.
    pub fn inner<T: FlowEnd>(&self) -> Option<&T> {
        let any: &dyn std::any::Any = &*self.0;
        any.downcast_ref()
    }
}

impl Element for AnyEnd {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.0.on_packet(cx, port, packet);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.0.on_wake(cx);
    }
    fn next_wake(&self) -> Time {
        self.0.next_wake()
    }
    fn next_exit(&self) -> Time {
        self.0.next_exit()
    }
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.0.on_signal(cx, signal);
    }
    fn holds(&self) -> usize {
        self.0.holds()
    }
    fn arrive(&mut self, cx: &mut Cx<'_>, port: Port, packet: &Packet) -> Time {
        self.0.arrive(cx, port, packet)
    }
    fn wake(&mut self, cx: &mut Cx<'_>) -> Time {
        self.0.wake(cx)
    }
}

/// The flow end at this element; `None` for a packet port and for elements that are no flow end.
pub fn end(network: &Network, id: ElementId) -> Option<&dyn FlowEnd> {
    fn a<T: FlowEnd>(network: &Network, id: ElementId) -> Option<&dyn FlowEnd> {
        network.element::<T>(id).map(|end| end as &dyn FlowEnd)
    }
    a::<Host>(network, id)
        .or_else(|| a::<MultiConnectionHost>(network, id))
        .or_else(|| network.element::<AnyEnd>(id).map(|any| &*any.0))
        .or_else(|| a::<ExternalSockets>(network, id))
        .or_else(|| a::<ExternalUdp>(network, id))
        .or_else(|| a::<UdpSource>(network, id))
        .or_else(|| a::<UdpSink>(network, id))
}

/// Keeps the packets of a modelled end whose peer is a real stack.
pub fn keep_packets(network: &mut Network, id: ElementId) {
    let now = network.now();
    network.enter(now, id, |host: &mut Host, _| host.keep_packets());
    network.enter(now, id, |party: &mut MultiConnectionHost, _| party.keep_packets());
    network.enter(now, id, |end: &mut AnyEnd, _| end.keep_packets());
}

/// Takes the packets kept since the last call, in order, with their times.
pub fn take_packets(network: &mut Network, id: ElementId) -> Vec<(Time, Vec<u8>)> {
    let now = network.now();
    let host = network.enter(now, id, |host: &mut Host, _| host.take_packets());
    let party = |network: &mut Network| {
        network.enter(now, id, |party: &mut MultiConnectionHost, _| party.take_packets())
    };
    let any = |network: &mut Network| network.enter(now, id, |end: &mut AnyEnd, _| end.take_packets());
    host.or_else(|| party(network)).or_else(|| any(network)).unwrap_or_default()
}

/// Time at which the workload of this end was done, if it was; `None` for an element without a workload.
pub fn finished(network: &Network, id: ElementId) -> Option<Option<Time>> {
    end(network, id).map(FlowEnd::finished)
}

/// Report of a flow end. For a packet port: its traffic, and the results reported for the stack behind it.
pub fn report(network: &Network, id: ElementId) -> Option<EndReport> {
    match network.element::<FlowPort>(id) {
        Some(packet_port) => Some(packet_port.report()),
        None => end(network, id).map(FlowEnd::report),
    }
}

impl<E: Endpoint> FlowEnd for Host<E> {
    fn finished(&self) -> Option<Time> {
        Host::finished(self)
    }
    fn keep_packets(&mut self) {
        Host::keep_packets(self);
    }
    fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        Host::take_packets(self)
    }
    fn report(&self) -> EndReport {
        let EndpointReport { unit, reduced, judged, mut named } = self.connection().report();
        named.extend(self.stats().iter().flat_map(|stats| &stats.named));
        EndReport {
            counters: self.counters(),
            unit: unit.max(1),
            reduced,
            received: self.connection().delivered(),
            connections: 1,
            finished: Host::finished(self),
            datagrams_over: None,
            judged: Some(judged),
            first_timeout_flight: self.first_timeout_flight(),
            silences: self.silences().to_vec(),
            stats: self.stats().cloned(),
            named,
        }
    }
}

impl FlowEnd for MultiConnectionHost {
    fn finished(&self) -> Option<Time> {
        self.workload().finished()
    }
    fn report(&self) -> EndReport {
        let mut judged = Verdicts::default();
        let (mut unit, mut received) = (1, 0);
        for connection in self.connections().map(Host::connection) {
            let one = connection.sender.verdicts();
            judged.spurious_timeouts += one.spurious_timeouts;
            judged.genuine_timeouts += one.genuine_timeouts;
            judged.spurious_fast += one.spurious_fast;
            unit = unit.max(connection.config().mss);
            received += connection.received();
        }
        EndReport {
            counters: self.counters(),
            unit,
            received,
            connections: self.connections().count() as u64,
            finished: self.workload().finished(),
            judged: Some(judged),
            stats: Some(self.workload().stats().clone()),
            named: self.workload().stats().expired.iter().map(|n| ("units_expired", *n as f64)).collect(),
            ..EndReport::default()
        }
    }
}

impl FlowPort {
    /// Report: traffic through the packet port, and the results reported for the stack behind it.
    pub fn report(&self) -> EndReport {
        let external = self.external_report();
        EndReport {
            counters: self.counters(),
            unit: self.largest_segment().max(1),
            received: external.received,
            connections: external.connections,
            finished: external.finished,
            datagrams_over: external.finished,
            silences: self.send_gaps().to_vec(),
            stats: Some(external.stats.clone()),
            ..EndReport::default()
        }
    }
}

impl FlowEnd for ExternalSockets {
    fn finished(&self) -> Option<Time> {
        self.workload().finished()
    }
    fn report(&self) -> EndReport {
        let stats = Some(self.workload().stats().clone());
        EndReport { finished: self.workload().finished(), unit: 1, stats, ..EndReport::default() }
    }
}

impl FlowEnd for ExternalUdp {
    fn finished(&self) -> Option<Time> {
        ExternalUdp::finished(self)
    }
    fn report(&self) -> EndReport {
        let stats = Some(self.stats().clone());
        EndReport { finished: ExternalUdp::finished(self), unit: 1, stats, ..EndReport::default() }
    }
}

impl FlowEnd for UdpSource {
    fn finished(&self) -> Option<Time> {
        UdpSource::finished(self)
    }
    fn report(&self) -> EndReport {
        let counters = HostCounters { data_sent: u64::from(self.datagrams()), ..HostCounters::default() };
        let stats = Some(self.stats().clone());
        EndReport { counters, finished: UdpSource::finished(self), unit: 1, stats, ..EndReport::default() }
    }
}

impl FlowEnd for UdpSink {
    fn finished(&self) -> Option<Time> {
        UdpSink::finished(self)
    }
    fn report(&self) -> EndReport {
        EndReport {
            counters: HostCounters {
                data_received: self.datagrams(),
                data_late: self.late(),
                ..HostCounters::default()
            },
            unit: 1,
            received: self.stats().bytes,
            finished: UdpSink::finished(self),
            datagrams_over: Some(self.last()),
            named: vec![("late_span_s", self.late_span_s())],
            stats: Some(self.stats().clone()),
            ..EndReport::default()
        }
    }
}
