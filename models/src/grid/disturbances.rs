//! Trips, faults and outages of a power system, as a scenario gives them.
use super::{
    case::{BusType, Case},
    machines::{Fault, Outage, Plan},
    powersystem::number,
};
use crate::kinds::{
    Context, Located, Param, ParamError, Params,
    params::{Entries, ticks_of},
};

/// The case that disturbances are read for.
struct Reading<'a> {
    case: &'a Case,
    context: &'a Context<'a>,
}

/// Reads `trips`, `fault` and `outages`.
pub(super) fn read(
    params: &Params,
    case: &Case,
    context: &Context<'_>,
    plan: &mut Plan,
    errors: &mut Vec<ParamError>,
) {
    let reading = Reading { case, context };
    let all = |name, keys: &[&str], errors: &mut Vec<ParamError>| {
        let tables = tables(params, name, errors).iter();
        tables.filter_map(|p| Entries::new(p, keys, errors)).collect::<Vec<_>>()
    };
    for e in all("trips", &["bus", "at"], errors) {
        let trip = reading.trip(&e).and_then(|(at, machine)| {
            let again = plan.trips.iter().any(|&(_, other)| other == machine);
            let bus = case.buses[case.machines[machine].bus].id;
            plan.trips.push((at, machine));
            once(&e, again, format!("the machine at bus {bus} trips twice"))
        });
        errors.extend(trip.err());
    }
    for e in all("fault", &["bus", "reactance", "from", "to"], errors) {
        let fault = reading.fault(&e).map(|fault| plan.faults.push(fault));
        errors.extend(fault.err());
    }
    for e in all("outages", &["from", "to", "circuit", "at", "until"], errors) {
        let outage = reading.outage(&e).and_then(|outage| {
            let again = plan.outages.iter().any(|o| o.branch == outage.branch);
            plan.outages.push(outage);
            once(&e, again, "this branch has two outages".into())
        });
        errors.extend(outage.err());
    }
}

/// An error where a disturbance stands twice.
fn once(e: &Entries<'_>, again: bool, message: String) -> Result<(), ParamError> {
    if again {
        return Err(ParamError::at(e.span.clone(), message).help("remove one of the two"));
    }
    Ok(())
}

impl Reading<'_> {
    /// The number of a bus, and its place in the case.
    fn place(&self, e: &Entries<'_>, key: &str) -> Result<(u32, usize), ParamError> {
        let given = number(e, key, Some(self.context))?;
        let bus = given as u32;
        let known = if f64::from(bus) == given {
            match self.case.place(bus) {
                Ok(k) if self.case.buses[k].ty == BusType::Isolated => {
                    Err(format!("bus {bus} is isolated (type 4)"))
                }
                known => known.map_err(|why| why.to_string()),
            }
        } else {
            Err(format!("{given} is no number of a bus"))
        };
        let help = "name a bus of the network file";
        let place = known.map_err(|why| ParamError::at(e.span.clone(), why).help(help))?;
        Ok((bus, place))
    }

    fn instant(&self, e: &Entries<'_>, key: &str) -> Result<i64, ParamError> {
        let Some(p) = e.get(key) else {
            let missing = ParamError::at(e.span.clone(), format!("`{key}` is missing"));
            return Err(missing.help("give a time such as \"1 s\""));
        };
        match ticks_of(p, self.context)? {
            ticks if ticks > 0 => Ok(ticks),
            _ => Err(ParamError::at(p.span.clone(), format!("`{key}` must come after the start"))
                .help("the run starts in equilibrium; give a later time, such as \"1 ms\"")),
        }
    }

    /// The tick of a trip, and the place of the machine.
    fn trip(&self, e: &Entries<'_>) -> Result<(i64, usize), ParamError> {
        let (bus, place) = self.place(e, "bus")?;
        let machine = self.case.machines.iter().position(|m| m.bus == place).ok_or_else(|| {
            ParamError::at(e.span.clone(), format!("there is no machine at bus {bus}"))
                .help("trip a machine of the network file")
        })?;
        Ok((self.instant(e, "at")?, machine))
    }

    fn fault(&self, e: &Entries<'_>) -> Result<Fault, ParamError> {
        let reactance = number(e, "reactance", Some(self.context))?;
        let ticks = [self.instant(e, "from")?, self.instant(e, "to")?];
        if !(reactance > 0.0 && reactance.is_finite()) || ticks[1] <= ticks[0] {
            let what = "a fault needs a reactance above zero and an end after its start";
            let error = ParamError::at(e.span.clone(), what);
            return Err(error.help("see `reactance`, `from`, `to`"));
        }
        Ok(Fault { bus: self.place(e, "bus")?.1, reactance, ticks })
    }

    fn outage(&self, e: &Entries<'_>) -> Result<Outage, ParamError> {
        let ((from, a), (to, b)) = (self.place(e, "from")?, self.place(e, "to")?);
        let circuit = e.get("circuit").map_or(Ok(1.0), |_| number(e, "circuit", None))?;
        let between = |k: &usize| [[a, b], [b, a]].contains(&self.case.branches[*k].ends);
        let mut all = (0..self.case.branches.len()).filter(between);
        let branch = all.nth((circuit - 1.0).max(0.0) as usize).ok_or_else(|| {
            let what = format!("there is no branch {from} to {to}, circuit {circuit}");
            ParamError::at(e.span.clone(), what).help("name a branch of the network file")
        })?;
        let at = self.instant(e, "at")?;
        let until = e.get("until").map(|_| self.instant(e, "until")).transpose()?;
        if until.is_some_and(|until| until <= at) {
            let what = "the branch closes before it opens";
            return Err(ParamError::at(e.span.clone(), what).help("see `at` and `until`"));
        }
        Ok(Outage { branch, ticks: (at, until) })
    }
}

/// The tables of a parameter: a list of them, or a single one.
fn tables<'a>(
    params: &'a Params,
    name: &str,
    errors: &mut Vec<ParamError>,
) -> &'a [Located<Param>] {
    match params.get(name) {
        Some(Located { value: Param::List(list), .. }) => list,
        Some(p @ Located { value: Param::Table(_), .. }) => std::slice::from_ref(p),
        Some(p) if p.value != Param::Text(String::new()) => {
            let what = format!("`{name}` is no table or list of tables");
            errors.push(ParamError::at(p.span.clone(), what).help("write [{ bus = 16, … }]"));
            &[]
        }
        _ => &[],
    }
}
