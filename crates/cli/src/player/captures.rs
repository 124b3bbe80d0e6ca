//! Captures and detailed tables of selected repetitions in virtual time: parsing of the selection, files that the
//! runs for the results write, second run with full recording, one capture file per node.

use crate::console::exit::Failure;
use crate::console::streams::Console;
use crate::output::{VERSION, atomic_write};
use crate::player::kernels::KernelPlayer;
use capture::{OutgoingFrame, PcapngWriter, Reader, Tap};
use lab::capture::{CaptureFile, Captured, Streamed, SweepCaptures, stream};
use lab::sweep::Sweep;
use scenario::Model;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Outputs requested in addition to the results.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedOutputs {
    /// Repetitions with captures.
    pub(crate) pcap: Option<Repetitions>,
    /// Bytes kept of each packet in a capture; 0: all.
    pub(crate) snap: u32,
    /// Repetitions with files for `xplot`.
    pub(crate) xplot: Option<Repetitions>,
    /// Repetitions in `events.parquet`.
    pub(crate) events: Option<Repetitions>,
    /// Repetitions in `series.parquet`.
    pub(crate) series: Option<Repetitions>,
}

/// A selection of repetitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Repetitions {
    /// All repetitions.
    All,
    /// Ranges of repetitions, both ends included.
    Some(Vec<(u32, u32)>),
}

impl Repetitions {
    /// Parses `all`, or numbers and ranges: `0,3,7-9`.
    pub(crate) fn parse(text: &str) -> Result<Repetitions, String> {
        if text == "all" {
            return Ok(Repetitions::All);
        }
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let range = |part: &str| match part.split_once('-') {
            Some((from, to)) => number(from).zip(number(to)).filter(|(from, to)| from <= to),
            None => number(part).map(|n| (n, n)),
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(Repetitions::Some).ok_or_else(|| "repetitions are written `0,3,7-9` or `all`".to_owned())
    }

    pub(crate) fn has(&self, repetition: u32) -> bool {
        match self {
            Repetitions::All => true,
            Repetitions::Some(ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&repetition)),
        }
    }

    /// Largest selected repetition; `None` for all.
    fn last(&self) -> Option<u32> {
        match self {
            Repetitions::All => None,
            Repetitions::Some(ranges) => ranges.iter().map(|(_, to)| *to).max(),
        }
    }
}

impl RequestedOutputs {
    /// True if no output is requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().iter().all(|(_, asked)| asked.is_none())
    }

    fn all(&self) -> [(&'static str, &Option<Repetitions>); 4] {
        [
            ("--pcap", &self.pcap),
            ("--xplot", &self.xplot),
            ("--events", &self.events),
            ("--series", &self.series),
        ]
    }

    /// Refuses repetitions beyond those of the run.
    pub(crate) fn check(&self, repetitions: u32) -> Result<(), Failure> {
        for (option, asked) in self.all() {
            if let Some(last) = asked.as_ref().and_then(Repetitions::last).filter(|last| *last >= repetitions)
            {
                let message = format!("{option} requests repetition {last}, but the run has {repetitions}");
                let numbers = match repetitions {
                    1 => "its number is 0".to_owned(),
                    n => format!("they are numbered from 0 to {}", n - 1),
                };
                return Err(Failure::usage(message, numbers));
            }
        }
        Ok(())
    }

    /// Captures that the runs of a sweep with `cells` cells write into a folder; `None` without captures.
    pub(crate) fn captures(&self, cells: usize, folder: &Path) -> Option<SweepCaptures> {
        let (which, folder) = (self.pcap.clone()?, folder.to_owned());
        let wanted = move |rep| u32::try_from(rep).is_ok_and(|rep| which.has(rep));
        let open = move |cell, rep, tap: Option<&Tap>| -> io::Result<Box<dyn CaptureFile>> {
            let name = format!("{}.{}", beginning(cells, cell as usize, rep), ending(tap));
            Ok(Box::new(PartFile::create(folder.join(name))?))
        };
        Some(SweepCaptures::of(wanted, open, self.snap, &application()))
    }

    /// Runs the requested repetitions again with full recording, and writes the captures that the runs for the results
    /// have not written into the folder.
    pub(crate) fn write(
        &self,
        sweep: &Sweep,
        repetitions: u32,
        stage: Option<&KernelPlayer>,
        folder: &Path,
        console: &Console,
    ) -> Result<(), Failure> {
        let asked = |which: &Option<Repetitions>, rep| which.as_ref().is_some_and(|which| which.has(rep));
        let (mut captures, mut plots) = (0, 0);
        for (number, cell) in (0..sweep.cells.len()).filter_map(|at| Some((at, sweep.cells.good(at)?))) {
            for rep in 0..repetitions {
                let begin = beginning(sweep.cells.len(), number, u64::from(rep));
                let path = |end: &str| folder.join(format!("{begin}.{end}"));
                let kernels = stage.filter(|_| lab::sweep::real(&cell.model).is_some());
                if let Some(stage) = kernels {
                    // Packets of kernels are captured at the packet ports in full length.
                    if asked(&self.pcap, rep) {
                        let whole = path("pcapng");
                        stage.capture(&cell.model, u64::from(rep), &whole)?;
                        let bytes = std::fs::read(&whole).map_err(|error| Failure::write(&whole, &error))?;
                        captures += 1;
                        for (node, bytes) in nodes(&bytes, &cell.model) {
                            atomic_write::whole(&beside(&whole, &node), bytes)?;
                            captures += 1;
                        }
                    }
                    if asked(&self.xplot, rep) {
                        for (flow, picture) in stage.pictures(&cell.model, u64::from(rep))? {
                            let path = path(&format!("{}.xplot", plain(&flow)));
                            atomic_write::whole(&path, picture.xplot())?;
                            plots += 1;
                        }
                    }
                    continue;
                }
                if asked(&self.pcap, rep) {
                    let (cell_number, rep) = (number as u32, u64::from(rep));
                    let ran = sweep.captures.as_ref().and_then(|captures| captures.take(cell_number, rep));
                    captures += self.capture(&cell.model, rep, ran, &path)?;
                }
                if asked(&self.xplot, rep) {
                    for (flow, model) in cell.model.flows.iter().enumerate() {
                        let picture = lab::picture::picture(&cell.model, u64::from(rep), flow);
                        let path = path(&format!("{}.xplot", plain(&model.name)));
                        atomic_write::whole(&path, picture.xplot())?;
                        plots += 1;
                    }
                }
            }
        }
        let tell = |n: usize, what: &str| {
            if n > 0 {
                console.note(&format!("{n} {what}{} in {}", if n == 1 { "" } else { "s" }, folder.display()));
            }
        };
        tell(captures, "capture");
        tell(plots, "xplot file");
        super::detail::write(self, sweep, repetitions, folder, console)
    }

    /// Writes the captures of a repetition, unless its run for the results wrote them. Returns their number.
    fn capture(
        &self,
        model: &Model,
        repetition: u64,
        ran: Option<Captured>,
        path: &dyn Fn(&str) -> PathBuf,
    ) -> Result<usize, Failure> {
        let application = application();
        let file = |tap: Option<&Tap>| path(&ending(tap));
        let mut open = |tap: Option<&Tap>| Ok(BufWriter::with_capacity(1 << 18, File::create(file(tap))?));
        let mut streamed = |known| {
            let streamed = stream(model, repetition, self.snap, &application, known, &mut open);
            streamed.map_err(|error| Failure::write(&file(None), &error))
        };
        let streamed = match ran {
            Some(Captured::Whole(files)) => Streamed::Whole(files),
            Some(Captured::AtEnd) => Streamed::AtEnd,
            Some(Captured::Foreseen(known)) => streamed(Some(known))?,
            None => streamed(None)?,
        };
        match streamed {
            Streamed::Whole(files) => Ok(files),
            Streamed::AtEnd => {
                let capture = lab::capture::capture(model, repetition);
                let taps = capture.hosts().iter().map(Some).chain([None]).enumerate();
                for (number, tap) in taps {
                    let out = open(tap).map_err(|error| Failure::write(&file(tap), &error))?;
                    let written = capture.write(out, tap.map(|_| number), self.snap, &application);
                    written.map_err(|error| Failure::write(&file(tap), &error))?;
                }
                Ok(capture.hosts().len() + 1)
            }
        }
    }
}

/// Writing application in a capture's header.
fn application() -> String {
    format!("williwaw {VERSION}")
}

/// Beginning of the names of a repetition's files.
fn beginning(cells: usize, cell: usize, repetition: u64) -> String {
    match cells {
        1 => format!("rep{repetition}"),
        _ => format!("cell{cell}.rep{repetition}"),
    }
}

/// Ending of the name of a host's capture, or of that of all taps.
fn ending(tap: Option<&Tap>) -> String {
    tap.map_or_else(|| "pcapng".to_owned(), |tap| format!("{}.pcapng", plain(&tap.name)))
}

/// Temporary file beside its place, removed unless it is kept.
struct PartFile {
    file: File,
    part: PathBuf,
    place: PathBuf,
}

impl PartFile {
    fn create(place: PathBuf) -> io::Result<PartFile> {
        let part = atomic_write::beside(&place);
        Ok(PartFile { file: atomic_write::fresh(&part)?, part, place })
    }
}

impl Read for PartFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for PartFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl CaptureFile for PartFile {
    fn keep(&mut self) -> io::Result<()> {
        std::fs::rename(&self.part, &self.place)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // Of a file that was kept nothing is left here.
        let _ = std::fs::remove_file(&self.part);
    }
}

/// Splits a capture with one interface per tap into one capture per node of the model, with a single link type, so that
/// programs that refuse mixed link types can read it.
pub(crate) fn nodes(capture: &[u8], model: &Model) -> Vec<(String, Vec<u8>)> {
    let node = |name: &str| model.nodes.iter().any(|node| node.name == name);
    let Ok(mut reader) = Reader::open(capture) else { return Vec::new() };
    let mut files: Vec<Option<(String, PcapngWriter<Vec<u8>>)>> = Vec::new();
    while let Ok(Some(frame)) = reader.next() {
        let (at, wire_len) = (frame.interface as usize, frame.wire_len);
        let time_ns = u64::try_from(frame.time_ns).unwrap_or(0);
        let (bytes, comment) = (frame.bytes.to_vec(), frame.comments().next().unwrap_or_default().to_owned());
        while files.len() <= at {
            let interface = reader.interfaces().get(files.len());
            let named =
                interface.and_then(|i| Some((i.name.clone()?, i.link))).filter(|(name, _)| node(name));
            files.push(named.and_then(|(name, link)| {
                let tap = Tap { link, ..Tap::ip(&name) };
                let writer = PcapngWriter::new(Vec::new(), vec![tap], &format!("williwaw {VERSION}")).ok()?;
                Some((name, writer))
            }));
        }
        if let Some(Some((_, writer))) = files.get_mut(at) {
            // Writing to memory does not fail.
            let _ =
                writer.write(&OutgoingFrame { time_ns, tap: 0, wire_len, bytes: &bytes, comment: &comment });
        }
    }
    files.into_iter().flatten().filter_map(|(name, writer)| Some((name, writer.finish().ok()?))).collect()
}

/// Path of a node's capture beside the whole capture `first.pcapng`: `first.server.pcapng`.
pub(crate) fn beside(whole: &Path, node: &str) -> PathBuf {
    let end = whole.extension().map_or_else(|| "pcapng".to_owned(), |end| end.to_string_lossy().into_owned());
    whole.with_extension(format!("{}.{end}", plain(node)))
}

/// Name with characters that any file system permits.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_+".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_read() {
        let some = Repetitions::parse("0, 3,7-9").unwrap();
        assert_eq!(some, Repetitions::Some(vec![(0, 0), (3, 3), (7, 9)]));
        assert!(some.has(8) && !some.has(4) && some.last() == Some(9));
        assert!(Repetitions::parse("all").unwrap().has(1_000_000));
        for wrong in ["", "x", "3-1", "1,,2", "-1", "1-2-3"] {
            assert!(Repetitions::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn repetitions_that_do_not_exist_are_refused() {
        let wanted =
            RequestedOutputs { pcap: Some(Repetitions::Some(vec![(0, 4)])), ..RequestedOutputs::default() };
        assert!(wanted.check(5).is_ok() && wanted.check(4).is_err());
    }
}
