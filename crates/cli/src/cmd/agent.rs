//! `williwaw agent`: agent process that lends namespaces of this host, or carries the path, for an emulation
//! that another host controls; creation of token files.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::interrupt;
use crate::console::streams::Console;
use crate::input::{agents_file, nesting, shell_link};
use crate::player::agent_player;
use agent::serve::Agent;
use agent::token::Token;
use agent::{PORT, list};
use emulate::Surroundings;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Run machines or the path of a distributed emulation on this host
///
/// The controller, `williwaw emulate --agents FILE`, places machines here: their namespaces, kernel flows and
/// commands. It can also place the path and its clock here. Anyone with the token can run commands as the user
/// of the agent. The connection is encrypted. When the controller disconnects, everything started for it ends.
/// Ctrl-C ends the agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw agent --make-token agents.token\n  \
    williwaw agent --token-file agents.token\n  \
    williwaw agent --token-file agents.token --listen 192.0.2.2")]
pub(crate) struct Args {
    /// File with the token that controllers must present
    #[arg(long, value_name = "FILE", required_unless_present = "make_token")]
    token_file: Option<PathBuf>,
    /// Address to listen on, TCP and UDP; the default admits this host only
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = list::address,
          default_value_t = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT))]
    listen: SocketAddr,
    /// Create this file with a new token, and exit; the file must not exist
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token_file", "listen"])]
    make_token: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    if let Some(file) = &args.make_token {
        Token::make(file).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(
                format!("`{}` already exists", file.display()),
                "copy it to the other hosts, or choose another name",
            ),
            _ => Failure::write(file, &error),
        })?;
        console.note(&format!("made a token in {}; copy the file to all hosts of the run", file.display()));
        return Ok(ExitStatus::Good);
    }
    let token = agents_file::token(args.token_file.as_deref().unwrap_or(std::path::Path::new("")))?;
    if let Some(lost) = netns::user::gain_rights()? {
        console.note(&format!("without root, in a user namespace: there is no {lost}"));
    }
    let stop = interrupt::watch_saying(console, "stopping; press Ctrl-C again to stop at once");
    let around = Surroundings {
        variables: nesting::nested().variables(false),
        resolver: shell_link::resolver(None),
        ..nesting::common()
    };
    let listened = {
        let carries = Arc::new(agent_player::AgentPlayer);
        Agent::listen(args.listen, token, around, carries, env!("CARGO_PKG_VERSION"))
    };
    let agent = listened.map_err(|error| {
        Failure::machine(
            format!("cannot listen at {}: {error}", args.listen),
            "another program may have the port, or the address is not of this host; --listen ADDRESS:PORT",
        )
    })?;
    let at = agent.address().unwrap_or(args.listen);
    console.note(&format!("listening at {at}, TCP and UDP"));
    if at.ip().is_loopback() {
        console.note("only this host can connect; --listen ADDRESS lets others in");
    }
    agent.serve(stop, &|event| console.note(event));
    Ok(ExitStatus::Interrupted)
}
