"""Hosts for jobs of ranks: two network namespaces of this machine, joined by a pair of virtual devices.

A process in a namespace reaches the other one by that pair alone, and by name it belongs to a host of its own. What needs no link to go down can do
without namespaces: ranks whose hosts have other names share no memory either, and find each other over the loopback.
"""

import itertools
import json
import os
import socket
import subprocess
import time
from contextlib import contextmanager

import numpy as np

NUMBERS = itertools.count(1)
TCP = {"UCX_TLS": "tcp"}
HOST_NAMES = ("first", "second")
# What launchers tell a rank: its number, how many there are, and where rank 0 is. Slurm says that by name.
VARIABLES = {
    "own": lambda rank, ranks, host, port: {"MOE_RANK": rank, "MOE_RANKS": ranks, "MOE_ROOT": f"{host}:{port}", "MOE_TOKEN": f"{host}:{port}"},
    "torchrun": lambda rank, ranks, host, port: {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": host, "MASTER_PORT": port},
    "srun": lambda rank, ranks, host, port: {
        "SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": ranks, "SLURM_JOB_ID": port, "SLURM_STEP_ID": 0, "SLURM_STEP_NODELIST": ",".join(HOST_NAMES),
    },
}  # fmt: skip


def why_no_namespaces():
    """Why there can be no namespaces here; None if there can."""
    name = f"moe-try-{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no ip (iproute2)"
    if made.returncode:
        return f"network namespaces are not permitted here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Hosts:
    """Two hosts; rank 0 is on the first one. Without `names` of namespaces both are this one, over its loopback."""

    def __init__(self, names=None):
        self.names = names
        self.addresses = [f"10.211.77.{host + 1}" if names else "127.0.0.1" for host in range(2)]
        self.devices = [f"{name}v" for name in names] if names else ["lo", "lo"]

    def enter(self, host):
        return ["ip", "netns", "exec", self.names[host]] if self.names else []

    def root(self):
        """HOST:PORT that nobody listens at: the namespaces are new, and this test's own."""
        if self.names:
            return f"{self.addresses[0]}:{21000 + next(NUMBERS)}"
        with socket.socket() as free:
            free.bind((self.addresses[0], 0))
            return f"{self.addresses[0]}:{free.getsockname()[1]}"

    def set_link(self, state):
        ip("-n", self.names[1], "link", "set", self.devices[1], state)
        while state == "up" and not all(self.about(host)["operstate"] == "UP" for host in range(2)):
            time.sleep(0.01)

    def set_loss(self, host, is_lossy):
        """Loses all packets that a host sends; its link stays up."""
        device = ["tc", "-n", self.names[host], "qdisc", "add" if is_lossy else "delete", "dev", self.devices[host], "root"]
        if is_lossy:  # none is so small
            subprocess.run([*device, "tbf", "rate", "8kbit", "burst", "16", "limit", "16"], check=True, capture_output=True)
        elif self.about(host)["qdisc"] == "tbf":
            subprocess.run(device, check=True, capture_output=True)

    def about(self, host, device=None):
        words = ["ip", "-n", self.names[host], "-s", "-j", "link", "show", "dev", device or self.devices[host]]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]

    def sent(self):
        """Bytes that the first host has sent to the other one."""
        return self.about(0)["stats64"]["tx"]["bytes"]

    def looped(self):
        """Bytes that each host has sent to itself."""
        return np.array([self.about(host, "lo")["stats64"]["tx"]["bytes"] for host in range(2)])

    def start(self, program, ranks, root, folder, *words, environment=None, hosts=(0, 1), counts=None):
        """The launchers of both hosts, or of these, each of half of the ranks or of so many; environment: {variable: value} of a host, or of both."""
        file = folder / "hosts"
        first, second = counts or (ranks // 2, ranks - ranks // 2)
        file.write_text(f"# two hosts\n{HOST_NAMES[0]} {first}\n{HOST_NAMES[1]} {second}\n")
        launchers = []
        for host in hosts:
            name = HOST_NAMES[host]
            own = environment[host] if isinstance(environment, (list, tuple)) else environment or {}
            flags = ["--ranks", str(ranks), "--root", root, "--hosts", file, "--host-name", name, "--interface", self.devices[host], "--threads", "1"]
            command = [*self.enter(host), program, *flags, *map(str, words)]
            launchers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **TCP, **own}))
        return launchers

    def start_ranks(self, program, ranks, root, *words, missing=(), own=None, launcher="own", names=None):
        """{rank: process}, each started by itself as srun does, but for the missing ones; own: {rank: words that it alone is given}; names: a file of hosts in
        place of the system's, for who enters a namespace."""
        processes = {}
        named = ["sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', names] if names else []
        for rank in sorted({*range(ranks)} - {*missing}):
            host = rank * 2 // ranks
            variables = {**VARIABLES[launcher](rank, ranks, *root.rsplit(":", 1)), "MOE_HOST_NAME": HOST_NAMES[host], "MOE_INTERFACE": self.devices[host]}
            command = [*self.enter(host), *named, program, "--threads", "1", *map(str, words), *map(str, (own or {}).get(rank, ()))]
            environment = {**os.environ, **TCP, **{name: str(value) for name, value in variables.items()}}
            processes[rank] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        return processes

    def run(self, *words, timeout=60, **options):
        """(exit code, output, errors) of both launchers."""
        return ends_of(self.start(*words, **options), timeout)


def ends_of(launchers, timeout=60):
    try:
        texts = [launcher.communicate(timeout=timeout) for launcher in launchers]
        return [(launcher.returncode, *text) for launcher, text in zip(launchers, texts, strict=True)]
    finally:
        for launcher in launchers:
            launcher.kill()


@contextmanager
def namespaces(lane=0):
    """Two hosts that reach each other alone; `lane` tells pairs of one process apart."""
    names = [f"moe{os.getpid()}{letter}{lane}" for letter in "ab"]
    hosts = Hosts(names)
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", hosts.devices[0], "netns", names[0], "type", "veth", "peer", "name", hosts.devices[1], "netns", names[1])
        for host, name in enumerate(names):
            ip("-n", name, "address", "add", f"{hosts.addresses[host]}/24", "dev", hosts.devices[host])
        ip("-n", names[0], "link", "set", hosts.devices[0], "up")
        hosts.set_link("up")
        yield hosts
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
