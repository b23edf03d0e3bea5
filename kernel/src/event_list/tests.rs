//! Every list against a plain map, which cannot be wrong.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A list beside its oracle.
struct Pair {
    list: AnyEventList,
    times: BTreeMap<u32, i64>,
    order: BTreeSet<(i64, u32)>,
}

impl Pair {
    fn new(kind: EventListKind, models: usize) -> Self {
        let mut list = AnyEventList::of(kind);
        list.reset(models);
        Self { list, times: BTreeMap::new(), order: BTreeSet::new() }
    }

    fn schedule(&mut self, model: u32, at: i64) {
        self.list.schedule(model, at);
        self.forget(model);
        self.times.insert(model, at);
        self.order.insert((at, model));
    }

    fn cancel(&mut self, model: u32) {
        self.list.cancel(model);
        self.forget(model);
    }

    fn forget(&mut self, model: u32) {
        if let Some(at) = self.times.remove(&model) {
            self.order.remove(&(at, model));
        }
    }

    /// Compares the earliest time.
    fn peek(&mut self) -> Option<i64> {
        let next = self.order.first().map(|&(at, _)| at);
        assert_eq!(self.list.next_time(), next, "{}", self.list.kind());
        assert_eq!(self.list.len(), self.times.len());
        assert_eq!(self.list.is_empty(), next.is_none());
        next
    }

    /// Compares what is taken, and leaves it in ascending order.
    fn take(&mut self) -> Option<(i64, Vec<u32>)> {
        let at = self.order.first()?.0;
        self.take_until(at)
    }

    /// Takes the earliest models if their time is not later than `limit`.
    fn take_until(&mut self, limit: i64) -> Option<(i64, Vec<u32>)> {
        let mut taken = Vec::new();
        let mut at = None;
        // Both ways of taking a single model.
        if self.times.len().is_multiple_of(2) {
            at = self.list.take_alone(limit).map(|(at, model)| {
                taken.push(model);
                at
            });
        }
        let at = at.or_else(|| self.list.take(limit, &mut |model| taken.push(model)));
        let next = self.order.first().map(|&(at, _)| at).filter(|&at| at <= limit);
        assert_eq!(at, next, "{}", self.list.kind());
        let at = at?;
        taken.sort_unstable();
        let due: Vec<u32> = self.order.range((at, 0)..=(at, u32::MAX)).map(|e| e.1).collect();
        assert_eq!(taken, due, "{} at {at}", self.list.kind());
        due.iter().for_each(|&model| self.forget(model));
        Some((at, taken))
    }

    /// Compares the time of every model, then takes everything.
    fn finish(mut self, models: u32) {
        for model in 0..models {
            assert_eq!(self.list.time_of(model), self.times.get(&model).copied());
        }
        while self.peek().is_some() {
            self.take();
        }
        assert!(self.list.is_empty());
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Schedule(u32, i64),
    Cancel(u32),
    Peek,
    Take,
    TakeUntil(i64),
    Reset,
}

fn operations(models: u32, times: BoxedStrategy<i64>) -> BoxedStrategy<Vec<Operation>> {
    let one = prop_oneof![
        120 => (0..models, times.clone()).prop_map(|(model, at)| Operation::Schedule(model, at)),
        20 => (0..models).prop_map(Operation::Cancel),
        20 => Just(Operation::Peek),
        30 => Just(Operation::Take),
        15 => times.prop_map(Operation::TakeUntil),
        15 => Just(Operation::TakeUntil(i64::MAX)),
        1 => Just(Operation::Reset),
    ];
    prop::collection::vec(one, 1..600).boxed()
}

/// Few ties and many, small ranges and the whole one.
fn times() -> BoxedStrategy<i64> {
    prop_oneof![
        (0..4_i64).boxed(),
        (0..200_i64).boxed(),
        (0..=1_i64 << 40).boxed(),
        (0..62_u32, 0..16_i64).prop_map(|(bits, low)| (1_i64 << bits) + low).boxed(),
        (EARLIEST..=LATEST).boxed(),
        (0..100_i64).prop_map(|below| LATEST - below).boxed(),
        (0..100_i64).prop_map(|above| EARLIEST + above).boxed(),
    ]
    .boxed()
}

fn cases() -> impl Strategy<Value = (u32, Vec<Operation>)> {
    // Half of the cases draw each time from the same range, half from any.
    let ranges = prop_oneof![
        Just(times()),
        (1..62_u32).prop_map(|bits| (0..1_i64 << bits).boxed()),
        (0..1000_i64, 0..62_u32).prop_map(|(n, s)| (0..=n).prop_map(move |i| i << s >> 9).boxed()),
    ];
    (prop_oneof![1..4_u32, 1..200_u32], ranges)
        .prop_flat_map(|(models, times)| (Just(models), operations(models, times)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any sequence of calls, schedules before the last time taken among them.
    #[test]
    fn any_order((models, operations) in cases()) {
        for kind in EventListKind::ALL {
            let mut pair = Pair::new(kind, models as usize);
            for operation in &operations {
                match *operation {
                    Operation::Schedule(model, at) => pair.schedule(model, at),
                    Operation::Cancel(model) => pair.cancel(model),
                    Operation::Peek => drop(pair.peek()),
                    Operation::Take => drop(pair.take()),
                    Operation::TakeUntil(limit) => drop(pair.take_until(limit)),
                    Operation::Reset => {
                        pair.list.reset(models as usize);
                        pair.times.clear();
                        pair.order.clear();
                    }
                }
            }
            pair.finish(models);
        }
    }

    /// As a simulation does it: nothing is scheduled before the last time taken.
    #[test]
    fn monotone((models, operations) in cases()) {
        for kind in EventListKind::ALL {
            let mut pair = Pair::new(kind, models as usize);
            let mut now = 0_i64;
            for operation in &operations {
                match *operation {
                    Operation::Schedule(model, delay) => {
                        pair.schedule(model, now.saturating_add(delay.max(0)).min(LATEST));
                    }
                    Operation::Cancel(model) => pair.cancel(model),
                    Operation::Peek => drop(pair.peek()),
                    Operation::Take | Operation::TakeUntil(_) | Operation::Reset => {
                        let taken = match *operation {
                            Operation::TakeUntil(limit) => pair.take_until(limit),
                            _ => pair.take(),
                        };
                        if let Some((at, taken)) = taken {
                            now = now.max(at);
                            taken.iter().for_each(|&model| pair.schedule(model, now.saturating_add(7).min(LATEST)));
                        }
                    }
                }
            }
            pair.finish(models);
        }
    }
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Long runs with many models, so that the ladder refills, splits and starts anew; one event in
/// four also moves or cancels another model, as external events do.
#[test]
fn hold() {
    type Delay = fn(u64) -> i64;
    let delays: [(&str, Delay); 7] = [
        ("uniform", |r| (r >> 24) as i64),
        ("ties", |r| (r >> 61) as i64 + 1),
        ("equal", |_| 1 << 40),
        ("clustered", |r| (((r >> 62) as i64 + 1) << 40) + (r & 0xffff) as i64),
        ("bimodal", |r| if r % 10 == 0 { (r >> 20) as i64 } else { (r >> 44) as i64 }),
        ("skewed", |r| (r >> 24 >> (r % 40)) as i64),
        ("grid", |r| ((r >> 61) as i64 + 1) << 40),
    ];
    for kind in EventListKind::ALL {
        for (name, delay) in delays {
            for models in [1_u32, 10, 3000] {
                let mut pair = Pair::new(kind, models as usize);
                let mut state = u64::from(models);
                (0..models).for_each(|model| pair.schedule(model, delay(random(&mut state))));
                let mut events = 0;
                while events < 10 * models.max(200) {
                    let next = pair.peek();
                    let (at, taken) = pair.take().unwrap_or_else(|| panic!("{name} ran dry"));
                    assert_eq!(next, Some(at));
                    for model in taken {
                        pair.schedule(model, at + delay(random(&mut state)));
                        events += 1;
                        let other = (random(&mut state) % u64::from(models)) as u32;
                        match random(&mut state) % 16 {
                            0 if models > 1 && other != model => pair.cancel(other),
                            1..4 => pair.schedule(other, at + delay(random(&mut state))),
                            _ => {}
                        }
                    }
                    if pair.times.is_empty() {
                        pair.schedule(0, at + 1);
                    }
                }
                pair.finish(models);
            }
        }
    }
}

/// The rate of events changes by six orders of magnitude, up and down.
#[test]
fn changing_rate() {
    for kind in EventListKind::ALL {
        let mut pair = Pair::new(kind, 2000);
        let mut state = 1;
        (0..2000).for_each(|model| pair.schedule(model, i64::from(model) << 30));
        for shift in [24, 44, 60, 24, 63, 30] {
            for _ in 0..8000 {
                let (at, taken) = pair.take().expect("every model is scheduled again");
                for model in taken {
                    pair.schedule(model, at + (random(&mut state) >> shift) as i64);
                }
                pair.peek();
            }
        }
        pair.finish(2000);
    }
}

/// Inputs that come before everything that is pending, one after another, and times that go
/// backwards.
#[test]
fn ahead_of_the_front() {
    for kind in EventListKind::ALL {
        for step in [1, -1, 1000, -1000] {
            let mut pair = Pair::new(kind, 500);
            (0..100).for_each(|model| pair.schedule(model, 1 << 50));
            for model in 100..500 {
                pair.peek();
                pair.schedule(model, 1_000_000 + step * i64::from(model));
            }
            pair.finish(500);
        }
    }
}

#[test]
fn extremes() {
    for kind in EventListKind::ALL {
        let mut pair = Pair::new(kind, 8);
        assert_eq!(pair.peek(), None);
        for (model, at) in [EARLIEST, LATEST, 0, -1, LATEST - 1, EARLIEST + 1, 1].iter().enumerate()
        {
            pair.schedule(model as u32, *at);
        }
        assert_eq!(pair.peek(), Some(EARLIEST));
        pair.schedule(0, LATEST);
        assert_eq!(pair.peek(), Some(EARLIEST + 1));
        pair.cancel(7);
        pair.cancel(0);
        pair.finish(8);
    }
}

#[test]
fn one_model() {
    for kind in EventListKind::ALL {
        let mut pair = Pair::new(kind, 1);
        let mut at = 5;
        while at < 1 << 60 {
            pair.schedule(0, at);
            assert_eq!(pair.peek(), Some(at));
            pair.take();
            assert_eq!(pair.peek(), None);
            at *= 3;
        }
    }
}

#[test]
fn take_before_the_earliest_takes_nothing() {
    for kind in EventListKind::ALL {
        let mut list = AnyEventList::of(kind);
        list.reset(1);
        assert_eq!(list.take(3, &mut |model| panic!("{model} was not pending")), None);
        list.schedule(0, 4);
        assert_eq!(list.take(3, &mut |model| panic!("{model} is pending at 4")), None);
        assert_eq!((list.next_time(), list.time_of(0), list.time_of(9)), (Some(4), Some(4), None));
    }
}

#[test]
fn reset_forgets_and_resizes() {
    for kind in EventListKind::ALL {
        let mut list = AnyEventList::of(kind);
        for models in [100, 3, 5000, 0] {
            list.reset(models);
            assert_eq!((list.len(), list.next_time()), (0, None));
            for model in 0..models as u32 {
                assert_eq!(list.time_of(model), None);
                list.schedule(model, 1000 - i64::from(model % 7));
            }
            assert_eq!(list.len(), models);
            assert_eq!(list.next_time(), (models > 0).then_some(1000 - 6.min(models as i64 - 1)));
        }
    }
}

#[test]
fn a_model_without_room_panics() {
    for kind in EventListKind::ALL {
        let mut list = AnyEventList::of(kind);
        list.reset(2);
        list.cancel(2);
        let scheduled = std::panic::catch_unwind(move || list.schedule(2, 0));
        assert!(scheduled.is_err(), "{kind}");
    }
}

#[test]
fn kinds_are_named() {
    for kind in EventListKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
        assert_eq!(AnyEventList::of(kind).kind(), kind);
    }
    assert_eq!(AnyEventList::default().kind(), EventListKind::Ladder);
    let error = "calendar".parse::<EventListKind>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown event list `calendar`; expected `ladder`, `heap` or `priority-queue`"
    );
}
