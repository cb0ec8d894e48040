//! queue: who of this process waits at the daemon, and who waits here.
//!
//! A try is never in a queue, nor a hold with an owner of the caller's own: for such the daemon finds deadlocks. If the daemon refuses
//! the front, all of the queue are sent, as each has to hear that.

use super::{ClaimId, Core, HoldId, Time};

impl Core {
    /// From the queue, to the daemon.
    pub(super) fn step_out(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        hold.front = true;
        hold.behind = false;
        hold.refused = false;
        let queue = self.queues.entry(hold.place.clone()).or_default();
        queue.behind.retain(|other| *other != id);
        queue.fronts += 1;
        let tries = hold.waiting.first().and_then(|claim| self.claims.get(claim)).map_or(false, |claim| claim.tries());
        if !self.line.is_empty() && !tries {
            self.line_up(id);
        } else {
            self.ask(id, now);
        }
    }

    /// The hold has the lock, or waits no more: the next one is sent.
    pub(super) fn step_aside(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) if hold.front || hold.behind => hold,
            _ => return,
        };
        let (place, refused, front) = (hold.place.clone(), hold.refused, hold.front);
        hold.front = false;
        hold.behind = false;
        if let Some(queue) = self.queues.get_mut(&place) {
            queue.fronts -= usize::from(front);
            queue.behind.retain(|other| *other != id);
        }
        while let Some(next) = self.next_in(&place, refused) {
            self.step_out(next, now);
        }
        if self.queues.get(&place).map_or(false, |queue| queue.fronts == 0) {
            self.queues.remove(&place);
        }
    }

    fn next_in(&self, place: &super::Place, refused: bool) -> Option<HoldId> {
        let queue = self.queues.get(place)?;
        queue.behind.front().copied().filter(|_| refused || queue.fronts == 0)
    }

    /// The daemon's rule for the name bounds a wait without a bound of its own: that is so for all of the queue.
    pub(super) fn rule(&mut self, id: HoldId, now: Time) {
        let hold = match self.holds.get(&id) {
            Some(hold) => hold,
            None => return,
        };
        let wait = now.saturating_sub(hold.asked_at);
        let behind = self.queues.get(&hold.place).map(|queue| queue.behind.clone()).unwrap_or_default();
        let firsts = behind.iter().filter_map(|other| self.holds.get(other)?.waiting.first().copied());
        for claim in firsts.collect::<Vec<ClaimId>>() {
            if let Some(claim) = self.claims.get_mut(&claim).filter(|claim| claim.until.is_none()) {
                let until = claim.since + wait;
                claim.until = Some(until);
                self.rouse(until.max(now));
            }
        }
    }

    /// Whether a LOCK is at the daemon, whose end lets the line advance, or will be sent again.
    pub(super) fn is_under_way(&self) -> bool {
        !self.asks.is_empty() || self.holds.values().any(|hold| hold.trouble.is_some() && !hold.waiting.is_empty())
    }

    pub(super) fn line_up(&mut self, id: HoldId) {
        let hold = match self.holds.get_mut(&id) {
            Some(hold) => hold,
            None => return,
        };
        hold.lined = true;
        hold.trouble = None;
        self.line.insert(hold.turn, id);
        let until = hold.waiting.first().and_then(|claim| self.claims.get(claim)?.until);
        self.rouse(until.unwrap_or(super::NEVER));
    }

    /// A wait of the session has ended: sends the first in the line.
    pub(super) fn advance(&mut self, now: Time) {
        self.past += 1;
        if let Some((turn, id)) = self.line.iter().next().map(|(turn, id)| (*turn, *id)) {
            self.line.remove(&turn);
            if let Some(hold) = self.holds.get_mut(&id) {
                hold.lined = false;
            }
            self.ask(id, now);
        }
    }

    /// The place of a claim in the queue of the daemon, with those that stand before it in the queue here.
    pub(super) fn position(&self, id: ClaimId, seen: &crate::look::Seen) -> Option<u64> {
        let claim = self.claims.get(&id)?;
        let hold = self.holds.get(&claim.hold_id())?;
        let at = |owner: &str| seen.places.get(owner).copied().filter(|at| *at > 0);
        if !hold.behind {
            return at(&claim.owner);
        }
        let fronts = self.holds.values().filter(|other| other.front && other.place == hold.place);
        let first = fronts.filter_map(|other| at(&other.owner)).max()?;
        let here = self.queues.get(&hold.place)?.behind.iter().position(|other| *other == claim.hold_id())?;
        Some(first + 1 + here as u64)
    }
}
