from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tacit.noise import bits
from tacit.noise.bits import SecureBits, SeededBitsForTestsOnly, secure
from tests import draws


@pytest.fixture(autouse=True)
def _in_earnest() -> Iterator[None]:
    with draws.in_earnest():
        yield


def test_the_stream_is_aes_256_in_counter_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    # NIST SP 800-38A, F.5.5: the key, the first counter block, and plaintext xor ciphertext of two blocks.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    cipher = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5")
    given = iter([key, counter])
    monkeypatch.setattr(os, "urandom", lambda size: next(given))
    served = SecureBits().words(4).tobytes()
    assert served == bytes(a ^ b for a, b in zip(plain, cipher, strict=True))


def test_words_of_one_source_never_repeat_across_call_sizes() -> None:
    source = SecureBits()
    sizes = (1, 3, 1024, 1025, 70_000, 1, 32_768, 5)
    everything = np.concatenate([source.words(size) for size in sizes])
    assert everything.size == sum(sizes)
    # 104,000 words of 64 bits collide with probability below 3e-10
    assert np.unique(everything).size == everything.size


def test_the_key_is_renewed_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.urandom

    def counting(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", counting)
    monkeypatch.setattr(bits, "_REKEY_AFTER_BYTES", 8 * 32_768)
    SecureBits().words(5 * 32_768)
    assert asked == [32, 16] * 5


def test_served_words_are_wiped_from_memory() -> None:
    source = SecureBits()
    served = source.words(10)
    assert served.all()
    assert not np.isin(served, source._pool).any()


def test_a_forked_child_draws_from_a_stream_of_its_own() -> None:
    source = SecureBits()
    source.words(1)  # a pool that a careless child would go on serving
    streams = []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, source.words(16).tobytes() + secure().words(16).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        streams.append(os.read(read, 1024))
        os.close(read)
        os.close(write)
    streams.append(source.words(16).tobytes() + secure().words(16).tobytes())
    words = np.frombuffer(b"".join(streams), dtype=np.uint64)
    assert words.size == 96
    assert np.unique(words).size == 96


def test_a_fork_while_another_thread_draws_does_not_hang_the_child() -> None:
    source = SecureBits()
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            source.words(2000)

    drawing = threading.Thread(target=draw)
    drawing.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                source.words(1)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0
    finally:
        stop.set()
        drawing.join()


def test_threads_sharing_a_source_never_get_the_same_words() -> None:
    source = SecureBits()
    drawn: list[np.ndarray] = []

    def draw() -> None:
        drawn.append(np.concatenate([source.words(size) for size in (1, 7, 1024, 2000) * 5]))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.concatenate(drawn)
    assert together.size == 4 * 5 * 3032
    assert np.unique(together).size == together.size


def test_each_thread_has_a_secure_source_of_its_own() -> None:
    sources = [secure()]
    thread = threading.Thread(target=lambda: sources.append(secure()))
    thread.start()
    thread.join()
    assert isinstance(sources[0], SecureBits)
    assert isinstance(sources[1], SecureBits)
    assert sources[0] is not sources[1]
    assert secure() is sources[0]


def test_bits_are_the_asked_number_of_bits() -> None:
    source = SecureBits()
    assert source.bits(0) == 0
    for count in (1, 63, 64, 65, 200):
        drawn = [source.bits(count) for _ in range(200)]
        assert all(0 <= value < 2**count for value in drawn)
        # the top bit is missing from 200 draws with probability 2**-200
        assert max(drawn) >= 2 ** (count - 1)


@pytest.mark.statistical
def test_every_bit_of_a_word_is_fair() -> None:
    """False alarm below 64 * 2 * exp(-2 * 25) < 1e-19 (Hoeffding, five-root-n deviations)."""
    words = SecureBits().words(1 << 20)
    for position in range(64):
        ones = int(((words >> np.uint64(position)) & np.uint64(1)).sum())
        assert abs(ones - words.size / 2) <= 5 * words.size**0.5


def test_the_seeded_source_repeats_itself_and_is_not_secure() -> None:
    assert (SeededBitsForTestsOnly(1).words(5) == SeededBitsForTestsOnly(1).words(5)).all()
    assert not isinstance(SeededBitsForTestsOnly(1), SecureBits)
