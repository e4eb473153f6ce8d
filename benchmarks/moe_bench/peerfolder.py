"""Where the peers are that the environment of the tests does not have."""

import json
from pathlib import Path

from .errors import BenchError


class PeerFolder:
    """What scripts/bench-peers made."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def check(self, wanted):
        """Raises BenchError if one of the peers with these names has to be installed first."""
        if wanted and not (self.folder / "peers.json").is_file():
            raise BenchError(f"peers {', '.join(wanted)} are not installed: run scripts/bench-peers, or choose others with --peers")

    @property
    def python(self):
        return str(self.folder / "venv" / "bin" / "python")

    def ggml(self):
        """(library of ggml, version of the llama.cpp that it is from)"""
        return self._library("ggml")

    def llama(self):
        """(library of llama.cpp, its version)"""
        return self._library("llama")

    def _library(self, name):
        facts = json.loads((self.folder / "peers.json").read_text())
        if name not in facts:
            raise BenchError(f"what is installed in '{self.folder}' is older than this script: run scripts/bench-peers again")
        return self.folder / facts[name], facts["llama.cpp"]
