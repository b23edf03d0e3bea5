//! FMUs of our own, compiled from `tests/fmus` by the C compiler and packed.
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use zip::{ZipWriter, write::SimpleFileOptions};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fmus")
}

/// The model description of an FMU.
pub fn description(name: &str) -> String {
    fs::read_to_string(sources().join(format!("{name}.xml"))).expect("a model description")
}

/// Where an archive has the binary of `name` for this machine.
pub fn binary(name: &str) -> String {
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let ending = std::env::consts::DLL_EXTENSION;
    format!("binaries/{}-{os}/{name}.{ending}", std::env::consts::ARCH)
}

/// Packs a file from its entries.
pub fn pack(file: &Path, entries: &[(&str, &[u8])]) {
    let mut zip = ZipWriter::new(File::create(file).expect("a file"));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).expect("an entry");
        zip.write_all(bytes).expect("its bytes");
    }
    zip.finish().expect("an archive");
}

/// Adds an entry to a packed file.
pub fn add(file: &Path, name: &str, bytes: &[u8]) {
    let archive = File::options().read(true).write(true).open(file).expect("a file");
    let mut zip = ZipWriter::new_append(archive).expect("an archive");
    zip.start_file(name, SimpleFileOptions::default()).expect("an entry");
    zip.write_all(bytes).expect("its bytes");
    zip.finish().expect("an archive");
}

/// Adds a symbolic link to a packed file.
pub fn link(file: &Path, name: &str, target: &str) {
    let archive = File::options().read(true).write(true).open(file).expect("a file");
    let mut zip = ZipWriter::new_append(archive).expect("an archive");
    zip.add_symlink(name, target, SimpleFileOptions::default()).expect("an entry");
    zip.finish().expect("an archive");
}

/// Where an archive of FMI 2.0 has it.
fn binary_2(name: &str) -> String {
    let ending = std::env::consts::DLL_EXTENSION;
    let platform = if cfg!(target_os = "macos") { "darwin64" } else { "linux64" };
    format!("binaries/{platform}/{name}.{ending}")
}

/// Compiles the model `name` and packs it as `folder/name.fmu`, with `changes` to the text of its
/// model description.
pub fn build(folder: &Path, name: &str, changes: &[(&str, &str)]) -> PathBuf {
    packed(folder, name, name, &binary(name), changes)
}

/// Compiles it likewise as an FMU of FMI 2.0, `folder/name2.fmu`.
pub fn build_2(folder: &Path, name: &str, changes: &[(&str, &str)]) -> PathBuf {
    packed(folder, name, &format!("{name}2"), &binary_2(name), changes)
}

fn packed(
    folder: &Path,
    source: &str,
    name: &str,
    binary: &str,
    changes: &[(&str, &str)],
) -> PathBuf {
    let library = folder.join(format!("{source}.{}", std::env::consts::DLL_EXTENSION));
    let output = Command::new("cc")
        .args(["-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(sources().join(format!("{source}.c")))
        .arg("-lm")
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut text = description(name);
    for (from, to) in changes {
        assert!(text.contains(from), "{from} is not in the description of {name}");
        text = text.replace(from, to);
    }
    let bytes = fs::read(&library).expect("the binary");
    let file = folder.join(format!("{name}.fmu"));
    pack(&file, &[("modelDescription.xml", text.as_bytes()), (binary, &bytes)]);
    file
}
