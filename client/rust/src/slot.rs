//! slot: where a caller waits for what it is told, a thread or a task.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::error::{Error, Lost};
use crate::look::Waiting;

pub(crate) type OnLost = Arc<dyn Fn(&Lost) + Send + Sync>;
pub(crate) type OnWait = Arc<dyn Fn(&Waiting) + Send + Sync>;

/// What a caller has been told.
#[derive(Default)]
pub(crate) struct Told {
    /// The token, or why it is not held.
    pub(crate) settled: Option<Result<u64, Error>>,
    pub(crate) lost: Option<Lost>,
    pub(crate) freed: Option<Result<(), Error>>,
    pub(crate) answer: Option<Result<u64, Error>>,
    wakers: Vec<Waker>,
}

pub(crate) struct Slot {
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) on_wait: Option<OnWait>,
    told: Mutex<Told>,
    changed: Condvar,
}

impl Slot {
    pub(crate) fn new(on_lost: Option<OnLost>, on_wait: Option<OnWait>) -> Slot {
        Slot { on_lost, on_wait, told: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is told, and wakes who waits for it.
    pub(crate) fn tell(&self, change: impl FnOnce(&mut Told)) {
        let mut told = self.lock();
        change(&mut told);
        let wakers = std::mem::take(&mut told.wakers);
        drop(told);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits in this thread until it is told.
    pub(crate) fn wait<T>(&self, take: impl Fn(&mut Told) -> Option<T>) -> T {
        let mut told = self.lock();
        loop {
            if let Some(found) = take(&mut told) {
                return found;
            }
            told = self.changed.wait(told).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits in this thread until it is told, for so long at most.
    pub(crate) fn wait_for<T>(&self, time: Duration, take: impl Fn(&mut Told) -> Option<T>) -> Option<T> {
        let told = self.lock();
        let cannot = |told: &mut Told| take(told).is_none();
        let (mut told, _) = self.changed.wait_timeout_while(told, time, cannot).unwrap_or_else(PoisonError::into_inner);
        take(&mut told)
    }

    /// What is told; else the task is woken when it is.
    pub(crate) fn poll<T>(&self, context: &mut Context<'_>, take: impl Fn(&mut Told) -> Option<T>) -> Poll<T> {
        let mut told = self.lock();
        match take(&mut told) {
            Some(found) => Poll::Ready(found),
            None => {
                if !told.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                    told.wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}
