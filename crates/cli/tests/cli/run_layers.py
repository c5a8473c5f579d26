"""Computes the outputs of a deep model without Afterstate, from what docs/formats/deep.md says.

Called with the file and tile indices by rows, separated by commas; prints the outputs as JSON.
"""

import json
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file


def convolve(maps, weight, bias):
    """As torch.nn.functional.conv2d without padding: channels, rows and columns."""
    filters, _, height, width = weight.shape
    rows, cols = maps.shape[1] - height + 1, maps.shape[2] - width + 1
    out = np.empty((filters, rows, cols), np.float32)
    for row in range(rows):
        for col in range(cols):
            window = maps[:, row : row + height, col : col + width]
            out[:, row, col] = (weight * window).sum((1, 2, 3)) + bias
    return out


def main():
    path, tiles = sys.argv[1], np.array([int(tile) for tile in sys.argv[2].split(",")])
    with safe_open(path, framework="numpy") as file:
        about = file.metadata()
    tensors = load_file(path)
    rows, cols = (int(side) for side in about["board"].split("x"))
    depth = tensors["conv1.weight"].shape[1]
    x = np.eye(depth, dtype=np.float32)[np.minimum(tiles, depth - 1)].T.reshape(depth, rows, cols)
    for n, kernel in enumerate(about["convolutions"].split(), 1):
        weight = tensors[f"conv{n}.weight"]
        assert "x".join(str(side) for side in weight.shape[2:]) == kernel
        x = np.maximum(convolve(x, weight, tensors[f"conv{n}.bias"]), 0)
    x = x.reshape(-1)
    layers = len(about["hidden"].split()) + 1
    for n in range(1, layers + 1):
        x = tensors[f"linear{n}.weight"] @ x + tensors[f"linear{n}.bias"]
        if n < layers and about["relu"] == "all":
            x = np.maximum(x, 0)
    print(json.dumps([float(value) * float(about["reward_scale"]) for value in x]))


main()
