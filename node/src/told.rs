//! When is a peer to end? When somebody says so: by a signal, or, on a leash, by ending its standard input.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// SIGTERM and SIGINT. Once they are listened to neither ends the process by itself, and one that comes is remembered.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns at the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Returns when the process is told to end.
    pub async fn until_told(&mut self, leash: bool) {
        tokio::select! {
            () = self.next() => {}
            () = until_let_go(leash) => {}
        }
    }
}

/// Returns when standard input ends, which it does when whoever started this process is gone; without a leash never.
async fn until_let_go(leash: bool) {
    let (ended, end) = oneshot::channel();
    // Not a task: a runtime waits for whatever reads standard input before it ends.
    let reading = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    };
    if leash && std::thread::Builder::new().name("leash".to_owned()).spawn(reading).is_ok() {
        let _ = end.await;
    } else {
        std::future::pending().await
    }
}
