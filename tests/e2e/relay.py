"""A TCP relay between programs and a server: it passes on, falls silent, or cuts."""
import contextlib
import selectors
import socket
import threading

CHUNK = 65536


class Relay:
    """Listens on `port` of an address of the loopback and passes on to `target`: (host, port), or
    the path of a Unix socket.  One thread; what it is told takes effect with the next bytes at the
    latest."""

    def __init__(self, target, address="127.0.0.1", port=0):
        self.target = target
        self._listener = socket.create_server((address, port))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._peers = {}  # each end of a connection: the other one
        self._silent = set()  # ends whose bytes are swallowed
        self.accepted = 0
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._ended = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _connect(self):
        if isinstance(self.target, tuple):
            return socket.create_connection(self.target)
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.target))
        return server

    def _accept(self):
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # it was closed meanwhile
        self.accepted += 1
        try:
            server = self._connect()
        except OSError:
            client.close()
            return
        for one, other in ((client, server), (server, client)):
            if one.family != socket.AF_UNIX:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _drop(self, one):
        for end in (one, self._peers.pop(one, None)):
            if end is not None:
                self._peers.pop(end, None)
                self._silent.discard(end)
                with contextlib.suppress(KeyError):
                    self._selector.unregister(end)
                end.close()

    def _pass_on(self, one):
        try:
            data = one.recv(CHUNK)
            if one in self._silent:
                if not data:  # its end is not told either: the peer never hears of it
                    self._selector.unregister(one)
                return
            if data:
                self._carry(one, data)
                return
        except OSError:
            if one in self._silent:
                self._selector.unregister(one)
                return
        self._drop(one)

    def _carry(self, one, data):
        self._peers[one].sendall(data)

    def _serve(self):
        while not self._ended:
            for key, _ in self._selector.select():
                with self._lock:
                    if key.fileobj is self._woken:
                        self._woken.recv(1)
                    elif key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj in self._peers:
                        self._pass_on(key.fileobj)

    @contextlib.contextmanager
    def absent(self):
        """Closes all connections, and takes no new ones for a while: they are refused."""
        with self._lock:
            self._selector.unregister(self._listener)
            self._listener.close()
        self.cut()
        try:
            yield
        finally:
            with self._lock:
                self._listener = socket.create_server(("127.0.0.1", self.port))
                self._selector.register(self._listener, selectors.EVENT_READ)
                self._wake.send(b"x")

    def swallow(self):
        """All connections that there are stay open and say nothing any more, in both directions;
        new ones work."""
        with self._lock:
            self._silent.update(self._peers)

    def cut(self):
        """Closes all connections that there are; new ones work."""
        with self._lock:
            for one in list(self._peers):
                if one in self._peers:
                    self._drop(one)

    def connections(self):
        return len(self._peers) // 2

    def close(self):
        if self._ended:
            return
        self._ended = True
        self._wake.send(b"x")
        self._thread.join()
        self.cut()
        for one in (self._listener, self._wake, self._woken):
            one.close()
