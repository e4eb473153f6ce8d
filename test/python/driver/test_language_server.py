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
