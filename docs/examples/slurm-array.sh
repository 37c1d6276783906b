#!/bin/bash
#SBATCH --job-name=normfuzz
#SBATCH --array=0-99
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --output=normfuzz-%a.log
# A task of the array is a shard. A task that is preempted or ends at the time limit has saved its work (TERM, two minutes before) and continues
# where it stopped when it runs again: sbatch --array=17 slurm-array.sh. For a GPU: sbatch --gres=gpu:1 slurm-array.sh.
#   id=$(sbatch --parsable docs/examples/slurm-array.sh)
#   sbatch --dependency=afterany:$id --wrap 'normfuzz merge out/shard-* --out out/merged'
set -u
normfuzz=${NORMFUZZ:-./build/normfuzz}
out=${NORMFUZZ_OUT:-out}
shards=${NORMFUZZ_SHARDS:-100} # of the campaign, also when a part of the array is repeated

exec "$normfuzz" run --shard "$SLURM_ARRAY_TASK_ID/$shards" --jobs "$SLURM_CPUS_PER_TASK" ${NORMFUZZ_OPTIONS:---cases 100000000} \
  --out "$out/shard-$SLURM_ARRAY_TASK_ID" --quiet
