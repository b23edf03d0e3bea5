//! `run --hosts`: one scenario over ranks of MPI. The command starts a copy of itself as a guard on each slot, and each
//! guard another one as the rank.
use super::{Done, options::RunOptions, report::Stop};
use crate::{
    Plan,
    plan::{PARTITIONS, Partition},
    run::{
        Settings,
        checkpoint::Checkpoint,
        executor::{Company, Method},
        pulse::Pulse,
    },
};
use clap::{Args, builder::PossibleValuesParser};
use std::path::PathBuf;
use superdense_kernel::parallel;

#[cfg(feature = "mpi")]
pub(super) use over_mpi::run;

/// Options of runs over ranks.
#[derive(Debug, Args)]
pub(super) struct RankOptions {
    /// Run over ranks of MPI on these hosts, each with its number of ranks, one unless it is given; never changes results.
    /// For a program built with --features mpi.
    #[arg(long, value_name = "A,B:2")]
    pub hosts: Option<String>,
    /// The folder of MPI, with its bin and lib [default: where the system, mpiexec or Python has one].
    #[arg(long, value_name = "DIR", requires = "hosts")]
    pub mpi: Option<PathBuf>,
    /// Let ranks go from cycle to cycle together where nothing between them has a delay.
    #[arg(long, requires = "hosts")]
    pub without_windows: bool,
    /// Which units share a rank, in place of the file's `partition`.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PARTITIONS), requires = "hosts")]
    pub partition: Option<String>,
    /// The part of this process in the run, and the library of MPI.
    #[arg(long, hide = true, requires = "hosts")]
    pub as_rank: Option<String>,
}

impl RankOptions {
    /// Divides a plan as these options say.
    pub(super) fn divide(&self, plan: &mut Plan) {
        plan.partition = match self.partition.as_deref() {
            None => return,
            Some("wiring") => Partition::By(parallel::Partition::Wiring),
            Some("round-robin") => Partition::By(parallel::Partition::RoundRobin),
            Some(_) => Partition::By(parallel::Partition::Blocks),
        };
    }
}

/// A run that is divided: what each rank does of it.
#[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "of ranks"))]
pub(super) struct Task<'a> {
    pub ranks: &'a RankOptions,
    /// Reads the scenario, and the checkpoint that it goes on from.
    pub read: &'a dyn Fn() -> Result<(Plan, Settings, Option<Checkpoint>), Stop>,
    /// The run of the first rank.
    pub first: &'a dyn Fn(Company, Pulse) -> Done,
}

/// Refuses options that are not for runs over ranks.
pub(super) fn refuse(options: &RunOptions) -> Done {
    let unfit = [
        ("--executor", options.executor != Method::Sequential),
        ("--verify", options.verify),
        ("--tighten", options.tighten.is_some()),
        ("--ties", options.ties.is_some()),
        ("--real-time", options.real_time.is_some()),
        ("--timeline", options.timeline.is_some()),
    ];
    match unfit.iter().find(|unfit| unfit.1) {
        Some((name, _)) => {
            Err(Stop::usage(format!("{name} does not go with --hosts; leave one of them out")))
        }
        None => Ok(()),
    }
}

/// Says what is missing.
#[cfg(not(feature = "mpi"))]
pub(super) fn run(_: &super::report::Console, _: &Task<'_>) -> Done {
    let why = "--hosts: this program was built without MPI; build it with --features mpi, and install MPI with: pip \
               install mpich";
    Err(Stop::usage(why))
}

#[cfg(feature = "mpi")]
mod over_mpi {
    use super::{Company, Done, Method, Pulse, RankOptions, Stop, Task};
    use crate::{
        Plan,
        cli::report::Console,
        run::{executor::Executor, ranks},
    };
    use std::{ffi::OsString, io::BufRead, path::Path, process::Command};
    use superdense_adapters::mpi::{
        Alarm, Processes, guard,
        launch::{End, Hosts, INTERRUPT, LOST, Launch},
        library::{Installed, Library, World},
    };
    use superdense_kernel::parallel::{LostRank, Ranks};

    /// The role of a process, before the path of the library in `--as-rank`.
    const GUARD: &str = "guard=";
    const MEMBER: &str = "member=";

    /// A command with `--hosts`.
    pub(in super::super) fn run(console: &Console, task: &Task<'_>) -> Done {
        let role = task.ranks.as_rank.as_deref();
        match role.map(|role| (role.strip_prefix(GUARD), role.strip_prefix(MEMBER))) {
            None => launch(console, task),
            Some((Some(library), _)) => guarded(library),
            Some((_, Some(library))) => member(task, Path::new(library)),
            Some(_) => Err(Stop::usage("--as-rank is for programs that start ranks; leave it out")),
        }
    }

    /// Refuses what cannot be divided.
    fn fits(plan: &Plan) -> Done {
        if plan.federate.is_some() {
            let why = "--hosts: a run in a federation is one process; leave it out, or take [federate] out of the file";
            return Err(Stop::usage(why));
        }
        Ok(())
    }

    fn hosts(options: &RankOptions) -> Result<Hosts, Stop> {
        let text = options.hosts.as_deref().unwrap_or_default();
        text.parse().map_err(|why| Stop::usage(format!("--hosts: {why}")))
    }

    /// Starts all ranks, after what they could not do was refused, and waits for them.
    fn launch(console: &Console, task: &Task<'_>) -> Done {
        let hosts = hosts(task.ranks)?;
        let (plan, ..) = (task.read)()?;
        fits(&plan)?;
        let found = Installed::find(task.ranks.mpi.as_deref());
        let mpi = found.map_err(|e| Stop::usage(e.to_string()))?;
        let checked = ranks::check(plan, hosts.ranks(), task.ranks.without_windows);
        checked.map_err(|failure| Stop::usage(failure.to_string()))?;
        let pulse = Pulse::default();
        let _ = pulse.on_interrupt();
        let command = command(&format!("{GUARD}{}", mpi.file.display()));
        let launched = Launch::start(&mpi, &hosts, &command).map_err(Stop::usage)?;
        match launched.wait(&|| pulse.interrupted()) {
            End::Told(0) => Ok(()),
            End::Told(code) => Err(Stop::Told(code)),
            End::Unbegun => Err(Stop::Told(2)),
            End::Lost(_, true) => Err(Stop::Told(3)),
            End::Lost(why, false) => {
                console.remark(
                    "note: the first rank did not complete its files; what they have can be read",
                );
                Err(Stop::Lost(format!("{why}; run it again")))
            }
            End::Starter(how) => {
                let starter = mpi.starter.display();
                Err(Stop::Lost(format!("{starter} ended without a word of the ranks: {how}")))
            }
        }
    }

    /// This program with its own options, in another role.
    fn command(role: &str) -> Vec<OsString> {
        let mut command: Vec<OsString> = std::env::args_os().collect();
        if let Ok(program) = std::env::current_exe() {
            command[0] = program.into();
        }
        if let Some(at) = command.iter().position(|word| word == "--as-rank") {
            command.drain(at..at + 2);
        }
        command.extend(["--as-rank".into(), role.into()]);
        command
    }

    /// Runs a rank, and outlives it.
    fn guarded(library: &str) -> Done {
        let command = command(&format!("{MEMBER}{library}"));
        let mut rank = Command::new(&command[0]);
        match guard::stand(rank.args(&command[1..])) {
            0 => Ok(()),
            code => Err(Stop::Told(code)),
        }
    }

    /// Runs the part of a rank.
    fn member(task: &Task<'_>, library: &Path) -> Done {
        guard::follow();
        let rank = guard::number();
        match joined(task, library) {
            // The first rank tells of what all have in common.
            Err(Stop::Failed { .. } | Stop::Interrupted) if rank != "0" => Ok(()),
            Err(Stop::Usage(why)) if rank != "0" => Err(Stop::Usage(format!("rank {rank}: {why}"))),
            done => done,
        }
    }

    fn joined(task: &Task<'_>, library: &Path) -> Done {
        let (plan, mut settings, checkpoint) = (task.read)()?;
        let library = Library::open(library).map_err(|e| Stop::usage(e.to_string()))?;
        let (alarm, pulse) = (Alarm::default(), Pulse::start());
        listen(alarm.clone(), pulse.clone());
        let world = World::join(library).map_err(Stop::usage)?;
        let processes = Processes::new(world, alarm);
        let alike = same(&mut processes.clone(), plan.plan_hash);
        alike.map_err(|lost| Stop::usage(lost.to_string()))??;
        let in_step = task.ranks.without_windows;
        let company = Company { ranks: Box::new(processes.clone()), in_step };
        settings.executor = executor(&company);
        let done = if processes.rank() == 0 {
            (task.first)(company, pulse)
        } else {
            let followed = ranks::follow(plan, &settings, checkpoint, company);
            followed.map_err(|failure| Stop::Failed {
                failure: failure.into(),
                results: None,
                notes: Vec::new(),
            })
        };
        if done.is_ok() {
            processes.end();
        }
        done
    }

    /// The executor of a run over ranks, as reports call it.
    fn executor(company: &Company) -> Executor {
        Executor { method: Method::Conservative, workers: Some(company.ranks.ranks()) }
    }

    /// Hears from the launcher, which writes to the first rank only. Where its end of the pipe is closed before the run
    /// is over, the launcher was ended: then nobody waits for the ranks any more, and they stop as by Ctrl-C.
    fn listen(alarm: Alarm, pulse: Pulse) {
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if let Some(why) = line.strip_prefix(LOST) {
                    alarm.raise(why);
                } else if line == INTERRUPT {
                    pulse.interrupt();
                }
            }
            if guard::number() == "0" {
                pulse.interrupt();
            }
        });
    }

    /// Whether all ranks have the same program, the same scenario, and processors that compute alike.
    fn same(processes: &mut Processes, plan: u64) -> Result<Done, LostRank> {
        let facts = [
            ("program", crate::cli::VERSION.to_owned()),
            ("scenario, or other options,", format!("{plan:016x}")),
            ("arithmetic", format!("{:016x}", ranks::self_test())),
        ];
        let own = facts.clone().map(|fact| fact.1).join("\n").into_bytes();
        let mut parcels = vec![own; processes.ranks() as usize];
        let me = processes.rank() as usize;
        let mine = parcels[me].clone();
        processes.exchange(&mut parcels)?;
        parcels[me] = mine;
        for (rank, theirs) in parcels.iter().enumerate() {
            let theirs = String::from_utf8_lossy(theirs).into_owned();
            let first = String::from_utf8_lossy(&parcels[0]).into_owned();
            let differs = first.lines().zip(theirs.lines()).position(|(a, b)| a != b);
            if let Some(k) = differs {
                let why = format!(
                    "rank {rank} has another {} than the first one: install one program on all hosts, and give all of them one \
                     scenario",
                    facts[k].0
                );
                return Ok(Err(Stop::usage(why)));
            }
        }
        Ok(Ok(()))
    }
}
