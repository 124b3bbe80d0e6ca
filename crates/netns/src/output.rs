//! Output capture of commands, to a folder or to memory.
//!
//! Into a folder; or into memory, of which nothing is left when the process is gone, until somebody elsewhere has
//! been told.

use super::keeper::Streams;
use super::sys::process;
use crate::Error;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

/// Where to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outputs {
    /// Nobody wants it.
    #[default]
    Nowhere,
    /// Into files of this folder: a command's name, and `.stdout` or `.stderr`.
    Folder(PathBuf),
    /// It is told with what became of the command: the first [`MOST_OUTPUT`] of each.
    Memory,
}

/// Of what a command wrote so much is kept in memory, for each output.
pub const MOST_OUTPUT: u64 = 64 << 20;

/// What they are called.
pub const NAMES: [&str; 2] = ["stdout", "stderr"];

/// The outputs of one command, in memory.
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

    /// For the command to write to.
    pub fn streams(&self) -> Result<Streams, Error> {
        let Memory([out, err]) = self;
        let copy = |file: &File| file.try_clone().map_err(Error::of("making a file"));
        Ok(Streams::Files(copy(out)?, copy(err)?))
    }

    /// What was written; what is missing of it is added to `lacks`.
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

/// Files for the outputs of a command in this folder.
pub fn files(folder: &Path, command: &str) -> Result<Streams, Error> {
    let file = |end: &str| {
        let path = folder.join(format!("{command}.{end}"));
        let what = format!("writing {}", path.display());
        File::create(path).map_err(Error::of(what))
    };
    std::fs::create_dir_all(folder).map_err(Error::of(format!("making {}", folder.display())))?;
    Ok(Streams::Files(file(NAMES[0])?, file(NAMES[1])?))
}

/// Writes what came from elsewhere into such files.
pub fn write(folder: &Path, command: &str, outputs: &[Vec<u8>; 2]) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::of(format!("making {}", folder.display())))?;
    for (bytes, end) in outputs.iter().zip(NAMES) {
        let path = folder.join(format!("{command}.{end}"));
        std::fs::write(&path, bytes).map_err(Error::of(format!("writing {}", path.display())))?;
    }
    Ok(())
}
