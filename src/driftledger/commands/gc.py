"""``gc``: remove stored calls and images that no run uses."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from driftledger.benchmarks.base.records import stream_records
from driftledger.collect.call import Call, Planned, walk
from driftledger.commands.collect import tasks_of
from driftledger.core.errors import StoreError
from driftledger.core.paths import checkouts
from driftledger.core.types import Outcome, Result
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS


def remove_unused(project: Project, *, yes: bool = False) -> str:
    """Remove stored calls, images and features that nothing uses any more.

    Runs that a checkout selects or has published use their calls. Returns a sentence with the
    numbers.

    Args:
        yes: whether to remove them; otherwise they are only counted.

    Raises:
        StoreError: the data of a checkout are not built, or another process uses the store and
            ``project.waits`` not.
    """
    from driftledger.ledger.published import read_published  # which imports Git

    used = set()
    encoders = set()
    fingerprints = set[str]()
    with project.store(writes=yes) as store:

        def answer(call: Call) -> Result:
            used.add(call.key)
            return store.answer(call) or Result(
                outcome=Outcome.FAILED, error="it is not stored"
            )

        def walk_all(planned: Iterable[Planned[Any]]) -> list[Any]:
            return [walk(unit.steps, answer).returned for unit in planned]

        for root in checkouts(project.root):
            if not (root / PARAMS).is_file():
                continue
            checkout = Project(root, asks=False, own_code=True)
            for name in checkout.settings.named("encoders"):
                encoders.add(checkout.component("encoders", name).fingerprint[:16])
            for run in read_published(root):
                for score in run.scores:
                    fingerprints.update(
                        card["fingerprint"] for card in score.components
                    )
            for task in tasks_of(checkout):
                with suppress(StoreError):  # not made yet
                    for record in stream_records(task.folder):
                        used.update(result.key for result in record.results)
                try:
                    task.collecting().run(walk_all)
                except StoreError as error:
                    raise StoreError(f"{root}: {error}; nothing was removed") from None
        keys, files = store.unused(used, fingerprints)
        encoders |= {fingerprint[:16] for fingerprint in fingerprints}
        features = store.folder.glob("features/*/*.npy")
        files += [file for file in features if file.parent.name not in encoders]
        if not (keys or files):
            return f"every call, image and file of features in {store.folder} is used"
        size = 0
        for file in files:
            status = file.stat()
            if status.st_nlink == 1:
                size += status.st_size
        what = f"{len(keys):,} calls and {len(files):,} images and files of features"
        what += f", {size / 1e6:,.1f} MB,"
        if not yes:
            return f"{what} are not used; 'driftledger gc --yes' removes them"
        store.remove(keys, files)
        return f"{what} are removed from {store.folder}"
