//! Medium access control: allocation of blocks and timeslots to mobiles (3GPP TS 44.060 sections 7 and 8,
//! 45.002 annex B).

pub mod countdown;
pub mod multislot;
pub mod ring;
pub mod tbf;
