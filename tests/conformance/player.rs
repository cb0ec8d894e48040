// A program that uses the package for Rust as README.md says: it does what it is told line by line. Half of a crowd are tasks.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use holdfast::{Error, Guard, Request};

#[derive(Default)]
struct Stage {
    locks: Mutex<HashMap<String, Guard>>,
    errors: Mutex<HashMap<String, Error>>, // of lock
}

fn say(id: &str, verb: &str, words: impl Display) {
    println!("{} {} {}", id, verb, words);
}

fn duration(text: &str) -> Duration {
    match text {
        "forever" => Duration::MAX,
        "long" => Duration::from_secs(366 * 86400),
        seconds => Duration::from_secs_f64(seconds.parse().unwrap()),
    }
}

fn unquoted(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(part[2..].as_bytes());
    }
    String::from_utf8(bytes).unwrap()
}

fn request(words: &[String]) -> Request {
    words[1..].iter().fold(holdfast::lock(unquoted(&words[0])), |lock, word| {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "wait" => lock.wait(duration(value)),
            "lease" => lock.lease(duration(value)),
            "max_hold" => lock.max_hold(duration(value)),
            "limit" => lock.limit(value.parse().unwrap()),
            "permits" => lock.permits(value.parse().unwrap()),
            "shared" => lock.shared(),
            "owner" => lock.owner(unquoted(value)),
            "why" => lock.why(unquoted(value)),
            "watch" => {
                let id = value.to_owned();
                lock.on_wait(move |wait| {
                    let pid = wait
                        .holder
                        .as_ref()
                        .and_then(|holder| holder.pid)
                        .map_or("-".to_owned(), |pid| pid.to_string());
                    let place = wait.position.map_or("-".to_owned(), |place| place.to_string());
                    say(&id, "waits", format!("{} {} {}", pid, place, wait.waited.as_millis()));
                })
            }
            other => panic!("{}", other),
        }
    })
}

/// The words for what a call returns.
fn outcome(result: Result<(), Error>) -> String {
    let error = match result {
        Ok(()) => return "ok".to_owned(),
        Err(error) => error,
    };
    let word = match &error {
        Error::Argument(_) => "invalid".to_owned(),
        Error::Timeout(_) if error.is_busy() => "timeout".to_owned(),
        Error::Busy(_) if error.is_busy() => "busy".to_owned(),
        Error::Lost(lost) => format!("lost:{}", lost.reason),
        Error::Refused(refused) => format!("refused:{}", refused.code),
        Error::Unreachable(_) => "unreachable".to_owned(),
        _ => "other".to_owned(),
    };
    format!("{} {} {}", word, u8::from(error.is_transient()), error)
}

fn lock(stage: &Stage, id: &str, words: &[String]) {
    let told = id.to_owned();
    match request(words).on_lost(move |lost| say(&told, "told", &lost.reason)).acquire() {
        Ok(guard) => {
            let token = guard.token();
            stage.locks.lock().unwrap().insert(id.to_owned(), guard);
            say(id, "lock", format!("held {}", token));
        }
        Err(error) => {
            stage.errors.lock().unwrap().insert(id.to_owned(), error.clone());
            say(id, "lock", outcome(Err(error)));
        }
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// An executor of one task.
fn block_on<T>(mut task: Pin<Box<dyn Future<Output = T>>>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

fn crowd(id: &str, words: &[String]) {
    let inside = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0))); // now, and at most
    let count: usize = words[0].parse().unwrap();
    let threads = (0..count).map(|number| {
        let (inside, words) = (inside.clone(), words.to_vec());
        thread::spawn(move || {
            let request = holdfast::lock_all(words[1].split(',')).wait(duration(&words[2]));
            let guard = if number % 2 == 0 { request.acquire() } else { block_on(Box::pin(request.acquire_async())) }?;
            inside.1.fetch_max(inside.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            inside.0.fetch_sub(1, Ordering::SeqCst);
            if number % 4 < 2 {
                guard.release()
            } else {
                block_on(Box::pin(guard.release_async()))
            }
        })
    });
    let results: Vec<_> = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect();
    let error =
        results.iter().find_map(|result| result.as_ref().err()).map_or("-".to_owned(), |error| error.to_string());
    let held = results.iter().filter(|result| result.is_ok()).count();
    say(id, "crowd", format!("{} {} {}", held, inside.1.load(Ordering::SeqCst), error));
}

fn act(stage: &Arc<Stage>, id: &str, verb: &str, words: Vec<String>) {
    if verb == "lock" || verb == "crowd" {
        let (stage, id, crowded) = (stage.clone(), id.to_owned(), verb == "crowd");
        thread::spawn(move || if crowded { crowd(&id, &words) } else { lock(&stage, &id, &words) });
        return;
    }
    let mut locks = stage.locks.lock().unwrap();
    say(
        id,
        verb,
        match verb {
            "holder" => match stage.errors.lock().unwrap()[id].holder() {
                Some(holder) => format!("pid {} {} {}", holder.pid.unwrap_or(0), holder.token, holder.why),
                None => "nobody".to_owned(),
            },
            "valid" => locks[id].valid_for().as_millis().to_string(),
            "check" => outcome(locks[id].check()),
            "extend" => outcome(locks[id].extend(duration(&words[0]))),
            "unlock" => outcome(locks.remove(id).unwrap().release()),
            other => panic!("{}", other),
        },
    );
}

fn main() {
    let stage = Arc::new(Stage::default());
    say("-", "ready", "");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split_whitespace().map(str::to_owned);
        let (id, verb) = (words.next().unwrap(), words.next().unwrap());
        act(&stage, &id, &verb, words.collect());
    }
}
