//! hold: what callers ask for, and what the daemon says of a name and owner.

use std::time::Duration;

use super::{
    grant, is_crowded, ms, option, Call, ClaimId, Core, Hold, HoldId, Reader, Time, NOTICE, RETRY, SILENCE, UNLOCK,
};
use crate::error::{Busy, Error, Lost};
use crate::wire::Value;

/// What one caller wants or has.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) name: String,
    pub(crate) owner: String,
    /// Of LOCK, without WAIT, OWNER and ASYNC.
    pub(crate) words: Vec<String>,
    pub(crate) wait: Option<Duration>,
    /// Others may have the same name and owner.
    pub(crate) shares: bool,
    /// It is told of a wait that lasts.
    pub(crate) hears: bool,
    pub(crate) since: Time,
    pub(crate) until: Option<Time>,
    /// When it is told next.
    pub(crate) notice: Time,
    hold: HoldId,
    held: bool,
}

impl Claim {
    pub(crate) fn new(name: &str, owner: &str, words: Vec<String>, wait: Option<Duration>, now: Time) -> Claim {
        Claim {
            name: name.to_owned(),
            owner: owner.to_owned(),
            words,
            wait,
            shares: false,
            hears: false,
            since: now,
            until: wait.map(|wait| now + wait),
            notice: now + NOTICE,
            hold: 0,
            held: false,
        }
    }

    pub(super) fn hold_id(&self) -> HoldId {
        self.hold
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// It does not wait.
    pub(super) fn tries(&self) -> bool {
        self.wait == Some(Duration::ZERO)
    }
}

impl Core {
    // --- what callers ask for ---------------------------------------------------------------------------------------

    /// Begins a claim. Claims of one name and owner share the hold.
    pub(crate) fn acquire(&mut self, id: ClaimId, mut claim: Claim, now: Time) {
        let key = (claim.name.clone(), claim.owner.clone());
        let hold_id = match self.owned.get(&key) {
            Some(hold) => *hold,
            None => self.new_hold(key),
        };
        claim.hold = hold_id;
        let (tries, shares, until) = (claim.tries(), claim.shares, claim.until);
        let place = (claim.name.clone(), option(&claim.words, "LIMIT").unwrap_or("").to_owned());
        self.rouse(now + SILENCE.min(self.manner.patience));
        self.rouse(until.unwrap_or(super::NEVER));
        self.rouse(if claim.hears { claim.notice } else { super::NEVER });
        self.claims.insert(id, claim);
        let turn = self.next_id();
        let hold = match self.holds.get_mut(&hold_id) {
            Some(hold) => hold,
            None => return,
        };
        hold.waiting.push(id);
        hold.lost.clear();
        hold.lost_token = None;
        if !hold.users.is_empty() {
            self.give(hold_id);
        } else if hold.token.is_none() && hold.asked == 0 && !hold.lined && !hold.behind {
            hold.turn = turn;
            hold.place = place.clone();
            let queue = self.queues.entry(place).or_default();
            if queue.fronts > 0 && !tries && !shares {
                hold.behind = true;
                queue.behind.push_back(hold_id);
            } else {
                self.step_out(hold_id, now);
            }
        }
    }

    fn new_hold(&mut self, key: (String, String)) -> HoldId {
        let id = self.next_id();
        self.holds.insert(id, Hold { name: key.0.clone(), owner: key.1.clone(), ..Hold::default() });
        self.owned.insert(key, id);
        id
    }

    /// Ends a claim, whatever its state is. tells: the caller wants to be told when the daemon has answered, or cannot.
    pub(crate) fn release(&mut self, id: ClaimId, tells: bool, now: Time) {
        let claim = match self.claims.remove(&id) {
            Some(claim) => claim,
            None => {
                let loss = self.losses.remove(&id);
                if let Some((hold, _)) = loss {
                    self.give_up(hold, id, now);
                }
                return self.freed(id, tells, loss.map_or(Ok(()), |(_, lost)| Err(lost.into())));
            }
        };
        let hold_id = claim.hold;
        let hold = match self.holds.get_mut(&hold_id) {
            Some(hold) => hold,
            None => return self.freed(id, tells, Ok(())),
        };
        let first = hold.waiting.first() == Some(&id);
        hold.users.retain(|user| *user != id);
        hold.waiting.retain(|waiting| *waiting != id);
        if !claim.held && first && hold.asked != 0 {
            self.cancel(hold_id, now);
        }
        let shared = self.holds.get(&hold_id).map_or(false, |hold| !hold.users.is_empty() || !hold.waiting.is_empty());
        if shared {
            self.freed(id, tells, Ok(()));
        } else {
            if let (true, Some(hold)) = (tells, self.holds.get_mut(&hold_id)) {
                hold.freed.push((id, if claim.held { hold.token.unwrap_or(0) } else { 0 }, now + UNLOCK));
                self.rouse(now + UNLOCK);
            }
            self.settle(hold_id, now);
        }
        if !self.line.is_empty() && !self.is_under_way() {
            self.advance(now);
        }
    }

    /// The claim had the hold when it was lost, and works under it no more.
    fn give_up(&mut self, id: HoldId, claim: ClaimId, now: Time) {
        if let Some(hold) = self.holds.get_mut(&id).filter(|hold| hold.lost.contains(&claim)) {
            hold.lost.retain(|user| *user != claim);
            self.settle(id, now);
        }
    }

    fn cancel(&mut self, id: HoldId, now: Time) {
        let (asked, waits) = match self.holds.get_mut(&id) {
            None => return,
            Some(hold) => {
                let asked = std::mem::take(&mut hold.asked);
                hold.cancelled.push(asked);
                (asked, !hold.waiting.is_empty())
            }
        };
        self.asks.remove(&asked);
        let asked = self.id(asked);
        self.send(now, &["CANCEL", &asked], Reader::Nobody);
        if waits {
            self.ask(id, now);
        } else {
            self.advance(now);
        }
    }

    fn freed(&mut self, claim: ClaimId, tells: bool, result: Result<(), Error>) {
        if tells {
            self.calls.push(Call::Freed { claim, result });
        }
    }

    /// Sends EXTEND (with the ms) or DOWNGRADE for a held claim.
    pub(crate) fn command(&mut self, command: ClaimId, id: ClaimId, words: &[&str], now: Time) -> bool {
        let claim = self.claims.get(&id).filter(|claim| claim.held);
        let hold = claim.and_then(|claim| self.holds.get(&claim.hold).map(|hold| (claim.hold, hold)));
        let (hold_id, name, owner, token) = match hold.and_then(|(id, hold)| Some((id, hold, hold.token?))) {
            Some((id, hold, token)) => (id, hold.name.clone(), hold.owner.clone(), token),
            None => return false,
        };
        let mut all = vec![words[0].to_owned(), name];
        all.extend(words[1..].iter().map(|word| (*word).to_owned()));
        all.extend(["OWNER".to_owned(), owner, "TOKEN".to_owned(), token.to_string()]);
        self.commands.insert(command, id);
        let extends = words[0] == "EXTEND";
        self.send(now, &all, Reader::Command { command, hold: hold_id, token, sent: now, extends });
        true
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn command_answered(
        &mut self,
        command: ClaimId,
        id: HoldId,
        token: u64,
        sent: Time,
        extends: bool,
        value: Option<Value>,
        now: Time,
    ) {
        let same = self.holds.get(&id).map_or(false, |hold| hold.token == Some(token));
        let result = match value {
            None => Err(Error::unreachable("the connection to holdfastd was lost before the answer")),
            Some(Value::Failure { code, text }) if code == "LOST" || code == "NOTHELD" => {
                if same {
                    let lost = self.loss(id, &Value::Failure { code, text });
                    self.lose(id, &lost, now);
                }
                return;
            }
            Some(Value::Failure { code, text }) => Err(Error::refused(&code, &text)),
            Some(value) => {
                let told = value.number().and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
                if same && extends {
                    self.told(id, sent, told, now);
                }
                Ok(told)
            }
        };
        if self.commands.remove(&command).is_some() {
            self.calls.push(Call::Answered { command, result });
        }
    }

    /// Until when a held claim is surely held; None: it is not held.
    pub(crate) fn deadline(&self, id: ClaimId) -> Option<Time> {
        let claim = self.claims.get(&id).filter(|claim| claim.held)?;
        self.holds.get(&claim.hold).map(|hold| hold.deadline)
    }

    /// The loss of a claim that was held and is not released.
    pub(crate) fn loss_of(&self, id: ClaimId) -> Option<Lost> {
        self.losses.get(&id).map(|(_, lost)| lost.clone())
    }

    /// The deadline of a held claim has passed, and its caller wants to know whether it is held: the daemon is asked.
    pub(crate) fn doubt(&mut self, id: ClaimId, now: Time) {
        if let Some(hold_id) = self.claims.get(&id).filter(|claim| claim.held).map(|claim| claim.hold) {
            let asks = self.holds.get(&hold_id).map_or(false, |hold| !hold.checking);
            if asks && self.online {
                self.check(hold_id, now);
            }
            self.rouse(now);
        }
    }

    // --- the wait ---------------------------------------------------------------------------------------------------

    pub(super) fn ask(&mut self, id: HoldId, now: Time) {
        let asked = self.next_id();
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.asked = asked;
            hold.past = self.past;
            hold.asked_at = now;
            self.asks.insert(asked, id);
            self.lock(id, now);
        }
    }

    /// Sends LOCK for the first claim that waits; after a cut again with the same id, which keeps its place.
    pub(super) fn lock(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        hold.sent_at = now;
        let claim = match hold.waiting.first().and_then(|claim| self.claims.get(claim)) {
            Some(claim) => claim,
            None => return,
        };
        let asked = hold.asked;
        let mut words = vec!["LOCK".to_owned(), hold.name.clone()];
        words.extend(claim.words.iter().cloned());
        words.extend(Some("VALIDITY".to_owned()).filter(|_| self.validity));
        words.extend([
            "OWNER".to_owned(),
            hold.owner.clone(),
            "ASYNC".to_owned(),
            format!("{}-{}", self.manner.prefix, asked),
        ]);
        if let Some(until) = claim.until {
            words.extend(["WAIT".to_owned(), ms(until.saturating_sub(now))]);
        }
        self.send(now, &words, Reader::Lock { hold: id, asked });
    }

    /// An answer to LOCK, or the push behind it.
    pub(super) fn locked(&mut self, id: HoldId, asked: u64, value: Option<Value>, now: Time) {
        let current = self.holds.get(&id).map_or(false, |hold| hold.asked == asked);
        let value = match value {
            Some(value) if current && !matches!(value, Value::Word(_)) => value,
            _ => return,
        };
        self.asks.remove(&asked);
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.asked = 0;
        }
        match (grant(&value), value) {
            (Some((token, told)), _) => self.granted(id, token, told, now),
            (_, Value::Failure { code, text }) => self.turned_away(id, &code, &text, now),
            _ => self.not_granted(id, now),
        }
    }

    fn not_granted(&mut self, id: HoldId, now: Time) {
        if let Some(claim) = self.first(id) {
            if self.claims.get(&claim).map_or(false, |claim| claim.until.is_none()) {
                self.rule(id, now);
            }
            let error = self.timeout(claim, now);
            self.fail(claim, error, now);
        }
        self.advance(now);
    }

    fn turned_away(&mut self, id: HoldId, code: &str, text: &str, now: Time) {
        let (claim_id, claim) = match self.first(id).and_then(|claim| Some((claim, self.claims.get(&claim)?))) {
            Some(found) => found,
            None => return,
        };
        let crowded = is_crowded(code, text) && !claim.tries();
        let before = claim.since < self.cut_since;
        let (past, trouble) = self.holds.get(&id).map_or((0, false), |hold| (hold.past, hold.trouble.is_some()));
        if code == "ERR" && self.validity && text.starts_with("VALIDITY and ASYNC exclude") {
            self.validity = false; // an older daemon
            self.ask(id, now);
        } else if crowded && self.is_under_way() {
            self.line_up(id);
        } else if crowded && past != self.past || code == "LOST" {
            // A wait has ended while the refusal was under way; or it is an earlier loss, which the session had not been told.
            self.ask(id, now);
        } else if code == "DRAINING" || (code == "ERR" && !trouble && before) {
            // The daemon ends, and another begins; or it has not noticed yet that the old connection is gone, whose LOCK has this id.
            let error = Error::refused(code, text);
            if let Some(hold) = self.holds.get_mut(&id) {
                hold.trouble.get_or_insert((now, error));
            }
            self.rouse(now + RETRY);
        } else {
            self.fail(claim_id, Error::refused(code, text), now);
            self.advance(now);
        }
    }

    fn first(&self, id: HoldId) -> Option<ClaimId> {
        self.holds.get(&id)?.waiting.first().copied()
    }

    /// That the wait of a claim is over.
    pub(super) fn timeout(&self, id: ClaimId, now: Time) -> Error {
        let claim = match self.claims.get(&id) {
            Some(claim) => claim,
            None => return Error::unreachable("the wait is over"),
        };
        let held = |hold: &&Hold| hold.name == claim.name && !hold.users.is_empty();
        let ours = self.holds.values().find(held).map(|hold| now.saturating_sub(hold.granted_at));
        let busy = Busy { name: claim.name.clone(), holder: None, waited: now.saturating_sub(claim.since), ours };
        if claim.tries() {
            Error::Busy(busy)
        } else {
            Error::Timeout(busy)
        }
    }

    /// Ends a wait with an error. That of a wait that is over is told with the holder.
    pub(super) fn fail(&mut self, claim: ClaimId, error: Error, now: Time) {
        let found = self.claims.get(&claim).map(|it| (it.hold, it.name.clone()));
        let (hold, name) = match found {
            Some(found) => found,
            None => return,
        };
        if let Some(hold) = self.holds.get_mut(&hold) {
            hold.refused = matches!(error, Error::Refused(_));
        }
        match error {
            Error::Timeout(busy) if busy.ours.is_none() => {
                self.look(&name, super::looks::For::Failure(claim, busy), now)
            }
            error => self.calls.push(Call::Failed { claim, error }),
        }
        self.release(claim, false, now);
    }

    // --- the hold ---------------------------------------------------------------------------------------------------

    /// told: for how long it is good from when its LOCK was sent. If the wait took a third of that, the daemon is asked.
    fn granted(&mut self, id: HoldId, token: u64, told: Option<u64>, now: Time) {
        let mut sent = now;
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.token = Some(token);
            hold.trouble = None;
            hold.granted_at = now;
            hold.late = None;
            sent = hold.sent_at;
        }
        match told.filter(|told| now < sent + Duration::from_millis(told / 3)) {
            Some(told) => {
                self.told(id, sent, told, now);
                self.give(id);
            }
            None => self.check(id, now),
        }
        self.advance(now);
        self.step_aside(id, now);
    }

    pub(super) fn check(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        if let Some(token) = hold.token {
            hold.checking = true;
            let (name, owner) = (hold.name.clone(), hold.owner.clone());
            let words = ["CHECK", &name, "OWNER", &owner, "TOKEN", &token.to_string()];
            self.send(now, &words, Reader::Check { hold: id, token, sent: now });
        }
    }

    pub(super) fn checked(&mut self, id: HoldId, token: u64, sent: Time, value: Option<Value>, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) if hold.token == Some(token) => hold,
            _ => return,
        };
        let value = match value {
            Some(value) => value,
            None => return,
        };
        hold.checking = false;
        match value.number().and_then(|ms| u64::try_from(ms).ok()) {
            Some(told) => {
                self.told(id, sent, told, now);
                let stale = self.holds.get(&id).map_or(false, |hold| !hold.waiting.is_empty() && now >= hold.deadline);
                if stale {
                    self.check(id, now); // this process stood still until the deadline that it was told
                } else {
                    self.give(id);
                }
            }
            None => {
                let lost = self.loss(id, &value);
                self.lose(id, &lost, now);
            }
        }
    }

    fn told(&mut self, id: HoldId, sent: Time, told: u64, now: Time) {
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.deadline = sent + Duration::from_millis(told);
            hold.check_at = sent + Duration::from_millis((told / 3).max(20));
            if hold.deadline > now {
                hold.late = None;
            }
            let at = hold.check_at;
            self.rouse(at);
        }
    }

    fn give(&mut self, id: HoldId) {
        let (token, given) = match self.holds.get_mut(&id) {
            None => return,
            Some(hold) => {
                let given = std::mem::take(&mut hold.waiting);
                hold.users.extend(&given);
                (hold.token.unwrap_or(0), given)
            }
        };
        for claim in given {
            if let Some(it) = self.claims.get_mut(&claim) {
                it.held = true;
            }
            self.calls.push(Call::Held { claim, token });
        }
    }

    pub(super) fn loss(&self, id: HoldId, value: &Value) -> Lost {
        let (name, token) = self.holds.get(&id).map_or(("", 0), |hold| (hold.name.as_str(), hold.token.unwrap_or(0)));
        match value {
            Value::Failure { code, text } if code == "LOST" => Lost::of(name, token, text),
            _ => Lost::of(name, token, "session the daemon does not know of it any more: it lost its state, or the connection was cut for too long"),
        }
    }

    pub(super) fn lose(&mut self, id: HoldId, lost: &Lost, now: Time) {
        let (claims, held): (Vec<ClaimId>, _) = match self.holds.get_mut(&id) {
            None => return,
            Some(hold) => {
                if now < hold.deadline {
                    hold.lost = hold.users.clone();
                    hold.lost_token = hold.token;
                    hold.lost_until = hold.deadline;
                }
                (hold.users.drain(..).chain(hold.waiting.drain(..)).collect(), now.saturating_sub(hold.granted_at))
            }
        };
        for claim in claims {
            let was_held = self.claims.remove(&claim).map_or(false, |it| it.held);
            self.calls.push(match was_held {
                true => Call::Lost { claim, lost: lost.clone(), held },
                false => Call::Failed { claim, error: Error::Lost(lost.clone()) },
            });
            if was_held {
                self.losses.insert(claim, (id, lost.clone()));
            }
            self.answer_commands(claim, lost);
        }
        self.settle(id, now);
    }

    fn answer_commands(&mut self, claim: ClaimId, lost: &Lost) {
        let calls = &mut self.calls;
        self.commands.retain(|command, of| {
            if *of == claim {
                calls.push(Call::Answered { command: *command, result: Err(Error::Lost(lost.clone())) });
            }
            *of != claim
        });
    }

    /// Nobody has the hold, or waits for it, any more.
    pub(super) fn settle(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) if hold.users.is_empty() && hold.waiting.is_empty() => hold,
            _ => return,
        };
        hold.token = None;
        hold.trouble = None;
        let asked = std::mem::take(&mut hold.asked);
        let kept = if hold.lost.is_empty() { None } else { Some(hold.lost_until) };
        if std::mem::take(&mut hold.lined) {
            self.line.remove(&hold.turn);
        }
        self.asks.remove(&asked);
        match kept {
            Some(until) => self.rouse(until),
            None => self.end(id, now),
        }
        self.step_aside(id, now);
    }

    /// Makes the daemon forget the hold. It may have counted a LOCK twice whose answer was cut off: so this is repeated until none is
    /// left. What was lost is given up with its token: then another locker may have a broken lock at once.
    pub(super) fn end(&mut self, id: HoldId, now: Time) {
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.ending += 1;
            let mut words = vec!["UNLOCK".to_owned(), hold.name.clone(), "OWNER".to_owned(), hold.owner.clone()];
            if let Some(token) = hold.lost_token {
                words.extend(["TOKEN".to_owned(), token.to_string()]);
            }
            self.send(now, &words, Reader::End { hold: id });
        }
    }

    pub(super) fn ended(&mut self, id: HoldId, value: Option<Value>, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        hold.ending = hold.ending.saturating_sub(1);
        let (name, idle) = (hold.name.clone(), hold.is_idle() && hold.ending == 0);
        let freed = if value.is_some() { std::mem::take(&mut hold.freed) } else { Vec::new() };
        for (claim, token, _) in freed {
            let result = match &value {
                Some(Value::Failure { code, text }) if code == "LOST" && token > 0 => {
                    Err(Lost::of(&name, token, text).into())
                }
                _ => Ok(()),
            };
            self.calls.push(Call::Freed { claim, result });
        }
        match value {
            Some(Value::Number(left)) if idle && left > 0 => self.end(id, now),
            Some(_) if idle => {
                if let Some(hold) = self.holds.remove(&id) {
                    self.owned.remove(&(hold.name, hold.owner));
                }
            }
            _ => {} // after a cut it is sent again over the next connection
        }
    }
}
