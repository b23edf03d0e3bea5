//! `superdense`: commands, options, exit codes.
//!
//! Exit codes stand in [`EXIT_CODES`].
mod catalogue;
mod check;
mod compare;
mod demand;
#[cfg(feature = "federation")]
mod federation;
#[cfg(feature = "fmi")]
mod fmu;
mod frequencies;
mod graph;
mod manual;
#[cfg(feature = "mosaik")]
mod mosaik;
mod new;
mod options;
mod place;
mod policies;
mod ranks;
mod report;
mod reproduce;
mod run;
mod ses;
mod stability;
#[cfg(feature = "study")]
mod study;
mod verify;

use clap::{Parser, Subcommand};
use options::{CheckOptions, RunOptions};
use report::{Console, Stop};
use reproduce::ReproduceOptions;
use std::{path::PathBuf, process::ExitCode, sync::Arc, thread};
#[cfg(feature = "fmi")]
use superdense_adapters::fmi::worker;

/// Version, commit and features.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("SUPERDENSE_COMMIT"),
    "; features: ",
    env!("SUPERDENSE_FEATURES"),
    ")"
);

/// Values that the program returns, for scripts.
const EXIT_CODES: &str = "Exit codes:
  0    done
  1    a number of a paper is not reproduced, or compared runs differ
  2    the scenario has mistakes, an option is wrong, or a file cannot be used; nothing was run
  3    a run stopped in error; its results up to there are kept; of a study, some runs have no results
  101  a mistake of the program; please report it
  130  interrupted; `superdense resume` goes on, a study by its own command";

/// Hybrid simulation from a scenario file.
#[derive(Debug, Parser)]
#[command(name = "superdense", version = VERSION, about, after_help = EXIT_CODES)]
#[command(propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but errors.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Run every FMU in a process of its own.
    #[cfg(feature = "fmi")]
    #[arg(long, global = true)]
    isolate: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario and write its results.
    Run(RunOptions),
    /// Check a scenario without running it.
    Check(CheckOptions),
    /// List the kinds of units that a scenario may use, or tell all about one, with an example.
    List {
        /// Name of a kind.
        kind: Option<String>,
    },
    /// Print the JSON schema of scenario files.
    Schema,
    /// Write a commented starter scenario.
    New {
        /// Name of the scenario; the file is NAME.toml.
        name: PathBuf,
        /// Overwrite an existing file.
        #[arg(long)]
        force: bool,
    },
    /// Go on with an interrupted run, with its own options.
    Resume {
        /// Output directory of the run, or its checkpoint file.
        #[arg(value_name = "DIR|FILE")]
        from: PathBuf,
        #[cfg(feature = "mosaik")]
        #[command(flatten)]
        world: mosaik::WorldOptions,
        #[command(flatten)]
        ranks: ranks::RankOptions,
    },
    /// Run every figure and table of the papers that this program implements.
    Reproduce(ReproduceOptions),
    /// Check a federation that a scenario takes part in, or compare the records of two runs.
    #[cfg(feature = "federation")]
    #[command(subcommand)]
    Federation(federation::FederationCommand),
    /// Run a scenario as a simulator of mosaik: the command by which mosaik starts it.
    #[cfg(feature = "mosaik")]
    Mosaik(mosaik::MosaikOptions),
    /// Tell about an FMU, without loading its binary.
    #[cfg(feature = "fmi")]
    #[command(subcommand)]
    Fmu(fmu::FmuCommand),
    /// Answer questions about a scenario by many runs; started again, it goes on.
    #[cfg(feature = "study")]
    Study(study::StudyOptions),
    /// Choose a variant of a system entity structure (a .json file), or make a scenario of it.
    #[command(subcommand)]
    Ses(ses::SesCommand),
    /// Draw the figure of a run again.
    Plot {
        /// Output directory of the run.
        dir: PathBuf,
    },
    /// Compare two runs: where they part, and how much results, events and signals differ.
    Compare {
        /// Output directory of the first run.
        a: PathBuf,
        /// Output directory of the second run.
        b: PathBuf,
        /// Events of one name are matched within this time.
        #[arg(long, value_name = "TIME", value_parser = options::seconds, default_value = "0.25 s")]
        window: f64,
        /// Write the comparison as a page, too: one file of HTML that needs no network.
        #[arg(long, value_name = "FILE.html")]
        html: Option<PathBuf>,
        /// Replace a file of this name.
        #[arg(long, requires = "html")]
        force: bool,
    },
    /// Write a report of a run or a study: one file of HTML that needs no network.
    Report {
        /// Output directory of the run or the study.
        dir: PathBuf,
        /// The file [default: DIR.report.html in the current folder].
        #[arg(long, value_name = "FILE.html")]
        out: Option<PathBuf>,
        /// Replace a file of this name.
        #[arg(long)]
        force: bool,
    },
    /// Print what completes commands and options in a shell, to be stored where the shell looks for it.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of a command, for `man -l -`.
    Man {
        /// The command; the program without.
        command: Option<String>,
    },
}

/// The stack of the program. A thread has the stack that it asks for, whatever the limit of the shell is.
const STACK: usize = 64 << 20;

/// The program.
pub fn main() -> ExitCode {
    #[cfg(feature = "fmi")]
    if std::env::args_os().nth(1).is_some_and(|a| a == worker::ARGUMENT) {
        return worker::serve();
    }
    // A file that exceeds a limit is an error like others; the signal would end the program.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let program = thread::Builder::new().name("main".into()).stack_size(STACK).spawn(commands);
    match program.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The message of a panic was printed where it arose.
        Ok(Err(_)) => ExitCode::from(101),
        Err(e) => {
            let why =
                format!("cannot begin: {e}; end other programs, or raise the limits (ulimit -a)");
            end(&Console { quiet: false, json: false }, Err(Stop::usage(why)))
        }
    }
}

fn commands() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return unparsed(&e),
    };
    let console = Console { quiet: cli.quiet, json: cli.json };
    #[cfg(feature = "fmi")]
    if cli.isolate {
        worker::isolate_all();
    }
    let done = match cli.command {
        Command::Run(options) => run::run(&console, &options),
        Command::Check(options) => check::check(&console, &options),
        Command::List { kind } => catalogue::list(&console, kind.as_deref()),
        Command::Schema => catalogue::schema(&console),
        Command::New { name, force } => new::write(&console, &name, force),
        #[cfg(feature = "mosaik")]
        Command::Resume { from, world, ranks } => {
            run::resume(&console, &from, &ranks, &|plan| world.complete(plan))
        }
        #[cfg(not(feature = "mosaik"))]
        Command::Resume { from, ranks } => run::resume(&console, &from, &ranks, &|_| Ok(())),
        Command::Reproduce(options) => reproduce::reproduce(&console, &options),
        #[cfg(feature = "federation")]
        Command::Federation(command) => federation::federation(&console, &command),
        #[cfg(feature = "mosaik")]
        Command::Mosaik(options) => mosaik::mosaik(&console, &options),
        #[cfg(feature = "fmi")]
        Command::Fmu(command) => fmu::fmu(&console, &command),
        #[cfg(feature = "study")]
        Command::Study(options) => study::study(&console, &options),
        Command::Ses(command) => ses::ses(&console, &command),
        Command::Plot { dir } => run::plot(&console, &dir),
        Command::Compare { a, b, window, html, force } => {
            let told = compare::Comparing { window, html, force };
            compare::compare(&console, &a, &b, &told)
        }
        Command::Report { dir, out, force } => compare::report(&console, &dir, out, force),
        Command::Completions { shell } => manual::completions(&console, shell),
        Command::Man { command } => manual::page(&console, command.as_deref()),
    };
    end(&console, done)
}

fn end(console: &Console, done: Done) -> ExitCode {
    let code = match done.and_then(|()| console.printed()) {
        Ok(()) => 0,
        Err(stop) => {
            console.complain(&stop);
            stop.code()
        }
    };
    #[cfg(feature = "helics")]
    superdense_adapters::helics::library::leave_process(code);
    ExitCode::from(code)
}

/// Prints the help that was asked for, or what is wrong with the options.
fn unparsed(e: &clap::Error) -> ExitCode {
    let json = e.use_stderr() && std::env::args_os().any(|a| a == "--json");
    let console = Console { quiet: false, json };
    if json {
        let text = e.render().to_string();
        return end(&console, Err(Stop::usage(text.trim_start_matches("error: ").trim_end())));
    }
    report::printing(e.print());
    if e.use_stderr() { ExitCode::from(2) } else { end(&console, Ok(())) }
}

/// The result of a command.
type Done = Result<(), Stop>;
