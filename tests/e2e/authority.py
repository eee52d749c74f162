"""Whom the servers and clients of a test trust."""
import subprocess


class Authority:
    """Makes certificates, by openssl."""

    def __init__(self, directory):
        self.directory = directory
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                  "-nodes", "-days", "2", "-subj", "/CN=authority", "-keyout", self.path("ca.key"),
                  "-out", self.path("ca.pem"))

    def path(self, name):
        return str(self.directory / name)

    def _run(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    def issue(self, name, days=1, address="127.0.0.1"):
        """name.pem and name.key; it takes the place of one that is there."""
        extensions = self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName=IP:{address}\n")
        self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                  "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"),
                  "-out", self.path(f"{name}.csr"))
        self._run("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.path("ca.pem"),
                  "-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", str(days),
                  "-extfile", str(extensions), "-out", self.path(f"{name}.pem"))
