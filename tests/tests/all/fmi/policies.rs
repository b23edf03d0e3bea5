//! Verdicts of `check --policies` about black boxes agree with attempts to use the policies.
use super::{Bench, WITHOUT};
use superdense::plan::policies::Policy;

const NO_DERIVATIVES: (&str, &str) =
    ("maxOutputDerivativeOrder=\"3\"", "maxOutputDerivativeOrder=\"0\"");
const NO_UPDATE: (&str, &str) =
    ("providesIntermediateUpdate=\"true\"", "providesIntermediateUpdate=\"false\"");
const WITHOUT_BYTES: (&str, &str) =
    ("canSerializeFMUState=\"true\"", "canSerializeFMUState=\"false\"");
const EQUAL_STEPS: (&str, &str) = (
    "canHandleVariableCommunicationStepSize=\"true\"",
    "canHandleVariableCommunicationStepSize=\"false\"",
);

/// A mass as an FMU and one as equations, under a policy.
fn scenario(policy: &str) -> String {
    let more = match policy {
        "[[link]]" => {
            "[[link]]\nname = 'hit'\nunits = ['mass', 'other']\nwhen = 'mass.x <= other.y'\n\
             reset = { 'other.w' = 'mass.v' }\n"
        }
        _ => "",
    };
    let policy = match policy {
        "power = []" => "power = [['mass.v', 'other.f']]",
        "look_ahead = []" => "look_ahead = ['mass.x <= 0 and mass.v < 0']",
        "estimate = \"doubling\"" => "tolerance = 1e-3, estimate = 'doubling'",
        "estimate = \"multi-order\"" => "tolerance = 1e-3, estimate = 'multi-order'",
        "estimate = \"embedded\"" => "tolerance = 1e-3, estimate = 'embedded'",
        "estimate = \"parallel-embedded\"" => "tolerance = 1e-3, estimate = 'parallel-embedded'",
        "estimate = \"conservation\"" => {
            "tolerance = 1e-3, estimate = 'conservation', bonds = [['other.f', 'mass.v']]"
        }
        "estimate = \"milne\"" => "tolerance = 1e-3, estimate = 'milne', iterate = {}",
        "pre_step_extrapolation = \"macro-step\"" => {
            "pre_step = '10 ms', pre_step_extrapolation = 'macro-step'"
        }
        "correction = \"selective\"" => "tolerance = 1e-3, correction = 'selective'",
        "correction = \"pessimistic\"" => "tolerance = 1e-3, correction = 'pessimistic'",
        "step = \"10 ms\"" | "[[link]]" => "order = 'jacobi'",
        line => line,
    };
    format!(
        "connections = ['mass.x -> other.x1', 'mass.v -> other.v1', 'other.f -> mass.F']\n\
         coupling = {{ step = '100 ms', {policy} }}\n\
         [unit.mass]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '50 ms'\n\
         [unit.other]\nkind = 'equations'\ninputs = {{ x1 = 1, v1 = 0 }}\nstates = {{ y = 0, w = 0 }}\n\
         derivatives = {{ y = 'w', w = 'x1 - 3*y + v1 - w' }}\noutputs = {{ f = 'y - x1 + w - v1' }}\n\
         {more}"
    )
}

fn policies(bench: &Bench) -> Vec<Policy> {
    let mut plan = bench.load(&scenario("order = 'jacobi'")).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(plan.couplings.len(), 1);
    plan.couplings.remove(0).policies
}

#[test]
fn what_is_possible_can_be_done() {
    for (name, changes) in [("all", &[][..]), ("no-state", &[WITHOUT])] {
        let bench = Bench::new(&format!("policies-{name}")).fmu("mass", changes);
        let told = policies(&bench);
        assert!(told.len() > 15, "{told:?}");
        let tried = |p: &&Policy| p.line != "check --stability";
        for policy in told.iter().filter(tried) {
            let done = bench.load(&scenario(&policy.line));
            assert_eq!(done.is_ok(), policy.possible, "{name}: {policy:?}: {:?}", done.err());
            assert_eq!(policy.instead.is_some(), !policy.missing.is_empty(), "{policy:?}");
        }
        let impossible: Vec<&str> =
            told.iter().filter(|p| !p.possible).map(|p| p.line.as_str()).collect();
        let links = ["[[link]]", "check --stability"];
        let repeats = [
            "iterate = {}",
            "iterate = { method = \"waveform\" }",
            "pre_step = \"100 us\"",
            "pre_step_extrapolation = \"macro-step\"",
            "estimate = \"doubling\"",
            "estimate = \"milne\"",
            "estimate = \"multi-order\"",
            "estimate = \"embedded\"",
            "estimate = \"parallel-embedded\"",
            "correction = \"pessimistic\"",
            "correction = \"selective\"",
        ];
        let expected =
            if changes.is_empty() { links.to_vec() } else { [&repeats[..], &links].concat() };
        assert_eq!(impossible, expected, "{name}");
    }
}

/// Where something from outside may end a step, a unit that is repeated has to be kept as bytes.
#[test]
fn groups_with_inputs_keep_bytes() {
    for (name, changes) in [("kept", &[][..]), ("not-kept", &[WITHOUT_BYTES])] {
        let bench = Bench::new(&format!("policies-{name}")).fmu("mass", changes);
        let grouped = |policy: &str| {
            let inner = scenario(policy).replace("[unit.", "[template.pair.unit.");
            let inner = inner.replace("v1 = 0 }", "v1 = 0, u = 0 }");
            format!(
                "connections = ['drive.y -> pair.u']\n[unit.drive]\nkind = 'sine'\nfrequency = 1\n\
                 [unit.pair]\ntemplate = 'pair'\n[template.pair]\ninputs = {{ u = 'other.u' }}\n{inner}"
            )
        };
        let plan = bench.load(&grouped("order = 'jacobi'")).unwrap_or_else(|e| panic!("{e:?}"));
        let told = &plan.couplings[0].policies;
        let tried = |p: &&Policy| !["check --stability", "[[link]]"].contains(&&*p.line);
        for policy in told.iter().filter(tried) {
            let done = bench.load(&grouped(&policy.line));
            assert_eq!(done.is_ok(), policy.possible, "{name}: {policy:?}: {:?}", done.err());
        }
        let iterate = told.iter().find(|p| p.line == "iterate = {}").unwrap();
        assert_eq!(iterate.possible, changes.is_empty(), "{iterate:?}");
        if let Err(mistakes) = bench.load(&grouped("iterate = {}")) {
            let (said, told) = (format!("{mistakes:?}"), iterate.missing.join("; "));
            let part = "no serialisable state (canSerializeFMUState";
            assert!(said.contains(part) && told.contains(part), "{said}, {told}");
        }
    }
}

#[test]
fn every_missing_ability_is_named() {
    for (change, line, part) in [
        (NO_DERIVATIVES, "slopes = \"derivatives\"", "mass: no output derivatives"),
        (NO_UPDATE, "extrapolation = 1", "mass: no inputs inside steps"),
        (EQUAL_STEPS, "tolerance = 1e-3", "canHandleVariableCommunicationStepSize"),
        (WITHOUT, "events = \"interrupt\"", "mass: no times of events"),
        (WITHOUT, "iterate = {}", "mass: no state access (canGetAndSetFMUState"),
    ] {
        let bench = Bench::new("policies-named").fmu("mass", &[change]);
        let told = policies(&bench);
        let policy = told.iter().find(|p| p.line == line).unwrap();
        let said = policy.missing.join("; ");
        assert!(said.contains(part) && !said.contains("other"), "{line}: {said}");
        assert_eq!(policy.possible, line != "iterate = {}");
    }
    // An ability of an FMU may be withheld.
    let bench = Bench::new("policies-withheld").fmu("mass", &[]);
    let text = scenario("order = 'jacobi'")
        .replace("step = '50 ms'", "step = '50 ms'\nstate_access = false");
    let plan = bench.load(&text).unwrap();
    let said = format!("{:?}", plan.couplings[0].lacking);
    assert!(said.contains("mass") && said.contains("withheld"), "{said}");
}
