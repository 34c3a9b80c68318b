"""Recognises blob datasets by names and the beginnings of files, without libblobio (docs/format-manifest.md)."""

import fnmatch
import os
import re

_number = re.compile(r"\.\d{4,}$")  # name of a subfile
_set = re.compile(r"\+\d+$")  # name of an added set
_seals = (".manifest", ".manifest.next")
_MAGICS = (b"CDF\x01", b"CDF\x02", b"CDF\x05", b"\x89HDF\r\n\x1a\n")
_ATTRIBUTES = b"num_decompositions", b"num_subfiles"  # every header of a blob subfile has these
_HEAD = 1 << 16  # global attributes precede the variables


def is_dataset(path):
    """True if path is a blob dataset by its base name, a subfile, a manifest, or a directory with one of them. False for ordinary netCDF files."""
    try:
        path = os.fspath(path)
    except TypeError:
        return False
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not path or "://" in path or "\0" in path:
        return False
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.isdir(path):
        return len(_bases(path)) == 1
    if os.path.isfile(path):
        return _is_seal(path) or _is_subfile(path)
    return os.path.basename(path) in _bases(os.path.dirname(path))


def modified(path):
    """The time of the last change to the dataset of a base name, in nanoseconds as in os.stat; None without a dataset."""
    directory, base = os.path.split(os.path.abspath(os.path.expanduser(os.fspath(path))))
    part = re.compile(re.escape(base) + r"(\+\d+)?(\.\d{4,}|\.manifest(\.next)?)")
    try:
        return max((e.stat().st_mtime_ns for e in os.scandir(directory) if part.fullmatch(e.name)), default=None)
    except OSError:
        return None


def expand(glob, pattern, **options):
    """The files that glob finds by a pattern, and the datasets whose base name matches it, each dataset once."""
    bases = {}  # of the directories
    found = dict.fromkeys(_whole(path, bases) for path in glob(pattern, **options))
    for ending in (*_seals, ".[0-9][0-9][0-9][0-9]*"):
        for path in glob(pattern + ending, **options):
            base = _whole(path, bases)
            if base != path and fnmatch.fnmatchcase(os.path.basename(base), os.path.basename(pattern)):
                found[base] = None
    return list(found)


def _whole(path, bases):
    """The base name of the dataset that a file is part of, or path itself: of others, and where the base name is another file."""
    directory, name = os.path.split(path)
    base = next((name[:-len(s)] for s in _seals if name.endswith(s)), _number.sub("", name))
    whole = os.path.join(directory, base)
    if base == name or os.path.exists(whole) and not _is_seal(whole):
        return path
    if directory not in bases:
        bases[directory] = _bases(directory or ".")
    if base not in bases[directory]:
        base = _set.sub("", base)
    return os.path.join(directory, base) if base in bases[directory] else path


def _bases(directory):
    """Base names of the datasets of a directory."""
    try:
        names = os.listdir(directory)
    except OSError:
        return set()
    whole = {n[:-len(s)] for n in names for s in _seals if n.endswith(s)}
    parts = {_number.sub("", n) for n in names if _number.search(n)} - whole
    parts = {_set.sub("", base) for base in parts} - whole  # without a manifest "F.nc+1" is a set of "F.nc"
    return whole | {base for base in parts if any(_number.sub("", n) == base and _is_subfile(os.path.join(directory, n))
                                                  for n in names if n.startswith(base + ".") and _number.search(n))}


def _is_seal(path):
    """True if path is a manifest, or PIO's link to the manifest of the dataset path, or a copy of that."""
    if not path.endswith(_seals) and not os.path.exists(path + _seals[0]):
        return False
    try:
        with open(path, "rb") as f:
            return f.read(20).startswith(b'{"blobio_manifest"')
    except OSError:
        return False


def _is_subfile(path):
    try:
        with open(path, "rb") as f:
            head = f.read(_HEAD)
    except OSError:
        return False
    return head.startswith(_MAGICS) and all(a in head for a in _ATTRIBUTES)
