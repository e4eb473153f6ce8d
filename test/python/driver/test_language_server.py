"""What moe-lsp-server calls itself, in its help and to an editor; and that its messages stay whole."""

import json
import subprocess

import pytest


def framed(message):
    text = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def messages(stream):
    """Messages of the server; each is exactly as long as its header says."""
    while stream:
        header, stream = stream.split(b"\r\n\r\n", 1)
        length = int(header.removeprefix(b"Content-Length: "))
        yield json.loads(stream[:length])
        stream = stream[length:]


@pytest.mark.parametrize("flags", [[], ["--pretty"]])
def test_protocol(flags):
    document = {"uri": "test:///a.mlir", "languageId": "mlir", "version": 1, "text": "module {\n  func.func private @f()\n}"}
    requests = [
        {"id": 0, "method": "initialize", "params": {"processId": 123, "rootPath": "", "capabilities": {}, "trace": "off"}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 1, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": document["uri"]}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    done = subprocess.run(["moe-lsp-server", *flags], input=b"".join(map(framed, requests)), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answers = {message["id"]: message["result"] for message in messages(done.stdout) if "id" in message}
    assert answers[0]["serverInfo"]["name"] == "moe-lsp-server" and sorted(answers) == [0, 1, 2]
    assert "mlir-lsp-server" not in done.stdout.decode()


def test_answers_come_one_by_one():
    """An editor waits for each answer before it asks again."""
    server = subprocess.Popen(["moe-lsp-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for number, method in enumerate(("initialize", "shutdown")):
        server.stdin.write(framed({"id": number, "method": method, "params": {"capabilities": {}}}))
        server.stdin.flush()
        length = int(server.stdout.readline().decode().removeprefix("Content-Length: "))
        assert server.stdout.readline() == b"\r\n"
        assert json.loads(server.stdout.read(length))["id"] == number
    server.stdin.write(framed({"method": "exit"}))
    server.stdin.close()
    assert server.wait(timeout=60) == 0
    server.stdout.close()


def test_help():
    text = subprocess.run(["moe-lsp-server", "--help"], capture_output=True, text=True, check=True).stdout
    assert text.startswith("OVERVIEW: moe-lsp-server: language server for MLIR text with the dialects of moe-mlir\n")
    assert "USAGE: moe-lsp-server [options]" in text and "MLIR LSP Language Server" not in text


DEEP = 100_000
HOSTILE = {
    "regions": ("module {\n" * DEEP, 200, "more than 200 brackets are nested"),
    "expressions": ("\n\n#m = affine_map<(d0) -> (d0" + " + d0" * DEEP + ")>", 2, "an expression has more than 1000 operators"),
    "aliases": ("#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, 41)) + "module attributes {moe.name = #a40} {}", None,
                "its aliases, written out, would be more than 64 times the text"),
    "texts that are none": ("module attributes {a = {iterator_types = [[]]}} {}", 0, "needs a list of texts, such as ['parallel', 'reduction']"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("method", ["didOpen", "didChange"])
def test_texts_that_no_parser_survives(name, method):
    """An error at the line, and the server goes on."""
    text, line, what = HOSTILE[name]
    uri = "test:///a.mlir"
    opened = text if method == "didOpen" else "module {}"
    requests = [
        {"id": 0, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": opened}}},
        {"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}},
        {"id": 1, "method": "textDocument/hover", "params": {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 3}}},
        {"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": "module {}"}]}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    done = subprocess.run(["moe-lsp-server"], input=b"".join(map(framed, requests)), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr[-1000:]
    sent = list(messages(done.stdout))
    assert sorted(message["id"] for message in sent if "id" in message) == [0, 1, 2]
    found = [message["params"]["diagnostics"] for message in sent if message.get("method") == "textDocument/publishDiagnostics"]
    assert [len(list) for list in found] == ([1, 1, 0] if method == "didOpen" else [0, 1, 0])
    [error] = found[1]
    assert what in error["message"] and line in (None, error["range"]["start"]["line"])


def test_deep_messages():
    requests = framed({"id": 0, "method": "initialize", "params": {"capabilities": {}}}), b"Content-Length: %d\r\n\r\n%s" % (DEEP, b"[" * DEEP)
    done = subprocess.run(["moe-lsp-server"], input=b"".join([*requests, framed({"id": 1, "method": "shutdown"}), framed({"method": "exit"})]),
                          capture_output=True, timeout=60)
    assert done.returncode == 0 and b"a message has more than 200 nested levels" in done.stderr
    assert [message["id"] for message in messages(done.stdout)] == [0, 1]
