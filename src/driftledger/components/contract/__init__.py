"""What every component promises, and functions that hold one to it: for tests, and for ``check-component``."""

from driftledger.components.contract.checks import CHECKS, calls_of_service, check_component, costs_money
from driftledger.components.contract.findings import Checked, Finding, MadeTwice, Report

__all__ = [
    "CHECKS",
    "Checked",
    "Finding",
    "MadeTwice",
    "Report",
    "calls_of_service",
    "check_component",
    "costs_money",
]
