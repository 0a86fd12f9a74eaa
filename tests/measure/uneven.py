"""A swarm of unequal peers in which one holds most of what is crawled: what `share.py` and `deal.py` begin with."""
from harness import *


def uneven(room, size, speeds, parts, settings, last=()):
    """Peers of so many requests a second, that hold so many of the hosts that are to be crawled; and their web. The last one's command has `last` before it."""
    wanted = sum(parts)
    # More hosts than are crawled: they are chosen by who holds them.
    web = generated(room, wanted * 15 // 2, size * 15 // 2)
    swarm = Swarm(room, [web], 0, ["--host-delay", "500ms", "--ip-delay", "0s"], settings)
    usual = swarm.config
    for number, speed in enumerate(speeds):
        swarm.config = os.path.join(room, f"p{number}.toml")
        with open(swarm.config, "w") as file:
            file.write(open(usual).read() + f"[limits]\nrequests_per_s = {speed}.0\n")
        swarm.add(prefix=last if number == len(speeds) - 1 else ())
    say("settled after %.0f s, held %s" % swarm.settle())
    # A view settles that stood still for half a minute: before that the swarm is its founder, and nobody goes on without it.
    time.sleep(45)
    names = sorted({urllib.parse.urlsplit(page).hostname for page in web.truth["pages"]})
    chosen, at = collections.defaultdict(list), {peer.status()["peer_id"]: peer.number for peer in swarm.peers}
    for name in names:
        holder = at[swarm.peers[0].get(f"explain?url=http://{name}/")["holder"]]
        if len(chosen[holder]) < parts[holder]:
            chosen[holder].append(name)
    hosts = {name for part in chosen.values() for name in part}
    web.truth["pages"] = [page for page in web.truth["pages"] if urllib.parse.urlsplit(page).hostname in hosts]
    web.seeds, web.scope = [f"http://{name}/" for name in sorted(hosts)], "host"
    say("hosts by holder", [len(chosen[number]) for number in range(len(speeds))], "pages", len(web.truth["pages"]))
    return swarm, web
