"""Puts libblobio into the package, from $BLOBIO_LIBRARY or built from ../capi by Go and a C compiler.

Without both, the package is pure Python and looks for libblobio at run time (blobio/library.py). The source tree stays
unchanged.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

NAME = "libblobio.so.1"
CAPI = Path(__file__).resolve().parent.parent / "capi"
SCRATCH = Path(tempfile.mkdtemp(prefix="blobio-setup-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


def can_build():
    return (CAPI / "Makefile").is_file() and all(map(shutil.which, ("go", "make", os.environ.get("CC", "cc"))))


def has_library():
    return bool(os.environ.get("BLOBIO_LIBRARY")) or can_build()


def library():
    """The path of libblobio."""
    if os.environ.get("BLOBIO_LIBRARY"):
        return Path(os.environ["BLOBIO_LIBRARY"])
    built = SCRATCH / NAME
    if not built.exists():
        # keeps make's output out of pip's
        subprocess.run(["make", "-C", str(CAPI), "shared", "BUILD=%s" % SCRATCH, "GOLDFLAGS=-s -w"], check=True, stdout=sys.stderr)
    return built


def platform(path, machine):
    """The tag of a wheel with this library, by the newest glibc symbols that it needs, if it needs only glibc."""
    data = path.read_bytes()
    versions = {(int(a), int(b)) for a, b in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=[.\d]*\0)", data)}
    if not versions or not machine.startswith("linux_"):
        return machine
    return "manylinux_%d_%d_%s" % (*max(max(versions), (2, 17)), machine[len("linux_"):])


class BuildPy(build_py):
    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):
            shutil.copyfile(Path(__file__).with_name("src") / "blobio.pth", Path(self.build_lib) / "blobio.pth")
        if has_library() and not getattr(self, "editable_mode", False):
            target = Path(self.build_lib) / "blobio" / "lib"
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(library(), target / NAME)
            (target / NAME).chmod(0o755)
        if (CAPI.parent / "LICENSE").is_file():
            shutil.copyfile(CAPI.parent / "LICENSE", Path(self.build_lib) / "blobio" / "LICENSE")


class BdistWheel(bdist_wheel):
    def get_tag(self):
        python, abi, machine = super().get_tag()
        if self.root_is_pure:
            return python, abi, machine
        return "py3", "none", platform(library(), machine)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return has_library()


setup(
    distclass=WithLibrary,
    cmdclass={"build_py": BuildPy, "bdist_wheel": BdistWheel},
    options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)}},
)
