//! The threads of a run, each of which begins on a core of its own.
//!
//! **Why.** Linux often starts a thread on the core of the one that makes it, and moves it some
//! milliseconds later: as long as a short run takes. Where a run has as many threads as there are
//! cores, each goes to one when it begins. From there on the system may move it as it likes, for
//! other programs run here, too.
use std::{
    sync::OnceLock,
    thread::{available_parallelism, scope},
};

/// How many threads serve so many: not more than cores.
pub(super) fn for_workers(workers: usize) -> usize {
    // It reads files.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from));
    cores.min(workers).max(1)
}

/// Has so many threads serve, this one as number 0, and waits for all.
pub(super) fn serve(threads: usize, serve: impl Fn(usize) + Sync) {
    let cores = Cores::of(threads);
    let begin = |me| {
        cores.begin(me);
        serve(me);
    };
    scope(|scope| {
        let begin = &begin;
        (1..threads).for_each(|me| drop(scope.spawn(move || begin(me))));
        begin(0);
    });
}

#[cfg(target_os = "linux")]
use linux::Cores;

/// Elsewhere threads begin where the system likes.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy)]
struct Cores;

#[cfg(not(target_os = "linux"))]
impl Cores {
    fn of(_: usize) -> Self {
        Self
    }
    fn begin(self, _: usize) {}
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The cores of this process, if threads take all of them, and which of these is the first thread's.
    #[derive(Clone, Copy)]
    pub(super) struct Cores(Option<(CpuSet, usize)>);

    impl Cores {
        pub(super) fn of(threads: usize) -> Self {
            let all = sched_getaffinity(None).ok();
            let taken = all.filter(|all| threads > 1 && all.count() as usize == threads);
            let before =
                |all: &CpuSet| (0..sched_getcpu()).filter(|&core| all.is_set(core)).count();
            Self(taken.map(|all| (all, before(&all))))
        }

        /// Hints only: what the system refuses is left as it is.
        pub(super) fn begin(self, me: usize) {
            if let (Some((all, _)), Some(core)) = (self.0, self.core(me)) {
                let mut own = CpuSet::new();
                own.set(core);
                let _ = sched_setaffinity(None, &own);
                let _ = sched_setaffinity(None, &all);
            }
        }

        /// Where a thread begins.
        fn core(self, me: usize) -> Option<usize> {
            let (all, first) = self.0?;
            let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core));
            cores.nth((first + me) % all.count() as usize)
        }
    }

    #[test]
    fn each_thread_has_a_core_of_its_own_and_leaves_it_as_it_likes() {
        let before = sched_getaffinity(None).expect("a mask");
        let threads = before.count() as usize;
        let cores = Cores::of(threads);
        let mut begun: Vec<usize> = (0..threads).filter_map(|me| cores.core(me)).collect();
        begun.sort_unstable();
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core)).collect();
        assert_eq!(begun, if threads > 1 { all } else { Vec::new() });
        super::serve(threads, |_| {
            let after = sched_getaffinity(None).expect("a mask");
            assert!((0..CpuSet::MAX_CPU).all(|core| after.is_set(core) == before.is_set(core)));
        });
        // Where cores are left, threads begin where the system likes.
        assert_eq!(Cores::of(threads + 1).core(0), None);
    }
}
