"""What a bundle holds, of which commit, and when it was made."""

import hashlib
import json
import subprocess
import time

LIMIT = 40 << 20  # bytes


class BundleError(Exception):
    """The bundle cannot be made."""


def commit(root):
    """The commit of the source tree; with "+" if files differ from it."""

    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


def digest(path):
    return digest_of(path.read_bytes())


def write_manifest(folder, root):
    files = {str(path.relative_to(folder)): [path.stat().st_size, digest(path)] for path in sorted(folder.rglob("*")) if path.is_file()}
    size = sum(entry[0] for entry in files.values())
    if size > LIMIT:
        raise BundleError(f"the bundle has {size / 2**20:.1f} MiB; the limit is {LIMIT >> 20} MiB")
    manifest = {"commit": commit(root), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "bytes": size, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
