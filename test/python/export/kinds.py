"""What stands where a file is expected."""

import os
import socket

KINDS = ["pipe", "device", "folder", "socket"]


def make(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        before = os.getcwd()
        os.chdir(path.parent)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
        os.chdir(before)
