//! Records of what came and what went: fields of a line.
use super::data::{Data, Type};

/// The header of both records.
pub const HEADER: &str = "nanoseconds,tag,port,source,type,value";

/// A line of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// HELICS' time.
    pub nanoseconds: i64,
    /// Tick and micro-step.
    pub tag: (i64, u32),
    /// The port of the scenario.
    pub port: String,
    /// The publication or endpoint that sent it.
    pub source: String,
    /// The value.
    pub data: Data,
}

impl Line {
    /// The fields of a line.
    pub fn fields(&self) -> [String; 6] {
        [
            self.nanoseconds.to_string(),
            format!("{}:{}", self.tag.0, self.tag.1),
            self.port.clone(),
            self.source.clone(),
            self.data.ty().name().to_owned(),
            self.data.text(),
        ]
    }

    /// Reads the fields of a line.
    pub fn read(fields: &[impl AsRef<str>]) -> Option<Self> {
        let [nanoseconds, tag, port, source, ty, value] = fields else { return None };
        let (ticks, micro) = tag.as_ref().split_once(':')?;
        Some(Self {
            nanoseconds: nanoseconds.as_ref().parse().ok()?,
            tag: (ticks.parse().ok()?, micro.parse().ok()?),
            port: port.as_ref().to_owned(),
            source: source.as_ref().to_owned(),
            data: Data::parse(Type::named(ty.as_ref())?, value.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        let data = Data::Vector(vec![0.5, -1.0]);
        let line = Line {
            nanoseconds: 5,
            tag: (50, 2),
            port: "house.u".into(),
            source: "grid/v".into(),
            data,
        };
        assert_eq!(line.fields()[5], "0.5 -1.0");
        assert_eq!(Line::read(&line.fields()), Some(line));
        assert_eq!(Line::read(&["1", "2", "a", "b", "double", "x"]), None);
    }
}
