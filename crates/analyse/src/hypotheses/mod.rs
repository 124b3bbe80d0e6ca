//! Event-course inference: a hidden Markov model over packet and ACK fates that explains an episode.

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
