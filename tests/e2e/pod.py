"""Pods as a kubelet starts them, from a manifest and without a cluster: volumes with their owners and modes, security contexts, init
containers and sidecars, probes and hooks with the words of the manifest."""

import os
import subprocess
import sys

import container
import harness

try:
    import yaml
except ImportError:
    yaml = None

# The address of the pod, for probes: whoever listens on loopback alone is not there.
ADDRESS = "127.0.0.77"
GET = """
import sys, urllib.error, urllib.request
try:
    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2]))
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.read().decode())
"""


def documents(path):
    if yaml is None:
        raise harness.Skip("python3-yaml is not installed")
    with open(path, encoding="utf-8") as stream:
        return list(yaml.safe_load_all(stream))


def own(path, group, mode):
    os.chown(path, 0, group)
    os.chmod(path, mode)


class Cluster:
    """The objects of a manifest, with what it leaves to its reader: the secret, more lines of the configuration, names of hosts."""

    def __init__(self, place, path, root, secret, config="", hosts=""):
        self.place, self.root, self.secret, self.config = place, root, secret, config
        self.objects = documents(path)
        self.node = os.path.join(place.path, "node")
        self.hosts = os.path.join(place.path, "hosts")
        with open(self.hosts, "w", encoding="ascii") as stream:
            stream.write("127.0.0.1 localhost\n" + hosts)

    def find(self, kind, name):
        found, = [one for one in self.objects if one["kind"] == kind and one["metadata"]["name"] == name]
        return found

    def pod(self, kind, name):
        return Pod(self, name, self.find(kind, name)["spec"]["template"]["spec"])


class Pod:
    """Its volumes and its sandbox; run() starts what is in it."""

    def __init__(self, cluster, name, spec):
        self.cluster, self.spec = cluster, spec
        self.folder = os.path.join(cluster.place.path, "pod-" + name)
        os.mkdir(self.folder)
        self.security = spec.get("securityContext", {})
        self.group = self.security.get("fsGroup")
        self.volumes = {volume["name"]: self.volume(volume) for volume in spec.get("volumes", [])}
        processes = "host" if spec.get("hostPID") else "pod" if spec.get("shareProcessNamespace") else "container"
        self.sandbox = container.Sandbox(cluster.place, processes)

    def files(self, path, files, mode):
        """As the kubelet writes them: what is mounted are links through ..data, of root, and of the fsGroup if there is one."""
        group = self.group or 0
        os.mkdir(os.path.join(path, "..1"))
        for name, text in files.items():
            file = os.path.join(path, "..1", name)
            with open(file, "w", encoding="utf-8") as stream:
                stream.write(text)
            own(file, group, mode | (0o440 if self.group else 0))
            os.symlink("..data/" + name, os.path.join(path, name))
        os.symlink("..1", os.path.join(path, "..data"))
        for folder in (path, os.path.join(path, "..1")):
            own(folder, group, 0o2775 if self.group else 0o755)

    def volume(self, volume):
        (kind, what), = [(key, value) for key, value in volume.items() if key != "name"]
        path = os.path.join(self.folder, volume["name"])
        if kind == "hostPath":
            path = self.cluster.node + what["path"]
            if what["type"] == "DirectoryOrCreate" and not os.path.isdir(path):
                os.makedirs(path)
                own(path, 0, 0o755)
            harness.expect(os.path.isdir(path), True, path)
            return path
        os.mkdir(path)
        if kind == "emptyDir":
            own(path, self.group or 0, 0o2777 if self.group else 0o777)
        elif kind == "configMap":
            data = self.cluster.find("ConfigMap", what["name"])["data"]
            self.files(path, {name: text + self.cluster.config for name, text in data.items()}, what.get("defaultMode", 0o644))
        elif kind == "secret":
            self.files(path, self.cluster.secret, what.get("defaultMode", 0o644))
        else:
            raise AssertionError("a volume of an unknown kind: %s" % kind)
        return path

    def container(self, spec):
        """The container as its security context and that of the pod say; programs of others are the client of the image."""
        security = dict(self.security, **spec.get("securityContext", {}))
        uid = security.get("runAsUser", container.USER)
        if security.get("runAsNonRoot"):
            harness.expect(uid != 0, True, "runAsNonRoot")
        # The group of a user whom the image does not know is 0.
        gid = security.get("runAsGroup", container.USER if uid == container.USER else 0)
        groups = security.get("supplementalGroups", []) + ([self.group] if self.group else [])
        mounts = [(self.volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False)) for mount in spec["volumeMounts"]]
        capabilities = security.get("capabilities", {})
        harness.expect(capabilities.get("drop", ["ALL"]), ["ALL"])
        environment = {one["name"]: one["value"] for one in spec.get("env", [])}
        return container.Container(
            self.sandbox, self.cluster.root, mounts + [(self.cluster.hosts, "/etc/hosts", False)], uid=uid, gid=gid, groups=groups,
            readonly=security.get("readOnlyRootFilesystem", False), environment=environment,
            no_new_privileges=not security.get("allowPrivilegeEscalation", True),
            capabilities=[container.CAPABILITIES[name] for name in capabilities.get("add", [])])

    def spec_of(self, name):
        found, = [one for one in self.spec.get("initContainers", []) + self.spec["containers"] if one["name"] == name]
        return found

    def start(self, name, *command):
        """The process of the container, with its own command or this one."""
        spec = self.spec_of(name)
        words = tuple(spec.get("command", ())) + tuple(spec.get("args", ()))
        return self.cluster.place.run(*self.container(spec).entry(*(command or words or ("/usr/sbin/holdfastd",))))

    def run(self, name, *command):
        """(exit status, everything it printed)"""
        process = self.start(name, *command)
        status = process.wait()
        process.output.thread.join(harness.PATIENCE)
        return status, process.output.text()

    def probe(self, name, kind):
        """Whether the probe succeeds, as the kubelet judges it, and what it was told."""
        spec = self.spec_of(name)
        probe = spec[kind]
        if "exec" in probe:
            status, text = self.run(name, *probe["exec"]["command"])
            return status == 0, text
        get = probe["httpGet"]
        ports = {port["name"]: port["containerPort"] for port in spec["ports"]}
        done = subprocess.run(self.sandbox.network() + (
            sys.executable, "-c", GET, "http://%s:%d%s" % (ADDRESS, ports.get(get["port"], get["port"]), get["path"]),
            # A busy machine may take longer than the second that a kubelet gives.
            str(max(20, probe.get("timeoutSeconds", 1)))), capture_output=True, text=True, check=False)
        status = int(done.stdout.split()[0]) if done.returncode == 0 else 0
        return 200 <= status < 400, done.stdout or done.stderr.strip().splitlines()[-1]

    def until(self, name, kind, succeeds=True):
        got = []

        def as_wanted():
            got[:] = self.probe(name, kind)
            return got[0] == succeeds
        try:
            harness.until("%s of %s: %s" % (kind, name, succeeds), as_wanted)
        except AssertionError as error:
            raise AssertionError("%s: %r" % (error, got)) from error
        return got[1]


class Redis(harness.Redis):
    """A redis-server in the network of a pod, with the user and the password that a secret has; start() starts it."""

    def __init__(self, place, pod, address, password):
        self.pod, self.address, self.password = pod, address, password
        super().__init__(place, "redis-" + address)

    def start(self):
        if self.process is None:
            self.options += ["--port", "6379", "--bind", self.address, "--protected-mode", "no", "--user", "holdfast", "on",
                             ">" + self.password, "~*", "&*", "+@all"]
        return super().start()

    def command(self, program):
        return list(self.pod.sandbox.network()) + [program]
