//! Serial ends of a wire: serial devices or pseudo-terminals; PPP frames cross the path, modem dialogue passes to the
//! opposite line directly.
//!
//! Frames between PPP flags cross the path, whatever their content. Bytes before the first flag are dialogue of modem
//! or login. Invalid frames are dropped and counted.

use super::{NamedTunnel, Tally};
use crate::Error;
use base::wire::hdlc::{self, Deframed, Deframer};
use netns::device::Tunnel;
use netns::sys::serial::{self, Setting};
use scenario::model::WireEnd;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Upper limit of bytes queued for a line, more than a pseudo-terminal buffers for a slow reader.
const WAITING: usize = 1 << 16;

/// Output queue of a serial line.
#[derive(Debug)]
struct Out {
    file: File,
    /// Bytes not yet written.
    waiting: VecDeque<u8>,
    /// Empty buffer, kept for its capacity.
    spare: Vec<u8>,
}

impl Out {
    /// Writes as many queued bytes as the line accepts.
    fn push(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.file.write(self.waiting.as_slices().0) {
                Ok(0) => break,
                Ok(n) => drop(self.waiting.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Appends a frame or other bytes, unless the queue is full.
    fn add(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        put(&mut bytes);
        let fits = self.waiting.len() + bytes.len() <= WAITING.max(bytes.len());
        if fits {
            self.waiting.extend(&bytes);
        }
        self.spare = bytes;
        self.push()?;
        if fits {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "no reader at the other end"))
        }
    }
}

/// Serial line at an end of a wire.
#[derive(Debug)]
struct SerialEnd {
    name: String,
    file: File,
    /// Opposite side of a pseudo-terminal. Kept open so that its user can close and reopen it.
    _theirs: Option<OwnedFd>,
    /// Settings of the device before the run.
    before: Option<Setting>,
    deframer: Deframer,
    /// Received frames not yet read by the driver.
    frames: VecDeque<Vec<u8>>,
    /// Output queue of this line.
    out: Arc<Mutex<Out>>,
    /// Output queue of the opposite line, for bytes outside of frames.
    other: Arc<Mutex<Out>>,
    tally: Arc<Tally>,
    buffer: Vec<u8>,
}

/// Opened line, before it is paired with the opposite line.
struct UnpairedEnd {
    name: String,
    file: File,
    theirs: Option<OwnedFd>,
    before: Option<Setting>,
}

fn open(wire: &WireEnd) -> Result<UnpairedEnd, Error> {
    let WireEnd::Serial { device, speed } = wire else {
        let (file, theirs, name) = serial::pair().map_err(|error| Error::Wire {
            why: format!("making a pseudo-terminal: {error}"),
            mend: "/dev/ptmx and /dev/pts have to be there".into(),
        })?;
        return Ok(UnpairedEnd { name, file, theirs: Some(theirs), before: None });
    };
    let (file, before) = serial::open(device, *speed).map_err(|error| {
        let mend = match error.kind() {
            io::ErrorKind::NotFound => "see which there are: ls /dev/tty*".into(),
            io::ErrorKind::PermissionDenied => {
                "the users of its group may (often `dialout`): usermod -aG dialout NAME, or start it as root"
                    .into()
            }
            io::ErrorKind::ResourceBusy => "another program uses it: end that first".into(),
            io::ErrorKind::InvalidInput if speed.is_some() => {
                let all: Vec<String> = serial::speeds().map(|speed| speed.to_string()).collect();
                format!("speeds are {}", all.join(", "))
            }
            _ if error.raw_os_error() == Some(libc::ENOTTY) => "this is no serial device".into(),
            _ => String::new(),
        };
        Error::Wire { why: format!("opening `{device}`: {error}"), mend }
    })?;
    Ok(UnpairedEnd { name: device.clone(), file, theirs: None, before: Some(before) })
}

/// Opens both serial lines of a wire.
pub(super) fn both(wires: [&WireEnd; 2], tallies: &[Arc<Tally>; 2]) -> Result<Vec<NamedTunnel>, Error> {
    let [one, other] = wires;
    let singles = [open(one)?, open(other)?];
    let mut outs = Vec::new();
    for single in &singles {
        let file = single.file.try_clone().map_err(Error::of("copying a file"))?;
        outs.push(Arc::new(Mutex::new(Out { file, waiting: VecDeque::new(), spare: Vec::new() })));
    }
    let mut ends: Vec<NamedTunnel> = Vec::new();
    for (i, (single, tally)) in singles.into_iter().zip(tallies).enumerate() {
        let line = SerialEnd {
            name: single.name.clone(),
            file: single.file,
            _theirs: single.theirs,
            before: single.before,
            deframer: Deframer::default(),
            frames: VecDeque::new(),
            out: outs[i].clone(),
            other: outs[1 - i].clone(),
            tally: tally.clone(),
            buffer: vec![0; 4096],
        };
        ends.push((single.name, Box::new(line)));
    }
    Ok(ends)
}

impl SerialEnd {
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
    }
}

impl Tunnel for SerialEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let pushed = self.out.lock().unwrap_or_else(PoisonError::into_inner).push();
        pushed.map_err(|error| self.named(&error))?;
        loop {
            if let Some(frame) = self.frames.pop_front() {
                let place = into.get_mut(..frame.len()).ok_or(io::ErrorKind::InvalidData)?;
                place.copy_from_slice(&frame);
                return Ok(frame.len());
            }
            let n = match self.file.read(&mut self.buffer) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        format!("{}: hung up", self.name),
                    ));
                }
                Ok(n) => n,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
                {
                    return Err(error);
                }
                Err(error) => return Err(self.named(&error)),
            };
            let (frames, tally, other) = (&mut self.frames, &self.tally, &self.other);
            self.deframer.take(&self.buffer[..n], |found| match found {
                Deframed::Frame(frame) => frames.push_back(frame.to_vec()),
                Deframed::Wrong(why) => tally.wrong(why),
                Deframed::Talk(bytes) => {
                    Tally::count(&tally.unframed_bytes, bytes.len() as u64);
                    let mut other = other.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Err(error) = other.add(|line| line.extend(bytes)) {
                        tally.refused("the other line", bytes.len(), error);
                    }
                }
            });
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let added = out.add(|line| hdlc::put(frame, line));
        added.map_err(|error| self.tally.refused(&self.name, frame.len(), error))
    }

    fn wants_to_write(&self) -> bool {
        !self.out.lock().unwrap_or_else(PoisonError::into_inner).waiting.is_empty()
    }
}

impl AsRawFd for SerialEnd {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for SerialEnd {
    /// Restores the device settings from before the run.
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            serial::restore(self.file.as_raw_fd(), before);
        }
    }
}
