"""Every size follows from a model's row, and what it says fits does fit."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from tq.model.limits import LETTERS, RULES_SHARE, Model


@st.composite
def models(draw: st.DrawFn) -> Model:
    output = draw(st.integers(256, 128_000))
    return Model(
        name="m", driver="extractive", input_tokens=draw(st.integers(1024, 2_000_000)), output_tokens=output,
        chars_per_token=draw(st.floats(0.5, 16)), windows_per_call=3, summary_tokens=draw(st.integers(64, min(output, 4000))),
        concurrency=16, timeout_seconds=60, delay_ms=0,
    )  # fmt: skip


@given(models())
def test_sizes_fit_the_limits(model: Model) -> None:
    fit = model.fit
    usable = model.input_tokens * (1 - RULES_SHARE) * model.chars_per_token
    assert 3 * fit.window_chars <= usable
    assert 0 < fit.leaf_min_chars < fit.leaf_max_chars <= fit.window_chars
    assert fit.bullets * fit.bullet_chars <= model.summary_tokens * model.chars_per_token
    assert 2 <= fit.fan_out <= len(LETTERS)


@given(models())
def test_a_summary_is_shorter_than_what_it_summarises(model: Model) -> None:
    fit = dataclasses.replace(model, driver="openai").fit
    for chars in (0, 200, fit.leaf_max_chars):
        assert 1 <= fit.bullets_of(chars, 1) <= fit.bullets
    # As many facts as a quarter of it holds; a parent has some more to tell what lies below.
    assert fit.bullets_of(600, 1) == 1
    assert fit.bullets_of(60_000, 1) == fit.bullets
    assert fit.bullets_of(600, 2) == 2
    assert model.fit.bullets_of(10, 1) == model.fit.bullets  # what computes costs nothing
