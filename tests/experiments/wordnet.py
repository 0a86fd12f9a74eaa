#!/usr/bin/env python3
"""Relations of words by `anthill tool wordnet`, beside what WordNet's own program says (Debian: wordnet, which brings wordnet-base).

    wordnet.py [ANTHILL] [PAIRS]

Some dozens of common nouns and as many drawn by a fixed seed; of each an ancestor (`wn -hypen`) and something that it is a part, a
member or the substance of (`wn -hholn`), and pairs that neither tree has. Prints what differs; ends with 1 if anything does."""
import json, os, random, re, subprocess, sys

CACHE = os.environ.get("CARGO_TARGET_DIR") or os.path.expanduser("~/.cache/anthill/target")
ANTHILL = sys.argv[1] if len(sys.argv) > 1 else f"{CACHE}/release/anthill"
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 90
WORDNET = "/usr/share/wordnet"
COMMON = """dog car tree house finger wheel hand river music ant queen king city book engine leaf forest player army ship cell
hydrogen water flower guitar mountain bird wing bee hive""".split()


def tree(word, option, mark):
    """The words of the lines of `wn`'s tree that begin with a mark."""
    lines = subprocess.run(["wn", word, option], capture_output=True, text=True).stdout.splitlines()
    found = (re.match(rf"\s*(?:{mark})(.*)", line) for line in lines)
    return {word.strip().lower() for line in found if line for word in line[1].split(" -- ")[0].split(",")}


def kinds(word):
    return tree(word, "-hypen", "=> |INSTANCE OF=> ")


def wholes(word):
    return tree(word, "-hholn", "PART OF: |MEMBER OF: |SUBSTANCE OF: ")


def cases():
    """Pairs of words with the relations that may be told of them: of several senses the nearest counts."""
    draw = random.Random(4)
    with open(f"{WORDNET}/index.noun") as file:
        nouns = [line.split(" ")[0].replace("_", " ") for line in file if not line.startswith("  ")]
    related = []
    for word in COMMON + draw.sample(nouns, len(COMMON)):
        above, around = kinds(word) - {word}, wholes(word) - {word}
        if above:
            related.append((word, draw.choice(sorted(above)), {"is-a", "synonym", "same"}))
        if around - above:
            related.append((word, draw.choice(sorted(around - above)), {"part-of", "is-a", "synonym"}))
    strangers = []
    while len(strangers) < PAIRS // 4:
        one, other = draw.sample(nouns, 2)
        if other not in kinds(one) | wholes(one) and one not in kinds(other) | wholes(other):
            strangers.append((one, other, {"unrelated"}))
    return related[: PAIRS - len(strangers)] + strangers


def main():
    asked = cases()
    lines = "".join(json.dumps({"one": one, "other": other}) + "\n" for one, other, _ in asked)
    told = subprocess.run([ANTHILL, "tool", "wordnet", "--batch"], input=lines, capture_output=True, text=True, check=True)
    told = [json.loads(line)["relation"] for line in told.stdout.splitlines()]
    wrong = [(one, other, said) for (one, other, may), said in zip(asked, told, strict=True) if said not in may]
    for one, other, said in wrong:
        print(f"{one} and {other}: {said}")
    counts = {name: told.count(name) for name in sorted(set(told))}
    print(f"{len(asked)} pairs, {len(wrong)} otherwise than by wn: {counts}")
    sys.exit(bool(wrong))


main()
