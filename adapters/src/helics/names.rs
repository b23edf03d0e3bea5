//! Numbers of HELICS and the names of federates behind them.
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Federates by the numbers of themselves, their cores and their brokers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Names {
    by_number: BTreeMap<u64, Vec<String>>,
}

impl Names {
    /// Learns from an answer that has all federates in their cores; who is not in it any more stays known.
    pub(super) fn learn(&mut self, map: &str) {
        if let Ok(json) = serde_json::from_str(map) {
            self.enter(&json);
        }
    }

    /// Notes all federates below a broker, a core or a federate, and gives their names.
    fn enter(&mut self, node: &Json) -> Vec<String> {
        let own = |key: &str| node.get("attributes").unwrap_or(node).get(key);
        let inner = ["brokers", "cores", "federates"].iter().filter_map(|key| node.get(key));
        let inner: Vec<&Json> = inner.filter_map(Json::as_array).flatten().collect();
        let mut all: Vec<String> = inner.into_iter().flat_map(|node| self.enter(node)).collect();
        let is_left = all.is_empty();
        if is_left {
            all.extend(own("name").and_then(Json::as_str).map(str::to_owned));
        }
        if let Some(number) = own("id").and_then(Json::as_u64) {
            // A core that its federates have left keeps their names.
            let known = self.by_number.entry(number).or_default();
            if !is_left || known.is_empty() {
                known.clone_from(&all);
            }
        }
        all
    }

    /// A message with the names of all federates whose numbers are in it.
    pub(super) fn told(&self, message: &str) -> String {
        let mut told = message.to_owned();
        for (number, names) in &self.by_number {
            // Small numbers may mean anything.
            if *number < 1 << 16 {
                continue;
            }
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            told = told.replace(&number.to_string(), &names.join(", "));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_federates_and_cores_have_names() {
        let map = r#"{"attributes":{"id":1,"name":"root"},"brokers":[],"cores":[
            {"attributes":{"id":1879048192,"name":"x-core"},
             "federates":[{"attributes":{"id":131072,"name":"grid","parent":1879048192}}]},
            {"attributes":{"id":1879048193,"name":"y-core"},
             "federates":[{"attributes":{"id":131073,"name":"house","parent":1879048193}}]}]}"#;
        let mut names = Names::default();
        names.learn(map);
        names.learn("#invalid");
        assert_eq!(names.told("lost comms with 1879048192"), "lost comms with `grid`");
        assert_eq!(names.told("131073 at 1 s"), "`house` at 1 s");
        assert_eq!(Names::default().told("131073"), "131073");
    }
}
