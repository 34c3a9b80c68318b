"""A dataset of 21,600 ranks opens at once."""

import json
import os
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
            self.assertLess(opened - begun, 5)  # far above what it takes, but below reading maps
            ds.close()


if __name__ == "__main__":
    unittest.main()
