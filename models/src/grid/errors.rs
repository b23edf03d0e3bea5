//! Mistakes in the data of a network, and networks whose equations have no solution.

/// Why a case cannot be read, or gives no start for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    /// The text is no JSON of this form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The table of machines is no CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A MATPOWER case lacks a field of `mpc`.
    #[error("`mpc.{0}` is missing")]
    MissingField(&'static str),
    /// A statement of a MATPOWER case that is not understood.
    #[error(
        "line {line}: `{statement}` computes what is not understood: load the case in MATPOWER and write it \
         with `savecase`"
    )]
    NotUnderstood {
        /// Line of its beginning.
        line: u64,
        /// Its first line.
        statement: String,
    },
    /// A bracket that is not closed.
    #[error("line {line}: `{statement}` has no closing bracket")]
    Unclosed {
        /// Line of its beginning.
        line: u64,
        /// Its first line.
        statement: String,
    },
    /// A row of a MATPOWER table that is too short.
    #[error("line {line}: a row of mpc.{table} has {found} columns, at least {needed} are needed")]
    ShortRow {
        /// Where.
        line: u64,
        /// Name of the table.
        table: &'static str,
        /// Columns of the row.
        found: usize,
        /// Columns that are read.
        needed: usize,
    },
    /// A cell of a table that is no number.
    #[error("line {line}: `{cell}` is no number")]
    NoNumber {
        /// Where.
        line: u64,
        /// The cell.
        cell: String,
    },
    /// A number that cannot be that of a bus.
    #[error("line {line}: {number} is no bus number")]
    NoBusNumber {
        /// Where.
        line: u64,
        /// The number.
        number: f64,
    },
    /// A bus that the case does not have, in a line of a table.
    #[error("line {line}: there is no bus {bus}")]
    NoBusInLine {
        /// Where.
        line: u64,
        /// Its number, as it stands there.
        bus: String,
    },
    /// A bus that the case does not have.
    #[error("there is no bus {0}")]
    NoBus(u32),
    /// The type of a bus in a MATPOWER case.
    #[error("line {line}: bus type {code} is none of 1 to 4")]
    BusTypeInLine {
        /// Where.
        line: u64,
        /// The type.
        code: f64,
    },
    /// The type of a bus in JSON.
    #[error("bus {bus}: bus type {code} is none of 1 to 4")]
    BusType {
        /// Number of the bus.
        bus: u32,
        /// The type.
        code: u32,
    },
    /// The base power in MVA.
    #[error("the base power is {0} MVA; it must be above zero")]
    Base(f64),
    /// The nominal frequency in Hz.
    #[error("the frequency is {0} Hz; it must be above zero")]
    Frequency(f64),
    /// Constants of governors.
    #[error("governors (gov): R, T1 and T3 must be above zero, T2 not below")]
    Governors,
    /// Two buses of one number.
    #[error("bus {0} stands twice")]
    BusTwice(u32),
    /// Numbers of a bus that are not finite, or a voltage that is not above zero.
    #[error("bus {0}: voltage or power is no usable number")]
    Bus(u32),
    /// A branch without impedance, between these buses.
    #[error(
        "branch {0} to {1}: its impedance is not usable: r + jx must not be zero; join the two buses, or give it 1e-5"
    )]
    Impedance(u32, u32),
    /// The turns ratio of a branch between these buses.
    #[error("branch {0} to {1}: its tap is not usable: it must be above zero, or 0 for a line")]
    Tap(u32, u32),
    /// Numbers that are not finite, of a branch between these buses.
    #[error("branch {0} to {1}: its charging or shift is not usable: give finite numbers")]
    Charging(u32, u32),
    /// The power of a generator at this bus is not finite.
    #[error("generator at bus {0}: its power is no usable number")]
    Power(u32),
    /// A reference bus that nothing holds.
    #[error(
        "the reference bus {0} has no generator in service: give it one, or make a bus that has one the reference (type 3)"
    )]
    NotHeld(u32),
    /// No bus has type 3.
    #[error("no bus is the reference (type 3)")]
    NoReference,
    /// Buses that no reference bus holds together.
    #[error(
        "an island without a reference generator: bus {}; connect it, or make its buses type 4",
        list(.0)
    )]
    Island(Vec<u32>),
    /// Two machines at this bus.
    #[error(
        "two machines at bus {0}: join them (add up Pm, H, Sn and 1/xdp), or put one on a bus of its own, behind \
         a branch that takes over part of its xdp"
    )]
    TwoMachines(u32),
    /// Constants of the machine at this bus.
    #[error("machine at bus {0}: H, xdp and Sn must be above zero")]
    Machine(u32),
    /// A column that tables of machines do not have.
    #[error("unknown column `{found}`; there are {}", known.join(", "))]
    UnknownColumn {
        /// Its name.
        found: String,
        /// The known ones.
        known: &'static [&'static str],
    },
    /// A column of a table of machines that is missing, or stands twice.
    #[error("the column `{0}` must stand in the first line, once")]
    Column(&'static str),
    /// A generator at this bus without a machine.
    #[error("the generator at bus {0} has no machine: give it a line")]
    NoMachine(u32),
    /// A machine at this bus without a generator.
    #[error("the machine at bus {0} has no generator in service: leave its line out")]
    NoGenerator(u32),
    /// A power flow whose equations depend on each other.
    #[error("the power flow has a singular Jacobian: check branches and bus types")]
    SingularFlow,
    /// A power flow without a solution near its start.
    #[error(
        "the power flow does not converge in {steps} steps: bus {bus} misses {missing:.3e} pu; check that demand \
         and generation can be met"
    )]
    Diverges {
        /// Newton steps that were allowed.
        steps: usize,
        /// The bus that is off most.
        bus: u32,
        /// By how much, per unit.
        missing: f64,
    },
    /// Machines are asked for, and the case has none.
    #[error("the file has no machine data (H, xdp, Sn)")]
    NoMachines,
    /// Governors are asked for, and the case has none.
    #[error("the file has no governor data (gov)")]
    NoGovernors,
    /// Loads as constant impedances that make the network singular.
    #[error("the network with its loads is singular")]
    SingularNetwork,
}

fn list(buses: &[u32]) -> String {
    buses.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
