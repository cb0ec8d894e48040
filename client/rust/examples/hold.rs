//! Holds the lock `a` of the daemon that HOLDFAST_URL names until a line is read.

fn main() -> Result<(), holdfast::Error> {
    let lock = holdfast::lock("a").acquire()?;
    println!("began");
    let _ = std::io::stdin().read_line(&mut String::new());
    println!("holds {} {}", lock.is_held(), lock.token());
    lock.release()
}
