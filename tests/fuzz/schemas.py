"""Values by a JSON schema: what fits it, and what nearly does."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from tests.fuzz import grammar

Known = Mapping[str, Sequence[str]]
"""Ids that there are, by the name of the field or parameter that takes them."""


class Sampler:
    def __init__(self, components: Mapping[str, Any], known: Known) -> None:
        self._components = components
        self._known = known

    def fitting(self, chance: Random, schema: Any, name: str = "", depth: int = 4) -> Any:
        if "$ref" in schema:
            schema = self._components[schema["$ref"].rpartition("/")[2]]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chance.choice(schema["enum"])
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self.fitting(chance, chance.choice(schema[key]), name, depth)
        kind = schema.get("type")
        return self._of_kind(
            chance, schema, chance.choice(kind) if isinstance(kind, list) else kind, name, depth
        )

    def _of_kind(self, chance: Random, schema: Any, kind: str | None, name: str, depth: int) -> Any:
        match kind:
            case "string":
                return self._text(chance, schema, name)
            case "integer":
                least = schema.get("minimum", 0)
                return chance.choice((least, least + 1, schema.get("maximum", 2**31), max(7, least)))
            case "number":
                return chance.choice((0, 1.5, schema.get("maximum", 10)))
            case "boolean":
                return chance.random() < 0.5
            case "null":
                return None
            case "array":
                count = 0 if depth <= 0 else chance.randint(schema.get("minItems", 0), 2)
                return [self.fitting(chance, schema.get("items", {}), name, depth - 1) for _ in range(count)]
            case "object":
                return self._object(chance, schema, depth)
            case _:
                return grammar.value(chance)

    def _object(self, chance: Random, schema: Any, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        fields = {
            name: self.fitting(chance, inner, name, depth - 1)
            for name, inner in schema.get("properties", {}).items()
            if name in required or (depth > 0 and chance.random() < 0.5)
        }
        if not schema.get("properties") and isinstance(schema.get("additionalProperties"), dict):
            fields["more"] = self.fitting(chance, schema["additionalProperties"], "", depth - 1)
        return fields

    def _text(self, chance: Random, schema: Any, name: str) -> str:
        if known := self._known.get(name):
            return chance.choice(known)
        if "format" in schema:
            return "2026-03-02T08:00:00Z"
        if "pattern" in schema:
            is_digest = "{64}" in schema["pattern"]
            return f"{chance.getrandbits(256):064x}" if is_digest else f"id-{chance.getrandbits(32)}"
        least, most = schema.get("minLength", 0), schema.get("maxLength", 60)
        text = chance.choice(
            ("hi", "Laptops, please", "@shop hello", grammar.text(chance, 20, halves=False))
        )[:most]
        return text.ljust(least, "x")

    def unknown_field(self, chance: Random, schema: Any) -> tuple[Any, str] | None:
        """A fitting object with one field too many, where the schema allows none."""
        if "$ref" in schema:
            schema = self._components[schema["$ref"].rpartition("/")[2]]
        if schema.get("additionalProperties") is not False:
            return None
        name = chance.choice(("extra", "colour", "__proto__", "Text"))
        return {**self.fitting(chance, schema), name: 1}, name
