/* A sparse lower triangular system on the device: c-tests/apps/spts.c by blocks of a kernel (figures 10 and 11 of "GPU
 * Initiated OpenSHMEM").
 *
 *     oshrun -n PES gpu_spts [--mode gio|ikn|interk|all] [--matrix FILE.mtx | --road N | --banded N] [--seed S]
 *                            [--repeats R] [--blocks B]
 *
 * Rows are dealt to PEs in one part each. gio and ikn: blocks take rows in the order of levels, wait for the values
 * that a row needs, and push what other PEs need, value and signal in one descriptor. interk: a kernel for each level
 * set, and the host exchanges values between two kernels. Rows of output: milliseconds for one solve. */
#include "gpu.h"

#include "../apps/matrix.h"

/* The device's view. Own values and flags are in the device's memory, those of others in the symmetric heap. */
struct system_of {
    const size_t *start;
    const int *column;
    const double *value, *diagonal, *b;
    const uint64_t *needed; /* by row: PEs */
    const long *row;        /* own rows, level by level */
    double *x, *out;        /* own values: on the device, and where the host finds them */
    uint64_t *solved;
    double *came; /* symmetric: values of others */
    uint64_t *signal;
    long rows, first, end; /* how many own rows, and which */
};

__device__ inline int is_own(const system_of &s, long i) { return i >= s.first && i < s.end; }
__device__ inline double known(const system_of &s, long j) {
    uint64_t bits = hetmp_word_get((const uint64_t *)(is_own(s, j) ? s.x : s.came) + j);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
__device__ inline double solve_row(const system_of &s, long i) {
    double sum = s.b[i];
    for (size_t k = s.start[i]; k < s.start[i + 1]; k++) sum -= s.value[k] * known(s, s.column[k]);
    return sum / s.diagonal[i];
}
__device__ inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* One leader a block: a row has a few entries. A block's next row may wait for its last one, so it announces first. */
__global__ void inside(system_of s, gpu_way way, uint64_t epoch) {
    if (!HETMP_WG_LEADER()) return;
    gpu_poster p;
    gpu_poster_begin(&p, way);
    for (long k = (long)blockIdx.x; k < s.rows; k += (long)gridDim.x) {
        long i = s.row[k];
        for (size_t e = s.start[i]; e < s.start[i + 1]; e++) {
            long j = s.column[e];
            hetmp_wait_until((is_own(s, j) ? s.solved : s.signal) + j, SHMEM_CMP_GE, epoch);
        }
        double x = solve_row(s, i);
        hetmp_word_set((uint64_t *)s.x + i, bits_of(x));
        hetmp_word_release(s.solved + i, epoch);
        uint64_t to = s.needed[i];
        for (int pe = 0; to >> pe; pe++)
            if (to >> pe & 1) gpu_p_signal(&p, pe, s.came + i, bits_of(x), s.signal + i, epoch);
        if (to) gpu_ring(&p);
    }
    gpu_poster_end(&p, way);
}

__global__ void level(system_of s, long from, long to) {
    for (long k = from + (long)(blockIdx.x * blockDim.x + threadIdx.x); k < to; k += (long)(gridDim.x * blockDim.x)) {
        long i = s.row[k];
        double x = solve_row(s, i);
        s.x[i] = x;
        if (s.needed[i]) s.out[i] = x;
    }
    hetmp_word_publish();
}

/* The host's. */
struct plan {
    std::vector<size_t> start;
    std::vector<int> column;
    std::vector<double> value, diagonal, b, serial;
    std::vector<uint64_t> needed;
    std::vector<long> row, level_start;
    std::vector<char> level_talks;
    long n, levels;
};

static int owner(long i, long n) { return (int)(i / ((n + gpu_pes - 1) / gpu_pes)); }

static plan divide(const matrix &m, uint64_t seed) {
    plan p;
    size_t n = (size_t)m.n;
    p.n = m.n;
    p.start.assign(m.start, m.start + n + 1);
    p.column.assign(m.column, m.column + m.start[n]);
    p.value.assign(m.value, m.value + m.start[n]);
    p.diagonal.assign(m.diagonal, m.diagonal + n);
    p.needed.assign(n, 0);
    p.b.resize(n);
    p.serial.resize(n);
    std::vector<long> level_of(n);
    for (size_t i = 0; i < n; i++) {
        p.b[i] = matrix_uniform(&seed) - 0.5;
        double sum = p.b[i];
        for (size_t k = p.start[i]; k < p.start[i + 1]; k++) {
            size_t j = (size_t)p.column[k];
            sum -= p.value[k] * p.serial[j];
            if (owner((long)j, p.n) != owner((long)i, p.n)) p.needed[j] |= (uint64_t)1 << owner((long)i, p.n);
            level_of[i] = std::max(level_of[i], level_of[j] + 1);
        }
        p.serial[i] = sum / p.diagonal[i];
    }
    p.levels = 1 + *std::max_element(level_of.begin(), level_of.end());
    p.level_start.assign((size_t)p.levels + 1, 0);
    p.level_talks.assign((size_t)p.levels, 0);
    for (size_t i = 0; i < n; i++) {
        if (p.needed[i]) p.level_talks[(size_t)level_of[i]] = 1;
        if (owner((long)i, p.n) != gpu_me) continue;
        p.row.push_back((long)i);
        p.level_start[(size_t)level_of[i] + 1]++;
    }
    for (size_t l = 0; l < (size_t)p.levels; l++) p.level_start[l + 1] += p.level_start[l];
    std::stable_sort(p.row.begin(), p.row.end(),
                     [&](long a, long b) { return level_of[(size_t)a] < level_of[(size_t)b]; });
    return p;
}

static void outside(const system_of &s, const plan &p, int blocks) {
    for (size_t l = 0; l < (size_t)p.levels; l++) {
        long from = p.level_start[l], to = p.level_start[l + 1];
        if (to > from) {
            gpu_launch(level, blocks, GPU_THREADS, s, from, to);
            gpu_wait();
        }
        if (!p.level_talks[l]) continue;
        for (long k = from; k < to; k++) {
            long i = p.row[(size_t)k];
            uint64_t needs = p.needed[(size_t)i];
            for (int pe = 0; needs >> pe; pe++)
                if (needs >> pe & 1) shmem_putmem_nbi(s.came + i, s.out + i, sizeof *s.out, pe);
        }
        shmem_barrier_all();
    }
}

int main(int argc, char **argv) {
    int mode = GPU_MODES, blocks = GPU_MOST_BLOCKS;
    long road = 0, banded = 0, seed = 1, repeats = 3;
    const char *file = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gpu_mode_of(value);
        else if (strcmp(name, "--matrix") == 0 && value) file = value;
        else if (strcmp(name, "--road") == 0) road = gpu_number(name, value, 1, 100000000);
        else if (strcmp(name, "--banded") == 0) banded = gpu_number(name, value, 1, 100000000);
        else if (strcmp(name, "--seed") == 0) seed = gpu_number(name, value, 0, 1000000000);
        else if (strcmp(name, "--repeats") == 0) repeats = gpu_number(name, value, 1, 1000);
        else if (strcmp(name, "--blocks") == 0) blocks = (int)gpu_number(name, value, 1, GPU_MOST_BLOCKS);
        else
            gpu_die(2, "argument %s %s: unknown (expected --mode, --matrix, --road, --banded, --seed, --repeats or "
                    "--blocks)", name, value ? value : "");
    }
    if (!file && !road && !banded) road = 3000;
    if ((file != NULL) + (road != 0) + (banded != 0) != 1)
        gpu_die(2, "matrix: not usable (expected one of --matrix, --road or --banded)");
    matrix m;
    char why[256] = "no memory";
    int made;
    if (file) {
        FILE *from = fopen(file, "r");
        if (!from) gpu_die(2, "--matrix %s: %s", file, strerror(errno));
        made = matrix_read(&m, from, why, sizeof why);
        fclose(from);
    } else made = road ? matrix_road(&m, road, (uint64_t)seed) : matrix_banded(&m, banded, 64, 4, (uint64_t)seed);
    if (!made) gpu_die(2, "--matrix %s: %s", file ? file : "of its own", why);
    gpu_begin();
    if (gpu_pes > 63) gpu_die(2, "PEs %d: out of range (expected 1 to 63)", gpu_pes);
    plan p = divide(m, (uint64_t)seed ^ 0xb);
    size_t n = (size_t)p.n;
    long part = (p.n + gpu_pes - 1) / gpu_pes;
    system_of s;
    s.start = gpu_memory_of(p.start);
    s.column = gpu_memory_of(p.column);
    s.value = gpu_memory_of(p.value);
    s.diagonal = gpu_memory_of(p.diagonal);
    s.b = gpu_memory_of(p.b);
    s.needed = gpu_memory_of(p.needed);
    s.row = gpu_memory_of(p.row);
    s.x = gpu_memory<double>(n);
    s.out = gpu_pinned<double>(n);
    s.solved = gpu_memory<uint64_t>(n);
    s.came = gpu_symmetric<double>(n);
    s.signal = gpu_symmetric<uint64_t>(n);
    s.rows = (long)p.row.size();
    s.first = part * gpu_me;
    s.end = s.first + part;
    std::string name = file ? "file" : std::string(road ? "road-" : "banded-") + std::to_string(p.n);
    std::vector<double> x(n), nothing(n, NAN);
    uint64_t epoch = 0;
    for (int mode_now = 0; mode_now < GPU_MODES; mode_now++) {
        if (mode != mode_now && mode != GPU_MODES) continue;
        std::vector<double> ms;
        int same = 1;
        for (long r = -1; r < repeats; r++) {
            gpu_host h;
            gpu_copy(s.x, nothing.data(), n * sizeof(double));
            memcpy(s.came, nothing.data(), n * sizeof(double));
            epoch++;
            gpu_open(&h, mode_now, blocks);
            shmem_barrier_all();
            double began = gpu_now();
            if (mode_now == GPU_INTERK) outside(s, p, blocks);
            else {
                gpu_launch(inside, blocks, GPU_THREADS, s, h.way, epoch);
                gpu_wait();
            }
            shmem_barrier_all();
            if (r >= 0) ms.push_back(1e3 * (gpu_now() - began));
            gpu_close(&h);
            gpu_copy(x.data(), s.x, n * sizeof(double));
            for (long i : p.row) same &= memcmp(&x[(size_t)i], &p.serial[(size_t)i], sizeof(double)) == 0;
        }
        same = gpu_agree(same);
        gpu_row("spts", gpu_modes[mode_now], name.c_str(), 8, blocks, "ms", ms, same ? "right" : "wrong");
    }
    return gpu_end();
}
