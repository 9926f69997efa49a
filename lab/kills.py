"""Runs killed at random moments: does the next one go on, and is any finished call made twice?

Run as ``python -m lab.kills --count 100`` in the top folder; it writes ``reports/perf/kills.json``.
A small project, of which a service on loopback is the model and the generator, is evaluated by
``driftledger run``, ``dvc repro`` or ``driftledger track`` again and again; each is ended by
SIGKILL, all its processes or one, or loses the reader of what it prints, as with ``| head -1``,
and has to end by itself. So it goes until one ends before its moment. By the service's
own log no call that was stored may have come again, records, scores and ledger must be those of an
undisturbed run, and ``driftledger verify`` has to find that all else follows from them: what holds
measured seconds is never the same. Then a new project begins.
"""

import base64
import hashlib
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import psutil  # type: ignore[import-untyped]  # comes with DVC
import typer
import yaml
from PIL import Image

from driftledger.benchmarks.base.usage import CALLS, USAGE
from driftledger.benchmarks.registry import benchmark_names
from driftledger.core.files import write_json
from driftledger.core.made import INPUTS
from lab.entry import new_app, run

RESULTS = Path("reports/perf/kills.json")
WAYS = (("driftledger", "run"), ("dvc", "repro"), ("driftledger", "track"))
VICTIMS = ("all", "one", "reader")
SEED = 18
IMAGES, ITERATIONS, AT_ONCE = 8, 3, 8
TIMED = (CALLS, USAGE, INPUTS)
"""Files that hold measured seconds, or digests of them."""
_PATIENCE = 600

app = new_app(__doc__ or "")


def plain(digest: bytes) -> bytes:
    """A small PNG of one colour."""
    drawing = io.BytesIO()
    Image.new("RGB", (32, 32), tuple(digest[:3])).save(drawing, "PNG")
    return drawing.getvalue()


class Service:
    """OpenAI's protocol on loopback: descriptions and drawings that depend on what was asked, after
    a latency.

    Args:
        draw: PNG by the digest of a request; without it, a small plain one.
    """

    def __init__(
        self, latency: float = 0.05, draw: Callable[[bytes], bytes] | None = None
    ) -> None:
        self.answered: Counter[str] = Counter()
        """Digest of a request → how many answers were sent in the present project."""
        answered = self.answered

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(
                    {
                        "object": "list",
                        "data": [
                            {"id": name, "object": "model"}
                            for name in ("eyes", "hands")
                        ],
                    }
                )

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                digest = hashlib.sha256(self.path.encode() + body).digest()
                time.sleep(latency)
                if self.path.endswith("/completions"):
                    message = {
                        "role": "assistant",
                        "content": f"A photograph of {digest.hex()[:12]}.",
                        "refusal": None,
                    }
                    choice = {
                        "index": 0,
                        "message": message,
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                    usage = {
                        "prompt_tokens": 90,
                        "completion_tokens": 20,
                        "total_tokens": 110,
                    }
                    about = {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 1,
                        "model": "eyes",
                    }
                    self._send({**about, "choices": [choice], "usage": usage})
                else:
                    drawing = (draw or plain)(digest)
                    self._send(
                        {
                            "created": 1,
                            "data": [{"b64_json": base64.b64encode(drawing).decode()}],
                        }
                    )
                answered[digest.hex()] += 1

            def _send(self, content: dict[str, Any]) -> None:
                text = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                with suppress(ConnectionError):
                    self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing to the terminal."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.address = f"http://127.0.0.1:{server.server_port}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()


class Project:
    """A small project in a folder of its own: one model, one generator, one benchmark."""

    def __init__(
        self,
        root: Path,
        repository: Path,
        service: Service,
        images: int = IMAGES,
        at_once: int = AT_ONCE,
    ) -> None:
        self.root, self.log = root, root.parent / "log"
        self.environment = os.environ | {
            "DVC_SITE_CACHE_DIR": str(root.parent / "site"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            # so that all projects have the same commit
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
            "NO_PROXY": "127.0.0.1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        for name in (
            "dvc.yaml",
            "params.yaml",
            ".gitignore",
            ".dvcignore",
            ".dvc/config",
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repository / name, root / name)
        chosen = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
        chosen["run"] |= {
            name: [] for name in benchmark_names() if name in chosen["run"]
        }
        chosen["run"] |= {
            "datasets": ["mine"],
            "genception": ["mine"],
            "question_sets": [],
        }
        chosen["run"] |= {"models": ["eyes"], "generators": ["hands"]}
        chosen["datasets"] = {"mine": {"provider": "image_folder", "path": "images"}}
        common = {
            "base_url": service.address,
            "api_key_env": None,
            "limits": {"concurrency": at_once},
        }
        drawing = {"provider": "openai_images", "model": "hands", "image_size": "64x64"}
        chosen["models"] = {
            "eyes": {
                "provider": "openai",
                "model": "eyes",
                "understood_by": ["layout"],
                **common,
            }
        }
        chosen["generators"] = {"hands": {**drawing, **common}}
        chosen["genception"]["iterations"] = ITERATIONS
        (root / "params.yaml").write_text(
            yaml.safe_dump(chosen, sort_keys=False), encoding="utf-8"
        )
        for number in range(images):
            file = root / "images" / f"{number % 2}" / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.linear_gradient("L").rotate(40 * number).convert("RGB").resize(
                (96, 72)
            ).save(file)
        for command in (
            ("init", "--quiet"),
            ("add", "--all"),
            ("commit", "--quiet", "--message", "a project"),
        ):
            author = ("-c", "user.name=kills", "-c", "user.email=kills@localhost")
            subprocess.run(
                ["git", *author, *command], cwd=root, env=self.environment, check=True
            )

    def start(
        self, command: tuple[str, ...], *, has_reader: bool = False
    ) -> "subprocess.Popen[bytes]":
        """Start a command as the head of a group of processes; it prints into a file, or a pipe."""
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdout=subprocess.PIPE if has_reader else log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def files(self) -> dict[str, str]:
        """Return the digest of each file of data, records, scores and ledger in which no measured
        time counts, by path."""
        files = [
            file
            for top in ("data", "reports/scores", "ledger")
            for file in (self.root / top).rglob("*")
        ]
        return {
            str(file.relative_to(self.root)): hashlib.sha256(
                file.read_bytes()
            ).hexdigest()
            for file in files
            if file.is_file() and file.name not in TIMED
        }

    def clear_rwlock(self) -> bool:
        """Remove DVC's lock file if a kill left it unreadable, as ``driftledger run`` does; return
        True if it was."""
        file = self.root / ".dvc" / "tmp" / "rwlock"
        try:
            json.loads(file.read_bytes())
        except FileNotFoundError:
            return False
        except ValueError:
            file.unlink()
            return True
        return False

    def runs(self) -> tuple[int, int]:
        """Return how many runs MLflow shows, and how many of these are finished."""
        shown = (
            "SELECT count(*), coalesce(sum(status = 'FINISHED'), 0) FROM runs WHERE "
            "lifecycle_stage = 'active'"
        )
        with closing(sqlite3.connect(self.root / "mlflow.db", timeout=60)) as db:
            every, finished = db.execute(shown).fetchone()
            return every, finished


def kill(head: "subprocess.Popen[bytes]", victim: str, lots: random.Random) -> None:
    """End the head and all processes below it, as a machine that stops does, or any one below
    it; or close the pipe that it prints into."""
    if victim == "reader" and head.stdout is not None:
        head.stdout.close()
        return
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(head.pid).children(recursive=True)
        for process in (
            [lots.choice(below)]
            if victim == "one" and below
            else [psutil.Process(head.pid), *below]
        ):
            with suppress(psutil.NoSuchProcess):
                process.kill()


@app.command()
def kills(
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    seconds: Annotated[float, typer.Option(help="The latest moment of a kill.")] = 20.0,
    seed: Annotated[
        int, typer.Option(help="Of the moments, the victims and the ways.")
    ] = SEED,
) -> None:
    """Kill, go on, compare; exit code 1 where a run did not go on, a file differed, or a call was
    made again."""
    repository, service, lots = Path.cwd(), Service(), random.Random(seed)
    counted: Counter[str] = Counter()
    stuck, unverified, different = list[str](), list[str](), set[str]()
    with tempfile.TemporaryDirectory(
        prefix="kills-", ignore_cleanup_errors=True
    ) as name:
        undisturbed = Project(
            Path(name) / "undisturbed" / "project", repository, service
        )
        if undisturbed.start(WAYS[0]).wait(_PATIENCE):
            raise SystemExit(undisturbed.log.read_text(encoding="utf-8"))
        expected, calls, runs = (
            undisturbed.files(),
            set(service.answered),
            undisturbed.runs(),
        )
        while counted["kills"] < count and not stuck:
            service.answered.clear()
            project = Project(
                Path(name) / f"{counted['projects']}" / "project", repository, service
            )
            counted["projects"] += 1
            in_flight = 0
            while counted["kills"] < count:
                way, victim, until = (
                    lots.choice(WAYS),
                    lots.choice(VICTIMS),
                    lots.uniform(0, seconds),
                )
                head = project.start(way, has_reader=victim == "reader")
                try:
                    ended = head.wait(until)
                except subprocess.TimeoutExpired:
                    kill(head, victim, lots)
                    try:
                        head.wait(_PATIENCE)
                    except subprocess.TimeoutExpired:
                        kill(head, "all", lots)
                        stuck.append(f"{way} did not end after its {victim} was gone")
                        break
                    in_flight += (
                        2 * AT_ONCE
                    )  # what is asked of a model and of a generator at once
                    counted["kills"] += 1
                    counted[" ".join(way)] += 1
                    counted["closed_pipes"] += victim == "reader"
                    counted["rwlock_left_unreadable"] += project.clear_rwlock()
                    print(
                        f"{counted['kills']} of {count} kills, {counted['projects']} projects",
                        flush=True,
                    )
                else:
                    if ended == 0 and way == WAYS[0]:
                        break
            if project.start(WAYS[0]).wait(_PATIENCE):
                logs = [project.log, project.root / ".driftledger" / "run.log"]
                stuck.append(
                    "\n".join(log.read_text(encoding="utf-8")[-2000:] for log in logs)
                )
                break
            again = sum(service.answered.values()) - len(service.answered)
            counted["calls_again_in_flight"] += min(again, in_flight)
            counted["calls_made_again"] += max(0, again - in_flight) + len(
                service.answered.keys() - calls
            )
            counted["calls_lost"] += len(calls - service.answered.keys())
            counted["other_runs"] += project.runs() != runs
            files = project.files()
            different |= {
                file
                for file in files.keys() | expected.keys()
                if files.get(file) != expected.get(file)
            }
            if project.start(("driftledger", "verify")).wait(_PATIENCE):
                unverified.append(project.log.read_text(encoding="utf-8")[-2000:])
            shutil.rmtree(project.root.parent, ignore_errors=True)
    wrong = {
        "did_not_go_on": stuck,
        "calls_made_again": counted["calls_made_again"],
        "calls_lost": counted["calls_lost"],
        "files_that_differ": sorted(different),
        "not_verified": unverified,
        "projects_with_other_runs_in_mlflow": counted["other_runs"],
    }
    results = {
        "kills": counted["kills"],
        "of": {" ".join(way): counted[" ".join(way)] for way in WAYS},
        "closed_pipes": counted["closed_pipes"],
        "projects": counted["projects"],
        "within_seconds": seconds,
        "rwlock_left_unreadable": counted["rwlock_left_unreadable"],
        "calls_again_in_flight": counted["calls_again_in_flight"],
        **wrong,
    }
    write_json(repository / RESULTS, results)
    print(json.dumps(results, indent=2))
    raise typer.Exit(1 if any(wrong.values()) else 0)


if __name__ == "__main__":
    run(app)
