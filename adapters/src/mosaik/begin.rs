//! The first moments of a simulator: `init`, `create`, what the file says of its attributes, `setup_done`.
use super::{
    host::{Awaited, Host, HostError, quoted, table},
    layout::{Created, Entity, Port},
    meta::{Meta, Model, Stepping},
    unit::Settings,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A place in the simulator's tables.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub entity: String,
    pub attribute: String,
}

/// Attributes of one entity, each with the ports of its sources.
pub(super) type Fed = (String, Vec<(String, Vec<usize>)>);

/// A simulator that is ready to step.
#[derive(Debug)]
pub(super) struct Begun {
    pub host: Host,
    pub stepping: Stepping,
    /// Per input: whether what arrives makes the simulator step.
    pub triggers: Vec<bool>,
    /// Inputs in the order in which the simulator is told them.
    pub fed: Vec<Fed>,
    /// Per output: where its value is.
    pub places: Vec<Place>,
    /// The argument of `get_data`.
    pub wanted: String,
}

/// An entity that was created.
struct Made {
    id: String,
    of: String,
}

/// Begins.
///
/// # Errors
/// When the simulator does not answer, refuses, or is not what the file says.
pub(super) fn begin(awaited: Awaited, s: &Settings) -> Result<Begun, HostError> {
    let mut host = awaited.connected(&s.sid, s.patience)?;
    (host.until, host.time) = (s.until(), 0);
    let pairs = s.start.iter().map(|(key, json)| (key.as_str(), json.to_string()));
    let own = std::iter::once(("time_resolution", Json::from(s.seconds(s.step)).to_string()));
    let kwargs = table(own.chain(pairs));
    let answer = host.ask("init", &format!("[{}]", quoted(&s.sid)), &kwargs, &|| "init".into())?;
    let meta = Meta::read(&answer)?;
    let mut children = BTreeMap::new();
    let mut made = Vec::new();
    for created in &s.layout.created {
        made.push(create(&mut host, created, &meta, &mut children)?);
    }
    let mut wrong = Vec::new();
    let mut place =
        |port: &Port, input: bool| placed(port, input, s, (&meta, &made, &children), &mut wrong);
    let ins: Vec<Option<Place>> = s.layout.inputs.iter().map(|p| place(p, true)).collect();
    let outs: Vec<Option<Place>> = s.layout.outputs.iter().map(|p| place(p, false)).collect();
    if meta.stepping == Stepping::TimeBased && s.first.is_some() {
        wrong.push("`initial_event` is given, but the simulator is time-based: remove it".into());
    }
    if !wrong.is_empty() {
        return Err(HostError::Contradictions(wrong));
    }
    let model = |p: &Place| children.get(&p.entity).and_then(|of| meta.models.get(of));
    let ins: Vec<Place> = ins.into_iter().flatten().collect();
    let triggers = |p: &Place| model(p).is_some_and(|m| m.triggers(&p.attribute));
    let triggers = ins.iter().map(triggers).collect();
    let places: Vec<Place> = outs.into_iter().flatten().collect();
    host.ask("setup_done", "[]", "{}", &|| "setup_done".into())?;
    let (fed, wanted) = (fed(&ins), wanted(&places));
    Ok(Begun { host, stepping: meta.stepping, triggers, fed, places, wanted })
}

/// Calls `create`, and notes all entities with their models.
fn create(
    host: &mut Host,
    created: &Created,
    meta: &Meta,
    children: &mut BTreeMap<String, String>,
) -> Result<Vec<Made>, HostError> {
    let Created { name, model, count, parameters } = created;
    let one = |text: String| Err(HostError::Contradictions(vec![text]));
    let Some(known) = meta.models.get(model).filter(|m| m.public) else {
        let public = meta.models.iter().filter(|(_, m)| m.public).map(|(name, _)| name.as_str());
        let public = public.collect::<Vec<_>>().join(", ");
        return one(format!(
            "`create.{name}` wants the model `{model}`, but the simulator has the models {public}"
        ));
    };
    if let Some(stranger) = known.stranger(parameters.iter().map(|(key, _)| key.as_str())) {
        let params = known.params();
        return one(format!(
            "`create.{name}` gives the parameter `{stranger}`, but the model `{model}` has the parameters {params}"
        ));
    }
    let kwargs = table(parameters.iter().map(|(key, json)| (key.as_str(), json.to_string())));
    let call = || format!("create of `{name}` ({count} of the model `{model}`)");
    let answer = host.ask("create", &format!("[{count},{}]", quoted(model)), &kwargs, &call)?;
    let strange = |why: String| HostError::Strange { call: call(), why };
    let list = answer.as_array().filter(|list| list.len() == *count);
    let list = list.ok_or_else(|| {
        strange(format!("the simulator gave {} in place of {count} entities", shown(&answer)))
    })?;
    let mut made = Vec::new();
    for entity in list {
        made.push(enter(host, entity, children).map_err(strange)?);
    }
    Ok(made)
}

fn shown(json: &Json) -> String {
    super::wire::start(&json.to_string())
}

/// Notes an entity and its children.
fn enter(
    host: &mut Host,
    entity: &Json,
    types: &mut BTreeMap<String, String>,
) -> Result<Made, String> {
    let text = |key: &str| entity.get(key).and_then(Json::as_str).map(str::to_owned);
    let (Some(id), Some(of)) = (text("eid"), text("type")) else {
        return Err(format!("{} is no entity: it lacks `eid` or `type`", shown(entity)));
    };
    let list = |key: &str| entity.get(key).and_then(Json::as_array).into_iter().flatten();
    let related: Vec<String> = list("rel").filter_map(Json::as_str).map(str::to_owned).collect();
    host.enter(&id, &of, &related);
    if types.insert(id.clone(), of.clone()).is_some() {
        return Err(format!("two entities have the name `{id}`"));
    }
    for child in list("children") {
        enter(host, child, types)?;
    }
    Ok(Made { id, of })
}

type Known<'a> = (&'a Meta, &'a [Vec<Made>], &'a BTreeMap<String, String>);

/// The place of a port; contradictions of the file and the simulator go to `wrong`.
fn placed(
    port: &Port,
    input: bool,
    s: &Settings,
    (meta, made, types): Known<'_>,
    wrong: &mut Vec<String>,
) -> Option<Place> {
    let (name, attribute) = (&port.name, &port.attribute);
    let (entity, of) = match &port.entity {
        Entity::Member(k) => {
            let made = made.get(port.created)?.get(*k)?;
            (made.id.clone(), made.of.clone())
        }
        Entity::Named(id) => match types.get(id) {
            Some(of) => (id.clone(), of.clone()),
            None => {
                let known: Vec<&str> = types.keys().take(12).map(String::as_str).collect();
                let created = &s.layout.created[port.created].name;
                wrong.push(format!(
                    "port `{name}` of `create.{created}` wants the entity `{id}`; among those of the simulator are {}",
                    known.join(", ")
                ));
                return None;
            }
        },
    };
    let Some(model) = meta.models.get(&of) else {
        wrong.push(format!(
            "port `{name}`: the entity `{entity}` is of a model `{of}` that `init` did not tell of"
        ));
        return None;
    };
    let has = if input { model.has_input(attribute) } else { model.has_output(attribute) };
    if !has {
        let known = model.known();
        wrong.push(format!(
            "port `{name}` wants the attribute `{attribute}`, but the model `{of}` has {known}"
        ));
        return None;
    }
    if let Some(text) = contradiction(port, input, model, meta.stepping) {
        wrong.push(text);
    }
    Some(Place { entity, attribute: attribute.clone() })
}

/// Signals are attributes that hold, events are those that do not.
fn contradiction(port: &Port, input: bool, model: &Model, stepping: Stepping) -> Option<String> {
    let Port { name, attribute, .. } = port;
    let stepping = stepping.name();
    if input {
        let told = port.event.is_some() && !model.triggers(attribute);
        return told.then(|| {
            format!(
                "input `{name}` takes events, but `{attribute}` of the {stepping} simulator is no trigger: remove `event`, and connect a signal"
            )
        });
    }
    let persistent = model.is_persistent(attribute);
    let remedy = match (port.event.is_some(), persistent) {
        (true, true) => "is persistent: remove `event`",
        (false, false) => "is not persistent: add event = \"real\" or another type",
        _ => return None,
    };
    let kind = if persistent { "has events" } else { "is a signal" };
    Some(format!(
        "output `{name}` {kind} in the scenario, but `{attribute}` of the {stepping} simulator {remedy}"
    ))
}

/// Inputs by entity and attribute, in the order of the file.
fn fed(places: &[Place]) -> Vec<Fed> {
    let mut all: Vec<Fed> = Vec::new();
    for (port, place) in places.iter().enumerate() {
        let at = all.iter().position(|(entity, _)| *entity == place.entity);
        let at = at.unwrap_or_else(|| {
            all.push((place.entity.clone(), Vec::new()));
            all.len() - 1
        });
        let attributes = &mut all[at].1;
        match attributes.iter_mut().find(|(a, _)| *a == place.attribute) {
            Some((_, ports)) => ports.push(port),
            None => attributes.push((place.attribute.clone(), vec![port])),
        }
    }
    all
}

/// Entities and attributes that are asked for after each step.
fn wanted(places: &[Place]) -> String {
    let list = |names: &[(String, Vec<usize>)]| {
        let names: Vec<String> = names.iter().map(|(name, _)| quoted(name)).collect();
        format!("[{}]", names.join(","))
    };
    let all = fed(places);
    table(all.iter().map(|(entity, names)| (entity.as_str(), list(names))))
}
