"""Memory that two processes share, and messages between them."""

import ctypes
import json
import mmap
import os
import socket
import tempfile

MOST = 1 << 16  # bytes of a message


def file(size):
    """A nameless file of size bytes that disappears with its last user."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("blobio", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as f:
            fd = os.dup(f.fileno())
    try:
        os.ftruncate(fd, max(size, 1))
    except BaseException:
        os.close(fd)
        raise
    return fd


def mapped(fd, size):
    return mmap.mmap(fd, max(size, 1))


class Shared:
    """size bytes of memory for the duration of a context; another process can map the file fd."""

    def __init__(self, size):
        self.size = size
        self.fd = file(size)
        try:
            self._map = mapped(self.fd, size)
        except BaseException:
            os.close(self.fd)
            raise
        self._at = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._map.close()
        os.close(self.fd)

    def copy_to(self, address, n):
        ctypes.memmove(address, self._at, n)

    def copy_from(self, address, n, at):
        ctypes.memmove(self._at + at, address, n)


def pair():
    """The two ends of a connection with message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(sock, message, fd=None):
    data = json.dumps(message).encode()
    if len(data) > MOST:
        raise ValueError("message has %d bytes, want at most %d" % (len(data), MOST))
    if fd is None:
        sock.sendall(data)
    else:
        socket.send_fds(sock, [data], [fd])


def receive(sock):
    """A message and the file descriptor sent with it, or None; None, None at the end of the connection."""
    data, fds, _, _ = socket.recv_fds(sock, MOST, 1)
    if not data:
        return None, None
    return json.loads(data), fds[0] if fds else None
