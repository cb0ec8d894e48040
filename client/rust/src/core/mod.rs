//! core: the conversation with the daemon, without I/O. Bytes and times go in, bytes and calls come out.
//!
//! ```text
//!     engine                                   core                                     engine
//!       receive(bytes, now)  ────────▶  ┌───────────────────────┐  ────▶  output    bytes to send
//!       acquire, release     ────────▶  │ hold  (name, owner)   │  ────▶  calls     what to tell the callers
//!       tick(now)            ────────▶  │  ├ users    claims    │  ────▶  wake      when tick() is due
//!       connected, cut       ────────▶  │  └ waiting  claims    │
//!                                       └───────────────────────┘
//! ```
//!
//! A *claim* is what one caller has: it waits, then is held, then is over. A *hold* is what the daemon knows: one name and owner,
//! whose claims share it. All times count from the boot of the host, also while it sleeps. The core must not read a clock, do I/O or
//! call a caller.
//!
//! Holds of one name stand in a *queue* (`queue`): its front alone waits at the daemon, and the next one is sent when that has the
//! lock, or waits no more. A session waits for a limited number of names: a LOCK that is refused for that stands in the *line*
//! (`queue`), and so does each later one that may wait.

mod connection;
mod hold;
mod looks;
mod queue;
#[cfg(test)]
mod tests;
mod tick;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use crate::error::{Error, Lost};
use crate::look::Waiting;
use crate::wire::{encode, Value};

pub(crate) use hold::Claim;

/// Since the boot of the host.
pub(crate) type Time = Duration;
pub(crate) type ClaimId = u64;
type HoldId = u64;

const NEVER: Time = Duration::MAX;
/// Until a LOCK is sent again to a daemon that ends.
const RETRY: Duration = Duration::from_millis(200);
/// By so much the daemon may answer a WAIT late: a hand-over, a busy host.
const SLACK: Duration = Duration::from_secs(2);
/// Without an answer for so long the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(5);
/// So long after a moment, a look at it shows that this process stood still.
pub(crate) const STOOD: Duration = Duration::from_millis(100);
/// For the daemon's answer if this process stood still until the deadline that it was told.
pub(crate) const LATE: Duration = Duration::from_secs(1);
/// After so long a wait lasts, and who waits is told; and so often later.
const NOTICE: Duration = Duration::from_secs(1);
const NOTICES: Duration = Duration::from_secs(5);
/// For so long a caller waits until a release is confirmed.
const UNLOCK: Duration = Duration::from_secs(2);

/// What to tell a caller.
#[derive(Debug)]
pub(crate) enum Call {
    Held { claim: ClaimId, token: u64 },
    Failed { claim: ClaimId, error: Error },
    Lost { claim: ClaimId, lost: Lost, held: Duration },
    Freed { claim: ClaimId, result: Result<(), Error> },
    Answered { command: ClaimId, result: Result<u64, Error> },
    Lasts { claim: ClaimId, waiting: Waiting },
}

/// Who reads an answer.
#[derive(Debug)]
enum Reader {
    Nobody,
    Hello,
    Resumed,
    Bound,
    Grace,
    Lock { hold: HoldId, asked: u64 },
    Check { hold: HoldId, token: u64, sent: Time },
    End { hold: HoldId },
    Command { command: ClaimId, hold: HoldId, token: u64, sent: Time, extends: bool },
    Look { serial: u64, fleet: bool },
}

/// A name and owner at the daemon.
#[derive(Debug, Default)]
struct Hold {
    name: String,
    owner: String,
    users: Vec<ClaimId>,
    waiting: Vec<ClaimId>,
    /// The number of the LOCK that is under way; 0: none is.
    asked: u64,
    asked_at: Time,
    /// When its LOCK was sent last: the time that the grant tells counts from then.
    sent_at: Time,
    /// `Core::past` when it was sent.
    past: u64,
    /// Its place in the line, and whether it stands there.
    turn: u64,
    lined: bool,
    /// The queue, and whether it is a front there, or stands behind one.
    place: Place,
    front: bool,
    behind: bool,
    /// By the daemon, for a reason that holds for all of the queue.
    refused: bool,
    token: Option<u64>,
    granted_at: Time,
    /// Told: until then it is surely held.
    deadline: Time,
    check_at: Time,
    checking: bool,
    /// The deadline has passed, and until then the daemon may answer even so.
    late: Option<Time>,
    /// UNLOCKs that are not answered yet.
    ending: u32,
    /// LOCKs that were given up, until the UNLOCK behind them is answered.
    cancelled: Vec<u64>,
    /// Since when the daemon refuses for a moment, and how.
    trouble: Option<(Time, Error)>,
    /// Who has given it up and wants to be told, and until when.
    freed: Vec<(ClaimId, u64, Time)>,
    /// Claims that had it when it was lost, and may work under it still, with its token and the deadline that they were told.
    lost: Vec<ClaimId>,
    lost_token: Option<u64>,
    lost_until: Time,
}

impl Hold {
    /// Nobody has it, waits for it, or may work under it still.
    fn is_idle(&self) -> bool {
        self.users.is_empty() && self.waiting.is_empty() && self.lost.is_empty()
    }
}

/// A name, and of a semaphore the number of its permits.
type Place = (String, String);

/// The holds that wait for one name, as a lock or as a semaphore of n permits.
#[derive(Debug, Default)]
struct Queue {
    fronts: usize,
    behind: VecDeque<HoldId>,
}

/// How the core speaks for this process.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// User and password.
    pub(crate) login: Option<(String, String)>,
    /// The name of the connection.
    pub(crate) title: String,
    /// Of the ids of requests, at random: other copies of the package in this process share its session.
    pub(crate) prefix: String,
    /// For so long the daemon keeps the session after a cut.
    pub(crate) grace: Duration,
    /// For so long the daemon may be away while a lock is acquired.
    pub(crate) patience: Duration,
    pub(crate) tcp: bool,
}

/// All holds of one process at one daemon, and the connection that speaks for them.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) manner: Manner,
    pub(crate) output: Vec<u8>,
    pub(crate) calls: Vec<Call>,
    pub(crate) wake: Time,
    /// What was due at the last tick waits for the next one, since this process stood still.
    postponed: bool,
    /// There is a connection.
    pub(crate) online: bool,
    /// And a daemon has answered there.
    pub(crate) answered: bool,
    /// A daemon has answered, over this connection or an earlier one.
    pub(crate) served: bool,
    /// Connections in a row at which no daemon answered, or it refused.
    pub(crate) failures: u32,
    pub(crate) cut_why: Error,
    /// The connection has to be closed: no answer comes.
    pub(crate) stalled: bool,
    cut_since: Time,
    input: Vec<u8>,
    readers: VecDeque<(Reader, Time)>,
    heard: Time,
    /// Until then an answer that is overdue may still be read.
    mute: Option<Time>,
    secret: Option<String>,
    bound: bool,
    /// The grants of the daemon tell how long they are good.
    validity: bool,
    holds: BTreeMap<HoldId, Hold>,
    owned: HashMap<(String, String), HoldId>,
    asks: HashMap<u64, HoldId>,
    claims: HashMap<ClaimId, Claim>,
    commands: BTreeMap<ClaimId, ClaimId>,
    /// Of claims that were held, until they are released: a caller may release one before it is told.
    losses: HashMap<ClaimId, (HoldId, Lost)>,
    queues: HashMap<Place, Queue>,
    /// By turn.
    line: BTreeMap<u64, HoldId>,
    /// Waits of the session that have ended.
    past: u64,
    looks: looks::Looks,
    serial: u64,
}

impl Core {
    pub(crate) fn new(manner: Manner) -> Core {
        Core {
            manner,
            output: Vec::new(),
            calls: Vec::new(),
            wake: NEVER,
            postponed: false,
            online: false,
            answered: false,
            served: false,
            failures: 0,
            cut_why: Error::unreachable("cannot reach holdfastd: not connected yet"),
            stalled: false,
            cut_since: Duration::ZERO,
            input: Vec::new(),
            readers: VecDeque::new(),
            heard: Duration::ZERO,
            mute: None,
            secret: None,
            bound: false,
            validity: true,
            holds: BTreeMap::new(),
            owned: HashMap::new(),
            asks: HashMap::new(),
            claims: HashMap::new(),
            commands: BTreeMap::new(),
            losses: HashMap::new(),
            queues: HashMap::new(),
            line: BTreeMap::new(),
            past: 0,
            looks: looks::Looks::default(),
            serial: 0,
        }
    }

    /// Whether a connection is needed: something is held, waited for or being given back.
    pub(crate) fn is_busy(&self) -> bool {
        !self.holds.is_empty()
    }

    /// Whether anybody has a lock or waits for one.
    pub(crate) fn is_used(&self) -> bool {
        !self.claims.is_empty()
    }

    /// A number that no claim and no command has yet.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn rouse(&mut self, at: Time) {
        self.wake = self.wake.min(at);
    }

    fn send<S: AsRef<str>>(&mut self, now: Time, words: &[S], reader: Reader) {
        if self.online {
            encode(&mut self.output, words);
            self.readers.push_back((reader, now));
        } else {
            self.read(reader, None, now);
        }
    }

    /// Takes an answer; None: the connection was cut before.
    fn read(&mut self, reader: Reader, value: Option<Value>, now: Time) {
        match reader {
            Reader::Nobody => {}
            Reader::Hello => self.hello(value, now),
            Reader::Resumed => self.resumed(value),
            Reader::Bound => self.bind_answered(value),
            Reader::Grace => self.graced(value),
            Reader::Lock { hold, asked } => self.locked(hold, asked, value, now),
            Reader::Check { hold, token, sent } => self.checked(hold, token, sent, value, now),
            Reader::End { hold } => self.ended(hold, value, now),
            Reader::Command { command, hold, token, sent, extends } => {
                self.command_answered(command, hold, token, sent, extends, value, now)
            }
            Reader::Look { serial, fleet } => self.looked(serial, fleet, value, now),
        }
    }

    fn pushed(&mut self, push: &[Value], now: Time) {
        let word = |at: usize| push.get(at).map_or("", Value::text);
        match (word(0), push.get(2), push.get(3)) {
            ("lost", Some(owner), Some(token)) => {
                let key = (word(1).to_owned(), owner.text().to_owned());
                let id = self.owned.get(&key).copied();
                let hold = id.and_then(|id| self.holds.get(&id));
                if let (Some(id), Some(token)) =
                    (id, hold.and_then(|hold| hold.token).filter(|it| is_token(token, *it)))
                {
                    let lost = Lost::of(&key.0, token, word(4));
                    self.lose(id, &lost, now);
                }
            }
            ("grant", Some(token), told) => {
                if let Some((asked, hold)) = self.asked_as(word(1)) {
                    let grant = Value::Array(std::iter::once(token).chain(told).cloned().collect());
                    self.locked(hold, asked, Some(grant), now);
                }
            }
            ("failed", Some(code), text) => {
                if let Some((asked, hold)) = self.asked_as(word(1)) {
                    let text = text.map_or("", Value::text).to_owned();
                    let value = match code {
                        Value::Null => Value::Null,
                        code => Value::Failure { code: code.text().to_owned(), text },
                    };
                    self.locked(hold, asked, Some(value), now);
                }
            }
            _ => {}
        }
    }

    fn id(&self, asked: u64) -> String {
        format!("{}-{}", self.manner.prefix, asked)
    }

    /// The LOCK that was sent with this id, and its hold.
    fn asked_as(&self, id: &str) -> Option<(u64, HoldId)> {
        let asked = id.strip_prefix(self.manner.prefix.as_str())?.strip_prefix('-')?.parse().ok()?;
        Some((asked, *self.asks.get(&asked)?))
    }
}

fn is_token(value: &Value, token: u64) -> bool {
    value.number() == i64::try_from(token).ok()
}

/// Whole milliseconds, rounded up.
pub(crate) fn ms(time: Duration) -> String {
    let rest = time.subsec_nanos() % 1_000_000 > 0;
    (time.as_millis() + u128::from(rest)).to_string()
}

/// The value of an option of LOCK. A value may read as an option does.
fn option<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    let pairs = if words.first().map_or(false, |word| word == "SHARED") { &words[1..] } else { words };
    pairs.chunks_exact(2).find(|pair| pair[0] == option).map(|pair| pair[1].as_str())
}

/// The token of a grant, and for how long it is good from when its LOCK was sent, if that is told.
fn grant(value: &Value) -> Option<(u64, Option<u64>)> {
    let number = |value: &Value| value.number().and_then(|n| u64::try_from(n).ok());
    match value {
        Value::Array(items) => Some((number(items.first()?)?, items.get(1).and_then(number))),
        value => Some((number(value)?, None)),
    }
}

/// Whether the session waits as often as it may.
fn is_crowded(code: &str, text: &str) -> bool {
    code == "LIMIT" && text.starts_with("waiters-per-session")
}
