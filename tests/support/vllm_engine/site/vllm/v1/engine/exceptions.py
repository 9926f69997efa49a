class EngineDeadError(Exception):
    def __init__(self, *args: object, suppress_context: bool = False) -> None:
        super().__init__(
            "EngineCore encountered an issue. See stack trace (above) for the root cause."
        )
        self.__suppress_context__ = suppress_context
