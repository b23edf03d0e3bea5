//! The keys of a scenario about where an FMU runs.
use super::{
    kind::Builder,
    worker::{Isolation, isolates_all},
};
use std::time::Duration;
use superdense_models::kinds::{ParamSpec, ParamType, with};

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

impl Builder<'_> {
    /// Where the FMU runs; `None` is this process.
    pub(super) fn isolation(&mut self) -> Option<Isolation> {
        if self.params.text("isolation") == "none" && !isolates_all() {
            return None;
        }
        let timeout = self.params.duration("call_timeout");
        if timeout.ticks() <= 0 || timeout.is_infinite() {
            let message = "`call_timeout` must be longer than zero".to_owned();
            self.wrong("call_timeout", message, "give a time such as \"30 s\"");
        }
        let restart = self.params.text("restart") == "checkpoint";
        let interface = &self.layout.interface;
        if restart && !(interface.state_access && interface.serialisable) {
            let message = "a worker cannot be started again: the FMU cannot serialise its state (canSerializeFMUState)";
            let help = "export the FMU with it, or leave `restart` out";
            self.wrong("restart", message.to_owned(), help);
        }
        let memory = self.given("memory").then(|| self.params.int("memory"));
        if let Some(bytes) = memory.filter(|bytes| *bytes <= 0) {
            self.wrong("memory", format!("`memory` is {bytes}"), "give a size such as \"2 GB\"");
        }
        let seconds = self.context.resolution.seconds(timeout.ticks());
        let call_timeout = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let memory = memory.and_then(|bytes| u64::try_from(bytes).ok());
        Some(Isolation { call_timeout, memory, restart })
    }
}
