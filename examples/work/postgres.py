"""A PostgreSQL server of its own in a temporary folder, of Debian's package postgresql."""

import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile


def programs():
    """Returns the folder of initdb, or None: Debian keeps it beside PATH."""
    beside = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    path = beside[-1] if beside else shutil.which("initdb")
    return pathlib.Path(path).resolve().parent if path else None


class Postgres:
    """Listens on a socket in its folder alone.  `database` is what libpq takes."""

    def __init__(self):
        self.bin = programs()
        if not self.bin:
            raise FileNotFoundError("there is no PostgreSQL: apt install postgresql")
        # Another user passes through its parent, and paths of sockets are short.
        self.folder = tempfile.mkdtemp(prefix="glow-work-", dir="/tmp")
        self.database = f"host={self.folder} user=glow dbname=postgres"
        self.log = f"{self.folder}/log"
        # The server refuses to run as root.
        self.user = []
        if os.getuid() == 0:
            self.user = ["runuser", "-u", "postgres", "--"]
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.call("initdb", "-U", "glow", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    def call(self, program, *arguments):
        result = subprocess.run(
            [*self.user, self.bin / program, "-D", f"{self.folder}/data", *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if result.returncode:
            raise OSError(f"{program}: {result.stderr.decode()}")

    def start(self):
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self.call("pg_ctl", "-w", "-l", self.log, "-o", options, "start")

    def stop(self, mode="immediate"):
        """`immediate` is a crash: connections end, and the log is replayed at start."""
        self.call("pg_ctl", "-w", "-m", mode, "stop")

    def ask(self, statement):
        """The rows of a statement, each a list of texts."""
        text = subprocess.run(
            [self.bin / "psql", "-X", "-A", "-t", "-F", "\t", "-c", statement, self.database],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        return [line.split("\t") for line in text.splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *why):
        try:
            if os.path.exists(f"{self.folder}/data/postmaster.pid"):
                self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
