//! Tables of functions, by name: what an interface needs must be there, anything else may be.
use super::super::description::InterfaceKind;
use libloading::Library;
use std::{ffi::c_void, path::Path};

pub(super) type Raw = *mut c_void;
pub(super) type Plain = unsafe extern "C" fn(Raw) -> i32;

/// Loads a binary.
///
/// # Errors
/// The system's message.
pub(super) fn open(path: &Path) -> Result<Library, String> {
    divert();
    // SAFETY: loading runs the binary's initialisers; the user chose the FMU.
    unsafe { load(path) }.map_err(|e| {
        let text = e.to_string();
        match text.contains("undefined symbol") {
            true => format!(
                "{text}; start the program with the library that has it, such as \
                 LD_PRELOAD=/usr/lib/libpython3.11.so"
            ),
            false => text,
        }
    })
}

/// Loads it with all its symbols: one that is missing is no end of the program when it is called.
#[cfg(unix)]
unsafe fn load(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: as that of the caller.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(not(unix))]
unsafe fn load(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: as that of the caller.
    unsafe { Library::new(path) }
}

/// From here on C code in this process prints to the standard error output: our standard output
/// is for results. It is the stream that is exchanged, which glibc allows, not the descriptor, which
/// is ours.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn divert() {
    unsafe extern "C" {
        static mut stdout: Raw;
        static stderr: Raw;
    }
    static DONE: std::sync::Once = std::sync::Once::new();
    // SAFETY: once, before the first binary of an FMU is there to print; both are streams that live as
    // long as the process.
    DONE.call_once(|| unsafe { stdout = stderr });
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn divert() {}

/// Who needs a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types)] // Words in the tables.
pub(super) enum Need {
    all,
    cs,
    me,
    none,
}

impl Need {
    pub(super) fn holds(self, kind: InterfaceKind) -> bool {
        match self {
            Self::all => true,
            Self::cs => kind == InterfaceKind::CoSimulation,
            Self::me => kind == InterfaceKind::ModelExchange,
            Self::none => false,
        }
    }
}

macro_rules! table {
    ($($need:ident $field:ident: $symbol:literal => $ty:ty;)*) => {
        /// The functions of one binary; those that it does not have are empty.
        pub(super) struct Table {
            $(pub(super) $field: Option<$ty>,)*
        }
        impl Table {
            /// Finds the functions.
            ///
            /// # Errors
            /// When one is missing that the interface needs.
            pub(super) fn find(
                library: &libloading::Library,
                kind: crate::fmi::description::InterfaceKind,
            ) -> Result<Self, String> {
                $(
                    // SAFETY: the symbol has this type in the standard; the pointer is kept beside
                    // the library only.
                    let $field = unsafe {
                        library.get::<$ty>(concat!($symbol, "\0").as_bytes())
                    }
                    .ok()
                    .map(|f| *f);
                    if $field.is_none() && crate::fmi::library::table::Need::$need.holds(kind) {
                        return Err(concat!("the binary has no function ", $symbol).to_owned());
                    }
                )*
                Ok(Self { $($field,)* })
            }
        }
    };
}
pub(super) use table;
