//! Scenario model: checked plain data.
//!
//! Plain data: nodes and links by index, parameters resolved for each direction, faults that know which links they
//! are on. Whoever builds a network from it needs no grammar, no defaults and no checks.

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
pub use wire::Wire;

use base::dist::Dist;
use base::{Rate, Span, Time};
pub use path::qdisc::{QueueSpec as Queue, Room as Capacity};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;
pub use transport::app::ask::{Asking, Keep};
pub use transport::app::tell::{Telling, Useful};

/// One cell of a scenario: everything needed to build and run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The scenario's title; may be empty.
    pub title: String,
    /// Nodes: declared ones first, then the ends of hops in the order they are named.
    pub nodes: Vec<Node>,
    /// Links, each in one direction. A hop is two, down before up.
    pub links: Vec<Link>,
    /// Radio bearers, one for each hop that has one.
    pub bearers: Vec<Bearer>,
    /// Hops whose two links are served by a program.
    pub processes: Vec<Process>,
    /// Gates. One that acts in both directions is one gate on two links: same weather for both.
    pub gates: Vec<Gate>,
    /// Changes of rate, likewise.
    pub rate_changes: Vec<RateChange>,
    /// Losses on the way.
    pub losses: Vec<Loss>,
    /// Load that nobody answers.
    pub backgrounds: Vec<Background>,
    /// Errors of frames.
    pub errors: Vec<channel::Error>,
    /// Machines of states.
    pub machines: Vec<channel::Machine>,
    /// What puts them into a state, in the order of the file.
    pub triggers: Vec<channel::Trigger>,
    /// Connections and what they carry.
    pub flows: Vec<Flow>,
    /// Networks of cells; their users' flows stand in `flows`, one system's after the other.
    pub systems: Vec<System>,
    /// Programs at the nodes, for real time.
    pub commands: Vec<Command>,
    /// Indexes of the nodes that are machines of their own: where commands run, and the ends of the graph; or of the
    /// two ends of a wire. None without either.
    pub stations: Vec<usize>,
    /// The ways between stations.
    pub pairs: Vec<Pair>,
    /// How often, with which seed, how long.
    pub run: Run,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// An end or a router.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What is asked of its kernel when commands run there.
    pub linux: Linux,
    /// What is there in place of a machine, if it is the end of a wire.
    pub wire: Option<Wire>,
    /// It shares one receive window among its connections.
    pub manager: Option<Manager>,
}

/// A receiver congestion manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    /// Index of the access link toward the node.
    pub link: usize,
    /// The round trip beyond the link, added to twice its delay and the time of a full packet.
    pub beyond: Span,
    /// The aggregate window by bandwidth-delay products.
    pub headroom: f64,
    /// Hints come so long before what they tell happens.
    pub ahead: Span,
    /// What becomes of datagrams beyond their flow's share.
    pub datagrams: Datagrams,
    /// The access rate is not known: the window begins with so many bytes and is estimated.
    pub estimate: Option<u64>,
}

base::named! {
    /// What a congestion manager does to datagrams beyond their flow's share of the access link.
    pub enum Datagrams {
        /// Nothing.
        Free = "free",
        /// It drops them (catalogue CM-03).
        Drop = "drop",
        /// It gives them a mark of congestion (catalogue CM-04).
        Mark = "mark",
    }
}

/// The largest packet of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mtu {
    /// Bytes, all headers counted.
    pub size: u32,
    /// Whether the router before it tells senders whose packets exceed it.
    pub tells: bool,
}

/// Two machines that see each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Indexes of the two nodes.
    pub ends: [usize; 2],
    /// Links from the first to the second, in order.
    pub there: Vec<usize>,
    /// Links from the second to the first.
    pub back: Vec<usize>,
}

/// Toward which end.
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

/// One direction of a link: queue, rate, delay, and what befalls them.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Element name, the key of its random streams: `radio.down`, or a link's own name.
    pub name: String,
    /// The hop or link it was written as.
    pub owner: String,
    /// For a hop, which direction.
    pub direction: Option<Direction>,
    /// Index of the node it leaves.
    pub from: usize,
    /// Index of the node it reaches.
    pub to: usize,
    /// How fast it serves.
    pub rate: LinkRate,
    /// One-way propagation; transmission time is extra.
    pub delay: Delay,
    /// What waits for service.
    pub queue: Queue,
    /// Indexes of the gates on it, in the order of the file.
    pub gates: Vec<usize>,
    /// Indexes of the rate changes on it.
    pub rate_changes: Vec<usize>,
    /// Indexes of the losses on it.
    pub losses: Vec<usize>,
    /// Indexes of the background loads on it.
    pub backgrounds: Vec<usize>,
    /// How headers are compressed, if they are.
    pub compression: Option<HeaderCompression>,
    /// Its largest packet; none: packets of any size pass.
    pub mtu: Option<Mtu>,
    /// Index of the link whose queue a reset that has passed this one empties of its connection.
    pub flushes: Option<usize>,
    /// Volume is counted at the gateway and in the radio network.
    pub charging: Option<Charging>,
    /// What makes it more than a plain link.
    pub channel: Option<Box<channel::Channel>>,
    /// Index of the bearer of which it is one direction.
    pub bearer: Option<usize>,
}

base::named! {
    /// How a link compresses the headers of TCP.
    pub enum HeaderCompression {
        /// As differences; sizes stay as they are (RFC 1144).
        Rfc1144 = "rfc1144",
        /// As differences, with sizes; options that change go whole (RFC 2507).
        Rfc2507 = "rfc2507",
        /// By windows of numbers, with sizes, timestamps too (ROHC-TCP, RFC 6846).
        Rohc = "rohc",
    }
}

impl Link {
    /// What makes it more than a plain link, to be changed.
    pub(crate) fn channel_mut(&mut self) -> &mut channel::Channel {
        self.channel.get_or_insert_default()
    }
}

/// A program that serves the two links of a hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The hop.
    pub name: String,
    /// What `/bin/sh` is given to run.
    pub command: String,
    /// Indexes of its links, down before up.
    pub links: [usize; 2],
}

/// How fast a link serves.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkRate {
    /// In no time.
    Unlimited,
    /// Always at this rate.
    Constant(Rate),
    /// In steps.
    Schedule(Schedule<Rate>),
}

impl LinkRate {
    /// The rate averaged over the schedule as far as it is fixed; none if unlimited.
    pub fn mean_bps(&self) -> Option<f64> {
        match self {
            LinkRate::Unlimited => None,
            LinkRate::Constant(rate) => Some(rate.bps() as f64),
            LinkRate::Schedule(schedule) => Some(schedule.mean(|rate| rate.bps() as f64)),
        }
    }
}

/// One-way propagation.
#[derive(Clone, Debug, PartialEq)]
pub enum Delay {
    /// The same for every packet.
    Constant(Span),
    /// Drawn for each packet (nanoseconds); with `reorder` one may overtake another.
    PerPacket {
        /// In nanoseconds.
        dist: Dist,
        /// Whether packets may overtake each other.
        reorder: bool,
    },
    /// In steps; a packet takes the delay of the instant it is sent. None overtakes another.
    Schedule(Schedule<Span>),
}

impl Delay {
    /// In seconds, on average.
    pub fn mean_s(&self) -> f64 {
        match self {
            Delay::Constant(span) => span.as_secs_f64(),
            Delay::PerPacket { dist, .. } => dist.mean() / 1e9,
            Delay::Schedule(schedule) => schedule.mean(|span| span.as_secs_f64()),
        }
    }
}

/// A value that changes in steps at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// From this instant on, this value; the first at time 0, instants increase.
    pub steps: Vec<(Time, T)>,
    /// After so long, from the beginning again; none: the last value stays.
    pub repeat: Option<Span>,
}

impl<T: Copy> Schedule<T> {
    /// The value at `t`.
    pub fn at(&self, t: Time) -> Option<T> {
        let t = match self.repeat {
            Some(period) if !period.is_zero() => Time::from_nanos(t.as_nanos() % period.as_nanos()),
            _ => t,
        };
        let index = self.steps.partition_point(|(from, _)| *from <= t);
        self.steps.get(index.checked_sub(1)?).map(|(_, value)| *value)
    }

    /// The average over one period; the last value where nothing repeats.
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

/// When a gate is closed, or a change of rate in force.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// Again and again.
    Every {
        /// From one to the next, nanoseconds.
        every: Dist,
        /// Counted from the start or from the end of the one before.
        from: CountedFrom,
        /// When the first one starts.
        first: First,
        /// How long each lasts, nanoseconds.
        lasts: Dist,
    },
    /// Once in every repetition.
    Once {
        /// When, nanoseconds.
        start: Dist,
        /// How long, nanoseconds.
        lasts: Dist,
    },
    /// At given times, the same in every repetition; in order.
    Listed(Vec<(Time, Span)>),
    /// At given times of its own for every repetition, from a file; beyond the last repetition in
    /// the file there are none.
    PerRepetition(Arc<Vec<Vec<(Time, Span)>>>),
}

/// From where an interval is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// The start of the one before.
    Start,
    /// Its end.
    End,
}

/// When the first of many starts.
#[derive(Clone, Debug, PartialEq)]
pub enum First {
    /// As if the process had always been going on.
    Stationary,
    /// So long after the start of the run, nanoseconds.
    After(Dist),
}

/// Lets no new service start for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Element name: `radio.reselection`. The key of its random stream, shared by all of its links.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// What becomes of packets meanwhile.
    pub mode: GateMode,
    /// When it is closed.
    pub timing: Timing,
    /// The links it is on.
    pub links: Vec<usize>,
}

/// Where on a link something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before packets join the queue.
    BeforeQueue,
    /// Between the queue and service.
    AfterQueue,
}

/// What a closed gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateMode {
    /// Packets wait.
    Hold,
    /// Packets that come to it are dropped.
    Drop,
}

/// Another rate for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Element name: `radio.fade`.
    pub name: String,
    /// What the rate is meanwhile.
    pub to: ChangedRate,
    /// When.
    pub timing: Timing,
    /// The links it is on.
    pub links: Vec<usize>,
}

/// What a rate becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangedRate {
    /// This; 0 freezes service in the middle of a packet.
    To(Rate),
    /// So many times what it would be.
    Times(f64),
}

/// Packets lost, marked or duplicated on the way, after they were transmitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Element name: `radio.noise`.
    pub name: String,
    /// Which ones.
    pub kind: LossKind,
    /// What becomes of them.
    pub fate: Fate,
    /// The links it is on.
    pub links: Vec<usize>,
}

pub use path::loss::Fate;

/// Which packets are lost.
#[derive(Clone, Debug, PartialEq)]
pub enum LossKind {
    /// These, counting the data packets on each link from 1; in order, not overlapping.
    Packets(Vec<RangeInclusive<u64>>),
    /// Each one, independently.
    Probability(f64),
    /// Two states that change from packet to packet (Gilbert, Elliott).
    PerPacketStates {
        /// Probability of turning bad before a packet.
        to_bad: f64,
        /// Probability of turning good before a packet.
        to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Two states that last for a while, whatever the traffic: weather.
    OverTimeStates {
        /// How long the good state lasts, nanoseconds.
        good: Dist,
        /// How long the bad state lasts, nanoseconds.
        bad: Dist,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Probabilities that each repetition draws; the kind has their means.
    Drawn(Box<LossKind>, Vec<(share::Part, Dist)>),
}

/// Packets at a constant rate that compete for a queue and end behind the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    /// Element name: `radio.voice`.
    pub name: String,
    /// How fast it comes.
    pub rate: Rate,
    /// Its packets, bytes on the wire.
    pub packet: u32,
    /// When it begins, nanoseconds from the start of the run.
    pub start: Dist,
    /// The gaps between its packets are drawn.
    pub random: bool,
    /// The links it is on.
    pub links: Vec<usize>,
    /// For each of them the links that it goes on over before it ends.
    pub beyond: Vec<Vec<usize>>,
}

/// A connection and what it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Index of the node whose application writes.
    pub from: usize,
    /// Index of the node that reads.
    pub to: usize,
    /// When it opens, nanoseconds from the start of the run.
    pub start: Dist,
    /// Links of the data, in order.
    pub route: Vec<usize>,
    /// Links of the acknowledgements, in order.
    pub way_back: Vec<usize>,
    /// Other network paths between the two ends, for a transport that uses several: routes of the data and of the way
    /// back.
    pub other_paths: Vec<[Vec<usize>; 2]>,
    /// Its protocol.
    pub transport: Transport,
    /// Its workload.
    pub app: App,
    /// How the other end reads what comes; none: at once.
    pub reads: Option<Reads>,
    /// Its weight in the congestion manager of a node.
    pub priority: u32,
}

/// How the application at the receiving end reads, if not everything at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reads {
    /// So fast; none: whatever is there.
    pub rate: Option<Rate>,
    /// Nothing for so long after the start.
    pub pause: Span,
}

/// A workload: one of the traffic patterns that every clock plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// Data as fast as the transport takes it.
    Bulk {
        /// So many bytes; none: without end.
        bytes: Option<u64>,
        /// So long; none: until everything is delivered, or the run ends.
        lasts: Option<Span>,
    },
    /// Requests and replies, or pages: `from` asks, `to` answers.
    Ask(Box<Asking>),
    /// Messages at their own pace: `from` speaks, `to` listens.
    Tell(Box<Telling>),
}

impl App {
    /// Of bulk data: how much, and for how long.
    pub fn bulk(&self) -> Option<(Option<u64>, Option<Span>)> {
        match self {
            App::Bulk { bytes, lasts } => Some((*bytes, *lasts)),
            App::Ask(_) | App::Tell(_) => None,
        }
    }
}

/// A network of cells with its users.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Its cells and mobiles.
    pub plan: Arc<cells::system::Plan>,
    /// The user of each mobile, in the order of mobiles.
    pub users: Vec<User>,
}

/// A user of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Index of its flow.
    pub flow: usize,
    /// The population it belongs to.
    pub group: String,
    /// The mobile asks; otherwise the server writes.
    pub mobile_asks: bool,
}
