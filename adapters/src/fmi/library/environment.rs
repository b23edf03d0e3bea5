//! State of the process that an FMU may change and that others rely on: floating-point arithmetic and the working
//! folder.
#[cfg(unix)]
use std::os::fd::OwnedFd;

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
    here: Option<OwnedFd>,
}

impl WorkingFolder {
    /// The present one.
    pub(in super::super) fn now() -> Self {
        #[cfg(unix)]
        {
            use rustix::fs::{Mode, OFlags, open};
            Self { here: open(".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).ok() }
        }
        #[cfg(not(unix))]
        Self {}
    }
}

impl Drop for WorkingFolder {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(here) = &self.here {
            let _ = rustix::process::fchdir(here);
        }
    }
}
