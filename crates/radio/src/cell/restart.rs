//! Restarts of network elements after faults of their software: PCU, BSC and SGSN (catalogue WL-14).
//!
//! An element that restarts loses what it holds, and the mobiles of the cell have no service through it until it works
//! again. The PCU loses all TBFs and its queues, the BSC loses the TBFs and what the PCU loses if that is a part of
//! it, the SGSN loses its queues and contexts. Uplink data that wait in the terminal stay there. Trace
//! events name the element: [`CellStep::PcuRestart`], `BscRestart` and `SgsnRestart`.

use super::config::{NetworkElement, PcuSite, Restart, RestartTimes};
use super::user::User;
use super::{Air, Cell, Direction, Side};
use crate::tdma::{self, Tick};
use base::dist::Sampler;
use base::event::{CellStep, Event};
use base::packet::DropReason;
use base::rng::Seed;
use base::{Span, Time};
use path::gate::{Closures, FirstInterval, Gate, IntervalReference};

/// A mobile counts as in use until this long after its last LLC frame.
const IN_USE: Span = Span::from_secs(30);

/// Restarts of one element over time.
pub(super) struct RestartProcess {
    element: NetworkElement,
    gate: Gate,
    /// Start of the next restart, or the end of the present one; [`Time::NEVER`]: no more.
    pub(super) next: Time,
    /// Whether the element restarts now.
    away: bool,
}

impl RestartProcess {
    /// Restarts by `config`.
    pub(super) fn new(config: &Restart, seed: Seed) -> Self {
        let name = &config.name;
        let closures = match &config.times {
            RestartTimes::Every(every) => Closures::Process {
                every: every.clone(),
                from: IntervalReference::End,
                first: FirstInterval::Stationary,
                lasts: config.lasts.clone(),
            },
            RestartTimes::Listed(times) => {
                let mut lasts = Sampler::new(config.lasts.clone(), seed.stream(name, "lasts"));
                let whole = |at: &Time| (*at, *at + Span::from_nanos(lasts.draw() as u64));
                Closures::List(times.iter().map(whole).collect())
            }
        };
        let mut process = RestartProcess {
            element: config.element,
            gate: Gate::new(closures, name, seed),
            next: Time::NEVER,
            away: false,
        };
        process.find_next(Time::ZERO);
        process
    }

    /// Finds the first restart from `from` on.
    fn find_next(&mut self, from: Time) {
        let (closed, until) = self.gate.phase(from, from);
        self.next = if closed { from } else { until };
    }
}

impl Cell {
    /// Begins and ends the restarts that are due by the block period that begins at `t`.
    pub(super) fn restart_elements(&mut self, n: Tick, t: Time) {
        let Cell { restarts, users, air, side, pcu_at, .. } = self;
        for process in restarts.iter_mut() {
            if process.next > t {
                continue;
            }
            if process.away {
                users.iter().for_each(|user| user.say(side, t, CellStep::Restarted));
                process.away = false;
                process.find_next(t);
            }
            if process.next > t {
                continue;
            }
            let over = process.gate.open_from(t, t);
            if over <= t {
                process.find_next(t + Span::from_nanos(1));
                continue;
            }
            (process.away, process.next) = (true, over);
            for user in users.iter_mut() {
                user.element_restarts((process.element, *pcu_at), over, (n, t), air, side);
            }
        }
    }

    /// First tick with a begin or end of a restart; [`Tick::MAX`] if there is none.
    pub(super) fn next_restart(&self) -> Tick {
        let next = self.restarts.iter().map(|process| process.next).min().unwrap_or(Time::NEVER);
        if next.is_never() { Tick::MAX } else { tdma::next_tick(next) }
    }
}

impl User {
    /// A network element restarts until `over`.
    fn element_restarts(
        &mut self,
        (element, pcu_at): (NetworkElement, PcuSite),
        over: Time,
        (n, t): (Tick, Time),
        air: &mut Air,
        side: &mut Side,
    ) {
        let used = self.inside() > 0 || t.since(self.down.last_frame.max(self.up.last_frame)) < IN_USE;
        if used {
            self.restarts[element as usize] += 1;
            self.restart_time += over.since(t);
        }
        let step = match element {
            NetworkElement::Pcu => CellStep::PcuRestart,
            NetworkElement::Bsc => CellStep::BscRestart,
            NetworkElement::Sgsn => CellStep::SgsnRestart,
        };
        self.say(side, t, step);
        if element == NetworkElement::Sgsn {
            self.sgsn_away = self.sgsn_away.max(over);
            self.lose_sgsn_queue(t, side);
        } else {
            self.abort(Direction::Down, n, air, side);
            self.abort(Direction::Up, n, air, side);
            self.suspended = self.suspended.map(|until| until.max(over));
            let pcu_lost = element == NetworkElement::Pcu || pcu_at == PcuSite::Bsc;
            if pcu_lost {
                self.discard_pcu_queue(DropReason::Restarted, t, side);
            }
            // Toward a PCU in the base station, Gb leads through the BSC.
            if pcu_lost || pcu_at == PcuSite::Bts {
                self.pcu_away = self.pcu_away.max(over);
            }
        }
        (self.due, self.calm) = (n, 0);
    }

    /// The SGSN's queue for the mobile is lost.
    fn lose_sgsn_queue(&mut self, t: Time, side: &mut Side) {
        let mut gone = Vec::new();
        self.sgsn.clear(|id| gone.push(id));
        self.sgsn_next = self.sgsn.next_pass();
        if let Some(cell) = &mut side.bucket {
            cell.leave(self.me);
        }
        gone.into_iter().for_each(|id| self.end(Direction::Down, id, DropReason::Restarted, t, side));
    }

    pub(super) fn say(&self, side: &mut Side, t: Time, step: CellStep) {
        let user = u32::from(self.me);
        side.note(t, || Event::Mobility { user, step });
    }
}
