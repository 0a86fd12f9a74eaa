#!/usr/bin/env python3
"""languages.py [PEERS...]: of the first pages of a crawl that prefers a language, how many are in it by content, beside a crawl that prefers nothing; whether
just these are indexed; and how often what is told of a page's language is what another detector says (lingua, from PyPI). DOCWEB is a folder of real
pages (hosts/HOST/PATH and manifest.tsv, whose fourth column is the language by path), DOCWEB_SEEDS a file of where to begin. LANGUAGE is es."""
import base64
from lingua import LanguageDetectorBuilder
from topics import *

counts = [int(word) for word in sys.argv[1:]] or [1]
room, base = folder(), os.environ.get("DOCWEB") or sys.exit("DOCWEB must be set: see the head of this file")
seeds = open(os.environ["DOCWEB_SEEDS"]).read().split()
LANGUAGE = os.environ.get("LANGUAGE", "es")
AT = (250, 500, 750, 1000)
# Characters that the other detector is given.
HEAD = 4_000
# The same under two names: codes of groups and of their members.
SAME = {"nn": "nb", "no": "nb"}


def told(pages):
    """What `anthill tool parse` says of each page."""
    path = lambda page: os.path.join(base, "hosts", *page.removeprefix("http://").split("/"))
    body = lambda page: base64.b64encode(open(path(page), "rb").read()).decode()
    asked = "".join(json.dumps({"body_base64": body(page), "url": page}) + "\n" for page in pages)
    answers = subprocess.run([ANTHILL, "tool", "parse", "--batch"], input=asked, capture_output=True, text=True, check=True)
    return dict(zip(pages, map(json.loads, answers.stdout.splitlines())))


def second(pages):
    """What the other detector says of the same texts; nothing of texts that are too short for anybody."""
    detector = LanguageDetectorBuilder.from_all_languages().build()
    found = {}
    for page, one in pages.items():
        language = detector.detect_language_of(one["text"][:HEAD])
        code = language.iso_code_639_1.name.lower() if language else None
        found[page] = SAME.get(code, code)
    return found


with open(os.path.join(base, "manifest.tsv"), encoding="utf-8") as lines:
    by_path = {canonical(row[0]): row[3] for row in (line.rstrip("\n").split("\t") for line in list(lines)[1:])}
parsed = told(by_path)
other = second(parsed)
by_text = {page: SAME.get(one["lang"], one["lang"]) if one["langs"] else None for page, one in parsed.items()}
compared = [page for page in parsed if by_text[page] and other[page]]
differ = [{"page": page, "told": by_text[page], "other": other[page], "path": by_path[page], "langs": parsed[page]["langs"]}
          for page in compared if by_text[page] != other[page]]
untold = [{"page": page, "other": other[page], "chars": len(parsed[page]["text"])} for page in parsed if not by_text[page]]
say(f"{len(parsed)} pages: {len(compared)} told by both, alike {1 - len(differ) / len(compared):.4f}; {len(untold)} of too little text, or of no language")
for one in differ:
    say("  told", one["told"], "other", one["other"], "by path", one["path"], one["page"], one["langs"])


def counts_as(page):
    """Whether a page counts as one in the language: by most of its text, by a passage, or by its word where there is too little text."""
    one = parsed[page]
    declared = one["lang"] if not one["langs"] else None
    return LANGUAGE in (by_text[page], declared, *one["passages"])


in_it = {page for page in parsed if counts_as(page)}
say(f"{len(in_it)} pages in {LANGUAGE} by content, {sum(code == LANGUAGE for code in by_path.values())} by path, {sum(code == LANGUAGE for code in other.values())} by the other detector")

web = Web(room, "docweb", ["folder", base])
results = []
for count in counts:
    for how, settings in (("preferred", f'prefer = ["{LANGUAGE}"]\nindex_only = true\n'), ("as found", "")):
        indexed = {}

        def look(swarm):
            """Of each page that was fetched, whether it is in the index; of one peer."""
            if count == 1 and settings:
                ask = lambda page: swarm.peers[0].get("explain?" + urllib.parse.urlencode({"url": page}))["indexed"]
                indexed.update((page, ask(page)) for page in map(canonical, pages(web.requests()[since:])) if page in parsed)

        since = len(web.requests())
        order, seen = crawled(room, web, seeds, settings, count, AT[-1], look)
        order = [page for page in order if page in parsed]
        share = lambda right: [round(sum(map(right, order[:n])) / n, 4) for n in AT]
        wrong = [page for page, is_in in indexed.items() if is_in != (page in in_it)]
        results.append({"how": how, "peers": count, **seen, "share": share(in_it.__contains__),
                        "share_other": share(lambda page: other[page] == LANGUAGE), "indexed": sum(indexed.values()), "indexed_wrongly": wrong})
        say(results[-1])

write("languages", {"at": AT, "language": LANGUAGE, "pages": len(parsed), "in_it": len(in_it), "alike": round(1 - len(differ) / len(compared), 4),
                    "differ": differ, "untold": untold, "results": results})
plot, axis = figure(4.5, 3.2)
for one in results:
    axis.plot(AT, one["share"], marker=".", label=f"{one['how']}, {one['peers']} peers")
axis.plot(AT, [min(1, len(in_it) / n) for n in AT], ":", label="as far as there are any")
axis.set_xlabel("pages fetched")
axis.set_ylabel(f"part in {LANGUAGE}")
axis.set_ylim(0, 1.05)
axis.legend(fontsize=6)
save(plot, "languages")
