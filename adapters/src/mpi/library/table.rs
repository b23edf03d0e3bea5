//! The functions of MPI that ranks need, by name; all of them must be there.
use crate::symbols::table;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};

/// A communicator, a datatype, an operation, an error handler or a request: pointers that nobody follows.
pub(super) type Handle = usize;

/// `MPI_COMM_WORLD`.
pub(super) const WORLD: Handle = 0x101;
/// `MPI_BYTE`.
pub(super) const BYTE: Handle = 0x247;
/// `MPI_INT64_T`.
pub(super) const INT64: Handle = 0x258;
/// `MPI_MIN`.
pub(super) const MIN: Handle = 0x22;
/// `MPI_ERRORS_RETURN`.
pub(super) const ERRORS_RETURN: Handle = 0x143;
/// `MPI_REQUEST_NULL`.
pub(super) const NO_REQUEST: Handle = 0x180;
/// `MPI_THREAD_SERIALIZED`.
pub(super) const SERIALIZED: c_int = 2048;
/// `MPI_MAX_LIBRARY_VERSION_STRING`, which is the longest of all texts.
pub(super) const LONGEST: usize = 8192;

type Read = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Send =
    unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Receive =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type ToAll = unsafe extern "C" fn(
    *const c_void,
    c_int,
    Handle,
    *mut c_void,
    c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type Reduce = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    c_int,
    Handle,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;

// The types are those of `mpi_abi.h`.
table! {
    abi: "MPI_Abi_get_version" => unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    version: "MPI_Get_library_version" => unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    init: "MPI_Init_thread" =>
        unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
    on_error: "MPI_Comm_set_errhandler" => unsafe extern "C" fn(Handle, Handle) -> c_int;
    rank: "MPI_Comm_rank" => Read;
    size: "MPI_Comm_size" => Read;
    reduce: "MPI_Iallreduce" => Reduce;
    to_all: "MPI_Ialltoall" => ToAll;
    send: "MPI_Isend" => Send;
    receive: "MPI_Irecv" => Receive;
    test: "MPI_Test" => unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
    error: "MPI_Error_string" => unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
    finalize: "MPI_Finalize" => unsafe extern "C" fn() -> c_int;
}
