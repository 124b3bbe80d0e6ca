//! Caption of a time-sequence picture: timeouts grouped into episodes, and sentences about cause,
//! retransmissions, window and detection.
//!
//! The text is computed from the picture only.

use crate::model::{Drop, Interval, Picture, SegmentKind, Timeout, Truth};
use crate::text::{capital, count, grouped, seconds};

/// Consecutive expiries of the retransmission timer for one segment, and the retransmissions that they
/// caused.
#[derive(Clone, Debug)]
pub(crate) struct Episode<'a> {
    /// The first expiry.
    pub(crate) first: &'a Timeout,
    /// The last expiry, with the detector's final verdict.
    pub(crate) last: &'a Timeout,
    /// Number of expiries.
    pub(crate) expiries: usize,
    /// Number of unneeded retransmissions.
    pub(crate) unneeded: usize,
    /// Number of needed retransmissions.
    pub(crate) needed: usize,
    /// Number of retransmissions without a verdict.
    pub(crate) unknown: usize,
    /// Time of the first and the last unneeded retransmission, s.
    pub(crate) times: (f64, f64),
    /// Lowest and highest byte of the unneeded retransmissions.
    pub(crate) range: (u64, u64),
    /// The disturbance that caused a spurious timeout.
    pub(crate) spike: Option<&'a Interval>,
    /// The loss that caused a genuine timeout.
    pub(crate) drop: Option<&'a Drop>,
}

impl Episode<'_> {
    /// Verdict on the first expiry.
    pub(crate) fn truth(&self) -> Truth {
        self.first.truth
    }
}

/// Verdict of the sender's detector on a timeout, parsed from its free text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detection<'a> {
    /// Verdict.
    pub(crate) verdict: Truth,
    /// Name of the detector, if the text is a name.
    pub(crate) by: Option<&'a str>,
    /// Time of the verdict, s.
    pub(crate) at: Option<f64>,
}

impl Timeout {
    /// Verdict of the detector, if any.
    pub(crate) fn detection(&self) -> Option<Detection<'_>> {
        let at = self.detected_at.filter(|t| t.is_finite());
        match self.detected.as_deref().map(str::trim) {
            None | Some("" | "none" | "unknown") => None,
            Some("spurious") => Some(Detection { verdict: Truth::Spurious, by: None, at }),
            Some("genuine") => Some(Detection { verdict: Truth::Genuine, by: None, at }),
            Some(name) => Some(Detection { verdict: Truth::Spurious, by: Some(name), at }),
        }
    }

    /// Short label of the timeout; `span` is the length of the time axis, s.
    pub(crate) fn label(&self, span: f64) -> String {
        let mut label = match (self.truth, self.cause.as_deref()) {
            (Truth::Spurious, Some(cause)) => {
                format!("spurious timeout ({})", cause.replace(['_', '-'], " "))
            }
            (Truth::Spurious, None) => "spurious timeout".to_owned(),
            (Truth::Genuine, _) => "genuine timeout".to_owned(),
            (Truth::Unknown, _) => "timeout".to_owned(),
        };
        if let Some(said) = self.detection() {
            label += match (said.verdict == self.truth, said.verdict) {
                (true, _) => " \u{2013} detected",
                (false, Truth::Spurious) => " \u{2013} taken for spurious",
                (false, Truth::Genuine) => " \u{2013} taken for genuine",
                (false, Truth::Unknown) => "",
            };
            if let Some(at) = said.at {
                label += &format!(" at {}", seconds(at, span));
            }
            if let Some(by) = said.by {
                label += &format!(" by {by}");
            }
        }
        label
    }
}

/// Timeouts of a picture in time order, grouped into episodes.
pub(crate) fn episodes(picture: &Picture) -> Vec<Episode<'_>> {
    let mut timeouts: Vec<&Timeout> = picture.timeouts.iter().filter(|e| e.t.is_finite()).collect();
    timeouts.sort_by(|a, b| a.t.total_cmp(&b.t));
    let mut sent: Vec<_> = picture.sent.iter().filter(|e| e.t.is_finite()).collect();
    sent.sort_by(|a, b| a.t.total_cmp(&b.t));

    let mut episodes: Vec<Episode<'_>> = Vec::new();
    for timeout in timeouts {
        match episodes.last_mut() {
            Some(open) if open.first.seq == timeout.seq => {
                open.last = timeout;
                open.expiries += 1;
            }
            _ => episodes.push(Episode {
                first: timeout,
                last: timeout,
                expiries: 1,
                unneeded: 0,
                needed: 0,
                unknown: 0,
                times: (f64::INFINITY, f64::NEG_INFINITY),
                range: (u64::MAX, 0),
                spike: None,
                drop: None,
            }),
        }
    }

    // First byte and time of each first transmission, to look up when a byte was first sent.
    let mut firsts: Vec<(u64, f64)> =
        sent.iter().filter(|e| e.kind == SegmentKind::New).map(|e| (e.seq, e.t)).collect();
    firsts.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));

    let mut highest = 0; // one past the highest byte sent before the present moment
    let mut next = 0;
    for i in 0..episodes.len() {
        let until = episodes.get(i + 1).map_or(f64::INFINITY, |e| e.first.t);
        let episode = &mut episodes[i];
        while next < sent.len() && sent[next].t < episode.first.t {
            highest = highest.max(sent[next].end);
            next += 1;
        }
        let recover = highest;
        while next < sent.len() && sent[next].t < until {
            let segment = sent[next];
            highest = highest.max(segment.end);
            next += 1;
            if segment.seq >= recover {
                continue;
            }
            match segment.kind {
                SegmentKind::New => {}
                SegmentKind::Retransmission => episode.needed += picture.pieces(segment),
                SegmentKind::Unknown => episode.unknown += picture.pieces(segment),
                SegmentKind::Unneeded => {
                    episode.unneeded += picture.pieces(segment);
                    episode.times = (episode.times.0.min(segment.t), episode.times.1.max(segment.t));
                    episode.range = (episode.range.0.min(segment.seq), episode.range.1.max(segment.end));
                }
            }
        }
        let (t, seq) = (episode.first.t, episode.first.seq);
        let lost = |e: &&Drop| e.t <= t && (e.seq..e.end).contains(&seq);
        episode.drop = picture.drops.iter().filter(lost).min_by(|a, b| a.t.total_cmp(&b.t));
        let started = picture.spikes.iter().filter(|e| e.from <= t && e.until.is_finite());
        let nearest = started.max_by(|a, b| a.until.total_cmp(&b.until));
        // The disturbance must overlap the time in which the segment was in flight.
        let before = firsts.partition_point(|first| first.0 <= seq);
        let sent_at = before.checked_sub(1).map_or(t, |i| firsts[i].1);
        episode.spike = nearest.filter(|e| e.until >= sent_at.min(t));
    }
    episodes
}

impl Picture {
    /// The caption: two or three sentences of plain text.
    #[must_use]
    pub fn caption(&self) -> String {
        if self.sent.is_empty() {
            return "Nothing was sent in this picture.".to_owned();
        }
        if self.datagrams {
            return self.datagram_story();
        }
        let episodes = episodes(self);
        let Some(episode) =
            episodes.iter().find(|e| e.truth() == Truth::Spurious).or_else(|| episodes.first())
        else {
            return self.quiet_story();
        };
        let span = self.end();
        let mut story = vec![self.expiry_sentence(episode, span)];
        story.push(self.resend_sentence(episode));
        story.extend(self.echo_sentence(episode, &episodes));
        story.extend(detection_sentence(episode, span));
        if episodes.len() > 1 {
            story.push(self.total_sentence(&episodes));
        }
        story.join(" ")
    }

    /// Caption of a picture of datagrams: numbers sent, delivered and lost.
    fn datagram_story(&self) -> String {
        let span = self.end();
        let sent = self.sent.len();
        let begin = self.sent.iter().map(|e| e.t).fold(f64::INFINITY, f64::min);
        let mut story = format!(
            "{} left between {} and {}.",
            capital(&count(sent, "datagram")),
            seconds(begin, span),
            seconds(self.sent.iter().map(|e| e.t).fold(0.0, f64::max), span)
        );
        let lost = self.drops.len();
        let mut places: Vec<&str> = self.drops.iter().map(|e| e.place.as_str()).collect();
        places.sort_unstable();
        places.dedup();
        places.retain(|place| !place.is_empty());
        story += &match (lost, places.as_slice()) {
            (0, _) if self.received.len() >= sent => " All of them arrived.".to_owned(),
            (0, _) => format!(" {} of them arrived.", grouped(self.received.len() as u64)),
            (n, []) => format!(" {n} of them were lost."),
            (n, places) => format!(" {n} of them were lost, at {}.", places.join(" and ")),
        };
        story
    }

    /// Caption of a picture without timeouts.
    fn quiet_story(&self) -> String {
        let (unneeded, needed) = self.resent();
        let mut story = format!(
            "The retransmission timer never expired while {} were sent in {}.",
            self.all_sent(),
            seconds(self.end(), self.end())
        );
        let unknown =
            self.sent.iter().filter(|e| e.kind == SegmentKind::Unknown).map(|e| self.pieces(e)).sum();
        match (unneeded, needed) {
            (0, 0) if unknown > 0 => {}
            (0, 0) => story += " Nothing was retransmitted.",
            (0, n) => story += &format!(" {} retransmitted after a loss.", capital(&were(n))),
            (n, 0) => {
                story += &format!(" {} retransmitted without need (marked in vermillion).", capital(&were(n)))
            }
            (u, n) => {
                story += &format!(
                    " {} retransmitted after a loss, and {} without need (marked in vermillion).",
                    capital(&were(n)),
                    u
                );
            }
        }
        if unknown > 0 {
            story += &format!(
                " {} retransmitted, and it is unknown whether that was needed.",
                capital(&were(unknown))
            );
        }
        let fast = self.fast_retransmits.len();
        let spurious = self.fast_retransmits.iter().filter(|e| e.truth == Truth::Spurious).count();
        if fast > 0 {
            story += &format!(" Duplicate acknowledgements started {}", count(fast, "fast retransmit"));
            story += &match (fast, spurious) {
                (_, 0) => ".".to_owned(),
                (1, 1) => ", which was spurious.".to_owned(),
                (a, b) if a == b => ", all of them spurious.".to_owned(),
                (_, n) => format!(", {n} of them spurious."),
            };
        }
        story
    }

    fn expiry_sentence(&self, episode: &Episode<'_>, span: f64) -> String {
        let at = seconds(episode.first.t, span);
        let times = match episode.expiries {
            1 => String::new(),
            2 => " (and once more for the same segment)".to_owned(),
            n => format!(" (and {} more times for the same segment)", n - 1),
        };
        let held = episode.spike.map(|spike| {
            let name = if spike.name.is_empty() { String::new() } else { format!(" ({})", spike.name) };
            format!(
                "the link was held up from {} to {}{name}",
                seconds(spike.from, span),
                seconds(spike.until, span)
            )
        });
        let segment = grouped(self.ordinal(episode.first.seq));
        let start = format!("At {at} the retransmission timer expired{times}");
        match episode.truth() {
            Truth::Spurious => match (episode.first.cause.as_deref(), held) {
                (Some("ack_lost" | "ack-lost"), _) => format!(
                    "{start} although segment {segment} had arrived: only its acknowledgement was lost."
                ),
                (Some("ack_delayed" | "ack-delayed"), Some(held)) => format!(
                    "{start} although segment {segment} had arrived: its acknowledgement was late, because {held}."
                ),
                (Some("ack_delayed" | "ack-delayed"), None) => {
                    format!(
                        "{start} although segment {segment} had arrived: its acknowledgement was only late."
                    )
                }
                (_, Some(held)) => {
                    format!("{start} although segment {segment} was not lost, only late: {held}.")
                }
                (_, None) => format!("{start} although segment {segment} was not lost, only late."),
            },
            Truth::Genuine => match episode.drop {
                Some(drop) => {
                    let place =
                        if drop.place.is_empty() { String::new() } else { format!(" ({})", drop.place) };
                    format!(
                        "{start} because segment {segment} had been lost at {}{place}.",
                        seconds(drop.t, span)
                    )
                }
                None => format!("{start} because segment {segment} had been lost."),
            },
            Truth::Unknown => {
                format!("{start}; the capture does not show whether segment {segment} had been lost.")
            }
        }
    }

    fn resend_sentence(&self, episode: &Episode<'_>) -> String {
        let cut = self.window_cut(episode);
        let what = match (episode.unneeded, episode.needed) {
            (0, 0) if episode.unknown > 0 => format!(
                "The sender then retransmitted {}, and it is unknown whether that was needed",
                count(episode.unknown, "segment")
            ),
            (0, 0) => "The sender retransmitted nothing".to_owned(),
            (1, 0) => {
                "The sender retransmitted only this segment, without need (marked in vermillion)".to_owned()
            }
            (n, 0) => format!(
                "The sender then retransmitted {n} segments although their first copies arrived (marked in \
                 vermillion)"
            ),
            (0, 1) => "The sender retransmitted it, as needed".to_owned(),
            (0, n) => format!("The sender then retransmitted {n} segments, all of them needed"),
            (u, n) => format!(
                "The sender then retransmitted {}: {n} needed and {u} unneeded (marked in vermillion)",
                count(u + n, "segment")
            ),
        };
        format!("{what}{cut}.")
    }

    /// Effect of the timeout on the window, as a clause.
    fn window_cut(&self, episode: &Episode<'_>) -> String {
        let before = self.window.iter().filter(|e| e.t < episode.first.t).max_by(|a, b| a.t.total_cmp(&b.t));
        let after = self
            .window
            .iter()
            .filter(|e| e.t >= episode.first.t && e.t <= episode.first.t + 0.01)
            .min_by_key(|e| e.cwnd);
        let segments = |bytes: u64| (bytes as f64 / self.segment()).round();
        match (before, after) {
            (Some(b), Some(a)) if segments(a.cwnd) < segments(b.cwnd) => {
                format!(
                    ", after cutting its window from {} segments to {}",
                    segments(b.cwnd),
                    segments(a.cwnd)
                )
            }
            _ => String::new(),
        }
    }

    /// Sentence about a fast retransmit that duplicate ACKs of unneeded retransmissions caused.
    fn echo_sentence(&self, episode: &Episode<'_>, episodes: &[Episode<'_>]) -> Option<String> {
        let from = episode.first.t;
        let until = episodes.iter().map(|e| e.first.t).find(|t| *t > from).unwrap_or(f64::INFINITY);
        let echoes =
            |e: &&crate::model::FastRetransmit| e.truth == Truth::Spurious && e.t > from && e.t < until;
        let echo = self.fast_retransmits.iter().find(echoes).filter(|_| episode.unneeded > 1)?;
        let at = seconds(echo.t, self.end());
        Some(format!("Their duplicate acknowledgements then set off a spurious fast retransmit at {at}."))
    }

    /// Sentence with the number of timeouts by verdict, and the number of episodes. Each expiry counts as a
    /// timeout with its own verdict.
    fn total_sentence(&self, episodes: &[Episode<'_>]) -> String {
        let all = || self.timeouts.iter().filter(|e| e.t.is_finite());
        let of = |truth: Truth| all().filter(|e| e.truth == truth).count();
        let (total, unknown) = (all().count(), of(Truth::Unknown));
        let rows = match episodes.len() {
            n if n == total => String::new(),
            n => format!(" in {n} episodes"),
        };
        let doubt = if unknown > 0 { format!(", {unknown} not known") } else { String::new() };
        let (unneeded, _) = self.resent();
        format!(
            "In all there were {}{rows}: {} spurious, {} genuine{doubt}; {} of {} sent {} unneeded.",
            count(total, "timeout"),
            of(Truth::Spurious),
            of(Truth::Genuine),
            grouped(unneeded as u64),
            self.all_sent(),
            if unneeded == 1 { "was" } else { "were" },
        )
    }

    /// Number of segments sent, and of captured packets if those are fewer.
    fn all_sent(&self) -> String {
        let packets = self.sent.len();
        let segments: usize = self.sent.iter().map(|e| self.pieces(e)).sum();
        match segments {
            n if n > packets => format!("{} (captured as {})", count(n, "segment"), count(packets, "packet")),
            n => count(n, "segment"),
        }
    }

    /// Numbers of unneeded and needed retransmissions.
    pub(crate) fn resent(&self) -> (usize, usize) {
        let of = |kind| self.sent.iter().filter(|e| e.kind == kind).map(|e| self.pieces(e)).sum();
        (of(SegmentKind::Unneeded), of(SegmentKind::Retransmission))
    }
}

fn were(n: usize) -> String {
    format!("{} {}", count(n, "segment"), if n == 1 { "was" } else { "were" })
}

fn detection_sentence(episode: &Episode<'_>, span: f64) -> Option<String> {
    let said = episode.last.detection().or_else(|| episode.first.detection());
    let truth = episode.truth();
    let Some(said) = said else {
        // A capture does not show the sender's state.
        let seen = episode.last.detected.as_deref() != Some("unknown");
        return (truth == Truth::Spurious && seen)
            .then(|| "The sender did not detect that the timeout was spurious.".to_owned());
    };
    let who =
        said.by.map_or("The sender's detector".to_owned(), |name| format!("The sender's detector ({name})"));
    let at = said.at.map_or(String::new(), |t| format!(" at {}", seconds(t, span)));
    Some(match (said.verdict, truth) {
        (Truth::Spurious, Truth::Spurious) => format!("{who} recognised the timeout as spurious{at}."),
        (Truth::Genuine, Truth::Spurious) => format!("{who} took the timeout for genuine{at}."),
        (Truth::Spurious, Truth::Genuine) => format!("{who} wrongly took the timeout for spurious{at}."),
        (Truth::Genuine, Truth::Genuine) => format!("{who} rightly called the timeout genuine{at}."),
        (_, Truth::Unknown) | (Truth::Unknown, _) => return None,
    })
}
