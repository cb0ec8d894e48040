"""An authority of a test's own: certificates for servers and clients, good, expired and revoked ones, by openssl."""

import os
import shutil
import subprocess

from harness import Skip

CONFIG = """
[ca]
default_ca = own
[own]
dir = {folder}
database = {folder}/index
serial = {folder}/serial
crlnumber = {folder}/crlnumber
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
default_md = sha256
default_days = 3650
default_crl_days = 3650
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
"""


class Authority:
    """Signs certificates in a folder of the test; `ca` is its own, `crl` the list of those it has revoked."""

    def __init__(self, place, name="ca"):
        if shutil.which("openssl") is None:
            raise Skip("openssl is not here")
        self.folder = os.path.join(place.path, name)
        os.mkdir(self.folder)
        self.config = self.path("openssl.cnf")
        self.write("openssl.cnf", CONFIG.format(folder=self.folder))
        self.write("index", "")
        self.write("serial", "1000\n")
        self.write("crlnumber", "1000\n")
        self.ca = self.path("ca.pem")
        self.crl = self.path("crl.pem")
        self.openssl("req", "-x509", "-config", self.config, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", self.path("ca.key"), "-out", self.ca, "-subj", "/CN=authority " + name, "-days", "3650",
                     "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.revoke()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as stream:
            stream.write(text)

    def openssl(self, *words):
        done = subprocess.run(("openssl",) + words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError("openssl %s: %s" % (" ".join(words), done.stderr))

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", expired=False, early=False):
        """The files of a certificate for this common name: (certificate, key)."""
        files = self.path(name + ".pem"), self.path(name + ".key")
        request = self.path(name + ".req")
        self.openssl("req", "-new", "-config", self.config, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", files[1], "-out", request, "-subj", "/CN=" + name, "-addext", "subjectAltName=" + names)
        days = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z") if expired else ()
        if early:
            days = "-startdate", "20600101000000Z", "-enddate", "20700101000000Z"
        self.openssl("ca", "-config", self.config, "-batch", "-notext", "-in", request, "-out", files[0], *days)
        return files

    def revoke(self, *certificates):
        for one in certificates:
            self.openssl("ca", "-config", self.config, "-revoke", one)
        self.openssl("ca", "-config", self.config, "-gencrl", "-out", self.crl)
