//! No detection: every timeout counts as a loss.

use super::{Case, Sight, Step, Watch};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// No detector.
#[derive(Clone, Copy, Debug)]
pub struct None;

impl Watch for None {
    fn new(_: &Config) -> Self {
        None
    }
    fn on_timeout(&mut self, _: &Sight) -> Case {
        Case::None
    }
    fn on_ack(&mut self, _: &AckDigest, _: &Sight) -> Step {
        Step::default()
    }
}
