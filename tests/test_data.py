"Parsers, sources and faults of the digits."
import contextlib
import functools
import gzip
import http.server
import threading
import time
import urllib.request

import numpy as np
import pytest
from conftest import fuzz, tally
from hypothesis import given
from hypothesis import strategies as st

from gumbel_softmax import data, pipeline


@fuzz
@given(st.binary(max_size=64) | st.binary(max_size=64).map(lambda b: b"\0\0\x08" + b))
def test_idx_is_read_or_refused(blob):
    tally("fuzz: idx files")
    try: array = data.read_idx(blob)
    except ValueError: return
    assert blob == b"\0\0\x08" + bytes([array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def amat_row(packed):
    return b" ".join(b"01"[bit:bit + 1] for bit in np.unpackbits(np.frombuffer(packed, np.uint8)))


@fuzz
@given(st.binary(max_size=64) | st.binary(min_size=98, max_size=98).map(amat_row))
def test_amat_is_read_or_refused(blob):
    tally("fuzz: amat files")
    try: rows = data.read_amat(blob)
    except ValueError: return
    assert rows.shape[1] == 98 and np.unpackbits(rows).sum() == blob.count(b"1")


DIGITS = b"the digits" * 999


class Faulty(http.server.BaseHTTPRequestHandler):
    "A mirror with a fault, which the first part of the path names"
    def log_message(self, *args): pass

    def say(self, body, status=200, length=None, **headers):
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body) if length is None else length)}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        whole = gzip.compress(DIGITS)
        match self.path.split("/")[1]:
            case "good": self.say(whole)
            case "garbage": self.say(b"\x1f\x8bgarbage")
            case "error-page": self.say(b"<html>not found</html>", 404)
            case "page": self.say(b"<html>please sign in</html>")
            case "empty": self.say(b"")
            case "other": self.say(gzip.compress(b"other"))
            case "short": self.say(whole[:30], length=len(whole))
            case "loop": self.say(b"", 302, Location=self.path)
            case "away": self.say(b"", 302, Location=f"http://localhost:{self.server.server_port}/good/digits.gz")
            case "endless": self.say(b"x" * 10_000)
            case "silent": time.sleep(1)
            case "slow":
                self.say(b"", length=len(whole))
                with contextlib.suppress(OSError):
                    for byte in whole: self.wfile.write(bytes([byte])), time.sleep(0.02)


@pytest.fixture(scope="module")
def mirror():
    "The address of a faulty mirror on this machine"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Faulty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FAULTS = {
    "down": "ConnectionRefusedError|Connection refused", "garbage": "EOFError", "error-page": "404",
    "page": "BadGzipFile", "empty": "another file .0 bytes", "other": "another file .5 bytes", "short": "EOFError",
    "loop": "infinite loop", "away": "redirected to http://localhost", "endless": "more than 9000 bytes",
    "silent": "timed out", "slow": "bytes in 0.5 seconds",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_source_is_named_and_the_next_is_tried(fault, mirror, monkeypatch, tmp_path):
    https, urlopen = "https://mirror.example.org", urllib.request.urlopen
    place = "http://127.0.0.1:9" if fault == "down" else mirror
    def plainly(url, timeout):
        "As if the mirror on this machine spoke https"
        answer = urlopen(url.replace(https, place), timeout=timeout)
        final = answer.geturl().replace(place, https)
        answer.geturl = lambda: final
        return answer
    monkeypatch.setattr(urllib.request, "urlopen", plainly)
    hurried = functools.partial(data.from_https, timeout=0.3, patience=0.5, limit=9000)
    monkeypatch.setitem(data.SOURCES, "https", hurried)
    files, bad = {"digits": data.sha256(DIGITS)}, {"https": f"{https}/{fault}"}
    with pytest.raises(RuntimeError, match=f"(?s)digits: no source has it.*{https}/{fault}: .*({FAULTS[fault]}).*params.yaml"):
        data.fetch(tmp_path / "raw", [{"folder": None}, bad], files)
    assert not (tmp_path / "raw" / "digits").exists()
    (tmp_path / "digits").write_bytes(DIGITS)
    data.fetch(tmp_path / "raw", [bad, {"folder": str(tmp_path)}], files)
    assert [p.name for p in (tmp_path / "raw").iterdir()] == ["digits"]
    assert (tmp_path / "raw" / "digits").read_bytes() == DIGITS
    tally("network: faults")


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
