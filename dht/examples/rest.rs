//! `rest [ADDRESS]...`: a peer with nothing to say, connected to those; it says its own address, and stays until its input ends. For measuring
//! what the network alone computes at rest.

use anthill_dht::{Config, Event, Identity, Multiaddr};
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::of("rest")?;
    config.listen = vec!["/ip4/127.0.0.1/tcp/0".parse()?];
    config.server = Some(true);
    config.relay = true;
    config.topics = vec!["swarm".to_owned()];
    config.bootstrap =
        std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<Multiaddr>, _>>()?;
    let folder = tempfile::tempdir()?;
    let identity = Identity::load_or_create(&folder.path().join("peer.key"))?;
    let (handle, mut incoming) = anthill_dht::start(&identity, config)?;
    loop {
        if let Event::Address(address) = incoming.events.recv().await.ok_or("it ended")? {
            println!("{}", address.with_p2p(handle.me()).map_err(|_| "an address of another")?);
            break;
        }
    }
    tokio::spawn(async move { while incoming.events.recv().await.is_some() {} });
    // Whoever started it holds the other end.
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    handle.stop().await;
    Ok(())
}
