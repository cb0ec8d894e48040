//! The pool test (tests/e2e/pools.py) of redis-rs: a pool of r2d2. A request that times out is an error, and sent again
//! here.

use redis::{Client, ErrorKind, RedisError, RedisResult};
use std::time::Duration;
use std::{env, thread};

const TASKS: usize = 10;
const NAMES: [&str; 4] = ["deploy", "report", "import", "orders"];

#[derive(Clone)]
struct Locks {
    pool: r2d2::Pool<Client>,
    timeout: Duration,
}

impl Locks {
    fn send(&self, words: &[&str]) -> RedisResult<Option<i64>> {
        loop {
            match self.try_once(words) {
                Err(error) if error.code().is_none() => {
                    println!("again");
                    thread::sleep(Duration::from_millis(5));
                }
                answer => return answer,
            }
        }
    }

    fn try_once(&self, words: &[&str]) -> RedisResult<Option<i64>> {
        let mut connection =
            self.pool.get().map_err(|error| RedisError::from((ErrorKind::Io, "no connection", error.to_string())))?;
        connection.set_read_timeout(Some(self.timeout))?;
        redis::cmd(words[0]).arg(&words[1..]).query::<Option<i64>>(&mut connection)
    }

    fn operate(&self, name: &str, task: usize) -> Result<(), String> {
        let me = format!("{:032x}", rand::random::<u128>());
        let token = self.send(&["LOCK", name, "WAIT", "120000", "AS", &me]).map_err(|error| error.to_string())?;
        let token = token.ok_or("null")?; // another client has it
        println!("enter {name} {task} {token}");
        thread::sleep(Duration::from_micros(rand::random_range(0..10_000)));
        println!("leave {name} {task}");
        match self.send(&["UNLOCK", name, "TOKEN", &token.to_string(), "AS", &me]) {
            Ok(Some(0)) => Ok(()),
            other => Err(format!("UNLOCK: {other:?}")),
        }
    }
}

fn main() {
    let words: Vec<u64> = env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let client = Client::open(("127.0.0.1", words[0] as u16)).unwrap();
    let locks = Locks { pool: r2d2::Pool::new(client).unwrap(), timeout: Duration::from_millis(words[2]) };
    let each = words[1] as usize / TASKS;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let locks = locks.clone();
            thread::spawn(move || {
                for _ in 0..each {
                    let name = NAMES[rand::random_range(0..NAMES.len())];
                    if let Err(error) = locks.operate(name, task) {
                        println!("failed {name} {task} {error}");
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
}
