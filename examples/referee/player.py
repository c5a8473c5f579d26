#!/usr/bin/env python3
"""A player of 2048 for `afterstate referee`: makes the slide with the largest reward."""
import sys


def slide(row):
    """Slides a row to the left; returns the new row and the reward."""
    tiles, merged, reward = [tile for tile in row if tile], [], 0
    while tiles:
        if len(tiles) > 1 and tiles[0] == tiles[1]:
            reward += 2 * tiles.pop(0)
            tiles[0] *= 2
        merged.append(tiles.pop(0))
    return merged + [0] * (len(row) - len(merged)), reward


def lines(board, direction):
    """The rows or columns of a board, each from the wall that the tiles slide to."""
    seen = board if direction in ("left", "right") else list(zip(*board))
    return [list(line)[:: -1 if direction in ("right", "down") else 1] for line in seen]


columns = 4
for message in sys.stdin:
    word, *values = message.split()
    if word == "referee":  # referee VERSION GAME ROWSxCOLUMNS
        if values[1] != "2048":
            sys.exit("this player plays only 2048")
        columns = int(values[2].split("x")[1])
        print("ready 1", flush=True)
    elif word == "board":  # the tiles by rows, 0 for an empty cell
        tiles = [int(value) for value in values]
        board = [tiles[at : at + columns] for at in range(0, len(tiles), columns)]
        legal = []
        for direction in ("up", "right", "down", "left"):
            old = lines(board, direction)
            new = [slide(line) for line in old]
            if [line for line, _ in new] != old:
                legal.append((sum(reward for _, reward in new), direction))
        print(max(legal)[1], flush=True)
