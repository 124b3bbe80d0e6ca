//! Scenario model as checked plain data: nodes, links, faults, queues, flows, workloads, cell networks.
//!
//! Nodes and links are referred to by index, and parameters are resolved for each direction. A network
//! builder needs no grammar, defaults or checks.

mod carrier;
pub mod channel;
mod charging;
mod command;
mod linux;
pub mod metric;
pub mod radio;
mod run;
pub mod share;
mod wire;

pub use carrier::{Transport, Udp};
pub use charging::Charging;
pub use command::{Command, Reports};
pub use linux::{Ip, Linux, Protocol};
pub use radio::Bearer;
pub use run::{Comparison, Expectation, Run};
pub use wire::WireEnd;

use base::dist::Dist;
use base::{Rate, Span, Time};
pub use path::qdisc::{QueueSpec as Queue, Room as Capacity};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;
pub use transport::app::message_stream::{MessagePlan, UsefulLife};
pub use transport::app::request::{ConnectionLifetime, RequestPlan};

/// One cell of a scenario: complete input for building and running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Title; may be empty.
    pub title: String,
    /// Nodes: declared ones first, then the ends of hops in the order they are named.
    pub nodes: Vec<Node>,
    /// Links, each in one direction. A hop is two, down before up.
    pub links: Vec<Link>,
    /// Radio bearers, one for each hop with a bearer.
    pub bearers: Vec<Bearer>,
    /// Hops whose two links are served by a program.
    pub processes: Vec<Process>,
    /// Stateful firewalls of hops.
    pub firewalls: Vec<Firewall>,
    /// Gates. A gate for both directions is one gate on two links, which have equal weather.
    pub gates: Vec<Gate>,
    /// Rate changes. A rate change for both directions is one rate change on two links.
    pub rate_changes: Vec<RateChange>,
    /// Packet losses.
    pub losses: Vec<Loss>,
    /// Background load.
    pub backgrounds: Vec<Background>,
    /// Frame error processes.
    pub errors: Vec<channel::Error>,
    /// State machines.
    pub machines: Vec<channel::StateMachine>,
    /// Triggers of state machines and priorities, in the order of the file.
    pub triggers: Vec<channel::Trigger>,
    /// Flows and their workloads.
    pub flows: Vec<Flow>,
    /// Networks of cells; the flows of their users are in `flows`, system after system.
    pub systems: Vec<System>,
    /// Programs at the nodes.
    pub commands: Vec<Command>,
    /// Indexes of the nodes with a namespace of their own: nodes with commands, and nodes at the ends of the
    /// graph; or both ends of a wire. Empty without commands and without a wire.
    pub stations: Vec<usize>,
    /// Routes between stations.
    pub pairs: Vec<Pair>,
    /// Repetitions, seed and time limit.
    pub run: Run,
    /// Expected results.
    pub expect: Vec<Expectation>,
}

/// A host or a router.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Kernel settings for commands at the node.
    pub linux: Linux,
    /// Interface or device in place of a host, if the node is the end of a wire.
    pub wire: Option<WireEnd>,
    /// Receiver congestion manager, which shares one window between the node's connections.
    pub manager: Option<Manager>,
    /// Scheduler of the sender-side congestion manager; `None` without one.
    pub sending: Option<Scheduler>,
}

/// A receiver congestion manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    /// Index of the access link toward the node.
    pub link: usize,
    /// Round trip beyond the link; twice the link's delay and the transmission time of a full packet are
    /// added.
    pub beyond: Span,
    /// Aggregate window as a multiple of the bandwidth-delay product.
    pub headroom: f64,
    /// Lead time of hints before the change that they announce.
    pub ahead: Span,
    /// Effect on datagrams beyond their flow's share.
    pub datagrams: Datagrams,
    /// Initial window in bytes, if the access rate is unknown and estimated.
    pub estimate: Option<u64>,
}

base::named! {
    /// Order in which the streams of a macroflow send (RFC 3124 section 4.2).
    pub enum Scheduler {
        /// Round robin with the weights of [`Flow::priority`].
        Weighted = "weighted",
        /// Round robin.
        RoundRobin = "round-robin",
    }
}

base::named! {
    /// Treatment by a congestion manager of datagrams beyond their flow's share of the access link.
    pub enum Datagrams {
        /// Nothing.
        Free = "free",
        /// It drops them (catalogue CM-03).
        Drop = "drop",
        /// It gives them a mark of congestion (catalogue CM-04).
        Mark = "mark",
    }
}

/// MTU of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mtu {
    /// Size in bytes, all headers included.
    pub size: u32,
    /// Whether the router before the link sends ICMP errors for larger packets.
    pub tells: bool,
}

/// Two stations with a route between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Indexes of the two nodes.
    pub ends: [usize; 2],
    /// Links from the first node to the second, in order.
    pub there: Vec<usize>,
    /// Links from the second node to the first, in order.
    pub back: Vec<usize>,
}

/// Direction of a hop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Toward the mobile end.
    Down,
    /// Toward the fixed end.
    Up,
}

impl Direction {
    /// `down` or `up`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }
}

/// One direction of a link: queue, rate, delay and faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Element name, the key of its random streams: `radio.down`, or a link's own name.
    pub name: String,
    /// Name of its hop or link in the file.
    pub owner: String,
    /// Direction, for a hop.
    pub direction: Option<Direction>,
    /// Index of the node at its start.
    pub from: usize,
    /// Index of the node at its end.
    pub to: usize,
    /// Service rate.
    pub rate: LinkRate,
    /// One-way propagation delay, without transmission time.
    pub delay: Delay,
    /// Queue.
    pub queue: Queue,
    /// Indexes of the gates on it, in the order of the file.
    pub gates: Vec<usize>,
    /// Indexes of the rate changes on it.
    pub rate_changes: Vec<usize>,
    /// Indexes of the losses on it.
    pub losses: Vec<usize>,
    /// Indexes of the background loads on it.
    pub backgrounds: Vec<usize>,
    /// Header compression.
    pub compression: Option<HeaderCompression>,
    /// MTU; `None`: packets of any size pass.
    pub mtu: Option<Mtu>,
    /// Index of a link whose queue is flushed of a connection after a RST of that connection has passed this
    /// link.
    pub flushes: Option<usize>,
    /// Charging by volume, at the gateway and in the radio network.
    pub charging: Option<Charging>,
    /// Channel, for more than a plain link.
    pub channel: Option<Box<channel::Channel>>,
    /// Index of the radio bearer that serves the link; `None` for a link with rate and delay.
    pub bearer: Option<usize>,
}

base::named! {
    /// TCP/IP header compression of a link.
    pub enum HeaderCompression {
        /// Delta encoding, without effect on sizes (RFC 1144).
        Rfc1144 = "rfc1144",
        /// Delta encoding with sizes; changed options are sent in full (RFC 2507).
        Rfc2507 = "rfc2507",
        /// Window-based LSB encoding with sizes and timestamps (ROHC-TCP, RFC 6846).
        Rohc = "rohc",
    }
}

impl Link {
    /// The channel, created if missing.
    pub(crate) fn channel_mut(&mut self) -> &mut channel::Channel {
        self.channel.get_or_insert_default()
    }
}

/// A program that serves the two links of a hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name of the hop.
    pub name: String,
    /// Command line for `/bin/sh`.
    pub command: String,
    /// Indexes of its links, down before up.
    pub links: [usize; 2],
}

/// Stateful firewall of a hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firewall {
    /// Element name.
    pub name: String,
    /// Indexes of the links of its hop, down before up; the inner side is the mobile end.
    pub links: [usize; 2],
    /// Timeouts, limits and choices.
    pub config: path::firewall::FirewallConfig,
    /// Flows that the outer side may open.
    pub open_to: Vec<String>,
}

/// Service rate of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkRate {
    /// Unlimited.
    Unlimited,
    /// Constant.
    Constant(Rate),
    /// Piecewise constant.
    Schedule(Schedule<Rate>),
}

impl LinkRate {
    /// Mean rate over the schedule, without random changes; `None` if unlimited.
    pub fn mean_bps(&self) -> Option<f64> {
        match self {
            LinkRate::Unlimited => None,
            LinkRate::Constant(rate) => Some(rate.bps() as f64),
            LinkRate::Schedule(schedule) => Some(schedule.mean(|rate| rate.bps() as f64)),
        }
    }
}

/// One-way propagation delay.
#[derive(Clone, Debug, PartialEq)]
pub enum Delay {
    /// Constant.
    Constant(Span),
    /// Drawn per packet; with `reorder` packets may overtake each other.
    PerPacket {
        /// Delay, nanoseconds.
        dist: Dist,
        /// Whether packets may overtake each other.
        reorder: bool,
    },
    /// Piecewise constant, by time of transmission; packets do not overtake each other.
    Schedule(Schedule<Span>),
}

impl Delay {
    /// Mean, seconds.
    pub fn mean_s(&self) -> f64 {
        match self {
            Delay::Constant(span) => span.as_secs_f64(),
            Delay::PerPacket { dist, .. } => dist.mean() / 1e9,
            Delay::Schedule(schedule) => schedule.mean(|span| span.as_secs_f64()),
        }
    }
}

/// A piecewise constant value.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// Times and values; the first step is at 0, times increase.
    pub steps: Vec<(Time, T)>,
    /// Period of repetition; `None`: the last value stays.
    pub repeat: Option<Span>,
}

impl<T: Copy> Schedule<T> {
    /// Value at `t`.
    pub fn at(&self, t: Time) -> Option<T> {
        let t = match self.repeat {
            Some(period) if !period.is_zero() => Time::from_nanos(t.as_nanos() % period.as_nanos()),
            _ => t,
        };
        let index = self.steps.partition_point(|(from, _)| *from <= t);
        self.steps.get(index.checked_sub(1)?).map(|(_, value)| *value)
    }

    /// Mean over one period; the last value without repetition.
    fn mean(&self, number: impl Fn(T) -> f64) -> f64 {
        let last = self.steps.last().map_or(0.0, |(_, v)| number(*v));
        let Some(period) = self.repeat.filter(|p| !p.is_zero()) else { return last };
        let mut sum = 0.0;
        for (i, (from, value)) in self.steps.iter().enumerate() {
            let until = self.steps.get(i + 1).map_or(Time::ZERO + period, |(t, _)| *t);
            sum += number(*value) * until.since(*from).as_secs_f64();
        }
        sum / period.as_secs_f64()
    }
}

/// Times of gate closures or rate changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// Repeated.
    Every {
        /// Interval, nanoseconds.
        every: Dist,
        /// Start of the interval: the previous start or the previous end.
        from: CountedFrom,
        /// Start of the first closure or rate change.
        first: First,
        /// Duration, nanoseconds.
        lasts: Dist,
    },
    /// Once in every repetition.
    Once {
        /// Start, nanoseconds.
        start: Dist,
        /// Duration, nanoseconds.
        lasts: Dist,
    },
    /// Listed times, equal in every repetition, ascending.
    Listed(Vec<(Time, Span)>),
    /// Listed times for each repetition, from a file; none in repetitions beyond those of the file.
    PerRepetition(Arc<Vec<Vec<(Time, Span)>>>),
}

/// Start of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// The previous start.
    Start,
    /// The previous end.
    End,
}

/// Start of the first of several events.
#[derive(Clone, Debug, PartialEq)]
pub enum First {
    /// Stationary: as if the process had no beginning.
    Stationary,
    /// Time after the start of the run, nanoseconds.
    After(Dist),
}

/// A gate, which stops new service while it is closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Element name: `radio.reselection`. Key of its random stream, shared by all of its links.
    pub name: String,
    /// Position on the link.
    pub at: Position,
    /// Effect on packets while closed.
    pub mode: GateMode,
    /// Times of closure.
    pub timing: Timing,
    /// Indexes of its links.
    pub links: Vec<usize>,
}

/// Position of a gate on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before packets join the queue.
    BeforeQueue,
    /// Between the queue and service.
    AfterQueue,
}

/// Effect of a closed gate on packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateMode {
    /// Packets wait.
    Hold,
    /// Arriving packets are dropped.
    Drop,
}

/// A temporary rate change.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Element name: `radio.fade`.
    pub name: String,
    /// Changed rate.
    pub to: ChangedRate,
    /// Times of the change.
    pub timing: Timing,
    /// Indexes of its links.
    pub links: Vec<usize>,
}

/// Effect of a rate change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangedRate {
    /// Absolute rate; 0 freezes service in the middle of a packet.
    To(Rate),
    /// Multiple of the normal rate.
    Times(f64),
}

/// Loss, marking or duplication of packets after their transmission.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Element name: `radio.noise`.
    pub name: String,
    /// Selection of packets.
    pub kind: LossKind,
    /// Effect on selected packets.
    pub fate: Fate,
    /// Indexes of its links.
    pub links: Vec<usize>,
}

pub use path::loss::Fate;

/// Selection of lost packets.
#[derive(Clone, Debug, PartialEq)]
pub enum LossKind {
    /// Data packets by number on each link, from 1; ascending and disjoint ranges.
    Packets(Vec<RangeInclusive<u64>>),
    /// Independent loss with this probability.
    Probability(f64),
    /// Two states with transitions from packet to packet (Gilbert, Elliott).
    PerPacketStates {
        /// Transition probability to the bad state before a packet.
        to_bad: f64,
        /// Transition probability to the good state before a packet.
        to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Two states with durations, independent of traffic: weather.
    OverTimeStates {
        /// Duration of the good state, nanoseconds.
        good: Dist,
        /// Duration of the bad state, nanoseconds.
        bad: Dist,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Probabilities drawn once per repetition; the inner kind holds their means.
    Drawn(Box<LossKind>, Vec<(share::Part, Dist)>),
}

/// CBR load that competes for a queue and ends behind the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    /// Element name: `radio.voice`.
    pub name: String,
    /// Rate.
    pub rate: Rate,
    /// Packet size, bytes on the wire.
    pub packet: u32,
    /// Start, nanoseconds from the start of the run.
    pub start: Dist,
    /// Random gaps between packets.
    pub random: bool,
    /// Indexes of its links.
    pub links: Vec<usize>,
    /// For each of its links, the further links that the load crosses.
    pub beyond: Vec<Vec<usize>>,
}

/// Largest [`Flow::priority`]; the smallest is 1.
pub const MOST_PRIORITY: u32 = 1000;
/// Values of [`Flow::priority`].
pub const PRIORITIES: std::ops::RangeInclusive<u32> = 1..=MOST_PRIORITY;

/// A flow and its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Index of the node of the writing application.
    pub from: usize,
    /// Index of the node of the reading application.
    pub to: usize,
    /// Start, nanoseconds from the start of the run.
    pub start: Dist,
    /// Links of the data direction, in order.
    pub route: Vec<usize>,
    /// Links of the reverse direction, in order.
    pub way_back: Vec<usize>,
    /// Further network paths between the two ends, for multihomed transports: routes of the data direction
    /// and of the reverse direction.
    pub other_paths: Vec<[Vec<usize>; 2]>,
    /// Transport protocol.
    pub transport: Transport,
    /// Workload.
    pub app: App,
    /// Reading rate of the receiving application; `None`: immediate.
    pub reads: Option<Reads>,
    /// Weight in the congestion manager of a node.
    pub priority: u32,
}

/// Slow reading by the receiving application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reads {
    /// Reading rate; `None`: unlimited.
    pub rate: Option<Rate>,
    /// Pause before the first read, from the start.
    pub pause: Span,
}

/// A workload: one of the traffic patterns that all clocks support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// Bulk data, as fast as the transport accepts them.
    Bulk {
        /// Amount in bytes; `None`: unlimited.
        bytes: Option<u64>,
        /// Duration; `None`: until everything is delivered or the run ends.
        lasts: Option<Span>,
    },
    /// Request and reply, or pages: `from` is the client, `to` the server.
    #[serde(rename = "ask")]
    Requests(Box<RequestPlan>),
    /// Messages on a schedule: `from` is the source, `to` the sink.
    #[serde(rename = "tell")]
    Messages(Box<MessagePlan>),
}

impl App {
    /// Amount and duration of bulk data.
    pub fn bulk(&self) -> Option<(Option<u64>, Option<Span>)> {
        match self {
            App::Bulk { bytes, lasts } => Some((*bytes, *lasts)),
            App::Requests(_) | App::Messages(_) => None,
        }
    }
}

/// A network of cells with its users.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Plan of its cells and mobiles.
    pub plan: Arc<cells::system::Plan>,
    /// User of each mobile, in the order of mobiles.
    pub users: Vec<User>,
}

/// A user of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Index of its flow.
    pub flow: usize,
    /// Name of its population.
    pub group: String,
    /// True if the mobile sends requests; false if the server sends data.
    pub mobile_asks: bool,
}
