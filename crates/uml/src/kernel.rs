//! Build of a User-Mode Linux kernel into a cache: sources, options, patches, guest programs, checks of
//! features.
//!
//! Kernel sources are built for the architecture `um` with the options in `kernel/config` and two patches.
//! One patch sets a tick of 250 Hz as in distributions (with 100 Hz, timers are rounded to 10 ms). The other
//! patch enlarges the buffer for the floating-point registers of a processor.

use crate::Error;
#[cfg(target_os = "linux")]
use crate::sys::holds;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Kernel options.
const OPTIONS: &str = include_str!("../kernel/config");
/// Required options.
const NEEDED: &[&str] =
    &["UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "VIRTIO_NET", "HOSTFS", "INET", "PROC_SYSCTL", "NULL_CHAN"];
/// Tools of a build, and the Debian package of each.
const TOOLS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("strip", "binutils"),
];
/// Folder of kernel sources in distributions.
const SOURCES: &str = "/usr/src";
/// Sources of the guest's init (header file first), and of the randomness library.
const INIT: &[(&str, &str)] = &[
    ("guest.h", include_str!("../guest/guest.h")),
    ("init.c", include_str!("../guest/init.c")),
    ("bulk.c", include_str!("../guest/bulk.c")),
    ("agent.c", include_str!("../guest/agent.c")),
    ("datagrams.c", include_str!("../guest/datagrams.c")),
    ("commands.c", include_str!("../guest/commands.c")),
    ("calls.c", include_str!("../guest/calls.c")),
    ("pcu.c", include_str!("../guest/pcu.c")),
];
const SEED: &[(&str, &str)] = &[("seed.c", include_str!("../guest/seed.c"))];

/// Patch of a source file, applied if the file contains `from`.
struct Change {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const CHANGES: &[Change] = &[
    Change {
        file: "arch/um/Kconfig",
        from: "config HZ\n\tint\n\tdefault 100\n",
        to: "config HZ\n\tint\n\tdefault 250\n",
    },
    Change {
        file: "arch/x86/um/user-offsets.c",
        from: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        to: "DEFINE_LONGS(HOST_FP_SIZE, 11264);",
    },
];

/// Parameters of a kernel build.
#[derive(Clone, Debug)]
pub struct Build {
    /// Source tree, or an archive of one.
    pub source: PathBuf,
    /// Name of the kernel in the cache.
    pub name: String,
    /// Number of parallel jobs.
    pub jobs: usize,
}

fn asked(what: impl Into<String>, mend: impl Into<String>) -> Error {
    Error::Asked { what: what.into(), mend: mend.into() }
}

/// Newest archive of kernel sources that is installed as a package.
///
/// # Errors
/// No archive is installed.
pub fn find_source() -> Result<PathBuf, Error> {
    let entries = fs::read_dir(SOURCES).into_iter().flatten().flatten().map(|entry| entry.path());
    let version = |path: &Path| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?.strip_prefix("linux-source-")?;
        let end = [".tar.xz", ".tar.bz2", ".tar.gz"].iter().find_map(|end| name.strip_suffix(end))?;
        end.split('.').map(|part| part.parse().ok()).collect()
    };
    let found = entries.filter_map(|path| Some((version(&path)?, path))).max();
    found.map(|(_, path)| path).ok_or_else(|| {
        asked(
            format!("there are no kernel sources in {SOURCES}"),
            "install the package linux-source-6.12 (Debian, Ubuntu: linux-source), or give --source DIR or TARBALL",
        )
    })
}

/// Packages missing for a build.
pub fn missing() -> Vec<&'static str> {
    let there = |tool: &str| {
        let mut command = Command::new(tool);
        command
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok()
    };
    TOOLS.iter().filter(|(tool, _)| !there(tool)).map(|(_, package)| *package).collect()
}

/// Hash of kernel options and patches.
fn recipe() -> String {
    let changes = CHANGES.iter().flat_map(|change| [change.file, change.from, change.to]);
    let texts: String = std::iter::once(OPTIONS).chain(changes).collect();
    format!("{:016x}", base::rng::fnv1a(&texts))
}

/// Whether the cache has a kernel of this name with the current options.
pub fn is_current(cache: &Path, name: &str) -> bool {
    let kernel = place(cache, name);
    let made = fs::read_to_string(kernel.with_file_name(RECIPE)).unwrap_or_default();
    kernel.is_file() && made.trim() == recipe()
}

/// File in a kernel's folder of the cache with the hash of the kernel's options.
const RECIPE: &str = "options";

/// Path of a kernel of this name.
pub fn place(cache: &Path, name: &str) -> PathBuf {
    cache.join("kernels").join(name).join("linux")
}

/// Builds a kernel into the cache and returns its path; `progress` is called with messages.
///
/// # Errors
/// A tool is missing, or a step fails; the message contains the end of the step's output.
pub fn build(what: &Build, cache: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf, Error> {
    let missing = missing();
    if !missing.is_empty() {
        let list = missing.join(" ");
        return Err(asked(
            format!("a kernel cannot be built without {list}"),
            format!("install them: apt-get install {list}"),
        ));
    }
    let trees = cache.join("trees");
    fs::create_dir_all(&trees).map_err(Error::of(format!("making `{}`", trees.display())))?;
    let _turn = alone(&trees.join(format!("{}.lock", what.name)), progress)?;
    let whole = what.source.is_dir();
    let tree = trees.join(if whole { format!("{}-tree", what.name) } else { what.name.clone() });
    if whole {
        copy_tree(&what.source, &tree, progress)?;
    } else {
        unpack(&what.source, &tree, progress)?;
    }
    let made = make(what, &tree, cache, progress);
    // A copied tree is kept, so that the next build is incremental; an unpacked archive is removed.
    if !whole && made.is_ok() {
        let _ = fs::remove_dir_all(&tree);
    }
    made
}

/// Waits until no other process builds a kernel of this name; two builds in one tree destroy each other. The lock ends
/// with the file handle, so also when the process is killed.
fn alone(lock: &Path, progress: &dyn Fn(&str)) -> Result<fs::File, Error> {
    let wrong = || Error::of(format!("locking `{}`", lock.display()));
    let file = fs::File::create(lock).map_err(wrong())?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            progress("waiting for another build of this kernel");
            file.lock().map_err(wrong())?;
        }
        Err(fs::TryLockError::Error(e)) => return Err(wrong()(e)),
    }
    Ok(file)
}

fn unpack(archive: &Path, tree: &Path, progress: &dyn Fn(&str)) -> Result<(), Error> {
    if !archive.is_file() {
        return Err(asked(
            format!("there are no kernel sources at `{}`", archive.display()),
            "name a folder or an archive",
        ));
    }
    progress(&format!("unpacking {}", archive.display()));
    let _ = fs::remove_dir_all(tree);
    fs::create_dir_all(tree).map_err(Error::of(format!("making `{}`", tree.display())))?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(tree).arg("--strip-components=1");
    step("unpacking", &mut tar, &tree.with_extension("log"))
}

/// Copies the newer files of a user's source tree, which stays unchanged.
fn copy_tree(source: &Path, tree: &Path, progress: &dyn Fn(&str)) -> Result<(), Error> {
    if !source.join("arch/um/Kconfig").is_file() {
        return Err(asked(
            format!("`{}` is no tree of kernel sources", source.display()),
            "name the folder that holds `arch`, `net` and `Makefile`",
        ));
    }
    progress(&format!("copying {}", source.display()));
    let first = !tree.is_dir();
    fs::create_dir_all(tree).map_err(Error::of(format!("making `{}`", tree.display())))?;
    let log = tree.with_extension("log");
    let entries = fs::read_dir(source).map_err(Error::of(format!("reading `{}`", source.display())))?;
    let names = entries.flatten().map(|entry| entry.path());
    let mut parts: Vec<PathBuf> = names
        .filter(|path| path.file_name().is_some_and(|n| n != ".git" && n != ".config" && n != "vmlinux"))
        .collect();
    parts.sort();
    let mut copy = Command::new("cp");
    copy.arg("-a").arg("-u").arg("--reflink=auto").args(parts).arg(tree);
    step("copying", &mut copy, &log)?;
    if first {
        let mut clean = Command::new("make");
        clean.arg("-C").arg(tree).arg("ARCH=um").arg("mrproper");
        step("cleaning the copy", &mut clean, &log)?;
    }
    Ok(())
}

fn make(what: &Build, tree: &Path, cache: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf, Error> {
    for change in CHANGES {
        let path = tree.join(change.file);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if text.contains(change.from) {
            let text = text.replace(change.from, change.to);
            fs::write(&path, text).map_err(Error::of(format!("changing `{}`", path.display())))?;
        }
    }
    let log = tree.with_extension("log");
    let options = tree.join("williwaw.config");
    fs::write(&options, OPTIONS).map_err(Error::of("writing the options"))?;
    let run = |args: &[&str], extra: &str| -> Result<(), Error> {
        let mut make = Command::new("make");
        make.arg("-C").arg(tree).arg("ARCH=um").args(args);
        if !extra.is_empty() {
            make.arg(extra);
        }
        step("make", &mut make, &log)
    };
    run(&["allnoconfig"], &format!("KCONFIG_ALLCONFIG={}", options.display()))?;
    let config = fs::read_to_string(tree.join(".config")).map_err(Error::of("reading the options made"))?;
    let lacks = |name: &&&str| !config.lines().any(|line| line == format!("CONFIG_{name}=y"));
    if let Some(name) = NEEDED.iter().find(lacks) {
        return Err(asked(
            format!("these sources have no option {name}"),
            "kernels from 6.1 on have it for the architecture um",
        ));
    }
    progress(&format!("building {} with {} processes; this takes some minutes", what.name, what.jobs));
    run(&[&format!("-j{}", what.jobs), "linux"], "")?;
    let kernel = place(cache, &what.name);
    let folder = kernel.parent().unwrap_or(cache);
    fs::create_dir_all(folder).map_err(Error::of(format!("making `{}`", folder.display())))?;
    let fresh = kernel.with_extension("new");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&fresh).arg(tree.join("linux"));
    step("strip", &mut strip, &log)?;
    // A kernel without this file counts as outdated.
    let _ = fs::remove_file(kernel.with_file_name(RECIPE));
    fs::rename(&fresh, &kernel).map_err(Error::of("keeping the kernel"))?;
    fs::write(kernel.with_file_name(RECIPE), recipe()).map_err(Error::of("noting the options"))?;
    let _ = fs::remove_file(&log);
    Ok(kernel)
}

/// Runs one step of the build; its output goes to `log`, and the end of the output into the error.
fn step(name: &str, command: &mut Command, log: &Path) -> Result<(), Error> {
    let open = || -> io::Result<(File, File)> {
        let file = File::create(log)?;
        Ok((file.try_clone()?, file))
    };
    let (out, err) = open().map_err(Error::of(format!("writing `{}`", log.display())))?;
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    let status = command.status().map_err(Error::of(name.to_owned()))?;
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    let _ = File::open(log).and_then(|mut file| file.read_to_end(&mut text));
    Err(Error::guest(
        "williwaw linux build",
        format!("{name} failed ({status}), see {}", log.display()),
        &text,
    ))
}

/// The guest's init and the randomness library, compiled once from embedded sources and cached.
///
/// # Errors
/// There is no compiler, or no static C library.
pub fn guest_programs(cache: &Path) -> Result<(PathBuf, PathBuf), Error> {
    let texts: String = INIT.iter().chain(SEED).flat_map(|(name, text)| [*name, *text]).collect();
    let folder = cache.join("guest").join(format!("{:016x}", base::rng::fnv1a(&texts)));
    let (init, seed) = (folder.join("init"), folder.join("seed.so"));
    // Only one thread of this process compiles.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    if init.is_file() && seed.is_file() {
        return Ok((init, seed));
    }
    for (sources, to, how) in [(INIT, &init, &["-static"][..]), (SEED, &seed, &["-shared", "-fPIC"][..])] {
        // A concurrent process compiles in a folder of its own.
        let place = to.with_extension(std::process::id().to_string());
        fs::create_dir_all(&place).map_err(Error::of(format!("making `{}`", place.display())))?;
        let mut cc = Command::new("cc");
        cc.current_dir(&place).args(["-O2", "-o", "made"]).args(how);
        for (name, text) in sources {
            let source = place.join(name);
            fs::write(&source, text).map_err(Error::of(format!("writing `{}`", source.display())))?;
            if name.ends_with(".c") {
                cc.arg(name);
            }
        }
        step("compiling the program of a guest", &mut cc, &place.join("log"))?;
        fs::rename(place.join("made"), to).map_err(Error::of("storing the program of a guest"))?;
        let _ = fs::remove_dir_all(&place);
    }
    Ok((init, seed))
}

/// Whether `bytes` contain `text`.
#[cfg(not(target_os = "linux"))]
fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|part| part == text)
}

/// Checks that a kernel has overlay file systems, which programs need for a writable root.
///
/// # Errors
/// The kernel has no overlay file system, or cannot be read.
pub fn has_overlays(kernel: &Path) -> Result<(), Error> {
    let shown = kernel.display();
    let bytes = fs::read(kernel).map_err(Error::of(format!("reading the kernel `{shown}`")))?;
    if holds(&bytes, OVERLAYS) {
        return Ok(());
    }
    Err(asked(
        format!("the kernel `{shown}` cannot run programs: it has no overlay file system"),
        "build it again: williwaw linux build; in a build of your own, CONFIG_OVERLAY_FS=y",
    ))
}

/// Text in every kernel with an overlay file system: a mount option.
const OVERLAYS: &[u8] = b"upperdir";

/// Checks that a kernel has DCCP with CCID 3.
///
/// # Errors
/// The kernel has no DCCP with CCID 3, or cannot be read.
pub fn has_dccp(kernel: &Path) -> Result<(), Error> {
    let shown = kernel.display();
    let bytes = fs::read(kernel).map_err(Error::of(format!("reading the kernel `{shown}`")))?;
    if holds(&bytes, CCID3) {
        return Ok(());
    }
    Err(asked(
        format!("the kernel `{shown}` does not support DCCP"),
        "build it again: williwaw linux build; in a build of your own, CONFIG_IP_DCCP=y and CONFIG_IP_DCCP_CCID3=y (up to Linux 6.15)",
    ))
}

/// Text in every kernel with CCID 3.
const CCID3: &[u8] = b"TCP-Friendly Rate Control";

/// Release of a kernel, queried without a boot.
///
/// # Errors
/// The file is no User-Mode Linux kernel, or lacks time travel.
pub fn probe(kernel: &Path) -> Result<String, Error> {
    let shown = kernel.display();
    let bytes = fs::read(kernel).map_err(Error::of(format!("reading the kernel `{shown}`")))?;
    let has = |text: &[u8]| holds(&bytes, text);
    if !has(b"uml_dir=") {
        return Err(asked(
            format!("`{shown}` is no kernel for User-Mode Linux"),
            "build one: williwaw linux build",
        ));
    }
    if !has(b"time-travel=ext") {
        return Err(asked(
            format!("the kernel `{shown}` has no time travel"),
            "build one that has: williwaw linux build; in a build of your own, CONFIG_UML_TIME_TRAVEL_SUPPORT=y",
        ));
    }
    let mut command = Command::new(kernel);
    command.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    let out = command.output().map_err(Error::of(format!("asking the kernel `{shown}`")))?;
    let version = String::from_utf8_lossy(&out.stdout);
    let release: String = version.lines().next().unwrap_or("").trim().chars().take(80).collect();
    Ok(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cached kernel with outdated options is rebuilt.
    #[test]
    fn a_kernel_built_with_other_options_is_not_current() {
        let cache = std::env::temp_dir().join(format!("williwaw-recipe-{}", std::process::id()));
        let kernel = place(&cache, "mine");
        assert!(!is_current(&cache, "mine"), "there is none");
        fs::create_dir_all(kernel.parent().expect("a folder")).expect("a folder");
        fs::write(&kernel, "a kernel").expect("a file");
        assert!(!is_current(&cache, "mine"), "nobody knows its options");
        fs::write(kernel.with_file_name(RECIPE), recipe()).expect("a file");
        assert!(is_current(&cache, "mine"));
        fs::write(kernel.with_file_name(RECIPE), "0123456789abcdef").expect("a file");
        assert!(!is_current(&cache, "mine"), "they were others");
        fs::remove_dir_all(&cache).expect("it can be removed");
    }

    /// A second build waits until the first one has ended.
    #[test]
    fn builds_of_one_kernel_follow_each_other() {
        let folder = std::env::temp_dir().join(format!("williwaw-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (lock, (said, heard)) = (folder.join("mine.lock"), std::sync::mpsc::channel());
        let first = alone(&lock, &|message| panic!("{message}")).expect("a lock");
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                alone(&lock, &|message| said.send(message.to_owned()).expect("a reader")).expect("a lock");
                assert!(ended.load(std::sync::atomic::Ordering::SeqCst), "the first one still runs");
            });
            assert_eq!(heard.recv().expect("a message"), "waiting for another build of this kernel");
            ended.store(true, std::sync::atomic::Ordering::SeqCst);
            drop(first);
            second.join().expect("no panic");
        });
        fs::remove_dir_all(&folder).expect("it can be removed");
    }

    #[test]
    fn the_options_have_both_judges() {
        for option in ["CONFIG_IP_SCTP=y", "CONFIG_IP_DCCP=y", "CONFIG_IP_DCCP_CCID3=y"] {
            assert!(OPTIONS.lines().any(|line| line == option), "{option}");
        }
    }
}
