//! Delivery rate samples, one per ACK.
//!
//! A sample is the number of bytes delivered since the transmission of the newest delivered segment (acknowledged or
//! SACKed), divided by the longer of its send and ACK intervals (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! Sending may be bursty and ACKs may be compressed. The longer interval therefore gives a rate that the path
//! has really delivered.

use super::sent::SendRecords;
use base::Span;

/// Delivery-rate sample of one ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over the interval.
    pub delivered: u64,
    /// Sampling interval.
    pub interval: Span,
    /// Bytes delivered on the connection when the segment was sent; BBR counts rounds with it.
    pub prior_delivered: u64,
    /// The sender was application-limited when the segment was sent: the path may be faster.
    pub app_limited: bool,
}

impl RateSample {
    /// Sample of the current ACK. `None` if it delivered nothing, or over an interval shorter than the
    /// minimum RTT (`min_rtt`), which cannot be valid.
    pub fn of(sent: &SendRecords, min_rtt: Option<Span>) -> Option<RateSample> {
        let newest = sent.newest()?;
        // draft-cheng-iccrg-delivery-rate-estimation-02 section 3.3: the longer of the two times
        let send = newest.sent.since(newest.then.flight_began);
        let ack = sent.delivered_at().since(newest.then.delivered_at);
        let interval = send.max(ack);
        // draft-cheng-iccrg-delivery-rate-estimation-02 section 3.3: too short to be valid
        if interval.is_zero() || min_rtt.is_some_and(|least| interval < least) {
            return None;
        }
        Some(RateSample {
            delivered: sent.delivered() - newest.then.delivered,
            interval,
            prior_delivered: newest.then.delivered,
            app_limited: newest.then.app_limited,
        })
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Time;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Ten segments of 1000 bytes in one burst over a link that serves one in 10 ms, 100 ms away. The first
    /// two rounds include the wait for the first acknowledgement; from the third on every sample is the
    /// link's rate, 100 kB/s, and none was ever more.
    #[test]
    fn a_burst_measures_the_link_and_not_itself() {
        let mut sent = SendRecords::default();
        for i in 0..10 {
            sent.transmitted(at(0), 1000 * i, 1000 * i + 1000);
        }
        let mut rates = Vec::new();
        for i in 0..40 {
            let now = at(110 + 10 * i);
            sent.begin();
            sent.acked(now, 1000 * i + 1000);
            // Each acknowledgement lets another segment out.
            sent.transmitted(now, 10_000 + 1000 * i, 11_000 + 1000 * i);
            rates.push(RateSample::of(&sent, None).unwrap().rate());
        }
        assert_eq!((rates[0], rates[9]), (1000.0 / 0.110, 10_000.0 / 0.200));
        assert!(rates.iter().all(|r| *r <= 100_000.001), "{rates:?}");
        assert!(rates[20..].iter().all(|r| (r - 100_000.0).abs() < 0.001), "{rates:?}");
    }

    /// Acknowledgements that arrive in one bunch do not make the link faster than data were sent.
    #[test]
    fn bunched_acknowledgements_do_not_deceive() {
        let mut sent = SendRecords::default();
        sent.transmitted(at(0), 0, 1000);
        sent.begin();
        sent.acked(at(100), 1000);
        for i in 1..11 {
            sent.transmitted(at(100 + 10 * i), 1000 * i, 1000 * i + 1000);
        }
        sent.begin();
        sent.acked(at(300), 11_000);
        let sample = RateSample::of(&sent, Some(Span::from_millis(50))).unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Span::from_millis(190)));
        assert_eq!(RateSample::of(&sent, Some(Span::from_millis(500))), None);
    }
}
