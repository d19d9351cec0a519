#!/usr/bin/env python3
"""Compares configs/launch/kubernetes.yaml with what a run on several machines needs.   kubernetes.py MANIFEST SOURCE"""
import os
import sys
import yaml

service, job = yaml.safe_load_all(open(sys.argv[1]))
pod = job["spec"]["template"]["spec"]
(container,) = pod["containers"]
env = {e["name"]: e["value"] for e in container["env"]}
mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
volumes = {v["name"]: v for v in pod["volumes"]}
nodes = job["spec"]["completions"]
wanted = {
    "a headless service": (service["kind"], service["spec"]["clusterIP"]) == ("Service", "None"),
    "... of these pods": service["spec"]["selector"] == job["spec"]["template"]["metadata"]["labels"],
    "... before they are ready": service["spec"]["publishNotReadyAddresses"] is True,
    "... which gives them names": pod["subdomain"] == service["metadata"]["name"],
    "an indexed job": (job["kind"], job["apiVersion"], job["spec"]["completionMode"]) == ("Job", "batch/v1", "Indexed"),
    "all machines at once": job["spec"]["parallelism"] == nodes > 1,
    "as many as the ranks are told": env["NODES"] == str(nodes),
    "pods are replaced": job["spec"]["backoffLimit"] > 0 and pod["restartPolicy"] == "Never",
    "rank 0 is the first pod": env["MASTER_ADDR"] == f"{job['metadata']['name']}-0.{service['metadata']['name']}",
    "a port": 1024 < int(env["MASTER_PORT"]) < 65536,
    "a rank for each GPU": env["RANKS_PER_NODE"] == str(container["resources"]["limits"]["nvidia.com/gpu"]),
    "a token": env["GRAPHRUN_TOKEN"] != "",
    "/dev/shm in memory": volumes[mounts["/dev/shm"]]["emptyDir"]["medium"] == "Memory",
    "the run's folder outlives pods": "persistentVolumeClaim" in volumes[mounts["/runs"]],
    "... and is where it writes": any(a.startswith("output.dir=/runs/") for a in container["args"]),
    "a new pod goes on": "checkpoint.resume=auto" in container["args"],
    "time to save": pod["terminationGracePeriodSeconds"] >= 60,
    "a configuration that is there": os.path.exists(os.path.join(sys.argv[2], container["args"][0])),
    "a command that the image has": f" {container['command'][0]}\n"
    in open(os.path.join(sys.argv[2], "configs/launch/Containerfile")).read(),
}
for name, holds in wanted.items():
    if not holds:
        print(f"not so: {name}")
sys.exit(not all(wanted.values()))
