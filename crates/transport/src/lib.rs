//! Protocol endpoints as pure state machines.
