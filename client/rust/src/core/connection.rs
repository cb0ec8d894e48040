//! connection: how it begins and ends, and what comes in.

use super::{ms, Core, HoldId, Reader, Time};
use crate::error::Error;
use crate::wire::{parse, Value};

impl Core {
    /// A new connection is there: what to send first is in `output`. started: when this process began, for SESSION BIND; None: the
    /// session is not bound to it.
    pub(crate) fn connected(&mut self, now: Time, started: Option<&str>) {
        self.online = true;
        self.stalled = false;
        self.input.clear();
        self.output.clear();
        self.heard = now;
        self.mute = None;
        self.validity = true;
        let mut hello = vec!["HELLO".to_owned(), "3".to_owned()];
        if let Some((user, password)) = self.manner.login.clone() {
            hello.extend(["AUTH".to_owned(), user, password]);
        }
        hello.extend(["SETNAME".to_owned(), self.manner.title.clone()]);
        self.send(now, &hello, Reader::Hello);
        if let Some(secret) = self.secret.clone() {
            // Other connections of the process may be in a bound session: RESUME would close them.
            let verb = if self.bound { "JOIN" } else { "RESUME" };
            self.send(now, &["SESSION", verb, &secret], Reader::Resumed);
        }
        if let Some(started) = started {
            self.send(now, &["SESSION", "BIND", started], Reader::Bound);
        }
        self.send(now, &["SESSION", "GRACE", &ms(self.manner.grace)], Reader::Grace);
        self.send(now, &["SESSION", "ONLOSS", "PUSH"], Reader::Nobody);
        for id in self.holds.keys().copied().collect::<Vec<HoldId>>() {
            self.ask_again(id, now);
        }
    }

    /// Goes on with a hold over a new connection.
    fn ask_again(&mut self, id: HoldId, now: Time) {
        let (cancelled, held, asked, idle, waits) = match self.holds.get_mut(&id) {
            None => return,
            Some(hold) => {
                hold.checking = false;
                let rests = hold.lined || hold.behind;
                let waits = !rests && !hold.waiting.is_empty();
                (hold.cancelled.clone(), hold.token.is_some(), hold.asked != 0, hold.is_idle(), waits)
            }
        };
        for asked in cancelled {
            let asked = self.id(asked);
            self.send(now, &["CANCEL", &asked], Reader::Nobody);
        }
        match (held, asked, idle) {
            (true, _, _) => self.check(id, now),
            (_, true, _) => self.lock(id, now),
            (_, _, true) => self.end(id, now),
            _ if waits => self.ask(id, now),
            _ => {}
        }
    }

    /// The connection is lost, or failed: it could not be made.
    pub(crate) fn cut(&mut self, now: Time, why: Error, failed: bool) {
        if self.answered {
            self.cut_since = now;
            self.failures = 0;
        } else {
            self.failures = self.failures.saturating_add(1);
        }
        self.online = false;
        self.answered = false;
        self.stalled = false;
        self.cut_why = why;
        self.output.clear();
        for (reader, _) in std::mem::take(&mut self.readers) {
            self.read(reader, None, now);
        }
        let lasts = matches!(&self.cut_why, Error::Unreachable(why) if why.lasts) && !self.served;
        for claim in self.all_waiting() {
            let until = self.claims.get(&claim).and_then(|claim| claim.until);
            if lasts || failed && until.map_or(false, |until| until <= now) {
                self.fail(claim, self.cut_why.clone(), now);
            }
        }
        self.wake = now;
    }

    fn all_waiting(&self) -> Vec<u64> {
        self.holds.values().flat_map(|hold| hold.waiting.iter().copied()).collect()
    }

    /// The session was ended by a QUIT: the next connection begins another one.
    pub(crate) fn quit(&mut self) {
        self.online = false;
        self.answered = false;
        self.secret = None;
        self.bound = false;
        self.output.clear();
        self.readers.clear();
    }

    /// Takes what the daemon sent.
    pub(crate) fn receive(&mut self, data: &[u8], now: Time) -> Result<(), Error> {
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(data);
        self.heard = now;
        let mut at = 0;
        while let Some((value, length)) = parse(&input[at..]).map_err(|foreign| Error::lasting(foreign.to_string()))? {
            at += length;
            match value {
                Value::Push(push) => self.pushed(&push, now),
                value if matches!(self.readers.front(), Some((Reader::Hello, _))) && is_foreign(&value) => {
                    return Err(Error::lasting(
                        "what answers there is not holdfastd, but perhaps Redis: give the daemon's socket",
                    ));
                }
                value => {
                    if let Some((reader, _)) = self.readers.pop_front() {
                        self.read(reader, Some(value), now);
                    }
                }
            }
        }
        input.drain(..at);
        self.input = input;
        Ok(())
    }

    pub(super) fn hello(&mut self, value: Option<Value>, now: Time) {
        self.answered = matches!(value, Some(Value::Map(_)));
        self.served |= self.answered;
        if let Some(Value::Failure { code, text }) = value {
            self.stalled = true;
            self.cut_why = Error::refused(&code, &text);
            for claim in self.all_waiting() {
                self.fail(claim, self.cut_why.clone(), now);
            }
        }
    }

    pub(super) fn resumed(&mut self, value: Option<Value>) {
        if let Some(Value::Failure { .. }) = value {
            self.secret = None;
        }
    }

    pub(super) fn bind_answered(&mut self, value: Option<Value>) {
        if let Some(value) = value {
            self.bound = value.number().is_some();
        }
    }

    pub(super) fn graced(&mut self, value: Option<Value>) {
        if let Some(value) = value {
            self.secret = match value {
                Value::Text(secret) => Some(secret),
                _ => None, // the daemon allows no such grace: a cut is a loss
            };
        }
    }
}

/// Whether an answer to HELLO is that of something else.
fn is_foreign(value: &Value) -> bool {
    match value {
        Value::Map(_) => value.get("server").text() != "holdfast",
        Value::Failure { code, text } => code == "ERR" && text.starts_with("unknown command"),
        _ => true,
    }
}
