//! tick: what is due.

use std::time::Duration;

use super::looks::For;
use super::{option, Call, ClaimId, Core, HoldId, Reader, Time, LATE, NEVER, NOTICES, RETRY, SILENCE, SLACK, STOOD};
use crate::error::{Error, Lost};

impl Core {
    /// Does what is due. `wake` says when it has to be called again. If this process stood still, what the daemon has said meanwhile is
    /// read first: then it asks only, once.
    pub(crate) fn tick(&mut self, now: Time) {
        let stood = self.wake != NEVER && now > self.wake + STOOD && !self.postponed;
        self.wake = NEVER;
        self.postponed = stood;
        if stood {
            self.tick_after_standstill(now);
            self.rouse(now + STOOD);
            return;
        }
        for id in self.holds.keys().copied().collect::<Vec<HoldId>>() {
            let (waiting, held) = match self.holds.get(&id) {
                Some(hold) => (hold.waiting.clone(), !hold.users.is_empty()),
                None => continue,
            };
            for claim in waiting {
                self.tick_waiting(id, claim, now);
            }
            if held {
                self.tick_held(id, now);
            }
            self.tick_lost(id, now);
            self.tick_freed(id, now);
        }
        let waits = self.holds.values().any(|hold| !hold.waiting.is_empty());
        if self.online && (waits || self.manner.tcp && (self.is_busy() || !self.readers.is_empty())) {
            self.tick_silence(now);
        }
        self.tick_looks(now);
    }

    fn tick_after_standstill(&mut self, now: Time) {
        let due = |hold: &super::Hold| !hold.users.is_empty() && !hold.checking && now >= hold.check_at;
        let asks: Vec<HoldId> = self.holds.iter().filter(|(_, hold)| due(hold)).map(|(id, _)| *id).collect();
        if self.online {
            asks.into_iter().for_each(|id| self.check(id, now));
        }
        // Whatever is done before the answer is read must not count the lock as lost.
        let overdue =
            |hold: &super::Hold| !hold.users.is_empty() && hold.late.is_none() && now + STOOD >= hold.deadline;
        let doubted = self.holds.iter().filter(|(id, hold)| overdue(hold) && !self.is_leased(**id));
        for id in doubted.map(|(id, _)| *id).collect::<Vec<HoldId>>() {
            if let Some(hold) = self.holds.get_mut(&id) {
                hold.late = Some(now + LATE);
            }
        }
    }

    fn is_leased(&self, id: HoldId) -> bool {
        self.words_of(id).map_or(false, |words| option(words, "LEASE").is_some())
    }

    fn tick_waiting(&mut self, id: HoldId, claim_id: ClaimId, now: Time) {
        let (claim, hold) = match (self.claims.get(&claim_id), self.holds.get(&id)) {
            (Some(claim), Some(hold)) => (claim, hold),
            _ => return,
        };
        let (until, since) = (claim.until, claim.since);
        let mut end = until.map_or(NEVER, |until| until + SLACK);
        let mut over = false; // the end of the wait is its own, and not that of patience
        let mut why = match self.online {
            true => Error::unreachable("cannot reach holdfastd: it does not answer"),
            false => self.cut_why.clone(),
        };
        if !self.answered {
            end = end.min(self.cut_since.max(since) + self.manner.patience);
        } else if let Some((at, trouble)) = hold.trouble.clone() {
            why = trouble;
            end = end.min(at + self.manner.patience);
            if now < end && hold.asked == 0 {
                self.ask(id, now);
            }
            self.rouse(now + RETRY);
        } else if let (true, Some(until)) = (hold.lined, until) {
            end = until;
            over = true;
        } else if let (true, Some(until)) = (hold.behind, until) {
            if now >= until {
                self.step_out(id, now); // it tries once: the daemon knows why it was not its turn
            } else {
                end = until;
            }
        }
        if now >= end {
            let why = if over { self.timeout(claim_id, now) } else { why };
            self.fail(claim_id, why, now);
            return;
        }
        self.rouse(end);
        self.tick_notice(claim_id, now);
    }

    /// Tells who waits that the wait lasts, and for whom.
    fn tick_notice(&mut self, id: ClaimId, now: Time) {
        let claim = match self.claims.get_mut(&id) {
            Some(claim) if claim.hears => claim,
            _ => return,
        };
        let due = now >= claim.notice;
        if due {
            claim.notice = now + NOTICES;
        }
        let (name, next) = (claim.name.clone(), claim.notice);
        if due {
            self.look(&name, For::Notice(id), now);
        }
        self.rouse(next);
    }

    fn tick_held(&mut self, id: HoldId, now: Time) {
        let (deadline, check_at, checking) = match self.holds.get(&id) {
            Some(hold) => (hold.deadline, hold.check_at, hold.checking),
            None => return,
        };
        if now >= deadline {
            self.tick_overdue(id, now);
        } else if self.online && !checking && now >= check_at {
            self.check(id, now);
            self.rouse(deadline);
        } else {
            self.rouse(if checking || !self.online { deadline } else { check_at.min(deadline) });
        }
    }

    /// The announced deadline has passed. That is a loss if the daemon was asked for a later one, or could not be, all the time. A process
    /// that stood still has not asked, and the daemon may have renewed the lock: it is asked now.
    fn tick_overdue(&mut self, id: HoldId, now: Time) {
        let leased = self.is_leased(id);
        let online = self.online;
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        let asks = online && !hold.checking;
        if hold.late.is_none() && (asks && !leased || now >= hold.deadline + STOOD) {
            hold.late = Some(now + LATE);
        }
        let late = hold.late;
        if now >= late.unwrap_or(NEVER) || late.is_none() {
            let (name, token) = (hold.name.clone(), hold.token.unwrap_or(0));
            let lost = Lost::of(&name, token, &self.overdue(id, now));
            self.lose(id, &lost, now);
            return;
        }
        let check_at = hold.check_at;
        if asks && now >= check_at {
            self.check(id, now);
            self.rouse(late.unwrap_or(NEVER));
        } else {
            self.rouse(late.unwrap_or(NEVER).min(if asks { check_at } else { NEVER }));
        }
    }

    /// What was lost is given up at the latest when the time is over that its users were told.
    fn tick_lost(&mut self, id: HoldId, now: Time) {
        if let Some(hold) = self.holds.get_mut(&id).filter(|hold| !hold.lost.is_empty()) {
            if now >= hold.lost_until {
                hold.lost.clear();
            }
            self.settle(id, now);
        }
    }

    fn words_of(&self, id: HoldId) -> Option<&[String]> {
        let user = self.holds.get(&id)?.users.first()?;
        self.claims.get(user).map(|claim| claim.words.as_slice())
    }

    /// Why the announced deadline has passed, as far as it is known here: it is a little earlier than the daemon's own.
    fn overdue(&self, id: HoldId, now: Time) -> String {
        let words = self.words_of(id).unwrap_or(&[]);
        let (granted_at, checking) = self.holds.get(&id).map_or((now, false), |hold| (hold.granted_at, hold.checking));
        let longest = option(words, "MAXHOLD").and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
        if option(words, "LEASE").is_some() {
            "lease its lease is over".to_owned()
        } else if longest.map_or(false, |longest| now.saturating_sub(granted_at) > longest.mul_f64(0.9)) {
            "maxhold its max_hold is over".to_owned()
        } else if !self.answered {
            format!("unreachable the daemon was away until the announced deadline ({})", self.cut_why)
        } else if checking {
            "unreachable the daemon did not answer until the announced deadline".to_owned()
        } else {
            "expired the daemon could not renew it in time".to_owned()
        }
    }

    /// Callers whose release is not confirmed in time. It goes on by itself.
    fn tick_freed(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) if !hold.freed.is_empty() => hold,
            _ => return,
        };
        let (over, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut hold.freed).into_iter().partition(|freed| freed.2 <= now);
        let next = left.iter().map(|freed| freed.2).min().unwrap_or(NEVER);
        hold.freed = left;
        self.rouse(next);
        for (claim, _, _) in over {
            let error = Error::unreachable("cannot reach holdfastd: it has not confirmed that the lock is given back");
            self.calls.push(Call::Freed { claim, result: Err(error) });
        }
    }

    /// Notices a daemon that does not answer, which who waits would not. Over a Unix socket a holder need not: what it was told runs
    /// out.
    fn tick_silence(&mut self, now: Time) {
        let due = match self.readers.front() {
            Some((_, sent)) => self.heard.max(*sent) + SILENCE,
            None => self.heard + SILENCE,
        };
        if now < due {
            self.mute = None;
            self.rouse(due);
        } else if self.readers.is_empty() {
            self.send(now, &["PING"], Reader::Nobody);
            self.rouse(now + SILENCE);
        } else if let Some(mute) = self.mute.filter(|mute| now < *mute) {
            self.rouse(mute);
        } else if self.mute.is_none() {
            self.mute = Some(now + STOOD); // if this process stood still, the answer is there, and is read before
            self.rouse(now + STOOD);
        } else {
            self.stalled = true;
            self.cut_why = Error::unreachable(format!("cannot reach holdfastd: no answer for {} s", SILENCE.as_secs()));
        }
    }
}
