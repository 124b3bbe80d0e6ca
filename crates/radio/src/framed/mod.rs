//! Bearers that are served alone: HSCSD with RLP, W-CDMA RLC AM, cdma2000 RLP (3GPP TS 24.022, 25.322; TIA IS-707).
//!
//! One direction is a selective-repeat machine over frames of a fixed size; what differs is the frame, the window, when
//! the receiver reports, and how often a frame is repeated. The rate follows states of the channel: coding and number of
//! timeslots of HSCSD, a high-rate channel given and taken. [`config`] has the kinds as data, [`element`] the element.

pub mod config;
pub mod element;
mod lane;
pub mod reach;
