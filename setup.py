# SPDX-License-Identifier: MIT
"""Builds the extension module: the library by make, as everywhere, then python/core."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
HELPERS = ("shoal-hdf5", "shoal-devices")  # programs that the library starts, beside it


class Build(build_ext):
    def build_extension(self, ext: Extension) -> None:
        folder = Path(self.build_temp).resolve() / "library"
        targets = [str(folder / name) for name in ("libshoal.a", *HELPERS)]
        jobs = f"-j{os.cpu_count() or 1}"
        subprocess.run(["make", "-s", jobs, f"BUILD={folder}", *targets], cwd=HERE, check=True)
        ext.extra_objects = [targets[0]]
        super().build_extension(ext)
        beside = Path(self.get_ext_fullpath(ext.name)).parent
        for name in HELPERS:
            shutil.copy2(folder / name, beside / name)


def version() -> str:
    header = (HERE / "include/shoal/shoal.h").read_text()
    return re.search(r'#define SHOAL_VERSION "(.*)"', header)[1]


setup(
    version=version(),
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "shoal._core",
            sorted(str(p.relative_to(HERE)) for p in (HERE / "python/core").glob("*.c")),
            include_dirs=["include"],
            depends=["python/core/core.h", "include/shoal/shoal.h"],
            libraries=["dl", "m", "pthread"],
            extra_compile_args=["-std=gnu17", "-D_GNU_SOURCE", "-fvisibility=hidden"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
