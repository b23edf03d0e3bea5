//! Frames of the mosaik protocol over a TCP connection: four bytes of length, most significant first,
//! then JSON `[type, id, content]`. Every read and write has a deadline.
use serde_json::{Map, Value as Json};
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Longest frame: a peer that announces more does not speak the protocol.
const LONGEST: usize = 1 << 28;

/// How long a single read blocks; between reads the deadline is looked at.
const SLICE: Duration = Duration::from_millis(50);

/// How long a single read blocks in a hurry: long enough to see all that has come.
const MOMENT: Duration = Duration::from_millis(1);

/// Why a frame did not pass.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The peer closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The deadline passed.
    #[error("no answer came")]
    Silent,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(std::io::Error),
    /// The peer sent something else.
    #[error("what came is no frame of the mosaik protocol: {0}")]
    Malformed(String),
}

/// A frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// The peer asks.
    Request(Request),
    /// An answer to our request of that number.
    Result(u64, Json),
    /// A refusal of our request of that number: class, text, and more.
    Failure(u64, Json),
}

/// A request of the peer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub id: Json,
    pub name: String,
    /// Positional arguments, and those with names.
    pub args: Vec<Json>,
    pub named: Map<String, Json>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    /// Bytes that came and are no frame yet.
    came: Vec<u8>,
    chunk: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> std::io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self { stream, came: Vec::new(), chunk: vec![0; 1 << 16] })
    }

    /// Sends a frame, whose text is JSON already.
    pub(super) fn send(&mut self, text: &str) -> Result<(), WireError> {
        let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= LONGEST);
        let length = length.ok_or_else(|| {
            WireError::Malformed(format!("our frame would have {} bytes", text.len()))
        })?;
        let mut frame = Vec::with_capacity(4 + text.len());
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).map_err(failed)
    }

    /// Waits no more than a moment for a frame, in all that follows.
    pub(super) fn hurry(&self) -> std::io::Result<()> {
        self.stream.set_read_timeout(Some(MOMENT))
    }

    /// The next frame.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<Frame, WireError> {
        self.fill(4, deadline)?;
        let length = [self.came[0], self.came[1], self.came[2], self.came[3]];
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST {
            return Err(WireError::Malformed(format!("a length of {length} bytes")));
        }
        self.fill(4 + length, deadline)?;
        let frame = parse(&self.came[4..4 + length]);
        self.came.drain(..4 + length);
        frame
    }

    /// Lets the peer close the connection: one that is closed with words unread is broken for it.
    pub(super) fn drain(&mut self, deadline: Instant) {
        while self.receive(deadline).is_ok() {}
    }

    /// Reads until so many bytes are there.
    fn fill(&mut self, want: usize, deadline: Instant) -> Result<(), WireError> {
        while self.came.len() < want {
            match self.stream.read(&mut self.chunk) {
                Ok(0) => return Err(WireError::Closed),
                Ok(n) => self.came.extend_from_slice(&self.chunk[..n]),
                Err(e) if waits(&e) => {}
                Err(e) => return Err(failed(e)),
            }
            if self.came.len() < want && Instant::now() >= deadline {
                return Err(WireError::Silent);
            }
        }
        Ok(())
    }
}

fn waits(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn failed(e: std::io::Error) -> WireError {
    use ErrorKind as K;
    match e.kind() {
        K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe | K::UnexpectedEof => {
            WireError::Closed
        }
        K::WouldBlock | K::TimedOut => WireError::Silent,
        _ => WireError::Broken(e),
    }
}

fn parse(bytes: &[u8]) -> Result<Frame, WireError> {
    let (kind, id, content): (u8, Json, Json) = serde_json::from_slice(bytes).map_err(|e| {
        let text = String::from_utf8_lossy(bytes);
        // Python writes these, though JSON has no words for them.
        let no_number = ["NaN", "Infinity"].iter().find(|word| text.contains(**word));
        WireError::Malformed(match no_number {
            Some(word) => format!("it has {word}, for which JSON has no number: {}", start(&text)),
            None => format!("{e}: {}", start(&text)),
        })
    })?;
    let number = || {
        let wrong = || WireError::Malformed(format!("an answer to the request {id}"));
        id.as_u64().ok_or_else(wrong)
    };
    match kind {
        0 => request(&id, content),
        1 => Ok(Frame::Result(number()?, content)),
        2 => Ok(Frame::Failure(number()?, content)),
        other => Err(WireError::Malformed(format!("the type {other}"))),
    }
}

fn request(id: &Json, content: Json) -> Result<Frame, WireError> {
    let (name, args, named) = serde_json::from_value(content)
        .map_err(|e| WireError::Malformed(format!("a request that is none: {e}")))?;
    Ok(Frame::Request(Request { id: id.clone(), name, args, named }))
}

/// The beginning of a text, for messages.
pub(super) fn start(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let patience = Duration::from_millis(200);
        (Wire::new(listener.accept().unwrap().0, patience).unwrap(), peer)
    }

    fn told(bytes: &[u8]) -> Result<Frame, WireError> {
        let (mut wire, mut peer) = pair();
        peer.write_all(bytes).unwrap();
        drop(peer);
        wire.receive(Instant::now() + Duration::from_secs(5))
    }

    fn framed(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn frames_are_read_whole_however_they_come() {
        let (mut wire, mut peer) = pair();
        let bytes = [framed("[1, 7, 0.1]"), framed("[0, 3, [\"get_progress\", [], {}]]")].concat();
        let sender = std::thread::spawn(move || {
            for byte in bytes {
                peer.write_all(&[byte]).unwrap();
            }
            peer
        });
        let deadline = Instant::now() + Duration::from_secs(5);
        assert_eq!(wire.receive(deadline).unwrap(), Frame::Result(7, 0.1.into()));
        let name = "get_progress".to_owned();
        let asked = Request { id: 3.into(), name, args: Vec::new(), named: Map::new() };
        assert_eq!(wire.receive(deadline).unwrap(), Frame::Request(asked));
        let mut peer = sender.join().unwrap();
        wire.send("[1,3,50.0]").unwrap();
        let mut back = [0; 14];
        peer.read_exact(&mut back).unwrap();
        assert_eq!(&back[..], framed("[1,3,50.0]"));
    }

    #[test]
    fn bad_peers_give_errors() {
        for (bytes, part) in [
            (framed("[1, 0, NaN]"), "NaN"),
            (framed("[9, 0, 1]"), "type 9"),
            (framed("{\"a\": 1}"), "no frame"),
            (framed("[0, 0, 5]"), "request"),
            (framed("[1, \"x\", 5]"), "answer"),
            (vec![255, 255, 255, 255, 0], "4294967295"),
            (vec![0, 0, 0, 9, b'['], "closed"),
            (framed(&format!("[1, 0, {}", "[".repeat(1 << 16))), "recursion"),
            (framed("[1, 0, \u{1}"), "no frame"),
        ] {
            let e = told(&bytes).unwrap_err().to_string();
            assert!(e.contains(part), "{e} should contain {part}");
        }
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let (mut wire, _peer) = pair();
        let before = Instant::now();
        let e = wire.receive(before + Duration::from_millis(120)).unwrap_err();
        assert!(matches!(e, WireError::Silent), "{e}");
        assert!(before.elapsed() < Duration::from_secs(2));
    }
}
