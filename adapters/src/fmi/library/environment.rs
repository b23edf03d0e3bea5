//! State of the process that an FMU may change and that others rely on: floating-point arithmetic and the working
//! folder.
#[cfg(unix)]
use rustix::fs::{Mode, OFlags, Stat, fstat, open, stat};
use std::path::Path;
#[cfg(unix)]
use std::{
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

/// Rounding to nearest, and no traps, whatever the FMU has set.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn standard_arithmetic() {
    if is_standard() {
        return;
    }
    unsafe extern "C" {
        fn fesetenv(environment: *const std::ffi::c_void) -> std::ffi::c_int;
    }
    /// `FE_DFL_ENV` of glibc.
    const DEFAULT: usize = usize::MAX;
    // SAFETY: the address is no place but a sign that the function knows. Rust code expects just this
    // environment.
    unsafe { fesetenv(std::ptr::without_provenance(DEFAULT)) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn standard_arithmetic() {}

/// Whether both control registers are as a process begins with them. To look takes a hundredth of setting them.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
fn is_standard() -> bool {
    /// Flags of exceptions that have occurred, which change nothing.
    const FLAGS: u32 = 0x3f;
    let (mut sse, mut x87) = (0u32, 0u16);
    // SAFETY: both instructions only store a register, to places of 32 and of 16 bits.
    unsafe {
        std::arch::asm!(
            "stmxcsr [{sse}]", "fnstcw [{x87}]",
            sse = in(reg) &raw mut sse, x87 = in(reg) &raw mut x87,
            options(nostack, preserves_flags),
        );
    }
    (sse & !FLAGS, x87) == (0x1f80, 0x037f)
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(target_arch = "x86_64")))]
fn is_standard() -> bool {
    false
}

/// The working folder as it is; dropped, it is the working folder again.
#[derive(Debug)]
pub(in super::super) struct WorkingFolder {
    #[cfg(unix)]
    here: Option<Arc<Folder>>,
}

impl WorkingFolder {
    /// The present one.
    pub(in super::super) fn now() -> Self {
        #[cfg(unix)]
        return Self { here: Folder::working() };
        #[cfg(not(unix))]
        Self {}
    }
}

impl Drop for WorkingFolder {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(here) = &self.here
            && !here.is_working()
        {
            let _ = rustix::process::fchdir(&here.at);
        }
    }
}

/// Largest binary that is searched for ways to change the working folder.
const SEARCHED: u64 = 128 << 10;
/// Parts of the names of functions that change it, or that find functions by their names.
const WAYS: [&[u8]; 6] = [b"chdir", b"chroot", b"current_path", b"syscall", b"dlopen", b"dlsym"];
/// Libraries that change it in functions with such names only.
const KNOWN: [&[u8]; 8] = [
    b"libc.so",
    b"libm.so",
    b"libgcc_s.so",
    b"libstdc++.so",
    b"libpthread.so",
    b"libdl.so",
    b"librt.so",
    b"ld-linux",
];

/// Whether the code of a binary could change the working folder: a small one that names no function and no library for
/// that, and has no call of the system in it, cannot. So nobody has to look after each step, which takes longer than
/// the step of a small FMU.
pub(in super::super) fn may_move(binary: &Path) -> bool {
    let small = std::fs::metadata(binary).is_ok_and(|m| m.len() <= SEARCHED);
    let bytes = if small { std::fs::read(binary).unwrap_or_default() } else { Vec::new() };
    let own = binary.file_name().map(|name| name.as_encoded_bytes()).unwrap_or_default();
    !bytes.starts_with(b"\x7fELF")
        || bytes.windows(2).any(|w| w == [0x0f, 0x05])
        || reaches(&bytes, own)
}

/// Whether a text of the binary is a way to change the folder, or a library of which nothing is known.
fn reaches(bytes: &[u8], own: &[u8]) -> bool {
    let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|w| w == part);
    let known = |text: &[u8]| text == own || KNOWN.iter().any(|name| text.starts_with(name));
    bytes
        .split(|b| *b == 0)
        .any(|text| WAYS.iter().any(|way| has(text, way)) || (has(text, b".so") && !known(text)))
}

/// An open folder.
#[cfg(unix)]
#[derive(Debug)]
struct Folder {
    at: OwnedFd,
    facts: Stat,
}

#[cfg(unix)]
impl Folder {
    /// The working folder. It is opened where it is another one than the last time: to look takes a fifth of that.
    fn working() -> Option<Arc<Self>> {
        static LAST: Mutex<Option<Arc<Folder>>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|folder| !folder.is_working()) {
            let at = open(".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).ok()?;
            let facts = fstat(&at).ok()?;
            *last = Some(Arc::new(Self { at, facts }));
        }
        last.clone()
    }

    /// Whether it is the working folder.
    fn is_working(&self) -> bool {
        let same = |now: Stat| (now.st_dev, now.st_ino) == (self.facts.st_dev, self.facts.st_ino);
        stat(".").is_ok_and(same)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn ways_to_change_the_folder_are_seen() {
        let cases: [(&[u8], bool); 7] = [
            (b"\0sin\0libm.so.6\0libc.so.6\0plant.so\0", false),
            (b"\0sin\0fchdir\0", true),
            (b"\0_ZNSt10filesystem12current_pathERKNS_7__cxx114pathE\0", true),
            (b"\0dlsym\0", true),
            (b"\0libfolders.so\0", true),
            (b"\x0f\x05", true),
            (b"\0.so\0", true),
        ];
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("plant.so");
        for (text, moves) in cases {
            std::fs::write(&file, [b"\x7fELF", text].concat()).unwrap();
            assert_eq!(may_move(&file), moves, "{}", String::from_utf8_lossy(text));
        }
        std::fs::write(&file, "another format").unwrap();
        assert!(may_move(&file));
    }
}
