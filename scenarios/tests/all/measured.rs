//! Units of measure: numbers that are printed, sums of temperatures, blocks, settings.
use crate::{plan, plan_with};

/// Energy, path, temperature and a rate of rotation of an hour.
const HOUR: &str = "stop = '1 h'\n[unit.a]\nkind = 'equations'\n\
                    parameters = { P = '3 kW', v = '36 km/h', n = '60 rpm', U = '10 degC' }\n\
                    states = { E = '0 kWh', s = '0 km', T = '20 degC' }\n\
                    derivatives = { E = 'P', s = 'v', T = '(U - T)/tau' }\n\
                    outputs = { E = 'E', s = 's', n = 'n', T = 'T', share = 'P/P', kWh = 'E/3.6e6' }\n\
                    parameters.tau = '5 min'\n[result]\n";

fn hour(result: &str) -> Result<(), String> {
    let text = HOUR.replace("U = '10 degC' }", "U = '10 degC', tau = '5 min' }");
    let text = text.replace("parameters.tau = '5 min'\n", "");
    plan(&format!("{text}r = {result}\n")).map(drop).map_err(|e| e.to_string())
}

/// A number in joules is not printed as kilowatt hours.
#[test]
fn results_count_in_the_unit_that_they_are_printed_with() {
    for (value, unit, remedy) in [
        ("final(a.E)", "kWh", "write final(a.E) / 3600000"),
        ("2 * final(a.E)", "W", "name a unit of its dimension"),
        ("final(a.E)", "W", "name a unit of its dimension"),
        ("duration(a.E >= 0)", "min", "write duration(a.E >= 0) / 60"),
        ("first(a.E >= 1000)", "h", "write first(a.E >= 1000) / 3600"),
        ("max(a.s) - min(a.s)", "km", "write (max(a.s) - min(a.s)) / 1000"),
        ("final(a.n)", "rpm", "/ 0.1047"),
        ("final(a.share)", "%", "write final(a.share) / 0.01"),
        ("final(a.T)", "degC", "write final(a.T) - 273.15, or unit = \"K\""),
        ("final(a.T)", "degF", "write (final(a.T) - 255.3"),
        ("stop", "min", "write stop / 60"),
    ] {
        let told = hour(&format!("{{ value = '{value}', unit = '{unit}' }}"));
        let told = told.err().unwrap_or_else(|| panic!("{value} in {unit}"));
        assert!(told.contains(remedy), "{value} in {unit}: {told}");
    }
    for (value, unit) in [
        ("final(a.E) / 3600000", "kWh"),
        ("final(a.kWh)", "kWh"),
        ("final(a.E)", "J"),
        ("final(a.E)", "N*m"),
        ("100 * final(a.share)", "%"),
        ("final(a.share)", "jobs"),
        ("final(a.T) - 273.15", "degC"),
        ("max(a.T) - min(a.T)", "K"),
        ("max(a.T) - min(a.T)", "degC"),
        ("integral(a.E)", "J*s"),
        ("count(a.E >= 1)", "kW"),
        ("duration(a.E >= 0)", "s"),
    ] {
        let fine = hour(&format!("{{ value = '{value}', unit = '{unit}' }}"));
        assert!(fine.is_ok(), "{value} in {unit}: {}", fine.unwrap_err());
    }
}

/// Metres and metres per second make no sum.
#[test]
fn results_add_what_goes_together() {
    for (value, says) in [
        (
            "final(a.E) + final(a.s)",
            "`final(a.E)` is in m^2*kg/s^2, `final(a.s)` is in m: they cannot be added",
        ),
        ("max(a.E + a.s)", "`a.E` is in m^2*kg/s^2, `a.s` is in m: they cannot be added"),
        ("duration(a.E > a.s)", "they cannot be compared"),
        ("exp(final(a.E))", "`exp` takes a pure number, `final(a.E)` is in m^2*kg/s^2"),
    ] {
        let told = hour(&format!("'{value}'")).unwrap_err();
        assert!(told.contains(says), "{value}: {told}");
    }
    for fine in [
        "final(a.E)/final(a.s)",
        "final(a.s) + 3",
        "first(a.E > 1) - 5",
        "exp(final(a.E)/max(a.E))",
    ] {
        assert!(
            hour(&format!("'{fine}'")).is_ok(),
            "{fine}: {}",
            hour(&format!("'{fine}'")).unwrap_err()
        );
    }
}

/// `2 degC` are 275.15 K: added to a temperature they are no difference.
#[test]
fn temperatures_that_are_added_are_no_difference() {
    let unit = |derivative: &str, more: &str| {
        let text = format!(
            "stop = '1 s'\n[unit.a]\nkind = 'equations'\n\
             parameters = {{ U = '20 degC', d = '2 degC', dT = '2 K', tau = '1 s', k = '1 W/K', C = '1 J/K' }}\n\
             states = {{ T = '20 degC' }}\n{more}derivatives = {{ T = '{derivative}' }}\n"
        );
        plan(&text).map(drop).map_err(|e| e.to_string())
    };
    for wrong in [
        "(U + d - T)/tau",
        "d/tau",
        "-T/tau",
        "(2*U - T)/tau",
        "k*(U + d - T)/C",
        "if T > U then 0 else d/tau",
    ] {
        let told = unit(wrong, "").unwrap_err();
        assert!(told.contains("declare the difference that is added"), "{wrong}: {told}");
    }
    let told = unit("(heat - k*(T - U))/C", "let = { heat = 'k*(U + d - T)' }\n").unwrap_err();
    assert!(told.contains("adds two temperatures and takes one away"), "{told}");
    for right in [
        "(U - T)/tau",
        "(U + dT - T)/tau",
        "(U + d - 2*T)/tau",
        "k*(U - T)/C",
        "dT/tau",
        "(k*U - k*T)/C",
        "2*(k/C)*U - (k/C)*T - (k/C)*d",
    ] {
        let fine = unit(right, "");
        assert!(fine.is_ok(), "{right}: {}", fine.unwrap_err());
    }
}

/// A block has the dimension of the quantity that it was given.
#[test]
fn blocks_have_the_dimension_of_their_parameters() {
    let room = "[unit.room]\nkind = 'equations'\nunconnected = 'ok'\ninputs = { wanted = '20 degC' }\nstates = { T = '20 degC' }\n\
                parameters = { tau = '1 s' }\nderivatives = { T = '(wanted - T)/tau' }\noutputs = { T = 'T' }\n";
    let told = |connection: &str, block: &str| {
        let text =
            format!("stop = '1 s'\nconnections = ['{connection}']\n{room}[unit.b]\n{block}\n");
        match plan(&text) {
            Ok(plan) => plan.warnings.join("\n"),
            Err(e) => e.to_string(),
        }
    };
    for (block, says) in [
        ("kind = 'constant'\nvalue = '22 degC'", ""),
        ("kind = 'step'\nat = '0.5 s'\nfrom = '20 degC'\nto = '22 degC'", ""),
        ("kind = 'sine'\nfrequency = 1\noffset = '20 degC'\namplitude = '2 K'", ""),
        ("kind = 'constant'\nvalue = '72 m'", "`b.y` is in m, `room.wanted` a temperature"),
        ("kind = 'constant'\nvalue = 22", "`b.y` has no unit"),
    ] {
        let found = told("b.y -> room.wanted", block);
        assert!(
            if says.is_empty() { found.is_empty() } else { found.contains(says) },
            "{block}: {found}"
        );
    }
    for (block, says) in [
        ("kind = 'hysteresis'\nlow = 19\nhigh = 21", "`low` of `b` has no unit"),
        ("kind = 'hysteresis'\nlow = '19 degC'\nhigh = '21 degC'", ""),
        ("kind = 'detector'\nthreshold = '5 m'", "`room.T` is a temperature, `b.u` in m"),
    ] {
        let found = told("room.T -> b.u", block);
        assert!(
            if says.is_empty() { found.is_empty() } else { found.contains(says) },
            "{block}: {found}"
        );
    }
}

/// `--set p=3` where 2.5 bar stood is 3 Pa.
#[test]
fn bare_numbers_in_place_of_quantities_are_told() {
    let text = "stop = '1 s'\n[parameters]\np = '2.5 bar'\nlate = '1 s'\n[unit.c]\nkind = 'constant'\nvalue = 'p'\n";
    let warnings = |sets: &[(&str, &str)]| plan_with(text, sets).unwrap().warnings;
    assert!(warnings(&[("p", "3")])[0].contains("`p` was \"2.5 bar\", and is 3 now"));
    assert!(warnings(&[("unit.c.value", "3"), ("late", "3")]).is_empty());
    assert!(warnings(&[("p", "3 bar")]).is_empty());
}

/// A mean below zero is no mean of an exponential distribution.
#[test]
fn distributions_that_do_not_exist_are_refused() {
    for wrong in ["exponential(-1)", "uniform(2, 1)", "normal(0, -1)"] {
        let event = format!(
            "stop = '1 s'\n[unit.a]\nkind = 'equations'\ndiscrete = {{ n = 0 }}\noutputs = {{ n = 'n' }}\n\
             [[unit.a.event]]\nname = 'e'\nevery = '0.5 s'\nreset = {{ n = '{wrong}' }}\n"
        );
        let told = plan(&event).map(drop).unwrap_err().to_string();
        assert!(told.contains("there is no such distribution"), "{wrong}: {told}");
        let right = event.replace("(-1)", "(1)").replace("(2, 1)", "(1, 2)").replace("-1)", "1)");
        assert!(plan(&right).is_ok(), "{right}");
    }
}

/// Ways of writing units.
#[test]
fn units_are_written_in_many_ways() {
    let given = |value: &str| {
        let text = format!("stop = '1 s'\n[unit.c]\nkind = 'constant'\nvalue = '{value}'\n");
        plan(&text).map(drop).map_err(|e| e.to_string())
    };
    for fine in ["3 m²", "3 m³/h", "3 1/(s*Pa)", "3 1/s/Pa", "5 N*m"] {
        assert!(given(fine).is_ok(), "{fine}: {}", given(fine).unwrap_err());
    }
    for (wrong, remedy) in
        [("1 degC/min", "`K`"), ("4.19 kJ/kg/degC", "`K`"), ("5 Nm", "`N*m`"), ("3 m/s2", "`s^2`")]
    {
        let told = given(wrong).unwrap_err();
        assert!(told.contains(&format!("did you mean {remedy}?")), "{wrong}: {told}");
    }
}
