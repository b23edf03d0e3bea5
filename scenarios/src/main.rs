//! The command line of Superdense. It stands in the library, which is compiled in parallel units.
fn main() -> std::process::ExitCode {
    superdense::cli::main()
}
