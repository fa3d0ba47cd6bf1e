/* Sparse lower triangular matrices for spts.c and gpu_spts.cu, C and C++: read from Matrix Market files, or made
 * (seeded).
 *
 * Rows are stored one after the other without the diagonal, which has an array of its own; columns rise within a row.
 *
 * Files (the format of NIST's Matrix Market): "matrix coordinate", real, integer or pattern, general or symmetric,
 * square. The lower triangle counts, equal places are added, and the entries of a pattern get values of their own. A
 * diagonal entry that is missing or zero becomes 1 + the sum of the magnitudes of its row, as benchmarks of solvers do
 * with graphs. Whatever is wrong with a file is one line with its number; nothing in it decides how much memory is
 * taken before that much was read. */
#ifndef MATRIX_H
#define MATRIX_H

#include "modes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

struct matrix {
    long n;
    size_t *start; /* n + 1 */
    int *column;
    double *value;
    double *diagonal;
};

struct matrix_entry {
    int row, column;
    double value;
};

static inline uint64_t matrix_random(uint64_t *state) { /* splitmix64 */
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline double matrix_uniform(uint64_t *state) { return (double)(matrix_random(state) >> 11) * 0x1p-53; }

/* The value of a place in a matrix without values: -1 to -0.1. */
static inline double matrix_value_at(long row, long column) {
    uint64_t state = (uint64_t)row * 0xd6e8feb86659fd93u ^ (uint64_t)column;
    return -0.1 - 0.9 * matrix_uniform(&state);
}

static inline void matrix_free(struct matrix *m) {
    free(m->start);
    free(m->column);
    free(m->value);
    free(m->diagonal);
    memset(m, 0, sizeof *m);
}

static inline int matrix_order(const void *a, const void *b) {
    const struct matrix_entry *x = (const struct matrix_entry *)a, *y = (const struct matrix_entry *)b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Rows from entries of the lower triangle in any order; 0 if there is no memory. */
static inline int matrix_build(struct matrix *m, long n, struct matrix_entry *e, size_t entries) {
    qsort(e, entries, sizeof *e, matrix_order);
    m->n = n;
    m->start = (size_t *)malloc(((size_t)n + 1) * sizeof *m->start);
    m->column = (int *)malloc((entries + 1) * sizeof *m->column);
    m->value = (double *)malloc((entries + 1) * sizeof *m->value);
    m->diagonal = (double *)malloc((size_t)n * sizeof *m->diagonal);
    if (!m->start || !m->column || !m->value || !m->diagonal) {
        matrix_free(m);
        return 0;
    }
    size_t next = 0, out = 0;
    for (long i = 0; i < n; i++) {
        double diagonal = 0, sum = 0;
        m->start[i] = out;
        while (next < entries && e[next].row == i) {
            int column = e[next].column;
            double value = 0;
            for (; next < entries && e[next].row == i && e[next].column == column; next++) value += e[next].value;
            if (column == i) {
                diagonal = value;
            } else {
                m->column[out] = column;
                m->value[out++] = value;
                sum += fabs(value);
            }
        }
        m->diagonal[i] = diagonal != 0 ? diagonal : 1 + sum;
    }
    m->start[n] = out;
    return 1;
}

/* Reads a file. 0 and `why` where it is wrong. */
static inline int matrix_read(struct matrix *m, FILE *file, char *why, size_t room) {
    char line[1024], object[64], format[64], field[64], symmetry[64], *end;
    long number = 0, rows = -1, columns = 0, entries = 0;
    int pattern = 0, symmetric = 0;
    struct matrix_entry *e = NULL;
    size_t have = 0, space = 0;
    long long seen = 0;
    memset(m, 0, sizeof *m);
#define MATRIX_BAD(...)                     \
    do {                                    \
        snprintf(why, room, __VA_ARGS__);   \
        free(e);                            \
        return 0;                           \
    } while (0)
    while (fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        number++;
        if (length + 1 == sizeof line && line[length - 1] != '\n')
            MATRIX_BAD("line %ld: not usable (expected at most %zu characters)", number, sizeof line - 2);
        if (number == 1) {
            if (sscanf(line, "%%%%MatrixMarket %63s %63s %63s %63s", object, format, field, symmetry) != 4)
                MATRIX_BAD("line 1: no head (expected \"%%%%MatrixMarket matrix coordinate FIELD SYMMETRY\")");
            for (char *words[] = {object, format, field, symmetry}, **w = words; w < words + 4; w++)
                for (char *c = *w; *c; c++) *c = (char)tolower((unsigned char)*c);
            if (strcmp(object, "matrix") != 0 || strcmp(format, "coordinate") != 0)
                MATRIX_BAD("line 1: %s %s (expected matrix coordinate)", object, format);
            pattern = strcmp(field, "pattern") == 0;
            if (!pattern && strcmp(field, "real") != 0 && strcmp(field, "integer") != 0)
                MATRIX_BAD("line 1: field %s (expected real, integer or pattern)", field);
            symmetric = strcmp(symmetry, "symmetric") == 0;
            if (!symmetric && strcmp(symmetry, "general") != 0)
                MATRIX_BAD("line 1: symmetry %s (expected general or symmetric)", symmetry);
            continue;
        }
        char *at = line;
        while (isspace((unsigned char)*at)) at++;
        if (*at == '%' || *at == 0) continue;
        if (rows < 0) {
            errno = 0;
            rows = strtol(at, &end, 10);
            int good = end != at;
            columns = strtol(at = end, &end, 10);
            good &= end != at;
            entries = strtol(at = end, &end, 10);
            good &= end != at && errno == 0;
            while (isspace((unsigned char)*end)) end++;
            if (!good || *end || rows < 1 || rows > INT32_MAX || entries < 0)
                MATRIX_BAD("line %ld: not usable (expected rows (1 to %d), columns and entries)", number, INT32_MAX);
            if (rows != columns)
                MATRIX_BAD("line %ld: %ld rows and %ld columns (expected a square matrix)", number, rows, columns);
            continue;
        }
        errno = 0;
        long i = strtol(at, &end, 10);
        int good = end != at;
        long j = strtol(at = end, &end, 10);
        good &= end != at;
        double value = 0;
        if (!pattern) {
            value = strtod(at = end, &end);
            good &= end != at;
        }
        while (isspace((unsigned char)*end)) end++;
        if (!good || *end || errno == ERANGE)
            MATRIX_BAD("line %ld: not usable (expected ROW COLUMN%s)", number, pattern ? "" : " VALUE");
        if (i < 1 || i > rows || j < 1 || j > rows)
            MATRIX_BAD("line %ld: place %ld %ld (expected 1 to %ld for both)", number, i, j, rows);
        if (!isfinite(value)) MATRIX_BAD("line %ld: value %g (expected a finite number)", number, value);
        if (++seen > entries) MATRIX_BAD("line %ld: entry %lld: the size line promises %ld", number, seen, entries);
        if (symmetric && j > i)
            MATRIX_BAD("line %ld: place %ld %ld (expected the lower triangle of a symmetric matrix)", number, i, j);
        if (j > i) continue;
        if (have == space) {
            space = space ? 2 * space : 1024;
            struct matrix_entry *more = (struct matrix_entry *)realloc(e, space * sizeof *e);
            if (!more) MATRIX_BAD("line %ld: no memory for %zu entries", number, space);
            e = more;
        }
        if (pattern) value = i == j ? 0 : matrix_value_at(i - 1, j - 1);
        const struct matrix_entry found = {(int)(i - 1), (int)(j - 1), value};
        e[have++] = found;
    }
    if (ferror(file)) MATRIX_BAD("line %ld: %s", number + 1, strerror(errno));
    if (number == 0) MATRIX_BAD("no lines: not usable (expected a Matrix Market file)");
    if (rows < 0) MATRIX_BAD("no size line: not usable (expected rows, columns and entries)");
    if (seen != entries) MATRIX_BAD("%lld entries: the size line promises %ld", seen, entries);
    /* Arrays have a place for each row, so that the number of rows must not be a mere promise, either. */
    if (rows > 4096 + 64 * seen)
        MATRIX_BAD("%ld rows and %lld entries: not usable (expected one for each 64th row)", rows, seen);
    if (!matrix_build(m, rows, e, have)) MATRIX_BAD("%ld rows: no memory", rows);
    free(e);
    return 1;
#undef MATRIX_BAD
}

/* The lower triangle of a road network: a grid of junctions, numbered tile by tile in random order within a tile (as
 * networks are numbered region by region); two of three streets exist. 1.3 entries a row, as in the paper's road
 * graphs. */
static inline int matrix_road(struct matrix *m, long n, uint64_t seed) {
    enum { TILE = 16 };
    long side = 1;
    while (side * side < n) side++;
    long tiles = (side + TILE - 1) / TILE, next = 0;
    int *name = (int *)malloc((size_t)(side * side) * sizeof *name);
    struct matrix_entry *e = (struct matrix_entry *)malloc((size_t)(2 * side * side + 1) * sizeof *e);
    size_t have = 0;
    uint64_t state = seed;
    if (!name || !e) {
        free(name);
        free(e);
        return 0;
    }
    for (long tile = 0; tile < tiles * tiles; tile++) {
        long place[TILE * TILE], count = 0, top = tile / tiles * TILE, left = tile % tiles * TILE;
        for (long i = top; i < top + TILE && i < side; i++)
            for (long j = left; j < left + TILE && j < side; j++) place[count++] = i * side + j;
        for (long k = count - 1; k > 0; k--) {
            long other = (long)(matrix_random(&state) % (uint64_t)(k + 1)), old = place[k];
            place[k] = place[other];
            place[other] = old;
        }
        for (long k = 0; k < count; k++) name[place[k]] = (int)next++;
    }
    for (long at = 0; at < side * side; at++)
        for (int direction = 0; direction < 2; direction++) {
            long other = direction == 0 ? (at % side + 1 < side ? at + 1 : -1) :
                (at + side < side * side ? at + side : -1);
            if (other < 0 || matrix_uniform(&state) > 2.0 / 3) continue;
            int a = name[at], b = name[other];
            int row = a > b ? a : b, column = a > b ? b : a;
            if (row >= n) continue;
            const struct matrix_entry street = {row, column, matrix_value_at(row, column)};
            e[have++] = street;
        }
    int built = matrix_build(m, n, e, have);
    free(name);
    free(e);
    return built;
}

/* Some `each` entries a row within `band` columns left of the diagonal. */
static inline int matrix_banded(struct matrix *m, long n, long band, long each, uint64_t seed) {
    struct matrix_entry *e = (struct matrix_entry *)malloc(((size_t)n * (size_t)each + 1) * sizeof *e);
    size_t have = 0;
    uint64_t state = seed;
    if (!e) return 0;
    for (long i = 1; i < n; i++)
        for (long k = 0; k < each; k++) {
            long reach = i < band ? i : band, j = i - 1 - (long)(matrix_random(&state) % (uint64_t)reach);
            const struct matrix_entry made = {(int)i, (int)j, matrix_value_at(i, j)};
            e[have++] = made;
        }
    int built = matrix_build(m, n, e, have);
    free(e);
    return built;
}

/* Which matrix, on a command line. */
struct matrix_choice {
    const char *file;
    long road, banded, band, each, seed;
};
#define MATRIX_OPTIONS(c)                                                                                            \
    {"--matrix", GIO_TEXT, &(c).file, 0, 0}, {"--road", GIO_LONG, &(c).road, 1, 100000000},                         \
        {"--banded", GIO_LONG, &(c).banded, 1, 100000000}, {"--band", GIO_LONG, &(c).band, 1, 1000000},             \
        {"--each", GIO_LONG, &(c).each, 1, 1000}, {"--seed", GIO_LONG, &(c).seed, 0, 1000000000}

/* Before gio_init: a file that is wrong is said once by every PE that reads it, and nobody waits for it. Without a
 * choice it is a road network of `road` rows. */
static inline struct matrix matrix_chosen(struct matrix_choice c, long road) {
    struct matrix m;
    char why[256] = "no memory";
    int made;
    if (!c.file && !c.road && !c.banded) c.road = road;
    if ((c.file != NULL) + (c.road != 0) + (c.banded != 0) != 1)
        gio_die("matrix: not usable (expected one of --matrix, --road or --banded)");
    if (c.file) {
        FILE *from = fopen(c.file, "r");
        if (!from) gio_die("--matrix %s: %s", c.file, strerror(errno));
        made = matrix_read(&m, from, why, sizeof why);
        fclose(from);
    } else made = c.road ? matrix_road(&m, c.road, (uint64_t)c.seed)
                         : matrix_banded(&m, c.banded, c.band, c.each, (uint64_t)c.seed);
    if (!made) gio_die("--matrix %s: %s", c.file ? c.file : "of its own", why);
    return m;
}

#endif
