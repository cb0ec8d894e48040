//! error: what can go wrong, and whether it helps to try again.

use std::fmt;
use std::time::Duration;

use crate::look::Holder;

/// Why a call did not do what it was asked for. [`Error::is_transient`] says whether the same call may succeed later.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Another locker has the lock, when it was tried once. Nothing is held, and nothing waits.
    Busy(Busy),
    /// Another locker had the lock for the whole of the wait. [`Error::is_busy`] is true for it, too.
    Timeout(Busy),
    /// The lock was held, and is not any more: stop using what it protects.
    Lost(Lost),
    /// The daemon cannot grant the lock, or the request is wrong. It never means that another locker has the lock.
    Refused(Refused),
    /// No holdfastd answers.
    Unreachable(Unreachable),
    /// An argument, an address or a use is wrong. Nothing was sent.
    Argument(String),
}

impl Error {
    /// Whether the same call may succeed later, without a change to the program or the configuration: after [`Error::Busy`],
    /// [`Error::Timeout`] and [`Error::Lost`]; after [`Error::Unreachable`], unless this user may not use the socket or something
    /// else than holdfastd answers there; after [`Error::Refused`] with the code NOMASTER, GUARD, MASTERERR, DRAINING, LIMIT or
    /// DEADLOCK, unless the name is too long.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Busy(_) | Error::Timeout(_) | Error::Lost(_) => true,
            Error::Refused(refused) => refused.is_transient(),
            Error::Unreachable(unreachable) => !unreachable.lasts,
            Error::Argument(_) => false,
        }
    }

    /// Whether another locker has the lock: [`Error::Busy`] or [`Error::Timeout`].
    pub fn is_busy(&self) -> bool {
        matches!(self, Error::Busy(_) | Error::Timeout(_))
    }

    /// Who has the lock, after [`Error::Timeout`]. None: nobody, or this user may not see it. A lock that was tried once asks
    /// nobody.
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Error::Busy(busy) | Error::Timeout(busy) => busy.holder.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn refused(code: &str, text: &str) -> Error {
        Error::Refused(Refused { code: code.to_owned(), text: text.to_owned() })
    }

    pub(crate) fn unreachable(text: impl Into<String>) -> Error {
        Error::Unreachable(Unreachable { text: text.into(), lasts: false })
    }

    pub(crate) fn lasting(text: impl Into<String>) -> Error {
        Error::Unreachable(Unreachable { text: text.into(), lasts: true })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Busy(busy) => write!(f, "another locker has the lock: {}", busy),
            Error::Timeout(busy) => write!(f, "the lock was not granted in time: {}", busy),
            Error::Lost(lost) => lost.fmt(f),
            Error::Refused(refused) => refused.fmt(f),
            Error::Unreachable(unreachable) => f.write_str(&unreachable.text),
            Error::Argument(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Error {
        Error::Lost(lost)
    }
}

/// A lock that another locker has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// The name of the lock.
    pub name: String,
    /// Who has it now; None: nobody, or it is not known.
    pub holder: Option<Box<Holder>>,
    /// How long it was waited for.
    pub waited: Duration,
    /// This process holds it itself, for so long: a guard was perhaps not dropped.
    pub ours: Option<Duration>,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match (self.ours, &self.holder) {
            (Some(held), _) => {
                write!(f, "; this process holds it itself, for {:.1}s: is a guard not dropped?", held.as_secs_f64())
            }
            (None, Some(holder)) => write!(f, "; the holder is {}", holder),
            (None, None) => Ok(()),
        }
    }
}

/// A lock that was lost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lost {
    /// The name of the lock.
    pub name: String,
    /// Its fencing token.
    pub token: u64,
    /// One word: `expired`, `taken`, `refused`, `lease`, `maxhold`, `broken` or `cloned`, as the daemon says (4.6 of PROTOCOL.md);
    /// `unreachable`: the daemon could not be asked before the announced deadline; `session`: the daemon does not know this process any
    /// more; `forked`: the lock belongs to the parent process.
    pub reason: String,
    /// The explanation, for people.
    pub text: String,
}

impl Lost {
    /// From the daemon's words: a reason, and an explanation.
    pub(crate) fn of(name: &str, token: u64, words: &str) -> Lost {
        let (reason, text) = words.split_once(' ').unwrap_or((words, words));
        Lost { name: name.to_owned(), token, reason: reason.to_owned(), text: text.to_owned() }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lock {} is lost: {}", self.name, self.text)
    }
}

impl std::error::Error for Lost {}

/// What the daemon answered in place of a lock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// The daemon's word for it, such as NOMASTER, GUARD, LIMIT or WRONGKIND; section 7 of PROTOCOL.md has all of them.
    pub code: String,
    /// The explanation, for people.
    pub text: String,
}

impl Refused {
    fn is_transient(&self) -> bool {
        let passes = ["NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST"];
        passes.contains(&self.code.as_str()) && !self.text.starts_with("bad name")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "holdfastd refuses: {} {}", self.code, self.text)
    }
}

/// Where the daemon was looked for, and why it was not found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unreachable {
    /// The explanation, for people.
    pub text: String,
    pub(crate) lasts: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_passes_is_transient() {
        assert!(Error::refused("LIMIT", "grants-per-session: 2").is_transient());
        assert!(Error::refused("NOMASTER", "no master").is_transient());
        assert!(!Error::refused("LIMIT", "bad name: too long").is_transient());
        assert!(!Error::refused("WRONGKIND", "it is a semaphore").is_transient());
        assert!(Error::unreachable("away").is_transient());
        assert!(!Error::lasting("a Redis").is_transient());
    }

    #[test]
    fn a_loss_is_read_from_the_words_of_the_daemon() {
        let lost = Lost::of("a", 7, "broken an administrator broke it");
        assert_eq!((lost.reason.as_str(), lost.text.as_str()), ("broken", "an administrator broke it"));
        assert_eq!(Lost::of("a", 7, "lease").text, "lease");
    }

    #[test]
    fn a_timeout_says_that_this_process_has_the_lock_itself() {
        let busy =
            Busy { name: "a".into(), holder: None, waited: Duration::ZERO, ours: Some(Duration::from_millis(1200)) };
        let text = Error::Timeout(busy).to_string();
        assert_eq!(
            text,
            "the lock was not granted in time: a; this process holds it itself, for 1.2s: is a guard not dropped?"
        );
    }
}
