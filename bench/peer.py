"""One peer on one network, in a process of its own: peer.py ort|openvino MODEL THREADS SECONDS INPUT=FILE.npy...

Prints one JSON object: run_ms {min, median, max, n}, load_ms (file to first output, import excluded), peak_rss_bytes.
The process is held to as many cores as it has threads. f32 everywhere: OpenVINO would choose bfloat16 by itself.
"""
import json
import os
import statistics
import sys
import time

peer, path, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
for name in [n for n in os.environ if n.startswith("OPENBLAS_")]:
    del os.environ[name]

import numpy as np  # noqa: E402  (after the environment is settled)

feeds = {k: np.load(v) for k, v in (a.rsplit("=", 1) for a in sys.argv[5:])}


def make_ort():
    import onnxruntime as ort
    yield
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    for k, v in feeds.items():
        bound.bind_cpu_input(k, v)
    for output in session.get_outputs():
        bound.bind_output(output.name)
    # Two ways to call it; the faster one counts.
    yield [lambda: session.run(None, feeds), lambda: session.run_with_iobinding(bound)]


def make_openvino():
    import openvino as ov
    yield
    core = ov.Core()
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    if os.environ.get("OV_CACHE"):
        core.set_property({"CACHE_DIR": os.environ["OV_CACHE"]})
        model = path  # only so is the stored answer used; the shapes must be fixed
    else:
        model = core.read_model(path)
        model.reshape({k: list(v.shape) for k, v in feeds.items()})
    request = core.compile_model(model, "CPU", config).create_infer_request()
    for k, v in feeds.items():
        request.set_tensor(k, ov.Tensor(v, shared_memory=True))
    yield [request.infer]


def clock(run, budget):
    """Warm up, then repeat for the budget, at least five times."""
    run(), run()
    took, start = [], time.perf_counter()
    while len(took) < 5 or time.perf_counter() - start < budget:
        t = time.perf_counter()
        run()
        took.append((time.perf_counter() - t) * 1e3)
    return took


def peak_rss_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024


maker = make_ort() if peer == "ort" else make_openvino()
next(maker)
start = time.perf_counter()
ways = next(maker)
ways[0]()
load_ms = (time.perf_counter() - start) * 1e3
rss = peak_rss_bytes()
took = min((clock(run, seconds / len(ways)) for run in ways), key=min)
print(json.dumps({"run_ms": {"min": min(took), "median": statistics.median(took), "max": max(took), "n": len(took)},
                  "load_ms": load_ms, "peak_rss_bytes": rss}))
