//! The border to MPI, and the only unsafe code of ranks: its functions (`table`), a library that is found and
//! checked ([`Library`]), and the processes of a run ([`World`]).
//!
//! # Soundness
//! * Signatures and constants are those of `mpi_abi.h`, the standard ABI of MPI 5; a library without it is refused.
//! * The library is never unloaded.
//! * One thread makes all calls; handles are plain numbers that only this library reads.
//! * A buffer that MPI works on is kept until its request is complete. Where that is not waited for, because a rank is
//!   lost, the buffer is leaked: the process then makes no other call and soon ends.
#![allow(unsafe_code)] // Calls of C functions; the reasons stand above and at each block.
mod find;
mod table;
mod world;

pub use find::{Installed, Library, LibraryError};
pub use world::{Broken, World};
