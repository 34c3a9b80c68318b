"""Lets xarray.open_mfdataset find datasets by a pattern of base names, from its first call on.

It expands patterns before it loads any engine, so the engine (blobio/xarray_names.py) comes too late for that. Python runs
this module when it starts, by blobio.pth: it waits for the import of xarray, and costs nothing where there is none.
"""

import sys

API = "xarray.backends.api"


class Finder:
    """Finds one module, once, by what else finds modules, and fits names when it has been run."""

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
                    return  # numpy, or the package itself, is gone
                fit()

            spec.loader.exec_module = run_and_fit
        return spec


if API not in sys.modules:
    sys.meta_path.insert(0, Finder())
