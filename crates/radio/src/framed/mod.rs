//! Framed bearers, with a dedicated channel: HSCSD with RLP, W-CDMA RLC AM, cdma2000 RLP (3GPP TS 24.022, 25.322; TIA
//! IS-707).
//!
//! Each direction is a selective-repeat ARQ over frames of fixed size. The kinds of bearer differ in frame, window,
//! report policy and number of retransmissions. The rate follows the state of the channel: coding and timeslots of
//! HSCSD, assignment and release of a high-rate channel. [`config`] has the configuration, [`circuit`] the link
//! adaptation and timeslots of an HSCSD call, [`reach`] the W-CDMA rate by distance, [`element`] the network element.

pub mod circuit;
pub mod config;
pub mod element;
mod lane;
pub mod reach;
