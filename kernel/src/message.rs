//! Messages between models, and the digest that the trace hash is made of.
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A message of a simulation: any plain value, or an enum over the values of a domain.
///
/// **Why one message type per simulation.** A closed type keeps bags flat, comparisons and
/// digests static and the kernel free of type erasure per message. Typed ports
/// ([`crate::port::OutPort`]) give compile-time wiring checks on top of it.
pub trait Message: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Feeds the value into a digest; equal values must feed equal words on every platform.
    fn digest(&self, digest: &mut Digest);
}

/// A sent message, as observers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent<M> {
    pub(crate) model: u32,
    /// The output port's number.
    pub port: u16,
    /// The value, before any translation.
    pub value: M,
}

/// A type that a message type can carry, so that ports may be typed by `T` while bags hold `M`.
///
/// ```
/// use superdense_kernel::message::{Digest, Message, Payload};
/// // By hand; `messages!` writes the same.
/// #[derive(Clone, Debug, PartialEq)]
/// enum Parcel { Count(u32), Name(String) }
/// impl Message for Parcel {
///     fn digest(&self, d: &mut Digest) {
///         match self {
///             Parcel::Count(n) => { d.word(0); d.word(u64::from(*n)) }
///             Parcel::Name(s) => { d.word(1); d.bytes(s.as_bytes()) }
///         }
///     }
/// }
/// impl Payload<Parcel> for u32 {
///     fn wrap(self) -> Parcel { Parcel::Count(self) }
///     fn unwrap(m: &Parcel) -> Option<&u32> {
///         if let Parcel::Count(n) = m { Some(n) } else { None }
///     }
/// }
/// let parcel: Parcel = 7u32.wrap();
/// assert_eq!(<u32 as Payload<Parcel>>::unwrap(&parcel), Some(&7));
/// ```
pub trait Payload<M>: Sized {
    /// Whether the message that it is put into owns no memory. A cycle whose messages are all plain
    /// forgets them without a look at each; of one that owns memory after all, that would leak.
    const PLAIN: bool = false;
    /// Into the message type.
    fn wrap(self) -> M;
    /// Back, when the message holds this type.
    fn unwrap(message: &M) -> Option<&Self>;
}

impl<M: Message> Payload<M> for M {
    const PLAIN: bool = !std::mem::needs_drop::<M>();
    #[inline(always)]
    fn wrap(self) -> M {
        self
    }
    #[inline(always)]
    fn unwrap(message: &M) -> Option<&Self> {
        Some(message)
    }
}

/// A 64-bit running digest by folded multiplication: fast, portable and stable across builds
/// (it is part of the trace-hash format, see [`crate::trace`]).
#[derive(Debug, Clone, Copy)]
pub struct Digest(u64);

const K0: u64 = 0x9E37_79B9_7F4A_7C15;
const K1: u64 = 0xD6E8_FEB8_6659_FD93;

/// One folded 64×64→128-bit multiplication.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let p = u128::from(a ^ K0) * u128::from(b ^ K1);
    (p as u64) ^ ((p >> 64) as u64)
}

impl Digest {
    /// An empty digest.
    #[inline(always)]
    pub fn new() -> Self {
        Self(K1)
    }
    /// One word.
    #[inline(always)]
    pub fn word(&mut self, w: u64) {
        self.0 = fold(self.0.rotate_left(23), w);
    }
    /// Two words at the cost of one.
    #[inline(always)]
    pub fn pair(&mut self, a: u64, b: u64) {
        self.0 = fold(self.0.rotate_left(23) ^ a, b);
    }
    /// A float by its [`real_word`].
    #[inline(always)]
    pub fn real(&mut self, x: f64) {
        self.word(real_word(x));
    }
    /// A byte string with its length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
    /// The digest of some floats.
    pub fn of(floats: &[f64]) -> u64 {
        let mut digest = Self::new();
        floats.iter().for_each(|x| digest.real(*x));
        digest.finish()
    }
    /// The digest of what was fed so far.
    #[inline(always)]
    pub fn finish(self) -> u64 {
        self.0
    }
}

/// The word for a float: its bits, with one NaN and one zero.
#[inline(always)]
pub fn real_word(x: f64) -> u64 {
    if x.is_nan() { 0x7FF8 << 48 } else { (x + 0.0).to_bits() }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// The word that tells a message from all others of a cycle: by the digest of its sender's path, the
/// output port and the number of the emission.
#[inline(always)]
pub(crate) fn identity(path: u64, port: u16, emission: u32) -> u64 {
    path.wrapping_add((u64::from(port) << 32 | u64::from(emission)).wrapping_mul(K0))
}

/// Digest of one value with its identity, which is where the digest starts: a message of one word,
/// as most are, costs one multiplication.
#[inline(always)]
pub(crate) fn digest_of<M: Message>(message: &M, identity: u64) -> u64 {
    let mut d = Digest(identity);
    message.digest(&mut d);
    d.finish()
}

macro_rules! plain_message {
    ($($t:ty => |$x:ident, $d:ident| $body:expr;)*) => {$(
        impl Message for $t {
            #[inline(always)]
            fn digest(&self, $d: &mut Digest) {
                let $x = self;
                $body
            }
        }
    )*};
}

plain_message! {
    () => |_x, d| d.word(0);
    bool => |x, d| d.word(u64::from(*x));
    u8 => |x, d| d.word(u64::from(*x));
    u16 => |x, d| d.word(u64::from(*x));
    u32 => |x, d| d.word(u64::from(*x));
    u64 => |x, d| d.word(*x);
    i32 => |x, d| d.word(*x as i64 as u64);
    i64 => |x, d| d.word(*x as u64);
    f64 => |x, d| d.real(*x);
    String => |x, d| d.bytes(x.as_bytes());
}
