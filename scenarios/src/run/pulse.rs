//! The wall clock and Ctrl-C, outside of the simulation: a flag that asks a run to pause.
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

/// How often a run pauses for flushing, progress and checkpoints.
const BEAT: Duration = Duration::from_millis(100);

/// Beats that a patient run lets pass.
const PATIENCE: u32 = 10;

/// Shared between the run, its timer and the signal handler.
#[derive(Debug, Clone, Default)]
pub struct Pulse {
    flags: Arc<Flags>,
}

#[derive(Debug)]
struct Flags {
    /// Since the last pause.
    beats: AtomicU32,
    /// Beats after which the run should pause.
    patience: AtomicU32,
    interrupt: AtomicBool,
    /// The next request to terminate is ignored. Held while either of the two flags is set.
    stubborn: Mutex<bool>,
    /// The run should pause.
    halt: Arc<AtomicBool>,
}

impl Default for Flags {
    fn default() -> Self {
        let [beats, patience] = [0, 1].map(AtomicU32::new);
        Self {
            beats,
            patience,
            interrupt: AtomicBool::default(),
            stubborn: Mutex::default(),
            halt: Arc::default(),
        }
    }
}

impl Flags {
    fn interrupt(&self) -> bool {
        let again = self.interrupt.swap(true, Ordering::Relaxed);
        self.halt.store(true, Ordering::Relaxed);
        again
    }

    fn stubborn(&self) -> MutexGuard<'_, bool> {
        self.stubborn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pulse {
    /// A pulse that beats until the last other handle on it is gone.
    pub fn start() -> Self {
        let pulse = Self::default();
        let flags = Arc::downgrade(&pulse.flags);
        thread::spawn(move || {
            loop {
                thread::sleep(BEAT);
                let Some(flags) = flags.upgrade() else { return };
                let beats = flags.beats.fetch_add(1, Ordering::Relaxed) + 1;
                if beats >= flags.patience.load(Ordering::Relaxed) {
                    flags.halt.store(true, Ordering::Relaxed);
                }
            }
        });
        pulse
    }

    /// Takes over Ctrl-C and the request to terminate; a second one ends the program at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn on_interrupt(&self) -> Result<(), ctrlc::Error> {
        let pulse = self.clone();
        ctrlc::set_handler(move || {
            let mut stubborn = pulse.flags.stubborn();
            if !std::mem::take(&mut *stubborn) && pulse.flags.interrupt() {
                std::process::exit(130);
            }
        })
    }

    /// Ignores a request to terminate, as of a host that has no more work for the program: the one that came already,
    /// else the next one.
    pub fn ignore_termination(&self) {
        let mut stubborn = self.flags.stubborn();
        *stubborn = !self.flags.interrupt.swap(false, Ordering::Relaxed);
    }

    /// Asks the run to end as if by Ctrl-C.
    pub fn interrupt(&self) {
        self.flags.interrupt();
    }

    /// Whether Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        self.flags.interrupt.load(Ordering::Relaxed)
    }

    /// Whether both are handles on one pulse.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.flags, &other.flags)
    }

    /// Set when the run should pause.
    pub fn halt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flags.halt)
    }

    /// Whether there was a beat since the last pause; begins to wait for the next one.
    pub fn take_pause(&self) -> bool {
        self.flags.halt.store(false, Ordering::Relaxed);
        self.flags.beats.swap(0, Ordering::Relaxed) > 0
    }

    /// Whether the run pauses at a cycle only where a pause is long overdue: workers come home after
    /// slices of a run anyway, and to stop at a cycle makes them go back.
    pub fn be_patient(&self, patient: bool) {
        let beats = if patient { PATIENCE } else { 1 };
        self.flags.patience.store(beats, Ordering::Relaxed);
    }
}
