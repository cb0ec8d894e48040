//! A child that was forked without exec. It is alone in its file: other tests would have threads.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast::{Client, Error};

struct Ends(Vec<Child>, std::path::PathBuf);

impl Drop for Ends {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = (child.kill(), child.wait());
        }
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

/// What a child sees; its exit status is the number of the first that is wrong.
fn in_child(client: &Client, guard: holdfast::Guard) -> i32 {
    if guard.is_held() {
        return 1;
    }
    if !matches!(guard.check(), Err(Error::Lost(lost)) if lost.reason == "forked") {
        return 2;
    }
    drop(guard);
    if client.lock("b").acquire().is_err() {
        return 3;
    }
    match client.lock("a").try_acquire() {
        Err(Error::Busy(_)) => 0,
        _ => 4, // the drop has given the lock of the parent back
    }
}

#[test]
fn a_forked_child_has_no_lock_of_its_parent_and_makes_a_connection_of_its_own() {
    let folder = std::env::temp_dir().join(format!("holdfast-rust-fork-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = |variable: &str| Command::new(std::env::var(variable).expect("use `make check-rust`"));
    let text = format!(
        "listen: [ {{ unix: {0}/holdfast.sock, mode: \"0600\" }} ]\nmasters: [ \"unix://{0}/redis.sock\" ]\nrestart-guard: off\n",
        folder.display()
    );
    std::fs::write(folder.join("holdfast.yml"), text).unwrap();
    let mut redis = program("REDIS_SERVER");
    redis.args(["--port", "0", "--save", "", "--unixsocket", "redis.sock"]).current_dir(&folder).stdout(Stdio::null());
    let mut daemon = program("HOLDFASTD");
    daemon.args(["-c", "holdfast.yml"]).current_dir(&folder).stderr(Stdio::null());
    let _ends = Ends(vec![redis.spawn().unwrap(), daemon.spawn().unwrap()], folder.clone());
    let client = Client::open(&folder.join("holdfast.sock").display().to_string()).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let guard = loop {
        match client.lock("a").wait(Duration::from_secs(30)).acquire() {
            Ok(guard) => break guard,
            Err(error) => assert!(error.is_transient() && Instant::now() < end, "{}", error),
        }
    };
    // SAFETY: the child ends by _exit, and unwinds into nothing of the test.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let status = in_child(&client, guard);
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
    assert!(guard.is_held());
    guard.release().unwrap();
}
