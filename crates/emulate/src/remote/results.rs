//! Result of a remote flow end (`EndResult`), serialised in pieces of bounded size: counts in one piece, each long
//! list (samples, times, arrivals) in further pieces.

use crate::sockets::endpoint::Report;
use crate::sockets::tcp_info_log::TcpInfoLog;
use base::{Span, Time};
use host::ExternalReport;
use netns::facts::TcpInfo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use transport::app::stats::AppStats;

/// Result of a flow end on a remote host.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndResult {
    /// Index of the flow.
    pub flow: usize,
    /// Active end of the flow.
    pub opens: bool,
    /// End of its workload, ns from t = 0.
    pub finished_ns: Option<u64>,
    /// Bytes received; at the sender of bulk data, bytes written.
    pub bytes: u64,
    /// Bytes written on all connections together.
    pub written: u64,
    /// Connections opened or accepted.
    pub connections: u64,
    /// Number of aborted web pages.
    pub aborted: u64,
    /// Number of messages sent.
    pub sent: u64,
    /// Bytes of completely received messages.
    #[serde(rename = "whole")]
    pub message_bytes: u64,
    /// First error.
    pub fault: Option<String>,
    /// Last `TCP_INFO` sample.
    pub info: TcpInfo,
    /// Kernel counters of its namespace.
    pub counters: BTreeMap<String, u64>,
    /// Long lists, transferred separately.
    #[serde(skip)]
    pub lists: Lists,
}

/// Long lists of the result.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Lists {
    /// Changed `TCP_INFO` samples with their times in s.
    pub history: Vec<(f64, TcpInfo)>,
    /// Final `TCP_INFO` of each connection.
    pub lasts: Vec<TcpInfo>,
    /// Response times, ns.
    pub responses: Vec<u64>,
    /// Page load times, ns.
    pub pages: Vec<u64>,
    /// Send times of messages, ns.
    pub send_times: Vec<u64>,
    /// Recorded arrivals: time in ns, and bytes or message number.
    pub arrivals: Vec<(u64, u64)>,
}

base::named! {
    /// Name of a list in [`Lists`].
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum List {
        /// `TCP_INFO` samples with changes.
        History = "history",
        /// Final `TCP_INFO` of each connection.
        Lasts = "lasts",
        /// Response times.
        Responses = "responses",
        /// Page load times.
        Pages = "pages",
        /// Send times of messages.
        Said = "said",
        /// Recorded arrivals.
        Came = "came",
    }
}

/// Upper limit of `TCP_INFO` samples in one piece; a sample has about 500 bytes of JSON.
const LOOKS: usize = 1000;
/// Upper limit of other entries in one piece; an entry has less than 50 bytes of JSON.
const OTHERS: usize = 1 << 14;

fn pieces<T: Serialize>(list: List, of: &mut Vec<T>, most: usize, say: &mut impl FnMut(List, Vec<u8>)) {
    for some in std::mem::take(of).chunks(most) {
        // Serialising plain numbers cannot fail.
        say(list, serde_json::to_vec(some).unwrap_or_default());
    }
}

fn more<T: serde::de::DeserializeOwned>(of: &mut Vec<T>, bytes: &[u8]) -> Result<(), serde_json::Error> {
    of.extend(serde_json::from_slice::<Vec<T>>(bytes)?);
    Ok(())
}

impl Lists {
    /// Moves the lists out in pieces, and passes each piece to `say` in order.
    pub fn take_apart(&mut self, mut say: impl FnMut(List, Vec<u8>)) {
        pieces(List::History, &mut self.history, LOOKS, &mut say);
        pieces(List::Lasts, &mut self.lasts, LOOKS, &mut say);
        pieces(List::Responses, &mut self.responses, OTHERS, &mut say);
        pieces(List::Pages, &mut self.pages, OTHERS, &mut say);
        pieces(List::Said, &mut self.send_times, OTHERS, &mut say);
        pieces(List::Came, &mut self.arrivals, OTHERS, &mut say);
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// The piece is not valid JSON of this list.
    pub fn add(&mut self, list: List, bytes: &[u8]) -> Result<(), serde_json::Error> {
        match list {
            List::History => more(&mut self.history, bytes),
            List::Lasts => more(&mut self.lasts, bytes),
            List::Responses => more(&mut self.responses, bytes),
            List::Pages => more(&mut self.pages, bytes),
            List::Said => more(&mut self.send_times, bytes),
            List::Came => more(&mut self.arrivals, bytes),
        }
    }
}

impl EndResult {
    /// Result of the flow end `(flow, opens)` from its report.
    pub(crate) fn of((flow, opens): (usize, bool), report: Report, counters: BTreeMap<String, u64>) -> Self {
        let Report { external, watch, lasts, written, fault, send_times, arrivals, .. } = report;
        let ExternalReport { finished, received, connections, stats } = external;
        let ns = |spans: &[Span]| spans.iter().map(|span| span.as_nanos()).collect();
        EndResult {
            flow,
            opens,
            finished_ns: finished.map(Time::as_nanos),
            bytes: received,
            written,
            connections,
            aborted: stats.aborted,
            sent: stats.sent,
            message_bytes: stats.bytes,
            fault,
            info: watch.info,
            counters,
            lists: Lists {
                history: watch.history,
                lasts,
                responses: ns(&stats.responses),
                pages: ns(&stats.pages),
                send_times: send_times.iter().map(|at| at.as_nanos()).collect(),
                arrivals: arrivals.iter().map(|(at, value)| (at.as_nanos(), *value)).collect(),
            },
        }
    }

    /// Report of the flow end, as a local end gives it; the lists are moved out.
    pub(crate) fn report(&mut self) -> Report {
        let Lists { history, lasts, responses, pages, send_times, arrivals } =
            std::mem::take(&mut self.lists);
        let spans = |ns: Vec<u64>| ns.into_iter().map(Span::from_nanos).collect();
        let mut stats = AppStats::default();
        (stats.responses, stats.pages) = (spans(responses), spans(pages));
        (stats.aborted, stats.sent, stats.bytes) = (self.aborted, self.sent, self.message_bytes);
        let external = ExternalReport {
            finished: self.finished_ns.map(Time::from_nanos),
            received: self.bytes,
            connections: self.connections,
            stats,
        };
        Report {
            external,
            watch: TcpInfoLog { info: self.info, history },
            lasts,
            written: self.written,
            fault: self.fault.take(),
            send_times: send_times.into_iter().map(Time::from_nanos).collect(),
            arrivals: arrivals.into_iter().map(|(at, value)| (Time::from_nanos(at), value)).collect(),
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result is unchanged by transport in any number of pieces.
    #[test]
    fn an_end_elsewhere_tells_as_one_here() {
        let at = Time::from_nanos;
        let mut stats = AppStats::default();
        stats.responses = (0..40_000).map(Span::from_nanos).collect();
        (stats.pages, stats.aborted, stats.sent, stats.bytes) = (vec![Span::from_secs(1)], 2, 3, 4);
        let external = ExternalReport { finished: Some(at(9)), received: 5, connections: 6, stats };
        let info = TcpInfo { rtt: 7, ..TcpInfo::default() };
        let report = || Report {
            external: external.clone(),
            watch: TcpInfoLog { info, history: vec![(0.5, info); 2500] },
            lasts: vec![info; 3],
            written: 8,
            fault: Some("no".into()),
            send_times: vec![at(2)],
            arrivals: vec![(at(3), 1); 20_000],
            ..Report::default()
        };
        let mut end = EndResult::of((1, true), report(), BTreeMap::new());
        let sent = end.lists.clone();
        let (mut lists, mut count) = (Lists::default(), 0);
        end.lists.take_apart(|list, bytes| {
            count += 1;
            assert!(bytes.len() < 1 << 20, "{list}: {} B", bytes.len());
            lists.add(list, &bytes).unwrap();
        });
        assert_eq!((&lists, &end.lists, count), (&sent, &Lists::default(), 3 + 1 + 3 + 1 + 1 + 2));
        end.lists = lists;
        let (expected, there) = (report(), end.report());
        assert_eq!(
            (there.external.finished, there.external.received),
            (expected.external.finished, expected.external.received)
        );
        assert_eq!(there.external.stats.responses, expected.external.stats.responses);
        assert_eq!((there.send_times, there.arrivals), (expected.send_times, expected.arrivals));
        assert_eq!((there.watch.history, there.lasts), (expected.watch.history, expected.lasts));
    }
}
