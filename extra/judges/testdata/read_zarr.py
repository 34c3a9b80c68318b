"""read_zarr.py RAW PLACE [VARIABLE ...]: a Zarr group, by its URL or directory, as the package zarr has it, version 2 or 3."""
import sys
import zarr
from answer import Answer

raw, place, *names = sys.argv[1:]
answer = Answer(raw)
if zarr.__version__.startswith("2."):
    import fsspec
    group = zarr.open_consolidated(fsspec.get_mapper(place), mode="r")
    dims = lambda a: a.attrs["_ARRAY_DIMENSIONS"]
else:
    group = zarr.open_group(place, mode="r", use_consolidated=True)
    dims = lambda a: a.metadata.dimension_names or a.attrs.get("_ARRAY_DIMENSIONS", [])
for name in names or sorted(group.array_keys()):
    answer.variable(name, group[name][...], dims(group[name]))
answer.close()
