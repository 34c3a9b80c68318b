# Loads a block list with yt and prints the cells of all fields of all leaves
# and refined blocks: "<block> <field> <hex of little-endian float64, x fastest>".
import sys
import numpy as np
import yt

yt.set_log_level(50)
ds = yt.load(sys.argv[1])
rank = ds.dimensionality
print("rank", rank, "time", repr(float(ds.current_time)), "blocks", len(ds.index.grids), file=sys.stdout)
fields = sys.argv[2:]
for g in ds.index.grids:
    if g.Level < 0:
        continue
    name = g.block_name
    for f in fields:
        v = np.asarray(g[("enzoe", f)], dtype="<f8")
        print(name, f, v.flatten(order="F").tobytes().hex())
    if rank:
        print(name, "edge", np.asarray(g.LeftEdge, dtype="<f8").tobytes().hex(), np.asarray(g.RightEdge, dtype="<f8").tobytes().hex())
