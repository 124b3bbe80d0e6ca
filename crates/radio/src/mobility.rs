//! Cell reselection of a mobile: message sequence of a cell change, its durations, losses by direction (3GPP TS 45.008
//! section 6.6, 44.060 section 5.5.1, 48.018 section 8.1; Gurtov and others 2002, section IV.C).
//!
//! A cell change is a sequence of instants: decision, synchronisation with system information read, access,
//! cell update at the SGSN, routing area update, resumed downlink data. FLUSH-LL deletes or moves the downlink data of
//! the old cell; uplink data stay in the mobile.

use base::dist::{Dist, Sampler};
use base::rng::Seed;
use base::{Span, Time};

base::named! {
    /// Control mode of reselection, and network assistance.
    pub enum ReselectionControl {
        /// NC0: the mobile decides, also while stationary.
        Autonomous = "autonomous",
        /// NC2, network-controlled cell change: a stationary mobile does not change cells.
        Network = "network-controlled",
        /// NACC, network assisted cell change: the network sends system information of the new cell in advance.
        Assisted = "network-assisted",
    }
}

base::named! {
    /// Largest network area that a cell change crosses.
    pub enum Extent {
        /// Both cells belong to one BSC, which changes the cell without the SGSN.
        SameBsc = "same-bsc",
        /// The new cell belongs to another BSC of the same routing area: cell update.
        CellUpdate = "cell-update",
        /// New routing area of the same SGSN: routing area update.
        RoutingArea = "routing-area",
        /// New SGSN: routing area update with transfer of the mobile's context.
        InterSgsn = "inter-sgsn",
    }
}

/// Serving cell and its areas. Numbers count from 1 in the order in which the mobile reaches them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Camping {
    /// Number of the cell.
    pub cell: u32,
    /// Base station controller of the cell.
    pub bsc: u32,
    /// Number of the routing area.
    pub routing_area: u32,
    /// Number of the SGSN.
    pub sgsn: u32,
}

impl Camping {
    /// Serving cell of every mobile at the start.
    pub const FIRST: Camping = Camping { cell: 1, bsc: 1, routing_area: 1, sgsn: 1 };

    /// Serving cell after a change of this extent.
    #[must_use]
    pub fn beyond(self, extent: Extent) -> Camping {
        let new = |from: Extent| u32::from(extent as u8 >= from as u8);
        Camping {
            cell: self.cell + 1,
            bsc: self.bsc + new(Extent::CellUpdate),
            routing_area: self.routing_area + new(Extent::RoutingArea),
            sgsn: self.sgsn + new(Extent::InterSgsn),
        }
    }
}

/// Implementation faults observed in a real network (Gurtov and others 2002, section IV.C).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Maximum number of LLC frames that the mobile sends again in the new cell although the old cell had received them.
    pub resent_frames: u8,
    /// The SGSN sends FLUSH-LL to the new cell in place of the old one.
    pub flush_new_cell: bool,
    /// Duration for which dummy LLC frames of the mobile stop LLC data in the new cell.
    pub dummy_outage: Span,
}

/// Durations of the steps of a cell change, nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Parts {
    /// Reception of FCCH and SCH of the target cell.
    pub synchronise: Dist,
    /// Reception of SI3 and SI13 of the target cell without NACC.
    pub system_information: Dist,
    /// Reception of system information with NACC.
    pub assisted: Dist,
    /// Random access in the new cell.
    pub access: Dist,
    /// Transfer of the uplink LLC frame of the cell update to the SGSN.
    pub cell_update: Dist,
    /// Message exchange of a routing area update.
    pub routing_area: Dist,
    /// Additional time for a change of SGSN.
    pub inter_sgsn: Dist,
    /// Location update on a dedicated channel, before the routing area update.
    pub location: Dist,
    /// FLUSH-LL, and downlink assignment in the new cell.
    pub resume: Dist,
}

const fn ms(from: u32, to: u32) -> Dist {
    Dist::Uniform(from as f64 * 1e6, to as f64 * 1e6)
}

impl Default for Parts {
    /// Values of release 97 networks in packet transfer mode.
    fn default() -> Self {
        Parts {
            synchronise: ms(50, 300),
            system_information: ms(500, 1900),
            assisted: ms(50, 150),
            access: ms(150, 300),
            cell_update: ms(60, 150),
            routing_area: ms(800, 2000),
            inter_sgsn: ms(1000, 3000),
            location: ms(1500, 3000),
            resume: ms(150, 350),
        }
    }
}

/// Start times of cell changes.
#[derive(Clone, PartialEq, Debug)]
pub enum Instants {
    /// Random intervals from start to start, nanoseconds; the first interval is a residual (stationary) one.
    Every(Dist),
    /// List of start times, ascending.
    Listed(Vec<Time>),
}

/// Cell reselection parameters of one user.
#[derive(Clone, PartialEq, Debug)]
pub struct MobilityConfig {
    /// Start times of cell changes; `None`: changes only by triggers.
    pub instants: Option<Instants>,
    /// Control of reselection.
    pub control: ReselectionControl,
    /// The user is stationary: with network control there are no cell changes.
    pub standing: bool,
    /// Relative probabilities of the extents, in the order of [`Extent`].
    pub extents: [f64; 4],
    /// Share of routing area changes that are also location area changes, without a combined update (network
    /// mode of operation II or III; 23.060 section 6.3.3.1): the mobile does both updates in sequence.
    pub location_area: f64,
    /// Durations of the components.
    pub parts: Parts,
    /// Duration from decision to resumed data, in place of the sum of components, nanoseconds; the components are scaled.
    pub outage: Option<Dist>,
    /// Probability that access to the new cell fails.
    pub failure: f64,
    /// Additional duration of a failed change, nanoseconds.
    pub failed: Dist,
    /// Probability that FLUSH-LL deletes the downlink data of the old cell; otherwise the data are moved.
    pub deletes: f64,
    /// Implementation faults.
    pub faults: Faults,
}

impl Default for MobilityConfig {
    fn default() -> Self {
        MobilityConfig {
            instants: None,
            control: ReselectionControl::Autonomous,
            standing: false,
            extents: [0.0, 1.0, 0.0, 0.0],
            location_area: 0.0,
            parts: Parts::default(),
            outage: None,
            failure: 0.0,
            failed: Dist::Constant(120e9),
            deletes: 1.0,
            faults: Faults::default(),
        }
    }
}

/// Times and properties of one cell change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Largest network area that the change crosses.
    pub extent: Extent,
    /// Time at which the mobile leaves the old cell.
    pub decision: Time,
    /// Time at which the mobile has read the system information of the new cell.
    pub synchronised: Time,
    /// Time of access to the new cell; uplink data resume, unless a routing area update comes first.
    pub access: Time,
    /// Time at which the SGSN learns the new cell.
    pub known: Time,
    /// Time at which the location area is updated; equal to `known` without a location update.
    pub located: Time,
    /// Time at which the routing area is updated; equal to `known` without a routing area update.
    pub updated: Time,
    /// Time at which downlink data resume.
    pub resumed: Time,
    /// FLUSH-LL deletes the downlink data of the old cell.
    pub deletes: bool,
    /// The first access to the new cell failed.
    pub failed: bool,
}

/// Sequence of a user's cell changes in a repetition: a function of seed and time, independent of traffic.
#[derive(Debug)]
pub struct Mobility {
    config: MobilityConfig,
    samplers: [Sampler; 8],
    location: Sampler,
    outage: Option<Sampler>,
    failed: Sampler,
    every: Option<Sampler>,
    chance: base::rng::Stream,
    chance_of_location: base::rng::Stream,
    listed: std::vec::IntoIter<Time>,
    next: Time,
}

fn span(sampler: &mut Sampler) -> Span {
    Span::from_nanos(sampler.draw() as u64)
}

impl Mobility {
    /// Cell changes of the user `name`.
    pub fn new(config: &MobilityConfig, name: &str, seed: Seed) -> Self {
        let stream = |what: &str| seed.stream(name, what);
        let p = &config.parts;
        let samplers = [
            (&p.synchronise, "synchronise"),
            (&p.system_information, "system-information"),
            (&p.assisted, "assisted"),
            (&p.access, "access"),
            (&p.cell_update, "cell-update"),
            (&p.routing_area, "routing-area"),
            (&p.inter_sgsn, "inter-sgsn"),
            (&p.resume, "resume"),
        ]
        .map(|(dist, what)| Sampler::new(dist.clone(), stream(what)));
        let quiet = config.control == ReselectionControl::Network && config.standing;
        let instants = config.instants.clone().filter(|_| !quiet);
        let mut every = None;
        let mut listed = Vec::new().into_iter();
        let next = match instants {
            None => Time::NEVER,
            Some(Instants::Every(dist)) => {
                let first = Sampler::new(dist.clone(), stream("first")).draw_stationary();
                every = Some(Sampler::new(dist, stream("every")));
                Time::from_nanos(first as u64)
            }
            Some(Instants::Listed(all)) => {
                listed = all.into_iter();
                listed.next().unwrap_or(Time::NEVER)
            }
        };
        Mobility {
            samplers,
            location: Sampler::new(p.location.clone(), stream("location")),
            outage: config.outage.clone().map(|d| Sampler::new(d, stream("outage"))),
            failed: Sampler::new(config.failed.clone(), stream("failed")),
            every,
            chance: stream("chance"),
            chance_of_location: stream("chance-of-location"),
            listed,
            next,
            config: config.clone(),
        }
    }

    /// Start time of the next change; [`Time::NEVER`] if none is left.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Returns the change that begins at [`Mobility::next`] and draws the start of the next one. Changes do not overlap: the
    /// next one begins after the end of this one.
    pub fn take(&mut self) -> Change {
        let change = self.change(self.next, None);
        self.next = match &mut self.every {
            Some(every) => change.decision + span(every),
            None => self.listed.next().unwrap_or(Time::NEVER),
        };
        self.next = self.next.max(change.resumed + Span::from_nanos(1));
        change
    }

    /// A triggered change that begins at `t`. `neighbour`: extent of the change; `None`: the extent is drawn.
    pub fn change(&mut self, t: Time, neighbour: Option<Extent>) -> Change {
        let [sync, si, assisted, access, cell_update, routing_area, inter_sgsn, resume] = &mut self.samplers;
        // Every change takes one draw from each distribution, so that variants of a scenario stay paired.
        let draws = [sync, si, assisted, access, cell_update, routing_area, inter_sgsn, resume].map(span);
        let [sync, si, assisted, access, cell_update, routing_area, inter_sgsn, resume] = draws;
        let (which, fails, deletes) = (self.chance.uniform(), self.chance.uniform(), self.chance.uniform());
        let outage = self.outage.as_mut().map(span);
        let failed_for = span(&mut self.failed);
        let extent = neighbour.unwrap_or_else(|| self.extent(which));
        let information = if self.config.control == ReselectionControl::Assisted { assisted } else { si };
        let synchronised = t + sync + information;
        let has_access = synchronised + access;
        let known = if extent == Extent::SameBsc { has_access } else { has_access + cell_update };
        let (location, moves) = (span(&mut self.location), self.chance_of_location.uniform());
        let area = matches!(extent, Extent::RoutingArea | Extent::InterSgsn);
        let located = if area && moves < self.config.location_area { known + location } else { known };
        let updated = match extent {
            Extent::SameBsc | Extent::CellUpdate => known,
            Extent::RoutingArea => located + routing_area,
            Extent::InterSgsn => located + routing_area + inter_sgsn,
        };
        let mut change = Change {
            extent,
            decision: t,
            synchronised,
            access: has_access,
            known,
            located,
            updated,
            resumed: updated + resume,
            deletes: extent != Extent::SameBsc && deletes < self.config.deletes,
            failed: fails < self.config.failure,
        };
        if let Some(outage) = outage {
            change = change.scaled(outage);
        }
        if change.failed {
            change = change.delayed(failed_for);
        }
        change
    }

    fn extent(&self, u: f64) -> Extent {
        let total: f64 = self.config.extents.iter().sum();
        let mut left = u * total;
        for (extent, share) in Extent::ALL.iter().zip(self.config.extents) {
            if left < share {
                return *extent;
            }
            left -= share;
        }
        Extent::CellUpdate
    }

    /// Implementation faults of the configuration.
    pub fn faults(&self) -> Faults {
        self.config.faults
    }
}

impl Change {
    /// The change with its duration scaled to `outage`.
    fn scaled(self, outage: Span) -> Change {
        let whole = self.resumed.since(self.decision).as_nanos().max(1);
        let at = |t: Time| {
            let part = u128::from(t.since(self.decision).as_nanos()) * u128::from(outage.as_nanos());
            self.decision + Span::from_nanos((part / u128::from(whole)) as u64)
        };
        Change {
            synchronised: at(self.synchronised),
            access: at(self.access),
            known: at(self.known),
            located: at(self.located),
            updated: at(self.updated),
            resumed: at(self.resumed),
            ..self
        }
    }

    /// The change with all steps after the decision delayed by a failed access.
    fn delayed(self, by: Span) -> Change {
        Change {
            synchronised: self.synchronised + by,
            access: self.access + by,
            known: self.known + by,
            located: self.located + by,
            updated: self.updated + by,
            resumed: self.resumed + by,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed { seed: 1, repetition: 0 };

    fn changes(config: &MobilityConfig, n: usize) -> Vec<Change> {
        let mut mobility = Mobility::new(config, "phone", SEED);
        (0..n).map(|_| mobility.take()).collect()
    }

    fn every(s: f64) -> Option<Instants> {
        Some(Instants::Every(Dist::Exponential(s * 1e9)))
    }

    /// GP-28, GP-44: the sequence of a cell update, in order, about a minute apart.
    #[test]
    fn gp_28_gp_44_sequence_and_interval() {
        let all = changes(&MobilityConfig { instants: every(55.0), ..MobilityConfig::default() }, 2000);
        for c in &all {
            assert!(c.decision < c.synchronised && c.synchronised < c.access && c.access < c.known);
            assert!(c.known == c.updated && c.updated < c.resumed && c.deletes);
            let outage = c.resumed.since(c.decision).as_secs_f64();
            assert!((0.9..3.01).contains(&outage), "{outage}");
        }
        let mean = all.last().map_or(0.0, |c| c.decision.as_secs_f64()) / all.len() as f64;
        assert!((mean - 55.0).abs() < 4.0, "{mean}");
    }

    /// GP-29, GP-30, GP-31: a routing area update takes longer than a cell update, a change of SGSN longer than a routing
    /// area update, a change inside one BSC less.
    #[test]
    fn gp_29_gp_30_gp_31_extents() {
        let mean = |i: usize| {
            let mut extents = [0.0; 4];
            extents[i] = 1.0;
            let config = MobilityConfig { instants: every(60.0), extents, ..MobilityConfig::default() };
            let all = changes(&config, 400);
            assert!(all.iter().all(|c| c.extent == Extent::ALL[i] && c.deletes == (i != 0)));
            all.iter().map(|c| c.resumed.since(c.decision).as_secs_f64()).sum::<f64>() / 400.0
        };
        let [bsc, cell, area, sgsn] = [0, 1, 2, 3].map(mean);
        assert!(bsc < cell && cell + 1.0 < area && area + 1.5 < sgsn, "{bsc} {cell} {area} {sgsn}");
    }

    /// GP-29: a location update precedes the routing area update in the configured share of routing area
    /// changes, and does not move the steps before it.
    #[test]
    fn gp_29_location_updates() {
        let of = |location_area| {
            let extents = [0.0, 0.5, 0.5, 0.0];
            let config =
                MobilityConfig { instants: every(60.0), extents, location_area, ..MobilityConfig::default() };
            changes(&config, 2000)
        };
        let (without, with) = (of(0.0), of(0.4));
        let mut located = 0;
        let mut areas = 0;
        for (a, b) in without.iter().zip(&with) {
            assert!(a.located == a.known && a.extent == b.extent);
            let by = b.located.since(b.known);
            areas += u32::from(a.extent == Extent::RoutingArea);
            assert_eq!(b.updated.since(b.decision), a.updated.since(a.decision) + by);
            if !by.is_zero() {
                located += 1;
                assert!(b.extent == Extent::RoutingArea && by >= Span::from_millis(1500));
            }
        }
        let share = f64::from(located) / f64::from(areas);
        assert!((share - 0.4).abs() < 0.04, "{share}");
    }

    /// GP-33: a failed change takes two minutes longer.
    #[test]
    fn gp_33_failures() {
        let config = MobilityConfig { instants: every(300.0), failure: 0.1, ..MobilityConfig::default() };
        let all = changes(&config, 1000);
        let failed: Vec<_> = all.iter().filter(|c| c.failed).collect();
        assert!((70..130).contains(&failed.len()));
        assert!(failed.iter().all(|c| c.resumed.since(c.decision) > Span::from_secs(120)));
    }

    /// GP-34, GP-35, GP-50: a stationary mobile reselects autonomously but not under network control; NACC
    /// shortens the change.
    #[test]
    fn gp_34_gp_35_gp_50_control() {
        let of = |control, standing| {
            let config =
                MobilityConfig { instants: every(60.0), control, standing, ..MobilityConfig::default() };
            Mobility::new(&config, "phone", SEED)
        };
        assert!(!of(ReselectionControl::Autonomous, true).next().is_never());
        assert!(of(ReselectionControl::Network, true).next().is_never());
        assert!(!of(ReselectionControl::Network, false).next().is_never());
        let outage = |mut m: Mobility| {
            m.take().resumed.as_nanos() as i64 - m.change(Time::ZERO, None).decision.as_nanos() as i64
        };
        assert!(
            outage(of(ReselectionControl::Assisted, false))
                < outage(of(ReselectionControl::Autonomous, false))
        );
    }

    /// GP-45: a triggered change begins at its trigger, to the requested extent, with the draws of any other change.
    #[test]
    fn gp_45_forced_change() {
        let forced = |neighbour| {
            let mut m = Mobility::new(&MobilityConfig::default(), "phone", SEED);
            assert!(m.next().is_never());
            [m.change(Time::from_nanos(7), neighbour), m.change(Time::from_nanos(9_000_000_000), None)]
        };
        let drawn = forced(None);
        assert!(drawn[0].decision == Time::from_nanos(7) && drawn[0].extent == Extent::CellUpdate);
        let mut outage = Span::ZERO;
        for extent in Extent::ALL {
            let [chosen, later] = forced(Some(*extent));
            assert!(chosen.extent == *extent && chosen.synchronised == drawn[0].synchronised);
            assert!(chosen.resumed.since(chosen.decision) > outage, "a wider change takes longer");
            outage = chosen.resumed.since(chosen.decision);
            assert_eq!(later, drawn[1]);
        }
    }

    /// GP-45: each extent changes its own numbers of the serving cell.
    #[test]
    fn gp_45_places() {
        let of = |extent| {
            let to = Camping::FIRST.beyond(extent);
            [to.cell, to.bsc, to.routing_area, to.sgsn]
        };
        let places: Vec<_> = Extent::ALL.iter().map(|extent| of(*extent)).collect();
        assert_eq!(places, [[2, 1, 1, 1], [2, 2, 1, 1], [2, 2, 2, 1], [2, 2, 2, 2]]);
    }

    /// An outage distribution scales the steps of the change.
    #[test]
    fn outages_can_be_given() {
        let outage = Some(Dist::Uniform(3e9, 15e9));
        let config = MobilityConfig { instants: every(60.0), outage, ..MobilityConfig::default() };
        for c in changes(&config, 200) {
            assert!((3.0..=15.0).contains(&c.resumed.since(c.decision).as_secs_f64()));
            assert!(c.decision <= c.access && c.access <= c.known && c.known <= c.resumed);
        }
    }
}
