//! Measurement client (`measure`): runs the tests of a plan in sequence, one connection per repetition, reconnects
//! after losses, passes log entries to an observer.

use crate::buffer::{self, Estimate};
use crate::cause::{self, Loss};
use crate::client_protocol::ClientProtocol;
use crate::clock::{self, Clock};
use crate::connections::Connections;
use crate::egress_watch::EgressWatch;
use crate::entry::{Disconnection, End, Entry, Run, SCHEMA, StartEntry};
use crate::flow::Pause;
use crate::kernel::{self, InfoSampler, Kernel, Report};
use crate::message::Job;
use crate::modem::{ModemDevice, ModemPort};
use crate::plan::{Plan, Test, span};
use crate::probe::Probing;
use crate::pump::{Disconnect, Pump};
use crate::{Error, LOOK, PORT, filler};
use base::{Span, Time};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Configuration of a measurement.
#[derive(Clone, Debug)]
pub struct Config {
    /// Server name or address, with optional port.
    pub server: String,
    /// Access token; empty if none.
    pub token: String,
    /// Identifier of the run.
    pub session: u64,
    /// Tests.
    pub plan: Plan,
    /// Start date, for the log.
    pub started: String,
    /// Capture file to create; it must not exist.
    pub capture: Option<PathBuf>,
    /// Control port of the modem, read during the measurement.
    pub modem: Option<ModemDevice>,
}

/// Receiver of log entries and progress of a measurement.
pub trait Observer: Sync {
    /// Stores an entry.
    ///
    /// # Errors
    /// The entry cannot be stored; the measurement ends.
    fn entry(&self, entry: &Entry) -> Result<(), Error>;
    /// Reports the number of completed repetitions and of all repetitions.
    fn progress(&self, done: u64, all: u64);
    /// Called when a connection was lost: returns the cause reported by the equipment, if available.
    fn lost(&self) -> Option<String> {
        None
    }
}

/// Interval of reconnection attempts.
const RETRY: Span = Span::from_secs(1);
/// Time after the last probe at which missing echoes count as lost.
const LATEST: Span = Span::from_secs(3);
/// Number of probes before the load of a buffer test.
const BEFORE: u32 = 10;
/// Interval of probes during the load of a buffer test.
const BESIDE: Span = Span::from_millis(50);
/// Size of a probe in a buffer test, bytes.
const SMALL: usize = 32;

/// Addresses of a server name with optional port; default port [`PORT`].
///
/// # Errors
/// [`Error::Name`].
pub fn resolve(name: &str) -> Result<Vec<SocketAddr>, Error> {
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, PORT)]);
    }
    let found = if name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        name.to_socket_addrs()
    } else {
        (name, PORT).to_socket_addrs()
    };
    let unknown = |source| Error::Name { name: name.to_owned(), source };
    let found: Vec<SocketAddr> = found.map_err(unknown)?.collect();
    if found.is_empty() { Err(unknown(io::Error::other("it has none"))) } else { Ok(found) }
}

/// Runs the plan. Returns true if it was completed, false if `stop` ended it.
///
/// # Errors
/// The server is missing, refuses, or was unreachable for too long; an entry could not be stored. Earlier results were
/// passed to the observer.
pub fn measure(config: &Config, stop: &AtomicBool, listener: &dyn Observer) -> Result<bool, Error> {
    let clock = Clock::start();
    let modem = config.modem.as_ref().map(|device| ModemPort::open(device, clock)).transpose()?;
    let (address, server_name) = reach(config, clock, stop)?;
    let recording = Recorder::open(config, address)?;
    let before = kernel::counters();
    listener.entry(&Entry::Begin(Box::new(StartEntry {
        schema: SCHEMA.to_owned(),
        started: config.started.clone(),
        server: config.server.clone(),
        address: address.to_string(),
        client_name: kernel::name(),
        server_name,
        settings: kernel::settings(),
        plan: config.plan.clone(),
    })))?;
    let line = Connections::new(config, clock, stop, address);
    let egress = EgressWatch::new(address.ip(), clock);
    let mut all = Measurement {
        config,
        clock,
        stop,
        listener,
        address,
        line,
        egress: &egress,
        modem: modem.as_ref(),
        filler: filler(),
        done: 0,
    };
    let work = || all.steps().and_then(|done| all.last_words(done));
    let tell = |event| listener.entry(&Entry::Modem(event));
    let watched = || egress.beside(work);
    let beside_modem = || match &modem {
        Some(modem) => modem.beside(&tell, watched),
        None => (watched(), Ok(())),
    };
    let ((result, told), capture_missed) = recording.beside(beside_modem)?;
    let result = told.and(result);
    let complete = matches!(result, Ok(true));
    listener.entry(&Entry::End(End {
        t: clock.now().as_secs_f64(),
        complete,
        counters: kernel::growth(&before, &kernel::counters()),
        capture_missed,
        others: all.line.others(),
    }))?;
    result
}

/// Packet capture during the measurement, if requested.
#[cfg(target_os = "linux")]
struct Recorder(Option<crate::recording::Recording>);

#[cfg(target_os = "linux")]
impl Recorder {
    fn open(config: &Config, server: SocketAddr) -> Result<Recorder, Error> {
        let open = |path: &PathBuf| crate::recording::Recording::open(path, server);
        Ok(Recorder(config.capture.as_ref().map(open).transpose()?))
    }

    /// Captures while `act` runs; also returns the number of missed packets.
    fn beside<R>(self, act: impl FnOnce() -> R) -> Result<(R, Option<u64>), Error> {
        let Some(recording) = self.0 else { return Ok((act(), None)) };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| recording.run(&over));
            let result = act();
            over.store(true, Ordering::Relaxed);
            let missed =
                thread.join().unwrap_or_else(|_| Err(Error::Capture(io::ErrorKind::Other.into())))?;
            Ok((result, Some(missed)))
        })
    }
}

#[cfg(not(target_os = "linux"))]
struct Recorder;

#[cfg(not(target_os = "linux"))]
impl Recorder {
    fn open(config: &Config, _server: SocketAddr) -> Result<Recorder, Error> {
        match config.capture {
            Some(_) => Err(Error::Capture(io::ErrorKind::Unsupported.into())),
            None => Ok(Recorder),
        }
    }

    fn beside<R>(self, act: impl FnOnce() -> R) -> Result<(R, Option<u64>), Error> {
        Ok((act(), None))
    }
}

/// First address with a valid response, and the server's name.
fn reach(config: &Config, clock: Clock, stop: &AtomicBool) -> Result<(SocketAddr, String), Error> {
    let mut first = None;
    for address in resolve(&config.server)? {
        match Connections::new(config, clock, stop, address).greet() {
            Ok(name) => return Ok((address, name)),
            // The error of the first address is reported, unless a server at another address refuses.
            Err(error @ Error::Fault { .. }) => return Err(error),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or(Error::Gone(0.0)))
}

/// State of a measurement.
struct Measurement<'a> {
    config: &'a Config,
    clock: Clock,
    stop: &'a AtomicBool,
    listener: &'a dyn Observer,
    address: SocketAddr,
    line: Connections<'a>,
    egress: &'a EgressWatch,
    modem: Option<&'a ModemPort>,
    filler: Vec<u8>,
    done: u64,
}

/// Result of a repetition on one connection, complete or not.
struct ConnectionResult {
    run: Run,
    broken: Option<Disconnect>,
    /// Key of the connection at the server, if both ends have closed it.
    key: Option<u64>,
}

impl Measurement<'_> {
    fn steps(&mut self) -> Result<bool, Error> {
        let plan = &self.config.plan;
        let all = plan.repetitions();
        self.listener.progress(0, all);
        self.wait(span(plan.delay));
        for (index, step) in plan.steps.iter().enumerate() {
            for repetition in 0..step.repetitions {
                if self.done > 0 {
                    self.wait(span(plan.pause));
                }
                if !self.repeat(index, &step.test, repetition)? {
                    return Ok(false);
                }
                self.done += 1;
                self.listener.progress(self.done, all);
            }
        }
        Ok(true)
    }

    /// Runs one repetition, with reconnections if needed; false if stopped.
    fn repeat(&self, step: usize, test: &Test, repetition: u32) -> Result<bool, Error> {
        let mut test = test.clone();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let ConnectionResult { mut run, broken, key } = self.once(&test);
            self.tell_accounts()?;
            (run.step, run.repetition, run.complete) = (step, repetition, broken.is_none());
            let began = run.complete || run.bytes > 0 || run.probes > 0 || run.seconds.is_some();
            if began {
                self.listener.entry(&Entry::Run(Box::new(run.clone())))?;
                self.line.kept(key);
            }
            match broken {
                None => return Ok(true),
                Some(Disconnect::Stopped) => return Ok(false),
                Some(Disconnect::Fault(fault)) => return Err(Error::Fault { address: self.address, fault }),
                Some(Disconnect::Lost(loss)) => {
                    self.again(step, repetition, loss)?;
                    // A sequence of transactions is continued; an interrupted transfer is not repeated.
                    match &mut test {
                        Test::Transactions { count, .. } => *count -= run.response_s.len() as u32,
                        _ if began => return Ok(true),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Passes on the server's final statistics of earlier connections.
    fn tell_accounts(&self) -> Result<(), Error> {
        self.line.accounts().into_iter().try_for_each(|account| self.listener.entry(&Entry::Account(account)))
    }

    /// Requests outstanding server statistics at the end. If the server is unreachable, the values of its reports
    /// remain.
    fn last_words(&self, done: bool) -> Result<bool, Error> {
        if done && self.line.is_owed() && self.line.greet().is_ok() {
            self.tell_accounts()?;
        }
        Ok(done)
    }

    /// Reconnects after a loss and records the disconnection.
    fn again(&self, step: usize, repetition: u32, loss: Loss) -> Result<(), Error> {
        let t = self.clock.now();
        let Loss { kind, cause, evidence, account, last } =
            loss.looked_into(self.address, self.listener.lost());
        let mut lost = Disconnection {
            t: t.as_secs_f64(),
            until: None,
            step,
            repetition,
            kind: kind.to_owned(),
            cause,
            evidence,
            account,
            attempts: 0,
        };
        let result = self.reconnect(t, &mut lost);
        // The route may have moved since the loss, and the modem may be in another cell.
        let last = last.unwrap_or(t);
        let shown = self.egress.around(last);
        (lost.cause, lost.evidence) =
            cause::beside_egress((lost.cause, lost.evidence), lost.account.as_deref(), shown);
        let until = self.clock.now().as_secs_f64();
        let shown = self.modem.and_then(|modem| modem.around(last.as_secs_f64(), until));
        (lost.cause, lost.evidence) =
            cause::beside_modem((lost.cause, lost.evidence), lost.account.as_deref(), shown);
        self.listener.entry(&Entry::Disconnection(lost))?;
        result
    }

    /// Tries to connect until it succeeds, the user stops it, or the time to give up after `t` is over.
    fn reconnect(&self, t: Time, lost: &mut Disconnection) -> Result<(), Error> {
        let give_up = span(self.config.plan.give_up);
        while !self.stop.load(Ordering::Relaxed) {
            lost.attempts += 1;
            match self.line.greet() {
                Ok(_) => {
                    lost.until = Some(self.clock.now().as_secs_f64());
                    return Ok(());
                }
                Err(error @ Error::Fault { .. }) => return Err(error),
                Err(_) if self.clock.now().since(t) > give_up => {
                    return Err(Error::Gone(give_up.as_secs_f64()));
                }
                Err(_) => self.wait(RETRY),
            }
        }
        Ok(())
    }

    fn once(&self, test: &Test) -> ConnectionResult {
        match *test {
            Test::Bulk { .. } | Test::Transactions { .. } => self.job(test.job(), Span::ZERO),
            Test::Echo { count, interval, tcp: true, .. } => {
                let mut once = self.job(test.job(), span(interval));
                once.run.rtt_s = std::mem::take(&mut once.run.response_s);
                once.run.probes = count;
                once
            }
            Test::Echo { size, count, interval, .. } => {
                self.probes(size as usize, span(interval), Some(count), &|| false)
            }
            Test::Buffer { .. } => self.buffer(test),
        }
    }

    /// Runs one job on one connection. `interval`: least time between a reply and the next request, if it exceeds the
    /// plan's think time.
    fn job(&self, job: Job, interval: Span) -> ConnectionResult {
        let began = self.clock.now();
        let mut run = Run { t: began.as_secs_f64(), ..Run::default() };
        let stream = match self.line.connect() {
            Ok(stream) => stream,
            Err(broken) => return ConnectionResult { run, broken: Some(broken), key: None },
        };
        let mut request = self.line.request(job);
        request.think = request.think.max(interval);
        let mut asking = ClientProtocol::new(request);
        let watch = InfoSampler::new(&stream, self.clock, LOOK);
        let result = std::thread::scope(|scope| {
            let watching = scope.spawn(|| watch.run());
            let result = self.pump(&stream).and_then(|mut pump| pump.run(&mut asking, |_| false));
            watch.over.store(true, Ordering::Relaxed);
            let _ = watching.join();
            result
        });
        let (info, closed) = self.line.part(&stream, &asking, result.is_ok());
        let asked = asking.asked().unwrap_or(began);
        fill(&mut run, &asking, Kernel { info, history: watch.history(asked) }, asked);
        ConnectionResult { run, broken: result.err(), key: asking.key().filter(|_| closed) }
    }

    /// Sends datagrams that the server echoes, until all echoes have arrived or `enough` returns true.
    fn probes(
        &self,
        size: usize,
        interval: Span,
        count: Option<u32>,
        enough: &dyn Fn() -> bool,
    ) -> ConnectionResult {
        let began = self.clock.now();
        let mut run = Run { t: began.as_secs_f64(), ..Run::default() };
        let broken = self.probing(size, interval, count, enough, &mut run).err();
        ConnectionResult { run, broken, key: None }
    }

    fn probing(
        &self,
        size: usize,
        interval: Span,
        count: Option<u32>,
        enough: &dyn Fn() -> bool,
        run: &mut Run,
    ) -> Result<(), Disconnect> {
        let stream = self.line.connect()?;
        let mut asking = ClientProtocol::new(self.line.request(Job::Probes));
        let probed = self.probes_on(&stream, &mut asking, (size, interval, count), enough, run);
        let (info, _) = self.line.part(&stream, &asking, probed.is_ok());
        self.line.another(&info);
        probed
    }

    fn probes_on(
        &self,
        stream: &TcpStream,
        asking: &mut ClientProtocol,
        (size, interval, count): (usize, Span, Option<u32>),
        enough: &dyn Fn() -> bool,
        run: &mut Run,
    ) -> Result<(), Disconnect> {
        let mut pump = self.pump(stream)?;
        pump.run(asking, |asking| asking.echo().is_some())?;
        let lost = |error: io::Error| Disconnect::Lost(Loss::of("lost", &error));
        let Some((key, 1..)) = asking.echo() else {
            return Err(Disconnect::Lost(Loss::refused("the server echoes no datagrams")));
        };
        let here = stream.local_addr().map_err(lost)?;
        let socket = UdpSocket::bind(SocketAddr::new(here.ip(), 0)).map_err(lost)?;
        socket.connect(self.address).map_err(lost)?;
        let mut probing = Probing::new(key, size, interval, count, self.clock.now());
        let mut buffer = vec![0; 1 << 16];
        let mut last = self.clock.now();
        while !probing.is_done() && !enough() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let now = self.clock.now();
            if let Some(probe) = probing.next_out(now) {
                last = now;
                // A probe that cannot be sent counts as lost; the error may also stem from an earlier probe.
                let _ = socket.send(&probe);
            }
            let wake = probing.next_wake();
            if wake.is_never() && now.since(last) > LATEST {
                break;
            }
            let patience = self.clock.until(wake).min(Span::from_millis(100)).max(Span::from_nanos(50_000));
            socket.set_read_timeout(Some(Duration::from_nanos(patience.as_nanos()))).map_err(lost)?;
            if let Ok(n) = socket.recv(&mut buffer) {
                probing.on_datagram(self.clock.now(), &buffer[..n]);
            }
        }
        run.probes = probing.sent();
        run.doubled = probing.twice();
        let (t, s): (Vec<f64>, Vec<f64>) =
            probing.times().iter().map(|(t, s)| (t.as_secs_f64(), s.as_secs_f64())).unzip();
        (run.rtt_t, run.rtt_s) = (t, s);
        run.seconds = Some(self.clock.now().as_secs_f64() - run.t);
        pump.run(asking, |asking| {
            asking.end_probes();
            false
        })
    }

    /// Probes the idle path, then the path under load, and estimates the buffer.
    fn buffer(&self, test: &Test) -> ConnectionResult {
        let quiet = self.probes(SMALL, Span::from_millis(100), Some(BEFORE), &|| false);
        if quiet.broken.is_some() {
            return quiet;
        }
        let loaded = AtomicBool::new(true);
        let (mut load, beside) = std::thread::scope(|scope| {
            let probes =
                scope.spawn(|| self.probes(SMALL, BESIDE, None, &|| !loaded.load(Ordering::Relaxed)));
            let load = self.job(test.job(), Span::ZERO);
            loaded.store(false, Ordering::Relaxed);
            let nothing = || ConnectionResult { run: Run::default(), broken: None, key: None };
            (load, probes.join().unwrap_or_else(|_| nothing()))
        });
        load.run.buffer = estimate(test, &quiet.run, &load.run, &beside.run);
        load.run.probes = quiet.run.probes + beside.run.probes;
        load.run.rtt_t = [quiet.run.rtt_t, beside.run.rtt_t].concat();
        load.run.rtt_s = [quiet.run.rtt_s, beside.run.rtt_s].concat();
        load.broken = load.broken.or(beside.broken);
        load
    }

    fn pump<'s>(&'s self, stream: &'s TcpStream) -> Result<Pump<'s>, Disconnect> {
        Pump::new(stream, self.clock, self.stop, span(self.config.plan.stall), &self.filler)
            .map_err(|error| Disconnect::Lost(Loss::of("lost", &error)))
    }

    fn wait(&self, span: Span) {
        let until = self.clock.now() + span;
        while !self.stop.load(Ordering::Relaxed) && self.clock.now() < until {
            clock::sleep(self.clock.until(until).min(Span::from_millis(100)));
        }
    }
}

/// Adds the results of a connection to the entry.
fn fill(run: &mut Run, asking: &ClientProtocol, client: Kernel, asked: Time) {
    let report: Report = asking.report().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let since = asked.as_secs_f64();
    let (down, _) = asking.bytes();
    run.seconds = asking.duration().map(Span::as_secs_f64);
    // Bytes down are counted by the client; bytes up by the server, or by ACKs without a report.
    run.bytes = match (down, asking.report()) {
        (0, Some(_)) => report.received,
        (0, None) => client.get("bytes_acked").saturating_sub(1),
        (down, _) => down,
    };
    run.first_byte_s = asking.first_byte().map(Span::as_secs_f64);
    run.response_s = asking.transactions().iter().map(|(_, took)| took.as_secs_f64()).collect();
    run.rtt_t = asking.transactions().iter().map(|(t, _)| t.as_secs_f64()).collect();
    let mut pauses = asking.pauses_since(asked);
    pauses.extend(&report.pauses);
    run.pauses = pauses.iter().map(|p| Pause { t: p.t + since, until: p.until + since }).collect();
    run.client = client;
    run.server = report;
}

fn estimate(test: &Test, quiet: &Run, load: &Run, beside: &Run) -> Option<Estimate> {
    let down = matches!(test, Test::Buffer { down: true, .. });
    let sender = if down { &load.server.kernel } else { &load.client };
    let mss = sender.get("snd_mss").max(1) as f64;
    let stamps = if sender.get("options") & 1 == 1 { 12.0 } else { 0.0 };
    let rate = load.bytes as f64 * 8.0 / load.seconds?.max(1e-9) * (mss + 40.0 + stamps) / mss;
    // The buffer fills only after slow start.
    let from = load.t + load.seconds? / 4.0;
    let until = load.t + load.seconds?;
    let during = |t: &f64| (from..until).contains(t);
    let loaded: Vec<f64> =
        beside.rtt_t.iter().zip(&beside.rtt_s).filter(|(t, _)| during(t)).map(|(_, s)| *s).collect();
    buffer::estimate(&quiet.rtt_s, &loaded, rate, sender.get("total_retrans") > 0)
}
