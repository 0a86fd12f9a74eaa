"""A folder of real pages on nginx, and one peer over it: what the scripts about a peer alone share.

DOCWEB holds hosts/HOST/PATH, DOCWEB_URLS a line for each page that can be reached, DOCWEB_SEEDS where to begin, and KIT is a folder with
`web.sh start-log DIR` and `web.sh stop`, which serve such a folder on 127.0.0.1:80 (this needs root).
"""
import atexit, html, os, re, subprocess, sys, time, urllib.parse
from harness import BIN, Swarm, canonical, say

ANTHILL = os.path.join(BIN, "anthill")
NOW = ["--host-delay", "0s", "--ip-delay", "0s", "--allow-private", "--fetchers", "64"]


def given(*names):
    """The values of environment variables, all of which are needed."""
    lacking = [name for name in names if not os.environ.get(name)]
    if lacking:
        sys.exit(f"{' and '.join(lacking)} must be set: see yard.py")
    return [os.environ[name] for name in names]


class Nginx:
    """The real pages, served by nginx; `requests()` are (host, path, status, user agent)."""
    resolve, scope = [], "host"

    def __init__(self, folder, docweb, listed, seeds, kit):
        self.script, self.state = os.path.join(kit, "web.sh"), os.path.join(folder, "nginx")
        self.docweb, self.log = docweb, os.path.join(self.state, "access.log")
        self.seeds = open(seeds).read().split()
        hosts = {urllib.parse.urlsplit(seed).hostname for seed in self.seeds}
        self.truth = {"pages": [u for u in open(listed).read().split() if urllib.parse.urlsplit(u).hostname in hosts]}
        self.run("start-log", docweb)
        atexit.register(self.run, "stop")
        # The path as it was asked for, not as it was served.
        config = os.path.join(self.state, "nginx.conf")
        text = open(config).read().replace("$host $uri ", "$host $request_uri ")
        open(config, "w").write(text)
        subprocess.run(["nginx", "-c", config, "-s", "reload"], check=True)
        time.sleep(1)

    def run(self, *words):
        subprocess.run([self.script, *words], check=True, env={**os.environ, "PERF_STATE": self.state})

    def requests(self):
        time.sleep(2)  # it is written out once a second
        return [line.split(" ", 3) for line in open(self.log)]

    def file(self, url):
        """Where a page is kept."""
        parts = urllib.parse.urlsplit(url)
        path = os.path.join(self.docweb, "hosts", parts.hostname, urllib.parse.unquote(parts.path).lstrip("/"))
        for index in ("index.html", "index.en.html"):
            if os.path.isdir(path) and os.path.isfile(os.path.join(path, index)):
                return os.path.join(path, index)
        return path

    def title(self, url):
        page = open(self.file(url), "rb").read()
        found = re.search(rb"<title[^>]*>(.*?)</title>", page, re.S | re.I)
        charset = re.search(rb"charset=[\"']?([\w-]+)", page[:2048], re.I)
        text = found.group(1).decode(charset.group(1).decode() if charset else "utf-8", "replace") if found else ""
        return " ".join(html.unescape(text).split())


def nginx(folder):
    return Nginx(folder, *given("DOCWEB", "DOCWEB_URLS", "DOCWEB_SEEDS", "KIT"))


def alone(folder, web, more=NOW):
    """One peer."""
    os.makedirs(folder, exist_ok=True)
    return Swarm(folder, [web], 1, more).peers[0]


def command(*words, **more):
    """What a command of anthill prints; its failure ends the script."""
    return subprocess.run([ANTHILL, *words], check=True, text=True, capture_output=True, **more)


def crawl(peer, web):
    """Crawls all of it as a person would, and gives the last line that is told."""
    told = command("crawl", *web.seeds, "--scope", web.scope, "--wait", "--data", peer.data)
    return told.stderr.strip().splitlines()[-1]


def at_rest(peer):
    """Waits until everything fetched is indexed."""
    for _ in range(600):
        status = peer.status()
        if status and status["idle"] and status["pages"]["indexed"] + status["pages"]["standby"] >= status["urls"]["fetched"] - 5:
            return status
        time.sleep(0.2)
    return status


def kept(peer, folder):
    """URLs of the pages that a peer has, by `export cdx`."""
    path = os.path.join(folder, f"{time.time_ns()}.cdxj")
    command("export", "cdx", path, "--data", peer.data)
    return [re.search(r'"url":\s*"([^"]*)"', line).group(1) for line in open(path) if not line.startswith("!")]


def difference(web, urls):
    """Expected pages that are not there, and pages that are not expected."""
    expected, there = set(map(canonical, web.truth["pages"])), set(map(canonical, urls))
    return sorted(expected - there), sorted(there - expected)
