#!/usr/bin/env python3
"""beside.py crawlers [RUNS]   pages per CPU second beside spider and Scrapy, which follow links only, in turn
beside.py cores [RUNS]      pages a second of wall time, all cores in turn with one
beside.py query [RUNS]      search in process beside tantivy alone, on the same pages with the same queries, in turn

A seed for each host is needed; http://seeds.test/ leads to all pages. Those beside it are in KIT: `spiderx START FETCHERS ROBOTS HOST…` (SPIDERX), `scrapy_links.py` with the same arguments, and `index` and
`query` (FLOOR, their folder). Pages are those of yard.py: every one is parsed, stored, indexed and can be found when the clock stops.
"""
import os, random, statistics, subprocess, sys, time
from harness import *
from yard import *


def ours(room, web, cores=None):
    """Pages, CPU seconds of the whole process, wall seconds of the crawl, and its most memory in MB."""
    folder = os.path.join(room, f"peer{time.time_ns()}")
    peer = alone(folder, web)
    if cores is not None:
        subprocess.run(["taskset", "-a", "-c", "-p", cores, str(peer.process.pid)], check=True, capture_output=True)
    begun = time.time()
    peer.post("crawl", {"seeds": web.seeds, "scope": "host"})
    while not (peer.status()["idle"] and peer.status()["urls"]["fetched"]):
        time.sleep(0.05)
    status = at_rest(peer)
    wall = time.time() - begun
    memory = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{peer.process.pid}/status").read()).group(1)) / 1024
    spent = cpu(peer.process.pid)
    peer.stop()
    shutil.rmtree(folder)
    return status["urls"]["fetched"], spent, wall, memory


def theirs(command):
    """Pages and CPU seconds of a program that prints `pages N`."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    told = process.stdout.read()
    _, _, used = os.wait4(process.pid, 0)
    return int(re.search(r"\bpages (\d+)", told).group(1)), used.ru_utime + used.ru_stime


def spread(name, values, asked):
    say(f"{name}: median {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f}, {len(values)} runs), asked {asked}")


def crawlers(room, web, runs):
    hosts = sorted(os.listdir(os.path.join(web.docweb, "hosts")))
    kit, spider = given("KIT", "SPIDERX")
    beside = {
        "spider": (".25 or more", 1, [spider, "http://seeds.test/", "64", "1", *hosts]),
        "Scrapy": ("7 or more", 3, [sys.executable, os.path.join(kit, "scrapy_links.py"), "http://seeds.test/", "64", "1", *hosts]),
    }
    ratios = {name: [] for name in beside}
    for run in range(runs):
        pages, spent, wall, memory = ours(room, web)
        say(f"ours {pages} pages, {pages / spent:.0f} per CPU s, {wall:.1f} s, {memory:.0f} MB")
        for name, (_, every, command) in beside.items():
            if run % every == 0:
                others, used = theirs(command)
                ratios[name].append((pages / spent) / (others / used))
                say(f"{name} {others} pages, {others / used:.0f} per CPU s")
    for name, (asked, *_) in beside.items():
        spread(f"ours x {name}, pages per CPU second", ratios[name], asked)


def cores(room, web, runs):
    ratios = []
    for _ in range(runs):
        rates = {}
        for name, mask in (("one", "0"), ("all", None)):
            pages, spent, wall, memory = ours(room, web, mask)
            rates[name] = pages / wall
            say(f"{name}: {pages} pages, {pages / wall:.0f} a second, {pages / spent:.0f} per CPU s, {memory:.0f} MB")
        ratios.append(rates["all"] / rates["one"])
    spread("all cores x one, pages per second", ratios, "1.6 or more")


def query(room, web, runs):
    [floor] = given("FLOOR")
    folder = os.path.join(room, "peer")
    peer = alone(folder, web)
    peer.post("crawl", {"seeds": web.seeds, "scope": "host"})
    while not (peer.status()["idle"] and peer.status()["urls"]["fetched"]):
        time.sleep(0.5)
    say(at_rest(peer)["pages"])
    time.sleep(30)  # links are indexed in the quiet that follows
    urls, index = os.path.join(room, "urls.txt"), os.path.join(room, "tantivy")
    with open(urls, "w") as listed:
        listed.write("\n".join(kept(peer, room)) + "\n")
    peer.stop()
    subprocess.run([os.path.join(floor, "index"), web.docweb, urls, index, "1", "keep"], check=True, stdout=subprocess.DEVNULL)
    ratios = {"p50": [], "p99": [], "rate": []}
    for run in range(runs):
        told = subprocess.run([os.path.join(floor, "query"), index, "2000", "5"], check=True, capture_output=True, text=True).stdout
        line = next(line for line in told.splitlines() if line.startswith("OR top10 + url,title"))
        p50, p99, rate = (float(n) for n in re.search(r"p50 ([\d.]+) ms p99 ([\d.]+) ms QPS/core (\d+)", line).groups())
        mine = json.loads(command("bench", "query", "--index", os.path.join(peer.data, "index"), "--queries", index + ".queries").stdout)
        say(f"ours {mine}; tantivy alone {told.splitlines()[0]}, p50 {p50} p99 {p99} ms, {rate:.0f} a second")
        for name, ratio in (("p50", mine["p50_ms"] / p50), ("p99", mine["p99_ms"] / p99), ("rate", mine["per_s"] / rate)):
            ratios[name].append(ratio)
    for name, asked in (("p50", "1.5 or less"), ("p99", "1.0 or less"), ("rate", ".7 or more")):
        spread(f"search in process x tantivy alone, {name}", ratios[name], asked)


what = {"crawlers": crawlers, "cores": cores, "query": query}.get(sys.argv[1] if len(sys.argv) > 1 else "")
if not what:
    sys.exit(__doc__)
room = folder()
what(room, nginx(room), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
