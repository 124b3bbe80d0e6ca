//! Start of a guest kernel: parameters, working folder, command line, connection to the calendar.
//!
//! The working folder contains the guest's init and its task. All inputs of the kernel are equal in every run of a
//! repetition.

use super::{Guest, GuestState, LOOK, TEXT};
use crate::calendar::Calendar;
use crate::folder::{folder, listen};
use crate::memory::Mapped;
use crate::nic::Nic;
use crate::schedule::{self, Schedule};
use crate::{Error, sys};
use base::Rate;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Wall-clock time at the start of every guest, ns: 2001-09-09 01:46:40 UTC.
const EPOCH: u64 = 1_000_000_000_000_000_000;
/// Hardware address of every guest; each is alone on its link.
const MAC: [u8; 6] = [0x02, 0x77, 0x69, 0x6c, 0x6c, 0x69];

/// Parameters of a guest kernel.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name in messages, such as `download@server`.
    pub name: String,
    /// Kernel binary.
    pub kernel: PathBuf,
    /// Program of the guest's init, linked or copied into the working folder.
    pub init: PathBuf,
    /// Preloaded library that derives randomness from [`Setup::seed`]; none: the machine's randomness.
    pub chance: Option<PathBuf>,
    /// Parent of the working folder.
    pub place: PathBuf,
    /// Files of the task for the guest's init: name and text.
    pub files: Vec<(String, String)>,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// Memory, MiB. Untouched memory costs nothing, but the kernel derives its buffer sizes from it.
    pub memory_mib: u32,
    /// Largest packet that the network card can receive, bytes.
    pub largest: u32,
    /// Transmission rate of the network card; none: unlimited.
    pub modem: Option<Rate>,
    /// Real time for which a running kernel may be silent.
    pub patience: Duration,
}

impl Guest {
    /// Starts a kernel and waits until it has connected to the calendar. The kernel is then at time 0 and has not
    /// run.
    ///
    /// # Errors
    /// It cannot be started, exits, or hangs.
    pub fn start(setup: &Setup) -> Result<Guest, Error> {
        let (folder, lock) = folder(&setup.place)?;
        let started = Guest::within(setup, &folder, lock);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn within(setup: &Setup, folder: &Path, lock: File) -> Result<Guest, Error> {
        let refused = |what: &str| Error::of(format!("{}: {what}", setup.name));
        let init = folder.join("init");
        // A hard link costs no space; a folder on another file system needs a copy.
        std::fs::hard_link(&setup.init, &init)
            .or_else(|_| std::fs::copy(&setup.init, &init).map(drop))
            .map_err(refused("laying out its first process"))?;
        for (name, text) in &setup.files {
            std::fs::write(folder.join(name), text).map_err(refused("laying out its task"))?;
        }
        // The guest writes no file before it has results, because its kernel compares dates of host files, which
        // depend on real time.
        for place in ["proc", "host", "over", "whole"] {
            std::fs::create_dir(folder.join(place)).map_err(refused("laying out its folder"))?;
        }
        let calendar = listen(folder, "calendar").map_err(refused("opening its calendar"))?;
        let listener = listen(folder, "nic").map_err(refused("opening its network card"))?;
        let shared = sys::Shared::new(schedule::WORDS).map_err(refused("sharing its schedule"))?;
        let shared = Arc::new(shared);
        let log = File::options().write(true).open("/dev/null").map_err(refused("sharing its schedule"))?;
        let mut command = Command::new(&setup.kernel);
        // The kernel adds its command line to its random numbers, so the line is identical in every run.
        command.args([
            format!("mem={}M", setup.memory_mib).as_str(),
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd",
            "ro",
            "init=/init",
            "con=null",
            "con0=null,fd:1",
            "quiet",
            "uml_dir=./",
            "umid=state",
            "virtio_uml.device=nic:1",
            "time-travel=ext:1:calendar",
        ]);
        command.env_clear().current_dir(folder).process_group(0);
        command.env("WILLIWAW_SEED", format!("{:016x}", setup.seed));
        if let Some(chance) = &setup.chance {
            command.env("LD_PRELOAD", chance);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::tame(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Refused {
            what: format!("{}: starting the kernel `{}`", setup.name, setup.kernel.display()),
            source,
        })?;
        let console = child.stdout.take();
        let mut text = Vec::new();
        let met = meet(&calendar, &mut child, setup.patience);
        let time = match met {
            Ok(Some(time)) => time,
            Ok(None) => {
                let why = match child.try_wait() {
                    Ok(Some(status)) => format!("it ended ({status}) before it requested the time"),
                    _ => format!("it did not request the time within {:?}", setup.patience),
                };
                sys::kill_group(child.id());
                let _ = child.wait();
                if let Some(mut console) = console {
                    let _ = console.by_ref().take(TEXT as u64).read_to_end(&mut text);
                }
                return Err(Error::guest(&setup.name, why, &text).mend(NO_TRAVEL));
            }
            Err(source) => {
                sys::kill_group(child.id());
                let _ = child.wait();
                return Err(Error::Refused { what: format!("{}: its calendar", setup.name), source });
            }
        };
        let _ = time.set_write_timeout(Some(setup.patience));
        Ok(Guest {
            name: setup.name.clone(),
            child,
            folder: folder.to_owned(),
            _lock: lock,
            patience: setup.patience,
            calendar: Calendar::new(EPOCH).with_schedule(Schedule::new(shared.clone())),
            offer: Some((shared, log)),
            time,
            listener: Some(listener),
            device: None,
            channel: None,
            memory: Mapped::default(),
            nic: Nic::new(MAC, setup.modem.is_some(), setup.largest),
            received: Vec::new(),
            asked: Vec::new(),
            answered: Vec::new(),
            files: Vec::new(),
            console,
            text,
            state: GuestState::default(),
            coming: VecDeque::new(),
            words: Vec::new(),
            completion: false,
            modem: setup.modem,
            sending: VecDeque::new(),
        })
    }
}

const NO_TRAVEL: &str = "it needs a kernel for User-Mode Linux built with time travel: `williwaw linux build` makes one, `williwaw linux doctor` looks at it";

/// Waits for the kernel to connect to the calendar; `None` if it does not.
fn meet(ear: &UnixListener, child: &mut Child, patience: Duration) -> io::Result<Option<UnixStream>> {
    let looks = (patience.as_millis() / LOOK.as_millis()).max(1);
    for _ in 0..looks {
        let [there] = sys::wait([Some(ear.as_raw_fd())], LOOK.as_millis() as i32)?;
        if there {
            return ear.accept().map(|(stream, _)| Some(stream));
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}
