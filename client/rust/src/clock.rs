//! clock: time that goes on while the host sleeps, as the daemon's deadlines do.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Between two clocks of this process; after more it looks whether the host slept.
const STILL: i64 = 5_000_000;
/// The kernel tells the time since its boot in such steps.
#[cfg(target_os = "linux")]
const STEP: Duration = Duration::from_millis(10);

/// It is never earlier than the true time, but for the first reading, from which all others count.
#[derive(Debug)]
pub(crate) struct Clock {
    base: Instant,
    wall: SystemTime,
    /// Of the wall clock before the monotonic one, when that was looked at.
    drift: AtomicI64,
    /// What is added to the monotonic clock.
    ahead: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        let clock =
            Clock { base: Instant::now(), wall: SystemTime::now(), drift: AtomicI64::new(0), ahead: AtomicU64::new(0) };
        clock.ahead.store(nanoseconds(since_boot().unwrap_or_default()), Ordering::Relaxed);
        clock
    }

    /// Since the boot of the host, or since another moment that does not change.
    pub(crate) fn now(&self) -> Duration {
        let monotonic = self.base.elapsed();
        let wall = match SystemTime::now().duration_since(self.wall) {
            Ok(later) => nanoseconds(later) as i64,
            Err(earlier) => -(nanoseconds(earlier.duration()) as i64),
        };
        let drift = wall.saturating_sub(nanoseconds(monotonic) as i64);
        if drift.saturating_sub(self.drift.load(Ordering::Relaxed)).saturating_abs() > STILL {
            self.drift.store(drift, Ordering::Relaxed);
            let ahead = slept(monotonic, Duration::from_nanos(self.ahead.load(Ordering::Relaxed)), drift);
            self.ahead.fetch_max(nanoseconds(ahead), Ordering::Relaxed);
        }
        monotonic + Duration::from_nanos(self.ahead.load(Ordering::Relaxed))
    }
}

/// What is to be added to the monotonic clock from now on.
#[cfg(target_os = "linux")]
fn slept(monotonic: Duration, ahead: Duration, _drift: i64) -> Duration {
    let boot = since_boot().unwrap_or_default();
    if boot > monotonic + ahead + STEP {
        boot + STEP - monotonic
    } else {
        ahead
    }
}

/// Here only the wall clock goes on while the host sleeps.
#[cfg(not(target_os = "linux"))]
fn slept(_monotonic: Duration, ahead: Duration, drift: i64) -> Duration {
    ahead.max(Duration::from_nanos(u64::try_from(drift).unwrap_or(0)))
}

#[cfg(target_os = "linux")]
fn since_boot() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_micros((seconds * 1e6) as u64))
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Option<Duration> {
    None
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_and_never_back() {
        let clock = Clock::new();
        let mut before = clock.now();
        for _ in 0..1000 {
            let now = clock.now();
            assert!(now >= before && now - before < Duration::from_secs(1));
            before = now;
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_that_of_the_kernel_and_at_most_a_step_off() {
        let (before, now, after) = (since_boot().unwrap(), Clock::new().now(), since_boot().unwrap());
        assert!(now + STEP >= before && now <= after + STEP, "{:?} {:?} {:?}", before, now, after);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_sleep_of_the_host_counts_and_a_step_of_the_kernel_does_not() {
        let boot = since_boot().unwrap();
        assert_eq!(slept(Duration::ZERO, boot, 0), boot);
        let ahead = boot - Duration::from_secs(3);
        assert!(slept(Duration::ZERO, ahead, 0) >= boot + STEP);
    }
}
