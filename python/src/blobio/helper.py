"""A process that reads datasets for a forked process, which cannot use libblobio itself.

remote.py starts it as a program, `python helper.py FD`, and talks to it over the socket FD, one thread for each
connection. Arrays go through shared memory, into which the library reads directly. The helper ends when all connections
are closed, even if the other process was killed.
"""

import ctypes
import os
import signal
import socket
import sys
import threading


def _package():
    """Imports the modules beside this file as modules of package blobio, without its __init__, which needs numpy."""
    import types

    package = types.ModuleType("blobio")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["blobio"] = package


class Server:
    def __init__(self, lib, memory):
        self.lib, self.memory = lib, memory

    def serve(self, sock):
        """Answers the requests of one connection, in turn."""
        with sock:
            while True:
                request, fd = self.memory.receive(sock)
                if request is None:
                    return
                try:
                    answer = self._answer(request, fd)
                except OSError as e:  # including the errors of errors.py
                    answer = {"error": str(e), "code": getattr(e, "code", None), "file": getattr(e, "file", ""), "offset": getattr(e, "offset", -1)}
                except Exception as e:
                    answer = {"error": "helper process: %s: %s" % (type(e).__name__, e)}
                finally:
                    if fd is not None:
                        os.close(fd)
                self.memory.send(sock, answer)

    def _answer(self, q, fd):
        op = q["op"]
        if op == "connect":
            threading.Thread(target=self._quietly, args=(socket.socket(fileno=os.dup(fd)),), daemon=False).start()
            return {}
        if op == "open":
            h, about = self.lib.open(q["path"], q["options"])
            return {"h": h, "about": about}
        if op == "close":
            self.lib.close(q["h"])
            return {}
        if op == "status":
            return {"status": self.lib.status(q["path"], q["wait"])}
        if op == "wait_records":
            self.lib.wait_records(q["h"], q["n"], q["seconds"])
            return {}
        if op == "header":
            header = self.lib.header(q["h"])
            os.ftruncate(fd, len(header))
            os.pwrite(fd, header, 0)
            return {"size": len(header)}
        with self.memory.mapped(fd, q["size"]) as view:
            at = ctypes.addressof(ctypes.c_char.from_buffer(view))
            if op == "read":
                self.lib.read(q["h"], q["varid"], q["kind"], q["start"], q["count"], at, q["n"])
            elif op == "runs":
                self.lib.read_runs(q["h"], q["varid"], q["kind"], q["record"], q["runs"], at + q["offsets"], at + q["lengths"], at, q["n"])
            else:
                raise ValueError("unknown request %r" % op)
        return {}

    def _quietly(self, sock):
        try:
            self.serve(sock)
        except (BrokenPipeError, ConnectionError):
            pass  # the caller is gone


def main():
    _package()
    from blobio import library, memory

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles ctrl-C
    sock = socket.socket(fileno=int(sys.argv[1]))
    try:
        lib = library.load()
    except OSError as e:
        memory.send(sock, {"error": str(e)})
        return
    memory.send(sock, {"pid": os.getpid()})
    Server(lib, memory)._quietly(sock)


if __name__ == "__main__":
    main()
