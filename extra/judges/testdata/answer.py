"""Writes the content of a file in a form that the tests read.

Values go to a raw file, little-endian, one variable after the other; names,
types, shapes and attributes go to standard output as JSON.
"""
import json
import numpy as np


def attribute(value):
    """[type, values]; numbers as text that preserves the exact value."""
    if isinstance(value, (str, bytes)):
        return ["text", [value if isinstance(value, str) else value.decode()]]
    a = np.atleast_1d(np.asarray(value))
    if a.dtype.kind == "S":
        return ["text", [b.decode() for b in a]]
    number = int if a.dtype.kind in "iu" else float
    return [a.dtype.str[1:], [repr(number(x)) for x in a]]


class Answer:
    def __init__(self, path):
        self.raw = open(path, "wb")
        self.vars, self.atts, self.dims = [], [], []

    def variable(self, name, array, dims=(), atts=()):
        array = np.asarray(array)
        self.vars.append(dict(name=name, type=array.dtype.str[1:], shape=list(array.shape), dims=list(dims),
                              atts=[[n, *attribute(v)] for n, v in atts]))
        self.raw.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())

    def attribute(self, name, value):
        self.atts.append([name, *attribute(value)])

    def dimension(self, name, length, unlimited=False):
        self.dims.append([name, int(length), bool(unlimited)])

    def close(self):
        self.raw.close()
        print(json.dumps(dict(vars=self.vars, atts=self.atts, dims=self.dims)))
