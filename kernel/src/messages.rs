//! Message types without handwritten code.

/// Declares values that messages carry, and the message type of a simulation as an enum over them.
///
/// A `struct` becomes a [`Message`](crate::Message) that is digested field by field. An `enum` becomes one, too,
/// and each of its payloads a [`Payload`](crate::Payload) of it; two variants cannot carry the same type, since a
/// port says by its type which variant it means. `Clone`, `Debug` and `PartialEq` are derived, all else is written
/// as usual.
///
/// ```
/// use superdense_kernel::{Payload, messages};
/// messages! {
///     /// A customer.
///     #[derive(Copy)]
///     pub struct Job { pub number: u64, pub size: f64 }
///     /// Messages of a shop.
///     pub enum Parcel { Job(Job), Name(String), Count(u32) }
/// }
/// let parcel: Parcel = Job { number: 7, size: 0.5 }.wrap();
/// assert_eq!(<Job as Payload<Parcel>>::unwrap(&parcel).map(|job| job.number), Some(7));
/// assert_eq!(<u32 as Payload<Parcel>>::unwrap(&parcel), None);
/// ```
#[macro_export]
macro_rules! messages {
    () => {};
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident {
            $($(#[$of:meta])* $open:vis $field:ident: $t:ty),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[$of])* $open $field: $t),* }

        impl $crate::Message for $name {
            #[inline]
            fn digest(&self, digest: &mut $crate::message::Digest) {
                $($crate::Message::digest(&self.$field, digest);)*
            }
        }
        $crate::messages! { $($rest)* }
    };
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident($t:ty)),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name { $($(#[$of])* $variant($t)),* }

        impl $crate::Message for $name {
            #[inline]
            fn digest(&self, digest: &mut $crate::message::Digest) {
                enum Number { $($variant),* }
                match self {
                    $(Self::$variant(value) => {
                        digest.word(Number::$variant as u64);
                        $crate::Message::digest(value, digest);
                    })*
                }
            }
        }
        $crate::payloads! { $name: $($t => $variant;)* }
        $crate::messages! { $($rest)* }
    };
}

/// Makes types [`Payload`](crate::Payload)s of a message type, each by the variant that carries it; for message types
/// that are written by hand, as [`messages!`](crate::messages) does it for its own.
#[macro_export]
macro_rules! payloads {
    ($message:ident: $($t:ty => $variant:ident;)*) => {$(
        impl $crate::Payload<$message> for $t {
            const PLAIN: bool = !::std::mem::needs_drop::<$t>();
            #[inline(always)]
            fn wrap(self) -> $message {
                $message::$variant(self)
            }
            #[inline(always)]
            fn unwrap(message: &$message) -> Option<&Self> {
                if let $message::$variant(value) = message { Some(value) } else { None }
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use crate::{Message, Payload, message::Digest};

    crate::messages! {
        struct Pair { a: u32, b: f64 }
        enum Either { Pair(Pair), Text(String), Flag(bool) }
    }

    fn digest(message: &impl Message) -> u64 {
        let mut digest = Digest::new();
        message.digest(&mut digest);
        digest.finish()
    }

    /// Equal values have equal digests; other fields and other variants have others.
    #[test]
    fn digests_know_fields_and_variants() {
        let pair = |a, b| -> Either { Pair { a, b }.wrap() };
        let all = [
            pair(1, 2.0),
            pair(2, 1.0),
            pair(1, 2.5),
            String::new().wrap(),
            "a".to_owned().wrap(),
            false.wrap(),
            true.wrap(),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(digest(one) == digest(other), i == j, "{one:?} {other:?}");
            }
        }
        assert_eq!(digest(&pair(1, 0.0)), digest(&pair(1, -0.0)));
        const {
            assert!(<Pair as Payload<Either>>::PLAIN && !<String as Payload<Either>>::PLAIN);
        }
    }
}
