"""What scripts/wheels runs in a Python process: clients with OpenMP runtimes of their own.

Each client computes something that does not depend on the runtime and returns it in a form that can be
compared: integers, or floats rounded to where the order of additions cannot show. Prints one JSON object.
"""

import ctypes
import glob
import json
import os
import sys


def data(rows, columns):
    import numpy as np

    return np.random.default_rng(7).standard_normal((rows, columns)).astype(np.float32)


def scikit_learn():
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = data(4000, 8)
    x[:2000] += 6
    y = (x[:, 0] > 3).astype(int)
    clusters = KMeans(2, n_init=2, random_state=1).fit(x)
    trees = HistGradientBoostingClassifier(max_iter=10, random_state=1).fit(x, y)
    return [sorted(np.bincount(clusters.labels_).tolist()), int(trees.predict(x).sum())]


def lightgbm():
    import lightgbm as lgb

    x = data(3000, 10)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    options = dict(objective="regression", num_leaves=15, verbose=-1, seed=3, deterministic=True, force_row_wise=True)
    model = lgb.train(options, lgb.Dataset(x, y), 20)
    return [round(float(v), 3) for v in model.predict(x[:5])]


def xgboost():
    import xgboost as xgb

    x = data(3000, 10)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    model = xgb.train({"max_depth": 4, "seed": 3, "tree_method": "hist"}, xgb.DMatrix(x, y), 10)
    return [round(float(v), 2) for v in model.predict(xgb.DMatrix(x[:5]))]


def faiss():
    import faiss as f

    x = data(5000, 32)
    index = f.IndexFlatL2(32)
    index.add(x)
    _, nearest = index.search(x[:200], 4)
    return [int(nearest[:, 0].sum()), int(nearest.sum())]


def mkl():
    """cblas_dgemm of MKL with its own threads, without any Python package between."""
    import numpy as np

    os.environ.setdefault("MKL_THREADING_LAYER", "INTEL")
    found = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
    library = ctypes.CDLL(found[0], mode=ctypes.RTLD_GLOBAL)
    n = 500
    a = np.arange(n * n, dtype=np.float64).reshape(n, n) % 7
    b = np.arange(n * n, dtype=np.float64).reshape(n, n) % 5
    c = np.zeros((n, n))
    double, pointer = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
    address = lambda m: m.ctypes.data_as(pointer)
    row_major, plain = 101, 111
    library.cblas_dgemm(
        row_major, plain, plain, n, n, n, double(1), address(a), n, address(b), n, double(0), address(c), n
    )
    # Sums of products of small integers: exact in any order.
    return [int(c.sum()), int(c[3, 6])]


def pytorch():
    """Products of matrices, a convolution, sums and three steps of training, on small integers: exact in any order."""
    import torch

    a = torch.arange(400 * 400, dtype=torch.float64).reshape(400, 400) % 7
    b = torch.arange(400 * 400, dtype=torch.float64).reshape(400, 400) % 5
    product = a @ b
    image = (torch.arange(4 * 8 * 64 * 64, dtype=torch.float32) % 3).reshape(4, 8, 64, 64)
    kernel = (torch.arange(16 * 8 * 3 * 3, dtype=torch.float32) % 2).reshape(16, 8, 3, 3)
    folded = torch.nn.functional.conv2d(image, kernel)
    many = torch.arange(2_000_000, dtype=torch.float64)
    weight = torch.ones(400, dtype=torch.float64, requires_grad=True)
    for _ in range(3):
        loss = (a @ weight).sum()
        loss.backward()
        with torch.no_grad():
            weight -= weight.grad
            weight.grad.zero_()
    return [
        int(product.sum()),
        int(product[3, 6]),
        int(folded.sum()),
        int((many * 2 + 1).sum()),
        int(weight.sum()),
        torch.get_num_threads(),
    ]


CLIENTS = {
    "scikit-learn": scikit_learn,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "faiss": faiss,
    "mkl": mkl,
    "pytorch": pytorch,
}


def mapped():
    with open("/proc/self/maps") as maps:
        names = {line.split()[-1] for line in maps if ".so" in line}
    keys = ("libgomp", "libomp", "libiomp5", "libhetmp")
    return sorted({os.path.basename(n) for n in names if os.path.basename(n).startswith(keys)})


def main():
    results = {}
    for name in sys.argv[1:]:
        try:
            results[name] = CLIENTS[name]()
        except ImportError as error:
            results[name] = "not installed: %s" % error
    threads = len(os.listdir("/proc/self/task"))
    # A child of fork uses what its parent has used. Under libgomp it would hang: asked for only where it must work.
    forked = None
    if os.environ.get("WHEELS_FORK"):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            again = {name: CLIENTS[name]() for name in sys.argv[1:] if isinstance(results[name], list)}
            os.write(write, json.dumps(again).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            forked = json.loads(pipe.read() or b"{}")
        os.waitpid(child, 0)
    print(json.dumps({"results": results, "threads": threads, "forked": forked, "mapped": mapped()}))


main()
