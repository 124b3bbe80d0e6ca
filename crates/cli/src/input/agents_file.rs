//! Agents of a run: reader of the `--agents` file and of its token files, and connections to the agents.

use crate::console::exit::Failure;
use crate::console::streams::Console;
use agent::control::AgentControl;
use agent::list::{self, Host};
use agent::token::Token;
use base::Span;
use emulate::accuracy::overhead::ClockOffset;
use lab::sweep::Sweep;
use scenario::Model;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Reads a token file.
pub(crate) fn token(file: &Path) -> Result<Token, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(
            format!("cannot read the token in `{name}`: {error}"),
            format!("`williwaw agent --make-token {name}` makes one; both ends need the same"),
        )
    })?;
    let remedy = "`williwaw agent --make-token FILE` makes one; copy the file to the other end";
    Token::parse(&text).map_err(|why| Failure::usage(format!("`{name}`: {why}"), remedy))
}

/// Agents of the list, not yet connected.
pub(crate) struct Listed {
    /// Agents that lend machines, with their tokens.
    pub(crate) hosts: Vec<(Host, Token)>,
    /// Agent that carries the path; `None`: this host.
    pub(crate) path: Option<(Host, Token)>,
    pub(crate) clock_limit: Span,
}

/// Reads the list of agents in a file, and the token files that it names.
pub(crate) fn read(file: &Path, jobs: u16, sweep: &Sweep) -> Result<Listed, Failure> {
    if jobs > 1 {
        return Err(Failure::usage(
            "an agent plays one repetition at a time",
            "leave out --jobs, or --agents",
        ));
    }
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("cannot read the list of agents in `{name}`: {error}"), "")
    })?;
    let model = sweep.cells.held().first().map(|cell| &cell.model);
    let nodes: Vec<&str> =
        model.map_or(Vec::new(), |model| model.nodes.iter().map(|node| node.name.as_str()).collect());
    let list = list::read(&text, &nodes).map_err(|wrong| {
        let wrong: Vec<String> = wrong.iter().map(|why| format!("{name}: {why}")).collect();
        Failure::usage(wrong.join("\n"), "docs/agents.md has an example")
    })?;
    let beside = file.parent().unwrap_or(Path::new(""));
    let with_token = |host: Host| token(&beside.join(&host.token_file)).map(|token| (host, token));
    let path = list.path.map(with_token).transpose()?;
    let hosts = list.hosts.into_iter().map(with_token).collect::<Result<_, _>>()?;
    Ok(Listed { hosts, path, clock_limit: list.clock_limit })
}

impl Listed {
    /// Connects to the agents that lend machines. It starts threads, so that all single-threaded set-up comes before.
    pub(crate) fn connect(&self, console: &Console) -> Result<Arc<AgentControl>, Failure> {
        let control = AgentControl::connect(&self.hosts, self.clock_limit)?;
        for agent in control.agents() {
            console.note(&clock_of(&agent, "this host"));
        }
        Ok(Arc::new(control))
    }

    fn holds(&self, node: &str) -> bool {
        self.hosts.iter().any(|(host, _)| host.machines.iter().any(|machine| machine == node))
    }
}

/// Text on the offset of an agent's clock from the clock of `whose`, and its uncertainty.
pub(crate) fn clock_of((name, address, clock): &(String, SocketAddr, ClockOffset), whose: &str) -> String {
    format!(
        "agent {name} at {address}: its clock is {} us ahead of that of {whose}, known to {:.0} us",
        clock.ahead_ns / 1000,
        clock.uncertain.as_secs_f64() * 1e6
    )
}

/// Whether this host needs the rights to create namespaces, for the machines of a model that no agent lends.
pub(crate) fn needed_here(model: &Model, listed: Option<&Listed>) -> bool {
    let Some(listed) = listed else { return lab::sweep::real(model).is_some() };
    if listed.path.is_some() {
        return false;
    }
    let here = |node: usize| model.nodes.get(node).is_none_or(|node| !listed.holds(&node.name));
    let real = model.flows.iter().filter(|flow| flow.transport.linux().is_some());
    model.stations.iter().copied().chain(real.flat_map(|flow| [flow.from, flow.to])).any(here)
}
