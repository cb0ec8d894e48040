"""A daemon that breaks its promises, to see whether those who watch for that notice."""

import contextlib
import socket
import threading

import resp


class Liar:
    """A daemon that grants everything to everybody: the tokens grow, or do not."""

    def __init__(self, place, token):
        self.socket = place.path + "/liar"
        self.token = token
        self.turn = threading.Lock()  # tokens leave in the order in which they were drawn
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen()
        place.sockets.append(self.listener)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        data = b""
        with client, contextlib.suppress(OSError):
            while True:
                more = client.recv(65536)
                if not more:
                    return
                data += more
                request = resp.parse(data)
                while request:
                    words, at = request
                    data = data[at:]
                    with self.turn:
                        client.sendall(self.answer(words))
                    request = resp.parse(data)

    def answer(self, words):
        if words[0] == "HELLO":
            return b"%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n"
        return b":0\r\n" if words[0] == "UNLOCK" else b":%d\r\n" % self.token()
