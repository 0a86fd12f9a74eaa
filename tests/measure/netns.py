#!/usr/bin/env python3
"""netns.py split     five peers on a network of their own are parted 3 | 2 for a minute, and joined again
netns.py behind    four peers, two of them each behind a router that masquerades: who crawls, keeps and answers
netns.py find      ten peers, and an eleventh that knows one address: whom it finds, also when that one is dead

Peers are in network namespaces, each with an address 10.77.0.N to talk to others, and 10.78.0.N, by which it reaches the web and answers
this script. Needs root, iproute2 and nftables; everything made is taken away at the end."""
import atexit, itertools, os, subprocess, sys, time
from harness import *

MARK = "ahm"  # begins the name of all that is made here
WEB = "10.78.0.254"


def run(*commands):
    for one in commands:
        subprocess.run(one, shell=True, check=True)


def clear():
    names = subprocess.run("ip netns list", shell=True, capture_output=True, text=True).stdout.split()
    for name in names:
        if name.startswith(MARK):
            subprocess.run(f"ip netns del {name}", shell=True)
    links = json.loads(subprocess.run("ip -j link", shell=True, capture_output=True, text=True).stdout)
    for link in links:
        if link["ifname"].startswith(MARK):
            subprocess.run(f"ip link del {link['ifname']}", shell=True, stderr=subprocess.DEVNULL)
    subprocess.run(f"nft delete table ip {MARK}", shell=True, stderr=subprocess.DEVNULL)


class Net:
    """Bridges a and b for peers, and w for the web; `resolve` are the rules of a web on loopback, with which it is reached from there."""

    def __init__(self):
        clear()
        atexit.register(clear)
        for name in "abw":
            run(f"ip link add {MARK}{name} type bridge", f"ip link set {MARK}{name} up")
        run(f"ip addr add {WEB}/24 dev {MARK}w", f"sysctl -qw net.ipv4.conf.{MARK}w.route_localnet=1")

    def open(self, web):
        """Lets a web on loopback be reached from the namespaces."""
        ports = {rule.rsplit(":", 1)[1] for rule in web.resolve}
        assert len(ports) == 1 and all("=127.0.0.1:" in rule for rule in web.resolve), web.resolve
        port = ports.pop()
        run(f"nft add table ip {MARK}",
            f"nft 'add chain ip {MARK} pre {{ type nat hook prerouting priority -100; }}'",
            f"nft add rule ip {MARK} pre iifname {MARK}w tcp dport {port} dnat to 127.0.0.1:{port}")
        web.resolve = [rule.replace("=127.0.0.1:", f"={WEB}:") for rule in web.resolve]

    def link(self, bridge, space, name, address):
        """An end of a cable in a namespace, the other at a bridge."""
        outer = f"{MARK}{bridge}{space[len(MARK):]}"
        run(f"ip link add {outer} type veth peer name {name} netns {space}", f"ip link set {outer} master {MARK}{bridge} up",
            f"ip -n {space} addr add {address}/24 dev {name}", f"ip -n {space} link set {name} up")

    def place(self, number, behind=False):
        """A namespace for a peer; gives its name and the address at which the peer listens."""
        space = f"{MARK}{number}"
        run(f"ip netns add {space}", f"ip -n {space} link set lo up")
        self.link("w", space, "web", f"10.78.0.{number}")
        if not behind:
            self.link("a", space, "net", f"10.77.0.{number}")
            return space, f"10.77.0.{number}"
        router = f"{MARK}r{number}"
        run(f"ip netns add {router}", f"ip -n {router} link set lo up")
        self.link("a", router, "net", f"10.77.0.{100 + number}")
        run(f"ip link add in netns {router} type veth peer name net netns {space}",
            f"ip -n {router} addr add 192.168.{number}.1/24 dev in", f"ip -n {router} link set in up",
            f"ip -n {space} addr add 192.168.{number}.2/24 dev net", f"ip -n {space} link set net up",
            f"ip -n {space} route add default via 192.168.{number}.1",
            f"ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1",
            f"ip netns exec {router} nft add table ip nat",
            f"ip netns exec {router} nft 'add chain ip nat post {{ type nat hook postrouting priority 100; }}'",
            f"ip netns exec {router} nft add rule ip nat post oifname net masquerade")
        return space, f"192.168.{number}.2"

    def move(self, number, bridge):
        """Plugs a peer in elsewhere."""
        run(f"ip link set {MARK}a{number} master {MARK}{bridge}")


class Parted(Swarm):
    """Peers in namespaces, numbered from 1; those named in `behind` are each behind a router."""

    def __init__(self, folder, webs, net, count, behind=(), more=()):
        super().__init__(folder, webs, 0, more)
        self.net = net
        for number in range(1, count + 1):
            self.join(number, number in behind)

    def join(self, number, behind=False, at=None):
        space, address = self.net.place(number, behind)
        config = os.path.join(self.folder, f"settings{number}.toml")
        with open(config, "w") as settings:
            # The web's log tells by it who asked.
            settings.write(f'contact = "http://peer{number}.test/"\n[network]\nlan = false\nupnp = false\nreachable = "{"no" if behind else "yes"}"\n')
        arguments = ["--config", config, "--listen", f"/ip4/{address}/tcp/7071", *self.more]
        for web in self.webs:
            for rule in web.resolve:
                arguments += ["--resolve", rule]
        if self.peers:
            arguments += ["--bootstrap", (at or self.peers[0]).address()]
        peer = Peer(number, self.folder, arguments, ["ip", "netns", "exec", space], f"10.78.0.{number}:7070")
        self.peers.append(peer)
        return peer


def small(room, net, hosts, pages):
    web = generated(room, hosts, pages, "--addresses", "1")
    net.open(web)
    return web


def repeated(web, parted):
    """Says of each page that was fetched twice who fetched it first and who then, and when, in seconds after the parting."""
    times = collections.defaultdict(list)
    for entry in web.requests():
        if entry["status"] == 200 and entry["path"] != "/robots.txt":
            peer = int(re.search(r"peer(\d+)", entry["user_agent"]).group(1))
            times[url(entry)].append((entry["received_unix_us"] / 1e6 - parted, peer))
    kinds = collections.defaultdict(list)
    for asked in times.values():
        for (before, first), (then, second) in itertools.pairwise(sorted(asked)):
            kinds[first, second].append((before, then))
    for (first, second), pairs in sorted(kinds.items()):
        span = lambda of: f"{min(of):.1f} to {max(of):.1f} s"
        before, then = zip(*pairs)
        say(f"    {len(pairs)} pages first by {first}, {span(before)} after the parting, then by {second}, {span(then)} after it")


def told(peers):
    """Of each peer: members alive, suspect and down, slots held, pages fetched, and whether it answers, how whole."""
    for peer in peers:
        status = peer.status()
        if not status:
            yield f"{peer.number}: silent"
            continue
        answer = peer.search("the")
        yield (f"{peer.number}: {'/'.join(str(n) for n in status['peers'].values())} held {status['slots']['held']} fetched {status['urls']['fetched']} "
               f"hits {answer['total']}{'' if answer['coverage']['complete'] else ' of part'}")


def split(room, net):
    web = small(room, net, 200, 24000)
    # There is work for longer than they are apart.
    swarm = Parted(room, [web], net, 5, more=["--host-delay", "1s", "--ip-delay", "0s"])
    say("settled after %.0f s, held %s" % swarm.settle())
    swarm.crawl()
    time.sleep(6)
    say(*told(swarm.peers), sep="; ")
    for number in (4, 5):
        net.move(number, "b")
    parted = begun = time.time()
    last, quiet = {}, {}
    # What lies at the holder only cannot be known beyond the cut.
    say("parted: 1 2 3 | 4 5; changes not replicated:", [peer.status()["slots"]["changes_missing"] for peer in swarm.peers])
    while time.time() - begun < 60:
        for peer in swarm.peers[3:]:
            # What is counted as fetched also changes with what is held.
            fetched = peer.requests()
            if last.get(peer.number) != fetched:
                last[peer.number], quiet[peer.number] = fetched, time.time() - begun
        if int(time.time() - begun) % 15 == 0:
            say(f"{time.time() - begun:.0f} s:", *told(swarm.peers), sep="; ")
        time.sleep(1)
    say("the minority fetched last", ", ".join(f"{n}: {at:.0f} s" for n, at in quiet.items()), "after the parting")
    for number in (4, 5):
        net.move(number, "a")
    begun = time.time()
    say("joined again")
    while time.time() - begun < 300 and not swarm.progress()["done"]:
        time.sleep(15)
        say(*told(swarm.peers), sep="; ")
    say(f"done {swarm.progress()['done']} {time.time() - begun:.0f} s after that")
    say("fetched again", compare([web]), "; taken by force", [peer.forced() for peer in swarm.peers])
    repeated(web, parted)
    polite(web, 1000, 0)
    found([web], swarm.peers[4])
    say("ended", swarm.stop())


def behind(room, net):
    web = small(room, net, 100, 2000)
    swarm = Parted(room, [web], net, 4, behind=(3, 4), more=["--host-delay", "50ms", "--ip-delay", "0s"])
    say("settled after %.0f s, held %s" % swarm.settle())
    swarm.crawl(2)
    begun = time.time()
    while time.time() - begun < 300 and not swarm.progress(2)["done"]:
        time.sleep(3)
        swarm.monitor(2)
    say(f"done {swarm.progress(2)['done']} after {time.time() - begun:.0f} s")
    say("fetched again", compare([web]))
    polite(web, 50, 0)
    for peer in swarm.peers:
        status = peer.status()
        say(f"{peer.number}: fetched {status['urls']['fetched']}, indexed {status['pages']['indexed']}, kept for others {status['pages']['standby']}, "
            f"links {status['links']['sent']} sent {status['links']['received']} received, addresses {status['addresses']}")
        for other in peer.get("peers")["peers"]:
            say("    sees", {name: other.get(name) for name in ("name", "state", "addresses", "relayed", "reachability") if other.get(name) is not None})
        found([web], peer)
    say("ended", swarm.stop())


def find(room, net):
    web = small(room, net, 20, 100)
    swarm = Parted(room, [web], net, 10)
    say("settled after %.0f s, held %s" % swarm.settle())
    first = swarm.peers[4]
    fresh = swarm.join(11, at=first)
    begun = time.time()
    while time.time() - begun < 60 and fresh.status()["peers"]["alive"] < 10:
        time.sleep(0.2)
    say(f"it knew one address; after {time.time() - begun:.1f} s it sees {fresh.status()['peers']}")
    first.kill()
    begun = time.time()
    while time.time() - begun < 60 and fresh.status()["peers"]["down"] < 1:
        time.sleep(0.2)
    say(f"that one is dead, and seen to be after {time.time() - begun:.1f} s: {fresh.status()['peers']}")
    for peer in swarm.peers[7:9]:
        begun, name = time.time(), peer.status()["peer_id"]
        say(f"looked up {name}: {fresh.get('peers/' + name, 40)['addresses']} after {time.time() - begun:.2f} s")
    say("ended", swarm.stop())


what = {"split": split, "behind": behind, "find": find}.get(sys.argv[1] if len(sys.argv) > 1 else "")
if not what:
    sys.exit(__doc__)
room = folder()
what(room, Net())
