#!/usr/bin/env python3
"""A daemon that is the first process of a container: signals, its redis-server, and processes that nobody waits for; and the
root of the image in packaging/image, which has what it needs and no more."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import container
import harness
import pod
import resp
import tool
from certificates import Authority
from check_tls_masters import SecureRedis
from harness import expect, expect_between

# The daemon is process 1 of a namespace of its own, which ends with it.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
KUBERNETES = os.path.join(harness.ROOT, "packaging", "kubernetes")
IMAGE_BYTES_MAX = 25 << 20


def contained(place, **options):
    """The daemon, and its process as it is seen here."""
    tried = subprocess.run(CONTAINER + ("true",), capture_output=True, check=False)
    if tried.returncode != 0:
        raise harness.Skip("no process namespace: %s" % tried.stderr.decode().strip())
    daemon = place.idle_daemon(**options)
    daemon.wrap = list(CONTAINER)
    daemon.start().admitted()
    child, = tool.children(daemon.process.pid)
    return daemon, child


def ends(daemon, child, number):
    """A signal to process 1 counts only if it is handled."""
    os.kill(child, number)
    expect(daemon.process.wait(), 0)


def test_signals(place):
    """as process 1 it reads its file again at HUP, and ends at TERM and at INT"""
    for count, number in enumerate((signal.SIGTERM, signal.SIGINT)):
        daemon, child = contained(place, name="d%d" % count, master=place.redis("r%d" % count))
        mark = daemon.output.mark()
        os.kill(child, signal.SIGHUP)
        daemon.output.wait("daemon.reloaded", mark)
        ends(daemon, child, number)


def test_orphans(place):
    """as process 1 it takes leave of processes whose parents have ended, and of nobody else"""
    daemon, child = contained(place)
    server, = tool.children(child)
    for status in ("exit 3", "kill -9 $$"):
        # The shell ends, and what it has started is left to process 1.
        reader, writer = os.pipe()
        made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                               "sh -c 'read line; %s' <&%d & exit" % (status, reader)), pass_fds=(reader,), check=False)
        os.close(reader)
        expect(made.returncode, 0)
        harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
        os.close(writer)
        harness.until("it is gone", lambda: tool.children(child) == [server])
    client = daemon.client()
    expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    ends(daemon, child, signal.SIGTERM)


def test_its_own_server(place):
    """as process 1 it says how its redis-server ended, and starts it again"""
    daemon, child = contained(place)
    server, = tool.children(child)
    mark = daemon.output.mark()
    os.kill(server, signal.SIGKILL)
    daemon.output.wait('embedded.died why="killed by signal 9"', mark)
    daemon.output.wait("embedded.restarted", mark)
    harness.until("the other one alone is there", lambda: len(tool.children(child)) == 1 and tool.children(child) != [server])
    ends(daemon, child, signal.SIGTERM)


def test_restart(place):
    """as process 1 it is restarted by SIGUSR2 and by a client, with its redis-server; orphans are taken leave of as before"""
    daemon, child = contained(place)
    server, = tool.children(child)
    holder = daemon.client()
    token = holder("LOCK", "a", "WAIT", 45000)
    # Its parent ends before, and it ends after.
    reader, writer = os.pipe()
    made = subprocess.run(("nsenter", "--target", str(child), "--pid", "--", "sh", "-c",
                           "sh -c 'read line' <&%d & exit" % reader), pass_fds=(reader,), check=False)
    os.close(reader)
    expect(made.returncode, 0)
    harness.until("an orphan is there", lambda: len(tool.children(child)) == 2)
    os.kill(child, signal.SIGUSR2)
    harness.until("a new process serves", lambda: daemon.info()["handovers"] == "1")
    expect(tool.call(place, daemon, "restart", "-q"), (0, ""))
    os.close(writer)
    harness.until("the orphan is gone", lambda: tool.children(child) == [server])
    expect(daemon.info()["process_id"], "1")
    expect_between(holder("CHECK", "a", "TOKEN", token), 1, harness.LEASE_MS)
    ends(daemon, child, signal.SIGTERM)
    harness.until("its redis-server has ended, too", lambda: not os.path.exists("/proc/%d" % server))


def test_apart(place):
    """a daemon with a PID namespace of its own refuses processes that it does not see, in whatever way they are named: its answer,
    holdfast run, lock and doctor say how its container has to be started; the locks of connections go on"""
    daemon, child = contained(place, master=place.redis())
    cure = "--pid=host.*hostPID: true.*shareProcessNamespace: true"
    with daemon.client() as client:
        pidfd = os.pidfd_open(os.getpid())
        resp.socket.send_fds(client.socket, [b"SESSION BIND\r\n"], [pidfd])
        os.close(pidfd)
        with open("/proc/self/stat", encoding="utf-8") as stream:
            client.send("SESSION", "BIND", stream.read().rpartition(")")[2].split()[19])
        for error in (str(client.reply()), str(client.reply())):
            expect(re.search(cure, error) is not None, True, error)
        expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    for words in (("run", "b", "--", "true"), ("lock", "--pid", str(os.getpid()), "b")):
        status, text = tool.call(place, daemon, *words)
        expect((status != 0, re.search(cure, text) is not None), (True, True), "%d %s" % (status, text))
    status, text = tool.call(place, daemon, "doctor")
    found = re.findall(r"^(\w+) +process +.*\n +why .*\n +do +(.*)", text, re.M)
    expect((status, [(grade, re.search(cure, mend) is not None) for grade, mend in found]), (2, [("error", True)]), text)
    ends(daemon, child, signal.SIGTERM)


def declared():
    """What the Containerfile says of the container: user, environment, entry point and health check."""
    with open(os.path.join(harness.ROOT, "packaging", "image", "Containerfile"), encoding="utf-8") as stream:
        text = stream.read()
    words = {word: json.loads(found) for word, found in re.findall(r"^(ENTRYPOINT|VOLUME|HEALTHCHECK .*CMD) (\[.*\])$", text, re.M)}
    expect(re.findall(r"^USER (\S+)$", text, re.M), ["%d:%d" % (container.USER, container.USER)])
    return {word.split()[0]: found for word, found in words.items()}, dict(re.findall(r"^ENV (\w+)=(\S+)$", text, re.M))


def folder(place, name, mode=0o755):
    path = os.path.join(place.path, name)
    os.mkdir(path)
    os.chown(path, container.USER, container.USER)
    os.chmod(path, mode)
    return path


def inside(child):
    """Runs a command in the container of this process, as the runtime does for `exec`."""
    return ("nsenter", "--target", str(child), "--mount", "--pid", "--net", "--root", "--setuid", str(container.USER),
            "--setgid", str(container.USER), "--")


def test_image(place):
    """with the root of the image, read-only, as a user without rights, the daemon and its redis-server serve locks; its client
    works there, and the health check; TERM ends it; and packed the root has less than 25 MB"""
    container.needs_namespaces()
    root, (words, environment) = container.image(place), declared()
    packed = subprocess.run(("sh", "-c", 'tar -C "$1" -cf - . | gzip | wc -c', "sh", root), stdout=subprocess.PIPE, check=True)
    harness.comment("%.1f MB packed" % (int(packed.stdout) / 1e6))
    expect(int(packed.stdout) < IMAGE_BYTES_MAX, True)
    run = folder(place, "run")
    mounts = [(run, words["VOLUME"][0], False), (folder(place, "lib"), words["VOLUME"][1], False)]
    sandbox = container.Sandbox(place, "container")
    process = place.run(*container.Container(sandbox, root, mounts, readonly=True, no_new_privileges=True,
                                             environment=environment).entry(*words["ENTRYPOINT"]))
    process.output.wait("daemon.started")
    child, = tool.children(process.pid)
    with open("/proc/%d/status" % child, encoding="utf-8") as stream:
        status = stream.read()
    expect(re.findall(r"^(?:Uid|Gid|CapEff|CapPrm):\s+(\w+)", status, re.M), ["5625", "5625", "0" * 16, "0" * 16])
    with resp.Client(os.path.join(run, "holdfast.sock")) as client:
        expect_between(client("LOCK", "a", "WAIT", 45000), 1, 2 ** 53)
    for command in (words["HEALTHCHECK"], ("/usr/bin/holdfast", "health", "--timeout", "45"), ("/usr/bin/holdfast", "restart", "-q"),
                    ("/usr/bin/holdfast", "run", "b", "--", "/usr/bin/holdfast", "ping", "-q")):
        status, text = container.said(*inside(child), *command)
        expect(status, 0, text)
    text = container.said("nsenter", "--target", str(child), "--mount", "--root", "--", "/bin/chown", "0:0", "/etc/passwd")[1]
    expect("Read-only file system" in text, True, text)
    os.kill(child, signal.SIGTERM)
    expect(process.wait(), 0, process.output.tail())


def test_image_tls(place):
    """in the image a master by TLS is trusted for the sake of the authorities of the system and not without them, and the
    client reaches the daemon by TLS"""
    container.needs_namespaces()
    root = container.image(place)
    bundle = os.path.join(root, "etc/ssl/certs/ca-certificates.crt")
    with open(bundle, encoding="utf-8") as stream:
        expect_between(stream.read().count("BEGIN CERTIFICATE"), 50, 10000)
    authority = Authority(place)
    redis = SecureRedis(place, "redis", authority.issue("master"), authority.ca)
    config = folder(place, "config")
    for source, name in zip(authority.issue("daemon"), ("daemon.pem", "daemon.key")):
        shutil.copy(source, os.path.join(config, name))
        os.chown(os.path.join(config, name), container.USER, container.USER)
    port = harness.free_port()
    with open(os.path.join(config, "holdfast.yml"), "w", encoding="utf-8") as stream:
        stream.write("masters: [ '%s' ]\nlisten:\n  - unix: /run/holdfast/holdfast.sock\n  - tcp: 127.0.0.1:%d\n"
                     "    tls: { certificate: /etc/holdfast/daemon.pem, key: /etc/holdfast/daemon.key }\n%s"
                     % (redis.url, port, harness.BRISK))
    mounts = [(folder(place, "run"), "/run/holdfast", False), (config, "/etc/holdfast", True)]
    made = container.Container(container.Sandbox(place, "container"), root, mounts, readonly=True)
    # The master is of this host, as with --network=host.
    made.sandbox.enter = tuple
    process = place.run(*made.entry("/usr/sbin/holdfastd"))
    process.output.wait("link.down .*is refused: .*its authority is not one of")
    with open(bundle, "a", encoding="utf-8") as stream, open(authority.ca, encoding="utf-8") as added:
        stream.write(added.read())
    child, = tool.children(process.pid)
    expect(container.said(*inside(child), "/usr/bin/holdfast", "restart", "-q"), (0, ""))
    process.output.wait("master.admitted")
    made.spec["environment"] = {"HOLDFAST_URL": "tls://127.0.0.1:%d" % port}
    client = place.run(*made.entry("/usr/bin/holdfast", "run", "a", "--", "/usr/bin/holdfast", "ping", "-q"))
    expect(client.wait(), 0, client.output.tail())
    os.kill(child, signal.SIGTERM)
    expect(process.wait(), 0, process.output.tail())


def cluster(place, name, redis_names):
    """The objects of a manifest; the names of its Redis are addresses of the pod's own network."""
    hosts = "".join("127.0.0.%d %s\n" % (11 + at, one) for at, one in enumerate(redis_names))
    container.needs_namespaces()
    return pod.Cluster(place, os.path.join(KUBERNETES, name), container.image(place), {"password": "secret"}, harness.BRISK, hosts)


def outlives_its_masters(one, name, redis):
    """No probe that restarts a container minds that the masters are away; the pod is not ready meanwhile."""
    for kind in ("startupProbe", "livenessProbe"):
        one.until(name, kind)
    expect(one.until(name, "readinessProbe", False).split()[0], "503")
    for server in redis:
        server.restart()
    expect(one.until(name, "readinessProbe").split()[0], "200")
    for server in redis:
        server.kill()
    one.until(name, "readinessProbe", False)
    for kind in ("startupProbe", "livenessProbe"):
        expect(one.probe(name, kind)[0], True)
    for server in redis:
        server.restart()
    one.until(name, "readinessProbe")


def stopped_redis(place, one, count):
    """Servers that have not come yet."""
    redis = [pod.Redis(place, one, "127.0.0.%d" % (11 + at), "secret") for at in range(count)]
    for server in redis:
        server.kill()
    return redis


def test_node(place):
    """node.yml as a kubelet runs it: the daemon starts without its masters, is not restarted for them, and is ready with them;
    another pod locks; the hook before the stop ends it"""
    made = cluster(place, "node.yml", ["redis-%d.redis" % at for at in range(3)])
    node = made.pod("DaemonSet", "holdfast")
    redis = stopped_redis(place, node, 3)
    expect(node.run("directory"), (0, ""))
    daemon = node.start("holdfastd")
    daemon.output.wait("daemon.started")
    outlives_its_masters(node, "holdfastd", redis)
    # A second one on the same node, after a crash.
    expect(node.run("directory"), (0, ""))
    worker = made.pod("Deployment", "worker")
    for words in (("run", "a", "--", "/usr/bin/holdfast", "ping", "-q"), ("doctor", "-q")):
        status, text = worker.run("worker", "/usr/bin/holdfast", *words)
        expect(status, 0, text)
    hook = node.spec_of("holdfastd")["lifecycle"]["preStop"]["exec"]["command"]
    expect(node.run("holdfastd", *hook), (0, ""))
    expect(daemon.wait(), 0, daemon.output.tail())


def test_sidecar(place):
    """sidecar.yml as a kubelet runs it: the daemon starts without its master, is not restarted for it, and is ready with it; the
    program beside it locks"""
    made = cluster(place, "sidecar.yml", ["redis.example"])
    worker = made.pod("Deployment", "worker")
    redis = stopped_redis(place, worker, 1)
    daemon = worker.start("holdfastd")
    daemon.output.wait("daemon.started")
    outlives_its_masters(worker, "holdfastd", redis)
    for words in (("run", "a", "--", "/usr/bin/holdfast", "ping", "-q"), ("doctor", "-q")):
        status, text = worker.run("worker", "/usr/bin/holdfast", *words)
        expect(status, 0, text)
    os.kill(tool.children(daemon.pid)[0], signal.SIGTERM)
    expect(daemon.wait(), 0, daemon.output.tail())


def recipe(title, start):
    """The shell commands of a section of doc/OPERATING.md, as words."""
    with open(os.path.join(harness.ROOT, "doc", "OPERATING.md"), encoding="utf-8") as stream:
        section = stream.read().partition("\n## %s\n" % title)[2].partition("\n## ")[0]
    text = "\n".join(re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)).replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [line for line in lines if line[:len(start)] == start]


def docker_run(place, root, words):
    """What docker makes of these words of `docker run`; paths of the host and volumes with a name are folders of the test."""
    readonly, mounts, processes = False, [], "container"
    while words[0].startswith("-"):
        word, _, value = words.pop(0).partition("=")
        if word in ("-v", "--name", "--restart"):
            value = value or words.pop(0)
        if word == "-v":
            source, target, *mode = value.split(":")
            path = os.path.join(place.path, "host", source.strip("/"))
            if not source.startswith("/"):
                os.mkdir(path, 0o755)
                os.chown(path, container.USER, container.USER)  # as it is in the image
            mounts.append((path, target, mode == ["ro"]))
        elif word == "--pid":
            expect(value, "host")
            processes = "host"
        elif word == "--read-only":
            readonly = True
        else:
            expect(word in ("-d", "--name", "--restart"), True, word)
    expect(re.match(r"holdfast:[\d.]+$", words.pop(0)) is not None and not words, True)
    return container.Container(container.Sandbox(place, processes), root, mounts, readonly=readonly, environment=declared()[1])


def test_docker_run(place):
    """the `docker run` of OPERATING.md: programs of the host run under locks of that daemon, and doctor finds nothing"""
    container.needs_namespaces()
    run = os.path.join(place.path, "host", "run", "holdfast")
    os.makedirs(os.path.join(place.path, "host", "etc"))
    shutil.copytree(os.path.join(harness.ROOT, "packaging"), os.path.join(place.path, "host", "etc", "holdfast"),
                    ignore=lambda _, names: set(names) - {"holdfast.yml"})
    directory, = recipe("Containers", ["sudo", "install"])
    expect(directory[-1], "/run/holdfast")
    os.makedirs(os.path.dirname(run))
    expect(container.said(*directory[1:-1], run), (0, ""))
    command, = recipe("Containers", ["docker", "run"])
    process = place.run(*docker_run(place, container.image(place), command[2:]).entry(*declared()[0]["ENTRYPOINT"]))
    process.output.wait("daemon.started")
    url = os.path.join(run, "holdfast.sock")
    for words in (("run", "a", "--", "true"), ("doctor", "-q")):
        status, text = tool.call(place, url, *words)
        expect(status, 0, text)
    process.signal(signal.SIGTERM)
    expect(process.wait(), 0, process.output.tail())


MANIFESTS = [os.path.join(KUBERNETES, name) for name in ("node.yml", "sidecar.yml")]


def test_manifests(place):
    """each configuration in the manifests for Kubernetes is one that the daemon takes, and their group is that of the image"""
    file = os.path.join(place.path, "piece.yml")
    for path in MANIFESTS:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        piece, = re.findall(r"^  holdfast\.yml: \|\n((?:    .*\n)+)", text, re.M)
        with open(file, "w", encoding="utf-8") as stream:
            # The file of a secret is there only in a cluster.
            stream.write(re.sub(r"^ *password-file:.*\n", "", piece, flags=re.M))
        status, errors = container.said(harness.HOLDFASTD, "-t", "-c", file)
        expect(status, 0, "%s\n%s" % (path, errors))
        expect(set(re.findall(r"(?:runAsGroup|fsGroup): (\d+)|supplementalGroups: \[(\d+)\]", text)) <=
               {("5625", ""), ("", "5625")}, True, path)


def test_monitor(_place):
    """monitor.yml is about the pods of node.yml: their namespace, labels and port, and the port of the masters"""
    node, monitor = (pod.documents(os.path.join(KUBERNETES, name)) for name in ("node.yml", "monitor.yml"))
    daemons, = [one for one in node if one["kind"] == "DaemonSet"]
    config, = [one for one in node if one["kind"] == "ConfigMap"]
    labels = daemons["spec"]["template"]["metadata"]["labels"]
    port, = [one for one in daemons["spec"]["template"]["spec"]["containers"][0]["ports"]]
    scrape, policy = monitor
    expect({one["metadata"]["namespace"] for one in monitor}, {daemons["metadata"]["namespace"]})
    expect(scrape["spec"]["selector"]["matchLabels"], labels)
    expect(policy["spec"]["podSelector"]["matchLabels"], labels)
    expect(scrape["spec"]["podMetricsEndpoints"][0]["port"], port["name"])
    expect(policy["spec"]["ingress"][0]["ports"], [{"port": port["containerPort"]}])
    masters = set(re.findall(r"redis://[^\s:]*:(\d+)", config["data"]["holdfast.yml"]))
    expect(masters, {str(one["port"]) for one in policy["spec"]["egress"][0]["ports"]})


def test_schema(_place):
    """the manifests are as the schema of Kubernetes wants them; of a PodMonitor it knows nothing"""
    if shutil.which("kubernetes-validate"):
        command = ("kubernetes-validate", "--strict")
    elif shutil.which("kubeconform"):
        command = ("kubeconform", "-strict")
    else:
        raise harness.Skip("neither kubernetes-validate (pip) nor kubeconform is installed")
    status, text = container.said(*command, *MANIFESTS)
    expect(status, 0, text)


if __name__ == "__main__":
    harness.main(globals())
