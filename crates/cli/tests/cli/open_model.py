"""Opens a model without Afterstate, once with numpy alone and once with the safetensors package.

Called with the file and any number of TABLE:INDEX; prints one JSON document: the tables with their
shapes and types, the metadata, and the weights asked for. docs/formats/native.md is all it knows.
"""

import json
import struct
import sys

import numpy as np


def by_hand(path):
    """The 8-byte length, the JSON header, and each table mapped from the file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    metadata = header.pop("__metadata__")
    tables = {}
    for name, about in header.items():
        assert about["dtype"] == "F32", about
        begin, end = about["data_offsets"]
        table = np.memmap(path, "<f4", "r", 8 + length + begin, tuple(about["shape"]))
        assert table.nbytes == end - begin, about
        tables[name] = table
    return metadata, tables


def by_package(path):
    from safetensors import safe_open
    from safetensors.numpy import load_file

    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    return metadata, load_file(path)


def main():
    path, asked = sys.argv[1], [word.split(":") for word in sys.argv[2:]]
    metadata, tables = by_hand(path)
    other_metadata, other_tables = by_package(path)
    assert metadata == other_metadata
    assert tables.keys() == other_tables.keys()
    for name, table in tables.items():
        assert np.array_equal(table, other_tables[name]), name
        assert np.isfinite(table).all(), name
    document = {
        "metadata": metadata,
        "tables": {
            name: {"shape": table.shape, "type": str(table.dtype), "used": int(np.count_nonzero(table))}
            for name, table in tables.items()
        },
        "weights": [float(tables[name][int(index)]) for name, index in asked],
    }
    print(json.dumps(document))


main()
