//! When is a peer to end? When somebody says so: by a signal, or, on a leash, by ending its standard input.

use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Returns when the process is told to end.
///
/// # Errors
/// When signals cannot be listened to.
pub async fn until_told(leash: bool) -> io::Result<()> {
    tokio::select! {
        told = until_signalled() => told,
        () = until_let_go(leash) => Ok(()),
    }
}

/// Returns at SIGTERM or SIGINT.
///
/// # Errors
/// When signals cannot be listened to.
pub async fn until_signalled() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
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
