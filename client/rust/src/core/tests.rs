//! The core with a daemon that is played here: what it sends for what it is told, at times of our own.

use std::time::Duration;

use super::*;
use crate::error::Error;
use crate::wire::parse;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

struct Stage {
    core: Core,
    now: Time,
}

fn stage() -> Stage {
    let manner =
        Manner { login: None, title: "test".into(), prefix: "p".into(), grace: 10 * S, patience: 5 * S, tcp: false };
    Stage { core: Core::new(manner), now: 1000 * S }
}

/// With a connection to a daemon that has answered.
fn online() -> Stage {
    let mut stage = stage();
    stage.connect(":0");
    stage
}

impl Stage {
    fn connect(&mut self, bound: &str) -> Vec<String> {
        self.core.connected(self.now, Some("7"));
        let sent = self.sent();
        self.say("%1\r\n+server\r\n+holdfast");
        for request in &sent[1..] {
            match request.split(' ').nth(1) {
                Some("JOIN" | "RESUME") => self.say(":0"),
                Some("BIND") => self.say(bound),
                Some("GRACE") => self.say("$6\r\nsecret"),
                Some("ONLOSS") => self.say("+OK"),
                _ => {}
            }
        }
        sent
    }

    fn sent(&mut self) -> Vec<String> {
        let output = std::mem::take(&mut self.core.output);
        let (mut at, mut sent) = (0, Vec::new());
        while let Some((value, length)) = parse(&output[at..]).unwrap() {
            at += length;
            sent.push(value.items().iter().map(Value::text).collect::<Vec<_>>().join(" "));
        }
        sent
    }

    fn say(&mut self, answer: &str) {
        self.core.receive(format!("{}\r\n", answer).as_bytes(), self.now).unwrap();
    }

    fn grant(&mut self, asked: &str, token: u64) {
        self.say(&format!(">3\r\n+grant\r\n+{}\r\n:{}", asked, token));
    }

    fn fail(&mut self, asked: &str) {
        self.say(&format!(">4\r\n+failed\r\n+{}\r\n_\r\n_", asked));
    }

    fn ask(&mut self, name: &str, wait: Option<Duration>) -> ClaimId {
        self.ask_as(name, "", wait, &[])
    }

    fn ask_as(&mut self, name: &str, owner: &str, wait: Option<Duration>, words: &[&str]) -> ClaimId {
        let id = self.core.next_id();
        let tag = if owner.is_empty() { format!("o{}", id) } else { owner.to_owned() };
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let mut claim = Claim::new(name, &tag, words, wait, self.now);
        claim.shares = !owner.is_empty();
        self.core.acquire(id, claim, self.now);
        id
    }

    /// Asks, and answers until the claim is held for so long.
    fn hold(&mut self, name: &str, token: u64, valid: u64) -> ClaimId {
        let id = self.ask(name, None);
        let asked = asked(&self.sent()[0]);
        self.say("+QUEUED");
        self.grant(&asked, token);
        assert!(self.sent()[0].starts_with(&format!("CHECK {} OWNER", name)));
        self.say(&format!(":{}", valid));
        assert_eq!(self.told(), [format!("held {} {}", id, token)]);
        id
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.core.wake < end {
            self.now = self.now.max(self.core.wake);
            self.core.tick(self.now);
        }
        self.now = end;
        if self.core.wake <= end {
            self.core.tick(end);
        }
    }

    /// The process stands still.
    fn stand(&mut self, time: Duration) {
        self.now += time;
        self.core.tick(self.now);
    }

    fn told(&mut self) -> Vec<String> {
        let said = |call| match call {
            Call::Held { claim, token } => format!("held {} {}", claim, token),
            Call::Failed { claim, error } => format!("failed {} {}", claim, word(&error)),
            Call::Lost { claim, lost, .. } => format!("lost {} {}", claim, lost.reason),
            Call::Freed { claim, result } => {
                format!("freed {} {}", claim, result.map_or_else(|error| word(&error), |_| "ok".into()))
            }
            Call::Answered { result, .. } => {
                format!("answered {}", result.map_or_else(|error| word(&error), |n| n.to_string()))
            }
            Call::Lasts { claim, waiting } => format!("lasts {} {:?}", claim, waiting.position),
        };
        self.core.calls.drain(..).map(said).collect()
    }
}

fn word(error: &Error) -> String {
    match error {
        Error::Busy(_) => "busy".into(),
        Error::Timeout(busy) => {
            format!("timeout {}", busy.holder.as_ref().map_or("-".to_owned(), |holder| holder.token.to_string()))
        }
        Error::Lost(lost) => lost.reason.clone(),
        Error::Refused(refused) => refused.code.clone(),
        Error::Unreachable(_) => "unreachable".into(),
        Error::Argument(_) => "argument".into(),
    }
}

/// The id of a LOCK.
fn asked(lock: &str) -> String {
    assert!(lock.starts_with("LOCK "), "{}", lock);
    lock.split(" ASYNC ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn a_lock_is_had_checked_and_given_back() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    assert_eq!(stage.core.deadline(id), Some(stage.now + 3 * S));
    stage.pass(S + MS);
    assert!(stage.sent()[0].starts_with("CHECK a "), "after a third of the time that it was told");
    stage.say(":3000");
    stage.core.release(id, true, stage.now);
    assert!(stage.sent()[0].starts_with("UNLOCK a OWNER "));
    stage.say(":0");
    assert!(stage.sent().is_empty() && !stage.core.is_busy());
    assert_eq!(stage.told(), [format!("freed {} ok", id)]);
}

#[test]
fn a_grant_that_tells_how_long_it_is_good_is_not_checked() {
    let mut stage = online();
    let id = stage.ask("a", None);
    let lock = stage.sent();
    assert!(lock[0].contains(" VALIDITY "), "{}", lock[0]);
    stage.say("+QUEUED");
    stage.pass(500 * MS);
    stage.say(&format!(">4\r\n+grant\r\n+{}\r\n:7\r\n:3000", asked(&lock[0])));
    assert!(stage.sent().is_empty());
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
    assert_eq!(stage.core.deadline(id), Some(stage.now + 2500 * MS), "it counts from when the LOCK was sent");
}

#[test]
fn a_grant_whose_wait_took_a_third_of_its_time_is_checked() {
    let mut stage = online();
    let id = stage.ask("a", None);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.pass(1001 * MS);
    stage.say(&format!(">4\r\n+grant\r\n+{}\r\n:7\r\n:3000", asked(&lock[0])));
    assert!(stage.told().is_empty() && stage.sent()[0].starts_with("CHECK a "));
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
}

#[test]
fn an_older_daemon_is_asked_without_validity() {
    let mut stage = online();
    let id = stage.ask("a", None);
    stage.sent();
    stage.say("-ERR VALIDITY and ASYNC exclude each other: send CHECK after the grant");
    let lock = stage.sent();
    assert!(!lock[0].contains("VALIDITY"), "{}", lock[0]);
    stage.say("+QUEUED");
    stage.grant(&asked(&lock[0]), 7);
    assert!(stage.sent()[0].starts_with("CHECK a "));
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
    assert!(stage.core.is_used());
}

#[test]
fn an_unlock_is_repeated_until_nothing_is_left() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.core.release(id, false, stage.now);
    stage.sent();
    stage.say(":1"); // a LOCK was counted twice
    assert_eq!(stage.sent().len(), 1);
    stage.say("-NOTHELD");
    assert!(stage.sent().is_empty() && !stage.core.is_busy());
}

#[test]
fn one_of_a_crowd_waits_at_the_daemon() {
    let mut stage = online();
    let (first, second, third) = (stage.ask("a", None), stage.ask("a", None), stage.ask("a", None));
    let sent = stage.sent();
    assert_eq!(sent.len(), 1);
    stage.core.release(second, false, stage.now); // a task that is cancelled
    stage.sent();
    stage.say("+QUEUED");
    stage.say("-NOTHELD");
    stage.grant(&asked(&sent[0]), 7);
    let sent = stage.sent();
    assert!(sent[0].starts_with("CHECK a") && sent[1].starts_with("LOCK a"), "{:?}", sent);
    stage.say(":3000");
    stage.say("+QUEUED");
    stage.grant(&asked(&sent[1]), 8);
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", first), format!("held {} 8", third)]);
}

#[test]
fn a_try_and_an_owner_are_never_in_the_queue() {
    let mut stage = online();
    stage.ask("a", None);
    stage.ask("a", Some(Duration::ZERO));
    stage.ask_as("a", "me", None, &[]);
    stage.ask_as("a", "", None, &["LIMIT", "3"]); // another kind
    assert_eq!(stage.sent().len(), 4);
}

#[test]
fn all_of_a_queue_hear_a_refusal_themselves() {
    let mut stage = online();
    let first = stage.ask("a", None);
    stage.ask("a", None);
    stage.ask("a", None);
    stage.sent();
    stage.say("-WRONGKIND it is a semaphore");
    assert_eq!(stage.told(), [format!("failed {} WRONGKIND", first)]);
    let locks = stage.sent().iter().filter(|request| request.starts_with("LOCK")).count();
    assert_eq!(locks, 2);
}

#[test]
fn who_waits_behind_another_tries_once_when_its_wait_is_over() {
    let mut stage = online();
    stage.ask("a", None);
    let late = stage.ask("a", Some(S));
    let first = stage.sent();
    stage.say("+QUEUED");
    stage.pass(S + MS);
    let sent = stage.sent();
    assert_eq!((first.len(), sent.len()), (1, 1));
    assert!(sent[0].ends_with("WAIT 0"), "{}", sent[0]);
    stage.say("+QUEUED");
    stage.fail(&asked(&sent[0]));
    assert!(stage.sent().iter().any(|request| request.starts_with("INSPECT a")));
    stage.say("%1\r\n+holder\r\n%1\r\n+token\r\n:9");
    assert_eq!(stage.told(), [format!("failed {} timeout 9", late)]);
}

#[test]
fn a_wait_that_is_dropped_is_cancelled_and_given_back() {
    let mut stage = online();
    let id = stage.ask("a", None);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.core.release(id, false, stage.now);
    assert_eq!(stage.sent(), [format!("CANCEL {}", asked(&lock[0])), format!("UNLOCK a OWNER o{}", id)]);
    stage.grant(&asked(&lock[0]), 7); // at the same moment
    stage.say(":0");
    stage.say(":0");
    stage.say("-NOTHELD");
    assert!(!stage.core.is_busy());
    assert!(stage.told().is_empty());
}

#[test]
fn a_lock_that_is_granted_and_dropped_before_it_is_checked_is_given_back() {
    let mut stage = online();
    let id = stage.ask("a", None);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.grant(&asked(&lock[0]), 7);
    stage.core.release(id, false, stage.now);
    assert!(stage.sent().last().unwrap().starts_with("UNLOCK a"));
    stage.say(":3000"); // of CHECK
    stage.say(":0");
    stage.say("-NOTHELD");
    assert!(!stage.core.is_busy() && stage.told().is_empty());
}

#[test]
fn a_loss_is_told_and_given_up_when_its_user_gives_it_up() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.say(&format!(">5\r\n+lost\r\n+a\r\n+o{}\r\n:6\r\n+taken of an earlier hold", id));
    assert!(stage.told().is_empty());
    stage.say(&format!(">5\r\n+lost\r\n+a\r\n+o{}\r\n:7\r\n+broken an administrator broke it", id));
    assert_eq!(stage.told(), [format!("lost {} broken", id)]);
    assert!(stage.sent().is_empty());
    assert_eq!(stage.core.deadline(id), None);
    assert_eq!(stage.core.loss_of(id).unwrap().reason, "broken");
    stage.core.release(id, true, stage.now);
    assert_eq!(stage.told(), [format!("freed {} broken", id)]);
    assert_eq!(stage.sent(), [format!("UNLOCK a OWNER o{} TOKEN 7", id)]);
    assert!(stage.core.loss_of(id).is_none());
}

#[test]
fn a_loss_whose_user_says_nothing_is_given_up_at_the_announced_deadline() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.say(&format!(">5\r\n+lost\r\n+a\r\n+o{}\r\n:7\r\n+broken an administrator broke it", id));
    stage.pass(3 * S);
    assert_eq!(stage.sent(), [format!("UNLOCK a OWNER o{} TOKEN 7", id)]);
    stage.say("-LOST broken an administrator broke it");
    assert!(!stage.core.is_busy());
}

#[test]
fn a_daemon_that_does_not_answer_is_a_loss_at_the_announced_deadline() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.pass(3 * S - MS);
    assert!(stage.told().is_empty());
    stage.pass(S + 200 * MS);
    assert_eq!(stage.told(), [format!("lost {} unreachable", id)]);
}

#[test]
fn a_process_that_stood_still_asks_before_it_counts_a_lock_as_lost() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.stand(10 * S);
    assert!(stage.sent()[0].starts_with("CHECK a"));
    assert!(stage.told().is_empty());
    stage.pass(900 * MS);
    stage.say(":3000");
    assert!(stage.told().is_empty());
    assert!(stage.core.deadline(id).unwrap() > stage.now, "the daemon has renewed it");
    stage.stand(10 * S);
    stage.pass(LATE + 2 * STOOD);
    assert_eq!(stage.told(), [format!("lost {} unreachable", id)], "the daemon does not answer");
}

#[test]
fn a_process_that_stood_still_until_about_the_deadline_waits_for_the_answer() {
    for stood in [2990 * MS, 3050 * MS] {
        let mut stage = online();
        let id = stage.hold("a", 7, 3000);
        stage.stand(stood);
        assert!(stage.sent()[0].starts_with("CHECK a"));
        stage.pass(20 * MS);
        stage.stand(Duration::ZERO); // a caller asks for something
        stage.pass(500 * MS);
        assert!(stage.told().is_empty());
        stage.say(":3000");
        assert!(stage.core.deadline(id).unwrap() > stage.now, "the daemon has renewed it");
    }
}

#[test]
fn a_host_that_is_always_late_hears_of_a_loss_all_the_same() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    for _ in 0..6 {
        stage.stand(2 * S);
    }
    assert_eq!(stage.told(), [format!("lost {} unreachable", id)]);
}

#[test]
fn a_process_that_stood_still_while_it_waited_reads_its_grant_first() {
    let mut stage = online();
    let id = stage.ask("a", Some(S));
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.stand(10 * S);
    assert!(stage.told().is_empty());
    stage.grant(&asked(&lock[0]), 7);
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
}

#[test]
fn an_answer_from_before_a_standstill_is_old() {
    let mut stage = online();
    let id = stage.ask("a", None);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.grant(&asked(&lock[0]), 7);
    stage.sent();
    stage.now += 5 * S;
    stage.say(":3000");
    assert!(stage.told().is_empty() && stage.sent()[0].starts_with("CHECK a"));
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
}

#[test]
fn a_new_connection_comes_back_to_the_session() {
    let mut stage = online();
    stage.hold("a", 7, 9000);
    let waits = stage.ask("b", None);
    let lock = stage.sent();
    stage.core.cut(stage.now, Error::unreachable("cut"), false);
    let sent = stage.connect(":1");
    assert!(sent.contains(&"SESSION JOIN secret".to_owned()), "a bound session is joined");
    assert!(sent.iter().any(|request| request.starts_with("CHECK a ")));
    assert_eq!(asked(sent.last().unwrap()), asked(&lock[0]), "the same id keeps the place");
    stage.say(":3000");
    stage.say(":8"); // it was granted meanwhile
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 8", waits)]);
}

#[test]
fn a_session_without_a_process_is_resumed() {
    let mut stage = stage();
    stage.connect("-ERR no such process");
    stage.core.cut(stage.now, Error::unreachable("cut"), false);
    assert!(stage.connect(":0").contains(&"SESSION RESUME secret".to_owned()));
}

#[test]
fn no_daemon_is_unreachable_after_the_patience_however_long_the_wait_is() {
    let mut stage = stage();
    let (long, short) = (stage.ask("a", None), stage.ask("b", Some(S)));
    stage.pass(S);
    stage.core.cut(stage.now, Error::unreachable("nobody"), true);
    assert_eq!(stage.told(), [format!("failed {} unreachable", short)]);
    stage.pass(4 * S);
    assert_eq!(stage.told(), [format!("failed {} unreachable", long)]);
    assert!(stage.core.is_busy(), "what was asked for is given up over the next connection");
    assert!(stage.connect(":0").iter().any(|request| request.starts_with("UNLOCK a")));
}

#[test]
fn something_else_that_answers_fails_at_once() {
    let mut stage = stage();
    let id = stage.ask("a", None);
    stage.core.connected(stage.now, None);
    let why = stage.core.receive(b"-ERR unknown command 'HELLO'\r\n", stage.now).unwrap_err();
    assert!(!why.is_transient());
    stage.core.cut(stage.now, why, false);
    assert_eq!(stage.told(), [format!("failed {} unreachable", id)]);
}

#[test]
fn a_daemon_that_ends_is_asked_again() {
    let mut stage = online();
    let id = stage.ask("a", None);
    stage.sent();
    stage.say("-DRAINING it ends");
    stage.pass(RETRY + MS);
    let again = stage.sent();
    stage.say("+QUEUED");
    stage.grant(&asked(&again[0]), 7);
    stage.say(":3000");
    assert_eq!(stage.told(), [format!("held {} 7", id)]);
}

#[test]
fn who_may_not_wait_for_more_stands_in_the_line() {
    let mut stage = online();
    stage.ask("a", None);
    let first = stage.sent();
    stage.say("+QUEUED");
    let late = stage.ask("b", Some(S));
    stage.ask("c", None);
    stage.sent();
    stage.say("-LIMIT waiters-per-session: 1");
    stage.say("-LIMIT waiters-per-session: 1");
    assert!(stage.sent().is_empty());
    stage.pass(S + MS);
    stage.say("_"); // of INSPECT
    assert_eq!(stage.told(), [format!("failed {} timeout -", late)]);
    stage.sent();
    stage.say("-NOTHELD"); // of b
    stage.grant(&asked(&first[0]), 7);
    assert!(stage.sent().iter().any(|request| request.starts_with("LOCK c")));
}

#[test]
fn an_owner_shares_its_hold() {
    let mut stage = online();
    let first = stage.ask_as("a", "me", None, &[]);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.grant(&asked(&lock[0]), 7);
    stage.say(":3000");
    let second = stage.ask_as("a", "me", None, &[]);
    assert_eq!(stage.told(), [format!("held {} 7", first), format!("held {} 7", second)]);
    stage.sent();
    stage.core.release(first, true, stage.now);
    assert!(stage.sent().is_empty());
    stage.core.release(second, false, stage.now);
    assert!(stage.sent()[0].starts_with("UNLOCK a"));
}

#[test]
fn a_release_that_nobody_confirms_is_told_and_goes_on() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    stage.core.release(id, true, stage.now);
    stage.core.cut(stage.now, Error::unreachable("cut"), false);
    stage.pass(UNLOCK + MS);
    assert_eq!(stage.told(), [format!("freed {} unreachable", id)]);
    assert!(stage.connect(":0").iter().any(|request| request.starts_with("UNLOCK a")));
}

#[test]
fn a_command_is_answered_also_if_the_lock_is_lost_meanwhile() {
    let mut stage = online();
    let id = stage.hold("a", 7, 3000);
    assert!(stage.core.command(900, id, &["EXTEND", "5000"], stage.now));
    stage.say(":5000");
    assert_eq!(stage.core.deadline(id), Some(stage.now + 5 * S));
    assert!(stage.core.command(901, id, &["DOWNGRADE"], stage.now));
    stage.say(&format!(">5\r\n+lost\r\n+a\r\n+o{}\r\n:7\r\n+taken", id));
    assert_eq!(stage.told(), ["answered 5000".to_owned(), format!("lost {} taken", id), "answered taken".to_owned()]);
    assert!(!stage.core.command(902, id, &["DOWNGRADE"], stage.now));
}

#[test]
fn a_wait_that_lasts_is_told_with_the_place_of_who_is_behind() {
    let mut stage = online();
    let front = stage.ask("a", None);
    let id = stage.core.next_id();
    let mut claim = Claim::new("a", "other", Vec::new(), None, stage.now);
    claim.hears = true;
    stage.core.acquire(id, claim, stage.now);
    stage.say("+QUEUED");
    stage.sent();
    stage.pass(NOTICE + MS);
    assert_eq!(stage.sent(), ["INSPECT a COUNT 64"]);
    stage.say(&format!(
        "%2\r\n+holder\r\n%1\r\n+token\r\n:9\r\n+waiters\r\n*1\r\n%2\r\n+owner\r\n+o{}\r\n+position\r\n:2",
        front
    ));
    assert_eq!(stage.told(), [format!("lasts {} Some(3)", id)]);
}

#[test]
fn a_daemon_that_is_silent_while_somebody_waits_is_noticed() {
    let mut stage = online();
    stage.ask("a", None);
    stage.sent();
    stage.say("+QUEUED");
    stage.pass(SILENCE + MS);
    assert_eq!(stage.sent(), ["PING"]);
    stage.pass(SILENCE + STOOD + MS);
    assert!(stage.core.stalled);
}

#[test]
fn a_holder_that_waits_for_itself_hears_so() {
    let mut stage = online();
    stage.hold("a", 7, 60_000);
    stage.pass(S);
    let id = stage.ask("a", Some(Duration::ZERO));
    stage.sent();
    stage.say("+QUEUED");
    let lock = format!("p-{}", stage.core.asks.keys().next().unwrap());
    stage.fail(&lock);
    match &stage.core.calls[..] {
        [Call::Failed { claim, error: Error::Busy(busy) }] => assert_eq!((*claim, busy.ours), (id, Some(S))),
        other => panic!("{:?}", other),
    }
}

#[test]
fn the_rule_for_a_name_bounds_the_waits_of_all_of_its_queue() {
    let mut stage = online();
    let front = stage.ask("a", None);
    stage.ask("a", None);
    let lock = stage.sent();
    stage.say("+QUEUED");
    stage.pass(3 * S);
    stage.sent();
    stage.fail(&asked(&lock[0])); // the request has no WAIT: it is the rule that ends it
    let sent = stage.sent();
    let next = sent.iter().find(|request| request.starts_with("LOCK a")).unwrap();
    assert!(next.ends_with("WAIT 0"), "{}", next);
    assert!(!next.contains(&format!("OWNER o{}", front)));
}
