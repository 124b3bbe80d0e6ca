//! Data dictionary of results (page docs/results.md): definition, unit, scope and empty values of every
//! metric.
//!
//! A test compares the page with the columns of a Parquet file.

use crate::measure::columns;
use crate::series::SERIES;
use scenario::metric::Metric;

/// Metrics of one scope.
struct Group {
    title: &'static str,
    /// Flows to which the metrics apply.
    scope: &'static str,
    /// Default condition under which a value is empty.
    empty: &'static str,
    entries: &'static [Entry],
}

/// Metric, definition, and the papers' names of the metric or further conditions for empty values; both may
/// be empty.
type Entry = (Metric, &'static str, &'static str);

use Metric as M;

const GROUPS: &[Group] = &[
    Group {
        title: "Time and rate",
        scope: "every flow",
        empty: "",
        entries: &[
            (
                M::DownloadTime,
                "from the start of the workload to the last byte delivered. Empty when the workload is not complete \
                 at `run.limit`",
                "response time of the delays paper; time seen at the receiver",
            ),
            (
                M::CompletionTime,
                "from the start of the workload until all data are acknowledged at its sender. Empty when the \
                 workload is not complete at `run.limit`",
                "download time in tables 2 of the GPRS study and 1 to 4 of the study of responses, whose simulators measured at the sender",
            ),
            (
                M::Throughput,
                "payload delivered, over the time to the last byte; over the whole run where the workload is not \
                 complete",
                "throughput; in HSCSD and tracing of the application's bytes",
            ),
            (
                M::QueueDelay,
                "time that data packets spent in the queues of their links, per data packet sent. Empty when nothing was sent",
                "queueing delay",
            ),
            (
                M::LongestSilence,
                "longest time in which the sender sent no data although its workload was not complete, without the \
                 times in which each of its network paths has a closed gate; silences of up to 1 s are not counted. \
                 Bulk data only",
                "idle time after a spike",
            ),
            (
                M::GateClosures,
                "gate closures that began while the workload ran",
                "delay spikes, cell reselections",
            ),
            (
                M::JainIndex,
                "Jain's fairness index of the throughputs of all flows: 1/n to 1; equal in every row of a repetition. Empty when no flow delivered anything",
                "fairness index",
            ),
        ],
    },
    Group {
        title: "Segments and goodput",
        scope: "every flow with a transport model; of datagrams and messages where they have the number",
        empty: "a real kernel does not show the number",
        entries: &[
            (
                M::GoodputRatio,
                "minimum number of segments over data segments sent",
                "goodput, where drops at the queue count",
            ),
            (
                M::GoodputLinkRatio,
                "minimum number of segments over data segments that reached the link (sent, less those that a queue dropped)",
                "goodput in table 3 of the GPRS study",
            ),
            (
                M::SegmentsSent,
                "data segments sent, retransmissions included; SYN and FIN are not counted",
                "data sent in tables 1 to 4 of the study of responses",
            ),
            (M::SegmentsDelivered, "different data segments delivered", ""),
            (M::SegmentsRetransmitted, "data segments retransmitted, needed or not", "retransmissions"),
            (
                M::UnneededRetransmissions,
                "retransmitted segments of which an earlier copy of every byte arrives",
                "unnecessary or spurious retransmissions",
            ),
            (
                M::UnneededLinkRatio,
                "unneeded retransmissions that no queue dropped, for each data segment that no queue dropped",
                "",
            ),
            (M::SegmentsDropped, "data segments dropped anywhere", "lost packets of the Seawind paper"),
            (
                M::PacketsDropped,
                "packets dropped on the flow's links, by queues, losses and managers, in the direction of data",
                "segments lost",
            ),
        ],
    },
    Group {
        title: "Timeouts and fast retransmits",
        scope: "bulk flows whose sender has a retransmission timer that can be seen",
        empty: "other workloads and protocols, real kernels",
        entries: &[
            (
                M::SpuriousTimeouts,
                "expirations whose resent segment is an unneeded retransmission (truth of the ledger, not a detector)",
                "",
            ),
            (M::GenuineTimeouts, "all other expirations on data", ""),
            (
                M::SpuriousEpisodes,
                "rows of expirations for one segment, of which the first was spurious",
                "spurious timeouts of the study of responses, which counts a backed-off row once",
            ),
            (M::GenuineEpisodes, "all other rows", "genuine timeouts of the study of responses"),
            (
                M::SpuriousFastRetransmits,
                "fast retransmits of segments whose earlier copy arrives",
                "spurious fast retransmits by reordering",
            ),
            (
                M::TimeoutsJudgedSpurious,
                "expirations that the sender's own detector called spurious. Empty without a detector",
                "",
            ),
            (
                M::TimeoutsJudgedGenuine,
                "expirations that the sender's own detector called genuine; those not judged are in neither. Empty \
                 without a detector",
                "",
            ),
            (
                M::FastRetransmitsJudgedSpurious,
                "fast retransmits that the sender's own detector called spurious. Empty without a detector",
                "",
            ),
            (
                M::OutstandingAtTimeout,
                "data segments outstanding at the first expiration. Empty without an expiration",
                "",
            ),
        ],
    },
    Group {
        title: "Requests and pages",
        scope: "flows of requests, pages and file transfers",
        empty: "other workloads; no response or page was complete",
        entries: &[
            (
                M::ResponseTime,
                "from a request to the last byte of its response, connection set-up included: mean of a repetition",
                "ping time, response time",
            ),
            (M::ResponseTimeMedian, "median of a repetition", ""),
            (M::ResponseTimeP90, "90th percentile of a repetition", ""),
            (M::ResponseTimeMin, "the shortest of a repetition", ""),
            (M::ResponseTimeMax, "the longest of a repetition", ""),
            (
                M::ResponseTimeAlternation,
                "mean of every second response less the mean of the others",
                "alternating ping times of GPRS",
            ),
            (M::Responses, "requests answered; 0 without one", ""),
            (
                M::PageTime,
                "from the first request of a page to the last byte of its last object: mean of a repetition",
                "page load time",
            ),
            (M::PageTimeMedian, "median of a repetition", ""),
            (M::PageTimeP90, "90th percentile of a repetition", ""),
            (M::PageTimeMax, "the longest of a repetition", ""),
            (M::Pages, "pages completed; 0 without one", ""),
            (M::PagesAborted, "pages, or single requests, that were aborted", ""),
            (M::Connections, "connections opened", ""),
        ],
    },
    Group {
        title: "Messages and datagrams",
        scope: "flows of messages: constant rate, bursts, tickers, telemetry, over any transport",
        empty: "other workloads; nothing arrived, for the delays",
        entries: &[
            (M::MessagesSent, "messages made by the application", "ADUs sent"),
            (M::MessagesDelivered, "messages delivered completely", ""),
            (M::MessagesLate, "delivered messages that arrived after their lifetime", "expired ADUs"),
            (
                M::MessageDelay,
                "from the making of a message to the arrival of its last byte: mean of a repetition",
                "",
            ),
            (M::MessageDelayP99, "99th percentile of a repetition", ""),
            (M::MessageDelayMax, "the longest of a repetition", ""),
            (M::PlayoutStart, "streams: from the start to the first frame played", ""),
            (M::PlayoutStalls, "streams: stalls of the player after which playback continued", ""),
            (M::PlayoutStall, "streams: time of these stalls", ""),
            (M::FramesPlayed, "streams: frames played", ""),
            (M::FramesMissed, "streams: frames that had not arrived at their playout time", ""),
            (
                M::JumpResponse,
                "streams: mean time from a move of the play point until playback continues",
                "",
            ),
            (M::MediaRate, "streams: mean rate of the media played", ""),
            (M::MediaRateChanges, "streams: changes of the rate by the source", ""),
            (M::LossRatio, "messages not delivered completely, of those generated", "loss rate"),
            (
                M::Jitter,
                "interarrival jitter at the end (RFC 3550 section 6.4.1). Empty with fewer than two messages",
                "",
            ),
            (M::Reordered, "datagrams that arrived after one sent later", ""),
            (M::PacketsLate, "data packets that arrived after their deadline", "packets of no use"),
            (
                M::LateSpan,
                "from the first to the last late packet. Datagrams only; empty without one",
                "time during which expired data arrive",
            ),
            (M::PacketsValid, "data packets that arrived before their deadline, or have none", ""),
            (
                M::UnneededRatio,
                "data packets late or retransmitted without need, of all that arrived",
                "useless traffic of the lifetime study",
            ),
            (
                M::UnitsInTime,
                "application data units complete and in time, of all generated",
                "ADUs delivered in time",
            ),
        ],
    },
    Group {
        title: "Protocols with counters of their own",
        scope: "flows of the named protocol",
        empty: "other protocols",
        entries: &[
            (
                M::PacketsReportedLost,
                "DCCP, TFRC, RTP: data packets reported lost by acknowledgements or reports",
                "",
            ),
            (M::LossEvents, "TFRC: loss events at the receiver (RFC 5348 section 5)", ""),
            (
                M::CongestionEvents,
                "DCCP, TFRC: reductions of the window, or rises of the loss event rate",
                "",
            ),
            (M::Synchronisations, "DCCP: Sync packets sent", ""),
            (
                M::UnitsInfeasible,
                "ATP: units given up before sending because they could not arrive in time",
                "",
            ),
            (M::UnitsExpired, "ATP: units whose lifetime ended in the sender's buffer or in the network", ""),
            (M::MessagesAbandoned, "SCTP: messages given up before delivery (RFC 3758)", ""),
            (M::DuplicatesReceived, "SCTP, DCCP, RTP: chunks or packets that arrived a second time", ""),
            (M::Heartbeats, "SCTP: heartbeats of both ends (RFC 9260 section 8.3)", ""),
            (M::Failovers, "SCTP: changes of the path of new data, both ends (RFC 9260 section 6.4)", ""),
            (M::RtcpReports, "RTP: RTCP reports sent, both ends (RFC 3550 section 6)", ""),
            (M::RtcpRoundTrip, "RTP: mean round trip from LSR and DLSR of receiver reports", ""),
            (M::RtcpJitter, "RTP: interarrival jitter in the last receiver report", ""),
            (M::RtcpFractionLost, "RTP: highest fraction lost of a receiver report", ""),
        ],
    },
    Group {
        title: "Volume and bills",
        scope: "flows over hops with `charging`",
        empty: "no hop of the flow has `charging`",
        entries: &[
            (
                M::BilledGateway,
                "bytes of the flow, both directions, counted at the gateway, less the discount of `resent-charge`",
                "volume billed",
            ),
            (M::BilledRadio, "bytes counted at the radio side, less that discount", ""),
            (
                M::BilledResent,
                "bytes of retransmitted data there, without the discount",
                "overcharge by retransmissions",
            ),
        ],
    },
    Group {
        title: "Radio bearers",
        scope: "flows over hops with `radio`",
        empty: "no hop of the flow has `radio`, or its bearer has no such counter",
        entries: &[
            (
                M::RadioBlocks,
                "radio blocks on the air of the mobile's bearer, both directions, all purposes",
                "",
            ),
            (M::RadioBlocksRepeated, "retransmitted radio blocks of data", ""),
            (
                M::RadioBlocksIdle,
                "retransmitted radio blocks sent because no other block was available",
                "idle or preventive retransmission",
            ),
            (M::RadioBlocksDuplicate, "radio blocks with nothing new for their receiver", ""),
            (M::RadioBlocksDummy, "radio blocks without data that keep a TBF", ""),
            (M::RadioDecodedForNothing, "downlink radio blocks that the mobile decoded without need", ""),
            (M::RadioSignalling, "messages of set-up of TBFs and of changes of cell", ""),
            (M::TbfSetups, "TBFs set up", ""),
            (M::TbfsLost, "TBFs lost", ""),
            (M::RlcReports, "RLC reports sent", ""),
            (M::RlcStalls, "closures of an RLC window while data waited", "RLC stalls"),
            (M::RlcStalled, "time in which the RLC window was closed", ""),
            (
                M::RlcRepair,
                "from the first report of a missing block, or its first loss, to its arrival: mean",
                "",
            ),
            (M::RadioSlotTime, "timeslots times seconds assigned to the mobile, both directions", ""),
            (M::RadioBlocksPerKilobyte, "radio blocks for each kilobyte of packets delivered", ""),
            (M::LlcDuplicates, "LLC frames that arrived twice", ""),
            (M::LlcRepeated, "LLC frames retransmitted by acknowledged LLC", ""),
            (M::LlcRepeatedOctets, "octets of these LLC frames", ""),
            (M::PacketsFlushed, "packets discarded at a change of cell", ""),
            (M::CellChanges, "changes of cell; of a circuit, losses of the connection", "reselections"),
            (
                M::LlcGap,
                "longest time between two LLC frames around a change of cell. Empty without a change",
                "delay of a reselection",
            ),
            (M::RadioOctets, "octets of radio blocks on the air, both directions, all purposes", "radio use"),
            (
                M::RadioOctetsUnbilled,
                "octets of radio blocks of retransmissions, reports, signalling and dummy blocks",
                "undercharge",
            ),
            (M::BillGateway, "price of the packets that the gateway counts. Empty without `tariff`", ""),
            (M::BillRadio, "price of the packets delivered, with surcharges. Empty without `tariff`", ""),
            (M::BillSurcharges, "surcharges in it for retransmissions, changes of cell and allocations", ""),
            (M::DisconnectionsHandover, "circuits: losses by failed handovers", "causes of disconnections"),
            (M::DisconnectionsAir, "circuits: losses by the air interface", "causes of disconnections"),
            (M::DisconnectionsRemote, "circuits: losses by the remote equipment", "causes of disconnections"),
            (M::VoiceCalls, "GPRS: pauses by voice calls", "causes of disconnections"),
            (M::RestartsPcu, "GPRS: pauses by restarts of the PCU", "causes of disconnections"),
            (M::RestartsBsc, "GPRS: pauses by restarts of the BSC", "causes of disconnections"),
            (M::RestartsSgsn, "GPRS: pauses by restarts of the SGSN", "causes of disconnections"),
            (M::RestartTime, "time for which these restarts lasted", ""),
            (M::PacketsLostInRestarts, "packets lost in elements that restarted", ""),
        ],
    },
    Group {
        title: "Stateful firewalls",
        scope: "flows whose route has a hop with `firewall`; both directions, all such hops",
        empty: "flows without one",
        entries: &[
            (M::FirewallEntries, "entries that connections of the flow opened", ""),
            (M::FirewallExpired, "entries found expired by a packet of their connection", ""),
            (M::FirewallRefused, "packets discarded for lack of an entry", ""),
            (M::FirewallResets, "discarded segments answered by a reset", ""),
        ],
    },
    Group {
        title: "Populations of networks of cells",
        scope: "rows of a population (`[[system]]`); the row's `flow` is its name",
        empty: "rows of flows",
        entries: &[
            (
                M::TransferRate,
                "bytes of a page or reply over its time: mean over the transfers",
                "user throughput of the EGPRS study",
            ),
            (M::RoundTrip, "mean delay of a packet to its mobile plus that of a packet from it", ""),
            (M::Erlang, "timeslots in use by packet data in a cell, on average", "load"),
            (M::ReselectionsPerTransfer, "changes of cell in a transfer, on average", ""),
            (M::TimeoutsAfterFirst, "spurious timeouts for each first change of cell of a transfer", ""),
            (M::TimeoutsAfterLater, "spurious timeouts for each later change", ""),
            (M::BlockErrorRate, "share of RLC blocks lost in the system, downlink", "BLER"),
            (M::CiP10, "C/I that a tenth of radio blocks falls below, dB, downlink", ""),
            (M::CiMedian, "C/I that half of radio blocks fall below, dB, downlink", ""),
        ],
    },
];

/// Text above the tables.
const HEAD: &str = include_str!("dictionary_head.md");

/// Text below the tables, about numbers that commands report.
const OWN: &str = include_str!("dictionary_own.md");

/// A missing or superfluous definition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DictionaryError {
    /// A metric without an entry, or with several.
    #[error("crates/lab/src/dictionary.rs: `{}` has {entries} entries", metric.name())]
    Metric {
        /// The metric.
        metric: Metric,
        /// Number of its entries.
        entries: u32,
    },
    /// A column of the tables of networks without a definition, or a definition without a column.
    #[error("{0}")]
    Column(String),
}

/// The page docs/results.md.
///
/// # Errors
/// A metric or a column without one definition.
pub fn page() -> Result<String, DictionaryError> {
    let columns = columns();
    let mut seen = vec![0; Metric::ALL.len()];
    let mut out = HEAD.to_owned();
    for group in GROUPS {
        out.push_str(&format!("\n### {}\n\nScope: {}.", group.title, group.scope));
        if !group.empty.is_empty() {
            out.push_str(&format!(" Empty: {}.", group.empty));
        }
        out.push_str(
            "\n\n| metric | unit | several flows | definition | in the papers |\n|---|---|---|---|---|\n",
        );
        for (metric, definition, papers) in group.entries {
            let at = Metric::ALL.iter().position(|m| m == metric).unwrap_or_default();
            seen[at] += 1;
            let column = &columns[at];
            let unit = if column.unit.is_empty() { "1" } else { &column.unit };
            out.push_str(&format!(
                "| `{}` | {unit} | {} | {definition} | {papers} |\n",
                metric.name(),
                column.combine
            ));
        }
    }
    let wrong = Metric::ALL.iter().zip(&seen).find(|(_, n)| **n != 1);
    if let Some((&metric, &entries)) = wrong {
        return Err(DictionaryError::Metric { metric, entries });
    }
    out.push_str(OWN);
    out.push_str(&crate::system::definitions::section().map_err(DictionaryError::Column)?);
    out.push_str("\n## Time series\n\nOf one repetition: `Scenario.series` in Python. A sample holds until the next one of its series and subject.\n\n| series | unit | value |\n|---|---|---|\n");
    for (name, unit, about) in SERIES {
        let unit = if unit.is_empty() { "1" } else { unit };
        out.push_str(&format!("| `{name}` | {unit} | {about} |\n"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_entry() {
        let page = page().unwrap();
        // Columns of other tables than flows.parquet have entries of their own below.
        let (_, metrics) = page.split_once("\n## Metrics\n").unwrap();
        let (metrics, _) = metrics.split_once("\n## ").unwrap();
        for metric in Metric::NAMES {
            assert_eq!(metrics.matches(&format!("\n| `{metric}` |")).count(), 1, "{metric}");
        }
    }
}
