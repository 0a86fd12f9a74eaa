#!/usr/bin/env python3
"""coordinate.py: what four peers compute for a page beside crawling it, in instructions as callgrind counts them, and of what a page costs in
all. The protocols' part is that of a simulated crawl, always the same (`anthill-sim --scenario trace`): all that peers' minds do but for
what a peer alone does, and its messages' bytes. The network's part is what a message costs, sent and received (an example of `dht`), for
each message of that crawl. What a page costs is of a real peer alone. Needs valgrind, and `cargo build --release -p anthill-dht --examples`."""
import ctypes, errno, struct, subprocess, sys, time
from harness import *

HIDING = "--hiding"


def hide_auxv():
    """Lets this process and what it becomes not ask the kernel for its auxiliary vector (prctl PR_GET_AUXV): valgrind shows another by /proc, and does
    not know of this way, by which programs find functions that it has taken away. Of x86-64: elsewhere it hides nothing."""
    PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER, PRCTL, PR_GET_AUXV = 38, 22, 2, 157, 0x41555856
    LOAD, EQUAL, RETURN, ALLOW, ERRNO = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
    steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, PRCTL), (LOAD, 0, 0, 16), (EQUAL, 0, 1, PR_GET_AUXV), (RETURN, 0, 0, ERRNO | errno.EINVAL), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.c_void_p(ctypes.addressof(program)), 0, 0):
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")


# Itself, as what comes before a command.
if sys.argv[1:2] == [HIDING]:
    hide_auxv()
    os.execvp(sys.argv[2], sys.argv[2:])

MIND, ALONE, CODEC = (re.compile(f"anthill_agent::{name}(::h[0-9a-f]{{16}})?$") for name in (
    r"peer::(peer::)?Peer<.*>::handle", r"agent::Agent<.*>::handle", r"peer::message::Message::(en|de)code"))


def counted(room, name, command):
    """Runs a command under callgrind; the file that it wrote."""
    out = os.path.join(room, f"{name}.callgrind")
    with open(os.path.join(room, f"{name}.log"), "w") as log:
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command], check=True, stdout=log, stderr=log)
    return out


def totals(path):
    """Instructions of a whole file."""
    return int([line.split()[1] for line in open(path) if line.startswith(("summary:", "totals:"))][-1])


def calls(path):
    """Of each caller and called function: instructions while it was called."""
    names, edges, caller, called, is_cost = {}, collections.Counter(), None, None, False

    def name(text):
        number, _, rest = text.strip().partition(" ")
        return names.setdefault(number, rest)

    for line in open(path):
        if is_cost:
            edges[caller, called] += int(line.split()[1])
        is_cost = line.startswith("calls=")
        if line.startswith("fn="):
            caller = name(line[3:])
        elif line.startswith("cfn="):
            called = name(line[4:])
    return edges


def inclusive(edges, of, outside):
    """Instructions of functions whose names match, called by others."""
    return sum(cost for (caller, called), cost in edges.items() if of.search(called) and not outside.search(caller))


def coordination(path):
    """What minds and codecs compute, but for what a peer alone would."""
    edges = calls(path)
    minds, alone, codecs = (inclusive(edges, of, of) for of in (MIND, ALONE, CODEC))
    if not minds or not alone or not codecs:
        sys.exit(f"{path}: the functions that are counted are not in it; were they inlined?")
    return minds + codecs - alone


def simulated(name):
    command = [os.path.join(BIN, "anthill-sim"), "--scenario", name, "--seed", "1", "--cores", "1", "--metrics"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return command, json.loads(told[told.index("{"):])


room = folder()
(crawl, told), (idle, before) = map(simulated, ("trace", "trace-idle"))
pages = told["measures"]["pages"]["sum"]
took = told["measures"]["took_ms"]["sum"] / 1000
sent = lambda metrics, what: sum(kind[what] for kind in metrics["traffic"].values())
messages, size = ((sent(told, what) - sent(before, what)) / pages for what in ("sent", "bytes"))
say(f"trace: {pages} pages in {took:.1f} s; {messages:.3f} messages and {size:.0f} bytes a page more than without a crawl")
minds = coordination(counted(room, "trace", crawl)) - coordination(counted(room, "idle", idle))
say(f"protocols: {minds / pages:.0f} instructions a page")

example = os.path.join(BIN, "examples", "messages")
few, many, mean = 512, 2048, str(round(size / messages))
each = [totals(counted(room, f"messages{count}", [example, str(count), mean])) for count in (few, many)]
message = (each[1] - each[0]) / (many - few)
say(f"network: {message:.0f} instructions a message of {mean} bytes, sent and received; {message * messages:.0f} a page")

web = webs(room)
config = os.path.join(room, "settings.toml")
open(config, "w").write("replicas = 1\n[network]\nlan = false\nupnp = false\n")
out = os.path.join(room, "alone.callgrind")
arguments = ["--config", config, "--offline", "--host-delay", "0s", "--ip-delay", "0s"]
arguments += [word for one in web for rule in one.resolve for word in ("--resolve", rule)]
peer = Peer(0, room, arguments, (sys.executable, os.path.abspath(__file__), HIDING, "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"))
while (peer.status() or {"slots": {"held": 0}})["slots"]["held"] < 16384:
    time.sleep(1)
time.sleep(20)
control = lambda *what: subprocess.run(["callgrind_control", *what, str(peer.process.pid)], check=True, stdout=subprocess.DEVNULL)
control("-z")
ids = [peer.post("crawl", {"seeds": one.seeds, "scope": one.scope})["crawl"] for one in web]
while not all(peer.get(f"crawl/{one}", 120)["done"] for one in ids) or not peer.get("status", 120)["idle"]:
    time.sleep(2)
fetched = peer.get("status", 120)["urls"]["fetched"]
control("-d")
time.sleep(5)
whole = totals(f"{out}.1") / fetched
peer.kill()
say(f"a peer alone: {fetched} pages, {whole:.0f} instructions a page")
parts = minds / pages + message * messages
say(f"coordination: {parts:.0f} instructions a page, {100 * parts / whole:.2f} % of the whole; asked: 1 %")
