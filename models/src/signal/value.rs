//! Messages between scenario units.
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};
use superdense_kernel::{
    Bag, Effects, Message, Payload,
    message::{Digest, real_word},
    port::InPort,
};

/// A message between units of a scenario.
///
/// Signals travel as [`Segment`]s, events as plain values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// An event that only happens.
    Unit,
    /// Truth value.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Real number.
    Real(f64),
    /// Text.
    Text(Arc<str>),
    /// A piece of a signal.
    Segment(Segment),
    /// Part of the shared-event protocol between linked units.
    Link(LinkMessage),
    /// A job of a queueing network.
    Job(Job),
    /// A datagram of a packet network.
    Packet(Packet),
}

/// How a segment follows on the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flag {
    /// The signal goes on continuously; the sender's solution left the old segment.
    Continuous,
    /// The signal jumps: solvers of receivers must re-initialise.
    Jump,
    /// Continuous, sent for other reasons (a start value, a request, a periodic exchange).
    Refresh,
}

/// Coefficients that fit inline; longer polynomials live on the heap.
const INLINE: usize = 4;

/// Reals below it have all digits of whole numbers.
const MOST_EXACT: f64 = (1u64 << 53) as f64;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
enum Coefficients {
    Inline {
        len: u8,
        c: [f64; INLINE],
    },
    Heap(Arc<[f64]>),
    /// A constant whole number for which a real has too few digits, and what the real lacks.
    Whole {
        value: f64,
        rest: f64,
    },
}

/// Coefficients as they are read: their number may be anything.
#[derive(Deserialize)]
enum Stored {
    Inline { len: u8, c: [f64; INLINE] },
    Heap(Arc<[f64]>),
    Whole { value: f64, rest: f64 },
}

impl TryFrom<Stored> for Coefficients {
    type Error = &'static str;
    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        match stored {
            Stored::Inline { len, c } if (1..=INLINE).contains(&usize::from(len)) => {
                Ok(Self::Inline { len, c })
            }
            Stored::Heap(c) if !c.is_empty() => Ok(Self::Heap(c)),
            Stored::Whole { value, rest } => Ok(Self::Whole { value, rest }),
            _ => Err("a segment with an impossible number of coefficients"),
        }
    }
}

/// A polynomial piece of a signal, valid from the tag of its message until the next one.
///
/// `value(e) = c0 + c1 e + c2 e² + …` with `e` in seconds since that tag.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Segment {
    coefficients: Coefficients,
    /// How the segment follows on the one before.
    pub flag: Flag,
    /// The signal's left limit at the tag of the message (the value before a jump).
    pub left: f64,
}

impl PartialEq for Segment {
    fn eq(&self, other: &Self) -> bool {
        self.coefficients() == other.coefficients()
            && self.rest() == other.rest()
            && self.flag == other.flag
            && self.left.to_bits() == other.left.to_bits()
    }
}

impl Segment {
    /// A segment with these Taylor coefficients; an empty slice is the constant 0.
    pub fn new(coefficients: &[f64], flag: Flag, left: f64) -> Self {
        let coefficients = if coefficients.len() <= INLINE {
            let mut c = [0.0; INLINE];
            c[..coefficients.len()].copy_from_slice(coefficients);
            Coefficients::Inline { len: coefficients.len().max(1) as u8, c }
        } else {
            Coefficients::Heap(coefficients.into())
        };
        Self { coefficients, flag, left }
    }

    /// A constant.
    #[inline]
    pub fn constant(value: f64, flag: Flag, left: f64) -> Self {
        let coefficients = Coefficients::Inline { len: 1, c: [value, 0.0, 0.0, 0.0] };
        Self { coefficients, flag, left }
    }

    /// A constant whole number, of which `value` is the next real and `rest` what that lacks.
    ///
    /// ```
    /// # use superdense_models::signal::value::{Flag, Segment};
    /// let most = Segment::whole(18446744073709551616.0, -1.0, Flag::Jump, 0.0);
    /// assert_eq!(most.as_whole(), Some(u64::MAX.into()));
    /// assert_eq!(Segment::whole(5.0, 0.0, Flag::Jump, 0.0).coefficients(), [5.0]);
    /// ```
    pub fn whole(value: f64, rest: f64, flag: Flag, left: f64) -> Self {
        if value.abs() < MOST_EXACT {
            return Self::constant(value, flag, left);
        }
        Self { coefficients: Coefficients::Whole { value, rest }, flag, left }
    }

    /// The whole number minus [`value`](Self::value), where a real has too few digits for it; zero for all others.
    #[inline]
    pub fn rest(&self) -> f64 {
        match &self.coefficients {
            Coefficients::Whole { rest, .. } => *rest,
            _ => 0.0,
        }
    }

    /// The number, if it is a whole one that a real may have too few digits for.
    pub fn as_whole(&self) -> Option<i128> {
        match &self.coefficients {
            Coefficients::Whole { value, rest } => {
                Some((*value as i128).saturating_add(*rest as i128))
            }
            _ => None,
        }
    }

    /// A piecewise constant signal that takes the value `to` by a jump from `from`.
    #[inline]
    pub fn step(from: f64, to: f64) -> Self {
        Self::constant(to, Flag::Jump, from)
    }

    /// Whether the source begins by it: flagged as a jump, it jumps from nowhere. A unit that hears
    /// others at the start sends another one then.
    #[inline]
    pub(crate) fn begins(&self) -> bool {
        self.flag == Flag::Jump && self.left == self.start()
    }

    /// The value at the segment's tag, after a jump.
    #[inline]
    pub(crate) fn start(&self) -> f64 {
        match &self.coefficients {
            Coefficients::Inline { c, .. } => c[0],
            Coefficients::Heap(c) => c[0],
            Coefficients::Whole { value, .. } => *value,
        }
    }

    /// Taylor coefficients, at least one.
    #[inline]
    pub fn coefficients(&self) -> &[f64] {
        match &self.coefficients {
            Coefficients::Inline { len, c } => &c[..usize::from(*len)],
            Coefficients::Heap(c) => c,
            Coefficients::Whole { value, .. } => std::slice::from_ref(value),
        }
    }

    /// Highest power with a coefficient.
    #[inline]
    pub fn order(&self) -> usize {
        self.coefficients().len() - 1
    }

    /// Whether the value does not change.
    pub(crate) fn rests(&self) -> bool {
        self.coefficients()[1..].iter().all(|c| *c == 0.0)
    }

    /// The value `e` seconds after the segment's tag.
    #[inline]
    pub fn value(&self, e: f64) -> f64 {
        // Most signals of discrete units, and all that are held, are constants.
        match self.coefficients() {
            [constant] => *constant,
            all => all.iter().rev().fold(0.0, |sum, &c| sum * e + c),
        }
    }

    /// The value and first derivative `e` seconds after the segment's tag.
    #[inline]
    pub fn value_and_slope(&self, e: f64) -> (f64, f64) {
        self.coefficients().iter().rev().fold((0.0, 0.0), |(v, d), &c| (v * e + c, d * e + v))
    }
}

/// Kinds of messages of the shared-event protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// The sender detected the event.
    Proposal,
    /// The sender's values in answer to a proposal.
    Answer,
    /// The sender is busy with a link of higher priority.
    Withdrawal,
}

/// A message between linked units around a shared event (see `unit::links`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkMessage {
    /// Number of the link in the scenario.
    pub link: u32,
    /// Number of the sending unit within the link.
    pub member: u32,
    /// Its kind.
    pub kind: LinkKind,
    /// The sender's exchanged values just before the link's jump, in the link's order.
    pub values: Arc<[f64]>,
}

/// A job that walks through a queueing network and remembers what it went through.
///
/// Jobs order by creation, then by source and number: the order in which simultaneous arrivals
/// queue up.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Job {
    /// Tick of creation.
    pub created: i64,
    /// The unit that created it, see [`Job::source_of`].
    pub source: u64,
    /// Number at its source, from 1.
    pub id: u64,
    /// Ticks spent waiting for service so far.
    pub waited: i64,
    /// Stations passed so far.
    pub hops: u32,
}

/// A datagram: where from, where to, how long, and what it says.
///
/// Packets that come in one cycle queue up by [`Packet::key`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Packet {
    /// Tick at which it was sent.
    pub created: i64,
    /// Number at its source, from 1.
    pub id: u64,
    /// Address of the source.
    pub source: u32,
    /// Address of the destination.
    pub destination: u32,
    /// Length with all headers, in bits.
    pub bits: u32,
    /// The kind of the message; the application's.
    pub code: u32,
    /// The content of the message; the application's.
    pub value: f64,
}

impl Packet {
    /// The code of packets that say nothing: traffic of which only the length counts.
    pub const SILENT: u32 = u32::MAX;

    /// Order among packets of one cycle: creation, source, number.
    pub fn key(&self) -> (i64, u32, u64) {
        (self.created, self.source, self.id)
    }
}

impl Value {
    /// How many numbers a value takes: a segment that jumps tells its left limit too.
    pub(crate) fn numbers(&self) -> u64 {
        match self {
            Self::Segment(s) => s.coefficients().len() as u64 + u64::from(s.flag == Flag::Jump),
            Self::Link(message) => message.values.len() as u64,
            _ => 1,
        }
    }

    /// The number that a value stands for, if any: segments give their value at their tag,
    /// truth values 0 or 1, packets what they say.
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Self::Bool(b) => Some(f64::from(u8::from(*b))),
            Self::Int(i) => Some(*i as f64),
            Self::Real(x) => Some(*x),
            Self::Segment(s) => Some(s.value(0.0)),
            Self::Packet(p) => (p.code != Packet::SILENT).then_some(p.value),
            Self::Unit | Self::Text(_) | Self::Link(_) | Self::Job(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("event"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Real(x) => write!(f, "{x}"),
            Self::Text(t) => f.write_str(t),
            Self::Segment(s) => write!(f, "{:?}", s.coefficients()),
            Self::Link(l) => write!(f, "link {} {:?}", l.link, l.values),
            Self::Job(j) => write!(f, "job {}", j.id),
            Self::Packet(p) => write!(f, "packet {}/{} to {}", p.source, p.id, p.destination),
        }
    }
}

/// A message that queues and networks hand on as it is.
pub(crate) trait Ware: Payload<Value> {
    /// Its name in messages.
    const NAME: &'static str;
    /// Where it comes from.
    const SOURCES: &'static str;
}

impl Ware for Job {
    const NAME: &'static str = "job";
    const SOURCES: &'static str =
        "jobs come from `arrivals` and `queue-node`, and no unit makes one of other events";
}

impl Ware for Packet {
    const NAME: &'static str = "packet";
    const SOURCES: &'static str =
        "packets come from sources of packets, and `datagram` puts the number of an event into one";
}

/// Fails where something else than `T` came to the input of this name.
#[inline(always)]
pub(crate) fn refused<T: Ware>(
    other: Option<&Value>,
    name: impl Fn() -> String,
    fx: &mut Effects<Value>,
) {
    if let Some(value) = other {
        refuse::<T>(&name(), value, fx);
    }
}

#[cold]
fn refuse<T: Ware>(port: &str, value: &Value, fx: &mut Effects<Value>) {
    fx.fail(format_args!(
        "input `{port}` got `{value}`, which is no {}; {}: connect one of these, or leave the connection out",
        T::NAME,
        T::SOURCES
    ));
}

/// Takes what came to a port, in the order of a key: a bag has no order, a queue needs one. Most bags
/// hold one message, which stays where it is. Gives the first value there that is no `T`.
#[must_use]
#[inline(always)]
pub fn each_in_order<'a, T: Payload<Value> + Copy, A, K: Ord>(
    bag: &Bag<'a, Value>,
    port: InPort<T, A>,
    key: impl FnMut(&T) -> K,
    mut take: impl FnMut(&T),
) -> Option<&'a Value> {
    match bag.single() {
        Some((at, value)) if at == port.index() => match T::unwrap(value) {
            Some(one) => {
                take(one);
                None
            }
            None => Some(value),
        },
        Some(_) => None,
        None => sorted(bag, InPort::new(port.index()), key, &mut take),
    }
}

#[inline(never)]
fn sorted<'a, T: Payload<Value> + Copy, K: Ord>(
    bag: &Bag<'a, Value>,
    port: InPort<T>,
    key: impl FnMut(&T) -> K,
    take: &mut dyn FnMut(&T),
) -> Option<&'a Value> {
    let mut all: Vec<T> = bag.on(port).copied().collect();
    all.sort_unstable_by_key(key);
    all.iter().for_each(take);
    let other = |(at, value): &(u16, &Value)| *at == port.index() && T::unwrap(value).is_none();
    bag.iter().find(other).map(|(_, value)| value)
}

impl Message for Value {
    // Always inlined: what is sent mostly has one type, and then nothing is left of the choice.
    #[inline(always)]
    fn digest(&self, d: &mut Digest) {
        match self {
            Self::Unit => d.word(0),
            Self::Bool(b) => d.pair(1, u64::from(*b)),
            Self::Int(i) => d.pair(2, *i as u64),
            Self::Real(x) => d.pair(3, real_word(*x)),
            Self::Text(t) => {
                d.word(4);
                d.bytes(t.as_bytes());
            }
            Self::Segment(s) => s.digest(d),
            Self::Link(l) => l.digest(d),
            Self::Job(j) => j.digest(d),
            Self::Packet(p) => p.digest(d),
        }
    }
}

impl LinkMessage {
    fn digest(&self, d: &mut Digest) {
        d.pair(6 + ((self.kind as u64) << 8), u64::from(self.link) << 32 | u64::from(self.member));
        self.values.iter().for_each(|&v| d.real(v));
    }
}

impl Segment {
    #[inline(always)]
    fn digest(&self, d: &mut Digest) {
        d.pair(5 + ((self.flag as u64) << 8), real_word(self.left));
        self.coefficients().iter().for_each(|&c| d.real(c));
        if let Coefficients::Whole { rest, .. } = &self.coefficients {
            d.real(*rest);
        }
    }
}

impl Job {
    /// The digest of a source's path, which jobs carry.
    pub fn source_of(path: &str) -> u64 {
        let mut digest = Digest::new();
        digest.bytes(path.as_bytes());
        digest.finish()
    }

    #[inline(always)]
    fn digest(&self, d: &mut Digest) {
        d.word(7 + (u64::from(self.hops) << 8));
        d.pair(self.created as u64, self.source);
        d.pair(self.id, self.waited as u64);
    }
}

impl Packet {
    #[inline(always)]
    fn digest(&self, d: &mut Digest) {
        d.pair(8 + (u64::from(self.code) << 8), self.created as u64);
        d.pair(self.id, u64::from(self.source) << 32 | u64::from(self.destination));
        d.pair(u64::from(self.bits), real_word(self.value));
    }
}

superdense_kernel::payloads! {
    Value:
    bool => Bool;
    i64 => Int;
    f64 => Real;
    Arc<str> => Text;
    Segment => Segment;
    LinkMessage => Link;
    Job => Job;
    Packet => Packet;
}
