#!/usr/bin/env python3
"""The packages for languages as a registry would have them: built, installed from what was built where nothing else is, and used."""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import expect

CLIENT = os.path.join(harness.ROOT, "client")
LICENSE = os.path.join(harness.ROOT, "LICENSE")
USE_PYTHON = """
import holdfast, importlib.metadata
with holdfast.lock("artifact", wait=5) as lock:
    print(lock.token > 0, importlib.metadata.version("holdfast"), importlib.metadata.metadata("holdfast")["License-Expression"])
"""
USE_COMMONJS = """
const hf = require('holdfast');
hf.withLock('artifact', { wait: 5000 }, async (lock) => console.log(lock.token > 0));
"""
USE_MODULE = """
import * as hf from 'holdfast';
await hf.withLock('artifact', { wait: 5000 }, async (lock) => console.log(lock.token > 0));
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
    for language in ("python", "node", "go", "java"):
        expect(filecmp.cmp(LICENSE, os.path.join(CLIENT, language, "LICENSE"), shallow=False), True, language)
    node = json.loads(text_of("node", "package.json"))
    expect((node["license"], node["type"]), ("MIT", "commonjs"))
    expect('license = "MIT"' in text_of("python", "pyproject.toml"), True)
    expect("<name>MIT</name>" in text_of("java", "pom.xml"), True)
    versions = {node["version"], re.search(r'^version = "(.*)"', text_of("python", "pyproject.toml"), re.M).group(1),
                re.search("<version>(.*?)</version>", text_of("java", "pom.xml")).group(1)}
    expect(len(versions), 1, versions)


def test_node(place):
    """the tarball for Node is installed in an empty project, with nothing from elsewhere, and locks by require and by import"""
    if not shutil.which("npm"):
        raise harness.Skip("npm is not here")
    daemon = place.daemon(master=place.redis()).admitted()
    where = os.path.join(place.path, "project")
    os.mkdir(where)
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
    expect(wheel, "holdfast-0.1.0-py3-none-any.whl")
    run((sys.executable, "-m", "venv", venv), place.path)
    python = os.path.join(venv, "bin", "python")
    run((python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", os.path.join(wheels, wheel)), place.path)
    expect(run((python, "-I", "-c", USE_PYTHON), place.path, HOLDFAST_URL=daemon.socket), "True 0.1.0 MIT\n")


if __name__ == "__main__":
    harness.main(globals())
