# Writes HDF5 files of many kinds with h5py, for judge_test.go: cases.py DIR.
# Element k (row-major) of every dataset is k modulo the number in its
# attribute "mod"; elements that were not written are the attribute "fill".
import sys
import numpy as np
import h5py
from h5py import h5d, h5p, h5s, h5t

out = sys.argv[1]


def data(shape, dtype, mod):
    n = int(np.prod(shape, dtype=np.int64))
    return (np.arange(n, dtype=np.int64) % mod).astype(dtype).reshape(shape)


def put(g, name, shape, dtype="i4", mod=1000000007, **kw):
    if np.dtype(dtype).itemsize == 1:
        mod = 101
    if np.dtype(dtype) == np.dtype("f2"):
        mod = 2000
    d = g.create_dataset(name, data=data(shape, dtype, mod), **kw)
    d.attrs["mod"] = np.int64(mod)
    return d


def low(g, name, shape, maxshape, chunk, alloc, deflate=False):
    """A dataset whose space is allocated at a chosen time."""
    space = h5s.create_simple(shape, maxshape)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(chunk)
    dcpl.set_alloc_time(alloc)
    if deflate:
        dcpl.set_deflate(4)
    h5d.create(g.id, name.encode(), h5t.NATIVE_INT32, space, dcpl)
    d = g[name]
    d[...] = data(shape, "i4", 1000000007)
    d.attrs["mod"] = np.int64(1000000007)


def datasets(f):
    g = f.create_group("types")
    for t in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        put(g, t, (7, 11), "<" + t)
        put(g, t + "be", (7, 11), ">" + t)
    g = f.create_group("layouts")
    put(g, "contiguous", (9, 10, 11))
    put(g, "scalar", ())
    put(g, "one", (1,))
    put(g, "chunked", (33, 20), chunks=(8, 7))
    put(g, "rank4", (5, 6, 7, 8), chunks=(2, 3, 4, 5))
    put(g, "single", (30, 31), chunks=(30, 31))
    put(g, "single_gz", (30, 31), chunks=(30, 31), compression="gzip")
    put(g, "gz", (100, 41), chunks=(16, 16), compression="gzip")
    put(g, "gz_shuffle", (100, 41), "i8", chunks=(16, 16), compression="gzip", shuffle=True)
    put(g, "fletcher", (100, 41), "i2", chunks=(16, 16), fletcher32=True)
    put(g, "all", (99, 43), "f8", chunks=(16, 16), compression="gzip", shuffle=True, fletcher32=True)
    put(g, "odd", (77,), "i1", chunks=(13,), fletcher32=True, shuffle=True)
    put(g, "fixed_paged", (5000,), chunks=(2,))
    put(g, "fixed_paged_gz", (5000,), chunks=(2,), compression="gzip")
    put(g, "room", (30, 20), chunks=(4, 6), maxshape=(300, 50))
    put(g, "grow1", (900,), chunks=(7,), maxshape=(None,))
    put(g, "grow_many", (3000,), chunks=(1,), maxshape=(None,))
    put(g, "grow_many_gz", (3000,), chunks=(1,), maxshape=(None,), compression="gzip")
    put(g, "grow_first", (50, 12), chunks=(3, 5), maxshape=(None, 12))
    put(g, "grow_last", (12, 60), chunks=(5, 7), maxshape=(20, None))
    put(g, "grow_middle", (4, 30, 6), chunks=(2, 2, 4), maxshape=(9, None, 6), compression="gzip")
    put(g, "grow2", (60, 70), chunks=(6, 5), maxshape=(None, None))
    put(g, "grow2_gz", (60, 70), chunks=(6, 5), maxshape=(None, None), compression="gzip", shuffle=True)
    put(g, "empty", (0,), chunks=(4,), maxshape=(None,))
    put(g, "empty2", (3, 0))
    low(g, "early", (31, 17), (31, 17), (4, 5), h5d.ALLOC_TIME_EARLY)
    low(g, "early_room", (31, 17), (40, 50), (4, 5), h5d.ALLOC_TIME_EARLY)
    low(g, "late_gz", (31, 17), (31, 17), (4, 5), h5d.ALLOC_TIME_LATE, True)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_layout(h5d.COMPACT)
    h5d.create(g.id, b"compact", h5t.NATIVE_INT16, h5s.create_simple((40, 3)), dcpl)
    g["compact"][...] = data((40, 3), "i2", 97)
    g["compact"].attrs["mod"] = np.int64(97)

    g = f.create_group("holes")
    for name, kw in {
        "contiguous": {},
        "chunked": dict(chunks=(4, 5)),
        "gz": dict(chunks=(4, 5), compression="gzip"),
        "grow": dict(chunks=(4, 5), maxshape=(None, 25)),
        "grow2": dict(chunks=(4, 5), maxshape=(None, None)),
        "paged": dict(chunks=(1, 1), maxshape=(100, 100)),
    }.items():
        d = g.create_dataset(name, (20, 25), "i4", fillvalue=-7, **kw)
        d.attrs["mod"] = np.int64(1000000007)
        d.attrs["fill"] = np.int64(-7)
        if name != "contiguous":  # one aligned block is written
            d[8:12, 10:15] = data((20, 25), "i4", 1000000007)[8:12, 10:15]

    # Enough chunks for pages in the blocks of their index; few are written.
    for name, kw in {"ext": {}, "ext_gz": dict(compression="gzip")}.items():
        d = f.create_dataset("sparse/" + name, (1 << 20,), "i4", fillvalue=-7, chunks=(1,), maxshape=(None,), **kw)
        for a, b in [(0, 10), (131060, 131200), (500000, 500050)]:
            d[a:b] = np.arange(a, b)

    g = f.create_group("strange")
    g.create_dataset("lzf", data=np.arange(100), chunks=(10,), compression="lzf")
    g.create_dataset("compound", data=np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]))
    g.create_dataset("vlen", data=["a", "bc"], dtype=h5py.string_dtype())
    g.create_dataset("bool", data=np.array([True, False, True]))
    g.create_dataset("fixed", data=np.array([b"abc", b"de", b""], dtype="S5"))
    g.create_dataset("opaque", data=np.zeros(3, dtype="V7"))
    g.create_dataset("complex", data=np.zeros(3, dtype="c16"))
    f["named"] = np.dtype("<i4")
    d = g.create_dataset("committed", data=np.arange(9, dtype="i4"), dtype=f["named"])
    d.attrs["mod"] = np.int64(100)


def members(f):
    g = f.create_group("links")
    g.create_group("target").attrs["here"] = 1
    g["soft"] = h5py.SoftLink("/links/target")
    g["external"] = h5py.ExternalLink("other.h5", "/x/y")
    g["hard"] = g["target"]
    g["loop"] = g  # a legal cycle
    for n in [0, 1, 8, 9, 300, 3000]:
        g = f.create_group("many_%d" % n)
        for i in range(n):
            g.create_group("m%05d_%s" % (i * 7919 % n, "x" * (i % 40)))
        g = f.create_group("ordered_%d" % n, track_order=True)
        for i in range(n):
            g.create_group("m%05d_%s" % (i * 7919 % n, "x" * (i % 40)))
    g = f.create_group("long")
    for i in range(20):
        g.create_group("n%d_" % i + "y" * 4000)


def attributes(f, latest):
    for order in [False, True]:
        for n in [1, 8, 9, 400]:
            g = f.create_group("attrs_%d_%d" % (order, n), track_order=order)
            for i in range(n):
                g.attrs["a%04d" % i] = np.arange(i % 9, dtype="i4") + i
    g = f.create_group("attr_types")
    g.attrs["vlen"] = "variable \u00e9"
    g.attrs["vlens"] = ["a", "", "ccc"]
    g.attrs["fixed"] = np.bytes_(b"fixed")
    g.attrs["empty"] = h5py.Empty("f4")
    g.attrs["ref"] = f.ref
    g.attrs["bool"] = True
    g.attrs["compound"] = np.zeros(2, dtype=[("a", "i4")])
    g.attrs["be"] = np.array([1, -2], dtype=">i2")
    g.attrs.create("committed", np.arange(3, dtype="i4"), dtype=f["named"])
    if latest:  # over 64 KiB: only in dense storage, outside the heap blocks
        g = f.create_group("attr_huge")
        for i in range(12):
            g.attrs["h%d" % i] = np.arange(20000 + i, dtype="i8")


for name, kw in {
    "default": dict(),
    "latest": dict(libver="latest"),
    "v110": dict(libver=("v110", "v110")),
    "user512": dict(userblock_size=512),
    "user2048": dict(libver="latest", userblock_size=2048),
}.items():
    with h5py.File(out + "/" + name + ".h5", "w", **kw) as f:
        datasets(f)
        members(f)
        attributes(f, kw.get("libver") == "latest")
