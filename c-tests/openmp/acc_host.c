/* OpenACC constructs and routines where the host is the only device: results, data routines, queues,
   properties (OpenACC 2.6, sections 2 and 3).
   hetmp-test: flags=-fopenacc
   hetmp-test: threads=2 */
#include <openacc.h>
#include <stdio.h>
#include <string.h>

static int a[100];

int main(void)
{
    int i, sum = 0;
    for (i = 0; i < 100; i++)
        a[i] = i;
    printf("type %d\n", (int) acc_get_device_type());
    for (i = 0; i < 9; i++)
        printf("devices of type %d: %d, on it: %d\n", i, acc_get_num_devices((acc_device_t) i),
               acc_on_device((acc_device_t) i) != 0);
#pragma acc parallel loop copy(a) num_gangs(4) vector_length(32)
    for (i = 0; i < 100; i++)
        a[i] *= 2;
#pragma acc data copyin(a)
    {
#pragma acc update host(a[0:10]) async(1) wait(1)
#pragma acc parallel loop present(a) async(2)
        for (i = 0; i < 100; i++)
            a[i] += 1;
#pragma acc wait(1, 2) async(3)
#pragma acc wait
#pragma acc wait(1, 2, 3, 4, 5, 6, 7, 8, 9)
#pragma acc host_data use_device(a)
        printf("same address: %d %d\n", acc_deviceptr(a) == a, acc_hostptr(a) == a);
    }
#pragma acc enter data copyin(a)
#pragma acc exit data copyout(a) finalize
#pragma acc kernels if(0)
    for (i = 0; i < 100; i++)
        a[i] += 1;
#pragma acc serial
    {
        a[0] = 77;
    }
    for (i = 0; i < 100; i++)
        sum += a[i];
    printf("sum %d\n", sum);

    char text[16] = "0123456789abcde", back[16];
    void *p = acc_malloc(16);
    acc_memcpy_to_device(p, text, 16);
    acc_memcpy_from_device_async(back, p, 16, 1);
    acc_wait(1);
    acc_free(p);
    printf("copied: %d, nothing: %d\n", memcmp(text, back, 16) == 0, acc_malloc(0) == NULL);
    printf("present %d %d %d\n", acc_is_present(a, 4), acc_is_present(a, 0), acc_is_present(NULL, 4));
    printf("entered %d %d\n", acc_copyin(a, 4) == (void *) a, acc_create(a, 8) == (void *) a);
    acc_update_device(a, 4);
    acc_update_self_async(a, 4, 2);
    acc_copyout(a, 4);
    acc_delete_finalize(a, 8);
    acc_map_data(a, a, 4);
    acc_unmap_data(a);
    printf("queues %d %d, streams %d %d %d\n", acc_async_test(3), acc_async_test_all(),
           acc_get_cuda_stream(1) == NULL, acc_set_cuda_stream(1, a), acc_set_cuda_stream(-7, a));
    printf("%s %s %lu\n", acc_get_property_string(0, acc_device_host, acc_property_name),
           acc_get_property_string(0, acc_device_host, acc_property_vendor),
           (unsigned long) acc_get_property(0, acc_device_host, acc_property_memory));
    acc_shutdown(acc_device_host);
    acc_init(acc_device_host);
    acc_set_device_num(0, acc_device_default);
    printf("number %d type %d\n", acc_get_device_num(acc_device_host), (int) acc_get_device_type());
    return 0;
}
