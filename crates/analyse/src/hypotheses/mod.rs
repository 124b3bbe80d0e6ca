//! Inference of event courses of an episode (fates of packets and ACKs): recorder, in-order rules, hidden Markov
//! model, receiver model, ACK timing.

pub(crate) mod burstiness;
pub(crate) mod constraints;
pub(crate) mod hmm;
pub(crate) mod order_rules;
pub(crate) mod receiver_model;
pub(crate) mod replay;
pub(crate) mod segmentation;
pub(crate) mod timing;
pub(crate) mod transitions;
pub(crate) mod union_find;
