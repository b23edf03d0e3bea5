//! The functions that C calls.
//!
//! Every function comes in through [`Handle::with`], which looks at the pointer, catches panics and hands errors to the
//! logger of the importer.
/// The functions of states, which differ by their names only.
macro_rules! states {
    ($get:ident $set:ident $free:ident $size:ident $serialise:ident $deserialise:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $get(handle: *mut c_void, state: *mut *mut c_void) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { Handle::with(handle, |i, _| crate::abi::save(i, state)) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set(handle: *mut c_void, state: *mut c_void) -> c_int {
            // SAFETY: as the standard has it.
            unsafe {
                Handle::with(handle, |i, _| i.restore(crate::abi::saved(state)?).map(|()| OK))
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $free(_: *mut c_void, state: *mut *mut c_void) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { crate::abi::free_state(state) };
            OK
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $size(
            handle: *mut c_void,
            state: *mut c_void,
            size: *mut usize,
        ) -> c_int {
            // SAFETY: as the standard has it.
            unsafe {
                Handle::with(handle, |_, _| {
                    put(size, crate::abi::saved(state)?.len());
                    Ok(OK)
                })
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $serialise(
            h: *mut c_void,
            state: *mut c_void,
            bytes: *mut u8,
            size: usize,
        ) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { crate::abi::serialise(h, state, bytes, size) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $deserialise(
            handle: *mut c_void,
            bytes: *const u8,
            size: usize,
            state: *mut *mut c_void,
        ) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { crate::abi::deserialise(handle, bytes, size, state) }
        }
    };
}

mod fmi2;
mod fmi3;

use crate::instance::Instance;
use std::{
    ffi::{CStr, CString, c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    ptr, slice,
};
use superdense_adapters::federation::data::Data;

/// Statuses that are equal in both versions.
const OK: i32 = 0;
const DISCARD: i32 = 2;
const ERROR: i32 = 3;
const FATAL: i32 = 4;

/// Tells a message: status, category, text.
type Logger = Box<dyn Fn(i32, &CStr, &CStr)>;

/// An instance, as its importer holds it.
struct Handle {
    /// Nothing once a mistake of the program has left it in doubt.
    instance: Option<Instance>,
    log: Logger,
    /// Texts that the importer was given last.
    texts: Vec<CString>,
    /// The last step, for what FMI 2.0 asks about it.
    last: (f64, bool),
}

impl Handle {
    /// Makes an instance; a null pointer where it cannot be made, which is logged.
    ///
    /// # Safety
    /// The texts end with a zero.
    unsafe fn create(resources: Option<PathBuf>, token: *const c_char, log: Logger) -> *mut c_void {
        let made = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller's.
            let token = unsafe { text(token) }.unwrap_or_default();
            let resources =
                resources.ok_or("the importer did not say where the resources of the FMU are")?;
            Instance::new(&resources, &token)
        }));
        match made.unwrap_or_else(|_| Err(MISTAKE.to_owned())) {
            Ok(instance) => {
                let handle =
                    Self { instance: Some(instance), log, texts: Vec::new(), last: (0.0, false) };
                Box::into_raw(Box::new(handle)).cast()
            }
            Err(why) => {
                tell(&log, ERROR, &why);
                ptr::null_mut()
            }
        }
    }

    /// Calls something of an instance, and gives the status.
    ///
    /// # Safety
    /// The pointer is one that [`create`](Self::create) has given, and nobody else uses it now.
    unsafe fn with(
        handle: *mut c_void,
        call: impl FnOnce(&mut Instance, &mut Keep<'_>) -> Result<i32, String>,
    ) -> i32 {
        // SAFETY: the caller's.
        let Some(handle) = (unsafe { handle.cast::<Self>().as_mut() }) else { return ERROR };
        let Self { instance, log, texts, last } = handle;
        let Some(inner) = instance else { return FATAL };
        let mut keep = Keep { texts, last };
        match catch_unwind(AssertUnwindSafe(|| call(inner, &mut keep))) {
            Ok(Ok(status)) => status,
            Ok(Err(why)) => {
                tell(log, ERROR, &why);
                ERROR
            }
            Err(_) => {
                *instance = None;
                tell(log, FATAL, MISTAKE);
                FATAL
            }
        }
    }

    /// # Safety
    /// As for [`with`](Self::with); the pointer is not used again.
    unsafe fn free(handle: *mut c_void) {
        if !handle.is_null() {
            // SAFETY: made by `create`.
            drop(unsafe { Box::from_raw(handle.cast::<Self>()) });
        }
    }
}

/// Texts and times that an instance keeps for its importer.
struct Keep<'a> {
    texts: &'a mut Vec<CString>,
    last: &'a mut (f64, bool),
}

const MISTAKE: &str = "a mistake of the program, which has printed more about it; please report it";

fn tell(log: &Logger, status: i32, why: &str) {
    let message = CString::new(why.replace('\0', " ")).unwrap_or_default();
    let category = if status == FATAL { c"logStatusFatal" } else { c"logStatusError" };
    log(status, category, &message);
}

/// A text of C.
///
/// # Safety
/// It ends with a zero, or the pointer is null.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the caller's.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// The elements of an array of C, which is empty where the pointer is null.
///
/// # Safety
/// The pointer leads to so many elements, which live as long as the slice is used.
unsafe fn list<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { slice::from_raw_parts(pointer, count) }
}

/// As [`list`], to be written.
///
/// # Safety
/// As for [`list`]; nobody else has the elements.
unsafe fn list_mut<'a, T>(pointer: *mut T, count: usize) -> &'a mut [T] {
    if pointer.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's.
    unsafe { slice::from_raw_parts_mut(pointer, count) }
}

/// Writes where the importer wants it, if he does.
///
/// # Safety
/// The pointer is null or leads to a place for the value.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's.
        unsafe { place.write(value) };
    }
}

/// Sets variables of one type.
fn set_all(
    instance: &mut Instance,
    references: &[u32],
    values: impl ExactSizeIterator<Item = f64>,
) -> Result<i32, String> {
    fits(references, values.len())?;
    for (reference, value) in references.iter().zip(values) {
        instance.set(*reference, value)?;
    }
    Ok(OK)
}

/// Gets variables of one type.
fn get_all<T>(
    instance: &mut Instance,
    references: &[u32],
    values: &mut [T],
    convert: impl Fn(&Data) -> Option<T>,
) -> Result<i32, String> {
    fits(references, values.len())?;
    for (reference, value) in references.iter().zip(values) {
        let data = instance.get(*reference)?;
        *value = convert(&data).ok_or_else(|| {
            format!("the variable with the reference {reference} is {data:?}, which is of another type or too large")
        })?;
    }
    Ok(OK)
}

fn fits(references: &[u32], values: usize) -> Result<(), String> {
    if references.len() == values {
        return Ok(());
    }
    Err(format!("there are {values} values for {} references", references.len()))
}

fn real(data: &Data) -> Option<f64> {
    match data {
        Data::Double(x) => Some(*x),
        _ => None,
    }
}

fn int<T: TryFrom<i64>>(data: &Data) -> Option<T> {
    match data {
        Data::Int(i) => T::try_from(*i).ok(),
        _ => None,
    }
}

fn truth(data: &Data) -> Option<bool> {
    match data {
        Data::Bool(b) => Some(*b),
        _ => None,
    }
}

/// Gives texts, which are kept until others are asked for.
fn get_texts(
    instance: &mut Instance,
    keep: &mut Keep<'_>,
    references: &[u32],
    values: &mut [*const c_char],
) -> Result<i32, String> {
    fits(references, values.len())?;
    keep.texts.clear();
    for reference in references {
        match instance.get(*reference)? {
            Data::Text(t) => {
                keep.texts.push(CString::new(t.replace('\0', " ")).unwrap_or_default())
            }
            other => {
                return Err(format!(
                    "the variable with the reference {reference} is {other:?}, and no text"
                ));
            }
        }
    }
    for (value, text) in values.iter_mut().zip(keep.texts.iter()) {
        *value = text.as_ptr();
    }
    Ok(OK)
}

/// A saved state, as the importer holds it.
type State = Vec<u8>;

/// Saves a state in a new place, or in that of an older one.
///
/// # Safety
/// The place holds null or a state of [`save`].
unsafe fn save(instance: &mut Instance, place: *mut *mut c_void) -> Result<i32, String> {
    let bytes = instance.save()?;
    // SAFETY: the caller's.
    unsafe {
        let Some(place) = place.as_mut() else {
            return Err("there is no place for the state".to_owned());
        };
        match place.cast::<State>().as_mut() {
            Some(old) => *old = bytes,
            None => *place = Box::into_raw(Box::new(bytes)).cast(),
        }
    }
    Ok(OK)
}

/// The bytes of a saved state.
///
/// # Safety
/// The pointer is null or one of [`save`].
unsafe fn saved<'a>(state: *mut c_void) -> Result<&'a State, String> {
    // SAFETY: the caller's.
    unsafe { state.cast::<State>().as_ref() }.ok_or_else(|| "there is no state".to_owned())
}

/// # Safety
/// The place holds null or a state of [`save`].
unsafe fn free_state(place: *mut *mut c_void) {
    // SAFETY: the caller's.
    unsafe {
        if let Some(place) = place.as_mut().filter(|p| !p.is_null()) {
            drop(Box::from_raw(place.cast::<State>()));
            *place = ptr::null_mut();
        }
    }
}

/// Writes the bytes of a state.
///
/// # Safety
/// The state is one of [`save`]; there is room for `size` bytes.
unsafe fn serialise(handle: *mut c_void, state: *mut c_void, bytes: *mut u8, size: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        Handle::with(handle, |_, _| {
            let state = saved(state)?;
            if size < state.len() {
                return Err(format!(
                    "the state has {} bytes, and there is room for {size}",
                    state.len()
                ));
            }
            list_mut(bytes, size)[..state.len()].copy_from_slice(state);
            Ok(OK)
        })
    }
}

/// A state from bytes, which are looked at when somebody goes back to it.
///
/// # Safety
/// There are `size` bytes; the place holds null or a state of [`save`].
unsafe fn deserialise(
    handle: *mut c_void,
    bytes: *const u8,
    size: usize,
    place: *mut *mut c_void,
) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        Handle::with(handle, |_, _| {
            free_state(place);
            put(place, Box::into_raw(Box::new(list(bytes, size).to_vec())).cast());
            Ok(OK)
        })
    }
}
