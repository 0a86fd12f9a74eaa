"""Swarms of real processes on this machine, over a local web: what the measuring scripts beside this file share.

Programs come from a release build (`cargo build --release --workspace --bins`), in CARGO_TARGET_DIR or BIN. Everything is on loopback and in a
temporary folder, and is ended with the script.
"""

import atexit, collections, json, os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.parse, urllib.request

TICK = os.sysconf("SC_CLK_TCK")
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.expanduser("~/.cache/anthill/target"))
BIN = os.environ.get("BIN", os.path.join(TARGET, "release"))
FORCED = re.compile(r"taken over by force")


def say(*words, sep=" "):
    print(f"{time.strftime('%H:%M:%S')}", sep.join(map(str, words)), flush=True)


def computed(task):
    """The name of a process or thread, and the seconds that it has computed."""
    name, fields = re.search(r"\((.*)\)(.*)", open(f"{task}/stat").read(), re.S).groups()
    fields = fields.split()
    return name, (int(fields[11]) + int(fields[12])) / TICK


def cpu(pid):
    """Seconds that a process has computed."""
    return computed(f"/proc/{pid}")[1]


def cpu_by_thread(pid):
    """The same of each name of a thread, of threads that there are now."""
    seconds = collections.Counter()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            name, took = computed(f"/proc/{pid}/task/{task}")
        except OSError:
            continue  # it has ended meanwhile
        seconds[name] += took
    return seconds


def connections():
    """Of each TCP connection on this machine: its process, its two ports, bytes sent and received so far."""
    told = subprocess.run(["ss", "-tinpH"], capture_output=True, text=True, check=True).stdout
    for line in re.sub(r"\n\s+", " ", told).splitlines():
        pid = re.search(r"pid=(\d+)", line)
        if pid:
            count = lambda way: sum(map(int, re.findall(rf"bytes_{way}:(\d+)", line)))
            yield int(pid.group(1)), set(re.findall(r":(\d+) ", line)), count("sent"), count("received")


class Web:
    """A web as a process: `arguments` are those of anthill-web; `log` has a line for each request."""

    def __init__(self, folder, name, arguments):
        self.log = os.path.join(folder, f"{name}.log")
        command = [os.path.join(BIN, "anthill-web"), *arguments, "--log", self.log]
        self.scope = "any"
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        told = json.loads(self.process.stdout.readline())
        self.resolve, self.seeds = told["resolve"], told.get("seeds", [])

    def requests(self):
        time.sleep(1.5)  # it is written out once a second
        with open(self.log) as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


class Peer:
    """`prefix` are words before the command, `api` is where its API listens."""

    def __init__(self, number, folder, arguments, prefix=(), api="127.0.0.1:0"):
        self.number, self.data = number, os.path.join(folder, f"p{number}")
        self.prefix, self.wanted = list(prefix), api
        self.log = os.path.join(folder, f"p{number}.log")
        self.arguments, self.process = arguments, None
        self.start()

    def start(self):
        for name in ("api.addr", "peer.addr"):
            path = os.path.join(self.data, name)
            if os.path.exists(path):
                os.remove(path)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ANTHILL_") or k == "ANTHILL_LOG"}
        self.process = subprocess.Popen(
            [*self.prefix, os.path.join(BIN, "anthill"), "node", "--data", self.data, "--api", self.wanted, *self.arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.log, "a"), env=clean)
        begun = time.time()
        while not os.path.exists(os.path.join(self.data, "api.addr")):
            if self.process.poll() is not None or time.time() - begun > 60:
                sys.exit(f"peer {self.number} did not start: {open(self.log).read()[-2000:]}")
            time.sleep(0.05)
        time.sleep(0.05)
        self.api = open(os.path.join(self.data, "api.addr")).read().strip()

    def address(self):
        path = os.path.join(self.data, "peer.addr")
        while not os.path.exists(path):
            time.sleep(0.05)
        return open(path).read().strip()

    def authorization(self):
        return {"Authorization": "Bearer " + open(os.path.join(self.data, "api.token")).read().strip()}

    def get(self, path, timeout=20):
        request = urllib.request.Request(f"http://{self.api}/api/v1/{path}", headers=self.authorization())
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def post(self, path, body):
        headers = {**self.authorization(), "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.api}/api/v1/{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def status(self):
        try:
            return self.get("status")
        except OSError:
            return None

    def search(self, query, n=10, timeout=20):
        return self.get("search?" + urllib.parse.urlencode({"q": query, "n": n}), timeout)

    def total(self, name):
        """A metric, over all its labels."""
        request = urllib.request.Request(f"http://{self.api}/metrics", headers=self.authorization())
        with urllib.request.urlopen(request, timeout=10) as answer:
            told = re.findall(rf"^{name}(?:{{[^}}]*}})? ([0-9.e+]+)$", answer.read().decode(), re.M)
        return sum(map(float, told))

    def requests(self):
        """Requests to the web that have ended."""
        return int(self.total("anthill_fetches_total"))

    def forced(self):
        with open(self.log, errors="replace") as lines:
            return sum(1 for line in lines if FORCED.search(line))

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, patience=15):
        begun = time.time()
        self.process.terminate()
        try:
            return self.process.wait(patience), time.time() - begun
        except subprocess.TimeoutExpired:
            self.kill()
            return "killed", time.time() - begun


class Swarm:
    """`count` peers; each but the first bootstraps from the first. `settings` are lines of their file of settings."""

    def __init__(self, folder, webs, count, more=(), settings=""):
        self.folder, self.peers, self.more, self.webs = folder, [], list(more), webs
        self.config = os.path.join(folder, "settings.toml")
        with open(self.config, "w") as file:
            file.write(settings + "[network]\nlan = false\nupnp = false\n")
        for _ in range(count):
            self.add()

    def add(self, more=(), prefix=()):
        arguments = ["--config", self.config, "--listen", "/ip4/127.0.0.1/tcp/0", *self.more, *more]
        for web in self.webs:
            for rule in web.resolve:
                arguments += ["--resolve", rule]
        if self.peers:
            living = next(peer for peer in self.peers if peer.is_alive())
            arguments += ["--bootstrap", living.address()]
        peer = Peer(len(self.peers), self.folder, arguments, prefix)
        self.peers.append(peer)
        return peer

    def living(self):
        return [peer for peer in self.peers if peer.is_alive()]

    def statuses(self):
        return [peer.status() if peer.is_alive() else None for peer in self.peers]

    def settle(self, patience=240, slots=16384):
        """Waits until all slots are held, by each peer at least half of its share."""
        begun = time.time()
        while time.time() - begun < patience:
            told = [status for status in self.statuses() if status]
            held = [status["slots"]["held"] for status in told]
            met = all(status["peers"]["alive"] == len(told) - 1 for status in told)
            if met and sum(held) == slots and min(held) * 2 * len(told) >= slots:
                break
            time.sleep(1)
        return time.time() - begun, held

    def crawl(self, at=1):
        """Begins a crawl of each web."""
        ask = lambda web: self.peers[at].post("crawl", {"seeds": web.seeds, "scope": web.scope})["crawl"]
        self.crawls = [ask(web) for web in self.webs]

    def progress(self, at=1):
        """Of all crawls together."""
        told = [self.peers[at].get(f"crawl/{crawl}") for crawl in self.crawls]
        sums = {name: sum(one[name] for one in told) for name in ("admitted", "fetched", "untried", "failed")}
        return {**sums, "done": all(one["done"] for one in told)}

    def stop(self):
        return [peer.stop() for peer in self.peers if peer.is_alive()]

    def monitor(self, at=1):
        """One line of what goes on."""
        told = self.statuses()
        held = [status["slots"]["held"] if status else "-" for status in told]
        missing = sum(status["slots"]["copies_missing"] for status in told if status)
        fetched = sum(status["urls"]["fetched"] for status in told if status)
        forced = [peer.forced() for peer in self.peers]
        words = [f"fetched {fetched}", f"held {sum(h for h in held if h != '-')}", f"by {held}", f"copies missing {missing}"]
        if any(forced):
            words.append(f"forced {forced}")
        words.append(" ".join(f"{name} {value}" for name, value in self.progress(at).items()))
        say(*words)


def found(webs, peer):
    """Says whether every page is found by search: how many the answer for each host counts."""
    lacking = []
    for web in webs:
        hosts = collections.Counter(urllib.parse.urlsplit(page).hostname for page in web.truth["pages"])
        for host, expected in hosts.items():
            total = peer.search(f"host:{host}", 1)["total"]
            if total != expected:
                lacking.append((host, total, expected))
    say(f"pages found by host: {len(lacking)} hosts differ", lacking[:8])


def folder():
    """A temporary folder, kept if KEEP is set; whatever was started here ends with the script."""
    path = tempfile.mkdtemp(prefix="anthill-measure-", dir=os.environ.get("ROOM"))
    os.setpgrp() if os.getpid() != os.getpgrp() else None

    def end():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(os.getpgrp(), signal.SIGTERM)
        time.sleep(2)
        if not os.environ.get("KEEP"):
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(end)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    return path


def generated(folder, hosts=200, pages=4000, *more):
    arguments = ["--preset", "bench", "--hosts", str(hosts), "--pages", str(pages), *more]
    web = Web(folder, "generated", ["serve", *arguments])
    truth = subprocess.run([os.path.join(BIN, "anthill-web"), "truth", *arguments, *web.seeds],
                           capture_output=True, text=True, check=True)
    web.truth, web.arguments = json.loads(truth.stdout), arguments
    return web


def polite(web, host_delay_ms, ip_delay_ms):
    """Says what of politeness was broken in a generated web."""
    time.sleep(1.5)
    checked = subprocess.run(
        [os.path.join(BIN, "anthill-web"), "check", *web.arguments, "--host-delay-ms", str(host_delay_ms),
         "--ip-delay-ms", str(ip_delay_ms), web.log], capture_output=True, text=True)
    broken = [json.loads(line) for line in checked.stdout.splitlines()]
    kinds = collections.Counter(one["violation"] for one in broken)
    examples = {kind: next(one for one in broken if one["violation"] == kind) for kind in kinds}
    say("politeness:", checked.stderr.strip(), dict(kinds), *examples.values())


def docweb(folder, path, listed, seeds):
    """A folder of real pages; `listed` has a line for each page that can be reached from `seeds`."""
    web = Web(folder, "docweb", ["folder", path])
    web.seeds, web.scope = open(seeds).read().split(), "host"
    hosts = {urllib.parse.urlsplit(seed).hostname for seed in web.seeds}
    pages = open(listed).read().split()
    web.truth = {"pages": [page for page in pages if urllib.parse.urlsplit(page).hostname in hosts]}
    return web


def webs(folder):
    """The generated web, and the real one if DOCWEB names a folder, from DOCWEB_SEEDS; DOCWEB_URLS is what can be reached."""
    all = [generated(folder, int(os.environ.get("HOSTS", 200)), int(os.environ.get("PAGES", 4000)))]
    if os.environ.get("DOCWEB"):
        all.append(docweb(folder, *(os.environ[f"DOCWEB{part}"] for part in ("", "_URLS", "_SEEDS"))))
    return all


def pages(entries):
    """How often each URL was asked for and given, robots.txt left out."""
    return collections.Counter(url(entry) for entry in entries if entry["path"] != "/robots.txt" and entry["status"] == 200)


def url(entry):
    return f"http://{entry['host'].split(':')[0]}{entry['path']}"


def compare(webs, extra=0):
    """Says whether all was fetched, and how often what. Gives the number of fetches beyond the first of each URL."""
    repeated = 0
    for web in webs:
        entries = web.requests()
        times = pages(entries)
        had = set(map(canonical, times))
        missing = [page for page in web.truth["pages"] if canonical(page) not in had]
        again = sum(n - 1 for n in times.values())
        repeated += again
        robots = collections.Counter(e["host"] for e in entries if e["path"] == "/robots.txt")
        say(f"{os.path.basename(web.log)}: {len(entries)} requests, {len(times)} pages of {len(web.truth['pages'])} expected, "
            f"missing {len(missing)} {missing[:3]}, fetched again {again}, robots.txt at most {max(robots.values(), default=0)} times a host")
    return repeated


def canonical(page):
    return urllib.parse.unquote(page)
