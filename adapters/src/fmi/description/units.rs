//! Units of measure that a description defines: by powers of the SI base units, with a factor and an offset, and
//! the units in which values may be shown.
use super::{child, number, truth};
use roxmltree::Node;
use std::collections::HashMap;
use superdense_models::maths::quantity::unit;

/// How numbers count in SI base units: `factor · x + offset` of `si`.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// The unit of SI base units, such as `kg*m/s^2`.
    pub si: String,
    /// Factor.
    pub factor: f64,
    /// Number of SI base units at the own zero.
    pub offset: f64,
}

/// From a variable's own unit to one that it is shown in: `factor · x + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Factor.
    pub factor: f64,
    /// The number that is added.
    pub offset: f64,
}

/// Another name of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The unit in which it is shown, if that is another one.
    pub unit: Option<String>,
    /// How its values follow from those of the variable; nothing where they are equal.
    pub scale: Option<Scale>,
    /// The SI base units of its own unit.
    pub base: Option<Base>,
}

/// A unit that is defined.
#[derive(Debug, Default)]
struct Definition {
    base: Option<Base>,
    /// Display units; nothing for one that is an inverse.
    shown: HashMap<String, Option<Scale>>,
}

/// All units of a description by their names.
#[derive(Debug, Default)]
pub(super) struct Units(HashMap<String, Definition>);

/// Powers of the base units as a text.
fn spelled(node: Node<'_, '_>) -> String {
    let mut parts = [String::new(), String::new()];
    for name in ["kg", "m", "s", "A", "K", "mol", "cd", "rad"] {
        let power: i32 = node.attribute(name).and_then(|n| n.trim().parse().ok()).unwrap_or(0);
        let power_text = match power.unsigned_abs() {
            0 => continue,
            1 => name.to_owned(),
            n => format!("{name}^{n}"),
        };
        let (below, sign) = (usize::from(power < 0), if power < 0 { "/" } else { "*" });
        parts[below].push_str(sign);
        parts[below].push_str(&power_text);
    }
    let [above, below] = parts;
    let above = above.strip_prefix('*').unwrap_or("1").to_owned();
    above + &below
}

fn scale(node: Node<'_, '_>) -> Result<Scale, String> {
    Ok(Scale {
        factor: number(node, "factor")?.unwrap_or(1.0),
        offset: number(node, "offset")?.unwrap_or(0.0),
    })
}

impl Units {
    pub(super) fn read(root: Node<'_, '_>) -> Result<Self, String> {
        let mut all = HashMap::new();
        let list = child(root, "UnitDefinitions");
        let units = list.iter().flat_map(|l| l.children()).filter(|n| n.has_tag_name("Unit"));
        for node in units {
            let Some(name) = node.attribute("name") else { continue };
            let wrong = |e: String| format!("unit {name}: {e}");
            let mut definition = Definition::default();
            if let Some(base) = child(node, "BaseUnit") {
                let Scale { factor, offset } = scale(base).map_err(wrong)?;
                definition.base = Some(Base { si: spelled(base), factor, offset });
            }
            for shown in node.children().filter(|n| n.has_tag_name("DisplayUnit")) {
                let Some(own) = shown.attribute("name") else { continue };
                let scale = scale(shown).map_err(wrong)?;
                let known = (!truth(shown, "inverse") && scale.factor != 0.0).then_some(scale);
                definition.shown.insert(own.to_owned(), known);
            }
            all.insert(name.to_owned(), definition);
        }
        Ok(Self(all))
    }

    /// The definition of a unit in SI base units.
    pub(super) fn base(&self, name: Option<&str>) -> Option<Base> {
        self.0.get(name?)?.base.clone()
    }

    /// The name that others know it by: that of the description, or its SI base units where these are the unit.
    pub(super) fn known(&self, name: &str) -> String {
        match self.base(Some(name)) {
            Some(b) if unit(name).is_err() && b.factor == 1.0 && b.offset == 0.0 => b.si,
            _ => name.to_owned(),
        }
    }

    /// An alias of a variable of a unit, in a display unit if one is given; nothing where that cannot be reckoned.
    pub(super) fn alias(
        &self,
        name: &str,
        own: Option<&str>,
        shown: Option<&str>,
        relative: bool,
    ) -> Option<Alias> {
        let plain = |unit: Option<String>| Alias {
            name: name.to_owned(),
            unit,
            scale: None,
            base: self.base(own),
        };
        let Some(shown) = shown.filter(|shown| Some(*shown) != own) else {
            return Some(plain(own.map(|own| self.known(own))));
        };
        let mut scale = (*self.0.get(own?)?.shown.get(shown)?)?;
        if relative {
            scale.offset = 0.0;
        }
        let base = self.base(own).map(|b| Base {
            factor: b.factor / scale.factor,
            offset: b.offset - b.factor * scale.offset / scale.factor,
            si: b.si,
        });
        Some(Alias { scale: Some(scale), base, ..plain(Some(shown.to_owned())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    #[test]
    fn definitions_are_read() {
        let text = "<a><UnitDefinitions><Unit name='K'><BaseUnit K='1'/><DisplayUnit name='degC' offset='-273.15'/>\
                    <DisplayUnit name='1/K' inverse='true'/></Unit><Unit name='N.m/s2'><BaseUnit kg='1' m='2' s='-4'/>\
                    </Unit><Unit name='rpm2'><BaseUnit rad='1' s='-1' factor='0.1'/></Unit></UnitDefinitions></a>";
        let document = Document::parse(text).unwrap();
        let units = Units::read(document.root_element()).unwrap();
        assert_eq!(units.known("N.m/s2"), "kg*m^2/s^4");
        assert_eq!((units.known("rpm2"), units.known("K")), ("rpm2".into(), "K".into()));
        assert_eq!(units.base(Some("rpm2")).unwrap().si, "rad/s");
        let of = |shown, relative| units.alias("T", Some("K"), Some(shown), relative);
        let shown = of("degC", false).unwrap();
        assert_eq!(shown.scale, Some(Scale { factor: 1.0, offset: -273.15 }));
        assert_eq!(shown.base.unwrap().offset, 273.15);
        assert_eq!(of("degC", true).unwrap().scale.unwrap().offset, 0.0);
        assert_eq!((of("1/K", false), of("degF", false)), (None, None));
    }
}
