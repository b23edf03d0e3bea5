//! Frames over a socket: the length in four bytes, little-endian, then the message.
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
};

/// Most bytes of a frame. A length beyond it is not of this protocol.
const LONGEST: usize = 1 << 30;

/// One end.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) socket: UnixStream,
    buffer: Vec<u8>,
}

/// A message as a frame.
pub(super) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let bytes = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    sealed(bytes)
}

fn sealed(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = bytes.len() - 4;
    if length > LONGEST {
        return Err(io::Error::other(format!("a message of {length} bytes; at most {LONGEST}")));
    }
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

impl Wire {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket, buffer: Vec::new() }
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.socket.write_all(frame)
    }

    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(io::Error::other(format!("a message of {length} bytes")));
        }
        self.buffer.clear();
        let read = (&mut self.socket).take(length as u64).read_to_end(&mut self.buffer)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        postcard::from_bytes(&self.buffer).map_err(io::Error::other)
    }
}
