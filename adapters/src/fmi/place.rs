//! Where an instance lives: in this process, or in a worker.
use super::{
    archive::Unpacked,
    calls::{Carrier, Local},
    description::{Description, Interface},
    library::Request,
    worker::{Isolation, Remote},
};
use std::{collections::BTreeSet, path::Path, sync::Mutex};

/// Tokens of the FMUs that are instantiated in this process and can be only once.
static ONLY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The only instance of an FMU in this process.
pub(super) struct Only(String);

impl Only {
    /// `None` when there is one already.
    fn new(description: &Description, interface: &Interface) -> Option<Self> {
        let key = format!("{} {}", description.token, interface.identifier);
        ONLY.lock().ok()?.insert(key.clone()).then(|| Self(key))
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        if let Ok(mut all) = ONLY.lock() {
            all.remove(&self.0);
        }
    }
}

/// Instantiates in this process, or in a worker: where `isolation` wants it, and where this process has the only
/// instance that a process can have.
///
/// # Errors
/// When the archive has no binary for this machine, or the FMU refuses.
pub(super) fn new(
    path: &Path,
    description: &Description,
    interface: &Interface,
    name: &str,
    intermediate: &[u32],
    isolation: Option<&Isolation>,
) -> Result<Box<dyn Carrier>, String> {
    let only = match isolation {
        None if interface.single => Only::new(description, interface),
        _ => None,
    };
    let apart = isolation.is_some() || (interface.single && only.is_none());
    let files = Unpacked::new(path, description.version)?;
    let (resources, binary) = (files.resources(), files.binary(description.version, interface)?);
    let request = Request {
        version: description.version,
        kind: interface.kind,
        binary: binary.into(),
        resources: resources.into(),
        name: name.into(),
        token: (&description.token).into(),
        event_mode: interface.event_mode,
        intermediate: intermediate.into(),
    };
    if apart {
        let isolation = isolation.cloned().unwrap_or_default();
        return Ok(Box::new(Remote::new(request, isolation, files)?));
    }
    Ok(Box::new(Local::new(&request)?.keeping(files, only)))
}
