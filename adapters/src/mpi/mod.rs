//! One scenario over processes of MPI, through its standard ABI: `library` has the calls, [`Processes`] is the
//! kernel's view of them, `launch` starts ranks and hears how they end, and `guard` stands beside each of them.
pub mod guard;
pub mod launch;
pub mod library;

use library::{Broken, World};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use superdense_kernel::parallel::{LostRank, Ranks};

/// Says that a rank is lost, from any thread; nobody waits for it then.
#[derive(Debug, Clone, Default)]
pub struct Alarm(Arc<Mutex<Option<String>>>);

impl Alarm {
    /// A rank is lost, for this reason.
    pub fn raise(&self, why: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
    }

    /// The reason, if one is lost.
    pub fn heard(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The ranks of a run, as processes of MPI; each copy is a handle on them.
#[derive(Debug, Clone)]
pub struct Processes {
    world: Arc<Mutex<World>>,
    numbers: (u32, u32),
    alarm: Alarm,
}

impl Processes {
    /// All ranks, which wait for each other until the alarm says that one is lost.
    pub fn new(world: World, alarm: Alarm) -> Self {
        let numbers = (world.rank, world.ranks);
        Self { world: Arc::new(Mutex::new(world)), numbers, alarm }
    }

    /// Ends MPI, for which all ranks wait for each other.
    pub fn end(&self) {
        self.world().end();
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self, broken: Broken) -> LostRank {
        let why = match (self.alarm.heard(), broken) {
            (Some(why), _) => why,
            (None, Broken::Failed(said)) => said,
            (None, Broken::Given) => "a call to another rank did not come to its end".to_owned(),
        };
        LostRank { why }
    }
}

impl Ranks for Processes {
    fn rank(&self) -> u32 {
        self.numbers.0
    }

    fn ranks(&self) -> u32 {
        self.numbers.1
    }

    fn least(&mut self, mine: i64) -> Result<i64, LostRank> {
        let least = self.world().least(mine, &|| self.alarm.heard().is_some());
        least.map_err(|broken| self.lost(broken))
    }

    fn exchange(&mut self, parcels: &mut [Vec<u8>]) -> Result<(), LostRank> {
        let exchanged = self.world().exchange(parcels, &|| self.alarm.heard().is_some());
        exchanged.map_err(|broken| self.lost(broken))
    }
}
