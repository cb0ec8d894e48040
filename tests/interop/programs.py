"""A program in every language that has a client in this tree: WHAT/WHAT.c, WHAT.py, main.go, ... are made and can be run."""

import os
import subprocess
import sys

import harness
import libraries

CLIENT = os.path.join(harness.ROOT, "client")


def source(what, name):
    return os.path.join(libraries.HERE, what, name)


def make_python(what):
    return ["env", "PYTHONPATH=" + os.path.join(CLIENT, "python"), sys.executable, source(what, what + ".py")]


def make_go(what):
    libraries.need("go")
    folder = libraries.room(what + "-go")
    with open(os.path.join(folder, "go.mod"), "w", encoding="utf-8") as stream:
        stream.write("module %s\n\ngo 1.21\n\nrequire holdfast.example/holdfast v0.0.0\n\n"
                     "replace holdfast.example/holdfast => %s\n" % (what, os.path.join(CLIENT, "go")))
    libraries.build("cp", source(what, "main.go"), folder)
    libraries.build("go", "build", "-o", what, ".", folder=folder, environment={
        "GOCACHE": libraries.room("go-build"), "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"})
    return [os.path.join(folder, what)]


def make_node(what):
    libraries.need("node")
    return ["node", source(what, what + ".mjs")]


def make_java(what):
    libraries.need("java", "javac")
    folder = libraries.room(what + "-java")
    main = subprocess.check_output(["find", os.path.join(CLIENT, "java", "src", "main"), "-name", "*.java"], text=True).split()
    libraries.build("javac", "--release", "17", "-d", folder, source(what, what.capitalize() + ".java"), *main)
    return ["java", "-cp", folder, what.capitalize()]


def make_c(what):
    libraries.need("cc")
    program = os.path.join(libraries.room(what + "-c"), what)
    libraries.build("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", harness.ROOT,
                    "-o", program, source(what, what + ".c"), "-L", harness.BUILD, "-lholdfast",
                    "-Wl,-rpath," + os.path.abspath(harness.BUILD))
    return [program]


LANGUAGES = {"python": make_python, "go": make_go, "node": make_node, "java": make_java, "c": make_c}


def commands(what):
    """Those that can be made here: {language: command}."""
    made = {}
    for language, make in LANGUAGES.items():
        try:
            made[language] = make(what)
        except harness.Skip as reason:
            harness.comment("without %s: %s" % (language, reason))
    return made
