//! `check`.
use super::{
    Done, demand, frequencies, graph,
    options::CheckOptions,
    place, policies,
    report::{Console, columns},
    stability::stability,
};
use crate::{load_with_graph, output::directory};
use serde_json::json;

/// `superdense check FILE`.
pub(super) fn check(console: &Console, check: &CheckOptions) -> Done {
    let options = &check.plan;
    let (plan, graph) = load_with_graph(&options.file, &options.set, &options.overrides())?;
    let units = plan.units.iter().filter(|u| !u.hidden).count();
    let stop = plan.resolution.format(plan.stop);
    let radii = stability(check)?;
    let demand = demand::demand(check)?;
    let swings = frequencies::found(check)?;
    if let Some(file) = &check.dot {
        place::ends(file, "dot")?;
        directory::replace(file, graph::dot(&graph, &plan.name).as_bytes())?;
    }
    let warnings = [plan.warnings.clone(), graph::warnings(&graph)].concat();
    let text = format!(
        "{}: ok\n{}{}{}{}{}{}",
        plan.name,
        columns(
            &[
                vec!["title".into(), plan.title.clone()],
                vec!["units".into(), units.to_string()],
                vec!["connections".into(), graph.edges.len().to_string()],
                vec!["links".into(), plan.links.len().to_string()],
                vec!["stop".into(), format!("{stop} s")],
                vec!["resolution".into(), plan.resolution.to_string()],
                vec!["records".into(), plan.record.len().to_string()],
                vec!["plots".into(), plan.plots.len().to_string()],
            ],
            &[]
        ),
        if check.graph { graph::text(&graph) } else { String::new() },
        policies::text(&plan.couplings, check.policies),
        radii.as_ref().map_or_else(String::new, |r| r.text()),
        swings.as_ref().map_or_else(String::new, frequencies::text),
        demand.as_ref().map_or_else(String::new, demand::text)
    );
    console.say(&text, || {
        let labels: Vec<_> = plan.record.iter().map(|r| &r.label).collect();
        let mut object = json!({
            "status": "ok",
            "scenario": plan.name,
            "title": plan.title,
            "units": units,
            "connections": graph.edges.len(),
            "links": plan.links,
            "warnings": warnings,
            "stop": stop.parse::<f64>().ok(),
            "resolution": plan.resolution.to_string(),
            "seed": plan.seed,
            "record": labels,
            "plots": plan.plots.len(),
            "plan_hash": format!("{:016x}", plan.plan_hash),
        });
        let more = [
            ("graph", check.graph.then(|| graph::object(&graph))),
            ("couplings", check.policies.then(|| policies::object(&plan.couplings))),
            ("stability", radii.as_ref().map(|r| r.object())),
            ("frequencies", swings.as_ref().map(frequencies::object)),
            ("real_time", demand.as_ref().map(|demand| json!(demand))),
        ];
        for (key, value) in more {
            value.into_iter().for_each(|value| object[key] = value);
        }
        object
    });
    for warning in &warnings {
        console.remark(&format!("warning: {warning}"));
    }
    Ok(())
}
