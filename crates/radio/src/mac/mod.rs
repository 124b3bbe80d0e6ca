//! Medium access control: who sends on which timeslot, and when (3GPP TS 44.060 sections 7 and 8, 45.002 annex B).

pub mod countdown;
pub mod multislot;
pub mod ring;
pub mod tbf;
