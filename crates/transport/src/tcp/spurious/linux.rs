//! Combined spurious detection of Linux: F-RTO, timestamps, DSACK.
//!
//! After a timeout the sender follows F-RTO, and timestamps and DSACK are evaluated too; the first spurious verdict
//! counts. Fast retransmits are judged by timestamps and DSACK.
//!
//! The verdict is genuine when no detector can still give a spurious verdict. As in Linux, timestamps are trusted
//! even if all ACKs seem to be lost.

use super::dsack::Dsack;
use super::eifel::Eifel;
use super::frto::Frto;
use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict};
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

impl SpuriousDetector for Linux {
    fn new(config: &Config) -> Self {
        Linux {
            eifel: config.timestamps.then(|| Eifel::original(config)),
            frto: Frto::new(config),
            dsack: (config.uses_sack() && config.receiver.dsack).then(|| Dsack::counting(config)),
            owe: [false; 3],
            genuine: false,
        }
    }

    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        let eifel = self.eifel.as_mut().map(|d| d.on_timeout(view));
        let dsack = self.dsack.as_mut().map(|d| d.on_timeout(view));
        let frto = self.frto.on_timeout(view);
        self.begin(eifel, frto, dsack)
    }

    fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
        let eifel = self.eifel.as_mut().map(|d| d.on_fast_retransmit(view));
        let dsack = self.dsack.as_mut().map(|d| d.on_fast_retransmit(view));
        let frto = self.frto.on_fast_retransmit(view);
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

    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
        let eifel = self.eifel.as_mut().map(|d| d.on_ack(ack, view)).unwrap_or_default();
        let frto = self.frto.on_ack(ack, view);
        let dsack = self.dsack.as_mut().map(|d| d.on_ack(ack, view)).unwrap_or_default();
        for (owes, step) in self.owe.iter_mut().zip([eifel, frto, dsack]) {
            if !*owes || step.verdict == SpuriousVerdict::Open {
                continue;
            }
            *owes = false;
            if matches!(step.verdict, SpuriousVerdict::Spurious | SpuriousVerdict::Late) {
                self.owe = [false; 3];
                // F-RTO stops; its planned transmission is obsolete.
                self.frto = self.frto.done();
                return step.verdict.into();
            }
            self.genuine |= step.verdict == SpuriousVerdict::Genuine;
        }
        let word = match (self.owe, self.genuine) {
            ([false, false, false], true) => SpuriousVerdict::Genuine,
            _ => SpuriousVerdict::Open,
        };
        if word == SpuriousVerdict::Genuine {
            self.genuine = false;
        }
        Decision { verdict: word, transmit: frto.transmit }
    }

    #[inline]
    fn rests_on(&self, ack: &AckDigest) -> bool {
        self.owe == [false; 3]
            && !self.genuine
            && self.frto.rests_on(ack)
            && self.eifel.as_ref().is_none_or(|d| d.rests_on(ack))
            && self.dsack.as_ref().is_none_or(|d| d.rests_on(ack))
    }
}

impl Linux {
    fn begin(&mut self, eifel: Option<Judging>, frto: Judging, dsack: Option<Judging>) -> Judging {
        let owes = |case: Option<Judging>| case.is_some_and(|c| c != Judging::None);
        self.owe = [owes(eifel), owes(Some(frto)), owes(dsack)];
        self.genuine = false;
        match self.owe {
            [false, false, false] => Judging::None,
            _ => Judging::New,
        }
    }
}
