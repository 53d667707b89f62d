"""JSON becomes the dataclasses of `_types`. Fields that are not known are ignored: the API only ever gains fields."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ._errors import SkiffError

T = TypeVar("T")


def decode(kind: type[T], value: object) -> T:
    """The value as a dataclass. Raises SkiffError (`invalid_answer`) if a required field is missing."""
    if not isinstance(value, dict):
        raise SkiffError("invalid_answer", f"{kind.__name__}: the answer is not an object")
    try:
        return cast(T, _object(kind, value))
    except TypeError as error:
        raise SkiffError("invalid_answer", f"{kind.__name__}: {error}") from None


_FIELDS: dict[str, dict[str, Any]] = {}  # by the name of a class of `_types`


def _fields(kind: type[Any]) -> dict[str, Any]:
    if kind.__name__ not in _FIELDS:
        _FIELDS[kind.__name__] = get_type_hints(kind)
    return _FIELDS[kind.__name__]


def _object(kind: type[Any], value: dict[str, Any]) -> object:
    known = {}
    for name, hint in _fields(kind).items():
        key = name.rstrip("_")
        if key in value:
            known[name] = _value(hint, value[key])
    return kind(**known)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _value(next(one for one in get_args(hint) if one is not type(None)), value)
    if origin is list:
        return [_value(get_args(hint)[0], one) for one in value]
    if origin is dict:
        return {key: _value(get_args(hint)[1], one) for key, one in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _object(hint, value)
    return value
