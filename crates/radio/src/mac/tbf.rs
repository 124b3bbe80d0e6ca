//! Temporary block flows (TBFs): states and events as transition tables, durations of access and assignment, release
//! timers (3GPP TS 44.060 sections 7, 9.3.1, 9.3.2; 44.018 section 3.5).
//!
//! Each line of a table is a [`Transition`]. The duration of access and assignment depends on the mobile's state; each
//! procedure has a distribution ([`Setup`]).

use base::Span;
use base::dist::Dist;

base::named! {
    /// States of a TBF direction.
    pub enum TbfState {
        /// No TBF.
        Idle = "idle",
        /// Access (uplink) or assignment (downlink) is in progress.
        Requested = "requested",
        /// Data blocks are sent.
        Active = "active",
        /// No data are queued; dummy blocks or USFs keep the TBF (delayed release, extended uplink TBF).
        Kept = "kept",
        /// The final block was sent; the final report is outstanding.
        Final = "final",
    }
}

base::named! {
    /// Events of a TBF direction.
    pub enum Event {
        /// Data are queued.
        Data = "data",
        /// The assigned timeslots can be used.
        Assigned = "assigned",
        /// All data are acknowledged, and the TBF ends.
        Acknowledged = "acknowledged",
        /// All data are acknowledged, and release is delayed.
        Drained = "drained",
        /// The delay of the release is over.
        HoldOver = "hold-over",
        /// The final block was sent (FBI = 1, or CV = 0).
        FinalSent = "final-sent",
        /// The cell changed, or a timer or counter abnormally released the TBF.
        Abort = "abort",
    }
}

/// Transition of a state machine: state, event, next state, and the 3GPP timer, counter or message as text.
pub type Transition = (TbfState, Event, TbfState, &'static str);

/// Transitions of a downlink TBF.
pub static DOWNLINK: &[Transition] = &[
    (TbfState::Idle, Event::Data, TbfState::Requested, "assignment on AGCH, PACCH, or after paging"),
    (TbfState::Requested, Event::Assigned, TbfState::Active, "starting time over"),
    (TbfState::Active, Event::Drained, TbfState::Kept, "delayed release"),
    (TbfState::Active, Event::Acknowledged, TbfState::Idle, "T3192 begins"),
    (TbfState::Kept, Event::Data, TbfState::Active, "at once"),
    (TbfState::Kept, Event::HoldOver, TbfState::Idle, "FBI = 1; T3192 begins"),
    (TbfState::Requested, Event::Abort, TbfState::Idle, "T3191"),
    (TbfState::Active, Event::Abort, TbfState::Idle, "N3105, T3195"),
    (TbfState::Kept, Event::Abort, TbfState::Idle, "N3105, T3195"),
];

/// Transitions of an uplink TBF.
pub static UPLINK: &[Transition] = &[
    (TbfState::Idle, Event::Data, TbfState::Requested, "RACH, or channel request in a downlink report"),
    (TbfState::Requested, Event::Assigned, TbfState::Active, "first USF"),
    (TbfState::Active, Event::FinalSent, TbfState::Final, "CV = 0; T3182"),
    (TbfState::Active, Event::Drained, TbfState::Kept, "extended uplink TBF"),
    (TbfState::Kept, Event::Data, TbfState::Active, "next USF"),
    (TbfState::Kept, Event::HoldOver, TbfState::Idle, "final report"),
    (TbfState::Final, Event::Acknowledged, TbfState::Idle, "final report"),
    (TbfState::Requested, Event::Abort, TbfState::Idle, "T3168, T3164"),
    (TbfState::Active, Event::Abort, TbfState::Idle, "N3101, T3169"),
    (TbfState::Kept, Event::Abort, TbfState::Idle, "N3101, T3169"),
    (TbfState::Final, Event::Abort, TbfState::Idle, "N3103, T3182"),
];

/// Next state; `None` if the table has no transition for this state and event.
pub fn next(machine: &[Transition], state: TbfState, event: Event) -> Option<TbfState> {
    machine.iter().find(|(s, e, ..)| *s == state && *e == event).map(|(_, _, next, _)| *next)
}

base::named! {
    /// Procedure of access, assignment or upgrade of a TBF, chosen by the mobile's state.
    pub enum Setup {
        /// Uplink, packet idle: RACH, Immediate Assignment, first USF.
        Access = "access",
        /// Uplink, additional time of two-phase access: Packet Resource Request, Packet Uplink Assignment.
        SecondPhase = "second-phase",
        /// Uplink on PACCH with a downlink TBF: from the report with the channel request to the first block.
        UplinkOnPacch = "uplink-on-pacch",
        /// Downlink on PACCH, with an uplink TBF or while T3192 runs.
        DownlinkOnPacch = "downlink-on-pacch",
        /// Downlink on AGCH: the mobile listens to every paging block (non-DRX).
        DownlinkOnAgch = "downlink-on-agch",
        /// Downlink, additional wait for the paging group (DRX).
        PagingGroup = "paging-group",
        /// Downlink in STANDBY: paging, access, paging response.
        Paging = "paging",
        /// Upgrade from one timeslot to all: Packet Timeslot Reconfigure.
        MoreSlots = "more-slots",
    }
}

/// Distributions of set-up times, nanoseconds, in the order of [`Setup`].
#[derive(Clone, PartialEq, Debug)]
pub struct Durations(pub Vec<Dist>);

const fn ms(from: u32, to: u32) -> Dist {
    Dist::Uniform(from as f64 * 1e6, to as f64 * 1e6)
}

impl Default for Durations {
    /// Release 97 networks: sums over the components of the channel structure (45.002, 44.018).
    fn default() -> Self {
        Durations(vec![
            ms(150, 300),
            ms(100, 180),
            ms(80, 160),
            ms(60, 140),
            ms(120, 250),
            ms(0, 470),
            ms(1000, 3000),
            ms(80, 150),
        ])
    }
}

impl Durations {
    /// Distribution of a set-up procedure.
    pub fn of(&self, setup: Setup) -> Dist {
        self.0.get(setup as usize).cloned().unwrap_or(Dist::Constant(0.0))
    }
    /// Replaces the distribution of a set-up procedure.
    #[must_use]
    pub fn with(mut self, setup: Setup, dist: Dist) -> Self {
        if let Some(place) = self.0.get_mut(setup as usize) {
            *place = dist;
        }
        self
    }
    /// Set-up times of zero.
    pub fn none() -> Self {
        Durations(vec![Dist::Constant(0.0); Setup::ALL.len()])
    }
}

/// Parameters of access, delayed release and timers of a mobile's TBFs.
#[derive(Clone, PartialEq, Debug)]
pub struct TbfConfig {
    /// Uplink access in two phases.
    pub two_phases: bool,
    /// Set-up times.
    pub setup: Durations,
    /// T3192: time for which the mobile monitors the PDCHs after a downlink TBF.
    pub t3192: Span,
    /// Delay of the release of a downlink TBF; zero: immediate release.
    pub hold_down: Span,
    /// Duration of the extended uplink TBF; zero: the TBF ends at countdown value 0.
    pub hold_up: Span,
    /// Interval between dummy blocks or USFs of a TBF without data.
    pub keep_alive: Span,
    /// DRX_TIMER_MAX: duration of non-DRX mode after a TBF.
    pub non_drx: Span,
    /// T3314, the READY timer.
    pub ready: Span,
    /// BS_CV_MAX, block periods.
    pub bs_cv_max: u32,
    /// Both TBFs exist from the start and are never released.
    pub permanent: bool,
}

impl Default for TbfConfig {
    fn default() -> Self {
        use crate::parameters::Id;
        TbfConfig {
            two_phases: false,
            setup: Durations::default(),
            t3192: Id::T3192.span(),
            hold_down: Id::DlDelay.span(),
            hold_up: Id::UlDelay.span(),
            keep_alive: Span::from_millis(200),
            non_drx: Id::DrxTimerMax.span(),
            ready: Id::T3314.span(),
            bs_cv_max: Id::BsCvMax.default_value(),
            permanent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-18, GP-19, GP-20: set-up, immediate release, delayed release, as transitions of the tables.
    #[test]
    fn gp_18_gp_19_gp_20_lines_of_the_machines() {
        assert_eq!(next(UPLINK, TbfState::Idle, Event::Data), Some(TbfState::Requested));
        assert_eq!(next(UPLINK, TbfState::Final, Event::Data), None, "data wait for the next TBF");
        assert_eq!(next(DOWNLINK, TbfState::Active, Event::Acknowledged), Some(TbfState::Idle));
        assert_eq!(next(DOWNLINK, TbfState::Active, Event::Drained), Some(TbfState::Kept));
        assert_eq!(next(DOWNLINK, TbfState::Kept, Event::Data), Some(TbfState::Active));
    }

    /// Every state has a transition, every transition is unique, and every state except `Idle` has `Abort`.
    #[test]
    fn machines_are_whole() {
        for machine in [DOWNLINK, UPLINK] {
            for (i, (s, e, ..)) in machine.iter().enumerate() {
                assert!(!machine[..i].iter().any(|(t, f, ..)| (s, e) == (t, f)), "{s} {e} twice");
            }
            for s in machine.iter().map(|l| l.2).filter(|s| *s != TbfState::Idle) {
                assert_eq!(next(machine, s, Event::Abort), Some(TbfState::Idle));
            }
        }
    }

    #[test]
    fn durations_keep_their_places() {
        let d = Durations::default().with(Setup::Access, Dist::Constant(1e6));
        assert_eq!(d.of(Setup::Access), Dist::Constant(1e6));
        assert_eq!(d.of(Setup::MoreSlots), ms(80, 150));
        assert_eq!(d.0.len(), Setup::ALL.len());
    }
}
