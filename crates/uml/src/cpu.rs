//! CPU affinity of a repetition: its worker thread and its kernels share one CPU.
//!
//! Of the processes of a repetition one runs at a time, so that a second CPU saves no time. A change to a process on
//! the same CPU is cheaper, because no other CPU is woken ([decision
//! 0162](../../../docs/adr/0162-one-cpu-for-each-repetition.md)).

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of repetitions of this program that hold each CPU.
type Load = [u32; CpuSet::MAX_CPU];

static LOAD: Mutex<Load> = Mutex::new([0; CpuSet::MAX_CPU]);

fn load() -> MutexGuard<'static, Load> {
    LOAD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CPU affinity of the calling thread and of the processes that it starts: one CPU of the thread's mask. On drop the
/// thread has its former mask again.
pub(crate) struct OwnCpu {
    former: CpuSet,
    cpu: usize,
    /// Not `Send`: the mask is that of the calling thread.
    here: PhantomData<*const ()>,
}

impl OwnCpu {
    /// Sets the affinity to the CPU of the mask that the fewest repetitions hold. `None` if the mask has one CPU only,
    /// or if the system refuses; the mask is then unchanged.
    pub(crate) fn take() -> Option<OwnCpu> {
        let former = sched_getaffinity(None).ok()?;
        if former.count() < 2 {
            return None;
        }
        let mut load = load();
        let cpu = choose(&former, &load, sched_getcpu())?;
        let mut mask = CpuSet::new();
        mask.set(cpu);
        sched_setaffinity(None, &mask).ok()?;
        load[cpu] += 1;
        Some(OwnCpu { former, cpu, here: PhantomData })
    }
}

impl Drop for OwnCpu {
    fn drop(&mut self) {
        load()[self.cpu] -= 1;
        // Fails only if no CPU of the mask is online any more; the thread then keeps its CPU.
        let _ = sched_setaffinity(None, &self.former);
    }
}

/// CPU of `mask` with the least load; of several, `current` if it is one of them, else the first.
fn choose(mask: &CpuSet, load: &Load, current: usize) -> Option<usize> {
    let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
    allowed.min_by_key(|&cpu| (load[cpu], cpu != current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_loaded_cpu_of_the_mask_is_chosen() {
        let mut mask = CpuSet::new();
        assert_eq!(choose(&mask, &[0; CpuSet::MAX_CPU], 0), None);
        [2, 3, 5].into_iter().for_each(|cpu| mask.set(cpu));
        let mut load = [0; CpuSet::MAX_CPU];
        // The current CPU first, the others in order, then each a second time; none outside of the mask.
        for expected in [3, 2, 5, 3, 2, 5] {
            let cpu = choose(&mask, &load, 3).unwrap();
            assert_eq!(cpu, expected);
            load[cpu] += 1;
        }
        load[5] -= 1;
        assert_eq!(choose(&mask, &load, 0), Some(5));
    }

    /// CPUs on which a process started by this thread may run.
    fn of_a_child() -> String {
        let mut grep = std::process::Command::new("grep");
        let said = grep.args(["Cpus_allowed_list", "/proc/self/status"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().split_whitespace().last().unwrap().to_owned()
    }

    #[test]
    fn processes_of_a_repetition_run_on_its_cpu_and_the_mask_comes_back() {
        let (before, all) = (of_a_child(), sched_getaffinity(None).unwrap());
        let Some(own) = OwnCpu::take() else {
            assert_eq!(all.count(), 1, "several CPUs, and none of them for a repetition");
            return;
        };
        assert!(all.is_set(own.cpu));
        assert_eq!(of_a_child(), own.cpu.to_string());
        // A thread started before has its own mask; here the mask of all CPUs is set again.
        let other = std::thread::spawn(move || {
            sched_setaffinity(None, &all).unwrap();
            OwnCpu::take().map(|other| other.cpu)
        });
        assert!(other.join().unwrap().is_some_and(|other| other != own.cpu));
        drop(own);
        assert_eq!(of_a_child(), before);
        assert!(load().iter().all(|&held| held == 0));
    }
}
