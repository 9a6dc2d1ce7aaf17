"""Python in a page without a page: what is run and checked there, and who asks for it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import checker, exercise, on_page
from mini_attn.exercises.report import Report
from mini_attn.exercises.spec import checked_ids
from tests import javascript

Told = list[tuple[str, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What the page hears; the module that all cells share begins anew."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    vars(on_page._main).clear()
    vars(on_page._main).update({"__name__": "__main__", "np": np})
    return []


def run(code: str, told: Told) -> dict[str, Any]:
    """Run a cell."""
    return on_page.run(code, "cell", lambda kind, text: told.append((kind, text)))


def check(exercise_id: str, code: str, told: Told) -> dict[str, Any]:
    """Check an exercise's cell."""
    return on_page.check(exercise_id, code, lambda kind, text: told.append((kind, text)))


# ---------------------------------------------------------------- cells


def test_cells_share_what_they_define_and_give_their_last_value(told: Told) -> None:
    assert run("x = np.arange(3)\nprint('out')", told)["value"] is None
    assert run("x.sum()", told)["value"] == repr(np.arange(3).sum())
    assert run("x.sum();", told)["value"] is None
    assert run("# nothing", told)["error"] is None
    assert told == [("stdout", "out\n")]
    assert run("class A: pass\nA.__module__", told)["value"] == "'__main__'"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(x):\n    return 1 / x\n\nf(0)",
         "line 4\n    f(0)\nline 2, in f\n    return 1 / x\nZeroDivisionError: division by zero"),
        ("np.ones(2) @ np.ones(3)", "line 1\n    np.ones(2) @ np.ones(3)\nValueError: matmul"),
        ("a = (1,\nb", "line 1\n    a = (1,\n        ^\nSyntaxError: '(' was never closed"),
        ("import no_such", "line 1\n    import no_such\n"
         "ModuleNotFoundError: there is no no_such in the page's Python"),
        ("raise SystemExit", "line 1\n    raise SystemExit\nSystemExit"),
        ("input()", "line 1\n    input()\nEOFError: input() waits"),
        ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
    ],
)  # fmt: skip
def test_errors_speak_of_the_readers_own_lines(code: str, error: str, told: Told) -> None:
    said = run(code, told)["error"]
    assert error in said
    assert "site-packages" not in said
    assert len(said.splitlines()) <= 12


def test_a_flood_is_cut_and_counted(told: Told) -> None:
    done = run("for i in range(10_000): print('abcdefghi')", told)
    text = "".join(text for _, text in told)
    assert len(text) == on_page.MOST_OUTPUT
    assert done["cut"] == 100_000 - on_page.MOST_OUTPUT
    assert len(told) < 50  # pieces, not lines
    assert len(run("'x' * 10**6", told)["value"]) == on_page.MOST_OUTPUT


def test_both_streams_are_told_and_outlive_their_end(told: Told) -> None:
    run("import sys\nprint('a')\nsys.stdout.close()\nsys.stderr.write('b')", told)
    assert told == [("stdout", "a\n"), ("stderr", "b")]


@pytest.mark.slow
def test_figures_come_as_pictures_and_are_closed(told: Told) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    code = "import matplotlib.pyplot as plt\nfor _ in range(2): plt.figure(); plt.plot([1, 2])"
    run(code + "\nplt.show()", told)
    assert [kind for kind, _ in told] == ["figure", "figure"]
    assert all(text.startswith("data:image/svg+xml;base64,") for _, text in told)
    assert plt.get_fignums() == []
    told.clear()
    many = "import matplotlib.pyplot as plt\nplt.plot(np.random.rand(200_000), 'o')"
    run(many, told)
    assert told[0][1].startswith("data:image/png;base64,")


# ---------------------------------------------------------------- checks


@pytest.mark.parametrize("exercise_id", checked_ids())
def test_a_starter_on_the_page_earns_nothing(exercise_id: str, told: Told) -> None:
    """It runs with what a page has, and is told what a notebook is told."""
    task = exercise(exercise_id)
    done = check(exercise_id, task.starter, told)
    assert done["error"] is None
    assert done["report"]["points"] == 0
    assert done["report"]["state"] in ("not attempted", "not yet")
    assert done["report"]["message"]


def test_a_report_as_data_says_what_the_text_says(told: Told) -> None:
    report = checker.judge_answer("cached_step", lambda **_: None)
    data = report.data()
    assert data["checks"][2] == {"name": "type", "state": "failed"}
    assert {row["state"] for row in data["checks"][3:]} == {"not reached"}
    assert f"✗ type: {data['message']}" in str(report).replace("\n    ", " ")
    solved = Report(exercise("cached_step")).data()
    assert (solved["state"], solved["points"], solved["of"]) == ("solved", 4, 4)
    assert {row["state"] for row in solved["checks"]} == {"passed"}


def test_a_check_says_what_progress_keeps(told: Told) -> None:
    code = "def chunk_mask(q_positions, kv_positions):\n    kv = kv_positions\n"
    right = code + "    return (kv >= 0) & (kv <= q_positions[:, None])"
    kept = {"kv-cache": {"exercises": {"chunk_mask": {"state": "solved", "points": 4}}}}
    assert check("chunk_mask", right, told)["kept"] == kept
    entry = check("chunk_mask", code + "    return kv", told)["kept"]["kv-cache"]["exercises"]
    assert entry["chunk_mask"] == {"state": "tried", "points": 0, "missing": "shape"}
    gone = check("chunk_mask", "x = 1", told)
    assert gone["kept"] == {}
    assert gone["report"]["message"] == "Define chunk_mask: that is what is checked."
    broken = check("chunk_mask", "1 / 0", told)
    assert broken["report"]["message"] == "ZeroDivisionError: division by zero"
    assert broken["report"]["checks"][1] == {"name": "runs", "state": "failed"}
    with pytest.raises(ConfigError, match="there is no exercise 'none'"):
        check("none", "", told)


def test_references_need_nothing_but_what_a_page_has(told: Told) -> None:
    """Their imports are NumPy's and the standard library's."""
    for exercise_id in checked_ids():
        module = importlib.import_module(f"solutions.{exercise_id}")
        names = {v.__name__ for v in vars(module).values() if isinstance(v, type(np))}
        assert names <= {"numpy"} | sys.stdlib_module_names, exercise_id


BANK = "mini_attn.exercises.bank"
FIRST_CHECK = f"""
import sys
from mini_attn.exercises import on_page
def bank():
    return sorted(name for name in sys.modules if name.startswith("{BANK}"))
print(bank())
on_page.check("chunk_mask", "chunk_mask = print", print)
print(bank())
print([name for name in sys.modules if name.startswith("mini_attn.") and "exercises" not in name])
"""


def test_the_first_check_imports_its_own_exercise_alone() -> None:
    """A reader waits for what is imported here."""
    command = [sys.executable, "-c", FIRST_CHECK]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == ["[]", str([BANK, f"{BANK}.chunk_mask"]), "['mini_attn.errors']"]


# ---------------------------------------------------------------- who asks

CLIENT = """
const { Interpreter, Stopped, Unavailable } = living;
const made = [];
const makeWorker = (address) => {
  const worker = { address, asked: [], ended: false, postMessage: (m) => worker.asked.push(m),
                   terminate: () => { worker.ended = true; } };
  made.push(worker);
  return worker;
};
const at = (protocol) => new Interpreter({ protocol, worker: "w.js", pyodide: "p/" }, makeWorker);
const answer = (worker, data) => worker.onmessage({ data });
const outcome = (promise) => promise.then(
  (done) => ({ done }), (e) => ({ kind: e.constructor.name, said: e.message }));
"""


def ask(body: str) -> Any:
    """Run a body with a page's interpreter whose worker is a stand-in."""
    return javascript.run(CLIENT + body, sources=["python/interpreter.js"])


def test_answers_go_to_who_asked_and_what_is_told_comes_before() -> None:
    got = ask("""
      const python = at("http:"), heard = [], states = [];
      python.watch((state) => states.push(state));
      const one = outcome(python.run("1", { name: "a", tell: (...t) => heard.push(t) }));
      const two = outcome(python.check("x", "2", { tell: () => heard.push("wrong") }));
      const [worker] = made;
      answer(worker, { id: 1, tell: "stdout", text: "hello" });
      answer(worker, { id: 1, done: { value: "1" } });
      answer(worker, { id: 1, tell: "stdout", text: "late" });
      answer(worker, { id: 2, done: { value: "2" } });
      return [await one, await two, heard, states, worker.asked, made.length, python.life];""")
    assert got[:4] == [{"done": {"value": "1"}}, {"done": {"value": "2"}}, [["stdout", "hello"]],
                       ["starting", "busy", "ready"]]  # fmt: skip
    assert [message["ask"] for message in got[4]] == ["run", "check"]
    assert {message["pyodide"] for message in got[4]} == {"p/"}
    assert got[5:] == [1, 1]


def test_stop_ends_all_and_the_next_ask_begins_anew() -> None:
    got = ask("""
      const python = at("https:");
      const all = [python.run("1", { name: "a" }), python.run("2", { name: "b" })].map(outcome);
      python.stop();
      python.stop();
      const gone = python.state;
      const next = outcome(python.start());
      answer(made[0], { id: 1, done: { value: "too late" } });
      answer(made[1], { id: 3, done: { seconds: 1 } });
      return [await Promise.all(all), gone, await next, made.map((w) => w.ended), python.life,
              python.state];""")
    assert [one["kind"] for one in got[0]] == ["Stopped", "Stopped"]
    assert got[1:] == ["gone", {"done": {"seconds": 1}}, [True, False], 2, "ready"]


def test_a_python_that_breaks_or_is_absent_is_given_up() -> None:
    got = ask("""
      const python = at("http:");
      const absent = outcome(python.start());
      answer(made[0], { id: 1, failed: "absent" });
      const broken = outcome(python.run("x", { name: "a" }));
      answer(made[1], { id: 2, failed: "long\\ntrace\\nRangeError: too deep\\n" });
      const crashed = outcome(python.run("x", { name: "a" }));
      made[2].onerror({ preventDefault() {} });
      return [await absent, await broken, await crashed, made.map((w) => w.ended)];""")
    assert {one["kind"] for one in got[:3]} == {"Unavailable"}
    assert "has none for the browser" in got[0]["said"]
    assert got[1]["said"].endswith("what it held is gone. (RangeError: too deep)")
    assert got[3] == [True, True, True]


@pytest.mark.parametrize("protocol", ["file:", "about:"])
def test_from_a_folder_nothing_is_begun(protocol: str) -> None:
    got = ask(f"""
      const python = at("{protocol}");
      const asks = [python.start(), python.run("1", {{ name: "a" }}), python.check("x", "", {{}})];
      return [await Promise.all(asks.map(outcome)), made.length, python.refusal];""")
    assert {one["kind"] for one in got[0]} == {"Unavailable"}
    assert got[1] == 0
    assert "from a disk or a USB stick" in got[2]


def test_rows_show_each_check_and_escape_what_python_says() -> None:
    report = {
        "state": "not yet", "points": 0, "of": 4, "message": "<img> & so", "notes": ["it <b>"],
        "checks": [{"name": "runs", "state": "passed"}, {"name": "shape", "state": "failed"},
                   {"name": "edges", "state": "not reached"}],
    }  # fmt: skip
    body = """const { checkRows, verdict, footWords } = living.cells;
      return [checkRows(input), verdict(input), footWords({ cut: 12345, seconds: 1.25 })];"""
    rows, verdict, words = javascript.run(body, report)
    assert rows.count("<li ") == 3
    assert "&lt;img&gt; &amp; so" in rows
    assert "<img" not in rows
    assert "it &lt;b&gt;" in rows
    for state in ("passed", "failed", "not reached"):
        assert f"({state})" in rows
    assert verdict == ["Not yet, 0 of 4 points.", "shape: <img> & so"]
    assert words == "12,345 more characters were printed and are not shown. 1.3 s."
