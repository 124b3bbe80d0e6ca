//! Order of one flow end's workload to a remote host (`EndWork`) and kernel settings of an end or node
//! (`KernelSettings`), serialisable.
//!
//! Name and seed of the random streams are included, so both hosts draw identical numbers. Traffic patterns that no
//! scenario permits are refused on parsing.

use base::rng::Seed;
use scenario::model::{App, Flow, Linux, Reads};
use serde::{Deserialize, Serialize};

/// Workload of a flow; each end runs its half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndWork {
    /// Traffic pattern of the flow.
    pub app: App,
    /// Read limit of the receiving application, for bulk data; None: unlimited.
    pub reads: Option<ReadLimit>,
    /// Random streams of the flow.
    pub draws: Draws,
    /// Upper limit of message bytes in a datagram; None: the workload uses connections.
    pub payload: Option<u32>,
}

impl EndWork {
    /// Workload of both ends of a flow.
    pub fn of(flow: &Flow, linux: &Linux, seed: Seed) -> EndWork {
        EndWork {
            app: flow.app.clone(),
            reads: flow.reads.map(Into::into),
            draws: Draws { name: flow.name.clone(), seed: seed.seed, repetition: seed.repetition },
            payload: linux.protocol.payload(),
        }
    }
}

/// Name and seed of a flow's random streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draws {
    /// Name of the flow, used in the names of its streams.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the repetition.
    pub repetition: u64,
}

impl Draws {
    /// Seed of this repetition.
    pub fn seed(&self) -> Seed {
        Seed { seed: self.seed, repetition: self.repetition }
    }
}

/// Kernel settings of a flow end or node.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSettings {
    /// Congestion control algorithm.
    pub cc: Option<String>,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Sysctl settings: name and value.
    pub sysctl: Vec<(String, String)>,
}

impl From<&Linux> for KernelSettings {
    fn from(linux: &Linux) -> KernelSettings {
        KernelSettings { cc: linux.cc.clone(), mtu: linux.mtu, sysctl: linux.sysctl.clone() }
    }
}

/// Rate limit of a receiving application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLimit {
    /// Read rate, bytes per second; None: unlimited.
    pub bytes_per_second: Option<u64>,
    /// Pause after the connection is established, ns.
    pub pause_ns: u64,
}

impl From<Reads> for ReadLimit {
    fn from(reads: Reads) -> ReadLimit {
        ReadLimit {
            bytes_per_second: reads.rate.map(|rate| rate.bps() / 8),
            pause_ns: reads.pause.as_nanos(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;
    use base::dist::{Dist, Sampler};
    use proptest::prelude::*;
    use scenario::model::{MessagePlan, UsefulLife};

    fn dists() -> impl Strategy<Value = Dist> {
        let (any, more) = (|| -1e12f64..1e12, || 1e-9f64..1e12);
        prop_oneof![
            any().prop_map(Dist::Constant),
            (any(), more()).prop_map(|(a, more)| Dist::Uniform(a, a + more)),
            more().prop_map(Dist::Exponential),
            (any(), any()).prop_map(|(mean, sd)| Dist::Normal(mean, sd)),
            (more(), any()).prop_map(|(mean, sd)| Dist::Lognormal(mean, sd)),
            (any(), any()).prop_map(|(median, width)| Dist::Cauchy(median, width)),
            (1e-9f64..1e6, 0.1f64..9.0, proptest::option::of(1.1e6f64..1e12))
                .prop_map(|(min, shape, max)| Dist::Pareto(min, shape, max)),
            (more(), 0.1f64..9.0).prop_map(|(scale, shape)| Dist::Weibull(scale, shape)),
            (0.1f64..99.0, more()).prop_map(|(shape, scale)| Dist::Gamma(shape, scale)),
            (any(), any(), 0.0f64..=1.0, 0.0f64..=1.0).prop_map(
                |(first, second, leave_first, leave_second)| Dist::TwoState {
                    first,
                    second,
                    leave_first,
                    leave_second
                }
            ),
            proptest::collection::vec(any(), 1..20).prop_map(|values| Dist::Empirical(values.into())),
        ]
    }

    proptest! {
        /// Another host draws identical numbers from the parsed order.
        #[test]
        fn the_same_is_drawn_there(dist in dists(), seed in any::<u64>(), repetition in any::<u64>()) {
            let plan = MessagePlan {
                size: dist.clone(),
                every: dist.clone(),
                bursts: Some((dist.clone(), dist.clone())),
                count: Some(seed),
                lasts: Some(Span::from_nanos(repetition)),
                useful: UsefulLife::For(Span::from_nanos(seed)),
                stream: None,
            };
            let draws = Draws { name: "voice".into(), seed, repetition };
            let work = EndWork { app: App::Messages(Box::new(plan)), reads: None, draws, payload: Some(1472) };
            let said = serde_json::to_vec(&work).unwrap();
            let heard: EndWork = serde_json::from_slice(&said).unwrap();
            prop_assert_eq!(&heard, &work);
            let (App::Messages(plan), draws) = (heard.app, heard.draws) else { panic!("another pattern") };
            let stream = || draws.seed().stream(&draws.name, "size");
            let (mut here, mut there) = (Sampler::new(dist, stream()), Sampler::new(plan.size, stream()));
            for _ in 0..8 {
                prop_assert_eq!(here.draw().to_bits(), there.draw().to_bits());
            }
        }
    }

    #[test]
    fn what_no_scenario_could_ask_for_is_refused() {
        let plan = |request: &str, rest: &str| {
            let one = r#"{"constant":1.0}"#;
            let text = format!(
                r#"{{"app":{{"ask":{{"request":{request},"reply":{one},"objects":{one},"object":{one},"think":{one},
                "serve":{one},"paced":false,"pipelining":false,{rest}}}}},"draws":{{"name":"x","seed":1,"repetition":0}}}}"#
            );
            serde_json::from_str::<EndWork>(&text)
        };
        let good = r#""largest":9,"connections":1,"keep":"page""#;
        let heard = plan(r#"{"gamma":[0.5,2.0]}"#, good);
        assert!(matches!(&heard, Ok(work) if matches!(work.app, App::Requests(_))), "{heard:?}");
        for request in [
            r#"{"gamma":[-1e18,1.0]}"#,
            r#"{"uniform":[2.0,1.0]}"#,
            r#"{"empirical":[]}"#,
            r#"{"pareto":[2.0,1.0,1.0]}"#,
            r#"{"exponential":null}"#,
            r#"{"two-state":{"first":1.0,"second":1.0,"leave_first":2.0,"leave_second":0.0}}"#,
        ] {
            assert!(plan(request, good).is_err(), "{request}");
        }
        for rest in [
            r#""largest":0,"connections":1,"keep":"page""#,
            r#""largest":9,"connections":0,"keep":"page""#,
            r#""largest":9,"connections":1,"keep":"for ever""#,
        ] {
            assert!(plan(r#"{"constant":1.0}"#, rest).is_err(), "{rest}");
        }
    }
}
