//! The processes of a run: least numbers and parcels of bytes between them.
use super::{
    find::{Library, text},
    table::{BYTE, ERRORS_RETURN, Handle, INT64, MIN, NO_REQUEST, SERIALIZED, WORLD},
};
use std::{ffi::c_int, mem::ManuallyDrop, ptr::null_mut};

/// Bytes that go to each rank in one call for all: a length, and as much of the parcel as there is room for. Most
/// parcels are shorter.
const BLOCK: usize = 512;
const HEAD: usize = size_of::<u64>();
/// The most bytes of one message: a count is an `int`.
const PIECE: usize = 1 << 30;
/// Times that a request is looked at before another thread may have the core.
const SPINS: u32 = 2000;

/// A call that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// Whoever waits was told not to.
    Given,
    /// MPI failed; in its words.
    Failed(String),
}

/// All ranks, after MPI has begun.
pub struct World {
    mpi: Library,
    /// The number of this rank.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// Buffers of the call for all.
    out: ManuallyDrop<Vec<u8>>,
    came: ManuallyDrop<Vec<u8>>,
    /// MPI still works on some buffer, or failed: no call may follow.
    over: bool,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {} by {:?}", self.rank, self.ranks, self.mpi)
    }
}

impl World {
    /// Begins MPI, which waits for all ranks.
    ///
    /// # Errors
    /// When MPI fails.
    pub fn join(library: Library) -> Result<Self, String> {
        let f = &library.functions;
        let (mut provided, mut rank, mut ranks) = (0, 0, 0);
        // SAFETY: MPI allows to pass no arguments, and begins once: nobody else calls this. The numbers are written
        // after it has begun.
        let codes = unsafe {
            [
                (f.init)(null_mut(), null_mut(), SERIALIZED, &raw mut provided),
                (f.on_error)(WORLD, ERRORS_RETURN),
                (f.rank)(WORLD, &raw mut rank),
                (f.size)(WORLD, &raw mut ranks),
            ]
        };
        if let Some(code) = codes.into_iter().find(|code| *code != 0) {
            return Err(said(&library, code));
        }
        let (rank, ranks) = (rank.max(0) as u32, ranks.max(1) as u32);
        let room = || ManuallyDrop::new(vec![0; BLOCK * ranks as usize]);
        let (out, came) = (room(), room());
        Ok(Self { mpi: library, rank, ranks, out, came, over: false })
    }

    /// The least of the numbers that ranks give. `given` tells whether to wait no longer.
    ///
    /// # Errors
    /// When MPI fails, or nobody waits any longer.
    pub fn least(&mut self, mine: i64, given: &dyn Fn() -> bool) -> Result<i64, Broken> {
        self.alive()?;
        // Leaked unless the request is complete.
        let mut numbers = ManuallyDrop::new(vec![mine, mine]);
        let mut request = NO_REQUEST;
        let from = numbers.as_mut_ptr();
        // SAFETY: both numbers live for ever unless the request is complete.
        let code = unsafe {
            let (from, to) = (from.cast(), from.add(1).cast());
            (self.mpi.functions.reduce)(from, to, 1, INT64, MIN, WORLD, &raw mut request)
        };
        self.check(code)?;
        self.wait(&mut [request], given)?;
        Ok(ManuallyDrop::into_inner(numbers)[1])
    }

    /// Gives each rank its parcel, and puts the one that came from it in its place.
    ///
    /// # Errors
    /// When MPI fails, or nobody waits any longer.
    pub fn exchange(
        &mut self,
        parcels: &mut [Vec<u8>],
        given: &dyn Fn() -> bool,
    ) -> Result<(), Broken> {
        self.alive()?;
        for (block, parcel) in self.out.chunks_exact_mut(BLOCK).zip(&*parcels) {
            let some = parcel.len().min(BLOCK - HEAD);
            block[..HEAD].copy_from_slice(&(parcel.len() as u64).to_le_bytes());
            block[HEAD..HEAD + some].copy_from_slice(&parcel[..some]);
        }
        let (mut request, each) = (NO_REQUEST, BLOCK as c_int);
        // SAFETY: both buffers have a block for each rank, and live for ever unless this request is complete.
        let code = unsafe {
            let (from, to) = (self.out.as_ptr().cast(), self.came.as_mut_ptr().cast());
            let to_all = self.mpi.functions.to_all;
            to_all(from, each, BYTE, to, each, BYTE, WORLD, &raw mut request)
        };
        self.check(code)?;
        self.wait(&mut [request], given)?;
        let came: Vec<(usize, Vec<u8>)> = self.came.chunks_exact(BLOCK).map(opened).collect();
        self.rest(parcels, came, given)
    }

    /// Sends and receives what of parcels had no room in the blocks.
    fn rest(
        &mut self,
        parcels: &mut [Vec<u8>],
        came: Vec<(usize, Vec<u8>)>,
        given: &dyn Fn() -> bool,
    ) -> Result<(), Broken> {
        let long = |length: usize| length > BLOCK - HEAD;
        if !parcels.iter().any(|p| long(p.len())) && !came.iter().any(|(length, _)| long(*length)) {
            for (parcel, (_, bytes)) in parcels.iter_mut().zip(came) {
                *parcel = bytes;
            }
            return Ok(());
        }
        // Leaked unless all requests are complete.
        let take = |parcel: &mut Vec<u8>| ManuallyDrop::new(std::mem::take(parcel));
        let sent: Vec<_> = parcels.iter_mut().map(take).collect();
        let room = |(length, bytes): (usize, Vec<u8>)| {
            let mut bytes = bytes;
            bytes.resize(length, 0);
            ManuallyDrop::new(bytes)
        };
        let mut received: Vec<_> = came.into_iter().map(room).collect();
        let (mut requests, mut done) = (Vec::new(), Ok(()));
        for rank in 0..sent.len() {
            let (to, from) = (&sent[rank], &mut received[rank]);
            done = done.and_then(|()| self.pieces(rank, (to, from), &mut requests));
        }
        done.and_then(|()| self.wait(&mut requests, given))?;
        for ((parcel, sent), came) in parcels.iter_mut().zip(sent).zip(received) {
            drop(ManuallyDrop::into_inner(sent));
            *parcel = ManuallyDrop::into_inner(came);
        }
        Ok(())
    }

    /// Begins to send and receive the rest of two parcels, piece by piece.
    fn pieces(
        &mut self,
        rank: usize,
        (to, from): (&[u8], &mut [u8]),
        requests: &mut Vec<Handle>,
    ) -> Result<(), Broken> {
        let f = &self.mpi.functions;
        let (mut codes, other) = (Vec::new(), rank as c_int);
        let first = BLOCK - HEAD;
        for piece in to.get(first..).unwrap_or_default().chunks(PIECE) {
            let (mut request, length) = (NO_REQUEST, piece.len() as c_int);
            // SAFETY: the piece has this length, and lives for ever unless the request is complete.
            codes.push(unsafe {
                (f.send)(piece.as_ptr().cast(), length, BYTE, other, 0, WORLD, &raw mut request)
            });
            requests.push(request);
        }
        for piece in from.get_mut(first..).unwrap_or_default().chunks_mut(PIECE) {
            let (mut request, length) = (NO_REQUEST, piece.len() as c_int);
            let to = piece.as_mut_ptr().cast();
            // SAFETY: the piece has this length, lives for ever unless the request is complete, and is read by nobody
            // before.
            codes.push(unsafe { (f.receive)(to, length, BYTE, other, 0, WORLD, &raw mut request) });
            requests.push(request);
        }
        codes.into_iter().try_for_each(|code| self.check(code))
    }

    /// Waits for requests.
    fn wait(&mut self, requests: &mut [Handle], given: &dyn Fn() -> bool) -> Result<(), Broken> {
        let mut spins = 0;
        for request in requests {
            loop {
                let mut done: c_int = 0;
                // SAFETY: the request was begun by this library, or is none; no status is asked for.
                let code = unsafe {
                    (self.mpi.functions.test)(&raw mut *request, &raw mut done, null_mut())
                };
                self.check(code)?;
                if done != 0 {
                    break;
                }
                if given() {
                    self.over = true;
                    return Err(Broken::Given);
                }
                spins += 1;
                if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
        Ok(())
    }

    fn check(&mut self, code: c_int) -> Result<(), Broken> {
        if code == 0 {
            return Ok(());
        }
        self.over = true;
        Err(Broken::Failed(said(&self.mpi, code)))
    }

    fn alive(&self) -> Result<(), Broken> {
        if self.over { Err(Broken::Given) } else { Ok(()) }
    }

    /// Ends MPI, for which all ranks wait for each other; nothing where a call did not come to its end.
    pub fn end(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            // SAFETY: MPI has begun and has no open requests; nothing is called afterwards.
            unsafe { (self.mpi.functions.finalize)() };
        }
    }
}

/// The length of a parcel, and as much of it as is in its block.
fn opened(block: &[u8]) -> (usize, Vec<u8>) {
    let (head, rest) = block.split_at(HEAD);
    let length = head.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    (length, rest[..length.min(rest.len())].to_vec())
}

/// An error in the words of MPI.
fn said(library: &Library, code: c_int) -> String {
    let said = text(|to, length| {
        // SAFETY: the buffer has room for the longest text.
        unsafe { (library.functions.error)(code, to, length) }
    });
    format!("MPI says: {said} (code {code})")
}
