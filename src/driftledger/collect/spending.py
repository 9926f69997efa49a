"""What services have cost so far, for whoever watches a stage."""

from driftledger.collect.call_store import CallStore
from driftledger.components.base import Component
from driftledger.components.remote.component import RemoteComponent


def say_spent(component: Component, store: CallStore) -> None:
    if isinstance(component, RemoteComponent):
        spent = store.spent(component.fingerprint)
        cost = f", cost {spent.cost:.2f}" if component.prices else ""
        print(f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True)
