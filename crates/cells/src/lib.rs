//! A network of EGPRS cells as one element of the path: geometry, interference, link model, adaptation, timeslots,
//! reselection (3GPP TS 43.064, 44.060, 45.002, 45.008; Sanchez and others, VTC 2002, section IV).
//!
//! Independent files: [`geometry`], [`shadow`] and [`fading`] give the path gains. [`curve`] and [`link`] decide
//! which blocks arrive, [`adaptation`] chooses scheme and power. [`motion`] moves mobiles and selects their
//! cell, [`slots`] shares timeslots. RLC comes from the crate `radio`. [`system`] joins all files: one tick per
//! block period, in two passes, so that results do not depend on the order of cells.

pub mod adaptation;
mod air;
pub mod config;
pub mod curve;
mod direction;
pub mod fading;
pub mod geometry;
pub mod link;
pub mod meter;
mod motion;
mod numeric;
pub mod observe;
mod prefetch;
mod rows;
pub mod shadow;
mod slots;
pub mod system;
mod tick;
mod voice;
mod weather;
