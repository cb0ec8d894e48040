//! looks: one question at a time about a name, for all who want to know who has it. It is about the daemon that was asked; if that
//! knows no holder, a second question goes to the fleet, about a name once in FRESH. A daemon that does not answer in time, or does not
//! let this user see, leaves it open.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::{Call, ClaimId, Core, Reader, Time, NEVER};
use crate::error::{Busy, Error};
use crate::look::{holder, holder_of_fleet, places, Holder, Seen, Waiting};
use crate::wire::Value;

/// For the answers of a look.
const PATIENCE: Duration = Duration::from_millis(500);
/// For so long an answer of the fleet counts.
const FRESH: Duration = Duration::from_secs(1);
/// Places in the queue that a look sees.
const WAITERS: &str = "64";

/// Why the holder is wanted.
#[derive(Clone, Debug)]
pub(super) enum For {
    Failure(ClaimId, Busy),
    Notice(ClaimId),
}

#[derive(Debug)]
struct Look {
    name: String,
    until: Time,
    told: Vec<For>,
    places: HashMap<String, u64>,
}

/// All that are under way, by a number, and what the fleet said of a name, and when.
#[derive(Debug, Default)]
pub(super) struct Looks {
    looks: BTreeMap<u64, Look>,
    fleet: HashMap<String, (Time, Option<Holder>)>,
}

impl Core {
    pub(super) fn look(&mut self, name: &str, told: For, now: Time) {
        if let Some(look) = self.looks.looks.values_mut().find(|look| look.name == name) {
            look.told.push(told);
            return;
        }
        let (serial, until) = (self.next_id(), now + PATIENCE);
        self.looks
            .looks
            .insert(serial, Look { name: name.to_owned(), until, told: vec![told], places: HashMap::new() });
        self.rouse(until);
        self.send(now, &["INSPECT", name, "COUNT", WAITERS], Reader::Look { serial, fleet: false });
    }

    pub(super) fn looked(&mut self, serial: u64, fleet: bool, value: Option<Value>, now: Time) {
        let value = value.unwrap_or(Value::Null);
        let look = match self.looks.looks.get_mut(&serial) {
            Some(look) => look,
            None => return,
        };
        let name = look.name.clone();
        if fleet {
            let found = holder_of_fleet(&value);
            self.looks.fleet.insert(name, (now, found.clone()));
            return self.end_look(serial, found, now);
        }
        look.places = places(&value);
        self.looks.fleet.retain(|_, (at, _)| now.saturating_sub(*at) < FRESH);
        match (holder(value.get("holder"), ""), self.looks.fleet.get(&name)) {
            (None, Some((_, found))) => {
                let found = found.clone();
                self.end_look(serial, found, now);
            }
            (None, None) if matches!(value, Value::Map(_)) => {
                self.send(now, &["INSPECT", &name, "FLEET"], Reader::Look { serial, fleet: true });
            }
            (found, _) => self.end_look(serial, found, now),
        }
    }

    /// Ends the looks whose time is over, and says when the next one is due.
    pub(super) fn tick_looks(&mut self, now: Time) {
        let over = self.looks.looks.iter().filter(|(_, look)| look.until <= now).map(|(serial, _)| *serial);
        for serial in over.collect::<Vec<u64>>() {
            self.end_look(serial, None, now);
        }
        let next = self.looks.looks.values().map(|look| look.until).min();
        self.rouse(next.unwrap_or(NEVER));
    }

    fn end_look(&mut self, serial: u64, holder: Option<Holder>, now: Time) {
        if let Some(look) = self.looks.looks.remove(&serial) {
            let seen = Seen { holder, places: look.places };
            for told in look.told {
                self.tell_seen(told, &seen, now);
            }
        }
    }

    fn tell_seen(&mut self, told: For, seen: &Seen, now: Time) {
        match told {
            For::Failure(claim, mut busy) => {
                busy.holder = seen.holder.clone().map(Box::new);
                self.calls.push(Call::Failed { claim, error: Error::Timeout(busy) });
            }
            For::Notice(id) => {
                let position = self.position(id, seen);
                if let Some(claim) = self.claims.get(&id).filter(|claim| !claim.is_held()) {
                    let waited = now.saturating_sub(claim.since);
                    let waiting = Waiting { name: claim.name.clone(), holder: seen.holder.clone(), position, waited };
                    self.calls.push(Call::Lasts { claim: id, waiting });
                }
            }
        }
    }
}
