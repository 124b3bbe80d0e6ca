//! Players of repetitions: in this process, at an agent, or on real kernels; and their reports.

pub(crate) mod agent_player;
pub(crate) mod artefacts;
pub(crate) mod captures;
pub(crate) mod detail;
pub(crate) mod kernels;
pub(crate) mod link_processes;
pub(crate) mod local_player;
pub(crate) mod numbers;
pub(crate) mod remote_player;
pub(crate) mod rep_report;
pub(crate) mod summary;
pub(crate) mod task;
