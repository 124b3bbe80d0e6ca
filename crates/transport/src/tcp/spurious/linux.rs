//! Combined spurious detection of Linux: F-RTO, timestamps, DSACK.
//!
//! After a timeout it sends as F-RTO does and evaluates timestamps and DSACK too; the first spurious verdict
//! counts. Fast retransmits are judged by timestamps and DSACK.
//!
//! The verdict is genuine once no detector is left that could contradict. As in Linux, timestamps are trusted
//! even if all ACKs seem to be lost.

use super::dsack::Dsack;
use super::eifel::Eifel;
use super::frto::Frto;
use super::{Case, Sight, Step, Watch, Word};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// Three detectors, and which verdicts are outstanding.
#[derive(Clone, Debug)]
pub struct Linux {
    eifel: Option<Eifel>,
    frto: Frto,
    dsack: Option<Dsack>,
    owe: [bool; 3],
    genuine: bool,
}

impl Watch for Linux {
    fn new(config: &Config) -> Self {
        Linux {
            eifel: config.timestamps.then(|| Eifel::original(config)),
            frto: Frto::new(config),
            dsack: (config.uses_sack() && config.receiver.dsack).then(|| Dsack::counting(config)),
            owe: [false; 3],
            genuine: false,
        }
    }

    fn on_timeout(&mut self, sight: &Sight) -> Case {
        let eifel = self.eifel.as_mut().map(|d| d.on_timeout(sight));
        let dsack = self.dsack.as_mut().map(|d| d.on_timeout(sight));
        let frto = self.frto.on_timeout(sight);
        self.begin(eifel, frto, dsack)
    }

    fn on_fast_retransmit(&mut self, sight: &Sight) -> Case {
        let eifel = self.eifel.as_mut().map(|d| d.on_fast_retransmit(sight));
        let dsack = self.dsack.as_mut().map(|d| d.on_fast_retransmit(sight));
        let frto = self.frto.on_fast_retransmit(sight);
        self.begin(eifel, frto, dsack)
    }

    fn on_resent(&mut self, seq: u64, end: u64, max: u64) {
        if let Some(eifel) = &mut self.eifel {
            eifel.on_resent(seq, end, max);
        }
        self.frto.on_resent(seq, end, max);
        if let Some(dsack) = &mut self.dsack {
            dsack.on_resent(seq, end, max);
        }
    }

    fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step {
        let eifel = self.eifel.as_mut().map(|d| d.on_ack(ack, sight)).unwrap_or_default();
        let frto = self.frto.on_ack(ack, sight);
        let dsack = self.dsack.as_mut().map(|d| d.on_ack(ack, sight)).unwrap_or_default();
        for (owes, step) in self.owe.iter_mut().zip([eifel, frto, dsack]) {
            if !*owes || step.word == Word::Open {
                continue;
            }
            *owes = false;
            if matches!(step.word, Word::Spurious | Word::Late) {
                self.owe = [false; 3];
                // F-RTO stops; its planned transmission is obsolete.
                self.frto = self.frto.done();
                return step.word.into();
            }
            self.genuine |= step.word == Word::Genuine;
        }
        let word = match (self.owe, self.genuine) {
            ([false, false, false], true) => Word::Genuine,
            _ => Word::Open,
        };
        if word == Word::Genuine {
            self.genuine = false;
        }
        Step { word, course: frto.course }
    }
}

impl Linux {
    fn begin(&mut self, eifel: Option<Case>, frto: Case, dsack: Option<Case>) -> Case {
        let owes = |case: Option<Case>| case.is_some_and(|c| c != Case::None);
        self.owe = [owes(eifel), owes(Some(frto)), owes(dsack)];
        self.genuine = false;
        match self.owe {
            [false, false, false] => Case::None,
            _ => Case::New,
        }
    }
}
