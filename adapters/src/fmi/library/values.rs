//! Values of variables.
use super::{
    Api, RawInstance, Status,
    raw::{Answer, call},
    start::copied,
    v2, v3,
};
use crate::fmi::{
    block::{joined, split},
    description::Type as T,
};
use std::{
    ffi::{CString, c_int},
    ptr,
};

/// Numbers of the FMU's types that need no memory from the heap.
const FEW: usize = 16;

/// Room for so many numbers of a type.
fn with_room<U: Copy + Default, T>(n: usize, work: impl FnOnce(&mut [U]) -> T) -> T {
    if n <= FEW { work(&mut [U::default(); FEW][..n]) } else { work(&mut vec![U::default(); n]) }
}

impl RawInstance {
    /// Derivatives of outputs: one order per reference, and one value, or as many as an array has elements.
    pub fn output_derivatives(
        &mut self,
        references: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> Status {
        if self.dead || references.len() != orders.len() {
            return Status::Fatal;
        }
        let (vr, n, out) = (references.as_ptr(), references.len(), values.as_mut_ptr());
        let length = values.len();
        // An FMU that has none is well otherwise.
        let running = self.running;
        let status = match &self.functions.api {
            Api::V2(_) if n != length => Status::Discard,
            Api::V2(f) => call!(self, f.output_derivatives, vr, n, orders.as_ptr(), out),
            Api::V3(f) => call!(self, f.output_derivatives, vr, n, orders.as_ptr(), out, length),
        };
        self.running = running;
        status
    }

    /// Directional derivatives of `unknowns` by `knowns` in the direction `seed`, into `values`:
    /// one number per scalar, or per element of an array.
    pub fn directional(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        values: &mut [f64],
    ) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let (u, n) = (unknowns.as_ptr(), unknowns.len());
        let (k, m) = (knowns.as_ptr(), knowns.len());
        let (s, out, length) = (seed.as_ptr(), values.as_mut_ptr(), values.len());
        match &self.functions.api {
            Api::V2(_) if m != seed.len() || n != length => Status::Discard,
            Api::V2(f) => call!(self, f.directional, u, n, k, m, s, out),
            Api::V3(f) => call!(self, f.directional, u, n, k, m, s, seed.len(), out, length),
        }
    }

    /// Adjoint derivatives: the sum of the derivatives of `unknowns`, weighted with `seed`, by each of `knowns`.
    pub fn adjoint(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        values: &mut [f64],
    ) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let (u, n) = (unknowns.as_ptr(), unknowns.len());
        let (k, m) = (knowns.as_ptr(), knowns.len());
        let (s, out, length) = (seed.as_ptr(), values.as_mut_ptr(), values.len());
        match &self.functions.api {
            Api::V2(_) => Status::Discard,
            Api::V3(f) => call!(self, f.adjoint, u, n, k, m, s, seed.len(), out, length),
        }
    }

    fn get<U: Copy + Default>(
        &mut self,
        f: Option<v3::Get<U>>,
        references: &[u32],
        values: &mut [f64],
        real: impl Fn(U) -> f64,
    ) -> Status {
        let (vr, n, length) = (references.as_ptr(), references.len(), values.len());
        with_room(length, |buffer: &mut [U]| {
            let status = call!(self, f, vr, n, buffer.as_mut_ptr(), length);
            values.iter_mut().zip(buffer).for_each(|(v, b)| *v = real(*b));
            status
        })
    }

    /// Reads integers of 64 bits: the next reals, then what they lack.
    fn get_wide<U: Copy + Default + Into<i128>>(
        &mut self,
        f: Option<v3::Get<U>>,
        references: &[u32],
        values: &mut [f64],
    ) -> Status {
        let (vr, n) = (references.as_ptr(), references.len());
        let (reals, rests) = values.split_at_mut(values.len() / 2);
        with_room(reals.len(), |buffer: &mut [U]| {
            let status = call!(self, f, vr, n, buffer.as_mut_ptr(), reals.len());
            for ((real, rest), b) in reals.iter_mut().zip(rests).zip(buffer) {
                (*real, *rest) = split((*b).into());
            }
            status
        })
    }

    /// Sets integers of 64 bits, given as they are read.
    fn set_wide<U: Copy + Default>(
        &mut self,
        f: Option<v3::Set<U>>,
        references: &[u32],
        values: &[f64],
        of: impl Fn(i128) -> U,
    ) -> Status {
        let (reals, rests) = values.split_at(values.len() / 2);
        with_room(reals.len(), |buffer: &mut [U]| {
            let all = buffer.iter_mut().zip(reals).zip(rests);
            all.for_each(|((b, &real), &rest)| *b = of(joined(real, rest)));
            self.set(f, references, buffer)
        })
    }

    /// Sets variables of a type from reals.
    fn set_as<U: Copy + Default>(
        &mut self,
        f: Option<v3::Set<U>>,
        references: &[u32],
        values: &[f64],
        of: impl Fn(f64) -> U,
    ) -> Status {
        with_room(values.len(), |buffer: &mut [U]| {
            buffer.iter_mut().zip(values).for_each(|(b, &x)| *b = of(x));
            self.set(f, references, buffer)
        })
    }

    fn set<U>(&mut self, f: Option<v3::Set<U>>, references: &[u32], values: &[U]) -> Status {
        let (vr, n) = (references.as_ptr(), references.len());
        call!(self, f, vr, n, values.as_ptr(), values.len())
    }

    /// Reads reals, without a copy.
    fn get_reals(&mut self, references: &[u32], values: &mut [f64]) -> Status {
        let (vr, n) = (references.as_ptr(), references.len());
        match &self.functions.api {
            Api::V2(_) if n != values.len() => Status::Discard,
            Api::V2(f) => call!(self, f.get_real, vr, n, values.as_mut_ptr()),
            Api::V3(f) => call!(self, f.get_float64, vr, n, values.as_mut_ptr(), values.len()),
        }
    }

    /// Reads variables of one type: `values` has room for all their elements, and for those of 64 bits once more as
    /// much for what reals lack.
    pub fn get_numbers(&mut self, ty: T, references: &[u32], values: &mut [f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            _ if ty == T::Float64 => return self.get_reals(references, values),
            Api::V2(f) => {
                let (integer, truth) = (f.get_integer, f.get_bool);
                return self.get2(ty, integer, truth, references, values);
            }
            Api::V3(f) => f,
        };
        match ty {
            T::Float32 => self.get(f.get_float32, references, values, f64::from),
            T::Int8 => self.get(f.get_int8, references, values, f64::from),
            T::UInt8 => self.get(f.get_uint8, references, values, f64::from),
            T::Int16 => self.get(f.get_int16, references, values, f64::from),
            T::UInt16 => self.get(f.get_uint16, references, values, f64::from),
            T::Int32 => self.get(f.get_int32, references, values, f64::from),
            T::UInt32 => self.get(f.get_uint32, references, values, f64::from),
            T::Int64 => {
                let f = f.get_int64;
                self.get_wide(f, references, values)
            }
            T::UInt64 => {
                let f = f.get_uint64;
                self.get_wide(f, references, values)
            }
            T::Boolean => self.get(f.get_bool, references, values, |x| f64::from(u8::from(x != 0))),
            T::Float64 | T::String | T::Binary | T::Clock => Status::Discard,
        }
    }

    fn get2(
        &mut self,
        ty: T,
        integer: Option<v2::Get<c_int>>,
        truth: Option<v2::Get<c_int>>,
        references: &[u32],
        values: &mut [f64],
    ) -> Status {
        if references.len() != values.len() {
            return Status::Discard;
        }
        let (vr, n) = (references.as_ptr(), references.len());
        let f = if ty == T::Boolean { truth } else { integer };
        with_room(values.len(), |buffer: &mut [c_int]| {
            let status = call!(self, f, vr, n, buffer.as_mut_ptr());
            for (value, &b) in values.iter_mut().zip(&*buffer) {
                *value = if ty == T::Boolean { f64::from(u8::from(b != 0)) } else { f64::from(b) };
            }
            status
        })
    }

    /// Sets variables of one type, from what reading them gives. Reals are rounded to integers where the type asks for
    /// it.
    pub fn set_numbers(&mut self, ty: T, references: &[u32], values: &[f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(f) => {
                let (vr, n) = (references.as_ptr(), references.len());
                if n != values.len() {
                    return Status::Discard;
                }
                if ty == T::Float64 {
                    return call!(self, f.set_real, vr, n, values.as_ptr());
                }
                let truth = ty == T::Boolean;
                let f = if truth { f.set_bool } else { f.set_integer };
                let whole = |&x: &f64| if truth { i32::from(x != 0.0) } else { x.round() as c_int };
                return with_room(n, |buffer: &mut [c_int]| {
                    buffer.iter_mut().zip(values).for_each(|(b, x)| *b = whole(x));
                    call!(self, f, vr, n, buffer.as_ptr())
                });
            }
            Api::V3(f) => f,
        };
        macro_rules! whole {
            ($f:ident as $t:ty) => {{
                let f = f.$f;
                self.set_as(f, references, values, |x| x.round() as $t)
            }};
        }
        match ty {
            T::Float64 => self.set(f.set_float64, references, values),
            T::Float32 => {
                let f = f.set_float32;
                self.set_as(f, references, values, |x| x as f32)
            }
            T::Int8 => whole!(set_int8 as i8),
            T::UInt8 => whole!(set_uint8 as u8),
            T::Int16 => whole!(set_int16 as i16),
            T::UInt16 => whole!(set_uint16 as u16),
            T::Int32 => whole!(set_int32 as i32),
            T::UInt32 => whole!(set_uint32 as u32),
            T::Int64 => {
                let f = f.set_int64;
                self.set_wide(f, references, values, |x| x as i64)
            }
            T::UInt64 => {
                let f = f.set_uint64;
                self.set_wide(f, references, values, |x| x as u64)
            }
            T::Boolean => {
                let f = f.set_bool;
                self.set_as(f, references, values, |x| u8::from(x != 0.0))
            }
            T::String | T::Binary | T::Clock => Status::Discard,
        }
    }

    /// Sets integers, exactly.
    pub fn set_whole(&mut self, ty: T, reference: u32, values: &[i128]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let both = || values.iter().map(|&x| split(x));
        let mut numbers: Vec<f64> = both().map(|x| x.0).collect();
        if ty.is_wide() {
            numbers.extend(both().map(|x| x.1));
        }
        self.set_numbers(ty, &[reference], &numbers)
    }

    /// Sets texts: all elements of one variable.
    pub fn set_texts(&mut self, reference: u32, values: &[String]) -> Status {
        let texts: Result<Vec<CString>, _> =
            values.iter().map(|v| CString::new(v.as_str())).collect();
        let Ok(texts) = texts else { return Status::Discard };
        if self.dead {
            return Status::Fatal;
        }
        let addresses: Vec<v3::Name> = texts.iter().map(|t| t.as_ptr()).collect();
        let (vr, n) = (&raw const reference, addresses.len());
        match &self.functions.api {
            Api::V2(f) => call!(self, f.set_string, vr, 1, addresses.as_ptr()),
            Api::V3(f) => call!(self, f.set_string, vr, 1, addresses.as_ptr(), n),
        }
    }

    /// Reads texts of so many elements: all of one variable.
    pub fn get_texts(&mut self, reference: u32, elements: usize) -> Answer<Vec<String>> {
        if self.dead {
            return (Status::Fatal, Vec::new());
        }
        let mut addresses: Vec<v3::Name> = vec![ptr::null(); elements];
        let (vr, out) = (&raw const reference, addresses.as_mut_ptr());
        let status = match &self.functions.api {
            Api::V2(_) if elements != 1 => Status::Discard,
            Api::V2(f) => call!(self, f.get_string, vr, 1, out),
            Api::V3(f) => call!(self, f.get_string, vr, 1, out, elements),
        };
        let texts =
            if status.is_good() { addresses.into_iter().map(copied).collect() } else { Vec::new() };
        (status, texts)
    }

    /// Sets bytes: a row for each element of one variable.
    pub fn set_bytes(&mut self, reference: u32, rows: &[Vec<u8>]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(_) => None,
            Api::V3(f) => f.set_binary,
        };
        let sizes: Vec<usize> = rows.iter().map(Vec::len).collect();
        let addresses: Vec<*const u8> = rows.iter().map(|row| row.as_ptr()).collect();
        let (sizes, addresses) = (sizes.as_ptr(), addresses.as_ptr());
        call!(self, f, &raw const reference, 1, sizes, addresses, rows.len())
    }

    /// Reads rows of bytes of so many elements: all of one variable.
    pub fn get_bytes(&mut self, reference: u32, elements: usize) -> Answer<Vec<Vec<u8>>> {
        if self.dead {
            return (Status::Fatal, Vec::new());
        }
        let f = match &self.functions.api {
            Api::V2(_) => None,
            Api::V3(f) => f.get_binary,
        };
        let (mut sizes, mut addresses) = (vec![0; elements], vec![ptr::null(); elements]);
        let (lengths, out) = (sizes.as_mut_ptr(), addresses.as_mut_ptr());
        let status = call!(self, f, &raw const reference, 1, lengths, out, elements);
        let row = |(address, size): (*const u8, usize)| {
            if address.is_null() || size == 0 {
                return Vec::new();
            }
            // SAFETY: the FMU keeps so many bytes there until its next call.
            unsafe { std::slice::from_raw_parts(address, size) }.to_vec()
        };
        let rows = addresses.into_iter().zip(sizes);
        (status, if status.is_good() { rows.map(row).collect() } else { Vec::new() })
    }
}
