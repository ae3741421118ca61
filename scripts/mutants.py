"""Plants one fault at a time in the modules that `[tool.stillhere.mutants]` in pyproject.toml names, and sees whether their tests
notice. What they do not notice has to be in the list, with the reason why it does not matter. On PostgreSQL it tries those that
`[tool.stillhere.mutants-on-postgresql]` names, unless others are asked for: much of their code is for that database. What they do
not notice there is tried on SQLite too: the rest of their code is for that one.

Called by scripts/mutants.sh, with the folder of a copy of the tree that may be changed. The faults are mutmut's.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutmut.mutation.file_mutation import mutate_file_contents

LISTED = Path("docs/mutants.md")
LEAST_PERCENT = 92
# Modules below it are imported by their names there.
CLIENT = "clients/python/src/"
# A row of the list: the function, the line that the fault makes of it (`…` is any text), and the reason.
ROW = re.compile(r"^\| `(?P<function>[\w.]+)` \| (?P<ticks>`+) ?(?P<line>.+?) ?(?P=ticks) \| (?P<reason>.+) \|$")
type Listed = list[tuple[str, re.Pattern[str]]]


@dataclass(frozen=True, slots=True)
class Survivor:
    function: str
    line: str


@dataclass(frozen=True, slots=True)
class Score:
    """Of one module."""

    name: str
    mutants: int
    survivors: list[Survivor]

    @property
    def killed(self) -> int:
        return self.mutants - len(self.survivors)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("tree", type=Path)
    parser.add_argument("modules", nargs="*")
    chosen = parser.parse_args()
    settings = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["stillhere"]
    usual, on_postgresql = settings["mutants"], settings["mutants-on-postgresql"]
    tests = usual | on_postgresql
    names = {Path(path).stem: path for path in tests}
    tried = on_postgresql if os.environ.get("STILLHERE_TEST_DATABASE") == "postgresql" else usual
    if unknown := set(chosen.modules) - set(names):
        parser.error(f"no module {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    listed = read_list(LISTED.read_text())
    scores = []
    for name in chosen.modules or [Path(path).stem for path in tried]:
        score = try_module(chosen.tree, names[name], tests[names[name]])
        scores.append(score)
        tell(score, listed)
    return judge(scores, listed)


def read_list(text: str) -> Listed:
    """The functions and lines of the list of survivors."""
    rows = [row for line in text.splitlines() if (row := ROW.match(line))]
    return [(row["function"], re.compile(re.escape(row["line"].replace("\\|", "|")).replace("…", ".*"))) for row in rows]


def try_module(tree: Path, path: str, tests: list[str]) -> Score:
    """Put the module with all its mutants in its place, and run its tests on each. Raises SystemExit where they do not run."""
    mutated = mutate_file_contents(path, Path(path).read_text())
    (tree / path).write_text(mutated.code)
    module = path.removeprefix(CLIENT).removesuffix(".py").replace("/", ".")
    noticed: dict[str, bool] = {f"{module}.{name}": False for name in mutated.mutant_names}
    for environment in environments():
        found = tree / "mutants.json"
        found.write_text(json.dumps([name for name, is_noticed in noticed.items() if not is_noticed]))
        run_tests(tree, found, [f"tests/{name}" for name in tests], environment)
        noticed |= json.loads(found.read_text())
    lines = mutated.code.splitlines()
    codes = {name: lines[span.start - 1 : span.end] for name, span in mutated.line_span_by_function_name.items()}
    unnoticed = [name for name in mutated.mutant_names if not noticed[f"{module}.{name}"]]
    survivors = [Survivor(function_of(name), changed_line(codes, name)) for name in unnoticed]
    return Score(Path(path).stem, len(mutated.mutant_names), survivors)


def environments() -> list[dict[str, str]]:
    """Of the database that was asked for; after PostgreSQL that of SQLite."""
    asked = dict(os.environ)
    if asked.get("STILLHERE_TEST_DATABASE") != "postgresql":
        return [asked]
    services = {"STILLHERE_DATABASE_URL", "STILLHERE_REDIS_URL", "STILLHERE_TEST_WORKERS"}
    on_sqlite = {name: value for name, value in asked.items() if name not in services}
    template = asked["STILLHERE_TEST_SQLITE_TEMPLATE"]
    return [asked, {**on_sqlite, "STILLHERE_TEST_DATABASE": "sqlite", "STILLHERE_TEST_TEMPLATE": template}]


def run_tests(tree: Path, found: Path, tests: list[str], environment: dict[str, str]) -> None:
    """In a process of their own, which writes into `found` what they noticed."""
    options = ["-q", "-m", "not timed and not browser and not scale and not prove"]
    for plugin in ("scripts.mutants_plugin", "no:cacheprovider", "no:randomly"):
        options += ["-p", plugin]
    settings = {**environment, "STILLHERE_TEST_MUTANTS": str(found.absolute())}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    ran = subprocess.run(command, cwd=tree, env=settings, capture_output=True, text=True, check=False)  # noqa: S603 - of our own
    if ran.returncode != 0:
        sys.exit(f"{' '.join(tests)} do not run\n{ran.stdout[-6000:]}{ran.stderr[-4000:]}")


def function_of(mutant: str) -> str:
    """`xǁRulesǁapply__mutmut_3` → `Rules.apply`, `x_read__mutmut_1` → `read`."""
    mangled = mutant.rpartition("__mutmut_")[0]
    return mangled.removeprefix("xǁ").replace("ǁ", ".") if mangled.startswith("xǁ") else mangled.removeprefix("x_")


def changed_line(codes: dict[str, list[str]], mutant: str) -> str:
    """What the fault makes of its line or lines, without the blanks of their layout."""
    original, fault = (
        [line.strip() for line in codes[name] if "__mutmut_" not in line]
        for name in (f"{mutant.rpartition('__mutmut_')[0]}__mutmut_orig", mutant)
    )
    changed = difflib.SequenceMatcher(None, original, fault, autojunk=False).get_opcodes()
    return " ".join(line for tag, _, _, start, end in changed if tag != "equal" for line in fault[start:end])


def tell(score: Score, listed: Listed) -> None:
    print(f"{score.name:16} {score.killed:4} of {score.mutants:4}  {100 * score.killed / score.mutants:5.1f} %", flush=True)
    for survivor in score.survivors:
        if not is_listed(survivor, listed):
            print(f"    not in {LISTED}: | `{survivor.function}` | `{survivor.line}` |", flush=True)


def is_listed(survivor: Survivor, listed: Listed) -> bool:
    return any(survivor.function == function and line.fullmatch(survivor.line) for function, line in listed)


def judge(scores: list[Score], listed: Listed) -> int:
    """0 where enough was noticed, and what was not is listed."""
    killed, mutants = sum(score.killed for score in scores), sum(score.mutants for score in scores)
    unlisted = sum(not is_listed(survivor, listed) for score in scores for survivor in score.survivors)
    percent = 100 * killed / mutants
    print(f"{'all':16} {killed:4} of {mutants:4}  {percent:5.1f} %; {unlisted} survivors without a reason in {LISTED}")
    return int(percent < LEAST_PERCENT or unlisted > 0)


if __name__ == "__main__":
    sys.exit(main())
