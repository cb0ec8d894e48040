//! events: what happens to locks and connections, for who observes them and for the log.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Lost};
use crate::look::Waiting;

/// Something that has happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A wait lasts: after a second, and then every five seconds.
    Wait(Waiting),
    /// A lock is held.
    #[non_exhaustive]
    Hold {
        /// Its name.
        name: String,
        /// Its fencing token.
        token: u64,
        /// Since it was asked for.
        waited: Duration,
    },
    /// A wait has ended without the lock.
    #[non_exhaustive]
    Fail {
        /// Its name.
        name: String,
        /// Since it was asked for.
        waited: Duration,
        /// What the caller is told.
        error: Error,
    },
    /// A lock was given back.
    #[non_exhaustive]
    Release {
        /// Its name.
        name: String,
        /// Its fencing token.
        token: u64,
        /// Since it was granted.
        held: Duration,
    },
    /// A lock was lost.
    #[non_exhaustive]
    Loss {
        /// Its name, token and reason.
        lost: Lost,
        /// Since it was granted.
        held: Duration,
    },
    /// There is a connection to the daemon.
    #[non_exhaustive]
    Connect {
        /// Where the daemon is.
        address: String,
        /// There was one before.
        again: bool,
    },
    /// The connection is lost.
    #[non_exhaustive]
    Cut {
        /// Where the daemon was.
        address: String,
        /// Why.
        error: Error,
        /// Locks are held, or waited for.
        used: bool,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Wait(wait) => {
                write!(f, "the lock {} is waited for since {:.0} s", wait.name, wait.waited.as_secs_f64())?;
                wait.position.map_or(Ok(()), |position| write!(f, ", as number {}", position))?;
                wait.holder.as_ref().map_or(Ok(()), |holder| write!(f, "; the holder is {}", holder))
            }
            Event::Hold { name, token, waited } => {
                write!(f, "the lock {} is held with the token {}, after {:.3} s", name, token, waited.as_secs_f64())
            }
            Event::Fail { name, error, .. } => write!(f, "the lock {} was not had: {}", name, error),
            Event::Release { name, token, held } => {
                write!(f, "the lock {} with the token {} is given back after {:.3} s", name, token, held.as_secs_f64())
            }
            Event::Loss { lost, .. } => lost.fmt(f),
            Event::Connect { address, again } => {
                write!(f, "connected to holdfastd at {}{}", address, if *again { " again" } else { "" })
            }
            Event::Cut { address, error, .. } => {
                write!(f, "the connection to holdfastd at {} is lost: {}", address, error)
            }
        }
    }
}

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

static OBSERVERS: Mutex<Vec<Observer>> = Mutex::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn change(change: impl FnOnce(&mut Vec<Observer>)) {
    let mut observers = OBSERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut observers);
    COUNT.store(observers.len(), Ordering::Relaxed);
}

/// Ends when it is dropped; made by [`observe`].
#[must_use = "the function is called until this is dropped"]
pub struct Observation(Observer);

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observation")
    }
}

/// Has the function called with each [`Event`] of this process from now on, in a thread of this package. What happens later waits for
/// it.
pub fn observe(observer: impl Fn(&Event) + Send + Sync + 'static) -> Observation {
    let observer: Observer = Arc::new(observer);
    change(|observers| observers.push(observer.clone()));
    Observation(observer)
}

impl Drop for Observation {
    fn drop(&mut self) {
        change(|observers| observers.retain(|other| !Arc::ptr_eq(other, &self.0)));
    }
}

/// Whether anybody wants to know of a wait that lasts.
pub(crate) fn waits_are_seen() -> bool {
    is_observed() || is_logged(false)
}

pub(crate) fn is_observed() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Whether anybody wants to know of an event of this kind.
pub(crate) fn is_seen(event: &Event) -> bool {
    is_observed() || is_for_log(event) && is_logged(is_bad(event))
}

fn is_for_log(event: &Event) -> bool {
    !matches!(event, Event::Hold { .. } | Event::Release { .. } | Event::Fail { .. })
}

fn is_bad(event: &Event) -> bool {
    matches!(event, Event::Loss { .. } | Event::Cut { used: true, .. })
}

#[cfg(feature = "log")]
fn is_logged(bad: bool) -> bool {
    log::log_enabled!(target: "holdfast", if bad { log::Level::Warn } else { log::Level::Info })
}

#[cfg(not(feature = "log"))]
fn is_logged(_bad: bool) -> bool {
    false
}

/// Logs what has happened, and calls the observers.
pub(crate) fn tell(event: &Event) {
    #[cfg(feature = "log")]
    if is_for_log(event) {
        log::log!(target: "holdfast", if is_bad(event) { log::Level::Warn } else { log::Level::Info }, "{}", event);
    }
    let observers = OBSERVERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for observer in observers {
        observer(event);
    }
}
