//! libhelics: where it is sought, and which versions are taken.
use super::table::Table;
use std::{
    ffi::CStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether a library is in this process: its threads run as long as that does.
static LOADED: AtomicBool = AtomicBool::new(false);

/// Ends the process with a code if libhelics is in it, without what is done at exits: the library takes down what its
/// threads still use, and the process would end by SIGSEGV now and then. Everything has to be written before.
pub fn leave_process(code: u8) {
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    if LOADED.load(Ordering::Relaxed) {
        // SAFETY: it takes a number, and does not return.
        unsafe { _exit(code.into()) }
    }
}

/// The variable that names the library.
const VARIABLE: &str = "HELICS_LIBRARY";
/// The library as the loader knows it.
#[cfg(target_os = "macos")]
const NAME: &str = "libhelics.3.dylib";
#[cfg(target_os = "windows")]
const NAME: &str = "helics.dll";
#[cfg(not(any(target_os = "macos", target_os = "windows")))]
const NAME: &str = "libhelics.so.3";
/// The version that is tested.
const TESTED: &str = "3.6.1";

/// Prints the folder of Python's package.
const ASK: &str =
    "import importlib.util as u; print(u.find_spec('helics').submodule_search_locations[0])";

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It was not found.
    #[error(
        "libhelics is not there: neither {VARIABLE}, nor the loader, nor Python's package `helics` has it \
         ({0}); install it with: pip install helics"
    )]
    Missing(String),
    /// The library that was named cannot be loaded.
    #[error("{VARIABLE} is {path}, which cannot be loaded: {why}; correct it, or unset it")]
    Named {
        /// Its path.
        path: String,
        /// The system's words.
        why: String,
    },
    /// It is another main version, or lacks a function.
    #[error(
        "libhelics {version} is not supported{why}; install another with: pip install helics=={TESTED}"
    )]
    Version {
        /// Its version.
        version: String,
        /// More, if it lacks something.
        why: String,
    },
}

/// Whether the version is the tested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tested {
    /// It is.
    Yes,
    /// A remark on another one.
    No(String),
}

/// libhelics, loaded and checked.
pub struct Library {
    pub(super) functions: Table,
    /// Its version.
    pub version: String,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "libhelics {}", self.version)
    }
}

impl Library {
    /// Looks for the library and checks its version.
    ///
    /// # Errors
    /// When it is not there or not one of those that are supported.
    pub fn find() -> Result<Self, LibraryError> {
        if let Some(file) = std::env::var_os(VARIABLE) {
            let path = file.to_string_lossy().into_owned();
            let named = |why| LibraryError::Named { path, why };
            return Self::checked(open(Path::new(&file)).map_err(named)?);
        }
        let first = match open(Path::new(NAME)) {
            Ok(library) => return Self::checked(library),
            Err(why) => why,
        };
        let found = of_python().and_then(|path| open(&path).ok());
        Self::checked(found.ok_or(LibraryError::Missing(first))?)
    }

    fn checked(binary: libloading::Library) -> Result<Self, LibraryError> {
        let refuse = |version: &str, why| LibraryError::Version { version: version.into(), why };
        let found = Table::find(&binary).map_err(|name| {
            refuse("of an unknown version", format!(": it has no function {name}"))
        });
        // Its threads outlive us.
        std::mem::forget(binary);
        LOADED.store(true, Ordering::Relaxed);
        let functions = found?;
        // SAFETY: the function takes nothing and gives a text that lives as long as the library.
        let text = unsafe { CStr::from_ptr((functions.version)()) };
        let text = text.to_string_lossy();
        let version = text.split_whitespace().next().unwrap_or_default().to_owned();
        if version.split('.').next() != TESTED.split('.').next() {
            return Err(refuse(&version, String::new()));
        }
        Ok(Self { functions, version })
    }

    /// Whether this version is the tested one.
    pub fn tested(&self) -> Tested {
        if self.version == TESTED {
            return Tested::Yes;
        }
        Tested::No(format!("libhelics is {}, and {TESTED} is tested", self.version))
    }
}

/// Loads a binary.
fn open(path: &Path) -> Result<libloading::Library, String> {
    // SAFETY: loading runs the initialisers of the library, which the user has installed.
    unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())
}

/// The library in the package of the first Python that has one.
fn of_python() -> Option<PathBuf> {
    let ask = |python: &str| {
        let mut command = Command::new(python);
        let output = command.args(["-c", ASK]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        let folder = PathBuf::from(text.trim()).join("install");
        let places = ["lib64", "lib", "bin"].map(|inner| folder.join(inner).join(NAME));
        places.into_iter().find(|path| path.is_file())
    };
    ["python3", "python"].into_iter().find_map(ask)
}
