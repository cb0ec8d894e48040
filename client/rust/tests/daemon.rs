//! Against a real holdfastd and a real redis-server, whose paths come from the environment: `make check-rust`. What each package has to
//! do is in tests/conformance; this is what Rust alone has: drops, futures, threads.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use holdfast::{Client, Error, Event, Request};

const HANG: Duration = Duration::from_secs(60);

/// A daemon with a master of its own, until it is dropped.
struct Stage {
    folder: PathBuf,
    redis: Child,
    daemon: Child,
}

fn program(variable: &str) -> Command {
    Command::new(
        std::env::var(variable).unwrap_or_else(|_| panic!("{} has to be a path: use `make check-rust`", variable)),
    )
}

fn wait_until(what: &str, there: impl Fn() -> bool) {
    let end = Instant::now() + HANG;
    while !there() {
        assert!(Instant::now() < end, "{}", what);
        thread::sleep(Duration::from_millis(2));
    }
}

impl Stage {
    fn new(config: &str) -> Stage {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let folder = std::env::temp_dir().join(format!("holdfast-rust-{}-{}", std::process::id(), number));
        std::fs::create_dir_all(&folder).unwrap();
        let redis = program("REDIS_SERVER")
            .args(["--port", "0", "--save", "", "--unixsocket", "redis.sock", "--dir", "."])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let text = format!(
            "listen: [ {{ unix: {0}/holdfast.sock, mode: \"0600\" }} ]\nmasters: [ \"unix://{0}/redis.sock\" ]\nrestart-guard: off\n{1}",
            folder.display(),
            config
        );
        std::fs::write(folder.join("holdfast.yml"), text).unwrap();
        wait_until("redis-server", || UnixStream::connect(folder.join("redis.sock")).is_ok());
        let daemon = Stage::start(&folder);
        let stage = Stage { folder, redis, daemon };
        // A new daemon grants nothing until every lease of an earlier one is over.
        stage.lock("admitted").wait(HANG).acquire().unwrap().release().unwrap();
        stage
    }

    fn start(folder: &Path) -> Child {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        let mut daemon = program("HOLDFASTD");
        daemon.args(["-c", "holdfast.yml"]).current_dir(folder).stdout(Stdio::null()).stderr(log);
        let daemon = daemon.spawn().unwrap();
        wait_until("holdfastd", || UnixStream::connect(folder.join("holdfast.sock")).is_ok());
        daemon
    }

    fn socket(&self) -> String {
        self.folder.join("holdfast.sock").display().to_string()
    }

    fn lock(&self, name: &str) -> Request {
        Client::open(&self.socket()).unwrap().lock(name)
    }

    /// One request over a connection of its own, and the first line of its answer.
    fn ask(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        writeln!(stream, "{}", request).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn is_free(&self, name: &str) -> bool {
        self.ask(&format!("LOCK {} WAIT 0", name)).starts_with(':')
    }

    /// Another connection has the lock until it is dropped.
    fn other(&self, name: &str) -> UnixStream {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        writeln!(stream, "LOCK {}", name).unwrap();
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with(':'), "{}", line);
        stream
    }

    fn waiters(&self, name: &str) -> usize {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        write!(stream, "INSPECT {}\r\nQUIT\r\n", name).unwrap();
        let lines: Vec<String> = BufReader::new(stream).lines().map_while(Result::ok).collect();
        let at = lines.iter().position(|line| line == "waiters").unwrap();
        lines[at + 1][1..].parse().unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.redis.kill();
        let _ = (self.daemon.wait(), self.redis.wait());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const CALM: &str = "lease: 60s\nclock-margin: 1s\n";
const BRISK: &str = "lease: 2s\nclock-margin: 200ms\n";

#[test]
fn a_guard_that_is_dropped_gives_the_lock_back() {
    let stage = Stage::new(CALM);
    let guard = stage.lock("a").acquire().unwrap();
    assert!(guard.is_held() && guard.token() > 0 && !stage.is_free("a"));
    drop(guard);
    wait_until("the lock is free", || stage.is_free("a"));
    stage.lock("a").acquire().unwrap().release().unwrap();
    assert!(stage.is_free("a"), "release() waits for the answer");
}

#[test]
fn a_panic_gives_the_lock_back() {
    let stage = Stage::new(CALM);
    let request = stage.lock("a");
    let panicked = thread::spawn(move || {
        let _guard = request.acquire().unwrap();
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    wait_until("the lock is free", || stage.is_free("a"));
}

#[tokio::test]
async fn a_future_that_is_dropped_leaves_nothing_behind() {
    let stage = Stage::new(CALM);
    let other = stage.other("a");
    let late = tokio::time::timeout(Duration::from_millis(200), stage.lock("a").acquire_async()).await;
    assert!(late.is_err());
    wait_until("nobody waits", || stage.waiters("a") == 0);
    drop(other);
    wait_until("the lock is free", || stage.is_free("a"));
}

/// Futures are dropped around the moment of the grant.
#[tokio::test]
async fn a_future_that_is_dropped_at_any_moment_leaves_nothing_behind() {
    let stage = Stage::new(CALM);
    for round in 0..300 {
        let time = Duration::from_micros(10 * round);
        let result = tokio::time::timeout(time, stage.lock("a").acquire_async()).await;
        drop(result);
    }
    wait_until("the lock is free", || stage.is_free("a"));
    assert_eq!(stage.waiters("a"), 0);
}

/// Who has the lock; it leaves before the guard that was made before it.
struct Inside(Arc<AtomicU32>);

impl Inside {
    fn enter(inside: Arc<AtomicU32>) -> Inside {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
        Inside(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_exclude_each_other_also_when_some_are_aborted() {
    let stage = Stage::new(CALM);
    let inside = Arc::new(AtomicU32::new(0));
    let work = |request: Request, inside: Arc<AtomicU32>, waits: bool| async move {
        let guard = request.acquire_async().await.unwrap();
        let here = Inside::enter(inside);
        tokio::task::yield_now().await;
        drop(here);
        if waits {
            guard.release_async().await.unwrap();
        }
    };
    let tasks: Vec<_> =
        (0..200).map(|number| tokio::spawn(work(stage.lock("a"), inside.clone(), number % 2 == 0))).collect();
    for task in tasks.iter().skip(3).step_by(10) {
        tokio::task::yield_now().await;
        task.abort();
    }
    for (number, task) in tasks.into_iter().enumerate() {
        if let Err(error) = task.await {
            assert!(error.is_cancelled() && number % 10 == 3, "{}", error);
        }
    }
    assert_eq!(inside.load(Ordering::SeqCst), 0);
    wait_until("the lock is free", || stage.is_free("a"));
}

#[test]
fn a_runtime_that_ends_leaves_nothing_behind() {
    let stage = Stage::new(CALM);
    let other = stage.other("b");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let guard = runtime.block_on(stage.lock("a").acquire_async()).unwrap();
    runtime.spawn(stage.lock("b").acquire_async());
    runtime.spawn(async move {
        let _guard = guard;
        std::future::pending::<()>().await;
    });
    wait_until("it waits", || stage.waiters("b") == 1);
    drop(runtime);
    wait_until("both are gone", || stage.is_free("a") && stage.waiters("b") == 0);
    drop(other);
}

#[tokio::test]
async fn a_loss_ends_the_work() {
    let stage = Stage::new(BRISK);
    let (sender, told) = channel();
    let guard = stage.lock("a").on_lost(move |lost| sender.send(lost.clone()).unwrap()).acquire_async().await.unwrap();
    let watch = guard.watch();
    let begun = Instant::now();
    assert!(stage.ask(&format!("BREAK a TOKEN {}", guard.token())).starts_with(':'));
    let lost = tokio::time::timeout(HANG, guard.lost()).await.unwrap();
    println!("told of a loss after {:?}", begun.elapsed());
    assert_eq!((lost.reason.as_str(), lost.token), ("broken", guard.token()));
    assert_eq!(told.recv_timeout(HANG).unwrap(), lost);
    assert_eq!(watch.wait_lost(HANG), Some(lost.clone()));
    assert!(!guard.is_held() && !watch.is_held());
    assert!(matches!(guard.check(), Err(Error::Lost(told)) if told == lost));
    assert!(matches!(guard.extend(HANG), Err(Error::Lost(_))));
    assert!(matches!(guard.release_async().await, Err(Error::Lost(_))));
}

#[test]
fn a_daemon_that_is_gone_is_a_loss_and_one_that_comes_back_is_none() {
    let mut stage = Stage::new(BRISK);
    let guard = stage.lock("a").acquire().unwrap();
    stage.daemon.kill().unwrap();
    stage.daemon.wait().unwrap();
    stage.daemon = Stage::start(&stage.folder);
    let watch = guard.watch();
    assert_eq!(watch.wait_lost(Duration::from_secs(3)), None, "it came back");
    assert!(guard.is_held());
    stage.daemon.kill().unwrap();
    let lost = watch.wait_lost(HANG).unwrap();
    assert_eq!(lost.reason, "unreachable");
    assert!(!guard.is_held());
}

#[test]
fn all_kinds_of_locks() {
    let stage = Stage::new(CALM);
    let client = Client::open(&stage.socket()).unwrap();
    let (one, two) =
        (client.lock("p").limit(3).permits(2).acquire().unwrap(), client.lock("p").limit(3).acquire().unwrap());
    assert!(matches!(client.lock("p").limit(3).try_acquire(), Err(Error::Busy(busy)) if busy.ours.is_some()));
    let (reader, again) = (client.lock("s").shared().acquire().unwrap(), client.lock("s").shared().acquire().unwrap());
    assert!(client.lock("s").try_acquire().unwrap_err().is_busy());
    let owned = client.lock("o").owner("me").acquire().unwrap();
    let nested = client.lock("o").owner("me").try_acquire().unwrap();
    assert_eq!(owned.token(), nested.token());
    owned.release().unwrap();
    assert!(nested.is_held() && !stage.is_free("o"));
    let writer = client.lock("d").lease(HANG).acquire().unwrap();
    writer.extend(2 * HANG).unwrap();
    writer.downgrade().unwrap();
    let beside = client.lock("d").shared().try_acquire().unwrap();
    let all = client.lock_all(["z", "y"]).acquire().unwrap();
    assert_eq!(all.tokens().len(), 2);
    assert!(!stage.is_free("y") && !stage.is_free("z"));
    assert!(client.lock_all(["x", "y"]).try_acquire().unwrap_err().is_busy());
    assert!(stage.is_free("x"), "all or none");
    drop((one, two, reader, again, nested, beside, all));
    writer.release().unwrap();
    wait_until("all are free", || ["p", "s", "o", "d", "y", "z"].iter().all(|name| stage.is_free(name)));
}

#[test]
fn events_are_told() {
    let stage = Stage::new(CALM);
    let (sender, told) = channel();
    let sender = std::sync::Mutex::new(sender);
    let observation = holdfast::observe(move |event| {
        let said = match event {
            Event::Hold { name, .. } => format!("hold {}", name),
            Event::Release { name, .. } => format!("release {}", name),
            Event::Fail { name, error, .. } => format!("fail {} {}", name, error.is_busy()),
            _ => return,
        };
        // Other tests run beside this one.
        if said.contains("observed") {
            sender.lock().unwrap().send(said).unwrap();
        }
    });
    let guard = stage.lock("observed").acquire().unwrap();
    assert!(stage.lock("observed").try_acquire().is_err());
    guard.release().unwrap();
    for said in ["hold observed", "fail observed true", "release observed"] {
        assert_eq!(told.recv_timeout(HANG).unwrap(), said);
    }
    drop(observation);
}

#[test]
fn a_callback_may_lock() {
    let stage = Stage::new(CALM);
    let (sender, told) = channel();
    let request = stage.lock("b");
    let called = move |_: &holdfast::Lost| sender.send(request.clone().acquire().unwrap().token()).unwrap();
    let guard = stage.lock("a").on_lost(called).acquire().unwrap();
    stage.ask(&format!("BREAK a TOKEN {}", guard.token()));
    assert!(told.recv_timeout(HANG).unwrap() > 0);
}
