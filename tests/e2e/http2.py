"""A relay that knows the frames of HTTP/2 and does what a server, or something in between, may do:
it says goodbye, resets a request, gives little room for the bytes that are on their way, or talks
nonsense."""
import struct

from relay import Relay

PREFACE_BYTES = 24
HEADER = struct.Struct(">BHBBI")  # length (1 + 2 bytes), kind, flags, stream
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = 1
INITIAL_WINDOW_SIZE, WINDOW_BYTES = 4, 65535  # the setting, and what it is when nobody says
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 2, 7, 8
LAST_STREAM = 2 ** 31 - 1

# What may happen to a request.  The server sees it but where it says "unseen".
TROUBLES = ["goodbye", "unseen goodbye", "unseen reset", "reset"]


def frame(kind, stream, payload, flags=0):
    length = len(payload)
    return HEADER.pack(length >> 16, length & 0xffff, kind, flags, stream) + payload


def number(n):
    return struct.pack(">I", n)


OURS = b"ours"  # what our pings begin with
NONSENSE = frame(DATA, 0, b"nonsense")  # no stream has this number


class Way:
    """The bytes of one direction of a connection, up to the frames that they make."""

    def __init__(self, other_end, room, preface=0):
        self.bytes = b""
        self.preface = preface
        self.other_end = other_end
        self.room = room  # the window of a stream in this direction; None: what the end itself says
        self.pending = []  # may follow only when the first frame has passed: it says the settings
        self.begun = False
        self.unsaid = 0  # how much more the receiver gives to each stream, which the sender is not
        self.left = {}   # told at once: what is left of that, by stream

    def take(self, data):
        """(what is to be passed on as it is, [(kind, flags, stream, payload)])."""
        front, self.bytes = data[:self.preface], self.bytes + data[self.preface:]
        self.preface -= len(front)
        frames = []
        while len(self.bytes) >= HEADER.size:
            high, low, kind, flags, stream = HEADER.unpack_from(self.bytes)
            end = HEADER.size + (high << 16) + low
            if len(self.bytes) < end:
                break
            frames.append((kind, flags, stream, self.bytes[HEADER.size:end]))
            self.bytes = self.bytes[end:]
        return front, frames

    def send_pending(self):
        while self.begun and self.pending:
            self.other_end.sendall(self.pending.pop(0))


class Http2Relay(Relay):
    """trouble(n) -> one of TROUBLES or None is asked about each request, counted from 1 over all
    connections.  `room` is how many bytes of a request, or of an answer, may be on their way."""

    def __init__(self, target, trouble=lambda n: None, room=None):
        self.trouble = trouble
        self.room = room
        self.requests = 0
        self.pongs = []  # the numbers of our own pings that a client has answered
        self._ways = {}  # by the end that sends
        self._unseen = set()  # streams whose requests the server does not see: (end, stream)
        super().__init__(target)

    def _way_of(self, one):
        if one not in self._ways:
            is_client = self._is_client(one)
            self._ways[one] = Way(self._peers[one], self.room, PREFACE_BYTES if is_client else 0)
        return self._ways[one]

    def _drop(self, one):
        other = self._peers.get(one)
        super()._drop(one)
        self._ways.pop(one, None)
        self._ways.pop(other, None)
        self._unseen = {(end, stream) for end, stream in self._unseen if end is not one}

    def _carry(self, one, data):
        way = self._way_of(one)
        front, frames = way.take(data)
        way.other_end.sendall(front)
        for each in frames:
            self._frame(one, way, *each)

    def _frame(self, one, way, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK and way.room:
            payload = self._narrowed(one, payload)
        if kind == DATA and (one, stream) in self._unseen:
            return
        if kind == PING and flags & ACK and payload.startswith(OURS):
            self.pongs.append(struct.unpack(">I", payload[len(OURS):])[0])
            return
        way.other_end.sendall(frame(kind, stream, payload, flags))
        way.begun = True
        way.send_pending()
        if kind == DATA and way.room:
            self._give_room(one, way, stream, len(payload))
        if kind == HEADERS and self._is_client(one):
            self.requests += 1
            self._befall(one, way.other_end, stream, self.trouble(self.requests))

    # What a receiver says of its window is about the other direction.
    def _narrowed(self, one, payload):
        settings = {}
        for at in range(0, len(payload), 6):
            what, value = struct.unpack_from(">HI", payload, at)
            settings[what] = value
        back = self._way_of(self._peers[one])
        back.unsaid = settings.get(INITIAL_WINDOW_SIZE, WINDOW_BYTES) - back.room
        settings[INITIAL_WINDOW_SIZE] = back.room
        return b"".join(struct.pack(">HI", *each) for each in settings.items())

    def _give_room(self, one, way, stream, count):
        left = way.left.get(stream, way.unsaid)
        more = min(count, left)
        way.left[stream] = left - more
        if more > 0:
            one.sendall(frame(WINDOW_UPDATE, stream, number(more)))

    # The headers always go to the server, since both ends compress them by what went before.
    def _befall(self, client, server, stream, what):
        if what and what.startswith("unseen"):
            self._unseen.add((client, stream))
            server.sendall(frame(RST_STREAM, stream, number(CANCEL)))
        back = self._way_of(server)
        back.pending += self._answers(stream).get(what, [])
        back.send_pending()

    @staticmethod
    def _answers(stream):
        """What the client is told."""
        def goodbye(last):
            return frame(GOAWAY, 0, number(last) + number(NO_ERROR))

        def reset(why):
            return frame(RST_STREAM, stream, number(why))

        return {
            "goodbye": [goodbye(LAST_STREAM), goodbye(stream)],  # as a server does with grace
            "unseen goodbye": [goodbye(max(0, stream - 2))],
            "unseen reset": [reset(REFUSED_STREAM)],
            "reset": [reset(INTERNAL_ERROR)],
        }

    def say_to_clients(self, text):
        with self._lock:
            for one in self._peers:
                if self._is_client(one):
                    one.sendall(text)

    def ping_clients(self, n):
        self.say_to_clients(frame(PING, 0, OURS + number(n)))

    def _is_client(self, one):
        return one.getsockname()[1] == self.port
