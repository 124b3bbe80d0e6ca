//! Serial devices and pseudo-terminals in raw mode, so that every byte passes unchanged: opening, speed, settings.

use super::{check, check_fd};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};

/// Saved terminal settings.
pub struct Setting(libc::termios);

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Setting")
    }
}

/// Supported speeds, bit/s, and their kernel constants.
const SPEEDS: [(u32, libc::speed_t); 24] = [
    (50, libc::B50),
    (300, libc::B300),
    (600, libc::B600),
    (1_200, libc::B1200),
    (2_400, libc::B2400),
    (4_800, libc::B4800),
    (9_600, libc::B9600),
    (19_200, libc::B19200),
    (38_400, libc::B38400),
    (57_600, libc::B57600),
    (115_200, libc::B115200),
    (230_400, libc::B230400),
    (460_800, libc::B460800),
    (500_000, libc::B500000),
    (576_000, libc::B576000),
    (921_600, libc::B921600),
    (1_000_000, libc::B1000000),
    (1_152_000, libc::B1152000),
    (1_500_000, libc::B1500000),
    (2_000_000, libc::B2000000),
    (2_500_000, libc::B2500000),
    (3_000_000, libc::B3000000),
    (3_500_000, libc::B3500000),
    (4_000_000, libc::B4000000),
];

/// Supported speeds, bit/s.
pub fn speeds() -> impl Iterator<Item = u32> {
    SPEEDS.iter().map(|(speed, _)| *speed)
}

/// Sets a device to raw mode without modem control, with this speed or the present one. Returns the previous settings.
fn raw(fd: RawFd, speed: Option<u32>) -> io::Result<Setting> {
    // SAFETY: the kernel writes one structure, of which all bytes zero is a value, and reads one.
    unsafe {
        let mut setting: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(fd, &raw mut setting))?;
        let before = Setting(setting);
        libc::cfmakeraw(&raw mut setting);
        setting.c_cflag |= libc::CLOCAL | libc::CREAD;
        setting.c_cflag &= !libc::CRTSCTS;
        if let Some(speed) = speed {
            let known = SPEEDS.iter().find(|(bits, _)| *bits == speed);
            let &(_, word) = known.ok_or(io::ErrorKind::InvalidInput)?;
            check(libc::cfsetspeed(&raw mut setting, word))?;
        }
        check(libc::tcsetattr(fd, libc::TCSAFLUSH, &raw const setting))?;
        Ok(before)
    }
}

/// Restores saved settings.
pub fn restore(fd: RawFd, setting: &Setting) {
    // SAFETY: the kernel reads one structure. Refused only where the device is gone.
    unsafe { libc::tcsetattr(fd, libc::TCSANOW, &raw const setting.0) };
}

fn file(fd: OwnedFd) -> File {
    // SAFETY: the descriptor is ours, and given on.
    unsafe { File::from_raw_fd(fd.into_raw_fd()) }
}

fn open_at(path: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the name ends with a zero and outlives the call.
    check_fd(unsafe { libc::open(path.as_ptr(), flags) })
}

/// Opens a serial device exclusively; also returns its previous settings.
pub fn open(path: &str, speed: Option<u32>) -> io::Result<(File, Setting)> {
    let device = open_at(&CString::new(path)?)?;
    let before = raw(device.as_raw_fd(), speed)?;
    // SAFETY: no memory is involved.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::TIOCEXCL) })?;
    Ok((file(device), before))
}

/// Creates a pseudo-terminal: own side, opposite side, and path of the opposite side. The opposite side stays open, so
/// that its user may close it.
pub fn pair() -> io::Result<(File, OwnedFd, String)> {
    let ours = open_at(c"/dev/ptmx")?;
    let mut name = [0 as libc::c_char; 64];
    // SAFETY: the kernel writes no more of the name than the array has, and a zero behind it.
    let path = unsafe {
        check(libc::grantpt(ours.as_raw_fd()))?;
        check(libc::unlockpt(ours.as_raw_fd()))?;
        match libc::ptsname_r(ours.as_raw_fd(), name.as_mut_ptr(), name.len()) {
            0 => CStr::from_ptr(name.as_ptr()).to_owned(),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    };
    let theirs = open_at(&path)?;
    raw(theirs.as_raw_fd(), None)?;
    Ok((file(ours), theirs, path.to_string_lossy().into_owned()))
}
