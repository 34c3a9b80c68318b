"""Dimensions, variables and attributes, from the CDF-5 header that libblobio gives (docs/format-cdf5.md).

Attributes of a variable are decoded when they are first asked for: a history file has thousands.
"""

import struct
import unicodedata
from types import MappingProxyType

import numpy as np

from .errors import CorruptError
from .library import SIZES, TYPES

_CHAR = 2
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12

_long = struct.Struct(">q")
_word = struct.Struct(">iq")  # a tag or a type, and a count


class Names(dict):
    """A dict whose keys are found in any Unicode form: names of a dataset are in normal form C."""

    def __missing__(self, name):
        form = unicodedata.normalize("NFC", name) if isinstance(name, str) else name
        if form == name:
            raise KeyError(name)
        return self[form]

    def __contains__(self, name):
        return dict.__contains__(self, name) or isinstance(name, str) and dict.__contains__(self, unicodedata.normalize("NFC", name))

    def get(self, name, default=None):
        return self[name] if name in self else default


class Declared:
    """A variable as the header declares it."""

    __slots__ = ("name", "kind", "dims", "attrs")

    def __init__(self, name, kind, dims, attrs):
        self.name, self.kind, self.dims, self.attrs = name, kind, dims, attrs


class Header:
    """records, dims as [(name, length)] with length 0 for the unlimited one, attrs and variables in the order of the file."""

    def __init__(self, data):
        self._data, self._at = data, 12
        try:
            if data[:4] != b"CDF\x05":
                raise CorruptError("header of the dataset begins with %r, want CDF-5" % data[:4])
            self.records = _long.unpack_from(data, 4)[0]
            self.dims = [(self._name(), self._number()) for _ in range(self._list(_DIMENSIONS))]
            self.attrs = Attributes(*self._attributes())
            self.variables = [self._variable() for _ in range(self._list(_VARIABLES))]
        except (struct.error, IndexError, KeyError) as e:
            raise CorruptError("header of the dataset, offset %d: %s" % (self._at, e)) from e

    def _number(self):
        at = self._at
        self._at = at + 8
        return _long.unpack_from(self._data, at)[0]

    def _list(self, want):
        tag, n = _word.unpack_from(self._data, self._at)
        if tag != want and (tag, n) != (0, 0):
            raise CorruptError("header of the dataset, offset %d: tag %d, want %d" % (self._at, tag, want))
        self._at += 12
        return n

    def _name(self):
        n = self._number()
        at = self._at
        self._at = at + (n + 3) // 4 * 4
        return self._data[at:at + n].decode("utf-8", "backslashreplace")

    def _attributes(self):
        """Skips a list of attributes, which is decoded later, and returns its position."""
        begin, data = self._at, self._data
        at = begin
        tag, n = _word.unpack_from(data, at)
        at += 12
        for _ in range(n):
            at += 8 + (_long.unpack_from(data, at)[0] + 3) // 4 * 4
            kind, count = _word.unpack_from(data, at)
            at += 12 + (count * SIZES[kind] + 3) // 4 * 4
        self._at = at
        return data, begin, n

    def _variable(self):
        name = self._name()
        rank = self._number()
        dims = struct.unpack_from(">%dq" % rank, self._data, self._at)
        self._at += 8 * rank
        attrs = self._attributes()
        kind = struct.unpack_from(">i", self._data, self._at)[0]
        self._at += 4 + 8 + 8  # type, size, begin
        if kind not in TYPES or any(not 0 <= d < len(self.dims) for d in dims):
            raise CorruptError("header of the dataset: variable %s has invalid type %d or dimensions %s" % (name, kind, dims))
        return Declared(name, kind, dims, Attributes(*attrs, of_text=kind == _CHAR))


class Attributes:
    """A list of attributes in a header. decode() returns a dict: text as str, one number as a numpy scalar, several as an array.
    Text has no NULs, as in netCDF4, though C programs often write the terminating NUL.

    The _FillValue of a character variable (of_text) is bytes, like its elements, so that they compare equal.
    """

    __slots__ = ("_data", "_at", "_n", "_of_text", "_decoded")

    def __init__(self, data, at, n, of_text=False):
        self._data, self._at, self._n, self._of_text, self._decoded = data, at, n, of_text, None

    def decode(self):
        if self._decoded is None:
            self._decoded = MappingProxyType(self._values())
        return self._decoded

    def _values(self):
        found, data, at = Names(), self._data, self._at + 12
        for _ in range(self._n):
            n = _long.unpack_from(data, at)[0]
            name = data[at + 8:at + 8 + n].decode("utf-8", "backslashreplace")
            at += 8 + (n + 3) // 4 * 4
            kind, n = _word.unpack_from(data, at)
            at += 12
            size = SIZES[kind] * n
            if kind == _CHAR:
                text = data[at:at + size]
                found[name] = np.bytes_(text) if self._of_text and name == "_FillValue" else text.decode("utf-8", "backslashreplace").replace("\0", "")
            else:
                v = np.frombuffer(data, ">" + TYPES[kind] if SIZES[kind] > 1 else TYPES[kind], n, at)
                v = v.astype(v.dtype.newbyteorder("="))
                found[name] = v[0] if n == 1 else v
            at += (size + 3) // 4 * 4
        return found
