"Parsers, sources and faults of the digits."
import gzip
import io
import urllib.error
import urllib.request

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumbel_softmax import data, pipeline


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=64) | st.binary(max_size=64).map(lambda b: b"\0\0\x08" + b))
def test_idx_is_read_or_refused(blob):
    try: array = data.read_idx(blob)
    except ValueError: return
    assert blob == b"\0\0\x08" + bytes([array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def amat_row(packed):
    return b" ".join(b"01"[bit:bit + 1] for bit in np.unpackbits(np.frombuffer(packed, np.uint8)))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64) | st.binary(min_size=98, max_size=98).map(amat_row))
def test_amat_is_read_or_refused(blob):
    try: rows = data.read_amat(blob)
    except ValueError: return
    assert rows.shape[1] == 98 and np.unpackbits(rows).sum() == blob.count(b"1")


class Answer(io.BytesIO):
    def __init__(self, body, url="https://example.org/x"): super().__init__(body); self.url = url
    def geturl(self): return self.url


def refuse(error):
    def urlopen(*args, **kwargs): raise error
    return urlopen


FAULTS = {
    "down": refuse(urllib.error.URLError("no route")),
    "slow": refuse(TimeoutError("timed out")),
    "garbage": lambda *a, **k: Answer(b"\x1f\x8bgarbage"),
    "an error page": lambda *a, **k: Answer(b"<html>404</html>"),
    "another file": lambda *a, **k: Answer(gzip.compress(b"other")),
    "cut short": lambda *a, **k: Answer(gzip.compress(b"the digits" * 99)[:30]),
    "redirected away from https": lambda *a, **k: Answer(gzip.compress(b"the digits"), "http://example.org/x"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_source_is_named_and_the_next_is_tried(fault, monkeypatch, tmp_path):
    monkeypatch.setattr(urllib.request, "urlopen", FAULTS[fault])
    files, mirror = {"digits": data.sha256(b"the digits")}, {"https": "https://mirror.example.org"}
    with pytest.raises(RuntimeError, match="(?s)digits: no source has it.*https://mirror.example.org.*params.yaml"):
        data.fetch(tmp_path / "raw", [{"folder": None}, mirror], files)
    assert not (tmp_path / "raw" / "digits").exists()
    (tmp_path / "digits").write_bytes(b"the digits")
    data.fetch(tmp_path / "raw", [mirror, {"folder": str(tmp_path)}], files)
    assert (tmp_path / "raw" / "digits").read_bytes() == b"the digits"
    assert [p.name for p in (tmp_path / "raw").iterdir()] == ["digits"]


def test_an_unknown_kind_of_source():
    with pytest.raises(ValueError, match="ftp"): data.fetch("nowhere", [{"ftp": "x"}], {"digits": "0"})


@pytest.fixture(scope="module")
def raw():
    "The raw digits, fetched if need be"
    folder = data.root() / "data" / "raw"
    data.fetch(folder, pipeline.params()["data"]["sources"])
    return folder


def test_the_binarisation_is_the_same_everywhere(raw, tmp_path):
    manifest = data.binarise(raw, tmp_path)
    assert {name: digest[:16] for name, digest in manifest["sha256"].items() if "labels" not in name} == EXPECTED


EXPECTED = {"test.npy": "4ee0876f98b5bc90", "train.npy": "9fd3d7f2cb1d4c84", "valid.npy": "e8525743f33295ad"}


def test_damage_is_noticed(raw, tmp_path):
    data.binarise(raw, tmp_path)
    good = (tmp_path / "valid.npy").read_bytes()
    for bad in (good[:-1], b"", good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        (tmp_path / "valid.npy").write_bytes(bad)
        with pytest.raises(ValueError, match="valid.npy is missing or damaged"): data.read_binarised(tmp_path)
    (tmp_path / "valid.npy").write_bytes(good)
    assert data.read_binarised(tmp_path)["valid"][0].shape == (10_000, 98)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="manifest.json"): data.read_binarised(tmp_path)


def test_unknown_binarisation(raw, tmp_path):
    with pytest.raises(ValueError, match="binarisation must be"): data.binarise(raw, tmp_path, kind="thresholded")
