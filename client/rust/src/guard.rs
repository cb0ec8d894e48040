//! guard: a lock that is held, and what it is worth.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::core::{ms, ClaimId, Time};
use crate::engine::Engine;
use crate::error::{Error, Lost};
use crate::events::Event;
use crate::request::check_time;
use crate::slot::{Slot, Told};

/// What a slot is told.
pub(crate) fn told<'a, T>(
    slot: &'a Slot,
    take: impl Fn(&mut Told) -> Option<T> + Unpin + 'a,
) -> impl Future<Output = T> + 'a {
    Tale { slot, take }
}

struct Tale<'a, F> {
    slot: &'a Slot,
    take: F,
}

impl<T, F: Fn(&mut Told) -> Option<T> + Unpin> Future for Tale<'_, F> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.slot.poll(context, &self.take)
    }
}

/// One name that is held. If it is dropped, the lock is given back.
pub(crate) struct Hold {
    watch: Watched,
    over: bool,
}

/// What is known of it.
#[derive(Clone)]
struct Watched {
    engine: Arc<Engine>,
    id: ClaimId,
    slot: Arc<Slot>,
    name: String,
    token: u64,
    since: Time,
}

impl Watched {
    fn valid_for(&self) -> Duration {
        if self.engine.is_foreign() {
            return Duration::ZERO;
        }
        self.engine.valid_for(self.id)
    }

    /// The loss, or what it is as far as it is known without the daemon.
    fn loss(&self) -> Lost {
        if self.engine.is_foreign() {
            return Lost::of(&self.name, self.token, "forked it belongs to the parent process");
        }
        let told = self.slot.lock().lost.clone();
        told.or_else(|| self.engine.loss_of(self.id)).unwrap_or_else(|| {
            Lost::of(&self.name, self.token, "unreachable the daemon did not answer before the announced deadline")
        })
    }

    fn check(&self) -> Result<(), Lost> {
        if self.valid_for() > Duration::ZERO {
            Ok(())
        } else {
            Err(self.loss())
        }
    }
}

impl Hold {
    pub(crate) fn new(
        engine: Arc<Engine>,
        id: ClaimId,
        slot: Arc<Slot>,
        name: String,
        token: u64,
        since: Time,
    ) -> Hold {
        Hold { watch: Watched { engine, id, slot, name, token, since }, over: false }
    }

    /// Begins to give it back; its slot is told whether it was held until then. Err: it belongs to the parent process.
    fn begin_release(&mut self) -> Result<(), Lost> {
        self.over = true;
        let watch = &self.watch;
        if watch.engine.is_foreign() {
            return Err(watch.loss());
        }
        watch.engine.release(watch.id, Some(watch.slot.clone()));
        Ok(())
    }

    /// It is given back, or turned out to be lost.
    fn end_release(&self, freed: Result<(), Error>) -> Result<(), Error> {
        let watch = &self.watch;
        let held = watch.engine.clock.now().saturating_sub(watch.since);
        match &freed {
            Ok(()) => watch.engine.tell(Event::Release { name: watch.name.clone(), token: watch.token, held }),
            Err(Error::Lost(lost)) if watch.slot.lock().lost.is_none() => {
                watch.engine.tell(Event::Loss { lost: lost.clone(), held });
            }
            Err(_) => {}
        }
        freed
    }

    fn release(mut self) -> Result<(), Error> {
        self.begin_release()?;
        let freed = self.watch.slot.wait(|told| told.freed.take());
        self.end_release(freed)
    }

    async fn release_async(mut self) -> Result<(), Error> {
        self.begin_release()?;
        let freed = told(&self.watch.slot, |told| told.freed.take()).await;
        self.end_release(freed)
    }

    /// Begins a command; the slot is told its answer.
    fn command(&self, words: &[&str]) -> Result<Arc<Slot>, Error> {
        let slot = Arc::new(Slot::new(None, None));
        if self.watch.engine.is_foreign() || !self.watch.engine.command(self.watch.id, words, slot.clone()) {
            return Err(self.watch.loss().into());
        }
        Ok(slot)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let watch = &self.watch;
        if self.over || watch.engine.is_foreign() {
            return;
        }
        watch.engine.release(watch.id, None);
        if watch.slot.lock().lost.is_none() {
            let held = watch.engine.clock.now().saturating_sub(watch.since);
            watch.engine.tell(Event::Release { name: watch.name.clone(), token: watch.token, held });
        }
    }
}

/// A lock that is held, or several that were taken at once. It is given back when the guard is dropped: the request is on its way then,
/// and nobody waits for the answer. [`Guard::release`] waits for it, and says whether the lock was held until then.
///
/// In a forked child a guard of the parent process is not held, and dropping it does nothing.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct Guard {
    /// In the order of the names that were given.
    holds: Vec<Hold>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.holds.iter().map(|hold| (&hold.watch.name, hold.watch.token));
        f.debug_map().entries(names).finish()
    }
}

impl Guard {
    pub(crate) fn new(mut holds: Vec<(usize, Hold)>) -> Guard {
        holds.sort_by_key(|(at, _)| *at);
        Guard { holds: holds.into_iter().map(|(_, hold)| hold).collect() }
    }

    /// The fencing token: a number below 2^53 that is greater for each later holder. A store that gets it with each write can refuse one
    /// smaller than the greatest it has seen. Of several locks it is that of the first name.
    pub fn token(&self) -> u64 {
        self.holds.first().map_or(0, |hold| hold.watch.token)
    }

    /// The tokens of all names, in the order in which the names were given.
    pub fn tokens(&self) -> Vec<u64> {
        self.holds.iter().map(|hold| hold.watch.token).collect()
    }

    /// For how long the lock is surely held, of several all of them, without asking the daemon; zero: it is not. The package asks the
    /// daemon all the time, so that this is never far below the lease of the daemon, or the end of [`crate::Request::lease`]. If this
    /// process stood still beyond the time that it was told, it waits in this thread until the daemon has answered, a good second at most.
    pub fn valid_for(&self) -> Duration {
        self.holds.iter().map(|hold| hold.watch.valid_for()).min().unwrap_or_default()
    }

    /// Whether the lock is surely held now; see [`Guard::valid_for`].
    pub fn is_held(&self) -> bool {
        self.valid_for() > Duration::ZERO
    }

    /// [`Error::Lost`] if the lock is not surely held now; see [`Guard::valid_for`]. It sends nothing, so a loop may call it at each step.
    pub fn check(&self) -> Result<(), Error> {
        self.holds.iter().try_for_each(|hold| hold.watch.check()).map_err(Error::Lost)
    }

    /// Is ready when the lock is lost, of several the first of them: for `select!` beside the work.
    pub async fn lost(&self) -> Lost {
        self.watch().lost().await
    }

    /// A handle to the lock for other threads and tasks: it knows whether the lock is held, and does not keep it.
    pub fn watch(&self) -> Watch {
        Watch { holds: self.holds.iter().map(|hold| hold.watch.clone()).collect() }
    }

    /// Lets a lock that was taken with [`crate::Request::lease`] end so long from now, 1 ms to 365 days, sooner or later than before.
    /// [`Error::Refused`]: it has no lease. [`Error::Unreachable`]: the answer was lost; it may be called again.
    pub fn extend(&self, lease: Duration) -> Result<(), Error> {
        check_time("extend", lease)?;
        self.command(&["EXTEND", &ms(lease)])
    }

    /// As [`Guard::extend`].
    pub async fn extend_async(&self, lease: Duration) -> Result<(), Error> {
        check_time("extend", lease)?;
        self.command_async(&["EXTEND", &ms(lease)]).await
    }

    /// Makes an exclusive lock a shared one, without a moment in between; its token is as before. Errors as of [`Guard::extend`].
    pub fn downgrade(&self) -> Result<(), Error> {
        self.command(&["DOWNGRADE"])
    }

    /// As [`Guard::downgrade`].
    pub async fn downgrade_async(&self) -> Result<(), Error> {
        self.command_async(&["DOWNGRADE"]).await
    }

    fn command(&self, words: &[&str]) -> Result<(), Error> {
        for hold in &self.holds {
            hold.command(words)?.wait(|told| told.answer.take())?;
        }
        Ok(())
    }

    async fn command_async(&self, words: &[&str]) -> Result<(), Error> {
        for hold in &self.holds {
            told(&*hold.command(words)?, |told| told.answer.take()).await?;
        }
        Ok(())
    }

    /// Gives the lock back, and waits for the daemon's answer. [`Error::Lost`]: it was lost before, and what was done under it may have met
    /// other work. [`Error::Unreachable`]: the daemon has not confirmed within two seconds; the package goes on trying.
    pub fn release(self) -> Result<(), Error> {
        let mut result = Ok(());
        for hold in self.holds.into_iter().rev() {
            result = result.and(hold.release());
        }
        result
    }

    /// As [`Guard::release`]. If the future is dropped, the lock is given back all the same.
    pub async fn release_async(self) -> Result<(), Error> {
        let mut result = Ok(());
        for hold in self.holds.into_iter().rev() {
            result = result.and(hold.release_async().await);
        }
        result
    }
}

/// What is known of a lock that a [`Guard`] has; made by [`Guard::watch`].
#[derive(Clone)]
pub struct Watch {
    holds: Vec<Watched>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.holds.iter().map(|hold| &hold.name)).finish()
    }
}

impl Watch {
    /// As [`Guard::valid_for`]; zero also when the guard was dropped.
    pub fn valid_for(&self) -> Duration {
        self.holds.iter().map(Watched::valid_for).min().unwrap_or_default()
    }

    /// As [`Guard::is_held`]; false also when the guard was dropped.
    pub fn is_held(&self) -> bool {
        self.valid_for() > Duration::ZERO
    }

    /// Is ready when the lock is lost. If the guard is dropped before, it is never ready.
    pub async fn lost(&self) -> Lost {
        AnyLost(&self.holds).await
    }

    /// Waits in this thread until the lock is lost, for so long at most. Of several locks it sees the first name.
    pub fn wait_lost(&self, time: Duration) -> Option<Lost> {
        self.holds.first()?.slot.wait_for(time, |told| told.lost.clone())
    }
}

struct AnyLost<'a>(&'a [Watched]);

impl Future for AnyLost<'_> {
    type Output = Lost;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Lost> {
        for hold in self.0 {
            if let Poll::Ready(lost) = hold.slot.poll(context, |told| told.lost.clone()) {
                return Poll::Ready(lost);
            }
        }
        Poll::Pending
    }
}
