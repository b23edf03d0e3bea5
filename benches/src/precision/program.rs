//! Equations for peers that take them as data.
use super::problem::Problem;
use serde::Serialize;
use std::{error::Error, path::PathBuf};
use superdense_models::{
    grid::{
        case::Case,
        machines::{Fault, Machines, Plan},
    },
    solve::{Dims, Equations, equations::Work},
};

/// A program with the values that its phases have, one register per instruction.
#[derive(Serialize)]
struct Program {
    states: usize,
    constants: Vec<f64>,
    inputs: Vec<u32>,
    code: Vec<(String, [u32; 3])>,
    outputs: Vec<u32>,
    start: Vec<f64>,
    /// Discrete values, and until when.
    phases: Vec<(Vec<f64>, f64)>,
}

/// The machines of S1a.
pub(super) fn machines() -> Result<String, Box<dyn Error>> {
    let file = "../scenarios/library/grid/ieee39.json";
    let case = Case::read(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file))?;
    let fault = Fault { bus: case.place(16)?, reactance: 1e-4, ticks: [1, 2] };
    let plan =
        Plan { governed: vec![false; case.machines.len()], faults: vec![fault], ..Plan::default() };
    let machines = Machines::new(&case, &plan)?;
    let (start, discrete) = machines.initial()?;
    let dims = machines.dims();
    let mut vars = vec![0.0];
    vars.extend(start.iter().chain(&discrete));
    vars.resize(dims.variables(), 0.0);
    let mut phases = Vec::new();
    for (event, until) in [(None, 1.0), (Some(0), 1.1), (Some(1), Problem::Grid.end())] {
        if let Some(event) = event {
            machines.reset(event, &mut vars, &mut Work::default(), &mut Vec::new());
        }
        phases.push((vars[dims.first_discrete()..][..dims.discrete].to_vec(), until));
    }
    let program = machines.programs().ok_or("the machines have no program")?.derivatives;
    debug_assert_eq!(Dims::STATES, 1);
    let program = Program {
        states: dims.states,
        constants: program.constants().to_vec(),
        inputs: program.inputs().iter().map(|id| id.0).collect(),
        code: program.code().iter().map(|i| (format!("{:?}", i.op), i.args)).collect(),
        outputs: program.outputs().to_vec(),
        start,
        phases,
    };
    Ok(serde_json::to_string(&program).expect("plain data"))
}
