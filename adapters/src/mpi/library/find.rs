//! MPI: where its library and `mpiexec` are sought.
use super::table::{LONGEST, Table};
use std::{
    ffi::c_int,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The library of the standard ABI, as the loader knows it.
#[cfg(target_os = "macos")]
const NAME: &str = "libmpi_abi.1.dylib";
#[cfg(not(target_os = "macos"))]
const NAME: &str = "libmpi_abi.so.1";
/// The program that starts ranks.
const STARTER: &str = "mpiexec";
/// The main version of the ABI.
const ABI: c_int = 1;

/// Prints the folders below which Python's packages put programs and libraries.
const ASK: &str = "import site, sys; print(sys.prefix); print(site.USER_BASE)";

/// Why there is no MPI.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It was not found.
    #[error(
        "there is no MPI with the standard ABI: neither the loader, nor the folder of {STARTER}, nor Python's folder has \
         {NAME} ({0}); install one with: pip install mpich, or say where it is by --mpi DIR"
    )]
    Missing(String),
    /// The folder that was named has none.
    #[error(
        "--mpi {folder}: there is no {NAME}, the library of MPI's standard ABI, in it or in its lib; install one with: pip \
         install mpich, and name the folder that has its bin and lib"
    )]
    Named {
        /// The folder.
        folder: String,
    },
    /// The library cannot be loaded.
    #[error("{path} cannot be loaded: {why}; install another MPI with: pip install mpich")]
    Broken {
        /// Its path.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The library lacks the standard ABI.
    #[error(
        "{path} is no library of MPI's standard ABI ({why}); install one with: pip install mpich"
    )]
    Other {
        /// Its path.
        path: String,
        /// Why it is none.
        why: String,
    },
    /// There is no program that starts ranks.
    #[error(
        "there is no {STARTER} for {path}; install one with: pip install mpich, or name the folder that has both by --mpi DIR"
    )]
    NoStarter {
        /// The library.
        path: String,
    },
}

/// An installed MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its library, as the loader takes it.
    pub file: PathBuf,
    /// Its `mpiexec`.
    pub starter: PathBuf,
}

impl Installed {
    /// Looks for an MPI: in the folder that is named, else where the system, its `mpiexec` and Python have one.
    ///
    /// # Errors
    /// When there is none with the standard ABI.
    pub fn find(named: Option<&Path>) -> Result<Self, LibraryError> {
        if let Some(folder) = named {
            let missing = || LibraryError::Named { folder: folder.display().to_string() };
            let library = library_in(folder).ok_or_else(missing)?;
            Library::open(&library)?;
            let starter = starter_in(folder).or_else(of_path);
            return Self::both(library, starter);
        }
        let first = match Library::open(Path::new(NAME)) {
            Ok(_) => return Self::both(PathBuf::from(NAME), of_path()),
            Err(LibraryError::Broken { why, .. }) => why,
            Err(other) => return Err(other),
        };
        let started = of_path().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
        let found = started.into_iter().chain(of_python());
        let found = found.filter_map(|folder| Some((library_in(&folder)?, starter_in(&folder))));
        let (library, starter) = found.into_iter().next().ok_or(LibraryError::Missing(first))?;
        Library::open(&library)?;
        Self::both(library, starter)
    }

    fn both(library: PathBuf, starter: Option<PathBuf>) -> Result<Self, LibraryError> {
        match starter {
            Some(starter) => Ok(Self { file: library, starter }),
            None => Err(LibraryError::NoStarter { path: library.display().to_string() }),
        }
    }
}

/// The library in a folder, or in its `lib`.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let places = ["lib", "lib64", ""].map(|inner| folder.join(inner).join(NAME));
    places.into_iter().find(|path| path.is_file())
}

fn starter_in(folder: &Path) -> Option<PathBuf> {
    let places = ["bin", "../bin", ""].map(|inner| folder.join(inner).join(STARTER));
    places.into_iter().find(|path| path.is_file())
}

/// The `mpiexec` that a shell would find.
fn of_path() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(STARTER)).find(|path| path.is_file())
}

/// The folders of Python.
fn of_python() -> Vec<PathBuf> {
    let ask = |python: &str| {
        let mut command = Command::new(python);
        let output = command.args(["-c", ASK]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
        text.unwrap_or_default().lines().map(PathBuf::from).collect::<Vec<_>>()
    };
    ["python3", "python"].into_iter().flat_map(ask).collect()
}

/// A library of MPI, loaded and checked.
pub struct Library {
    pub(super) functions: Table,
    /// Its version, as it tells it.
    pub version: String,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MPI: {}", self.version)
    }
}

impl Library {
    /// Loads the library and checks its ABI.
    ///
    /// # Errors
    /// When it cannot be loaded, or has another ABI.
    pub fn open(path: &Path) -> Result<Self, LibraryError> {
        let shown = path.display().to_string();
        // SAFETY: loading runs the initialisers of the library, which the user has installed.
        let opened = unsafe { libloading::Library::new(path) };
        let broken =
            |e: libloading::Error| LibraryError::Broken { path: shown.clone(), why: e.to_string() };
        let binary = opened.map_err(broken)?;
        let other = |why: String| LibraryError::Other { path: shown.clone(), why };
        let found = Table::find(&binary);
        // Its threads outlive us.
        std::mem::forget(binary);
        let functions = found.map_err(|name| other(format!("it has no function {name}")))?;
        let (mut main, mut minor) = (0, 0);
        // SAFETY: the function writes two numbers, and may be called before MPI begins.
        let code = unsafe { (functions.abi)(&raw mut main, &raw mut minor) };
        if code != 0 || main != ABI {
            return Err(other(format!("its ABI is {main}.{minor}, and {ABI} is needed")));
        }
        let version = text(|to, length| {
            // SAFETY: the buffer has room for the longest version, and may be filled before MPI begins.
            unsafe { (functions.version)(to, length) }
        });
        Ok(Self { functions, version })
    }
}

/// A text that a function of MPI writes into a buffer.
pub(super) fn text(write: impl FnOnce(*mut std::ffi::c_char, *mut c_int) -> c_int) -> String {
    let (mut bytes, mut length) = (vec![0u8; LONGEST], 0);
    if write(bytes.as_mut_ptr().cast(), &raw mut length) != 0 {
        return String::new();
    }
    let end = usize::try_from(length).unwrap_or_default().min(bytes.len());
    let text = bytes[..end].split(|b| *b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}
