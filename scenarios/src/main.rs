//! The command line of Superdense.
mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
