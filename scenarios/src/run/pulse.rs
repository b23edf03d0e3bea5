//! The wall clock and Ctrl-C, outside of the simulation: a flag that asks a run to pause.
use std::{
    sync::{
        Arc,
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
#[derive(Debug, Clone)]
pub struct Pulse {
    flags: Arc<Flags>,
    /// Beats after which the run should pause.
    patience: u32,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { flags: Arc::default(), patience: 1 }
    }
}

#[derive(Debug, Default)]
struct Flags {
    /// Since the last pause.
    beats: AtomicU32,
    interrupt: AtomicBool,
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
                flags.beats.fetch_add(1, Ordering::Relaxed);
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
            if pulse.flags.interrupt.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            pulse.flags.beats.store(PATIENCE, Ordering::Relaxed);
        })
    }

    /// Asks the run to end as if by Ctrl-C.
    pub fn interrupt(&self) {
        self.flags.interrupt.store(true, Ordering::Relaxed);
        self.flags.beats.store(PATIENCE, Ordering::Relaxed);
    }

    /// Whether Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        self.flags.interrupt.load(Ordering::Relaxed)
    }

    /// Whether the run should pause; takes the request.
    #[inline]
    pub fn take_pause(&self) -> bool {
        let beats = &self.flags.beats;
        beats.load(Ordering::Relaxed) >= self.patience && beats.swap(0, Ordering::Relaxed) > 0
    }

    /// A handle by which the run pauses only where a pause is long overdue: workers come home after
    /// slices of a run anyway, and to stop at a cycle makes them go back.
    pub fn patient(&self) -> Self {
        Self { flags: Arc::clone(&self.flags), patience: PATIENCE }
    }
}
