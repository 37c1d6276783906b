"""The examples of docs/nightly.md and docs/scale.md: YAML that says what its readers expect, commands that the program has with the options
they use, scripts that run.

    examples_check.py --normfuzz build/normfuzz --root . [static|run]
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

PAGES = ["docs/nightly.md", "docs/scale.md"]
OF_THE_SCRIPT = {"setup", "test"}  # commands of ./normfuzz itself
COMMAND = re.compile(r"""(?:^|[\s'"(/])\$?normfuzz["']?[ \t]+([a-z][a-z-]*)\b([^\n]*)""")


class Program:
    def __init__(self, path):
        self.path = path
        self.commands = set(re.findall(r"^  ([a-z-]+) ", self.help_of(), re.M))
        self.options = {}

    def help_of(self, *command):
        return subprocess.run([self.path, *command, "--help"], capture_output=True, text=True, check=True).stdout

    def options_of(self, command):
        if command not in self.options:
            self.options[command] = set(re.findall(r"--[a-z][a-z-]*", self.help_of(command)))
        return self.options[command]

    def faults(self, text, name):
        """Of every command in a piece of shell or Markdown."""
        found = []
        for command, rest in COMMAND.findall(text.replace("\\\n", " ")):
            if command in OF_THE_SCRIPT:
                continue
            if command not in self.commands:
                found.append(f"{name}: normfuzz {command}: no such command")
                continue
            arguments = re.split(r"[|;&#`]", rest)[0]
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", arguments):
                if option not in self.options_of(command):
                    found.append(f"{name}: normfuzz {command}: unknown option {option}")
        return found


def code_of(markdown):
    """Indented and fenced lines: what a reader would paste."""
    fenced, lines = False, []
    for line in markdown.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line)
    return "\n".join(lines)


def scripts_of(value):
    """Every text under a key run or script."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("run", "script"):
                yield "\n".join(inner) if isinstance(inner, list) else inner
            else:
                yield from scripts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scripts_of(inner)


def github_faults(workflow, name):
    found = []
    if True not in workflow:  # "on" is a truth value in YAML 1.1
        found.append(f"{name}: no 'on'")
    for job, content in workflow.get("jobs", {"": {}}).items():
        if "runs-on" not in content or not content.get("steps"):
            found.append(f"{name}: job '{job}': expected runs-on and steps")
        for step in content.get("steps", []):
            if ("uses" in step) == ("run" in step):
                found.append(f"{name}: job '{job}': a step has either uses or run")
        for needed in [content["needs"]] if isinstance(content.get("needs"), str) else content.get("needs", []):
            if needed not in workflow["jobs"]:
                found.append(f"{name}: job '{job}' needs '{needed}', which is no job")
    return found


def gitlab_faults(pipeline, name):
    jobs = {k: v for k, v in pipeline.items() if k not in ("stages", "default", "variables")}
    return [
        f"{name}: job '{job}': expected a script and one of the stages"
        for job, content in jobs.items()
        if not content.get("script") or content.get("stage") not in pipeline["stages"]
    ]


def clusterfuzzlite_faults(project, name):
    return [] if project.get("language") == "c++" and project.get("sanitizers") else [f"{name}: expected language and sanitizers"]


def yaml_faults(text, name, program):
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"{name}: {' '.join(str(error).split())}"]
    kind = next(f for part, f in KINDS if part in name)
    return kind(content, name) + [fault for script in scripts_of(content) for fault in program.faults(script, name)]


KINDS = [("github", github_faults), ("gitlab", gitlab_faults), ("clusterfuzzlite/", clusterfuzzlite_faults)]


def static_faults(root, program):
    found = []
    for path in sorted([*root.glob("docs/examples/*.yml"), root / ".clusterfuzzlite/project.yaml"]):
        found += yaml_faults(path.read_text(), str(path.relative_to(root)), program)
    scripts = sorted([*root.glob("docs/examples/*.sh"), root / ".clusterfuzzlite/build.sh"])
    for path in scripts:
        found += program.faults(path.read_text(), str(path.relative_to(root)))
        if subprocess.run(["bash", "-n", path], capture_output=True).returncode != 0:
            found.append(f"{path}: not a script")
        if not os.access(path, os.X_OK):
            found.append(f"{path}: not executable")
    for page in PAGES:
        text = (root / page).read_text()
        found += program.faults(code_of(text), page)
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            if not (root / page).parent.joinpath(link).exists():
                found.append(f"{page}: link to {link}, which does not exist")
    return found


def own_faults(root, program):
    """The check can fail: each of these is a mistake that it must see."""
    workflow = (root / "docs/examples/github-nightly.yml").read_text()
    pipeline = (root / "docs/examples/gitlab-nightly.yml").read_text()
    wrong = {
        "option": yaml_faults(workflow.replace("--shard ", "--shrad "), "github", program),
        "command": yaml_faults(workflow.replace("normfuzz merge", "normfuzz marry"), "github", program),
        "YAML": yaml_faults(workflow.replace("jobs:", "jobs: ["), "github", program),
        "job": yaml_faults(workflow.replace("needs: fuzz", "needs: buzz"), "github", program),
        "stage": yaml_faults(pipeline.replace("stage: report", "stage: reports"), "gitlab", program),
        "script": program.faults('"$normfuzz" run --shards 4 --cases 1 \\\n  --sedd 4 | mail --subject x', "script"),
    }
    return [f"a wrong {what} goes unnoticed" for what, faults in wrong.items() if not faults]


def run_script(script, environment, *arguments):
    return subprocess.run([script, *arguments], env={**os.environ, **environment}, capture_output=True, text=True)


def check(found, condition, text):
    if not condition:
        found.append(text)


def cron_faults(root, program, directory):
    """Silence for a clean night, mail for a mutant."""
    found = []
    mailer = directory / "mailer"
    mailer.write_text('#!/bin/sh\necho "$@" >>"$0.log"\ncat >>"$0.log"\n')
    mailer.chmod(0o755)
    mails = directory / "mailer.log"
    for target, status in ("cpu", 0), ("mutants:sample_variance", 1):
        ran = run_script(
            root / "docs/examples/nightly-cron.sh",
            {
                "NORMFUZZ": program.path,
                "NIGHTLY_HOME": str(directory / target.replace(":", "-")),
                "NIGHTLY_OPTIONS": f"--targets {target} --ops layer_norm --dtypes f32 --cases 64",
                "MAILER": str(mailer),
            },
        )
        check(found, ran.returncode == status, f"nightly-cron.sh: {target}: exit status {ran.returncode}: {ran.stdout}{ran.stderr}")
        check(found, mails.exists() == (status == 1), f"nightly-cron.sh: {target}: mail {mails.exists()}")
    check(found, mails.exists() and "exit status 1" in mails.read_text() and "layer_norm" in mails.read_text(), "nightly-cron.sh: no table in the mail")
    return found


def slurm_faults(root, program, directory):
    """The tasks of an array, one after the other, merged as the comment of the file says."""
    found = []
    out = directory / "slurm"
    for task in "0", "1":
        ran = run_script(
            root / "docs/examples/slurm-array.sh",
            {
                "NORMFUZZ": program.path,
                "NORMFUZZ_OUT": str(out),
                "NORMFUZZ_SHARDS": "2",
                "NORMFUZZ_OPTIONS": "--targets cpu --ops layer_norm --dtypes f32 --cases 64",
                "SLURM_ARRAY_TASK_ID": task,
                "SLURM_CPUS_PER_TASK": "1",
            },
        )
        check(found, ran.returncode == 0, f"slurm-array.sh: task {task}: exit status {ran.returncode}: {ran.stderr}")
    merged = subprocess.run([program.path, "merge", out / "shard-0", out / "shard-1", "--out", out / "merged"], capture_output=True, text=True)
    check(found, merged.returncode == 0 and not merged.stderr, f"slurm-array.sh: merge: {merged.stderr}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--normfuzz", required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("what", choices=["static", "run"])
    options = parser.parse_args()
    program = Program(os.path.abspath(options.normfuzz))
    if options.what == "static":
        found = static_faults(options.root, program) + own_faults(options.root, program)
    else:
        with tempfile.TemporaryDirectory() as directory:
            found = cron_faults(options.root, program, pathlib.Path(directory)) + slurm_faults(options.root, program, pathlib.Path(directory))
    print("\n".join(found) or "the examples are as they should be")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
