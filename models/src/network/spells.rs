//! Spells: stretches of time in which something is on, by a list and by messages.
use crate::{
    kinds::{
        Context, Located, Param, ParamError, ParamSpec, ParamType, Params,
        params::{Reader, ticks_of, with},
    },
    signal::NEVER,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Whether something is on: in the spells of a list, and between messages, independently of each other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spells {
    listed: bool,
    told: bool,
    /// Ticks with what the list says from then on.
    changes: VecDeque<(i64, bool)>,
}

/// The parameter for kinds whose spells are not outages.
pub(super) const DURING: ParamSpec = with(
    "during",
    ParamType::Raw,
    "",
    "when, such as [[\"1 s\", \"2 s\"]]; default: always, or with `begin` wired not before that comes",
);

impl Spells {
    /// Reads a list of pairs of times, ascending.
    pub(super) fn read(
        name: &str,
        params: &Params,
        context: &Context<'_>,
        r: &mut Reader<'_>,
    ) -> Self {
        let mut changes = VecDeque::new();
        let given = params.get(name).filter(|_| r.given(name));
        if let Some(p) = given {
            match pairs(p, context) {
                Ok(list) => changes = list,
                Err(e) => r.push(e),
            }
        }
        let mut spells = Self { listed: false, told: false, changes };
        spells.pass(0);
        spells
    }

    /// Spells by `during`, without which it is always on, unless messages at input `begin` say when.
    pub(super) fn during(
        begin: u16,
        params: &Params,
        context: &Context<'_>,
        r: &mut Reader<'_>,
    ) -> Self {
        let mut spells = Self::read(DURING.name, params, context, r);
        spells.told = !r.given(DURING.name) && !context.is_driven(begin);
        spells
    }

    pub(super) fn on(&self) -> bool {
        self.listed || self.told
    }

    /// When the list changes the next time.
    pub(super) fn next(&self) -> i64 {
        self.changes.front().map_or(NEVER, |c| c.0)
    }

    /// Whether it is on at a tick from now on, as far as the list tells.
    pub(super) fn lasts(&self, tick: i64) -> bool {
        let changes = self.changes.iter().take_while(|c| c.0 <= tick);
        changes.last().map_or(self.listed, |c| c.1) || self.told
    }

    /// Goes on to a tick; gives whether it is now what it was not.
    pub(super) fn pass(&mut self, now: i64) -> bool {
        let before = self.on();
        while self.changes.front().is_some_and(|c| c.0 <= now) {
            self.listed = self.changes.pop_front().is_some_and(|c| c.1);
        }
        self.on() != before
    }

    /// Messages that begin or end it; where both come together it begins. Gives whether it is now what it
    /// was not.
    pub(super) fn hear(&mut self, begins: bool, ends: bool) -> bool {
        let before = self.on();
        if begins || ends {
            self.told = begins;
        }
        self.on() != before
    }
}

fn pairs(p: &Located<Param>, context: &Context<'_>) -> Result<VecDeque<(i64, bool)>, ParamError> {
    let help =
        "write pairs of times in ascending order, such as [[\"1 s\", \"2 s\"], [\"5 s\", \"6 s\"]]";
    let fail =
        |p: &Located<Param>, what: &str| Err(ParamError::at(p.span.clone(), what).help(help));
    let Param::List(list) = &p.value else { return fail(p, "no list of pairs of times") };
    let mut changes = VecDeque::new();
    let mut last = -1;
    for pair in list {
        let Param::List(ends) = &pair.value else { return fail(pair, "no pair of times") };
        let [from, to] = ends.as_slice() else { return fail(pair, "no pair of times") };
        for (end, on) in [(from, true), (to, false)] {
            let at = ticks_of(end, context)?;
            if on && changes.back() == Some(&(at, false)) {
                // It goes on where the one before ends.
                changes.pop_back();
                continue;
            }
            if at <= last {
                return fail(end, "this time does not lie behind the one before");
            }
            last = at;
            changes.push_back((at, on));
        }
    }
    Ok(changes)
}
