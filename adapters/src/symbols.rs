//! Functions of libraries that are found at run time.

/// The functions of a library by name, with their types. Whoever uses this says in a comment at the place where they are
/// listed which header has these types, and never unloads the library.
macro_rules! table {
    ($($field:ident: $symbol:literal => $ty:ty;)*) => {
        /// The functions.
        pub(super) struct Table {
            $(pub(super) $field: $ty,)*
        }
        impl Table {
            /// Finds the functions.
            ///
            /// # Errors
            /// The name of one that is missing.
            pub(super) fn find(library: &Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the symbol has this type in the header; the pointer is kept beside a library
                    // that is never unloaded.
                    let $field = *unsafe {
                        library.get::<$ty>(concat!($symbol, "\0").as_bytes())
                    }
                    .map_err(|_| $symbol)?;
                )*
                Ok(Self { $($field,)* })
            }
        }
    };
}

pub(crate) use table;
