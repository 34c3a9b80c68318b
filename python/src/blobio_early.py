"""Lets xarray.open_mfdataset find datasets by a pattern of base names, from its first call on.

open_mfdataset expands patterns before it loads engines, so the engine (blobio/xarray_names.py) comes too late. Python runs
this module at its start, by blobio.pth. The module waits for the import of xarray, and costs nothing without it.
"""

import sys

API = "xarray.backends.api"


class Finder:
    """Finds xarray's API module once, through the other finders, and wraps its functions after its execution."""

    def find_spec(self, name, path=None, target=None):
        if name != API:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec
        spec = find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def run_and_fit(module):
                run(module)
                try:
                    from blobio.xarray_names import fit
                except ImportError:
                    return  # numpy or the package was removed
                fit()

            spec.loader.exec_module = run_and_fit
        return spec


if API not in sys.modules:
    sys.meta_path.insert(0, Finder())
