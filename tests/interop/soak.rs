// Locks at random, and writes down what it asked and was told, in the words of tests/history/HISTORY.md. tests/interop/soak starts it:
// PATH LOCKERS AHEAD unix|tcp. AHEAD: nanoseconds of CLOCK_BOOTTIME before CLOCK_MONOTONIC. Each locker writes to PATH.NUMBER. It ends
// when its standard input does. Half of the locks are taken in tasks.

use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use holdfast::{Error, Guard, Request};

const MS: Duration = Duration::from_millis(1);

/// Numbers at random: xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Nanoseconds of CLOCK_BOOTTIME. An Instant shows its clock to people only.
#[derive(Clone, Copy)]
struct Clock {
    base: Instant,
    at: u64,
}

impl Clock {
    fn new(ahead: i64) -> Clock {
        let base = Instant::now();
        let shown = format!("{:?}", base);
        let numbers: Vec<u64> =
            shown.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        assert_eq!(numbers.len(), 2, "{}", shown);
        Clock { base, at: (ahead + (numbers[0] * 1_000_000_000 + numbers[1]) as i64) as u64 }
    }

    fn now(&self) -> u64 {
        self.at + self.base.elapsed().as_nanos() as u64
    }
}

/// Each line is one write, so that a process that is killed leaves all it knew.
#[derive(Clone)]
struct Writer(Arc<Mutex<File>>, Clock);

impl Writer {
    fn tell(&self, words: String) {
        let mut file = self.0.lock().unwrap();
        let line = format!("{} {}\n", self.1.now(), words);
        file.write_all(line.as_bytes()).unwrap();
    }

    /// What a request has ended with, other than what was asked for.
    fn ends(&self, verb: &str, name: &str, error: Error) {
        match error {
            Error::Busy(_) | Error::Timeout(_) => self.tell(format!("null {}", name)),
            Error::Lost(lost) => self.tell(format!("error {} LOST {}", verb, lost.reason)),
            Error::Refused(refused) => self.tell(format!("error {} {}", verb, refused.code)),
            Error::Unreachable(_) => self.tell("end peer".to_owned()),
            other => panic!("{}", other),
        }
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// An executor of one task, which is dropped after so long. None: it was not done.
fn block_on<T>(mut task: Pin<Box<dyn Future<Output = T>>>, time: Duration) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let end = Instant::now() + time;
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return Some(result),
            Poll::Pending if Instant::now() >= end => return None,
            Poll::Pending => thread::park_timeout(end.saturating_duration_since(Instant::now())),
        }
    }
}

/// A name and a kind at random.
fn choose(writer: &Writer, chance: &mut Chance) -> (String, Request) {
    let kind = chance.below(6);
    let number = chance.below(16);
    let name = if kind == 1 || kind == 2 { format!("permits{}", number) } else { format!("name{}", number) };
    let request = holdfast::lock(&name);
    let (form, request) = match kind {
        0 => ("s".to_owned(), request.shared()),
        1 | 2 => (format!("p{}/3", kind), request.limit(3).permits(kind as u32)),
        _ => ("x".to_owned(), request),
    };
    let wait = match (chance.below(10), chance.below(10)) {
        (0, _) => 0,
        (_, 0) => 5,
        _ => 5000,
    };
    writer.tell(format!("ask {} {} {}", name, wait, form));
    let (told, lost) = (writer.clone(), name.clone());
    let request = request.wait(wait * MS);
    (name, request.on_lost(move |loss| told.tell(format!("told {} {} {}", lost, loss.token, loss.reason))))
}

/// One of 20 is dropped while it waits.
fn acquire(request: Request, chance: &mut Chance) -> Option<Result<Guard, Error>> {
    match chance.below(20) {
        0 => block_on(Box::pin(request.acquire_async()), 50 * MS),
        1..=10 => block_on(Box::pin(request.acquire_async()), Duration::from_secs(3600)),
        _ => Some(request.acquire()),
    }
}

/// One lock.
fn turn(writer: &Writer, chance: &mut Chance) {
    let (name, request) = choose(writer, chance);
    let guard = match acquire(request, chance) {
        Some(Ok(guard)) => guard,
        Some(Err(error)) => return writer.ends("LOCK", &name, error),
        None => return writer.tell(format!("null {}", name)),
    };
    writer.tell(format!("grant {} {} {}", name, guard.token(), guard.valid_for().as_millis()));
    match chance.below(100) {
        0 => thread::sleep(50 * MS),
        1..=24 => thread::sleep(MS),
        _ => {}
    }
    if guard.check().is_ok() {
        writer.tell(format!("check {}", name));
        writer.tell(format!("valid {} {}", name, guard.valid_for().as_millis()));
    }
    writer.tell(format!("unlock {}", name));
    let freed = match chance.below(2) {
        0 => guard.release(),
        _ => block_on(Box::pin(guard.release_async()), Duration::from_secs(3600)).unwrap(),
    };
    match freed {
        Ok(()) => writer.tell(format!("unlocked {} 0", name)),
        Err(error) => writer.ends("UNLOCK", &name, error),
    }
}

fn locker(path: &str, way: &str, clock: Clock, number: u64, stop: &AtomicBool) {
    let file = OpenOptions::new().create(true).append(true).open(format!("{}.{}", path, number)).unwrap();
    let writer = Writer(Arc::new(Mutex::new(file)), clock);
    let opening: &[&str] = if way == "unix" { &["bind", "bound 0"] } else { &[] };
    writer.tell(format!("open {}", way));
    for words in ["grace 10000", "graced"].iter().chain(opening) {
        writer.tell((*words).to_owned());
    }
    let mut chance = Chance((clock.now() + number) | 1);
    while !stop.load(Ordering::Relaxed) {
        turn(&writer, &mut chance);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let clock = Clock::new(words[2].parse().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let lockers: Vec<_> = (0..words[1].parse().unwrap())
        .map(|number| {
            let (path, way, stop) = (words[0].clone(), words[3].clone(), stop.clone());
            thread::spawn(move || locker(&path, &way, clock, number, &stop))
        })
        .collect();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    stop.store(true, Ordering::Relaxed);
    lockers.into_iter().for_each(|locker| locker.join().unwrap());
}
