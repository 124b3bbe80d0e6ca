//! `williwaw measure`: server and client that load and time a real path, with results file, capture and
//! progress.

mod failure;
mod table;

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{clock, interrupt, progress};
use crate::output::terminal;
use base::{Span, units};
use measure::client::{self, Observer};
use measure::entry::{self, Entry, Journal, LinkCommand};
use measure::modem::{ModemDevice, ModemEvent, ModemEventKind};
use measure::plan::{self, Plan, Step, Test};
use measure::server::{self, Config, Event, EventKind, Server};
use measure::server_protocol::ServerLimits;
use measure::summary::TestOutcome;
use measure::{Error, PORT, Socket};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Measure a real path between two machines: throughput, response times, disconnections, buffers
///
/// A server runs at one end; a client at the other end requests measurements and prints the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw measure server\n  \
    williwaw measure client 127.0.0.1 --bulk both --transactions published --echo\n  \
    williwaw measure server --bind 0.0.0.0 --token-file token.txt\n  \
    williwaw measure client phone.example.net --token-file token.txt --published")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Answer clients until Ctrl-C
    Server(ServerArgs),
    /// Measure against a server
    Client(Box<ClientArgs>),
    /// Print the results in a file, complete or not
    #[command(after_help = "Example:\n  williwaw measure show measure-1.jsonl --json")]
    Show {
        /// Results file of a client
        file: PathBuf,
        /// Print one JSON document instead of the table
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Token {
    /// Shared token; the server refuses clients without it. It crosses the network in clear text: it stops strangers, not
    /// eavesdroppers
    #[arg(long, value_name = "WORD", conflicts_with = "token_file")]
    token: Option<String>,
    /// Read the token from the first line of a file, so that process lists do not show it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw measure server\n  \
    williwaw measure server --bind 0.0.0.0 --token-file token.txt --window '16 KiB'")]
struct ServerArgs {
    /// Address to listen on, with or without a port; may be repeated. Without it, only this machine can
    /// connect
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    bind: Vec<SocketAddr>,
    #[command(flatten)]
    token: Token,
    /// Maximum number of concurrent clients
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    connections: u16,
    /// Receive window to offer from the first packet on (default: the system's; 16 KiB in the published setting)
    #[arg(long, value_name = "BYTES", value_parser = window)]
    window: Option<u32>,
    /// Refuse jobs of more than this
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    most_bytes: Option<u64>,
    /// Refuse jobs of more than this
    #[arg(long, value_name = "TIME", value_parser = units::parse_span)]
    most_time: Option<Span>,
    /// Time after which a silent client is dropped in the middle of a job
    #[arg(long, value_name = "TIME", default_value = "15 min", value_parser = units::parse_span)]
    stall: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Directions {
    Up,
    Down,
    Both,
}

impl Directions {
    fn downs(self) -> &'static [bool] {
        match self {
            Directions::Up => &[false],
            Directions::Down => &[true],
            Directions::Both => &[false, true],
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw measure client 127.0.0.1 --bulk both --transactions published --echo\n  \
    williwaw measure client phone.example.net --token-file token.txt --published --json")]
struct ClientArgs {
    /// The server: a name or an address, with or without a port
    server: String,
    #[command(flatten)]
    token: Token,

    /// Run the tests of the HSCSD and GPRS study: 40 transfers of 150 kB each way, 19 x 120 transactions of three
    /// sizes, segments of 536 B, a window of 16 KiB
    #[arg(long, help_heading = "What to measure")]
    published: bool,
    /// Measure the throughput of transfers
    #[arg(long, value_name = "WAY", help_heading = "What to measure")]
    bulk: Option<Directions>,
    /// Measure response times of transactions of these sizes, request/reply in bytes (`280/499,348/4758`), or `published`
    #[arg(long, value_name = "SIZES", help_heading = "What to measure", value_parser = sizes)]
    transactions: Option<Sizes>,
    /// Measure round-trip times of small packets
    #[arg(long, help_heading = "What to measure")]
    echo: bool,
    /// Measure the size of the buffer before the bottleneck
    #[arg(long, value_name = "WAY", help_heading = "What to measure")]
    buffer: Option<Directions>,

    /// Size of a transfer
    #[arg(long, value_name = "BYTES", default_value = "150 kB", value_parser = some_bytes, help_heading = "How much")]
    bytes: u64,
    /// Duration of a transfer, in place of its size; also of the --buffer test (default 10 s)
    #[arg(long, value_name = "TIME", conflicts_with = "bytes", value_parser = some_time, help_heading = "How much")]
    seconds: Option<Span>,
    /// Transactions per sequence, on one connection
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..), help_heading = "How much")]
    count: u32,
    /// Size of a small packet, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u32).range(16..=1400), help_heading = "How much")]
    echo_bytes: u32,
    /// Number of small packets
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "How much")]
    echo_count: u32,
    /// Interval between small packets
    #[arg(long, value_name = "TIME", default_value = "500 ms", value_parser = units::parse_span, help_heading = "How much")]
    echo_interval: Span,
    /// Send the small packets over TCP, for networks that block datagrams
    #[arg(long, help_heading = "How much")]
    echo_tcp: bool,
    /// Repetitions of every test (default 1; with --published those of the study)
    #[arg(long, alias = "repetitions", value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How much")]
    reps: Option<u32>,

    /// Delay before the first test
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = units::parse_span, help_heading = "When")]
    delay: Span,
    /// Pause between repetitions
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = units::parse_span, help_heading = "When")]
    pause: Span,
    /// Think time between a reply and the next request
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = units::parse_span, help_heading = "When")]
    think: Span,
    /// Run this command with `/bin/sh` before the first connection (dial-up, attach) and record its duration
    #[arg(long, value_name = "COMMAND", help_heading = "When")]
    before: Option<String>,
    /// Run this command after the last connection, even after an error, and record its duration
    #[arg(long, value_name = "COMMAND", help_heading = "When")]
    after: Option<String>,
    /// Run this command with `/bin/sh` when a connection is lost and record its first line as the equipment's cause.
    /// A line that begins with handover, air-interface, network-software, remote-equipment, local-link or path decides the cause
    #[arg(long, value_name = "COMMAND", help_heading = "When")]
    cause: Option<String>,
    /// Control port of a modem (`/dev/ttyUSB2`): read changes of cell, lost registrations and ended sessions from it during the
    /// measurement, and derive causes from them (3GPP TS 27.007)
    #[arg(long, value_name = "DEVICE", help_heading = "When")]
    modem: Option<String>,
    /// Speed of the control port (default: the present one)
    #[arg(long, value_name = "BIT/S", requires = "modem", help_heading = "When")]
    modem_speed: Option<u32>,
    /// Time without data that counts as a pause of a transfer
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = units::parse_span, help_heading = "When")]
    silence: Span,
    /// Time without data after which a connection counts as lost
    #[arg(long, value_name = "TIME", default_value = "2 min", value_parser = units::parse_span, help_heading = "When")]
    stall: Span,
    /// Time limit for the first connection
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = units::parse_span, help_heading = "When")]
    connect: Span,
    /// Time limit for reconnecting after a disconnection
    #[arg(long, value_name = "TIME", default_value = "10 min", value_parser = units::parse_span, help_heading = "When")]
    give_up: Span,

    /// Maximum segment size, both ways (default: the system's; with --published 536)
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(88..=65_495), help_heading = "Sockets")]
    mss: Option<u32>,
    /// Receive window of both ends (default: the system's; with --published 16 KiB)
    #[arg(long, value_name = "BYTES", value_parser = window, help_heading = "Sockets")]
    window: Option<u32>,
    /// Congestion control for data sent by the client, by the kernel's name
    #[arg(long, value_name = "NAME", help_heading = "Sockets")]
    cc: Option<String>,

    /// File for the results, one line per result as it arrives; the file must not exist (default: measure-N.jsonl)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    out: Option<PathBuf>,
    /// Write no results file
    #[arg(long, conflicts_with = "out", help_heading = "Results")]
    no_out: bool,
    /// Capture the packets of both directions as pcapng, headers only; the file must not exist
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    capture: Option<PathBuf>,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Results")]
    json: bool,
}

#[derive(Clone, Debug)]
struct Sizes(Vec<(u32, u32)>);

fn sizes(text: &str) -> Result<Sizes, String> {
    if text == "published" {
        return Ok(Sizes(plan::PUBLISHED_SIZES.to_vec()));
    }
    let size = |text: &str| {
        let n = text.trim().parse::<u32>().ok();
        n.filter(|n| (1..=measure::message::LARGEST_MESSAGE).contains(n))
    };
    let pair = |text: &str| {
        let (request, reply) = text.split_once('/')?;
        Some((size(request)?, size(reply)?))
    };
    let wrong = || format!("`{text}` is no list of REQUEST/REPLY in bytes, such as 280/499,348/4758");
    text.split(',').map(pair).collect::<Option<Vec<_>>>().map(Sizes).ok_or_else(wrong)
}

fn some_bytes(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text)?;
    if bytes > 0 { Ok(bytes) } else { Err("a transfer carries at least 1 B".to_owned()) }
}

fn some_time(text: &str) -> Result<Span, String> {
    let span = units::parse_span(text)?;
    if span > Span::ZERO { Ok(span) } else { Err("a transfer lasts longer than nothing".to_owned()) }
}

fn window(text: &str) -> Result<u32, String> {
    let bytes = units::parse_bytes(text)?;
    u32::try_from(bytes)
        .ok()
        .filter(|n| (2304..=1 << 30).contains(n))
        .ok_or_else(|| format!("a window of {bytes} B is not possible: it is between 2304 B and 1 GiB"))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    text.parse()
        .map_err(|_| format!("`{text}` is no address such as 0.0.0.0, [::]:{PORT} or 192.0.2.1:{PORT}"))
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    match args.what {
        Part::Server(args) => serve(args, console),
        Part::Client(args) => ask(*args, console),
        Part::Show { file, json } => show(&entry::read(&file)?, json, console),
    }
}

impl Token {
    fn read(&self) -> Result<Option<String>, Failure> {
        let word = match (&self.token, &self.token_file) {
            (Some(word), _) => word.clone(),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file).map_err(|error| {
                    Failure::usage(format!("cannot read the token in `{}`: {error}", file.display()), "")
                })?;
                text.lines().next().unwrap_or_default().trim().to_owned()
            }
            (None, None) => return Ok(None),
        };
        if word.is_empty() || word.len() > measure::message::LONGEST_TOKEN {
            let most = measure::message::LONGEST_TOKEN;
            return Err(Failure::usage(format!("a token has 1 to {most} bytes"), "choose another token"));
        }
        Ok(Some(word))
    }
}

fn serve(args: ServerArgs, console: &Console) -> Result<ExitStatus, Failure> {
    let local = args.bind.is_empty();
    let config = |addresses| -> Result<Config, Failure> {
        Ok(Config {
            addresses,
            rules: ServerLimits {
                token: args.token.read()?,
                bytes: args.most_bytes.unwrap_or(0),
                lasts: args.most_time,
            },
            most: usize::from(args.connections),
            window: args.window,
            pause: Span::from_secs(2),
            stall: args.stall,
        })
    };
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let here = here.map(|ip| SocketAddr::new(ip, PORT));
    let server = if local {
        // Without IPv6 the server listens on the IPv4 loopback address only.
        match Server::bind(config(here.to_vec())?) {
            Err(Error::Listen { address, .. }) if address == here[1] => Server::bind(config(vec![here[0]])?)?,
            other => other?,
        }
    } else {
        Server::bind(config(args.bind.clone())?)?
    };
    let stop = interrupt::watch_saying(console, "stopping; press Ctrl-C again to stop at once");
    for address in server.addresses() {
        console.note(&format!("listening at {address}"));
    }
    if server.addresses().iter().all(|at| server::is_local(at.ip())) {
        console.note(
            "only this machine can connect; --bind ADDRESS with --token or --token-file lets others in",
        );
    }
    server.serve(stop, &|event| event_text(&event).into_iter().for_each(|line| console.note(&line)))?;
    Ok(ExitStatus::Interrupted)
}

fn event_text(event: &Event) -> Option<String> {
    Some(match &event.what {
        EventKind::Done(served) => {
            let bytes = served.received + served.sent;
            format!("{}: {bytes} B, {}", event.peer, plain(served))
        }
        EventKind::Refused(why) => format!("{}: refused: {why}", event.peer),
        EventKind::Lost(why) => format!("{}: lost in the middle of a job: {why}", event.peer),
        EventKind::Closed(_) => return None,
    })
}

fn plain(served: &measure::server_protocol::ServedJob) -> String {
    use measure::message::Job;
    match served.job {
        Job::Bulk { direction, .. } => format!("bulk {}", direction.name()),
        Job::Transactions { request, reply, .. } => {
            format!("{} transactions {request}/{reply}", served.transactions)
        }
        Job::Probes => "greeting or echo".to_owned(),
    }
}

/// Measurement plan from the arguments, or the published plan.
fn planned(args: &ClientArgs) -> Result<Plan, Failure> {
    let (mut steps, mut socket) = if args.published { plan::published() } else { Default::default() };
    let reps = args.reps.unwrap_or(1);
    if let Some(reps) = args.reps {
        steps.iter_mut().for_each(|step| step.repetitions = reps);
    }
    let seconds = args.seconds.map_or(0.0, Span::as_secs_f64);
    let mut add = |test| steps.push(Step { test, repetitions: reps });
    for &down in args.bulk.map_or(&[][..], Directions::downs) {
        add(Test::Bulk { down, bytes: if args.seconds.is_some() { 0 } else { args.bytes }, seconds });
    }
    for &(request, reply) in args.transactions.iter().flat_map(|sizes| &sizes.0) {
        add(Test::Transactions { request, reply, count: args.count });
    }
    if args.echo {
        let interval = args.echo_interval.as_secs_f64();
        add(Test::Echo { size: args.echo_bytes, count: args.echo_count, interval, tcp: args.echo_tcp });
    }
    for &down in args.buffer.map_or(&[][..], Directions::downs) {
        add(Test::Buffer { down, seconds: if seconds > 0.0 { seconds } else { 10.0 } });
    }
    if steps.is_empty() {
        return Err(Failure::usage(
            "nothing to measure",
            "choose --bulk, --transactions, --echo, --buffer, or --published for the whole study",
        ));
    }
    let Socket { mss, window, cc } = Socket { mss: args.mss, window: args.window, cc: args.cc.clone() };
    socket = Socket { mss: mss.or(socket.mss), window: window.or(socket.window), cc };
    let s = Span::as_secs_f64;
    Ok(Plan {
        steps,
        socket,
        pause: s(args.pause),
        delay: s(args.delay),
        think: s(args.think),
        silence: s(args.silence),
        stall: s(args.stall),
        connect: s(args.connect),
        give_up: s(args.give_up),
    })
}

/// Observer that stores entries in memory and in the results file, and shows progress.
struct Keeper<'a> {
    entries: Mutex<Vec<Entry>>,
    journal: Option<Mutex<Journal>>,
    before: Option<LinkCommand>,
    /// Command of `--cause`, which reads the cause of a disconnection from the equipment.
    cause: Option<String>,
    console: &'a Console,
    tell: &'a (dyn Fn(u64, u64) + Sync),
}

impl Keeper<'_> {
    /// Records the `--before` command right after the entry that begins the measurement.
    fn linked(&self, entry: &Entry) -> Result<(), Error> {
        let Entry::Begin(_) = entry else { return Ok(()) };
        match &self.before {
            Some(command) => self.entry(&Entry::Link(command.clone())),
            None => Ok(()),
        }
    }
}

/// Runs a command that sets up or releases the link.
fn link(command: &str, before: bool, console: &Console) -> Result<LinkCommand, Failure> {
    let watch = clock::Stopwatch::start();
    let mut shell = std::process::Command::new("/bin/sh");
    // The command's output must not mix with the JSON document on stdout.
    let ran = shell.arg("-c").arg(command).stdin(std::process::Stdio::null()).output();
    let ran = ran.map_err(|error| Failure::machine(format!("cannot run /bin/sh: {error}"), ""))?;
    let signal = std::os::unix::process::ExitStatusExt::signal(&ran.status).map(|signal| 128 + signal);
    let status = ran.status.code().or(signal).unwrap_or(-1);
    let seconds = watch.seconds();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    stderr.lines().last().into_iter().for_each(|line| console.note(line));
    let when = if before { "before" } else { "after" };
    console.note(&format!("--{when}: {seconds:.2} s, status {status}"));
    Ok(LinkCommand { before, command: command.to_owned(), seconds, status })
}

impl Observer for Keeper<'_> {
    fn entry(&self, entry: &Entry) -> Result<(), Error> {
        if let Some(journal) = self.journal.as_ref().and_then(|j| j.lock().ok()).as_mut() {
            journal.add(entry)?;
        }
        if let Entry::Disconnection(lost) = entry {
            let (cause, evidence) = (lost.cause.words(), &lost.evidence);
            self.console.note(&format!("disconnected at {:.1} s, {cause}: {evidence}", lost.t));
        }
        if let Entry::Modem(ModemEvent {
            kind: ModemEventKind::Silent | ModemEventKind::Gone, t, line, ..
        }) = entry
        {
            self.console.note(&format!("the modem at {t:.1} s: {line}"));
        }
        if let Ok(mut entries) = self.entries.lock() {
            entries.push(entry.clone());
        }
        self.linked(entry)
    }
    fn progress(&self, done: u64, all: u64) {
        (self.tell)(done, all);
    }
    fn lost(&self) -> Option<String> {
        let mut shell = std::process::Command::new("/bin/sh");
        let ran =
            shell.arg("-c").arg(self.cause.as_ref()?).stdin(std::process::Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&ran.stdout).lines().next().map(|line| line.trim().to_owned())
    }
}

fn ask(args: ClientArgs, console: &Console) -> Result<ExitStatus, Failure> {
    let plan = planned(&args)?;
    let config = client::Config {
        server: args.server.clone(),
        token: args.token.read()?.unwrap_or_default(),
        session: u64::from(std::process::id()),
        plan,
        started: clock::today(),
        capture: args.capture.clone(),
        modem: args.modem.clone().map(|path| ModemDevice { path, speed: args.modem_speed }),
    };
    let stop = interrupt::watch_saying(
        console,
        "stopping; finished measurements are kept; press Ctrl-C again to stop at once",
    );
    let out = if args.no_out { None } else { Some(place(args.out.as_deref())?) };
    let before = args.before.as_deref().map(|command| link(command, true, console)).transpose()?;
    if let Some(failed) = before.as_ref().filter(|before| before.status != 0) {
        return Err(Failure::machine(
            format!("the command of --before ended with status {}", failed.status),
            "nothing was measured; try the command by itself",
        ));
    }
    let (result, entries) = progress::shown(console, |tell| {
        let journal = out.as_deref().map(Journal::create).transpose();
        let journal = match journal {
            Ok(journal) => journal,
            Err(error) => return (Err(error), Vec::new()),
        };
        let keeper = Keeper {
            entries: Mutex::default(),
            journal: journal.map(Mutex::new),
            before: before.clone(),
            cause: args.cause.clone(),
            console,
            tell,
        };
        let mut result = client::measure(&config, stop, &keeper);
        if let Some(command) = &args.after
            && let Ok(after) = link(command, false, console)
        {
            let kept = keeper.entry(&Entry::Link(after));
            result = result.and_then(|complete| kept.map(|()| complete));
        }
        (result, keeper.entries.into_inner().unwrap_or_default())
    });
    if entries.is_empty() {
        // Without any result, the empty results file is removed.
        if let (Some(path), Err(error)) = (&out, &result)
            && !matches!(error, Error::Write { .. })
        {
            let _ = std::fs::remove_file(path);
        }
        return Err(result.map_or_else(Failure::from, |_| Failure::machine("nothing was measured", "")));
    }
    show(&entries, args.json, console)?;
    if let Some(path) = &out {
        console.note(&format!("kept in {}", path.display()));
    }
    Ok(if result? { ExitStatus::Good } else { ExitStatus::Interrupted })
}

/// Path of the results file: the given one, or the first `measure-N.jsonl` that does not exist.
fn place(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        if path.exists() {
            return Err(Failure::usage(
                format!("`{}` already exists", path.display()),
                "existing results are never extended; name another file with --out",
            ));
        }
        return Ok(path.to_owned());
    }
    let mut candidates = (1..100_000).map(|n| PathBuf::from(format!("measure-{n}.jsonl")));
    let free = candidates.find(|path| !path.exists());
    free.ok_or_else(|| {
        Failure::usage("every file name measure-N.jsonl exists already", "name a file with --out")
    })
}

fn show(entries: &[Entry], json: bool, console: &Console) -> Result<ExitStatus, Failure> {
    let Some(outcome) = TestOutcome::of(entries) else {
        return Err(Failure::usage(
            "the file has no begin record",
            "the file was not written by `measure client`",
        ));
    };
    if json {
        console.document(&outcome.document())?;
    } else {
        console.data(&terminal::text(&table::board(&outcome), console.width, console.colour))?;
    }
    Ok(if outcome.complete { ExitStatus::Good } else { ExitStatus::Interrupted })
}
