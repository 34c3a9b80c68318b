"""read_fti.py RAW FILE: reads an FTI-FF checkpoint file by FTI's rules.

Uses only Python's own library, and no code of the module that wrote the file. The
layout is the one whose file block has the MD5 of its fields. Then the script checks
all conditions that FTI checks or assumes: sizes, offsets by the growth rule, the
checksum by the reader's rule, MD5 of every chunk. Bytes of the variables go to RAW,
in order of first appearance, the rest to standard output.
"""
import hashlib
import json
import struct
import sys

#          FB, at the end?, its integers from byte 49 on (name: place, form)         BMD    VMD
A = dict(ckptSize=(56, "q"), fs=(64, "q"), maxFs=(72, "q"), ptFs=(80, "q"), timestamp=(88, "q"))
B = dict(ckptSize=(49, "q"), fs=(57, "q"), maxFs=(65, "q"), ptFs=(73, "q"), timestamp=(81, "q"))
C0 = dict(ckptSize=(49, "q"), metaSize=(57, "q"), dataSize=(65, "q"), fs=(73, "q"), maxFs=(81, "q"), ptFs=(89, "q"), timestamp=(97, "q"))
C = dict(ckptId=(49, "i"), ckptSize=(53, "q"), metaSize=(61, "q"), dataSize=(69, "q"), fs=(77, "q"), maxFs=(85, "q"), ptFs=(93, "q"), timestamp=(101, "q"))
E = dict(ckptId=(49, "i"), ckptSize=(53, "i"), metaSize=(57, "i"), dataSize=(61, "i"), fs=(65, "i"), maxFs=(69, "i"), ptFs=(73, "i"), timestamp=(77, "i"))
F = dict(C, timestamp=(101, "I"))
LAYOUTS = [  # name, bytes of FB, its fields, BMD, VMD, names of the VMD's fields
    ("F", 106, F, "<iq", "<ii??qqqq16s", "id containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("E", 82, E, "<ii", "<ii??qqii16s", "id containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("D", 110, C, "<iq", "<ii??qqqq16s", "id containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("C", 110, C, "<iq", "<iii??qqqq16s", "id idx containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("C0", 106, C0, "<iq", "<iii??qqqq16s", "id idx containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("B", 90, B, "<iq", "<iii??qqqq16s", "id idx containerid hascontent hasCkpt dptr fptr chunksize containersize hash"),
    ("A", 96, A, "<iq", "<iii?3xqqqq16s", "id idx containerid hascontent dptr fptr chunksize containersize hash"),
]
HASHED = ["timestamp", "ckptSize", "metaSize", "dataSize", "fs", "ptFs", "maxFs"]


def md5(data=b""):
    return hashlib.md5(data, usedforsecurity=False)


def file_block(data, size, fields, at):
    """The fields, if their hash is myHash."""
    b = data[at:at + size]
    if at < 0 or len(b) < size:
        return None
    h = md5(b[:33])
    for name in HASHED:
        if name in fields:
            place, form = fields[name]
            h.update(b[place:place + struct.calcsize("<" + form)])
    if h.digest() != b[33:49]:
        return None
    fb = {name: struct.unpack_from("<" + form, b, place)[0] for name, (place, form) in fields.items()}
    assert b[32] == 0, "the checksum does not end with NUL"
    return dict(fb, checksum=b[:32].decode("ascii"))


def blocks(data, layout, fb):
    """[(place, dbsize, records)] of all blocks, and their end."""
    name, fbsize, _, bmd, vmd, names = layout
    inline = name in "AB"
    at, end = (fbsize, fb["fs"]) if inline else (fb["dataSize"], fb["fs"] - fbsize)
    while at < end:
        n, dbsize = struct.unpack_from(bmd, data, at)
        records, p = [], at + struct.calcsize(bmd)
        assert n > 0, f"{n} records in the block at {at}"
        for _ in range(n):
            records.append(dict(zip(names.split(), struct.unpack_from(vmd, data, p))))
            p += struct.calcsize(vmd)
        yield at, dbsize, records, p
        at = at + dbsize if inline else p
    assert at == end, f"the records end at {at}, not at {end}"


def read(data):
    for layout in LAYOUTS:
        name, fbsize, fields = layout[:3]
        fb = file_block(data, fbsize, fields, 0 if name in "AB" else len(data) - fbsize)
        if fb and name in "CD":  # C and D have the same file block: it is D if D's records fill the space
            try:
                list(blocks(data, layout, fb))
            except (AssertionError, struct.error):
                continue
        if fb:
            break
    else:
        raise AssertionError("no layout's file block has the hash that its fields give")
    inline = name in "AB"
    assert fb["ckptSize"] == fb["fs"], "ckptSize is not fs"
    assert len(data) == fb["fs"] or name == "B" and len(data) < fb["fs"], f"fs {fb['fs']}, {len(data)} bytes"
    if not inline:
        assert fb["metaSize"] + fb["dataSize"] == len(data), "metaSize and dataSize are not the file"

    found, where, idx = {}, 0, {}
    whole, hashes = md5(), md5()
    for at, dbsize, records, p in blocks(data, layout, fb):
        if inline:
            where = p
        room = p - at if inline else 0
        for c in records:
            v = found.setdefault(c["id"], dict(n=0, room=0, bytes=b"", full=True))
            if "idx" in c:
                assert idx.setdefault(c["idx"], c["id"]) == c["id"], f"idx {c['idx']} of two variables"
            assert c["containerid"] == v["n"] and c["dptr"] == v["room"] and c["fptr"] == where, f"{c} is not where the rule puts it: {v['n'], v['room'], where}"
            assert 0 <= c["chunksize"] <= c["containersize"], c
            if c["hascontent"]:
                chunk = data[where:where + c["chunksize"]]
                assert len(chunk) == c["chunksize"], f"{c} is cut off"
                assert v["full"] or not chunk, f"{c} has content, one before it is not full"
                assert md5(chunk).digest() == c["hash"], f"hash of {c}"
                v["bytes"] += chunk
                v["full"] = v["full"] and c["chunksize"] == c["containersize"]
                whole.update(chunk)
                hashes.update(c["hash"])
            else:
                assert c["chunksize"] == 0 and v["n"] > 0, c
                v["full"] = False
            v["n"], v["room"] = v["n"] + 1, v["room"] + c["containersize"]
            where, room = where + c["containersize"], room + c["containersize"]
        assert dbsize == room, f"dbsize {dbsize} of the block at {at}, its containers have {room}"
    if not inline:
        assert where == fb["dataSize"], f"dataSize {fb['dataSize']}, the containers end at {where}"
    assert sorted(idx) == list(range(len(idx))), f"places in the table: {sorted(idx)}"
    want = md5(data[96:]) if name == "A" else whole if name == "B" else hashes
    assert fb["checksum"] == want.hexdigest(), f"checksum {fb['checksum']}, want {want.hexdigest()}"
    return name, fb, found


if __name__ == "__main__":
    with open(sys.argv[2], "rb") as f:
        layout, fb, found = read(f.read())
    with open(sys.argv[1], "wb") as raw:
        for v in found.values():
            raw.write(v["bytes"])
    print(json.dumps(dict(vars=[dict(name=str(i), type="u1", shape=[len(v["bytes"])], containers=v["n"]) for i, v in found.items()],
                          layout=layout, checkpoint=fb.get("ckptId", 0), timestamp=fb["timestamp"])))
