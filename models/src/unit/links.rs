//! Shared events: the protocol of three consecutive micro-steps.
//!
//! * `(t, n)`: a member that detects the event proposes it with its own values; every member that
//!   is reached brings itself to `t`.
//! * `(t, n+1)`: members that did not propose, or that something changed in the cycle in which they
//!   did, answer with their values after that cycle. In the same cycle all members evaluate the
//!   condition on these, and all jump or none, before they hear anything else.
//! * `(t, n+2)`: new segments go out, after a jump and after a refusal (so that the detector knows
//!   the others exactly and does not propose the same again).
//!
//! A unit that is in several sessions at `(t, n+1)` takes part in the one of highest priority and
//! *withdraws* from the others; a session from which somebody withdraws stays open for all its members, who
//! tell their values anew in the next cycle. So links that compete are decided one after the other by priority,
//! whoever proposed them, and there is no deadlock: in each cycle the session of highest priority is decided.
//! Proposals go out with whatever else a unit sends, so that nothing that it does holds a link back; its own
//! events wait while a session is open.
use super::{
    atomic::{NUMBER, TAG},
    decide::NOW,
    falling::HURRIED,
    wrapper::{Cause, Done, Scratch, Unit},
};
use crate::{
    maths::expr::{Compare, Registers, VarId},
    maths::rounding::SUMMED,
    signal::value::{LinkKind, LinkMessage, Value},
    solve::{
        UnitError,
        core::Core,
        equations::{Detection, Dims, Equations, LinkEquations},
        guards::compare,
        roundings, snap,
    },
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{Bag, Effects, EventKind, Fact};

/// The share of exchanged values beyond which what resets make of them is no rounding, nor an error of a solver.
const CERTAIN: f64 = 1e-6;
/// So many proposals in a row may be refused.
const STUBBORN: u32 = 1000;

/// A link's exchange of values at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    /// Number among the unit's links.
    pub link: u16,
    /// Whether this unit proposed.
    pub proposed: bool,
    /// Whether its values are those that the proposal told.
    pub told: bool,
    /// Whether some member withdrew.
    pub withdrawn: bool,
    /// Values by member.
    pub values: Vec<Option<Arc<[f64]>>>,
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Links by priority, then by number.
    pub(super) fn rank(&self, link: usize) -> (i64, u32) {
        let l = &self.scene.equations.links()[link];
        (l.priority, l.link)
    }

    /// Puts proposals of these links, `k` ticks from now, into the outbox.
    pub(super) fn propose(&mut self, k: i64, links: &[usize]) {
        let t = self.scene.seconds(k);
        for &link in links {
            let mut values = self.link_values(t, link);
            values.extend(self.known_sides(t, link));
            self.say(link, LinkKind::Proposal, values.into());
            self.state.proposed.push(link as u16);
        }
    }

    /// Proposes the links that have become true in this cycle, or by what the unit was `told`. One that another
    /// member has proposed is decided without that, and hears of the side that this unit knows.
    pub(super) fn propose_due(&mut self, told: bool) {
        let first = self.first_link();
        let mut links = if told { self.received_links() } else { Vec::new() };
        links.iter().for_each(|link| self.state.truth[first + link] = true);
        let due = self.state.due.extract_if(.., |event| usize::from(*event) >= first);
        links.extend(due.map(|event| usize::from(event) - first));
        if links.is_empty() {
            return;
        }
        links.sort_unstable();
        links.dedup();
        for session in &mut self.state.sessions {
            if let Some(at) = links.iter().position(|link| *link == usize::from(session.link)) {
                links.remove(at);
                (session.proposed, session.told) = (true, false);
            }
        }
        // Decided just now, not flipped ahead.
        self.note_held();
        self.propose(0, &links);
    }

    fn say(&mut self, link: usize, kind: LinkKind, values: Arc<[f64]>) {
        let l = &self.scene.equations.links()[link];
        let message = LinkMessage { link: l.link, member: l.member, kind, values };
        self.state.outbox.push((self.link_port(), Value::Link(message)));
    }

    pub(super) fn link_port(&self) -> u16 {
        (self.scene.dims.outputs + self.scene.dims.event_outputs) as u16
    }

    /// The own values that this unit tells the other members, at offset `t`.
    pub(super) fn link_values(&self, t: f64, link: usize) -> Vec<f64> {
        let vars = self.look_into(t);
        self.scene.equations.links()[link].own.iter().map(|&(_, var)| vars[var]).collect()
    }

    /// The variables at offset `t`, not in the scratch, which may hold what a bag changed so far.
    pub(super) fn look_into(&self, t: f64) -> Vec<f64> {
        let (mut x, mut vars) = (vec![0.0; self.scene.dims.states], Vec::new());
        self.core.states(t, &mut x);
        self.scene.fill(t, &x, &mut vars);
        vars
    }

    /// The session of a link, opened if there is none.
    fn session(&mut self, link: usize) -> &mut Session {
        let sessions = &mut self.state.sessions;
        let open = sessions.iter().position(|s| usize::from(s.link) == link);
        let at = open.unwrap_or_else(|| {
            let values = vec![None; self.scene.equations.links()[link].members as usize];
            let link = link as u16;
            sessions.push(Session { link, proposed: false, told: false, withdrawn: false, values });
            sessions.len() - 1
        });
        &mut sessions[at]
    }

    /// Per relation of the condition of a link: the side on which this unit has it at offset `t`, and how far
    /// from zero its indicator may be computed to be there, if it is there. Values near a root do not tell a side,
    /// and those on a threshold do not tell where they go.
    fn known_sides(&mut self, t: f64, link: usize) -> Vec<f64> {
        let known = self.scene.equations.links()[link].sides.clone();
        let [now, soon] = [t, t + 2.0 * self.snap()].map(|t| {
            let (vars, mut z) = (self.look_into(t), Vec::new());
            let error = |place: usize| SUMMED * vars[place].abs();
            self.scratch.tendency.values(&self.scene, &vars, error, &mut z);
            z
        });
        let of = |known: &Option<(usize, f64)>| {
            let Some((k, sign)) = *known else { return [f64::NAN; 2] };
            let (z, rounding) = now[k];
            let error = (soon[k].0 - z).abs() + rounding;
            let within = if z.abs() <= error { error } else { f64::NAN };
            [sign * self.scratch.held[self.scene.dims.first_side() + k], within]
        };
        known.iter().flat_map(of).collect()
    }

    /// The links whose events this unit looks for when it hears of others, and which have come to hold.
    pub(super) fn received_links(&mut self) -> Vec<usize> {
        let received = |l: &LinkEquations| l.detection == Detection::Received;
        if !self.scene.equations.links().iter().any(received) {
            return Vec::new();
        }
        self.present();
        let (dims, first) = (self.scene.dims, self.first_link());
        let Scratch { vars, work, .. } = &mut self.scratch;
        compare(&self.scene.equations, vars, work);
        let truth = &mut self.state.truth;
        let mut begins = |i: usize, l: &LinkEquations| {
            let holds = received(l) && l.truth.holds(&dims, vars, work);
            truth[first + i] &= holds || !received(l);
            holds && !truth[first + i]
        };
        let links = self.scene.equations.links();
        (0..).zip(links).filter(|&(i, l)| begins(i, l)).map(|(i, _)| i).collect()
    }

    /// Opens sessions by own proposals, just sent: with values that stand, unless events of the unit have changed
    /// them in the same cycle.
    pub(super) fn open_sessions(&mut self, stand: bool) {
        for link in std::mem::take(&mut self.state.proposed).into_iter().map(usize::from) {
            // The values that others hear were computed ahead, and may differ in their last bits from those
            // that are computed on arrival.
            let LinkEquations { link: number, member, .. } = self.scene.equations.links()[link];
            let said = self.state.outbox.iter().find_map(|(_, value)| {
                let Value::Link(m) = value else { return None };
                (m.link == number && m.kind == LinkKind::Proposal).then(|| Arc::clone(&m.values))
            });
            let session = self.session(link);
            (session.proposed, session.told) = (true, stand);
            session.values[member as usize] = said;
        }
    }

    /// Hears the messages of the protocol in a bag: proposals open sessions, the others belong to those that are
    /// decided in this cycle.
    pub(super) fn hear(&mut self, bag: &Bag<'_, Value>, deciding: &mut [Session]) {
        for (_, value) in bag.iter() {
            let Value::Link(message) = value else { continue };
            self.state.exchanges += 1;
            self.state.exchanged_bytes += TAG + NUMBER * value.numbers();
            let links = self.scene.equations.links();
            let Some(link) = links.iter().position(|l| l.link == message.link) else { continue };
            let session = match message.kind {
                LinkKind::Proposal => Some(self.session(link)),
                _ => deciding.iter_mut().find(|s| usize::from(s.link) == link),
            };
            let Some(session) = session else { continue };
            session.withdrawn |= message.kind == LinkKind::Withdrawal;
            session.values[message.member as usize] = Some(Arc::clone(&message.values));
        }
    }

    /// What to say in the open sessions at the next micro-step.
    pub(super) fn queue_answers(&mut self) {
        let best = self.state.sessions.iter().map(|s| self.rank(s.link.into())).min();
        for i in 0..self.state.sessions.len() {
            let Session { link, proposed, told, .. } = self.state.sessions[i];
            let link = usize::from(link);
            if Some(self.rank(link)) != best {
                self.state.sessions[i].withdrawn = true;
                self.say(link, LinkKind::Withdrawal, Arc::default());
            } else if !told {
                let mut own = self.link_values(0.0, link);
                if proposed {
                    self.note_held();
                    own.extend(self.known_sides(0.0, link));
                }
                let member = self.scene.equations.links()[link].member as usize;
                let own = self.state.sessions[i].values[member].insert(own.into()).clone();
                self.say(link, LinkKind::Answer, own);
            }
        }
    }

    /// All members do this in one cycle, on the same values.
    pub(super) fn decide(&mut self, deciding: &[Session], fx: &mut Effects<Value>) -> Done {
        for session in deciding {
            let link = usize::from(session.link);
            if session.withdrawn {
                let values = vec![None; session.values.len()];
                let again = Session { told: false, withdrawn: false, values, ..*session };
                self.state.sessions.push(again);
                continue;
            }
            let l = &self.scene.equations.links()[link];
            let mut next = vec![0; l.members as usize];
            let mut exchanged = Vec::with_capacity(l.sender.len());
            for &sender in &l.sender {
                let values = session.values[sender as usize].as_ref();
                let value = values.and_then(|v| v.get(next[sender as usize]));
                next[sender as usize] += 1;
                let lost = || UnitError::Unanswered { event: l.name.to_string(), member: sender };
                exchanged.push(*value.ok_or_else(lost)?);
            }
            // Of a proposal that stands, the own sides are those that were told.
            let told = session.proposed && (l.believed || l.resets_told);
            let told = told.then(|| {
                let vars = self.look_into(0.0);
                l.known.iter().map(|&var| vars[var]).collect::<Vec<f64>>()
            });
            let seen = told.as_ref().filter(|_| l.believed).unwrap_or(&exchanged);
            let z = sides_of(l, session, seen);
            let changed = self.agree(link, &z);
            let l = &self.scene.equations.links()[link];
            if l.believed || l.condition.truth(&z) {
                let exchanged = told.filter(|_| l.resets_told).unwrap_or(exchanged);
                self.jump(link, (&exchanged, &z), fx)?;
            } else {
                self.present();
                if session.proposed {
                    self.take_back(link, &changed);
                    self.note_refusal(link)?;
                }
                // An event of the next cycle jumps from here.
                self.note_outputs();
                self.queue_segments(0.0, Cause::Request)?;
            }
        }
        Ok(())
    }

    /// Gives the own relations of a link the sides that all members see; gives those that had others.
    fn agree(&mut self, link: usize, z: &[f64]) -> Vec<usize> {
        let first = self.scene.dims.discrete + 1;
        let mut changed = Vec::new();
        for (known, z) in self.scene.equations.links()[link].sides.iter().zip(z) {
            if let Some((k, sign)) = known
                && *z != 0.0
            {
                let side = &mut self.scene.frame.discrete[first + k];
                let before = std::mem::replace(side, sign * z.signum());
                changed.extend((before != *side).then_some(*k));
            }
        }
        changed
    }

    /// A flip by which this unit proposed a link that was refused did not happen: other conditions that read the
    /// side, such as that of a link the other way, are as true as before, and do not become true by this.
    fn take_back(&mut self, link: usize, relations: &[usize]) {
        let reading = relations.iter().flat_map(|&k| self.readers.events[k].iter().copied());
        let own = (self.first_link() + link) as u16;
        for number in reading.chain([own]).map(usize::from).collect::<Vec<_>>() {
            self.state.truth[number] = self.holds(number);
        }
    }

    /// An error after very many refusals in a row: the run would not get on.
    fn note_refusal(&mut self, link: usize) -> Done {
        let now = self.scene.frame.last;
        let (last, count) = self.state.refused;
        let count = if now - last <= HURRIED { count + 1 } else { 1 };
        self.state.refused = (now, count);
        if count < STUBBORN {
            return Ok(());
        }
        let event = self.scene.equations.links()[link].name.to_string();
        Err(UnitError::Refused { event, count, ticks: HURRIED }.into())
    }

    /// Whether the condition of a link, which held with these sides, certainly does not hold after its resets.
    fn is_over(&self, link: usize, (exchanged, sides): (&[f64], &[f64])) -> bool {
        let l = &self.scene.equations.links()[link];
        let Some(after) = &l.after else { return false };
        let (mut z, mut bounds) = (vec![0.0; sides.len()], vec![0.0; sides.len()]);
        let errors: Vec<f64> = exchanged.iter().map(|x| CERTAIN * x.abs()).collect();
        after.eval(exchanged, &mut Registers::default(), &mut z);
        roundings(after, exchanged, &errors, &mut bounds);
        let atoms = l.condition.atoms().iter().zip(sides).zip(&bounds);
        for (z, ((atom, side), bound)) in z.iter_mut().zip(atoms) {
            *z = match *z {
                same if same == atom.z.eval(exchanged) => *side,
                near if near.abs() <= *bound => f64::NAN,
                other => other,
            };
        }
        l.condition.decided(&z) == Some(false)
    }

    fn jump(
        &mut self,
        link: usize,
        (exchanged, sides): (&[f64], &[f64]),
        fx: &mut Effects<Value>,
    ) -> Done {
        self.present();
        self.note_outputs();
        self.note_before();
        let l = &self.scene.equations.links()[link];
        let states = Dims::STATES..self.scene.dims.first_input();
        self.scene.frame.resting &= !l.targets.iter().any(|target| states.contains(target));
        let mut assigned = vec![0.0; l.targets.len()];
        let scratch = &mut self.scratch;
        l.reset.eval(exchanged, &mut scratch.work.reset, &mut assigned);
        snap(&l.reset, exchanged, |k| SUMMED * exchanged[k].abs(), &mut assigned);
        for (&target, value) in l.targets.iter().zip(assigned) {
            scratch.vars[target] = value;
        }
        let (name, first) = (Arc::clone(&l.name), l.member == 0);
        self.finite_or(|why| UnitError::SharedReset { event: name.to_string(), why })?;
        // Sides are those before the jump.
        self.note_held();
        // A unit without relations notes nothing before a jump.
        let before = self.scratch.prior.get(self.scene.dims.first_side()..).unwrap_or_default();
        let over = self.is_over(link, (exchanged, sides));
        self.scratch.jumped = Some((link, before.to_vec(), over));
        self.settle(NOW)?;
        let number = self.first_link() + link;
        if let Some(relation) = self.put_back_by(number) {
            let event = name.to_string();
            return Err(UnitError::FallsThrough { event, relation }.into());
        }
        self.adopt(self.scene.frame.resting);
        self.queue_segments(0.0, Cause::Jump)?;
        self.state.sessions.iter_mut().for_each(|session| session.told = false);
        self.state.truth[number] = true;
        self.state.events += 1;
        self.note_event(number as u16);
        // Links that follow on each other without time are limited in micro-steps.
        if std::mem::replace(&mut self.state.linked, self.scene.frame.last) < self.scene.frame.last
        {
            fx.located();
        }
        if first {
            let unit = Some(Arc::clone(&name));
            fx.report(Fact::Event { unit, name, kind: EventKind::Shared });
        }
        Ok(())
    }
    /// The relations of which this unit does not know yet on which sides they are after link `done`, since others may
    /// have changed what they read, with those `before` it.
    pub(super) fn unknown_after(&self, done: usize, before: Vec<f64>) -> Vec<Option<f64>> {
        let LinkEquations { moved, turned, .. } = &self.scene.equations.links()[done];
        let reads = self.readers.reads.iter().zip(before).enumerate();
        let unknown = |(k, (reads, side)): (usize, (&Option<Vec<VarId>>, f64))| {
            // On its threshold the motion decides.
            let open = if self.certain(k) == 0.0 { turned } else { moved };
            let known = |id: &VarId| !open.contains(&(id.0 as usize));
            (!reads.as_ref().is_some_and(|reads| reads.iter().all(known))).then_some(side)
        };
        reads.map(unknown).collect()
    }
}

/// The value of each relation of a link's condition: its indicator on the exchanged values, or where
/// this is as good as zero the side on which a proposer has it.
fn sides_of(l: &LinkEquations, session: &Session, exchanged: &[f64]) -> Vec<f64> {
    let of = |(i, atom): (usize, &Compare)| {
        let z = atom.z.eval(exchanged);
        let told = |(member, values): (u32, &Option<Arc<[f64]>>)| {
            let own = l.sender.iter().filter(|&&sender| sender == member).count();
            let sides = values.as_ref()?.get(own + 2 * i..own + 2 * i + 2)?;
            (z.abs() <= sides[1]).then_some(sides[0])
        };
        (0..).zip(&session.values).find_map(told).unwrap_or(z)
    };
    l.condition.atoms().iter().enumerate().map(of).collect()
}
