//! The wall clock and Ctrl-C, outside of the simulation: a flag that asks a run to pause.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How often a run pauses for flushing, progress and checkpoints.
const BEAT: Duration = Duration::from_millis(100);

/// Shared between the run, its timer and the signal handler.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    pause: AtomicBool,
    interrupt: AtomicBool,
}

impl Pulse {
    /// A pulse that beats until the last other handle on it is gone.
    pub fn start() -> Self {
        let pulse = Self::default();
        let flags = Arc::downgrade(&pulse.0);
        thread::spawn(move || {
            loop {
                thread::sleep(BEAT);
                let Some(flags) = flags.upgrade() else { return };
                flags.pause.store(true, Ordering::Relaxed);
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
            if pulse.0.interrupt.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            pulse.0.pause.store(true, Ordering::Relaxed);
        })
    }

    /// Asks the run to end as if by Ctrl-C.
    pub fn interrupt(&self) {
        self.0.interrupt.store(true, Ordering::Relaxed);
        self.0.pause.store(true, Ordering::Relaxed);
    }

    /// Whether Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        self.0.interrupt.load(Ordering::Relaxed)
    }

    /// Whether the run should pause; takes the request.
    #[inline]
    pub fn take_pause(&self) -> bool {
        self.0.pause.load(Ordering::Relaxed) && self.0.pause.swap(false, Ordering::Relaxed)
    }
}
