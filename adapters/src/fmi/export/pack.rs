//! The archive of an FMU.
use super::{Offer, description};
use crate::fmi::{archive, description::Version};
use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write},
    path::Path,
};
use zip::{ZipWriter, write::SimpleFileOptions};

/// The bytes of an FMU with a binary for this machine, and resources by their places. Equal content gives equal bytes.
///
/// # Errors
/// When the binary cannot be read, or the archive grows beyond what zip files hold.
pub fn pack(
    offer: &Offer,
    version: Version,
    binary: &Path,
    resources: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<u8>, String> {
    let code = fs::read(binary).map_err(|e| format!("{}: {e}", binary.display()))?;
    let (folder, ending) = archive::platform(version);
    let mut files = vec![
        ("modelDescription.xml".to_owned(), description(offer, version).into_bytes()),
        (format!("binaries/{folder}/{}.{ending}", offer.identifier()), code),
    ];
    let resources =
        resources.iter().map(|(name, bytes)| (format!("resources/{name}"), bytes.clone()));
    files.extend(resources);
    // Without the time of day.
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let failed = |e: String| format!("{name}: {e}");
        writer.start_file(name.as_str(), options).map_err(|e| failed(e.to_string()))?;
        writer.write_all(&bytes).map_err(|e| failed(e.to_string()))?;
    }
    Ok(writer.finish().map_err(|e| e.to_string())?.into_inner())
}
