//! Bearers with a channel of their own: HSCSD with RLP, W-CDMA RLC AM, cdma2000 RLP (3GPP TS 24.022, 25.322;
//! TIA IS-707).
//!
//! One direction is a selective-repeat ARQ over frames of fixed size. Kinds differ in frame, window, report
//! policy and number of retransmissions. The rate follows the state of the channel: coding and timeslots of
//! HSCSD, a high-rate channel assigned and released. [`config`] holds the kinds as data, [`circuit`] the link
//! adaptation and timeslots of an HSCSD call, [`element`] the network element.

pub mod circuit;
pub mod config;
pub mod element;
mod lane;
pub mod reach;
