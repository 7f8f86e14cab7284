"""JSON schemas as structured outputs want them: nothing optional, nothing else allowed, references written out.

`fixed` is one schema a task type, so that a provider's cache of it and of the prompt is not lost with every call.
`closed` puts the real lists of one task into it: the letters of these children, the numbers of these lines.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import msgspec

from tq.model.tasks import COMPUTED, Mark, Plan, Read, Select, Summarise, Task, Write
from tq.text.planning import MAX_SUBJECTS

Schema = dict[str, Any]
LONGEST_LIST = (
    400  # numbers written out; beyond that their bounds stand in, and the check after the reply holds
)


@cache
def _fixed(reply_type: type[msgspec.Struct]) -> str:
    whole = msgspec.json.schema(reply_type)
    return msgspec.json.encode(_strict({"$ref": whole["$ref"]}, whole["$defs"])).decode()


def fixed(task: Task[Any]) -> Schema:
    """The schema of the task's type."""
    found: Schema = msgspec.json.decode(_fixed(task.reply_type))
    return found


def _strict(node: Schema, defs: Schema) -> Schema:
    if "$ref" in node:
        return _strict(defs[node["$ref"].rsplit("/", 1)[1]], defs)
    if "anyOf" in node:
        kinds = [_strict(part, defs) for part in node["anyOf"]]
        if all(set(kind) == {"type"} for kind in kinds):
            return {"type": [kind["type"] for kind in kinds]}
        return {"anyOf": kinds}
    if node.get("type") == "object":
        fields = {
            name: _strict(part, defs) for name, part in node["properties"].items() if name not in COMPUTED
        }
        return {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
    if node.get("type") == "array":
        return {"type": "array", "items": _strict(node["items"], defs)}
    if "enum" in node:
        return {"type": "string", "enum": node["enum"]}
    return {"type": node["type"]}


def closed(task: Task[Any]) -> Schema:
    """The schema of this one task."""
    schema = copy.deepcopy(fixed(task))
    fields = schema["properties"]
    if isinstance(task, Read):
        letters = [child.letter for child in task.children]
        fields["choice"]["enum"] = ["ANSWER", *(["DESCEND"] if letters else []), "NOT_HERE"]
        fields["open"] |= {"items": {"type": "string", "enum": letters}} if letters else {"maxItems": 0}
        fields["how"]["maxItems"] = task.max_quotes
        fields["how"]["items"]["properties"]["line"] = _numbers([item.number for item in task.items])
    elif isinstance(task, Mark):
        fields["boundaries"]["maxItems"] = min(task.max_boundaries, max(len(task.current), 1))
        fields["boundaries"]["items"]["properties"]["line"] = _numbers([line.number for line in task.current])
    elif isinstance(task, Summarise):
        fields["bullets"]["maxItems"] = task.max_bullets
        numbers = _numbers([item.number for item in task.items])
        for name in ("first", "last"):
            fields["bullets"]["items"]["properties"][name] = numbers
        fields["bullets"]["items"]["properties"]["text"] = {"type": "string", "maxLength": task.max_chars}
    elif isinstance(task, Select):
        fields["sections"] |= {"items": _numbers([one.number for one in task.sections])}
        fields["sections"]["maxItems"] = min(task.max_sections, len(task.sections))
    elif isinstance(task, Write):
        letters = [letter for one in task.evidence for letter in one.figures]
        fields["uses"]["items"] = _numbers([one.number for one in task.evidence])
        fields["figures"] |= {"items": {"type": "string", "enum": letters}} if letters else {"maxItems": 0}
    elif isinstance(task, Plan):
        fields["subjects"] |= {"minItems": 1, "maxItems": MAX_SUBJECTS}
        fields["subjects"]["items"]["properties"]["asks"] |= {"minItems": 1, "maxItems": 3}
    return schema


def _numbers(numbers: list[int]) -> Schema:
    known = sorted(set(numbers))
    if not known:
        return {"type": "integer"}
    if len(known) > LONGEST_LIST:
        return {"type": "integer", "minimum": known[0], "maximum": known[-1]}
    return {"type": "integer", "enum": known}
