#!/bin/bash
# A campaign on a cluster of machines that share a file system: this file runs on the first one, the others are named on the command line and
# reached by ssh. `./normfuzz setup ray` and a build come first. A cluster that is there already (KubeRay, `ray up`) needs the last step only.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
ray="$(cat "$root/build/engine/ray_python.txt") -m ray.scripts.scripts"
export RAY_USAGE_STATS_ENABLED=0 RAY_ADDRESS="$(hostname -i | cut -d' ' -f1):6379"

trap '$ray stop; for node in "$@"; do ssh "$node" "$ray stop"; done' EXIT
$ray start --head --port=6379 --include-dashboard=false
for node in "$@"; do ssh "$node" "RAY_USAGE_STATS_ENABLED=0 $ray start --address=$RAY_ADDRESS"; done

"$root/build/normfuzz" run --engine ray --shards 4000 --jobs 1 --cases 1000000000 --out /shared/campaign
