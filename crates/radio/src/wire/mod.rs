//! Wire formats of GPRS and EGPRS: RLC/MAC blocks and messages, LLC and SNDCP frames, GMM messages, BSSGP and NS PDUs,
//! PCUIF, GSMTAP.
//!
//! | file | subject | specification |
//! |---|---|---|
//! | `bits` | bit strings in both orders | 24.007 annex B (CSN.1), 44.060 section 10.0b |
//! | `block` | RLC data blocks, GPRS and EGPRS | 44.060 sections 10.2 to 10.4 |
//! | `message` | RLC/MAC control messages | 44.060 section 11.2 |
//! | `llc` | UI and I frames, SN-UNITDATA and SN-DATA | 44.064 section 6, 44.065 section 7 |
//! | `abm` | I, S and U frames of acknowledged LLC | 44.064 sections 6.3, 6.4 |
//! | `gmm` | GPRS attach, routing area update, activation of a PDP context | 24.008 sections 9.4 and 9.5 |
//! | `gb` | BSSGP and network service over UDP | 48.018 sections 10 and 11, 48.016 section 9 |
//! | `assignment` | Immediate Assignment and reject, Packet Downlink and Uplink Assignment | 44.018 section 9.1.18, 44.060 section 11.2 |
//! | `pcuif` | messages between base station and PCU | Osmocom's `pcuif_proto.h` |
//! | `gsmtap` | GSMTAP version 2 | header file of libosmocore |
//!
//! Parsers accept arbitrary input and return `None` for short or out-of-range input.

pub mod abm;
pub mod assignment;
pub mod bits;
pub mod block;
pub mod gb;
pub mod gmm;
pub mod gsmtap;
pub mod llc;
pub mod message;
pub mod pcuif;
