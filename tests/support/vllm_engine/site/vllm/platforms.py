class Platform:
    device_type = "cuda"
    """What it is built for."""
    capability: int | None = 90
    """Of a GPU, times ten."""

    def has_device_capability(self, capability: tuple[int, int] | int, device_id: int = 0) -> bool:
        assert isinstance(capability, int)
        return self.capability is not None and self.capability >= capability


current_platform = Platform()
