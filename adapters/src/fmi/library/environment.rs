//! State of the process that an FMU may change and that others rely on: floating-point arithmetic and the working
//! folder.
#[cfg(unix)]
use rustix::fs::{Mode, OFlags, Stat, fstat, open, stat};
#[cfg(unix)]
use std::{
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

/// Rounding to nearest, and no traps, whatever the FMU has set.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn standard_arithmetic() {
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
