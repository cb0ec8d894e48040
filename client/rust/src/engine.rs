//! engine: the connection of this process to one daemon, and the threads that serve it.
//!
//! One engine serves every lock of the process at its address, from all threads and tasks. Its mutex has the core. Callers say what they
//! want under the mutex, and write it to the socket themselves. A thread for each connection makes it and reads it; another, the keeper,
//! does what is due; a third calls what callers want to be called. It connects when it is needed, and disconnects IDLE after the last
//! hold. In a forked child there are no threads, and the child makes an engine of its own.

use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::address::Address;
use crate::clock::Clock;
use crate::core::{Call, Claim, ClaimId, Core, Manner, Time, LATE, STOOD};
use crate::error::{Error, Lost};
use crate::events::{self, Event};
use crate::slot::Slot;
use crate::socket::{Link, Raw};
use crate::wire::encode;

const IDLE: Duration = Duration::from_secs(30);
/// Between attempts to connect: the first, the longest, and after the daemon refused.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
const REFUSED: Duration = Duration::from_secs(1);
/// Until more is sent to a daemon that did not read.
const CLOGGED: Duration = Duration::from_millis(5);
/// It is about as long as the usual lease: a holder that cannot come back within that has been told to stop by its deadline.
const GRACE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(5);
const NEVER: Time = Duration::MAX;

static REGISTRY: Mutex<Vec<Arc<Engine>>> = Mutex::new(Vec::new());

type Told = Vec<(Arc<Slot>, Call)>;
type Job = Box<dyn FnOnce() + Send>;

pub(crate) struct Engine {
    given: Address,
    pid: u32,
    pub(crate) clock: Clock,
    /// Part of each owner: another copy of the package in this process has the same session, and counts its own holds.
    pub(crate) copy: String,
    inner: Mutex<Inner>,
    /// For the keeper: there is something to do.
    due: Condvar,
    /// For who has to know what has become of a hold.
    moved: Condvar,
}

struct Inner {
    core: Core,
    slots: HashMap<ClaimId, Arc<Slot>>,
    link: Option<Link>,
    /// Of the connection; one that is given up has an older number.
    generation: u64,
    /// It stays as soon as a daemon has answered there.
    address: Address,
    connecting: bool,
    keeping: bool,
    /// When the keeper looks next.
    plan: Time,
    retry_at: Time,
    idle_at: Option<Time>,
    /// The daemon does not read: the keeper tries again.
    clogged: bool,
    /// Callers that wait for `moved`.
    doubts: usize,
    told_up: bool,
    told_cut: bool,
    teller: Option<Sender<Job>>,
}

/// The engine of this process for this address.
pub(crate) fn engine_for(address: &Address) -> Arc<Engine> {
    let pid = std::process::id();
    let mut engines = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    engines.retain(|engine| engine.pid == pid);
    if let Some(engine) = engines.iter().find(|engine| engine.serves(address)) {
        return engine.clone();
    }
    let engine = Arc::new(Engine::new(address.clone(), pid));
    engines.push(engine.clone());
    engine
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The name of the connection: printable ASCII without spaces.
fn title(pid: u32) -> String {
    let program = std::env::args_os().next().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let base = program.rsplit('/').next().unwrap_or("");
    let base: String = base.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).take(100).collect();
    format!("{}:{}", if base.is_empty() { "rust" } else { &base }, pid)
}

/// When this process began, in ticks after boot: the 22nd field, and the second one may have spaces. A daemon that sees another process
/// at the end of the connection, a proxy, binds none.
fn started() -> Option<String> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19).map(str::to_owned)
}

impl Engine {
    fn new(given: Address, pid: u32) -> Engine {
        let manner = Manner {
            login: given.login.clone(),
            title: title(pid),
            prefix: format!("{:x}", random()),
            grace: GRACE,
            patience: PATIENCE,
            tcp: !given.is_unix(),
        };
        let inner = Inner {
            core: Core::new(manner),
            slots: HashMap::new(),
            link: None,
            generation: 0,
            address: given.now(),
            connecting: false,
            keeping: false,
            plan: NEVER,
            retry_at: Duration::ZERO,
            idle_at: None,
            clogged: false,
            doubts: 0,
            told_up: false,
            told_cut: false,
            teller: None,
        };
        Engine {
            given,
            pid,
            clock: Clock::new(),
            copy: format!("{:08x}", random() as u32),
            inner: Mutex::new(inner),
            due: Condvar::new(),
            moved: Condvar::new(),
        }
    }

    /// Whether it is for this address, or a daemon has answered where the address leads, too.
    fn serves(&self, address: &Address) -> bool {
        let same = Address { variable: false, ..self.given.clone() } == Address { variable: false, ..address.clone() };
        same || self.given.login == address.login && {
            let inner = self.lock();
            inner.core.served && inner.address.place == address.now().place
        }
    }

    // --- for callers, from any thread -------------------------------------------------------------------------------

    /// Whether this process is a forked child of the one that the engine belongs to.
    pub(crate) fn is_foreign(&self) -> bool {
        self.pid != std::process::id()
    }

    /// A number for the owner of a hold, which no other hold has.
    pub(crate) fn serial(&self) -> u64 {
        self.lock().core.next_id()
    }

    /// Begins a claim; what becomes of it is told to the slot.
    pub(crate) fn acquire(self: &Arc<Engine>, claim: Claim, slot: Arc<Slot>) -> Result<ClaimId, Error> {
        self.keep()?;
        Ok(self.turn(|inner, now| {
            let id = inner.core.next_id();
            inner.slots.insert(id, slot);
            inner.core.acquire(id, claim, now);
            id
        }))
    }

    /// Ends a claim in any state. tells: its slot is told when the daemon has answered, or cannot.
    pub(crate) fn release(self: &Arc<Engine>, claim: ClaimId, tells: Option<Arc<Slot>>) {
        self.turn(|inner, now| {
            inner.core.release(claim, tells.is_some(), now);
            match tells {
                Some(slot) => inner.slots.insert(claim, slot),
                None => inner.slots.remove(&claim),
            };
        });
    }

    /// Sends EXTEND or DOWNGRADE for a claim. The answer is told to the slot. False: it is not held any more.
    pub(crate) fn command(self: &Arc<Engine>, claim: ClaimId, words: &[&str], slot: Arc<Slot>) -> bool {
        self.turn(|inner, now| {
            let id = inner.core.next_id();
            let sent = inner.core.command(id, claim, words, now);
            if sent {
                inner.slots.insert(id, slot);
            }
            sent
        })
    }

    /// For how long a claim is surely held. If its announced deadline has passed, this process stood still, perhaps: it waits until it is
    /// known whether it is held.
    pub(crate) fn valid_for(self: &Arc<Engine>, claim: ClaimId) -> Duration {
        let now = self.clock.now();
        match self.lock().core.deadline(claim) {
            None => return Duration::ZERO,
            Some(deadline) if deadline > now => return deadline - now,
            Some(_) => {}
        }
        self.turn(|inner, now| inner.core.doubt(claim, now));
        let end = now + LATE + 3 * STOOD;
        let mut inner = self.lock();
        inner.doubts += 1;
        let left = loop {
            let now = self.clock.now();
            match inner.core.deadline(claim) {
                Some(deadline) if deadline > now => break deadline - now,
                Some(_) if now < end => {}
                _ => break Duration::ZERO,
            }
            inner = self.moved.wait_timeout(inner, end - now).unwrap_or_else(PoisonError::into_inner).0;
        };
        inner.doubts -= 1;
        left
    }

    /// The loss of a claim that was held and is not released. Its slot is told a moment later.
    pub(crate) fn loss_of(&self, claim: ClaimId) -> Option<Lost> {
        self.lock().core.loss_of(claim)
    }

    /// Has an event told to who wants to know of it.
    pub(crate) fn tell(&self, event: Event) {
        if events::is_seen(&event) {
            self.call(Box::new(move || events::tell(&event)));
        }
    }

    // --- a turn with the core ---------------------------------------------------------------------------------------

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with the core; what it wants to send is sent, and what it has to tell is told.
    fn turn<R>(self: &Arc<Engine>, work: impl FnOnce(&mut Inner, Time) -> R) -> R {
        let mut inner = self.lock();
        let now = self.clock.now();
        let result = work(&mut inner, now);
        let told = self.finish(&mut inner, now);
        let doubted = inner.doubts > 0;
        drop(inner);
        if doubted {
            self.moved.notify_all();
        }
        self.deliver(told);
        result
    }

    fn finish(&self, inner: &mut Inner, now: Time) -> Told {
        if !inner.clogged {
            inner.send();
        }
        if inner.core.stalled {
            let why = inner.core.cut_why.clone();
            inner.drop_link(why, false, now);
        }
        self.tell_connection(inner);
        if inner.core.wake < inner.plan || inner.needs_link() || inner.clogged {
            self.due.notify_one();
        }
        let calls = std::mem::take(&mut inner.core.calls);
        calls.into_iter().filter_map(|call| inner.slot(&call).map(|slot| (slot, call))).collect()
    }

    fn tell_connection(&self, inner: &mut Inner) {
        if inner.core.answered == inner.told_up {
            return;
        }
        inner.told_up = inner.core.answered;
        let address = inner.address.to_string();
        let event = if inner.told_up {
            Event::Connect { address, again: inner.told_cut }
        } else {
            Event::Cut { address, error: inner.core.cut_why.clone(), used: inner.core.is_used() }
        };
        inner.told_cut = !inner.told_up;
        if events::is_seen(&event) {
            inner.call(Box::new(move || events::tell(&event)));
        }
    }

    fn deliver(&self, told: Told) {
        for (slot, call) in told {
            match call {
                Call::Held { token, .. } => slot.tell(|told| told.settled = Some(Ok(token))),
                Call::Failed { error, .. } => slot.tell(|told| told.settled = Some(Err(error))),
                Call::Freed { result, .. } => slot.tell(|told| told.freed = Some(result)),
                Call::Answered { result, .. } => slot.tell(|told| told.answer = Some(result)),
                Call::Lost { lost, held, .. } => {
                    slot.tell(|told| told.lost = Some(lost.clone()));
                    if let Some(on_lost) = slot.on_lost.clone() {
                        let lost = lost.clone();
                        self.call(Box::new(move || on_lost(&lost)));
                    }
                    self.tell(Event::Loss { lost, held });
                }
                Call::Lasts { waiting, .. } => {
                    if let Some(on_wait) = slot.on_wait.clone() {
                        let waiting = waiting.clone();
                        self.call(Box::new(move || on_wait(&waiting)));
                    }
                    self.tell(Event::Wait(waiting));
                }
            }
        }
    }

    /// Has something called in the thread for that.
    fn call(&self, job: Job) {
        self.lock().call(job);
    }

    // --- the keeper -------------------------------------------------------------------------------------------------

    /// Starts the keeper.
    fn keep(self: &Arc<Engine>) -> Result<(), Error> {
        let mut inner = self.lock();
        if !inner.keeping {
            let engine = self.clone();
            let keeper = thread::Builder::new().name("holdfast".to_owned());
            keeper.spawn(move || engine.run()).map_err(|error| Error::unreachable(no_thread(&error)))?;
            inner.keeping = true;
        }
        Ok(())
    }

    fn run(self: Arc<Engine>) {
        loop {
            let mut inner = self.lock();
            let now = self.clock.now();
            inner.plan = NEVER;
            if now >= inner.core.wake {
                inner.core.tick(now);
            }
            if inner.clogged {
                inner.send();
            }
            let told = self.finish(&mut inner, now);
            let until = self.look_after_link(&mut inner, now);
            if !told.is_empty() {
                drop(inner);
                self.deliver(told);
                continue;
            }
            inner.plan = until;
            if inner.doubts > 0 {
                self.moved.notify_all();
            }
            let time = until.saturating_sub(now).min(Duration::from_secs(86400));
            drop(self.due.wait_timeout(inner, time).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Connects and disconnects as it is needed. When there is something to do next.
    fn look_after_link(self: &Arc<Engine>, inner: &mut Inner, now: Time) -> Time {
        let mut until = inner.core.wake;
        if inner.clogged {
            until = until.min(now + CLOGGED);
        }
        if inner.core.is_busy() {
            inner.idle_at = None;
            if inner.needs_link() && now >= inner.retry_at {
                self.begin_link(inner, now);
                until = until.min(inner.core.wake);
            } else if inner.needs_link() {
                until = until.min(inner.retry_at);
            }
        } else if inner.link.is_some() {
            let idle_at = *inner.idle_at.get_or_insert(now + IDLE);
            if now >= idle_at {
                inner.goodbye();
            } else {
                until = until.min(idle_at);
            }
        }
        until
    }

    // --- the connection ---------------------------------------------------------------------------------------------

    fn begin_link(self: &Arc<Engine>, inner: &mut Inner, now: Time) {
        if !inner.core.served {
            inner.address = self.given.now();
        }
        let (engine, address) = (self.clone(), inner.address.clone());
        let reader = thread::Builder::new().name("holdfast-link".to_owned());
        match reader.spawn(move || engine.run_link(&address)) {
            Ok(_) => inner.connecting = true,
            Err(error) => inner.drop_link(Error::unreachable(no_thread(&error)), true, now),
        }
    }

    fn run_link(self: Arc<Engine>, address: &Address) {
        match Link::connect(address) {
            Ok((link, reader)) => {
                let generation = self.turn(|inner, now| {
                    inner.connecting = false;
                    inner.generation += 1;
                    inner.link = Some(link);
                    let started = Some(address).filter(|address| address.is_unix()).and_then(|_| started());
                    inner.core.connected(now, started.as_deref());
                    inner.generation
                });
                self.read_link(reader, generation);
            }
            Err(error) => {
                let why = self.unreachable(address, &error);
                self.turn(|inner, now| {
                    inner.connecting = false;
                    inner.drop_link(why, true, now);
                });
            }
        }
    }

    fn read_link(self: &Arc<Engine>, mut reader: Raw, generation: u64) {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => Err("the daemon closed the connection".to_owned()),
                Ok(length) => Ok(length),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error.to_string()),
            };
            let goes_on = self.turn(|inner, now| {
                if inner.generation != generation {
                    return false;
                }
                let heard = match read {
                    Ok(length) => inner.heard(&buffer[..length], now),
                    Err(text) => Err(Error::unreachable(text)),
                };
                let heard = heard.map_err(|why| self.described(why, &inner.address));
                heard.map_err(|why| inner.drop_link(why, false, now)).is_ok()
            });
            if !goes_on {
                return;
            }
        }
    }

    /// Says where the daemon was looked for.
    fn described(&self, why: Error, address: &Address) -> Error {
        match why {
            Error::Unreachable(mut unreachable) => {
                unreachable.text =
                    format!("cannot reach holdfastd at {}{}: {}", address, self.origin(), unreachable.text);
                Error::Unreachable(unreachable)
            }
            other => other,
        }
    }

    fn origin(&self) -> &'static str {
        if self.given.variable {
            " (from HOLDFAST_URL)"
        } else {
            ""
        }
    }

    fn unreachable(&self, address: &Address, error: &std::io::Error) -> Error {
        let elsewhere =
            if self.given.standard || self.given.variable { " If it is elsewhere, set HOLDFAST_URL" } else { "" };
        if self.given.standard && error.kind() == ErrorKind::NotFound && !self.lock().core.served {
            let missing = self.given.missing();
            return Error::unreachable(format!(
                "cannot reach holdfastd: {}: is holdfastd running?{}",
                missing, elsewhere
            ));
        }
        let hint = match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => format!(": is holdfastd running?{}", elsewhere),
            ErrorKind::PermissionDenied => {
                ": this user may not use the socket; members of the group that owns it may".to_owned()
            }
            _ => String::new(),
        };
        let text = format!("cannot reach holdfastd at {}{}: {}{}", address, self.origin(), error, hint);
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::Unsupported => Error::lasting(text),
            _ => Error::unreachable(text),
        }
    }
}

impl Inner {
    fn needs_link(&self) -> bool {
        self.link.is_none() && !self.connecting && self.core.is_busy()
    }

    fn send(&mut self) {
        let link = match &mut self.link {
            Some(link) => link,
            None => return,
        };
        match link.send(&mut self.core.output) {
            Ok(all) => self.clogged = !all,
            Err(_) => {
                self.clogged = false;
                self.core.output.clear(); // the end of the connection is read next
                link.close();
            }
        }
    }

    fn heard(&mut self, data: &[u8], now: Time) -> Result<(), Error> {
        let data = match &mut self.link {
            Some(link) => link.heard(data).map_err(|error| Error::unreachable(error.to_string()))?,
            None => return Ok(()),
        };
        self.core.receive(&data, now)
    }

    fn drop_link(&mut self, why: Error, failed: bool, now: Time) {
        self.generation += 1;
        if let Some(link) = self.link.take() {
            link.close();
        }
        self.clogged = false;
        let refused = matches!(why, Error::Refused(_));
        let answered = self.core.answered;
        self.core.cut(now, why, failed);
        self.retry_at = now
            + match (refused, answered) {
                (true, _) => REFUSED,
                (false, true) => Duration::ZERO,
                (false, false) => BACKOFF.1.min(BACKOFF.0 * (1 << self.core.failures.min(10))),
            };
    }

    /// Ends the session: nothing is held or waited for.
    fn goodbye(&mut self) {
        self.generation += 1;
        if let Some(mut link) = self.link.take() {
            let mut quit = Vec::new();
            encode(&mut quit, &["QUIT"]);
            let _ = link.send(&mut quit);
            link.close();
        }
        self.clogged = false;
        self.idle_at = None;
        self.core.quit();
        self.told_up = false;
        self.told_cut = false;
    }

    /// Whom a call is for. After the last one for a claim or a command it is forgotten.
    fn slot(&mut self, call: &Call) -> Option<Arc<Slot>> {
        match call {
            Call::Held { claim, .. } | Call::Lasts { claim, .. } => self.slots.get(claim).cloned(),
            Call::Failed { claim, .. } | Call::Lost { claim, .. } | Call::Freed { claim, .. } => {
                self.slots.remove(claim)
            }
            Call::Answered { command, .. } => self.slots.remove(command),
        }
    }

    fn call(&mut self, job: Job) {
        let teller = self.teller.get_or_insert_with(|| {
            let (teller, jobs) = channel::<Job>();
            // Without a thread nobody is told; what is lost is known to the lock all the same.
            let _ = thread::Builder::new().name("holdfast-calls".to_owned()).spawn(move || {
                for job in jobs {
                    // What was called says so itself on standard error; the next one is called all the same.
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                }
            });
            teller
        });
        let _ = teller.send(job);
    }
}

fn no_thread(error: &std::io::Error) -> String {
    format!("cannot reach holdfastd: no thread can be started: {}", error)
}
