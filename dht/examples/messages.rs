//! `messages COUNT BYTES`: one peer sends another so many messages of that size, on loopback. For counting what a message costs.

use anthill_dht::{Config, Event, Handle, Identity, Incoming, Lane, Multiaddr};
use std::error::Error;
use std::path::Path;

/// Messages under way: fewer than a queue has room for.
const BURST: usize = 32;

async fn start(
    folder: &Path,
    bootstrap: Vec<Multiaddr>,
) -> Result<(Handle, Incoming, Multiaddr), Box<dyn Error>> {
    let mut config = Config::of("messages")?;
    config.listen = vec!["/ip4/127.0.0.1/tcp/0".parse()?];
    config.server = Some(true);
    config.bootstrap = bootstrap;
    let identity = Identity::load_or_create(&folder.join("peer.key"))?;
    let (handle, mut incoming) = anthill_dht::start(&identity, config)?;
    loop {
        if let Event::Address(address) = incoming.events.recv().await.ok_or("it ended")? {
            let whole = address.with_p2p(handle.me()).map_err(|_| "an address of another")?;
            return Ok((handle, incoming, whole));
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let (Some(Ok(count)), Some(Ok(bytes))) = (arguments.next(), arguments.next()) else {
        return Err("two numbers are wanted: how many messages, and of how many bytes".into());
    };
    let (one, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (to, mut incoming, address) = start(one.path(), Vec::new()).await?;
    let (from, mut events, _) = start(other.path(), vec![address]).await?;
    while !matches!(events.events.recv().await.ok_or("it ended")?, Event::Up(peer) if peer == to.me()) {}
    let mut left = count;
    while left > 0 {
        let burst = left.min(BURST);
        for _ in 0..burst {
            from.send(to.me(), Lane::Control, vec![7; bytes])?;
        }
        for _ in 0..burst {
            incoming.messages.recv().await.ok_or("it ended")?;
        }
        left -= burst;
    }
    from.stop().await;
    to.stop().await;
    Ok(())
}
