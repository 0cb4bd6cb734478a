"""Starts glow-serve, and asks it by Python's standard library."""

import glob
import http.client
import json
import signal
import struct
import subprocess
import time


def wait_for(true, said=lambda: ""):
    """Waits until `true` holds, and ends with what `said` gives if that takes 100 s."""
    until = time.monotonic() + 100
    while not true():
        assert time.monotonic() < until, said()
        time.sleep(0.01)


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            ["glow-serve", "-port=0", *arguments], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if why[0]:
            self.process.kill()
            self.process.wait()
        else:
            assert self.stop() == 0

    def stop(self, timeout=60):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers={}):
        """The status and the JSON of the answer, or its text."""
        connection = self.connect()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if data and answer.headers["Content-Type"] == "application/json":
            data = json.loads(data)
        return answer.status, data

    def get(self, path):
        return self.ask("GET", path)

    def infer(self, model, request):
        return self.ask("POST", f"/v2/models/{model}/infer", json.dumps(request))


def children(pid):
    """The processes that any thread of `pid` started."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as f:
            found += map(int, f.read().split())
    return found


def tensor(name, values, shape=None, datatype="FP32"):
    return {
        "name": name,
        "shape": shape or [len(values)],
        "datatype": datatype,
        "data": values,
    }


def binary(server, path, request, data, length=None):
    """Sends elements behind the JSON; the status, the JSON and what follows it."""
    text = json.dumps(request).encode()
    connection = server.connect()
    size = str(len(text) if length is None else length)
    connection.request(
        "POST", path, text + data, {"Inference-Header-Content-Length": size}
    )
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    at = int(answer.headers.get("Inference-Header-Content-Length", len(body)))
    return answer.status, json.loads(body[:at]), body[at:]


def floats(*values):
    return struct.pack(f"{len(values)}f", *values)
