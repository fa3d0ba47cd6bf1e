/* What the target `matrix` calls: reads a file that is memory; 1 if it is a matrix, 0 if `why` says why not. */
#include "../../../c-tests/apps/matrix.h"

int fuzz_matrix(char *bytes, size_t n, char *why, size_t room) {
    struct matrix m;
    FILE *file = fmemopen(bytes, n, "r");
    int good = 0;
    if (!file) return -1;
    good = matrix_read(&m, file, why, room);
    if (good) matrix_free(&m);
    fclose(file);
    return good;
}
