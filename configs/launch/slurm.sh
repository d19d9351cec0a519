#!/bin/sh
# A run on several machines by Slurm:
#   sbatch --nodes=4 configs/launch/slurm.sh configs/whisper/nano.yaml [key=value ...]
# Options of the command line come before those of this file. OUTPUT is the run's folder, on a file system that all
# machines share; the same command with the same OUTPUT goes on where an earlier job stopped.
#SBATCH --job-name=graphrun
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=08:00:00
#SBATCH --signal=TERM@180
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
[ $# -gt 0 ] || { echo "usage: sbatch configs/launch/slurm.sh CONFIG.yaml [key=value ...]" >&2; exit 64; }
# One task is one rank. Slurm sends SIGTERM 180 seconds before the end: all ranks stop after the same step and save.
# A task that fails ends the others.
code=0
srun --kill-on-bad-exit=1 "${GRAPHRUN:-graphrun}" "$@" distributed.ranks=auto distributed.backend=tcp \
  checkpoint.resume=auto output.dir="${OUTPUT:-outputs/slurm-${SLURM_JOB_ID:?start this by sbatch}}" || code=$?
# 75: stopped by a signal, with a checkpoint. The job begins again and goes on there.
if [ "$code" = 75 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
