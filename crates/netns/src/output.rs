//! Output of commands: to files in a folder, to memory with a limit, or discarded.
//!
//! Memory output leaves no file behind if the process dies before the output is sent to another host.

use super::keeper::Streams;
use super::sys::process;
use crate::Error;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

/// Destination of the output of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outputs {
    /// Discarded.
    #[default]
    Nowhere,
    /// Files in this folder: name of the command with `.stdout` or `.stderr`.
    Folder(PathBuf),
    /// Memory, returned with the result of the command: the first [`MOST_OUTPUT`] bytes of each stream.
    Memory,
}

/// Upper limit of bytes kept in memory for each stream.
pub const MOST_OUTPUT: u64 = 64 << 20;

/// Names of the streams.
pub const NAMES: [&str; 2] = ["stdout", "stderr"];

/// Output of one command in memory: standard output and standard error.
#[derive(Debug)]
pub struct Memory([File; 2]);

impl Memory {
    /// Anonymous files for both streams.
    ///
    /// # Errors
    /// The kernel refused one.
    pub fn new() -> Result<Memory, Error> {
        let file = || process::memory_file(c"output").map(File::from).map_err(Error::of("making a file"));
        Ok(Memory([file()?, file()?]))
    }

    /// Streams for the start of the command.
    pub fn streams(&self) -> Result<Streams, Error> {
        let Memory([out, err]) = self;
        let copy = |file: &File| file.try_clone().map_err(Error::of("making a file"));
        Ok(Streams::Files(copy(out)?, copy(err)?))
    }

    /// Output of the command; truncations are reported in `lacks`.
    pub fn read(&mut self, lacks: &mut Vec<String>) -> Result<[Vec<u8>; 2], Error> {
        let mut all: [Vec<u8>; 2] = Default::default();
        for ((file, kept), name) in self.0.iter_mut().zip(&mut all).zip(NAMES) {
            let read = file.rewind().and_then(|()| (&mut *file).take(MOST_OUTPUT).read_to_end(kept));
            read.map_err(Error::of("reading what a command wrote"))?;
            let length = file.metadata().map_or(0, |data| data.len());
            if length > MOST_OUTPUT {
                lacks.push(format!("of {length} B on {name} the first {MOST_OUTPUT} are kept"));
            }
        }
        Ok(all)
    }
}

/// Output files of a command in a folder.
pub fn files(folder: &Path, command: &str) -> Result<Streams, Error> {
    let file = |end: &str| {
        let path = folder.join(format!("{command}.{end}"));
        let what = format!("writing {}", path.display());
        File::create(path).map_err(Error::of(what))
    };
    std::fs::create_dir_all(folder).map_err(Error::of(format!("making {}", folder.display())))?;
    Ok(Streams::Files(file(NAMES[0])?, file(NAMES[1])?))
}

/// Writes output received from another host to the files of [`files`].
pub fn write(folder: &Path, command: &str, outputs: &[Vec<u8>; 2]) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::of(format!("making {}", folder.display())))?;
    for (bytes, end) in outputs.iter().zip(NAMES) {
        let path = folder.join(format!("{command}.{end}"));
        std::fs::write(&path, bytes).map_err(Error::of(format!("writing {}", path.display())))?;
    }
    Ok(())
}
