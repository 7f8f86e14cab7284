"""The demo's documents: the same bytes every time, long and varied enough, and at odds where they should be."""

from __future__ import annotations

import re
from collections import Counter

from convert_help import convert

from tq_loader.demo.build import documents
from tq_loader.demo.operations_log import operations_log


def test_documents_are_the_same_every_time() -> None:
    assert [d.content for d in documents()] == [d.content for d in documents()]


def test_every_document_has_questions_and_converts_without_loss() -> None:
    for document in documents():
        assert len(document.questions) >= 3
        result = convert(document.content, document.name, document.media_type)
        assert result.error is None
        assert not result.omissions
        assert "heading" in result.kinds


def test_the_policy_is_a_real_pdf() -> None:
    policy = documents()[0]
    result = convert(policy.content, policy.name)
    assert {row[1] for row in result.rows} == {1, 2, 3, 4}
    furniture = [row[0] for row in result.rows if row[2] == "furniture"]
    assert len(furniture) == 8
    assert "Page 2 of 4" in furniture
    assert result.kind_of("Service: Insurance report | Fee: £104 | Payable: in advance") == "table"
    assert [row[3] for row in result.rows if row[0] == "3.1 Notice"] == [3]


def test_the_two_sources_disagree() -> None:
    policy, handbook = (
        " ".join(convert(document.content, document.name, document.media_type).texts)
        for document in documents()[:2]
    )
    assert "24 hours' notice" in policy
    assert "48 hours" not in policy
    assert "48 hours' notice" in handbook
    assert "24 hours" not in handbook
    assert "front desk for six weeks" in policy
    assert "front desk for 2 weeks" in handbook


def test_the_log_is_long_and_does_not_repeat_itself() -> None:
    lines = operations_log().splitlines()
    assert len(lines) >= 5000
    counted = Counter(line for line in lines if line and not line.startswith("|"))
    assert counted.most_common(1)[0][1] <= 6
    assert len(counted) > 4000


def test_the_log_adds_up() -> None:
    """The table of January is the sum of its days."""
    text = operations_log()
    january = text[text.index("# January 2024") : text.index("# February 2024")]
    for site in ("Alder Lane", "Mill Street", "Harbour View"):
        days = re.findall(rf"^{site}: (\d+) booked, .* (\d+) missed\.$", january, re.M)
        row = re.search(rf"^\| {site} \| ([\d,]+) \|.*\| ([\d,]+) \|$", january, re.M)
        assert row is not None
        sums = tuple(f"{sum(int(day[i]) for day in days):,}" for i in (0, 1))
        assert row.groups() == sums
