#!/usr/bin/env python3
"""The packages for languages as a registry would have them: built, installed from what was built where nothing else is, and used."""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import conformance
import harness
from harness import expect

CLIENT = os.path.join(harness.ROOT, "client")
LICENSE = os.path.join(harness.ROOT, "LICENSE")
GO_MODULE = "holdfast.example/holdfast"
USE_PYTHON = """
import holdfast
from importlib.metadata import metadata, version
with holdfast.lock("artifact", wait=5) as lock:
    print(lock.token > 0, version("holdfast-client"), metadata("holdfast-client")["License-Expression"])
"""
USE_COMMONJS = """
const hf = require('holdfast');
hf.withLock('artifact', { wait: 5000 }, async (lock) => console.log(lock.token > 0));
"""
USE_MODULE = """
import * as hf from 'holdfast';
await hf.withLock('artifact', { wait: 5000 }, async (lock) => console.log(lock.token > 0));
"""

# A program, and a library between it and the package.
USE_GO = """package main

import "library.example/library"

func main() { library.Work() }
"""
USE_GO_LIBRARY = """package library

import (
	"context"
	"fmt"
	"time"

	"holdfast.example/holdfast"
)

func Work() {
	client, err := holdfast.Open("")
	if err == nil {
		var lock *holdfast.Lock
		if lock, err = client.Lock(context.Background(), "artifact", holdfast.Wait(5*time.Second)); err == nil {
			fmt.Println(lock.Token() > 0)
			err = lock.Unlock()
		}
	}
	if err != nil {
		panic(err)
	}
}
"""


def text_of(*path):
    with open(os.path.join(CLIENT, *path), encoding="utf-8") as stream:
        return stream.read()


def run(command, where, **environment):
    done = subprocess.run(command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **environment})
    expect(done.returncode, 0, "%s\n%s" % (" ".join(command), done.stdout))
    return done.stdout


def test_licenses(_place):
    """each package has the license of the tree, and names it as registries do; all have one version"""
    for language in ("python", "node", "go", "java", "rust"):
        expect(filecmp.cmp(LICENSE, os.path.join(CLIENT, language, "LICENSE"), shallow=False), True, language)
    node = json.loads(text_of("node", "package.json"))
    expect((node["license"], node["type"]), ("MIT", "commonjs"))
    expect('license = "MIT"' in text_of("python", "pyproject.toml"), True)
    expect("<name>MIT</name>" in text_of("java", "pom.xml"), True)
    versions = {node["version"], re.search(r'^version = "(.*)"', text_of("python", "pyproject.toml"), re.M).group(1),
                re.search("<version>(.*?)</version>", text_of("java", "pom.xml")).group(1)}
    expect(len(versions), 1, versions)


def begun(place, program, how, **options):
    """A daemon, and an empty folder, for what needs this program; how it comes here if it is missing."""
    if not shutil.which(program):
        raise harness.Skip("%s is not here%s" % (program, how))
    where = os.path.join(place.path, "project")
    os.mkdir(where)
    return place.daemon(master=place.redis(), **options).admitted(), where


def test_node(place):
    """the tarball for Node is installed in an empty project, with nothing from elsewhere, and locks by require and by import"""
    daemon, where = begun(place, "npm", "")
    own = {"HOME": place.path, "npm_config_offline": "true", "npm_config_update_notifier": "false", "HOLDFAST_URL": daemon.socket}
    packed = json.loads(run(("npm", "pack", "--json", "--pack-destination", place.path, os.path.join(CLIENT, "node")), where, **own))
    names = {file["path"] for file in packed[0]["files"]}
    expect({"LICENSE", "README.md", "package.json", "index.js", "index.mjs", "index.d.ts", "index.d.mts"} - names, set())
    expect([name for name in names if "test" in name], [])
    run(("npm", "init", "-y"), where, **own)
    run(("npm", "install", "--no-audit", "--no-fund", os.path.join(place.path, packed[0]["filename"])), where, **own)
    for name, program in (("use.js", USE_COMMONJS), ("use.mjs", USE_MODULE)):
        with open(os.path.join(where, name), "w", encoding="utf-8") as stream:
            stream.write(program)
        expect(run(("node", name), where, **own), "true\n", name)


def test_python(place):
    """the wheel for Python is installed in an empty environment, and locks; its metadata names the license as SPDX does"""
    daemon = place.daemon(master=place.redis()).admitted()
    source, wheels, venv = (os.path.join(place.path, name) for name in ("source", "wheels", "venv"))
    # setuptools writes beside what it builds.
    shutil.copytree(os.path.join(CLIENT, "python"), source)
    build = subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, source], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if build.returncode:
        raise harness.Skip("no pip, or no registry for setuptools 77: %s" % build.stdout.strip().splitlines()[-1])
    wheel, = os.listdir(wheels)
    expect(wheel, "holdfast_client-0.1.0-py3-none-any.whl")
    run((sys.executable, "-m", "venv", venv), place.path)
    python = os.path.join(venv, "bin", "python")
    run((python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", os.path.join(wheels, wheel)), place.path)
    expect(run((python, "-I", "-c", USE_PYTHON), place.path, HOLDFAST_URL=daemon.socket), "True 0.1.0 MIT\n")


def publish(proxy, module, version, files):
    """The module at a proxy of Go, as its protocol names the files."""
    folder = os.path.join(proxy, module, "@v")
    os.makedirs(folder)
    with zipfile.ZipFile(os.path.join(folder, version + ".zip"), "w") as archive:
        for name, text in files.items():
            archive.writestr("%s@%s/%s" % (module, version, name), text)
    for name, text in ((".mod", files["go.mod"]), (".info", json.dumps({"Version": version}))):
        with open(os.path.join(folder, version + name), "w", encoding="utf-8") as stream:
            stream.write(text)


def test_go(place):
    """the module for Go comes from a module proxy into an empty GOPATH, by way of a library that uses it, and locks"""
    daemon, where = begun(place, "go", ": packaging/install-deps does not install it")
    proxy = os.path.join(place.path, "proxy")
    package = {name: text_of("go", name) for name in os.listdir(os.path.join(CLIENT, "go"))}
    expect("LICENSE" in package, True)
    publish(proxy, GO_MODULE, "v0.1.0", package)
    publish(proxy, "library.example/library", "v1.0.0", {
        "go.mod": "module library.example/library\n\ngo 1.21\n\nrequire %s v0.1.0\n" % GO_MODULE, "library.go": USE_GO_LIBRARY})
    with open(os.path.join(where, "main.go"), "w", encoding="utf-8") as stream:
        stream.write(USE_GO)
    conformance.go()  # it has compiled Go's own library when this one is built
    own = {**conformance.GO, "GOPROXY": "file://" + proxy, "GOSUMDB": "off", "GOPATH": os.path.join(place.path, "gopath"), "GOWORK": "off"}
    run(("go", "mod", "init", "deploy"), where, **own)
    run(("go", "get", "library.example/library@v1.0.0"), where, **own)
    expect(run(("go", "list", "-m", "all"), where, **own).split("\n")[1:-1],
           [GO_MODULE + " v0.1.0", "library.example/library v1.0.0"])
    expect(run(("go", "run", "."), where, HOLDFAST_URL=daemon.socket, **own), "true\n")


def test_java(place):
    """the jar for Java is made for Java 11, and locks with each of $HOLDFAST_JAVAS, by TCP where Java has no Unix sockets"""
    daemon, where = begun(place, "javac", ": packaging/install-deps java", tcp=True)
    source = os.path.join(CLIENT, "java", "src", "main", "java")
    files = [os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names]
    program = re.search(r"^```java\n(import.*?)```", text_of("java", "README.md"), re.M | re.S).group(1)
    with open(os.path.join(where, "Deploy.java"), "w", encoding="utf-8") as stream:
        stream.write(program)
    run(("javac", "--release", "11", "-d", "classes", *files), where)
    run(("jar", "-c", "-f", "holdfast.jar", "-C", "classes", "."), where)
    run(("javac", "--release", "11", "-cp", "holdfast.jar", "-d", ".", "Deploy.java"), where)
    for java in os.environ.get("HOLDFAST_JAVAS", "java").split(":"):
        version = int(re.search(r'version "(\d+)', run((java, "-version"), where)).group(1))
        harness.comment("Java %d" % version)
        use = (java, "-cp", "holdfast.jar:.", "Deploy")
        expect(run(use, where, HOLDFAST_URL="127.0.0.1:%d" % daemon.port), "one at a time\n", "Java %d" % version)
        if version >= 16:
            expect(run(use, where, HOLDFAST_URL=daemon.socket), "one at a time\n", "Java %d" % version)
        else:
            failed = subprocess.run(use, cwd=where, env={**os.environ, "HOLDFAST_URL": daemon.socket}, check=False,
                                    stderr=subprocess.PIPE, text=True)
            expect((failed.returncode, "before Java 16 there are no Unix sockets" in failed.stderr), (1, True), failed.stderr)


def test_rust(place):
    """what the crate for Rust has in it is compiled by itself, and locks with the program of its README"""
    daemon, crate = begun(place, "rustc", ": packaging/install-deps does not install it")
    # cargo would have to fetch the index of a registry to list these.
    for name in json.loads(re.search(r"^include = (.*)$", text_of("rust", "Cargo.toml"), re.M).group(1)):
        copy = shutil.copytree if name == "src" else shutil.copy
        copy(os.path.join(CLIENT, "rust", name), os.path.join(crate, name))
    expect(sorted(os.listdir(crate)), ["LICENSE", "README.md", "src"])
    with open(os.path.join(place.path, "deploy.rs"), "w", encoding="utf-8") as stream:
        stream.write(re.search(r"^```rust,no_run\n(use .*?)```", text_of("rust", "README.md"), re.M | re.S).group(1))
    compiler = ("rustc", "--edition", "2021")
    run((*compiler, "--crate-type", "rlib", "--crate-name", "holdfast", os.path.join(crate, "src", "lib.rs")), place.path)
    run((*compiler, "--extern", "holdfast=libholdfast.rlib", "deploy.rs"), place.path)
    said = run(("./deploy",), place.path, HOLDFAST_URL=daemon.socket)
    expect(said.startswith("one at a time, with the token "), True, said)


if __name__ == "__main__":
    harness.main(globals())
