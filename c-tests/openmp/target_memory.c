/* omp_target_alloc, memcpy (1-D and rectangles), is_present, associate on the host device (OpenMP 5.1, 3.8). */
#include "check.h"

int main(void)
{
    int h = omp_get_initial_device();
    int *p = omp_target_alloc(100 * sizeof(int), h), src[100], back[100];
    CHECK(p != NULL);
    for (int i = 0; i < 100; i++)
        src[i] = i * i;
    CHECK(omp_target_memcpy(p, src, sizeof src, 0, 0, h, h) == 0);
    CHECK(omp_target_memcpy(back, p, 50 * sizeof(int), 10 * sizeof(int), 20 * sizeof(int), h, h) == 0);
    printf("%d %d\n", back[10], back[59]);
    CHECK(back[10] == 400 && back[59] == 69 * 69);
#pragma omp target is_device_ptr(p) device(h)
    for (int i = 0; i < 100; i++)
        p[i] += 1;
    CHECK(p[9] == 82);
    int m[6][8], q[5][7];
    for (int i = 0; i < 48; i++)
        m[i / 8][i % 8] = i;
    memset(q, 0, sizeof q);
    size_t volume[] = {3, 4}, dst_off[] = {1, 2}, src_off[] = {2, 3}, dst_dim[] = {5, 7}, src_dim[] = {6, 8};
    CHECK(omp_target_memcpy_rect(q, m, sizeof(int), 2, volume, dst_off, src_off, dst_dim, src_dim, h, h) == 0);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++)
            CHECK(q[i][j] == (i >= 1 && i < 4 && j >= 2 && j < 6 ? (i + 1) * 8 + j + 1 : 0));
    int dims = omp_target_memcpy_rect(NULL, NULL, 1, 0, NULL, NULL, NULL, NULL, NULL, h, h);
    CHECK(dims >= 3);
    CHECK(omp_target_is_present(src, h));
    CHECK(omp_target_is_present(NULL, h));
    CHECK(omp_target_associate_ptr(src, p, sizeof src, 0, h) != 0);
    CHECK(omp_target_disassociate_ptr(src, h) != 0);
    CHECK(omp_target_memcpy(back, p, 4, 0, 0, h + 7, h) != 0);
    CHECK(omp_target_alloc(16, h + 7) == NULL);
    omp_target_free(p, h);
    omp_target_free(NULL, h);
    return check_end();
}
