#!/usr/bin/env python3
"""The regret of samplers beside Optuna's, on the functions of tests/search/functions.h:

    bench_search_optuna.py TEST_SEARCH [SEEDS]

prints a table, and fails if the mean regret of tpe over the seeds exceeds that of Optuna's
TPESampler by more than 10 % and by more than two standard errors of the difference can explain.
Without optuna it says so and exits with 77."""
import math, statistics, subprocess, sys

TRIALS = 60
try:
    import optuna
except ImportError:
    print("SKIPPED: optuna is not installed")
    sys.exit(77)

def sphere(t):
    x, y = t.suggest_float("x", -5, 5), t.suggest_float("y", -5, 5)
    return x * x + y * y

def branin(t):
    x, y = t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)
    bend = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return bend * bend + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.39788735772973816

def mixed(t):
    rate = math.log10(t.suggest_float("rate", 1e-5, 1e-1, log=True)) + 3
    layers = t.suggest_int("layers", 1, 8) - 6
    kind = [0, 1, 2, 0.5][t.suggest_categorical("kind", [0, 1, 2, 3])]
    share = t.suggest_float("share", 0, 1) - 0.3
    return rate * rate + 0.2 * layers * layers + kind + 4 * share * share

def theirs(function, name, seed):
    sampler = (optuna.samplers.RandomSampler(seed=seed) if name == "random"
               else optuna.samplers.TPESampler(seed=seed, multivariate=False))
    study = optuna.create_study(sampler=sampler)
    study.optimize(function, n_trials=TRIALS)
    return study.best_value

def ours(program, seed):
    lines = subprocess.run([program, "regret", str(seed), "1"], check=True, capture_output=True, text=True).stdout
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines.splitlines()}

def main():
    program, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    own = [ours(program, seed) for seed in range(seeds)]
    worse = []
    print(f"mean regret after {TRIALS} trials, {seeds} seeds (standard error); optuna {optuna.__version__}")
    for function in (sphere, branin, mixed):
        for name in ("random", "tpe"):
            a = [each[function.__name__, name] for each in own]
            b = [theirs(function, name, seed) for seed in range(seeds)]
            error = [statistics.stdev(values) / math.sqrt(seeds) for values in (a, b)]
            mean = [statistics.mean(values) for values in (a, b)]
            print(f"{function.__name__:7} {name:7} here {mean[0]:.4f} ({error[0]:.4f})  "
                  f"optuna {mean[1]:.4f} ({error[1]:.4f})  ratio {mean[0] / mean[1]:.2f}", flush=True)
            if name == "tpe" and mean[0] > 1.1 * mean[1] + 2 * math.hypot(*error):
                worse.append(function.__name__)
    for name in worse:
        print(f"FAIL {name}: the regret of tpe is more than 10 % above Optuna's")
    return 1 if worse else 0

sys.exit(main())
