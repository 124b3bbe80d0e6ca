//! Serialisable description of one flow end's workload, sent to a remote agent.
//!
//! In words that a line between hosts can carry, with every distribution and the seed, so that the end draws there
//! what it would have drawn here. Plans that no scenario could ask for are refused when they are read.

use super::hosts::Slowly;
use base::Span;
use base::dist::Dist;
use base::rng::Seed;
use scenario::model::{App, Asking, Flow, Keep, Linux, Telling, Useful};
use serde::{Deserialize, Serialize};
use transport::app::band::Known;
use transport::tcp::Role;

/// What an end does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Bulk data: who opens the connection writes, the other reads.
    Bulk {
        /// So many; none: without end.
        bytes: Option<u64>,
        /// For so long, nanoseconds; none: until all is acknowledged.
        lasts_ns: Option<u64>,
        /// How the end that reads does so; none: at once.
        #[serde(default)]
        reads: Option<Slowly>,
    },
    /// Asks as planned, with these random streams.
    Asks(Box<Asks>, Draws),
    /// Answers what it is asked; of that, so much is known.
    Answers(Said),
    /// Speaks as planned: over a connection, or in datagrams with at most so many bytes of a message.
    Speaks(Box<Tells>, Draws, Option<u32>),
    /// Listens, to messages that are of use so long.
    Listens(Use, Over),
}

/// [`Known`], in words.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Bytes of a request.
    pub request: Option<u64>,
    /// Bytes of the reply.
    pub reply: Option<u64>,
    /// How long it takes to make, nanoseconds.
    pub wait_ns: Option<u64>,
}

impl From<Known> for Said {
    fn from(Known { request, reply, wait_ns }: Known) -> Said {
        Said { request, reply, wait_ns }
    }
}

impl From<Said> for Known {
    fn from(Said { request, reply, wait_ns }: Said) -> Known {
        Known { request, reply, wait_ns }
    }
}

/// How messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Over a connection.
    Connection,
    /// In datagrams.
    Datagrams,
}

impl Does {
    /// What the end of a flow does that opens the connection, or the other one.
    pub fn of(flow: &Flow, linux: &Linux, role: Role, seed: Seed) -> Does {
        let draws = || Draws { name: flow.name.clone(), seed: seed.seed, repetition: seed.repetition };
        let payload = linux.protocol.payload();
        match (&flow.app, role) {
            (App::Bulk { bytes, lasts }, _) => Does::Bulk {
                bytes: *bytes,
                lasts_ns: lasts.map(Span::as_nanos),
                reads: flow.reads.map(Into::into),
            },
            (App::Ask(plan), Role::Active) => Does::Asks(Box::new(Asks((**plan).clone())), draws()),
            (App::Ask(plan), Role::Passive) => Does::Answers(Known::of(plan).into()),
            (App::Tell(plan), Role::Active) => {
                Does::Speaks(Box::new(Tells((**plan).clone())), draws(), payload)
            }
            (App::Tell(plan), Role::Passive) => Does::Listens(
                plan.useful.into(),
                if payload.is_some() { Over::Datagrams } else { Over::Connection },
            ),
        }
    }
}

/// Where an end draws from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draws {
    /// The name of the flow, which its streams have.
    pub name: String,
    /// The user's seed.
    pub seed: u64,
    /// The repetition.
    pub repetition: u64,
}

impl Draws {
    /// The seed of this repetition.
    pub fn seed(&self) -> Seed {
        Seed { seed: self.seed, repetition: self.repetition }
    }
}

/// A plan of who asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "AsksWords", try_from = "AsksWords")]
pub struct Asks(pub Asking);

/// A plan of who speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "TellsWords", try_from = "TellsWords")]
pub struct Tells(pub Telling);

#[derive(Clone, Serialize, Deserialize)]
struct AsksWords {
    pages: Option<u64>,
    lasts_ns: Option<u64>,
    request: Chance,
    reply: Chance,
    objects: Chance,
    object: Chance,
    largest: u64,
    think_ns: Chance,
    #[serde(default)]
    paced: bool,
    serve_ns: Chance,
    patience_ns: Option<Chance>,
    connections: u32,
    keep: String,
    pipelining: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct TellsWords {
    size: Chance,
    every_ns: Chance,
    bursts_ns: Option<(Chance, Chance)>,
    count: Option<u64>,
    lasts_ns: Option<u64>,
    useful: Use,
}

/// [`Useful`], in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Whenever it comes.
    Always,
    /// Until the next one is made.
    UntilNext,
    /// For so long, nanoseconds.
    For(u64),
}

impl From<Useful> for Use {
    fn from(useful: Useful) -> Use {
        match useful {
            Useful::Always => Use::Always,
            Useful::UntilNext => Use::UntilNext,
            Useful::For(span) => Use::For(span.as_nanos()),
        }
    }
}

impl From<Use> for Useful {
    fn from(useful: Use) -> Useful {
        match useful {
            Use::Always => Useful::Always,
            Use::UntilNext => Useful::UntilNext,
            Use::For(ns) => Useful::For(Span::from_nanos(ns)),
        }
    }
}

impl From<Asks> for AsksWords {
    fn from(Asks(plan): Asks) -> AsksWords {
        AsksWords {
            pages: plan.pages,
            lasts_ns: plan.lasts.map(Span::as_nanos),
            request: plan.request.into(),
            reply: plan.reply.into(),
            objects: plan.objects.into(),
            object: plan.object.into(),
            largest: plan.largest,
            think_ns: plan.think.into(),
            paced: plan.paced,
            serve_ns: plan.serve.into(),
            patience_ns: plan.patience.map(Into::into),
            connections: plan.connections,
            keep: plan.keep.name().to_owned(),
            pipelining: plan.pipelining,
        }
    }
}

impl TryFrom<AsksWords> for Asks {
    type Error = &'static str;
    fn try_from(words: AsksWords) -> Result<Asks, &'static str> {
        if words.largest == 0 || words.connections == 0 {
            return Err("a plan without connections or bytes");
        }
        Ok(Asks(Asking {
            pages: words.pages,
            lasts: words.lasts_ns.map(Span::from_nanos),
            request: words.request.try_into()?,
            reply: words.reply.try_into()?,
            objects: words.objects.try_into()?,
            object: words.object.try_into()?,
            largest: words.largest,
            think: words.think_ns.try_into()?,
            paced: words.paced,
            serve: words.serve_ns.try_into()?,
            patience: words.patience_ns.map(TryInto::try_into).transpose()?,
            connections: words.connections,
            keep: Keep::from_name(&words.keep).ok_or("no way of keeping connections")?,
            pipelining: words.pipelining,
        }))
    }
}

impl From<Tells> for TellsWords {
    fn from(Tells(plan): Tells) -> TellsWords {
        TellsWords {
            size: plan.size.into(),
            every_ns: plan.every.into(),
            bursts_ns: plan.bursts.map(|(on, off)| (on.into(), off.into())),
            count: plan.count,
            lasts_ns: plan.lasts.map(Span::as_nanos),
            useful: plan.useful.into(),
        }
    }
}

impl TryFrom<TellsWords> for Tells {
    type Error = &'static str;
    fn try_from(words: TellsWords) -> Result<Tells, &'static str> {
        let both = |(on, off): (Chance, Chance)| Ok::<_, &'static str>((on.try_into()?, off.try_into()?));
        let bursts = words.bursts_ns.map(both).transpose()?;
        Ok(Tells(Telling {
            size: words.size.try_into()?,
            every: words.every_ns.try_into()?,
            bursts,
            count: words.count,
            lasts: words.lasts_ns.map(Span::from_nanos),
            useful: words.useful.into(),
        }))
    }
}

/// [`Dist`], in words.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Chance {
    Constant(f64),
    Uniform(f64, f64),
    Exponential(f64),
    Normal(f64, f64),
    Lognormal(f64, f64),
    Cauchy(f64, f64),
    Pareto(f64, f64, Option<f64>),
    Weibull(f64, f64),
    Gamma(f64, f64),
    TwoState { first: f64, second: f64, leave_first: f64, leave_second: f64 },
    Empirical(Vec<f64>),
}

impl From<Dist> for Chance {
    fn from(dist: Dist) -> Chance {
        match dist {
            Dist::Constant(c) => Chance::Constant(c),
            Dist::Uniform(a, b) => Chance::Uniform(a, b),
            Dist::Exponential(mean) => Chance::Exponential(mean),
            Dist::Normal(mean, sd) => Chance::Normal(mean, sd),
            Dist::Lognormal(mean, sd) => Chance::Lognormal(mean, sd),
            Dist::Cauchy(median, width) => Chance::Cauchy(median, width),
            Dist::Pareto(min, shape, max) => Chance::Pareto(min, shape, max),
            Dist::Weibull(scale, shape) => Chance::Weibull(scale, shape),
            Dist::Gamma(shape, scale) => Chance::Gamma(shape, scale),
            Dist::TwoState { first, second, leave_first, leave_second } => {
                Chance::TwoState { first, second, leave_first, leave_second }
            }
            Dist::Empirical(values) => Chance::Empirical(values.to_vec()),
        }
    }
}

impl TryFrom<Chance> for Dist {
    type Error = &'static str;
    /// What a scenario's own reader would not let through is none.
    fn try_from(chance: Chance) -> Result<Dist, &'static str> {
        let (dist, sound) = match chance {
            Chance::Constant(c) => (Dist::Constant(c), true),
            Chance::Uniform(a, b) => (Dist::Uniform(a, b), a <= b),
            Chance::Exponential(mean) => (Dist::Exponential(mean), mean > 0.0),
            Chance::Normal(mean, sd) => (Dist::Normal(mean, sd), true),
            Chance::Lognormal(mean, sd) => (Dist::Lognormal(mean, sd), mean > 0.0),
            Chance::Cauchy(median, width) => (Dist::Cauchy(median, width), true),
            Chance::Pareto(min, shape, max) => {
                let sound = min > 0.0 && shape > 0.0 && max.is_none_or(|max| max > min);
                (Dist::Pareto(min, shape, max), sound)
            }
            Chance::Weibull(scale, shape) => (Dist::Weibull(scale, shape), scale > 0.0 && shape > 0.0),
            Chance::Gamma(shape, scale) => (Dist::Gamma(shape, scale), shape > 0.0 && scale > 0.0),
            Chance::TwoState { first, second, leave_first, leave_second } => {
                let sound = [leave_first, leave_second].iter().all(|p| (0.0..=1.0).contains(p));
                (Dist::TwoState { first, second, leave_first, leave_second }, sound)
            }
            Chance::Empirical(values) => {
                let sound = !values.is_empty();
                (Dist::Empirical(values.into()), sound)
            }
        };
        if sound { Ok(dist) } else { Err("a distribution that is none") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::dist::Sampler;
    use proptest::prelude::*;

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
        /// The other host draws the same numbers, to the last bit.
        #[test]
        fn the_same_is_drawn_there(dist in dists(), seed in any::<u64>(), repetition in any::<u64>()) {
            let plan = Tells(Telling {
                size: dist.clone(),
                every: dist.clone(),
                bursts: Some((dist.clone(), dist.clone())),
                count: Some(seed),
                lasts: Some(Span::from_nanos(repetition)),
                useful: Useful::For(Span::from_nanos(seed)),
            });
            let draws = Draws { name: "voice".into(), seed, repetition };
            let does = Does::Speaks(Box::new(plan), draws, Some(1472));
            let said = serde_json::to_vec(&does).unwrap();
            let heard: Does = serde_json::from_slice(&said).unwrap();
            prop_assert_eq!(&heard, &does);
            let Does::Speaks(plan, draws, _) = heard else { panic!("another kind") };
            let stream = || draws.seed().stream(&draws.name, "size");
            let (mut here, mut there) = (Sampler::new(dist, stream()), Sampler::new(plan.0.size, stream()));
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
                r#"{{"asks":[{{"request":{request},"reply":{one},"objects":{one},"object":{one},"think_ns":{one},
                "serve_ns":{one},"pipelining":false,{rest}}},{{"name":"x","seed":1,"repetition":0}}]}}"#
            );
            serde_json::from_str::<Does>(&text)
        };
        let good = r#""largest":9,"connections":1,"keep":"page""#;
        assert!(matches!(plan(r#"{"gamma":[0.5,2.0]}"#, good), Ok(Does::Asks(..))));
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
