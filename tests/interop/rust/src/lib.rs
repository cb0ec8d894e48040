//! The lines of a puppet (tests/interop/puppet.py), for the libraries of Rust.

use std::collections::HashMap;
use std::io::{stdin, BufRead};
use std::sync::Arc;
use std::thread;

pub enum Answer {
    Null,
    Int(i64),
    Text(String),
    List(Vec<String>),
}

/// Refused: an error reply, its code in front. Broken: everything else that fails.
pub enum Failure {
    Refused(String),
    Broken(String),
}

pub trait Client: Send + Sync {
    fn call(&self, words: &[String]) -> Result<Answer, Failure>;
    fn close(&self);
}

/// What a line `open` asks for.
pub struct Wanted {
    pub name: String,
    pub port: u16,
    pub shared: bool,
    pub patient: bool,
}

fn say(number: &str, kind: &str, text: &str) {
    let line = format!("{number} {kind} {text}");
    println!("{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
}

/// What the library tells of a client unasked.
pub fn event(client: &str, text: &str) {
    say("0", "event", &format!("{client} {text}"));
}

fn tell(number: &str, outcome: Result<Answer, Failure>) {
    match outcome {
        Ok(Answer::Null) => say(number, "null", ""),
        Ok(Answer::Int(value)) => say(number, "int", &value.to_string()),
        Ok(Answer::Text(text)) => say(number, "text", &text),
        Ok(Answer::List(items)) => say(number, "list", &items.join(" ")),
        Err(Failure::Refused(text)) => say(number, "refused", &text),
        Err(Failure::Broken(text)) => say(number, "broken", &text),
    }
}

/// What Cargo.lock has of a library.
fn version(library: &str) -> &'static str {
    include_str!("../Cargo.lock")
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?")
}

pub fn perform<F>(name: &str, library: &str, open: F)
where
    F: Fn(Wanted) -> Result<Arc<dyn Client>, String>,
{
    let port = std::env::args().next_back().unwrap().parse().unwrap();
    let mut clients: HashMap<String, Arc<dyn Client>> = HashMap::new();
    say("0", "ready", &format!("{name} {}", version(library)));
    for line in stdin().lock().lines() {
        let words: Vec<String> = line.unwrap().split(' ').map(String::from).collect();
        let number = words[0].clone();
        match words[1].as_str() {
            "open" => {
                let wanted = Wanted {
                    name: words[2].clone(),
                    port,
                    shared: words[3] == "shared",
                    patient: words.get(4).is_some(),
                };
                match open(wanted) {
                    Ok(client) => {
                        clients.insert(words[2].clone(), client);
                        say(&number, "ok", "");
                    }
                    Err(text) => say(&number, "broken", &text),
                }
            }
            "close" => {
                clients[&words[2]].close();
                say(&number, "ok", "");
            }
            _ => {
                let client = clients[&words[2]].clone();
                thread::spawn(move || tell(&number, client.call(&words[3..])));
            }
        }
    }
    std::process::exit(0);
}
