# A recipe for Spack: a folder hetmp/ with this file in the packages/ of a repository of yours. Tried with Spack 0.23:
# install, load, uninstall. A checkout instead of the network: `package_attributes: {git: file:///...}` in
# packages.yaml.
from spack.package import *


class Hetmp(Package):
    """OpenMP runtime that takes the place of libgomp and libomp under programs that are already
    compiled, for machines with unlike cores; an OpenSHMEM; message queues for local stores."""

    homepage = "https://github.com/hetmp/hetmp"
    git = "https://github.com/hetmp/hetmp.git"

    license("Apache-2.0 OR MIT")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.85:", type="build")
    depends_on("pkgconfig", type="run")

    conflicts("platform=darwin", msg="hetmp is for Linux")
    conflicts("platform=windows", msg="hetmp is for Linux")
    requires("target=x86_64:", msg="hetmp is for x86-64")

    def install(self, spec, prefix):
        installer = Executable(join_path(self.stage.source_path, "scripts", "install"))
        installer("--prefix", str(prefix))

    def setup_run_environment(self, env):
        env.set("HETMP_ROOT", self.prefix)
