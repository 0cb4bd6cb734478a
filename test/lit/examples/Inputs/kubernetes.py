"""Checks the manifest: its form by a subset of Kubernetes' schema, its probes by a server.

    kubernetes.py MANIFEST NETWORK

Objects have no member but those of the subset (API reference of Kubernetes 1.30), so that a
member in the wrong place, or of the wrong type, fails.
"""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema
import yaml

TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
NUMBER = {"type": "integer", "minimum": 0}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
TEXTS = {"type": "object", "additionalProperties": TEXT}
QUANTITY = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$"}
QUANTITIES = {"type": "object", "additionalProperties": QUANTITY}


def record(needed="", **members):
    return {
        "type": "object",
        "properties": members,
        "required": needed.split(),
        "additionalProperties": False,
    }


def several(item):
    return {"type": "array", "items": item, "minItems": 1}


def one_of(*values):
    return {"enum": list(values)}


SELECTOR = record("matchLabels", matchLabels=TEXTS)
META = record("name", name=NAME, labels=TEXTS)
PROBE = record(
    "httpGet",
    httpGet=record("path port", path=TEXT, port={"anyOf": [NAME, NUMBER]}),
    periodSeconds=NUMBER,
    timeoutSeconds=NUMBER,
    failureThreshold=NUMBER,
)
CONTAINER = record(
    "name image",
    name=NAME,
    image=TEXT,
    command=several(TEXT),
    args=several(TEXT),
    ports=several(record("containerPort", name=NAME, containerPort=NUMBER)),
    startupProbe=PROBE,
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    resources=record(requests=QUANTITIES, limits=QUANTITIES),
    securityContext=record(
        allowPrivilegeEscalation=FLAG,
        readOnlyRootFilesystem=FLAG,
        capabilities=record(drop=several(TEXT)),
    ),
    volumeMounts=several(record("name mountPath", name=NAME, mountPath=TEXT, readOnly=FLAG)),
)
POD = record(
    "containers",
    terminationGracePeriodSeconds=NUMBER,
    automountServiceAccountToken=FLAG,
    securityContext=record(
        runAsNonRoot=FLAG,
        runAsUser=NUMBER,
        seccompProfile=record("type", type=one_of("RuntimeDefault", "Unconfined")),
    ),
    containers=several(CONTAINER),
    volumes=several(
        record(
            "name",
            name=NAME,
            persistentVolumeClaim=record("claimName", claimName=NAME, readOnly=FLAG),
        )
    ),
)
DEPLOYMENT = record(
    "apiVersion kind metadata spec",
    apiVersion=one_of("apps/v1"),
    kind=one_of("Deployment"),
    metadata=META,
    spec=record(
        "selector template",
        replicas=NUMBER,
        selector=SELECTOR,
        strategy=record(
            type=one_of("RollingUpdate", "Recreate"),
            rollingUpdate=record(maxUnavailable=NUMBER, maxSurge=NUMBER),
        ),
        template=record("metadata spec", metadata=record("labels", labels=TEXTS), spec=POD),
    ),
)
SERVICE = record(
    "apiVersion kind metadata spec",
    apiVersion=one_of("v1"),
    kind=one_of("Service"),
    metadata=META,
    spec=record(
        "selector ports",
        selector=TEXTS,
        ports=several(
            record("port", name=NAME, port=NUMBER, targetPort={"anyOf": [NAME, NUMBER]})
        ),
    ),
)
BUDGET = record(
    "apiVersion kind metadata spec",
    apiVersion=one_of("policy/v1"),
    kind=one_of("PodDisruptionBudget"),
    metadata=META,
    spec=record("selector", minAvailable=NUMBER, selector=SELECTOR),
)


def check_references(deployment, service, budget):
    """Names that must be those of other members."""
    spec = deployment["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    (container,) = pod["containers"]
    for selector in spec["selector"]["matchLabels"], service["spec"]["selector"]:
        assert selector.items() <= labels.items(), selector
    assert budget["spec"]["selector"] == spec["selector"]
    assert budget["spec"]["minAvailable"] < spec["replicas"]
    ports = {p["name"] for p in container["ports"]}
    probes = [container[f"{kind}Probe"] for kind in ("startup", "liveness", "readiness")]
    assert {p["httpGet"]["port"] for p in probes} <= ports
    assert {p["targetPort"] for p in service["spec"]["ports"]} <= ports
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    return pod, container


def check_end(pod, container):
    """The drain outlasts the probe that sees it; the grace period, all that may follow."""
    (drain,) = [a for a in container["args"] if a.startswith("-drain-ms=")]
    seconds = int(drain.partition("=")[2]) / 1000
    probe = container["readinessProbe"]
    seen = probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"]
    assert seconds >= 2 * seen, (seconds, seen)
    assert pod["terminationGracePeriodSeconds"] >= seconds + 60, seconds


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def check_server(container, network):
    """The command as it stands, with a port and a folder of this machine."""
    live = container["livenessProbe"]["httpGet"]["path"]
    ready = container["readinessProbe"]["httpGet"]["path"]
    assert container["startupProbe"]["httpGet"]["path"] == live
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/net/1")
        os.symlink(network, f"{folder}/net/1/model.gir")
        changed = {"-models": folder, "-address": "127.0.0.1", "-port": "0"}
        command = list(container["command"])
        for argument in container["args"]:
            name = argument.partition("=")[0]
            command.append(f"{name}={changed[name]}" if name in changed else argument)
        assert set(changed) <= {a.partition("=")[0] for a in container["args"]}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            assert (ask(port, live), ask(port, ready)) == (200, 200)
            server.send_signal(signal.SIGTERM)
            while ask(port, ready) != 503:
                time.sleep(0.01)
            assert ask(port, live) == 200
        finally:
            server.kill()
            server.wait()


def main(manifest, network):
    with open(manifest, encoding="utf-8") as f:
        objects = list(yaml.safe_load_all(f))
    for schema, value in zip((DEPLOYMENT, SERVICE, BUDGET), objects):
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.validate(value, schema)
    pod, container = check_references(*objects)
    check_end(pod, container)
    check_server(container, network)


if __name__ == "__main__":
    main(*sys.argv[1:])
