//! Frames over a socket: the length in four bytes, little-endian, then the message.
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
};

/// Most bytes of a frame. A length beyond it is not of this protocol.
const LONGEST: usize = 1 << 30;
/// Bytes of the length.
const HEAD: usize = 4;
/// Most bytes of a message that is read by one call of the system.
const AT_ONCE: usize = 16 << 10;

/// One end.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) socket: UnixStream,
    buffer: Vec<u8>,
}

/// A message as a frame.
pub(super) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = begun(Vec::new());
    add(&mut bytes, message)?;
    seal(&mut bytes)?;
    Ok(bytes)
}

/// Memory in which a frame begins, with room for its length.
pub(super) fn begun(mut memory: Vec<u8>) -> Vec<u8> {
    memory.clear();
    memory.resize(HEAD, 0);
    memory
}

/// Adds a part of a message.
pub(super) fn add(bytes: &mut Vec<u8>, part: &impl Serialize) -> io::Result<()> {
    *bytes = postcard::to_extend(part, std::mem::take(bytes)).map_err(io::Error::other)?;
    Ok(())
}

/// The frame is whole.
pub(super) fn seal(bytes: &mut [u8]) -> io::Result<()> {
    let length = bytes.len() - HEAD;
    if length > LONGEST {
        return Err(io::Error::other(format!("a message of {length} bytes; at most {LONGEST}")));
    }
    bytes[..HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

impl Wire {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket, buffer: vec![0; AT_ONCE] }
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.socket.write_all(frame)
    }

    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        postcard::from_bytes(self.message()?).map_err(io::Error::other)
    }

    /// The bytes of the next message. One end speaks at a time: whatever is there belongs to this message, so that a
    /// short one comes by one call of the system.
    pub(super) fn message(&mut self) -> io::Result<&[u8]> {
        if self.buffer.len() > AT_ONCE {
            self.buffer.truncate(AT_ONCE);
            self.buffer.shrink_to_fit();
        }
        let mut there = 0;
        while there < HEAD {
            there += self.more(there)?;
        }
        let mut head = [0; HEAD];
        head.copy_from_slice(&self.buffer[..HEAD]);
        let length = u32::from_le_bytes(head) as usize;
        if length > LONGEST || there > HEAD + length {
            return Err(io::Error::other(format!("a message of {length} bytes")));
        }
        // As much as came, and not as much as was announced, takes memory.
        while there < HEAD + length {
            let room = (2 * there).min(HEAD + length);
            if self.buffer.len() < room {
                self.buffer.resize(room, 0);
            }
            there += self.more(there)?;
        }
        Ok(&self.buffer[HEAD..there])
    }

    /// Reads on behind the bytes that are there; how many came.
    fn more(&mut self, there: usize) -> io::Result<usize> {
        loop {
            match self.socket.read(&mut self.buffer[there..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_all_lengths_pass() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) = (Wire::new(a), Wire::new(b));
        let other = std::thread::spawn(move || {
            while let Ok(message) = b.receive::<Vec<u8>>() {
                b.send(&frame(&message).unwrap()).unwrap();
            }
        });
        for length in [0, 1, AT_ONCE - 8, AT_ONCE - 7, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE, 1 << 22] {
            let message: Vec<u8> = (0..length).map(|k| k as u8).collect();
            a.send(&frame(&message).unwrap()).unwrap();
            assert!(a.receive::<Vec<u8>>().unwrap() == message, "{length} bytes");
        }
        a.send(&[1, 2]).unwrap();
        drop(a);
        other.join().unwrap();
    }
}
