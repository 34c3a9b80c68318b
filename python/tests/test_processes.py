"""Threads, forks, pickles, dask: the same values everywhere, and no hangs or leftovers."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import xarray as xr

import blobio
from blobio import selection, sources
from support import Case, children, field, status, write


def total(variable):
    return float(np.asarray(variable[...]).sum())


def row(args):
    variable, r = args
    return variable[r]


class Processes(Case):
    def setUp(self):
        super().setUp()
        self.fields = field(records=6)
        write(self.path(), self.fields)
        self.ds = blobio.open(self.path())
        self.addCleanup(self.ds.close)
        self.T = self.fields["T"][1]
        self.ds["T"][0]  # libblobio runs in this process

    def test_threads(self):
        keys = [(int(r), slice(int(a), int(b))) for r, a, b in np.random.default_rng(3).integers(0, 6, (400, 3))]
        with ThreadPoolExecutor(8) as pool:
            for key, got in zip(keys, pool.map(self.ds["T"].__getitem__, keys)):
                np.testing.assert_array_equal(got, self.T[key])

    def test_threads_that_open_and_close(self):
        def use(i):
            with blobio.open(self.path()) as ds:
                return total(ds["T"])
        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(use, range(100))), {total(self.ds["T"])})

    def test_child_of_fork(self):
        def child():
            T = self.ds["T"]
            with unittest.mock.patch.multiple(selection, SMALL=0, DENSE=1):
                runs = T[::2, 1, ::90]
            got = T[1], runs, T[5, [3, 0, 0], 7], blobio.open(self.path())["PS"][...], dict(T.attrs)
            helpers = children(os.getpid())
            return got, helpers
        got, helpers = self.in_child(child)
        want = self.T[1], self.T[::2, 1, ::90], self.T[5, [3, 0, 0], 7], self.fields["PS"][1], {"units": "K"}
        for g, w in zip(got, want):
            np.testing.assert_equal(g, w)
        self.assertEqual(len(helpers), 1)
        self.gone(helpers)
        np.testing.assert_array_equal(self.ds["T"][2], self.T[2])  # the parent is as before
        self.assertEqual(children(os.getpid()), [])

    def gone(self, pids):
        """The processes end by themselves."""
        for _ in range(1000):
            pids = [p for p in pids if status(p)]
            if not pids:
                return
            time.sleep(0.01)
        self.fail("still there: %s" % pids)

    def test_child_that_loads_the_library_itself(self):
        """If the parent has not loaded libblobio, no helper is needed."""
        program = """if True:
            import os, sys
            import blobio, blobio.sources
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    ds = blobio.open(sys.argv[1])
                    status = 0 if ds["T"].shape == ds["T"][...].shape and type(blobio.sources._process.via).__name__ == "Library" else 2
                finally:
                    os._exit(status)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
        self.assertEqual(subprocess.run([sys.executable, "-c", program, self.path()], timeout=60).returncode, 0)

    def test_grandchildren_and_threads_of_children(self):
        def grandchild():
            return self.ds["T"][4]

        def child():
            np.testing.assert_array_equal(self.ds["T"][3], self.T[3])
            np.testing.assert_array_equal(self.in_child(grandchild), self.T[4])
            with ThreadPoolExecutor(6) as pool:
                for r, got in zip(range(60), pool.map(lambda r: self.ds["T"][r % 6], range(60))):
                    np.testing.assert_array_equal(got, self.T[r % 6])
            np.testing.assert_array_equal(self.in_child(grandchild), self.T[4])
            return self.ds["T"][5]
        np.testing.assert_array_equal(self.in_child(child), self.T[5])

    def test_fork_while_threads_read(self):
        stop = threading.Event()

        def read():
            while not stop.is_set():
                self.ds["T"][...]
                blobio.open(self.path()).close()
        threads = [threading.Thread(target=read) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for r in range(6):
                np.testing.assert_array_equal(self.in_child(lambda: self.ds["T"][r]), self.T[r])
        finally:
            stop.set()
            for t in threads:
                t.join()

    def test_helper_is_killed(self):
        def child():
            self.ds["T"][0]
            helper, = children(os.getpid())
            os.kill(helper, signal.SIGKILL)
            os.waitpid(helper, 0)
            with self.assertRaisesRegex(blobio.GoneError, "helper process has ended"):
                self.ds["T"][1]
            return self.ds["T"][2]  # by another one
        np.testing.assert_array_equal(self.in_child(child), self.T[2])

    def test_child_is_killed(self):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.ds["T"][0]
                os.write(w, b"%d" % children(os.getpid())[0])
                signal.pause()
            finally:
                os._exit(1)
        os.close(w)
        helper = int(os.read(r, 32))
        os.close(r)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.gone([helper])

    def test_interrupt(self):
        """Python handles ctrl-C, also with libblobio in the process, and in a child that reads through a helper."""
        program = """if True:
            import os, signal, sys
            import blobio
            ds = blobio.open(sys.argv[1])
            ds["T"][0]
            if sys.argv[2] == "child" and os.fork():
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
            try:
                ds["T"][0]
                print("reading", flush=True)
                while True:
                    ds["T"][...]
            except KeyboardInterrupt:
                ds["T"][1]
                sys.exit(7)
        """
        for which in "parent", "child":
            with self.subTest(which), subprocess.Popen([sys.executable, "-c", program, self.path(), which], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                              start_new_session=True) as p:
                try:
                    p.stdout.readline()
                    os.killpg(p.pid, signal.SIGINT)  # as a terminal does
                    self.assertEqual((p.wait(60), p.stderr.read()), (7, ""))  # nor does the helper print anything
                finally:
                    p.kill()

    def test_no_helper(self):
        def child():
            os.environ["BLOBIO_PYTHON"] = "/does/not/exist"
            with self.assertRaisesRegex(blobio.LibraryError, "cannot start the helper process for reads after fork: .*does/not/exist"):
                self.ds["T"][0]
        self.in_child(child)

    def test_pools(self):
        for method in "fork", "spawn", "forkserver":
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                for r, got in enumerate(pool.map(row, [(self.ds["T"], r) for r in range(6)])):
                    np.testing.assert_array_equal(got, self.T[r])

    def test_pickles(self):
        data = pickle.dumps(self.ds["T"])
        self.assertLess(len(data), 1000)
        v = pickle.loads(data)
        np.testing.assert_array_equal(v[...], self.T)
        self.assertEqual((dict(v.attrs), v.dims, v.shape), ({"units": "K"}, ("time", "lev", "ncol"), self.T.shape))
        ds = pickle.loads(pickle.dumps(self.ds))
        self.assertEqual((list(ds), ds.path, ds.state), (list(self.ds), self.ds.path, self.ds.state))
        self.assertIs(v._source.open(), self.ds._source.open())  # one open dataset for all Sources of the same state

    def test_replaced(self):
        v, data, whole = self.ds["T"], pickle.dumps(self.ds["T"]), pickle.dumps(self.ds)
        old = self.ds.state
        write(self.path(), field(seed=5), options="force=yes")
        sources._process.drop()
        later = pickle.loads(data)
        for read in lambda: later[0], lambda: pickle.loads(whole), lambda: self.in_child(lambda: v[0]):
            with self.assertRaises(blobio.ReplacedError) as e:
                read()
            self.assertIn("%s: the dataset was replaced or appended to" % self.path(), str(e.exception))
        try:  # an open dataset keeps its state, or raises an error
            np.testing.assert_array_equal(v[0], self.T[0])
        except blobio.Error:
            pass
        with blobio.open(self.path()) as ds:
            self.assertNotEqual(ds.state, old)
            np.testing.assert_array_equal(ds["T"][0], field(seed=5)["T"][1][0])

    def test_dask(self):
        with xr.open_dataset(self.path(), chunks={}) as ds:
            want = self.T.mean(axis=(0, 2))
            for scheduler, method in ("synchronous", None), ("threads", None), ("processes", "spawn"), ("processes", "fork"):
                with self.subTest(scheduler=scheduler, method=method), \
                        dask.config.set(scheduler=scheduler, num_workers=2, **{"multiprocessing.context": method}):
                    np.testing.assert_allclose(ds["T"].mean(("time", "ncol")).compute().values, want)
                    np.testing.assert_array_equal(ds["PS"][2:5, ::7].compute().values, self.fields["PS"][1][2:5, ::7])

    def test_files_are_closed(self):
        self.ds.close()
        sources._process.drop()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            with blobio.open(self.path()) as ds:
                ds["T"][0]
            with xr.open_dataset(self.path()) as ds:
                ds["T"].load()
            del ds
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before + 1)

    def test_many_are_kept_open_up_to_a_limit(self):
        for i in range(12):
            write(self.path("x%d" % i), {"a": (("x",), np.full(3, float(i)), {})})
        data = [pickle.dumps(blobio.open(self.path("x%d" % i))["a"]) for i in range(12)]
        sources._process.drop()
        for limit in "MOST_FILES", "MOST_KEPT":
            sources._process.drop()
            with unittest.mock.patch.object(sources, limit, 4):
                for _ in range(2):
                    for i, d in enumerate(data):
                        np.testing.assert_array_equal(pickle.loads(d)[...], i)
                self.assertEqual((len(sources._process.kept), len(sources._process.open)), (4, 4))
                handle = sources._process.open[pickle.loads(data[-1])._source._key()]
                self.assertIs(pickle.loads(data[-1])._source.open(), handle)  # successive tasks share it


if __name__ == "__main__":
    unittest.main()
