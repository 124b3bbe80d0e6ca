//! What follows from the verdict "spurious"? Which congestion state is restored and how the timer
//! adapts. Transmission always goes on with the next unsent segment; that is the sender's part.

pub mod rfc4015;
pub mod staged;

use super::cc::Window;
use super::config::{Config, Response};
use super::spurious::Episode;
use crate::recovery::digest::AckDigest;
use crate::recovery::rto::RtoTimer;
use staged::Staged;

/// What a response may look at and change.
pub struct Scene<'a> {
    /// The timeout judged.
    pub episode: &'a Episode,
    /// The acknowledgement that revealed it.
    pub ack: &'a AckDigest,
    /// The congestion state, as the timeout left it.
    pub window: &'a mut Window,
    /// The timer.
    pub rto: &'a mut RtoTimer,
    /// Bytes outstanding after the acknowledgement.
    pub flight: u64,
}

/// The responses there are, with what they remember between episodes.
#[derive(Clone, Debug)]
pub enum Responder {
    /// Leaves everything as the timeout left it.
    None,
    /// The original staged response.
    Staged(Staged),
    /// RFC 4015.
    Rfc4015 {
        /// The initial window, which bounds the burst.
        initial_window: f64,
    },
}

impl Responder {
    /// The one that the configuration names.
    pub fn new(config: &Config, peer: u64) -> Self {
        match config.response {
            Response::None => Responder::None,
            Response::Staged => Responder::Staged(Staged::new(config.staged)),
            Response::Rfc4015 => {
                Responder::Rfc4015 { initial_window: config.initial_window.bytes(config.mss, peer) as f64 }
            }
        }
    }

    /// The timeout was spurious. True if the window now counts what the acknowledgement at hand lets
    /// out, so that it does not open the window again.
    pub fn on_spurious(&mut self, scene: Scene<'_>) -> bool {
        match self {
            Responder::None => false,
            Responder::Staged(staged) => {
                staged.on_spurious(scene);
                false
            }
            Responder::Rfc4015 { initial_window } => {
                rfc4015::on_spurious(scene, *initial_window);
                true
            }
        }
    }

    /// The timeout was a loss.
    pub fn on_genuine(&mut self) {
        if let Responder::Staged(staged) = self {
            staged.on_genuine();
        }
    }

    /// A window of data was acknowledged without a timeout.
    pub fn on_quiet_window(&mut self) {
        if let Responder::Staged(staged) = self {
            staged.on_quiet_window();
        }
    }
}
