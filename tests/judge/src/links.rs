//! Links: who proposes and decides, and in which cycle (rule 20).
use crate::eval::{Class, class};
use crate::model::{Direction, Variable};
use crate::sim::{Sim, Stop};
use crate::system::Due;
use crate::verdict::Place;

impl<const M: usize> Sim<'_, M> {
    /// Links that are proposed in cycle `micro`, and when they are due.
    pub(crate) fn proposals(&mut self, micro: u32) -> Vec<(usize, u32)> {
        let risen = self.link_risen.iter_mut().map(std::mem::take).enumerate();
        risen.filter(|risen| risen.1).map(|(l, _)| (l, micro + 1)).collect()
    }

    /// Rule 20: the units that decide on links in this cycle.
    pub(crate) fn deciding(&self, links: &[(usize, u32)]) -> Vec<bool> {
        let mut list = vec![false; self.model.units.len()];
        for (l, _) in links.iter().filter(|l| l.1 == self.micro) {
            self.sys.links[*l].units.iter().for_each(|u| list[*u] = true);
        }
        list
    }

    /// Rule 20: takes out of those due the events of units that decide on a link; they wait for the next cycle.
    pub(crate) fn wait(&mut self, due: &mut Vec<usize>, deciding: &[bool]) -> Vec<usize> {
        due.extract_if(.., |e| deciding[self.sys.events[*e].unit]).collect()
    }

    /// Whether the condition of a link does not hold by what its members can calculate from the values before its resets,
    /// whatever the sides of what is near its threshold.
    pub(crate) fn surely_over(&mut self, l: usize) -> Result<bool, Stop> {
        let link = &self.sys.links[l];
        if link.units.iter().any(|u| !self.sys.residuals[u].is_empty()) {
            return Ok(false);
        }
        let formula = link.formula;
        let mut open = Vec::new();
        for r in self.sys.read(formula) {
            let z = self.sys.graph.relations[r as usize].z;
            if !matches!(class(&self.now(z)?, self.size(z)?), Class::Sign(_)) {
                open.push(r as usize);
            }
        }
        let kept = self.sides.clone();
        let holds = (0..3usize.pow(open.len().min(8) as u32)).any(|mut number| {
            for r in &open {
                self.sides.side[*r] = (number % 3) as i8 - 1;
                number /= 3;
            }
            self.sides.holds(&self.sys.graph, formula)
        });
        self.sides = kept;
        Ok(!holds)
    }

    /// Whether an event that waited still is due.
    pub(crate) fn is_due(&self, e: usize) -> bool {
        match self.sys.events[e].due {
            Due::When { .. } => self.condition(e),
            Due::Crossing { side, direction, .. } => match direction {
                Direction::Rising => self.sides.of(side) > 0,
                Direction::Falling => self.sides.of(side) < 0,
                Direction::Both => true,
            },
            Due::At(_) | Due::Every(..) => true,
        }
    }

    /// Rule 20. Gives the units that took part in a link.
    pub(crate) fn run_links(
        &mut self,
        links: &mut Vec<(usize, u32)>,
        touched: &mut [bool],
    ) -> Result<Vec<bool>, Stop> {
        let micro = self.micro;
        let (mut linked, mut taken) = (vec![false; touched.len()], vec![false; touched.len()]);
        let mut now: Vec<usize> = links.iter().filter(|l| l.1 == micro).map(|l| l.0).collect();
        links.retain(|l| l.1 != micro);
        now.sort_by_key(|l| (self.sys.links[*l].priority, *l));
        for l in now {
            let link = &self.sys.links[l];
            let (units, place) = (link.units.clone(), link.place);
            if units.iter().any(|u| taken[*u]) {
                // After the one of higher priority.
                links.push((l, micro + 1));
                continue;
            }
            units.iter().for_each(|u| taken[*u] = true);
            if !self.sides.holds(&self.sys.graph, link.formula) {
                continue;
            }
            let new = self.resets(&link.reset)?;
            for (variable, _) in &new {
                if let Variable::State(u, _) = variable {
                    self.frozen[*u] = false;
                }
            }
            self.assign(new);
            for u in &units {
                (touched[*u], linked[*u]) = (true, true);
            }
            self.note(place, format!("link{}", index(place)), &units);
            self.enough()?;
        }
        Ok(linked)
    }
}

fn index(place: Place) -> usize {
    match place {
        Place::Link(l) => l,
        Place::Unit(u, ..) => u,
    }
}
