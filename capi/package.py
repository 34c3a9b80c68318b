# A recipe for Spack; docs/guide-c.md says what was tried.
from spack.package import *


class Blobio(MakefilePackage):
    """Parallel I/O in blob layouts for climate and AMR codes."""

    homepage = "https://example.org/blobio"   # where your copy is
    git = "https://example.org/blobio.git"
    version("main", branch="main")
    variant("mpi", default=True, description="Functions that take a communicator")
    variant("fortran", default=True, description="Fortran module")
    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("go@1.26:", type="build")
    depends_on("pkgconfig", type="build", when="+mpi")
    depends_on("mpi", when="+mpi")
    build_directory = "capi"

    def build(self, spec, prefix):
        pass                                   # install builds

    def install(self, spec, prefix):
        args = ["PREFIX=" + prefix, "CC=" + spack_cc, "FC=" + (spack_fc if "+fortran" in spec else "none")]
        with working_dir(self.build_directory):
            make("install", *args)
            if "+mpi" in spec:
                make("install", "MPI=" + ("mpich" if "mpich" in spec else "ompi"), *args)
