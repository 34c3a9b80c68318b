# Copyright: see LICENSE of blobio.
#
# SPDX-License-Identifier: BSD-3-Clause

from spack_repo.builtin.build_systems.go import GoPackage

from spack.package import *


class Blobio(GoPackage):
    """Parallel I/O in blob layouts for climate and AMR codes: a command, and a
    library for C and Fortran."""

    homepage = "https://blobio.invalid"  # where your copy is
    git = "https://blobio.invalid/blobio.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("capi", default=True, description="Library for C, with headers")
    variant("mpi", default=True, description="Library and command for ranks of MPI")
    variant("fortran", default=True, description="Fortran module")

    conflicts("+mpi", when="~capi")
    conflicts("+fortran", when="~capi")

    depends_on("c", type="build", when="+capi")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("go@1.26:", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build", when="+mpi")
    depends_on("mpi", when="+mpi")

    def build(self, spec, prefix):
        make("command")

    def install(self, spec, prefix):
        args = ["PREFIX=" + prefix]
        if spec.satisfies("~capi"):
            make("install-command", *args)
            return
        args.append("CC=" + self.compiler.cc)
        args.append("FC=" + (self.compiler.fc if spec.satisfies("+fortran") else "none"))
        make("install", *args)
        if spec.satisfies("+mpi"):
            kind = "mpich" if spec.satisfies("^[virtuals=mpi] mpich") else "ompi"
            make("install", "MPI=" + kind, *args)
            make("-C", "capi", "install-scr", "MPI=" + kind, *args)
            if spec.satisfies("+fortran"):
                make("-C", "capi", "install-pio", "install-fti", "MPI=" + kind, *args)
