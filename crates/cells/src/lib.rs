//! A network of EGPRS cells as one element of the path: geometry, interference, link model, adaptation, timeslots,
//! reselection (3GPP TS 43.064, 44.060, 45.002, 45.008; Sanchez and others, VTC 2002, section IV).
//!
//! Files that do not know each other: [`geometry`], [`shadow`] and [`fading`] are the weather, [`curve`] and [`link`]
//! decide which block arrives, [`adaptation`] chooses scheme and power, [`motion`] moves mobiles and finds their cell,
//! [`slots`] shares timeslots. RLC comes from the crate `radio`. [`system`] joins them: a tick for each block period,
//! in two passes, so that the result does not depend on the order of cells.

pub mod adaptation;
mod air;
pub mod config;
pub mod curve;
pub mod fading;
pub mod geometry;
pub mod link;
pub mod meter;
mod motion;
mod numeric;
pub mod observe;
pub mod shadow;
mod slots;
pub mod system;
mod tick;
mod voice;
mod way;
mod weather;
