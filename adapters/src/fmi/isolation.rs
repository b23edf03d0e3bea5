//! The keys of a scenario about where an FMU runs.
use super::worker::{Isolation, isolates_all};
use std::time::Duration;
use superdense_models::kinds::{Context, Param, ParamError, ParamSpec, ParamType, Params, with};

pub(super) const PARAMS: [ParamSpec; 4] = [
    with(
        "isolation",
        ParamType::Choice(&["none", "process"]),
        "none",
        "process: in a worker process, so that a crash of the FMU is an error of its unit; also the option --isolate",
    ),
    with(
        "call_timeout",
        ParamType::Duration,
        "30 s",
        "isolation: longest wall time of one call, after which the worker is killed",
    ),
    with("memory", ParamType::Bytes, "", "isolation: most memory of the worker, such as \"2 GB\""),
    with(
        "restart",
        ParamType::Choice(&["never", "checkpoint"]),
        "never",
        "isolation: checkpoint starts a worker that died again, from its last saved state",
    ),
];

/// Where the FMU runs; `None` is this process. Mistakes go to `errors`.
pub(super) fn isolation(
    params: &Params,
    context: &Context<'_>,
    serialisable: bool,
    errors: &mut Vec<ParamError>,
) -> Option<Isolation> {
    let given =
        |name: &str| params.get(name).is_some_and(|p| p.value != Param::Text(String::new()));
    if params.text("isolation") == "none" && !isolates_all() {
        return None;
    }
    let mut wrong = |name: &str, message: &str, help: &str| {
        errors.push(ParamError::at(params.span(name), message.to_owned()).help(help));
    };
    let timeout = params.duration("call_timeout");
    if timeout.ticks() <= 0 || timeout.is_infinite() {
        wrong(
            "call_timeout",
            "`call_timeout` must be longer than zero",
            "give a time such as \"30 s\"",
        );
    }
    let restart = params.text("restart") == "checkpoint";
    if restart && !serialisable {
        let message = "a worker cannot be started again: the FMU cannot serialise its state (canSerializeFMUState)";
        wrong("restart", message, "export the FMU with it, or leave `restart` out");
    }
    let seconds = context.resolution.seconds(timeout.ticks());
    let call_timeout = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let memory = given("memory").then(|| u64::try_from(params.int("memory")).unwrap_or(0));
    Some(Isolation { call_timeout, memory, restart })
}
