"""A picture for a prompt, drawn without a model: the same words always give the same landscape.

The picture is painted column by column, each channel apart: a column is a few runs of bytes, so that the
work is done by slices and translation tables and a million pixels take a fraction of a second.
"""

import hashlib
import math
import random
import re
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

Colour: TypeAlias = tuple[int, int, int]
Ridge: TypeAlias = Callable[[float], float]

_WORD: Final = re.compile(r"[^\W\d_]+")


class Mood(NamedTuple):
    """Colours of the sky from top to horizon, of the light in it, and of the land from far to near."""

    words: frozenset[str]
    top: Colour
    horizon: Colour
    light: Colour
    far: Colour
    near: Colour


def _mood(words: str, colours: str) -> Mood:
    top, horizon, light, far, near = (
        (int(one[:2], 16), int(one[2:4], 16), int(one[4:], 16)) for one in colours.split()
    )
    return Mood(frozenset(words.split()), top, horizon, light, far, near)


NIGHT: Final = _mood("night moon star stars dark midnight space", "080c26 324274 f0f2fa 2a3860 0a0e1e")
MOODS: Final = (
    NIGHT,
    _mood("sunset evening dusk warm red fire", "423470 ffb06c ffe296 b06276 2e1e3e"),
    _mood("dawn sunrise morning pink rose", "7a98d6 ffd6be fff0c8 ba96b4 464268"),
    _mood("autumn fall gold desert orange sand", "70a0c8 fce4b2 ffeeb4 ce9460 6c3a1e"),
    _mood("winter snow ice white cold", "6e92be eaf2fa fffff8 c4d4e6 5c7496"),
    _mood("green jungle garden nature leaf", "5ca4c4 e2f4dc fffad2 80ba96 144c34"),
    _mood("day summer spring sky sunny blue", "4084d6 cee8f6 fff7d6 8cb0c4 265e4a"),
)
_WATER: Final = frozenset(
    {"sea", "ocean", "lake", "beach", "water", "river", "island", "coast", "boat", "ship"}
)
_CITY: Final = frozenset(
    {"city", "town", "office", "building", "street", "skyline", "campaign", "dashboard", "banner"}
)
_FOREST: Final = frozenset({"forest", "tree", "trees", "wood", "woods", "jungle", "pine"})


def draw(prompt: str, width: int, height: int) -> bytes:
    """A PNG of this size."""
    words = frozenset(word.lower() for word in _WORD.findall(prompt))
    chance = random.Random(hashlib.sha256(prompt.strip().lower().encode("utf-8", "replace")).digest())
    fitting = [mood for mood in MOODS if mood.words & words]
    mood = fitting[0] if fitting else chance.choice(MOODS)
    canvas = Canvas(width, height)
    canvas.paint_sky(mood.top, mood.horizon)
    if mood is NIGHT:
        _stars(canvas, chance)
    x = chance.uniform(0.2, 0.8) * width
    _light(
        canvas, x, chance.uniform(0.2, 0.42) * height, chance.uniform(0.06, 0.1) * min(width, height), mood
    )
    _land(canvas, chance, mood, words)
    if words & _WATER:
        _water(canvas, chance, mood, x)
    return canvas.png()


class Canvas:
    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._columns: list[list[bytearray]] = [[], [], []]

    def paint_sky(self, top: Colour, bottom: Colour) -> None:
        for channel in range(3):
            column = gradient(top[channel], bottom[channel], self.height)
            self._columns[channel] = [bytearray(column) for _ in range(self.width)]

    def fill(self, x: int, top: float, bottom: float, colour: Colour, opacity: float = 1.0) -> None:
        """A vertical line, soft at its ends."""
        first, last = math.ceil(top), math.floor(bottom)
        self._blend(x, first - 1, first, colour, opacity * (first - top))
        self._blend(x, first, last, colour, opacity)
        self._blend(x, last, last + 1, colour, opacity * (bottom - last))

    def fade(self, x: int, top: float, colour: Colour, below: Colour) -> None:
        """From here down to the ground, from one colour into another."""
        first = max(0, math.ceil(top))
        self._blend(x, first - 1, first, colour, first - top)
        for channel in range(3):
            shade = gradient(colour[channel], below[channel], self.height)
            self._columns[channel][x][first:] = shade[: max(0, self.height - first)]

    def disc(self, x: float, y: float, radius: float, colour: Colour, opacity: float = 1.0) -> None:
        for column in range(max(0, math.floor(x - radius)), min(self.width, math.ceil(x + radius))):
            half = radius**2 - (column + 0.5 - x) ** 2
            if half > 0:
                self.fill(column, y - math.sqrt(half), y + math.sqrt(half), colour, opacity)

    def png(self) -> bytes:
        planes = [b"".join(columns) for columns in self._columns]
        rows = bytearray()
        for y in range(self.height):
            row = bytearray(3 * self.width)
            for channel, plane in enumerate(planes):
                row[channel::3] = plane[y :: self.height]
            rows += b"\0" + row
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)

    def _blend(self, x: int, top: int, bottom: int, colour: Colour, opacity: float) -> None:
        top, bottom = max(0, top), min(self.height, bottom)
        if top >= bottom or opacity <= 0:
            return
        for channel in range(3):
            column = self._columns[channel][x]
            if opacity >= 1:
                column[top:bottom] = bytes((colour[channel],)) * (bottom - top)
            else:
                column[top:bottom] = column[top:bottom].translate(_mix(colour[channel], round(opacity * 32)))


@lru_cache(maxsize=1024)
def _mix(colour: int, parts: int) -> bytes:
    """What each byte becomes when so many of 32 parts of a colour are laid over it."""
    return bytes((old * (32 - parts) + colour * parts) // 32 for old in range(256))


@lru_cache(maxsize=64)
def gradient(first: int, last: int, length: int) -> bytes:
    steps = max(1, length - 1)
    return bytes(first + (last - first) * at // steps for at in range(length))


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _stars(canvas: Canvas, chance: random.Random) -> None:
    for _ in range(canvas.width * canvas.height // 2500 + 20):
        x, y = chance.randrange(canvas.width), chance.uniform(0, 0.6) * canvas.height
        canvas.fill(x, y, y + chance.uniform(0.8, 1.8), (255, 255, 240), chance.uniform(0.3, 0.95))


def _light(canvas: Canvas, x: float, y: float, radius: float, mood: Mood) -> None:
    for step in range(9, 0, -1):
        canvas.disc(x, y, radius * (1 + step * 0.32), mood.light, 0.07)
    canvas.disc(x, y, radius, mood.light)


def _land(canvas: Canvas, chance: random.Random, mood: Mood, words: frozenset[str]) -> None:
    layers = 4
    for layer in range(layers):
        share = layer / (layers - 1)
        is_last = layer == layers - 1
        shape = _skyline if words & _CITY and layer else _forest if words & _FOREST and is_last else _hills
        ridge = shape(chance, 1 - share)
        level = canvas.height * (0.52 + 0.34 * share)
        colour = mixed(mood.far, mood.near, share)
        for x in range(canvas.width):
            top = level - ridge(x / canvas.width) * canvas.height
            canvas.fade(x, top, colour, mixed(colour, mood.horizon, 0.5 * (1 - share)))


def _hills(chance: random.Random, farness: float) -> Ridge:
    """Waves laid over each other; the far ones are pointed like mountains."""
    waves = [(chance.uniform(0.6, 1.2) * 2**n, chance.random(), 0.09 / 1.8**n) for n in range(5)]

    def ridge(x: float) -> float:
        smooth = sum(size * math.sin(math.tau * (pace * x + start)) for pace, start, size in waves)
        sharp = sum(size * (abs(((pace * x + start) * 2) % 2 - 1) * 2 - 1) for pace, start, size in waves)
        return sharp * farness + smooth * (1 - farness) * 0.6

    return ridge


def _forest(chance: random.Random, _farness: float) -> Ridge:
    trees = [(at / 60, chance.uniform(0.06, 0.14)) for at in range(61)]

    def ridge(x: float) -> float:
        return max(tall * (1 - min(1.0, abs(x - at) * 45)) for at, tall in trees)

    return ridge


def _skyline(chance: random.Random, farness: float) -> Ridge:
    houses = [chance.uniform(0.02, 0.2 + 0.12 * farness) for _ in range(24)]
    start = chance.random()

    def ridge(x: float) -> float:
        return houses[int((x + start) * 17) % len(houses)]

    return ridge


def _water(canvas: Canvas, chance: random.Random, mood: Mood, light_x: float) -> None:
    shore = canvas.height * 0.78
    for x in range(canvas.width):
        canvas.fade(x, shore, mixed(mood.horizon, mood.top, 0.35), mood.top)
    for _ in range(90):
        y = shore + chance.random() ** 1.5 * (canvas.height - shore)
        half = canvas.width * chance.uniform(0.01, 0.07) * (0.5 + (y - shore) / canvas.height * 4)
        centre = light_x + chance.gauss(0, 0.04) * canvas.width
        for x in range(max(0, int(centre - half)), min(canvas.width, int(centre + half))):
            canvas.fill(x, y, y + max(1.0, canvas.height / 260), mood.light, 0.45)
