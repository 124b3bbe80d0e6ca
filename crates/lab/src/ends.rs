//! Flow end lookup: model host, multi-connection host or door to a kernel.

use base::Time;
use host::{Door, Host, HostCounters, Party};
use path::{ElementId, Network};
use transport::app::Socket as _;
use transport::app::seen::Seen;

/// One end of a flow.
pub(crate) enum End<'a> {
    Host(&'a Host),
    Party(&'a Party),
    Door(&'a Door),
}

impl<'a> End<'a> {
    /// What stands there; none if it is nothing of the kind.
    pub(crate) fn of(network: &'a Network, id: ElementId) -> Option<End<'a>> {
        let host = || network.element::<Host>(id).map(End::Host);
        let party = || network.element::<Party>(id).map(End::Party);
        network.element::<Door>(id).map(End::Door).or_else(host).or_else(party)
    }

    pub(crate) fn counters(&self) -> HostCounters {
        match self {
            End::Host(host) => host.counters(),
            End::Party(party) => party.counters(),
            End::Door(door) => door.counters(),
        }
    }

    /// Bytes that its application has received.
    pub(crate) fn received(&self) -> u64 {
        match self {
            End::Host(host) => host.connection().received(),
            End::Party(party) => party.connections().map(|host| host.connection().received()).sum(),
            End::Door(door) => door.told().received,
        }
    }

    /// When its workload was done.
    pub(crate) fn finished(&self) -> Option<Time> {
        match self {
            End::Host(host) => host.finished(),
            End::Party(party) => party.workload().finished(),
            End::Door(door) => door.told().finished,
        }
    }

    /// The largest payload of a segment from there; at least 1.
    pub(crate) fn largest_segment(&self) -> u32 {
        let largest = match self {
            End::Host(host) => host.connection().config().mss,
            End::Party(party) => {
                party.connections().map(|host| host.connection().config().mss).max().unwrap_or(0)
            }
            End::Door(door) => door.largest_segment(),
        };
        largest.max(1)
    }

    /// When no data left for more than a second; where there may be several connections, none.
    pub(crate) fn silences(&self) -> &[(Time, Time)] {
        match self {
            End::Host(host) => host.silences(),
            End::Party(_) => &[],
            End::Door(door) => door.silences(),
        }
    }

    /// Connections that were opened from there.
    pub(crate) fn connections(&self) -> u64 {
        match self {
            End::Host(_) => 1,
            End::Party(party) => party.connections().count() as u64,
            End::Door(door) => door.told().connections,
        }
    }

    /// What a workload of requests, pages or messages has seen there.
    pub(crate) fn seen(&self) -> Option<&Seen> {
        match self {
            End::Host(_) => None,
            End::Party(party) => Some(party.workload().seen()),
            End::Door(door) => Some(&door.told().seen),
        }
    }
}
