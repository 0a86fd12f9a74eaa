//! Between addresses as libp2p writes them and as member records do.

use anthill_dht::{Multiaddr, PeerId, Protocol, name};
use anthill_protocol::member::{Address, MAX_ADDRESSES, MemberRecord, Transport};
use anthill_protocol::peer::PeerKey;
use std::net::IpAddr;

/// The addresses that a member record may say: sockets of this peer, at most [`MAX_ADDRESSES`]. Loopback ones only where there are no
/// others: nobody elsewhere can use them.
pub fn direct(addresses: &[Multiaddr]) -> Vec<Address> {
    let all: Vec<Address> = addresses.iter().filter_map(one).collect();
    let is_local = |address: &Address| matches!(address, Address::Direct { ip, .. } if ip.is_loopback());
    let mut some: Vec<Address> = all.iter().copied().filter(|address| !is_local(address)).collect();
    if some.is_empty() {
        some = all;
    }
    some.sort_unstable();
    some.dedup();
    some.truncate(MAX_ADDRESSES);
    some
}

fn one(address: &Multiaddr) -> Option<Address> {
    let (mut ip, mut relay): (Option<IpAddr>, Option<PeerKey>) = (None, None);
    let (mut socket, mut quic) = (None, false);
    for part in address {
        match part {
            Protocol::Ip4(v4) => ip = Some(v4.into()),
            Protocol::Ip6(v6) => ip = Some(v6.into()),
            Protocol::Tcp(port) => socket = Some((port, Transport::Tcp)),
            Protocol::Udp(port) => socket = Some((port, Transport::Quic)),
            Protocol::QuicV1 => quic = true,
            Protocol::P2p(peer) => relay = name::key(&peer).map(PeerKey),
            Protocol::P2pCircuit => return relay.map(|by| Address::Relayed { by }),
            _ => return None,
        }
    }
    let (port, transport) =
        socket.filter(|(port, transport)| *port != 0 && quic == (*transport == Transport::Quic))?;
    Some(Address::Direct { ip: ip.filter(|ip| !ip.is_unspecified())?, port, transport })
}

/// Where a member says that it is. `record` finds those of others: who relays is reached first.
pub fn multiaddrs<'a>(
    member: &MemberRecord,
    record: impl Fn(&PeerKey) -> Option<&'a MemberRecord>,
) -> Vec<Multiaddr> {
    let mut all = Vec::new();
    for address in &member.addresses {
        match address {
            Address::Direct { ip, port, transport } => all.push(socket(*ip, *port, *transport)),
            Address::Relayed { by } => {
                let (Some(relay), Some(name)) = (record(by), peer_id(by)) else { continue };
                for address in &relay.addresses {
                    if let Address::Direct { ip, port, transport } = address {
                        let through = socket(*ip, *port, *transport);
                        all.push(through.with(Protocol::P2p(name)).with(Protocol::P2pCircuit));
                    }
                }
            }
        }
    }
    all
}

fn peer_id(peer: &PeerKey) -> Option<PeerId> {
    name::peer_id(&peer.0)
}

fn socket(ip: IpAddr, port: u16, transport: Transport) -> Multiaddr {
    let at = match transport {
        Transport::Tcp => [Some(Protocol::Tcp(port)), None],
        Transport::Quic => [Some(Protocol::Udp(port)), Some(Protocol::QuicV1)],
    };
    at.into_iter().flatten().fold(Multiaddr::from(ip), Multiaddr::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Multiaddr {
        text.parse().expect("an address")
    }

    #[test]
    fn addresses_are_the_same_in_both_languages() {
        for text in ["/ip4/192.0.2.1/tcp/4001", "/ip6/2001:db8::1/udp/4001/quic-v1"] {
            let address = direct(&[read(text)]);
            let [Address::Direct { ip, port, transport }] = address[..] else {
                panic!("{text}: {address:?}")
            };
            assert_eq!(socket(ip, port, transport), read(text));
        }
    }

    #[test]
    fn what_nobody_can_use_is_left_out() {
        let all = [
            "/ip4/127.0.0.1/tcp/1",
            "/ip4/10.0.0.1/tcp/1",
            "/ip4/0.0.0.0/tcp/1",
            "/ip4/10.0.0.1/tcp/0",
            "/ip4/10.0.0.1/udp/3",
        ];
        let some = direct(&all.map(read));
        assert_eq!(some.len(), 1, "{some:?}");
        assert_eq!(direct(&[read("/ip4/127.0.0.1/tcp/1")]).len(), 1, "unless there is nothing else");
    }
}
