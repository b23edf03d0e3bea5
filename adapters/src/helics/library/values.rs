//! Values of publications and inputs.
use super::held::{Held, Trouble, c, length, text, tried};
use crate::federation::{
    clock::{nanoseconds, seconds},
    data::{Data, Type},
};
use std::ffi::{c_char, c_int};

impl Held {
    /// Publishes a value.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn publish(&mut self, publication: usize, data: &Data) -> Result<(), Trouble> {
        let (p, f) = (self.publications[publication], &self.loaded.functions);
        // SAFETY: the publication is there; texts, vectors and bytes live during the call and have the lengths
        // that are passed.
        unsafe {
            match data {
                Data::Double(x) => tried(|e| (f.put_double)(p, *x, e)),
                Data::Int(i) => tried(|e| (f.put_int)(p, *i, e)),
                Data::Bool(b) => tried(|e| (f.put_bool)(p, c_int::from(*b), e)),
                Data::Text(t) => {
                    let t = c(t);
                    tried(|e| (f.put_text)(p, t.as_ptr(), e))
                }
                Data::Complex([re, im]) => tried(|e| (f.put_complex)(p, *re, *im, e)),
                Data::Vector(v) => {
                    let n = length(v.len())?;
                    tried(|e| (f.put_vector)(p, v.as_ptr(), n, e))
                }
                Data::ComplexVector(v) => {
                    let n = length(v.len() / 2)?;
                    tried(|e| (f.put_complex_vector)(p, v.as_ptr(), n, e))
                }
                Data::NamedPoint(t, x) => {
                    let t = c(t);
                    tried(|e| (f.put_point)(p, t.as_ptr(), *x, e))
                }
                Data::Time(ns) => tried(|e| (f.put_time)(p, seconds(*ns), e)),
                Data::Char(b) => tried(|e| (f.put_char)(p, *b as c_char, e)),
                Data::Raw(b) => {
                    let n = length(b.len())?;
                    tried(|e| (f.put_bytes)(p, b.as_ptr().cast(), n, e))
                }
            }
        }
    }

    /// Whether an input has a value that came since the last grant.
    pub fn is_updated(&self, input: usize) -> bool {
        // SAFETY: the input is there.
        unsafe { (self.loaded.functions.is_updated)(self.inputs[input]) != 0 }
    }

    /// The time of the last value of an input, in seconds.
    pub fn updated_at(&self, input: usize) -> f64 {
        // SAFETY: the input is there.
        unsafe { (self.loaded.functions.updated_at)(self.inputs[input]) }
    }

    /// Type and unit of the publication behind an input; nothing where there is none.
    pub fn sent(&self, input: usize) -> (String, String) {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        // SAFETY: the input is there; each text is copied before the next call.
        unsafe { (text((f.sent_type)(i)), text((f.sent_unit)(i))) }
    }

    /// The value of an input.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn value(&mut self, input: usize, ty: Type) -> Result<Data, Trouble> {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        // SAFETY: the input is there.
        let value = unsafe {
            match ty {
                Type::Double => Data::Double(tried(|e| (f.get_double)(i, e))?),
                Type::Int => Data::Int(tried(|e| (f.get_int)(i, e))?),
                Type::Bool => Data::Bool(tried(|e| (f.get_bool)(i, e))? != 0),
                Type::Text => Data::Text(self.text(input)?),
                Type::Complex => {
                    let (mut re, mut im) = (0.0, 0.0);
                    tried(|e| (f.get_complex)(i, &raw mut re, &raw mut im, e))?;
                    Data::Complex([re, im])
                }
                Type::Vector => Data::Vector(self.vector(input, false)?),
                Type::ComplexVector => Data::ComplexVector(self.vector(input, true)?),
                Type::NamedPoint => self.point(input)?,
                Type::Time => Data::Time(nanoseconds(tried(|e| (f.get_time)(i, e))?)),
                Type::Char => Data::Char(tried(|e| (f.get_char)(i, e))? as u8),
                Type::Raw => Data::Raw(self.bytes(input)?),
            }
        };
        Ok(value)
    }

    fn vector(&self, input: usize, complex: bool) -> Result<Vec<f64>, Trouble> {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        let each = if complex { 2 } else { 1 };
        // SAFETY: the buffer has room for as many numbers as the library is told, and is read as far as it says
        // that it filled it.
        unsafe {
            let size = (f.vector_size)(i).max(0).saturating_mul(2);
            let (mut numbers, mut got) = (vec![0.0; size as usize], 0);
            let get = if complex { f.get_complex_vector } else { f.get_vector };
            tried(|e| get(i, numbers.as_mut_ptr(), size, &raw mut got, e))?;
            numbers.truncate(each * got.max(0) as usize);
            Ok(numbers)
        }
    }

    fn text(&self, input: usize) -> Result<String, Trouble> {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        // SAFETY: the buffer has the length that is passed, and is read up to its zero.
        unsafe {
            let size = (f.text_size)(i).max(0).saturating_add(1);
            let (mut bytes, mut got) = (vec![0u8; size as usize], 0);
            tried(|e| {
                (f.get_text)(i, bytes.as_mut_ptr().cast(), size, &raw mut got, e);
            })?;
            Ok(until_zero(&bytes))
        }
    }

    fn point(&self, input: usize) -> Result<Data, Trouble> {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        // SAFETY: the buffer has the length that is passed, and is read up to its zero.
        unsafe {
            let size = (f.text_size)(i).max((f.byte_count)(i)).max(0).saturating_add(1);
            let (mut bytes, mut got, mut value) = (vec![0u8; size as usize], 0, 0.0);
            tried(|e| {
                let to = bytes.as_mut_ptr().cast();
                (f.get_point)(i, to, size, &raw mut got, &raw mut value, e);
            })?;
            Ok(Data::NamedPoint(until_zero(&bytes), value))
        }
    }

    fn bytes(&self, input: usize) -> Result<Vec<u8>, Trouble> {
        let (i, f) = (self.inputs[input], &self.loaded.functions);
        // SAFETY: the buffer has the length that is passed, and is read as far as the library says that it
        // filled it.
        unsafe {
            let size = (f.byte_count)(i).max(0);
            let (mut bytes, mut got) = (vec![0u8; size as usize], 0);
            tried(|e| {
                (f.get_bytes)(i, bytes.as_mut_ptr().cast(), size, &raw mut got, e);
            })?;
            bytes.truncate(got.max(0) as usize);
            Ok(bytes)
        }
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
