"""The roofline: time is bound by arithmetic or by reading, whichever is longer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mini_attn.errors import ConfigError

__all__ = ["DEVICES", "Device", "arithmetic_intensity", "measured_device", "roofline_seconds"]


@dataclass(frozen=True)
class Device:
    """The rates and the memory of a device.

    Parameters
    ----------
    name, source : str
        The words for a reader, and where the rates come from.
    bytes_per_second : float
        Memory bandwidth.
    memory_bytes : int
        Memory; vendors' GB are 1e9 bytes.
    flops_per_second : dict of str to float
        Peak rate of matrix products by data type, dense.

    Raises
    ------
    ConfigError
        If there is no rate, or one is not a positive finite number.

    Examples
    --------
    >>> DEVICES["h100"].memory_bytes
    80000000000
    """

    name: str
    source: str
    bytes_per_second: float
    memory_bytes: int
    flops_per_second: dict[str, float] = field(hash=False)

    def __post_init__(self) -> None:
        if not self.flops_per_second:
            raise ConfigError(f"{self.name} needs a rate of products for at least one data type")
        rates = {"bytes_per_second": self.bytes_per_second, **self.flops_per_second}
        for name, rate in {**rates, "memory_bytes": self.memory_bytes}.items():
            if not (math.isfinite(rate) and rate > 0):
                raise ConfigError(f"{name} must be a positive finite rate, got {rate!r}")


DEVICES: dict[str, Device] = {
    "a100": Device(
        "A100 SXM 80 GB",
        "NVIDIA A100 data sheet",
        2.039e12,
        80 * 10**9,
        {"bfloat16": 312e12, "float16": 312e12, "float32": 19.5e12},
    ),
    "h100": Device(
        "H100 SXM 80 GB",
        "NVIDIA H100 data sheet; rates without sparsity from the Hopper architecture white paper",
        3.35e12,
        80 * 10**9,
        {"bfloat16": 989.4e12, "float16": 989.4e12, "float32": 67e12},
    ),
    "h200": Device(
        "H200 SXM 141 GB",
        "NVIDIA H200 data sheet; rates without sparsity as H100",
        4.8e12,
        141 * 10**9,
        {"bfloat16": 989.4e12, "float16": 989.4e12, "float32": 67e12},
    ),
    "b200": Device(
        "B200 SXM 180 GB",
        "NVIDIA DGX B200 data sheet: an eighth of 1,440 GB and 64 TB/s, half of the rate with "
        "sparsity (72 PFLOP/s FP8, 2 FP8 for each BF16)",
        8e12,
        180 * 10**9,
        {"bfloat16": 2250e12, "float16": 2250e12},
    ),
    "tpu-v5e": Device(
        "TPU v5e 16 GB",
        "Google Cloud TPU v5e documentation: peak compute, HBM2 capacity and bandwidth of a chip",
        819e9,
        16 * 10**9,
        {"bfloat16": 197e12},
    ),
}


def measured_device(
    flops_per_second: dict[str, float],
    bytes_per_second: float,
    *,
    memory_bytes: int,
    name: str = "This machine",
) -> Device:
    """A device from numbers that the reader measured.

    ``ridge = flops_per_second / bytes_per_second``

    Parameters
    ----------
    flops_per_second : dict of str to float
        Rate of a large matrix product by data type.
    bytes_per_second : float
        Rate at which a large array is read.
    memory_bytes : int
        Memory.
    name : str
        The words for a reader.

    Returns
    -------
    Device
        The device, with "measured" as its source.

    Raises
    ------
    ConfigError
        If there is no rate or one is not a positive finite number.

    Examples
    --------
    >>> mine = measured_device({"float32": 2e11}, 2e10, memory_bytes=8 * 10**9)
    >>> roofline_seconds(10**9, 10**9, mine, dtype="float32")
    0.05
    """
    return Device(name, "measured", bytes_per_second, memory_bytes, dict(flops_per_second))


def arithmetic_intensity(flops: int, n_bytes: int) -> float:
    """FLOPs done for each byte moved.

    ``intensity = flops / bytes``

    Parameters
    ----------
    flops, n_bytes : int
        Work, and bytes read and written.

    Returns
    -------
    float
        FLOP per byte.

    Raises
    ------
    ConfigError
        If the bytes are not positive or the FLOPs negative.

    References
    ----------
    williams2009roofline, The Roofline Model

    Examples
    --------
    >>> arithmetic_intensity(200, 100)
    2.0
    """
    if n_bytes <= 0 or flops < 0:
        raise ConfigError(f"needs bytes > 0 and flops >= 0, got {n_bytes} and {flops}")
    return flops / n_bytes


def roofline_seconds(flops: int, n_bytes: int, device: Device, *, dtype: str = "bfloat16") -> float:
    """The least time a device needs for so much work and so many bytes.

    ``seconds = max(flops / flops_per_second, bytes / bytes_per_second)``

    Parameters
    ----------
    flops, n_bytes : int
        Work, and bytes read and written.
    device : Device
        Its rates.
    dtype : str
        Data type of the products.

    Returns
    -------
    float
        Seconds; a lower bound, not a forecast.

    Raises
    ------
    ConfigError
        If the device has no rate for the data type.

    References
    ----------
    williams2009roofline, The Roofline Model

    Examples
    --------
    >>> roofline_seconds(0, 3_350_000_000, DEVICES["h100"])
    0.001
    """
    if dtype not in device.flops_per_second:
        known = ", ".join(device.flops_per_second)
        raise ConfigError(f"{device.name} has rates for {known}, not for {dtype!r}")
    arithmetic_intensity(flops, n_bytes)  # checks both
    return max(flops / device.flops_per_second[dtype], n_bytes / device.bytes_per_second)
