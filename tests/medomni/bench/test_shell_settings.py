"""The agent `shell` on the command line: what is refused before anything starts, and what a record says."""

from __future__ import annotations

import json

import pytest

from medomni.bench.agents import check_limits, parse_agent
from medomni.bench.errors import RunRefusedError
from medomni.core.issues import IssuesError

MODELS = "  m: {input: 2, output: 10}\n  c: {input: 2, cached_input: 1, output: 10}\n"
SHEET = f'as_of: "2026-11-01"\nmodels:\n{MODELS}'


def shell(tmp_path, text=None, *, sheet=SHEET, model="m", **more):
    (tmp_path / "prices.yaml").write_text(sheet, encoding="utf-8")
    if text is None:
        return parse_agent("shell", model=model, **more)
    (tmp_path / "settings.yaml").write_text(text, encoding="utf-8")
    return parse_agent(f"shell:{tmp_path / 'settings.yaml'}", model=model, **more)


def refused(*args, **more):
    with pytest.raises(RunRefusedError) as caught:
        shell(*args, **more)
    assert caught.value.code == "run-agent"
    return caught.value


def test_without_a_file_the_defaults_hold_and_are_recorded(tmp_path):
    agent = shell(tmp_path)
    assert agent.sends_records
    assert agent.arguments["limits"] == {
        "steps": 60,
        "tokens": None,
        "cost_usd": None,
        "command_seconds": 120,
        "output_chars": 12000,
    }
    assert agent.settings["max_steps"] == 60
    assert agent.settings["base_url"] == "https://api.openai.com/v1"


def test_all_that_harbor_is_told_is_plain_data(tmp_path):
    agent = shell(tmp_path, "max_cost_usd: 0.5\nprices: prices.yaml\n")
    assert json.loads(json.dumps(agent.arguments)) == agent.arguments
    assert agent.arguments["prices"] == {"as_of": "2026-11-01", "input": 2, "cached_input": 2, "output": 10}
    assert shell(tmp_path, "prices: prices.yaml\n", model="c").settings["prices"]["cached_input"] == 1


def test_the_keys_name_goes_to_the_agent_and_not_into_the_record(tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "sk-1")
    agent = shell(tmp_path, key_name="MODEL_KEY", base_url="http://127.0.0.1:8000/v1/")
    assert agent.arguments["key_name"] == "MODEL_KEY"
    assert agent.arguments["endpoint"] == "http://127.0.0.1:8000/v1"
    assert "MODEL_KEY" not in json.dumps(agent.settings)
    assert "sk-1" not in json.dumps([agent.settings, agent.arguments])


@pytest.mark.parametrize("pasted", ["sk-abc-123", "abcDEF123"])
def test_a_pasted_key_is_refused_and_not_repeated(tmp_path, pasted):
    failure = refused(tmp_path, key_name=pasted)
    assert pasted not in str(failure)
    assert "not the key" in failure.hint


@pytest.mark.parametrize("value", ["", "  ", "a b", "clé", "a\nb"])
def test_a_variable_without_a_usable_key_is_refused_and_its_value_not_repeated(tmp_path, monkeypatch, value):
    monkeypatch.setenv("MODEL_KEY", value)
    failure = refused(tmp_path, key_name="MODEL_KEY")
    assert not value.strip() or value not in str(failure)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "http://",
        "http://[",
        "http://h:0/v1",
        "http://h:x/v1",
        "http://h/a b",
    ],
)
def test_what_is_no_address_is_refused(tmp_path, url):
    assert refused(tmp_path, base_url=url).where == "--base-url"


@pytest.mark.parametrize("url", ["https://me:pass@h/v1", "https://h/v1?key=secret", "https://h/v1#secret"])
def test_an_address_with_secrets_is_refused_and_not_repeated(tmp_path, url):
    failure = refused(tmp_path, base_url=url)
    assert "pass@" not in str(failure)
    assert "secret" not in str(failure)


@pytest.mark.parametrize("name", ["model", "messages", "tools", "stream"])
def test_a_request_cannot_replace_what_is_the_agents_own(tmp_path, name):
    assert name in refused(tmp_path, f"request: {{{name}: x}}\n").what


def test_a_cost_limit_without_prices_is_refused(tmp_path):
    assert "max_cost_usd" in refused(tmp_path, "max_cost_usd: 1\n").what


def test_a_price_sheet_without_the_model_is_refused_and_names_those_it_has(tmp_path):
    assert refused(tmp_path, "prices: prices.yaml\n", model="other").hint == "it has: m, c"


def test_a_price_sheet_of_no_day_is_refused(tmp_path):
    sheet = SHEET.replace("2026-11-01", "2026-02-30")
    assert "no such day" in refused(tmp_path, "prices: prices.yaml\n", sheet=sheet).what


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("max_steps: 0\n", "shell-settings-minimum"),
        ("max_steps: true\n", "shell-settings-type"),
        ("max_step: 3\n", "shell-settings-unknown"),
        ("max_cost_usd: 0\n", "shell-settings-minimum"),
        ("prices: 3\n", "shell-settings-type"),
    ],
)
def test_settings_that_break_their_form_are_refused_with_their_place(tmp_path, text, code):
    with pytest.raises(IssuesError) as caught:
        shell(tmp_path, text)
    [issue] = caught.value.issues
    assert issue.code == code
    assert "settings.yaml:1" in issue.where


@pytest.mark.parametrize(
    ("sheet", "code"),
    [
        ('as_of: "2026-11-01"\nmodels: {}\n', "price-sheet-size"),
        ('as_of: "2026-11"\nmodels: {m: {input: 1, output: 1}}\n', "price-sheet-pattern"),
        ('as_of: "2026-11-01"\nmodels: {m: {input: -1, output: 1}}\n', "price-sheet-minimum"),
        ('as_of: "2026-11-01"\nmodels: {m: {input: 1}}\n', "price-sheet-required"),
    ],
)
def test_a_price_sheet_that_breaks_its_form_is_refused(tmp_path, sheet, code):
    with pytest.raises(IssuesError) as caught:
        shell(tmp_path, "prices: prices.yaml\n", sheet=sheet)
    assert [issue.code for issue in caught.value.issues] == [code]


def test_a_limit_of_the_runs_cost_without_prices_is_refused(tmp_path):
    with pytest.raises(RunRefusedError, match="prices") as caught:
        check_limits(shell(tmp_path), environment="local", max_cost=1.0)
    assert caught.value.where == "--max-cost"
    check_limits(shell(tmp_path, "prices: prices.yaml\n"), environment="local", max_cost=1.0)
    check_limits(parse_agent("prior"), environment="local", max_cost=1.0)


def test_a_key_is_refused_where_commands_could_read_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "sk-1")
    agent = shell(tmp_path, key_name="MODEL_KEY")
    with pytest.raises(RunRefusedError, match="could read the model's key"):
        check_limits(agent, environment="unsafe-host", max_cost=None)
    check_limits(agent, environment="docker", max_cost=None)
    check_limits(shell(tmp_path), environment="unsafe-host", max_cost=None)


def test_the_agent_needs_a_model(tmp_path):
    assert "--model" in refused(tmp_path, model=None).what
