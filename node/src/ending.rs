//! How a peer ends when it is told to: within ten seconds, whatever it has in hand. Each part may take until its time is over,
//! counted from the word, however long those before it took.

use crate::driver::{PauseSource, ToDriver};
use crate::worker::index::ToIndexer;
use crate::worker::write::ToWriter;
use anthill_dht::Handle;
use crossbeam_channel::{Sender, bounded};
use std::future::Future;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is in flight may take so long to end, where no other peer takes slots over.
const DRAINED: Duration = Duration::from_secs(3);
/// Until then what is held here is handed over.
const LEFT: Duration = Duration::from_millis(4_500);
/// Until then goodbye is said with what is left: for a little longer than all others are waited for where they cannot go on yet, see
/// `ENOUGH` of `view/farewell.rs` in `protocol`.
const SAID: Duration = Duration::from_millis(7_700);
/// Until then answers under way are waited for.
const ANSWERED: Duration = Duration::from_secs(8);
/// Until then what is done is written down, and the process ends whatever is left: what was acknowledged is on disk, and the next start
/// does the rest, as after a crash.
const WRITTEN: Duration = Duration::from_millis(9_300);

/// The parts that other threads are joined by.
pub(crate) struct Threads {
    pub driver: JoinHandle<()>,
    pub writer: JoinHandle<()>,
    pub indexer: JoinHandle<()>,
    pub makers: Vec<JoinHandle<()>>,
}

/// What the threads are told by.
pub(crate) struct Wires {
    pub driver: Sender<ToDriver>,
    pub writer: Sender<ToWriter>,
    pub indexer: Sender<ToIndexer>,
}

/// A peer that was told to end.
pub(crate) struct Ending {
    told: Instant,
}

impl Ending {
    /// It was told just now.
    pub fn begin() -> Ending {
        tracing::info!("ending: what is in flight is waited for, then everything is written");
        Ending { told: Instant::now() }
    }

    /// What is left of the time until so long after the word.
    fn until(&self, end: Duration) -> Duration {
        end.saturating_sub(self.told.elapsed())
    }

    /// Fetches nothing any more, and waits for what is in flight. With `others` in the swarm it hands over what this peer holds
    /// meanwhile, and says goodbye. What is not handed over by then others take over when its leases have ended.
    /// `driver` is to be the way past all that waits for it.
    pub async fn leave(&self, driver: &Sender<ToDriver>, others: bool) {
        let (reply, drained) = bounded(1);
        let _ = driver.send(ToDriver::Pause(PauseSource::Shutdown, Some("shutting down".into())));
        let _ = driver.send(ToDriver::Drain(reply));
        if others {
            self.say_goodbye(driver).await;
        }
        let rest = self.until(DRAINED);
        let _ = tokio::task::spawn_blocking(move || drained.recv_timeout(rest)).await;
    }

    async fn say_goodbye(&self, driver: &Sender<ToDriver>) {
        let (reply, left) = bounded(1);
        let _ = driver.send(ToDriver::Leave(reply));
        let hurried = driver.clone();
        let (leaving, saying) = (self.told + LEFT, self.told + SAID);
        let said = tokio::task::spawn_blocking(move || {
            left.recv_deadline(leaving).or_else(|_| {
                tracing::warn!("not all could be done in time; the others take over what is left in a while");
                let _ = hurried.send(ToDriver::Hurry);
                left.recv_deadline(saying)
            })
        });
        match said.await {
            Ok(Ok(())) => tracing::info!("goodbye is said"),
            _ => tracing::warn!(
                "not all others answered in time that they heard the goodbye: who did not hear it finds out that this peer does not answer"
            ),
        }
    }

    /// Waits for answers under way.
    pub async fn answer(&self, serving: impl Future) {
        let _ = tokio::time::timeout(self.until(ANSWERED), serving).await;
    }

    /// Ends the threads, each when it has done what it was given, and the network. Says whether there was time for that; if not, the
    /// process is to end without them.
    ///
    /// # Errors
    /// A thread broke off.
    pub async fn write(
        &self,
        threads: Threads,
        wires: Wires,
        network: Option<Handle>,
    ) -> anyhow::Result<bool> {
        let written = tokio::task::spawn_blocking(move || end(threads, &wires));
        let Ok(written) = tokio::time::timeout(self.until(WRITTEN), written).await else {
            tracing::warn!(
                "not everything could be written in time; the next start reads, or fetches again, what is missing"
            );
            return Ok(false);
        };
        if let Some(network) = network {
            let _ = tokio::time::timeout(self.until(WRITTEN), network.stop()).await;
        }
        written?.map(|()| true)
    }
}

fn end(threads: Threads, wires: &Wires) -> anyhow::Result<()> {
    let _ = wires.driver.send(ToDriver::Stop);
    join(threads.driver)?;
    let _ = wires.writer.send(ToWriter::Stop);
    join(threads.writer)?;
    let _ = wires.indexer.send(ToIndexer::Stop);
    join(threads.indexer)?;
    // The makers end when the last fetching task is gone; what they might still make is fetched again.
    drop(threads.makers);
    Ok(())
}

fn join(thread: JoinHandle<()>) -> anyhow::Result<()> {
    thread.join().map_err(|_| anyhow::anyhow!("a thread of the peer broke off; the log says why"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    fn told_before(time: Duration) -> Ending {
        Ending { told: Instant::now().checked_sub(time).expect("machines have run for some seconds") }
    }

    fn word(message: &ToDriver) -> &'static str {
        match message {
            ToDriver::Pause(PauseSource::Shutdown, Some(_)) => "pause",
            ToDriver::Drain(_) => "drain",
            ToDriver::Leave(_) => "leave",
            ToDriver::Hurry => "hurry",
            _ => "another",
        }
    }

    async fn said(others: bool) -> Vec<&'static str> {
        let (driver, words) = unbounded();
        told_before(SAID - Duration::from_millis(100)).leave(&driver, others).await;
        words.try_iter().map(|message| word(&message)).collect()
    }

    #[tokio::test]
    async fn who_has_no_time_left_is_told_to_hurry_and_waited_for_no_longer() {
        assert_eq!(said(true).await, ["pause", "drain", "leave", "hurry"]);
        assert_eq!(said(false).await, ["pause", "drain"]);
    }

    #[tokio::test]
    async fn a_thread_that_takes_too_long_is_not_waited_for() {
        let (release, released) = bounded::<()>(1);
        let quick = || std::thread::spawn(|| ());
        let slow = std::thread::spawn(move || {
            let _ = released.recv();
        });
        let threads = Threads { driver: quick(), writer: slow, indexer: quick(), makers: Vec::new() };
        let wires = Wires { driver: unbounded().0, writer: unbounded().0, indexer: unbounded().0 };
        assert!(matches!(told_before(WRITTEN).write(threads, wires, None).await, Ok(false)));
        drop(release);
    }
}
