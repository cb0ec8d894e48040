//! request: a lock that is asked for, and the client that it is asked of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::address::Address;
use crate::core::{ms, Claim, ClaimId, Time};
use crate::engine::{engine_for, Engine};
use crate::error::{Error, Lost};
use crate::events::{waits_are_seen, Event};
use crate::guard::{Guard, Hold};
use crate::look::Waiting;
use crate::slot::{OnLost, OnWait, Slot, Told};

/// The longest time that the daemon takes.
const YEAR: Duration = Duration::from_secs(365 * 86400);
/// Of a semaphore, at most.
const PERMITS: u32 = 10000;

/// Locks of one daemon. It has nothing to close: a process has one connection to each daemon, which is made when it is needed, and
/// closed half a minute after the last lock. It can be cloned, and used by all threads and tasks.
#[derive(Clone, Debug)]
pub struct Client(Address);

impl Client {
    /// The daemon that `HOLDFAST_URL` names, else this user's own or this host's, as for the program `holdfast`.
    ///
    /// [`Error::Argument`]: `HOLDFAST_URL` is wrong.
    pub fn new() -> Result<Client, Error> {
        Address::choose().map(Client)
    }

    /// The daemon at an address: a path, `unix:PATH`, `host:port`, `redis://user:password@host:port` or
    /// `tls://host:port?ca=PATH&certificate=PATH&key=PATH&name=HOST`. The port is 5625 if none is given. In a password only a `%` that two
    /// hexadecimal digits follow has to be written as `%25`.
    ///
    /// [`Error::Argument`]: it is no address.
    pub fn open(url: &str) -> Result<Client, Error> {
        Address::parse(url).map(Client)
    }

    /// Asks for a lock. Nothing is sent before [`Request::acquire`], [`Request::try_acquire`] or [`Request::acquire_async`].
    pub fn lock(&self, name: impl Into<String>) -> Request {
        Request::new(Ok(self.0.clone()), vec![name.into()])
    }

    /// Asks for the locks of all names, or none. They are taken one after the other in the order of their bytes, so that two of these
    /// never wait for each other.
    pub fn lock_all<I: IntoIterator>(&self, names: I) -> Request
    where
        I::Item: Into<String>,
    {
        Request::new(Ok(self.0.clone()), names.into_iter().map(Into::into).collect())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f) // it has no password
    }
}

/// Asks for a lock of the daemon that [`Client::new`] finds. A wrong `HOLDFAST_URL` is told by [`Request::acquire`].
pub fn lock(name: impl Into<String>) -> Request {
    Request::new(Address::choose(), vec![name.into()])
}

/// Asks for the locks of all names, or none; see [`Client::lock_all`].
pub fn lock_all<I: IntoIterator>(names: I) -> Request
where
    I::Item: Into<String>,
{
    Request::new(Address::choose(), names.into_iter().map(Into::into).collect())
}

/// A lock that is asked for, and how. Times are sent to the daemon in whole milliseconds, rounded up. What the daemon does not take is
/// [`Error::Argument`] when it is acquired, and nothing is sent.
#[derive(Clone)]
#[must_use = "nothing is locked before acquire()"]
pub struct Request {
    address: Result<Address, Error>,
    names: Vec<String>,
    wait: Option<Duration>,
    shared: bool,
    limit: Option<u32>,
    permits: Option<u32>,
    lease: Option<Duration>,
    max_hold: Option<Duration>,
    owner: Option<String>,
    why: Option<String>,
    on_lost: Option<OnLost>,
    on_wait: Option<OnWait>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("names", &self.names).field("wait", &self.wait).finish_non_exhaustive()
    }
}

impl Request {
    fn new(address: Result<Address, Error>, names: Vec<String>) -> Request {
        Request {
            address,
            names,
            wait: None,
            shared: false,
            limit: None,
            permits: None,
            lease: None,
            max_hold: None,
            owner: None,
            why: None,
            on_lost: None,
            on_wait: None,
        }
    }

    /// Bounds the wait, of all names together; zero tries once. Without it the wait is as long as the daemon's rule for the name says, and
    /// for ever if there is none. More than 365 days, as [`Duration::MAX`], count as 365 days. If it is over before the master has said who
    /// has the lock, as a few milliseconds may be, the error is [`Error::Refused`] with the code NOMASTER.
    pub fn wait(mut self, wait: Duration) -> Request {
        self.wait = Some(wait.min(YEAR));
        self
    }

    /// Locks for reading: any number of holders that are all shared.
    pub fn shared(mut self) -> Request {
        self.shared = true;
        self
    }

    /// Makes the lock a semaphore of 1 to 10000 permits, of which this takes one, or as many as [`Request::permits`] says.
    pub fn limit(mut self, permits: u32) -> Request {
        self.limit = Some(permits);
        self
    }

    /// Takes so many permits of a semaphore at once. It needs [`Request::limit`].
    pub fn permits(mut self, permits: u32) -> Request {
        self.permits = Some(permits);
        self
    }

    /// Ends the lock so long after its grant, 1 ms to 365 days, as lost with the reason `lease`, unless [`Guard::extend`] moves the end.
    /// Without it the daemon keeps the lock until the guard is dropped.
    pub fn lease(mut self, lease: Duration) -> Request {
        self.lease = Some(lease);
        self
    }

    /// Ends the lock so long after its grant, 1 ms to 365 days, as lost with the reason `maxhold`. Nothing moves this end.
    pub fn max_hold(mut self, max_hold: Duration) -> Request {
        self.max_hold = Some(max_hold);
        self
    }

    /// Lets a lock be taken again: while this process has the name with this owner, another guard for both is had at once, with the same
    /// token, and the lock is given back with the last one. 1 to 96 bytes without spaces and control characters.
    pub fn owner(mut self, owner: impl Into<String>) -> Request {
        self.owner = Some(owner.into());
        self
    }

    /// A remark of at most 256 bytes, which `holdfast show` prints for this lock.
    pub fn why(mut self, why: impl Into<String>) -> Request {
        self.why = Some(why.into());
        self
    }

    /// Is called when the lock is lost, in a thread of this package, which calls nothing else meanwhile.
    pub fn on_lost(mut self, called: impl Fn(&Lost) + Send + Sync + 'static) -> Request {
        self.on_lost = Some(Arc::new(called));
        self
    }

    /// Is called while the lock is waited for, after a second and then every five seconds, likewise. To know the holder the package asks
    /// the daemon each time.
    pub fn on_wait(mut self, called: impl Fn(&Waiting) + Send + Sync + 'static) -> Request {
        self.on_wait = Some(Arc::new(called));
        self
    }

    /// Takes the lock, or waits for it in this thread. After an error nothing is held, and nothing waits.
    ///
    /// Callers of one process that want one name stand in a queue of the package, in the order in which they came, and its front alone
    /// waits at the daemon. If no daemon answers, the error is [`Error::Unreachable`] after five seconds, however long the wait is.
    pub fn acquire(self) -> Result<Guard, Error> {
        let (taking, order) = self.begin()?;
        let mut holds = Vec::new();
        for at in order {
            let one = taking.ask(at)?;
            let settled = one.slot.wait(Pending::settled);
            holds.push((at, one.finish(settled)?));
        }
        Ok(Guard::new(holds))
    }

    /// As [`Request::acquire`], but tries once: [`Error::Busy`] if another locker has the lock.
    pub fn try_acquire(self) -> Result<Guard, Error> {
        self.wait(Duration::ZERO).acquire()
    }

    /// Takes the lock, or waits for it in this task, of whatever executor. If the future is dropped before it is done, nothing is held and
    /// nothing waits. Otherwise as [`Request::acquire`].
    pub async fn acquire_async(self) -> Result<Guard, Error> {
        let (taking, order) = self.begin()?;
        let mut holds = Vec::new();
        for at in order {
            let one = taking.ask(at)?;
            let settled = crate::guard::told(&one.slot, Pending::settled).await;
            holds.push((at, one.finish(settled)?));
        }
        Ok(Guard::new(holds))
    }

    fn begin(self) -> Result<(Taking, Vec<usize>), Error> {
        self.check()?;
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by(|a, b| self.names[*a].cmp(&self.names[*b]));
        if let Some(pair) = order.windows(2).find(|pair| self.names[pair[0]] == self.names[pair[1]]) {
            return Err(wrong(format!("the name {} is given twice", self.names[pair[0]])));
        }
        let engine = engine_for(self.address.as_ref().map_err(Clone::clone)?);
        let words = self.words();
        let begun = engine.clock.now();
        Ok((Taking { engine, words, begun, request: self }, order))
    }

    /// Of LOCK.
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.shared {
            words.push("SHARED".to_owned());
        }
        if let Some(limit) = self.limit {
            words.extend(["LIMIT".to_owned(), limit.to_string()]);
            words.extend(["PERMITS".to_owned(), self.permits.unwrap_or(1).to_string()]);
        }
        for (word, time) in [("LEASE", self.lease), ("MAXHOLD", self.max_hold)] {
            words.extend(time.into_iter().flat_map(|time| [word.to_owned(), ms(time)]));
        }
        words.extend(self.why.iter().flat_map(|why| ["WHY".to_owned(), why.clone()]));
        words
    }

    fn check(&self) -> Result<(), Error> {
        if let Err(error) = &self.address {
            return Err(error.clone());
        }
        if self.names.is_empty() {
            return Err(wrong("no name is given"));
        }
        for name in &self.names {
            if name.starts_with('}') {
                return Err(wrong(format!("name: it must not begin with }}, as {:?} does", name)));
            }
            check_bytes("name", name, 1, 512)?;
        }
        self.owner.as_ref().map_or(Ok(()), |owner| check_bytes("owner", owner, 1, 96))?;
        self.why.as_ref().map_or(Ok(()), |why| check_bytes("why", why, 0, 256))?;
        self.lease.map_or(Ok(()), |lease| check_time("lease", lease))?;
        self.max_hold.map_or(Ok(()), |max_hold| check_time("max_hold", max_hold))?;
        match (self.limit, self.permits) {
            (Some(_), _) if self.shared => Err(wrong("a lock is shared, or has a limit, not both")),
            (None, Some(_)) => Err(wrong("permits needs a limit")),
            (Some(limit), _) if !(1..=PERMITS).contains(&limit) => Err(whole("limit", PERMITS, limit)),
            (Some(limit), Some(permits)) if !(1..=limit).contains(&permits) => Err(whole("permits", limit, permits)),
            _ => Ok(()),
        }
    }
}

fn wrong(text: impl Into<String>) -> Error {
    Error::Argument(text.into())
}

fn whole(what: &str, most: u32, given: u32) -> Error {
    wrong(format!("{}: a whole number from 1 to {} is needed, not {}", what, most, given))
}

/// What may be empty may have spaces, too.
fn check_bytes(what: &str, text: &str, least: usize, most: usize) -> Result<(), Error> {
    let bad = text.chars().any(|c| c.is_control() || c == ' ' && least > 0);
    if (least..=most).contains(&text.len()) && !bad {
        return Ok(());
    }
    Err(wrong(if least > 0 {
        format!(
            "{}: {} to {} bytes without spaces and control characters are needed, not {:?}",
            what, least, most, text
        )
    } else {
        format!("{}: at most {} bytes without control characters are needed, not {:?}", what, most, text)
    }))
}

pub(crate) fn check_time(what: &str, time: Duration) -> Result<(), Error> {
    if time > Duration::ZERO && time <= YEAR {
        return Ok(());
    }
    Err(wrong(format!("{}: a time from 1 ms to 365 days is needed, not {:?}", what, time)))
}

/// A request that is being carried out.
struct Taking {
    engine: Arc<Engine>,
    request: Request,
    words: Vec<String>,
    begun: Time,
}

impl Taking {
    /// Asks for one of the names.
    fn ask(&self, at: usize) -> Result<Pending, Error> {
        let (engine, request, name) = (&self.engine, &self.request, &self.request.names[at]);
        let owner = match &request.owner {
            Some(tag) => format!("{}#{}", tag, engine.copy),
            None => format!("rust#{}-{:x}", engine.copy, engine.serial()),
        };
        let now = engine.clock.now();
        let wait = request.wait.map(|wait| wait.saturating_sub(now.saturating_sub(self.begun)));
        let mut claim = Claim::new(name, &owner, self.words.clone(), wait, now);
        claim.shares = request.owner.is_some();
        claim.hears = request.on_wait.is_some() || waits_are_seen();
        let slot = Arc::new(Slot::new(request.on_lost.clone(), request.on_wait.clone()));
        let id = engine.acquire(claim, slot.clone())?;
        Ok(Pending { engine: engine.clone(), id, slot, name: name.clone(), begun: self.begun, over: false })
    }
}

/// A name that is waited for. If it is dropped, nothing is held and nothing waits.
struct Pending {
    engine: Arc<Engine>,
    id: ClaimId,
    slot: Arc<Slot>,
    name: String,
    begun: Time,
    over: bool,
}

impl Pending {
    fn settled(told: &mut Told) -> Option<Result<u64, Error>> {
        told.settled.take()
    }

    fn finish(mut self, settled: Result<u64, Error>) -> Result<Hold, Error> {
        self.over = true;
        let now = self.engine.clock.now();
        let waited = now.saturating_sub(self.begun);
        let name = self.name.clone();
        match settled {
            Ok(token) => {
                self.engine.tell(Event::Hold { name: name.clone(), token, waited });
                Ok(Hold::new(self.engine.clone(), self.id, self.slot.clone(), name, token, now))
            }
            Err(error) => {
                self.engine.tell(Event::Fail { name, waited, error: error.clone() });
                Err(error)
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.over && !self.engine.is_foreign() {
            self.engine.release(self.id, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: Request) -> String {
        match request.begin() {
            Err(Error::Argument(text)) => text,
            other => panic!("{:?}", other.map(|_| ())),
        }
    }

    #[test]
    fn a_wrong_argument_is_refused() {
        let client = Client::open("/nowhere").unwrap();
        let lock = |name: &str| client.lock(name);
        assert_eq!(
            said(lock("a b")),
            "name: 1 to 512 bytes without spaces and control characters are needed, not \"a b\""
        );
        assert_eq!(said(lock("a").limit(10001)), "limit: a whole number from 1 to 10000 is needed, not 10001");
        assert_eq!(said(lock("a").limit(3).permits(4)), "permits: a whole number from 1 to 3 is needed, not 4");
        assert_eq!(
            said(lock("a").lease(Duration::MAX)).split(", not").next(),
            Some("lease: a time from 1 ms to 365 days is needed")
        );
        assert_eq!(said(client.lock_all(["a", "b", "a"])), "the name a is given twice");
        assert_eq!(said(client.lock_all(Vec::<String>::new())), "no name is given");
    }

    #[test]
    fn options_are_words_of_lock() {
        let request =
            Client::open("/nowhere").unwrap().lock("a").limit(3).lease(Duration::from_micros(1500)).why("LEASE");
        assert_eq!(request.words(), ["LIMIT", "3", "PERMITS", "1", "LEASE", "2", "WHY", "LEASE"]);
    }

    #[test]
    fn a_client_does_not_show_its_password() {
        let client = Client::open("tcp://me:hush@one:7").unwrap();
        assert_eq!(format!("{:?}", client), "Client(tcp://one:7)");
    }
}
