/* A sparse lower triangular system on the device: c-tests/apps/spts.c by blocks of a kernel (figures 10 and 11 of "GPU
 * Initiated OpenSHMEM").
 *
 *     oshrun -n PES gpu_spts [--mode gio|ikn|interk|all] [--matrix FILE.mtx | --road N | --banded N] [--band B]
 *                            [--each E] [--seed S] [--repeats R] [--blocks B]
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
    return gpu_number(hetmp_word_get((const uint64_t *)(is_own(s, j) ? s.x : s.came) + j));
}
__device__ inline double solve_row(const system_of &s, long i) {
    double sum = s.b[i];
    for (size_t k = s.start[i]; k < s.start[i + 1]; k++) sum -= s.value[k] * known(s, s.column[k]);
    return sum / s.diagonal[i];
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
        hetmp_word_set((uint64_t *)s.x + i, gpu_bits(x));
        hetmp_word_release(s.solved + i, epoch);
        uint64_t to = s.needed[i];
        for (int pe = 0; to >> pe; pe++)
            if (to >> pe & 1) gpu_p_signal(&p, pe, s.came + i, gpu_bits(x), s.signal + i, epoch);
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

static int owner(long i, long n) { return (int)(i / ((n + gio_pes - 1) / gio_pes)); }

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
        if (owner((long)i, p.n) != gio_me) continue;
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
    gpu_runs runs = gpu_all_runs;
    matrix_choice choice = {NULL, 0, 0, 64, 4, 1};
    GIO_OPTIONS(argc, argv, GPU_OPTIONS(runs, INTER_K), MATRIX_OPTIONS(choice));
    const matrix m = matrix_chosen(choice, 3000);
    gpu_begin();
    if (gio_pes > 63) gio_die("PEs %d: out of range (expected 1 to 63)", gio_pes);
    plan p = divide(m, (uint64_t)choice.seed ^ 0xb);
    size_t n = (size_t)p.n;
    long part = (p.n + gio_pes - 1) / gio_pes;
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
    s.first = part * gio_me;
    s.end = s.first + part;
    std::vector<double> x(n), nothing(n, NAN);
    uint64_t epoch = 0;
    gpu_measure(
        runs, INTER_K, "spts",
        choice.file ? "file" : (choice.banded ? "banded-" : "road-") + std::to_string(p.n), 8, NULL,
        [&] {
            gpu_copy(s.x, nothing.data(), n * sizeof(double));
            memcpy(s.came, nothing.data(), n * sizeof(double));
            epoch++;
        },
        [&](int mode, const gpu_way &way) {
            if (mode == INTER_K) outside(s, p, runs.blocks);
            else gpu_launch(inside, runs.blocks, GPU_THREADS, s, way, epoch);
        },
        [&] {
            gpu_copy(x.data(), s.x, n * sizeof(double));
            int same = 1;
            for (long i : p.row) same &= memcmp(&x[(size_t)i], &p.serial[(size_t)i], sizeof(double)) == 0;
            return same;
        });
    return gpu_end();
}
