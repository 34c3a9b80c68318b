"""A dataset of 21,600 ranks opens at once, and a dataset of 500 subfiles opens with a limit of 256 open files."""

import json
import os
import subprocess
import sys
import time
import unittest

import blobio
from support import DATA, Case


class Many(Case):
    def test_opens_at_once(self):
        with open(os.path.join(DATA, "many.json")) as f:
            datasets = json.load(f)
        self.assertEqual(len(datasets), 2)
        blobio.open(datasets[0]["base"]).close()  # the library is loaded
        for d in datasets:
            begun = time.perf_counter()
            ds = blobio.open(d["base"])
            opened = time.perf_counter()
            level = ds["T850"][0]
            read = time.perf_counter()
            print("# %s, %d ranks: opened in %.1f ms, first level of %d columns in %.0f ms"
                  % (ds.layout, ds.ranks, 1e3 * (opened - begun), len(level), 1e3 * (read - opened)))
            self.assertEqual((ds.ranks, len(level)), (21600, 48602))
            self.assertLess(opened - begun, 5)  # far above the usual time, but below the time of reading maps
            ds.close()

    def test_few_descriptors(self):
        """A hard limit below the number of subfiles, and several open datasets."""
        with open(os.path.join(DATA, "subfiles.json")) as f:
            names = [d["base"] for d in json.load(f)]
        program = """if True:
            import os, pickle, resource, sys
            limit = int(sys.argv[1])
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            import numpy as np
            import blobio
            opened = [blobio.open(name) for name in sys.argv[2:]]
            again = [pickle.loads(pickle.dumps(ds)) for ds in opened]
            values = [ds["T850"][0] for _ in range(2) for ds in opened + again]
            assert len(values[0]) == 866 and all(np.array_equal(values[0], v) for v in values)
            assert len(os.listdir("/proc/self/fd")) <= limit
            print(opened[0].subfiles)
        """
        for limit in 256, 1024:
            got = subprocess.run([sys.executable, "-c", program, str(limit), *names], capture_output=True, text=True, timeout=120)
            self.assertEqual((got.stdout, got.returncode), ("500\n", 0), got.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
