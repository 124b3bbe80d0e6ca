//! Medium access control: TBF states and set-up times, countdown value, multislot classes, round robin of a timeslot
//! (3GPP TS 44.060 sections 7 to 9, 45.002 annex B).

pub mod countdown;
pub mod multislot;
pub mod ring;
pub mod tbf;
