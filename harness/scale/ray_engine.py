"""normfuzz run --engine ray: the shards of a campaign as tasks of Ray.

The program starts this file (cli/engine.cc) and has checked its arguments. A shard is `normfuzz run --shard I/N` in a directory of its own, so a
task that is tried again continues where the lost one stopped; `normfuzz merge` joins shards as they arrive and prints the table at the end.
Files travel through the file system that all nodes share. What Ray prints goes to DIR/ray.log.
"""

import argparse
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLEAN, DIVERGENCE, USAGE, CONTRADICTION, INTERRUPTED = 0, 1, 2, 3, 130  # exit statuses of the program
ATTEMPTS = 4  # of a shard, before it is given up
LOCK_SECONDS = 60  # how long a shard waits for the end of a lost predecessor
OBJECT_STORE_BYTES = 100 << 20  # results are a few numbers; Ray would take a third of the memory

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray would let its workers yield to everything else
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a task that asks for no GPU sees what the machine has


def wait_for_predecessor(lock_path):
    """A lost worker's program may take a moment to die; its lock tells."""
    deadline = time.monotonic() + LOCK_SECONDS
    while os.path.exists(lock_path) and time.monotonic() < deadline:
        with open(lock_path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(0.1)


def run_shard(command, directory, cwd):
    """In a worker of Ray. Returns the exit status (negative: killed by that signal) and the last line of what was said on stderr."""
    os.makedirs(directory, exist_ok=True)
    wait_for_predecessor(os.path.join(directory, "campaign.db.lock"))
    libc = ctypes.CDLL(None)
    log_path = os.path.join(directory, "run.log")
    with open(log_path, "wb") as log, open(os.path.join(directory, "run.json"), "wb") as out:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches it through the driver alone
            preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),  # PR_SET_PDEATHSIG: it dies with a worker that is killed
        )
        try:
            while child.poll() is None:
                time.sleep(0.05)  # a cancellation arrives between two looks
        except BaseException:
            child.terminate()
            child.wait()
            raise
    with open(log_path, errors="replace") as log:
        lines = log.read().strip().splitlines()
    return child.returncode, lines[-1] if lines else ""


def say(text):
    print(f"normfuzz: {text}", file=sys.stderr, flush=True)


class Campaign:
    def __init__(self, ray, options, run_arguments, workers):
        self.ray = ray
        self.options = options
        self.run_arguments = run_arguments
        self.workers = workers
        self.task = ray.remote(max_retries=0)(run_shard).options(**request_of(options))
        self.waiting = list(range(options.shards))
        self.running = {}  # reference -> shard
        self.attempts = [0] * options.shards
        self.given_up = []
        self.merged = set()
        self.worst = CLEAN
        self.problem = ""

    def directory(self, shard):
        return os.path.join(self.options.out, "shards", str(shard))

    def name(self, shard):
        return f"shard {shard}/{self.options.shards}"

    def submit(self):
        while self.waiting and len(self.running) < self.workers:
            shard = self.waiting.pop(0)
            self.attempts[shard] += 1
            command = [self.options.program, "run", *self.run_arguments, "--shard", f"{shard}/{self.options.shards}"]
            if self.options.seconds:
                command += ["--time", f"{self.options.seconds * min(self.workers, self.options.shards) / self.options.shards:.3f}s"]
            command += ["--out", self.directory(shard), "--json", "--quiet"]
            self.running[self.task.remote(command, self.directory(shard), os.getcwd())] = shard

    def arrived(self):
        """Waits for one task at least. Returns the shards that are complete."""
        done, rest = self.ray.wait(list(self.running), num_returns=1)
        more, _ = self.ray.wait(rest, num_returns=len(rest), timeout=0) if rest else ([], [])
        return [shard for shard in map(self.finish, done + more) if shard is not None]

    def finish(self, reference):
        shard = self.running.pop(reference)
        try:
            status, last_line = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            return self.lose(shard, type(error).__name__)
        if status in (CLEAN, DIVERGENCE):
            return shard
        if status in (USAGE, CONTRADICTION):  # another try would end alike
            self.worst, self.problem = status, f"{self.name(shard)}: {last_line.removeprefix('normfuzz: ')}"
            return shard if status == CONTRADICTION else None
        return self.lose(shard, f"signal {-status}" if status < 0 else f"exit status {status}")

    def lose(self, shard, why):
        if self.attempts[shard] < ATTEMPTS:
            say(f"{self.name(shard)}: lost ({why}), tried again")
            self.waiting.insert(0, shard)
        else:
            say(f"{self.name(shard)}: lost ({why}) for the {ATTEMPTS}th time, given up; its log: {self.directory(shard)}/run.log")
            self.given_up.append(shard)

    def merge(self, shards):
        command = [self.options.program, "merge", *map(self.directory, shards), "--out", self.options.out, "--quiet", "--json"]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode not in (CLEAN, DIVERGENCE):
            self.worst, self.problem = USAGE, ran.stderr.strip().removeprefix("normfuzz: ")
            return
        self.merged.update(shards)
        if not self.options.quiet:
            result = json.loads(ran.stdout)
            say(f"{len(self.merged)} of {self.options.shards} shards: {result['cases']} cases, {len(result['findings'])} findings")

    def run(self):
        while self.worst == CLEAN:
            self.submit()
            if not self.running:
                return
            if shards := self.arrived():
                self.merge(shards)
        self.stop()

    def stop(self):
        """Every shard in work saves what it has."""
        self.waiting = []
        for reference in self.running:
            self.ray.cancel(reference)
        if self.running:
            self.ray.wait(list(self.running), num_returns=len(self.running))
        self.running = {}
        left = set(range(self.options.shards)) - self.merged
        saved = [s for s in sorted(left) if os.path.exists(os.path.join(self.directory(s), "campaign.db"))]
        if saved and self.worst in (CLEAN, INTERRUPTED):
            self.options.quiet = True  # these are not complete
            self.merge(saved)


def request_of(options):
    """What a task asks of Ray: a core per thread, and the largest amount that one of the targets needs of everything else."""
    request = {"num_cpus": options.jobs, "resources": {}}
    for text in options.resource:
        name, amount = text.rsplit(":", 1)
        if name == "GPU":
            request["num_gpus"] = max(request.get("num_gpus", 0), float(amount))
        else:
            request["resources"][name] = max(request["resources"].get(name, 0), float(amount))
    return request


def lacking(ray, options):
    """The first resource that no node has enough of; empty: none."""
    request = request_of(options)
    wanted = {"CPU": request["num_cpus"], "GPU": request.get("num_gpus", 0), **request["resources"]}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return next((f"{k}:{v:g}" for k, v in wanted.items() if v and not any(n.get(k, 0) >= v for n in nodes)), "")


def start_ray(options, scratch):
    """Joins the cluster of $RAY_ADDRESS, or starts one of `workers` workers here. Returns the module and the number of tasks at once."""
    import ray
    import ray.exceptions

    common = {"log_to_driver": False, "logging_level": "ERROR"}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**common)
        cores = int(ray.cluster_resources().get("CPU", 0))
        return ray, options.workers or max(1, cores // options.jobs)
    own = {name: float(amount) for name, amount in (text.rsplit(":", 1) for text in options.resource) if name != "GPU"}
    ray.init(
        address="local",
        num_cpus=options.workers * options.jobs,
        resources={name: amount * options.workers for name, amount in own.items()},
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        _temp_dir=scratch,
        **common,
    )
    return ray, options.workers


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True, help="0: as many as the cluster has cores for")
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--resource", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("run_arguments", nargs="*")
    return parser.parse_args()


def interrupt(*_):
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # the second one does not wait
    raise KeyboardInterrupt


def fuzz(options, scratch):
    """Returns the exit status, CLEAN for "as the merged campaign says"."""
    ray, workers = start_ray(options, scratch)
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        if missing := lacking(ray, options):
            say(f"--resources: no node of the cluster has {missing}; start one that has, or leave the target out")
            return USAGE
        campaign = Campaign(ray, options, options.run_arguments, workers)
        try:
            campaign.run()
        except KeyboardInterrupt:
            campaign.worst = INTERRUPTED
            say("interrupted: the shards in work save what they have; the same command continues")
            campaign.stop()
    finally:
        ray.shutdown()
    if campaign.problem:
        say(campaign.problem)
    if campaign.given_up:
        names = ", ".join(map(str, sorted(campaign.given_up)))
        say(f"shards {names} of {options.shards} are missing from the result; the same command tries them again")
        return USAGE
    return campaign.worst


def main():
    options = parse()
    os.makedirs(options.out, exist_ok=True)
    stdout = os.dup(1)
    with open(os.path.join(options.out, "ray.log"), "ab") as log:
        os.dup2(log.fileno(), 1)  # Ray prints; the standard output is for the result
    temporary = tempfile.gettempdir()
    # Ray's sockets lie there, and their names may have 107 characters.
    scratch = tempfile.mkdtemp(prefix="nf", dir=temporary if len(temporary) < 30 else "/tmp")
    try:
        status = fuzz(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.stdout.flush()
    os.dup2(stdout, 1)
    database = os.path.join(options.out, "campaign.db")
    if not os.path.exists(database) or status == USAGE:
        sys.exit(status or USAGE)
    print_result = [options.program, "merge", database, "--out", options.out, *(["--json"] if options.json else [])]
    said = subprocess.run(print_result, stdin=subprocess.DEVNULL).returncode
    sys.exit(said if status == CLEAN else status)


if __name__ == "__main__":
    main()
