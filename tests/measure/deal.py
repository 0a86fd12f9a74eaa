#!/usr/bin/env python3
"""deal.py [ROW...]: kill -9 of a manager or contractor at stages of a negotiation, a swarm for each: how soon all is held again, whether every page
is fetched, and what is fetched again. A stage that passes in milliseconds is held open by stopping the other side for a second."""
import sys, time
from uneven import *

SPEEDS, PARTS = [4, 4, 4, 4, 4], [80, 5, 5, 5, 5]
SETTINGS = "[contracts]\nenabled = true\nthreshold = \"10s\"\nlimit = \"60s\"\n"
# Who is killed, when, and which peer is stopped meanwhile.
ROWS = {
    "manager-calling": ("manager", "calling"),
    "manager-giving": ("manager", "giving"),
    "manager-given": ("manager", "given"),
    "contractor-taking": ("contractor", "taking"),
    "contractor-working": ("contractor", "working"),
}


def stages(peer, own):
    """The stages of this peer's negotiations, by its own story."""
    for one in peer.get("contracts", 5)["negotiations"]:
        what = [event["what"] for event in one["events"]]
        mine = [event for event in one["events"] if event["peer"] == own or one["manager"] == own]
        if one["ended"] or not mine:
            continue
        won = sum(event["slots"] for event in one["events"] if event["what"] == "won")
        moved = what.count("moved")
        if one["manager"] == own:
            if "won" not in what and "in_vain" not in what:
                yield "calling"
            elif "agreed" in what:
                yield "given" if moved >= won else "giving"
        elif won:
            yield "working" if moved >= won else "taking"


def row(name):
    role, stage = ROWS[name]
    own = os.path.join(room, name)
    os.mkdir(own)
    swarm, web = uneven(own, 2000, SPEEDS, PARTS, SETTINGS)
    ids = {peer.number: peer.status()["peer_id"] for peer in swarm.peers}
    manager, helper = swarm.peers[0], swarm.peers[4]
    # Whom it asks and who does not answer lets it wait for bids.
    stopped = [helper] if stage == "calling" else []
    swarm.crawl(1)
    begun, dead = time.time(), None
    while time.time() - begun < 60 and dead is None:
        [peer.signal(signal.SIGSTOP) for peer in stopped]
        watched = [manager] if role == "manager" else swarm.peers[1:]
        for peer in watched:
            if stage in stages(peer, ids[peer.number]):
                dead = peer
                break
        [peer.signal(signal.SIGCONT) for peer in stopped]
    if dead is None:
        return say(f"{name}: that stage was not met")
    told, before = dead.status(), len(web.requests())
    dead.kill()
    at, again = time.time(), None
    while time.time() - at < 120:
        held = sum(peer.status()["slots"]["held"] for peer in swarm.living())
        if held == 16384:
            again = time.time() - at
            break
        time.sleep(.25)
    while time.time() - at < 400 and not swarm.progress(1 if dead.number != 1 else 2)["done"]:
        time.sleep(1)
    say(f"{name}: killed peer {dead.number} with {told['fetch']['in_flight']} in flight, {told['slots']['changes_missing']} changes not replicated; "
        f"all held again after {again if again is None else round(again, 1)} s, crawl over {time.time() - at:.0f} s after the kill")
    compare([web])
    polite(web, 500, 0)
    say("ended", swarm.stop())
    web.process.terminate()


room = folder()
for name in sys.argv[1:] or ROWS:
    row(name)
