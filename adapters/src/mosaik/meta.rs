//! The description that a simulator gives of itself in its answer to `init`, as version 3 of the mosaik API reads it.
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// How a simulator is stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepping {
    /// By itself, at times that it chooses.
    TimeBased,
    /// By what arrives.
    EventBased,
    /// By both.
    Hybrid,
}

impl Stepping {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TimeBased => "time-based",
            Self::EventBased => "event-based",
            Self::Hybrid => "hybrid",
        }
    }
}

/// Attributes: those that are named, or all but those.
#[derive(Debug, Clone, PartialEq)]
enum Attributes {
    Named(BTreeSet<String>),
    AllBut(BTreeSet<String>),
}

impl Attributes {
    fn none() -> Self {
        Self::Named(BTreeSet::new())
    }
    fn all() -> Self {
        Self::AllBut(BTreeSet::new())
    }
    fn contains(&self, attribute: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(attribute),
            Self::AllBut(names) => !names.contains(attribute),
        }
    }
    fn others(self) -> Self {
        match self {
            Self::Named(names) => Self::AllBut(names),
            Self::AllBut(names) => Self::Named(names),
        }
    }
    fn is_none(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }
}

/// A model of a simulator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub public: bool,
    params: Vec<String>,
    inputs: Attributes,
    outputs: Attributes,
    triggers: Attributes,
    persistent: Attributes,
}

impl Model {
    pub(super) fn has_input(&self, attribute: &str) -> bool {
        self.inputs.contains(attribute)
    }
    pub(super) fn has_output(&self, attribute: &str) -> bool {
        self.outputs.contains(attribute)
    }
    /// Whether what arrives there makes the simulator step.
    pub(super) fn triggers(&self, attribute: &str) -> bool {
        self.triggers.contains(attribute)
    }
    /// Whether the attribute holds its value between steps.
    pub(super) fn is_persistent(&self, attribute: &str) -> bool {
        self.persistent.contains(attribute)
    }
    /// Attributes by name, for messages.
    pub(super) fn known(&self) -> String {
        let Attributes::Named(names) = &self.outputs else { return "any".into() };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.join(", ")
    }
    /// The first of these parameters that the model does not have.
    pub(super) fn stranger<'a>(&self, mut given: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        given.find(|g| !self.params.iter().any(|p| p == g))
    }
    pub(super) fn params(&self) -> String {
        self.params.join(", ")
    }
}

/// The answer to `init`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meta {
    pub stepping: Stepping,
    pub models: BTreeMap<String, Model>,
}

/// Why an answer to `init` cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum MetaError {
    /// Another version of the API.
    #[error(
        "it speaks version {0} of the mosaik API; version 3 is spoken here: use a newer release of the simulator"
    )]
    Version(String),
    /// Something that has no meaning.
    #[error("its answer to `init` cannot be used: {0}")]
    Strange(String),
}

fn strange<T>(why: String) -> Result<T, MetaError> {
    Err(MetaError::Strange(why))
}

impl Meta {
    /// Reads the answer.
    ///
    /// # Errors
    /// Another version, or contents without a meaning.
    pub(super) fn read(answer: &Json) -> Result<Self, MetaError> {
        let Json::Object(answer) = answer else {
            return strange(format!("{answer} is no table"));
        };
        // Simulators of version 1 said nothing of it.
        let version = match answer.get("api_version") {
            Some(Json::String(version)) => version.clone(),
            Some(other) => other.to_string(),
            None => "1".into(),
        };
        if version.split('.').next() != Some("3") {
            return Err(MetaError::Version(version));
        }
        let stepping = match answer.get("type").and_then(Json::as_str) {
            None | Some("time-based") => Stepping::TimeBased,
            Some("event-based") => Stepping::EventBased,
            Some("hybrid") => Stepping::Hybrid,
            Some(other) => return strange(format!("the type `{other}`")),
        };
        let empty = Map::new();
        let models = match answer.get("models") {
            Some(Json::Object(models)) => models,
            None => &empty,
            Some(other) => return strange(format!("the models {other}")),
        };
        let each =
            |(name, model): (&String, &Json)| Ok((name.clone(), read(name, model, stepping)?));
        Ok(Self { stepping, models: models.iter().map(each).collect::<Result<_, _>>()? })
    }
}

/// A list of attributes; a truth value stands for all or none.
fn attributes(model: &Map<String, Json>, key: &str) -> Result<Option<Attributes>, MetaError> {
    Ok(match model.get(key) {
        None | Some(Json::Null) => None,
        Some(Json::Bool(true)) => Some(Attributes::all()),
        Some(Json::Bool(false)) => Some(Attributes::none()),
        Some(Json::Array(_)) => Some(Attributes::Named(names(model, key)?.into_iter().collect())),
        Some(other) => return strange(format!("`{key}` is {other}")),
    })
}

fn names(model: &Map<String, Json>, key: &str) -> Result<Vec<String>, MetaError> {
    let Some(list) = model.get(key) else { return Ok(Vec::new()) };
    let name = |j: &Json| j.as_str().map(str::to_owned);
    let list = list.as_array().and_then(|list| list.iter().map(name).collect());
    list.map_or_else(|| strange(format!("`{key}` is no list of names")), Ok)
}

fn read(name: &str, model: &Json, stepping: Stepping) -> Result<Model, MetaError> {
    let Json::Object(model) = model else { return strange(format!("the model `{name}`")) };
    let [attrs, trigger, measured, persistent, transient] =
        ["attrs", "trigger", "non-trigger", "persistent", "non-persistent"]
            .map(|key| attributes(model, key));
    let (attrs, trigger, measured) = (attrs?, trigger?, measured?);
    let (persistent, transient) = (persistent?, transient?);
    let flag = |key: &str, otherwise| model.get(key).and_then(Json::as_bool).unwrap_or(otherwise);
    let any = flag("any_inputs", false);
    let union = |a: &Option<Attributes>, b: &Option<Attributes>| match (a, b) {
        (Some(Attributes::Named(a)), Some(Attributes::Named(b))) => {
            Some(Attributes::Named(a.union(b).cloned().collect()))
        }
        _ => None,
    };
    let outputs = attrs
        .clone()
        .or_else(|| union(&persistent, &transient))
        .or_else(|| union(&trigger, &measured));
    let Some(outputs) = outputs else {
        return strange(format!("the model `{name}` has no `attrs`"));
    };
    let forbidden = match stepping {
        Stepping::TimeBased => [("trigger", &trigger), ("non-persistent", &transient)],
        Stepping::EventBased => [("non-trigger", &measured), ("persistent", &persistent)],
        Stepping::Hybrid => [("", &None), ("", &None)],
    };
    for (key, list) in forbidden {
        if list.as_ref().is_some_and(|list| !list.is_none()) {
            let type_ = stepping.name();
            return strange(format!("a {type_} simulator with `{key}` in its model `{name}`"));
        }
    }
    let (triggers, persistent) = match stepping {
        Stepping::TimeBased => (Attributes::none(), Attributes::all()),
        Stepping::EventBased => (Attributes::all(), Attributes::none()),
        Stepping::Hybrid => (
            trigger.or_else(|| measured.map(Attributes::others)).unwrap_or(Attributes::none()),
            persistent.or_else(|| transient.map(Attributes::others)).unwrap_or(Attributes::all()),
        ),
    };
    let inputs = if any { Attributes::all() } else { outputs.clone() };
    let params = names(model, "params")?;
    Ok(Model { public: flag("public", true), params, inputs, outputs, triggers, persistent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(stepping: &str, model: Json) -> Result<Model, MetaError> {
        let meta = json!({ "api_version": "3.0", "type": stepping, "models": { "M": model } });
        Ok(Meta::read(&meta)?.models["M"].clone())
    }

    #[test]
    fn defaults_are_those_of_the_type() {
        for (stepping, triggers, persistent) in
            [("time-based", false, true), ("event-based", true, false), ("hybrid", false, true)]
        {
            let m = model(stepping, json!({ "attrs": ["a"], "params": ["p"] })).unwrap();
            assert_eq!((m.triggers("a"), m.is_persistent("a")), (triggers, persistent));
            assert!(m.public && m.has_input("a") && !m.has_input("b") && !m.has_output("b"));
            assert_eq!(m.stranger(["p", "q"].into_iter()), Some("q"));
        }
    }

    #[test]
    fn lists_of_hybrid_simulators_complete_each_other() {
        let m = model(
            "hybrid",
            json!({ "attrs": ["a", "b"], "trigger": ["a"], "non-persistent": ["b"] }),
        );
        let m = m.unwrap();
        assert!(m.triggers("a") && !m.triggers("b"));
        assert!(m.is_persistent("a") && !m.is_persistent("b"));
        let m = model(
            "hybrid",
            json!({ "attrs": ["a", "b"], "non-trigger": ["a"], "any_inputs": true }),
        );
        let m = m.unwrap();
        assert!(!m.triggers("a") && m.triggers("b") && m.has_input("c") && m.triggers("c"));
        let m =
            model("hybrid", json!({ "trigger": true, "persistent": ["x"], "non-persistent": [] }));
        assert!(m.unwrap().triggers("x"));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for (meta, part) in [
            (json!({ "models": {} }), "version 1"),
            (json!({ "api_version": "2.4" }), "version 2.4"),
            (json!({ "api_version": 3, "type": "daily" }), "daily"),
            (json!(5), "no table"),
            (json!({ "api_version": "3.0", "models": 1 }), "models"),
            (json!({ "api_version": "3.0", "models": { "M": { "attrs": 4 } } }), "attrs"),
            (
                json!({ "api_version": "3.0", "models": { "M": { "attrs": ["a"], "trigger": ["a"] } } }),
                "trigger",
            ),
            (json!({ "api_version": "3.0", "models": { "M": {} } }), "attrs"),
        ] {
            let e = Meta::read(&meta).unwrap_err().to_string();
            assert!(e.contains(part), "{e} should contain {part}");
        }
        assert!(Meta::read(&json!({ "api_version": "3", "models": {} })).is_ok());
    }
}
