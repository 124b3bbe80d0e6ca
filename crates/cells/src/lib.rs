//! A network of EGPRS cells as one element of the path: geometry, interference, link model, adaptation, timeslots,
//! reselection (3GPP TS 43.064, 44.060, 45.002, 45.008; Sanchez and others, VTC 2002, section IV).
//!
//! [`geometry`], [`shadow`] and [`fading`] compute path gains; `air` computes the SINR. [`curve`] and [`link`]
//! decide which RLC blocks are decoded; [`adaptation`] chooses coding scheme and power. [`motion`] moves mobiles
//! and selects the serving cell; [`slots`] allocates timeslots. RLC comes from the crate `radio`. [`system`] is the
//! network element; `tick` executes one block period in two passes, so that results do not depend on the order of
//! cells; `decision` holds what becomes of the RLC blocks of a radio block.

pub mod adaptation;
mod air;
pub mod config;
pub mod curve;
mod decision;
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
