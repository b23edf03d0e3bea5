//! The two masses of methods 3.1 as two equation units, coupled by messages only.
use std::sync::{Arc, Mutex};
use superdense_kernel::{
    Coupled, Fact, Options, Simulation,
    port::{InPort, OutPort},
    time::{Resolution, Tag},
    trace::{Observer, Site, Verdict},
};
use superdense_models::{
    continuous::EquationsKind,
    registry::{Context, LinkSpec, Located, Param, Params, UnitKind},
    value::Value,
};

fn param(v: &toml::Value) -> Located<Param> {
    let value = match v {
        toml::Value::String(s) => Param::Text(s.clone()),
        toml::Value::Integer(i) => Param::Int(*i),
        toml::Value::Float(x) => Param::Real(*x),
        toml::Value::Boolean(b) => Param::Bool(*b),
        toml::Value::Array(a) => Param::List(a.iter().map(param).collect()),
        toml::Value::Table(t) => {
            Param::Table(t.iter().map(|(k, v)| (Located::new(k.clone(), 0..0), param(v))).collect())
        }
        toml::Value::Datetime(d) => Param::Text(d.to_string()),
    };
    Located::new(value, 0..0)
}

fn params(text: &str) -> Params {
    let table: toml::Table = text.parse().unwrap();
    let mut values: Vec<(String, Located<Param>)> =
        table.iter().map(|(k, v)| (k.clone(), param(v))).collect();
    for spec in EquationsKind.params() {
        if !values.iter().any(|(n, _)| n == spec.name)
            && let Some(d) = spec.default
            && !d.is_empty()
        {
            let v = d.parse().map_or_else(|_| Param::Text(d.into()), Param::Real);
            values.push((spec.name.into(), Located::new(v, 0..0)));
        }
    }
    Params { values }
}

struct Log(Vec<(Tag, String)>);
impl Observer<Value> for Log {
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        if let Fact::Event { name, unit, .. } = fact {
            self.0.push((
                tag,
                format!("{}/{name}", unit.as_deref().map_or_else(|| site.path(), str::to_owned)),
            ));
        }
        Verdict::Continue(())
    }
}

#[test]
fn twelve_events() {
    let tol = std::env::var("TOL").unwrap_or("1e-11".into());
    let common = format!(
        "method='rk45'\ntolerance = 1e-12\nabsolute_tolerance=1e-12\nexchange_tolerance = {tol}\n"
    );
    let upper = params(
        &(common.clone()
            + r#"
inputs = { x2 = -8.8, v2 = 3.0 }
states = { x1 = -0.7, v1 = 3.5 }
derivatives = { x1 = "v1", v1 = "(-2*x1 - 0.02*v1 + x2 + 0.01*v2)/0.2 - 9.81" }
outputs = { x = "x1", v = "v1" }
[[event]]
name = "ceiling"
when = "x1 >= -0.55 and v1 >= 0"
reset = { v1 = "-v1" }
"#),
    );
    let lower = params(
        &(common
            + r#"
inputs = { x1 = -0.7, v1 = 3.5 }
states = { x2 = -8.8, v2 = 3.0 }
derivatives = { x2 = "v2", v2 = "(-x2 - 0.01*v2 + x1 + 0.01*v1)/0.3 - 9.81" }
outputs = { x = "x2", v = "v2" }
"#),
    );
    let text = |s: &str| Located::new(s.to_owned(), 0..0);
    // Path order: lower, upper.
    let link = |member: u32, known: [Option<&str>; 4], target: &str, expr: &str| LinkSpec {
        link: 0,
        name: "collision".into(),
        member,
        members: vec!["lower".into(), "upper".into()],
        variables: vec![(1, "x1".into()), (0, "x2".into()), (1, "v1".into()), (0, "v2".into())],
        known_by: known.map(|k| k.map(str::to_owned)).to_vec(),
        when: text("upper.x1 - lower.x2 <= 1.1 and upper.v1 <= lower.v2"),
        reset: vec![(text(target), text(expr))],
        priority: 0,
    };
    let (m1, m2) = (0.2, 0.3);
    let l_lower = link(
        0,
        [Some("x1"), None, Some("v1"), None],
        "v2",
        &format!("(({m2}-{m1})*lower.v2 + 2*{m1}*upper.v1)/({m1}+{m2})"),
    );
    let l_upper = link(
        1,
        [None, Some("x2"), None, Some("v2")],
        "v1",
        &format!("(({m1}-{m2})*upper.v1 + 2*{m2}*lower.v2)/({m1}+{m2})"),
    );
    let build = |p: &Params, path: &str, links: &[LinkSpec], src: u32| {
        let context = Context {
            path,
            resolution: Resolution::PICO,
            seed: 1,
            folder: std::path::Path::new("."),
            constants: &|_| None,
            links,
            input_sources: &[Some(src), Some(src)],
        };
        EquationsKind.build(p, &context).unwrap()
    };
    let mut top = Coupled::<Value>::new();
    let u = top.add_component("upper", build(&upper, "upper", &[l_upper], 1));
    let l = top.add_component("lower", build(&lower, "lower", &[l_lower], 0));
    for (a, b) in [(u, l), (l, u)] {
        for p in 0..3 {
            top.couple(a.output(OutPort::<Value>::new(p)), b.input(InPort::<Value>::new(p)));
        }
    }
    let mut sim =
        Simulation::new(top, Options { resolution: Resolution::PICO, ..Options::default() })
            .unwrap();
    let log = Arc::new(Mutex::new(Log(Vec::new())));
    sim.observe(Arc::clone(&log));
    let t0 = std::time::Instant::now();
    sim.run_through(20 * Resolution::PICO.ticks_per_second()).unwrap();
    println!("{:?} {:?} {:?}", t0.elapsed(), sim.counts(), sim.statistics());
    let reference = [
        0.5407270365756704,
        1.6599572429127696,
        4.631695284738953,
        4.900693539472292,
        5.289556203264611,
        8.415365357100805,
        8.901088520111077,
        9.189006534536923,
        13.723741642697071,
        14.832242781228695,
        18.1511188567933585,
        19.174235487198,
    ];
    for (i, (tag, name)) in log.lock().unwrap().0.iter().enumerate() {
        let t = tag.ticks as f64 / 1e12;
        println!("{t:.12} {} {name} {:e}", tag.micro, t - reference.get(i).unwrap_or(&0.0));
    }
    let (u, l) = (sim.find("upper").unwrap(), sim.find("lower").unwrap());
    let end = 20 * Resolution::PICO.ticks_per_second();
    let z: Vec<f64> = [(u, 0), (u, 1), (l, 0), (l, 1)]
        .iter()
        .map(|&(k, p)| sim.probe(k, p, end).unwrap().as_real().unwrap())
        .collect();
    let zr = [-4.738699217821, -6.191009332078, -8.410101376233, -4.706424151185];
    for i in 0..4 {
        println!("z{i} {} {:e}", z[i], z[i] - zr[i]);
    }
    assert_eq!(log.lock().unwrap().0.len(), 12);
}
