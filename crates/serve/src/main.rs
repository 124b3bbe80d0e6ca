//! `williwaw-serve`: program of the control tool's server, started by `williwaw serve`; arguments, listener on
//! loopback, printed address, signals.
//!
//! A separate binary, so that the build of the command includes neither a web server nor a database
//! (docs/adr/0066-control-tool.md).

use clap::Parser;
use serve::{Config, Problem, Server};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Serve the control tool: a local web page to compose, run, watch and compare scenarios
///
/// It listens on this machine only and prints the address to open, with the token that the page needs.
#[derive(Debug, Parser)]
#[command(name = "williwaw serve", version)]
struct Args {
    /// Keep scenarios, queue and results in this folder
    #[arg(long, value_name = "DIR", default_value = "williwaw-serve")]
    dir: PathBuf,
    /// Listen on this port; without it, on a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Show only: nothing can be saved, started or changed
    #[arg(long)]
    read_only: bool,
    /// The `williwaw` that plays sets; without it, the one beside this program
    #[arg(long, value_name = "FILE", hide = true)]
    williwaw: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let mut talk = std::io::stderr().lock();
            let _ = writeln!(talk, "error: {problem}");
            if !problem.help().is_empty() {
                let _ = writeln!(talk, "  help: {}", problem.help());
            }
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> Result<(), Problem> {
    let beside = || {
        let name = format!("williwaw{}", std::env::consts::EXE_SUFFIX);
        std::env::current_exe().map_or_else(|_| PathBuf::from(&name), |path| path.with_file_name(&name))
    };
    let config =
        Config { home: args.dir, williwaw: args.williwaw.unwrap_or_else(beside), read_only: args.read_only };
    let server = Server::open(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|e| Problem::start(format!("no threads: {e}")))?;
    runtime.block_on(async {
        let listener =
            tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await.map_err(|error| {
                Problem::start(format!(
                    "cannot listen on port {}: {error}; choose another with --port",
                    args.port
                ))
            })?;
        let port = listener.local_addr().map_err(|e| Problem::start(e.to_string()))?.port();
        {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "http://127.0.0.1:{port}/#token={}", server.token());
            let _ = out.flush();
        }
        let _ = writeln!(std::io::stderr(), "open this address in a browser; Ctrl-C ends the server");
        server.run(listener, stopped()).await
    })
}

/// Resolves at the first interrupt or termination signal.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
