"""Verifies the commitment of a seal, and the two initial tiles of every game of 2048 on 4x4, by
docs/referee.md alone: python3 verify_seal.py RECORDS"""

import hashlib
import json
import struct
import sys

LOW = 0xFFFFFFFF
WHOLE = 0xFFFFFFFFFFFFFFFF
ROUNDS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
ROUNDS += [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]


def quarter_round(words, a, b, c, d):
    for to, add, turned, by in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
        words[to] = (words[to] + words[add]) & LOW
        mixed = words[turned] ^ words[to]
        words[turned] = (mixed << by | mixed >> (32 - by)) & LOW


def first_block(key, nonce):
    """The first 64 bytes of the ChaCha20 key stream."""
    start = list(struct.unpack("<4I8I", b"expand 32-byte k" + key))
    start += [0, 0, nonce & LOW, nonce >> 32]
    words = start[:]
    for _ in range(10):
        for cells in ROUNDS:
            quarter_round(words, *cells)
    return struct.pack("<16I", *((a + b) & LOW for a, b in zip(words, start)))


with open(sys.argv[1] + ".seal.json") as file:
    seal = json.load(file)
keys = ("program", "game", "board", "games", "time_ms", "secret")
text = "afterstate-seal 2\n" + "".join(f"{key} {seal[key]}\n" for key in keys)
assert hashlib.sha256(text.encode()).hexdigest() == seal["commitment"], "the commitment"
with open(sys.argv[1]) as file:
    games = file.read().splitlines()
assert len(games) == seal["games"], "the number of games"
for number, game in enumerate(games):
    stream = first_block(bytes.fromhex(seal["secret"]), number)
    free, placed = list(range(16)), ""
    for spawn in range(2):
        s0, _, _, s3 = struct.unpack_from("<4Q", stream, 32 * spawn)
        total = (s0 + s3) & WHOLE
        bits = ((total << 23 | total >> 41) + s0) & WHOLE
        cell = free.pop((bits & LOW) * len(free) >> 32)
        placed += f"{cell:X}{1 if bits >> 32 < 0.9 * 2**32 else 2}"
    assert game.split("|")[1].startswith(placed), f"game {number} starts with {placed}"
print("verified", len(games), "games")
