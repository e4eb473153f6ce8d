"""Damaged zip records of a .pt2: the reader says what is wrong, wherever it is, and never crashes."""

import struct
import subprocess

import pytest

from compiling import compile_model, expect_error, files, pack, refuse

WEIGHT = b"model/data/weights/weight_0"


@pytest.fixture
def archive(tmp_path):
    return pack(tmp_path / "a.pt2", "tiny.json")


class Records:
    """Places of the records of one entry, and of the end record."""

    def __init__(self, content):
        self.content = bytearray(content)
        self.end = content.rindex(b"PK\x05\x06")
        self.central = content.rindex(b"PK\x01\x02", 0, content.rindex(WEIGHT))
        self.local = content.index(b"PK\x03\x04", 0) if content.index(WEIGHT) < 60 else content.rindex(
            b"PK\x03\x04", 0, content.index(WEIGHT))

    def put(self, form, at, value):
        struct.pack_into("<" + form, self.content, at, value)


DAMAGES = {
    "several disks": (lambda r: r.put("H", r.end + 4, 3), "the archive spans several disks"),
    "directory beyond the end": (lambda r: r.put("I", r.end + 16, 0x7fffffff),
                                 "the archive is truncated (its directory lies beyond the end of the file)"),
    "too many entries": (lambda r: r.put("H", r.end + 10, 200), "the archive is damaged (its directory ends early)"),
    "long name": (lambda r: r.put("H", r.central + 28, 0xfff0), "the archive is damaged (its directory ends early)"),
    "encrypted": (lambda r: r.put("H", r.central + 8, 1), "is encrypted"),
    "no header": (lambda r: r.put("I", r.central + 42, 5), "is damaged (no header at its offset)"),
    "header beyond the end": (lambda r: r.put("I", r.central + 42, 0x7fffffff), "is damaged (no header at its offset)"),
    "other name": (lambda r: r.put("B", r.local + 30, ord("M")), "is damaged (its header has another name)"),
    "data beyond the directory": (lambda r: [r.put("I", r.central + at, 0x7ffffff0) for at in (20, 24)], "is truncated"),
    "overlap": (lambda r: [r.put("I", r.central + at, 200) for at in (20, 24)], "overlap"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_record(name, archive):
    damage, text = DAMAGES[name]
    records = Records(archive.read_bytes())
    damage(records)
    archive.write_bytes(records.content)
    refuse(archive, 1, text)


def test_damaged_zip64_records(tmp_path):
    archive = pack(tmp_path / "a.pt2", "tiny.json", "zip64")
    content = archive.read_bytes()
    records = Records(content)
    records.put("H", records.central + 46 + len(WEIGHT) + 2, 4)
    archive.write_bytes(records.content)
    refuse(archive, 1, "the archive is damaged (short zip64 field)")
    records = Records(content)
    records.put("Q", records.end - 20 + 8, 7)
    archive.write_bytes(records.content)
    refuse(archive, 1, "the archive is damaged (its zip64 end record is not where its locator says)")


def test_cut_anywhere(archive):
    content = archive.read_bytes()
    for size in [*range(1, len(content), len(content) // 30), *range(len(content) - 24, len(content))]:
        archive.write_bytes(content[:size])
        expect_error(compile_model(archive, "-o", archive.parent / "out", "-q"), 1, "a.pt2: ")
        assert files(archive.parent) == ["a.pt2"], size


def test_any_byte_of_the_directory(archive):
    """Errors, not crashes; where the byte says nothing of the content, the archive is read as before."""
    content = archive.read_bytes()
    for at in range(content.index(b"PK\x01\x02"), len(content), 11):
        archive.write_bytes(content[:at] + bytes([content[at] ^ 0xff]) + content[at + 1:])
        done = subprocess.run(["moe-translate", "--import-pt2", archive], capture_output=True, text=True)
        assert done.returncode in (0, 1), (at, done.stderr)
        assert (done.returncode == 0) == (done.stderr == ""), (at, done.stderr)


@pytest.mark.parametrize("entry", ["models/model.json", "data/weights/model_weights_config.json"])
def test_any_byte_of_a_text(entry, archive):
    """A flipped bit may leave the text a text that says something else: its checksum tells."""
    content = archive.read_bytes()
    begin = content.index(b"model/" + entry.encode()) + len(b"model/" + entry.encode())
    for at in (begin, begin + 20, begin + 60):
        archive.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
        refuse(archive, 1, f"a.pt2: entry 'model/{entry}' is damaged (checksum differs)")


def test_flipped_bit_of_the_extra_file(tmp_path):
    archive = pack(tmp_path / "a.pt2", "mixtral.json")
    content = archive.read_bytes()
    archive.write_bytes(content.replace(b'"cache_length": 6', b'"cache_length": 7', 1))
    assert archive.read_bytes() != content
    refuse(archive, 1, "a.pt2: entry 'model/extra/moe_mlir.json' is damaged (checksum differs)")


@pytest.mark.parametrize("name", ["/weight_0", "a/../../weight_0", "C:/weight_0", "a\\weight_0"])
def test_names_that_leave_the_archive(name, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", "rename", "data/weights/weight_0", name), 1, "a.pt2: entry name '", "leaves the archive")


def test_weights_that_nothing_uses(tmp_path):
    """Of a file of this project's exporter; strict export leaves unused parameters in the table."""
    import json

    tables = json.dumps({"proj.weight": [7, [3, 2]], "more.weight": [7, [5]]})
    assert compile_model(pack(tmp_path / "a.pt2", "tiny.json", "set", "weights", tables), "--to=graph", "-o", "/dev/null", "-q").returncode == 0
    extra = json.dumps({"version": 1, "tokens": "x"})
    refuse(pack(tmp_path / "a.pt2", "tiny.json", "set", "weights", tables, "set", "extra", extra), 1,
           "a.pt2: tensor 'more.weight' is left over: no input of the graph has it")


def test_data_that_no_table_names(tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", "text", "data/weights/weight_7", "abcd"), 1,
           "a.pt2: the data 'data/weights/weight_7' is left over: no table of the archive has a tensor of it")
