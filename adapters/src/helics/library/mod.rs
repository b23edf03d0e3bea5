//! The border to libhelics, and the only unsafe code of federates: its functions (`table`), a library that
//! is found and checked ([`Library`]), and a federate with all it has registered ([`Held`]).
//!
//! # Soundness
//! * Signatures are those of `helics.h` of version 3.6.1; another main version is refused.
//! * The library is never unloaded: its own threads may run at any time.
//! * Handles stay in [`Held`], which is made, used and dropped by one thread: they are raw pointers, so the
//!   compiler refuses to send them. The one exception is [`Asker`], a handle of the core, which another thread asks.
//! * Buffers are passed with their own lengths, and read as far as the library says that it filled them.
#![allow(unsafe_code)] // Calls of C functions; the reasons stand above and at each block.
mod asker;
mod find;
mod held;
mod table;
mod values;

pub use asker::Asker;
pub use find::{Library, LibraryError, Tested, leave_process};
pub use held::{Held, Joining, Message, Trouble};
