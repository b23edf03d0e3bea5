//! `terminalsAndIcons.xml` of FMI 3.0: variables that are connected together.
use super::{DEPTH, child, depth};
use roxmltree::{Document, Node};

/// A member of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name in the terminal; that of the variable where there is none.
    pub name: String,
    /// The variable.
    pub variable: String,
    /// 1 for what flows into the FMU, -1 for what flows out of it, 0 for all else.
    pub direction: i8,
}

/// A terminal, with the members of those in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// Name.
    pub name: String,
    /// `plug`, `bus` or `sequence`.
    pub rule: String,
    /// `terminalKind`.
    pub kind: Option<String>,
    /// Members in their order.
    pub members: Vec<Member>,
}

/// Reads the text.
///
/// # Errors
/// When it has mistakes.
pub fn read(text: &str) -> Result<Vec<Terminal>, String> {
    if depth(text) > DEPTH {
        return Err(format!("elements are nested more than {DEPTH} deep"));
    }
    let document = Document::parse(text).map_err(|e| format!("no readable XML: {e}"))?;
    let list = child(document.root_element(), "Terminals");
    let mut out = Vec::new();
    for node in list.iter().flat_map(|l| l.children()).filter(|n| n.has_tag_name("Terminal")) {
        terminal(node, "", &mut out)?;
    }
    Ok(out)
}

/// A terminal and those in it, which have names of their own, too: `plug.pin`.
fn terminal(node: Node<'_, '_>, outer: &str, out: &mut Vec<Terminal>) -> Result<(), String> {
    let name = node.attribute("name").ok_or("a terminal has no name")?;
    let name = format!("{outer}{name}");
    let rule = node.attribute("matchingRule").unwrap_or("plug").to_owned();
    if !["plug", "bus", "sequence"].contains(&rule.as_str()) {
        return Err(format!(
            "terminal {name} has the matching rule {rule:?}; there are plug, bus and sequence"
        ));
    }
    let mut members = Vec::new();
    for inner in node.children().filter(Node::is_element) {
        match inner.tag_name().name() {
            "TerminalMemberVariable" => members.push(member(inner, &name)?),
            "TerminalStreamMemberVariable" => {
                return Err(format!("terminal {name} has streams, which are not supported"));
            }
            "Terminal" => {
                terminal(inner, &format!("{name}."), out)?;
                let own = inner.attribute("name").unwrap_or_default();
                // Terminals in it stand before it.
                let of = out.last().map(|t| t.members.clone()).unwrap_or_default();
                let named = |m: Member| Member { name: format!("{own}.{}", m.name), ..m };
                members.extend(of.into_iter().map(named));
            }
            _ => {}
        }
    }
    let kind = node.attribute("terminalKind").map(str::to_owned);
    out.push(Terminal { name, rule, kind, members });
    Ok(())
}

fn member(node: Node<'_, '_>, terminal: &str) -> Result<Member, String> {
    let variable = node.attribute("variableName");
    let variable =
        variable.ok_or_else(|| format!("a member of terminal {terminal} has no variable"))?;
    let direction = match node.attribute("variableKind") {
        Some("inflow") => 1,
        Some("outflow") => -1,
        _ => 0,
    };
    let name = node.attribute("memberName").unwrap_or(variable).to_owned();
    Ok(Member { name, variable: variable.to_owned(), direction })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_in_terminals_are_members() {
        let all = read(
            "<fmiTerminalsAndIcons fmiVersion='3.0'><Terminals><Terminal name='plug' matchingRule='plug' terminalKind='k'>\
             <TerminalMemberVariable variableName='a' memberName='x' variableKind='signal'/>\
             <Terminal name='pin' matchingRule='sequence'><TerminalMemberVariable variableName='b' variableKind='inflow'/>\
             </Terminal></Terminal></Terminals></fmiTerminalsAndIcons>",
        )
        .unwrap();
        let of = |name: &str| all.iter().find(|t| t.name == name).unwrap();
        let member = |name: &str, variable: &str, direction| Member {
            name: name.into(),
            variable: variable.into(),
            direction,
        };
        assert_eq!(of("plug").members, [member("x", "a", 0), member("pin.b", "b", 1)]);
        assert_eq!((&*of("plug.pin").rule, &of("plug").kind), ("sequence", &Some("k".into())));
        assert!(
            read("<a><Terminals><Terminal name='t' matchingRule='any'/></Terminals></a>").is_err()
        );
    }
}
